/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_mpi.c - messages as MPI point-to-point messages, polled with a backoff.
 *
 * Two communicators of its own: one for messages with a named sender and tag, one for TAG_ANY
 * messages, so that neither kind can take the other's (net.T8). A posted xfer is one MPI request, kept
 * in a pooled struct op; lengths over INT_MAX travel as a derived type, still as one message. A header with a body
 * is put together before it is sent, and divided after it came, each by one copy into pooled memory: a derived type
 * would have to be made and freed for every message.
 *
 * MPI has no way to take back a send, nor a receive whose message has begun to arrive. A timed-out
 * xfer of that kind keeps its request until close. A send may then still be read by MPI, so its
 * memory must stay mapped until the group is aborted, which net.T6 asks for anyway. A receive would be
 * written to: if it does not end soon, the group is aborted here. In a caller's MPI nobody is killed, and with
 * ON_LOSS_REPORT nobody is waited for who is lost: there every message passes through pooled memory, one more copy on
 * each side, and such a request is left to the world with it (mpi_attach.h), or to MPI until the process ends.
 *
 * Calls of MPI pass the lock of the rank (mpi_lock.h): another task may own a transport of its own.
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/message_pool.h"
#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/world_mpi.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_mpi;

enum { CANCEL_LIMIT_MS = 2000 };

#define BLOCK_BYTES ((size_t)1 << 20)

/* The datatype and count for MPI, whose counts are int, to send n_bytes. *own is a new datatype, which the caller frees
 * (world_mpi_type_free()), or MPI_DATATYPE_NULL. RC_INVAL: too many bytes for one message. */
static enum rc mpi_datatype_of(const struct world *w, size_t n_bytes, MPI_Datatype *type, int *n_items,
                               MPI_Datatype *own)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    MPI_Datatype block = MPI_DATATYPE_NULL;
    enum rc rc = RC_OK;

    *own = MPI_DATATYPE_NULL;
    *type = MPI_BYTE;
    *n_items = (int)n_bytes;
    if (n_bytes <= INT_MAX)
        return RC_OK;
    const size_t n_blocks = n_bytes / BLOCK_BYTES;
    if (n_blocks > INT_MAX)
        return rc_raise(RC_INVAL, "transport mpi: %zu bytes are too many for one message", n_bytes);
    const int n_each[] = { (int)n_blocks, (int)(n_bytes % BLOCK_BYTES) };
    const MPI_Aint at[] = { 0, (MPI_Aint)(n_blocks * BLOCK_BYTES) };
    TRY_MPI(lock, MPI_Type_contiguous((int)BLOCK_BYTES, MPI_BYTE, &block));
    const MPI_Datatype of[] = { block, MPI_BYTE };
    TRY_MPI(lock, MPI_Type_create_struct(2, n_each, at, of, own));
    TRY_MPI(lock, MPI_Type_commit(own));
    *type = *own;
    *n_items = 1;
out:
    world_mpi_type_free(w, &block);
    return rc;
}

/* A long message moves only while both sides poll, piece by piece: there a long sleep costs bandwidth. */
enum { LONG_BYTES = 65536, LONG_SLEEP_NS = 5000, SHORT_SLEEP_NS = 50000 };

struct op {               /* one posted xfer; x->priv */
    struct mpi_left left; /* the request */
    size_t capacity_bytes;
    struct pooled *whole; /* header and body together, which MPI reads or writes; NULL: x's own memory */
    bool receives;
    int peer;
    struct op *next, *prev; /* in `posted`; next alone: in `free` or `stuck` */
};

struct mpi {
    struct transport base;
    struct mpi_lock *lock; /* of the rank */
    bool is_attached;      /* world_mpi_is_attached() */
    bool owns_memory;      /* world_mpi_owns_memory() */
    MPI_Comm named, any;
    uint32_t max_tag;
    struct op *posted, *free, *stuck;
    struct message_pool pool;
};

static struct mpi *self(struct transport *t)
{
    return (struct mpi *)t;
}

static void op_push(struct op **list, struct op *op)
{
    op->next = *list;
    *list = op;
}

static struct op *op_take(struct mpi *t)
{
    struct op *op = t->free;

    if (op)
        t->free = op->next;
    else
        op = malloc(sizeof *op);
    return op;
}

/* MPI needs op's memory no longer. */
static void op_end(struct mpi *t, struct op *op)
{
    if (op->whole)
        pooled_give(&t->pool, op->whole);
    op->whole = NULL;
    op_push(&t->free, op);
}

static void op_set_posted(struct mpi *t, struct op *op)
{
    op->prev = NULL;
    op->next = t->posted;
    if (op->next)
        op->next->prev = op;
    t->posted = op;
}

static void op_unset_posted(struct mpi *t, struct op *op)
{
    if (op->prev)
        op->prev->next = op->next;
    else
        t->posted = op->next;
    if (op->next)
        op->next->prev = op->prev;
}

/* Test once more an op that MPI was asked to cancel; true: MPI has ended it. */
static bool has_ended(struct mpi *t, struct op *op)
{
    int done = 0;

    mpi_lock_take(t->lock);
    const bool ok = MPI_Test(&op->left.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    mpi_lock_give(t->lock);
    return ok && done;
}

static void cancel(struct mpi *t, struct op *op)
{
    mpi_lock_take(t->lock);
    (void)MPI_Cancel(&op->left.request);
    mpi_lock_give(t->lock);
}

/* net.T3, where the memory is the op's. Of a lost peer MPI is asked nothing: it may not know yet, or any more. */
static void withdraw_to_world(struct mpi *t, struct op *op)
{
    const bool is_lost = world_is_lost(t->base.world, op->peer);

    op_unset_posted(t, op);
    if (op->receives && op->left.request != MPI_REQUEST_NULL && !is_lost)
        cancel(t, op);
    if (!is_lost && has_ended(t, op)) {
        op_end(t, op);
        return;
    }
    op->left.memory = op->whole;
    world_mpi_leave(t->base.world, &op->left);
}

/* net.T3: cancel an op that is not complete. */
static void withdraw(struct mpi *t, struct op *op)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { .may_spin = world_may_spin(t->base.world) };
    bool done = op->left.request == MPI_REQUEST_NULL;

    if (t->owns_memory) {
        withdraw_to_world(t, op);
        return;
    }
    op_unset_posted(t, op);
    if (!done) {
        cancel(t, op);
        while (!(done = has_ended(t, op)) && op->receives &&
               wait_clock_ns() - started_ns < CANCEL_LIMIT_MS * UINT64_C(1000000))
            mpi_lock_pause(t->lock, &backoff, LONG_SLEEP_NS);
    }
    if (!done && op->receives) /* see the head of this file */
        world_abort(t->base.world,
                    rc_raise(RC_TIMEOUT, "transport mpi: a partly received message cannot be cancelled"));
    if (done)
        op_end(t, op);
    else
        op_push(&t->stuck, op); /* and its memory stays */
}

static void mpi_close(struct transport **tp)
{
    struct mpi *t = self(*tp);

    while (t->posted)
        withdraw(t, t->posted);
    world_mpi_comm_close(t->base.world, &t->named);
    world_mpi_comm_close(t->base.world, &t->any);
    for (struct op *op; (op = t->free) != NULL;) {
        t->free = op->next;
        free(op);
    }
    for (struct op *op; (op = t->stuck) != NULL;) {
        t->stuck = op->next;
        mpi_lock_take(t->lock);
        MPI_Request_free(&op->left.request);
        mpi_lock_give(t->lock);
        free(op);
    }
    message_pool_fini(&t->pool);
    free(t);
    *tp = NULL;
}

static enum rc mpi_open(struct transport **out, struct world *w)
{
    MPI_Comm comm[2] = { MPI_COMM_NULL, MPI_COMM_NULL };
    struct mpi_lock *lock = NULL;
    struct transport *t = NULL;
    int *max_tag = NULL, found = 0;
    enum rc rc = RC_OK;

    if (!world_is_mpi(w))
        return rc_raise(RC_UNSUPPORTED, "transport mpi: the ranks of world %s are not MPI's", w->ops->module.name);
    t = calloc(1, sizeof(struct mpi));
    if (!t)
        FAIL(RC_NOMEM, "transport mpi: no memory");
    *t = (struct transport){ .ops = &transport_mpi, .world = w };
    self(t)->lock = lock = world_mpi_lock(w);
    self(t)->is_attached = world_mpi_is_attached(w);
    self(t)->owns_memory = world_mpi_owns_memory(w);
    rc = world_mpi_comms_open(w, comm, 2);
    self(t)->named = comm[0];
    self(t)->any = comm[1];
    if (rc != RC_OK)
        goto out;
    TRY_MPI(lock, MPI_Comm_get_attr(self(t)->named, MPI_TAG_UB, (void *)&max_tag, &found));
    self(t)->max_tag = found ? (uint32_t)*max_tag : 32767;
    *out = t;
    t = NULL;
out:
    if (t)
        mpi_close(&t);
    return rc;
}

/* K6: without the lock of MPI's calls, only the main task may make any. */
static enum rc refuse_other_tasks(const struct mpi *t)
{
    if (mpi_lock_admits(t->lock))
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "transport mpi: used by a task beside the main one in a run without world_opts.has_tasks");
}

static enum rc post(struct mpi *t, struct xfer *x)
{
    const uint32_t tag = x->tag & ~TAG_ANY;
    const MPI_Comm comm = x->tag & TAG_ANY ? t->any : t->named;
    const size_t n_bytes = xfer_n_bytes(x);
    struct mpi_lock *lock = t->lock;
    MPI_Datatype type, own = MPI_DATATYPE_NULL;
    int n_items;
    struct op *op = NULL;
    enum rc rc;

    x->priv = NULL;
    TRY(refuse_other_tasks(t));
    if (tag > t->max_tag)
        return rc_raise(RC_INVAL, "transport mpi: tag %u is over %u, the largest this MPI has", tag, t->max_tag);
    TRY(mpi_datatype_of(t->base.world, n_bytes, &type, &n_items, &own));
    op = op_take(t);
    if (!op)
        FAIL(RC_NOMEM, "transport mpi: no memory for a request");
    op->capacity_bytes = n_bytes;
    op->receives = x->receives;
    op->peer = x->peer;
    op->whole = NULL;
    if (((x->n_head_bytes > 0 && x->n_bytes > 0) || t->owns_memory) && !(op->whole = pooled_take(&t->pool, n_bytes)))
        FAIL(RC_NOMEM, "transport mpi: no memory for a message of %zu bytes", n_bytes);
    if (op->whole && !x->receives)
        xfer_copy_out(op->whole->bytes, x);
    void *bytes = op->whole ? op->whole->bytes : x->n_bytes > 0 ? x->ptr : x->head;
    if (x->receives)
        TRY_MPI(lock, MPI_Irecv(bytes, n_items, type, x->peer, (int)tag, comm, &op->left.request));
    else if (t->is_attached)
        TRY_MPI(lock, MPI_Issend(bytes, n_items, type, x->peer, (int)tag, comm, &op->left.request));
    else
        TRY_MPI(lock, MPI_Isend(bytes, n_items, type, x->peer, (int)tag, comm, &op->left.request));
    op_set_posted(t, op);
    x->priv = op;
    op = NULL;
out:
    if (op)
        op_end(t, op);
    if (own != MPI_DATATYPE_NULL)
        world_mpi_type_free(t->base.world, &own); /* lives on inside MPI until the request is done */
    return rc;
}

static enum rc mpi_post(struct transport *t, struct xfer *x)
{
    return post(self(t), x);
}

/* The bytes MPI says came with status, SIZE_MAX when it does not tell. */
static size_t bytes_of(struct mpi *t, const MPI_Status *status)
{
    MPI_Count n_bytes = MPI_UNDEFINED;

    mpi_lock_take(t->lock);
    const bool ok = MPI_Get_elements_x(status, MPI_BYTE, &n_bytes) == MPI_SUCCESS;
    mpi_lock_give(t->lock);
    return ok && n_bytes != MPI_UNDEFINED ? (size_t)n_bytes : SIZE_MAX;
}

/* Test until done, failed, or the time is up (then *done is 0 and RC_OK). */
static enum rc test_until(struct mpi *t, int peer, MPI_Request *request, size_t n_bytes, MPI_Status *status, int *done,
                          int timeout_ms)
{
    const uint64_t max_sleep_ns = n_bytes > LONG_BYTES ? LONG_SLEEP_NS : SHORT_SLEEP_NS;
    struct backoff backoff = { .may_spin = world_may_spin(t->base.world) };
    struct mpi_lock *lock = t->lock;
    uint64_t started_ns = 0;
    enum rc rc = RC_OK;

    for (;;) {
        TRY_MPI(lock, MPI_Test(request, done, status));
        if (*done || timeout_ms == DO_NOT_WAIT)
            return RC_OK;
        if (started_ns == 0)
            started_ns = wait_clock_ns();
        TRY(transport_check(&t->base, peer)); /* net.T10 */
        if (timeout_ms > 0 && wait_clock_ns() - started_ns >= (uint64_t)timeout_ms * 1000000u)
            return RC_OK;
        mpi_lock_pause(lock, &backoff, max_sleep_ns);
    }
out:
    return rc;
}

static enum rc mpi_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct op *op = x->priv;
    MPI_Status status;
    int done = 0;
    enum rc rc;

    if (!op)
        return rc_raise(RC_INVAL, "transport mpi: peer %d, tag %u: waited for, but not posted", x->peer, x->tag);
    x->priv = NULL;
    if (t->dead != RC_OK || transport_peer_error(t, x->peer) != RC_OK) { /* net.T6 */
        withdraw(self(t), op);
        return rc_raise(t->dead != RC_OK ? t->dead : transport_peer_error(t, x->peer),
                        "transport mpi: used after an error");
    }
    rc = test_until(self(t), x->peer, &op->left.request, op->capacity_bytes, &status, &done, timeout_ms);
    if (rc == RC_OK && !done)
        rc = rc_raise(RC_TIMEOUT, "rank %d, tag %u: %s not done after %d ms", x->peer, x->tag,
                      x->receives ? "receive" : "send", timeout_ms);
    else if (rc == RC_MISMATCH) { /* net.T9; the standard does not promise the longer length in status */
        const size_t n_bytes = bytes_of(self(t), &status);
        if (n_bytes != SIZE_MAX && n_bytes > op->capacity_bytes)
            (void)rc_raise(rc, "message from rank %d, tag %u, has %zu bytes, the receiver has room for %zu", x->peer,
                           x->tag, n_bytes, op->capacity_bytes);
        else
            (void)rc_raise(rc, "message from rank %d, tag %u, has more than the %zu bytes the receiver has room for",
                           x->peer, x->tag, op->capacity_bytes);
    }
    if (rc != RC_OK) {
        withdraw(self(t), op);
        return rc;
    }
    if (x->receives && op->whole)
        xfer_deliver(x, NULL, 0, op->whole->bytes, bytes_of(self(t), &status));
    else if (x->receives)
        xfer_set_received(x, bytes_of(self(t), &status));
    op_unset_posted(self(t), op);
    op_end(self(t), op);
    return RC_OK;
}

/* In a caller's MPI: give up a receive that had begun. Without memory for that, MPI ends it, and kept is lost. */
static void leave_matched(struct mpi *t, MPI_Request request, struct pooled *kept)
{
    struct mpi_left *left = malloc(sizeof *left);

    if (left) {
        *left = (struct mpi_left){ .request = request, .memory = kept };
        world_mpi_leave(t->base.world, left);
        return;
    }
    mpi_lock_take(t->lock);
    (void)MPI_Request_free(&request);
    mpi_lock_give(t->lock);
}

/* Let MPI drop a matched message, whose sender waits until it is received. */
static void drop_matched(struct mpi *t, MPI_Message *matched)
{
    MPI_Request request;

    mpi_lock_take(t->lock);
    if (MPI_Imrecv(NULL, 0, MPI_BYTE, matched, &request) == MPI_SUCCESS)
        (void)MPI_Request_free(&request);
    mpi_lock_give(t->lock);
}

/* Receive the matched message. Its sender has begun to send, so only a failure can keep us waiting. */
static enum rc receive_matched(struct mpi *t, MPI_Message *matched, const MPI_Status *probed, struct message *out,
                               int timeout_ms)
{
    const size_t n_bytes = bytes_of(t, probed);
    struct mpi_lock *lock = t->lock;
    MPI_Datatype type, own = MPI_DATATYPE_NULL;
    MPI_Request request;
    struct pooled *kept = NULL;
    int n_items, done = 0;
    enum rc rc;

    kept = pooled_take(&t->pool, n_bytes);
    if (!kept) {
        drop_matched(t, matched);
        FAIL(RC_NOMEM, "no memory for a message of %zu bytes from rank %d", n_bytes, probed->MPI_SOURCE);
    }
    TRY(mpi_datatype_of(t->base.world, n_bytes, &type, &n_items, &own));
    TRY_MPI(lock, MPI_Imrecv(kept->bytes, n_items, type, matched, &request));
    rc = test_until(t, probed->MPI_SOURCE, &request, n_bytes, MPI_STATUS_IGNORE, &done,
                    timeout_ms == DO_NOT_WAIT ? WAIT_FOREVER : timeout_ms);
    if (rc == RC_OK && !done)
        rc = rc_raise(RC_TIMEOUT, "message from rank %d: not whole after %d ms", probed->MPI_SOURCE, timeout_ms);
    if (rc != RC_OK) { /* MPI may still write to it */
        out->peer = probed->MPI_SOURCE;
        if (t->is_attached)
            leave_matched(t, request, kept);
        kept = NULL;
        goto out;
    }
    *out = (struct message){ .ptr = kept->bytes,
                             .n_bytes = n_bytes,
                             .peer = probed->MPI_SOURCE,
                             .tag = (uint32_t)probed->MPI_TAG | TAG_ANY,
                             .priv = kept };
    kept = NULL;
out:
    world_mpi_type_free(t->base.world, &own);
    if (kept)
        pooled_give(&t->pool, kept);
    return rc;
}

static enum rc mpi_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    struct backoff backoff = { .may_spin = world_may_spin(t->world) };
    struct mpi_lock *lock = self(t)->lock;
    uint64_t started_ns = 0;
    MPI_Message matched;
    MPI_Status probed;
    int found = 0;
    enum rc rc = RC_OK;

    TRY(refuse_other_tasks(self(t)));
    for (;;) {
        TRY_MPI(lock, MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, self(t)->any, &found, &matched, &probed));
        if (found) {
            TRY(receive_matched(self(t), &matched, &probed, out, timeout_ms));
            break;
        }
        TRY(transport_check(t, -1)); /* net.T10 */
        if (timeout_ms == DO_NOT_WAIT || transport_loss_due(t))
            break;
        if (started_ns == 0)
            started_ns = wait_clock_ns();
        if (timeout_ms > 0 && wait_clock_ns() - started_ns >= (uint64_t)timeout_ms * 1000000u)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
        mpi_lock_pause(lock, &backoff, SHORT_SLEEP_NS);
    }
out:
    return rc;
}

static void mpi_release(struct transport *t, struct message *m)
{
    pooled_give(&self(t)->pool, m->priv);
}

const struct transport_ops transport_mpi = {
    .module.name = "mpi",
    .module.caps = TR_COPIES | TR_PAIRS_WAIT,
    .module.needs_world = WORLD_HAS_MPI,
    .open = mpi_open,
    .post_send = mpi_post,
    .post_recv = mpi_post,
    .complete = mpi_complete,
    .recv_message = mpi_recv_message,
    .release = mpi_release,
    .close = mpi_close,
};
