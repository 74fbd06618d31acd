/* SPDX-License-Identifier: Apache-2.0 */
/* loss_threads_test.c - loss_suite in threads, its mutants, and how a run of threads ends that has lost ranks:
 * world.W8. */
#include <stdatomic.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/suite/loss_suite.h"
#include "harness/world/suite/suite_mutants.h"
#include "harness/world/task.h"

extern const struct world_ops world_threads;

#define LONG_NS UINT64_C(60000000000)

static const struct world_opts reports = { .on_loss = ON_LOSS_REPORT };

struct trial {
    struct mutant_ops ops;
    atomic_int n_failures, n_returned;
    _Atomic(const char *) failed_case; /* on the first rank where one failed */
};

static enum rc suite_body(struct world *w, void *arg)
{
    struct trial *trial = arg;
    const struct loss_plan plan = { .hangs = false };
    const char *failed_case = NULL;

    w->ops = &trial->ops.world;
    const int n_failures = loss_suite(w, &plan, &failed_case);
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&trial->failed_case, &none, failed_case);
    atomic_fetch_add(&trial->n_failures, n_failures);
    atomic_fetch_add(&trial->n_returned, 1);
    w->ops = &world_threads;
    return n_failures == 0 ? RC_OK : rc_raise(RC_MISMATCH, "%s", "the suite failed");
}

UNIT_TEST_OF("mutants", suite_catches_mutants)
{
    for (const struct suite_mutant *m = loss_mutants(); m->name; m++) {
        struct trial trial = { .n_failures = 0 };
        print_message("mutant %s\n", m->name);
        suite_mutant_ops(&trial.ops, &world_threads, loss_mutants(), m);
        const enum rc rc = world_run(&world_threads, &reports, LOSS_N_RANKS, suite_body, &trial);
        assert_int_equal(atomic_load(&trial.n_failures) > 0, m->failed_case != NULL);
        assert_int_equal(rc, m->failed_case ? RC_MISMATCH : RC_OK);
        if (m->failed_case)
            assert_string_equal(atomic_load(&trial.failed_case), m->failed_case);
        else
            assert_int_equal(atomic_load(&trial.n_returned), 2);
    }
}

enum role { RETURNS, FAILS, ABORTS, DIES };

struct play { /* rank 1 dies; what the others do then */
    enum role role[4];
    atomic_int n_told, n_ended;
};

static enum rc play_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct peer_event e = { .peer = -1 };
    struct world *left = NULL;
    enum rc rc = RC_OK;

    if (w->rank == 1)
        world_die(w);
    rc = world_barrier(w);
    if (rc == RC_PEER && strcmp(rc_message(), "rank 1 was lost: ended before its work was done") == 0)
        atomic_fetch_add(&play->n_told, 1);
    TRY(world_peer_next(w, &e)); /* who is told of the loss finds it */
    atomic_fetch_add(&play->n_told, e.peer == 1 && e.state == PEER_LOST && e.epoch == 0);
    TRY(world_survivors(w, &left));
    TRY(world_barrier(left));
    if (play->role[w->rank] == DIES)
        world_die(w);
    rc = play->role[w->rank] == RETURNS ? RC_OK : rc_raise(RC_IO, "the disk is full");
    if (play->role[w->rank] == ABORTS)
        world_abort(w, rc);
    if (rc == RC_OK && play->role[2] != RETURNS) { /* what rank 2 does ends this, too */
        rc = world_barrier(left);
        atomic_fetch_add(&play->n_ended, rc == RC_PEER && strstr(rc_message(), "rank 2 "));
        rc = play->role[2] == DIES ? RC_OK : rc;
    }
out:
    world_split_close(&left);
    return rc;
}

/* The run is as good as its survivors. */
UNIT_TEST(a_run_goes_on_without_the_lost_W8)
{
    struct play ok = { .role = { RETURNS } }, two = { .role = { [2] = DIES } };

    assert_int_equal(world_run(&world_threads, &reports, 4, play_body, &ok), RC_OK);
    assert_int_equal(atomic_load(&ok.n_told), 6);
    assert_int_equal(world_run(&world_threads, &reports, 4, play_body, &two), RC_OK);
    assert_int_equal(atomic_load(&two.n_told), 6);
    assert_int_equal(atomic_load(&two.n_ended), 2);
}

/* world.W4 holds on: of survivors, and of rank 0. */
UNIT_TEST(a_failure_is_one_after_a_loss_W8)
{
    for (int role = FAILS; role <= ABORTS; role++) {
        struct play play = { .role = { [2] = (enum role)role } };
        assert_int_equal(world_run(&world_threads, &reports, 4, play_body, &play), RC_IO);
        assert_string_equal(rc_message(), "rank 2: the disk is full");
        assert_int_equal(atomic_load(&play.n_told), 6);
        assert_int_equal(atomic_load(&play.n_ended), 2);
    }
}

static enum rc lose_rank_0(struct world *w, void *arg)
{
    if (w->rank == 0)
        world_die(w);
    const enum rc rc = world_barrier(w);

    if (rc == RC_PEER && strcmp(rc_message(), "rank 0 failed: ended before its work was done") == 0)
        atomic_fetch_add((atomic_int *)arg, 1);
    return RC_OK;
}

UNIT_TEST(the_loss_of_rank_0_is_a_failure_W8)
{
    atomic_int n_told = 0;

    assert_int_equal(world_run(&world_threads, &reports, 3, lose_rank_0, &n_told), RC_PEER);
    assert_string_equal(rc_message(), "rank 0: ended before its work was done");
    assert_int_equal(atomic_load(&n_told), 2);
}

static enum rc refused_body(struct world *w, void *arg)
{
    struct world *left = w;

    atomic_fetch_add((atomic_int *)arg, world_survivors(w, &left) == RC_INVAL && !left && world_lost_rank(w) == -1 &&
                                            world_check_losses(w) == RC_OK && !world_is_lost(w, 0));
    return RC_OK;
}

UNIT_TEST(without_the_policy_there_are_no_survivors_W8)
{
    const struct world_opts aborts = { .on_loss = ON_LOSS_ABORT };
    atomic_int n_refused = 0;

    assert_int_equal(world_run(&world_threads, &aborts, 3, refused_body, &n_refused), RC_OK);
    assert_int_equal(atomic_load(&n_refused), 3);
}

static enum rc fail_when_told(struct world *w, void *arg)
{
    enum rc rc;

    TRY(event_wait(arg, LONG_NS));
    rc = rc_raise(RC_IO, "the disk is full");
out:
    (void)w;
    return rc;
}

struct again {
    atomic_bool has_given_up;
    atomic_int n_right;
};

/* A task of rank 0 fails while rank 0 waits for others. It gives up and comes again; rank 2 comes once it has given up.
 */
static enum rc come_again_body(struct world *w, void *arg)
{
    struct again *again = arg;
    struct event *go = NULL;
    struct task *t = NULL;
    int all[3] = { 0 }, mine = 10 + w->rank;
    enum rc rc;

    if (w->rank == 0) {
        TRY(event_open(&go, w, "go"));
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "disk", .fn = fail_when_told, .arg = go }));
        event_post(go);
        atomic_fetch_add(&again->n_right, world_barrier(w) == RC_PEER);
        atomic_fetch_add(&again->n_right, world_join(&t) == RC_IO);
        event_close(&go);
        atomic_store(&again->has_given_up, true);
    }
    while (w->rank == 2 && !atomic_load(&again->has_given_up))
        world_pause(w, 1000000);
    TRY(world_allgather(w, &mine, all, sizeof mine));
    atomic_fetch_add(&again->n_right, all[0] == 10 && all[1] == 11 && all[2] == 12);
out:
    return rc;
}

UNIT_TEST(who_gives_up_is_not_counted)
{
    struct again again = { .n_right = 0 };

    assert_int_equal(world_run(&world_threads, &(struct world_opts){ 0 }, 3, come_again_body, &again), RC_OK);
    assert_int_equal(atomic_load(&again.n_right), 5);
}

UNIT_MAIN("losses")
