/* A convolution with packed weights. Of a pixel, what eight or two output channels are made of is read before they are written; up to three bytes after the channels of a tap are read and count for
 * nothing. Channels from front to back, pixels too or from the last to the first. */
void kn_packed_windows_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out);
/* -- */
/* Most taps of a window. */
#define KN_MOST_TAPS 16

/* The window of a place: pieces of the input of `length` bytes each; how many. Rows where it lies inside, otherwise taps. */
static inline int32_t kn_window(const struct kn_packed_s8 *p, const int8_t **taps, const int8_t *in, const struct kn_place *place, int32_t *length)
{
    const int32_t row = p->in_w * p->in_c, y = place->y * p->stride_h - p->pad_top, x = place->x * p->stride_w - p->pad_left;
    const int32_t goes_on = p->dilation_w == 1 && (p->in_c & 3) == 0;
    int32_t at = y * row + x * p->in_c;
    if (goes_on && y >= 0 && x >= 0 && y + (p->kernel_h - 1) * p->dilation_h < p->in_h && x + p->kernel_w <= p->in_w) {
        for (int32_t ky = 0; ky < p->kernel_h; ++ky, at += row * p->dilation_h) {
            taps[ky] = in + at;
        }
        *length = p->kernel_w * p->in_c;
        return p->kernel_h;
    }
    kn_taps(p, taps, in, at, y, x);
    *length = (p->in_c + 3) & ~3;
    return p->kernel_h * p->kernel_w;
}

void kn_packed_windows_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out)
{
    const int8_t *taps[KN_MOST_TAPS];
    struct kn_place place = kn_first_place(p, out);
    do {
        int32_t length;
        const int32_t count = kn_window(p, taps, in, &place, &length);
        kn_packed_pixel(p, taps, count, length, place.out);
    } while (kn_next_place(p, &place));
}
