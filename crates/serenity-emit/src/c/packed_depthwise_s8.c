/* A depthwise convolution in which each channel makes one, with packed weights: those of four channels for each tap, taps in threes. Of a pixel, what four channels are made of is read before they are
 * written; up to three bytes after the channels of a tap are read and count for nothing. Channels from front to back, pixels too or from the last to the first. */
void kn_packed_depthwise_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out);
/* -- */
/* Most taps of a window, to a multiple of three. */
#define KN_MOST_DEPTHWISE_TAPS 27

/* Some blocks of four channels of one pixel: `channel` bytes after each of `count` taps is the first of them. Those who compute a block move `channel`, `weights`, `scales` and `out` on. */
struct kn_fours {
    const int8_t **taps;
    int32_t channel, count;
    const int8_t *weights;
    const int32_t *scales;
    int32_t is_double;
    int8_t *out;
    int32_t blocks;
};

#if KN_ASSEMBLY
#define KN_TAP(FROM, OP, C0, C1, C2, C3) \
    "ldr r3, " FROM "\n ldr r9, [r1], #4\n sxtb16 r8, r3, ror #8\n sxtb16 r3, r3\n sxtb16 r10, r9, ror #8\n sxtb16 r9, r9\n " \
    OP "bb r4, r3, r9" C0 "\n " OP "tt r6, r3, r9" C2 "\n " OP "bb r5, r8, r10" C1 "\n " OP "tt r7, r8, r10" C3 "\n"
#define KN_FIRST_TAP(FROM) KN_TAP(FROM, "smul", "", "", "", "")
#define KN_OTHER_TAP(FROM) KN_TAP(FROM, "smla", ", r4", ", r5", ", r6", ", r7")
#define KN_POINTED(TAP) "ldr r3, [r0], #4\n" TAP("[r3, r2]")
#define KN_FOUR_RESULTS \
    "ldr r2, [sp]\n ldr lr, [r2, #24]\n ldrd r0, r2, [r2, #16]\n cmp r2, #0\n" \
    KN_DEPTHWISE_ROUNDED(KN_SINGLE("r4", "4") KN_SINGLE("r5", "4") KN_SINGLE("r6", "4") KN_SINGLE("r7", "4"), \
        KN_DOUBLE("r4", "lsl #1") KN_DOUBLE("r5", "lsl #1") KN_DOUBLE("r6", "lsl #1") KN_DOUBLE("r7", "lsl #1")) \
    "ldr r2, [sp]\n str r0, [r2, #16]\n str lr, [r2, #24]\n"

KN_NAKED static void kn_depthwise_fours(struct kn_fours *block __attribute__((unused)))
{
    __asm__("push {r0, r4-r11, lr}\n ldr r1, [r0, #12]\n"
        "1:\n ldr lr, [sp]\n ldm lr, {r0, r2, r11}\n"
        KN_POINTED(KN_FIRST_TAP) KN_POINTED(KN_OTHER_TAP) KN_POINTED(KN_OTHER_TAP) "subs r11, r11, #3\n beq 3f\n"
        "2:\n" KN_POINTED(KN_OTHER_TAP) KN_POINTED(KN_OTHER_TAP) KN_POINTED(KN_OTHER_TAP) "subs r11, r11, #3\n bne 2b\n"
        "3:\n" KN_FOUR_RESULTS
        "ldr r0, [r2, #4]\n ldr r3, [r2, #28]\n add r0, r0, #4\n str r0, [r2, #4]\n subs r3, r3, #1\n str r3, [r2, #28]\n bne 1b\n str r1, [r2, #12]\n pop {r0, r4-r11, pc}\n");
}

/* A window of 3 x 3 that lies inside: `taps` has where its three rows begin, which moves on, `channel` how many channels there are. */
KN_NAKED static void kn_depthwise_inside(struct kn_fours *block __attribute__((unused)))
{
    __asm__("push {r0, r4-r11, lr}\n ldr r1, [r0, #12]\n"
        "1:\n ldr lr, [sp]\n ldm lr, {r0, r2}\n ldm r0, {r11, r12, lr}\n"
        KN_FIRST_TAP("[r11]") KN_OTHER_TAP("[r11, r2]") KN_OTHER_TAP("[r11, r2, lsl #1]")
        KN_OTHER_TAP("[r12]") KN_OTHER_TAP("[r12, r2]") KN_OTHER_TAP("[r12, r2, lsl #1]")
        KN_OTHER_TAP("[lr]") KN_OTHER_TAP("[lr, r2]") KN_OTHER_TAP("[lr, r2, lsl #1]")
        "add r11, r11, #4\n add r12, r12, #4\n add lr, lr, #4\n stm r0, {r11, r12, lr}\n"
        KN_FOUR_RESULTS
        "ldr r3, [r2, #28]\n subs r3, r3, #1\n str r3, [r2, #28]\n bne 1b\n str r1, [r2, #12]\n pop {r0, r4-r11, pc}\n");
}
#else
static void kn_depthwise_fours(struct kn_fours *block)
{
    for (; block->blocks > 0; --block->blocks, block->channel += 4) {
        int32_t sums[4] = {0, 0, 0, 0};
        for (int32_t tap = 0; tap < block->count; ++tap) {
            const int8_t *const x = block->taps[tap] + block->channel;
            const int8_t *const w = block->weights;
            sums[0] += x[0] * w[0];
            sums[1] += x[1] * w[1];
            sums[2] += x[2] * w[2];
            sums[3] += x[3] * w[3];
            block->weights += 4;
        }
        for (int32_t k = 0; k < 4; ++k) {
            if (block->is_double) {
                *block->out++ = kn_double(sums[k] * 2, block->scales);
                block->scales += 4;
            } else {
                *block->out++ = kn_single((uint32_t)sums[k], block->scales, 4);
                block->scales += 3;
            }
        }
    }
}
#endif

/* All channels of a pixel: whole blocks, and the rest by way of a copy. */
static void kn_packed_depthwise_pixel(struct kn_fours *block, int32_t channels, void (*fours)(struct kn_fours *))
{
    block->blocks = channels >> 2;
    if (block->blocks > 0) {
        fours(block);
    }
    channels &= 3;
    if (channels > 0) {
        int8_t last[4], *const to = block->out;
        block->out = last, block->blocks = 1;
        fours(block);
        for (int32_t k = 0; k < channels; ++k) {
            to[k] = last[k];
        }
    }
}

void kn_packed_depthwise_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out)
{
    const int8_t *taps[KN_MOST_DEPTHWISE_TAPS];
    const int32_t count = p->kernel_h * p->kernel_w, row = p->in_w * p->in_c;
    struct kn_place place = kn_first_place(p, out);
#if KN_ASSEMBLY
    const int32_t is_usual = p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1;
#endif
    do {
        const int32_t y = place.y * p->stride_h - p->pad_top, x = place.x * p->stride_w - p->pad_left, at = y * row + x * p->in_c;
        struct kn_fours block;
        block.taps = taps, block.weights = (const int8_t *)p->weights, block.scales = p->scales, block.is_double = p->is_double, block.out = place.out;
#if KN_ASSEMBLY
        if (is_usual && y >= 0 && x >= 0 && y + 3 <= p->in_h && x + 3 <= p->in_w) {
            taps[0] = in + at, taps[1] = in + at + row, taps[2] = in + at + 2 * row;
            block.channel = p->in_c;
            kn_packed_depthwise_pixel(&block, p->in_c, kn_depthwise_inside);
            continue;
        }
#endif
        kn_taps(p, taps, in, at, y, x);
        block.channel = 0, block.count = count;
        for (; block.count % 3 != 0; ++block.count) {
            taps[block.count] = p->zeros;
        }
        kn_packed_depthwise_pixel(&block, p->in_c, kn_depthwise_fours);
    } while (kn_next_place(p, &place));
}
