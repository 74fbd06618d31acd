/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_zmq_test.c WORLD RANKS - faults that only the zmq transport meets: frames from outside, a lost
 * message, ranks that leave in any order. RANKS 0: as many as were launched.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "harness/base/rng.h"
#include "harness/net/suite/transport_suite_kit.h"
#include "harness/net/transport_zmq.h"
#include "harness/net/zmq_frame.h"
#include "harness/net/zmq_inbox.h"

extern const struct transport_ops transport_zmq;

enum { N_GARBAGE = 40, N_STRAYS = N_GARBAGE + 5 };

static void exchange(struct suite *s, struct transport *t)
{
    uint32_t out = (uint32_t)s->w->rank + 1000, in = 0;
    struct xfer tx = { .ptr = &out, .n_bytes = sizeof out, .peer = suite_next(s, 1), .tag = 1 };
    struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = suite_prev(s, 1), .tag = 1 };

    if (s->w->n_ranks == 1)
        return;
    EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
    EXPECT(s, in == (uint32_t)rx.peer + 1000);
}

/* N_GARBAGE frames of noise, three multi-part ones' parts, and two that look right but for the token. */
static void send_strays(struct suite *s, void *socket)
{
    struct frame_pool *pool = NULL;
    struct frame head = { .sender = suite_next(s, 1), .tag = TAG_ANY | 1 };
    unsigned char noise[120];
    zmq_msg_t msg;

    for (uint64_t i = 0; i < N_GARBAGE; i++) {
        for (uint64_t k = 0; k < sizeof noise; k++)
            noise[k] = (unsigned char)rng_u64(i, RNG_TEST, k);
        EXPECT(s, zmq_send(socket, noise, (size_t)(i * 3), 0) >= 0);
    }
    EXPECT(s, zmq_send(socket, noise, 10, ZMQ_SNDMORE) == 10);
    EXPECT(s, zmq_send(socket, noise, 0, ZMQ_SNDMORE) == 0);
    EXPECT(s, zmq_send(socket, noise, 60, 0) == 60);
    if (!EXPECT_OK(s, frame_pool_open(&pool)))
        return;
    const struct xfer sent[] = { { .ptr = noise }, { .ptr = noise, .n_bytes = 5000 % sizeof noise } };
    for (int i = 0; i < 2; i++)
        if (EXPECT_OK(s, frame_write(&msg, pool, &head, &sent[i])))
            EXPECT(s, zmq_msg_send(&msg, socket, 0) >= 0);
    frame_pool_close(&pool);
}

/* Noise on the bare TCP connection: ZeroMQ turns it away, or takes it for frames of an old version, strays too. */
static void send_tcp_noise(struct suite *s, const char *endpoint)
{
    const char *port = strrchr(endpoint, ':');
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    unsigned char noise[3000];

    if (strncmp(endpoint, "tcp://127.0.0.1", 15) != 0)
        return;
    to.sin_port = htons((uint16_t)atoi(port + 1));
    for (uint64_t k = 0; k < sizeof noise; k++)
        noise[k] = (unsigned char)rng_u64(3, RNG_TEST, k);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (EXPECT(s, fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0))
        (void)!send(fd, noise, sizeof noise, MSG_NOSIGNAL);
    close(fd);
}

/* Every rank attacks itself; what is in order still arrives. */
static void case_strays(struct suite *s)
{
    struct transport *t = NULL;
    struct message m;
    void *socket = NULL;

    s->name = "strays";
    if (!EXPECT_OK(s, transport_open(&t, s->ops, s->w)))
        return;
    socket = zmq_socket(transport_zmq_context(t), ZMQ_PUSH);
    if (EXPECT(s, socket && zmq_connect(socket, transport_zmq_endpoint(t)) == 0)) {
        send_strays(s, socket);
        send_tcp_noise(s, transport_zmq_endpoint(t));
        exchange(s, t);
        for (int i = 0; i < s->timeout_ms && transport_zmq_n_dropped(t) < N_STRAYS; i++) {
            world_pause(s->w, 1000000);
            EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
            EXPECT(s, m.peer == -1);
        }
        EXPECT(s, transport_zmq_n_dropped(t) >= N_STRAYS);
        exchange(s, t);
    }
    if (socket)
        zmq_close(socket);
    transport_close(&t);
}

/* A context must outlive its last user, whoever that is. */
static void case_close_order(struct suite *s)
{
    s->name = "close in any order";
    for (int i = 0; i < 2 * s->w->n_ranks; i++) {
        struct transport *t = NULL;
        if (EXPECT_OK(s, transport_open(&t, s->ops, s->w)))
            exchange(s, t);
        if (i % s->w->n_ranks == s->w->rank)
            world_pause(s->w, 5000000);
        transport_close(&t);
    }
}

static void send_frame(struct suite *s, void *socket, struct frame_pool *pool, struct frame head, int sender,
                       uint64_t sequence)
{
    zmq_msg_t msg;

    head.sender = sender;
    head.sequence = sequence;
    if (EXPECT_OK(s, frame_write(&msg, pool, &head, &(struct xfer){ 0 })))
        EXPECT(s, zmq_msg_send(&msg, socket, 0) >= 0);
}

/* A message that never came shows with the next one, and ends what comes from its sender, but not from others: by
 * itself, without a second rank. */
static void case_gap(struct suite *s)
{
    static const unsigned char token[FRAME_TOKEN_BYTES] = { 1, 2, 3 };
    void *context = zmq_ctx_new(), *socket = NULL;
    struct frame_pool *pool = NULL;
    struct inbox *in = NULL;
    struct frame head = { .tag = TAG_ANY };
    struct arrival *a[3] = { NULL };
    char endpoint[64];
    bool got;

    s->name = "gap";
    memcpy(head.token, token, sizeof token);
    if (!EXPECT(s, context != NULL) || !EXPECT_OK(s, frame_pool_open(&pool)) ||
        !EXPECT_OK(s, inbox_open(&in, context, 0, 3)) ||
        !EXPECT_OK(s, inbox_listen(in, "inproc://gap", endpoint, sizeof endpoint)))
        goto out;
    inbox_set_token(in, token);
    socket = zmq_socket(context, ZMQ_PUSH);
    if (!EXPECT(s, socket && zmq_connect(socket, endpoint) == 0))
        goto out;
    send_frame(s, socket, pool, head, 1, 0);
    EXPECT_OK(s, inbox_receive(in, 1000, &got));
    EXPECT(s, got);
    EXPECT_OK(s, inbox_check(in, 1));
    EXPECT(s, inbox_broken_sender(in) == -1);
    send_frame(s, socket, pool, head, 1, 2);
    send_frame(s, socket, pool, head, 1, 1); /* too late */
    send_frame(s, socket, pool, head, 2, 0);
    for (int i = 0; i < 3; i++)
        EXPECT_OK(s, inbox_receive(in, 1000, &got));
    EXPECT(s, got);
    EXPECT(s, inbox_check(in, 1) == RC_PEER);
    EXPECT(s, strstr(rc_message(), "rank 1: message 2 came where 1 was due") != NULL);
    EXPECT_OK(s, inbox_check(in, 2));
    EXPECT(s, inbox_broken_sender(in) == 1);
    EXPECT(s, inbox_broken_sender(in) == -1); /* once */
    for (int i = 0; i < 3; i++)
        EXPECT_OK(s, inbox_take_any(in, &a[i]));
    EXPECT(s, a[0] && a[0]->sender == 1 && a[1] && a[1]->sender == 2 && !a[2]);
    for (int i = 0; i < 3; i++)
        if (a[i])
            inbox_end(in, a[i]);
out:
    if (socket)
        zmq_close(socket);
    inbox_close(&in);
    frame_pool_close(&pool);
    zmq_ctx_term(context);
}

static enum rc body(struct world *w, void *arg)
{
    struct suite s = { .w = w, .ops = &transport_zmq, .timeout_ms = 20000 };

    case_strays(&s);
    case_close_order(&s);
    case_gap(&s);
    atomic_fetch_add((atomic_int *)arg, s.n_failures);
    return RC_OK;
}

int main(int argc, char **argv)
{
    const struct world_opts opts = { .bind_cores = false };
    const struct world_ops *world;
    atomic_int n_failures = 0;
    enum rc rc;

    if (argc != 3)
        return 2;
    TRY(world_find(&world, argv[1]));
    TRY(world_run(world, &opts, atoi(argv[2]), body, &n_failures));
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return rc != RC_OK || atomic_load(&n_failures) > 0;
}
