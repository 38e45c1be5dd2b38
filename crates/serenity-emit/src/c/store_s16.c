/* What does not fit into two bytes wraps around. */
static inline void kn_store_s16(void *to, int32_t index, int32_t value)
{
    const uint16_t low = (uint16_t)value;
    memcpy((uint8_t *)to + 2 * (size_t)index, &low, sizeof low);
}
