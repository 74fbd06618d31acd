/* SPDX-License-Identifier: Apache-2.0 */
/* transport_cause_test.c - T6: what is told of a connection that ends before its rank is known to have failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

#define CLOSED "rank 1 closed its end"

struct drill {
    uint64_t dies_after_ns; /* rank 1; 0: it ends well */
    uint64_t lives_ns;      /* so long it gives signs of life then */
    bool fails_together;
    char told[RC_MESSAGE_BYTES]; /* to rank 0 */
    enum rc first, second;       /* what its sends return */
};

static enum rc send_over_closed(struct transport *t, struct xfer *x)
{
    (void)t;
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
        if (drill->dies_after_ns > 0) {
            world_pause(w, drill->dies_after_ns);
            world_die(w);
        }
        world_pause(w, drill->lives_ns);
        return RC_OK;
    }
    drill->first = transport_send(&t, &x);
    snprintf(drill->told, sizeof drill->told, "%s", rc_message());
    drill->second = transport_send(&t, &x);
    free(t.peer_error);
    return RC_OK;
}

static struct drill run_drill(struct drill drill, uint64_t abort_ns, enum on_loss on_loss)
{
    const struct world_opts opts = { .stall = { .warn_ns = abort_ns / 2, .abort_ns = abort_ns }, .on_loss = on_loss };

    const enum rc rc = world_run(&world_threads, &opts, 2, body, &drill);
    assert_int_equal(rc, drill.dies_after_ns > 0 && on_loss == ON_LOSS_ABORT ? RC_PEER : RC_OK);
    assert_int_equal(drill.first, RC_PEER);
    assert_int_equal(drill.second, RC_PEER);
    return drill;
}

static struct drill run(uint64_t dies_after_ns, uint64_t abort_ns, enum on_loss on_loss, bool fails_together)
{
    const struct drill drill = { .dies_after_ns = dies_after_ns, .fails_together = fails_together };

    return run_drill(drill, abort_ns, on_loss);
}

/* Regression: the error did not name the rank that failed. */
static void a_rank_that_dies_is_named(void **state)
{
    (void)state;
    for (int together = 0; together <= 1; together++) {
        struct drill d = run(200000000, 1000000000, ON_LOSS_ABORT, together);
        assert_null(strstr(d.told, "closed"));
        assert_string_equal(d.told, "rank 1 failed: ended before its work was done");
        d = run(200000000, 1000000000, ON_LOSS_REPORT, together);
        assert_string_equal(d.told, "rank 1 was lost: ended before its work was done");
    }
}

static void of_a_rank_that_lives_the_connection_is_told(void **state)
{
    (void)state;
    assert_string_equal(run(0, 100000000, ON_LOSS_ABORT, false).told, CLOSED);
    assert_string_equal(run(0, 100000000, ON_LOSS_ABORT, true).told, CLOSED);
    assert_string_equal(run(0, 100000000, ON_LOSS_REPORT, false).told, CLOSED);
}

/* Within the time limit of this test, of which the run's limit of silence is ten times as much.
 * Regression: the error came too late to name the lost connection. */
static void a_rank_with_signs_of_life_is_not_waited_for(void **state)
{
    (void)state;
    assert_string_equal(run_drill((struct drill){ .lives_ns = 1500000000 }, 600000000000, ON_LOSS_ABORT).told, CLOSED);
}

static void where_nobody_watches_nobody_waits(void **state)
{
    (void)state;
    assert_string_equal(run(300000000, 0, ON_LOSS_ABORT, false).told, CLOSED);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(a_rank_that_dies_is_named),
        cmocka_unit_test(of_a_rank_that_lives_the_connection_is_told),
        cmocka_unit_test(a_rank_with_signs_of_life_is_not_waited_for),
        cmocka_unit_test(where_nobody_watches_nobody_waits),
    };
    return cmocka_run_group_tests(test, NULL, NULL);
}
