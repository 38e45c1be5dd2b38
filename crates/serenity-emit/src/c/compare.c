/* Comparisons of 32-bit integers and of floats, and truths of truths, element by element from front to back. `wanted` has a bit for each answer that counts: less (1), equal (2), greater (4),
 * neither (8, where one is no number); of truths, bit 2 a + b is the result. */
void kn_compare_s32(const struct kn_pairs *each, int32_t wanted, const void *a, const void *b, uint8_t *out);
void kn_compare_f32(const struct kn_pairs *each, int32_t wanted, const void *a, const void *b, uint8_t *out);
void kn_truth(const struct kn_pairs *each, int32_t wanted, const uint8_t *a, const uint8_t *b, uint8_t *out);
/* -- */
#define KN_ORDER(x, y) ((x) < (y) ? 1 : (x) == (y) ? 2 : (x) > (y) ? 4 : 8)

void kn_compare_s32(const struct kn_pairs *each, int32_t wanted, const void *a, const void *b, uint8_t *out)
{
#define KN_ONE(at, at_a, at_b)                                                                      \
    {                                                                                               \
        const int32_t x = (int32_t)kn_load_u32(a, at_a), y = (int32_t)kn_load_u32(b, at_b);         \
        out[at] = (wanted & KN_ORDER(x, y)) != 0;                                                   \
    }
    KN_EACH_PAIR(each, KN_ONE);
#undef KN_ONE
}

void kn_compare_f32(const struct kn_pairs *each, int32_t wanted, const void *a, const void *b, uint8_t *out)
{
#define KN_ONE(at, at_a, at_b)                                                                      \
    {                                                                                               \
        const float x = kn_load_f32(a, at_a), y = kn_load_f32(b, at_b);                             \
        out[at] = (wanted & KN_ORDER(x, y)) != 0;                                                   \
    }
    KN_EACH_PAIR(each, KN_ONE);
#undef KN_ONE
}

void kn_truth(const struct kn_pairs *each, int32_t wanted, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
#define KN_ONE(at, at_a, at_b) { out[at] = (wanted >> (2 * (a[at_a] != 0) + (b[at_b] != 0))) & 1; }
    KN_EACH_PAIR(each, KN_ONE);
#undef KN_ONE
}
#undef KN_ORDER
