/* -- */
#ifdef KN_MVE
/* The most runs of a window, and how much of one that stands over the padding is taken at a time. */
#define KN_RUNS 40
#define KN_ZEROS 64
/* The most inputs of a window that are copied together, and the shortest run that is worth a vector of its own. */
#define KN_PATCH 144
#define KN_RUN 16

/* What a window covers, in the order of the weights: runs of inputs, or of zero points. */
struct kn_one_run {
    const int8_t *x;
    int32_t bytes;
};

struct kn_runs {
    struct kn_one_run runs[KN_RUNS];
    int32_t count;
    /* Is a run no multiple of a vector, or longer than the zero points that there are? */
    int32_t is_uneven;
    int8_t zeros[KN_ZEROS], patch[KN_PATCH];
};

static inline void kn_run(struct kn_runs *runs, const int8_t *x, int32_t bytes)
{
    if (bytes > 0) {
        struct kn_one_run *run = &runs->runs[runs->count++];
        run->x = x;
        run->bytes = bytes;
        runs->is_uneven |= (bytes & 15) | (x == runs->zeros && bytes > KN_ZEROS);
    }
}

static void kn_window_runs(const struct kn_conv_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, struct kn_runs *runs)
{
    const int32_t inside = columns.end - columns.first, step = p->dilation_w * p->in_c;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky) {
        const int8_t *x = in + ((rows.begin + ky * p->dilation_h) * p->in_w + columns.begin) * p->in_c + columns.first * step;
        if (ky < rows.first || ky >= rows.end || inside <= 0) {
            kn_run(runs, runs->zeros, p->kernel_w * p->in_c);
            continue;
        }
        kn_run(runs, runs->zeros, columns.first * p->in_c);
        if (p->dilation_w == 1) {
            kn_run(runs, x, inside * p->in_c);
        } else {
            for (int32_t kx = 0; kx < inside; ++kx, x += step) {
                kn_run(runs, x, p->in_c);
            }
        }
        kn_run(runs, runs->zeros, (p->kernel_w - columns.end) * p->in_c);
    }
}

/* A window of few inputs, copied together with what stands over the padding, so that it is one run. */
static void kn_window_patch(const struct kn_conv_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, struct kn_runs *runs)
{
    const int32_t depth = p->in_c, step = p->dilation_w * depth, bytes = (columns.end - columns.first) * depth;
    const int32_t is_one = p->dilation_w == 1 && bytes > 0;
    const int8x16_t zeros = vdupq_n_s8((int8_t)p->in_zero);
    const mve_pred16_t row = vctp8q((uint32_t)(p->kernel_w * depth)), inside = is_one ? vctp8q((uint32_t)bytes) : 0;
    int8_t *to = runs->patch;
    for (int32_t ky = 0; ky < p->kernel_h; ++ky, to += p->kernel_w * depth) {
        const int8_t *x = in + ((rows.begin + ky * p->dilation_h) * p->in_w + columns.begin) * depth + columns.first * step;
        if (ky < rows.first || ky >= rows.end) {
            vstrbq_p_s8(to, zeros, row);
            continue;
        }
        if (bytes < p->kernel_w * depth) {
            vstrbq_p_s8(to, zeros, row);
        }
        if (is_one) {
            vstrbq_p_s8(to + columns.first * depth, vldrbq_z_s8(x, inside), inside);
            continue;
        }
        for (int32_t kx = columns.first; kx < columns.end; ++kx, x += step) {
            const mve_pred16_t some = vctp8q((uint32_t)depth);
            vstrbq_p_s8(to + kx * depth, vldrbq_z_s8(x, some), some);
        }
    }
    kn_run(runs, runs->patch, (int32_t)(to - runs->patch));
}

static inline void kn_window_of(const struct kn_conv_s8 *p, const int8_t *in, struct kn_span rows, struct kn_span columns, struct kn_runs *runs)
{
    const int32_t run = p->kernel_w * p->in_c;
    const int32_t is_inside = rows.end - rows.first == p->kernel_h && columns.end - columns.first == p->kernel_w;
    runs->count = runs->is_uneven = 0;
    if (p->kernel_h * run <= KN_PATCH && run < KN_RUN && p->kernel_h > 1) {
        kn_window_patch(p, in, rows, columns, runs);
    } else if (is_inside && p->dilation_w == 1) {
        const int32_t apart = p->dilation_h * p->in_w * p->in_c;
        const int8_t *x = in + (rows.begin * p->in_w + columns.begin) * p->in_c;
        for (int32_t left = p->kernel_h; left > 0; --left, x += apart) {
            kn_run(runs, x, run);
        }
    } else {
        memset(runs->zeros, p->in_zero, KN_ZEROS);
        kn_window_runs(p, in, rows, columns, runs);
    }
}

/* Four filters with one run. It is volatile, or the compiler would take it for the same where pointers are, whatever was written to the window since. A loop with tail predication: the last round takes what is left, but moves all pointers on by a whole vector. */
#define KN_FOUR_FILTERS(x, bytes)                                                                                  \
    __asm__ volatile("wlstp.8 lr, %[n], 2f\n"                                                                    \
                     "1: vldrb.s8 q0, [%[in]], #16\n"                                                              \
                     "vldrb.s8 q1, [%[w0]], #16\n"                                                                 \
                     "vmladava.s8 %[s0], q0, q1\n"                                                                 \
                     "vldrb.s8 q2, [%[w1]], #16\n"                                                                 \
                     "vmladava.s8 %[s1], q0, q2\n"                                                                 \
                     "vldrb.s8 q1, [%[w2]], #16\n"                                                                 \
                     "vmladava.s8 %[s2], q0, q1\n"                                                                 \
                     "vldrb.s8 q2, [%[w3]], #16\n"                                                                 \
                     "vmladava.s8 %[s3], q0, q2\n"                                                                 \
                     "letp lr, 1b\n"                                                                               \
                     "2:"                                                                                          \
                     : [in] "+r"(x), [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [s0] "+Te"(s0),   \
                       [s1] "+Te"(s1), [s2] "+Te"(s2), [s3] "+Te"(s3)                                              \
                     : [n] "r"(bytes)                                                                              \
                     : "q0", "q1", "q2", "lr", "cc")

/* Four filters, `apart` weights from each other, with the runs of a window. */
static inline int32x4_t kn_four_filters(const struct kn_runs *runs, const int8_t *w0, int32_t apart)
{
    const int8_t *w1 = w0 + apart, *w2 = w1 + apart, *w3 = w2 + apart;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (const struct kn_one_run *run = runs->runs, *end = run + runs->count; run != end; ++run) {
        const int8_t *x = run->x;
        KN_FOUR_FILTERS(x, run->bytes);
    }
    return (int32x4_t){s0, s1, s2, s3};
}

/* The same with uneven runs. */
static int32x4_t kn_four_uneven(const struct kn_runs *runs, const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (const struct kn_one_run *run = runs->runs, *end = run + runs->count; run != end; ++run) {
        const int32_t ahead = -run->bytes & 15;
        for (int32_t left = run->bytes, most = run->x == runs->zeros ? KN_ZEROS : left; left > 0; left -= most) {
            const int8_t *x = run->x;
            KN_FOUR_FILTERS(x, left < most ? left : most);
        }
        w0 -= ahead, w1 -= ahead, w2 -= ahead, w3 -= ahead;
    }
    return (int32x4_t){s0, s1, s2, s3};
}

/* What results are made with, moved on by four channels at a time. */
struct kn_scales {
    const int32_t *bias, *multiplier;
    const int8_t *shift;
    int8_t *out;
    int32x4_t least, most;
    int32_t zero;
};

static inline void kn_four_results(struct kn_scales *to, int32x4_t sums)
{
    const int32x4_t values = kn_scaled4(vaddq_s32(sums, vldrwq_s32(to->bias)), vldrwq_s32(to->multiplier), vldrbq_s32(to->shift));
    vstrbq_s32(to->out, vminq_s32(vmaxq_s32(vaddq_n_s32(values, to->zero), to->least), to->most));
    to->bias += 4, to->multiplier += 4, to->shift += 4, to->out += 4;
}

/* The last one to three channels. */
static inline void kn_last_results(const struct kn_conv_s8 *p, int32x4_t sums, int8_t *out)
{
    const int32_t whole = p->out_c & ~3;
    const mve_pred16_t some = vctp32q((uint32_t)(p->out_c - whole));
    const int32x4_t full = vaddq_s32(sums, vldrwq_z_s32(p->bias + whole, some));
    const int32x4_t values = kn_scaled4(full, vldrwq_z_s32(p->multiplier + whole, some), vldrbq_z_s32(p->shift + whole, some));
    vstrbq_p_s32(out + whole, kn_clamped4(vaddq_n_s32(values, p->out_zero), p->least, p->most), some);
}

/* Four filters with a window that is one run. */
static inline int32x4_t kn_four_once(const int8_t *x, int32_t bytes, const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    KN_FOUR_FILTERS(x, bytes);
    return (int32x4_t){s0, s1, s2, s3};
}

#define KN_SCALES {p->bias, p->multiplier, p->shift, out, vdupq_n_s32(p->least), vdupq_n_s32(p->most), p->out_zero}
/* What was written before is read by assembly that does not say so, and what is written later is written after it. Only what the compiler thinks others may read is written at all: `x` tells. */
#define KN_IS_READ(x) __asm__ volatile("" : : "r"(x) : "memory")

/* All channels of a pixel whose window is one run, four at a time; of the last four, those that are missing are the first of them again. */
static inline void kn_conv_once(const struct kn_conv_s8 *p, const int8_t *x, int32_t filter, int8_t *out)
{
    struct kn_scales to = KN_SCALES;
    const int8_t *w = p->weights;
    KN_IS_READ(x);
    for (int32_t left = p->out_c & ~3; left > 0; left -= 4, w += 4 * filter) {
        kn_four_results(&to, kn_four_once(x, filter, w, w + filter, w + 2 * filter, w + 3 * filter));
    }
    if (p->out_c & 3) {
        kn_last_results(p, kn_four_once(x, filter, w, (p->out_c & 2) ? w + filter : w, (p->out_c & 3) == 3 ? w + 2 * filter : w, w), out);
    }
    KN_IS_READ(x);
}

/* A convolution of single pixels, all of which are taken. */
static int32_t kn_conv_points(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out)
{
    if (p->kernel_h * p->kernel_w * p->stride_h * p->stride_w != 1 || p->scale_step != 1) {
        return 0;
    }
    for (int32_t left = p->batches * p->out_h * p->out_w; left > 0; --left, in += p->in_c, out += p->out_c) {
        kn_conv_once(p, in, p->in_c, out);
    }
    return 1;
}

/* All channels of a pixel; not if the window has too many runs, or channels share a multiplier. */
static int32_t kn_conv_by_vectors(const struct kn_conv_s8 *p, const int8_t *in, int8_t *out, struct kn_span rows, struct kn_span columns)
{
    const int32_t filter = p->kernel_h * p->kernel_w * p->in_c;
    struct kn_scales to = KN_SCALES;
    const int8_t *w = p->weights;
    struct kn_runs runs;
    if (p->kernel_h * (p->dilation_w > 1 ? p->kernel_w + 2 : 3) > KN_RUNS || p->scale_step != 1) {
        return 0;
    }
    if (p->kernel_h * p->kernel_w == 1) {
        kn_conv_once(p, in + (rows.begin * p->in_w + columns.begin) * p->in_c, filter, out);
        return 1;
    }
    kn_window_of(p, in, rows, columns, &runs);
    if (runs.count == 1 && runs.runs->x != runs.zeros) {
        kn_conv_once(p, runs.runs->x, filter, out);
        return 1;
    }
    KN_IS_READ(&runs);
    if (runs.is_uneven) {
        for (int32_t left = p->out_c & ~3; left > 0; left -= 4, w += 4 * filter) {
            kn_four_results(&to, kn_four_uneven(&runs, w, w + filter, w + 2 * filter, w + 3 * filter));
        }
    } else {
        for (int32_t left = p->out_c & ~3; left > 0; left -= 4, w += 4 * filter) {
            kn_four_results(&to, kn_four_filters(&runs, w, filter));
        }
    }
    if (p->out_c & 3) {
        kn_last_results(p, kn_four_uneven(&runs, w, (p->out_c & 2) ? w + filter : w, (p->out_c & 3) == 3 ? w + 2 * filter : w, w), out);
    }
    KN_IS_READ(&runs);
    return 1;
}
#undef KN_FOUR_FILTERS
#undef KN_SCALES
#undef KN_IS_READ
#endif
