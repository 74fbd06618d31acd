/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_outbox_test.c - windows, acknowledgements, and connections that are lost and made again (net.O1, O3, O4): one
 * rank's outbox, and a PULL socket of the test in place of its peer. */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/net/zmq_frame.h"
#include "harness/net/zmq_outbox.h"
#include "harness/net/zmq_tender.h"

enum { PEER = 1, WINDOW = 4, LIMIT_MS = 60000, POLL_MS = 10, SILENCE_MS = 1000 };

static uint64_t clock_now_ns; /* of every outbox here; passes when a test says so */

static uint64_t read_clock(void)
{
    return clock_now_ns;
}

static void pass_ms(uint64_t ms)
{
    clock_now_ns += ms * 1000000;
}

struct pair {
    void *context, *pull;
    char endpoint[64];
    struct outbox *outbox;
    struct zmq_tender *tender; /* NULL: the test tends */
};

static const unsigned char token[FRAME_TOKEN_BYTES] = { 4, 2 };

static void tend(struct pair *p)
{
    if (!p->tender)
        assert_int_equal(outbox_tend(p->outbox), RC_OK);
}

static void listen_at(struct pair *p, const char *address)
{
    size_t n_bytes = sizeof p->endpoint;

    p->pull = zmq_socket(p->context, ZMQ_PULL);
    assert_non_null(p->pull);
    assert_int_equal(zmq_bind(p->pull, address), 0);
    assert_int_equal(zmq_getsockopt(p->pull, ZMQ_LAST_ENDPOINT, p->endpoint, &n_bytes), 0);
}

static void pair_open(struct pair *p, const char *address, bool reconnects)
{
    struct outbox_env env = {
        .n_ranks = 2, .window = WINDOW, .reconnects = reconnects, .silence_ms = SILENCE_MS, .now_ns = read_clock
    };

    memset(p, 0, sizeof *p);
    clock_now_ns = UINT64_C(1) << 40;
    p->context = zmq_ctx_new();
    assert_non_null(p->context);
    listen_at(p, address);
    env.context = p->context;
    memcpy(env.token, token, sizeof token);
    assert_int_equal(outbox_open(&p->outbox, &env), RC_OK);
    outbox_set_endpoint(p->outbox, PEER, p->endpoint, NULL);
}

static void pair_close(struct pair *p)
{
    zmq_tender_close(&p->tender);
    outbox_give_up(p->outbox, PEER);
    outbox_close(&p->outbox);
    if (p->pull)
        zmq_close(p->pull);
    zmq_ctx_term(p->context);
}

/* The connection ends, and another socket listens at the same address. */
static void listen_again(struct pair *p)
{
    int bound = -1;

    assert_int_equal(zmq_close(p->pull), 0);
    p->pull = zmq_socket(p->context, ZMQ_PULL);
    for (int i = 0; i < LIMIT_MS / POLL_MS && (bound = zmq_bind(p->pull, p->endpoint)) != 0; i++)
        (void)zmq_poll(NULL, 0, POLL_MS); /* the last one goes in its own time */
    assert_int_equal(bound, 0);
}

/* Post messages first .. first + n - 1, each of its number. */
static void post(struct pair *p, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n; i++) {
        struct outbox_sent sent = { 0 };
        uint64_t value = i;
        const struct xfer x = { .ptr = &value, .n_bytes = sizeof value, .peer = PEER, .tag = 3 };
        zmq_tender_lock(p->tender);
        const enum rc rc = outbox_post(p->outbox, &x, 100 + i, &sent);
        zmq_tender_unlock(p->tender);
        assert_int_equal(rc, RC_OK);
        assert_int_equal(sent.number, i);
    }
}

static bool take(struct pair *p, struct frame *head, uint64_t *value, int timeout_ms)
{
    zmq_pollitem_t arrived = { .socket = p->pull, .events = ZMQ_POLLIN };
    const void *payload = NULL;
    size_t n_bytes = 0;
    zmq_msg_t msg;

    zmq_msg_init(&msg);
    for (int waited_ms = 0; zmq_msg_recv(&msg, p->pull, ZMQ_DONTWAIT) < 0; waited_ms += POLL_MS) {
        if (waited_ms >= timeout_ms)
            return false;
        tend(p);
        (void)zmq_poll(&arrived, 1, POLL_MS);
    }
    assert_true(frame_read(head, &payload, &n_bytes, &msg, token));
    assert_int_equal(n_bytes, head->kind == FRAME_MESSAGE ? sizeof *value : 0);
    if (head->kind == FRAME_MESSAGE)
        memcpy(value, payload, sizeof *value);
    zmq_msg_close(&msg);
    return true;
}

/* Messages first .. first + n - 1 arrive, in order. A connection that the closing socket of before still took may have
 * brought some of those from `least` on once more, and an acknowledgement. */
static void expect_from(struct pair *p, uint64_t least, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n;) {
        struct frame head;
        uint64_t value = 0;
        assert_true(take(p, &head, &value, LIMIT_MS));
        if (head.kind == FRAME_ACK)
            continue;
        assert_int_equal(head.sender, 0);
        assert_int_equal(head.tag, 3);
        assert_int_equal(head.sequence, value);
        assert_int_equal(head.n_received, 100 + value);
        assert_true(value >= least && value <= i);
        i += value == i;
    }
}

static void expect(struct pair *p, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n; i++) {
        struct frame head;
        uint64_t value = 0;
        assert_true(take(p, &head, &value, LIMIT_MS));
        assert_int_equal(head.kind, FRAME_MESSAGE);
        assert_int_equal(head.sequence, i);
        assert_int_equal(head.n_received, 100 + i);
        assert_int_equal(value, i);
    }
}

static void expect_acknowledgement(struct pair *p, uint64_t n_received)
{
    struct frame head;
    uint64_t value;

    assert_true(take(p, &head, &value, LIMIT_MS));
    assert_int_equal(head.kind, FRAME_ACK);
    assert_int_equal(head.n_received, n_received);
}

/* Nothing is on the way: an acknowledgement, which no window holds back, comes next. */
static void expect_none(struct pair *p)
{
    enum { MARK = 12345 };

    tend(p);
    assert_int_equal(outbox_acknowledge(p->outbox, PEER, MARK), RC_OK);
    expect_acknowledgement(p, MARK);
}

static void window(bool reconnects)
{
    struct pair p;

    pair_open(&p, "tcp://127.0.0.1:*", reconnects);
    post(&p, 0, WINDOW + 3);
    assert_true(outbox_is_handed(p.outbox, PEER, WINDOW - 1));
    assert_false(outbox_is_handed(p.outbox, PEER, WINDOW));
    expect(&p, 0, WINDOW);
    expect_none(&p);
    outbox_note_acknowledged(p.outbox, PEER, WINDOW + 1); /* what it cannot have: ignored */
    expect_none(&p);
    outbox_note_acknowledged(p.outbox, PEER, 2);
    outbox_note_acknowledged(p.outbox, PEER, 1); /* old */
    expect(&p, WINDOW, 2);
    expect_none(&p);
    assert_int_equal(outbox_acknowledge(p.outbox, PEER, 17), RC_OK); /* no window holds it back (net.O2) */
    expect_acknowledgement(&p, 17);
    assert_false(outbox_is_handed(p.outbox, PEER, WINDOW + 2));
    outbox_note_acknowledged(p.outbox, PEER, WINDOW + 2);
    expect(&p, WINDOW + 2, 1);
    post(&p, WINDOW + 3, WINDOW + 1);
    expect(&p, WINDOW + 3, WINDOW - 1);
    expect_none(&p);
    assert_int_equal(outbox_n_reconnected(p.outbox), 0);
    pair_close(&p);
}

UNIT_TEST(a_window_is_all_that_is_on_the_way_O1)
{
    window(false);
    window(true);
}

/* The peer has read some, acknowledged fewer, and its connection ends: what is not acknowledged comes again, then an
 * acknowledgement; twice. */
UNIT_TEST(what_was_not_acknowledged_comes_again_O3)
{
    struct pair p;

    pair_open(&p, "tcp://127.0.0.1:*", true);
    post(&p, 0, WINDOW);
    expect(&p, 0, 3);
    outbox_note_acknowledged(p.outbox, PEER, 2);
    expect(&p, 3, 1);
    assert_int_equal(outbox_acknowledge(p.outbox, PEER, 317), RC_OK);
    expect_acknowledgement(&p, 317);
    for (uint64_t round = 1; round <= 2; round++) {
        listen_again(&p);
        expect_from(&p, 2, 2, 2);
        expect_acknowledgement(&p, 317);
        assert_true(outbox_n_reconnected(p.outbox) >= round);
    }
    outbox_note_acknowledged(p.outbox, PEER, WINDOW);
    post(&p, WINDOW, 2);
    expect_from(&p, 2, WINDOW, 2);
    expect_none(&p);
    assert_int_equal(outbox_check(p.outbox, PEER), RC_OK);
    pair_close(&p);
}

/* It goes on with what waited for the window, too, and what arrived twice counts once. */
UNIT_TEST(a_queue_goes_on_after_a_connection_O3)
{
    struct pair p;

    pair_open(&p, "tcp://127.0.0.1:*", true);
    post(&p, 0, WINDOW + 3);
    expect(&p, 0, WINDOW);
    listen_again(&p);
    expect_from(&p, 0, 0, WINDOW);
    expect_acknowledgement(&p, 100 + WINDOW + 2);
    outbox_note_acknowledged(p.outbox, PEER, WINDOW);
    expect_from(&p, 0, WINDOW, 3);
    assert_true(outbox_is_handed(p.outbox, PEER, WINDOW + 2));
    pair_close(&p);
}

/* Messages of which each is acknowledged before the next one, faster than ZeroMQ looks how many were read. */
UNIT_TEST(a_fast_peer_is_not_taken_for_a_closed_one_O4)
{
    enum { N_MESSAGES = 20000 };
    struct pair p;

    pair_open(&p, "inproc://peer", false);
    for (uint64_t i = 0; i < N_MESSAGES; i++) {
        post(&p, i, 1);
        assert_true(outbox_is_handed(p.outbox, PEER, i));
        expect(&p, i, 1);
        outbox_note_acknowledged(p.outbox, PEER, i + 1);
    }
    pair_close(&p);
}

/* The connection ends, and the rank does nothing with its outbox any more: what was not acknowledged comes again. */
UNIT_TEST(a_tender_sends_again_while_the_rank_computes_O3)
{
    struct frame head;
    struct pair p;

    pair_open(&p, "tcp://127.0.0.1:*", true);
    assert_int_equal(zmq_tender_open(&p.tender, p.outbox), RC_OK);
    post(&p, 0, WINDOW);
    expect(&p, 0, WINDOW);
    for (int round = 0; round < 2; round++) {
        listen_again(&p);
        for (uint64_t next = 0, value = 0; next < WINDOW || head.kind != FRAME_ACK;) { /* as an inbox takes them */
            assert_true(take(&p, &head, &value, LIMIT_MS));
            next += head.kind == FRAME_MESSAGE && value == next;
        }
        assert_int_equal(head.n_received, 100 + WINDOW - 1);
    }
    pair_close(&p);
}

/* A rank that posts while its tender tends. */
UNIT_TEST(a_tender_and_its_rank_share_an_outbox_O3)
{
    enum { N_MESSAGES = 2000 };
    struct pair p;

    pair_open(&p, "tcp://127.0.0.1:*", true);
    assert_int_equal(zmq_tender_open(&p.tender, p.outbox), RC_OK);
    for (uint64_t i = 0; i < N_MESSAGES; i++) {
        post(&p, i, 1);
        expect(&p, i, 1);
        zmq_tender_lock(p.tender);
        outbox_note_acknowledged(p.outbox, PEER, i + 1);
        zmq_tender_unlock(p.tender);
    }
    pair_close(&p);
}

/* A rank that computes for longer than the limit looks whether its first connection was made before it judges. */
UNIT_TEST(a_connection_that_nobody_looked_at_is_one_O4)
{
    zmq_msg_t msg;
    struct pair p;

    pair_open(&p, "tcp://127.0.0.1:*", true);
    post(&p, 0, 1);
    zmq_msg_init(&msg);
    assert_true(zmq_msg_recv(&msg, p.pull, 0) >= 0); /* so it is connected */
    zmq_msg_close(&msg);
    pass_ms(2 * SILENCE_MS);
    assert_int_equal(outbox_check(p.outbox, PEER), RC_OK);
    pair_close(&p);
}

UNIT_TEST(without_a_connection_for_long_O4)
{
    struct pair p;
    int n_looks = 0;

    pair_open(&p, "tcp://127.0.0.1:*", true);
    post(&p, 0, 1);
    expect(&p, 0, 1);
    tend(&p);
    pass_ms(2 * SILENCE_MS); /* with a connection */
    assert_int_equal(outbox_check(p.outbox, PEER), RC_OK);
    assert_int_equal(zmq_close(p.pull), 0);
    p.pull = NULL;
    for (; outbox_check(p.outbox, PEER) == RC_OK; n_looks++) {
        assert_true(n_looks < LIMIT_MS / POLL_MS);
        tend(&p); /* once it has heard of the end, two halves of the silence pass */
        assert_int_equal(outbox_check(p.outbox, PEER), RC_OK);
        pass_ms(SILENCE_MS / 2);
        (void)zmq_poll(NULL, 0, POLL_MS);
    }
    assert_true(n_looks >= 2);
    assert_non_null(strstr(rc_message(), "rank 1: no connection to tcp://127.0.0.1:"));
    pair_close(&p);
}

/* Between threads a closed socket is a peer that is gone: what is posted, or waits, is its error. */
UNIT_TEST(without_reconnection_a_closed_peer_is_gone_O4)
{
    const uint64_t value = 1;
    const struct xfer x = { .ptr = (void *)(uintptr_t)&value, .n_bytes = sizeof value, .peer = PEER, .tag = 3 };
    enum rc rc = RC_OK;
    struct pair p;

    pair_open(&p, "inproc://peer", false);
    post(&p, 0, WINDOW + 1);
    expect(&p, 0, WINDOW);
    assert_int_equal(zmq_close(p.pull), 0);
    p.pull = NULL;
    outbox_note_acknowledged(p.outbox, PEER, WINDOW);
    for (int i = 0; i < LIMIT_MS / POLL_MS && rc == RC_OK; i++) {
        struct outbox_sent sent = { 0 };
        tend(&p);
        rc = outbox_post(p.outbox, &x, 0, &sent);
        (void)zmq_poll(NULL, 0, POLL_MS);
        outbox_note_acknowledged(p.outbox, PEER, sent.number); /* so that no window holds it back */
    }
    assert_int_equal(rc, RC_PEER);
    assert_string_equal(rc_message(), "rank 1 closed its end");
    assert_int_equal(outbox_check(p.outbox, PEER), RC_PEER);
    assert_int_equal(outbox_acknowledge(p.outbox, PEER, 1), RC_OK); /* it needs none */
    pair_close(&p);
}

UNIT_MAIN("zmq_outbox")
