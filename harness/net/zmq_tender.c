/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_tender.c - a thread and a lock; the contract is in zmq_tender.h.
 *
 * Sockets of ZeroMQ may go from one thread to another with a full fence between, which the lock is. The thread looks at
 * times of its own, as nobody may wait for events of a socket that another thread reads.
 */
#include "harness/net/zmq_tender.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/zmq_outbox.h"
#include "harness/world/wait.h"

#define TEND_NS UINT64_C(50000000)

struct zmq_tender {
    pthread_t id;
    pthread_mutex_t lock;
    struct outbox *outbox;
    struct doorbell bell;
    _Atomic bool is_over;
};

static void *tender_main(void *arg)
{
    struct zmq_tender *t = arg;

    for (;;) {
        const uint32_t seen = doorbell_seen(&t->bell);
        if (atomic_load(&t->is_over))
            return NULL;
        (void)doorbell_wait(&t->bell, seen, false, TEND_NS);
        zmq_tender_lock(t);
        (void)!outbox_tend(t->outbox); /* where it fails, the rank's own next one does, too */
        zmq_tender_unlock(t);
    }
}

enum rc zmq_tender_open(struct zmq_tender **out, struct outbox *o)
{
    struct zmq_tender *t = calloc(1, sizeof *t);

    if (!t)
        return rc_raise(RC_NOMEM, "transport zmq: no memory for a thread");
    t->outbox = o;
    (void)pthread_mutex_init(&t->lock, NULL); /* can't fail: of the default kind */
    const int error = pthread_create(&t->id, NULL, tender_main, t);
    if (error != 0) {
        (void)pthread_mutex_destroy(&t->lock);
        free(t);
        return rc_raise(RC_NOMEM, "transport zmq: cannot start a thread: %s", strerror(error));
    }
    *out = t;
    return RC_OK;
}

void zmq_tender_lock(struct zmq_tender *t)
{
    if (t)
        (void)pthread_mutex_lock(&t->lock); /* can't fail: never taken twice by one thread */
}

void zmq_tender_unlock(struct zmq_tender *t)
{
    if (t)
        (void)pthread_mutex_unlock(&t->lock);
}

void zmq_tender_close(struct zmq_tender **tp)
{
    struct zmq_tender *t = tp ? *tp : NULL;

    if (!t)
        return;
    *tp = NULL;
    atomic_store(&t->is_over, true);
    doorbell_ring(&t->bell);
    (void)pthread_join(t->id, NULL); /* can't fail: started, joined once */
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}
