/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine.h - functions that each have a separate stack and last error (rc.h). One runs at a time, and itself chooses
 * the next.
 *
 * Private to harness/world/sim. Coroutines of one run stay in one thread. With GRADMARK_SIM_THREADS each has a thread,
 * since sanitizers can follow threads, but not stacks that a program makes.
 */
#ifndef HARNESS_WORLD_SIM_COROUTINE_H
#define HARNESS_WORLD_SIM_COROUTINE_H

#include <stddef.h>

#include "harness/base/rc.h"

#ifndef GRADMARK_SIM_THREADS
#define GRADMARK_SIM_THREADS 0
#endif

struct coroutine;

/* fn(arg) on a stack of n_stack_bytes. The first coroutine_switch() to it begins it; fn never returns, but ends by
 * coroutine_end(). RC_NOMEM. */
enum rc coroutine_new(struct coroutine **out, size_t n_stack_bytes, void (*fn)(void *arg), void *arg) MUST_CHECK;
/* The running code as a coroutine, on its present stack, so that one can switch back to it. RC_NOMEM. */
enum rc coroutine_of_caller(struct coroutine **out) MUST_CHECK;
/* Runs `to` until another coroutine switches back to self; self is the running coroutine. */
void coroutine_switch(struct coroutine *self, struct coroutine *to);
/* The last call of self: runs `to`. */
_Noreturn void coroutine_end(struct coroutine *self, struct coroutine *to);
/* Frees *c, which is not running and need not have ended, and sets it to NULL. NULL is allowed. */
void coroutine_free(struct coroutine **c);

#endif
