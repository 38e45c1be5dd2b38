/* The energy of complex numbers of 16-bit integers from one place to another, 0 elsewhere, from front to back: at most 2^31. */
void kn_energy_s16(int32_t count, int32_t first, int32_t end, const void *in, void *out);
/* -- */
void kn_energy_s16(int32_t count, int32_t first, int32_t end, const void *in, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        const int32_t r = kn_load_s16(in, 2 * i), m = kn_load_s16(in, 2 * i + 1);
        kn_store_u32(out, i, i >= first && i < end ? (uint32_t)(r * r) + (uint32_t)(m * m) : 0);
    }
}
