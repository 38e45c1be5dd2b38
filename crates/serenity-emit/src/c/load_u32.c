static inline uint32_t kn_load_u32(const void *from, int32_t index)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)from + 4 * (size_t)index, sizeof value);
    return value;
}
