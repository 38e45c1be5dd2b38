/* Softmax of 8-bit integers, row by row. `exps` holds e^(scale * -difference) as a fraction of 2^31 for every difference to the largest of the row that
 * counts. A row is read twice before it is written, each element read once more just before. */
struct kn_softmax_s8 {
    int32_t rows, depth, known;
    const int32_t *exps;
};

void kn_softmax_s8(const struct kn_softmax_s8 *p, const int8_t *in, int8_t *out);
/* -- */
static inline int32_t kn_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

static inline int32_t kn_rounding_shift(int32_t value, int32_t right)
{
    const int32_t mask = (int32_t)((1u << right) - 1u);
    return (value >> right) + ((value & mask) > (mask >> 1) + (value < 0 ? 1 : 0) ? 1 : 0);
}

static inline int32_t kn_saturating_left(int32_t value, int32_t left)
{
    const int64_t wide = (int64_t)value * ((int64_t)1 << left);
    return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* 1 / (1 + fraction / 2^31) as a fraction of 2^31, by three steps of Newton's method. */
static int32_t kn_inverse(int32_t fraction)
{
    const int32_t half = (int32_t)(((int64_t)fraction + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + kn_product(half, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        x += kn_saturating_left(kn_product(x, (1 << 29) - kn_product(half, x)), 2);
    }
    return kn_saturating_left(x, 1);
}

static int8_t kn_softmax_one(const struct kn_softmax_s8 *p, int32_t difference, int32_t inverse, int32_t right)
{
    int32_t value;
    if (difference >= p->known) {
        return -128;
    }
    value = kn_rounding_shift(kn_product(inverse, p->exps[difference]), right) - 128;
    return (int8_t)kn_clamped(value, -128, 127);
}

void kn_softmax_s8(const struct kn_softmax_s8 *p, const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < p->rows; ++row, in += p->depth, out += p->depth) {
        int32_t largest = -128, sum = 0, zeros = 0;
        for (int32_t i = 0; i < p->depth; ++i) {
            largest = in[i] > largest ? in[i] : largest;
        }
        for (int32_t i = 0; i < p->depth; ++i) {
            const int32_t difference = largest - in[i];
            sum += difference < p->known ? kn_rounding_shift(p->exps[difference], 12) : 0;
        }
        while (zeros < 31 && ((uint32_t)sum << zeros) < 0x80000000u) {
            ++zeros;
        }
        {
            const int32_t inverse = kn_inverse((int32_t)(((uint32_t)sum << zeros) - 0x80000000u));
            for (int32_t i = 0; i < p->depth; ++i) {
                out[i] = kn_softmax_one(p, largest - in[i], inverse, 12 - zeros + 23);
            }
        }
    }
}
