/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_outbox_connect.c - the sockets of an outbox, and connections that are made again; see zmq_outbox.h. */
#include <errno.h>
#include <stdio.h>
#include <zmq.h>

#include "harness/net/zmq_address.h"
#include "harness/net/zmq_gate.h"
#include "harness/net/zmq_outbox_state.h"

enum { LINGER_MS = 5000, RECONNECT_MS = 50, RECONNECT_MOST_MS = 1000, MONITOR_NAME_BYTES = 64, N_SLACK_FRAMES = 64 };
enum { CONNECT_MS = 2000, MS_PER_S = 1000 };

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

void outbox_disconnect(struct peer *p)
{
    if (p->monitor) {
        (void)zmq_socket_monitor(p->socket, NULL, 0);
        zmq_close(p->monitor);
    }
    if (p->socket)
        zmq_close(p->socket);
    p->socket = p->monitor = NULL;
}

void outbox_do_not_linger(struct peer *p)
{
    if (p->socket)
        (void)set_int(p->socket, ZMQ_LINGER, 0);
}

/* What ZeroMQ holds is finite by the window. Where connections are lost it may have the frames of the last one, those
 * sent again, and as many acknowledgements as time allows: so there it has a mark, too. Elsewhere a mark would be
 * reached before the window, as ZeroMQ looks every millisecond only how much was read, and could not be told from a
 * peer that has closed. */
enum rc outbox_connect(struct outbox *o, struct peer *p)
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
