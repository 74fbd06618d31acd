/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mpi.c - ranks as processes that mpirun or srun started.
 *
 * The few calls that MPI has only in a blocking form (splits, finalize) follow a barrier at once, in which ranks
 * sleep, so that all ranks make them at about the same time.
 *
 * A process that died is noticed by the launcher, not here (world.h, W5).
 */
#include "harness/world/mpi/world_mpi.h"

#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/child.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_clock.h"
#include "harness/world/mpi/mpi_world.h"
#include "harness/world/mpi/share_mpi.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;

static struct mpi_world *self(struct world *w)
{
    return (struct mpi_world *)w;
}

enum rc mpi_raise(int code, const char *file, int line, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown MPI error";
    int error_class = MPI_ERR_OTHER, n_chars = 0;

    (void)MPI_Error_class(code, &error_class);
    (void)MPI_Error_string(code, text, &n_chars);
    const enum rc rc = error_class == MPI_ERR_TRUNCATE ? RC_MISMATCH
                       : error_class == MPI_ERR_NO_MEM ? RC_NOMEM
                                                       : RC_PEER;
    return rc_raise_(rc, file, line, "%.*s: %s", (int)strcspn(call, "("), call, text);
}

bool world_is_mpi(const struct world *w)
{
    return w->ops->run == world_mpi.run;
}

int world_mpi_host_first_rank(const struct world *w)
{
    return ((const struct mpi_world *)w)->host_first_rank;
}

struct mpi_lock *world_mpi_lock(const struct world *w)
{
    return &((const struct mpi_world *)w)->self->lock;
}

enum rc world_mpi_comms_open(struct world *w, MPI_Comm *out, int n)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    MPI_Request request;
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++) {
        TRY_MPI(lock, MPI_Comm_idup(self(w)->comm, &out[i], &request));
        TRY(world_mpi_finish(w, &request));
        TRY_MPI(lock, MPI_Comm_set_errhandler(out[i], MPI_ERRORS_RETURN));
    }
out:
    return rc;
}

void world_mpi_comm_close(struct world *w, MPI_Comm *comm)
{
    struct mpi_lock *lock = world_mpi_lock(w);

    mpi_lock_take(lock);
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
    mpi_lock_give(lock);
}

/* Set host_comm, host_rank and n_host_ranks: the ranks of comm on this host. */
static enum rc find_host_ranks(struct mpi_world *m)
{
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, m->base.rank, MPI_INFO_NULL, &m->host_comm));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(m->host_comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_rank(m->host_comm, &m->base.host_rank));
    TRY_MPI_ALONE(MPI_Comm_size(m->host_comm, &m->base.n_host_ranks));
    m->host_first_rank = m->base.rank;
    TRY_MPI_ALONE(MPI_Bcast(&m->host_first_rank, 1, MPI_INT, 0, m->host_comm));
out:
    return rc;
}

static enum rc mpi_split(struct world *w, int color, int key, struct world **out)
{
    struct mpi_world *part = NULL;
    const int takes_part = color >= 0;
    int n_busy_ranks = 0;
    enum rc rc = RC_OK;

    part = malloc(sizeof *part);
    if (!part)
        FAIL(RC_NOMEM, "no memory to split %d ranks", w->n_ranks);
    *part = *self(w);
    part->comm = part->host_comm = MPI_COMM_NULL;
    TRY(mpi_barrier(w)); /* sleep here until all arrive: Comm_split spins */
    TRY_MPI_ALONE(MPI_Allreduce(&takes_part, &n_busy_ranks, 1, MPI_INT, MPI_SUM, self(w)->host_comm));
    TRY_MPI_ALONE(MPI_Comm_split(self(w)->comm, takes_part ? color : MPI_UNDEFINED, key, &part->comm));
    if (!takes_part)
        goto out;
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(part->comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_rank(part->comm, &part->base.rank));
    TRY_MPI_ALONE(MPI_Comm_size(part->comm, &part->base.n_ranks));
    TRY(find_host_ranks(part));
    part->base.n_busy_host_ranks = n_busy_ranks;
    *out = &part->base;
    part = NULL;
out:
    free(part);
    return rc;
}

static void mpi_split_close(struct world **w)
{
    world_mpi_comm_close(*w, &self(*w)->host_comm);
    world_mpi_comm_close(*w, &self(*w)->comm);
    free(*w);
    *w = NULL;
}

static uint64_t mpi_now_ns(struct world *w)
{
    return mpi_clock_common_ns(wait_clock_ns(), self(w)->self->offset_ns);
}

static void mpi_pause(struct world *w, uint64_t ns)
{
    struct timespec left = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

    (void)w;
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static enum rc mpi_check(struct world *w)
{
    return thread_tasks_check(w->tasks); /* W5: the launcher ends this process when another one fails */
}

static void mpi_abort(struct world *w, enum rc why)
{
    char host[128], line[RC_MESSAGE_BYTES + 256];
    const char *message = rc_message()[0] != '\0' ? rc_message() : rc_text(why);

    /* MPI_Abort does not return, so main cannot print the reason: it is printed here. */
    child_host_name(host, sizeof host);
    const int n_chars =
        snprintf(line, sizeof line, "gradmark: rank %d (host %s): %s\n", self(w)->self->rank, host, message);
    if (n_chars > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n_chars < sizeof line ? (size_t)n_chars : sizeof line - 1);
    mpi_lock_take(&self(w)->self->lock);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort(); /* MPI_Abort may return where it cannot end the job */
}

static void mpi_die(struct world *w)
{
    (void)w;
    (void)raise(SIGKILL);
}

static const char *level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE:
        return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
    default:
        return "MPI_THREAD_MULTIPLE";
    }
}

/* The thread level of MPI that the run needs. Tasks that leave MPI alone may run beside FUNNELED too. */
static int needed_level(const struct world_opts *opts)
{
    return opts->has_tasks ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
}

/* RC_UNSUPPORTED on every rank where one of them was granted a lower level than the run needs. */
static enum rc check_level(MPI_Comm comm, const struct world_opts *opts, int level)
{
    const int needed = needed_level(opts);
    int lowest = level;
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Allreduce(&level, &lowest, 1, MPI_INT, MPI_MIN, comm));
    if (lowest < needed)
        FAIL(RC_UNSUPPORTED, "world mpi: MPI was asked for %s%s, but grants %s", level_name(needed),
             opts->has_tasks ? ", since tasks beside the main one are to send messages" : "", level_name(lowest));
out:
    return rc;
}

static enum rc join_job(struct mpi_world *m, const struct world_opts *opts, int n_ranks, int level)
{
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY(check_level(MPI_COMM_WORLD, opts, level));
    TRY_MPI_ALONE(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_rank(m->comm, &m->base.rank));
    TRY_MPI_ALONE(MPI_Comm_size(m->comm, &m->base.n_ranks));
    m->self->rank = m->base.rank;
    if (n_ranks != 0 && n_ranks != m->base.n_ranks)
        FAIL(RC_INVAL, "world mpi: %d ranks were asked for, but %d were launched", n_ranks, m->base.n_ranks);
    TRY(find_host_ranks(m));
    TRY(mpi_clock_offset(m->comm, m->host_comm, &m->self->offset_ns));
    TRY(mpi_cores_bind(m, opts));
out:
    return rc;
}

static enum rc leave_job(struct mpi_world *m)
{
    enum rc rc = RC_OK;

    if (m->host_comm != MPI_COMM_NULL) {
        TRY(mpi_barrier(&m->base)); /* sleep here until all arrive: Comm_free and Finalize spin */
        TRY_MPI_ALONE(MPI_Comm_free(&m->host_comm));
    }
    if (m->comm != MPI_COMM_NULL)
        TRY_MPI_ALONE(MPI_Comm_free(&m->comm));
    TRY_MPI_ALONE(MPI_Finalize());
out:
    return rc;
}

static enum rc mpi_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct mpi_rank rank = { .rank = 0 };
    struct mpi_world m = { .base = { .ops = &world_mpi, .tasks = &rank.tasks, .has_tasks = opts->has_tasks },
                           .self = &rank,
                           .comm = MPI_COMM_NULL,
                           .host_comm = MPI_COMM_NULL };
    int already = 0, level = MPI_THREAD_SINGLE;
    enum rc rc = RC_OK;

    thread_tasks_init(&rank.tasks);
    mpi_lock_init(&rank.lock, opts->has_tasks);
    TRY_MPI_ALONE(MPI_Initialized(&already));
    if (already)
        FAIL(RC_UNSUPPORTED, "world mpi: only one run is possible per process, and this process has had it");
    TRY_MPI_ALONE(MPI_Init_thread(NULL, NULL, needed_level(opts), &level));
    rc = join_job(&m, opts, n_ranks, level);
    if (rc == RC_INVAL || rc == RC_UNSUPPORTED) { /* every rank has this error, so no rank waits for another */
        char message[RC_MESSAGE_BYTES];
        (void)snprintf(message, sizeof message, "%s", rc_message());
        (void)!leave_job(&m);
        (void)rc_raise(rc, "%s", message);
        goto out;
    }
    if (rc == RC_OK)
        rc = body(&m.base, arg);
    thread_tasks_end(&rank.tasks);
    if (rc == RC_OK)
        rc = leave_job(&m);
    if (rc != RC_OK)
        mpi_abort(&m.base, rc); /* the other ranks wait for this one */
out:
    mpi_lock_fini(&rank.lock);
    thread_tasks_fini(&rank.tasks);
    return rc;
}

const struct world_ops world_mpi = {
    .module.name = "mpi",
    .module.caps = WORLD_LAUNCHED | WORLD_HAS_MPI,
    .tasks = &thread_task_ops,
    .shares = &mpi_share_ops,
    .run = mpi_run,
    .now_ns = mpi_now_ns,
    .pause = mpi_pause,
    .barrier = mpi_barrier,
    .allgather = mpi_allgather,
    .gather = mpi_gather,
    .broadcast = mpi_broadcast,
    .split = mpi_split,
    .split_close = mpi_split_close,
    .check = mpi_check,
    .abort = mpi_abort,
    .die = mpi_die,
};
