/* Filters that remember what they gave in the last `memory` runs, as 16-bit integers, and weigh it; `rank` filters make a result. Sums of 32 bits wrap around. */
struct kn_svdf_s8 {
    int32_t batches, inputs, units, rank, memory;
    int32_t in_multiplier, in_shift, out_multiplier, out_shift, out_zero;
    const int8_t *weights;
    /* With what the zero point of the input adds. */
    const int32_t *in_bias;
    const uint8_t *time;
    const int32_t *bias;
};

void kn_svdf_s8(const struct kn_svdf_s8 *p, const int8_t *in, uint8_t *state, int8_t *out);
/* -- */
/* What a filter gives now joins what it remembers, which moves on by a place. */
static void kn_svdf_remember(const struct kn_svdf_s8 *p, const int8_t *in, uint8_t *state, int32_t filter)
{
    const int8_t *w = p->weights + filter * p->inputs;
    int32_t sum = p->in_bias[filter];
    for (int32_t i = 0; i < p->inputs; ++i) {
        sum = kn_plus(sum, in[i] * w[i]);
    }
    memmove(state, state + 2, 2 * (size_t)(p->memory - 1));
    kn_store_s16(state, p->memory - 1, kn_clamped(kn_scaled(sum, p->in_multiplier, p->in_shift), -32768, 32767));
}

void kn_svdf_s8(const struct kn_svdf_s8 *p, const int8_t *in, uint8_t *state, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, in += p->inputs) {
        for (int32_t unit = 0; unit < p->units; ++unit) {
            int32_t sum = p->bias[unit];
            for (int32_t filter = unit * p->rank; filter < (unit + 1) * p->rank; ++filter, state += 2 * p->memory) {
                kn_svdf_remember(p, in, state, filter);
                for (int32_t i = 0; i < p->memory; ++i) {
                    sum = kn_plus(sum, kn_load_s16(p->time, filter * p->memory + i) * kn_load_s16(state, i));
                }
            }
            *out++ = (int8_t)kn_clamped(kn_plus(kn_scaled(sum, p->out_multiplier, p->out_shift), p->out_zero), -128, 127);
        }
    }
}
