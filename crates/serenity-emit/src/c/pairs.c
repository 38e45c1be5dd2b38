/* Two operands, each as large as the result or repeated along some sides: how many places there are along four sides, and how far apart they are. */
struct kn_pairs {
    int32_t count[4], a[4], b[4];
};
/* -- */
/* Runs ONE(result, a, b) for every place from front to back; all three count elements. */
#define KN_EACH_PAIR(each, ONE)                                                                                         \
    do {                                                                                                                \
        int32_t kn_at = 0;                                                                                              \
        for (int32_t i = 0; i < (each)->count[0]; ++i) {                                                                \
            for (int32_t j = 0; j < (each)->count[1]; ++j) {                                                            \
                for (int32_t k = 0; k < (each)->count[2]; ++k) {                                                        \
                    int32_t kn_a = i * (each)->a[0] + j * (each)->a[1] + k * (each)->a[2];                              \
                    int32_t kn_b = i * (each)->b[0] + j * (each)->b[1] + k * (each)->b[2];                              \
                    for (int32_t l = 0; l < (each)->count[3]; ++l, kn_a += (each)->a[3], kn_b += (each)->b[3], ++kn_at) \
                        ONE(kn_at, kn_a, kn_b)                                                                          \
                }                                                                                                       \
            }                                                                                                           \
        }                                                                                                               \
    } while (0)
