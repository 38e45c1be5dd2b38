/* Where a window begins along one side, and which of its taps lie inside. */
struct kn_span {
    int32_t begin, first, end;
};

static inline struct kn_span kn_span_at(int32_t place, int32_t stride, int32_t pad, int32_t taps, int32_t dilation, int32_t size)
{
    struct kn_span span;
    span.begin = place * stride - pad;
    span.first = span.begin < 0 ? (-span.begin + dilation - 1) / dilation : 0;
    span.end = span.begin >= size ? 0 : (size - 1 - span.begin) / dilation + 1;
    if (span.end > taps) {
        span.end = taps;
    }
    if (span.first > span.end) {
        span.first = span.end;
    }
    return span;
}
