/* SPDX-License-Identifier: Apache-2.0 */
/* stop_stack.c - see stop_stack.h. Pages of the kernel's: of the heap that a handler is to leave alone it needs
 * nothing. */
#include "harness/world/stop_stack.h"

#include <stddef.h>
#include <sys/mman.h>

void stop_stack_init(struct stop_stack *out)
{
    void *memory = mmap(NULL, STOP_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *out = (struct stop_stack){ .memory = memory != MAP_FAILED ? memory : NULL };
}

void stop_stack_open(struct stop_stack *s)
{
    const stack_t stack = { .ss_sp = s->memory, .ss_size = STOP_STACK_BYTES };

    s->is_open = s->memory && sigaltstack(&stack, &s->before) == 0;
}

void stop_stack_close(void *stack)
{
    struct stop_stack *s = stack;

    if (s->is_open)
        (void)sigaltstack(&s->before, NULL);
    if (s->memory)
        (void)munmap(s->memory, STOP_STACK_BYTES);
    *s = (struct stop_stack){ .memory = NULL };
}
