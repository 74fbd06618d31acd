/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_p2p.c - collectives as messages to rank 0 and back; the contract is in mpi_p2p.h. */
#include "harness/world/mpi/mpi_p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/mpi/mpi_attach.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_world.h"
#include "harness/world/process/process_peers.h"
#include "harness/world/wait.h"

/* At most this many bytes per message. */
#define PIECE_BYTES ((size_t)1 << 26)
#define MAX_SLEEP_NS UINT64_C(1000000)
/* UNTIL_FAILURE_IS_OLD: longer than a loss takes to be known to all. */
#define GRACE_NS UINT64_C(2000000000)

struct piece { /* world.M1; with ON_LOSS_REPORT likewise, but it is kept until the process ends */
    struct mpi_left left;
    unsigned char bytes[];
};

struct line { /* to one rank */
    struct mpi_attach *attach;
    struct mpi_lock *lock;
    struct world *w; /* NULL: after the body, in a caller's MPI */
    MPI_Comm comm;
    int peer;    /* of w */
    int to, tag; /* of comm */
};

struct answer { /* to a rank that came to a meeting */
    int is_on;  /* all ranks are there */
    struct mpi_failure failure;
};

static struct mpi_world *self(const struct world *w)
{
    return (struct mpi_world *)w;
}

bool mpi_is_p2p(const struct world *w)
{
    return self(w)->self->attach || w->on_loss == ON_LOSS_REPORT;
}

static struct line line_to(struct world *w, int peer, enum mpi_p2p_tag tag)
{
    const struct mpi_world *m = self(w);

    return (struct line){ .attach = m->self->attach,
                          .lock = &m->self->lock,
                          .w = w,
                          .comm = m->comm,
                          .peer = peer,
                          .to = m->comm_rank && peer >= 0 ? m->comm_rank[peer] : peer,
                          .tag = m->first_tag + (int)tag };
}

/* RC_OK while a wait may still end well. */
static enum rc check(const struct line *l, enum mpi_p2p_until until)
{
    enum rc rc = RC_OK;

    if (l->attach && until != UNTIL_FAILURE)
        return RC_OK;
    if (until != UNTIL_PEER_LOST)
        TRY(thread_tasks_check(l->w->tasks)); /* world.K4 */
    if (l->attach)
        return mpi_attach_check(l->attach);
    world_tick(l->w);
    TRY(process_peers_check(self(l->w)->self->peers));
    if (until != UNTIL_PEER_LOST)
        TRY(world_check_losses(l->w));
    else if (world_is_lost(l->w, l->peer))
        rc = world_raise_loss(l->w, l->peer);
out:
    return rc;
}

/* MPI has a request of p that is given up. In a caller's MPI a receive is cancelled, unless its message has come; a
 * send cannot be. Else nothing is asked of MPI about a rank that may be lost. */
static void give_up(const struct line *l, struct piece *p, bool receives)
{
    if (!l->attach)
        return;
    if (receives) {
        mpi_lock_take(l->lock);
        (void)MPI_Cancel(&p->left.request);
        mpi_lock_give(l->lock);
    }
    mpi_attach_leave(l->attach, &p->left);
}

/* RC_TIMEOUT: the other side does not come (world_opts.timeout_ms). */
static enum rc check_limit(const struct line *l, uint64_t started_ns)
{
    const uint64_t limit_ns = l->attach ? l->attach->limit_ns : 0;

    if (limit_ns == 0 || wait_clock_ns() - started_ns <= limit_ns)
        return RC_OK;
    return rc_raise(RC_TIMEOUT, "rank %d did not come within %.6g s", l->peer, 1e-9 * (double)limit_ns);
}

static enum rc wait_for(const struct line *l, MPI_Request *request, enum mpi_p2p_until until)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { .may_spin = false };
    uint64_t failed_ns = 0;
    int done = 0;
    enum rc rc = RC_OK;

    for (;;) {
        TRY_MPI(l->lock, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        rc = check(l, until);
        if (rc != RC_OK && failed_ns == 0)
            failed_ns = wait_clock_ns();
        if (rc != RC_OK && (until != UNTIL_FAILURE_IS_OLD || wait_clock_ns() - failed_ns > GRACE_NS))
            goto out;
        if (until == UNTIL_FAILURE)
            TRY(check_limit(l, started_ns));
        mpi_lock_pause(l->lock, &backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

static enum rc send_piece(const struct line *l, const void *bytes, size_t n_bytes, enum mpi_p2p_until until)
{
    struct piece *p = calloc(1, sizeof *p + n_bytes);
    enum rc rc = RC_OK;

    if (!p)
        FAIL(RC_NOMEM, "no memory to send %zu bytes", n_bytes);
    if (n_bytes > 0)
        memcpy(p->bytes, bytes, n_bytes);
    p->left.request = MPI_REQUEST_NULL;
    TRY_MPI(l->lock, MPI_Issend(p->bytes, (int)n_bytes, MPI_BYTE, l->to, l->tag, l->comm, &p->left.request));
    TRY(wait_for(l, &p->left.request, until));
out:
    if (p && p->left.request != MPI_REQUEST_NULL)
        give_up(l, p, false);
    else
        free(p);
    return rc;
}

static enum rc recv_piece(const struct line *l, void *bytes, size_t n_bytes, enum mpi_p2p_until until)
{
    struct piece *p = calloc(1, sizeof *p + n_bytes);
    enum rc rc = RC_OK;

    if (!p)
        FAIL(RC_NOMEM, "no memory to receive %zu bytes", n_bytes);
    p->left.request = MPI_REQUEST_NULL;
    TRY_MPI(l->lock, MPI_Irecv(p->bytes, (int)n_bytes, MPI_BYTE, l->to, l->tag, l->comm, &p->left.request));
    TRY(wait_for(l, &p->left.request, until));
    if (n_bytes > 0)
        memcpy(bytes, p->bytes, n_bytes);
out:
    if (p && p->left.request != MPI_REQUEST_NULL)
        give_up(l, p, true);
    else
        free(p);
    return rc;
}

/* The message of rank l->to, if it has come; *came_from: whose it was. */
static enum rc try_recv_piece(const struct line *l, void *bytes, size_t n_bytes, bool *came, int *came_from)
{
    MPI_Request request;
    MPI_Message matched;
    MPI_Status status;
    int found = 0;
    struct piece *p = NULL;
    enum rc rc = RC_OK;

    *came = false;
    TRY_MPI(l->lock, MPI_Improbe(l->to, l->tag, l->comm, &found, &matched, &status));
    if (!found)
        return RC_OK;
    p = calloc(1, sizeof *p + n_bytes);
    if (!p)
        FAIL(RC_NOMEM, "no memory to receive %zu bytes", n_bytes);
    *came_from = status.MPI_SOURCE;
    TRY_MPI(l->lock, MPI_Imrecv(p->bytes, (int)n_bytes, MPI_BYTE, &matched, &request));
    p->left.request = request;
    TRY(wait_for(l, &p->left.request, UNTIL_PEER_LOST));
    if (n_bytes > 0)
        memcpy(bytes, p->bytes, n_bytes);
    *came = true;
    free(p);
out:
    return rc; /* on errors p may still be MPI's */
}

enum rc mpi_p2p_finish(struct mpi_attach *a, MPI_Request *request)
{
    const struct line l = { .attach = a, .lock = a->lock };

    return wait_for(&l, request, UNTIL_PEER_LOST);
}

enum rc mpi_p2p_send(struct world *w, const void *bytes, size_t n_bytes, int to, enum mpi_p2p_tag tag,
                     enum mpi_p2p_until until)
{
    const struct line l = line_to(w, to, tag);

    return send_piece(&l, bytes, n_bytes, until);
}

enum rc mpi_p2p_recv(struct world *w, void *bytes, size_t n_bytes, int from, enum mpi_p2p_tag tag,
                     enum mpi_p2p_until until)
{
    const struct line l = line_to(w, from, tag);

    return recv_piece(&l, bytes, n_bytes, until);
}

enum rc mpi_p2p_try_recv(struct world *w, void *bytes, size_t n_bytes, int from, enum mpi_p2p_tag tag, bool *came)
{
    const struct line l = line_to(w, from, tag);
    int came_from;

    return try_recv_piece(&l, bytes, n_bytes, came, &came_from);
}

/* --- gather and release ------------------------------------------------------------------------------------------- */

/* The length of the message that begins at offset_bytes of n_bytes. */
static size_t piece_bytes(size_t n_bytes, size_t offset_bytes)
{
    return n_bytes - offset_bytes < PIECE_BYTES ? n_bytes - offset_bytes : PIECE_BYTES;
}

/* n_bytes as one message or more. */
static enum rc send_all(struct world *w, const void *bytes, size_t n_bytes, int to, enum mpi_p2p_tag tag)
{
    const struct line l = line_to(w, to, tag);
    size_t offset_bytes = 0;
    enum rc rc;

    do {
        const size_t n_now = piece_bytes(n_bytes, offset_bytes);
        TRY(send_piece(&l, (const char *)bytes + offset_bytes, n_now, UNTIL_FAILURE));
        offset_bytes += n_now;
    } while (offset_bytes < n_bytes);
out:
    return rc;
}

static enum rc recv_all(struct world *w, void *bytes, size_t n_bytes, int from, enum mpi_p2p_tag tag)
{
    const struct line l = line_to(w, from, tag);
    size_t offset_bytes = 0;
    enum rc rc;

    do {
        const size_t n_now = piece_bytes(n_bytes, offset_bytes);
        TRY(recv_piece(&l, (char *)bytes + offset_bytes, n_now, UNTIL_FAILURE));
        offset_bytes += n_now;
    } while (offset_bytes < n_bytes);
out:
    return rc;
}

/* No collective begins after a failure, or a loss in w. */
static enum rc check_all(struct world *w)
{
    const struct line l = line_to(w, -1, TAG_GATHER);

    return check(&l, UNTIL_FAILURE);
}

enum rc mpi_p2p_gather(struct world *w, const void *in, void *out, size_t n_bytes_each, bool to_all)
{
    const size_t n_all_bytes = (size_t)w->n_ranks * n_bytes_each;
    enum rc rc;

    TRY(check_all(w));
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

enum rc mpi_p2p_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    enum rc rc;

    TRY(check_all(w));
    if (w->rank > 0)
        TRY(recv_all(w, bytes, n_bytes, 0, TAG_RELEASE));
    for (int r = 1; w->rank == 0 && r < w->n_ranks; r++)
        TRY(send_all(w, bytes, n_bytes, r, TAG_RELEASE));
out:
    return rc;
}

/* --- meetings (world.M4)
 * ------------------------------------------------------------------------------------------------ */

static enum rc give_answer(const struct line *to, bool is_on)
{
    struct answer answer = { .is_on = is_on, .failure.rank = -1 };

    if (to->attach && atomic_load(&to->attach->failed))
        answer.failure = to->attach->first;
    return send_piece(to, &answer, sizeof answer, UNTIL_PEER_LOST);
}

enum rc mpi_p2p_refuse_meeting(struct mpi_attach *a, MPI_Comm comm)
{
    struct line l = { .attach = a, .lock = a->lock, .comm = comm, .to = MPI_ANY_SOURCE, .tag = TAG_MEET };
    bool came;
    enum rc rc;

    TRY(try_recv_piece(&l, NULL, 0, &came, &l.to));
    l.tag = TAG_ANSWER;
    if (came)
        TRY(give_answer(&l, false));
out:
    return rc;
}

/* Rank 0: wait for the others until a rank fails. *n_came := how many there were, of ranks 1 and up. */
static enum rc await_others(struct world *w, int *n_came)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { .may_spin = false };
    bool came;
    enum rc rc;

    TRY(check_all(w));
    while (*n_came < w->n_ranks - 1) {
        TRY(mpi_p2p_try_recv(w, NULL, 0, *n_came + 1, TAG_MEET, &came));
        if (came) {
            ++*n_came;
            continue;
        }
        const struct line next = line_to(w, *n_came + 1, TAG_MEET);
        TRY(check_limit(&next, started_ns));
        TRY(check_all(w));
        mpi_lock_pause(&self(w)->self->lock, &backoff, MAX_SLEEP_NS);
    }
out:
    return rc;
}

/* Why a meeting does not take place. */
static enum rc raise_answer(struct world *w, const struct answer *answer)
{
    struct mpi_attach *a = self(w)->self->attach;
    enum rc rc;

    if (a && answer->failure.rank >= 0)
        mpi_attach_hear(a, &answer->failure);
    TRY(check_all(w));
    FAIL(RC_PEER, "rank 0 of %d has left the run, or knows of a rank that is lost", w->n_ranks);
out:
    return rc;
}

static enum rc answer_all(struct world *w, int n_came, enum rc met)
{
    char message[RC_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message, "%s", rc_message());
    for (int r = 1; r <= n_came; r++) {
        const struct line l = line_to(w, r, TAG_ANSWER);
        const enum rc rc = give_answer(&l, met == RC_OK);
        if (rc != RC_OK && !world_is_lost(w, r)) /* a lost one needs no answer, all others do */
            return rc;
    }
    return met == RC_OK ? RC_OK : rc_raise(met, "%s", message);
}

enum rc mpi_p2p_meet(struct world *w)
{
    struct answer answer;
    int n_came = 0;
    enum rc rc = RC_OK;

    if (w->rank == 0) {
        const enum rc met = await_others(w, &n_came);
        return answer_all(w, n_came, met);
    }
    TRY(mpi_p2p_send(w, NULL, 0, 0, TAG_MEET, UNTIL_FAILURE_IS_OLD)); /* rank 0 may already have accepted it */
    TRY(mpi_p2p_recv(w, &answer, sizeof answer, 0, TAG_ANSWER, UNTIL_PEER_LOST));
    if (!answer.is_on)
        rc = raise_answer(w, &answer);
out:
    return rc;
}
