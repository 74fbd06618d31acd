/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_stream_test.c - streams by way of a test in the middle, which reads, changes, withholds and repeats bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/suite/unit.h"
#include "harness/world/tcp/tcp_stream.h"

enum { CLIENT, SERVER, N_SIDES, HELLO_BYTES = 56, BEGIN_BYTES = 8, MOST_BYTES = 1 << 20 };

struct middle {
    struct tcp_stream *side[N_SIDES];
    int fd[N_SIDES];          /* the other end of each one's socket */
    size_t n_passed[N_SIDES]; /* bytes that came from it */
    size_t flipped;           /* this byte of the client's is changed; SIZE_MAX: none */
    size_t most_bytes;        /* so many at once */
    unsigned char *copy;      /* what the client sent */
};

static const unsigned char run_key[STREAM_KEY_BYTES] = { 1, 2, 3 }, other_key[STREAM_KEY_BYTES] = { 1, 2, 4 };

static void open_middle(struct middle *m, const unsigned char *server_key)
{
    int pair[2];

    *m = (struct middle){ .flipped = SIZE_MAX, .most_bytes = 1000 };
    m->copy = calloc(1, (size_t)8 * MOST_BYTES);
    assert_non_null(m->copy);
    for (int i = 0; i < N_SIDES; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        m->fd[i] = pair[1];
        assert_int_equal(tcp_stream_open(&m->side[i], pair[0], i == CLIENT, i == CLIENT ? run_key : server_key), RC_OK);
        tcp_stream_limit(m->side[i], MOST_BYTES);
    }
}

static void close_middle(struct middle *m)
{
    for (int i = 0; i < N_SIDES; i++) {
        tcp_stream_close(&m->side[i]);
        assert_int_equal(close(m->fd[i]), 0);
    }
    free(m->copy);
}

/* Pass on what one side has sent; how many bytes. */
static size_t pass(struct middle *m, int from)
{
    unsigned char bytes[1000];
    const ssize_t n = recv(m->fd[from], bytes, m->most_bytes, MSG_DONTWAIT);

    if (n <= 0)
        return 0;
    if (from == CLIENT) {
        if (m->flipped >= m->n_passed[CLIENT] && m->flipped < m->n_passed[CLIENT] + (size_t)n)
            bytes[m->flipped - m->n_passed[CLIENT]] ^= 1;
        if (m->n_passed[CLIENT] + (size_t)n <= (size_t)8 * MOST_BYTES)
            memcpy(m->copy + m->n_passed[CLIENT], bytes, (size_t)n);
    }
    m->n_passed[from] += (size_t)n;
    assert_int_equal(send(m->fd[1 - from], bytes, (size_t)n, MSG_NOSIGNAL), n);
    return (size_t)n;
}

/* Until nothing moves any more; the first error of the server. */
static enum rc settle(struct middle *m)
{
    enum rc rc = RC_OK;
    size_t n_moved = 1;

    while (n_moved > 0 && rc == RC_OK) {
        n_moved = 0;
        (void)!tcp_stream_tend(m->side[CLIENT]);
        n_moved += pass(m, CLIENT);
        rc = tcp_stream_tend(m->side[SERVER]);
        n_moved += pass(m, SERVER);
        n_moved += tcp_stream_has_to_send(m->side[CLIENT]);
    }
    return rc;
}

static void post(struct tcp_stream *s, uint32_t type, const unsigned char *body, size_t n_bytes)
{
    const struct tcp_message m = {
        .type = type, .word = 77, .number = UINT64_C(1) << 40, .body = (unsigned char *)body, .n_bytes = n_bytes
    };

    assert_int_equal(tcp_stream_post(s, &m), RC_OK);
}

UNIT_TEST(messages_arrive_whole)
{
    static const size_t n_bytes[] = { 0, 1, 3, 65535, 65536, 65537, 200000, MOST_BYTES };
    unsigned char *body = malloc(MOST_BYTES);
    struct tcp_message got;
    struct middle m;

    assert_non_null(body);
    for (size_t i = 0; i < MOST_BYTES; i++)
        body[i] = (unsigned char)(i * 7 + i / 251);
    open_middle(&m, run_key);
    m.most_bytes = 997;
    assert_int_equal(settle(&m), RC_OK);
    assert_true(tcp_stream_is_open(m.side[CLIENT]) && tcp_stream_is_open(m.side[SERVER]));
    for (size_t i = 0; i < sizeof n_bytes / sizeof *n_bytes; i++) {
        post(m.side[CLIENT], (uint32_t)i, body, n_bytes[i]);
        post(m.side[CLIENT], (uint32_t)i + 100, body, 5); /* right behind it */
        assert_int_equal(settle(&m), RC_OK);
        assert_true(tcp_stream_take(m.side[SERVER], &got));
        assert_int_equal(got.type, i);
        assert_int_equal(got.word, 77);
        assert_int_equal(got.number, UINT64_C(1) << 40);
        assert_int_equal(got.n_bytes, n_bytes[i]);
        assert_true(n_bytes[i] == 0 || memcmp(got.body, body, n_bytes[i]) == 0);
        free(got.body);
        assert_int_equal(settle(&m), RC_OK);
        assert_true(tcp_stream_take(m.side[SERVER], &got));
        assert_int_equal(got.type, i + 100);
        free(got.body);
        assert_false(tcp_stream_take(m.side[SERVER], &got));
    }
    close_middle(&m);
    free(body);
}

/* world.N2: whatever byte is changed, no message of the client's is taken. */
UNIT_TEST(no_byte_can_be_changed)
{
    enum { N_TRIED = HELLO_BYTES + 24 + 45 + 70 }; /* all bytes up to the end of the message */
    struct tcp_message got;
    int n_opened = 0;

    for (size_t flipped = 0; flipped < N_TRIED; flipped++) {
        struct middle m;
        open_middle(&m, run_key);
        m.flipped = flipped;
        enum rc rc = settle(&m);
        if (rc == RC_OK && tcp_stream_is_open(m.side[CLIENT])) {
            n_opened++;
            post(m.side[CLIENT], 5, (const unsigned char *)"parameters of the run, and more of them, and more", 49);
            rc = settle(&m);
        }
        assert_false(tcp_stream_take(m.side[SERVER], &got));
        if (m.n_passed[CLIENT] > flipped && rc == RC_OK) /* a length that is now too large: it waits for the rest */
            assert_true(flipped >= HELLO_BYTES + 24);
        close_middle(&m);
    }
    assert_true(n_opened > N_TRIED - HELLO_BYTES - 1);
}

/* Each side knows it from the other's first bytes (world.N1). */
UNIT_TEST(another_key_opens_nothing)
{
    struct middle m;

    open_middle(&m, other_key);
    assert_int_equal(settle(&m), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "does not have the key of this run"));
    assert_false(tcp_stream_has_shown_key(m.side[SERVER]));
    (void)pass(&m, SERVER);
    assert_int_equal(tcp_stream_tend(m.side[CLIENT]), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "it has another key"));
    assert_false(tcp_stream_has_shown_key(m.side[CLIENT]) || tcp_stream_is_open(m.side[CLIENT]));
    close_middle(&m);
}

/* Who has no key cannot use what it gets for an answer: the hello of one side is none of the other's. */
UNIT_TEST(a_hello_cannot_be_sent_back)
{
    struct tcp_stream *s = NULL;
    unsigned char hello[HELLO_BYTES];
    int pair[2];

    for (int is_client = 0; is_client < 2; is_client++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(tcp_stream_open(&s, pair[0], is_client, run_key), RC_OK);
        assert_int_equal(tcp_stream_tend(s), RC_OK);
        assert_int_equal(recv(pair[1], hello, sizeof hello, 0), HELLO_BYTES);
        assert_int_equal(send(pair[1], hello, sizeof hello, 0), HELLO_BYTES);
        assert_int_equal(tcp_stream_tend(s), RC_MISMATCH);
        assert_non_null(strstr(rc_message(), is_client ? "it has another key" : "does not have the key of this run"));
        tcp_stream_close(&s);
        assert_int_equal(close(pair[1]), 0);
    }
}

/* Nothing of a body, nor the key, can be read on the way; a message that is sent again is refused. */
UNIT_TEST(what_passes_cannot_be_read_or_repeated)
{
    static const unsigned char body[] = "the parameters of the first layer";
    struct tcp_message got;
    struct middle m;

    open_middle(&m, run_key);
    assert_int_equal(settle(&m), RC_OK);
    const size_t n_before = m.n_passed[CLIENT];
    post(m.side[CLIENT], 1, body, sizeof body);
    assert_int_equal(settle(&m), RC_OK);
    const size_t n_bytes = m.n_passed[CLIENT] - n_before;
    for (size_t i = 0; i + 4 <= m.n_passed[CLIENT]; i++)
        assert_memory_not_equal(m.copy + i, body, 4);
    assert_true(tcp_stream_take(m.side[SERVER], &got));
    free(got.body);
    assert_int_equal(send(m.fd[SERVER], m.copy + n_before, n_bytes, 0), (ssize_t)n_bytes);
    assert_int_equal(tcp_stream_tend(m.side[SERVER]), RC_MISMATCH);
    assert_false(tcp_stream_take(m.side[SERVER], &got));
    close_middle(&m);
}

/* world.N3 */
UNIT_TEST(long_messages_are_refused)
{
    unsigned char *body = calloc(1, 200001);
    struct tcp_message got;
    struct middle m;

    assert_non_null(body);
    open_middle(&m, run_key);
    assert_int_equal(settle(&m), RC_OK);
    tcp_stream_limit(m.side[SERVER], 200000);
    post(m.side[CLIENT], 1, body, 200000);
    assert_int_equal(settle(&m), RC_OK);
    assert_true(tcp_stream_take(m.side[SERVER], &got));
    free(got.body);
    post(m.side[CLIENT], 1, body, 200001);
    assert_int_equal(settle(&m), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "a message of more than 200000 bytes"));
    assert_false(tcp_stream_take(m.side[SERVER], &got));
    close_middle(&m);
    free(body);
}

UNIT_TEST(strangers_are_told_apart)
{
    static const struct {
        const char *bytes;
        const char *words;
    } stranger[] = {
        { "GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n", "is no gradmark" },
        { "GMTW\2\0\0\0", "speaks version 2 of the protocol" }, /* without what follows in this one */
    };
    int pair[2];

    for (size_t i = 0; i < sizeof stranger / sizeof *stranger; i++) {
        struct tcp_stream *s = NULL;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(tcp_stream_open(&s, pair[0], false, run_key), RC_OK);
        assert_int_equal(send(pair[1], stranger[i].bytes, BEGIN_BYTES, 0), BEGIN_BYTES);
        assert_int_equal(tcp_stream_tend(s), RC_MISMATCH);
        assert_non_null(strstr(rc_message(), stranger[i].words));
        assert_false(tcp_stream_is_open(s));
        assert_int_equal(tcp_stream_tend(s), RC_PEER); /* world.N4 */
        tcp_stream_close(&s);
        assert_int_equal(close(pair[1]), 0);
    }
}

UNIT_TEST(an_end_is_told)
{
    struct middle m;

    open_middle(&m, run_key);
    assert_int_equal(settle(&m), RC_OK);
    assert_int_equal(shutdown(m.fd[SERVER], SHUT_RDWR), 0);
    assert_int_equal(tcp_stream_tend(m.side[SERVER]), RC_PEER);
    assert_non_null(strstr(rc_message(), "ended the connection"));
    close_middle(&m);
}

UNIT_MAIN("tcp_stream")
