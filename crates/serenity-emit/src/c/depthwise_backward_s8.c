/* A depthwise convolution of one picture from its last pixel to its first, for where the result begins above what it is made from: reads what the window
 * covers of four channels at a time, then writes them; the channels of a pixel from front to back. */
void kn_depthwise_backward_s8(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out);
/* -- */
void kn_depthwise_backward_s8(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out)
{
    const int32_t out_c = p->in_c * p->multiplicity;
    out += p->out_h * p->out_w * out_c;
    for (int32_t y = p->out_h - 1; y >= 0; --y) {
        const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, p->dilation_h, p->in_h);
        for (int32_t x = p->out_w - 1; x >= 0; --x) {
            out -= out_c;
            kn_depthwise_pixel(p, in, out, rows, kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w));
        }
    }
}
