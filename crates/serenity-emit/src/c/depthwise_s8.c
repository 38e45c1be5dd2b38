/* A depthwise convolution of 8-bit integers: each channel by itself, or each as `multiplicity` output channels in a row. Reads what the window covers of
 * four channels at a time, then writes them; pixels and channels from front to back. `bias` and accumulators as those of a convolution. */
struct kn_depthwise_s8 {
    int32_t batches, in_h, in_w, in_c, out_h, out_w, multiplicity;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    int32_t in_zero, out_zero, least, most;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
};

void kn_depthwise_s8(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out);
/* -- */
/* One output channel; `channel` counts those. */
static int8_t kn_depthwise_one(const struct kn_depthwise_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    const int32_t out_c = p->in_c * p->multiplicity, source = channel / p->multiplicity;
    int32_t sum = p->bias[channel];
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_w; ++kx) {
            const int32_t weight = p->weights[(ky * p->kernel_w + kx) * out_c + channel];
            const int32_t is_inside = ky >= rows.first && ky < rows.end && kx >= columns.first && kx < columns.end;
            if (is_inside) {
                const int32_t y = rows.begin + ky * p->dilation_h, x = columns.begin + kx * p->dilation_w;
                sum += weight * in[(y * p->in_w + x) * p->in_c + source];
            } else {
                sum += weight * p->in_zero;
            }
        }
    }
    return (int8_t)kn_clamped(kn_scaled(sum, p->multiplier[channel], p->shift[channel]) + p->out_zero, p->least, p->most);
}

static inline int8_t kn_depthwise_result(const struct kn_depthwise_s8 *p, int32_t sum, int32_t channel)
{
    return (int8_t)kn_clamped(kn_scaled(sum, p->multiplier[channel], p->shift[channel]) + p->out_zero, p->least, p->most);
}

/* Four channels of one place, times their weights. */
static inline void kn_times4(int32_t *s0, int32_t *s1, int32_t *s2, int32_t *s3, const int8_t *x, const int8_t *w)
{
#if KN_DSP
    const uint32_t xs = kn_word(x), ws = kn_word(w);
    const uint32_t x02 = kn_sxtb16(xs), x13 = kn_sxtb16_ror8(xs), w02 = kn_sxtb16(ws), w13 = kn_sxtb16_ror8(ws);
    *s0 = kn_smlabb(x02, w02, *s0);
    *s1 = kn_smlabb(x13, w13, *s1);
    *s2 = kn_smlatt(x02, w02, *s2);
    *s3 = kn_smlatt(x13, w13, *s3);
#else
    *s0 += x[0] * w[0];
    *s1 += x[1] * w[1];
    *s2 += x[2] * w[2];
    *s3 += x[3] * w[3];
#endif
}

/* Four channels from `channel` on, of a layer in which each makes one. */
static void kn_depthwise_four(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    const int32_t channels = p->in_c, x_step = p->dilation_w * channels, inside = columns.end - columns.first;
    const int32_t x_row = p->dilation_h * p->in_w * channels - inside * x_step, w_row = (p->kernel_w - inside) * channels;
    const int8_t *x = in + ((rows.begin + rows.first * p->dilation_h) * p->in_w + columns.begin + columns.first * p->dilation_w) * channels + channel;
    const int8_t *w = p->weights + (rows.first * p->kernel_w + columns.first) * channels + channel;
    int32_t s0 = p->bias[channel], s1 = p->bias[channel + 1], s2 = p->bias[channel + 2], s3 = p->bias[channel + 3];
    for (int32_t ky = rows.end - rows.first; ky > 0; --ky, x += x_row, w += w_row) {
        int32_t kx = inside;
        for (; kx >= 3; kx -= 3, x += 3 * x_step, w += 3 * channels) {
            kn_times4(&s0, &s1, &s2, &s3, x, w);
            kn_times4(&s0, &s1, &s2, &s3, x + x_step, w + channels);
            kn_times4(&s0, &s1, &s2, &s3, x + 2 * x_step, w + 2 * channels);
        }
        for (; kx > 0; --kx, x += x_step, w += channels) {
            kn_times4(&s0, &s1, &s2, &s3, x, w);
        }
    }
    if (p->in_zero != 0 && (rows.end - rows.first != p->kernel_h || inside != p->kernel_w)) {
        const int8_t *border = p->weights + channel;
        for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
            for (int32_t kx = 0; kx < p->kernel_w; ++kx, border += channels) {
                if (ky < rows.first || ky >= rows.end || kx < columns.first || kx >= columns.end) {
                    s0 += p->in_zero * border[0];
                    s1 += p->in_zero * border[1];
                    s2 += p->in_zero * border[2];
                    s3 += p->in_zero * border[3];
                }
            }
        }
    }
    out[channel] = kn_depthwise_result(p, s0, channel);
    out[channel + 1] = kn_depthwise_result(p, s1, channel + 1);
    out[channel + 2] = kn_depthwise_result(p, s2, channel + 2);
    out[channel + 3] = kn_depthwise_result(p, s3, channel + 3);
}

static void kn_depthwise_pixel(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    const int32_t out_c = p->in_c * p->multiplicity;
    int32_t channel = 0;
    if (p->multiplicity == 1 && rows.end > rows.first && columns.end > columns.first) {
        for (; channel + 4 <= out_c; channel += 4) {
            kn_depthwise_four(p, in, out, rows, columns, channel);
        }
    }
    for (; channel < out_c; ++channel) {
        out[channel] = kn_depthwise_one(p, in, rows, columns, channel);
    }
}

void kn_depthwise_s8(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->in_c) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x, out += p->in_c * p->multiplicity) {
                kn_depthwise_pixel(p, in, out, rows, kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w));
            }
        }
    }
}
