/* One row of a depthwise convolution with packed weights, from rows that lie apart: a pointer per row of the window, 0 for rows outside. */
void kn_packed_depthwise_s8_rows(const struct kn_packed_s8 *p, const int8_t *const *rows, int8_t *out);
/* -- */
void kn_packed_depthwise_s8_rows(const struct kn_packed_s8 *p, const int8_t *const *rows, int8_t *out)
{
    const int8_t *taps[KN_MOST_DEPTHWISE_TAPS];
    const int32_t count = p->kernel_h * p->kernel_w;
#if KN_ASSEMBLY
    const int32_t is_usual = p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_w == 1;
#endif
    int32_t x = -p->pad_left;
    for (int32_t left = p->out_w; left > 0; --left, x += p->stride_w, out += p->out_c) {
        struct kn_fours block;
        block.taps = taps, block.weights = (const int8_t *)p->weights, block.scales = p->scales, block.is_double = p->is_double, block.out = out;
#if KN_ASSEMBLY
        if (is_usual && x >= 0 && x + 3 <= p->in_w && kn_are_rows_inside(p, taps, rows, x)) {
            block.channel = p->in_c;
            kn_packed_depthwise_pixel(&block, p->in_c, kn_depthwise_inside);
            continue;
        }
#endif
        kn_row_taps(p, taps, rows, x);
        block.channel = 0, block.count = count;
        for (; block.count % 3 != 0; ++block.count) {
            taps[block.count] = p->zeros;
        }
        kn_packed_depthwise_pixel(&block, p->in_c, kn_depthwise_fours);
    }
}
