/* Means of 8-bit integers over the middle of three sides. Each result is written after all that it is made of was read; the sum of fewer than 2^23
 * elements stays within 32 bits. The division is part of the factor. */
struct kn_mean_s8 {
    int32_t outer, reduced, inner;
    int32_t in_zero, multiplier, shift, out_zero;
};

void kn_mean_s8(const struct kn_mean_s8 *p, const int8_t *in, int8_t *out);
/* -- */
void kn_mean_s8(const struct kn_mean_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t o = 0; o < p->outer; ++o) {
        for (int32_t i = 0; i < p->inner; ++i) {
            int32_t sum = 0;
            for (int32_t r = 0; r < p->reduced; ++r) {
                sum += in[(o * p->reduced + r) * p->inner + i];
            }
            sum = kn_scaled(sum - p->in_zero * p->reduced, p->multiplier, p->shift) + p->out_zero;
            out[o * p->inner + i] = (int8_t)kn_clamped(sum, -128, 127);
        }
    }
}
