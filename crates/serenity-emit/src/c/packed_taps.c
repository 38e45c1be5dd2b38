/* -- */
/* Where each tap of a window reads that begins in row `y` and column `x`, `at` bytes after `in`. */
static void kn_taps(const struct kn_packed_s8 *p, const int8_t **taps, const int8_t *in, int32_t at, int32_t y, int32_t x)
{
    const int32_t column = p->dilation_w * p->in_c, row = p->dilation_h * p->in_w * p->in_c - p->kernel_w * column;
    for (int32_t ky = p->kernel_h; ky > 0; --ky, y += p->dilation_h, at += row) {
        int32_t from = x;
        for (int32_t kx = p->kernel_w; kx > 0; --kx, from += p->dilation_w, at += column) {
            *taps++ = (uint32_t)y < (uint32_t)p->in_h && (uint32_t)from < (uint32_t)p->in_w ? in + at : p->zeros;
        }
    }
}
