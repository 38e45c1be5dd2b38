/* A convolution of 8-bit integers. Reads all that the window covers, for four output channels at a time, and writes them; pixels and channels from
 * front to back. `bias` holds what the zero point of the input adds as well. Accumulators of 32 bits
 * wrap around. */
struct kn_conv_s8 {
    int32_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    int32_t in_zero, out_zero, least, most;
    /* 1 if every channel has a multiplier of its own, 0 if they share one. */
    int32_t scale_step;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
};

void kn_conv_s8(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out);
/* -- */
/* Four filters, `apart` weights from each other, with the same run of inputs. */
static inline void kn_dot4(int32_t sums[4], const int8_t *x, const int8_t *w, int32_t apart, int32_t count)
{
    const int8_t *w1 = w + apart, *w2 = w1 + apart, *w3 = w2 + apart;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3], i = 0;
#if KN_DSP
    for (; i + 4 <= count; i += 4) {
        const uint32_t xs = kn_word(x + i), x02 = kn_sxtb16(xs), x13 = kn_sxtb16_ror8(xs);
        uint32_t ws = kn_word(w + i);
        s0 = kn_smlad(kn_sxtb16(ws), x02, s0);
        s0 = kn_smlad(kn_sxtb16_ror8(ws), x13, s0);
        ws = kn_word(w1 + i);
        s1 = kn_smlad(kn_sxtb16(ws), x02, s1);
        s1 = kn_smlad(kn_sxtb16_ror8(ws), x13, s1);
        ws = kn_word(w2 + i);
        s2 = kn_smlad(kn_sxtb16(ws), x02, s2);
        s2 = kn_smlad(kn_sxtb16_ror8(ws), x13, s2);
        ws = kn_word(w3 + i);
        s3 = kn_smlad(kn_sxtb16(ws), x02, s3);
        s3 = kn_smlad(kn_sxtb16_ror8(ws), x13, s3);
    }
#endif
    for (; i < count; ++i) {
        const int32_t value = x[i];
        s0 = kn_plus(s0, value * w[i]);
        s1 = kn_plus(s1, value * w1[i]);
        s2 = kn_plus(s2, value * w2[i]);
        s3 = kn_plus(s3, value * w3[i]);
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

static inline int32_t kn_dot(const int8_t *x, const int8_t *w, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; ++i) {
        sum = kn_plus(sum, x[i] * w[i]);
    }
    return sum;
}

static inline int32_t kn_low_product(int32_t value, int32_t by)
{
    return (int32_t)((uint32_t)value * (uint32_t)by);
}

/* The weights of one filter that stand over the padding, added up. */
static int32_t kn_outside(const struct kn_conv_s8 *p, const int8_t *w, struct kn_span rows, struct kn_span columns)
{
    int32_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_w; ++kx, w += p->in_c) {
            if (ky < rows.first || ky >= rows.end || kx < columns.first || kx >= columns.end) {
                for (int32_t c = 0; c < p->in_c; ++c) {
                    sum += w[c];
                }
            }
        }
    }
    return sum;
}

static inline int8_t kn_conv_result(const struct kn_conv_s8 *p, int32_t sum, int32_t channel)
{
    const int32_t scale = channel * p->scale_step;
    const int32_t value = kn_plus(kn_scaled(sum, p->multiplier[scale], p->shift[scale]), p->out_zero);
    return (int8_t)kn_clamped(value, p->least, p->most);
}

/* What a window covers of the input: where it begins there and in a filter, runs of columns that lie side by side, and how far apart rows are. */
struct kn_cover {
    const int8_t *x, *w;
    int32_t rows, run, in_row, taps, filter;
};

static void kn_conv_four(const struct kn_conv_s8 *p, const struct kn_cover *cover, int32_t sums[4], int32_t channel, int8_t *out)
{
    const int8_t *x = cover->x, *w = cover->w + channel * cover->filter;
    const int32_t run = cover->run, filter = cover->filter, in_row = cover->in_row, taps = cover->taps;
    for (int32_t rows = cover->rows; rows > 0; --rows, x += in_row, w += taps) {
        kn_dot4(sums, x, w, filter, run);
    }
    out[0] = kn_conv_result(p, sums[0], channel);
    out[1] = kn_conv_result(p, sums[1], channel + 1);
    out[2] = kn_conv_result(p, sums[2], channel + 2);
    out[3] = kn_conv_result(p, sums[3], channel + 3);
}

/* All channels of a pixel whose window lies inside. */
static void kn_conv_inside(const struct kn_conv_s8 *p, const struct kn_cover *cover, int8_t *out)
{
    int32_t channel = 0;
    for (; channel + 4 <= p->out_c; channel += 4) {
        const int32_t *bias = p->bias + channel;
        int32_t sums[4];
        sums[0] = bias[0], sums[1] = bias[1], sums[2] = bias[2], sums[3] = bias[3];
        kn_conv_four(p, cover, sums, channel, out + channel);
    }
    for (; channel < p->out_c; ++channel) {
        int32_t sum = p->bias[channel];
        for (int32_t row = 0; row < cover->rows; ++row) {
            sum = kn_plus(sum, kn_dot(cover->x + row * cover->in_row, cover->w + channel * cover->filter + row * cover->taps, cover->run));
        }
        out[channel] = kn_conv_result(p, sum, channel);
    }
}

/* The same where it hangs over the border, or has holes. */
static void kn_conv_anywhere(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    const int32_t filter = p->kernel_h * p->kernel_w * p->in_c;
    for (int32_t channel = 0; channel < p->out_c; ++channel) {
        const int8_t *w = p->weights + channel * filter;
        int32_t sum = p->bias[channel];
        if (p->in_zero != 0) {
            sum = kn_plus(sum, kn_low_product(p->in_zero, kn_outside(p, w, rows, columns)));
        }
        for (int32_t ky = rows.first; ky < rows.end; ++ky) {
            for (int32_t kx = columns.first; kx < columns.end; ++kx) {
                const int32_t y = rows.begin + ky * p->dilation_h, x = columns.begin + kx * p->dilation_w;
                sum = kn_plus(sum, kn_dot(in + (y * p->in_w + x) * p->in_c, w + (ky * p->kernel_w + kx) * p->in_c, p->in_c));
            }
        }
        out[channel] = kn_conv_result(p, sum, channel);
    }
}

/* And where it hangs over, without holes: four channels at a time, and what stands over the padding besides. */
static void kn_conv_border(const struct kn_conv_s8 *p, const struct kn_cover *cover, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    int32_t channel = 0;
    for (; channel + 4 <= p->out_c; channel += 4) {
        int32_t sums[4];
        for (int32_t k = 0; k < 4; ++k) {
            sums[k] = kn_plus(p->bias[channel + k], kn_low_product(p->in_zero, kn_outside(p, p->weights + (channel + k) * cover->filter, rows, columns)));
        }
        kn_conv_four(p, cover, sums, channel, out + channel);
    }
    for (; channel < p->out_c; ++channel) {
        int32_t sum = kn_plus(p->bias[channel], kn_low_product(p->in_zero, kn_outside(p, p->weights + channel * cover->filter, rows, columns)));
        for (int32_t row = 0; row < cover->rows; ++row) {
            sum = kn_plus(sum, kn_dot(cover->x + row * cover->in_row, cover->w + channel * cover->filter + row * cover->taps, cover->run));
        }
        out[channel] = kn_conv_result(p, sum, channel);
    }
}

static void kn_conv_pixel(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    struct kn_cover cover;
#ifdef KN_MVE
    if (kn_conv_by_vectors(p, in, out, rows, columns)) {
        return;
    }
#endif
    cover.rows = rows.end - rows.first;
    cover.run = (columns.end - columns.first) * p->in_c;
    if (p->dilation_w != 1 || cover.rows <= 0 || cover.run <= 0) {
        kn_conv_anywhere(p, in, out, rows, columns);
        return;
    }
    cover.in_row = p->in_w * p->in_c * p->dilation_h;
    cover.taps = p->kernel_w * p->in_c;
    cover.filter = p->kernel_h * cover.taps;
    cover.x = in + ((rows.begin + rows.first * p->dilation_h) * p->in_w + columns.begin + columns.first) * p->in_c;
    cover.w = p->weights + (rows.first * p->kernel_w + columns.first) * p->in_c;
    if ((cover.rows == p->kernel_h && cover.run == cover.taps) || p->in_zero == 0) {
        kn_conv_inside(p, &cover, out);
    } else {
        kn_conv_border(p, &cover, out, rows, columns);
    }
}

void kn_conv_s8(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out)
{
#ifdef KN_MVE
    if (kn_conv_points(p, in, out)) {
        return;
    }
#endif
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->in_c) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x, out += p->out_c) {
                kn_conv_pixel(p, in, out, rows, kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w));
            }
        }
    }
}
