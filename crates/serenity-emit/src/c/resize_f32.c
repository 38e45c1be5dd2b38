/* Floats of an image between those of another, in a straight line along both sides; pixels and channels from front to back. Input and result lie apart. */
struct kn_resize_f32 {
    int32_t batches, in_h, in_w, channels, out_h, out_w;
    /* From one place of the result to the next; 1 if places are the centres of pixels. */
    float step_h, step_w;
    int32_t is_centred;
};

void kn_resize_bilinear_f32(const struct kn_resize_f32 *p, const void *in, void *out);
/* -- */
struct kn_between_f32 {
    int32_t low, high;
    float part;
};

static struct kn_between_f32 kn_between_f32_at(int32_t index, float step, int32_t is_centred, int32_t size)
{
    struct kn_between_f32 between;
    const float place = is_centred ? ((float)index + 0.5f) * step - 0.5f : (float)index * step, whole = floorf(place);
    between.low = whole > 0.0f ? (int32_t)whole : 0;
    between.high = (int32_t)ceilf(place);
    if (between.high > size - 1) {
        between.high = size - 1;
    }
    if (between.low > size - 1) {
        between.low = size - 1;
    }
    between.part = place - (float)between.low;
    return between;
}

void kn_resize_bilinear_f32(const struct kn_resize_f32 *p, const void *in, void *out)
{
    int32_t at = 0;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < p->out_h; ++y) {
            const struct kn_between_f32 rows = kn_between_f32_at(y, p->step_h, p->is_centred, p->in_h);
            for (int32_t x = 0; x < p->out_w; ++x) {
                const struct kn_between_f32 columns = kn_between_f32_at(x, p->step_w, p->is_centred, p->in_w);
                const int32_t upper = (batch * p->in_h + rows.low) * p->in_w, lower = (batch * p->in_h + rows.high) * p->in_w;
                for (int32_t c = 0; c < p->channels; ++c) {
                    const float a = kn_load_f32(in, (upper + columns.low) * p->channels + c), b = kn_load_f32(in, (lower + columns.low) * p->channels + c);
                    const float d = kn_load_f32(in, (upper + columns.high) * p->channels + c), e = kn_load_f32(in, (lower + columns.high) * p->channels + c);
                    const float left = 1.0f - columns.part, top = 1.0f - rows.part;
                    kn_store_f32(out, at++, a * top * left + b * rows.part * left + d * top * columns.part + e * rows.part * columns.part);
                }
            }
        }
    }
}
