/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_inbox.c - a PULL socket and the queues behind it; the contract is in zmq_inbox.h. */
#include "harness/net/zmq_inbox.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/net/xfer_queue.h"
#include "harness/net/zmq_gate.h"
#include "harness/net/zmq_outbox.h"

enum { LENT_ALIGN_BYTES = 8, RECEIVED_MARK = 64, MOST_UNTOLD_BYTES = 1 << 20 };

QUEUE_OF(arrivals, struct arrival)

struct sender {
    uint64_t n_received, n_acknowledged;
    uint64_t n_told, n_untold_bytes; /* of n_received it was told of n_told; the others have so many bytes */
    uint64_t n_waiting;              /* in pending and any */
    bool is_overfull;                /* net.I3; then it is broken, too */
    bool broken, was_named;          /* a frame did not come; inbox_broken_sender() has returned it */
    uint64_t gap_end;                /* the frame that came in its place */
    struct xfer_queue posted;
    struct arrivals pending;
};

struct inbox {
    void *socket;
    int rank, n_ranks;
    int timeout_ms; /* set on socket */
    unsigned char token[FRAME_TOKEN_BYTES];
    struct inbox_limits limits;
    bool inside_stray; /* more parts follow of a message that is not ours */
    uint64_t n_dropped;
    int n_broken; /* senders that inbox_broken_sender() is to return */
    struct arrivals any;
    struct arrival *free;
    struct sender sender[]; /* n_ranks */
};

static void arrivals_clear(struct inbox *in, struct arrivals *q)
{
    while (q->first)
        inbox_end(in, arrivals_take(q, &q->first));
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

enum rc inbox_open(struct inbox **out, void *context, int rank, int n_ranks)
{
    struct inbox *in = calloc(1, sizeof *in + (size_t)n_ranks * sizeof in->sender[0]);
    enum rc rc = RC_OK;

    if (!in)
        return rc_raise(RC_NOMEM, "transport zmq: no memory for %d ranks", n_ranks);
    in->rank = rank;
    in->n_ranks = n_ranks;
    arrivals_init(&in->any);
    for (int r = 0; r < n_ranks; r++) {
        arrivals_init(&in->sender[r].pending);
        xfer_queue_init(&in->sender[r].posted);
    }
    in->timeout_ms = -1;
    in->socket = zmq_socket(context, ZMQ_PULL);
    if (!in->socket || !set_int(in->socket, ZMQ_RCVHWM, RECEIVED_MARK) || !set_int(in->socket, ZMQ_LINGER, 0) ||
        !set_int(in->socket, ZMQ_BACKLOG, 100 + n_ranks))
        FAIL(RC_IO, "transport zmq: no socket to receive from: %s", zmq_strerror(errno));
    *out = in;
    in = NULL;
out:
    inbox_close(&in);
    return rc;
}

void inbox_close(struct inbox **inp)
{
    struct inbox *in = inp ? *inp : NULL;

    if (!in)
        return;
    arrivals_clear(in, &in->any);
    for (int r = 0; r < in->n_ranks; r++)
        arrivals_clear(in, &in->sender[r].pending);
    for (struct arrival *a; (a = in->free) != NULL;) {
        in->free = a->next;
        free(a);
    }
    if (in->limits.gate)
        zmq_gate_leave(in->limits.gate);
    if (in->socket)
        zmq_close(in->socket);
    free(in);
    *inp = NULL;
}

enum rc inbox_limit(struct inbox *in, const struct inbox_limits *limits)
{
    const int64_t frame_bytes = (int64_t)limits->most_message_bytes + FRAME_HEAD_BYTES;
    const int64_t guarded_bytes = frame_bytes + GATE_WIRE_BYTES, least_bytes = GATE_COMMAND_BYTES;
    const int64_t most_bytes = !limits->gate ? frame_bytes : guarded_bytes > least_bytes ? guarded_bytes : least_bytes;
    enum rc rc = RC_OK;

    in->limits = *limits;
    in->limits.gate = NULL; /* until the socket is behind it */
    if (limits->is_private && !set_int(in->socket, ZMQ_RCVHWM, 0))
        FAIL(RC_IO, "transport zmq: a queue without a mark was refused: %s", zmq_strerror(errno));
    if (limits->most_message_bytes > 0 &&
        zmq_setsockopt(in->socket, ZMQ_MAXMSGSIZE, &most_bytes, sizeof most_bytes) != 0)
        FAIL(RC_IO, "transport zmq: a longest message was refused: %s", zmq_strerror(errno));
    if (limits->reconnects && !zmq_set_keepalive(in->socket, limits->silence_ms))
        FAIL(RC_IO, "transport zmq: a limit of silence was refused: %s", zmq_strerror(errno));
    if (limits->gate)
        TRY(zmq_gate_guard(limits->gate, in->socket));
    in->limits.gate = limits->gate;
out:
    return rc;
}

enum rc inbox_listen(struct inbox *in, const char *address, char *endpoint, size_t n_bytes)
{
    if (zmq_bind(in->socket, address) != 0 || zmq_getsockopt(in->socket, ZMQ_LAST_ENDPOINT, endpoint, &n_bytes) != 0)
        return rc_raise(RC_IO, "transport zmq: cannot listen on %s: %s", address, zmq_strerror(errno));
    return RC_OK;
}

void inbox_set_token(struct inbox *in, const unsigned char token[FRAME_TOKEN_BYTES])
{
    memcpy(in->token, token, sizeof in->token);
}

void inbox_end(struct inbox *in, struct arrival *a)
{
    zmq_msg_close(&a->msg);
    if (a->n_body_bytes > 0)
        zmq_msg_close(&a->body);
    free(a->copy);
    a->copy = NULL;
    a->body_ptr = NULL;
    a->n_body_bytes = 0;
    a->next = in->free;
    in->free = a;
}

/* Give a to x, which is no longer posted. */
static void deliver(struct inbox *in, struct xfer *x, struct arrival *a)
{
    enum inbox_state state = INBOX_DONE;

    const size_t n_bytes = a->n_bytes + a->n_body_bytes;

    if (n_bytes > xfer_n_bytes(x)) { /* net.T9 */
        state = INBOX_TOO_LONG;
        x->priv = (void *)(uintptr_t)n_bytes;
    } else if (a->n_body_bytes > 0)
        xfer_deliver(x, a->ptr, a->n_bytes, a->body_ptr, a->n_body_bytes);
    else
        xfer_deliver(x, NULL, 0, a->ptr, a->n_bytes);
    atomic_store_explicit(&x->state, state, memory_order_relaxed);
    inbox_end(in, a);
}

void inbox_post(struct inbox *in, struct xfer *x)
{
    struct sender *from = &in->sender[x->peer];

    x->priv = NULL;
    for (struct arrival **link = &from->pending.first; *link; link = &(*link)->next)
        if ((*link)->tag == x->tag) {
            from->n_waiting--;
            deliver(in, x, arrivals_take(&from->pending, link));
            return;
        }
    atomic_store_explicit(&x->state, INBOX_POSTED, memory_order_relaxed);
    xfer_queue_append(&from->posted, x);
}

void inbox_withdraw(struct inbox *in, struct xfer *x)
{
    struct sender *from = &in->sender[x->peer];

    for (struct xfer **link = &from->posted.first; *link; link = &(*link)->next)
        if (*link == x) {
            xfer_queue_take(&from->posted, link);
            return;
        }
}

/* net.I1: is the message numbered so to be dropped? */
static bool is_not_due(struct inbox *in, struct sender *from, uint64_t sequence)
{
    if (from->broken || sequence == from->n_received)
        return from->broken;
    if (!in->limits.reconnects) {
        from->broken = true;
        from->gap_end = sequence;
        in->n_broken++;
    }
    return true;
}

static void append_waiting(struct inbox *in, struct sender *from, struct arrivals *to, struct arrival *a)
{
    if (in->limits.most_waiting > 0 && from->n_waiting >= in->limits.most_waiting) { /* net.I3 */
        from->broken = from->is_overfull = true;
        in->n_broken++;
        inbox_end(in, a);
        return;
    }
    from->n_waiting++;
    arrivals_append(to, a);
}

static void sort_in(struct inbox *in, struct arrival *a, uint64_t sequence)
{
    struct sender *from = &in->sender[a->sender];

    if (is_not_due(in, from, sequence)) {
        inbox_end(in, a);
        return;
    }
    from->n_received++;
    from->n_untold_bytes += a->n_bytes + a->n_body_bytes;
    if (a->tag & TAG_ANY) { /* net.T8 */
        append_waiting(in, from, &in->any, a);
        return;
    }
    for (struct xfer **link = &from->posted.first; *link; link = &(*link)->next)
        if ((*link)->tag == a->tag) {
            deliver(in, xfer_queue_take(&from->posted, link), a);
            return;
        }
    append_waiting(in, from, &from->pending, a);
}

uint64_t inbox_n_received(const struct inbox *in, int sender)
{
    return in->sender[sender].n_received;
}

uint64_t inbox_n_acknowledged(const struct inbox *in, int sender)
{
    return in->sender[sender].n_acknowledged;
}

bool inbox_owes(const struct inbox *in, int sender)
{
    const struct sender *from = &in->sender[sender];
    const uint64_t n_untold = from->n_received - from->n_told;

    return in->limits.window > 0 && n_untold > 0 &&
           (2 * n_untold >= in->limits.window || (in->limits.reconnects && from->n_untold_bytes >= MOST_UNTOLD_BYTES));
}

void inbox_note_told(struct inbox *in, int sender)
{
    in->sender[sender].n_told = in->sender[sender].n_received;
    in->sender[sender].n_untold_bytes = 0;
}

enum rc inbox_check(const struct inbox *in, int sender)
{
    const struct sender *from = &in->sender[sender];

    if (!from->broken)
        return RC_OK;
    if (from->is_overfull)
        return rc_raise(RC_MISMATCH, "rank %d: sent more messages that nobody awaits than the plan's %llu", sender,
                        (unsigned long long)in->limits.most_waiting);
    return rc_raise(RC_PEER, "rank %d: message %llu came where %llu was due: a connection was lost", sender,
                    (unsigned long long)from->gap_end, (unsigned long long)from->n_received);
}

int inbox_broken_sender(struct inbox *in)
{
    for (int r = 0; in->n_broken > 0 && r < in->n_ranks; r++)
        if (in->sender[r].broken && !in->sender[r].was_named) {
            in->sender[r].was_named = true;
            in->n_broken--;
            return r;
        }
    return -1;
}

/* The second part of a divided frame, which has come with the first one. */
static bool takes_body(struct inbox *in, struct arrival *a, uint64_t n_bytes)
{
    int n_received;

    zmq_msg_init(&a->body);
    do
        n_received = zmq_msg_recv(&a->body, in->socket, ZMQ_DONTWAIT);
    while (n_received < 0 && errno == EINTR);
    if (n_received >= 0) {
        in->inside_stray = zmq_msg_more(&a->body) != 0;
        a->body_ptr = zmq_msg_data(&a->body);
        a->n_body_bytes = zmq_msg_size(&a->body);
        if (!in->inside_stray && a->n_body_bytes == n_bytes)
            return true;
    }
    zmq_msg_close(&a->body);
    a->n_body_bytes = 0;
    return false;
}

/* A message of one part with our head, or of two where that says so, from a rank that exists. Anything else is a stray.
 */
static bool is_ours(struct inbox *in, struct arrival *a, struct frame *head)
{
    const bool is_inside = in->inside_stray, has_more = zmq_msg_more(&a->msg) != 0;

    in->inside_stray = has_more;
    if (is_inside || !frame_read(head, &a->ptr, &a->n_bytes, &a->msg, in->token))
        return false;
    if (has_more != (head->kind == FRAME_DIVIDED) || head->sender >= in->n_ranks || head->sender == in->rank)
        return false;
    return !has_more || takes_body(in, a, head->n_body_bytes);
}

enum rc inbox_receive(struct inbox *in, int timeout_ms, int *from)
{
    struct arrival *a = in->free;
    struct frame head;
    enum rc rc = RC_OK;

    *from = FROM_NOBODY;
    if (timeout_ms > 0 && timeout_ms != in->timeout_ms) {
        if (!set_int(in->socket, ZMQ_RCVTIMEO, timeout_ms))
            return rc_raise(RC_IO, "transport zmq: a time limit was refused: %s", zmq_strerror(errno));
        in->timeout_ms = timeout_ms;
    }
    if (a)
        in->free = a->next;
    else if (!(a = calloc(1, sizeof *a)))
        return rc_raise(RC_NOMEM, "transport zmq: no memory for a message");
    zmq_msg_init(&a->msg);
    if (zmq_msg_recv(&a->msg, in->socket, timeout_ms > 0 ? 0 : ZMQ_DONTWAIT) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            rc = rc_raise(RC_IO, "transport zmq: receive: %s", zmq_strerror(errno));
        inbox_end(in, a);
        return rc;
    }
    if (!is_ours(in, a, &head)) {
        *from = FROM_STRANGER;
        in->n_dropped++;
        inbox_end(in, a);
        return RC_OK;
    }
    *from = a->sender = head.sender;
    a->tag = head.tag;
    if (in->sender[*from].n_acknowledged < head.n_received)
        in->sender[*from].n_acknowledged = head.n_received;
    if (head.kind != FRAME_ACK)
        sort_in(in, a, head.sequence);
    else
        inbox_end(in, a);
    return RC_OK;
}

/* From a socket, small frames may be at any address; long ones, and so bodies, are at one of malloc(). */
static enum rc align_payload(struct arrival *a)
{
    const bool is_aligned = (uintptr_t)a->ptr % LENT_ALIGN_BYTES == 0 && (uintptr_t)a->body_ptr % LENT_ALIGN_BYTES == 0;
    const size_t n_bytes = a->n_bytes + a->n_body_bytes;

    if (is_aligned)
        return RC_OK;
    a->copy = malloc(n_bytes > 0 ? n_bytes : 1);
    if (!a->copy)
        return rc_raise(RC_NOMEM, "transport zmq: no memory for a message of %zu bytes", n_bytes);
    memcpy(a->copy, a->ptr, a->n_bytes);
    a->ptr = a->copy;
    if (a->n_body_bytes == 0)
        return RC_OK;
    memcpy((char *)a->copy + a->n_bytes, a->body_ptr, a->n_body_bytes);
    a->body_ptr = (char *)a->copy + a->n_bytes;
    return RC_OK;
}

enum rc inbox_take_any(struct inbox *in, struct arrival **out)
{
    struct arrival *a = in->any.first;

    enum rc rc = RC_OK;

    *out = NULL;
    if (!a)
        return RC_OK;
    TRY(align_payload(a));
    *out = arrivals_take(&in->any, &in->any.first);
    in->sender[a->sender].n_waiting--;
out:
    return rc;
}

uint64_t inbox_n_dropped(const struct inbox *in)
{
    return in->n_dropped;
}
