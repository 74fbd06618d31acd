/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat_test.c - heartbeats between a hub and leaves in this process, over the loopback, at times that the test makes
 * up; and strangers at the hub's port.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/world/process/beat_hub.h"
#include "harness/world/process/beat_leaf.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { N_RANKS = 6, N_TIMED_LOOKS = 2000 };

#define MS UINT64_C(1000000)
#define RETRY_NS (1000 * MS)
#define LIMIT_NS (60000 * MS) /* of real time, for what must come: it only ends a hang */

/* Ranks 0 and 3 with the hub; 1 and 4 on a second host; 2 and 5 on a third. */
static const int cell[N_RANKS] = { 0, 1, 2, 0, 1, 2 };

struct star {
    struct beat_run run;
    struct beat_address address;
    struct peer_seat *at_hub, *at_1, *at_2; /* of each host */
    struct beat_hub *hub;
    struct beat_leaf *leaf_1, *leaf_4, *leaf_2;
    uint64_t now_ns;
    int n_timed_looks; /* since the last event: from N_TIMED_LOOKS on the time stands still, for the kernel's sake */
    uint64_t began_ns; /* the real time of the first of them */
};

static void star_open(struct star *s)
{
    *s = (struct star){ .run = { .token = "sixteen letters", .n_ranks = N_RANKS, .cell = cell },
                        .address.host = "127.0.0.1",
                        .at_hub = peer_seats_alloc(N_RANKS),
                        .at_1 = peer_seats_alloc(N_RANKS),
                        .at_2 = peer_seats_alloc(N_RANKS),
                        .now_ns = 1000 * MS };
    assert_true(s->at_hub && s->at_1 && s->at_2);
    assert_int_equal(beat_hub_open(&s->hub, &s->run, s->at_hub, &s->address), RC_OK);
    assert_int_equal(beat_leaf_open(&s->leaf_1, &s->run, s->at_1, 1, &s->address, RETRY_NS), RC_OK);
    assert_int_equal(beat_leaf_open(&s->leaf_4, &s->run, s->at_1, 4, &s->address, RETRY_NS), RC_OK);
    assert_int_equal(beat_leaf_open(&s->leaf_2, &s->run, s->at_2, 2, &s->address, RETRY_NS), RC_OK);
}

static void star_close(struct star *s)
{
    beat_hub_close(&s->hub);
    beat_leaf_close(&s->leaf_1);
    beat_leaf_close(&s->leaf_4);
    beat_leaf_close(&s->leaf_2);
    free(s->at_hub);
    free(s->at_1);
    free(s->at_2);
}

static void look_at(struct beat_leaf *l, uint64_t now_ns)
{
    if (!l)
        return;
    beat_leaf_receive(l, now_ns);
    (void)beat_leaf_send(l, now_ns);
}

/* One look of every process; a little real time passes, in which the kernel carries the bytes. */
static void look(struct star *s)
{
    const struct timespec pause = { .tv_nsec = 100000 };

    s->now_ns += s->n_timed_looks++ < N_TIMED_LOOKS ? MS / 10 : 0;
    look_at(s->leaf_1, s->now_ns);
    look_at(s->leaf_4, s->now_ns);
    look_at(s->leaf_2, s->now_ns);
    if (s->hub) {
        beat_hub_receive(s->hub, s->now_ns);
        beat_hub_send(s->hub);
    }
    (void)nanosleep(&pause, NULL);
}

/* Something is awaited from here on. */
static void begin_wait(struct star *s)
{
    s->n_timed_looks = 0;
    s->began_ns = wait_clock_ns();
}

/* May it still come? */
static bool waits(const struct star *s)
{
    return wait_clock_ns() - s->began_ns < LIMIT_NS;
}

/* Look until rank r is so in these seats. */
static void await_state(struct star *s, const struct peer_seat *seats, int r, enum peer_state state)
{
    begin_wait(s);
    while (atomic_load(&seats[r].state) != (int)state && waits(s))
        look(s);
    assert_int_equal(atomic_load(&seats[r].state), state);
}

static void await_ticks(struct star *s, const struct peer_seat *seats, int r, uint64_t n_ticks)
{
    begin_wait(s);
    while (atomic_load(&seats[r].n_ticks) != n_ticks && waits(s))
        look(s);
    assert_int_equal(atomic_load(&seats[r].n_ticks), n_ticks);
}

/* Host 2 has a frame of the hub that it made after this call. */
static void await_frame(struct star *s)
{
    peer_tick(&s->at_hub[0]);
    await_ticks(s, s->at_2, 0, atomic_load(&s->at_hub[0].n_ticks));
}

UNIT_TEST(seats_reach_the_hub_and_rank_0_reaches_all)
{
    const struct peer_duty duty = { PHASE_STEP, INT64_C(12345678901), -1 };
    struct star s;

    star_open(&s);
    for (int i = 0; i < 7; i++)
        peer_tick(&s.at_1[4]);
    peer_set_duty(&s.at_1[4], &duty);
    peer_tick(&s.at_hub[0]);
    await_ticks(&s, s.at_hub, 4, 7);
    const struct peer_view v = peer_view_of(&s.at_hub[4]);
    assert_int_equal(v.duty.phase, PHASE_STEP);
    assert_int_equal(v.duty.step, duty.step);
    assert_int_equal(v.duty.bucket, -1);
    assert_int_equal(v.state, PEER_ALIVE);
    await_ticks(&s, s.at_1, 0, 1);
    await_ticks(&s, s.at_2, 0, 1);
    assert_int_equal(beat_hub_n_cells(s.hub), 2);
    assert_int_equal(atomic_load(&s.at_hub[5].n_ticks), 0);
    star_close(&s);
}

/* Each cell judges its own; the hub tells the other one, and takes nothing back from who may not know. */
UNIT_TEST(states_reach_all_hosts)
{
    struct star s;

    star_open(&s);
    await_state(&s, s.at_hub, 0, PEER_ALIVE);
    atomic_store(&s.at_1[4].silent_ms, 2300);
    atomic_store(&s.at_1[4].state, PEER_SILENT);
    await_state(&s, s.at_hub, 4, PEER_SILENT);
    await_state(&s, s.at_2, 4, PEER_SILENT);
    atomic_store(&s.at_hub[4].state, PEER_ALIVE); /* the hub's watch saw it tick */
    atomic_store(&s.at_1[4].state, PEER_ALIVE);
    await_state(&s, s.at_2, 4, PEER_ALIVE);
    atomic_store(&s.at_1[4].silent_ms, 6100);
    atomic_store(&s.at_1[4].state, PEER_LOST);
    await_state(&s, s.at_2, 4, PEER_LOST);
    assert_int_equal(atomic_load(&s.at_2[4].silent_ms), 6100);
    atomic_store(&s.at_1[1].state, PEER_LEFT);
    assert_true(beat_leaf_send(s.leaf_1, s.now_ns)); /* its last words */
    beat_leaf_close(&s.leaf_1);
    await_state(&s, s.at_2, 1, PEER_LEFT);
    await_frame(&s);
    assert_int_equal(atomic_load(&s.at_2[4].state), PEER_LOST);
    assert_int_equal(atomic_load(&s.at_1[4].state), PEER_LOST);
    star_close(&s);
}

/* A rank that the hub has given up, since it heard nothing, is told when it is heard again (world.P3). */
UNIT_TEST(a_lost_rank_is_told)
{
    struct star s;

    star_open(&s);
    atomic_store(&s.at_hub[5].state, PEER_LOST);
    atomic_store(&s.at_hub[2].state, PEER_SILENT);
    await_state(&s, s.at_2, 5, PEER_LOST);
    await_frame(&s);
    assert_int_equal(atomic_load(&s.at_2[2].state), PEER_ALIVE); /* which that host knows better */
    star_close(&s);
}

/* A rank that ends the run is known by that on every host, and not by its silence later. */
UNIT_TEST(failures_reach_all_hosts)
{
    struct star s;

    star_open(&s);
    atomic_store(&s.at_hub[0].has_failed, true);
    atomic_store(&s.at_1[4].has_failed, true);
    begin_wait(&s);
    while (!atomic_load(&s.at_2[4].has_failed) && waits(&s))
        look(&s);
    for (int r = 0; r < N_RANKS; r++) {
        assert_int_equal(atomic_load(&s.at_2[r].has_failed), r == 0 || r == 4);
        assert_int_equal(atomic_load(&s.at_2[r].state), PEER_ALIVE);
    }
    star_close(&s);
}

UNIT_TEST(another_process_takes_over)
{
    struct star s;

    star_open(&s);
    await_ticks(&s, s.at_hub, 4, 0);
    assert_true(beat_leaf_leads(s.leaf_1));
    assert_false(beat_leaf_leads(s.leaf_4));
    await_state(&s, s.at_hub, 0, PEER_ALIVE);
    atomic_store(&s.at_1[1].state, PEER_SILENT);
    assert_false(beat_leaf_leads(s.leaf_1));
    assert_true(beat_leaf_leads(s.leaf_4));
    beat_leaf_close(&s.leaf_1); /* killed */
    peer_tick(&s.at_1[4]);
    await_ticks(&s, s.at_hub, 4, 1);
    await_state(&s, s.at_hub, 1, PEER_SILENT);
    begin_wait(&s);
    while (!beat_leaf_has_heard(s.leaf_2) && waits(&s))
        look(&s);
    assert_int_equal(beat_hub_n_cells(s.hub), 2);
    atomic_store(&s.at_1[4].state, PEER_SILENT); /* nobody is alive: the lowest that is not lost */
    assert_false(beat_leaf_leads(s.leaf_4));
    atomic_store(&s.at_1[1].state, PEER_LOST);
    assert_true(beat_leaf_leads(s.leaf_4));
    star_close(&s);
}

/* The process of rank 0 has ended: nobody listens any more. One that left first is not lost. */
UNIT_TEST(a_closed_port_is_the_loss_of_rank_0)
{
    struct star s;

    star_open(&s);
    peer_tick(&s.at_hub[0]);
    await_ticks(&s, s.at_1, 0, 1);
    await_ticks(&s, s.at_2, 0, 1);
    atomic_store(&s.at_2[0].state, PEER_LEFT);
    beat_hub_close(&s.hub);
    await_state(&s, s.at_1, 0, PEER_LOST);
    for (int i = 0; i < 20; i++)
        look(&s);
    assert_int_equal(atomic_load(&s.at_2[0].state), PEER_LEFT);
    star_close(&s);
}

/* A hub that takes connections and says nothing: a new connection is tried, and rank 0 is not lost for that. */
UNIT_TEST(a_silent_connection_is_made_anew)
{
    struct beat_address address = { .host = "127.0.0.1" };
    struct beat_leaf *leaf = NULL;
    struct star s;
    int fd, n_accepted = 0;

    star_open(&s);
    assert_int_equal(beat_listen(&fd, &address), RC_OK);
    assert_int_equal(beat_leaf_open(&leaf, &s.run, s.at_2, 2, &address, RETRY_NS), RC_OK);
    begin_wait(&s);
    while (n_accepted < 3 && waits(&s)) {
        const struct timespec pause = { .tv_nsec = 100000 };
        look_at(leaf, s.now_ns += 100 * MS);
        (void)nanosleep(&pause, NULL);
        const int accepted = tcp_socket_accept(fd, NULL);
        n_accepted += accepted >= 0;
        if (accepted >= 0)
            (void)close(accepted);
    }
    assert_int_equal(n_accepted, 3);
    assert_false(beat_leaf_has_heard(leaf));
    assert_int_equal(atomic_load(&s.at_2[0].state), PEER_ALIVE);
    beat_leaf_close(&leaf);
    (void)close(fd);
    star_close(&s);
}

/* --- strangers ---------------------------------------------------------------------------------------------------- */

/* A frame of rank 1's cell, with rank 4 lost. */
static size_t make_frame(const struct beat_run *run, unsigned char *out)
{
    const struct peer_view alive = { .n_ticks = 3 }, lost = { .state = PEER_LOST, .silent_ms = 1 };

    beat_put_header(out, run, 1, 2);
    beat_put_seat(out + beat_frame_bytes(0), 1, &alive);
    beat_put_seat(out + beat_frame_bytes(1), 4, &lost);
    return beat_frame_bytes(2);
}

static void connect_stranger(struct star *s, struct beat_connection *c)
{
    assert_true(beat_connection_begin(c, &s->address, s->now_ns));
    begin_wait(s);
    while (beat_connection_begun(c) != 0 && waits(s))
        look(s);
    assert_int_equal(beat_connection_begun(c), 0);
}

UNIT_TEST(strangers_change_nothing)
{
    unsigned char frame[256];
    struct beat_connection stranger[40];
    struct star s;

    star_open(&s);
    for (size_t i = 0; i < sizeof stranger / sizeof *stranger; i++) { /* more than are kept */
        struct beat_run other = s.run;
        other.token[i % BEAT_TOKEN_BYTES] ^= 1;
        const size_t n_bytes = make_frame(&other, frame);
        connect_stranger(&s, &stranger[i]);
        if (i % 3 == 1) /* others say nothing */
            (void)send(stranger[i].fd, frame, n_bytes, MSG_NOSIGNAL);
        else if (i % 3 == 2)
            (void)beat_connection_is_ready(&stranger[i], &other); /* with a key of its own */
        look(&s);
    }
    peer_tick(&s.at_1[4]);
    await_ticks(&s, s.at_hub, 4, 1); /* those that belong here are heard all the same */
    peer_tick(&s.at_2[5]);
    await_ticks(&s, s.at_hub, 5, 1);
    assert_int_equal(beat_hub_n_cells(s.hub), 2);
    assert_int_equal(atomic_load(&s.at_hub[4].state), PEER_ALIVE);
    for (size_t i = 0; i < sizeof stranger / sizeof *stranger; i++)
        beat_connection_close(&stranger[i]);
    star_close(&s);
}

/* The same bytes with the right token are believed, so that what strangers lack is the token. */
UNIT_TEST(who_has_the_token_is_believed)
{
    unsigned char frame[256];
    struct beat_connection c;
    struct star s;

    star_open(&s);
    beat_leaf_close(&s.leaf_1);
    beat_leaf_close(&s.leaf_4);
    const size_t n_bytes = make_frame(&s.run, frame);
    connect_stranger(&s, &c);
    begin_wait(&s);
    while (!beat_connection_is_ready(&c, &s.run) && waits(&s))
        look(&s);
    assert_true(beat_connection_send(&c, frame, n_bytes));
    await_state(&s, s.at_hub, 4, PEER_LOST);
    assert_int_equal(atomic_load(&s.at_hub[1].n_ticks), 3);
    beat_connection_close(&c);
    star_close(&s);
}

/* A frame in clear is not believed, whatever token it has. */
UNIT_TEST(a_token_in_clear_is_of_no_use)
{
    unsigned char frame[256];
    struct beat_connection c;
    struct star s;

    star_open(&s);
    const size_t n_bytes = make_frame(&s.run, frame);
    connect_stranger(&s, &c);
    (void)send(c.fd, frame, n_bytes, MSG_NOSIGNAL);
    peer_tick(&s.at_1[4]);
    await_ticks(&s, s.at_hub, 4, 1);
    for (int i = 0; i < 20; i++)
        look(&s);
    assert_int_equal(atomic_load(&s.at_hub[4].state), PEER_ALIVE);
    assert_int_equal(atomic_load(&s.at_hub[1].n_ticks), 0);
    beat_connection_close(&c);
    star_close(&s);
}

/* One look of every process, and what its watcher does about a run that stops (world.Z2). */
static void look_for_stop(struct star *s, struct peers *hub, struct peers *host_1, struct peers *host_2)
{
    look(s);
    (void)stop_look(hub);
    (void)stop_look(host_1);
    (void)stop_look(host_2);
}

/* A signal reaches a rank of one host: all hosts hear after how many steps to end, the most that any rank has begun. */
UNIT_TEST(all_hosts_end_after_the_same_step)
{
    static const int64_t n_begun[N_RANKS] = { 5, 7, 6, 4, 5, 8 };
    struct star s;

    star_open(&s);
    struct peers hub = { .seat = s.at_hub, .n_ranks = N_RANKS, .own = 0, .cell = cell };
    struct peers host_1 = { .seat = s.at_1, .n_ranks = N_RANKS, .own = 1, .cell = cell };
    struct peers host_2 = { .seat = s.at_2, .n_ranks = N_RANKS, .own = 2, .cell = cell };
    for (int r = 0; r < N_RANKS; r++)
        atomic_store(&(cell[r] == 0 ? s.at_hub : cell[r] == 1 ? s.at_1 : s.at_2)[r].n_begun, n_begun[r]);
    for (int i = 0; i < 20; i++)
        look_for_stop(&s, &hub, &host_1, &host_2);
    assert_int_equal(atomic_load(&s.at_hub[0].n_last), 0); /* nobody stops without a signal */
    atomic_store(&s.at_1[4].stop_signal, 15);
    begin_wait(&s);
    while ((atomic_load(&s.at_1[0].n_last) == 0 || atomic_load(&s.at_2[0].n_last) == 0) && waits(&s))
        look_for_stop(&s, &hub, &host_1, &host_2);
    assert_int_equal(atomic_load(&s.at_hub[0].n_last), 8);
    assert_int_equal(atomic_load(&s.at_1[0].n_last), 8);
    assert_int_equal(atomic_load(&s.at_2[0].n_last), 8);
    for (int r = 0; r < N_RANKS; r++)
        assert_int_equal(atomic_load(&(cell[r] == 0 ? s.at_hub : cell[r] == 1 ? s.at_1 : s.at_2)[r].stop_signal), 15);
    star_close(&s);
}

UNIT_MAIN("beat")
