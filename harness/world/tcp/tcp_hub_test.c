/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_hub_test.c - how a gang gathers: who is let in, who is named as missing, and what strangers can do (world.G1,
 * G2); and whom all ranks name once one fails, or is lost (world.G4).
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/world/suite/loopback.h"
#include "harness/world/tcp/tcp_hub.h"
#include "harness/world/tcp/tcp_hub_state.h"
#include "harness/world/tcp/tcp_link.h"
#include "harness/world/tcp/tcp_link_state.h"
#include "harness/world/wait.h"

enum { N_RANKS = 3 };
#define LIMIT_NS UINT64_C(60000000000) /* of what must come: it only ends a hang */

static struct gang_member members[N_RANKS] = { { "worker", 0, "127.0.0.1:1" },
                                               { "worker", 1, "127.0.0.1:2" },
                                               { "ps", 0, "127.0.0.1:3" } };

struct member { /* in a thread of its own */
    struct gang gang;
    enum on_loss on_loss;
    int fd; /* -1: it connects */
    unsigned char place[TCP_PLACE_BYTES];
    struct tcp_link *link;
    int host_of[N_RANKS];
    enum rc rc;
    char message[RC_MESSAGE_BYTES];
    pthread_t thread;
};

static struct gang gang_of(int rank, double start_s)
{
    return (struct gang){ .text = (char *)"worker@127.0.0.1:1,worker@127.0.0.1:2,ps@127.0.0.1:3",
                          .member = members,
                          .rank = rank,
                          .n_ranks = N_RANKS,
                          .listening_fd = -1,
                          .start_s = start_s };
}

static void take_port(struct gang *g)
{
    uint16_t port;

    g->listening_fd = loopback_bind(&port);
    assert_true(g->listening_fd >= 0);
    (void)snprintf(g->root, sizeof g->root, "127.0.0.1:%d", port);
}

static void *join(void *arg)
{
    struct member *m = arg;
    const struct tcp_link_opts opts = {
        .gang = &m->gang, .on_loss = m->on_loss, .fd = m->fd, .ends_no_process = true, .place = m->place
    };

    m->rc = tcp_link_open(&m->link, &opts, m->host_of);
    (void)snprintf(m->message, sizeof m->message, "%s", rc_message());
    return NULL;
}

struct hosted { /* a gang whose rank 0 is here */
    struct gang gang;
    struct tcp_hub *hub;
    struct member m[N_RANKS];
};

static void begin(struct member *m, const struct gang *hub, int rank, int fd)
{
    *m = (struct member){ .gang = *hub, .fd = fd, .place = { rank == 2 ? 2 : 1 } }; /* rank 2 on another host */
    m->gang.rank = rank;
    assert_int_equal(pthread_create(&m->thread, NULL, join, m), 0);
}

static void end(struct member *m)
{
    assert_int_equal(pthread_join(m->thread, NULL), 0);
}

static void assert_says(const struct member *m, enum rc rc, const char *words)
{
    assert_int_equal(m->rc, rc);
    assert_null(m->link);
    if (!strstr(m->message, words))
        fail_msg("'%s' does not say '%s'", m->message, words);
}

/* g: of gang_of(0, ...). Rank 0 waits for the others. */
static void host(struct hosted *h, const struct gang *g)
{
    int fd;

    *h = (struct hosted){ .gang = *g };
    take_port(&h->gang);
    assert_int_equal(listen(h->gang.listening_fd, 256), 0);
    assert_int_equal(tcp_hub_open(&h->hub, &h->gang, ON_LOSS_ABORT, &fd), RC_OK);
    begin(&h->m[0], &h->gang, 0, fd);
}

static void close_gang(struct hosted *h)
{
    for (int r = N_RANKS - 1; r >= 0; r--)
        tcp_link_close(&h->m[r].link);
    tcp_hub_close(&h->hub);
}

static int dial(const struct gang *g)
{
    const int fd = loopback_dial(loopback_port(g->root));

    assert_true(fd >= 0);
    return fd;
}

/* Does the other side end the connection, within some seconds? Also by a reset: it has not read all that was sent. */
static bool is_ended(int fd)
{
    const struct timeval limit = { .tv_sec = 60 };
    char bytes[256];
    ssize_t n;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        continue;
    return n == 0 || errno == ECONNRESET;
}

UNIT_TEST(all_go_once_all_are_there)
{
    const struct gang g = gang_of(0, 30);
    struct hosted h;

    host(&h, &g);
    begin(&h.m[1], &h.gang, 1, -1);
    begin(&h.m[2], &h.gang, 2, -1);
    for (int r = 0; r < N_RANKS; r++) {
        end(&h.m[r]);
        assert_int_equal(h.m[r].rc, RC_OK);
        assert_int_equal(h.m[r].host_of[0], 0);
        assert_int_equal(h.m[r].host_of[1], 0);
        assert_int_equal(h.m[r].host_of[2], 2);
    }
    close_gang(&h);
}

/* The machine was too slow for start_s: a rank that came is named as missing, or its answer is. */
static bool was_late(const struct member *m)
{
    return strstr(m->message, "worker") || strstr(m->message, "does not answer");
}

/* Ranks 0 and 1 wait for rank 2 for so long. Did both come in time, so that they are not named? */
static bool rank_2_alone_is_missing(double start_s)
{
    const struct gang g = gang_of(0, start_s);
    struct hosted h;

    host(&h, &g);
    begin(&h.m[1], &h.gang, 1, -1);
    end(&h.m[0]);
    end(&h.m[1]);
    const bool is_alone = !was_late(&h.m[0]) && !was_late(&h.m[1]);
    for (int r = 0; r < 2 && is_alone; r++) {
        char words[64];
        (void)snprintf(words, sizeof words, "not there after %.3g s: ps 0 at 127.0.0.1:3", start_s);
        assert_says(&h.m[r], RC_TIMEOUT, words);
    }
    close_gang(&h);
    return is_alone;
}

/* On a machine that lets rank 0 or 1 come late it is missing, too, or gets no answer in time: then all wait longer. */
UNIT_TEST(who_is_missing_is_named)
{
    double start_s = 0.5;

    while (!rank_2_alone_is_missing(start_s)) {
        start_s *= 4;
        assert_true(start_s < 100);
    }
}

UNIT_TEST(a_missing_rank_0_is_named)
{
    struct gang g = gang_of(0, 0.3);
    struct member m;

    take_port(&g);
    begin(&m, &g, 1, -1);
    end(&m);
    assert_says(&m, RC_TIMEOUT, "not there after 0.3 s: worker 0 at 127.0.0.1:1");
    assert_int_equal(close(g.listening_fd), 0);
}

/* Another member list, or another policy, is told to all at once: with it the gang can never be whole. */
UNIT_TEST(who_disagrees_is_named_to_all)
{
    const struct gang g = gang_of(0, 30);
    struct hosted h;

    for (int other_policy = 0; other_policy < 2; other_policy++) {
        host(&h, &g);
        struct member wrong = { .gang = h.gang, .fd = -1, .place = { 1 } };
        wrong.gang.rank = 1;
        if (other_policy)
            wrong.on_loss = ON_LOSS_REPORT;
        else
            wrong.gang.text = (char *)"worker@127.0.0.1:1,worker@127.0.0.1:2,ps@127.0.0.1:4";
        (void)join(&wrong);
        end(&h.m[0]);
        assert_says(&wrong, RC_MISMATCH,
                    other_policy ? "worker 1 at 127.0.0.1:2 has another --on-loss"
                                 : "was told of other members: worker@");
        assert_says(&h.m[0], RC_MISMATCH, "worker 1 at 127.0.0.1:2");
        close_gang(&h);
    }
}

/* The second of two with one task is refused; the gang goes on without it. */
UNIT_TEST(a_task_is_taken_once)
{
    const struct gang g = gang_of(0, 30);
    struct member second;
    struct hosted h;

    host(&h, &g);
    begin(&h.m[1], &h.gang, 1, -1);
    begin(&second, &h.gang, 1, -1);
    begin(&h.m[2], &h.gang, 2, -1);
    for (int r = 0; r < N_RANKS; r++)
        end(&h.m[r]);
    end(&second);
    assert_int_equal(h.m[0].rc, RC_OK);
    assert_int_equal(h.m[2].rc, RC_OK);
    assert_true((h.m[1].rc == RC_OK) != (second.rc == RC_OK));
    assert_says(h.m[1].rc == RC_OK ? &second : &h.m[1], RC_MISMATCH,
                "worker 1 at 127.0.0.1:2 is there already: two processes have the same task");
    tcp_link_close(&second.link);
    close_gang(&h);
}

/* Strangers, twice as many as there are places for, and one with another key: they are dropped, and the gang gathers.
 * Rank 2 comes before them and says half of what it has to: it has shown the key, so that its place is not theirs. */
UNIT_TEST(strangers_keep_nobody_out)
{
    enum { N_STRANGERS = 2 * HUB_N_STRANGERS };
    struct gang g = gang_of(0, 30);
    struct member wrong = { .fd = -1 };
    struct tcp_stream *early = NULL;
    int stranger[N_STRANGERS], n_ended = 0;
    struct hosted h;

    g.key[0] = 7;
    host(&h, &g);
    assert_int_equal(tcp_stream_open(&early, dial(&h.gang), true, h.gang.key), RC_OK);
    while (!tcp_stream_is_open(early))
        assert_int_equal(tcp_stream_tend(early), RC_OK);
    for (int i = 0; i < N_STRANGERS; i++) {
        stranger[i] = dial(&h.gang);
        if (i % 2) /* the others say nothing */
            (void)!send(stranger[i], "GMTW\3\0\0\0", 8, MSG_NOSIGNAL);
    }
    (void)!send(stranger[N_STRANGERS - 1], "GET / HTTP/1.1\r\n\r\n and so on, for a while", 38, MSG_NOSIGNAL);
    wrong.gang = h.gang;
    wrong.gang.rank = 1;
    wrong.gang.key[0] = 8;
    (void)join(&wrong);
    assert_int_equal(wrong.rc, RC_MISMATCH);
    assert_non_null(strstr(wrong.message, "it has another key"));
    for (int i = 0; i < N_STRANGERS - HUB_N_STRANGERS; i++) /* the oldest ones */
        n_ended += is_ended(stranger[i]);
    assert_int_equal(n_ended, N_STRANGERS - HUB_N_STRANGERS);
    assert_int_equal(tcp_stream_tend(early), RC_OK);
    begin(&h.m[1], &h.gang, 1, -1);
    begin(&h.m[2], &h.gang, 2, -1);
    for (int r = 0; r < N_RANKS; r++) {
        end(&h.m[r]);
        assert_int_equal(h.m[r].rc, RC_OK);
    }
    assert_int_equal(tcp_hub_n_strangers(h.hub), N_STRANGERS + 2);
    for (int i = 0; i < N_STRANGERS; i++)
        assert_int_equal(close(stranger[i]), 0);
    tcp_stream_close(&early);
    close_gang(&h);
}

/* All members are there, each with its thread. */
static void open_gang(struct hosted *h)
{
    const struct gang g = gang_of(0, 30);

    host(h, &g);
    for (int r = 1; r < N_RANKS; r++)
        begin(&h->m[r], &h->gang, r, -1);
    for (int r = 0; r < N_RANKS; r++) {
        end(&h->m[r]);
        assert_int_equal(h->m[r].rc, RC_OK);
        assert_int_equal(tcp_link_start(h->m[r].link), RC_OK);
    }
}

/* Until this member knows of a failure: which one that is. */
static void assert_failure(const struct member *m, int rank, enum rc code, const char *why)
{
    const uint64_t began_ns = wait_clock_ns();
    const char *message = "";
    enum rc is_code = RC_OK;
    char text[256];
    int is_rank = -9;

    while (!tcp_link_failure(m->link, &is_rank, &is_code, &message)) {
        if (wait_clock_ns() - began_ns > LIMIT_NS)
            fail_msg("rank %d hears of no failure", m->gang.rank);
        (void)usleep(1000);
    }
    assert_int_equal(is_rank, rank);
    assert_int_equal(is_code, code);
    assert_string_equal(message, why);
    assert_int_equal(tcp_link_check(m->link), RC_PEER);
    (void)snprintf(text, sizeof text, "rank %d failed: %s", rank, why);
    assert_string_equal(rc_message(), text);
}

/* One rank says that another one fails, or itself: all name that one, the third ranks, too. */
UNIT_TEST(a_failure_names_the_rank_that_failed_G4)
{
    static const int said[][2] = { { 1, 2 }, { 1, 1 }, { 0, 1 }, { 2, 0 } }; /* by whom, of whom */

    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct hosted h;
        open_gang(&h);
        tcp_link_fail(h.m[said[i][0]].link, said[i][1], RC_TIMEOUT, "silent for 5 s");
        for (int r = 0; r < N_RANKS; r++)
            assert_failure(&h.m[r], said[i][1], RC_TIMEOUT, "silent for 5 s");
        close_gang(&h);
    }
}

/* The connection of a rank ends: to the others it is lost. To itself rank 0 is, with which it had it. */
UNIT_TEST(who_is_gone_is_named_to_third_ranks_G4)
{
    for (int gone = 1; gone < N_RANKS; gone++) {
        struct hosted h;
        open_gang(&h);
        assert_int_equal(shutdown(tcp_stream_fd(h.m[gone].link->stream), SHUT_RDWR), 0);
        for (int r = 0; r < N_RANKS; r++)
            assert_failure(&h.m[r], r == gone ? 0 : gone, RC_PEER, GANG_LOSS_WHY);
        close_gang(&h);
    }
}

/* Asked at 1000, heard at 1200: the answer was given at 1100 of our clock. */
UNIT_TEST(both_ways_take_equally_long)
{
    assert_int_equal(wait_clock_offset(1000, 51100, 1200), 50000);
    assert_int_equal(wait_clock_offset(51000, 1100, 51200), -50000);
    assert_int_equal(wait_clock_offset(1000, 1100, 1200), 0);
    assert_int_equal(wait_clock_offset(1000, 1000, 1001), 0); /* half a nanosecond is none */
    assert_int_equal(wait_clock_offset(UINT64_C(1) << 62, 100, (UINT64_C(1) << 62) + 200), -(INT64_C(1) << 62));
}

UNIT_MAIN("tcp_hub")
