/* SPDX-License-Identifier: Apache-2.0 */
/* process_kit.c - see process_kit.h. */
#include "harness/world/suite/process_kit.h"

#include <string.h>

#include "harness/world/suite/suite_kit.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"

#define LONG_NS UINT64_C(20000000000)

static enum rc fill_the_disk(struct world *w, void *arg)
{
    (void)arg;
    world_pause(w, 50000000);
    return rc_raise(RC_IO, "the disk is full");
}

/* world.K4: rank 1 alone comes to a barrier, and then its task fails. */
static enum rc fail_in_a_task(struct world *w)
{
    struct event *never = NULL;
    struct task *bad = NULL;
    enum rc rc;

    if (w->rank == 1) {
        TRY(world_spawn(&bad, w, &(struct task_opts){ .name = "helper", .fn = fill_the_disk }));
        rc = world_barrier(w);
    } else {
        TRY(event_open(&never, w, "never"));
        rc = event_wait(never, LONG_NS);
    }
out:
    event_close(&never);
    return rc;
}

enum rc process_fail(struct world *w, const char *name)
{
    if (strncmp(name, "task_fails", 10) == 0)
        return fail_in_a_task(w);
    if (w->rank == 1 && strcmp(name, "error") == 0)
        return rc_raise(RC_IO, "the disk is full");
    if (w->rank == 1 && strcmp(name, "abort") == 0)
        world_abort(w, rc_raise(RC_IO, "the disk is full"));
    if (w->rank == 1 && strcmp(name, "die") == 0)
        world_die(w);
    if (w->rank == 1 && strcmp(name, "hang") == 0)
        world_hang(w);
    return RC_OK;
}

/* A core each as far as they go, and no two the same. */
static int cores_are_shared_out(struct world *w)
{
    struct core_set set, all[8];
    int n_failures = 0, n_cores;

    EXPECT_OF(w, w->n_ranks == 3);
    cores_thread_set(&set);
    n_cores = cores_in_set(&set);
    EXPECT_OF(w, w->n_own_cores == (w->n_host_cores >= (w->rank < 2 ? 2 : 3)));
    EXPECT_OF(w, w->n_own_cores == 0 || n_cores == 1);
    if (w->n_own_cores == 0)
        memset(&set, 0, sizeof set);
    EXPECT_OF(w, world_allgather(w, &set, all, sizeof set) == RC_OK);
    for (int r = 0; r < w->n_ranks; r++)
        for (int k = 0; r != w->rank && k < CORES_SET_WORDS; k++)
            EXPECT_OF(w, (all[r].word[k] & set.word[k]) == 0);
    return n_failures;
}

/* The server runs on the core of its worker, and owns none. */
static int server_is_beside(struct world *w)
{
    struct core_set set, all[2];
    int n_failures = 0;

    EXPECT_OF(w, w->n_ranks == 2);
    cores_thread_set(&set);
    EXPECT_OF(w, world_allgather(w, &set, all, sizeof set) == RC_OK);
    EXPECT_OF(w, memcmp(&all[0], &all[1], sizeof set) == 0);
    EXPECT_OF(w, cores_in_set(&set) == 1);
    EXPECT_OF(w, w->n_own_cores == (w->rank == 0));
    return n_failures;
}

int process_case(struct world *w, const char *name)
{
    if (strcmp(name, "suite") == 0)
        return world_suite(w, NULL);
    if (strcmp(name, "tasks") == 0)
        return task_suite(w, NULL);
    if (strcmp(name, "bind") == 0)
        return cores_are_shared_out(w);
    return strcmp(name, "beside") == 0 ? server_is_beside(w) : 0;
}

int process_cores_again(const struct core_set *before)
{
    struct core_set now;

    cores_thread_set(&now);
    if (memcmp(&now, before, sizeof now) == 0)
        return 0;
    fputs("behind the run the process has other cores than before\n", stderr);
    return 1;
}
