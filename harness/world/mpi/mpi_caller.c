/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_caller.c - worlds in an MPI that their caller has initialised (mpi_attach.h): for a body, and open until they are
 * closed.
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/world/cores.h"
#include "harness/world/mpi/mpi_attach.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_world.h"

/* Call body, and record how it failed. */
static void run_body(struct mpi_world *m, rank_main_fn *body, void *arg)
{
    struct mpi_attach *attach = m->self->attach;

    if (setjmp(attach->died) == 0) {
        const enum rc rc = body(&m->base, arg);
        if (rc != RC_OK)
            world_abort(&m->base, rc);
    } else {
        mpi_attach_fail(attach, RC_PEER, "ended before its work was done", m->base.ops->now_ns(&m->base));
    }
}

/* The thread level of the caller's MPI for this thread. */
static enum rc caller_level(const MPI_Comm *caller, int *level)
{
    int is_initialised = 0, is_finalised = 0, is_main = 0, has_two_groups = 0;
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Initialized(&is_initialised));
    TRY_MPI_ALONE(MPI_Finalized(&is_finalised));
    if (!is_initialised || is_finalised)
        FAIL(RC_INVAL, "world mpi: a communicator was given, but MPI is not initialised");
    TRY_MPI_ALONE(MPI_Comm_test_inter(*caller, &has_two_groups));
    if (has_two_groups)
        FAIL(RC_INVAL, "world mpi: an intercommunicator was given; use an intracommunicator");
    TRY_MPI_ALONE(MPI_Query_thread(level));
    TRY_MPI_ALONE(MPI_Is_thread_main(&is_main));
    if (!is_main && *level < MPI_THREAD_SERIALIZED)
        *level = MPI_NO_CALLS;
out:
    return rc;
}

/* What is joined, or failed on every rank alike, is left by leave(). */
static enum rc join(struct mpi_world *m, struct mpi_attach *attach, const struct world_opts *opts, int n_ranks,
                    int level)
{
    m->self->attach = attach;
    const enum rc rc = mpi_join_job(m, opts, attach->comm, n_ranks, level);
    if (m->comm != MPI_COMM_NULL)
        mpi_attach_keep(attach, m->comm, true);
    if (m->host_comm != MPI_COMM_NULL)
        mpi_attach_keep(attach, m->host_comm, false);
    return rc;
}

/* The failure of the run: joined, or what a rank recorded since. */
static enum rc leave(struct mpi_world *m, const struct world_opts *opts, enum rc joined)
{
    struct mpi_attach *attach = m->self->attach;
    char message[RC_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message, "%s", rc_message());
    thread_tasks_end(m->base.tasks);
    enum rc rc = mpi_attach_end(attach);
    if (joined != RC_OK) /* on every rank */
        rc = rc_raise(joined, "%s", message);
    if (opts->bind_cores)
        cores_bind_self_to(&attach->caller_cores);
    return rc;
}

enum rc mpi_run_in_caller(struct mpi_world *m, const struct world_opts *opts, int n_ranks, rank_main_fn *body,
                          void *arg)
{
    const MPI_Comm *caller = opts->mpi_comm;
    struct mpi_attach attach;
    int level = MPI_THREAD_SINGLE;
    enum rc rc;

    TRY(caller_level(caller, &level));
    rc = mpi_attach_init(&attach, &m->self->lock, caller, 0);
    if (rc == RC_OK) {
        const enum rc joined = join(m, &attach, opts, n_ranks, level);
        if (joined == RC_OK)
            run_body(m, body, arg);
        rc = leave(m, opts, joined);
    }
    mpi_attach_fini(&attach, caller);
out:
    return rc;
}

/* --- open until it is closed -------------------------------------------------------------------------------------- */

struct open_world { /* what run() has on its stack */
    struct mpi_world world;
    struct mpi_rank rank;
    struct mpi_attach attach;
    struct world_opts opts;
    MPI_Comm caller;
    bool owns_mpi; /* MPI was initialised here */
};

/* MPI_COMM_WORLD, of an MPI that is initialised here unless it was before. */
static enum rc begin_mpi(struct open_world *o)
{
    int is_initialised = 0, is_finalised = 0, level;
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Initialized(&is_initialised));
    TRY_MPI_ALONE(MPI_Finalized(&is_finalised));
    if (is_finalised)
        FAIL(RC_INVAL, "world mpi: MPI was finalised before: it cannot be initialised again in one process");
    if (!is_initialised)
        TRY_MPI_ALONE(MPI_Init_thread(NULL, NULL, mpi_needed_level(&o->opts), &level));
    o->owns_mpi = !is_initialised;
    o->caller = MPI_COMM_WORLD;
out:
    return rc;
}

/* What open() has made of it so far; rc: its error, or RC_OK. */
static enum rc end_mpi(struct open_world *o, enum rc rc)
{
    if (!o->owns_mpi)
        return rc;
    const int code = MPI_Finalize();
    return rc == RC_OK && code != MPI_SUCCESS ? rc_raise(RC_PEER, "world mpi: MPI_Finalize: error %d", code) : rc;
}

/* rc: what it ended with. What was given up (world.M6) is left as it is, MPI too, which would wait for the others. */
static enum rc end_open(struct open_world *o, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    mpi_attach_fini(&o->attach, &o->caller);
    if (o->attach.is_given_up) {
        (void)snprintf(message, sizeof message, "%s", rc_message());
        return rc_raise(rc, "%.400s%s", message,
                        o->owns_mpi ? "; MPI is not finalised: that would wait for them, too" : "");
    }
    mpi_world_fini(&o->world);
    rc = end_mpi(o, rc);
    free(o);
    return rc;
}

enum rc mpi_world_open(struct world **out, const struct world_opts *opts)
{
    struct open_world *o = calloc(1, sizeof *o);
    int level = MPI_THREAD_SINGLE;
    enum rc rc;

    if (!o)
        return rc_raise(RC_NOMEM, "world mpi: no memory");
    o->opts = *opts;
    TRY(opts->mpi_comm ? RC_OK : begin_mpi(o));
    if (opts->mpi_comm)
        o->caller = *(const MPI_Comm *)opts->mpi_comm;
    o->opts.mpi_comm = &o->caller;
    TRY(caller_level(&o->caller, &level));
    TRY(mpi_world_init(&o->world, &o->rank, &o->opts));
    rc = mpi_attach_init(&o->attach, &o->rank.lock, &o->caller, opts->timeout_ms);
    if (rc == RC_OK) {
        rc = join(&o->world, &o->attach, &o->opts, 0, level);
        if (rc != RC_OK)
            rc = leave(&o->world, &o->opts, rc);
    }
    if (rc == RC_OK) {
        *out = &o->world.base;
        return RC_OK;
    }
    return end_open(o, rc);
out:
    rc = end_mpi(o, rc);
    free(o);
    return rc;
}

enum rc mpi_world_close(struct world **w)
{
    struct open_world *o = (struct open_world *)*w;
    const enum rc rc = leave(&o->world, &o->opts, RC_OK);

    *w = NULL;
    return end_open(o, rc);
}
