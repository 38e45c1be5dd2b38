/* Starts a program on a bare Cortex-M that an emulator runs; input and output go through semihosting. */
extern unsigned char stack_top[], data_from[], data_begin[], data_end[], bss_begin[], bss_end[];
void initialise_monitor_handles(void);
int main(void);
void exit(int);

/* The library calls these: a linker that optimises must not take them away. */
__attribute__((used, externally_visible)) void _init(void);
__attribute__((used, externally_visible)) void _fini(void);
void _init(void) {}
void _fini(void) {}

/* A function of its own: nothing of it may run before floats and vectors are there. */
__attribute__((noinline)) static void start(void)
{
    initialise_monitor_handles();
    exit(main());
}

void reset(void);
void reset(void)
{
    unsigned char *from = data_from, *to;
    for (to = data_begin; to < data_end;) {
        *to++ = *from++;
    }
    for (to = bss_begin; to < bss_end;) {
        *to++ = 0;
    }
    /* Coprocessors 10 and 11: floats and vectors. */
    *(volatile unsigned *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\nisb" ::: "memory");
    start();
}

static void stop(void)
{
    exit(99);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top, reset, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, stop,
};
