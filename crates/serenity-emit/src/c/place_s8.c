/* Where the largest of 8-bit integers stands first along the middle of three sides; the least, if `sign` is -1. */
void kn_place_s8(int32_t outer, int32_t along, int32_t inner, int32_t sign, const void *in, void *out);
/* -- */
void kn_place_s8(int32_t outer, int32_t along, int32_t inner, int32_t sign, const void *in, void *out)
{
    for (int32_t i = 0; i < outer; ++i) {
        for (int32_t k = 0; k < inner; ++k) {
            int32_t place = 0;
            int8_t best = ((const int8_t *)in)[i * along * inner + k];
            for (int32_t j = 1; j < along; ++j) {
                const int8_t x = ((const int8_t *)in)[(i * along + j) * inner + k];
                if (sign > 0 ? x > best : x < best) {
                    best = x;
                    place = j;
                }
            }
            kn_store_u32(out, i * inner + k, (uint32_t)place);
        }
    }
}
