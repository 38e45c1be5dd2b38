/* One row of a depthwise convolution, from rows that lie apart: a pointer per row of the window, 0 for rows outside. */
void kn_depthwise_s8_rows(const struct kn_depthwise_s8 *p, const int8_t *const *rows, int8_t *out);
/* -- */
void kn_depthwise_s8_rows(const struct kn_depthwise_s8 *p, const int8_t *const *rows, int8_t *out)
{
    const int32_t out_c = p->in_c * p->multiplicity;
    for (int32_t x = 0; x < p->out_w; ++x, out += out_c) {
        const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w);
        for (int32_t channel = 0; channel < out_c; ++channel) {
            const int8_t *w = p->weights + channel;
            int32_t sum = p->bias[channel];
            for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
                for (int32_t kx = 0; kx < p->kernel_w; ++kx, w += out_c) {
                    const int32_t is_inside = rows[ky] && kx >= columns.first && kx < columns.end;
                    const int32_t x = is_inside ? rows[ky][(columns.begin + kx * p->dilation_w) * p->in_c + channel / p->multiplicity] : p->in_zero;
                    sum = kn_plus(sum, *w * x);
                }
            }
            out[channel] = kn_depthwise_result(p, sum, channel);
        }
    }
}
