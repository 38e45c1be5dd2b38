/* A transposed convolution of floats: each result adds up what reaches it, in the order of rows, columns and channels of the input. From front to back of the result. */
void kn_transposed_f32(const struct kn_window_f32 *p, const void *in, void *out);
/* -- */
static float kn_transposed_one_f32(const struct kn_window_f32 *p, const void *in, struct kn_span rows, struct kn_span columns, int32_t channel)
{
    float sum = 0.0f;
    for (int32_t i = rows.first; i < rows.end; ++i) {
        for (int32_t j = columns.first; j < columns.end; ++j) {
            const int32_t ky = rows.begin - i * p->stride_h, kx = columns.begin - j * p->stride_w, from = (i * p->in_w + j) * p->in_c;
            const float *w = p->weights + ((channel * p->kernel_h + ky) * p->kernel_w + kx) * p->in_c;
            for (int32_t c = 0; c < p->in_c; ++c) {
                sum += kn_load_f32(in, from + c) * w[c];
            }
        }
    }
    return p->bias ? sum + p->bias[channel] : sum;
}

void kn_transposed_f32(const struct kn_window_f32 *p, const void *in, void *out)
{
    int32_t at = 0;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const void *image = (const uint8_t *)in + 4 * (size_t)(batch * p->in_h * p->in_w * p->in_c);
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_span rows = kn_reach_of(y, p->stride_h, p->pad_top, p->kernel_h, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x) {
                const struct kn_span columns = kn_reach_of(x, p->stride_w, p->pad_left, p->kernel_w, p->in_w);
                for (int32_t channel = 0; channel < p->out_c; ++channel) {
                    kn_store_f32(out, at++, kn_cut_f32(kn_transposed_one_f32(p, image, rows, columns, channel), p->least, p->most));
                }
            }
        }
    }
}
