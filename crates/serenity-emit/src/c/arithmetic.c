/* Numbers as fixed point: a value times multiplier / 2^31 * 2^shift. The product is rounded to whole numbers half up, what is shifted out
 * half away from zero: two roundings, as the reference kernels have them. What goes beyond 32 bits wraps around there, and does here. */
static inline int32_t kn_plus(int32_t sum, int32_t more)
{
    return (int32_t)((uint32_t)sum + (uint32_t)more);
}

static inline int32_t kn_scaled(int32_t value, int32_t multiplier, int32_t shift)
{
    const int64_t half = (int64_t)1 << 30;
    int32_t high;
    if (shift >= 0) {
        return (int32_t)(((int64_t)(int32_t)((uint32_t)value << shift) * multiplier + half) >> 31);
    }
    high = (int32_t)(((int64_t)value * multiplier + half) >> 31);
    return ((kn_plus(high, high >> 31) >> (-shift - 1)) + 1) >> 1;
}
