/* -- */
/* Two pixels at a time, which share each word of weights: their inputs lie as 16 bits in a buffer of the caller, 16 bytes for four of each: 0 and 2 of one pixel, then of the other, 1 and 3 of one, then of
 * the other. The last channels, fewer than eight, are made of each pixel by itself before. */
struct kn_two {
    /* Where the first pixel goes; its runs are not used, and `blocks` counts halves of eight channels. */
    struct kn_block block;
    /* Where the second goes. */
    int8_t *other;
    const int8_t *inputs, *end;
    /* How far weights go back after half a block, and after a whole one. */
    int32_t back, both;
};

/* Writes the inputs of one pixel, the first if `to` is the buffer, the second four bytes after it; returns the bytes that both take. */
static int32_t kn_spread(int8_t *to, const int8_t *const *runs, int32_t count, int32_t length)
{
    int32_t at = 0;
    for (; count > 0; --count) {
        const int8_t *x = *runs++, *const end = x + length;
        for (; x != end; x += 4, at += 16) {
#if KN_ASSEMBLY
            uint32_t bytes, halves;
            memcpy(&bytes, x, sizeof bytes);
            __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(bytes));
            memcpy(to + at, &halves, sizeof halves);
            __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(bytes));
            memcpy(to + at + 8, &halves, sizeof halves);
#else
            kn_store_s16(to + at, 0, x[0]);
            kn_store_s16(to + at, 1, x[2]);
            kn_store_s16(to + at, 4, x[1]);
            kn_store_s16(to + at, 5, x[3]);
#endif
        }
    }
    return at;
}

#if KN_ASSEMBLY
/* A word of weights of a pair of channels, times two inputs of both pixels. */
#define KN_TIMES_BOTH(S, T, OTHER_S, OTHER_T, W) "smlad " S ", " W ", r3, " S "\n smlad " OTHER_S ", " W ", r12, " OTHER_S "\n sxtb16 " W ", " W "\n" \
    " smlad " T ", " W ", r3, " T "\n smlad " OTHER_T ", " W ", r12, " OTHER_T "\n"
#define KN_TWO_INPUTS "ldrd r3, r12, [r0], #8\n ldrd lr, r2, [r1], #16\n" KN_TIMES_BOTH("r4", "r5", "r8", "r9", "lr") KN_TIMES_BOTH("r6", "r7", "r10", "r11", "r2")
/* From the results of one pixel to those of the other, with the same scales: so far back. */
#define KN_OTHER_PIXEL(BACK) "ldr r2, [sp, #4]\n str lr, [r2, #24]\n ldr lr, [r2, #32]\n sub r0, r0, #" BACK "\n"

/* A word above what kn_eights keeps on the stack is the end of the inputs. */
KN_NAKED static void kn_eights_of_two(struct kn_two *two __attribute__((unused)))
{
    __asm__("push {r0, r4-r11, lr}\n ldr r1, [r0, #12]\n ldr r2, [r0, #40]\n push {r2}\n"
        "1:\n mov r4, #0\n mov r5, #0\n mov r6, #0\n mov r7, #0\n mov r8, #0\n mov r9, #0\n mov r10, #0\n mov r11, #0\n"
        "ldrd r2, r3, [sp]\n ldr r0, [r3, #36]\n sub r2, r2, r0\n tst r2, #16\n bne 3f\n"
        "2:\n" KN_TWO_INPUTS KN_TWO_INPUTS
        "3:\n" KN_TWO_INPUTS KN_TWO_INPUTS "ldr r2, [sp]\n cmp r0, r2\n bne 2b\n"
        "ldr r3, [sp, #4]\n ldrd r0, r2, [r3, #16]\n ldr lr, [r3, #24]\n cmp r2, #0\n"
        KN_TWOS_ROUNDED(
            KN_SINGLE_PAIR("r4", "r5") KN_SINGLE_PAIR("r6", "r7") KN_OTHER_PIXEL("48") KN_SINGLE_PAIR("r8", "r9") KN_SINGLE_PAIR("r10", "r11"),
            KN_DOUBLE_PAIR("r4", "r5") KN_DOUBLE_PAIR("r6", "r7") KN_OTHER_PIXEL("64") KN_DOUBLE_PAIR("r8", "r9") KN_DOUBLE_PAIR("r10", "r11"))
        "ldr r12, [sp, #4]\n str lr, [r12, #32]\n str r0, [r12, #16]\n ldrd r2, r3, [r12, #44]\n sub r1, r1, r2\n sub r2, r3, r2\n str r2, [r12, #44]\n"
        "ldr r3, [r12, #28]\n subs r3, r3, #1\n str r3, [r12, #28]\n bne 1b\n pop {r2}\n pop {r0, r4-r11, pc}\n");
}
#else
/* A pair of channels of one pixel, from where its inputs begin; the weights of eight channels lie together. */
static void kn_pair_of_one(struct kn_two *two, const int8_t *inputs, const int16_t *w)
{
    const int32_t bytes = (int32_t)(two->end - two->inputs);
    uint32_t s = 0, t = 0;
    for (int32_t at = 0; at < bytes; at += 16, w += 16) {
        kn_times(&s, &t, w[0], kn_load_s16(inputs + at, 0));
        kn_times(&s, &t, w[1], kn_load_s16(inputs + at, 1));
        kn_times(&s, &t, w[8], kn_load_s16(inputs + at, 4));
        kn_times(&s, &t, w[9], kn_load_s16(inputs + at, 5));
    }
    kn_pair_out(&two->block, s, t);
}

/* A pair of channels of both pixels. */
static void kn_pair_of_two(struct kn_two *two, const int16_t *w)
{
    const int32_t *const scales = two->block.scales;
    int8_t *first;
    kn_pair_of_one(two, two->inputs, w);
    first = two->block.out, two->block.out = two->other, two->block.scales = scales;
    kn_pair_of_one(two, two->inputs + 4, w);
    two->other = two->block.out, two->block.out = first;
}

static void kn_eights_of_two(struct kn_two *two)
{
    for (; two->block.blocks > 0; two->block.blocks -= 2, two->block.weights += two->end - two->inputs) {
        for (int32_t pair = 0; pair < 4; ++pair) {
            kn_pair_of_two(two, two->block.weights + 2 * pair);
        }
    }
}
#endif

/* Lays out the inputs of one pixel at `to` and makes its last channels; returns the bytes that the inputs of both take. */
static int32_t kn_packed_first(const struct kn_packed_s8 *p, int8_t *to, const int8_t *const *runs, int32_t count, int32_t length, int8_t *out)
{
    const int32_t bytes = kn_spread(to, runs, count, length);
    if (p->out_c & 7) {
        kn_packed_from(p, p->out_c & ~7, runs, count, length, out);
    }
    return bytes;
}

/* The channels of two pixels in eights, when their inputs are in the buffer and take so many bytes. */
static void kn_packed_two(const struct kn_packed_s8 *p, const int8_t *inputs, int32_t bytes, int8_t *out, int8_t *other)
{
    struct kn_two two;
    two.inputs = inputs, two.end = inputs + bytes, two.other = other;
    two.both = 2 * bytes, two.back = two.both - 8;
    two.block.weights = (const int16_t *)p->weights, two.block.scales = p->scales, two.block.is_double = p->is_double;
    two.block.out = out, two.block.blocks = p->out_c >> 3 << 1;
    kn_eights_of_two(&two);
}
