/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_serial_test.c [attached] - the suites of worlds and transports, with a look at each call of MPI (world.J1
 * to L3). attached: in an MPI of this program's own.
 *
 * The functions below replace MPI's for this program, and call those that MPI has for the purpose (PMPI). In a run with
 * tasks each thread that calls MPI must own the lock of the rank, which a mutex that checks its owner tells, whatever
 * the other threads do just then; a call that may wait for other ranks must be made without it and while no task runs;
 * and nobody may sleep with it. Under mpiexec; the exit code tells.
 */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/range.h"
#include "harness/net/mpi_collective.h"
#include "harness/net/suite/transport_suite.h"
#include "harness/net/transport.h"
#include "harness/world/mpi/world_mpi.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"

extern const struct world_ops world_mpi;
extern const struct transport_ops transport_mpi;

/* Of the rank, between the beginning of its body and its end; NULL: MPI may be called as one likes. */
static struct mpi_lock *checked;
static struct thread_tasks *tasks;
static atomic_int n_wrong, n_calls;

static void wrong(const char *call, const char *what)
{
    if (atomic_fetch_add(&n_wrong, 1) < 20)
        fprintf(stderr, "%s: %s\n", call, what);
}

/* EDEADLK: it is this thread's. Anything else is a fault, and locking for a moment does no more harm. */
static bool owns_lock(void)
{
    if (pthread_mutex_lock(&checked->mutex) == EDEADLK)
        return true;
    (void)pthread_mutex_unlock(&checked->mutex);
    return false;
}

static void returns_at_once(const char *call)
{
    if (!checked)
        return;
    atomic_fetch_add(&n_calls, 1);
    if (!owns_lock())
        wrong(call, "called without the lock (L1)");
}

static void may_wait(const char *call)
{
    if (!checked)
        return;
    if (owns_lock())
        wrong(call, "may wait for other ranks with the lock held (L2)");
    if (atomic_load(&tasks->n_running) > 0)
        wrong(call, "may wait inside MPI while a task runs (L3)");
}

void __real_backoff_pause(struct backoff *b, uint64_t max_sleep_ns);
void __wrap_backoff_pause(struct backoff *b, uint64_t max_sleep_ns);
void __wrap_backoff_pause(struct backoff *b, uint64_t max_sleep_ns)
{
    if (checked && owns_lock())
        wrong("backoff_pause", "sleeps with the lock held (L2)");
    __real_backoff_pause(b, max_sleep_ns);
}

#define REPLACE(rule, name, params, args) \
    int MPI_##name params                 \
    {                                     \
        rule("MPI_" #name);               \
        return PMPI_##name args;          \
    }

REPLACE(returns_at_once, Test, (MPI_Request * r, int *done, MPI_Status *s), (r, done, s))
REPLACE(returns_at_once, Cancel, (MPI_Request * r), (r))
REPLACE(returns_at_once, Request_free, (MPI_Request * r), (r))
REPLACE(returns_at_once, Isend, (const void *p, int n, MPI_Datatype d, int to, int tag, MPI_Comm c, MPI_Request *r),
        (p, n, d, to, tag, c, r))
REPLACE(returns_at_once, Issend, (const void *p, int n, MPI_Datatype d, int to, int tag, MPI_Comm c, MPI_Request *r),
        (p, n, d, to, tag, c, r))
REPLACE(returns_at_once, Irecv, (void *p, int n, MPI_Datatype d, int from, int tag, MPI_Comm c, MPI_Request *r),
        (p, n, d, from, tag, c, r))
REPLACE(returns_at_once, Iprobe, (int from, int tag, MPI_Comm c, int *found, MPI_Status *s), (from, tag, c, found, s))
REPLACE(returns_at_once, Improbe, (int from, int tag, MPI_Comm c, int *found, MPI_Message *m, MPI_Status *s),
        (from, tag, c, found, m, s))
REPLACE(returns_at_once, Imrecv, (void *p, int n, MPI_Datatype d, MPI_Message *m, MPI_Request *r), (p, n, d, m, r))
REPLACE(returns_at_once, Get_elements_x, (const MPI_Status *s, MPI_Datatype d, MPI_Count *n), (s, d, n))
REPLACE(returns_at_once, Error_class, (int code, int *out), (code, out))
REPLACE(returns_at_once, Error_string, (int code, char *out, int *n), (code, out, n))
REPLACE(returns_at_once, Type_contiguous, (int n, MPI_Datatype d, MPI_Datatype *out), (n, d, out))
REPLACE(returns_at_once, Type_create_resized, (MPI_Datatype d, MPI_Aint low, MPI_Aint n, MPI_Datatype *out),
        (d, low, n, out))
REPLACE(returns_at_once, Type_create_struct,
        (int n, const int *n_each, const MPI_Aint *at, const MPI_Datatype *of, MPI_Datatype *out),
        (n, n_each, at, of, out))
REPLACE(returns_at_once, Type_commit, (MPI_Datatype * d), (d))
REPLACE(returns_at_once, Type_free, (MPI_Datatype * d), (d))
REPLACE(returns_at_once, Comm_get_attr, (MPI_Comm c, int key, void *out, int *found), (c, key, out, found))
REPLACE(returns_at_once, Comm_idup, (MPI_Comm c, MPI_Comm *out, MPI_Request *r), (c, out, r))
REPLACE(returns_at_once, Comm_free, (MPI_Comm * c), (c))
REPLACE(returns_at_once, Ibarrier, (MPI_Comm c, MPI_Request *r), (c, r))
REPLACE(returns_at_once, Iallgather,
        (const void *in, int n, MPI_Datatype d, void *out, int k, MPI_Datatype e, MPI_Comm c, MPI_Request *r),
        (in, n, d, out, k, e, c, r))
REPLACE(returns_at_once, Iallreduce,
        (const void *in, void *out, int n, MPI_Datatype d, MPI_Op op, MPI_Comm c, MPI_Request *r),
        (in, out, n, d, op, c, r))
REPLACE(returns_at_once, Ireduce,
        (const void *in, void *out, int n, MPI_Datatype d, MPI_Op op, int root, MPI_Comm c, MPI_Request *r),
        (in, out, n, d, op, root, c, r))
REPLACE(returns_at_once, Ireduce_scatter,
        (const void *in, void *out, const int *n_each, MPI_Datatype d, MPI_Op op, MPI_Comm c, MPI_Request *r),
        (in, out, n_each, d, op, c, r))
REPLACE(returns_at_once, Iallgatherv,
        (const void *in, int n, MPI_Datatype d, void *out, const int *n_each, const int *at, MPI_Datatype e, MPI_Comm c,
         MPI_Request *r),
        (in, n, d, out, n_each, at, e, c, r))
REPLACE(returns_at_once, Ibcast, (void *p, int n, MPI_Datatype d, int root, MPI_Comm c, MPI_Request *r),
        (p, n, d, root, c, r))
REPLACE(returns_at_once, Igather,
        (const void *in, int n, MPI_Datatype d, void *out, int k, MPI_Datatype e, int root, MPI_Comm c, MPI_Request *r),
        (in, n, d, out, k, e, root, c, r))

REPLACE(may_wait, Wait, (MPI_Request * r, MPI_Status *s), (r, s))
REPLACE(may_wait, Waitall, (int n, MPI_Request *r, MPI_Status *s), (n, r, s))
REPLACE(may_wait, Send, (const void *p, int n, MPI_Datatype d, int to, int tag, MPI_Comm c), (p, n, d, to, tag, c))
REPLACE(may_wait, Ssend, (const void *p, int n, MPI_Datatype d, int to, int tag, MPI_Comm c), (p, n, d, to, tag, c))
REPLACE(may_wait, Recv, (void *p, int n, MPI_Datatype d, int from, int tag, MPI_Comm c, MPI_Status *s),
        (p, n, d, from, tag, c, s))
REPLACE(may_wait, Sendrecv,
        (const void *p, int n, MPI_Datatype d, int to, int tag, void *q, int k, MPI_Datatype e, int from, int tag_in,
         MPI_Comm c, MPI_Status *s),
        (p, n, d, to, tag, q, k, e, from, tag_in, c, s))
REPLACE(may_wait, Mrecv, (void *p, int n, MPI_Datatype d, MPI_Message *m, MPI_Status *s), (p, n, d, m, s))
REPLACE(may_wait, Probe, (int from, int tag, MPI_Comm c, MPI_Status *s), (from, tag, c, s))
REPLACE(may_wait, Mprobe, (int from, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s), (from, tag, c, m, s))
REPLACE(may_wait, Barrier, (MPI_Comm c), (c))
REPLACE(may_wait, Bcast, (void *p, int n, MPI_Datatype d, int root, MPI_Comm c), (p, n, d, root, c))
REPLACE(may_wait, Allreduce, (const void *in, void *out, int n, MPI_Datatype d, MPI_Op op, MPI_Comm c),
        (in, out, n, d, op, c))
REPLACE(may_wait, Reduce, (const void *in, void *out, int n, MPI_Datatype d, MPI_Op op, int root, MPI_Comm c),
        (in, out, n, d, op, root, c))
REPLACE(may_wait, Reduce_scatter, (const void *in, void *out, const int *n_each, MPI_Datatype d, MPI_Op op, MPI_Comm c),
        (in, out, n_each, d, op, c))
REPLACE(may_wait, Allgatherv,
        (const void *in, int n, MPI_Datatype d, void *out, const int *n_each, const int *at, MPI_Datatype e,
         MPI_Comm c),
        (in, n, d, out, n_each, at, e, c))
REPLACE(may_wait, Allgather, (const void *in, int n, MPI_Datatype d, void *out, int k, MPI_Datatype e, MPI_Comm c),
        (in, n, d, out, k, e, c))
REPLACE(may_wait, Gather,
        (const void *in, int n, MPI_Datatype d, void *out, int k, MPI_Datatype e, int root, MPI_Comm c),
        (in, n, d, out, k, e, root, c))
REPLACE(may_wait, Comm_dup, (MPI_Comm c, MPI_Comm *out), (c, out))
REPLACE(may_wait, Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *out), (c, color, key, out))
REPLACE(may_wait, Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *out),
        (c, type, key, info, out))

/* Of waits that end by themselves: it only ends a hang. */
enum { LIMIT_MS = 120000 };
#define LIMIT_NS (LIMIT_MS * UINT64_C(1000000))

static enum rc wait_to_end(struct world *w, void *arg)
{
    (void)w;
    return event_wait(arg, LIMIT_NS);
}

/* Collectives of a rank one of whose tasks runs: K5 lets the main task make them. */
static int collectives_beside_a_task(struct world *w)
{
    int *all = calloc((size_t)w->n_ranks, sizeof *all), n_failures = 0;
    struct transport *t = NULL;
    struct event *end = NULL;
    struct task *task = NULL;
    enum rc rc;

    TRY(event_open(&end, w, "end"));
    TRY(world_spawn(&task, w, &(struct task_opts){ .name = "idle", .fn = wait_to_end, .arg = end }));
    TRY(transport_open(&t, &transport_mpi, w));
    transport_close(&t);
    TRY(world_barrier(w));
    TRY(world_allgather(w, &w->rank, all, sizeof *all));
    for (int r = 0; all && r < w->n_ranks; r++)
        n_failures += all[r] != r;
    TRY(world_gather(w, &w->rank, all, sizeof *all));
out:
    if (end)
        event_post(end);
    n_failures += rc != RC_OK;
    n_failures += world_join(&task) != RC_OK;
    event_close(&end);
    free(all);
    return n_failures;
}

/* MPI's own collectives: sums, chunks of sums, all chunks and a broadcast, of arrays of one call and of several. */
static enum rc use_collectives(struct world *w, struct mpi_collective *m)
{
    enum { N = 10 };
    const struct range own = range_part(N, w->n_ranks, w->rank);
    const float sum = (float)(w->n_ranks * (w->n_ranks + 1) / 2);
    float data[N];
    enum rc rc;

    for (int i = 0; i < N; i++)
        data[i] = (float)(w->rank + 1);
    TRY(mpi_collective_reduce_scatter(m, data, N));
    for (size_t i = own.offset_elems; i < own.offset_elems + own.n_elems; i++)
        data[i] += (float)i;
    TRY(mpi_collective_allgather(m, data, N));
    TRY(mpi_collective_allreduce(m, NULL, data, N));
    if (w->rank != w->n_ranks - 1)
        memset(data, 0, sizeof data);
    TRY(mpi_collective_broadcast(m, data, N, w->n_ranks - 1));
    for (int i = 0; i < N; i++)
        if (data[i] != (float)w->n_ranks * (sum + (float)i))
            return rc_raise(RC_MISMATCH, "element %d is %g", i, (double)data[i]);
out:
    return rc;
}

struct held { /* a task that waits for `begin` */
    struct mpi_collective *m;
    struct event *begin;
};

static enum rc use_in_task(struct world *w, void *arg)
{
    struct held *h = arg;
    enum rc rc;

    TRY(event_wait(h->begin, LIMIT_NS));
    TRY(use_collectives(w, h->m));
out:
    return rc;
}

/* Both forms by the main task alone; beside a task the blocking one is refused, and the other is that task's. */
static int vendors_collectives(struct world *w, size_t most_elems)
{
    struct transport *t = NULL;
    struct mpi_collective *blocking = NULL;
    struct held other = { NULL, NULL };
    struct task *task = NULL;
    float data = 1;
    int n_failures = 0;
    enum rc rc;

    TRY(transport_open(&t, &transport_mpi, w));
    struct mpi_collective_env env = {
        .transport = t, .is_blocking = true, .timeout_ms = LIMIT_MS, .most_elems = most_elems
    };
    TRY(mpi_collective_open(&blocking, &env));
    env.is_blocking = false;
    TRY(mpi_collective_open(&other.m, &env));
    TRY(use_collectives(w, blocking));
    TRY(use_collectives(w, other.m));
    TRY(event_open(&other.begin, w, "begin"));
    TRY(world_spawn(&task, w, &(struct task_opts){ .name = "collectives", .fn = use_in_task, .arg = &other }));
    n_failures += mpi_collective_allreduce(blocking, NULL, &data, 1) != RC_INVAL;
    event_post(other.begin);
    TRY(world_join(&task));
    TRY(use_collectives(w, blocking));
out:
    if (rc != RC_OK)
        fprintf(stderr, "MPI's collectives: %s: %s\n", rc_name(rc), rc_message());
    event_close(&other.begin);
    mpi_collective_close(&blocking);
    mpi_collective_close(&other.m);
    transport_close(&t);
    return n_failures + (rc != RC_OK);
}

static enum rc body(struct world *w, void *arg)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    pthread_mutexattr_t attr;
    int *n_failures = arg;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_destroy(&lock->mutex);
    pthread_mutex_init(&lock->mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    tasks = w->tasks;
    checked = lock;
    *n_failures += world_suite(w, NULL);
    *n_failures += transport_suite(w, &transport_mpi);
    *n_failures += collectives_beside_a_task(w);
    for (size_t most_elems = 10; !world_mpi_is_attached(w) && most_elems > 0; most_elems /= 4)
        *n_failures += vendors_collectives(w, most_elems);
    checked = NULL;
    return RC_OK;
}

int main(int argc, char **argv)
{
    const bool is_attached = argc == 2 && strcmp(argv[1], "attached") == 0;
    const MPI_Comm all = MPI_COMM_WORLD;
    const struct world_opts opts = { .has_tasks = true, .mpi_comm = is_attached ? &all : NULL };
    int n_failures = 0, level;

    if (is_attached)
        PMPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    const enum rc rc = world_run(&world_mpi, &opts, 0, body, &n_failures);
    if (is_attached)
        PMPI_Finalize();

    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    fprintf(stderr, "%d calls of MPI, %d wrong\n", atomic_load(&n_calls), atomic_load(&n_wrong));
    return rc != RC_OK || n_failures > 0 || atomic_load(&n_wrong) > 0 || atomic_load(&n_calls) < 1000;
}
