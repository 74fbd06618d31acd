/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducer_suite_test.c WORLD TRANSPORT REDUCER RANKS - run reducer_suite; RANKS 0: as many as were launched.
 * REDUCER "bug-...": a planted mutant, which must fail.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/reducer.h"
#include "allreduce/suite/reducer_mutants.h"
#include "allreduce/suite/reducer_suite.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct job {
    const struct transport_ops *transport;
    const struct reducer *ops;
    int is_mutant;
    atomic_int n_failures; /* of the ranks in this process */
};

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;

    atomic_fetch_add(&job->n_failures, reducer_suite(w, job->transport, job->ops, job->is_mutant));
    return RC_OK;
}

static enum rc find(struct job *job, const char *name)
{
    job->is_mutant = strncmp(name, "bug-", 4) == 0;
    for (const struct reducer *const *m = reducer_mutants(); job->is_mutant && *m; m++)
        if (strcmp((*m)->module.name, name) == 0) {
            job->ops = *m;
            return RC_OK;
        }
    return reducer_find(&job->ops, name);
}

int main(int argc, char **argv)
{
    const struct world_opts opts = { .bind_cores = false };
    const struct world_ops *world;
    struct job job = { 0 };
    enum rc rc;

    if (argc != 5)
        return 2;
    TRY(world_find(&world, argv[1]));
    TRY(transport_find(&job.transport, argv[2]));
    TRY(find(&job, argv[3]));
    TRY(world_run(world, &opts, atoi(argv[4]), body, &job));
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    const int n_failures = atomic_load(&job.n_failures);
    if (job.is_mutant && rc == RC_OK && n_failures == 0)
        fprintf(stderr, "%s: the suite did not notice\n", argv[3]);
    return rc != RC_OK || (job.is_mutant ? n_failures == 0 : n_failures > 0);
}
