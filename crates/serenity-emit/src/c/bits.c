/* How many bits a number has: 0 for 0. */
static inline int32_t kn_bits(uint64_t value)
{
    int32_t bits = 0;
    for (; value != 0; value >>= 1) {
        ++bits;
    }
    return bits;
}
