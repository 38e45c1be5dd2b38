/* Moves elements and does not change them: `count` places along five sides, blocks of `bytes` each, so many bytes apart on either end; from front to back
 * of the result. A block may overlap itself. */
struct kn_copy {
    int32_t count[5], from[5], to[5], bytes;
};

void kn_copy(const struct kn_copy *p, const uint8_t *in, uint8_t *out);
/* -- */
void kn_copy(const struct kn_copy *p, const uint8_t *in, uint8_t *out)
{
    for (int32_t i = 0; i < p->count[0]; ++i) {
        for (int32_t j = 0; j < p->count[1]; ++j) {
            for (int32_t k = 0; k < p->count[2]; ++k) {
                for (int32_t l = 0; l < p->count[3]; ++l) {
                    const uint8_t *from = in + i * p->from[0] + j * p->from[1] + k * p->from[2] + l * p->from[3];
                    uint8_t *to = out + i * p->to[0] + j * p->to[1] + k * p->to[2] + l * p->to[3];
                    for (int32_t m = 0; m < p->count[4]; ++m, from += p->from[4], to += p->to[4]) {
                        memmove(to, from, (size_t)p->bytes);
                    }
                }
            }
        }
    }
}
