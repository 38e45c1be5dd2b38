/* Numbers as fixed point: a value times multiplier / 2^31 * 2^shift. The product is rounded to whole numbers half up, what is shifted out
 * half away from zero: two roundings, as the reference kernels have them. Who calls has proved that value * 2^shift fits in 32 bits. */
static inline int32_t kn_scaled(int32_t value, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift > 0 ? 0 : -shift;
    const int64_t product = (int64_t)(value * (int32_t)(1u << left)) * multiplier;
    const int32_t high = (int32_t)((product + ((int64_t)1 << 30)) >> 31);
    const int32_t mask = (int32_t)((1u << right) - 1u);
    const int32_t half = (mask >> 1) + (high < 0 ? 1 : 0);
    return (high >> right) + ((high & mask) > half ? 1 : 0);
}

static inline int32_t kn_clamped(int32_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}
