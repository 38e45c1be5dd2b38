/* Two products at a time, where the core has instructions for it. */
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && defined(__GNUC__)
#define KN_DSP 1
static inline uint32_t kn_word(const int8_t *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline uint32_t kn_sxtb16(uint32_t bytes)
{
    uint32_t halves;
    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(bytes));
    return halves;
}

static inline uint32_t kn_sxtb16_ror8(uint32_t bytes)
{
    uint32_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(bytes));
    return halves;
}

static inline int32_t kn_smlad(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;
    __asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

static inline int32_t kn_smlabb(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

static inline int32_t kn_smlatt(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;
    __asm__("smlatt %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}
#else
#define KN_DSP 0
#endif
