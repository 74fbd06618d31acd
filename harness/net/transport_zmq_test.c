/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_zmq_test.c WORLD RANKS [INTERFACE [secure]] - faults that only the zmq transport meets: frames from outside
 * and floods of them, connections that are cut, limits of open files, ranks that leave in any order.
 * RANKS 0: as many as were launched.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "harness/base/rng.h"
#include "harness/net/suite/transport_suite_kit.h"
#include "harness/net/transport_zmq.h"
#include "harness/net/zmq_files.h"
#include "harness/net/zmq_frame.h"
#include "harness/world/suite/loopback.h"

extern const struct transport_ops transport_zmq;

enum { MOST_FILES = 1024 };
enum { N_GARBAGE = 40, N_STRAYS = N_GARBAGE + 5, N_FLOOD = 5000, N_OF_A_LOOK = 1000 };

static void exchange_at(struct suite *s, struct transport *t, int distance)
{
    uint32_t out = (uint32_t)s->w->rank + 1000, in = 0;
    struct xfer tx = { .ptr = &out, .n_bytes = sizeof out, .peer = suite_next(s, distance), .tag = 1 };
    struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = suite_prev(s, distance), .tag = 1 };

    if (s->w->n_ranks == 1)
        return;
    EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
    EXPECT(s, in == (uint32_t)rx.peer + 1000);
}

static void exchange(struct suite *s, struct transport *t)
{
    exchange_at(s, t, 1);
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
    unsigned char noise[3000];

    if (strncmp(endpoint, "tcp://127.0.0.1", 15) != 0)
        return;
    for (uint64_t k = 0; k < sizeof noise; k++)
        noise[k] = (unsigned char)rng_u64(3, RNG_TEST, k);
    const int fd = loopback_dial(loopback_port(endpoint));
    if (EXPECT(s, fd >= 0))
        (void)!send(fd, noise, sizeof noise, MSG_NOSIGNAL);
    close(fd);
}

/* Behind a gate? */
static bool is_guarded(const struct transport *t)
{
    return strncmp(transport_zmq_endpoint(t), "tcp://", 6) == 0;
}

/* A stranger without a pass: what it sends is not even taken, and what is in order still arrives. */
static void attack_gate(struct suite *s, struct transport *t)
{
    void *socket = zmq_socket(transport_zmq_context(t), ZMQ_PUSH);
    const int none = 0;
    bool are_counted = false;
    struct message m;

    if (!EXPECT(s, socket && zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none) == 0 &&
                       zmq_connect(socket, transport_zmq_endpoint(t)) == 0))
        return;
    send_tcp_noise(s, transport_zmq_endpoint(t));
    (void)zmq_send(socket, "stranger", 8, ZMQ_DONTWAIT);
    for (int i = 0; i < s->timeout_ms && !are_counted; i++) {
        are_counted = transport_zmq_n_outside(t) >= 2;
        EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
        EXPECT(s, m.peer == -1);
        world_pause(s->w, 1000000);
    }
    EXPECT(s, are_counted);
    EXPECT_OK(s, world_barrier(s->w)); /* before that no rank connects, who would be counted until it is in */
    exchange(s, t);
    EXPECT(s, transport_zmq_n_dropped(t) == 0);
    zmq_close(socket);
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
    if (strncmp(transport_zmq_endpoint(t), "ipc://", 6) == 0) { /* nobody else can connect any more */
        EXPECT(s, access(transport_zmq_endpoint(t) + 6, F_OK) != 0);
        exchange(s, t);
        goto out;
    }
    if (is_guarded(t)) {
        attack_gate(s, t);
        goto out;
    }
    socket = zmq_socket(transport_zmq_context(t), ZMQ_PUSH);
    if (EXPECT(s, socket && zmq_connect(socket, transport_zmq_endpoint(t)) == 0)) {
        send_strays(s, socket);
        exchange(s, t);
        for (int i = 0; i < s->timeout_ms && transport_zmq_n_dropped(t) < N_STRAYS; i++) {
            world_pause(s->w, 1000000);
            EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
            EXPECT(s, m.peer == -1);
        }
        EXPECT(s, transport_zmq_n_dropped(t) >= N_STRAYS);
        exchange(s, t);
    }
out:
    if (socket)
        zmq_close(socket);
    transport_close(&t);
}

/* Is there nobody from outside who could send frames? Of ipc://, once all have connected. */
static bool is_closed_to_others(const struct transport *t)
{
    const char *endpoint = transport_zmq_endpoint(t);

    return is_guarded(t) || (strncmp(endpoint, "ipc://", 6) == 0 && access(endpoint + 6, F_OK) != 0);
}

/* A stranger's socket to this rank, which queues all there is; NULL: that is not possible. */
static void *open_flood(struct suite *s, struct transport *t)
{
    void *socket = zmq_socket(transport_zmq_context(t), ZMQ_PUSH);
    const int any = 0;

    if (EXPECT(s, socket && zmq_setsockopt(socket, ZMQ_SNDHWM, &any, sizeof any) == 0 &&
                      zmq_setsockopt(socket, ZMQ_LINGER, &any, sizeof any) == 0 &&
                      zmq_connect(socket, transport_zmq_endpoint(t)) == 0))
        return socket;
    if (socket)
        zmq_close(socket);
    return NULL;
}

static void flood(struct suite *s, void *socket)
{
    for (int i = 0; i < N_FLOOD; i++)
        EXPECT(s, zmq_send(socket, "stranger", 8, 0) == 8);
}

/* More frames of strangers wait than a look takes: it ends all the same, a limit is kept, and messages of the group
 * come through. */
static void case_flood(struct suite *s)
{
    struct transport *t = NULL;
    struct message m = { .peer = -1 };
    uint32_t value = 0;
    struct xfer rx = { .ptr = &value, .n_bytes = sizeof value, .peer = suite_prev(s, 1), .tag = 9 };
    void *socket = NULL;

    s->name = "flood";
    if (!EXPECT_OK(s, transport_open(&t, s->ops, s->w)) || is_closed_to_others(t) || !(socket = open_flood(s, t)))
        goto out;
    flood(s, socket);
    for (int i = 0; i < s->timeout_ms && transport_zmq_n_dropped(t) == 0; i++) {
        EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
        EXPECT(s, m.peer == -1);
        world_pause(s->w, 1000000);
    }
    EXPECT(s, transport_zmq_n_dropped(t) > 0 && transport_zmq_n_dropped(t) <= N_OF_A_LOOK);
    for (int i = 0; i < 20; i++) {
        flood(s, socket);
        exchange(s, t);
    }
    EXPECT_OK(s, world_barrier(s->w)); /* a rank that gave up on another one hears it no more */
    if (s->w->n_ranks > 1 && EXPECT_OK(s, transport_recv(t, &rx))) {
        flood(s, socket);
        EXPECT(s, transport_wait(t, &rx, 50) == RC_TIMEOUT);
    }
    EXPECT_OK(s, world_barrier(s->w));
out:
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
            EXPECT_OK(s, world_barrier(s->w)); /* the others have closed */
        transport_close(&t);
        if (i % s->w->n_ranks != s->w->rank)
            EXPECT_OK(s, world_barrier(s->w));
    }
}

/* Is this a TCP connection of this process to the port? */
static bool goes_to(int fd, int port)
{
    struct sockaddr_in to = { .sin_family = AF_UNSPEC };
    socklen_t n_bytes = sizeof to;

    return getpeername(fd, (struct sockaddr *)&to, &n_bytes) == 0 && to.sin_family == AF_INET &&
           ntohs(to.sin_port) == port;
}

/* Shut the TCP connections of this process to the port of endpoint, once there is one, and bytes are on it that its
 * peer has not taken, where is_full. */
static bool cut_connections_to(struct suite *s, const char *endpoint, bool is_full)
{
    const int port = atoi(strrchr(endpoint, ':') + 1);
    int n_cut = 0;

    for (int i = 0; i < s->timeout_ms && n_cut == 0; i++) {
        for (int fd = 3; fd < MOST_FILES; fd++) {
            int n_left = 0;
            if (goes_to(fd, port) && (!is_full || (ioctl(fd, SIOCOUTQ, &n_left) == 0 && n_left > 0)))
                n_cut += shutdown(fd, SHUT_RDWR) == 0;
        }
        if (n_cut == 0)
            world_pause(s->w, 1000000);
    }
    return EXPECT(s, n_cut > 0);
}

/* Was a connection of t made again? Where all messages were through before the cut, that may still be under way. */
static bool is_reconnected(struct suite *s, struct transport *t)
{
    for (int i = 0; i < s->timeout_ms && transport_zmq_n_reconnected(t) == 0; i++)
        world_pause(s->w, 1000000);
    return transport_zmq_n_reconnected(t) > 0;
}

/* One message of n_bytes to the next rank and one of the rank before, of this round. */
static bool exchange_round(struct suite *s, struct transport *t, unsigned char *bytes, size_t n_bytes, uint32_t round)
{
    const int next = suite_next(s, 1), prev = suite_prev(s, 1);
    struct xfer tx = { .ptr = bytes, .n_bytes = n_bytes, .peer = next, .tag = 1 };
    struct xfer rx = { .ptr = bytes + n_bytes, .n_bytes = n_bytes, .peer = prev, .tag = 1 };

    pattern_fill(bytes, n_bytes, s->w->rank, next, round);
    return EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms)) &&
           EXPECT(s, rx.n_bytes == n_bytes && pattern_holds(bytes + n_bytes, n_bytes, prev, s->w->rank, round));
}

static void send_and_cut(struct suite *s, struct transport *t, unsigned char *bytes, size_t n_bytes, uint32_t n)
{
    const int to = suite_next(s, 1);

    for (uint32_t i = 0; i < n; i++) {
        struct xfer tx = { .ptr = bytes, .n_bytes = n_bytes, .peer = to, .tag = 2 };
        pattern_fill(bytes, n_bytes, s->w->rank, to, i);
        EXPECT_OK(s, transport_send(t, &tx));
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
    }
    (void)cut_connections_to(s, transport_zmq_peer_endpoint(t, to), true);
}

/* A connection is cut that is full of messages, and their sender does not wait in its transport any more. */
static void case_cut_and_leave(struct suite *s)
{
    enum { N_MESSAGES = 200, N_BYTES = 260000 }; /* more than an inbox and sockets hold */
    struct transport *t = NULL;
    unsigned char *bytes = malloc(N_BYTES);

    s->name = "cut and leave";
    if (!EXPECT(s, bytes != NULL) || !EXPECT_OK(s, transport_open(&t, s->ops, s->w)) ||
        strncmp(transport_zmq_endpoint(t), "tcp://", 6) != 0 || s->w->n_ranks == 1)
        goto out;
    exchange(s, t);
    EXPECT_OK(s, world_barrier(s->w)); /* so all are connected */
    if (s->w->rank == 0)
        send_and_cut(s, t, bytes, N_BYTES, N_MESSAGES);
    EXPECT_OK(s, world_barrier(s->w));
    for (uint32_t i = 0; s->w->rank == 1 && i < N_MESSAGES; i++) {
        struct xfer rx = { .ptr = bytes, .n_bytes = N_BYTES, .peer = 0, .tag = 2 };
        if (!EXPECT_OK(s, transport_recv(t, &rx)) || !EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms)))
            break;
        EXPECT(s, rx.n_bytes == N_BYTES && pattern_holds(bytes, N_BYTES, 0, 1, i));
    }
    EXPECT_OK(s, world_barrier(s->w));
    EXPECT(s, s->w->rank != 0 || is_reconnected(s, t));
    exchange(s, t);
out:
    transport_close(&t);
    free(bytes);
}

/* net.T4 over TCP connections that are cut while messages are on them, by either end: they are made again, and no
 * message is lost, comes twice or out of order. */
static void case_cut(struct suite *s)
{
    enum { N_ROUNDS = 160, CUT_EVERY = 40, MOST_BYTES = 300000 };
    struct transport *t = NULL;
    unsigned char *bytes = malloc(2 * MOST_BYTES);
    char next_endpoint[128];

    s->name = "cut";
    if (!EXPECT(s, bytes != NULL) || !EXPECT_OK(s, transport_open(&t, s->ops, s->w)) ||
        strncmp(transport_zmq_endpoint(t), "tcp://", 6) != 0 || s->w->n_ranks == 1)
        goto out;
    (void)snprintf(next_endpoint, sizeof next_endpoint, "%s", transport_zmq_peer_endpoint(t, suite_next(s, 1)));
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        const size_t n_bytes = 1 + rng_u64(5, RNG_TEST, round) % (round % 3 == 0 ? MOST_BYTES : 3000);
        if (!exchange_round(s, t, bytes, n_bytes, round))
            goto out;
        if (round % CUT_EVERY == (uint32_t)(7 * s->w->rank) % CUT_EVERY && !cut_connections_to(s, next_endpoint, false))
            goto out;
    }
    EXPECT(s, is_reconnected(s, t));
    EXPECT_OK(s, world_barrier(s->w));
out:
    transport_close(&t);
    free(bytes);
}

static int n_open_files(void)
{
    int n_files = 0;

    for (int fd = 0; fd < MOST_FILES; fd++)
        n_files += fcntl(fd, F_GETFD) >= 0;
    return n_files;
}

static bool set_file_limit(rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };

    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* A rank with few open files allowed may connect to all others, and has no more of them then than zmq_files.h says. */
static void case_files(struct suite *s)
{
    enum { N_OF_A_RANK = 7, N_OF_A_GATE = 5 }; /* context, PULL socket, and what listens; sockets of the gate's */
    const int n_before = n_open_files();
    struct transport *t = NULL;
    struct rlimit limit;

    s->name = "files";
    if (!EXPECT(s, getrlimit(RLIMIT_NOFILE, &limit) == 0) ||
        !EXPECT(s, set_file_limit((rlim_t)n_before + 4, limit.rlim_max)) ||
        !EXPECT_OK(s, transport_open(&t, s->ops, s->w)))
        goto out;
    const bool is_tcp = strncmp(transport_zmq_endpoint(t), "tcp://", 6) == 0;
    for (int d = 1; d < s->w->n_ranks; d++)
        exchange_at(s, t, d);
    EXPECT_OK(s, world_barrier(s->w));
    const int n_files = n_open_files() - n_before;
    const int n_of_a_peer = ZMQ_FILES_OF_A_PEER + (is_tcp ? ZMQ_FILES_OF_A_MONITOR : 0);
    EXPECT(s, n_files > (s->w->n_ranks - 1) * n_of_a_peer &&
                  n_files <= N_OF_A_RANK + (is_tcp ? N_OF_A_GATE : 0) + (s->w->n_ranks - 1) * n_of_a_peer);
    EXPECT_OK(s, world_barrier(s->w));
out:
    transport_close(&t);
}

/* One rank has too few for all others: it says so, and all end. Its limit stays, so this is the last case. */
static void case_too_few_files(struct suite *s)
{
    struct transport *t = NULL;

    s->name = "too few files";
    if (s->w->rank == 0 && !EXPECT(s, set_file_limit((rlim_t)n_open_files() + 40, (rlim_t)n_open_files() + 40)))
        return;
    EXPECT(s, transport_open(&t, s->ops, s->w) == (s->w->rank == 0 ? RC_UNSUPPORTED : RC_PEER));
    EXPECT(s, s->w->rank == 0 || strstr(rc_message(), "rank 0 cannot listen: ") != NULL);
    EXPECT(s, strstr(rc_message(), "open files in the process of each") != NULL);
    transport_close(&t);
}

static enum rc body(struct world *w, void *arg)
{
    struct suite s = { .w = w, .ops = &transport_zmq, .timeout_ms = 20000 };

    case_strays(&s);
    case_flood(&s);
    case_cut(&s);
    case_cut_and_leave(&s);
    case_close_order(&s);
    if (!(w->ops->module.caps & WORLD_SHARED_MEMORY)) {
        case_files(&s);
        case_too_few_files(&s);
    }
    atomic_fetch_add((atomic_int *)arg, s.n_failures);
    return RC_OK;
}

int main(int argc, char **argv)
{
    const struct world_opts opts = { .bind_cores = false,
                                     .interface = argc >= 4 ? argv[3] : NULL,
                                     .security = argc == 5 ? SECURITY_ON : SECURITY_AUTO };
    const struct world_ops *world;
    atomic_int n_failures = 0;
    enum rc rc;

    if (argc < 3 || argc > 5)
        return 2;
    TRY(world_find(&world, argv[1]));
    TRY(world_run(world, &opts, atoi(argv[2]), body, &n_failures));
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return rc != RC_OK || atomic_load(&n_failures) > 0;
}
