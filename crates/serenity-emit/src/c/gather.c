/* Takes places of a tensor of four sides by lists of where each comes from; a side without a list is taken as it is. Blocks of `bytes` each, from front to back of the
 * result. */
struct kn_gather {
    int32_t count[4], apart[4], bytes;
    const int32_t *from[4];
};

void kn_gather(const struct kn_gather *p, const uint8_t *in, uint8_t *out);
/* -- */
static inline int32_t kn_place(const struct kn_gather *p, int32_t side, int32_t index)
{
    return (p->from[side] ? p->from[side][index] : index) * p->apart[side];
}

void kn_gather(const struct kn_gather *p, const uint8_t *in, uint8_t *out)
{
    for (int32_t i = 0; i < p->count[0]; ++i) {
        for (int32_t j = 0; j < p->count[1]; ++j) {
            for (int32_t k = 0; k < p->count[2]; ++k) {
                const uint8_t *from = in + kn_place(p, 0, i) + kn_place(p, 1, j) + kn_place(p, 2, k);
                for (int32_t l = 0; l < p->count[3]; ++l, out += p->bytes) {
                    memcpy(out, from + kn_place(p, 3, l), (size_t)p->bytes);
                }
            }
        }
    }
}
