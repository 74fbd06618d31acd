/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_attach_collectives.c - the collectives of a world in a caller's MPI: messages to rank 0 and back, one at a time.
 * MPI's own collectives cannot be given up half-way, which a rank must when another one fails.
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/mpi/mpi_attach.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_world.h"

enum { TAG_GATHER = 1, TAG_RELEASE, TAG_MEET, TAG_ANSWER };

enum wait { UNTIL_FAILURE, WHATEVER_FAILS };

/* At most this many bytes per message. */
#define PIECE_BYTES ((size_t)1 << 26)
#define MAX_SLEEP_NS UINT64_C(1000000)

struct piece { /* M1 */
    struct mpi_left left;
    unsigned char bytes[];
};

struct answer { /* to a rank that came to a meeting */
    int is_on;  /* all ranks are there */
    struct mpi_failure failure;
};

static struct mpi_attach *attach_of(const struct world *w)
{
    return ((const struct mpi_world *)w)->self->attach;
}

/* MPI has a request of p that is given up: a receive is cancelled, unless its message has come; a send cannot be. */
static void give_up(struct mpi_attach *a, struct piece *p, bool receives)
{
    if (receives) {
        mpi_lock_take(a->lock);
        (void)MPI_Cancel(&p->left.request);
        mpi_lock_give(a->lock);
    }
    mpi_attach_leave(a, &p->left);
}

static enum rc wait_for(struct mpi_attach *a, MPI_Request *request, enum wait until)
{
    struct backoff backoff = { .may_spin = false };
    int done = 0;
    enum rc rc = RC_OK;

    for (;;) {
        TRY_MPI(a->lock, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        if (until == UNTIL_FAILURE)
            TRY(mpi_attach_check(a));
        mpi_lock_pause(a->lock, &backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

static enum rc send_piece(struct mpi_attach *a, MPI_Comm comm, const void *bytes, size_t n_bytes, int to, int tag,
                          enum wait until)
{
    struct piece *p = calloc(1, sizeof *p + n_bytes);
    enum rc rc = RC_OK;

    if (!p)
        FAIL(RC_NOMEM, "no memory to send %zu bytes", n_bytes);
    if (n_bytes > 0)
        memcpy(p->bytes, bytes, n_bytes);
    p->left.request = MPI_REQUEST_NULL;
    TRY_MPI(a->lock, MPI_Issend(p->bytes, (int)n_bytes, MPI_BYTE, to, tag, comm, &p->left.request));
    TRY(wait_for(a, &p->left.request, until));
out:
    if (p && p->left.request != MPI_REQUEST_NULL)
        give_up(a, p, false);
    else
        free(p);
    return rc;
}

static enum rc recv_piece(struct mpi_attach *a, MPI_Comm comm, void *bytes, size_t n_bytes, int from, int tag,
                          enum wait until)
{
    struct piece *p = calloc(1, sizeof *p + n_bytes);
    enum rc rc = RC_OK;

    if (!p)
        FAIL(RC_NOMEM, "no memory to receive %zu bytes", n_bytes);
    p->left.request = MPI_REQUEST_NULL;
    TRY_MPI(a->lock, MPI_Irecv(p->bytes, (int)n_bytes, MPI_BYTE, from, tag, comm, &p->left.request));
    TRY(wait_for(a, &p->left.request, until));
    if (n_bytes > 0)
        memcpy(bytes, p->bytes, n_bytes);
out:
    if (p && p->left.request != MPI_REQUEST_NULL)
        give_up(a, p, true);
    else
        free(p);
    return rc;
}

/* --- gather and release ------------------------------------------------------------------------------------------- */

/* The length of the message that begins at offset_bytes of n_bytes. */
static size_t piece_bytes(size_t n_bytes, size_t offset_bytes)
{
    return n_bytes - offset_bytes < PIECE_BYTES ? n_bytes - offset_bytes : PIECE_BYTES;
}

/* n_bytes as one message or more. */
static enum rc send_all(struct world *w, const void *bytes, size_t n_bytes, int to, int tag)
{
    size_t offset_bytes = 0;
    enum rc rc;

    do {
        const size_t n_now = piece_bytes(n_bytes, offset_bytes);
        TRY(send_piece(attach_of(w), ((struct mpi_world *)w)->comm, (const char *)bytes + offset_bytes, n_now, to, tag,
                       UNTIL_FAILURE));
        offset_bytes += n_now;
    } while (offset_bytes < n_bytes);
out:
    return rc;
}

static enum rc recv_all(struct world *w, void *bytes, size_t n_bytes, int from, int tag)
{
    size_t offset_bytes = 0;
    enum rc rc;

    do {
        const size_t n_now = piece_bytes(n_bytes, offset_bytes);
        TRY(recv_piece(attach_of(w), ((struct mpi_world *)w)->comm, (char *)bytes + offset_bytes, n_now, from, tag,
                       UNTIL_FAILURE));
        offset_bytes += n_now;
    } while (offset_bytes < n_bytes);
out:
    return rc;
}

enum rc mpi_attach_gather(struct world *w, const void *in, void *out, size_t n_bytes_each, bool to_all)
{
    const size_t n_all_bytes = (size_t)w->n_ranks * n_bytes_each;
    enum rc rc;

    TRY(mpi_attach_check(attach_of(w)));
    if (w->rank > 0) {
        TRY(send_all(w, in, n_bytes_each, 0, TAG_GATHER));
        if (to_all)
            TRY(recv_all(w, out, n_all_bytes, 0, TAG_RELEASE));
        return RC_OK;
    }
    if (n_bytes_each > 0)
        memcpy(out, in, n_bytes_each);
    for (int r = 1; r < w->n_ranks; r++)
        TRY(recv_all(w, (char *)out + (size_t)r * n_bytes_each, n_bytes_each, r, TAG_GATHER));
    for (int r = 1; to_all && r < w->n_ranks; r++)
        TRY(send_all(w, out, n_all_bytes, r, TAG_RELEASE));
out:
    return rc;
}

enum rc mpi_attach_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    enum rc rc;

    TRY(mpi_attach_check(attach_of(w)));
    if (w->rank > 0)
        TRY(recv_all(w, bytes, n_bytes, 0, TAG_RELEASE));
    for (int r = 1; w->rank == 0 && r < w->n_ranks; r++)
        TRY(send_all(w, bytes, n_bytes, r, TAG_RELEASE));
out:
    return rc;
}

/* --- meetings (M4) ------------------------------------------------------------------------------------------------ */

/* Receive the request for a meeting of rank `from`, if it has come; *came. */
static enum rc accept_request(struct mpi_attach *a, MPI_Comm comm, int from, bool *came, int *came_from)
{
    MPI_Request request;
    MPI_Message matched;
    MPI_Status status;
    int found = 0;
    enum rc rc = RC_OK;

    TRY_MPI(a->lock, MPI_Improbe(from, TAG_MEET, comm, &found, &matched, &status));
    *came = found;
    if (!found)
        return RC_OK;
    *came_from = status.MPI_SOURCE;
    TRY_MPI(a->lock, MPI_Imrecv(NULL, 0, MPI_BYTE, &matched, &request));
    TRY(wait_for(a, &request, WHATEVER_FAILS));
out:
    return rc;
}

static enum rc give_answer(struct mpi_attach *a, MPI_Comm comm, int to, bool is_on)
{
    struct answer answer = { .is_on = is_on, .failure.rank = -1 };

    if (atomic_load(&a->failed))
        answer.failure = a->first;
    return send_piece(a, comm, &answer, sizeof answer, to, TAG_ANSWER, WHATEVER_FAILS);
}

enum rc mpi_attach_refuse_meeting(struct mpi_attach *a, MPI_Comm comm)
{
    bool came;
    int from;
    enum rc rc;

    TRY(accept_request(a, comm, MPI_ANY_SOURCE, &came, &from));
    if (came)
        TRY(give_answer(a, comm, from, false));
out:
    return rc;
}

/* Rank 0: wait for the others until a rank fails. *n_came := how many there were, of ranks 1 and up. */
static enum rc await_others(struct world *w, int *n_came)
{
    struct mpi_attach *a = attach_of(w);
    struct backoff backoff = { .may_spin = false };
    bool came;
    int from;
    enum rc rc;

    TRY(mpi_attach_check(a));
    while (*n_came < w->n_ranks - 1) {
        TRY(accept_request(a, ((struct mpi_world *)w)->comm, *n_came + 1, &came, &from));
        if (came) {
            ++*n_came;
            continue;
        }
        TRY(mpi_attach_check(a));
        mpi_lock_pause(a->lock, &backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

enum rc mpi_attach_meet(struct world *w)
{
    struct mpi_attach *a = attach_of(w);
    const MPI_Comm comm = ((struct mpi_world *)w)->comm;
    struct answer answer;
    int n_came = 0;
    enum rc rc = RC_OK;

    if (w->rank == 0) {
        const enum rc met = await_others(w, &n_came);
        for (int r = 1; r <= n_came; r++)
            TRY(give_answer(a, comm, r, met == RC_OK));
        return met;
    }
    TRY(send_piece(a, comm, NULL, 0, 0, TAG_MEET, WHATEVER_FAILS));
    TRY(recv_piece(a, comm, &answer, sizeof answer, 0, TAG_ANSWER, WHATEVER_FAILS));
    if (answer.is_on)
        return RC_OK;
    if (answer.failure.rank < 0)
        FAIL(RC_PEER, "rank 0 of %d has left the run", w->n_ranks);
    mpi_attach_hear(a, &answer.failure);
    TRY(mpi_attach_check(a));
out:
    return rc;
}
