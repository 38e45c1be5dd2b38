/* A batch of small pictures as one, whose places `block` apart each of them has; some of it is cut off. From front to back of the result. */
struct kn_space {
    /* Of the result: pictures, rows, columns, bytes of a place. */
    int32_t batches, rows, columns, bytes;
    /* Of what is read. */
    int32_t small_rows, small_columns;
    int32_t block[2], cut[2];
};

void kn_space(const struct kn_space *p, const uint8_t *in, uint8_t *out);
/* -- */
void kn_space(const struct kn_space *p, const uint8_t *in, uint8_t *out)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t i = p->cut[0]; i < p->cut[0] + p->rows; ++i) {
            for (int32_t j = p->cut[1]; j < p->cut[1] + p->columns; ++j, out += p->bytes) {
                const int32_t shift = i % p->block[0] * p->block[1] + j % p->block[1];
                const int32_t picture = shift * p->batches + batch;
                const int32_t place = (picture * p->small_rows + i / p->block[0]) * p->small_columns + j / p->block[1];
                memcpy(out, in + place * p->bytes, (size_t)p->bytes);
            }
        }
    }
}
