/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mpi.c - ranks as processes that mpirun or srun started.
 *
 * Every collective is the nonblocking one, polled with a backoff: a rank that waits sleeps, and
 * leaves its core to the ranks that work. The few calls that MPI has only in a blocking form
 * (communicators, finalize) follow such a barrier at once, so that all ranks make them at about the same time.
 *
 * A process that died is noticed by the launcher, not here (world.h, W5).
 */
#include "harness/world/mpi/world_mpi.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_clock.h"
#include "harness/world/mpi/share_mpi.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;

enum { MAX_SLEEP_NS = 1000000 };

/* At most this many bytes of each rank per MPI call: MPI counts in int. */
#define PIECE_BYTES ((size_t)1 << 26)

struct mpi_world {
    struct world base;
    struct thread_tasks own_tasks; /* of the rank; unused in a part of a split */
    MPI_Comm comm;
    MPI_Comm host_comm;  /* the ranks of comm on this host */
    int host_first_rank; /* of comm */
    int run_rank;        /* rank among all ranks that were launched */
    int64_t offset_ns;   /* mpi_clock_offset() */
};

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

MPI_Comm world_mpi_comm(const struct world *w)
{
    return w->ops->run == world_mpi.run ? ((const struct mpi_world *)w)->comm : MPI_COMM_NULL;
}

int world_mpi_host_first_rank(const struct world *w)
{
    return ((const struct mpi_world *)w)->host_first_rank;
}

enum rc world_mpi_finish(const struct world *w, MPI_Request *request)
{
    struct backoff backoff = { .may_spin = world_may_spin(w) };
    int done = 0;
    enum rc rc = RC_OK;

    for (;;) {
        TRY_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        backoff_pause(&backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

static enum rc mpi_barrier(struct world *w)
{
    MPI_Request request;
    enum rc rc;

    TRY_MPI(MPI_Ibarrier(self(w)->comm, &request));
    TRY(world_mpi_finish(w, &request));
out:
    return rc;
}

/* The type of one rank's n_bytes in a buffer where those of the next rank begin stride_bytes later. */
static enum rc strided_type(MPI_Datatype *out, size_t n_bytes, size_t stride_bytes)
{
    MPI_Datatype bytes = MPI_DATATYPE_NULL;
    enum rc rc = RC_OK;

    TRY_MPI(MPI_Type_contiguous((int)n_bytes, MPI_BYTE, &bytes));
    TRY_MPI(MPI_Type_create_resized(bytes, 0, (MPI_Aint)stride_bytes, out));
    TRY_MPI(MPI_Type_commit(out));
out:
    if (bytes != MPI_DATATYPE_NULL)
        MPI_Type_free(&bytes);
    return rc;
}

/* out: (n_ranks, n_bytes_each), on all ranks; to_all false: on rank 0 only. */
static enum rc gather_pieces(struct world *w, const void *in, void *out, size_t n_bytes_each, bool to_all)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request request;
    enum rc rc = RC_OK;

    for (size_t offset_bytes = 0; offset_bytes < n_bytes_each; offset_bytes += PIECE_BYTES) {
        const size_t n_left = n_bytes_each - offset_bytes, n_bytes = n_left < PIECE_BYTES ? n_left : PIECE_BYTES;
        const char *from = (const char *)in + offset_bytes;
        char *to = out ? (char *)out + offset_bytes : NULL;

        TRY(strided_type(&type, n_bytes, n_bytes_each));
        if (to_all)
            TRY_MPI(MPI_Iallgather(from, (int)n_bytes, MPI_BYTE, to, 1, type, self(w)->comm, &request));
        else
            TRY_MPI(MPI_Igather(from, (int)n_bytes, MPI_BYTE, to, 1, type, 0, self(w)->comm, &request));
        TRY(world_mpi_finish(w, &request));
        MPI_Type_free(&type);
    }
out:
    if (type != MPI_DATATYPE_NULL)
        MPI_Type_free(&type);
    return rc;
}

static enum rc mpi_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return gather_pieces(w, in, out, n_bytes_each, true);
}

static enum rc mpi_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return gather_pieces(w, in, w->rank == 0 ? out : NULL, n_bytes_each, false);
}

static enum rc mpi_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    enum rc rc = RC_OK;

    for (size_t offset_bytes = 0; offset_bytes < n_bytes; offset_bytes += PIECE_BYTES) {
        const size_t n_left = n_bytes - offset_bytes, n_now = n_left < PIECE_BYTES ? n_left : PIECE_BYTES;
        MPI_Request request;

        TRY_MPI(MPI_Ibcast((char *)bytes + offset_bytes, (int)n_now, MPI_BYTE, 0, self(w)->comm, &request));
        TRY(world_mpi_finish(w, &request));
    }
out:
    return rc;
}

/* Set host_comm, host_rank and n_host_ranks: the ranks of comm on this host. */
static enum rc find_host_ranks(struct mpi_world *m)
{
    enum rc rc = RC_OK;

    TRY_MPI(MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, m->base.rank, MPI_INFO_NULL, &m->host_comm));
    TRY_MPI(MPI_Comm_set_errhandler(m->host_comm, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(m->host_comm, &m->base.host_rank));
    TRY_MPI(MPI_Comm_size(m->host_comm, &m->base.n_host_ranks));
    m->host_first_rank = m->base.rank;
    TRY_MPI(MPI_Bcast(&m->host_first_rank, 1, MPI_INT, 0, m->host_comm));
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
    TRY_MPI(MPI_Allreduce(&takes_part, &n_busy_ranks, 1, MPI_INT, MPI_SUM, self(w)->host_comm));
    TRY_MPI(MPI_Comm_split(self(w)->comm, takes_part ? color : MPI_UNDEFINED, key, &part->comm));
    if (!takes_part)
        goto out;
    TRY_MPI(MPI_Comm_set_errhandler(part->comm, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(part->comm, &part->base.rank));
    TRY_MPI(MPI_Comm_size(part->comm, &part->base.n_ranks));
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
    MPI_Comm_free(&self(*w)->host_comm);
    MPI_Comm_free(&self(*w)->comm);
    free(*w);
    *w = NULL;
}

static uint64_t mpi_now_ns(struct world *w)
{
    return mpi_clock_common_ns(wait_clock_ns(), self(w)->offset_ns);
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
        snprintf(line, sizeof line, "gradmark: rank %d (host %s): %s\n", self(w)->run_rank, host, message);
    if (n_chars > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n_chars < sizeof line ? (size_t)n_chars : sizeof line - 1);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort(); /* MPI_Abort may return where it cannot end the job */
}

static void mpi_die(struct world *w)
{
    (void)w;
    (void)raise(SIGKILL);
}

static bool sets_overlap(const struct core_set *a, const struct core_set *b)
{
    for (int i = 0; i < CORES_SET_WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

/* Where the launcher gave this rank cores of its own, keep them. Where several bound ranks have the same
 * set, give each an equal part of it. Where sets overlap in part, change nothing: *n_own_cores = 0. */
static enum rc bind_share(const struct core_set *set, const int *is_bound, int own, int n, int *n_own_cores)
{
    int slot = 0, n_slots = 0;

    *n_own_cores = 0;
    for (int i = 0; i < n; i++) {
        if (!is_bound[i] || !sets_overlap(&set[i], &set[own]))
            continue;
        if (memcmp(&set[i], &set[own], sizeof set[i]) != 0)
            return RC_OK;
        slot += i < own;
        n_slots++;
    }
    return n_slots > 0 && is_bound[own] ? cores_bind_self(slot, n_slots, n_own_cores) : RC_OK;
}

static enum rc bind_cores(struct mpi_world *m, const struct world_opts *opts)
{
    const int n = m->base.n_host_ranks, own = m->base.host_rank;
    const int n_bound = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : m->base.n_ranks;
    const int bound = opts->bind_cores && m->base.rank < n_bound;
    struct core_set *set = NULL, all = { { 0 } };
    int *is_bound = NULL;
    enum rc rc = RC_OK;

    set = calloc((size_t)n, sizeof *set);
    is_bound = calloc((size_t)n, sizeof *is_bound);
    if (!set || !is_bound)
        FAIL(RC_NOMEM, "no memory for the cores of %d ranks", n);
    cores_allowed_set(&set[own]);
    TRY_MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, set, (int)sizeof *set, MPI_BYTE, m->host_comm));
    TRY_MPI(MPI_Allgather(&bound, 1, MPI_INT, is_bound, 1, MPI_INT, m->host_comm));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < CORES_SET_WORDS; k++)
            all.word[k] |= set[i].word[k];
    m->base.n_host_cores = cores_in_set(&all);
    m->base.n_busy_host_ranks = n;
    if (bound && bind_share(set, is_bound, own, n, &m->base.n_own_cores) != RC_OK)
        m->base.n_own_cores = 0; /* the reader of n_own_cores reports it */
    m->own_tasks.all = m->own_tasks.spare = all;
    cores_thread_set(&set[own]); /* as bound now */
    TRY_MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, set, (int)sizeof *set, MPI_BYTE, m->host_comm));
    for (int i = 0; i < n; i++)
        for (int k = 0; is_bound[i] && k < CORES_SET_WORDS; k++)
            m->own_tasks.spare.word[k] &= ~set[i].word[k];
out:
    free(is_bound);
    free(set);
    return rc;
}

static enum rc join_job(struct mpi_world *m, const struct world_opts *opts, int n_ranks)
{
    enum rc rc = RC_OK;

    TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm));
    TRY_MPI(MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(m->comm, &m->base.rank));
    TRY_MPI(MPI_Comm_size(m->comm, &m->base.n_ranks));
    m->run_rank = m->base.rank;
    if (n_ranks != 0 && n_ranks != m->base.n_ranks)
        FAIL(RC_INVAL, "world mpi: %d ranks were asked for, but %d were launched", n_ranks, m->base.n_ranks);
    TRY(find_host_ranks(m));
    TRY(mpi_clock_offset(m->comm, m->host_comm, &m->offset_ns));
    TRY(bind_cores(m, opts));
out:
    return rc;
}

static enum rc leave_job(struct mpi_world *m)
{
    enum rc rc = RC_OK;

    if (m->host_comm != MPI_COMM_NULL) {
        TRY(mpi_barrier(&m->base)); /* sleep here until all arrive: Comm_free and Finalize spin */
        TRY_MPI(MPI_Comm_free(&m->host_comm));
    }
    if (m->comm != MPI_COMM_NULL)
        TRY_MPI(MPI_Comm_free(&m->comm));
    TRY_MPI(MPI_Finalize());
out:
    return rc;
}

static enum rc mpi_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct mpi_world m = { .base = { .ops = &world_mpi }, .comm = MPI_COMM_NULL, .host_comm = MPI_COMM_NULL };
    int already = 0, level = MPI_THREAD_SINGLE;
    enum rc rc = RC_OK;

    thread_tasks_init(&m.own_tasks);
    m.base.tasks = &m.own_tasks;
    TRY_MPI(MPI_Initialized(&already));
    if (already)
        FAIL(RC_UNSUPPORTED, "world mpi: only one run is possible per process, and this process has had it");
    TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
    if (level < MPI_THREAD_FUNNELED)
        FAIL(RC_UNSUPPORTED, "world mpi: this MPI library was built without support for threads");
    rc = join_job(&m, opts, n_ranks);
    if (rc == RC_INVAL) { /* every rank has this error, so no rank waits for another */
        char message[RC_MESSAGE_BYTES];
        (void)snprintf(message, sizeof message, "%s", rc_message());
        (void)!leave_job(&m);
        return rc_raise(rc, "%s", message);
    }
    if (rc == RC_OK)
        rc = body(&m.base, arg);
    if (rc == RC_OK)
        rc = leave_job(&m);
    if (rc != RC_OK)
        mpi_abort(&m.base, rc); /* the other ranks wait for this one */
out:
    thread_tasks_fini(&m.own_tasks);
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
