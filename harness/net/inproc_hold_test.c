/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inproc_hold_test.c - a rank that holds a message and does not go on: its sender's timed wait ends all the same, its
 * transport can be closed, and the message can be released after that (net.T3).
 */
#include <stdatomic.h>

#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;
extern const struct transport_ops transport_inproc;

enum { TIMEOUT_MS = 100, N_PAUSES = 2000 };

#define PAUSE_NS UINT64_C(10000000)

struct hold {
    atomic_bool is_held, is_closed;
    atomic_int n_failures;
};

static void expect(struct hold *hold, bool ok)
{
    atomic_fetch_add(&hold->n_failures, !ok);
}

static void await(struct world *w, const atomic_bool *flag)
{
    for (int i = 0; i < N_PAUSES && !atomic_load(flag); i++)
        world_pause(w, PAUSE_NS);
}

static enum rc hold_message(struct transport **t, struct world *w, struct hold *hold)
{
    struct message m;
    enum rc rc;

    TRY(transport_recv_message(*t, &m, WAIT_FOREVER));
    atomic_store(&hold->is_held, true);
    await(w, &hold->is_closed);
    expect(hold, atomic_load(&hold->is_closed)); /* meanwhile, and not because this rank gave up */
    transport_release(*t, &m);
out:
    transport_close(t);
    return rc;
}

/* A receive, too, ends by its limit, and is not held up by the message that the other rank holds. */
static enum rc send_message(struct transport **t, struct world *w, struct hold *hold)
{
    int value = 5, in = 0;
    struct xfer x = { .ptr = &value, .n_bytes = sizeof value, .peer = 1, .tag = TAG_ANY | 1 };
    struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = 1, .tag = 2 };
    enum rc rc;

    TRY(transport_recv(*t, &rx));
    TRY(transport_send(*t, &x));
    await(w, &hold->is_held);
    expect(hold, transport_wait(*t, &rx, TIMEOUT_MS) == RC_TIMEOUT);
    expect(hold, transport_wait(*t, &x, TIMEOUT_MS) == RC_TIMEOUT);
out:
    transport_close(t);
    atomic_store(&hold->is_closed, true);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_open(&t, &transport_inproc, w));
    rc = w->rank == 0 ? send_message(&t, w, arg) : hold_message(&t, w, arg);
out:
    return rc;
}

/* Regression: the sender waited forever for a rank that hangs. */
UNIT_TEST(a_timed_wait_ends_while_its_message_is_held_T3)
{
    const struct world_opts opts = { .bind_cores = false }; /* nobody watches: the holder is never lost */
    struct hold hold = { 0 };

    assert_int_equal(world_run(&world_threads, &opts, 2, body, &hold), RC_OK);
    assert_int_equal(atomic_load(&hold.n_failures), 0);
}

UNIT_MAIN("inproc_hold")
