/* Whole numbers as another type, element by element from front to back: the low bits where it is narrower. `bytes` are 1, 2 or 4. */
void kn_cast(int32_t count, int32_t in_bytes, int32_t has_sign, const void *in, int32_t out_bytes, void *out);
/* -- */
void kn_cast(int32_t count, int32_t in_bytes, int32_t has_sign, const void *in, int32_t out_bytes, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        uint32_t value;
        if (in_bytes == 4) {
            value = kn_load_u32(in, i);
        } else if (in_bytes == 2) {
            value = (uint32_t)kn_load_s16(in, i);
        } else {
            value = has_sign ? (uint32_t)((const int8_t *)in)[i] : ((const uint8_t *)in)[i];
        }
        if (out_bytes == 1) {
            ((uint8_t *)out)[i] = (uint8_t)value;
        } else if (out_bytes == 2) {
            kn_store_s16(out, i, (int32_t)value);
        } else {
            kn_store_u32(out, i, value);
        }
    }
}
