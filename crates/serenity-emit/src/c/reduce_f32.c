/* Sums, means and extremes of floats over the middle of three sides. Each result is written after all that it is made of was read. */
void kn_sum_f32(int32_t outer, int32_t reduced, int32_t inner, float divisor, const void *in, void *out);
void kn_reduce_max_f32(int32_t outer, int32_t reduced, int32_t inner, const void *in, void *out);
void kn_reduce_min_f32(int32_t outer, int32_t reduced, int32_t inner, const void *in, void *out);
/* -- */
void kn_sum_f32(int32_t outer, int32_t reduced, int32_t inner, float divisor, const void *in, void *out)
{
    for (int32_t o = 0; o < outer; ++o) {
        for (int32_t i = 0; i < inner; ++i) {
            float sum = 0.0f;
            for (int32_t r = 0; r < reduced; ++r) {
                sum += kn_load_f32(in, (o * reduced + r) * inner + i);
            }
            kn_store_f32(out, o * inner + i, sum / divisor);
        }
    }
}

void kn_reduce_max_f32(int32_t outer, int32_t reduced, int32_t inner, const void *in, void *out)
{
    for (int32_t o = 0; o < outer; ++o) {
        for (int32_t i = 0; i < inner; ++i) {
            float most = kn_load_f32(in, o * reduced * inner + i);
            for (int32_t r = 1; r < reduced; ++r) {
                const float value = kn_load_f32(in, (o * reduced + r) * inner + i);
                most = value > most ? value : most;
            }
            kn_store_f32(out, o * inner + i, most);
        }
    }
}

void kn_reduce_min_f32(int32_t outer, int32_t reduced, int32_t inner, const void *in, void *out)
{
    for (int32_t o = 0; o < outer; ++o) {
        for (int32_t i = 0; i < inner; ++i) {
            float least = kn_load_f32(in, o * reduced * inner + i);
            for (int32_t r = 1; r < reduced; ++r) {
                const float value = kn_load_f32(in, (o * reduced + r) * inner + i);
                least = value < least ? value : least;
            }
            kn_store_f32(out, o * inner + i, least);
        }
    }
}
