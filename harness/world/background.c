/* SPDX-License-Identifier: Apache-2.0 */
/* background.c - one thread and two doorbells. */
#include "harness/world/background.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/stop.h"
#include "harness/world/wait.h"

struct background {
    pthread_t id;
    void (*fn)(void *arg);
    void *arg;
    struct doorbell begin, end;
    _Atomic bool closing;
    void (*tick)(void *arg); /* NULL: none */
    void *tick_arg;
    uint32_t n_starts; /* used by the caller only */
    struct stop_stack stack;
};

static void *background_main(void *arg)
{
    struct background *b = arg;

    stop_stack_open(&b->stack);
    for (uint32_t seen = 0;; seen++) {
        while (!doorbell_wait(&b->begin, seen, false, UINT64_MAX / 2))
            continue;
        if (atomic_load(&b->closing))
            break;
        b->fn(b->arg);
        doorbell_ring(&b->end);
    }
    stop_stack_close(&b->stack);
    return NULL;
}

enum rc background_open(struct background **out, void (*fn)(void *arg), void *arg)
{
    struct background *b = calloc(1, sizeof *b);
    enum rc rc = RC_OK;

    if (b == NULL)
        FAIL(RC_NOMEM, "no memory for a background thread");
    b->fn = fn;
    b->arg = arg;
    stop_stack_init(&b->stack); /* world.B3 */
    const int error = pthread_create(&b->id, NULL, background_main, b);
    if (error != 0)
        stop_stack_close(&b->stack);
    if (error != 0)
        FAIL(RC_NOMEM, "cannot start a background thread: %s", strerror(error));
    *out = b;
    b = NULL;
out:
    free(b);
    return rc;
}

void background_set_tick(struct background *b, void (*tick)(void *arg), void *arg)
{
    b->tick = tick;
    b->tick_arg = arg;
}

void background_wait(struct background *b)
{
    if (doorbell_seen(&b->end) == b->n_starts)
        return;
    /* world.B1: `end` is rung once per run, so all runs are over when it was rung n_starts times. */
    for (uint32_t seen = doorbell_seen(&b->end); seen != b->n_starts; seen = doorbell_seen(&b->end)) {
        if (b->tick)
            b->tick(b->tick_arg);
        (void)doorbell_wait(&b->end, seen, false, b->tick ? WAIT_SLICE_NS : UINT64_MAX / 2);
    }
}

void background_start(struct background *b)
{
    background_wait(b);
    b->n_starts++;
    doorbell_ring(&b->begin);
}

void background_close(struct background **out)
{
    struct background *b = *out;

    *out = NULL;
    if (b == NULL)
        return;
    background_wait(b);
    atomic_store(&b->closing, true);
    doorbell_ring(&b->begin);
    pthread_join(b->id, NULL); /* can't fail: started, joined once */
    free(b);
}
