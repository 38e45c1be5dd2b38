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
                sum = kn_plus(sum, weight * in[(y * p->in_w + x) * p->in_c + source]);
            } else {
                sum = kn_plus(sum, weight * p->in_zero);
            }
        }
    }
    return (int8_t)kn_clamped(kn_plus(kn_scaled(sum, p->multiplier[channel], p->shift[channel]), p->out_zero), p->least, p->most);
}

static inline int8_t kn_depthwise_result(const struct kn_depthwise_s8 *p, int32_t sum, int32_t channel)
{
    return (int8_t)kn_clamped(kn_plus(kn_scaled(sum, p->multiplier[channel], p->shift[channel]), p->out_zero), p->least, p->most);
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
    *s0 = kn_plus(*s0, x[0] * w[0]);
    *s1 = kn_plus(*s1, x[1] * w[1]);
    *s2 = kn_plus(*s2, x[2] * w[2]);
    *s3 = kn_plus(*s3, x[3] * w[3]);
#endif
}

/* What a window covers: where it begins in the input and in the weights, how many places it has, and how far it is from column to column and
 * from row to row. Of what hangs over the border: which taps are inside. */
struct kn_depthwise_cover {
    const int8_t *x, *w;
    int32_t rows, columns, x_step, x_row, w_row, hangs_over;
    struct kn_span inside_rows, inside_columns;
};

/* Four channels of taps that lie side by side and stand over the padding: the zero point, times their weights. */
static inline const int8_t *kn_zeros4(int32_t sums[4], int32_t zero, const int8_t *w, int32_t channels, int32_t taps)
{
#if KN_DSP
    const uint32_t zeros = (uint32_t)(uint16_t)zero * 0x10001u;
#endif
    for (; taps > 0; --taps, w += channels) {
#if KN_DSP
        const uint32_t ws = kn_word(w), w02 = kn_sxtb16(ws), w13 = kn_sxtb16_ror8(ws);
        sums[0] = kn_smlabb(zeros, w02, sums[0]);
        sums[1] = kn_smlabb(zeros, w13, sums[1]);
        sums[2] = kn_smlatt(zeros, w02, sums[2]);
        sums[3] = kn_smlatt(zeros, w13, sums[3]);
#else
        sums[0] = kn_plus(sums[0], zero * w[0]);
        sums[1] = kn_plus(sums[1], zero * w[1]);
        sums[2] = kn_plus(sums[2], zero * w[2]);
        sums[3] = kn_plus(sums[3], zero * w[3]);
#endif
    }
    return w;
}

/* What four channels make of the padding. */
static void kn_depthwise_padding(const struct kn_depthwise_s8 *p, const struct kn_depthwise_cover *cover, int32_t channel, int32_t sums[4])
{
    const int32_t first = cover->inside_columns.first, end = cover->inside_columns.end;
    const int32_t channels = p->in_c, zero = p->in_zero, width = p->kernel_w;
    const int8_t *w = p->weights + channel;
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        if (ky < cover->inside_rows.first || ky >= cover->inside_rows.end) {
            w = kn_zeros4(sums, zero, w, channels, width);
        } else {
            w = kn_zeros4(sums, zero, w, channels, first) + (end - first) * channels;
            w = kn_zeros4(sums, zero, w, channels, width - end);
        }
    }
}

/* Four channels from `channel` on, of a layer in which each makes one. */
static void kn_depthwise_four(const struct kn_depthwise_s8 *p, const struct kn_depthwise_cover *cover, int32_t channel, int8_t *out)
{
    const int32_t channels = p->in_c, columns = cover->columns, x_step = cover->x_step, x_row = cover->x_row, w_row = cover->w_row;
    const int32_t *bias = p->bias + channel;
    const int8_t *x = cover->x + channel, *w = cover->w + channel;
    int32_t s0 = bias[0], s1 = bias[1], s2 = bias[2], s3 = bias[3];
    if (columns == 3) {
        for (int32_t rows = cover->rows; rows > 0; --rows, x += x_row, w += w_row) {
            kn_times4(&s0, &s1, &s2, &s3, x, w);
            kn_times4(&s0, &s1, &s2, &s3, x + x_step, w + channels);
            kn_times4(&s0, &s1, &s2, &s3, x + 2 * x_step, w + 2 * channels);
        }
    } else {
        for (int32_t rows = cover->rows; rows > 0; --rows, x += x_row, w += w_row) {
            for (int32_t column = 0; column < columns; ++column) {
                kn_times4(&s0, &s1, &s2, &s3, x + column * x_step, w + column * channels);
            }
        }
    }
    if (cover->hangs_over) {
        int32_t padding[4];
        kn_depthwise_padding(p, cover, channel, padding);
        s0 = kn_plus(s0, padding[0]);
        s1 = kn_plus(s1, padding[1]);
        s2 = kn_plus(s2, padding[2]);
        s3 = kn_plus(s3, padding[3]);
    }
    out[0] = kn_depthwise_result(p, s0, channel);
    out[1] = kn_depthwise_result(p, s1, channel + 1);
    out[2] = kn_depthwise_result(p, s2, channel + 2);
    out[3] = kn_depthwise_result(p, s3, channel + 3);
}

static void kn_depthwise_pixel(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    const int32_t channels = p->in_c, out_c = channels * p->multiplicity;
    int32_t channel = 0;
#ifdef KN_MVE
    if (kn_depthwise_by_vectors(p, in, out, rows, columns)) {
        return;
    }
#endif
    if (p->multiplicity == 1 && rows.end > rows.first && columns.end > columns.first) {
        struct kn_depthwise_cover cover;
        cover.rows = rows.end - rows.first;
        cover.columns = columns.end - columns.first;
        cover.x_step = p->dilation_w * channels;
        cover.x_row = p->dilation_h * p->in_w * channels;
        cover.w_row = p->kernel_w * channels;
        cover.x = in + ((rows.begin + rows.first * p->dilation_h) * p->in_w + columns.begin + columns.first * p->dilation_w) * channels;
        cover.w = p->weights + (rows.first * p->kernel_w + columns.first) * channels;
        cover.hangs_over = p->in_zero != 0 && (cover.rows != p->kernel_h || cover.columns != p->kernel_w);
        cover.inside_rows = rows;
        cover.inside_columns = columns;
        for (; channel + 4 <= out_c; channel += 4) {
            kn_depthwise_four(p, &cover, channel, out + channel);
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
