/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_guests_test.c [SEED N] - guests at a hub (world.G5): which number each gets, what members hear of it and when it
 * is in; and N guests, who have the key, that send what is none of the protocol: the hub ends their connections,
 * members hear of each guest at most that it came, and then once that it is gone, and are answered as before. All
 * connections are this thread's.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/base/bytes.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/base/text.h"
#include "harness/world/suite/loopback.h"
#include "harness/world/tcp/tcp_hub.h"
#include "harness/world/tcp/tcp_protocol.h"
#include "harness/world/tcp/tcp_stream.h"
#include "harness/world/wait.h"

#define MEMBERS "rank@a,rank@a,rank@a"
#define IDENTITY "options"
#define LIMIT_NS UINT64_C(60000000000) /* of what must come: it only ends a hang */

enum { N_RANKS = 3, FIRST_SERVER = 1, N_FIRST = 3, MOST_BODY_BYTES = 300, MOST_GUEST_BYTES = 1 << 16 };

static uint64_t first_seed = 1, n_fuzzed = 300;

static struct gang_member member[N_RANKS] = { { "rank", 0, "a" }, { "rank", 1, "a" }, { "rank", 2, "a" } };

struct run {
    struct gang gang;
    struct tcp_hub *hub;
    struct tcp_stream *member[N_RANKS];
};

/* --- connections --- */

static struct tcp_stream *stream_of(const struct run *r, int fd)
{
    struct tcp_stream *s;

    assert_int_equal(tcp_stream_open(&s, fd, true, r->gang.key), RC_OK);
    tcp_stream_limit(s, TCP_MOST_BYTES);
    return s;
}

static struct tcp_stream *dial(const struct run *r)
{
    const int fd = loopback_dial(loopback_port(r->gang.root));

    assert_true(fd >= 0);
    return stream_of(r, fd);
}

static void forget_heard(struct tcp_stream *s)
{
    struct tcp_message m;

    while (tcp_stream_take(s, &m)) {
        free(m.body);
        (void)!tcp_stream_tend(s);
    }
}

/* Send all there is; false: the hub has ended the connection. forgets: what has come, behind which the end shows. */
static bool flush(struct tcp_stream *s, bool forgets)
{
    const uint64_t began_ns = wait_clock_ns();

    do {
        struct pollfd p = { .fd = tcp_stream_fd(s), .events = POLLIN };
        if (tcp_stream_tend(s) != RC_OK)
            return false;
        if (tcp_stream_is_open(s) && !tcp_stream_has_to_send(s))
            return true;
        if (forgets)
            forget_heard(s);
        (void)poll(&p, 1, 10);
    } while (wait_clock_ns() - began_ns < LIMIT_NS);
    fail_msg("the hub takes nothing");
    return false;
}

static bool post(struct tcp_stream *s, bool forgets, uint32_t type, uint64_t number, const void *body, size_t n_bytes)
{
    unsigned char *copy = malloc(n_bytes + 1);

    assert_non_null(copy);
    if (n_bytes > 0)
        memcpy(copy, body, n_bytes);
    const enum rc rc =
        tcp_stream_post(s, &(struct tcp_message){ .type = type, .number = number, .body = copy, .n_bytes = n_bytes });
    free(copy);
    return rc == RC_OK && flush(s, forgets);
}

static bool say(struct tcp_stream *s, uint32_t type, uint64_t number, const void *body, size_t n_bytes)
{
    return post(s, false, type, number, body, n_bytes);
}

static void say_hello(struct tcp_stream *s, uint32_t rank)
{
    unsigned char body[TCP_HELLO_FIXED_BYTES + sizeof MEMBERS] = { 0 };

    bytes_put(body, rank, 4);
    bytes_put(body + 4, N_RANKS, 4);
    bytes_put(body + 8, ON_LOSS_REPORT, 4);
    memcpy(body + TCP_HELLO_FIXED_BYTES, MEMBERS, sizeof MEMBERS);
    assert_true(flush(s, false));
    assert_true(say(s, TCP_HELLO, 0, body, TCP_HELLO_FIXED_BYTES + strlen(MEMBERS)));
}

/* The next message; its type is `type`. The caller frees its body. */
static struct tcp_message hear(struct tcp_stream *s, uint32_t type)
{
    const uint64_t began_ns = wait_clock_ns();
    struct tcp_message m;

    while (!tcp_stream_take(s, &m)) {
        struct pollfd p = { .fd = tcp_stream_fd(s), .events = POLLIN };
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("no message of type %u comes", type);
        (void)poll(&p, 1, 10);
        if (tcp_stream_tend(s) != RC_OK)
            fail_msg("no message of type %u comes: %s", type, rc_message());
    }
    if (m.type != type)
        fail_msg("a message of type %u, not %u", m.type, type);
    return m;
}

static void hear_only(struct tcp_stream *s, uint32_t type, const void *body, size_t n_bytes)
{
    const struct tcp_message m = hear(s, type);

    assert_int_equal(m.n_bytes, n_bytes);
    if (n_bytes > 0)
        assert_memory_equal(m.body, body, n_bytes);
    free(m.body);
}

/* The hub answers s, and has said nothing before. */
static void is_answered(struct tcp_stream *s)
{
    assert_true(say(s, TCP_PING, 77, NULL, 0));
    const struct tcp_message m = hear(s, TCP_PONG);
    assert_int_equal(m.number, 77);
    assert_int_equal(m.n_bytes, 8);
    free(m.body);
}

/* --- a run --- */

static void begin(struct run *r, int n_guests)
{
    uint16_t port;
    int fd;

    *r = (struct run){ .gang = { .text = (char *)MEMBERS,
                                 .member = member,
                                 .n_ranks = N_RANKS,
                                 .start_s = 30,
                                 .n_guests = n_guests,
                                 .n_servers = N_RANKS - FIRST_SERVER,
                                 .identity = IDENTITY,
                                 .key = { 7 } } };
    r->gang.listening_fd = loopback_bind(&port);
    assert_int_equal(listen(r->gang.listening_fd, 256), 0);
    (void)snprintf(r->gang.root, sizeof r->gang.root, "127.0.0.1:%d", port);
    assert_int_equal(tcp_hub_open(&r->hub, &r->gang, ON_LOSS_REPORT, &fd), RC_OK);
    for (int i = 0; i < N_RANKS; i++) {
        r->member[i] = i == 0 ? stream_of(r, fd) : dial(r);
        say_hello(r->member[i], (uint32_t)i);
    }
    for (int i = 0; i < N_RANKS; i++)
        free(hear(r->member[i], TCP_GO).body);
}

static void end(struct run *r)
{
    for (int i = N_RANKS - 1; i >= 0; i--) {
        assert_true(say(r->member[i], TCP_LEAVE, 0, NULL, 0));
        tcp_stream_close(&r->member[i]);
    }
    tcp_hub_close(&r->hub);
}

static struct tcp_stream *come(const struct run *r)
{
    struct tcp_stream *s = dial(r);

    say_hello(s, TCP_GUEST_RANK);
    return s;
}

/* Which number the guest has got. */
static int hear_welcome(struct tcp_stream *s, const char *doors)
{
    const struct tcp_message m = hear(s, TCP_WELCOME);
    const size_t n_identity = strlen(IDENTITY), n_fixed = TCP_WELCOME_FIXED_BYTES;

    assert_int_equal(m.n_bytes, n_fixed + n_identity + strlen(doors));
    assert_int_equal(bytes_get(m.body + 4, 4), N_RANKS);
    assert_int_equal(bytes_get(m.body + 8, 4), n_identity);
    assert_memory_equal(m.body + n_fixed, IDENTITY, n_identity);
    assert_memory_equal(m.body + n_fixed + n_identity, doors, strlen(doors));
    const int number = (int)bytes_get(m.body, 4);
    free(m.body);
    return number;
}

/* All members hear so of a guest. */
static void all_hear(const struct run *r, int guest, enum tcp_guest_state state, const char *text)
{
    unsigned char body[64];

    bytes_put(body, (uint64_t)guest, 4);
    bytes_put(body + 4, (uint64_t)state, 4);
    memcpy(body + TCP_GUEST_FIXED_BYTES, text, strlen(text) + 1);
    for (int i = 0; i < N_RANKS; i++)
        hear_only(r->member[i], TCP_GUEST, body, TCP_GUEST_FIXED_BYTES + strlen(text));
}

UNIT_TEST(a_guest_is_in_when_the_servers_know_G5)
{
    unsigned char number[4];
    struct tcp_stream *a, *b, *c;
    struct run r;

    begin(&r, N_FIRST);
    a = come(&r);
    is_answered(a); /* and has no welcome: the doors are closed */
    assert_true(say(r.member[0], TCP_DOORS, 0, "doors", 5));
    assert_int_equal(hear_welcome(a, "doors"), 0);
    assert_true(say(a, TCP_ENTER, 0, "a's", 3));
    all_hear(&r, 0, TCP_GUEST_CAME, "a's");
    is_answered(a); /* it is not in */
    bytes_put(number, 0, 4);
    assert_true(say(r.member[FIRST_SERVER], TCP_HOSTED, 0, number, 4));
    is_answered(r.member[FIRST_SERVER]);
    is_answered(a); /* nor now: another server does not know */
    assert_true(say(r.member[FIRST_SERVER + 1], TCP_HOSTED, 0, number, 4));
    hear_only(a, TCP_READY, NULL, 0);
    assert_true(say(a, TCP_LEAVE, 0, NULL, 0));
    tcp_stream_close(&a);
    all_hear(&r, 0, TCP_GUEST_LEFT, "");
    b = come(&r);
    assert_int_equal(hear_welcome(b, "doors"), 1);
    assert_true(say(b, TCP_ENTER, 0, "", 0));
    all_hear(&r, 1, TCP_GUEST_CAME, "");
    tcp_stream_close(&b);
    all_hear(&r, 1, TCP_GUEST_LOST, "");
    b = come(&r); /* who goes before it has entered was none: the next one has its number */
    assert_int_equal(hear_welcome(b, "doors"), 2);
    tcp_stream_close(&b);
    for (int i = 0; i < N_RANKS; i++)
        is_answered(r.member[i]);
    b = come(&r);
    assert_int_equal(hear_welcome(b, "doors"), 2);
    c = come(&r);
    const struct tcp_message refused = hear(c, TCP_STOP);
    assert_true(refused.n_bytes > 4 && memmem(refused.body, refused.n_bytes, "have all been there", 19));
    free(refused.body);
    tcp_stream_close(&b);
    tcp_stream_close(&c);
    end(&r);
}

/* --- what is none of the protocol --- */

/* Until the hub has ended the connection. */
static void await_end(struct tcp_stream *s, uint32_t type, size_t n_bytes)
{
    const uint64_t began_ns = wait_clock_ns();

    while (flush(s, true)) {
        struct pollfd p = { .fd = tcp_stream_fd(s), .events = POLLIN };
        forget_heard(s);
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("a guest stays that says %zu bytes of type %u", n_bytes, type);
        (void)poll(&p, 1, 10);
    }
}

/* The hub ends the connection of a guest that says this. */
static void ends(const struct run *r, uint32_t type, size_t n_bytes)
{
    static const unsigned char body[MOST_GUEST_BYTES + 1];
    struct tcp_stream *s = come(r);

    (void)hear_welcome(s, "doors");
    (void)post(s, true, type, 0, body, n_bytes);
    await_end(s, type, n_bytes);
    tcp_stream_close(&s);
}

UNIT_TEST(what_a_guest_may_not_say_ends_its_connection_G5)
{
    struct tcp_stream *s;
    struct run r;

    begin(&r, 1);
    s = come(&r);
    (void)post(s, true, TCP_ENTER, 0, "early", 5); /* it has no number yet; the end may show as soon as it is sent */
    await_end(s, TCP_ENTER, 5);
    tcp_stream_close(&s);
    assert_true(say(r.member[0], TCP_DOORS, 0, "doors", 5));
    for (uint32_t type = 0; type <= TCP_LOST + 1; type++)
        if (type != TCP_ENTER && type != TCP_BEAT && type != TCP_PING && type != TCP_LEAVE)
            ends(&r, type, 8);
    ends(&r, UINT32_MAX, 0);
    ends(&r, TCP_BEAT, 7);
    ends(&r, TCP_BEAT, 9);
    ends(&r, TCP_ENTER, MOST_GUEST_BYTES + 1);
    s = come(&r);
    assert_int_equal(hear_welcome(s, "doors"), 0); /* none of them had entered */
    assert_true(say(s, TCP_BEAT, 0, "12345678", 8));
    assert_true(say(s, TCP_ENTER, 0, "once", 4));
    all_hear(&r, 0, TCP_GUEST_CAME, "once");
    (void)post(s, true, TCP_ENTER, 0, "twice", 5);
    await_end(s, TCP_ENTER, 5);
    tcp_stream_close(&s);
    all_hear(&r, 0, TCP_GUEST_LOST, "");
    end(&r);
}

struct heard { /* of a guest, by each member */
    bool came, is_gone;
};

/* This message to a member is of a guest, which came first, and was gone once. */
static void note_guest(struct tcp_message *m, struct heard *heard, int n_guests)
{
    assert_int_equal(m->type, TCP_GUEST);
    assert_true(m->n_bytes >= TCP_GUEST_FIXED_BYTES);
    const uint64_t guest = bytes_get(m->body, 4), state = bytes_get(m->body + 4, 4);
    assert_true(guest < (uint64_t)n_guests && state <= TCP_GUEST_SILENT);
    assert_int_equal(heard[guest].came, state != TCP_GUEST_CAME);
    assert_false(heard[guest].is_gone);
    heard[guest].came = true;
    heard[guest].is_gone = state != TCP_GUEST_CAME;
    free(m->body);
}

/* What has come to a member. */
static void note_heard(struct tcp_stream *s, struct heard *heard, int n_guests)
{
    struct tcp_message m;

    assert_int_equal(tcp_stream_tend(s), RC_OK);
    while (tcp_stream_take(s, &m))
        note_guest(&m, heard, n_guests);
}

/* The result of a collective, behind what the hub has still to say of guests. */
static void hear_result(struct tcp_stream *s, struct heard *heard, int n_guests)
{
    const uint64_t began_ns = wait_clock_ns();
    struct tcp_message m = { .type = 0 };

    while (m.type != TCP_RESULT) {
        struct pollfd p = { .fd = tcp_stream_fd(s), .events = POLLIN };
        if (tcp_stream_take(s, &m)) {
            if (m.type != TCP_RESULT)
                note_guest(&m, heard, n_guests);
            continue;
        }
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("no result comes");
        (void)poll(&p, 1, 10);
        assert_int_equal(tcp_stream_tend(s), RC_OK);
    }
    assert_int_equal(bytes_get(m.body, 4), RC_OK);
    free(m.body);
}

/* One message of a guest: of any type, or one that it may send, of any length. */
static void draw_message(uint64_t seed, uint64_t i, uint32_t *type, size_t *n_bytes)
{
    static const uint32_t its_own[] = { TCP_ENTER, TCP_BEAT, TCP_PING, TCP_LEAVE };
    const uint64_t kind = rng_u64(seed, RNG_TEST, 10 * i), length = rng_u64(seed, RNG_TEST, 10 * i + 1);

    *type = kind % 4 == 0 ? (uint32_t)(kind >> 8) % (TCP_LOST + 4) : its_own[(kind >> 8) % 4];
    if (kind % 101 == 0)
        *type = (uint32_t)(kind >> 32);
    *n_bytes = length % 3 == 0 ? 8 : length % 7 == 0 ? 0 : (size_t)(length >> 8) % MOST_BODY_BYTES;
    if (length % 97 == 0)
        *n_bytes = MOST_GUEST_BYTES + 1;
}

/* A guest that has the key says what seed draws. How many messages of its the hub has taken. */
static int misbehave(const struct run *r, uint64_t seed)
{
    static unsigned char body[MOST_GUEST_BYTES + 1];
    struct tcp_stream *s = come(r);
    const int n = 1 + (int)(rng_u64(seed, RNG_TEST, 1) % 6);
    int n_said = 0;

    if (seed % 2 == 0)
        (void)hear_welcome(s, "doors");
    while (n_said < n) {
        uint32_t type;
        size_t n_bytes;
        draw_message(seed, 100 + (uint64_t)n_said, &type, &n_bytes);
        for (size_t i = 0; i < n_bytes && i < MOST_BODY_BYTES; i++)
            body[i] = (unsigned char)rng_u64(seed, RNG_TEST, 1000 + i);
        if (!post(s, true, type, seed, body, n_bytes))
            break;
        n_said++;
    }
    tcp_stream_close(&s);
    return n_said;
}

UNIT_TEST(what_is_no_message_ends_its_guest_alone_G5)
{
    const int n_guests = (int)n_fuzzed;
    struct heard *heard = calloc(N_RANKS * (size_t)n_guests, sizeof *heard);
    int n_said = 0, n_came = 0, n_gone = 0;
    struct run r;

    assert_non_null(heard);
    begin(&r, n_guests);
    assert_true(say(r.member[0], TCP_DOORS, 0, "doors", 5));
    for (uint64_t seed = first_seed; seed < first_seed + n_fuzzed; seed++) {
        n_said += misbehave(&r, seed);
        for (int i = 0; i < N_RANKS; i++)
            note_heard(r.member[i], heard + i * n_guests, n_guests);
    }
    for (int i = 0; i < N_RANKS; i++) { /* a barrier of all: the hub does what it is there for */
        unsigned char call[TCP_CALL_FIXED_BYTES] = { 0 };
        bytes_put(call, TCP_RUN_WORLD, 4);
        bytes_put(call + 4, TCP_BARRIER, 4);
        assert_true(say(r.member[i], TCP_CALL, 5, call, sizeof call));
    }
    for (int i = 0; i < N_RANKS; i++)
        hear_result(r.member[i], heard + i * n_guests, n_guests);
    for (int g = 0; g < n_guests; g++) {
        n_came += heard[g].came;
        n_gone += heard[g].is_gone;
    }
    print_message("%d guests: %d messages, %d entered, %d of them gone\n", n_guests, n_said, n_came, n_gone);
    assert_true(n_came > 0 && n_came < n_guests && n_gone > 0);
    free(heard);
    end(&r);
}

int main(int argc, char **argv)
{
    if (argc == 3 && (!text_to_u64(argv[1], &first_seed) || !text_to_u64(argv[2], &n_fuzzed) || n_fuzzed > 100000)) {
        fprintf(stderr, "usage: tcp_guests_test [SEED N]\n");
        return 2;
    }
    return unit_run("tcp_guests", NULL, NULL, NULL);
}
