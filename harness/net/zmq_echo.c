/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_echo.c - round trips of messages with bare ZeroMQ, without a copy of ours: the bound for a transport over it;
 * see zmq_echo.h.
 */
#include "harness/net/zmq_echo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "harness/base/bytes.h"
#include "harness/net/transport.h"
#include "harness/net/zmq_address.h"
#include "harness/net/zmq_context.h"
#include "harness/net/zmq_files.h"
#include "harness/net/zmq_kinds.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

enum { CLIENT_BYTES = 4, SLICE_MS = 100, LINGER_MS = 5000, N_SPINS = 100 };

struct where { /* what each rank tells the others */
    char endpoint[ZMQ_ADDRESS_BYTES];
    char pass[GATE_PASS_BYTES]; /* "": it has no gate */
    enum rc rc;
};

struct bare_echo {
    struct world *world;
    int n_clients;
    void *context, *pull, **push; /* push [n_ranks]; NULL: none to that rank */
    struct zmq_address address;
    struct zmq_gate *gate; /* NULL: none is needed */
    unsigned char end[CLIENT_BYTES];
};

bool bare_echo_is_bound(const struct transport_ops *ops, const struct world *w)
{
    return ops->post_send == zmq_post_send &&
           (zmq_kind_wanted(ops) != ZMQ_WANT_ANY || !(w->ops->module.caps & WORLD_SHARED_MEMORY));
}

static enum rc raise_errno(const char *what)
{
    return rc_raise(errno == ENOMEM ? RC_NOMEM : RC_IO, "bare ZeroMQ: %s: %s", what, zmq_strerror(errno));
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* No marks: clients await what they send. */
static void *open_socket(struct bare_echo *e, int type)
{
    void *socket = zmq_socket(e->context, type);

    if (socket && (!set_int(socket, ZMQ_SNDHWM, 0) || !set_int(socket, ZMQ_RCVHWM, 0) ||
                   !set_int(socket, ZMQ_LINGER, 0) || !set_int(socket, ZMQ_RCVTIMEO, SLICE_MS))) {
        zmq_close(socket);
        socket = NULL;
    }
    return socket;
}

static enum rc listen_somewhere(struct bare_echo *e, const struct transport_ops *ops, struct where *own)
{
    size_t n_bytes = sizeof own->endpoint;
    enum rc rc;

    TRY(zmq_address_open(&e->address, e->world, zmq_kind_wanted(ops)));
    zmq_files_raise();
    TRY(zmq_files_check_context(1));
    e->context = zmq_ctx_new();
    if (!e->context)
        return raise_errno("context");
    TRY(zmq_gate_for(&e->gate, e->context, e->world, &e->address));
    if (e->gate)
        (void)snprintf(own->pass, sizeof own->pass, "%s", zmq_gate_pass(e->gate));
    e->pull = open_socket(e, ZMQ_PULL);
    if (e->pull && e->gate)
        TRY(zmq_gate_guard(e->gate, e->pull));
    if (!e->pull || zmq_bind(e->pull, e->address.text) != 0 ||
        zmq_getsockopt(e->pull, ZMQ_LAST_ENDPOINT, own->endpoint, &n_bytes) != 0)
        FAIL(RC_IO, "bare ZeroMQ: %s: %s", e->address.text, zmq_strerror(errno));
out:
    return rc;
}

/* All are known: they may come. */
static enum rc admit_all(struct bare_echo *e, const struct where *all)
{
    const int n_ranks = e->world->n_ranks;
    const char **pass = calloc((unsigned)n_ranks, sizeof *pass);
    enum rc rc = RC_OK;

    if (!pass)
        FAIL(RC_NOMEM, "bare ZeroMQ: no memory for %d ranks", n_ranks);
    for (int r = 0; r < n_ranks; r++)
        pass[r] = all[r].pass;
    TRY(zmq_gate_admit(e->gate, pass, n_ranks));
out:
    free(pass);
    return rc;
}

static enum rc connect_to_all(struct bare_echo *e, const struct where *all)
{
    const bool is_client = e->world->rank < e->n_clients;
    enum rc rc = RC_OK;

    for (int r = 0; r < e->world->n_ranks; r++)
        if (all[r].rc != RC_OK)
            FAIL(RC_PEER, "bare ZeroMQ: rank %d cannot listen", r);
    if (e->gate)
        TRY(admit_all(e, all));

    for (int r = 0; r < e->world->n_ranks; r++) {
        if ((r < e->n_clients) == is_client)
            continue;
        e->push[r] = open_socket(e, ZMQ_PUSH);
        if (e->push[r] && e->gate)
            TRY(zmq_gate_enter(e->gate, e->push[r], all[r].pass));
        if (!e->push[r] || zmq_connect(e->push[r], all[r].endpoint) != 0)
            FAIL(RC_IO, "bare ZeroMQ: %s: %s", all[r].endpoint, zmq_strerror(errno));
    }
out:
    return rc;
}

enum rc bare_echo_open(struct bare_echo **out, struct world *w, const struct transport_ops *ops, int n_clients)
{
    struct bare_echo *e = calloc(1, sizeof *e);
    struct where own, *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    memset(&own, 0, sizeof own); /* it is sent as bytes */
    if (!e || !all)
        FAIL(RC_NOMEM, "bare ZeroMQ: no memory for %d ranks", w->n_ranks);
    e->world = w;
    e->n_clients = n_clients;
    bytes_put(e->end, (uint64_t)w->rank, CLIENT_BYTES);
    e->push = calloc((size_t)w->n_ranks, sizeof *e->push);
    if (!e->push)
        FAIL(RC_NOMEM, "bare ZeroMQ: no memory for %d ranks", w->n_ranks);
    own.rc = listen_somewhere(e, ops, &own);
    TRY(world_allgather(w, &own, all, sizeof own));
    TRY(own.rc);
    TRY(connect_to_all(e, all));
    *out = e;
    e = NULL;
out:
    free(all);
    bare_echo_close(&e);
    return rc;
}

static void keep(void *bytes, void *hint)
{
    (void)bytes; /* the client's, as long as the message is under way */
    (void)hint;
}

static enum rc give(void *socket, zmq_msg_t *msg)
{
    while (zmq_msg_send(msg, socket, 0) < 0)
        if (errno != EINTR) {
            const enum rc rc = raise_errno("send");
            zmq_msg_close(msg);
            return rc;
        }
    return RC_OK;
}

enum rc bare_echo_send(struct bare_echo *e, int server, void *bytes, size_t n_bytes)
{
    zmq_msg_t msg;

    if (zmq_msg_init_data(&msg, bytes, n_bytes, keep, NULL) != 0)
        return raise_errno("message");
    return give(e->push[e->n_clients + server], &msg);
}

/* A message, also after some slices; polls first where this rank may spin. */
static enum rc take(struct bare_echo *e, zmq_msg_t *msg, int timeout_ms)
{
    const int n_spins = zmq_may_poll(e->world) ? N_SPINS : 0;
    enum rc rc = RC_OK;

    zmq_msg_init(msg);
    for (int i = 0; i < n_spins; i++) {
        if (zmq_msg_recv(msg, e->pull, ZMQ_DONTWAIT) >= 0)
            return RC_OK;
        wait_relax();
    }
    for (int waited_ms = 0; zmq_msg_recv(msg, e->pull, 0) < 0; waited_ms += SLICE_MS) {
        if (errno != EAGAIN && errno != EINTR)
            FAIL(RC_IO, "bare ZeroMQ: receive: %s", zmq_strerror(errno));
        TRY(world_check(e->world));
        if (timeout_ms != WAIT_FOREVER && waited_ms >= timeout_ms)
            FAIL(RC_TIMEOUT, "bare ZeroMQ: no message after %d ms", timeout_ms);
    }
out:
    if (rc != RC_OK)
        zmq_msg_close(msg);
    return rc;
}

enum rc bare_echo_take(struct bare_echo *e, size_t n_bytes, int timeout_ms)
{
    zmq_msg_t msg;
    enum rc rc;

    TRY(take(e, &msg, timeout_ms));
    const size_t n_come = zmq_msg_size(&msg);
    zmq_msg_close(&msg);
    if (n_come != n_bytes)
        FAIL(RC_MISMATCH, "bare ZeroMQ: %zu bytes came back of %zu", n_come, n_bytes);
out:
    return rc;
}

enum rc bare_echo_end(struct bare_echo *e)
{
    enum rc rc = RC_OK;

    for (int r = e->n_clients; r < e->world->n_ranks; r++) {
        zmq_msg_t msg;
        (void)set_int(e->push[r], ZMQ_LINGER, LINGER_MS); /* it is the last one: close() lets it go first */
        if (zmq_msg_init_data(&msg, e->end, sizeof e->end, keep, NULL) != 0)
            FAIL(RC_IO, "bare ZeroMQ: %s", zmq_strerror(errno));
        TRY(give(e->push[r], &msg));
    }
out:
    return rc;
}

enum rc bare_echo_serve(struct bare_echo *e)
{
    enum rc rc = RC_OK;

    for (int n_ended = 0; n_ended < e->n_clients;) {
        zmq_msg_t msg;
        TRY(take(e, &msg, WAIT_FOREVER));
        const size_t n_bytes = zmq_msg_size(&msg);
        const uint64_t client = n_bytes < CLIENT_BYTES ? UINT64_MAX : bytes_get(zmq_msg_data(&msg), CLIENT_BYTES);
        if (client < (uint64_t)e->n_clients && n_bytes >= ZMQ_ECHO_LEAST_BYTES) {
            TRY(give(e->push[client], &msg));
            continue;
        }
        zmq_msg_close(&msg);
        n_ended += client < (uint64_t)e->n_clients;
    }
out:
    return rc;
}

void bare_echo_close(struct bare_echo **ep)
{
    struct bare_echo *e = ep ? *ep : NULL;

    if (!e)
        return;
    *ep = NULL;
    for (int r = 0; e->push && r < e->world->n_ranks; r++)
        if (e->push[r])
            zmq_close(e->push[r]);
    if (e->pull && e->gate)
        zmq_gate_leave(e->gate);
    if (e->pull)
        zmq_close(e->pull);
    zmq_gate_close(&e->gate);
    while (e->context && zmq_ctx_term(e->context) != 0 && errno == EINTR)
        ;
    zmq_address_remove(&e->address);
    free(e->push);
    free(e);
}
