/* The larger, or the smaller, of two 8-bit integers, element by element from front to back. */
void kn_maximum_s8(const struct kn_pairs *each, const int8_t *a, const int8_t *b, int8_t *out);
void kn_minimum_s8(const struct kn_pairs *each, const int8_t *a, const int8_t *b, int8_t *out);
/* -- */
void kn_maximum_s8(const struct kn_pairs *each, const int8_t *a, const int8_t *b, int8_t *out)
{
#define KN_ONE(at, at_a, at_b) { out[at] = a[at_a] > b[at_b] ? a[at_a] : b[at_b]; }
    KN_EACH_PAIR(each, KN_ONE);
#undef KN_ONE
}

void kn_minimum_s8(const struct kn_pairs *each, const int8_t *a, const int8_t *b, int8_t *out)
{
#define KN_ONE(at, at_a, at_b) { out[at] = a[at_a] < b[at_b] ? a[at_a] : b[at_b]; }
    KN_EACH_PAIR(each, KN_ONE);
#undef KN_ONE
}
