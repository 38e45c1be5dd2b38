/* Products of matrices of floats, added up in the order of what both share. */
void kn_matrices_f32(const struct kn_matrices *p, const void *a, const void *b, void *out);
/* -- */
static float kn_product_f32(const struct kn_matrices *p, const void *a, int32_t from, const void *b, int32_t with)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < p->depth; ++i, from += p->a[4], with += p->b[3]) {
        sum += kn_load_f32(a, from) * kn_load_f32(b, with);
    }
    return sum;
}

void kn_matrices_f32(const struct kn_matrices *p, const void *a, const void *b, void *out)
{
#define KN_ONE(at, from, with) kn_store_f32(out, at, kn_product_f32(p, a, from, b, with));
    KN_EACH_PRODUCT(p, KN_ONE);
#undef KN_ONE
}
