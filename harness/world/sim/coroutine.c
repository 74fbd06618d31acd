/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine.c - functions that each have a separate stack; see coroutine.h. They are contexts of the C library,
 * or threads of which one runs at a time.
 */
#include "harness/world/sim/coroutine.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if GRADMARK_SIM_THREADS

struct coroutine {
    void (*fn)(void *arg);
    void *arg;
    bool has_thread; /* of its own */
    pthread_t thread;
    sem_t turn;
    bool is_freed; /* its next turn is for ending */
};

static void await_turn(struct coroutine *c)
{
    while (sem_wait(&c->turn) != 0) /* a signal came */
        ;
    if (c->is_freed)
        pthread_exit(NULL);
}

static void *thread_main(void *arg)
{
    struct coroutine *c = arg;

    await_turn(c);
    c->fn(c->arg);
    return NULL;
}

enum rc coroutine_of_caller(struct coroutine **out)
{
    struct coroutine *c = calloc(1, sizeof *c);

    if (!c)
        return rc_raise(RC_NOMEM, "no memory for a coroutine");
    sem_init(&c->turn, 0, 0);
    *out = c;
    return RC_OK;
}

enum rc coroutine_new(struct coroutine **out, size_t n_stack_bytes, void (*fn)(void *arg), void *arg)
{
    struct coroutine *c;
    pthread_attr_t attr;
    enum rc rc;

    TRY(coroutine_of_caller(&c));
    c->fn = fn;
    c->arg = arg;
    pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, n_stack_bytes);
    c->has_thread = pthread_create(&c->thread, &attr, thread_main, c) == 0;
    pthread_attr_destroy(&attr);
    if (!c->has_thread) {
        coroutine_free(&c);
        return rc_raise(RC_NOMEM, "no memory for a stack of %zu bytes", n_stack_bytes);
    }
    *out = c;
out:
    return rc;
}

void coroutine_switch(struct coroutine *self, struct coroutine *to)
{
    sem_post(&to->turn);
    await_turn(self);
}

void coroutine_end(struct coroutine *self, struct coroutine *to)
{
    (void)self;
    sem_post(&to->turn);
    pthread_exit(NULL);
}

void coroutine_free(struct coroutine **cp)
{
    struct coroutine *c = *cp;

    *cp = NULL;
    if (!c)
        return;
    if (c->has_thread) {
        c->is_freed = true;
        sem_post(&c->turn);
        pthread_join(c->thread, NULL);
    }
    sem_destroy(&c->turn);
    free(c);
}

#else

struct coroutine {
    ucontext_t context;
    void (*fn)(void *arg);
    void *arg;
    char *stack; /* NULL: the caller's own */
    size_t n_stack_bytes;
    struct rc_record error; /* its last one; the caller's is that of its thread */
};

/* makecontext() passes numbers of type int alone: two are a pointer. */
static void context_main(unsigned int high, unsigned int low)
{
    const struct coroutine *c = (const struct coroutine *)(uintptr_t)((uint64_t)high << 32 | low); // NOLINT

    c->fn(c->arg);
    abort(); /* it must not return */
}

enum rc coroutine_of_caller(struct coroutine **out)
{
    struct coroutine *c = calloc(1, sizeof *c);

    if (!c)
        return rc_raise(RC_NOMEM, "no memory for a coroutine");
    *out = c;
    return RC_OK;
}

/* Have c's context begin with context_main(), on the stack of n_bytes at `bottom`. */
static void begin_on(struct coroutine *c, char *bottom, size_t n_bytes)
{
    const uint64_t number = (uintptr_t)c;

    (void)getcontext(&c->context); /* fails only on an address that is none */
    c->context.uc_stack.ss_sp = bottom;
    c->context.uc_stack.ss_size = n_bytes;
    c->context.uc_link = NULL;
    makecontext(&c->context, (void (*)(void))context_main, 2, (unsigned int)(number >> 32), (unsigned int)number);
}

enum rc coroutine_new(struct coroutine **out, size_t n_stack_bytes, void (*fn)(void *arg), void *arg)
{
    const size_t n_page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct coroutine *c = NULL;
    enum rc rc;

    TRY(coroutine_of_caller(&c));
    c->fn = fn;
    c->arg = arg;
    c->n_stack_bytes = n_stack_bytes + n_page_bytes;
    c->stack = mmap(NULL, c->n_stack_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (c->stack == MAP_FAILED)
        c->stack = NULL;
    /* The lowest page stays shut: a stack that grows too far ends the process, and spoils nothing. */
    if (!c->stack || mprotect(c->stack, n_page_bytes, PROT_NONE) != 0)
        FAIL(RC_NOMEM, "no memory for a stack of %zu bytes: %s", n_stack_bytes, strerror(errno));
    begin_on(c, c->stack + n_page_bytes, n_stack_bytes);
    *out = c;
    c = NULL;
out:
    coroutine_free(&c);
    return rc;
}

static void keep_errors_of(struct coroutine *c)
{
    rc_keep_in(c->stack ? &c->error : NULL);
}

void coroutine_switch(struct coroutine *self, struct coroutine *to)
{
    keep_errors_of(to);
    (void)swapcontext(&self->context, &to->context);
}

void coroutine_end(struct coroutine *self, struct coroutine *to)
{
    (void)self;
    keep_errors_of(to);
    (void)setcontext(&to->context);
    abort(); /* it does not return */
}

void coroutine_free(struct coroutine **cp)
{
    struct coroutine *c = *cp;

    *cp = NULL;
    if (c && c->stack)
        munmap(c->stack, c->n_stack_bytes);
    free(c);
}

#endif
