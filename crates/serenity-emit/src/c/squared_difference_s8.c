/* The square of the difference of 8-bit integers, element by element from front to back. Both are brought to one scale with 7 more bits, so that the square is less than 2^30. */
struct kn_squared_difference_s8 {
    struct kn_pairs each;
    int32_t a_zero, a_multiplier, a_shift, b_zero, b_multiplier, b_shift;
    int32_t multiplier, shift, out_zero;
};

void kn_squared_difference_s8(const struct kn_squared_difference_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);
/* -- */
void kn_squared_difference_s8(const struct kn_squared_difference_s8 *p, const int8_t *a, const int8_t *b, int8_t *out)
{
#define KN_ONE(at, at_a, at_b)                                                                               \
    {                                                                                                        \
        const int32_t one = kn_scaled((a[at_a] - p->a_zero) * (1 << 7), p->a_multiplier, p->a_shift);        \
        const int32_t other = kn_scaled((b[at_b] - p->b_zero) * (1 << 7), p->b_multiplier, p->b_shift);      \
        const int32_t square = (one - other) * (one - other);                                                \
        out[at] = (int8_t)kn_clamped(kn_scaled(square, p->multiplier, p->shift) + p->out_zero, -128, 127);   \
    }
    KN_EACH_PAIR(&p->each, KN_ONE);
#undef KN_ONE
}
