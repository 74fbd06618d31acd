/* SPDX-License-Identifier: Apache-2.0 */
/* transport_cause_test.c - net.T6: what is told of a connection that ends before its rank is known to have failed. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

#define CLOSED "rank 1 closed its end"
#define LONG_NS UINT64_C(3600000000000) /* nobody who works is silent for so long */
#define SHORT_NS UINT64_C(100000000)    /* what rank 0 believes: it counts its looks, not the time */

/* Rank 1 dies when rank 0 has looked this often what became of it. */
enum { N_LOOKS = 3 };

enum fate { ENDS_WELL, DIES, DIES_WHEN_TOLD, LIVES_UNTIL_TOLD };

struct drill {
    enum fate fate; /* of rank 1 */
    bool fails_together;
    char told[RC_MESSAGE_BYTES]; /* to rank 0 */
    enum rc first, second;       /* what its sends return */
    int n_looks;                 /* in the first one */
};

static atomic_bool is_told; /* rank 0 has its two errors */
static atomic_bool may_die; /* rank 0 is in its send, and has looked N_LOOKS times */

static struct world_ops watched; /* those of world_threads, with look() */
static int n_looks;              /* of rank 0, since its connection ended */
static bool is_to_die;           /* rank 1 */

/* world_check() of rank 0. In a scene where rank 1 dies it is lost behind N_LOOKS looks. */
static enum rc look(struct world *w)
{
    if (n_looks++ == N_LOOKS)
        atomic_store(&may_die, true);
    while (is_to_die && n_looks > N_LOOKS && world_threads.check(w) == RC_OK && !world_is_lost(w, 1))
        world_pause(w, 1000000);
    return world_threads.check(w);
}

static enum rc send_over_closed(struct transport *t, struct xfer *x)
{
    (void)t;
    n_looks = 0;
    return rc_raise(RC_PEER, "rank %d closed its end", x->peer);
}

static const struct transport_ops closed = { .module.name = "closed", .post_send = send_over_closed };

static enum rc body(struct world *w, void *arg)
{
    struct drill *drill = arg;
    struct transport t = { .ops = &closed, .world = w, .fails_together = drill->fails_together };
    unsigned char byte = 0;
    struct xfer x = { .ptr = &byte, .n_bytes = 1, .peer = 1, .tag = 1 };

    if (w->rank == 1) {
        while (drill->fate == DIES && !atomic_load(&may_die))
            w->ops->pause(w, 1000000); /* without a sign of life */
        while (drill->fate >= DIES_WHEN_TOLD && !atomic_load(&is_told))
            world_pause(w, 1000000);
        if (drill->fate == DIES || drill->fate == DIES_WHEN_TOLD)
            world_die(w);
        return RC_OK;
    }
    w->ops = &watched;
    if (drill->fate == ENDS_WELL)
        w->peers->abort_ns = SHORT_NS;
    drill->first = transport_send(&t, &x);
    drill->n_looks = n_looks;
    snprintf(drill->told, sizeof drill->told, "%s", rc_message());
    drill->second = transport_send(&t, &x);
    atomic_store(&is_told, true);
    free(t.peer_error);
    return RC_OK;
}

static struct drill run_in(unsigned world_caps, enum fate fate, uint64_t abort_ns, enum on_loss on_loss,
                           bool fails_together)
{
    struct drill drill = { .fate = fate, .fails_together = fails_together };
    const struct world_opts opts = { .stall = { .warn_ns = abort_ns / 2, .abort_ns = abort_ns }, .on_loss = on_loss };

    const bool dies = drill.fate == DIES || drill.fate == DIES_WHEN_TOLD;

    atomic_store(&is_told, false);
    atomic_store(&may_die, false);
    n_looks = 0;
    is_to_die = fate == DIES;
    watched = world_threads;
    watched.module.caps |= world_caps;
    watched.check = look;
    const enum rc rc = world_run(&world_threads, &opts, 2, body, &drill);
    assert_int_equal(rc, dies && on_loss == ON_LOSS_ABORT ? RC_PEER : RC_OK);
    assert_int_equal(drill.first, RC_PEER);
    assert_int_equal(drill.second, RC_PEER);
    return drill;
}

static struct drill run(enum fate fate, uint64_t abort_ns, enum on_loss on_loss, bool fails_together)
{
    return run_in(0, fate, abort_ns, on_loss, fails_together);
}

/* Regression: the error did not name the rank that failed. */
UNIT_TEST(a_rank_that_dies_is_named)
{
    for (int together = 0; together <= 1; together++) {
        struct drill d = run(DIES, LONG_NS, ON_LOSS_ABORT, together);
        assert_in_range(d.n_looks, N_LOOKS + 1, 1000);
        assert_null(strstr(d.told, "closed"));
        assert_string_equal(d.told, "rank 1 failed: ended before its work was done");
        d = run(DIES, LONG_NS, ON_LOSS_REPORT, together);
        assert_in_range(d.n_looks, N_LOOKS + 1, 1000);
        assert_string_equal(d.told, "rank 1 was lost: ended before its work was done");
    }
}

UNIT_TEST(of_a_rank_that_lives_the_connection_is_told)
{
    assert_string_equal(run(ENDS_WELL, LONG_NS, ON_LOSS_ABORT, false).told, CLOSED);
    assert_string_equal(run(ENDS_WELL, LONG_NS, ON_LOSS_ABORT, true).told, CLOSED);
    assert_string_equal(run(ENDS_WELL, LONG_NS, ON_LOSS_REPORT, false).told, CLOSED);
}

/* Within the time limit of this test, of which the run's limit of silence is many times as much.
 * Regression: the error came too late to name the lost connection. */
UNIT_TEST(a_rank_with_signs_of_life_is_not_waited_for)
{
    assert_string_equal(run(LIVES_UNTIL_TOLD, LONG_NS, ON_LOSS_ABORT, false).told, CLOSED);
}

/* A wait would take thousands of looks. */
UNIT_TEST(where_nobody_watches_nobody_waits)
{
    const struct drill d = run(DIES_WHEN_TOLD, 0, ON_LOSS_ABORT, false);

    assert_string_equal(d.told, CLOSED);
    assert_in_range(d.n_looks, 1, N_LOOKS);
}

/* ... but for a world that notices the end of a process all the same.
 * Regression: a library's job told of the connection or of the rank, whichever came first. */
UNIT_TEST(a_world_that_sees_ends_names_who_died)
{
    for (int together = 0; together <= 1; together++) {
        const struct drill d = run_in(WORLD_SEES_ENDS, DIES, 0, ON_LOSS_ABORT, together);
        assert_in_range(d.n_looks, N_LOOKS + 1, 1000);
        assert_string_equal(d.told, "rank 1 failed: ended before its work was done");
    }
    assert_string_equal(run_in(WORLD_SEES_ENDS, LIVES_UNTIL_TOLD, 0, ON_LOSS_ABORT, false).told, CLOSED);
}

UNIT_MAIN("transport_cause")
