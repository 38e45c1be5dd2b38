static inline void kn_store_u32(void *to, int32_t index, uint32_t value)
{
    memcpy((uint8_t *)to + 4 * (size_t)index, &value, sizeof value);
}
