/* A mean of floats over all pixels, row by row: sums by channel, in the order of the pixels, and the result that is made of them. */
struct kn_sums_f32 {
    int32_t rows, pixels, channels;
    float count, least, most;
};

void kn_sums_f32(const struct kn_sums_f32 *p, int32_t row, const void *from, void *sums, void *to);
/* -- */
void kn_sums_f32(const struct kn_sums_f32 *p, int32_t row, const void *from, void *sums, void *to)
{
    for (int32_t channel = 0; channel < p->channels; ++channel) {
        float sum = row > 0 ? kn_load_f32(sums, channel) : 0.0f;
        for (int32_t x = 0; x < p->pixels; ++x) {
            sum += kn_load_f32(from, x * p->channels + channel);
        }
        kn_store_f32(sums, channel, sum);
        if (row + 1 == p->rows) {
            const float mean = sum / p->count;
            kn_store_f32(to, channel, mean < p->least ? p->least : mean > p->most ? p->most : mean);
        }
    }
}
