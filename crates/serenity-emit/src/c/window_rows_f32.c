/* One row of a convolution or pool of floats, from rows that lie apart: a pointer per row of the window, 0 for rows outside. Sums as for the whole. */
void kn_conv_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out);
void kn_depthwise_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out);
void kn_average_pool_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out);
void kn_max_pool_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out);
/* -- */
typedef float (*kn_channel_rows_f32)(const struct kn_window_f32 *p, const int8_t *const *rows, struct kn_span columns, int32_t channel);

static float kn_conv_rows_one_f32(const struct kn_window_f32 *p, const int8_t *const *rows, struct kn_span columns, int32_t channel)
{
    float sum = 0.0f;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = columns.first; rows[ky] && kx < columns.end; ++kx) {
            const int32_t from = (columns.begin + kx * p->dilation_w) * p->in_c;
            const float *w = p->weights + ((channel * p->kernel_h + ky) * p->kernel_w + kx) * p->in_c;
            for (int32_t c = 0; c < p->in_c; ++c) {
                sum += kn_load_f32(rows[ky], from + c) * w[c];
            }
        }
    }
    return p->bias ? sum + p->bias[channel] : sum;
}

static float kn_depthwise_rows_one_f32(const struct kn_window_f32 *p, const int8_t *const *rows, struct kn_span columns, int32_t channel)
{
    const int32_t source = channel / (p->out_c / p->in_c);
    float sum = 0.0f;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = columns.first; rows[ky] && kx < columns.end; ++kx) {
            const int32_t from = (columns.begin + kx * p->dilation_w) * p->in_c;
            sum += kn_load_f32(rows[ky], from + source) * p->weights[(ky * p->kernel_w + kx) * p->out_c + channel];
        }
    }
    return p->bias ? sum + p->bias[channel] : sum;
}

static float kn_average_rows_one_f32(const struct kn_window_f32 *p, const int8_t *const *rows, struct kn_span columns, int32_t channel)
{
    float sum = 0.0f;
    int32_t count = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = columns.first; rows[ky] && kx < columns.end; ++kx, ++count) {
            sum += kn_load_f32(rows[ky], (columns.begin + kx) * p->in_c + channel);
        }
    }
    return sum / (float)count;
}

static float kn_max_rows_one_f32(const struct kn_window_f32 *p, const int8_t *const *rows, struct kn_span columns, int32_t channel)
{
    float largest = -FLT_MAX;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        for (int32_t kx = columns.first; rows[ky] && kx < columns.end; ++kx) {
            const float value = kn_load_f32(rows[ky], (columns.begin + kx) * p->in_c + channel);
            largest = value > largest ? value : largest;
        }
    }
    return largest;
}

static void kn_slide_rows_f32(const struct kn_window_f32 *p, kn_channel_rows_f32 one, const int8_t *const *rows, void *out)
{
    int32_t at = 0;
    for (int32_t x = 0; x < p->out_w; ++x) {
        const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w);
        for (int32_t channel = 0; channel < p->out_c; ++channel) {
            kn_store_f32(out, at++, kn_cut_f32(one(p, rows, columns, channel), p->least, p->most));
        }
    }
}

void kn_conv_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out)
{
    kn_slide_rows_f32(p, kn_conv_rows_one_f32, rows, out);
}

void kn_depthwise_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out)
{
    kn_slide_rows_f32(p, kn_depthwise_rows_one_f32, rows, out);
}

void kn_average_pool_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out)
{
    kn_slide_rows_f32(p, kn_average_rows_one_f32, rows, out);
}

void kn_max_pool_f32_rows(const struct kn_window_f32 *p, const int8_t *const *rows, void *out)
{
    kn_slide_rows_f32(p, kn_max_rows_one_f32, rows, out);
}
