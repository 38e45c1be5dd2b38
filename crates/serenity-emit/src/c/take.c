/* Blocks along one side of a tensor, taken by 32-bit indices; one that is out of range takes the nearest. From front to back of the result. */
struct kn_take {
    /* Blocks around the side, places along it, indices, bytes of a block. */
    int32_t outer, side, count, bytes;
};

void kn_take(const struct kn_take *p, const uint8_t *in, const void *indices, uint8_t *out);
/* -- */
void kn_take(const struct kn_take *p, const uint8_t *in, const void *indices, uint8_t *out)
{
    for (int32_t i = 0; i < p->outer; ++i, in += p->side * p->bytes) {
        for (int32_t k = 0; k < p->count; ++k, out += p->bytes) {
            const int32_t index = kn_clamped((int32_t)kn_load_u32(indices, k), 0, p->side - 1);
            memcpy(out, in + index * p->bytes, (size_t)p->bytes);
        }
    }
}
