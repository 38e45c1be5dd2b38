/* A signal of 16-bit integers times a window, again and again, element by element from front to back: a product of two 16-bit numbers is less than 2^31. */
void kn_window_s16(int32_t count, int32_t width, int32_t shift, const int16_t *window, const void *in, void *out);
/* -- */
void kn_window_s16(int32_t count, int32_t width, int32_t shift, const int16_t *window, const void *in, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        kn_store_s16(out, i, kn_clamped((kn_load_s16(in, i) * window[i % width]) >> shift, -32768, 32767));
    }
}
