/* Convolutions and pools of floats. A convolution reads what the window covers for each output channel, then writes it; a depthwise one and a pool likewise
 * for one channel. Pixels and channels from front to back; sums go over rows, columns and channels in that order. */
struct kn_window_f32 {
    int32_t batches, in_h, in_w, in_c, out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    float least, most;
    const float *weights;
    const float *bias;
};

void kn_conv_f32(const struct kn_window_f32 *p, const void *in, void *out);
void kn_depthwise_f32(const struct kn_window_f32 *p, const void *in, void *out);
void kn_average_pool_f32(const struct kn_window_f32 *p, const void *in, void *out);
void kn_max_pool_f32(const struct kn_window_f32 *p, const void *in, void *out);
/* -- */
typedef float (*kn_channel_f32)(const struct kn_window_f32 *p, const void *in, struct kn_span rows, struct kn_span columns, int32_t channel);

static float kn_cut_f32(float value, float least, float most)
{
    return value < least ? least : value > most ? most : value;
}

static float kn_conv_one_f32(const struct kn_window_f32 *p, const void *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    float sum = 0.0f;
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
            const int32_t from = ((rows.begin + ky * p->dilation_h) * p->in_w + columns.begin + kx * p->dilation_w) * p->in_c;
            const float *w = p->weights + ((channel * p->kernel_h + ky) * p->kernel_w + kx) * p->in_c;
            for (int32_t c = 0; c < p->in_c; ++c) {
                sum += kn_load_f32(in, from + c) * w[c];
            }
        }
    }
    return p->bias ? sum + p->bias[channel] : sum;
}

static float kn_depthwise_one_f32(const struct kn_window_f32 *p, const void *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    const int32_t source = channel / (p->out_c / p->in_c);
    float sum = 0.0f;
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
            const int32_t from = ((rows.begin + ky * p->dilation_h) * p->in_w + columns.begin + kx * p->dilation_w) * p->in_c;
            sum += kn_load_f32(in, from + source) * p->weights[(ky * p->kernel_w + kx) * p->out_c + channel];
        }
    }
    return p->bias ? sum + p->bias[channel] : sum;
}

static float kn_average_one_f32(const struct kn_window_f32 *p, const void *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    float sum = 0.0f;
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
            sum += kn_load_f32(in, ((rows.begin + ky) * p->in_w + columns.begin + kx) * p->in_c + channel);
        }
    }
    return sum / (float)((rows.end - rows.first) * (columns.end - columns.first));
}

static float kn_max_one_f32(const struct kn_window_f32 *p, const void *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    float largest = -FLT_MAX;
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
            const float value = kn_load_f32(in, ((rows.begin + ky) * p->in_w + columns.begin + kx) * p->in_c + channel);
            largest = value > largest ? value : largest;
        }
    }
    return largest;
}

static void kn_slide_f32(const struct kn_window_f32 *p, kn_channel_f32 one, const void *in, void *out)
{
    int32_t at = 0;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const void *image = (const uint8_t *)in + 4 * (size_t)(batch * p->in_h * p->in_w * p->in_c);
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, p->dilation_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x) {
                const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, p->dilation_w, p->in_w);
                for (int32_t channel = 0; channel < p->out_c; ++channel) {
                    kn_store_f32(out, at++, kn_cut_f32(one(p, image, rows, columns, channel), p->least, p->most));
                }
            }
        }
    }
}

void kn_conv_f32(const struct kn_window_f32 *p, const void *in, void *out)
{
    kn_slide_f32(p, kn_conv_one_f32, in, out);
}

void kn_depthwise_f32(const struct kn_window_f32 *p, const void *in, void *out)
{
    kn_slide_f32(p, kn_depthwise_one_f32, in, out);
}

void kn_average_pool_f32(const struct kn_window_f32 *p, const void *in, void *out)
{
    kn_slide_f32(p, kn_average_one_f32, in, out);
}

void kn_max_pool_f32(const struct kn_window_f32 *p, const void *in, void *out)
{
    kn_slide_f32(p, kn_max_one_f32, in, out);
}
