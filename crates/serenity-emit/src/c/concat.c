/* Puts tensors one after the other along one side: a block of each in turn, and so on until all are through. A block may overlap itself, and one that is where
 * it belongs stays. */
struct kn_part {
    const uint8_t *from;
    int32_t bytes;
};

void kn_concat(const struct kn_part *parts, int32_t count, int32_t blocks, uint8_t *out);
/* -- */
void kn_concat(const struct kn_part *parts, int32_t count, int32_t blocks, uint8_t *out)
{
    for (int32_t block = 0; block < blocks; ++block) {
        for (int32_t i = 0; i < count; ++i) {
            const uint8_t *from = parts[i].from + block * parts[i].bytes;
            if (from != out) {
                memmove(out, from, (size_t)parts[i].bytes);
            }
            out += parts[i].bytes;
        }
    }
}
