static inline uint64_t kn_load_u64(const void *from, int32_t index)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)from + 8 * (size_t)index, sizeof value);
    return value;
}
