/* A product of 8-bit integers, element by element from front to back: less than 2^16 before it is scaled. */
struct kn_mul_s8 {
    struct kn_pairs each;
    int32_t a_zero, b_zero, multiplier, shift, out_zero, least, most;
};

void kn_mul_s8(const struct kn_mul_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);
/* -- */
void kn_mul_s8(const struct kn_mul_s8 *p, const int8_t *a, const int8_t *b, int8_t *out)
{
#define KN_ONE(at, at_a, at_b)                                                                                \
    {                                                                                                         \
        const int32_t product = (a[at_a] - p->a_zero) * (b[at_b] - p->b_zero);                                \
        const int32_t value = kn_scaled(product, p->multiplier, p->shift) + p->out_zero;                      \
        out[at] = (int8_t)kn_clamped(value, p->least, p->most);                                               \
    }
    KN_EACH_PAIR(&p->each, KN_ONE);
#undef KN_ONE
}
