/* Cells with a memory of 16-bit integers that read 8-bit integers step by step and are kept from one run to the next. A step reads its input and the results of the step before,
 * makes one cell after the other, and writes the result of each; so its input must lie elsewhere than all results. The last results are what the next run begins with. Sums stay within
 * 32 bits for any input: proved when this was written, from the weights; products of two 16-bit numbers stay below 2^31. */
struct kn_gate_s8 {
    const int8_t *in_weights, *cell_weights;
    /* With what the zero points add. */
    const int32_t *in_bias, *cell_bias;
    int32_t in_multiplier, in_shift, cell_multiplier, cell_shift;
};

struct kn_lstm_s8 {
    int32_t batches, steps, inputs, cells;
    /* Places from one batch, and from one step, to the next. */
    int32_t batch_apart, step_apart;
    /* Products of gates: what is forgotten, what is new, and what leaves. */
    int32_t forget_multiplier, forget_shift, new_multiplier, new_shift, out_multiplier, out_shift, out_zero;
    /* What the memory holds as an argument of a curve, and the farthest that it may go. */
    int32_t curve_multiplier, curve_shift, most;
    const uint16_t *curve;
    struct kn_gate_s8 forget, input, candidate, output;
};

void kn_lstm_s8(const struct kn_lstm_s8 *p, const int8_t *in, int8_t *last, uint8_t *memory, int8_t *out);
/* -- */
static inline int32_t kn_cut_s16(int32_t value)
{
    return kn_clamped(value, -32768, 32767);
}

static inline uint32_t kn_size(int32_t value)
{
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

/* The logistic function of a number with 12 bits after the point, as a fraction of 2^15: between the nearest two of 256 places, 1/24 apart. */
static int32_t kn_logistic_s16(const uint16_t *curve, int32_t x)
{
    const uint32_t size = kn_size(3 * x), place = size >> 9, rest = size & 511u;
    uint32_t result = 0x7FFFu << 10;
    if (place < 255) {
        result = ((uint32_t)curve[place] << 9) + rest * ((uint32_t)curve[place + 1] - curve[place]);
    }
    result = x >= 0 ? result + 512u : (1u << 25) - result + 511u;
    return (int32_t)(result >> 10);
}

/* The hyperbolic tangent, by the same places: it is the logistic function of twice the number, stretched. */
static int32_t kn_tanh_s16(const uint16_t *curve, int32_t scaled)
{
    const uint32_t size = kn_size(scaled), place = size >> 8, rest = size & 255u;
    int32_t result = 0xFFFF << 8;
    if (place < 255) {
        result = (int32_t)(((uint32_t)curve[place] << 8) + rest * ((uint32_t)curve[place + 1] - curve[place]));
    }
    result = scaled >= 0 ? result - (1 << 23) + 128 : (1 << 23) + 127 - result;
    return result >> 8;
}

static int32_t kn_weighed(const int8_t *x, const int8_t *w, int32_t count, int32_t sum)
{
    for (int32_t i = 0; i < count; ++i) {
        sum += x[i] * w[i];
    }
    return sum;
}

static int32_t kn_gate(const struct kn_lstm_s8 *p, const struct kn_gate_s8 *gate, const int8_t *in, const int8_t *before, int32_t cell)
{
    const int32_t of_in = kn_weighed(in, gate->in_weights + cell * p->inputs, p->inputs, gate->in_bias[cell]);
    const int32_t of_cells = kn_weighed(before, gate->cell_weights + cell * p->cells, p->cells, gate->cell_bias[cell]);
    return kn_cut_s16(kn_cut_s16(kn_scaled(of_in, gate->in_multiplier, gate->in_shift)) +
                      kn_cut_s16(kn_scaled(of_cells, gate->cell_multiplier, gate->cell_shift)));
}

static int8_t kn_lstm_cell(const struct kn_lstm_s8 *p, const int8_t *in, const int8_t *before, int32_t cell, void *memory, int32_t at)
{
    const int32_t forget = kn_logistic_s16(p->curve, kn_gate(p, &p->forget, in, before, cell));
    const int32_t input = kn_logistic_s16(p->curve, kn_gate(p, &p->input, in, before, cell));
    const int32_t candidate = kn_tanh_s16(p->curve, 3 * kn_gate(p, &p->candidate, in, before, cell));
    const int32_t output = kn_logistic_s16(p->curve, kn_gate(p, &p->output, in, before, cell));
    const int32_t kept = kn_cut_s16(kn_scaled(forget * kn_load_s16(memory, at), p->forget_multiplier, p->forget_shift));
    const int32_t added = kn_cut_s16(kn_scaled(input * candidate, p->new_multiplier, p->new_shift));
    const int32_t held = kn_clamped(kn_cut_s16(kept + added), -p->most, p->most);
    const int32_t half = p->curve_shift > 0 ? 1 << (p->curve_shift - 1) : 0;
    const int32_t shown = kn_tanh_s16(p->curve, (held * p->curve_multiplier + half) >> p->curve_shift);
    kn_store_s16(memory, at, held);
    return (int8_t)kn_clamped(kn_scaled(shown * output, p->out_multiplier, p->out_shift) + p->out_zero, -128, 127);
}

void kn_lstm_s8(const struct kn_lstm_s8 *p, const int8_t *in, int8_t *last, uint8_t *memory, int8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, last += p->cells) {
        const int8_t *before = last;
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t place = batch * p->batch_apart + step * p->step_apart;
            int8_t *now = out + place * p->cells;
            for (int32_t cell = 0; cell < p->cells; ++cell) {
                now[cell] = kn_lstm_cell(p, in + place * p->inputs, before, cell, memory, batch * p->cells + cell);
            }
            before = now;
        }
        memcpy(last, before, (size_t)p->cells);
    }
}
