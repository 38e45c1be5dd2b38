static inline void kn_store_u64(void *to, int32_t index, uint64_t value)
{
    memcpy((uint8_t *)to + 8 * (size_t)index, &value, sizeof value);
}
