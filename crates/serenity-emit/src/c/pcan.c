/* A signal with its gain by the noise, element by element from front to back. The gain is looked up and bent between places: less than 2^31 in between. */
void kn_pcan(int32_t count, int32_t down, const int16_t *gains, const void *in, const void *noise, void *out);
/* -- */
static int32_t kn_gain(const int16_t *gains, uint32_t noise)
{
    int32_t bits, part, bent;
    if (noise <= 2) {
        return gains[noise];
    }
    bits = kn_bits(noise);
    gains += 4 * bits - 6;
    part = (int32_t)((bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3FFu);
    bent = (((gains[2] * part) >> 5) + gains[1] * 32) * part;
    return (int16_t)(uint16_t)(((bent + (1 << 14)) >> 15) + gains[0]);
}

void kn_pcan(int32_t count, int32_t down, const int16_t *gains, const void *in, const void *noise, void *out)
{
    for (int32_t i = 0; i < count; ++i) {
        const uint32_t gain = (uint32_t)kn_gain(gains, kn_load_u32(noise, i));
        const uint32_t ratio = (uint32_t)(((uint64_t)kn_load_u32(in, i) * gain) >> down);
        /* 12 bits after the point become 6: x^2 / 4 below 2, x - 1 above. */
        kn_store_u32(out, i, ratio < (2u << 12) ? (ratio * ratio) >> 20 : (ratio >> 6) - (1u << 6));
    }
}
