/* A convolution with packed weights. Of a pixel, what eight or two output channels are made of is read before they are written; up to three bytes after the channels of a tap are read and count for
 * nothing. Channels from front to back, pixels too or from the last to the first. */
void kn_packed_windows_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out);
/* -- */
/* Most taps of a window. */
#define KN_MOST_TAPS 16

void kn_packed_windows_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out)
{
    const int8_t *taps[KN_MOST_TAPS];
    const int32_t row = p->in_w * p->in_c, goes_on = p->dilation_w == 1 && (p->in_c & 3) == 0;
    struct kn_place place = kn_first_place(p, out);
    do {
        const int32_t y = place.y * p->stride_h - p->pad_top, x = place.x * p->stride_w - p->pad_left;
        int32_t at = y * row + x * p->in_c;
        if (goes_on && y >= 0 && x >= 0 && y + (p->kernel_h - 1) * p->dilation_h < p->in_h && x + p->kernel_w <= p->in_w) {
            for (int32_t ky = 0; ky < p->kernel_h; ++ky, at += row * p->dilation_h) {
                taps[ky] = in + at;
            }
            kn_packed_pixel(p, taps, p->kernel_h, p->kernel_w * p->in_c, place.out);
        } else {
            kn_taps(p, taps, in, at, y, x);
            kn_packed_pixel(p, taps, p->kernel_h * p->kernel_w, (p->in_c + 3) & ~3, place.out);
        }
    } while (kn_next_place(p, &place));
}
