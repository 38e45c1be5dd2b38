/* -- */
/* The next place of a walk over pixels, in whichever direction; results follow. */
struct kn_place {
    int32_t y, x, left;
    int8_t *out;
};

static inline struct kn_place kn_first_place(const struct kn_packed_s8 *p, int8_t *out)
{
    struct kn_place place;
    place.left = p->out_h * p->out_w;
    place.y = p->is_backward ? p->out_h - 1 : 0;
    place.x = p->is_backward ? p->out_w - 1 : 0;
    place.out = p->is_backward ? out + (place.left - 1) * p->out_c : out;
    return place;
}

static inline int32_t kn_next_place(const struct kn_packed_s8 *p, struct kn_place *place)
{
    if (--place->left == 0) {
        return 0;
    }
    if (p->is_backward) {
        place->out -= p->out_c;
        if (--place->x < 0) {
            place->x = p->out_w - 1;
            --place->y;
        }
    } else {
        place->out += p->out_c;
        if (++place->x == p->out_w) {
            place->x = 0;
            ++place->y;
        }
    }
    return 1;
}
