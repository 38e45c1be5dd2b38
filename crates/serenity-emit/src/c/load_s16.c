/* Elements of two bytes, wherever they lie: the arena is bytes. */
static inline int32_t kn_load_s16(const void *from, int32_t index)
{
    int16_t value;
    memcpy(&value, (const uint8_t *)from + 2 * (size_t)index, sizeof value);
    return value;
}
