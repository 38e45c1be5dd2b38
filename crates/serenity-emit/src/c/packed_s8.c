/* What layers of 8-bit integers with packed weights have in common. Two output channels share 16 bits, 256 b + a, so that one multiplication adds to both; an accumulator s of 256 b + a and an accumulator t
 * of a give a = t and 256 b = s - t. Additions wrap around: only the last sum must fit, which was proved when this was written. `scales` has three words for each channel, {low, high, multiplier} of
 * (constant + multiplier * sum) / 2^36, where one rounding gives what two would; or four, {twice the bias, multiplier, half + zero point, shift}. Results fill -128 to 127. */
struct kn_packed_s8 {
    int32_t in_h, in_w, in_c, out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    int32_t in_zero;
    /* Pixels from the last to the first? Two roundings? */
    int32_t is_backward, is_double;
    /* Of 8 or 16 bits, in words. */
    const void *weights;
    const int32_t *scales;
    /* Stands for the pixels outside. */
    const int8_t *zeros;
};
/* -- */
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && defined(__thumb2__) && defined(__GNUC__)
#define KN_ASSEMBLY 1
#if defined(__clang__)
#define KN_NAKED __attribute__((naked, noinline))
#else
#define KN_NAKED __attribute__((naked, noipa))
#endif
/* The result of one channel from its sum, 2^SHIFT - 4 times as large. Scales at r0, the result goes to lr. */
#define KN_SINGLE(SUM, SHIFT) "ldm r0!, {r2, r3, r12}\n smlal r2, r3, " SUM ", r12\n ssat r3, #8, r3, asr #" SHIFT "\n strb r3, [lr], #1\n"
#define KN_DOUBLE(SUM, SHIFT) "ldm r0!, {r2, r3, r12}\n add r2, r2, " SUM ", " SHIFT "\n add r12, r12, r2, asr #31\n smmlar r2, r2, r3, r12\n" \
    " ldr r3, [r0], #4\n asr r2, r2, r3\n ssat r2, #8, r2\n strb r2, [lr], #1\n"
/* Results where layers with one rounding and with two share a block, told apart by the flags; and where all have one. */
#define KN_EITHER_ROUNDING(SINGLE, DOUBLE) "bne 6f\n" SINGLE "b 7f\n 6:\n" DOUBLE "7:\n"
#define KN_ONE_ROUNDING(SINGLE, DOUBLE) SINGLE
#ifndef KN_EIGHTS_ROUNDED
#define KN_EIGHTS_ROUNDED KN_ONE_ROUNDING
#endif
#ifndef KN_TWOS_ROUNDED
#define KN_TWOS_ROUNDED KN_ONE_ROUNDING
#endif
#ifndef KN_PAIRS_ROUNDED
#define KN_PAIRS_ROUNDED KN_ONE_ROUNDING
#endif
#ifndef KN_DEPTHWISE_ROUNDED
#define KN_DEPTHWISE_ROUNDED KN_ONE_ROUNDING
#endif
#else
#define KN_ASSEMBLY 0
static inline int8_t kn_single(uint32_t sum, const int32_t *scale, int32_t shift)
{
    const int64_t constant = (int64_t)((uint64_t)(uint32_t)scale[1] << 32 | (uint32_t)scale[0]);
    return (int8_t)kn_clamped((int32_t)((constant + (int64_t)(int32_t)sum * scale[2]) >> 32) >> shift, -128, 127);
}

/* From twice the sum. */
static inline int8_t kn_double(int32_t twice, const int32_t *scale)
{
    const int32_t value = scale[0] + twice;
    const int32_t high = (int32_t)(((int64_t)value * scale[1] + ((int64_t)1 << 31)) >> 32);
    return (int8_t)kn_clamped((high + (value >> 31) + scale[2]) >> scale[3], -128, 127);
}
#endif
