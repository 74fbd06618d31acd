/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_gate_test.c - who gets in at a gate and who does not, and that what goes over its connections is encrypted:
 * net.Z1, Z2, Z4. (net.Z3, memory under floods: zmq_flood_test.c.)
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "harness/base/suite/unit.h"
#include "harness/net/zmq_gate.h"
#include "harness/world/suite/loopback.h"

enum { LIMIT_MS = 60000, POLL_MS = 5, MOST_BYTES = 1 << 16 };

struct kit { /* a guarded PULL socket, and a rank's gate that may enter it */
    void *context, *other_context, *pull;
    struct zmq_gate *gate, *other;
    char endpoint[64];
    uint64_t n_strangers; /* so far */
};

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static void kit_open(struct kit *k, bool encrypts)
{
    size_t n_bytes = sizeof k->endpoint;

    memset(k, 0, sizeof *k);
    assert_non_null(k->context = zmq_ctx_new());
    assert_non_null(k->other_context = zmq_ctx_new());
    assert_int_equal(zmq_gate_open(&k->gate, k->context, encrypts, NULL), RC_OK);
    assert_int_equal(zmq_gate_open(&k->other, k->other_context, encrypts, NULL), RC_OK);
    assert_non_null(k->pull = zmq_socket(k->context, ZMQ_PULL));
    assert_int_equal(zmq_gate_guard(k->gate, k->pull), RC_OK);
    assert_int_equal(zmq_bind(k->pull, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(k->pull, ZMQ_LAST_ENDPOINT, k->endpoint, &n_bytes), 0);
}

static void kit_admit(struct kit *k)
{
    const char *const pass[] = { zmq_gate_pass(k->gate), zmq_gate_pass(k->other) };

    assert_int_equal(zmq_gate_admit(k->gate, pass, 2), RC_OK);
}

static void kit_close(struct kit *k)
{
    zmq_gate_leave(k->gate);
    zmq_close(k->pull);
    zmq_gate_close(&k->gate);
    zmq_gate_close(&k->other);
    assert_null(k->gate);
    zmq_ctx_term(k->context);
    zmq_ctx_term(k->other_context);
}

static void *new_push(struct kit *k)
{
    void *push = zmq_socket(k->other_context, ZMQ_PUSH);

    assert_true(push && set_int(push, ZMQ_LINGER, 0));
    return push;
}

/* A socket that goes by the rules, with this pass; not connected yet. */
static void *push_with(struct kit *k, const struct zmq_gate *own, const char *pass)
{
    void *push = new_push(k);

    assert_int_equal(zmq_gate_enter(own, push, pass), RC_OK);
    return push;
}

static bool comes(struct kit *k, const char *text, int timeout_ms)
{
    char bytes[64] = "";

    assert_true(set_int(k->pull, ZMQ_RCVTIMEO, timeout_ms));
    const int n_bytes = zmq_recv(k->pull, bytes, sizeof bytes - 1, 0);
    return n_bytes == (int)strlen(text) && strcmp(bytes, text) == 0;
}

static void gets_in(struct kit *k, void *push)
{
    assert_int_equal(zmq_connect(push, k->endpoint), 0);
    assert_int_equal(zmq_send(push, "hello", 5, ZMQ_DONTWAIT), 5);
    assert_true(comes(k, "hello", LIMIT_MS));
    zmq_close(push);
}

/* Until so many are outside, at least; meanwhile nothing comes. */
static void await_outside(struct kit *k, uint64_t n_least)
{
    for (int i = 0; zmq_gate_n_outside(k->gate) < n_least; i++) {
        char byte;
        assert_true(i < LIMIT_MS / POLL_MS);
        assert_true(set_int(k->pull, ZMQ_RCVTIMEO, POLL_MS));
        assert_int_equal(zmq_recv(k->pull, &byte, 1, 0), -1);
    }
}

/* net.Z2, Z4. What comes next is of a rank that is in, which connects when this one was turned away. */
static void stays_outside(struct kit *k, void *push)
{
    k->n_strangers++;
    assert_int_equal(zmq_connect(push, k->endpoint), 0);
    (void)zmq_send(push, "stranger", 8, ZMQ_DONTWAIT);
    await_outside(k, k->n_strangers);
    gets_in(k, push_with(k, k->other, zmq_gate_pass(k->gate)));
    zmq_close(push);
}

static void ranks_get_in_and_others_do_not(bool encrypts)
{
    struct zmq_gate *stranger = NULL;
    struct kit k;
    void *push;

    kit_open(&k, encrypts);
    assert_int_equal(zmq_gate_encrypts(k.gate), encrypts);
    assert_string_not_equal(zmq_gate_pass(k.gate), zmq_gate_pass(k.other));
    kit_admit(&k);
    gets_in(&k, push_with(&k, k.other, zmq_gate_pass(k.gate)));
    stays_outside(&k, new_push(&k)); /* of no mechanism */
    stays_outside(&k, push_with(&k, k.other, zmq_gate_pass(k.other)));
    void *const context = zmq_ctx_new();
    assert_int_equal(zmq_gate_open(&stranger, context, !encrypts, NULL), RC_OK);
    push = push_with(&k, stranger, zmq_gate_pass(stranger)); /* of the other mechanism */
    stays_outside(&k, push);
    zmq_gate_close(&stranger);
    zmq_ctx_term(context);
    gets_in(&k, push_with(&k, k.other, zmq_gate_pass(k.gate)));
    kit_close(&k);
}

UNIT_TEST(by_keys_Z2_Z4)
{
    ranks_get_in_and_others_do_not(true);
}

UNIT_TEST(by_a_password_Z2_Z4)
{
    ranks_get_in_and_others_do_not(false);
}

/* It has the public key of the one that listens, which is no secret, and a pair of its own that nobody knows. */
UNIT_TEST(a_key_that_is_not_of_the_run_stays_outside_Z2)
{
    struct zmq_gate *stranger = NULL;
    void *const context = zmq_ctx_new();
    struct kit k;

    kit_open(&k, true);
    kit_admit(&k);
    assert_int_equal(zmq_gate_open(&stranger, context, true, NULL), RC_OK);
    stays_outside(&k, push_with(&k, stranger, zmq_gate_pass(k.gate)));
    gets_in(&k, push_with(&k, k.other, zmq_gate_pass(k.gate)));
    zmq_gate_close(&stranger);
    zmq_ctx_term(context);
    kit_close(&k);
}

/* Parts of a password, and longer ones. */
UNIT_TEST(a_password_is_right_as_a_whole_Z2)
{
    char pass[GATE_PASS_BYTES + 1];
    struct kit k;

    kit_open(&k, false);
    kit_admit(&k);
    const size_t n_chars = strlen(zmq_gate_pass(k.gate));
    assert_int_equal(n_chars, 20);
    for (size_t i = 1; i < n_chars; i += 6) {
        (void)snprintf(pass, sizeof pass, "%.*s", (int)i, zmq_gate_pass(k.gate));
        stays_outside(&k, push_with(&k, k.other, pass));
        (void)snprintf(pass, sizeof pass, "%s", zmq_gate_pass(k.gate));
        pass[i] = pass[i] == 'a' ? 'b' : 'a';
        stays_outside(&k, push_with(&k, k.other, pass));
    }
    (void)snprintf(pass, sizeof pass, "%sx", zmq_gate_pass(k.gate));
    stays_outside(&k, push_with(&k, k.other, pass));
    kit_close(&k);
}

UNIT_TEST(whoever_comes_too_early_waits_Z1)
{
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        struct kit k;
        kit_open(&k, encrypts);
        void *push = push_with(&k, k.other, zmq_gate_pass(k.gate));
        assert_int_equal(zmq_connect(push, k.endpoint), 0);
        assert_int_equal(zmq_send(push, "early", 5, 0), 5);
        await_outside(&k, 1); /* it was accepted, and has no answer */
        void *second = push_with(&k, k.other, zmq_gate_pass(k.gate));
        assert_int_equal(zmq_connect(second, k.endpoint), 0);
        await_outside(&k, 2);
        kit_admit(&k);
        assert_true(comes(&k, "early", LIMIT_MS));
        for (int i = 0; zmq_gate_n_outside(k.gate) > 0; i++) {
            assert_true(i < LIMIT_MS / POLL_MS);
            (void)zmq_poll(NULL, 0, POLL_MS);
        }
        zmq_close(push);
        zmq_close(second);
        kit_close(&k);
    }
}

UNIT_TEST(keys_from_a_file_are_those_it_uses)
{
    struct curve_keys keys;
    struct zmq_gate *gate = NULL, *none = NULL;
    void *const context = zmq_ctx_new();
    const char *const wrong[] = { "not a key" };

    assert_int_equal(curve_keys_make(&keys), RC_OK);
    assert_int_equal(zmq_gate_open(&gate, context, true, &keys), RC_OK);
    assert_string_equal(zmq_gate_pass(gate), keys.public_text);
    assert_int_equal(zmq_gate_admit(gate, wrong, 1), RC_INVAL);
    assert_int_equal(zmq_gate_open(&none, context, true, &keys), RC_IO); /* one of a context */
    assert_null(none);
    zmq_gate_close(&gate);
    zmq_gate_close(&gate);
    zmq_ctx_term(context);
}

/* --- what somebody on the way reads --- */

struct relay { /* one connection, and what went over it towards the one that listens */
    int listener;
    uint16_t to_port;
    unsigned char seen[MOST_BYTES];
    _Atomic size_t n_seen;
};

/* Copies what has come at `from`, of the `n` bytes that fit; false: it has ended. */
static bool copy_some(int from, int to, unsigned char *bytes, size_t n, size_t *n_copied)
{
    const ssize_t n_bytes = recv(from, bytes, n, 0);

    *n_copied = n_bytes > 0 ? (size_t)n_bytes : 0;
    return n_bytes > 0 && send(to, bytes, (size_t)n_bytes, MSG_NOSIGNAL) == n_bytes;
}

static void *relay_main(void *arg)
{
    struct relay *r = arg;
    const int in = accept(r->listener, NULL, NULL), out = loopback_dial(r->to_port);
    zmq_pollitem_t item[2] = { { .fd = in, .events = ZMQ_POLLIN }, { .fd = out, .events = ZMQ_POLLIN } };
    unsigned char back[4096];
    bool goes_on = in >= 0 && out >= 0;

    while (goes_on && zmq_poll(item, 2, LIMIT_MS) > 0) {
        size_t n = 0;
        if (item[0].revents) {
            goes_on = copy_some(in, out, r->seen + r->n_seen, sizeof r->seen - r->n_seen, &n);
            r->n_seen += n;
        }
        if (goes_on && item[1].revents)
            goes_on = copy_some(out, in, back, sizeof back, &n);
    }
    close(in);
    close(out);
    return NULL;
}

/* Is a message readable in what somebody on the way has seen of it? */
static bool is_seen_on_the_way(bool encrypts)
{
    static const char secret[] = "the gradient of layer 7";
    struct relay *r = calloc(1, sizeof *r);
    char endpoint[64];
    uint16_t port;
    pthread_t thread;
    struct kit k;

    assert_non_null(r);
    kit_open(&k, encrypts);
    kit_admit(&k);
    r->to_port = loopback_port(k.endpoint);
    r->listener = loopback_bind(&port);
    assert_int_equal(listen(r->listener, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, relay_main, r), 0);
    (void)snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", port);
    void *push = push_with(&k, k.other, zmq_gate_pass(k.gate));
    assert_int_equal(zmq_connect(push, endpoint), 0);
    assert_int_equal(zmq_send(push, secret, strlen(secret), 0), strlen(secret));
    assert_true(comes(&k, secret, LIMIT_MS));
    zmq_close(push);
    kit_close(&k);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(r->n_seen > strlen(secret));
    const bool is_seen = memmem(r->seen, r->n_seen, secret, strlen(secret)) != NULL;
    close(r->listener);
    free(r);
    return is_seen;
}

UNIT_TEST(what_is_encrypted_nobody_reads)
{
    assert_false(is_seen_on_the_way(true));
    assert_true(is_seen_on_the_way(false)); /* the relay sees what is there to see */
}

UNIT_MAIN("zmq_gate")
