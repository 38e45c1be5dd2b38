/* Which places of a smaller side give to one of a larger, where each gives to `taps` places next to each other, `stride` apart. Place `from` gives to it by tap `begin - from * stride`. */
static inline struct kn_span kn_reach_of(int32_t place, int32_t stride, int32_t pad, int32_t taps, int32_t size)
{
    struct kn_span span;
    span.begin = place + pad;
    span.first = span.begin < taps ? 0 : (span.begin - taps) / stride + 1;
    span.end = span.begin / stride + 1;
    if (span.end > size) {
        span.end = size;
    }
    return span;
}
