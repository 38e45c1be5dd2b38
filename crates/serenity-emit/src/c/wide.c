static inline void kn_store_f32(void *to, int32_t index, float value)
{
    memcpy((uint8_t *)to + 4 * (size_t)index, &value, sizeof value);
}
