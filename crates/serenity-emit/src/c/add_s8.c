/* A sum or difference of 8-bit integers, element by element from front to back. Both are brought to one scale with 20 more bits: less than 2^28 each. */
struct kn_add_s8 {
    struct kn_pairs each;
    int32_t a_zero, a_multiplier, a_shift, b_zero, b_multiplier, b_shift;
    /* 1 for a sum, -1 for a difference. */
    int32_t sign;
    int32_t multiplier, shift, out_zero, least, most;
};

void kn_add_s8(const struct kn_add_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);
/* -- */
void kn_add_s8(const struct kn_add_s8 *p, const int8_t *a, const int8_t *b, int8_t *out)
{
#define KN_ONE(at, at_a, at_b)                                                                                \
    {                                                                                                         \
        const int32_t one = kn_scaled((a[at_a] - p->a_zero) * (1 << 20), p->a_multiplier, p->a_shift);        \
        const int32_t other = kn_scaled((b[at_b] - p->b_zero) * (1 << 20), p->b_multiplier, p->b_shift);      \
        const int32_t value = kn_scaled(one + p->sign * other, p->multiplier, p->shift) + p->out_zero;        \
        out[at] = (int8_t)kn_clamped(value, p->least, p->most);                                               \
    }
    KN_EACH_PAIR(&p->each, KN_ONE);
#undef KN_ONE
}
