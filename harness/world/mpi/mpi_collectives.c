/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_collectives.c - the collectives of an mpi world: MPI's nonblocking ones, polled with a backoff. A rank that waits
 * sleeps, and leaves its core to the ranks that work.
 */
#include <mpi.h>
#include <stdlib.h>

#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_p2p.h"
#include "harness/world/mpi/mpi_world.h"
#include "harness/world/mpi/world_mpi.h"
#include "harness/world/process/process_peers.h"

enum { MAX_SLEEP_NS = 1000000 };

/* At most this many bytes of each rank per MPI call: MPI counts in int. */
#define PIECE_BYTES ((size_t)1 << 26)

static struct mpi_world *self(struct world *w)
{
    return (struct mpi_world *)w;
}

enum rc world_mpi_finish(const struct world *w, MPI_Request *request)
{
    struct backoff backoff = { .may_spin = world_may_spin(w) };
    struct mpi_lock *lock = world_mpi_lock(w);
    struct world *m = (struct world *)w; /* a tick changes nothing of it */
    int done = 0;
    enum rc rc = RC_OK;

    for (;;) {
        TRY_MPI(lock, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        world_tick(m);
        TRY(process_peers_check(self(m)->self->peers));
        TRY(world_check_losses(w));            /* world.W8 */
        if (!self(m)->self->attach)            /* else MPI ends what it began, or the run could not end (world.M3) */
            TRY(thread_tasks_check(w->tasks)); /* world.K4 */
        mpi_lock_pause(lock, &backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

void world_mpi_type_free(const struct world *w, MPI_Datatype *type)
{
    struct mpi_lock *lock = world_mpi_lock(w);

    mpi_lock_take(lock);
    if (*type != MPI_DATATYPE_NULL)
        MPI_Type_free(type);
    mpi_lock_give(lock);
}

enum rc mpi_barrier(struct world *w)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    MPI_Request request;
    enum rc rc;

    if (mpi_is_p2p(w))
        return mpi_p2p_gather(w, NULL, NULL, 0, true);
    TRY_MPI(lock, MPI_Ibarrier(self(w)->comm, &request));
    TRY(world_mpi_finish(w, &request));
out:
    return rc;
}

/* The type of one rank's n_bytes in a buffer where those of the next rank begin stride_bytes later. */
static enum rc strided_type(const struct world *w, MPI_Datatype *out, size_t n_bytes, size_t stride_bytes)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    MPI_Datatype bytes = MPI_DATATYPE_NULL;
    enum rc rc = RC_OK;

    TRY_MPI(lock, MPI_Type_contiguous((int)n_bytes, MPI_BYTE, &bytes));
    TRY_MPI(lock, MPI_Type_create_resized(bytes, 0, (MPI_Aint)stride_bytes, out));
    TRY_MPI(lock, MPI_Type_commit(out));
out:
    world_mpi_type_free(w, &bytes);
    return rc;
}

/* out: (n_ranks, n_bytes_each), on all ranks; to_all false: on rank 0 only. */
static enum rc gather_pieces(struct world *w, const void *in, void *out, size_t n_bytes_each, bool to_all)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request request;
    enum rc rc = RC_OK;

    if (mpi_is_p2p(w))
        return mpi_p2p_gather(w, in, out, n_bytes_each, to_all);
    for (size_t offset_bytes = 0; offset_bytes < n_bytes_each; offset_bytes += PIECE_BYTES) {
        const size_t n_left = n_bytes_each - offset_bytes, n_bytes = n_left < PIECE_BYTES ? n_left : PIECE_BYTES;
        const char *from = (const char *)in + offset_bytes;
        char *to = out ? (char *)out + offset_bytes : NULL;

        TRY(strided_type(w, &type, n_bytes, n_bytes_each));
        if (to_all)
            TRY_MPI(lock, MPI_Iallgather(from, (int)n_bytes, MPI_BYTE, to, 1, type, self(w)->comm, &request));
        else
            TRY_MPI(lock, MPI_Igather(from, (int)n_bytes, MPI_BYTE, to, 1, type, 0, self(w)->comm, &request));
        TRY(world_mpi_finish(w, &request));
        world_mpi_type_free(w, &type);
    }
out:
    world_mpi_type_free(w, &type);
    return rc;
}

enum rc mpi_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return gather_pieces(w, in, out, n_bytes_each, true);
}

enum rc mpi_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return gather_pieces(w, in, w->rank == 0 ? out : NULL, n_bytes_each, false);
}

enum rc mpi_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    enum rc rc = RC_OK;

    if (mpi_is_p2p(w))
        return mpi_p2p_broadcast(w, bytes, n_bytes);
    for (size_t offset_bytes = 0; offset_bytes < n_bytes; offset_bytes += PIECE_BYTES) {
        const size_t n_left = n_bytes - offset_bytes, n_now = n_left < PIECE_BYTES ? n_left : PIECE_BYTES;
        MPI_Request request;

        TRY_MPI(lock, MPI_Ibcast((char *)bytes + offset_bytes, (int)n_now, MPI_BYTE, 0, self(w)->comm, &request));
        TRY(world_mpi_finish(w, &request));
    }
out:
    return rc;
}
