/* What a signal has more than the noise so far, which is kept from one run to the next. Element by element from front to back: the noise is written after the signal was read. Numbers are
 * of 32 bits without a sign and wrap around, products of 64. Even places and odd ones learn at different speeds. */
struct kn_spectral {
    int32_t count, up, down, is_bounded;
    uint32_t learned[2], kept[2], least;
};

void kn_spectral(const struct kn_spectral *p, const void *in, void *noise, void *out, void *noise_out);
/* -- */
void kn_spectral(const struct kn_spectral *p, const void *in, void *noise, void *out, void *noise_out)
{
    for (int32_t i = 0; i < p->count; ++i) {
        const uint32_t signal = kn_load_u32(in, i), wide = signal << p->up;
        const uint64_t both = (uint64_t)wide * p->learned[i & 1] + (uint64_t)kn_load_u32(noise, i) * p->kept[i & 1];
        const uint32_t estimate = (uint32_t)(both >> p->down), least = (uint32_t)(((uint64_t)signal * p->least) >> p->down);
        const uint32_t bounded = estimate > wide ? wide : estimate, rest = (wide - bounded) >> p->up;
        kn_store_u32(noise, i, p->is_bounded ? bounded : estimate);
        kn_store_u32(noise_out, i, p->is_bounded ? bounded : estimate);
        kn_store_u32(out, i, rest > least ? rest : least);
    }
}
