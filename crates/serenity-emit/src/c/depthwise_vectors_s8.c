/* -- */
#ifdef KN_MVE
/* The most taps of a window in a row, of which some may stand over the padding. */
#define KN_TAP_RUNS 24

/* Taps that lie side by side: where the first is, and how far it is from one to the next; 0 if they are zero points. */
struct kn_taps {
    const int8_t *x;
    int32_t step, count;
};

struct kn_all_taps {
    struct kn_taps taps[KN_TAP_RUNS];
    int32_t count;
    /* Where the first tap is, if all are inside, and how far it is to the next row and to the next column. */
    const int8_t *inside;
    int32_t row, step;
    int8_t zeros[16];
};

static inline void kn_some_taps(struct kn_all_taps *all, const int8_t *x, int32_t step, int32_t count)
{
    if (count > 0) {
        struct kn_taps *taps = &all->taps[all->count++];
        taps->x = x;
        taps->step = step;
        taps->count = count;
    }
}

static void kn_taps_of(const struct kn_depthwise_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, struct kn_all_taps *all)
{
    const int32_t step = p->dilation_w * p->in_c, inside = columns.end - columns.first;
    all->inside = NULL;
    all->count = 0;
    if (rows.end - rows.first == p->kernel_h && inside == p->kernel_w) {
        all->inside = in + (rows.begin * p->in_w + columns.begin) * p->in_c;
        all->row = p->dilation_h * p->in_w * p->in_c;
        all->step = step;
        return;
    }
    memset(all->zeros, p->in_zero, sizeof all->zeros);
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        if (ky < rows.first || ky >= rows.end || inside <= 0) {
            kn_some_taps(all, all->zeros, 0, p->kernel_w);
        } else {
            const int8_t *x = in + ((rows.begin + ky * p->dilation_h) * p->in_w + columns.begin) * p->in_c + columns.first * step;
            kn_some_taps(all, all->zeros, 0, columns.first);
            kn_some_taps(all, x, step, inside);
            kn_some_taps(all, all->zeros, 0, p->kernel_w - columns.end);
        }
    }
}

/* One after the other, or the compiler runs out of vectors. */
#define KN_FIRST __asm__ volatile("" ::: "memory")

/* Every fourth of sixteen channels, from the one at `at` on. */
static inline int32x4_t kn_fourth(const struct kn_depthwise_s8 *p, int32x4_t sums, int32_t at, uint32x4_t places)
{
    const int32x4_t bias = vldrwq_gather_shifted_offset_s32(p->bias + at, places);
    const int32x4_t multiplier = vldrwq_gather_shifted_offset_s32(p->multiplier + at, places);
    return kn_scaled4(vaddq_s32(sums, bias), multiplier, vldrbq_gather_offset_s32(p->shift + at, places));
}

/* Runs TAP(x, w) for every tap of a window, of the channels from `channel` on. */
#define KN_EACH_TAP(TAP)                                                                                          \
    if (all->inside) {                                                                                            \
        const int32_t row = all->row, step = all->step;                                                           \
        const int8_t *from = all->inside + channel;                                                               \
        for (int32_t rows = p->kernel_h; rows > 0; --rows, from += row) {                                         \
            const int8_t *x = from;                                                                               \
            for (int32_t left = p->kernel_w; left > 0; --left, x += step, w += channels)                          \
                TAP(x, w)                                                                                         \
        }                                                                                                         \
    } else {                                                                                                      \
        for (const struct kn_taps *taps = all->taps, *end = taps + all->count; taps != end; ++taps) {             \
            const int32_t step = taps->step;                                                                      \
            const int8_t *x = step ? taps->x + channel : taps->x;                                                 \
            for (int32_t left = taps->count; left > 0; --left, x += step, w += channels)                          \
                TAP(x, w)                                                                                         \
        }                                                                                                         \
    }

/* A tap of sixteen channels: products of even and of odd ones, each as two vectors. */
#define KN_TAP(x, w)                                                                 \
    {                                                                                \
        const int8x16_t xs = vldrbq_s8(x), ws = vldrbq_s8(w);                        \
        const int16x8_t even = vmullbq_int_s8(xs, ws), odd = vmulltq_int_s8(xs, ws); \
        s0 = vaddq_s32(s0, vmovlbq_s16(even));                                       \
        s1 = vaddq_s32(s1, vmovlbq_s16(odd));                                        \
        s2 = vaddq_s32(s2, vmovltq_s16(even));                                       \
        s3 = vaddq_s32(s3, vmovltq_s16(odd));                                        \
    }

static inline void kn_depthwise_sixteen(const struct kn_depthwise_s8 *p, const struct kn_all_taps *all, int32_t channel, int8_t *out)
{
    const int32_t channels = p->in_c;
    const uint32x4_t places = vidupq_n_u32(0, 4);
    const int8_t *w = p->weights + channel;
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0;
    int16x8_t even = vdupq_n_s16(0), odd = even;
    int8x16_t results = vdupq_n_s8(0);
    KN_EACH_TAP(KN_TAP)
    even = vqmovnbq_s32(even, kn_fourth(p, s0, channel, places));
    KN_FIRST;
    even = vqmovntq_s32(even, kn_fourth(p, s2, channel + 2, places));
    KN_FIRST;
    odd = vqmovnbq_s32(odd, kn_fourth(p, s1, channel + 1, places));
    KN_FIRST;
    odd = vqmovntq_s32(odd, kn_fourth(p, s3, channel + 3, places));
    KN_FIRST;
    results = vqmovnbq_s16(results, vqaddq_n_s16(even, (int16_t)p->out_zero));
    results = vqmovntq_s16(results, vqaddq_n_s16(odd, (int16_t)p->out_zero));
    vstrbq_s8(out, vminq_s8(vmaxq_s8(results, vdupq_n_s8((int8_t)p->least)), vdupq_n_s8((int8_t)p->most)));
}
#undef KN_TAP

/* Up to eight channels: even ones, and odd ones. */
#define KN_TAP(x, w)                                                                              \
    {                                                                                             \
        const int16x8_t product = vmulq_s16(vldrbq_z_s16(x, some), vldrbq_z_s16(w, some));        \
        s0 = vaddq_s32(s0, vmovlbq_s16(product));                                                 \
        s1 = vaddq_s32(s1, vmovltq_s16(product));                                                 \
    }

static inline int32x4_t kn_half(const struct kn_depthwise_s8 *p, int32x4_t sums, int32_t at, uint32x4_t places, mve_pred16_t some)
{
    const int32x4_t bias = vldrwq_gather_shifted_offset_z_s32(p->bias + at, places, some);
    const int32x4_t multiplier = vldrwq_gather_shifted_offset_z_s32(p->multiplier + at, places, some);
    return kn_scaled4(vaddq_s32(sums, bias), multiplier, vldrbq_gather_offset_z_s32(p->shift + at, places, some));
}

static void kn_depthwise_eight(const struct kn_depthwise_s8 *p, const struct kn_all_taps *all, int32_t channel, int8_t *out)
{
    const int32_t channels = p->in_c, count = channels - channel < 8 ? channels - channel : 8;
    const mve_pred16_t some = vctp16q((uint32_t)count);
    const uint32x4_t places = vidupq_n_u32(0, 2);
    const int8_t *w = p->weights + channel;
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0;
    int16x8_t results = vdupq_n_s16(0);
    KN_EACH_TAP(KN_TAP)
    results = vqmovnbq_s32(results, kn_half(p, s0, channel, places, vctp32q((uint32_t)(count + 1) / 2)));
    results = vqmovntq_s32(results, kn_half(p, s1, channel + 1, places, vctp32q((uint32_t)count / 2)));
    results = vqaddq_n_s16(results, (int16_t)p->out_zero);
    vstrbq_p_s16(out, vminq_s16(vmaxq_s16(results, vdupq_n_s16((int16_t)p->least)), vdupq_n_s16((int16_t)p->most)), some);
}
#undef KN_TAP

/* All channels of a pixel, if each makes one and the window is not too high. */
static int32_t kn_depthwise_by_vectors(const struct kn_depthwise_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    struct kn_all_taps all;
    int32_t channel = 0;
    if (p->multiplicity != 1 || 3 * p->kernel_h > KN_TAP_RUNS) {
        return 0;
    }
    kn_taps_of(p, in, rows, columns, &all);
    for (; channel + 16 <= p->in_c; channel += 16) {
        kn_depthwise_sixteen(p, &all, channel, out + channel);
    }
    for (; channel < p->in_c; channel += 8) {
        kn_depthwise_eight(p, &all, channel, out + channel);
    }
    return 1;
}
#undef KN_EACH_TAP
#undef KN_FIRST
#endif
