/* 8-bit integers of an image between those of another, in a straight line along both sides. Reads the four around a place, then writes; pixels and channels from front to back, but a
 * larger result runs ahead of what is read, so the two must lie apart. Places are multiples of 1/1024: the sum of four parts is less than 2^30. */
struct kn_resize_s8 {
    int32_t batches, in_h, in_w, channels, out_h, out_w;
    /* From one place of the result to the next, and where the first one is. */
    int32_t step_h, first_h, step_w, first_w;
};

void kn_resize_bilinear_s8(const struct kn_resize_s8 *p, const int8_t *in, int8_t *out);
/* -- */
struct kn_between {
    int32_t low, high, part;
};

static struct kn_between kn_between_at(int32_t place, int32_t size)
{
    struct kn_between between;
    between.low = place < 0 ? 0 : place / 1024;
    between.high = (place + 1023) / 1024;
    if (between.high > size - 1) {
        between.high = size - 1;
    }
    between.part = place - 1024 * between.low;
    return between;
}

void kn_resize_bilinear_s8(const struct kn_resize_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->in_h * p->in_w * p->channels) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_between rows = kn_between_at(y * p->step_h + p->first_h, p->in_h);
            const int8_t *low = in + rows.low * p->in_w * p->channels, *high = in + rows.high * p->in_w * p->channels;
            for (int32_t x = 0; x < p->out_w; ++x) {
                const struct kn_between columns = kn_between_at(x * p->step_w + p->first_w, p->in_w);
                const int32_t left = columns.low * p->channels, right = columns.high * p->channels;
                for (int32_t c = 0; c < p->channels; ++c) {
                    const int32_t upper = low[left + c] * (1024 - columns.part) + low[right + c] * columns.part;
                    const int32_t lower = high[left + c] * (1024 - columns.part) + high[right + c] * columns.part;
                    const int32_t sum = upper * (1024 - rows.part) + lower * rows.part;
                    *out++ = (int8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
                }
            }
        }
    }
}
