/* A convolution of single pixels, or a dense layer, with packed weights. Of a pixel, what eight or two output channels are made of is read before they are written; up to three bytes after the pixel
 * are read and count for nothing. Channels from front to back, pixels too or from the last to the first. */
void kn_packed_pointwise_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out);
/* -- */
void kn_packed_pointwise_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out)
{
    const int32_t pixels = p->out_h * p->out_w, length = (p->in_c + 3) & ~3;
    const int32_t in_step = p->is_backward ? -p->in_c : p->in_c, out_step = p->is_backward ? -p->out_c : p->out_c;
    if (p->is_backward) {
        in += (pixels - 1) * p->in_c;
        out += (pixels - 1) * p->out_c;
    }
    for (int32_t left = pixels;; in += in_step, out += out_step) {
        kn_packed_pixel(p, &in, 1, length, out);
        if (--left == 0) {
            break;
        }
    }
}
