/* One row of a convolution with packed weights, from rows that lie apart: a pointer per row of the window, 0 for rows outside. */
void kn_packed_windows_s8_rows(const struct kn_packed_s8 *p, const int8_t *const *rows, int8_t *out);
/* -- */
void kn_packed_windows_s8_rows(const struct kn_packed_s8 *p, const int8_t *const *rows, int8_t *out)
{
    const int8_t *taps[KN_MOST_TAPS];
    const int32_t goes_on = p->dilation_w == 1 && (p->in_c & 3) == 0;
    int32_t x = -p->pad_left;
    for (int32_t left = p->out_w; left > 0; --left, x += p->stride_w, out += p->out_c) {
        if (goes_on && x >= 0 && x + p->kernel_w <= p->in_w && kn_are_rows_inside(p, taps, rows, x)) {
            kn_packed_pixel(p, taps, p->kernel_h, p->kernel_w * p->in_c, out);
        } else {
            kn_row_taps(p, taps, rows, x);
            kn_packed_pixel(p, taps, p->kernel_h * p->kernel_w, (p->in_c + 3) & ~3, out);
        }
    }
}
