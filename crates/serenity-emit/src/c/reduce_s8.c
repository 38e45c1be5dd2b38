/* The largest or the least of 8-bit integers along the middle of three sides. A result is written when all that it is made of was read. */
void kn_reduce_max_s8(int32_t outer, int32_t reduced, int32_t inner, const int8_t *in, int8_t *out);
void kn_reduce_min_s8(int32_t outer, int32_t reduced, int32_t inner, const int8_t *in, int8_t *out);
/* -- */
#define KN_REDUCE_S8(NAME, IS_BETTER)                                                                        \
    void NAME(int32_t outer, int32_t reduced, int32_t inner, const int8_t *in, int8_t *out)                  \
    {                                                                                                        \
        for (int32_t i = 0; i < outer; ++i, in += reduced * inner) {                                         \
            for (int32_t k = 0; k < inner; ++k) {                                                            \
                int8_t best = in[k];                                                                         \
                for (int32_t j = 1; j < reduced; ++j) {                                                      \
                    const int8_t x = in[j * inner + k];                                                      \
                    best = x IS_BETTER best ? x : best;                                                      \
                }                                                                                            \
                *out++ = best;                                                                               \
            }                                                                                                \
        }                                                                                                    \
    }
KN_REDUCE_S8(kn_reduce_max_s8, >)
KN_REDUCE_S8(kn_reduce_min_s8, <)
#undef KN_REDUCE_S8
