/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mpi.c - ranks as processes that mpirun or srun started.
 *
 * The few calls that MPI has only in a blocking form (splits, finalize) follow a barrier at once, in which ranks
 * sleep, so that all ranks make them at about the same time.
 *
 * A process that died is noticed by the launcher, not here (world.W5).
 */
#include "harness/world/mpi/world_mpi.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/mpi/mpi_attach.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_clock.h"
#include "harness/world/mpi/mpi_p2p.h"
#include "harness/world/mpi/mpi_world.h"
#include "harness/world/process/process_cores.h"
#include "harness/world/process/process_peers.h"
#include "harness/world/process/share_process.h"
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

struct mpi_lock *world_mpi_lock(const struct world *w)
{
    return &((const struct mpi_world *)w)->self->lock;
}

enum rc world_mpi_comms_open(struct world *w, MPI_Comm *out, int n)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    struct mpi_attach *attach = self(w)->self->attach;
    MPI_Request request;
    enum rc rc = RC_OK;

    if (self(w)->comm_rank)
        FAIL(RC_UNSUPPORTED, "world mpi: a world of survivors has no communicator for a transport");
    TRY(attach ? mpi_attach_reserve(attach, n) : RC_OK);
    TRY(mpi_is_p2p(w) ? mpi_p2p_meet(w) : RC_OK); /* what follows begins on all ranks */
    for (int i = 0; i < n; i++) {
        TRY_MPI(lock, MPI_Comm_idup(self(w)->comm, &out[i], &request));
        TRY(world_mpi_finish(w, &request));
        if (attach)
            mpi_attach_keep(attach, out[i], false);
        TRY_MPI(lock, MPI_Comm_set_errhandler(out[i], MPI_ERRORS_RETURN));
    }
out:
    return rc;
}

/* Has a rank of the run been lost, which goes on? Then MPI does not end (leave_job()). */
static bool has_losses(const struct world *w)
{
    return w->losses && atomic_load(&w->losses->n_lost) > 0;
}

void world_mpi_comm_close(struct world *w, MPI_Comm *comm)
{
    struct mpi_lock *lock = world_mpi_lock(w);

    mpi_lock_take(lock);
    /* else at the end (world.M3), or, with a lost rank, never */
    if (*comm != MPI_COMM_NULL && !self(w)->self->attach && !has_losses(w))
        MPI_Comm_free(comm);
    mpi_lock_give(lock);
    *comm = MPI_COMM_NULL;
}

bool world_mpi_is_attached(const struct world *w)
{
    return ((const struct mpi_world *)w)->self->attach != NULL;
}

bool world_mpi_owns_memory(const struct world *w)
{
    return mpi_is_p2p(w);
}

void world_mpi_leave(struct world *w, struct mpi_left *left)
{
    if (self(w)->self->attach)
        mpi_attach_leave(self(w)->self->attach, left);
}

enum rc mpi_agree_on_memory(struct mpi_world *m, bool is_ready)
{
    const int own = is_ready;
    int all = 0;
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, m->comm));
    if (!all)
        FAIL(RC_NOMEM, "no memory for what %d ranks know of each other", m->base.n_ranks);
out:
    return rc;
}

static uint64_t mpi_now_ns(struct world *w)
{
    return mpi_clock_common_ns(wait_clock_ns(), self(w)->self->offset_ns);
}

static void mpi_pause(struct world *w, uint64_t ns)
{
    (void)w;
    wait_sleep(ns);
}

static enum rc mpi_check(struct world *w)
{
    struct mpi_attach *attach = self(w)->self->attach;
    enum rc rc = RC_OK;

    if (attach) /* else the launcher ends this process when another one fails (world.W5) */
        TRY(mpi_attach_check(attach));
    TRY(process_peers_check(self(w)->self->peers));
    TRY(thread_tasks_check(w->tasks));
out:
    return rc;
}

static void mpi_abort(struct world *w, enum rc why)
{
    char host[128], line[RC_MESSAGE_BYTES + 256];
    const char *message = rc_message()[0] != '\0' ? rc_message() : rc_text(why);

    if (self(w)->self->attach) {
        mpi_attach_fail(self(w)->self->attach, why, message, mpi_now_ns(w));
        return;
    }
    /* MPI_Abort does not return, so main cannot print the reason: it is printed here. */
    child_host_name(host, sizeof host);
    const int n_chars =
        snprintf(line, sizeof line, "gradmark: rank %d (host %s): %s\n", self(w)->self->rank, host, message);
    if (n_chars > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n_chars < sizeof line ? (size_t)n_chars : sizeof line - 1);
    if (process_peers_lost_self(self(w)->self->peers)) /* no failure of the run (world.W8) */
        _exit(self(w)->self->failure_exit_code);
    process_peers_fail(self(w)->self->peers); /* a launcher that ends nobody does not for MPI_Abort either */
    mpi_lock_take(&self(w)->self->lock);
    MPI_Abort(MPI_COMM_WORLD, self(w)->self->failure_exit_code);
    abort(); /* MPI_Abort may return where it cannot end the job */
}

/* In a caller's MPI, where no process may end: a task that dies ends alone; the main one leaves the body without
 * returning from it, after the others, which use its stack. */
static void mpi_die(struct world *w)
{
    struct mpi_rank *rank = self(w)->self;

    if (!rank->attach)
        (void)raise(SIGKILL);
    if (!pthread_equal(pthread_self(), rank->lock.main))
        pthread_exit(NULL);
    thread_tasks_end(w->tasks);
    longjmp(rank->attach->died, 1);
}

/* In a caller's MPI no process may stop: only the body does, until another rank failed. */
static void mpi_hang(struct world *w)
{
    while (!self(w)->self->attach)
        (void)raise(SIGSTOP);
    while (world_check(w) == RC_OK)
        mpi_pause(w, 20000000);
    mpi_die(w);
}

const char *world_mpi_level_name(int level)
{
    switch (level) {
    case MPI_NO_CALLS:
        return "nothing to a thread that did not initialise it";
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

/* Tasks that leave MPI alone may run beside FUNNELED too. */
int mpi_needed_level(const struct world_opts *opts)
{
    if (opts->has_tasks)
        return MPI_THREAD_SERIALIZED;
    return opts->one_thread ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
}

/* No task but the main one calls MPI, before any has begun. */
static void leave_tasks(struct mpi_world *m, struct world_opts *opts)
{
    opts->has_tasks = m->base.has_tasks = false;
    mpi_lock_fini(&m->self->lock);
    mpi_lock_init(&m->self->lock, false);
}

/* RC_UNSUPPORTED on every rank where one of them was granted a lower level than the run needs. */
static enum rc check_level(struct mpi_world *m, MPI_Comm comm, const struct world_opts *wanted, int level)
{
    struct world_opts opts = *wanted;
    int lowest = MPI_NO_CALLS;
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Allreduce(&level, &lowest, 1, MPI_INT, MPI_MIN, comm));
    if (lowest < mpi_needed_level(&opts) && opts.tasks_are_optional)
        leave_tasks(m, &opts);
    const int needed = mpi_needed_level(&opts);
    if (lowest < needed)
        FAIL(RC_UNSUPPORTED, "world mpi: %s was asked for%s, but MPI grants %s", world_mpi_level_name(needed),
             opts.has_tasks ? ", since tasks beside the main one are to send messages" : "",
             world_mpi_level_name(lowest));
    m->base.mpi_level = world_mpi_level_name(lowest);
out:
    return rc;
}

static enum rc gather_on_host(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Allgather(in, (int)n_bytes_each, MPI_BYTE, out, (int)n_bytes_each, MPI_BYTE, self(w)->host_comm));
out:
    return rc;
}

static enum rc agree_on_memory(struct world *w, bool is_ready)
{
    return mpi_agree_on_memory(self(w), is_ready);
}

static const struct process_host mpi_host = { agree_on_memory, gather_on_host };

enum rc mpi_join_job(struct mpi_world *m, const struct world_opts *opts, MPI_Comm all, int n_ranks, int level)
{
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Comm_rank(all, &m->self->rank)); /* first: messages of failures name it */
    m->base.rank = m->self->rank;
    if (!opts->agree)
        TRY(check_level(m, all, opts, level));
    TRY_MPI_ALONE(MPI_Comm_dup(all, &m->comm));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN));
    TRY_MPI_ALONE(MPI_Comm_size(m->comm, &m->base.n_ranks));
    if (opts->agree) { /* first: the level that is needed follows from what the ranks agree on */
        TRY(opts->agree(&m->base, opts->agree_arg));
        TRY(check_level(m, all, opts, level));
    }
    if (n_ranks != 0 && n_ranks != m->base.n_ranks)
        FAIL(RC_INVAL, "world mpi: %d ranks were asked for, but %s %d%s", n_ranks,
             m->self->attach ? "the communicator has" : "MPI finds", m->base.n_ranks,
             m->self->attach ? "" : "; start them by a launcher of this MPI, as mpirun or srun --mpi=pmix");
    TRY(mpi_find_host_ranks(m));
    TRY(mpi_clock_offset(m->comm, m->host_comm, &m->self->offset_ns));
    TRY(process_cores_bind(&m->base, opts, &mpi_host));
out:
    return rc;
}

/* The mpirun of Open MPI 4.1 does not notice that processes on several hosts have ended without MPI_Finalize(). Rank 0
 * writes what the run gives, and ends the job when it has done so, with its own exit code: no success, as a rank was
 * lost. */
static void end_job_at_exit(int exit_code, void *arg)
{
    (void)arg;
    (void)!fflush(NULL); /* MPI_Abort() does not */
    MPI_Abort(MPI_COMM_WORLD, exit_code != 0 ? exit_code : EXIT_FAILURE);
}

/* With lost ranks MPI_Finalize() would wait for them: the process ends without it. */
static enum rc leave_job(struct mpi_world *m)
{
    bool are_all = true;
    enum rc rc = RC_OK;

    if (m->host_comm != MPI_COMM_NULL) {
        TRY(process_peers_meet_at_end(&m->base, &are_all)); /* sleep here until all arrive: what follows spins */
        process_peers_leave(m->self->peers);
        if (!are_all) {
            if (m->base.rank == 0 && m->base.n_host_ranks < m->base.n_ranks)
                (void)!on_exit(end_job_at_exit, NULL);
            return RC_OK;
        }
        TRY_MPI_ALONE(MPI_Comm_free(&m->host_comm));
    }
    if (m->comm != MPI_COMM_NULL)
        TRY_MPI_ALONE(MPI_Comm_free(&m->comm));
    TRY_MPI_ALONE(MPI_Finalize());
out:
    return rc;
}

/* Before the body: watch, and report losses, where this is asked for. */
static enum rc begin_watch(struct mpi_world *m, const struct world_opts *opts)
{
    enum rc rc = RC_OK;

    if (opts->on_loss == ON_LOSS_REPORT) {
        TRY(mpi_find_hosts(m));
        m->base.on_loss = opts->on_loss;
        TRY(peer_losses_open(&m->base.losses, m->base.n_ranks));
    }
    if (opts->stall.abort_ns > 0)
        TRY(process_peers_open(&m->self->peers, &m->base, opts, m->self->failure_exit_code));
out:
    return rc;
}

/* Open MPI sends what is long over TCP as a "put", which asks the receiver for each message and waits for its answer
 * and for its end: a ring of 64 MiB over 4 hosts at 1 Gbit/s gets 0.93 of what TCP carries, by plain sends (1) 0.99
 * (results/, comm-check). What the user has set stays; other MPIs do not read it. */
static void prefer_plain_sends(void)
{
    (void)setenv("OMPI_MCA_btl_tcp_flags", "1", 0); /* without memory for it MPI is slower, and no less right */
}

static enum rc run_own_mpi(struct mpi_world *m, const struct world_opts *opts, int n_ranks, rank_main_fn *body,
                           void *arg)
{
    int already = 0, level = MPI_THREAD_SINGLE;
    struct core_set launchers_cores;
    enum rc rc = RC_OK;

    cores_thread_set(&launchers_cores);
    TRY_MPI_ALONE(MPI_Initialized(&already));
    if (already)
        FAIL(RC_UNSUPPORTED,
             "world mpi: MPI was initialised before: only one run is possible per process, or several in "
             "an MPI of the caller's own (mpi_comm)");
    prefer_plain_sends();
    TRY_MPI_ALONE(MPI_Init_thread(NULL, NULL, mpi_needed_level(opts), &level));
    TRY_MPI_ALONE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    rc = mpi_join_job(m, opts, MPI_COMM_WORLD, n_ranks, level);
    if (rc == RC_INVAL || rc == RC_UNSUPPORTED) { /* every rank has this error, so no rank waits for another */
        char message[RC_MESSAGE_BYTES];
        (void)snprintf(message, sizeof message, "%s", rc_message());
        (void)!leave_job(m);
        (void)rc_raise(rc, "%s", message);
        goto out;
    }
    if (rc == RC_OK)
        rc = begin_watch(m, opts);
    if (rc == RC_OK)
        rc = body(&m->base, arg);
    thread_tasks_end(m->base.tasks);
    if (rc == RC_OK)
        rc = leave_job(m);
    if (rc != RC_OK)
        mpi_abort(&m->base, rc); /* the other ranks wait for this one */
    process_peers_close(&m->self->peers);
out:
    if (opts->bind_cores) /* what this process records of its machine later is what it was started with */
        cores_bind_self_to(&launchers_cores);
    return rc;
}

/* RC_UNSUPPORTED where losses cannot be reported. */
static enum rc check_policy(const struct world_opts *opts)
{
    if (opts->on_loss != ON_LOSS_REPORT)
        return RC_OK;
    if (opts->mpi_comm)
        return rc_raise(RC_UNSUPPORTED,
                        "world mpi: in a caller's MPI a lost rank always ends the run: that MPI cannot be "
                        "finalised without it");
    if (opts->stall.abort_ns == 0)
        return rc_raise(RC_UNSUPPORTED, "world mpi: nobody notices a lost rank without a limit for its silence");
    return RC_OK;
}

enum rc mpi_world_init(struct mpi_world *m, struct mpi_rank *rank, const struct world_opts *opts)
{
    enum rc rc;

    TRY(check_policy(opts));
    *rank = (struct mpi_rank){ .rank = 0, .failure_exit_code = world_failure_exit_code(opts) };
    *m = (struct mpi_world){ .base = { .ops = &world_mpi,
                                       .interface = opts->interface,
                                       .security = opts->security,
                                       .tasks = &rank->tasks,
                                       .has_tasks = opts->has_tasks },
                             .self = rank,
                             .comm = MPI_COMM_NULL,
                             .host_comm = MPI_COMM_NULL };
    thread_tasks_init(&rank->tasks);
    mpi_lock_init(&rank->lock, opts->has_tasks);
out:
    return rc;
}

void mpi_world_fini(struct mpi_world *m)
{
    mpi_lock_fini(&m->self->lock);
    thread_tasks_fini(&m->self->tasks);
    peer_losses_close(&m->base.losses);
    free(m->self->host_of);
}

static enum rc mpi_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct mpi_rank rank;
    struct mpi_world m;
    enum rc rc;

    TRY(mpi_world_init(&m, &rank, opts));
    rc = opts->mpi_comm ? mpi_run_in_caller(&m, opts, n_ranks, body, arg) : run_own_mpi(&m, opts, n_ranks, body, arg);
    mpi_world_fini(&m);
out:
    return rc;
}

const struct world_ops world_mpi = {
    .module.name = "mpi",
    .module.caps = WORLD_LAUNCHED | WORLD_HAS_MPI,
    .tasks = &thread_task_ops,
    .shares = &process_share_ops,
    .run = mpi_run,
    .open = mpi_world_open,
    .close = mpi_world_close,
    .now_ns = mpi_now_ns,
    .pause = mpi_pause,
    .barrier = mpi_barrier,
    .allgather = mpi_allgather,
    .gather = mpi_gather,
    .broadcast = mpi_broadcast,
    .split = mpi_split,
    .split_close = mpi_split_close,
    .survivors = mpi_survivors,
    .check = mpi_check,
    .abort = mpi_abort,
    .die = mpi_die,
    .hang = mpi_hang,
};
