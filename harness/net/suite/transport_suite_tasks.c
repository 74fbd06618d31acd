/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_tasks.c - a transport that goes from the main task of each rank to another task, and back; and two
 * that two tasks use at once (world.K6). */
#include <string.h>

#include "harness/net/suite/transport_suite_kit.h"
#include "harness/world/task.h"

enum { N_ROUNDS = 5, N_ROUNDS_AT_ONCE = 40, MESSAGE_BYTES = 20000 };

struct lent {        /* a transport, and where the rounds have got to */
    struct suite *s; /* of the task that uses it */
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

static enum rc post_one(struct world *w, void *arg)
{
    struct xfer tx = { .ptr = "", .n_bytes = 1, .peer = (w->rank + 1) % w->n_ranks, .tag = 1 };

    return transport_send(arg, &tx);
}

static enum rc look_for_one(struct world *w, void *arg)
{
    struct message m;

    (void)w;
    return transport_recv_message(arg, &m, DO_NOT_WAIT);
}

/* Where the world was not asked to let tasks send, what would break MPI's rules is refused. */
static void expect_refusal(struct suite *s, struct transport *t, rank_main_fn *fn)
{
    struct task *task = NULL;

    if (!EXPECT_OK(s, world_spawn(&task, s->w, &(struct task_opts){ .name = "comm", .fn = fn, .arg = t })))
        return;
    EXPECT(s, world_join(&task) == RC_INVAL);
    EXPECT(s, strstr(rc_message(), "has_tasks"));
}

/* While the other task waits: as a run measures its links once its communicator has begun. */
static void open_beside(struct suite *s)
{
    struct lent beside = { .s = s };

    if (EXPECT_OK(s, transport_open(&beside.t, s->ops, s->w)))
        exchange_round(&beside);
    EXPECT_OK(s, world_barrier(s->w));
    transport_close(&beside.t);
}

/* Rounds by the main task and by the other in turn, ordered by events, then by the main task again after the join. */
void case_tasks(struct suite *s, struct transport *t)
{
    struct lent l = { .s = s, .t = t };
    struct task *task = NULL;

    if (s->w->n_ranks == 1)
        goto out;
    if (!s->w->has_tasks && (t->ops->module.needs_world & WORLD_HAS_MPI)) {
        expect_refusal(s, t, post_one);
        transport_close(&t);
        if (EXPECT_OK(s, transport_open(&t, s->ops, s->w)))
            expect_refusal(s, t, look_for_one);
        goto out;
    }
    if (EXPECT_OK(s, event_open(&l.go, s->w, "go")) && EXPECT_OK(s, event_open(&l.done, s->w, "done")) &&
        EXPECT_OK(s, world_spawn(&task, s->w, &(struct task_opts){ .name = "comm", .fn = communicate, .arg = &l }))) {
        for (int i = 0; i < N_ROUNDS; i++) {
            exchange_round(&l);
            event_post(l.go);
            EXPECT_OK(s, event_wait(l.done, UINT64_C(20000000000)));
            if (i == 0)
                open_beside(s);
        }
        EXPECT_OK(s, world_join(&task));
        exchange_round(&l);
        EXPECT(s, l.n_rounds == 2 * N_ROUNDS + 1);
        EXPECT(s, t->moved.msgs_sent == l.n_rounds && t->moved.msgs_recv == l.n_rounds);
    }
    event_close(&l.go);
    event_close(&l.done);
out:
    transport_close(&t);
}

static enum rc exchange_rounds(struct world *w, void *arg)
{
    struct lent *l = arg;

    (void)w;
    for (int i = 0; i < N_ROUNDS_AT_ONCE && l->s->n_failures == 0; i++)
        exchange_round(l);
    return RC_OK;
}

/* Two tasks, each with a transport of its own, while the main task meets the other ranks. */
void case_two_tasks(struct suite *s, struct transport *t)
{
    struct transport *second = NULL;
    struct suite of[2] = { *s, *s };
    struct lent l[2] = { { .s = &of[0], .t = t }, { .s = &of[1] } };
    struct task *task[2] = { NULL, NULL };

    if (s->w->n_ranks > 1 && s->w->has_tasks && EXPECT_OK(s, transport_open(&second, s->ops, s->w))) {
        l[1].t = second;
        for (int i = 0; i < 2; i++)
            EXPECT_OK(s, world_spawn(&task[i], s->w,
                                     &(struct task_opts){ .name = "comm", .fn = exchange_rounds, .arg = &l[i] }));
        for (int i = 0; i < N_ROUNDS; i++)
            EXPECT_OK(s, world_barrier(s->w));
        for (int i = 0; i < 2; i++) {
            EXPECT_OK(s, world_join(&task[i]));
            s->n_failures += of[i].n_failures;
            EXPECT(s, l[i].n_rounds == N_ROUNDS_AT_ONCE && l[i].t->moved.msgs_recv == N_ROUNDS_AT_ONCE);
        }
    }
    transport_close(&second);
    transport_close(&t);
}
