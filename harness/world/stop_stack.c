/* SPDX-License-Identifier: Apache-2.0 */
/* stop_stack.c - see stop_stack.h. Pages of the kernel's: of the heap that a handler is to leave alone it needs
 * nothing. */
#include "harness/world/stop_stack.h"

#include <stddef.h>
#include <sys/mman.h>

void stop_stack_open(struct stop_stack *out)
{
    void *memory = mmap(NULL, STOP_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = { .ss_sp = memory, .ss_size = STOP_STACK_BYTES };

    *out = (struct stop_stack){ .memory = NULL };
    if (memory == MAP_FAILED)
        return;
    if (sigaltstack(&stack, &out->before) == 0)
        out->memory = memory;
    else
        (void)munmap(memory, STOP_STACK_BYTES);
}

void stop_stack_close(void *stack)
{
    struct stop_stack *s = stack;

    if (!s->memory)
        return;
    (void)sigaltstack(&s->before, NULL);
    (void)munmap(s->memory, STOP_STACK_BYTES);
    s->memory = NULL;
}
