/* A sum or difference of 8-bit integers as (constant + a times one + b times another) / 2^21, rounded down, element by element from front to back: for each of the 65,536 pairs of operands that is what three roundings
 * give, and nothing goes beyond 32 bits. Both were tried when this was written. */
struct kn_affine_s8 {
    int32_t count, times_a, times_b, constant;
};

void kn_affine_s8(const struct kn_affine_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);
/* -- */
static inline int8_t kn_without_fraction(int32_t value)
{
#if KN_DSP
    int32_t result;
    __asm__("ssat %0, #8, %1, asr #21" : "=r"(result) : "r"(value));
    return (int8_t)result;
#else
    return (int8_t)kn_clamped(value >> 21, -128, 127);
#endif
}

void kn_affine_s8(const struct kn_affine_s8 *p, const int8_t *a, const int8_t *b, int8_t *out)
{
    const int32_t times_a = p->times_a, times_b = p->times_b, constant = p->constant;
    int32_t left = p->count;
#ifdef KN_MVE
    for (; left >= 4; left -= 4, a += 4, b += 4, out += 4) {
        int32x4_t values = vmlaq_n_s32(vdupq_n_s32(constant), vldrbq_s32(a), times_a);
        values = vshrq_n_s32(vmlaq_n_s32(values, vldrbq_s32(b), times_b), 21);
        vstrbq_s32(out, kn_clamped4(values, -128, 127));
    }
#endif
    for (; left >= 4; left -= 4, a += 4, b += 4, out += 4) {
        out[0] = kn_without_fraction(constant + a[0] * times_a + b[0] * times_b);
        out[1] = kn_without_fraction(constant + a[1] * times_a + b[1] * times_b);
        out[2] = kn_without_fraction(constant + a[2] * times_a + b[2] * times_b);
        out[3] = kn_without_fraction(constant + a[3] * times_a + b[3] * times_b);
    }
    for (; left > 0; --left) {
        *out++ = kn_without_fraction(constant + *a++ * times_a + *b++ * times_b);
    }
}
