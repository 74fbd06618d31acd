/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_suite_test.c WORLD TRANSPORT COLLECTIVE RANKS[:PER-HOST] [OPTIONS] - run collective_suite; RANKS 0: as
 * many as were launched; PER-HOST: on each simulated host, at most; without it: one. OPTIONS of the algorithm: one
 * argument, blanks between. COLLECTIVE "bug-...": a planted mutant, in which the suite must find that bug first.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/suite/collective_mutants.h"
#include "allreduce/suite/collective_suite.h"
#include "harness/cluster/cluster.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct job {
    const struct transport_ops *transport;
    const struct collective_ops *ops;
    const struct collective_mutant *mutant;        /* NULL: none */
    const char *option;                            /* OPTIONS; NULL: none */
    atomic_int n_failures, n_found, n_other_found; /* of the ranks in this process; n_found: the mutant's bug first */
};

static int is_bug(const struct collective_mutant *mutant, const struct collective_finding *found)
{
    return strcmp(found->type, collective_type_name(mutant->type)) == 0 &&
           strncmp(found->what, mutant->found_as, strlen(mutant->found_as)) == 0;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct collective_finding first;
    const int n_failures = collective_suite(w, job->transport, job->ops, job->option, job->mutant != NULL, &first);

    atomic_fetch_add(&job->n_failures, n_failures);
    if (!job->mutant || n_failures == 0)
        return RC_OK;
    if (is_bug(job->mutant, &first)) {
        atomic_fetch_add(&job->n_found, 1);
        return RC_OK;
    }
    atomic_fetch_add(&job->n_other_found, 1);
    fprintf(stderr, "%s: found as \"%s, %s\"\n", job->ops->module.name, first.type, first.what);
    return RC_OK;
}

static enum rc find(struct job *job, const char *name)
{
    job->mutant = collective_mutant_find(name);
    if (!job->mutant)
        return collective_find(&job->ops, &collective_kind, name);
    job->ops = &job->mutant->ops;
    return RC_OK;
}

/* RANKS[:PER-HOST] */
static int parse_ranks(const char *text, struct cluster *cluster)
{
    const char *colon = strchr(text, ':');

    cluster_default(cluster);
    cluster->n_ranks_per_host = colon ? atoi(colon + 1) : 1;
    return atoi(text);
}

int main(int argc, char **argv)
{
    struct cluster cluster;
    const struct world_opts opts = { .bind_cores = false, .cluster = &cluster };
    const struct world_ops *world;
    struct job job = { 0 };
    enum rc rc;

    if (argc != 5 && argc != 6)
        return 2;
    job.option = argv[5]; /* NULL: behind the last one */
    TRY(world_find(&world, argv[1]));
    TRY(transport_find(&job.transport, argv[2]));
    TRY(find(&job, argv[3]));
    TRY(module_check_world(&collective_kind, &job.ops->module, &world_kind, &world->module));
    TRY(world_run(world, &opts, parse_ranks(argv[4], &cluster), body, &job));
out:
    if (rc != RC_OK) {
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
        return 1;
    }
    if (!job.mutant)
        return atomic_load(&job.n_failures) > 0;
    if (atomic_load(&job.n_found) == 0)
        fprintf(stderr, "%s: the suite did not notice\n", argv[3]);
    return atomic_load(&job.n_found) == 0 || atomic_load(&job.n_other_found) > 0;
}
