/* -- */
/* Channels that see all inputs, in blocks: `kn_eights` makes eight, `kn_pairs` two. What a block is made of is read before its results are written. Weights are those of the inputs 0 and 2 of four for
 * each pair of channels of the block, then of 1 and 3. */
/* Some blocks of channels of one pixel. `runs` are `count` pieces of `length` bytes of the input, a multiple of 4. Those who compute a block move `weights`, `scales` and `out` on. */
struct kn_block {
    const int8_t *const *runs;
    int32_t count, length;
    const int16_t *weights;
    const int32_t *scales;
    int32_t is_double;
    int8_t *out;
    int32_t blocks;
};

#if KN_ASSEMBLY
#define KN_TIMES(S, T, W) "smlad " S ", " W ", r12, " S "\n sxtb16 " W ", " W "\n smlad " T ", " W ", r12, " T "\n"
/* Four inputs of eight channels. */
#define KN_FOUR_INPUTS \
    "ldr r3, [r0], #4\n ldr lr, [r1], #4\n sxtb16 r12, r3\n" KN_TIMES("r4", "r5", "lr") "ldr lr, [r1], #4\n" KN_TIMES("r6", "r7", "lr") \
    "ldr lr, [r1], #4\n" KN_TIMES("r8", "r9", "lr") "ldr lr, [r1], #4\n" KN_TIMES("r10", "r11", "lr") \
    "sxtb16 r12, r3, ror #8\n ldrd lr, r3, [r1], #8\n" KN_TIMES("r4", "r5", "lr") KN_TIMES("r6", "r7", "r3") \
    "ldrd lr, r3, [r1], #8\n" KN_TIMES("r8", "r9", "lr") KN_TIMES("r10", "r11", "r3")
#define KN_SINGLE_PAIR(S, T) "sub " S ", " S ", " T "\n" KN_SINGLE(T, "4") KN_SINGLE(S, "12")
#define KN_DOUBLE_PAIR(S, T) "sub " S ", " S ", " T "\n" KN_DOUBLE(T, "lsl #1") KN_DOUBLE(S, "asr #7")
/* Scales to r0 and where results go to lr; flags say whether there are two roundings. The next block begins at 1. */
#define KN_RESULTS "ldr lr, [sp]\n ldrd r0, r2, [lr, #16]\n ldr lr, [lr, #24]\n cmp r2, #0\n"
#define KN_NEXT_BLOCK "ldr r2, [sp]\n str r0, [r2, #16]\n str lr, [r2, #24]\n ldr r3, [r2, #28]\n subs r3, r3, #1\n str r3, [r2, #28]\n bne 1b\n str r1, [r2, #12]\n"

KN_NAKED static void kn_eights(struct kn_block *block __attribute__((unused)))
{
    __asm__("push {r0, r4-r11, lr}\n ldr r1, [r0, #12]\n"
        "1:\n mov r4, #0\n mov r5, #0\n mov r6, #0\n mov r7, #0\n mov r8, #0\n mov r9, #0\n mov r10, #0\n mov r11, #0\n ldr r3, [sp]\n ldm r3, {r0, r2, lr}\n"
        "2:\n push {r0, r2, lr}\n ldr r0, [r0]\n add r2, r0, lr\n tst lr, #4\n bne 4f\n"
        "3:\n" KN_FOUR_INPUTS
        "4:\n" KN_FOUR_INPUTS "cmp r0, r2\n bne 3b\n pop {r0, r2, lr}\n add r0, r0, #4\n subs r2, r2, #1\n bne 2b\n"
        KN_RESULTS
        KN_EIGHTS_ROUNDED(KN_SINGLE_PAIR("r4", "r5") KN_SINGLE_PAIR("r6", "r7") KN_SINGLE_PAIR("r8", "r9") KN_SINGLE_PAIR("r10", "r11"),
            KN_DOUBLE_PAIR("r4", "r5") KN_DOUBLE_PAIR("r6", "r7") KN_DOUBLE_PAIR("r8", "r9") KN_DOUBLE_PAIR("r10", "r11"))
        KN_NEXT_BLOCK "pop {r0, r4-r11, pc}\n");
}

KN_NAKED static void kn_pairs(struct kn_block *block __attribute__((unused)))
{
    __asm__("push {r0, r4-r9, lr}\n ldr r1, [r0, #12]\n"
        "1:\n mov r4, #0\n mov r5, #0\n ldr r3, [sp]\n ldm r3, {r6, r7, lr}\n"
        "2:\n ldr r0, [r6], #4\n add r2, r0, lr\n"
        "3:\n ldr r3, [r0], #4\n ldrd r8, r9, [r1], #8\n sxtb16 r12, r3\n" KN_TIMES("r4", "r5", "r8") "sxtb16 r12, r3, ror #8\n" KN_TIMES("r4", "r5", "r9")
        "cmp r0, r2\n bne 3b\n subs r7, r7, #1\n bne 2b\n"
        KN_RESULTS KN_PAIRS_ROUNDED(KN_SINGLE_PAIR("r4", "r5"), KN_DOUBLE_PAIR("r4", "r5"))
        KN_NEXT_BLOCK "pop {r0, r4-r9, pc}\n");
}
#else
/* An input of a pair of channels. */
static inline void kn_times(uint32_t *s, uint32_t *t, int16_t weight, int32_t x)
{
    *s += (uint32_t)(weight * x);
    *t += (uint32_t)((int8_t)weight * x);
}

/* The results of a pair. */
static inline void kn_pair_out(struct kn_block *block, uint32_t s, uint32_t t)
{
    const int32_t *scales = block->scales;
    if (block->is_double) {
        block->out[0] = kn_double((int32_t)(t * 2), scales);
        block->out[1] = kn_double((int32_t)(s - t) >> 7, scales + 4);
        block->scales += 8;
    } else {
        block->out[0] = kn_single(t, scales, 4);
        block->out[1] = kn_single(s - t, scales + 3, 12);
        block->scales += 6;
    }
    block->out += 2;
}

/* Four channels of a block of eight, whose weights for one input begin at `first`. */
static inline const int16_t *kn_half_of_eight(struct kn_block *block, int32_t first)
{
    const int16_t *w = block->weights;
    uint32_t s0 = 0, s1 = 0, t0 = 0, t1 = 0;
    for (int32_t run = 0; run < block->count; ++run) {
        const int8_t *x = block->runs[run], *const end = x + block->length;
        for (; x != end; x += 4, w += 16) {
            kn_times(&s0, &t0, w[first], x[0]);
            kn_times(&s1, &t1, w[first + 2], x[0]);
            kn_times(&s0, &t0, w[first + 8], x[1]);
            kn_times(&s1, &t1, w[first + 10], x[1]);
            kn_times(&s0, &t0, w[first + 1], x[2]);
            kn_times(&s1, &t1, w[first + 3], x[2]);
            kn_times(&s0, &t0, w[first + 9], x[3]);
            kn_times(&s1, &t1, w[first + 11], x[3]);
        }
    }
    kn_pair_out(block, s0, t0);
    kn_pair_out(block, s1, t1);
    return w;
}

static void kn_eights(struct kn_block *block)
{
    for (; block->blocks > 0; --block->blocks) {
        kn_half_of_eight(block, 0);
        block->weights = kn_half_of_eight(block, 4);
    }
}

static void kn_pairs(struct kn_block *block)
{
    for (; block->blocks > 0; --block->blocks) {
        const int16_t *w = block->weights;
        uint32_t s = 0, t = 0;
        for (int32_t run = 0; run < block->count; ++run) {
            const int8_t *x = block->runs[run], *const end = x + block->length;
            for (; x != end; x += 4, w += 4) {
                kn_times(&s, &t, w[0], x[0]);
                kn_times(&s, &t, w[2], x[1]);
                kn_times(&s, &t, w[1], x[2]);
                kn_times(&s, &t, w[3], x[3]);
            }
        }
        block->weights = w;
        kn_pair_out(block, s, t);
    }
}
#endif

/* The channels of a pixel from one on, which begins eight of them. */
static void kn_packed_from(const struct kn_packed_s8 *p, int32_t first, const int8_t *const *runs, int32_t count, int32_t length, int8_t *out)
{
    struct kn_block block;
    block.runs = runs, block.count = count, block.length = length, block.is_double = p->is_double;
    block.weights = (const int16_t *)p->weights + (first >> 1) * count * length;
    block.scales = p->scales + first * (p->is_double ? 4 : 3), block.out = out + first;
    block.blocks = (p->out_c - first) >> 3;
    if (block.blocks > 0) {
        kn_eights(&block);
    }
    block.blocks = p->out_c >> 1 & 3;
    if (block.blocks > 0) {
        kn_pairs(&block);
    }
    if (p->out_c & 1) {
        int8_t last[2], *const to = block.out;
        block.out = last, block.blocks = 1;
        kn_pairs(&block);
        *to = last[0];
    }
}

/* All channels of a pixel. */
static void kn_packed_pixel(const struct kn_packed_s8 *p, const int8_t *const *runs, int32_t count, int32_t length, int8_t *out)
{
    kn_packed_from(p, 0, runs, count, length, out);
}
