/* Softmax of floats, row by row. A row is read twice before it is written, each element read once more just before. */
void kn_softmax_f32(int32_t rows, int32_t depth, float beta, const void *in, void *out);
/* -- */
void kn_softmax_f32(int32_t rows, int32_t depth, float beta, const void *in, void *out)
{
    for (int32_t row = 0; row < rows; ++row) {
        const int32_t first = row * depth;
        float largest = -FLT_MAX, sum = 0.0f;
        for (int32_t i = 0; i < depth; ++i) {
            const float value = kn_load_f32(in, first + i);
            largest = value > largest ? value : largest;
        }
        for (int32_t i = 0; i < depth; ++i) {
            sum += expf((kn_load_f32(in, first + i) - largest) * beta);
        }
        for (int32_t i = 0; i < depth; ++i) {
            kn_store_f32(out, first + i, expf((kn_load_f32(in, first + i) - largest) * beta) / sum);
        }
    }
}
