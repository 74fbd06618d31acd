/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_outbox.c - the queues before PUSH sockets; the contract is in zmq_outbox.h.
 *
 * ZeroMQ makes a lost connection again, and then goes on with what it had not yet begun to send; what it had is gone.
 * Neither says which. So everything that is not acknowledged is sent again (go-back-N), once the monitor of the
 * socket has told that a connection was made which is not the first.
 */
#include "harness/net/zmq_outbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "harness/net/transport.h"
#include "harness/net/zmq_address.h"
#include "harness/net/zmq_gate.h"
#include "harness/world/wait.h"

enum { LINGER_MS = 5000, RECONNECT_MS = 50, RECONNECT_MOST_MS = 1000, MONITOR_NAME_BYTES = 64, N_SLACK_FRAMES = 64 };
enum { CONNECT_MS = 2000, MS_PER_S = 1000 };
#define READ_EVENTS_NS UINT64_C(1000000) /* a read is a system call, and a rank tends the outbox in each wait */

struct queued {
    zmq_msg_t msg, body; /* body: of a divided one, else empty */
    bool is_divided;
    struct queued *next;
};

struct peer {
    const char *endpoint, *pass;
    void *socket, *monitor; /* PUSH; PAIR: events of its connections. NULL until the first post, without reconnects */
    uint64_t n_posted, n_acknowledged;
    uint64_t n_handed;      /* over the present connection; a new one starts at n_acknowledged */
    uint64_t n_handed_most; /* over any connection */
    uint64_t n_told;        /* messages received from it, as the last frame reported */
    struct queued *first, **end;
    struct queued *next; /* the next one to hand, number n_handed, in the queue; NULL: none waits */
    uint64_t read_ns;    /* when events of the monitor were read last, on the real clock */
    uint64_t lost_ns;    /* since when there is no connection; 0: there is one, or none was tried */
    bool was_connected, is_closed, is_given_up, owes_acknowledgement;
};

struct outbox {
    struct outbox_env env;
    struct frame_pool *pool;
    struct queued *free;
    uint64_t n_queued; /* messages that have not been handed */
    uint64_t n_reconnected;
    struct peer peer[]; /* env.n_ranks */
};

enum given { GIVEN, NOT_NOW, CLOSED, FAILED };

/* Raises RC_NOMEM or RC_IO, by errno: what, and ZeroMQ's reason. */
static enum rc outbox_raise(const char *what)
{
    return rc_raise(errno == ENOMEM ? RC_NOMEM : RC_IO, "transport zmq: %s: %s", what, zmq_strerror(errno));
}

enum rc outbox_open(struct outbox **out, const struct outbox_env *env)
{
    struct outbox *o = calloc(1, sizeof *o + (size_t)env->n_ranks * sizeof o->peer[0]);
    enum rc rc;

    if (!o)
        return rc_raise(RC_NOMEM, "transport zmq: no memory for %d ranks", env->n_ranks);
    o->env = *env;
    if (!o->env.now_ns)
        o->env.now_ns = wait_clock_ns;
    for (int r = 0; r < env->n_ranks; r++)
        o->peer[r].end = &o->peer[r].first;
    TRY(frame_pool_open(&o->pool));
    *out = o;
    o = NULL;
out:
    outbox_close(&o);
    return rc;
}

/* --- the sockets, and connections that are made again --- */

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

void outbox_set_endpoint(struct outbox *o, int peer, const char *endpoint, const char *pass)
{
    o->peer[peer].endpoint = endpoint;
    o->peer[peer].pass = pass;
}

/* Events of socket that tell whether there is a connection. */
static bool open_monitor(struct outbox *o, struct peer *p)
{
    const int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;
    char name[MONITOR_NAME_BYTES];

    (void)snprintf(name, sizeof name, "inproc://monitor-%d-%d-%p", o->env.rank, (int)(p - o->peer), (void *)o);
    p->monitor = zmq_socket(o->env.context, ZMQ_PAIR);
    return p->monitor && set_int(p->monitor, ZMQ_LINGER, 0) && zmq_socket_monitor(p->socket, name, events) == 0 &&
           zmq_connect(p->monitor, name) == 0;
}

bool zmq_set_keepalive(void *socket, int silence_ms)
{
    const int quarter_s = silence_ms / 4 / MS_PER_S + 1;

    return set_int(socket, ZMQ_TCP_MAXRT, silence_ms / 2 + 1) && set_int(socket, ZMQ_TCP_KEEPALIVE, 1) &&
           set_int(socket, ZMQ_TCP_KEEPALIVE_IDLE, quarter_s) && set_int(socket, ZMQ_TCP_KEEPALIVE_INTVL, quarter_s);
}

static bool set_reconnection(const struct outbox *o, void *socket)
{
    if (!o->env.reconnects) /* all ranks have listened since open(), so a connection that ends means a dead peer */
        return set_int(socket, ZMQ_RECONNECT_IVL, -1);
    return set_int(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
           set_int(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST_MS) &&
           set_int(socket, ZMQ_CONNECT_TIMEOUT, CONNECT_MS) && zmq_set_keepalive(socket, o->env.silence_ms);
}

/* Close the sockets of p, if there are any. */
static void outbox_disconnect(struct peer *p)
{
    if (p->monitor) {
        (void)zmq_socket_monitor(p->socket, NULL, 0);
        zmq_close(p->monitor);
    }
    if (p->socket)
        zmq_close(p->socket);
    p->socket = p->monitor = NULL;
}

/* Drops what ZeroMQ holds for p when its socket is closed. */
static void outbox_do_not_linger(struct peer *p)
{
    if (p->socket)
        (void)set_int(p->socket, ZMQ_LINGER, 0);
}

/* What ZeroMQ holds is finite by the window. Where connections are lost it may have the frames of the last one, those
 * sent again, and as many acknowledgements as time allows: so there it has a mark, too. Elsewhere a mark would be
 * reached before the window, as ZeroMQ looks every millisecond only how much was read, and could not be told from a
 * peer that has closed. */
/* Makes the sockets of p, and starts to connect. RC_IO, RC_NOMEM: then p has no socket. */
static enum rc outbox_connect(struct outbox *o, struct peer *p)
{
    const uint64_t most_frames = 2 * o->env.window + N_SLACK_FRAMES;
    const int mark = !o->env.reconnects ? 0 : most_frames < INT32_MAX ? (int)most_frames : INT32_MAX;

    p->socket = zmq_socket(o->env.context, ZMQ_PUSH);
    if (p->socket && set_int(p->socket, ZMQ_SNDHWM, mark) && set_int(p->socket, ZMQ_LINGER, LINGER_MS) &&
        set_int(p->socket, ZMQ_IMMEDIATE, o->env.is_eager) && set_reconnection(o, p->socket) &&
        (!o->env.reconnects || open_monitor(o, p)) &&
        (!o->env.gate || zmq_gate_enter(o->env.gate, p->socket, p->pass) == RC_OK) &&
        zmq_connect(p->socket, p->endpoint) == 0) {
        p->lost_ns = o->env.reconnects ? o->env.now_ns() : 0;
        return RC_OK;
    }
    const enum rc rc = outbox_raise(p->endpoint);
    outbox_do_not_linger(p);
    outbox_disconnect(p);
    return rc;
}

enum rc outbox_attach(struct outbox *o, int peer, int timeout_ms, bool *connected)
{
    struct peer *p = &o->peer[peer];
    enum rc rc = RC_OK;

    if (!p->socket) {
        TRY(zmq_address_check(p->endpoint));
        TRY(outbox_connect(o, p));
    }
    zmq_pollitem_t item = { .socket = p->socket, .events = ZMQ_POLLOUT };
    const int n_ready = zmq_poll(&item, 1, timeout_ms);
    if (n_ready < 0 && errno != EINTR)
        FAIL(RC_IO, "transport zmq: %s: %s", p->endpoint, zmq_strerror(errno));
    *connected = n_ready > 0;
out:
    return rc;
}

/* --- the queue of a peer --- */

static enum given give_part(const struct outbox *o, struct peer *p, zmq_msg_t *msg, int flags)
{
    while (zmq_msg_send(msg, p->socket, ZMQ_DONTWAIT | flags) < 0)
        if (errno == EAGAIN)
            return o->env.reconnects ? NOT_NOW : CLOSED;
        else if (errno != EINTR)
            return FAILED;
    return GIVEN;
}

/* Hand msg to ZeroMQ, whose it is then, and behind it body, if any. Where the connection ends between, ZeroMQ drops the
 * first part, too. */
static enum given give(const struct outbox *o, struct peer *p, zmq_msg_t *msg, zmq_msg_t *body)
{
    const enum given given = give_part(o, p, msg, body ? ZMQ_SNDMORE : 0);
    return given == GIVEN && body ? give_part(o, p, body, 0) : given;
}

static enum rc raise_closed(int peer)
{
    return rc_raise(RC_PEER, "rank %d closed its end", peer);
}

static bool is_window_open(const struct outbox *o, const struct peer *p)
{
    return p->n_handed - p->n_acknowledged < o->env.window;
}

static void note_handed(struct outbox *o, struct peer *p)
{
    p->n_handed++;
    if (p->n_handed <= p->n_handed_most)
        return;
    p->n_handed_most = p->n_handed;
    o->n_queued--;
}

static void drop_first(struct outbox *o, struct peer *p)
{
    struct queued *q = p->first;

    zmq_msg_close(&q->msg);
    zmq_msg_close(&q->body);
    if (p->next == q)
        p->next = q->next;
    p->first = q->next;
    if (!p->first)
        p->end = &p->first;
    q->next = o->free;
    o->free = q;
}

static void drop_all(struct outbox *o, struct peer *p)
{
    while (p->first)
        drop_first(o, p);
    o->n_queued -= p->n_posted - p->n_handed_most;
    p->n_handed = p->n_handed_most = p->n_posted;
}

/* Copies of the references, not of the bytes, so that it can be sent again. */
static enum given give_copy(const struct outbox *o, struct peer *p, struct queued *q)
{
    enum given given = FAILED;
    zmq_msg_t msg, body;

    zmq_msg_init(&msg);
    zmq_msg_init(&body);
    if (zmq_msg_copy(&msg, &q->msg) == 0 && zmq_msg_copy(&body, &q->body) == 0)
        given = give(o, p, &msg, q->is_divided ? &body : NULL);
    zmq_msg_close(&msg); /* empty where it was given */
    zmq_msg_close(&body);
    return given;
}

/* Hand over the oldest message that waits. */
static enum given give_next(struct outbox *o, struct peer *p)
{
    struct queued *q = p->next;
    enum given given;

    if (!o->env.reconnects) {
        given = give(o, p, &q->msg, q->is_divided ? &q->body : NULL);
        if (given == GIVEN)
            drop_first(o, p);
    } else {
        given = give_copy(o, p, q);
        if (given == GIVEN)
            p->next = q->next;
    }
    if (given == GIVEN)
        note_handed(o, p);
    return given;
}

static enum rc hand_over(struct outbox *o, struct peer *p)
{
    enum given given = GIVEN;

    while (given == GIVEN && p->next && is_window_open(o, p))
        given = give_next(o, p);
    if (given == FAILED)
        return outbox_raise("send");
    if (given == CLOSED) {
        p->is_closed = true;
        drop_all(o, p);
    }
    return RC_OK;
}

/* Put msg and body, whose memory goes with them, at the end of the queue. */
static enum rc enqueue(struct outbox *o, struct peer *p, zmq_msg_t *msg, zmq_msg_t *body)
{
    struct queued *q = o->free;

    if (q)
        o->free = q->next;
    else if (!(q = malloc(sizeof *q)))
        return rc_raise(RC_NOMEM, "transport zmq: no memory for a message");
    zmq_msg_init(&q->msg);
    zmq_msg_init(&q->body);
    zmq_msg_move(&q->msg, msg);
    q->is_divided = body != NULL;
    if (body)
        zmq_msg_move(&q->body, body);
    q->next = NULL;
    *p->end = q;
    p->end = &q->next;
    if (!p->next)
        p->next = q;
    return RC_OK;
}

bool outbox_take_back(struct outbox *o, struct frame_lent **lent)
{
    return frame_take_back(o->pool, lent);
}

/* Give the message, or put it into the queue; it is the caller's no more. */
static enum rc give_or_queue(struct outbox *o, struct peer *p, zmq_msg_t *msg, zmq_msg_t *body)
{
    enum given given = NOT_NOW;
    enum rc rc = RC_OK;

    if (!o->env.reconnects && !p->next && is_window_open(o, p)) /* the usual case: no queue */
        given = give(o, p, msg, body);
    if (given == NOT_NOW)
        rc = enqueue(o, p, msg, body);
    else if (given == FAILED)
        rc = outbox_raise("send");
    zmq_msg_close(msg); /* empty where it was given or moved */
    if (body)
        zmq_msg_close(body);
    p->is_closed = p->is_closed || given == CLOSED;
    TRY(rc != RC_OK ? rc : given == CLOSED ? raise_closed((int)(p - o->peer)) : RC_OK);
    p->n_posted++;
    o->n_queued++;
    if (given == GIVEN)
        note_handed(o, p);
    else
        TRY(hand_over(o, p));
out:
    return rc;
}

bool outbox_sends_lent(const struct outbox *o, size_t n_body_bytes)
{
    return n_body_bytes >= LEND_LEAST_BYTES && !o->env.is_copying;
}

enum rc outbox_post(struct outbox *o, const struct xfer *x, uint64_t n_received, struct outbox_sent *out)
{
    struct peer *p = &o->peer[x->peer];
    const bool is_lent = x->lends && outbox_sends_lent(o, x->n_bytes);
    struct frame head = { .kind = is_lent ? FRAME_DIVIDED : FRAME_MESSAGE,
                          .sender = o->env.rank,
                          .tag = x->tag,
                          .sequence = p->n_posted,
                          .n_received = n_received };
    zmq_msg_t msg, body;
    enum rc rc;

    *out = (struct outbox_sent){ .number = p->n_posted };
    TRY(p->is_closed ? raise_closed(x->peer) : RC_OK);
    if (!p->socket)
        TRY(outbox_connect(o, p));
    memcpy(head.token, o->env.token, sizeof head.token);
    if (is_lent)
        TRY(frame_lend(&body, o->pool, x, &out->lent));
    rc = frame_write(&msg, o->pool, &head, x);
    if (rc != RC_OK && is_lent)
        zmq_msg_close(&body);
    TRY(rc);
    p->n_told = n_received;
    TRY(give_or_queue(o, p, &msg, is_lent ? &body : NULL));
out:
    return rc;
}

bool outbox_is_handed(const struct outbox *o, int peer, uint64_t number)
{
    return number < o->peer[peer].n_handed_most;
}

/* --- acknowledgements --- */

void outbox_note_acknowledged(struct outbox *o, int peer, uint64_t n_acknowledged)
{
    struct peer *p = &o->peer[peer];

    if (n_acknowledged <= p->n_acknowledged || n_acknowledged > p->n_handed_most)
        return;
    for (; o->env.reconnects && p->first && p->n_acknowledged < n_acknowledged; p->n_acknowledged++)
        drop_first(o, p);
    p->n_acknowledged = n_acknowledged;
    if (p->n_handed < n_acknowledged) /* what was to be sent again had arrived */
        p->n_handed = n_acknowledged;
}

enum rc outbox_acknowledge(struct outbox *o, int peer, uint64_t n_received)
{
    struct peer *p = &o->peer[peer];
    struct frame head = { .kind = FRAME_ACK, .sender = o->env.rank, .n_received = n_received };
    zmq_msg_t msg;
    enum rc rc = RC_OK;

    p->n_told = n_received;
    if (p->is_closed || p->is_given_up)
        return RC_OK;
    if (!p->socket)
        TRY(outbox_connect(o, p));
    memcpy(head.token, o->env.token, sizeof head.token);
    TRY(frame_write(&msg, o->pool, &head, NULL));
    const enum given given = give(o, p, &msg, NULL);
    if (given == FAILED)
        rc = outbox_raise("send");
    zmq_msg_close(&msg); /* empty where it was given */
    p->owes_acknowledgement = given == NOT_NOW || given == FAILED;
out:
    return rc;
}

/* Another connection than the first was made: all that is not acknowledged goes again (net.O3). */
static void begin_again(struct outbox *o, struct peer *p)
{
    o->n_reconnected++;
    p->n_handed = p->n_acknowledged;
    p->next = p->first;
    p->owes_acknowledgement = true;
}

static void note_event(struct outbox *o, struct peer *p, zmq_msg_t *msg)
{
    uint16_t event = 0;

    if (zmq_msg_size(msg) >= sizeof event)
        memcpy(&event, zmq_msg_data(msg), sizeof event);
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        if (p->was_connected)
            begin_again(o, p);
        p->was_connected = true;
        p->lost_ns = 0;
    } else if (event == ZMQ_EVENT_DISCONNECTED && p->lost_ns == 0) {
        p->lost_ns = o->env.now_ns();
    }
}

/* An event is a number and, in a second part, an address. */
static void read_events(struct outbox *o, struct peer *p)
{
    zmq_msg_t msg;

    zmq_msg_init(&msg);
    while (zmq_msg_recv(&msg, p->monitor, ZMQ_DONTWAIT) >= 0)
        if (zmq_msg_more(&msg))
            note_event(o, p, &msg);
    zmq_msg_close(&msg);
}

/* The same where the last time is a while ago, or a connection is awaited. */
static void read_due_events(struct outbox *o, struct peer *p)
{
    const uint64_t now_ns = wait_clock_ns();

    if (p->lost_ns == 0 && now_ns - p->read_ns < READ_EVENTS_NS)
        return;
    p->read_ns = now_ns;
    read_events(o, p);
}

enum rc outbox_tend(struct outbox *o)
{
    enum rc rc = RC_OK;

    if (!o->env.reconnects && o->n_queued == 0)
        return RC_OK;
    for (int r = 0; r < o->env.n_ranks; r++) {
        struct peer *p = &o->peer[r];
        if (!p->socket)
            continue;
        if (p->monitor)
            read_due_events(o, p);
        TRY(hand_over(o, p));
        if (p->owes_acknowledgement)
            TRY(outbox_acknowledge(o, r, p->n_told));
    }
out:
    return rc;
}

enum rc outbox_check(struct outbox *o, int peer)
{
    struct peer *p = &o->peer[peer];

    if (p->is_closed)
        return raise_closed(peer);
    if (p->lost_ns > 0 && p->monitor)
        read_events(o, p); /* it may have been made while this rank computed */
    if (p->lost_ns == 0)
        return RC_OK;
    const uint64_t lost_ms = (o->env.now_ns() - p->lost_ns) / 1000000u;
    if (lost_ms < (uint64_t)o->env.silence_ms)
        return RC_OK;
    return rc_raise(RC_PEER, "rank %d: no connection to %s for %llu ms", peer, p->endpoint,
                    (unsigned long long)lost_ms);
}

uint64_t outbox_n_reconnected(const struct outbox *o)
{
    return o->n_reconnected;
}

/* --- the end --- */

void outbox_give_up(struct outbox *o, int peer)
{
    o->peer[peer].is_given_up = true;
}

void outbox_drop(struct outbox *o, int peer)
{
    struct peer *p = &o->peer[peer];

    drop_all(o, p);
    outbox_do_not_linger(p);
    outbox_disconnect(p);
    p->is_closed = p->is_given_up = true;
    p->owes_acknowledgement = false;
}

void outbox_close(struct outbox **op)
{
    struct outbox *o = op ? *op : NULL;

    if (!o)
        return;
    for (int r = 0; r < o->env.n_ranks; r++) {
        struct peer *p = &o->peer[r];
        while (p->first)
            drop_first(o, p);
        /* Where all was received, only acknowledgements may be left, which a peer that has closed does not take. */
        if (p->is_given_up || p->n_acknowledged == p->n_posted)
            outbox_do_not_linger(p);
        outbox_disconnect(p);
    }
    for (struct queued *q; (q = o->free) != NULL;) {
        o->free = q->next;
        free(q);
    }
    frame_pool_close(&o->pool);
    free(o);
    *op = NULL;
}
