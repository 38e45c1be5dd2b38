/* One row of a convolution, from rows that lie apart: a pointer per row of the window, 0 for rows outside. */
void kn_conv_s8_rows(const struct kn_conv_s8 *p, const int8_t *const *rows, int8_t *out);
/* -- */
static int32_t kn_conv_over_rows(const struct kn_conv_s8 *p, const int8_t *const *rows, struct kn_span columns, int32_t channel)
{
    const int8_t *w = p->weights + channel * p->kernel_h * p->kernel_w * p->in_c;
    int32_t sum = p->bias[channel];
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_w; ++kx, w += p->in_c) {
            if (rows[ky] && kx >= columns.first && kx < columns.end) {
                sum = kn_plus(sum, kn_dot(rows[ky] + (columns.begin + kx * p->dilation_w) * p->in_c, w, p->in_c));
            } else if (p->in_zero != 0) {
                int32_t outside = 0;
                for (int32_t c = 0; c < p->in_c; ++c) {
                    outside += w[c];
                }
                sum = kn_plus(sum, kn_low_product(p->in_zero, outside));
            }
        }
    }
    return sum;
}

void kn_conv_s8_rows(const struct kn_conv_s8 *p, const int8_t *const *rows, int8_t *out)
{
    for (int32_t x = 0; x < p->out_w; ++x, out += p->out_c) {
        const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w);
        for (int32_t channel = 0; channel < p->out_c; ++channel) {
            out[channel] = kn_conv_result(p, kn_conv_over_rows(p, rows, columns, channel), channel);
        }
    }
}
