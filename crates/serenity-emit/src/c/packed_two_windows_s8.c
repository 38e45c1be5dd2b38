/* As kn_packed_windows_s8, two pixels at a time: what two pixels or two channels are made of is read before they are written. `scratch` has room for four bytes for each input of a window, each tap to a multiple of four inputs, and
 * is a multiple of four. */
void kn_packed_two_windows_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out, int8_t *scratch);
/* -- */
void kn_packed_two_windows_s8(const struct kn_packed_s8 *p, const int8_t *in, int8_t *out, int8_t *scratch)
{
    const int8_t *taps[KN_MOST_TAPS];
    struct kn_place place = kn_first_place(p, out);
    do {
        int8_t *const first = place.out;
        int32_t bytes, length, count = kn_window(p, taps, in, &place, &length);
        if (place.left == 1) {
            kn_packed_pixel(p, taps, count, length, first);
            return;
        }
        bytes = kn_packed_first(p, scratch, taps, count, length, first);
        kn_next_place(p, &place);
        count = kn_window(p, taps, in, &place, &length);
        kn_packed_first(p, scratch + 4, taps, count, length, place.out);
        kn_packed_two(p, scratch, bytes, first, place.out);
    } while (kn_next_place(p, &place));
}
