/* SPDX-License-Identifier: Apache-2.0 */
/* helper.c - one thread and two doorbells. */
#include "harness/world/helper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/wait.h"

struct helper {
    pthread_t id;
    void (*fn)(void *arg);
    void *arg;
    struct doorbell begin, end;
    _Atomic bool closing;
    uint32_t n_starts; /* the caller's, and so is waited_ns */
    uint64_t waited_ns;
};

static void *helper_main(void *arg)
{
    struct helper *h = arg;

    for (uint32_t seen = 0;; seen++) {
        while (!doorbell_wait(&h->begin, seen, false, UINT64_MAX / 2))
            continue;
        if (atomic_load(&h->closing))
            return NULL;
        h->fn(h->arg);
        doorbell_ring(&h->end);
    }
}

enum rc helper_open(struct helper **out, void (*fn)(void *arg), void *arg)
{
    struct helper *h = calloc(1, sizeof *h);
    enum rc rc = RC_OK;

    if (h == NULL)
        FAIL(RC_NOMEM, "no memory for a helper thread");
    h->fn = fn;
    h->arg = arg;
    const int error = pthread_create(&h->id, NULL, helper_main, h);
    if (error != 0)
        FAIL(RC_NOMEM, "cannot start a helper thread: %s", strerror(error));
    *out = h;
    h = NULL;
out:
    free(h);
    return rc;
}

void helper_wait(struct helper *h)
{
    if (doorbell_seen(&h->end) == h->n_starts)
        return;
    const uint64_t started_ns = wait_clock_ns();
    /* end is rung once per start: until as often as it was started (H4). */
    for (uint32_t seen = doorbell_seen(&h->end); seen != h->n_starts; seen = doorbell_seen(&h->end))
        (void)doorbell_wait(&h->end, seen, false, UINT64_MAX / 2);
    h->waited_ns += wait_clock_ns() - started_ns;
}

uint64_t helper_waited_ns(const struct helper *h)
{
    return h->waited_ns;
}

void helper_start(struct helper *h)
{
    helper_wait(h);
    h->n_starts++;
    doorbell_ring(&h->begin);
}

void helper_close(struct helper **out)
{
    struct helper *h = *out;

    *out = NULL;
    if (h == NULL)
        return;
    helper_wait(h);
    atomic_store(&h->closing, true);
    doorbell_ring(&h->begin);
    pthread_join(h->id, NULL); /* can't fail: started, joined once */
    free(h);
}
