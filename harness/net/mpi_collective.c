/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_collective.c - each operation as calls of MPI on pieces of the array; the contract is in mpi_collective.h. */
#include "harness/net/mpi_collective.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/range.h"
#include "harness/net/transport.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/world_mpi.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

/* As in transport_mpi.c: what is long moves only while this rank polls. */
enum { LONG_ELEMS = 16384, LONG_SLEEP_NS = 5000, SHORT_SLEEP_NS = 50000 };

struct mpi_collective {
    struct mpi_collective_env env;
    struct world *world;
    struct mpi_lock *lock;
    MPI_Comm comm;
    int *n_each, *at; /* [n_ranks]: elements of each rank's chunk, and its first one */
    enum rc failed;   /* net.X3 */
    char why[RC_MESSAGE_BYTES];
};

struct call { /* of MPI, on one piece of the array */
    const char *what;
    float *data;
    const float *input; /* of an allreduce: what this rank brings; NULL: data */
    int n_elems;
    int root;      /* of a reduction to one rank, and of a broadcast */
    int *n_each;   /* NULL: this piece has no chunks */
    const int *at; /* likewise */
};

/* --- open and close --- */

void mpi_collective_close(struct mpi_collective **m)
{
    if (!*m)
        return;
    if ((*m)->failed == RC_OK)
        world_mpi_comm_close((*m)->world, &(*m)->comm);
    free((*m)->n_each);
    free((*m)->at);
    free(*m);
    *m = NULL;
}

static enum rc check_world(const struct world *w)
{
    if (!world_is_mpi(w))
        return rc_raise(RC_UNSUPPORTED, "MPI's collectives: the ranks of world %s are not MPI's", w->ops->module.name);
    if (world_mpi_is_attached(w))
        return rc_raise(RC_UNSUPPORTED, "MPI's collectives: in a caller's MPI one that is given up would be left "
                                        "behind when a rank fails");
    if (w->on_loss == ON_LOSS_REPORT)
        return rc_raise(RC_UNSUPPORTED, "MPI's collectives: after the loss of a rank there are none among the others");
    return RC_OK;
}

enum rc mpi_collective_open(struct mpi_collective **out, const struct mpi_collective_env *env)
{
    struct world *w = env->transport->world;
    struct mpi_collective *m = NULL;
    enum rc rc;

    TRY(check_world(w));
    m = calloc(1, sizeof *m);
    if (!m)
        FAIL(RC_NOMEM, "MPI's collectives: no memory");
    *m = (struct mpi_collective){ .env = *env, .world = w, .lock = world_mpi_lock(w), .comm = MPI_COMM_NULL };
    m->n_each = calloc((size_t)w->n_ranks, sizeof *m->n_each);
    m->at = calloc((size_t)w->n_ranks, sizeof *m->at);
    if (!m->n_each || !m->at)
        FAIL(RC_NOMEM, "MPI's collectives: no memory for %d ranks", w->n_ranks);
    TRY(world_mpi_comms_open(w, &m->comm, 1));
    *out = m;
    m = NULL;
out:
    mpi_collective_close(&m);
    return rc;
}

/* --- one call --- */

/* L3 */
static enum rc check_alone(const struct mpi_collective *m)
{
    if (!m->env.is_blocking || atomic_load(&m->world->tasks->n_running) == 0)
        return RC_OK;
    return rc_raise(RC_INVAL, "MPI's blocking collectives: this rank has other tasks, which would have to wait");
}

static enum rc still_works(const struct mpi_collective *m)
{
    return m->failed == RC_OK ? RC_OK : rc_raise(m->failed, "%s", m->why);
}

/* net.X3 */
static enum rc remember(struct mpi_collective *m, enum rc rc)
{
    if (rc != RC_OK && m->failed == RC_OK) {
        m->failed = rc;
        snprintf(m->why, sizeof m->why, "%s", rc_message());
    }
    return rc;
}

static enum rc wait_for(struct mpi_collective *m, const struct call *c, MPI_Request *request)
{
    const uint64_t max_sleep_ns = c->n_elems > LONG_ELEMS ? LONG_SLEEP_NS : SHORT_SLEEP_NS;
    const uint64_t limit_ns = (uint64_t)m->env.timeout_ms * 1000000u, started_ns = limit_ns > 0 ? wait_clock_ns() : 0;
    struct backoff backoff = { .may_spin = world_may_spin(m->world) };
    int done = 0;
    enum rc rc;

    for (;;) {
        TRY_MPI(m->lock, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        TRY(transport_check(m->env.transport, -1)); /* net.T10 */
        TRY(world_check_losses(m->world));
        if (limit_ns > 0 && wait_clock_ns() - started_ns >= limit_ns)
            FAIL(RC_TIMEOUT, "%s of %d elements: not done after %d ms", c->what, c->n_elems, m->env.timeout_ms);
        mpi_lock_pause(m->lock, &backoff, max_sleep_ns);
    }
out:
    return rc;
}

/* One of the two; that which is only started has `request`, and is waited for. */
#define CALL_MPI(m, c, blocks, starts)     \
    do {                                   \
        MPI_Request request;               \
        if ((m)->env.is_blocking) {        \
            TRY_MPI_ALONE(blocks);         \
        } else {                           \
            TRY_MPI((m)->lock, starts);    \
            TRY(wait_for(m, c, &request)); \
        }                                  \
    } while (0)

static enum rc sum(struct mpi_collective *m, const struct call *c)
{
    const void *from = c->input ? c->input : MPI_IN_PLACE;
    enum rc rc = RC_OK;

    CALL_MPI(m, c, MPI_Allreduce(from, c->data, c->n_elems, MPI_FLOAT, MPI_SUM, m->comm),
             MPI_Iallreduce(from, c->data, c->n_elems, MPI_FLOAT, MPI_SUM, m->comm, &request));
out:
    return rc;
}

/* Rank r gets what becomes chunk r at the beginning of data. */
static enum rc sum_and_scatter(struct mpi_collective *m, const struct call *c)
{
    enum rc rc = RC_OK;

    CALL_MPI(m, c, MPI_Reduce_scatter(MPI_IN_PLACE, c->data, c->n_each, MPI_FLOAT, MPI_SUM, m->comm),
             MPI_Ireduce_scatter(MPI_IN_PLACE, c->data, c->n_each, MPI_FLOAT, MPI_SUM, m->comm, &request));
out:
    return rc;
}

/* The sums to the root alone. */
static enum rc sum_to_root(struct mpi_collective *m, const struct call *c)
{
    const void *from = m->world->rank == c->root ? MPI_IN_PLACE : c->data;
    enum rc rc = RC_OK;

    CALL_MPI(m, c, MPI_Reduce(from, c->data, c->n_elems, MPI_FLOAT, MPI_SUM, c->root, m->comm),
             MPI_Ireduce(from, c->data, c->n_elems, MPI_FLOAT, MPI_SUM, c->root, m->comm, &request));
out:
    return rc;
}

static enum rc gather(struct mpi_collective *m, const struct call *c)
{
    enum rc rc = RC_OK;

    CALL_MPI(
        m, c, MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->data, c->n_each, c->at, MPI_FLOAT, m->comm),
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->data, c->n_each, c->at, MPI_FLOAT, m->comm, &request));
out:
    return rc;
}

static enum rc send_to_all(struct mpi_collective *m, const struct call *c)
{
    enum rc rc = RC_OK;

    CALL_MPI(m, c, MPI_Bcast(c->data, c->n_elems, MPI_FLOAT, c->root, m->comm),
             MPI_Ibcast(c->data, c->n_elems, MPI_FLOAT, c->root, m->comm, &request));
out:
    return rc;
}

/* --- calls on an array of any length (net.X2) --- */

typedef enum rc call_fn(struct mpi_collective *m, const struct call *c);

/* `whole` without data and n_elems; part: of data. */
static enum rc call_pieces(struct mpi_collective *m, call_fn *fn, const struct call *whole, float *data,
                           struct range part)
{
    struct call piece = *whole;
    enum rc rc = RC_OK;

    for (size_t done = 0; done < part.n_elems; done += (size_t)piece.n_elems) {
        const size_t n_left = part.n_elems - done;
        piece.data = data + part.offset_elems + done;
        piece.input = whole->input ? whole->input + part.offset_elems + done : NULL;
        piece.n_elems = (int)(n_left < m->env.most_elems ? n_left : m->env.most_elems);
        TRY(fn(m, &piece));
    }
out:
    return rc;
}

/* Chunk r by a call whose root is rank r. */
static enum rc call_chunks(struct mpi_collective *m, call_fn *fn, const char *what, float *data, size_t n_elems)
{
    struct call c = { .what = what };
    enum rc rc = RC_OK;

    for (c.root = 0; c.root < m->world->n_ranks; c.root++)
        TRY(call_pieces(m, fn, &c, data, range_part(n_elems, m->world->n_ranks, c.root)));
out:
    return rc;
}

/* All chunks of an array that is no longer than a call may be. */
static struct call call_of_chunks(struct mpi_collective *m, const char *what, float *data, size_t n_elems)
{
    for (int r = 0; r < m->world->n_ranks; r++) {
        const struct range chunk = range_part(n_elems, m->world->n_ranks, r);
        m->n_each[r] = (int)chunk.n_elems;
        m->at[r] = (int)chunk.offset_elems;
    }
    return (struct call){ .what = what, .data = data, .n_elems = (int)n_elems, .n_each = m->n_each, .at = m->at };
}

static enum rc begin(const struct mpi_collective *m)
{
    enum rc rc;

    TRY(still_works(m));
    TRY(check_alone(m));
out:
    return rc;
}

enum rc mpi_collective_allreduce(struct mpi_collective *m, const float *input, float *data, size_t n_elems)
{
    const struct call c = { .what = "MPI's allreduce", .input = input };
    enum rc rc;

    TRY(begin(m));
    TRY(remember(m, call_pieces(m, sum, &c, data, (struct range){ 0, n_elems })));
out:
    return rc;
}

enum rc mpi_collective_reduce_scatter(struct mpi_collective *m, float *data, size_t n_elems)
{
    static const char what[] = "MPI's reduce-scatter";
    const struct range own = range_part(n_elems, m->world->n_ranks, m->world->rank);
    enum rc rc;

    TRY(begin(m));
    if (n_elems > m->env.most_elems)
        return remember(m, call_chunks(m, sum_to_root, what, data, n_elems));
    const struct call c = call_of_chunks(m, what, data, n_elems);
    if (n_elems > 0)
        TRY(remember(m, sum_and_scatter(m, &c)));
    memmove(data + own.offset_elems, data, own.n_elems * sizeof *data);
out:
    return rc;
}

enum rc mpi_collective_allgather(struct mpi_collective *m, float *data, size_t n_elems)
{
    static const char what[] = "MPI's allgather";
    enum rc rc;

    TRY(begin(m));
    if (n_elems > m->env.most_elems)
        return remember(m, call_chunks(m, send_to_all, what, data, n_elems));
    const struct call c = call_of_chunks(m, what, data, n_elems);
    if (n_elems > 0)
        TRY(remember(m, gather(m, &c)));
out:
    return rc;
}

enum rc mpi_collective_broadcast(struct mpi_collective *m, float *data, size_t n_elems, int root)
{
    const struct call c = { .what = "MPI's broadcast", .root = root };
    enum rc rc;

    TRY(begin(m));
    TRY(remember(m, call_pieces(m, send_to_all, &c, data, (struct range){ 0, n_elems })));
out:
    return rc;
}
