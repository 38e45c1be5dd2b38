/* A transposed convolution of 8-bit integers: each result adds up what reaches it, so that nothing is kept between two of them. From front to back of the result. Sums of 32 bits
 * wrap around. */
void kn_transposed_s8(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out);
/* -- */
static int32_t kn_transposed_sum(const struct kn_conv_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    int32_t sum = p->bias[channel];
    for (int32_t i = rows.first; i < rows.end; ++i) {
        for (int32_t j = columns.first; j < columns.end; ++j) {
            const int32_t ky = rows.begin - i * p->stride_h, kx = columns.begin - j * p->stride_w;
            const int8_t *w = p->weights + ((channel * p->kernel_h + ky) * p->kernel_w + kx) * p->in_c;
            const int8_t *x = in + (i * p->in_w + j) * p->in_c;
            for (int32_t c = 0; c < p->in_c; ++c) {
                sum = kn_plus(sum, (x[c] - p->in_zero) * w[c]);
            }
        }
    }
    return sum;
}

void kn_transposed_s8(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->in_c) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_reach_of(y, p->stride_h, p->pad_top, p->kernel_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x, out += p->out_c) {
                const struct kn_span columns = kn_reach_of(x, p->stride_w, p->pad_left, p->kernel_w, p->in_w);
                for (int32_t channel = 0; channel < p->out_c; ++channel) {
                    out[channel] = kn_conv_result(p, kn_transposed_sum(p, in, rows, columns, channel), channel);
                }
            }
        }
    }
}
