/* Logarithms of 32-bit numbers, shifted up first, as 16-bit numbers in a scale of their own, element by element from front to back. Numbers wrap around at 32 bits; `bends` is what
 * the logarithm to the base of 2 has more than a straight line, 128 places of each octave. */
void kn_log_u32(int32_t count, int32_t up, uint32_t scale, const uint16_t *bends, const void *in, void *out);
/* -- */
static uint32_t kn_log_of(uint32_t value, uint32_t scale, const uint16_t *bends)
{
    const int32_t octave = kn_bits(value) - 1;
    const uint32_t above = value - ((uint32_t)1 << octave);
    const int32_t part = (int32_t)(octave < 16 ? above << (16 - octave) : above >> (octave - 16)), place = part >> 9;
    const int32_t bend = bends[place] + (((bends[place + 1] - bends[place]) * (part - (place << 9))) >> 16);
    const uint32_t base_2 = ((uint32_t)octave << 16) + (uint32_t)(part + bend);
    /* 45426 / 2^16 is the logarithm of 2. */
    const uint32_t natural = (uint32_t)(((uint64_t)45426 * base_2 + 32768) >> 16);
    return (scale * natural + 32768u) >> 16;
}

void kn_log_u32(int32_t count, int32_t up, uint32_t scale, const uint16_t *bends, const void *in, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        const uint32_t value = kn_load_u32(in, i) << up, log = value > 1 ? kn_log_of(value, scale, bends) : 0;
        kn_store_s16(out, i, (int32_t)(log < 32767u ? log : 32767u));
    }
}
