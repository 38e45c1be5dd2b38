/* Sixteen products at a time, on Arm cores with vectors (MVE, called Helium). Elsewhere KN_MVE is not defined, and C of the same meaning stands in its place. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#define KN_MVE 1
/* kn_scaled of four sums: the high half of a doubled product, rounded half up; what is shifted out is rounded half away from zero. */
static inline int32x4_t kn_scaled4(int32x4_t sums, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t none = vdupq_n_s32(0), down = vminq_s32(shift, none);
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sums, vmaxq_s32(shift, none)), multiplier);
    return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(vandq_s32(high, down), 31)), down);
}

static inline int32x4_t kn_clamped4(int32x4_t values, int32_t least, int32_t most)
{
    return vminq_s32(vmaxq_s32(values, vdupq_n_s32(least)), vdupq_n_s32(most));
}
#endif
