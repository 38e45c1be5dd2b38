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

int main(void)
{
    for (;;) {
        int is_first = 1;
        EACH_INPUT(READ)
        if (is_first) {
            return 4;
        }
        INVOKE();
        EACH_OUTPUT(WRITE)
    }
}
