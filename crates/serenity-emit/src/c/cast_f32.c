/* Whole numbers as floats, and floats as whole numbers: cut off towards 0, and what is beyond the other type is the nearest that it has. Element by element from front to back. */
void kn_cast_to_f32(int32_t count, int32_t in_bytes, int32_t has_sign, const void *in, void *out);
void kn_cast_from_f32(int32_t count, int64_t least, int64_t most, const void *in, int32_t out_bytes, void *out);
/* -- */
void kn_cast_to_f32(int32_t count, int32_t in_bytes, int32_t has_sign, const void *in, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        float value;
        if (in_bytes == 4) {
            const uint32_t word = kn_load_u32(in, i);
            value = has_sign ? (float)(int32_t)word : (float)word;
        } else if (in_bytes == 2) {
            value = (float)kn_load_s16(in, i);
        } else {
            value = has_sign ? (float)((const int8_t *)in)[i] : (float)((const uint8_t *)in)[i];
        }
        kn_store_f32(out, i, value);
    }
}

void kn_cast_from_f32(int32_t count, int64_t least, int64_t most, const void *in, int32_t out_bytes, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        const float value = kn_load_f32(in, i);
        int64_t whole = 0;
        if (value >= (float)most) {
            whole = most;
        } else if (value <= (float)least) {
            whole = least;
        } else if (value == value) {
            whole = (int64_t)value;
        }
        if (out_bytes == 1) {
            ((uint8_t *)out)[i] = (uint8_t)whole;
        } else if (out_bytes == 2) {
            kn_store_s16(out, i, (int32_t)whole);
        } else {
            kn_store_u32(out, i, (uint32_t)whole);
        }
    }
}
