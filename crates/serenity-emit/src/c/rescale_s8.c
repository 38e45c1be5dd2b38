/* 8-bit integers in another scale, or cut off, element by element from front to back. */
struct kn_rescale_s8 {
    int32_t count, in_zero, multiplier, shift, out_zero, least, most;
};

void kn_rescale_s8(const struct kn_rescale_s8 *p, const int8_t *in, int8_t *out);
/* -- */
void kn_rescale_s8(const struct kn_rescale_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        const int32_t value = kn_scaled(in[i] - p->in_zero, p->multiplier, p->shift) + p->out_zero;
        out[i] = (int8_t)kn_clamped(value, p->least, p->most);
    }
}
