/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite_mutants.h - operations of worlds, tasks and shares with one bug each, which world_suite, task_suite,
 * share_suite and loss_suite must catch. Test-only; they have mutable globals (world.W2), so no library holds them.
 */
#ifndef HARNESS_WORLD_SUITE_SUITE_MUTANTS_H
#define HARNESS_WORLD_SUITE_SUITE_MUTANTS_H

#include "harness/world/share.h"
#include "harness/world/task.h"
#include "harness/world/world.h"

struct suite_mutant {
    const char *name;        /* NULL: behind the last */
    const char *failed_case; /* of the suite; NULL: no bug, must pass */
    struct world_ops world; /* the operations that it replaces, here and below; NULL: those of the first of its list, */
    struct task_ops tasks;  /* which has no bug, or else the world's own */
    struct share_ops shares;
};

/* Every mutant of a suite. */
const struct suite_mutant *world_mutants(void);
const struct suite_mutant *task_mutants(void);
const struct suite_mutant *share_mutants(void);
const struct suite_mutant *loss_mutants(void);

struct mutant_ops { /* to put in place of a rank's own: world */
    struct world_ops world;
    struct task_ops tasks;
    struct share_ops shares;
};

#define MUTANT_TAKES(member) out->member = m->member ? m->member : out->member

static inline void suite_mutant_replace(struct mutant_ops *out, const struct suite_mutant *m)
{
    MUTANT_TAKES(world.now_ns);
    MUTANT_TAKES(world.pause);
    MUTANT_TAKES(world.barrier);
    MUTANT_TAKES(world.allgather);
    MUTANT_TAKES(world.gather);
    MUTANT_TAKES(world.broadcast);
    MUTANT_TAKES(world.split);
    MUTANT_TAKES(world.survivors);
    MUTANT_TAKES(world.check);
    MUTANT_TAKES(tasks.spawn);
    MUTANT_TAKES(tasks.join);
    MUTANT_TAKES(tasks.stop);
    MUTANT_TAKES(tasks.post);
    MUTANT_TAKES(tasks.wait);
    MUTANT_TAKES(tasks.try_wait);
    MUTANT_TAKES(shares.host_group);
    MUTANT_TAKES(shares.open);
    MUTANT_TAKES(shares.ring);
    MUTANT_TAKES(shares.wait);
    MUTANT_TAKES(shares.close);
}

/* The operations of mutant m of the list `all` in worlds like `real`. out refers to itself. */
static inline void suite_mutant_ops(struct mutant_ops *out, const struct world_ops *real,
                                    const struct suite_mutant *all, const struct suite_mutant *m)
{
    *out = (struct mutant_ops){ .world = *real, .tasks = *real->tasks, .shares = *real->shares };
    out->world.tasks = &out->tasks;
    out->world.shares = &out->shares;
    suite_mutant_replace(out, &all[0]);
    suite_mutant_replace(out, m);
}

#endif
