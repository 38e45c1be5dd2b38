static inline int32_t kn_clamped(int32_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}
