/* A convolution of 8-bit integers. Reads all that the window covers, for four output channels at a time, and writes them; pixels and channels from
 * front to back. `bias` holds what the zero point of the input adds as well. Accumulators stay within 32 bits for any input: proved when this was
 * written, from the weights. */
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
        s0 += value * w[i];
        s1 += value * w1[i];
        s2 += value * w2[i];
        s3 += value * w3[i];
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

static inline int32_t kn_dot(const int8_t *x, const int8_t *w, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; ++i) {
        sum += x[i] * w[i];
    }
    return sum;
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
    const int32_t value = kn_scaled(sum, p->multiplier[scale], p->shift[scale]) + p->out_zero;
    return (int8_t)kn_clamped(value, p->least, p->most);
}

static void kn_conv_pixel(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    const int32_t in_row = p->in_w * p->in_c * p->dilation_h, taps = p->kernel_w * p->in_c, filter = p->kernel_h * taps;
    /* Without dilation the columns of the window are one run. */
    const int32_t inside = columns.end - columns.first;
    const int32_t runs = p->dilation_w == 1 ? 1 : inside;
    const int32_t run = p->dilation_w == 1 ? inside * p->in_c : p->in_c;
    const int32_t is_whole = rows.first == 0 && rows.end == p->kernel_h && inside == p->kernel_w;
    const int8_t *x0 = in, *w0 = p->weights + (rows.first * p->kernel_w + columns.first) * p->in_c;
    int32_t channel = 0;
    if (rows.end > rows.first && inside > 0) {
        x0 += ((rows.begin + rows.first * p->dilation_h) * p->in_w + columns.begin + columns.first * p->dilation_w) * p->in_c;
    }
    for (; channel + 4 <= p->out_c; channel += 4, w0 += 4 * filter) {
        const int8_t *x = x0, *w = w0;
        int32_t sums[4];
        for (int32_t k = 0; k < 4; ++k) {
            sums[k] = p->bias[channel + k];
        }
        if (!is_whole && p->in_zero != 0) {
            for (int32_t k = 0; k < 4; ++k) {
                sums[k] += p->in_zero * kn_outside(p, p->weights + (channel + k) * filter, rows, columns);
            }
        }
        for (int32_t ky = rows.first; ky < rows.end; ++ky, x += in_row, w += taps) {
            for (int32_t r = 0; r < runs; ++r) {
                kn_dot4(sums, x + r * p->dilation_w * p->in_c, w + r * p->in_c, filter, run);
            }
        }
        for (int32_t k = 0; k < 4; ++k) {
            out[channel + k] = kn_conv_result(p, sums[k], channel + k);
        }
    }
    for (; channel < p->out_c; ++channel, w0 += filter) {
        const int8_t *x = x0, *w = w0;
        int32_t sum = p->bias[channel];
        if (!is_whole && p->in_zero != 0) {
            sum += p->in_zero * kn_outside(p, p->weights + channel * filter, rows, columns);
        }
        for (int32_t ky = rows.first; ky < rows.end; ++ky, x += in_row, w += taps) {
            for (int32_t r = 0; r < runs; ++r) {
                sum += kn_dot(x + r * p->dilation_w * p->in_c, w + r * p->in_c, run);
            }
        }
        out[channel] = kn_conv_result(p, sum, channel);
    }
}

void kn_conv_s8(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->in_c) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x, out += p->out_c) {
                kn_conv_pixel(p, in, out, rows, kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w));
            }
        }
    }
}
