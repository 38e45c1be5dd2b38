/* Choices by what a comparison gave, element by element from front to back. A step is 0 for a single value. */
void kn_select_4(int32_t count, const uint8_t *is_x, int32_t is_x_step, const uint8_t *x, int32_t x_step, const uint8_t *y, int32_t y_step, uint8_t *out);
/* -- */
void kn_select_4(int32_t count, const uint8_t *is_x, int32_t is_x_step, const uint8_t *x, int32_t x_step, const uint8_t *y, int32_t y_step, uint8_t *out)
{
    for (int32_t i = 0; i < count; ++i) {
        memmove(out + 4 * i, is_x[i * is_x_step] ? x + 4 * i * x_step : y + 4 * i * y_step, 4);
    }
}
