/* Two 32-bit integers made one, element by element from front to back. Sums and products wrap around; a quotient is cut off, and its divisor is neither 0 nor -1. */
void kn_add_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
void kn_sub_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
void kn_mul_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
void kn_div_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
void kn_maximum_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
void kn_minimum_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
void kn_squared_difference_s32(const struct kn_pairs *each, const void *a, const void *b, void *out);
/* -- */
#define KN_PAIRS_S32(NAME, RESULT)                                                        \
    void NAME(const struct kn_pairs *each, const void *a, const void *b, void *out)       \
    {                                                                                     \
        KN_EACH_PAIR(each, KN_S32_##RESULT);                                              \
    }
#define KN_S32(at, at_a, at_b, RESULT)                                                    \
    {                                                                                     \
        const uint32_t x = kn_load_u32(a, at_a), y = kn_load_u32(b, at_b);                \
        kn_store_u32(out, at, RESULT);                                                    \
    }
#define KN_S32_ADD(at, at_a, at_b) KN_S32(at, at_a, at_b, x + y)
#define KN_S32_SUB(at, at_a, at_b) KN_S32(at, at_a, at_b, x - y)
#define KN_S32_MUL(at, at_a, at_b) KN_S32(at, at_a, at_b, x * y)
#define KN_S32_DIV(at, at_a, at_b) KN_S32(at, at_a, at_b, (uint32_t)((int32_t)x / (int32_t)y))
#define KN_S32_MAX(at, at_a, at_b) KN_S32(at, at_a, at_b, (int32_t)x > (int32_t)y ? x : y)
#define KN_S32_MIN(at, at_a, at_b) KN_S32(at, at_a, at_b, (int32_t)x < (int32_t)y ? x : y)
#define KN_S32_SQUARE(at, at_a, at_b) KN_S32(at, at_a, at_b, (x - y) * (x - y))
KN_PAIRS_S32(kn_add_s32, ADD)
KN_PAIRS_S32(kn_sub_s32, SUB)
KN_PAIRS_S32(kn_mul_s32, MUL)
KN_PAIRS_S32(kn_div_s32, DIV)
KN_PAIRS_S32(kn_maximum_s32, MAX)
KN_PAIRS_S32(kn_minimum_s32, MIN)
KN_PAIRS_S32(kn_squared_difference_s32, SQUARE)
