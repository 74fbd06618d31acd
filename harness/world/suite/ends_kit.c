/* SPDX-License-Identifier: Apache-2.0 */
/* ends_kit.c - see ends_kit.h. */
#include "harness/world/suite/ends_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/world/task.h"

#define LONG_NS UINT64_C(20000000000)

enum meeting { BARRIER, ALLGATHER, GATHER, BROADCAST, SPLIT, CHECK, N_MEETINGS };
enum end { RETURNS, ABORTS, DIES, RETURNS_WORDLESS, ABORTS_WORDLESS, TASK_DIES, LEAVES_TASKS, STOPS_TASKS };

struct fault {
    enum meeting meeting;
    enum end end; /* of rank 1 */
    atomic_int n_told, n_tasks_ended;
};

static enum rc meet(struct world *w, enum meeting meeting)
{
    int all[8], mine = w->rank;
    struct world *part = NULL;
    enum rc rc = RC_OK;

    switch (meeting) {
    case BARRIER:
        return world_barrier(w);
    case ALLGATHER:
        return world_allgather(w, &mine, all, sizeof mine);
    case GATHER:
        return world_gather(w, &mine, all, sizeof mine);
    case BROADCAST: /* rank 0 may end it before rank 1 fails */
        rc = world_broadcast(w, all, sizeof all);
        return rc == RC_OK ? world_barrier(w) : rc;
    case SPLIT:
        rc = world_split(w, 0, 0, &part);
        world_split_close(&part);
        return rc;
    default:
        while (rc == RC_OK) {
            rc = world_check(w);
            world_pause(w, 1000000);
        }
        return rc;
    }
}

static void note(struct fault *fault, enum rc rc)
{
    if (rc == RC_PEER && strncmp(rc_message(), "rank 1 failed: ", 15) == 0)
        atomic_fetch_add(&fault->n_told, 1);
}

static enum rc end_rank(struct world *w, enum end end)
{
    const bool is_wordless = end == RETURNS_WORDLESS || end == ABORTS_WORDLESS;

    if (end == DIES)
        world_die(w);
    const enum rc rc = is_wordless ? RC_IO : rc_raise(RC_IO, "the disk is full");
    if (end == ABORTS || end == ABORTS_WORDLESS) {
        world_abort(w, rc);
        world_abort(w, rc_raise(RC_DEVICE, "later")); /* the first stays */
    }
    return rc;
}

static enum rc fault_body(struct world *w, void *arg)
{
    struct fault *fault = arg;
    enum rc rc;

    TRY(world_barrier(w));
    if (w->rank == 1)
        return end_rank(w, fault->end);
    rc = meet(w, fault->meeting);
    note(fault, rc);
out:
    return rc;
}

void ends_are_told(const struct world_ops *world, const struct world_opts *opts)
{
    static const struct {
        enum rc rc;
        const char *message;
    } of[] = { [RETURNS] = { RC_IO, "rank 1: the disk is full" },
               [ABORTS] = { RC_IO, "rank 1: the disk is full" },
               [DIES] = { RC_PEER, "rank 1: ended before its work was done" },
               [RETURNS_WORDLESS] = { RC_IO, "rank 1: file or socket error" },
               [ABORTS_WORDLESS] = { RC_IO, "rank 1: file or socket error" } };

    for (int end = RETURNS; end <= ABORTS_WORDLESS; end++)
        for (int meeting = BARRIER; meeting < N_MEETINGS; meeting++) {
            struct fault fault = { .meeting = (enum meeting)meeting, .end = (enum end)end };
            assert_int_equal(world_run(world, opts, 4, fault_body, &fault), of[end].rc);
            assert_string_equal(rc_message(), of[end].message);
            assert_int_equal(atomic_load(&fault.n_told), 3);
        }
}

static enum rc wait_long(struct world *w, void *arg)
{
    struct fault *fault = arg;
    struct event *e = NULL;
    enum rc rc;

    TRY(w->ops->tasks->event_open(&e, w, "never"));
    rc = event_wait(e, LONG_NS);
    event_close(&e);
    atomic_fetch_add(&fault->n_tasks_ended, rc == RC_PEER);
out:
    return rc;
}

static enum rc die(struct world *w, void *arg)
{
    (void)arg;
    world_die(w);
    return RC_OK;
}

/* Each of the others waits in a task, and its main task for that task. */
static enum rc task_fault_body(struct world *w, void *arg)
{
    struct fault *fault = arg;
    struct task *t = NULL;
    enum rc rc;

    const bool task_dies = w->rank == 1 && fault->end == TASK_DIES;
    const struct task_opts opts = { .name = "helper", .fn = task_dies ? die : wait_long, .arg = fault };
    if (!task_dies)
        TRY(world_spawn(&t, w, &opts));
    TRY(world_barrier(w));
    if (task_dies)
        TRY(world_spawn(&t, w, &opts));
    if (w->rank == 1 && fault->end == STOPS_TASKS)
        world_stop_tasks(w, "the disk is full");
    else if (w->rank == 1 && fault->end != TASK_DIES)
        return end_rank(w, fault->end);
    rc = world_join(&t);
    if (w->rank != 1)
        note(fault, rc);
out:
    return rc;
}

void ends_are_told_to_tasks(const struct world_ops *world, const struct world_opts *opts)
{
    static const struct {
        enum end end;
        int n_tasks_ended;
        const char *message;
    } how[] = { { STOPS_TASKS, 3, "rank 1: the disk is full" },
                { DIES, 3, "rank 1: ended before its work was done" },
                { TASK_DIES, 2, "rank 1: task helper ended before its work was done" },
                { LEAVES_TASKS, 3, "rank 1: the disk is full" } };

    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct fault fault = { .end = how[i].end };
        assert_int_not_equal(world_run(world, opts, 3, task_fault_body, &fault), RC_OK);
        assert_string_equal(rc_message(), how[i].message);
        assert_int_equal(atomic_load(&fault.n_told), 2);
        assert_int_equal(atomic_load(&fault.n_tasks_ended), how[i].n_tasks_ended);
    }
}
