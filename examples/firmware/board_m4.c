/* Starts a program on a bare Cortex-M4 and prints through semihosting, which an emulator or a debugger answers. */
#include "board.h"
#include <stdint.h>

/* link.ld defines these; only their addresses mean something. */
extern uint32_t ram_begin[], ram_end[], stack_begin[], stack_painted[], stack_end[];
extern uint32_t data_from[], data_begin[], data_end[], bss_begin[], bss_end[];

int main(void);
void reset(void);

/* No program leaves this value in all of its stack by chance. */
#define PAINT 0xC0FFEE42u

#define SYS_WRITE0 0x04
#define SYS_EXIT 0x18
#define APPLICATION_EXIT ((void *)0x20026)
#define RUNTIME_ERROR ((void *)0x20023)

static void semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void board_print(const char *text)
{
    semihost(SYS_WRITE0, text);
}

struct board_ram board_ram(void)
{
    struct board_ram ram;
    const uint32_t *untouched = stack_begin;
    while (untouched < stack_end && *untouched == PAINT) {
        untouched++;
    }
    ram.size = (size_t)((uintptr_t)ram_end - (uintptr_t)ram_begin);
    ram.data = (size_t)((uintptr_t)data_end - (uintptr_t)data_begin + (uintptr_t)bss_end - (uintptr_t)bss_begin);
    ram.stack = (size_t)((uintptr_t)stack_end - (uintptr_t)untouched);
    return ram;
}

void reset(void)
{
    const uint32_t *from = data_from;
    uint32_t *to;
    for (to = stack_begin; to < stack_painted; to++) {
        *to = PAINT;
    }
    for (to = data_begin; to < data_end; to++) {
        *to = *from++;
    }
    for (to = bss_begin; to < bss_end; to++) {
        *to = 0;
    }
    /* Access to the floating-point unit, coprocessors 10 and 11, which is off after reset. */
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb");
    semihost(SYS_EXIT, main() == 0 ? APPLICATION_EXIT : RUNTIME_ERROR);
    for (;;) {
    }
}

static void fault(void)
{
    board_print("fault: the stack may have overflowed\n");
    semihost(SYS_EXIT, RUNTIME_ERROR);
    for (;;) {
    }
}

/* The core reads the stack pointer and the first address from here. */
__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_end, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
