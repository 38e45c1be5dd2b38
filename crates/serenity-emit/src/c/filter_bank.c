/* Energies added up by overlapping filters: what a filter has not counted of a place, the next one has. Reads what a filter covers, then writes its sum, from front to back; less than 2^64. */
struct kn_filter_bank {
    int32_t channels;
    const int16_t *weights, *rests, *places, *starts, *widths;
};

void kn_filter_bank(const struct kn_filter_bank *p, const void *in, void *out);
/* -- */
void kn_filter_bank(const struct kn_filter_bank *p, const void *in, void *out)
{
    uint64_t sum = 0;
    for (int32_t channel = 0; channel <= p->channels; ++channel) {
        uint64_t rest = 0;
        for (int32_t i = 0; i < p->widths[channel]; ++i) {
            const uint64_t energy = kn_load_u32(in, p->places[channel] + i);
            sum += (uint64_t)p->weights[p->starts[channel] + i] * energy;
            rest += (uint64_t)p->rests[p->starts[channel] + i] * energy;
        }
        /* The first only leaves its rest. */
        if (channel > 0) {
            kn_store_u64(out, channel - 1, sum);
        }
        sum = rest;
    }
}
