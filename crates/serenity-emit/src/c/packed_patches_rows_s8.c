/* One row of a convolution with packed weights and few inputs, from rows that lie apart: a pointer per row of the window, 0 for rows outside. */
void kn_packed_patches_s8_rows(const struct kn_packed_s8 *p, const int8_t *const *rows, int8_t *out);
/* -- */
void kn_packed_patches_s8_rows(const struct kn_packed_s8 *p, const int8_t *const *rows, int8_t *out)
{
    int8_t patch[KN_MOST_INPUTS];
    const int8_t *const run = patch;
    const int32_t width = p->kernel_w * p->in_c, length = (p->kernel_h * width + 3) & ~3;
    int32_t x = -p->pad_left;
    memset(patch, 0, sizeof patch);
    for (int32_t left = p->out_w; left > 0; --left, x += p->stride_w, out += p->out_c) {
        const int32_t before = x < 0 ? -x * p->in_c : 0, end = (p->in_w - x) * p->in_c, inside = (end < width ? end : width) - before;
        int8_t *to = patch;
        for (int32_t ky = 0; ky < p->kernel_h; ++ky, to += width) {
            const int32_t is_row = rows[ky] && inside > 0;
            if (!is_row || inside < width) {
                memset(to, p->in_zero, (size_t)width);
            }
            if (is_row) {
                kn_copied(to + before, rows[ky] + (x * p->in_c + before), inside);
            }
        }
        kn_packed_pixel(p, &run, 1, length, out);
    }
}
