/* Pools of 8-bit integers. Read what the window covers of one channel, then write it; pixels and channels from front to back. The sum of a window stays
 * within 32 bits: it has fewer than 2^23 places. */
struct kn_pool_s8 {
    int32_t batches, in_h, in_w, channels, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
    int32_t least, most;
};

void kn_average_pool_s8(const struct kn_pool_s8 *p, const int8_t *in, int8_t *out);
void kn_max_pool_s8(const struct kn_pool_s8 *p, const int8_t *in, int8_t *out);
/* -- */
static int8_t kn_average(const struct kn_pool_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns)
{
    const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    int32_t sum = 0;
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        const int8_t *x = in + ((rows.begin + ky) * p->in_w + columns.begin + columns.first) * p->channels;
        for (int32_t kx = columns.first; kx < columns.end; ++kx, x += p->channels) {
            sum += *x;
        }
    }
    sum = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
    return (int8_t)kn_clamped(sum, p->least, p->most);
}

static int8_t kn_maximum(const struct kn_pool_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns)
{
    int32_t largest = -128;
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        const int8_t *x = in + ((rows.begin + ky) * p->in_w + columns.begin + columns.first) * p->channels;
        for (int32_t kx = columns.first; kx < columns.end; ++kx, x += p->channels) {
            largest = *x > largest ? *x : largest;
        }
    }
    return (int8_t)kn_clamped(largest, p->least, p->most);
}

#define KN_POOL(NAME, ONE)                                                                                              \
    void NAME(const struct kn_pool_s8 *p, const int8_t *in, int8_t *out)                                                \
    {                                                                                                                   \
        for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->channels) {                   \
            for (int32_t y = 0; y < p->out_h; ++y) {                                                                    \
                const struct kn_span rows = kn_span_at(y, p->stride_h, p->pad_top, p->kernel_h, 1, p->in_h);               \
                for (int32_t x = 0; x < p->out_w; ++x) {                                                                \
                    const struct kn_span columns = kn_span_at(x, p->stride_w, p->pad_left, p->kernel_w, 1, p->in_w);       \
                    for (int32_t channel = 0; channel < p->channels; ++channel) {                                       \
                        *out++ = ONE(p, in + channel, rows, columns);                                                   \
                    }                                                                                                   \
                }                                                                                                       \
            }                                                                                                           \
        }                                                                                                               \
    }
KN_POOL(kn_average_pool_s8, kn_average)
KN_POOL(kn_max_pool_s8, kn_maximum)
