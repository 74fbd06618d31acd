/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_tasks.c - a transport that goes from the main task of each rank to another task, and back (task.h,
 * K6). */
#include "harness/net/suite/transport_suite_kit.h"
#include "harness/world/task.h"

enum { N_ROUNDS = 5, MESSAGE_BYTES = 20000 };

struct lent { /* the transport, and where the rounds have got to */
    struct suite *s;
    struct transport *t;
    uint32_t n_rounds;
    struct event *go, *done;
};

/* One message around the ring; every rank sends and receives. */
static void exchange_round(struct lent *l)
{
    struct suite *s = l->s;
    const uint32_t key = l->n_rounds++;
    struct guarded out = { 0 }, in = { 0 };

    if (guarded_alloc(s, &out, MESSAGE_BYTES) && guarded_alloc(s, &in, MESSAGE_BYTES)) {
        struct xfer tx = { .ptr = out.ptr, .n_bytes = MESSAGE_BYTES, .peer = suite_next(s, 1), .tag = key };
        struct xfer rx = { .ptr = in.ptr, .n_bytes = MESSAGE_BYTES, .peer = suite_prev(s, 1), .tag = key };
        pattern_fill(out.ptr, MESSAGE_BYTES, s->w->rank, tx.peer, key);
        EXPECT_OK(s, transport_exchange(l->t, &tx, &rx, s->timeout_ms));
        EXPECT(s, pattern_holds(in.ptr, MESSAGE_BYTES, rx.peer, s->w->rank, key));
        EXPECT(s, guarded_whole(&in));
    }
    guarded_free(&in);
    guarded_free(&out);
}

static enum rc communicate(struct world *w, void *arg)
{
    struct lent *l = arg;
    enum rc rc = RC_OK;

    (void)w;
    for (int i = 0; i < N_ROUNDS; i++) {
        TRY(event_wait(l->go, UINT64_C(20000000000)));
        exchange_round(l);
        event_post(l->done);
    }
out:
    return rc;
}

/* Rounds by the main task and by the other in turn, ordered by events, then by the main task again after the join. Not
 * over MPI, which is asked for one thread (MPI_THREAD_FUNNELED). */
void case_tasks(struct suite *s, struct transport *t)
{
    struct lent l = { .s = s, .t = t };
    struct task *task = NULL;

    if (s->w->n_ranks == 1 || (t->ops->module.needs_world & WORLD_HAS_MPI)) {
        transport_close(&t);
        return;
    }
    if (EXPECT_OK(s, event_open(&l.go, s->w, "go")) && EXPECT_OK(s, event_open(&l.done, s->w, "done")) &&
        EXPECT_OK(s, world_spawn(&task, s->w, &(struct task_opts){ .name = "comm", .fn = communicate, .arg = &l }))) {
        for (int i = 0; i < N_ROUNDS; i++) {
            exchange_round(&l);
            event_post(l.go);
            EXPECT_OK(s, event_wait(l.done, UINT64_C(20000000000)));
        }
        EXPECT_OK(s, world_join(&task));
        exchange_round(&l);
        EXPECT(s, l.n_rounds == 2 * N_ROUNDS + 1);
        EXPECT(s, t->moved.msgs_sent == l.n_rounds && t->moved.msgs_recv == l.n_rounds);
    }
    event_close(&l.go);
    event_close(&l.done);
    transport_close(&t);
}
