/* A function of one byte, looked up, element by element from front to back. The table begins with the value for the byte 0. */
void kn_table_8(const uint8_t *table, int32_t count, const uint8_t *in, uint8_t *out);
/* -- */
void kn_table_8(const uint8_t *table, int32_t count, const uint8_t *in, uint8_t *out)
{
    for (int32_t i = 0; i < count; ++i) {
        out[i] = table[in[i]];
    }
}
