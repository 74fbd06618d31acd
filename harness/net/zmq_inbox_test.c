/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_inbox_test.c - numbers that are not due, frames that are too long, messages that nobody awaits, and what is owed:
 * net.I1 to I4. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/net/zmq_inbox.h"
#include "harness/world/suite/loopback.h"

enum { N_RANKS = 3, LIMIT_MS = 20000, SOON_MS = 30, MOST_BYTES = 1000 };

struct kit {
    void *context, *push;
    struct frame_pool *pool;
    struct inbox *in;
    char endpoint[64];
};

static const unsigned char token[FRAME_TOKEN_BYTES] = { 1, 2, 3 };

static void kit_open(struct kit *k, const struct inbox_limits *limits)
{
    memset(k, 0, sizeof *k);
    assert_non_null(k->context = zmq_ctx_new());
    assert_int_equal(frame_pool_open(&k->pool), RC_OK);
    assert_int_equal(inbox_open(&k->in, k->context, 0, N_RANKS), RC_OK);
    assert_int_equal(inbox_limit(k->in, limits), RC_OK);
    assert_int_equal(inbox_listen(k->in, "tcp://127.0.0.1:*", k->endpoint, sizeof k->endpoint), RC_OK);
    inbox_set_token(k->in, token);
    assert_non_null(k->push = zmq_socket(k->context, ZMQ_PUSH));
    assert_int_equal(zmq_connect(k->push, k->endpoint), 0);
}

static void kit_close(struct kit *k)
{
    const int none = 0;

    assert_int_equal(zmq_setsockopt(k->push, ZMQ_LINGER, &none, sizeof none), 0);
    zmq_close(k->push);
    inbox_close(&k->in);
    frame_pool_close(&k->pool);
    zmq_ctx_term(k->context);
}

static void send_to(struct kit *k, void *push, struct frame head, size_t n_bytes)
{
    unsigned char *bytes = calloc(1, n_bytes + 1);
    const struct xfer x = { .ptr = bytes, .n_bytes = n_bytes };
    zmq_msg_t msg;

    assert_non_null(bytes);
    memcpy(head.token, token, sizeof token);
    assert_int_equal(frame_write(&msg, k->pool, &head, &x), RC_OK);
    assert_true(zmq_msg_send(&msg, push, 0) >= 0);
    free(bytes);
}

/* A message of sender, of n_bytes. */
static void send_message(struct kit *k, int sender, uint64_t sequence, uint32_t tag, size_t n_bytes)
{
    send_to(k, k->push, (struct frame){ .sender = sender, .sequence = sequence, .tag = tag }, n_bytes);
}

static int receive(struct kit *k)
{
    int from = FROM_NOBODY;

    assert_int_equal(inbox_receive(k->in, LIMIT_MS, &from), RC_OK);
    return from;
}

static void takes(struct kit *k, int sender, size_t n_bytes)
{
    struct arrival *a = NULL;

    assert_int_equal(inbox_take_any(k->in, &a), RC_OK);
    assert_non_null(a);
    assert_int_equal(a->sender, sender);
    assert_int_equal(a->n_bytes, n_bytes);
    inbox_end(k->in, a);
}

static void takes_none(struct kit *k)
{
    struct arrival *a = NULL;

    assert_int_equal(inbox_take_any(k->in, &a), RC_OK);
    assert_null(a);
}

enum { HEADER_BYTES = 16, BODY_BYTES = 40 };

/* A divided frame that says BODY_BYTES, and has n_body_bytes, in n_parts of which all but the first are the same. */
static void send_divided(struct kit *k, uint64_t sequence, size_t n_body_bytes, int n_parts)
{
    unsigned char bytes[HEADER_BYTES + BODY_BYTES];
    const struct xfer x = {
        .head = bytes, .n_head_bytes = HEADER_BYTES, .ptr = bytes + HEADER_BYTES, .n_bytes = BODY_BYTES
    };
    struct frame head = { .kind = FRAME_DIVIDED, .sender = 1, .sequence = sequence, .tag = TAG_ANY };
    zmq_msg_t msg;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    memcpy(head.token, token, sizeof token);
    assert_int_equal(frame_write(&msg, k->pool, &head, &x), RC_OK);
    assert_true(zmq_msg_send(&msg, k->push, n_parts > 1 ? ZMQ_SNDMORE : 0) >= 0);
    for (int i = 1; i < n_parts; i++)
        assert_true(zmq_send(k->push, bytes + HEADER_BYTES, n_body_bytes, i + 1 < n_parts ? ZMQ_SNDMORE : 0) >= 0);
}

/* Of two parts, as long as it says; whatever else is a stranger's, as a whole. */
UNIT_TEST(a_divided_frame_is_two_parts)
{
    const struct inbox_limits none = { 0 };
    struct arrival *a = NULL;
    struct kit k;

    kit_open(&k, &none);
    send_divided(&k, 0, BODY_BYTES, 2);
    assert_int_equal(receive(&k), 1);
    assert_int_equal(inbox_take_any(k.in, &a), RC_OK);
    assert_non_null(a);
    assert_int_equal(a->n_bytes, HEADER_BYTES);
    assert_int_equal(a->n_body_bytes, BODY_BYTES);
    for (int i = 0; i < BODY_BYTES; i++)
        assert_int_equal(((const unsigned char *)a->body_ptr)[i], HEADER_BYTES + i);
    inbox_end(k.in, a);
    send_divided(&k, 1, BODY_BYTES, 1);
    assert_int_equal(receive(&k), FROM_STRANGER);
    send_divided(&k, 1, BODY_BYTES - 1, 2);
    assert_int_equal(receive(&k), FROM_STRANGER);
    send_divided(&k, 1, BODY_BYTES, 3);
    assert_int_equal(receive(&k), FROM_STRANGER);
    assert_int_equal(receive(&k), FROM_STRANGER); /* its third part */
    takes_none(&k);
    send_message(&k, 1, 1, TAG_ANY, 7);
    assert_int_equal(receive(&k), 1);
    takes(&k, 1, 7);
    assert_int_equal(inbox_n_received(k.in, 1), 2);
    assert_int_equal(inbox_n_dropped(k.in), 4);
    kit_close(&k);
}

/* 0, 2 and 3 too early, 0 again, 1, 2, 1 again: each comes once, in order; and it is nobody's error. */
UNIT_TEST(what_is_not_due_is_dropped_I1)
{
    static const uint64_t sequence[] = { 0, 2, 3, 0, 1, 2, 1 };
    const struct inbox_limits limits = { .reconnects = true, .silence_ms = LIMIT_MS };
    struct kit k;

    kit_open(&k, &limits);
    for (size_t i = 0; i < sizeof sequence / sizeof *sequence; i++)
        send_message(&k, 1, sequence[i], TAG_ANY | 1, (size_t)sequence[i] + 10);
    for (size_t i = 0; i < sizeof sequence / sizeof *sequence; i++)
        assert_int_equal(receive(&k), 1);
    for (size_t i = 0; i < 3; i++)
        takes(&k, 1, i + 10);
    takes_none(&k);
    assert_int_equal(inbox_n_received(k.in, 1), 3);
    assert_int_equal(inbox_n_received(k.in, 2), 0);
    assert_int_equal(inbox_check(k.in, 1), RC_OK);
    assert_int_equal(inbox_broken_sender(k.in), -1);
    kit_close(&k);
}

/* Where nobody reconnects a message that never came shows with the next one, and ends what comes from its sender, but
 * not from others. */
UNIT_TEST(a_gap_is_an_error_where_nobody_reconnects_I1)
{
    const struct inbox_limits none = { 0 };
    struct kit k;

    kit_open(&k, &none);
    send_message(&k, 1, 0, TAG_ANY, 5);
    assert_int_equal(receive(&k), 1);
    assert_int_equal(inbox_check(k.in, 1), RC_OK);
    assert_int_equal(inbox_broken_sender(k.in), -1);
    send_message(&k, 1, 2, TAG_ANY, 6);
    send_message(&k, 1, 1, TAG_ANY, 7); /* too late */
    send_message(&k, 2, 0, TAG_ANY, 8);
    for (int i = 0; i < 3; i++)
        assert_int_equal(receive(&k), i < 2 ? 1 : 2);
    assert_int_equal(inbox_check(k.in, 1), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 1: message 2 came where 1 was due"));
    assert_int_equal(inbox_check(k.in, 2), RC_OK);
    assert_int_equal(inbox_broken_sender(k.in), 1);
    assert_int_equal(inbox_broken_sender(k.in), -1); /* once */
    takes(&k, 1, 5);
    takes(&k, 2, 8);
    takes_none(&k);
    kit_close(&k);
}

/* The longest message comes; of one that is longer by a byte, and of those behind it, nothing does. */
UNIT_TEST(a_longer_frame_ends_its_connection_I2)
{
    const struct inbox_limits limits = { .most_message_bytes = MOST_BYTES };
    int from = FROM_NOBODY;
    struct kit k;
    void *stranger;

    kit_open(&k, &limits);
    assert_non_null(stranger = zmq_socket(k.context, ZMQ_PUSH));
    assert_int_equal(zmq_setsockopt(stranger, ZMQ_RECONNECT_IVL, &(int){ -1 }, sizeof(int)), 0);
    assert_int_equal(zmq_setsockopt(stranger, ZMQ_LINGER, &(int){ 0 }, sizeof(int)), 0);
    assert_int_equal(zmq_connect(stranger, k.endpoint), 0);
    send_to(&k, stranger, (struct frame){ .sender = 2, .tag = TAG_ANY }, MOST_BYTES);
    assert_int_equal(receive(&k), 2);
    takes(&k, 2, MOST_BYTES);
    send_to(&k, stranger, (struct frame){ .sender = 2, .sequence = 1, .tag = TAG_ANY }, MOST_BYTES + 1);
    send_to(&k, stranger, (struct frame){ .sender = 2, .sequence = 1, .tag = TAG_ANY }, 5);
    send_message(&k, 1, 0, TAG_ANY, MOST_BYTES);
    assert_int_equal(receive(&k), 1);
    takes(&k, 1, MOST_BYTES);
    assert_int_equal(inbox_receive(k.in, SOON_MS, &from), RC_OK);
    assert_int_equal(from, FROM_NOBODY);
    assert_int_equal(inbox_n_received(k.in, 2), 1);
    zmq_close(stranger);
    kit_close(&k);
}

UNIT_TEST(so_many_wait_to_be_awaited_I3)
{
    enum { MOST = 4 };
    const struct inbox_limits limits = { .most_waiting = MOST };
    struct xfer x = { .peer = 1, .tag = 7 };
    struct kit k;

    kit_open(&k, &limits);
    for (uint64_t i = 0; i < MOST; i++) {
        send_message(&k, 1, i, i % 2 == 0 ? TAG_ANY : 7, 0);
        assert_int_equal(receive(&k), 1);
    }
    takes(&k, 1, 0); /* one is taken, one awaited: two more have room */
    inbox_post(k.in, &x);
    assert_int_equal(atomic_load(&x.state), INBOX_DONE);
    for (uint64_t i = MOST; i < MOST + 3; i++) {
        assert_int_equal(inbox_check(k.in, 1), RC_OK);
        send_message(&k, 1, i, 8, 0);
        assert_int_equal(receive(&k), 1);
    }
    assert_int_equal(inbox_check(k.in, 1), RC_MISMATCH);
    assert_string_equal(rc_message(), "rank 1: sent more messages that nobody awaits than the plan's 4");
    assert_int_equal(inbox_broken_sender(k.in), 1);
    send_message(&k, 2, 0, 8, 0);
    assert_int_equal(receive(&k), 2);
    assert_int_equal(inbox_check(k.in, 2), RC_OK);
    kit_close(&k);
}

UNIT_TEST(half_a_window_is_owed_I4)
{
    const struct inbox_limits limits = { .window = 6, .reconnects = true, .silence_ms = LIMIT_MS };
    struct kit k;

    kit_open(&k, &limits);
    for (uint64_t i = 0; i < 3; i++) {
        assert_false(inbox_owes(k.in, 1));
        send_message(&k, 1, i, TAG_ANY, 0);
        assert_int_equal(receive(&k), 1);
    }
    assert_true(inbox_owes(k.in, 1));
    assert_false(inbox_owes(k.in, 2));
    inbox_note_told(k.in, 1);
    assert_false(inbox_owes(k.in, 1));
    send_message(&k, 1, 3, TAG_ANY, 1 << 20); /* of a long message the sender has the memory until it is told */
    assert_int_equal(receive(&k), 1);
    assert_true(inbox_owes(k.in, 1));
    inbox_note_told(k.in, 1);
    assert_false(inbox_owes(k.in, 1));
    assert_int_equal(inbox_n_received(k.in, 1), 4);
    kit_close(&k);
}

UNIT_TEST(acknowledgements_are_noted)
{
    const struct inbox_limits none = { .window = 0 };
    struct kit k;

    kit_open(&k, &none);
    send_to(&k, k.push, (struct frame){ .kind = FRAME_ACK, .sender = 1, .n_received = 5 }, 0);
    send_to(&k, k.push, (struct frame){ .sender = 1, .n_received = 4, .tag = TAG_ANY }, 3);
    send_to(&k, k.push, (struct frame){ .sender = 2, .n_received = 9, .tag = TAG_ANY }, 3);
    assert_int_equal(receive(&k), 1);
    assert_int_equal(inbox_n_acknowledged(k.in, 1), 5);
    assert_int_equal(inbox_n_received(k.in, 1), 0); /* it is no message */
    assert_int_equal(receive(&k), 1);
    assert_int_equal(inbox_n_acknowledged(k.in, 1), 5); /* never fewer */
    assert_int_equal(inbox_n_received(k.in, 1), 1);
    assert_int_equal(receive(&k), 2);
    assert_int_equal(inbox_n_acknowledged(k.in, 2), 9);
    assert_false(inbox_owes(k.in, 1));
    kit_close(&k);
}

enum { GREETING_BYTES = 64, READY_BYTES = 28, NOISE_BYTES = 2000, N_STRANGERS = 200 };

/* What begins a connection of ZMTP 3.0 (rfc.zeromq.org/spec/23) without security: a greeting, and a PUSH socket's
 * READY. */
static void write_handshake(unsigned char out[GREETING_BYTES + READY_BYTES])
{
    static const char ready[] = "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH";

    _Static_assert(sizeof ready == READY_BYTES + 1, "flags and length of a command, and its 26 bytes");
    memset(out, 0, GREETING_BYTES);
    out[0] = 0xff;
    out[9] = 0x7f;
    out[10] = 3;
    memcpy(out + 12, "NULL", 4);
    memcpy(out + GREETING_BYTES, ready, READY_BYTES);
}

/* Bytes of stranger i: noise alone, or behind a handshake noise, or frames of noise, of which the last is said to be
 * longer than any memory. */
static size_t write_noise(unsigned char *out, uint64_t i)
{
    const size_t n_before = i % 4 == 0 ? 0 : i % 4 == 1 ? GREETING_BYTES : GREETING_BYTES + READY_BYTES;
    size_t n_bytes = n_before;

    write_handshake(out);
    for (; n_bytes < NOISE_BYTES; n_bytes++)
        out[n_bytes] = (unsigned char)rng_u64(i, RNG_TEST, n_bytes);
    if (i % 4 != 3)
        return n_bytes;
    for (size_t k = n_before; k + 1 < NOISE_BYTES; k += 2 + (size_t)out[k + 1])
        out[k] = k + 600 < NOISE_BYTES ? (unsigned char)(out[k] & 1) : 2; /* one more part, or not; a long frame */
    return n_bytes;
}

/* Returns when the other side has ended the connection: it has read all that it reads. */
static void send_noise(const struct kit *k, uint64_t i)
{
    unsigned char noise[NOISE_BYTES], answer[256];
    const int fd = loopback_dial(loopback_port(k->endpoint));

    assert_true(fd >= 0);
    (void)!send(fd, noise, write_noise(noise, i), MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    while (recv(fd, answer, sizeof answer, 0) > 0)
        continue;
    close(fd);
}

/* Bytes of any kind at the port of a rank: what comes from the group comes all the same, and nothing else does. */
UNIT_TEST(strangers_may_send_anything)
{
    const struct inbox_limits limits = { .most_message_bytes = MOST_BYTES, .reconnects = true, .silence_ms = LIMIT_MS };
    uint64_t n_strange = 0;
    struct kit k;

    kit_open(&k, &limits);
    for (uint64_t i = 0; i < N_STRANGERS; i++) {
        send_noise(&k, i);
        send_message(&k, 1, i, TAG_ANY, (size_t)i);
        int from = receive(&k);
        for (; from == FROM_STRANGER; from = receive(&k))
            n_strange++;
        assert_int_equal(from, 1);
        takes(&k, 1, (size_t)i);
        takes_none(&k);
    }
    assert_int_equal(inbox_n_received(k.in, 1), N_STRANGERS);
    assert_int_equal(inbox_n_received(k.in, 2), 0);
    assert_true(n_strange > N_STRANGERS / 4); /* frames with a handshake did come this far */
    assert_true(inbox_n_dropped(k.in) >= n_strange);
    kit_close(&k);
}

UNIT_MAIN("zmq_inbox")
