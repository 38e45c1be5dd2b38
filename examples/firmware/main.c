/* Runs an emitted model once and prints what it computes. Put your sensor where the inputs are filled. */
#include "board.h"
#include "model.h"
#include <stddef.h>
#include <stdint.h>

/* A fixed pattern, so that every board and every computer sees the same input. */
static uint32_t seed = 1;

static void fill(void *to, size_t bytes)
{
    uint8_t *byte = to;
    while (bytes-- > 0) {
        seed = seed * 1664525u + 1013904223u;
        *byte++ = (uint8_t)(seed >> 24);
    }
}

static void print_number(long value)
{
    char text[12];
    char *at = text + sizeof text - 1;
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
    *at = '\0';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        *--at = '-';
    }
    board_print(at);
}

/* The first bytes for the eye, and a hash of all of them for a comparison. */
static void print_bytes(const void *from, size_t bytes)
{
    const uint8_t *byte = from;
    uint32_t hash = 2166136261u;
    size_t i;
    board_print("output:");
    for (i = 0; i < bytes; i++) {
        hash = (hash ^ byte[i]) * 16777619u;
        if (i < 8) {
            board_print(" ");
            print_number((int8_t)byte[i]);
        }
    }
    board_print(bytes > 8 ? " ..., " : ", ");
    print_number((long)bytes);
    board_print(" bytes, hash ");
    print_number((long)(hash >> 1));
    board_print("\n");
}

#define FILL(address, bytes) fill((address), (bytes));
#define PRINT(address, bytes) print_bytes((address), (bytes));

#ifdef NET_ROWS
/* Rows as a camera would deliver them: one at a time is in memory. */
static void run(void)
{
    static uint8_t row[NET_ROW_BYTES];
    do {
        fill(row, sizeof row);
    } while (!net_push(row));
}
#else
static void run(void)
{
    NET_EACH_INPUT(FILL)
    net_invoke();
}
#endif

int main(void)
{
    struct board_ram ram;
    run();
    NET_EACH_OUTPUT(PRINT)

    ram = board_ram();
    if (ram.size > 0) {
        board_print("RAM: ");
        print_number((long)(ram.data + ram.stack));
        board_print(" of ");
        print_number((long)ram.size);
        board_print(" bytes: ");
        print_number(NET_ARENA_BYTES);
        board_print(" arena, ");
        print_number((long)ram.data - NET_ARENA_BYTES);
        board_print(" other data, ");
        print_number((long)ram.stack);
        board_print(" stack\n");
    }
    return 0;
}
