/* Cells with a memory that read floats step by step and are kept from one run to the next. A step reads its input and the results of the step before, makes one cell after the other, and
 * writes the result of each; so its input must lie elsewhere than all results. The last results are what the next run begins with. */
struct kn_gate_f32 {
    const float *in_weights, *cell_weights, *bias;
};

struct kn_lstm_f32 {
    int32_t batches, steps, inputs, cells;
    /* Places from one batch, and from one step, to the next. */
    int32_t batch_apart, step_apart;
    /* The farthest that the memory may go. */
    float most;
    struct kn_gate_f32 forget, input, candidate, output;
};

void kn_lstm_f32(const struct kn_lstm_f32 *p, const void *in, void *last, void *memory, void *out);
/* -- */
static float kn_weighed_f32(const void *in, int32_t from, const float *w, int32_t count)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < count; ++i) {
        sum += kn_load_f32(in, from + i) * w[i];
    }
    return sum;
}

/* What a gate is given: of the input from `from` on, and of the cells before. */
static float kn_gate_f32(const struct kn_lstm_f32 *p, const struct kn_gate_f32 *gate, const void *in, int32_t from, const void *before, int32_t cell)
{
    const float of_in = kn_weighed_f32(in, from, gate->in_weights + cell * p->inputs, p->inputs) + gate->bias[cell];
    return of_in + kn_weighed_f32(before, 0, gate->cell_weights + cell * p->cells, p->cells);
}

static float kn_sigmoid_f32(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static float kn_lstm_cell_f32(const struct kn_lstm_f32 *p, const void *in, int32_t from, const void *before, int32_t cell, void *memory, int32_t at)
{
    const float forget = kn_sigmoid_f32(kn_gate_f32(p, &p->forget, in, from, before, cell));
    const float input = kn_sigmoid_f32(kn_gate_f32(p, &p->input, in, from, before, cell));
    const float candidate = tanhf(kn_gate_f32(p, &p->candidate, in, from, before, cell));
    const float output = kn_sigmoid_f32(kn_gate_f32(p, &p->output, in, from, before, cell));
    float held = forget * kn_load_f32(memory, at) + input * candidate;
    held = held > p->most ? p->most : held < -p->most ? -p->most : held;
    kn_store_f32(memory, at, held);
    return tanhf(held) * output;
}

void kn_lstm_f32(const struct kn_lstm_f32 *p, const void *in, void *last, void *memory, void *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        uint8_t *kept = (uint8_t *)last + 4 * (size_t)(batch * p->cells);
        const uint8_t *before = kept;
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t place = batch * p->batch_apart + step * p->step_apart;
            uint8_t *now = (uint8_t *)out + 4 * (size_t)(place * p->cells);
            for (int32_t cell = 0; cell < p->cells; ++cell) {
                kn_store_f32(now, cell, kn_lstm_cell_f32(p, in, place * p->inputs, before, cell, memory, batch * p->cells + cell));
            }
            before = now;
        }
        memcpy(kept, before, 4 * (size_t)p->cells);
    }
}
