/* Two floats made one, element by element from front to back. */
struct kn_pairs_f32 {
    struct kn_pairs each;
    float least, most;
};

void kn_add_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_sub_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_mul_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_div_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_maximum_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_minimum_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_prelu_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
void kn_squared_difference_f32(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out);
/* -- */
#define KN_PAIRS_F32(NAME, RESULT)                                                              \
    void NAME(const struct kn_pairs_f32 *p, const void *a, const void *b, void *out)            \
    {                                                                                           \
        KN_EACH_PAIR(&p->each, KN_ONE_##RESULT);                                                \
    }
#define KN_BOTH(at_a, at_b) const float x = kn_load_f32(a, at_a), y = kn_load_f32(b, at_b)
#define KN_CUT(at, value)                                                                       \
    const float result = (value);                                                               \
    kn_store_f32(out, at, result < p->least ? p->least : result > p->most ? p->most : result);
#define KN_ONE_ADD(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x + y) }
#define KN_ONE_SUB(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x - y) }
#define KN_ONE_MUL(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x * y) }
#define KN_ONE_DIV(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x / y) }
#define KN_ONE_MAX(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x > y ? x : y) }
#define KN_ONE_MIN(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x < y ? x : y) }
#define KN_ONE_PRELU(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, x >= 0.0f ? x : x * y) }
#define KN_ONE_SQUARE(at, at_a, at_b) { KN_BOTH(at_a, at_b); KN_CUT(at, (x - y) * (x - y)) }
KN_PAIRS_F32(kn_add_f32, ADD)
KN_PAIRS_F32(kn_sub_f32, SUB)
KN_PAIRS_F32(kn_mul_f32, MUL)
KN_PAIRS_F32(kn_div_f32, DIV)
KN_PAIRS_F32(kn_maximum_f32, MAX)
KN_PAIRS_F32(kn_minimum_f32, MIN)
KN_PAIRS_F32(kn_prelu_f32, PRELU)
KN_PAIRS_F32(kn_squared_difference_f32, SQUARE)
