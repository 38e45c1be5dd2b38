/* Batches of matrices, each as large as the result has or repeated: batches, rows of the result, numbers that are added up, columns of the result; how far apart matrices, rows and
 * columns of either operand are. From front to back of the result. */
struct kn_matrices {
    int32_t batches[3], rows, depth, columns;
    int32_t a[5], b[5];
};
/* -- */
/* Runs ONE(result, a, b) for every result, where a and b are the places of what is multiplied first. */
#define KN_EACH_PRODUCT(p, ONE)                                                                          \
    do {                                                                                                 \
        int32_t kn_at = 0;                                                                               \
        for (int32_t g = 0; g < (p)->batches[0]; ++g) {                                                  \
            for (int32_t h = 0; h < (p)->batches[1]; ++h) {                                              \
                for (int32_t k = 0; k < (p)->batches[2]; ++k) {                                          \
                    const int32_t kn_a = g * (p)->a[0] + h * (p)->a[1] + k * (p)->a[2];                  \
                    const int32_t kn_b = g * (p)->b[0] + h * (p)->b[1] + k * (p)->b[2];                  \
                    for (int32_t i = 0; i < (p)->rows; ++i) {                                            \
                        for (int32_t j = 0; j < (p)->columns; ++j, ++kn_at)                              \
                            ONE(kn_at, kn_a + i * (p)->a[3], kn_b + j * (p)->b[4])                       \
                    }                                                                                    \
                }                                                                                        \
            }                                                                                            \
        }                                                                                                \
    } while (0)
