/* 16-bit integers as 8-bit ones in another scale, element by element from front to back. */
struct kn_rescale_s16 {
    int32_t count, in_zero, multiplier, shift, out_zero;
};

void kn_rescale_s16(const struct kn_rescale_s16 *p, const void *in, int8_t *out);
/* -- */
void kn_rescale_s16(const struct kn_rescale_s16 *p, const void *in, int8_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        const int32_t value = kn_scaled(kn_load_s16(in, i) - p->in_zero, p->multiplier, p->shift) + p->out_zero;
        out[i] = (int8_t)kn_clamped(value, -128, 127);
    }
}
