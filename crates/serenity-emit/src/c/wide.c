/* Elements of more than a byte, wherever they lie: the arena is bytes. */
static inline float kn_load_f32(const void *from, int32_t index)
{
    float value;
    memcpy(&value, (const uint8_t *)from + 4 * (size_t)index, sizeof value);
    return value;
}

static inline void kn_store_f32(void *to, int32_t index, float value)
{
    memcpy((uint8_t *)to + 4 * (size_t)index, &value, sizeof value);
}
