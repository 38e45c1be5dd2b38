/* Functions of one float, element by element from front to back. */
void kn_cut_each_f32(int32_t count, float least, float most, const void *in, void *out);
void kn_leaky_relu_f32(int32_t count, float slope, const void *in, void *out);
void kn_elu_f32(int32_t count, const void *in, void *out);
void kn_logistic_f32(int32_t count, const void *in, void *out);
void kn_tanh_f32(int32_t count, const void *in, void *out);
void kn_hard_swish_f32(int32_t count, const void *in, void *out);
void kn_log_f32(int32_t count, const void *in, void *out);
void kn_exp_f32(int32_t count, const void *in, void *out);
void kn_sqrt_f32(int32_t count, const void *in, void *out);
void kn_rsqrt_f32(int32_t count, const void *in, void *out);
void kn_square_f32(int32_t count, const void *in, void *out);
void kn_neg_f32(int32_t count, const void *in, void *out);
void kn_abs_f32(int32_t count, const void *in, void *out);
/* -- */
void kn_cut_each_f32(int32_t count, float least, float most, const void *in, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        const float x = kn_load_f32(in, i);
        kn_store_f32(out, i, x < least ? least : x > most ? most : x);
    }
}

void kn_leaky_relu_f32(int32_t count, float slope, const void *in, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        const float x = kn_load_f32(in, i);
        kn_store_f32(out, i, x > 0.0f ? x : x * slope);
    }
}

#define KN_EACH_F32(NAME, RESULT)                                \
    void NAME(int32_t count, const void *in, void *out)          \
    {                                                            \
        for (int32_t i = 0; i < count; ++i) {                    \
            const float x = kn_load_f32(in, i);                  \
            kn_store_f32(out, i, RESULT);                        \
        }                                                        \
    }
KN_EACH_F32(kn_elu_f32, x < 0.0f ? expm1f(x) : x)
KN_EACH_F32(kn_logistic_f32, 1.0f / (1.0f + expf(-x)))
KN_EACH_F32(kn_tanh_f32, tanhf(x))
KN_EACH_F32(kn_hard_swish_f32, x *(x <= -3.0f ? 0.0f : x >= 3.0f ? 6.0f : x + 3.0f) / 6.0f)
KN_EACH_F32(kn_log_f32, logf(x))
KN_EACH_F32(kn_exp_f32, expf(x))
KN_EACH_F32(kn_sqrt_f32, sqrtf(x))
KN_EACH_F32(kn_rsqrt_f32, 1.0f / sqrtf(x))
KN_EACH_F32(kn_square_f32, x *x)
KN_EACH_F32(kn_neg_f32, -x)
KN_EACH_F32(kn_abs_f32, fabsf(x))
