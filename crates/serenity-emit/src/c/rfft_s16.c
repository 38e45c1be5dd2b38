/* The Fourier transform of a signal of 16-bit integers, padded with zeros: real and imaginary part of the first half of the frequencies. Two places of the signal count as one complex
 * number; these are sorted into the result, transformed there by steps of four and two, and parted at the end. So the result is written before the signal is read to its end, and
 * must lie elsewhere. Every step divides before it adds, and keeps the low 16 bits; no turn is longer than
 * 32767, so what is in between stays within 32. */
struct kn_rfft_s16 {
    int32_t signals, length, size, steps;
    /* The outermost step first: by how much it divides. */
    const uint8_t *step;
    /* Complex numbers on the unit circle, as fractions of 2^15, by their place of `size / 2`, and those that part the two halves. */
    const int16_t *turns, *parts;
};

void kn_rfft_s16(const struct kn_rfft_s16 *p, const void *in, void *out);
/* -- */
struct kn_complex {
    int32_t r, i;
};

static inline int32_t kn_low_s16(int32_t value)
{
    return (int16_t)(uint16_t)value;
}

static inline int32_t kn_high_s16(int32_t value)
{
    return kn_low_s16((value + (1 << 14)) >> 15);
}

static inline struct kn_complex kn_complex_of(int32_t r, int32_t i)
{
    struct kn_complex z;
    z.r = kn_low_s16(r);
    z.i = kn_low_s16(i);
    return z;
}

static inline struct kn_complex kn_load_complex(const void *from, int32_t index, int32_t divisor)
{
    const int32_t part = 32767 / divisor;
    return kn_complex_of(kn_high_s16(kn_load_s16(from, 2 * index) * part), kn_high_s16(kn_load_s16(from, 2 * index + 1) * part));
}

static inline void kn_store_complex(void *to, int32_t index, int32_t r, int32_t i)
{
    kn_store_s16(to, 2 * index, r);
    kn_store_s16(to, 2 * index + 1, i);
}

static inline struct kn_complex kn_turned(struct kn_complex z, const int16_t *turn)
{
    return kn_complex_of(kn_high_s16(z.r * turn[0] - z.i * turn[1]), kn_high_s16(z.r * turn[1] + z.i * turn[0]));
}

static void kn_step_of_two(const struct kn_rfft_s16 *p, void *z, int32_t first, int32_t apart, int32_t stride)
{
    for (int32_t k = 0; k < apart; ++k, ++first) {
        const struct kn_complex a = kn_load_complex(z, first, 2);
        const struct kn_complex b = kn_turned(kn_load_complex(z, first + apart, 2), p->turns + 2 * k * stride);
        kn_store_complex(z, first, a.r + b.r, a.i + b.i);
        kn_store_complex(z, first + apart, a.r - b.r, a.i - b.i);
    }
}

static void kn_step_of_four(const struct kn_rfft_s16 *p, void *z, int32_t first, int32_t apart, int32_t stride)
{
    for (int32_t k = 0; k < apart; ++k, ++first) {
        const struct kn_complex a = kn_load_complex(z, first, 4);
        const struct kn_complex b = kn_turned(kn_load_complex(z, first + apart, 4), p->turns + 2 * k * stride);
        const struct kn_complex c = kn_turned(kn_load_complex(z, first + 2 * apart, 4), p->turns + 4 * k * stride);
        const struct kn_complex d = kn_turned(kn_load_complex(z, first + 3 * apart, 4), p->turns + 6 * k * stride);
        const struct kn_complex even = kn_complex_of(a.r + c.r, a.i + c.i), odd = kn_complex_of(a.r - c.r, a.i - c.i);
        const struct kn_complex sum = kn_complex_of(b.r + d.r, b.i + d.i), rest = kn_complex_of(b.r - d.r, b.i - d.i);
        kn_store_complex(z, first, even.r + sum.r, even.i + sum.i);
        kn_store_complex(z, first + apart, odd.r + rest.i, odd.i - rest.r);
        kn_store_complex(z, first + 2 * apart, even.r - sum.r, even.i - sum.i);
        kn_store_complex(z, first + 3 * apart, odd.r - rest.i, odd.i + rest.r);
    }
}

/* Puts every pair of the signal where the innermost step wants it. */
static void kn_sort_signal(const struct kn_rfft_s16 *p, const void *in, void *z)
{
    const int32_t count = p->size / 2;
    for (int32_t place = 0; place < count; ++place) {
        int32_t from = 0, rest = place, apart = count, stride = 1;
        for (int32_t step = 0; step < p->steps; ++step) {
            apart /= p->step[step];
            from += rest / apart * stride;
            rest %= apart;
            stride *= p->step[step];
        }
        kn_store_complex(z, place, 2 * from < p->length ? kn_load_s16(in, 2 * from) : 0, 2 * from + 1 < p->length ? kn_load_s16(in, 2 * from + 1) : 0);
    }
}

/* Numbers that were read as complex ones, parted: each with its opposite. */
static void kn_part(const struct kn_rfft_s16 *p, void *z)
{
    const int32_t count = p->size / 2;
    const struct kn_complex whole = kn_load_complex(z, 0, 2);
    kn_store_complex(z, 0, whole.r + whole.i, 0);
    kn_store_complex(z, count, whole.r - whole.i, 0);
    for (int32_t k = 1; k <= count / 2; ++k) {
        const struct kn_complex a = kn_load_complex(z, k, 2);
        const int32_t r = kn_load_s16(z, 2 * (count - k)), i = kn_low_s16(-kn_load_s16(z, 2 * (count - k) + 1));
        const struct kn_complex b = kn_complex_of(kn_high_s16(r * 16383), kn_high_s16(i * 16383));
        const struct kn_complex sum = kn_complex_of(a.r + b.r, a.i + b.i);
        const struct kn_complex turned = kn_turned(kn_complex_of(a.r - b.r, a.i - b.i), p->parts + 2 * (k - 1));
        kn_store_complex(z, k, (sum.r + turned.r) >> 1, (sum.i + turned.i) >> 1);
        kn_store_complex(z, count - k, (sum.r - turned.r) >> 1, (turned.i - sum.i) >> 1);
    }
}

void kn_rfft_s16(const struct kn_rfft_s16 *p, const void *in, void *out)
{
    for (int32_t signal = 0; signal < p->signals; ++signal) {
        int32_t apart = 1;
        kn_sort_signal(p, in, out);
        for (int32_t step = p->steps - 1; step >= 0; --step) {
            const int32_t block = apart * p->step[step], blocks = p->size / 2 / block;
            for (int32_t first = 0; first < p->size / 2; first += block) {
                (p->step[step] == 4 ? kn_step_of_four : kn_step_of_two)(p, out, first, apart, blocks);
            }
            apart = block;
        }
        kn_part(p, out);
        in = (const uint8_t *)in + 2 * (size_t)p->length;
        out = (uint8_t *)out + 2 * (size_t)(p->size + 2);
    }
}
