/* Products of matrices of 8-bit integers. Sums of 32 bits wrap around. */
struct kn_matrices_s8 {
    struct kn_matrices each;
    int32_t a_zero, b_zero, out_zero, multiplier, shift;
};

void kn_matrices_s8(const struct kn_matrices_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);
/* -- */
static int8_t kn_product_s8(const struct kn_matrices_s8 *p, const int8_t *a, const int8_t *b)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < p->each.depth; ++i, a += p->each.a[4], b += p->each.b[3]) {
        sum = kn_plus(sum, (*a - p->a_zero) * (*b - p->b_zero));
    }
    return (int8_t)kn_clamped(kn_plus(kn_scaled(sum, p->multiplier, p->shift), p->out_zero), -128, 127);
}

void kn_matrices_s8(const struct kn_matrices_s8 *p, const int8_t *a, const int8_t *b, int8_t *out)
{
#define KN_ONE(at, from, with) out[at] = kn_product_s8(p, a + (from), b + (with));
    KN_EACH_PRODUCT(&p->each, KN_ONE);
#undef KN_ONE
}
