/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_guest_losses_test.c [SEED N] - what guests hear of lost members (world.G6), by links as processes have them, and
 * when a guest is in though a host is lost (world.G5); and N losses of a hub that are none, which change nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/base/text.h"
#include "harness/world/suite/loopback.h"
#include "harness/world/tcp/tcp_hub.h"
#include "harness/world/tcp/tcp_link.h"
#include "harness/world/wait.h"

#define LIMIT_NS UINT64_C(60000000000) /* of what must come: it only ends a hang */
#define MEMBERS "worker@a,ps@a,ps@a,ps@a"

enum { N_RANKS = 4, N_SERVERS = 3, N_GUESTS = 4, N_PEERS = N_RANKS + N_GUESTS, MOST_BODY_BYTES = 700 };

static uint64_t first_seed = 1, n_fuzzed = 2000;

static struct gang_member members[N_RANKS] = {
    { "worker", 0, "a" }, { "ps", 0, "a" }, { "ps", 1, "a" }, { "ps", 2, "a" }
};

struct peer { /* a member, or a guest */
    struct gang gang;
    int fd; /* -1: it connects */
    struct tcp_link *link;
    struct tcp_message welcome; /* of a guest */
    struct peer_losses *losses;
    enum rc rc;
    pthread_t thread;
};

struct run {
    struct gang gang;
    struct tcp_hub *hub;
    struct peer_seat *seat;
    struct peer member[N_RANKS]; /* the losses of rank 0 are the hub's */
};

/* --- peers --- */

static int listen_for(struct gang *g)
{
    uint16_t port;
    const int fd = loopback_bind(&port);

    assert_int_equal(listen(fd, 256), 0);
    (void)snprintf(g->root, sizeof g->root, "127.0.0.1:%d", port);
    return fd;
}

static struct gang new_gang(void)
{
    return (struct gang){ .text = (char *)MEMBERS,
                          .member = members,
                          .n_ranks = N_RANKS,
                          .listening_fd = -1,
                          .start_s = 30,
                          .n_guests = N_GUESTS,
                          .n_servers = N_SERVERS,
                          .identity = "options",
                          .key = { 7 } };
}

static void *connect_peer(void *arg)
{
    static const unsigned char place[TCP_PLACE_BYTES];
    struct peer *p = arg;
    int host_of[N_RANKS];
    const struct tcp_link_opts opts = { .gang = &p->gang,
                                        .on_loss = ON_LOSS_REPORT,
                                        .fd = p->fd,
                                        .ends_no_process = true, /* nor that of the test, which loses ranks */
                                        .place = place,
                                        .welcome = p->gang.joins ? &p->welcome : NULL };

    p->rc = tcp_link_open(&p->link, &opts, host_of);
    return NULL;
}

/* As tcp_guest.c does. */
static void come(struct peer *p, const struct gang *gang)
{
    int64_t offset_ns;

    *p = (struct peer){ .gang = *gang, .fd = -1 };
    p->gang.joins = true;
    p->gang.rank = N_RANKS;
    (void)connect_peer(p);
    assert_int_equal(p->rc, RC_OK);
    assert_int_equal(peer_losses_open(&p->losses, N_PEERS), RC_OK);
    tcp_link_watch_members(p->link, p->losses, N_RANKS);
    assert_int_equal(tcp_link_clock_offset(p->link, &offset_ns), RC_OK);
    assert_int_equal(tcp_link_start(p->link), RC_OK);
}

static void go(struct peer *p)
{
    tcp_link_close(&p->link);
    peer_losses_close(&p->losses);
    free(p->welcome.body);
}

static void say(const struct peer *p, uint32_t type, uint64_t number, const void *body, size_t n_bytes)
{
    unsigned char copy[64];

    memcpy(copy, body, n_bytes);
    assert_int_equal(
        tcp_link_post(p->link,
                      &(struct tcp_message){ .type = type, .number = number, .body = copy, .n_bytes = n_bytes }),
        RC_OK);
}

/* Until it knows that the member is lost. */
static void await_loss(const struct peer *p, int rank, const char *why)
{
    const uint64_t began_ns = wait_clock_ns();

    while (!peer_losses_has(p->losses, rank)) {
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("a guest does not hear that rank %d is lost", rank);
        (void)usleep(1000);
    }
    assert_string_equal(peer_losses_why(p->losses, rank), why);
}

static void await_ready(const struct peer *p)
{
    const uint64_t began_ns = wait_clock_ns();

    while (!tcp_link_is_ready(p->link)) {
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("a guest does not get in");
        (void)usleep(1000);
    }
}

/* This host takes the next guest, and says so. */
static void take_guest(const struct peer *host, int wanted)
{
    const uint64_t began_ns = wait_clock_ns();
    const unsigned char *bytes;
    size_t n_bytes;
    int guest;

    while (!tcp_link_next_guest(host->link, &guest, &bytes, &n_bytes)) {
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("a host does not hear of guest %d", wanted);
        (void)usleep(1000);
    }
    assert_int_equal(guest, wanted);
    assert_false(tcp_link_next_guest(host->link, &guest, &bytes, &n_bytes));
}

/* --- a run --- */

/* All members call TCP_BEGIN. */
static void open_world(struct run *r)
{
    unsigned char call[TCP_CALL_FIXED_BYTES] = { 0 };

    bytes_put(call, TCP_RUN_WORLD, 4);
    bytes_put(call + 4, TCP_BEGIN, 4);
    for (int i = 0; i < N_RANKS; i++)
        say(&r->member[i], TCP_CALL, 1, call, sizeof call);
    for (int i = 0; i < N_RANKS; i++) {
        struct tcp_message result;
        bool has_come = false;
        while (!has_come)
            tcp_link_await(r->member[i].link, 1, WAIT_SLICE_NS, &result, &has_come);
        assert_int_equal(bytes_get(result.body, 4), RC_OK);
        free(result.body);
    }
}

static void begin(struct run *r)
{
    int fd;

    *r = (struct run){ .gang = new_gang() };
    r->gang.listening_fd = listen_for(&r->gang);
    assert_int_equal(tcp_hub_open(&r->hub, &r->gang, ON_LOSS_REPORT, &fd), RC_OK);
    for (int i = 0; i < N_RANKS; i++) {
        r->member[i] = (struct peer){ .gang = r->gang, .fd = i == 0 ? fd : -1 };
        r->member[i].gang.rank = i;
        assert_int_equal(pthread_create(&r->member[i].thread, NULL, connect_peer, &r->member[i]), 0);
    }
    for (int i = 0; i < N_RANKS; i++) {
        struct peer *p = &r->member[i];
        assert_int_equal(pthread_join(p->thread, NULL), 0);
        assert_int_equal(p->rc, RC_OK);
        assert_int_equal(tcp_link_start(p->link), RC_OK);
        assert_int_equal(peer_losses_open(&p->losses, N_PEERS), RC_OK);
        tcp_link_watch_guests(p->link, p->losses, N_RANKS, i >= N_RANKS - N_SERVERS);
    }
    r->seat = peer_seats_alloc(N_RANKS);
    assert_non_null(r->seat);
    tcp_hub_watch(r->hub, r->seat, r->member[0].losses);
    open_world(r);
    say(&r->member[0], TCP_DOORS, 0, "doors", 5);
}

/* As the watch of rank 0 finds out. */
static void lose(struct run *r, int rank, const char *why)
{
    assert_true(peer_losses_add(r->member[0].losses, rank, why));
    tcp_link_close(&r->member[rank].link);
}

static void end(struct run *r)
{
    tcp_hub_watch(r->hub, NULL, NULL);
    for (int i = N_RANKS; i-- > 0;)
        go(&r->member[i]);
    tcp_hub_close(&r->hub);
    free(r->seat);
}

static void assert_lost(const struct peer *p, bool is_1, bool is_2, bool is_3)
{
    assert_false(peer_losses_has(p->losses, 0));
    assert_int_equal(peer_losses_has(p->losses, 1), is_1);
    assert_int_equal(peer_losses_has(p->losses, 2), is_2);
    assert_int_equal(peer_losses_has(p->losses, 3), is_3);
    assert_int_equal(p->losses->n_lost, is_1 + is_2 + is_3);
}

/* Who is there hears of each loss; who comes knows of those before when its clock has been compared, without a wait. */
UNIT_TEST(a_guest_hears_of_each_loss_G6)
{
    struct peer a, b, c;
    struct run r;

    begin(&r);
    come(&a, &r.gang);
    assert_lost(&a, false, false, false);
    lose(&r, 2, "silent for 6.0 s: in step 7");
    await_loss(&a, 2, "silent for 6.0 s: in step 7");
    come(&b, &r.gang);
    assert_lost(&b, false, true, false);
    assert_string_equal(peer_losses_why(b.losses, 2), "silent for 6.0 s: in step 7");
    lose(&r, 1, "");
    await_loss(&a, 1, "");
    await_loss(&b, 1, "");
    come(&c, &r.gang);
    assert_lost(&c, true, true, false);
    go(&a);
    go(&b);
    go(&c);
    end(&r);
}

/* A host that is lost before it knows of a guest keeps it out no longer, nor does one that was lost before. */
UNIT_TEST(a_lost_host_keeps_no_guest_out_G5)
{
    struct peer a, b;
    struct run r;

    begin(&r);
    come(&a, &r.gang);
    say(&a, TCP_ENTER, 0, "a", 1);
    take_guest(&r.member[1], 0);
    take_guest(&r.member[3], 0);
    assert_false(tcp_link_is_ready(a.link)); /* member 2 does not know */
    lose(&r, 2, "it was killed");
    await_ready(&a);
    assert_lost(&a, false, true, false);
    come(&b, &r.gang);
    say(&b, TCP_ENTER, 0, "b", 1);
    take_guest(&r.member[1], 1);
    assert_false(tcp_link_is_ready(b.link)); /* member 3 does not know, which lives */
    take_guest(&r.member[3], 1);
    await_ready(&b);
    go(&a);
    go(&b);
    end(&r);
}

/* --- a hub that says what is none of the protocol --- */

struct fake_hub {
    int listening_fd;
    const struct gang *gang;
    struct tcp_stream *stream;
};

/* What a guest is told: seed draws rank, length, and text. is_sound: it is a loss. */
static size_t draw_loss(unsigned char *body, uint64_t seed, bool *is_sound)
{
    const uint64_t kind = rng_u64(seed, RNG_TEST, 0), length = rng_u64(seed, RNG_TEST, 1);
    const uint64_t rank = kind % 3 == 0 ? rng_u64(seed, RNG_TEST, 2) & UINT32_MAX : (kind >> 8) % (2 * N_PEERS);
    const size_t n_bytes = length % 5 == 0 ? (size_t)(length >> 8) % 8 : (size_t)(length >> 8) % MOST_BODY_BYTES;

    for (size_t i = 0; i < n_bytes; i++)
        body[i] = (unsigned char)rng_u64(seed, RNG_TEST, 10 + i);
    if (n_bytes >= 4)
        bytes_put(body, rank, 4);
    *is_sound = n_bytes >= TCP_LOST_FIXED_BYTES && n_bytes - TCP_LOST_FIXED_BYTES < RC_MESSAGE_BYTES && rank < N_RANKS;
    return n_bytes;
}

static void post(struct tcp_stream *s, uint32_t type, uint64_t number, unsigned char *body, size_t n_bytes)
{
    if (tcp_stream_post(s, &(struct tcp_message){ .type = type, .number = number, .body = body, .n_bytes = n_bytes }) !=
        RC_OK)
        abort();
}

/* Welcomes one guest, tells it n_fuzzed losses, of which those that are sound are of rank 2, and answers its pings. */
static void *be_hub(void *arg)
{
    struct fake_hub *h = arg;
    unsigned char body[MOST_BODY_BYTES] = { 0 }, welcome[TCP_WELCOME_FIXED_BYTES] = { 0 };
    struct tcp_message m;

    if (tcp_stream_open(&h->stream, accept(h->listening_fd, NULL, NULL), false, h->gang->key) != RC_OK)
        abort();
    tcp_stream_limit(h->stream, TCP_HELLO_MOST_BYTES);
    while (tcp_stream_tend(h->stream) == RC_OK) {
        while (tcp_stream_take(h->stream, &m)) {
            free(m.body);
            if (m.type == TCP_PING) {
                post(h->stream, TCP_PONG, m.number, body, 8);
                continue;
            }
            if (m.type != TCP_HELLO)
                continue;
            bytes_put(welcome + 4, N_RANKS, 4);
            post(h->stream, TCP_WELCOME, 0, welcome, sizeof welcome);
            for (uint64_t seed = first_seed; seed < first_seed + n_fuzzed; seed++) {
                bool is_sound;
                const size_t n_bytes = draw_loss(body, seed, &is_sound);
                if (is_sound)
                    bytes_put(body, 2, 4);
                post(h->stream, TCP_LOST, seed, body, n_bytes);
            }
        }
        (void)usleep(500);
    }
    tcp_stream_close(&h->stream);
    return NULL;
}

UNIT_TEST(what_is_no_loss_changes_nothing_G6)
{
    struct gang gang = new_gang();
    struct fake_hub hub = { .gang = &gang };
    pthread_t thread;
    struct peer a;

    hub.listening_fd = listen_for(&gang);
    assert_int_equal(pthread_create(&thread, NULL, be_hub, &hub), 0);
    come(&a, &gang);
    assert_lost(&a, false, true, false);
    for (int r = N_RANKS; r < N_PEERS; r++)
        assert_false(peer_losses_has(a.losses, r));
    go(&a);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(close(hub.listening_fd), 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && (!text_to_u64(argv[1], &first_seed) || !text_to_u64(argv[2], &n_fuzzed) || n_fuzzed > 1000000)) {
        fprintf(stderr, "usage: tcp_guest_losses_test [SEED N]\n");
        return 2;
    }
    return unit_run("tcp_guest_losses", NULL, NULL, NULL);
}
