/* A convolution with packed weights and few inputs for each result: they are copied to one place, zero points for what is outside, before the first channel of a pixel is written. Channels from front to
 * back, pixels too or from the last to the first. */
void kn_packed_patches_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out);
/* -- */
/* Most inputs of a result. */
#define KN_MOST_INPUTS 64

static inline void kn_copied(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count >= 4; count -= 4, to += 4, from += 4) {
        memcpy(to, from, 4);
    }
    for (; count > 0; --count) {
        *to++ = *from++;
    }
}

/* The window that begins in row `y` and column `x`, `at` bytes after `in`. */
static void kn_gathered(const struct kn_packed_s8 *p, int8_t *to, const int8_t *in, int32_t at, int32_t y, int32_t x)
{
    const int32_t width = p->kernel_w * p->in_c, row = p->in_w * p->in_c;
    const int32_t before = x < 0 ? -x * p->in_c : 0, end = (p->in_w - x) * p->in_c, inside = (end < width ? end : width) - before;
    for (int32_t ky = p->kernel_h; ky > 0; --ky, ++y, at += row, to += width) {
        const int32_t is_row = (uint32_t)y < (uint32_t)p->in_h && inside > 0;
        if (!is_row || inside < width) {
            memset(to, p->in_zero, (size_t)width);
        }
        if (is_row) {
            kn_copied(to + before, in + at + before, inside);
        }
    }
}

void kn_packed_patches_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out)
{
    int8_t patch[KN_MOST_INPUTS];
    const int8_t *const run = patch;
    const int32_t row = p->in_w * p->in_c, length = (p->kernel_h * p->kernel_w * p->in_c + 3) & ~3;
    struct kn_place place = kn_first_place(p, out);
    memset(patch, 0, sizeof patch);
    do {
        const int32_t y = place.y * p->stride_h - p->pad_top, x = place.x * p->stride_w - p->pad_left;
        kn_gathered(p, patch, in, y * row + x * p->in_c, y, x);
        kn_packed_pixel(p, &run, 1, length, place.out);
    } while (kn_next_place(p, &place));
}
