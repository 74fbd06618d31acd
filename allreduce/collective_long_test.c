/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_long_test.c COLLECTIVE - each of its types with 2^24 + 1 elements, more than a float counts, on three
 * ranks: over a transport that adds what it receives, and over one that does not. Values are small integers: sums are
 * exact.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "allreduce/collective_list.h"
#include "harness/base/opt.h"
#include "harness/base/range.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_RANKS = 3, N_ELEMS = (1 << 24) + 1, ROOT = 2, TIMEOUT_MS = 50000 };

struct job {
    const struct collective_ops *ops;
    const void *opts; /* NULL: it has none */
    atomic_int n_wrong, n_runs;
};

static float value(int rank, uint32_t i)
{
    return (float)((int)((i * 7 + (uint32_t)rank * 13) % 97) - 40);
}

/* Has this rank what it must have in the chunk of rank `owner`? */
static bool is_right(enum collective_type type, const float *data, int rank, int owner)
{
    const struct range chunk = range_part(N_ELEMS, N_RANKS, owner);
    const uint32_t begin = (uint32_t)chunk.offset_elems, end = begin + (uint32_t)chunk.n_elems;
    const int source = type == COLL_BROADCAST ? ROOT : owner;
    int n_wrong = 0;

    if (type == COLL_ALLGATHER || type == COLL_BROADCAST)
        for (uint32_t i = begin; i < end; i++)
            n_wrong += data[i] != value(source, i);
    else if (type == COLL_ALLREDUCE || owner == rank)
        for (uint32_t i = begin; i < end; i++)
            n_wrong += data[i] != value(0, i) + value(1, i) + value(2, i);
    return n_wrong == 0;
}

static enum rc run_type(struct job *job, struct collective *c, enum collective_type type, float *data)
{
    const struct collective_call call = { .type = type, .root = ROOT, .n_elems = N_ELEMS };
    const int rank = c->env.transport->world->rank;
    enum rc rc;

    for (uint32_t i = 0; i < N_ELEMS; i++)
        data[i] = value(rank, i);
    TRY(collective_run(c, &call, data));
    atomic_fetch_add(&job->n_runs, 1);
    for (int owner = 0; owner < N_RANKS; owner++)
        if (!is_right(type, data, rank, owner)) {
            fprintf(stderr, "%s, rank %d, chunk %d: wrong\n", collective_type_name(type), rank, owner);
            atomic_fetch_add(&job->n_wrong, 1);
        }
out:
    return rc;
}

/* Over inproc, shown with these caps. */
static enum rc run_all(struct job *job, struct world *w, struct compute *compute, unsigned caps, float *data)
{
    struct collective_env env = { .kind = &collective_kind,
                                  .compute = compute,
                                  .timeout_ms = TIMEOUT_MS,
                                  .opts = job->opts,
                                  .types = job->ops->module.caps & (COLL_TYPES_END - 1),
                                  .max_elems = N_ELEMS };
    const struct transport_ops *inproc = NULL;
    struct collective *c = NULL;
    struct transport_ops shown;
    enum rc rc;

    TRY(transport_find(&inproc, "inproc"));
    shown = *inproc;
    shown.module.caps &= caps;
    TRY(transport_open(&env.transport, inproc, w));
    env.transport->ops = &shown;
    TRY(collective_open(&c, job->ops, &env));
    for (unsigned type = 1; type < COLL_TYPES_END; type <<= 1)
        if (env.types & type)
            TRY(run_type(job, c, (enum collective_type)type, data));
    TRY(world_barrier(w)); /* a peer may still read what this rank sent */
out:
    collective_close(&c);
    transport_close(&env.transport);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    const struct compute_backend *cpu = NULL;
    struct compute *compute = NULL;
    float *data = malloc(N_ELEMS * sizeof *data);
    enum rc rc;

    if (!data)
        FAIL(RC_NOMEM, "no memory");
    TRY(compute_find(&cpu, "cpu"));
    TRY(compute_open(&compute, cpu, &(struct compute_env){ 0 }));
    TRY(run_all(arg, w, compute, ~0u, data));
    TRY(run_all(arg, w, compute, ~(unsigned)TR_ADD, data));
out:
    compute_close(&compute);
    free(data);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct module_kind *const all[] = { &collective_kind, NULL };
    const struct world_opts opts = { .bind_cores = false };
    const struct world_ops *threads = NULL;
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values values;
    struct job job = { 0 };
    enum rc rc;

    if (argc != 2)
        return 2;
    TRY(collective_find(&job.ops, &collective_kind, argv[1]));
    TRY(opt_parse(group, module_opt_groups(group, all, &values), NULL, 0, NULL));
    job.opts = module_options(&values, all, &job.ops->module);
    TRY(world_find(&threads, "threads"));
    TRY(world_run(threads, &opts, N_RANKS, body, &job));
    return atomic_load(&job.n_wrong) > 0 || atomic_load(&job.n_runs) == 0;
out:
    fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return 1;
}
