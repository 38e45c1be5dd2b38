/* -- */
/* Where each tap of a window reads that begins in column `x` of rows that lie apart. */
static void kn_row_taps(const struct kn_packed_s8 *p, const int8_t **taps, const int8_t *const *rows, int32_t x)
{
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        int32_t from = x;
        for (int32_t kx = p->kernel_w; kx > 0; --kx, from += p->dilation_w) {
            *taps++ = rows[ky] && (uint32_t)from < (uint32_t)p->in_w ? rows[ky] + from * p->in_c : p->zeros;
        }
    }
}

/* Do all rows of the window lie inside? Then `taps` has where they begin in column `x`. */
static inline int32_t kn_are_rows_inside(const struct kn_packed_s8 *p, const int8_t **taps, const int8_t *const *rows, int32_t x)
{
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        if (!rows[ky]) {
            return 0;
        }
        taps[ky] = rows[ky] + x * p->in_c;
    }
    return 1;
}
