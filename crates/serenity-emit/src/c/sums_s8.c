/* A mean over all pixels, row by row: sums of 32 bits by channel, and the result that is made of them. Fewer than 2^23 pixels stay within 32 bits. */
struct kn_sums_s8 {
    int32_t rows, pixels, channels;
    /* A pool divides, rounds and cuts off; a mean takes the zero points off and scales. */
    int32_t is_pool, count, least, most;
    int32_t in_zero, multiplier, shift, out_zero;
};

void kn_sums_s8(const struct kn_sums_s8 *p, int32_t row, const void *from, void *sums, void *to);
/* -- */
static int8_t kn_mean_of_sum(const struct kn_sums_s8 *p, int32_t sum)
{
    if (p->is_pool) {
        sum = sum > 0 ? (sum + p->count / 2) / p->count : (sum - p->count / 2) / p->count;
        return (int8_t)kn_clamped(sum, p->least, p->most);
    }
    return (int8_t)kn_clamped(kn_scaled(sum - p->in_zero * p->count, p->multiplier, p->shift) + p->out_zero, -128, 127);
}

void kn_sums_s8(const struct kn_sums_s8 *p, int32_t row, const void *from, void *sums, void *to)
{
    const int8_t *const in = (const int8_t *)from;
    int8_t *const out = (int8_t *)to;
    for (int32_t channel = 0; channel < p->channels; ++channel) {
        uint8_t *const place = (uint8_t *)sums + 4 * channel;
        int32_t sum = 0;
        if (row > 0) {
            memcpy(&sum, place, sizeof sum);
        }
        for (int32_t x = 0; x < p->pixels; ++x) {
            sum += in[x * p->channels + channel];
        }
        memcpy(place, &sum, sizeof sum);
        if (row + 1 == p->rows) {
            out[channel] = kn_mean_of_sum(p, sum);
        }
    }
}
