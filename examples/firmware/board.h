/* What main.c needs from a board. board_m4.c implements it for a Cortex-M4, board_host.c for your computer. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

struct board_ram {
    size_t size;  /* what the linker script gives the program; 0 if that is not known */
    size_t data;  /* static variables, the arena among them */
    size_t stack; /* the most that was in use so far */
};

void board_print(const char *text);
struct board_ram board_ram(void);

#endif
