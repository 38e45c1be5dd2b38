/* A signal of 16-bit integers, all of them shifted up as far as there is room, and by how many bits. Reads all, then goes from front to back. -32768 has no opposite of 16 bits; the
 * reference kernel takes it for its own, and so does this. */
void kn_auto_scale_s16(int32_t count, const void *in, void *out, void *bits);
/* -- */
void kn_auto_scale_s16(int32_t count, const void *in, void *out, void *bits)
{
    int32_t largest = 0, free_bits = 0;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = kn_load_s16(in, i);
        if (value > largest) {
            largest = value;
        } else if (-value > largest) {
            largest = value == -32768 ? value : -value;
        }
    }
    if (largest > 0) {
        free_bits = 15 - kn_bits((uint64_t)largest);
    }
    for (int32_t i = 0; i < count; ++i) {
        kn_store_s16(out, i, kn_load_s16(in, i) * (1 << free_bits));
    }
    kn_store_u32(bits, 0, (uint32_t)free_bits);
}
