/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_flood_test.c - strangers who do all they can on a real socket, while a rank of the run sends: its messages come,
 * no other one does, and memory stays bounded (net.Z2, Z3).
 */
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <zmq.h>

#include "harness/base/bytes.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/net/xfer.h"
#include "harness/net/zmq_frame.h"
#include "harness/net/zmq_gate.h"
#include "harness/net/zmq_inbox.h"
#include "harness/world/suite/loopback.h"

enum { LIMIT_MS = 20000, N_ATTACKERS = 3, N_HELD = 48, N_MESSAGES = 400, MOST_BYTES = 1 << 20, SEND_MS = 200 };
/* What strangers may make of memory: all that net.Z3 lets them hold, with the library's own for each connection. */
enum { MOST_GROWTH_BYTES = N_ATTACKERS * (N_HELD + 1) * (MOST_BYTES + (1 << 17)) };

enum kind { KIND_SILENT, KIND_NOISE, KIND_LONG_COMMAND, KIND_TOO_LONG, KIND_PARTS, N_KINDS };

static const unsigned char token[FRAME_TOKEN_BYTES] = { 3, 1, 4 };

/* Of ZMTP 3.1: signature, version, a mechanism, as client. */
static void write_greeting(unsigned char out[64], const char *mechanism)
{
    memset(out, 0, 64);
    out[0] = 0xff;
    out[9] = 0x7f;
    out[10] = 3;
    out[11] = 1;
    memcpy(out + 12, mechanism, strlen(mechanism));
}

struct attack {
    uint16_t port;
    uint64_t seed;
    bool encrypts;
    atomic_bool *is_over;
    atomic_uint_fast64_t *n_connections, *n_bytes;
};

static int connect_to(uint16_t port)
{
    const struct timeval limit = { .tv_usec = SEND_MS * 1000 };
    const int fd = loopback_dial(port);

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return fd;
}

static bool put(struct attack *a, int fd, const void *bytes, size_t n_bytes)
{
    const ssize_t n_sent = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

    if (n_sent > 0)
        atomic_fetch_add(a->n_bytes, (uint64_t)n_sent);
    return n_sent == (ssize_t)n_bytes;
}

/* A frame of n bytes as ZMTP has it, begun: flags, eight bytes of length, and as much as goes through. */
static void put_frame(struct attack *a, int fd, unsigned char flags, uint64_t n_bytes)
{
    static const unsigned char filler[1 << 16] = { 0x55 };
    unsigned char head[9] = { flags };

    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(n_bytes >> (8 * (7 - i)));
    if (!put(a, fd, head, sizeof head))
        return;
    for (uint64_t left = n_bytes; left > 1;) { /* the last byte never comes */
        const size_t n = left - 1 < sizeof filler ? (size_t)left - 1 : sizeof filler;
        if (!put(a, fd, filler, n))
            return;
        left -= n;
    }
}

static void attack_once(struct attack *a, int fd, enum kind kind, uint64_t draw)
{
    enum { FLAG_MORE = 1, FLAG_LONG = 2, FLAG_COMMAND = 4 };
    unsigned char greeting[64], noise[512];

    write_greeting(greeting, kind == KIND_PARTS ? "NULL" : a->encrypts ? "CURVE" : "PLAIN");
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)rng_u64(draw, RNG_TEST, i);
    if (kind == KIND_SILENT)
        return;
    if (kind == KIND_NOISE) {
        (void)!put(a, fd, noise, 1 + draw % sizeof noise);
        return;
    }
    if (!put(a, fd, greeting, sizeof greeting))
        return;
    if (kind == KIND_LONG_COMMAND)
        put_frame(a, fd, FLAG_LONG | FLAG_COMMAND, MOST_BYTES);
    else if (kind == KIND_TOO_LONG)
        put_frame(a, fd, FLAG_LONG | FLAG_COMMAND, (uint64_t)1 << 40);
    else
        for (int i = 0; i < 64; i++) /* parts without an end */
            put_frame(a, fd, FLAG_LONG | FLAG_MORE, 1 << 16);
}

static void *attack_main(void *arg)
{
    struct attack *a = arg;
    int held[N_HELD];
    uint64_t n = 0;

    for (int i = 0; i < N_HELD; i++)
        held[i] = -1;
    for (; !atomic_load(a->is_over); n++) {
        const uint64_t draw = rng_u64(a->seed, RNG_TEST, n);
        const int slot = (int)(n % N_HELD);
        if (held[slot] >= 0)
            close(held[slot]);
        held[slot] = connect_to(a->port);
        if (held[slot] < 0)
            continue;
        atomic_fetch_add(a->n_connections, 1);
        attack_once(a, held[slot], (enum kind)(draw % N_KINDS), draw / N_KINDS);
    }
    for (int i = 0; i < N_HELD; i++)
        if (held[i] >= 0)
            close(held[i]);
    return NULL;
}

static size_t resident_bytes(void)
{
    unsigned long n_all = 0, n_resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &n_all, &n_resident), 2);
    (void)fclose(file);
    return (size_t)n_resident * (size_t)sysconf(_SC_PAGESIZE);
}

struct kit {
    void *context, *own_context, *push;
    struct zmq_gate *gate, *own;
    struct inbox *in;
    struct frame_pool *pool;
    char endpoint[64];
};

static void kit_open(struct kit *k, bool encrypts)
{
    memset(k, 0, sizeof *k);
    assert_non_null(k->context = zmq_ctx_new());
    assert_non_null(k->own_context = zmq_ctx_new());
    assert_int_equal(zmq_gate_open(&k->gate, k->context, encrypts, NULL), RC_OK);
    assert_int_equal(zmq_gate_open(&k->own, k->own_context, encrypts, NULL), RC_OK);
    assert_int_equal(frame_pool_open(&k->pool), RC_OK);
    assert_int_equal(inbox_open(&k->in, k->context, 0, 2), RC_OK);
    const struct inbox_limits limits = { .most_message_bytes = MOST_BYTES,
                                         .most_waiting = 64,
                                         .reconnects = true,
                                         .silence_ms = LIMIT_MS,
                                         .gate = k->gate };
    assert_int_equal(inbox_limit(k->in, &limits), RC_OK);
    assert_int_equal(inbox_listen(k->in, "tcp://127.0.0.1:*", k->endpoint, sizeof k->endpoint), RC_OK);
    inbox_set_token(k->in, token);
    const char *const pass[] = { zmq_gate_pass(k->gate), zmq_gate_pass(k->own) };
    assert_int_equal(zmq_gate_admit(k->gate, pass, 2), RC_OK);
    assert_non_null(k->push = zmq_socket(k->own_context, ZMQ_PUSH));
    assert_int_equal(zmq_gate_enter(k->own, k->push, zmq_gate_pass(k->gate)), RC_OK);
    assert_int_equal(zmq_connect(k->push, k->endpoint), 0);
}

static void kit_close(struct kit *k)
{
    const int none = 0;

    assert_int_equal(zmq_setsockopt(k->push, ZMQ_LINGER, &none, sizeof none), 0);
    zmq_close(k->push);
    inbox_close(&k->in);
    zmq_gate_close(&k->gate);
    zmq_gate_close(&k->own);
    frame_pool_close(&k->pool);
    zmq_ctx_term(k->context);
    zmq_ctx_term(k->own_context);
}

/* Message `i` of the rank, of half the longest length, there and taken. */
static void push_one(struct kit *k, uint64_t i, unsigned char *bytes)
{
    const struct frame head = { .sender = 1, .sequence = i, .tag = 0x80000001u, .token = { 3, 1, 4 } };
    const struct xfer x = { .ptr = bytes, .n_bytes = MOST_BYTES / 2 };
    struct arrival *a = NULL;
    int from = FROM_NOBODY;
    zmq_msg_t msg;

    bytes_put(bytes, i, 8);
    assert_int_equal(frame_write(&msg, k->pool, &head, &x), RC_OK);
    assert_true(zmq_msg_send(&msg, k->push, 0) >= 0);
    assert_int_equal(inbox_receive(k->in, LIMIT_MS, &from), RC_OK);
    assert_int_equal(from, 1);
    assert_int_equal(inbox_take_any(k->in, &a), RC_OK);
    assert_true(a && a->n_bytes == MOST_BYTES / 2 && bytes_get(a->ptr, 8) == i);
    inbox_end(k->in, a);
}

static void under_attack(bool encrypts)
{
    atomic_uint_fast64_t n_connections = 0, n_bytes = 0;
    unsigned char *bytes = calloc(1, MOST_BYTES);
    struct attack attack[N_ATTACKERS];
    pthread_t thread[N_ATTACKERS];
    atomic_bool is_over = false;
    size_t most_bytes = 0;
    struct kit k;

    assert_non_null(bytes);
    kit_open(&k, encrypts);
    for (uint64_t i = 0; i < 8; i++)
        push_one(&k, i, bytes);
    const size_t before_bytes = resident_bytes();
    for (int i = 0; i < N_ATTACKERS; i++) {
        attack[i] = (struct attack){ .port = loopback_port(k.endpoint),
                                     .seed = (uint64_t)i,
                                     .encrypts = encrypts,
                                     .is_over = &is_over,
                                     .n_connections = &n_connections,
                                     .n_bytes = &n_bytes };
        assert_int_equal(pthread_create(&thread[i], NULL, attack_main, &attack[i]), 0);
    }
    for (uint64_t i = 8; i < N_MESSAGES; i++) {
        push_one(&k, i, bytes);
        const size_t now_bytes = resident_bytes();
        most_bytes = now_bytes > most_bytes ? now_bytes : most_bytes;
    }
    while (atomic_load(&n_connections) < N_HELD * N_ATTACKERS)
        (void)zmq_poll(NULL, 0, 1);
    atomic_store(&is_over, true);
    for (int i = 0; i < N_ATTACKERS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    push_one(&k, N_MESSAGES, bytes);
    assert_int_equal(inbox_n_dropped(k.in), 0); /* net.Z2: not one of their frames */
    for (int i = 0; i < LIMIT_MS && zmq_gate_n_outside(k.gate) < atomic_load(&n_connections) / 2; i++)
        (void)zmq_poll(NULL, 0, 1);
    print_message("%s: %llu connections and %.1f MB of strangers, %d messages; memory grew by %.1f MB of %.1f\n",
                  encrypts ? "CURVE" : "PLAIN", (unsigned long long)atomic_load(&n_connections),
                  (double)atomic_load(&n_bytes) / 1e6, N_MESSAGES,
                  most_bytes > before_bytes ? (double)(most_bytes - before_bytes) / 1e6 : 0.0, MOST_GROWTH_BYTES / 1e6);
    assert_true(zmq_gate_n_outside(k.gate) >= atomic_load(&n_connections) / 2);
    assert_true(most_bytes < before_bytes + MOST_GROWTH_BYTES);
    kit_close(&k);
    free(bytes);
}

UNIT_TEST(strangers_at_an_encrypted_gate_Z2_Z3)
{
    under_attack(true);
}

UNIT_TEST(strangers_at_a_gate_with_a_password_Z2_Z3)
{
    under_attack(false);
}

UNIT_MAIN("zmq_flood")
