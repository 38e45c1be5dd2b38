/* A convolution of 8-bit integers whose channels are in groups: each result sees those of its own group only. Reads what the window covers for one output channel, then writes it; pixels and
 * channels from front to back. `bias` and accumulators as those of a convolution. */
struct kn_grouped_s8 {
    int32_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    int32_t in_zero, out_zero, least, most;
    /* Channels that a filter sees, and filters that see the same ones. */
    int32_t depth, together;
    /* 1 if every channel has a multiplier of its own, 0 if they share one. */
    int32_t scale_step;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
};

void kn_grouped_s8(const struct kn_grouped_s8 *p, const int8_t *in, int8_t *out);
/* -- */
static int8_t kn_grouped_one(const struct kn_grouped_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    const int8_t *w = p->weights + channel * p->kernel_h * p->kernel_w * p->depth;
    const int32_t scale = channel * p->scale_step, first = channel / p->together * p->depth;
    int32_t sum = p->bias[channel];
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_w; ++kx, w += p->depth) {
            const int32_t is_inside = ky >= rows.first && ky < rows.end && kx >= columns.first && kx < columns.end;
            const int32_t y = rows.begin + ky * p->dilation_h, x = columns.begin + kx * p->dilation_w;
            for (int32_t c = 0; c < p->depth; ++c) {
                sum = kn_plus(sum, w[c] * (is_inside ? in[(y * p->in_w + x) * p->in_c + first + c] : p->in_zero));
            }
        }
    }
    return (int8_t)kn_clamped(kn_plus(kn_scaled(sum, p->multiplier[scale], p->shift[scale]), p->out_zero), p->least, p->most);
}

void kn_grouped_s8(const struct kn_grouped_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->in_c) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x) {
                const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w);
                for (int32_t channel = 0; channel < p->out_c; ++channel) {
                    *out++ = kn_grouped_one(p, in, rows, columns, channel);
                }
            }
        }
    }
}
