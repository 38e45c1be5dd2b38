/* Instructions of one run of a model on an emulated Cortex-M4, and a hash of what it computes. The emulator's clock goes on by one nanosecond an instruction, and SysTick counts PER_TICK thousandths of them at a time. */
#include "model.h"

#include <stdio.h>

static uint32_t ticks(void)
{
    return 0xFFFFFFu - *(volatile uint32_t *)0xE000E018;
}

#define FILL(AT, BYTES)                          \
    for (uint32_t k = 0; k < (BYTES); ++k) {     \
        seed = seed * 1664525u + 1013904223u;    \
        ((uint8_t *)(AT))[k] = (uint8_t)(seed >> 24); \
    }
#define HASH(AT, BYTES)                                        \
    for (uint32_t k = 0; k < (BYTES); ++k) {                   \
        hash = (hash ^ ((const uint8_t *)(AT))[k]) * 16777619u; \
    }

int main(void)
{
    uint32_t seed = 1, hash = 2166136261u, from;
    /* SysTick: the core's clock, from the top. */
    *(volatile uint32_t *)0xE000E014 = 0xFFFFFF;
    *(volatile uint32_t *)0xE000E018 = 0;
    *(volatile uint32_t *)0xE000E010 = 5;
    NET_EACH_INPUT(FILL)
    from = ticks();
    net_invoke();
    from = ticks() - from;
    NET_EACH_OUTPUT(HASH)
    printf("%lu %08lx\n", (unsigned long)((uint64_t)from * PER_TICK / 1000), (unsigned long)hash);
    return 0;
}
