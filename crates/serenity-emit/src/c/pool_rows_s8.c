/* One row of a pool, from rows that lie apart: a pointer per row of the window, 0 for rows outside. */
void kn_average_pool_s8_rows(const struct kn_pool_s8 *p, const int8_t *const *rows, int8_t *out);
void kn_max_pool_s8_rows(const struct kn_pool_s8 *p, const int8_t *const *rows, int8_t *out);
/* -- */
void kn_average_pool_s8_rows(const struct kn_pool_s8 *p, const int8_t *const *rows, int8_t *out)
{
    for (int32_t x = 0; x < p->out_w; ++x) {
        const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, 1, p->in_w);
        for (int32_t channel = 0; channel < p->channels; ++channel) {
            int32_t sum = 0, count = 0;
            for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
                for (int32_t kx = columns.first; rows[ky] && kx < columns.end; ++kx, ++count) {
                    sum += rows[ky][(columns.begin + kx) * p->channels + channel];
                }
            }
            sum = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
            *out++ = (int8_t)kn_clamped(sum, p->least, p->most);
        }
    }
}

void kn_max_pool_s8_rows(const struct kn_pool_s8 *p, const int8_t *const *rows, int8_t *out)
{
    for (int32_t x = 0; x < p->out_w; ++x) {
        const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, 1, p->in_w);
        for (int32_t channel = 0; channel < p->channels; ++channel) {
            int32_t largest = -128;
            for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
                for (int32_t kx = columns.first; rows[ky] && kx < columns.end; ++kx) {
                    const int32_t value = rows[ky][(columns.begin + kx) * p->channels + channel];
                    largest = value > largest ? value : largest;
                }
            }
            *out++ = (int8_t)kn_clamped(largest, p->least, p->most);
        }
    }
}
