/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop_stack.h - where the handlers of stop.h run, in each thread that computes.
 *
 * A matrix product whose code oneDNN has made at run time may keep values further below the stack pointer than the ABI
 * promises it. A handler on the same stack writes over them, and the product then over the heap.
 *
 * Invariants
 *   A1  A handler of stop.h runs on no stack that somebody computes on: that of the thread that called stop_catch(), of
 *       ranks and tasks that are threads (world_threads.c, thread_tasks.c), of a thread pool's and of a background
 *       thread. Threads that only pass messages on have none of these.
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

/* Its memory; without any, handlers run on the thread's own stack. Allocates. */
void stop_stack_init(struct stop_stack *out);
/* From now on handlers that come upon this thread run there. Does not allocate. */
void stop_stack_open(struct stop_stack *s);
/* As before stop_stack_init(); of one that is open by the same thread, before it ends. A struct stop_stack, as
 * pthread_cleanup_push() wants it; again: nothing. */
void stop_stack_close(void *stack);

#endif
