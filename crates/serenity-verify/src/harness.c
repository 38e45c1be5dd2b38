/* Runs a model on inputs from standard input until there are no more, and writes its outputs to standard output. */
#include "model.h"

#include <stdio.h>

#define READ(address, bytes)                                          \
    if (fread((void *)(address), 1, (bytes), stdin) != (bytes)) {     \
        return is_first ? 0 : 2;                                      \
    }                                                                 \
    is_first = 0;
#define WRITE(address, bytes)                                         \
    if (fwrite((const void *)(address), 1, (bytes), stdout) != (bytes)) { \
        return 3;                                                     \
    }

#ifdef ROWS
/* Rows until the outputs are there: fewer when windows slide and this is not the first. */
static int32_t new_rows(void)
{
#ifdef HOP
    static int32_t rows = ROWS;
    const int32_t now = rows;
    if (rows != HOP) {
        /* Rows that are dropped again leave nothing behind. */
        static const uint8_t other[ROW_BYTES];
        PUSH(other);
        BEGIN();
    }
    rows = HOP;
    return now;
#else
    return ROWS;
#endif
}

/* Each row as the application would push it. */
static int run(void)
{
    static uint8_t row[ROW_BYTES];
    const int32_t rows = new_rows();
    for (int32_t left = rows; left > 0; --left) {
        if (fread(row, 1, ROW_BYTES, stdin) != ROW_BYTES) {
            return left == rows ? 0 : 2;
        }
        if (PUSH(row) != (left == 1)) {
            return 5;
        }
    }
    return -1;
}
#else
static int run(void)
{
    int is_first = 1;
    EACH_INPUT(READ)
    if (is_first) {
        return 4;
    }
    INVOKE();
    return -1;
}
#endif

int main(void)
{
    for (;;) {
        const int ended = run();
        if (ended >= 0) {
            return ended;
        }
        EACH_OUTPUT(WRITE)
    }
}
