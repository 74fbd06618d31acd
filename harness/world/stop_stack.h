/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop_stack.h - the stacks for the signal handlers of stop.h, in each thread that computes.
 *
 * A matrix product whose code oneDNN has made at run time may keep values further below the stack pointer than the ABI
 * allows. A handler on the same stack overwrites them, and then the product overwrites the heap.
 *
 * Invariants
 *   A1  A handler of stop.h never runs on a stack that is used for computation: that of the thread that called
 *       stop_catch(), of ranks and tasks that are threads (world_threads.c, thread_tasks.c), of the threads of a pool,
 *       and of a background thread. Threads that only pass messages on have no such stack.
 */
#ifndef HARNESS_WORLD_STOP_STACK_H
#define HARNESS_WORLD_STOP_STACK_H

#include <signal.h>
#include <stdbool.h>

enum { STOP_STACK_BYTES = 1 << 16 };

struct stop_stack {
    void *memory; /* NULL: none */
    bool is_open;
    stack_t before;
};

/* Allocates its memory; without memory, handlers run on the thread's own stack. */
void stop_stack_init(struct stop_stack *out);
/* From now on handlers that interrupt this thread run there. Does not allocate. */
void stop_stack_open(struct stop_stack *s);
/* Restores the state before stop_stack_init(); called by the thread that opened it, before it ends. The argument is a
 * struct stop_stack, as pthread_cleanup_push() needs it. A second call does nothing. */
void stop_stack_close(void *stack);

#endif
