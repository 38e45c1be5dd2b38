/* As kn_packed_pointwise_s8, two pixels at a time: what two pixels or two channels are made of is read before they are written. `scratch` has room for four bytes for each input of a pixel, to a multiple of four inputs, and is a multiple of four. */
void kn_packed_two_pointwise_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out, int8_t *scratch);
/* -- */
void kn_packed_two_pointwise_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out, int8_t *scratch)
{
    const int32_t pixels = p->out_h * p->out_w, length = (p->in_c + 3) & ~3;
    const int32_t in_step = p->is_backward ? -p->in_c : p->in_c, out_step = p->is_backward ? -p->out_c : p->out_c;
    int32_t left = pixels;
    if (p->is_backward) {
        in += (pixels - 1) * p->in_c;
        out += (pixels - 1) * p->out_c;
    }
    for (; left >= 2; left -= 2) {
        const int8_t *const second = in + in_step;
        kn_packed_first(p, scratch, &in, 1, length, out);
        kn_packed_first(p, scratch + 4, &second, 1, length, out + out_step);
        kn_packed_two(p, scratch, 4 * length, out, out + out_step);
        if (left > 2) {
            in = second + in_step, out += 2 * out_step;
        }
    }
    if (left > 0) {
        kn_packed_pixel(p, &in, 1, length, out);
    }
}
