/* Puts elements of `item` bytes, all as `value` is, around a tensor of four sides. Rows of the last side are moved one by one, from front to back; what is put
 * in front of a row is written after the row was read. */
struct kn_pad {
    int32_t in[4], before[4], after[4], item;
    uint8_t value[4];
};

void kn_pad(const struct kn_pad *p, const uint8_t *in, uint8_t *out);
/* -- */
static uint8_t *kn_filled(const struct kn_pad *p, uint8_t *out, int32_t count)
{
    if (p->item == 1) {
        memset(out, p->value[0], (size_t)count);
        return out + count;
    }
    for (; count > 0; --count, out += p->item) {
        memcpy(out, p->value, (size_t)p->item);
    }
    return out;
}

void kn_pad(const struct kn_pad *p, const uint8_t *in, uint8_t *out)
{
    const int32_t row = p->in[3] * p->item, front = p->before[3] * p->item;
    const int32_t wide = p->before[3] + p->in[3] + p->after[3];
    for (int32_t i = -p->before[0]; i < p->in[0] + p->after[0]; ++i) {
        for (int32_t j = -p->before[1]; j < p->in[1] + p->after[1]; ++j) {
            for (int32_t k = -p->before[2]; k < p->in[2] + p->after[2]; ++k) {
                if (i < 0 || i >= p->in[0] || j < 0 || j >= p->in[1] || k < 0 || k >= p->in[2]) {
                    out = kn_filled(p, out, wide);
                } else {
                    memmove(out + front, in, (size_t)row);
                    in += row;
                    kn_filled(p, out, p->before[3]);
                    out = kn_filled(p, out + front + row, p->after[3]);
                }
            }
        }
    }
}
