static inline float kn_load_f32(const void *from, int32_t index)
{
    float value;
    memcpy(&value, (const uint8_t *)from + 4 * (size_t)index, sizeof value);
    return value;
}
