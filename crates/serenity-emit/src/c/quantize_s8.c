/* Floats to 8-bit integers and back, element by element from front to back. */
struct kn_quantize_s8 {
    int32_t count;
    float scale;
    int32_t zero;
};

void kn_quantize_s8(const struct kn_quantize_s8 *p, const void *in, int8_t *out);
void kn_dequantize_s8(const struct kn_quantize_s8 *p, const int8_t *in, void *out);
/* -- */
/* To the nearest whole number, halves away from zero. */
static int32_t kn_rounded(float value)
{
    int32_t whole;
    float rest;
    if (!(value > -65536.0f)) {
        return -65536;
    }
    if (value > 65536.0f) {
        return 65536;
    }
    whole = (int32_t)value;
    rest = value - (float)whole;
    return rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole;
}

void kn_quantize_s8(const struct kn_quantize_s8 *p, const void *in, int8_t *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        out[i] = (int8_t)kn_clamped(kn_rounded(kn_load_f32(in, i) / p->scale) + p->zero, -128, 127);
    }
}

void kn_dequantize_s8(const struct kn_quantize_s8 *p, const int8_t *in, void *out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        kn_store_f32(out, i, p->scale * (float)(in[i] - p->zero));
    }
}
