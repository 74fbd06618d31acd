/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.c - MPI's own collectives (A9), whatever algorithm it picks for them: MPI_Allreduce and its like, or with
 * --mpi.nonblocking MPI_Iallreduce and its like. What the two forms can and cannot do: harness/net/mpi_collective.h.
 *
 * The blocking form is what most programs use, and what others are compared with; it is refused where it could not
 * work: beside another task that sends (--overlap on). Both are refused where a run goes on without lost ranks.
 */
#include <limits.h>
#include <stdlib.h>

#include "harness/base/opt.h"
#include "harness/exchange/collective.h"
#include "harness/net/mpi_collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_mpi;

struct mpi_opts {
    bool nonblocking;
};

static const struct opt table[] = {
    OPT_BOOL_(struct mpi_opts, nonblocking, "nonblocking", "false",
              "use MPI_Iallreduce instead of MPI_Allreduce. Its wait ends when a rank is lost"),
    OPT_END_,
};

struct mpi {
    struct collective base;
    struct mpi_collective *collective;
};

static void mpi_close(struct collective **c)
{
    struct mpi *m = (struct mpi *)*c;

    mpi_collective_close(&m->collective);
    free(m);
    *c = NULL;
}

static enum rc mpi_open(struct collective **out, const struct collective_env *env)
{
    const struct mpi_opts *o = env->opts;
    const struct mpi_collective_env inner = { .transport = env->transport,
                                              .is_blocking = !o || !o->nonblocking,
                                              .timeout_ms = env->timeout_ms,
                                              .most_elems = INT_MAX };
    struct mpi *m = calloc(1, sizeof *m);
    enum rc rc;

    if (!m)
        return rc_raise(RC_NOMEM, "collective mpi: no memory");
    TRY(mpi_collective_open(&m->collective, &inner));
    *out = &m->base;
    m = NULL;
out:
    free(m);
    return rc;
}

static enum rc mpi_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct mpi_collective *m = ((struct mpi *)c)->collective;

    switch (call->type) {
    case COLL_REDUCE_SCATTER:
        return mpi_collective_reduce_scatter(m, data, call->n_elems);
    case COLL_ALLGATHER:
        return mpi_collective_allgather(m, data, call->n_elems);
    case COLL_BROADCAST:
        return mpi_collective_broadcast(m, data, call->n_elems, call->root);
    default:
        return mpi_collective_allreduce(m, call->input, data, call->n_elems);
    }
}

/* What would end in an error of run() or open(). */
static enum rc mpi_check(const void *opts, const struct job_facts *facts)
{
    const struct mpi_opts *o = opts;

    if (facts->outlives_losses)
        return rc_raise(RC_INVAL, "--reducer mpi: with --on-loss report ranks continue without a lost one, and MPI's "
                                  "collectives do not; --on-loss abort, or another --reducer");
    if (facts->sends_in_tasks && !o->nonblocking)
        return rc_raise(RC_INVAL, "--reducer mpi: with --overlap on a task exchanges, and a call that waits inside MPI "
                                  "would keep all others of its rank waiting; add --mpi.nonblocking");
    return RC_OK;
}

const struct collective_ops collective_mpi = {
    .module.name = "mpi",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_OPAQUE,
    .module.needs_world = WORLD_HAS_MPI,
    .module.options = table,
    .module.opts_bytes = sizeof(struct mpi_opts),
    .module.check = mpi_check,
    .open = mpi_open,
    .run = mpi_run,
    .predict = collective_no_cost,
    .critical_path = collective_no_path,
    .close = mpi_close,
};
