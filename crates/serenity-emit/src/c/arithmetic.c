/* Numbers as fixed point: a value times multiplier / 2^31 * 2^shift. The product is rounded to whole numbers half up, what is shifted out
 * half away from zero: two roundings, as the reference kernels have them. Who calls has proved that nothing goes beyond 32 bits. */
static inline int32_t kn_scaled(int32_t value, int32_t multiplier, int32_t shift)
{
    const int64_t half = (int64_t)1 << 30;
    int32_t high;
    if (shift >= 0) {
        return (int32_t)(((int64_t)(value * (int32_t)(1u << shift)) * multiplier + half) >> 31);
    }
    high = (int32_t)(((int64_t)value * multiplier + half) >> 31);
    return (high + (high >> 31) + (int32_t)(1u << (-shift - 1))) >> -shift;
}
