/* Square roots of 64-bit numbers, rounded, then shifted down by so many bits as were told, element by element from front to back. A root of all ones
 * is not rounded up: of 16 bits for a number of 32, of 32 for a longer one. */
void kn_square_root(int32_t count, const void *in, const void *bits, void *out);
/* -- */
static uint32_t kn_root(uint64_t value)
{
    const uint64_t most = value >> 32 == 0 ? 0xFFFFu : 0xFFFFFFFFu;
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    while (bit > value) {
        bit >>= 2;
    }
    for (; bit != 0; bit >>= 2) {
        const uint64_t square = root + bit;
        root >>= 1;
        if (value >= square) {
            value -= square;
            root += bit;
        }
    }
    return (uint32_t)(value > root && root != most ? root + 1 : root);
}

void kn_square_root(int32_t count, const void *in, const void *bits, void *out)
{
    const uint32_t down = kn_load_u32(bits, 0);
    for (int32_t i = 0; i < count; ++i) {
        kn_store_u32(out, i, down < 32 ? kn_root(kn_load_u64(in, i)) >> down : 0);
    }
}
