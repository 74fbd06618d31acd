/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_sim_test.c - messages in virtual time: order, ends of waits, and what is left over, beyond what
 * transport_suite.h asks of every transport; what messages cost, as golden values that are worked out by hand from the
 * description of the cluster; and the same ones every time.
 *
 * Unless a test says otherwise links have 1 Gbit/s and 25 us; between ranks of one host 5 GB/s and 1 us.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/cluster/topology.h"
#include "harness/net/transport.h"
#include "harness/world/sim/world_sim.h"

extern const struct transport_ops transport_sim;

enum { NOTES_MAX = 1024, SECOND_MS = 1000 };

static struct seen { /* what the ranks of the last run have left for the test to judge */
    double at_ns[NOTES_MAX];
    enum rc rc[8];
    char message[8][RC_MESSAGE_BYTES];
    int n_failures;
    int n_returned;
} seen;

typedef enum rc sim_test_body(struct transport *t);

static enum rc job_body(struct world *w, void *arg)
{
    sim_test_body *const *body = arg;
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_open(&t, &transport_sim, w));
    TRY((*body)(t));
    seen.n_returned++;
out:
    transport_close(&t);
    return rc;
}

/* Run body on each rank, with a transport open, with settings of the cluster (cluster_set()); ranks n_workers ..
 * n_ranks-1 are servers. The first failure of a rank. */
static enum rc run_sim_on(int n_workers, int n_ranks, const char *settings, sim_test_body *body)
{
    struct cluster c;
    const struct world_opts opts = { .cluster = &c, .n_bound_ranks = n_workers };
    enum rc rc;

    memset(&seen, 0, sizeof seen);
    cluster_default(&c);
    TRY(cluster_set(&c, NULL, settings));
    TRY(world_run(&world_sim, &opts, n_ranks, job_body, &body));
out:
    return rc;
}

static enum rc run_sim(int n_ranks, int n_ranks_per_host, sim_test_body *body)
{
    char settings[64];

    snprintf(settings, sizeof settings, "ranks_per_host_count=%d", n_ranks_per_host);
    return run_sim_on(n_ranks, n_ranks, settings, body);
}

/* Leave rc and its message where the test finds them. */
static void note(struct transport *t, enum rc rc)
{
    seen.rc[t->world->rank] = rc;
    snprintf(seen.message[t->world->rank], RC_MESSAGE_BYTES, "%s", rc_message());
}

static double now_ns(struct transport *t)
{
    return (double)world_now_ns(t->world);
}

/* Post and end one message; receive_from() waits for up to 1000 virtual seconds. */
static enum rc send_to(struct transport *t, int peer, uint32_t tag, const void *data, size_t n_bytes,
                       size_t n_hollow_bytes)
{
    struct xfer x = {
        .ptr = (void *)(uintptr_t)data, .n_bytes = n_bytes, .n_hollow_bytes = n_hollow_bytes, .peer = peer, .tag = tag
    };
    enum rc rc;

    TRY(transport_send(t, &x));
    TRY(transport_wait(t, &x, SECOND_MS));
out:
    return rc;
}

static enum rc receive_from(struct transport *t, int peer, uint32_t tag, void *data, size_t n_bytes)
{
    struct xfer x = { .ptr = data, .n_bytes = n_bytes, .peer = peer, .tag = tag };
    enum rc rc;

    TRY(transport_recv(t, &x));
    TRY(transport_wait(t, &x, 1000 * SECOND_MS));
out:
    return rc;
}

/* --- order, ends of waits, what is left over --- */

/* A long message, then a short one: the short one waits behind it, as both are on one connection. */
static enum rc order_body(struct transport *t)
{
    int value[4] = { 1, 2, 3, 4 }, got[4] = { 0 };
    struct message m = { 0 };
    enum rc rc = RC_OK;

    if (t->world->rank == 1) {
        for (int i = 0; i < 2; i++)
            TRY(send_to(t, 0, 7, &value[i], sizeof value[i], i == 0 ? 1000000 : 0));
        for (int i = 2; i < 4; i++)
            TRY(send_to(t, 0, TAG_ANY | 7, &value[i], sizeof value[i], i == 2 ? 1000000 : 0));
        TRY(send_to(t, 0, TAG_ANY | 8, NULL, 0, 0));
        return RC_OK;
    }
    struct xfer first = { .ptr = &got[0], .n_bytes = sizeof got[0], .peer = 1, .tag = 7 };
    struct xfer second = { .ptr = &got[1], .n_bytes = sizeof got[1], .peer = 1, .tag = 7 };
    TRY(transport_recv(t, &first));
    TRY(transport_recv(t, &second));
    TRY(transport_wait(t, &second, SECOND_MS)); /* net.T2: ended in the other order */
    seen.at_ns[0] = now_ns(t);
    TRY(transport_wait(t, &first, SECOND_MS));
    seen.n_failures += now_ns(t) != seen.at_ns[0];
    TRY(transport_recv_message(t, &m, SECOND_MS)); /* another tag: it did overtake */
    seen.n_failures += m.tag != (TAG_ANY | 8) || m.n_bytes != 0 || m.peer != 1;
    transport_release(t, &m);
    for (int i = 2; i < 4; i++) {
        TRY(transport_recv_message(t, &m, SECOND_MS));
        seen.n_failures += m.n_bytes != sizeof(int) || m.n_hollow_bytes != (i == 2 ? 1000000 : 0);
        memcpy(&got[i], m.ptr, sizeof(int));
        transport_release(t, &m);
    }
    seen.n_failures += memcmp(value, got, sizeof got) != 0;
out:
    return rc;
}

UNIT_TEST(messages_keep_their_order_T4)
{
    assert_int_equal(run_sim(2, 1, order_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_true(seen.at_ns[0] > 8e6 && seen.at_ns[0] < 9e6); /* one long message, at 1e9 bit/s */
}

/* TAG_ANY: by arrival, whoever sent first. */
static enum rc arrival_body(struct transport *t)
{
    struct message m = { 0 };
    enum rc rc = RC_OK;

    if (t->world->rank > 0) {
        TRY(send_to(t, 0, TAG_ANY, NULL, 0, 1000000 / (size_t)t->world->rank));
        return RC_OK;
    }
    TRY(transport_recv_message(t, &m, DO_NOT_WAIT));
    seen.n_failures += m.ptr != NULL || m.peer != -1 || now_ns(t) != 0;
    for (int i = 3; i > 0; i--) {
        TRY(transport_recv_message(t, &m, WAIT_FOREVER));
        seen.n_failures += m.peer != i;
        transport_release(t, &m);
    }
    TRY(transport_recv_message(t, &m, DO_NOT_WAIT)); /* none left; the transport lives on */
    seen.n_failures += m.peer != -1;
out:
    return rc;
}

UNIT_TEST(any_messages_come_by_arrival_T8)
{
    assert_int_equal(run_sim(4, 1, arrival_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
}

/* The message takes 8.025 ms, the receiver waits 3 ms; what then arrives is not written. */
static enum rc timeout_body(struct transport *t)
{
    int got = -1, value = 9;
    struct xfer x = { .ptr = &got, .n_bytes = sizeof got, .peer = 1, .tag = 3 };
    unsigned char reused[sizeof x];
    enum rc rc = RC_OK;

    if (t->world->rank == 1) {
        TRY(send_to(t, 0, 3, &value, sizeof value, 1000000 - sizeof value));
        world_pause(t->world, 100000000);
        return RC_OK;
    }
    TRY(transport_recv(t, &x));
    note(t, transport_wait(t, &x, 3));
    seen.at_ns[0] = now_ns(t);
    memset(reused, 0x5a, sizeof reused);
    memcpy((void *)&x, reused, sizeof x); /* net.T3: x is ours again, for anything */
    world_pause(t->world, 50000000);
    seen.n_failures += got != -1 || memcmp((void *)&x, reused, sizeof x) != 0;
    x = (struct xfer){ .peer = 1 };
    seen.rc[1] = transport_recv(t, &x); /* net.T6 */
out:
    return rc;
}

UNIT_TEST(a_wait_ends_at_its_timeout_T3)
{
    assert_int_equal(run_sim(2, 1, timeout_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.rc[0], RC_TIMEOUT);
    assert_string_equal(seen.message[0], "rank 1, tag 3: no message after 3 ms");
    assert_true(seen.at_ns[0] == 3e6);
    assert_int_equal(seen.rc[1], RC_TIMEOUT);
}

/* Messages that arrive in the very nanosecond in which the wait gives up. */
static enum rc race_body(struct transport *t)
{
    struct message m = { 0 };
    enum rc rc = RC_OK;

    for (int i = 0; i < 20; i++) {
        TRY(world_barrier(t->world));
        if (t->world->rank == 1) {
            TRY(send_to(t, 0, TAG_ANY, NULL, 0, 121875)); /* 25 us + 975 us */
            world_pause(t->world, 1000000);
            continue;
        }
        rc = t->ops->recv_message(t, &m, 1);
        if (rc == RC_TIMEOUT) {
            world_pause(t->world, 1000);
            rc = t->ops->recv_message(t, &m, 1);
        }
        if (rc != RC_OK)
            return rc;
        t->ops->release(t, &m);
        seen.n_returned++;
    }
out:
    return rc;
}

UNIT_TEST(a_message_at_the_deadline_is_not_lost)
{
    assert_int_equal(run_sim(2, 1, race_body), RC_OK);
    assert_int_equal(seen.n_returned, 20 + 2);
}

/* Rank 2 dies with a receive posted, one message matched, and one of its own on the way. */
static enum rc die_body(struct transport *t)
{
    int value = 0;
    struct xfer x = { .ptr = &value, .n_bytes = sizeof value, .peer = 2, .tag = 1 };
    struct message m = { 0 };
    enum rc rc = RC_OK;

    switch (t->world->rank) {
    case 0: /* waits for ever for a pairwise message */
        TRY(transport_recv(t, &x));
        note(t, transport_wait(t, &x, WAIT_FOREVER));
        break;
    case 1: /* waits for any */
        TRY(send_to(t, 2, 1, &value, sizeof value, 0));
        note(t, transport_recv_message(t, &m, WAIT_FOREVER));
        break;
    case 2:
        x.peer = 1;
        TRY(transport_recv(t, &x));
        world_pause(t->world, 1000000);
        x.peer = 0;
        TRY(transport_recv(t, &(struct xfer){ .ptr = &value, .n_bytes = sizeof value, .tag = 5 }));
        TRY(send_to(t, 0, 99, NULL, 0, 1000000));
        world_die(t->world);
        break;
    default: /* computes, and finds out at its next send */
        world_pause(t->world, 2000000);
        note(t, send_to(t, 0, 1, NULL, 0, 0));
        seen.at_ns[3] = now_ns(t);
    }
    seen.n_returned++;
out:
    return rc;
}

/* net.S1, S3: what was on its way to the dead, and what it had opened, is dropped and not leaked. */
UNIT_TEST(a_dead_rank_ends_every_wait_T10)
{
    assert_int_equal(run_sim(4, 1, die_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 2: ended before its work was done");
    assert_int_equal(seen.n_returned, 3 + 3);
    for (int r = 0; r < 4; r++)
        if (r != 2) {
            assert_int_equal(seen.rc[r], RC_PEER);
            assert_string_equal(seen.message[r], "rank 2 failed: ended before its work was done");
        }
}

static enum rc deadlock_body(struct transport *t)
{
    const int n = t->world->n_ranks;
    struct xfer x = { .peer = (t->world->rank + 1) % n, .tag = 1 };
    enum rc rc;

    TRY(send_to(t, x.peer, 2, NULL, 0, 1000)); /* nobody asks for this one */
    TRY(transport_recv(t, &x));
    TRY(transport_wait(t, &x, WAIT_FOREVER));
out:
    note(t, rc);
    return rc;
}

UNIT_TEST(a_deadlock_is_a_timeout_E3)
{
    assert_int_equal(run_sim(3, 1, deadlock_body), RC_TIMEOUT);
    for (int r = 0; r < 3; r++)
        assert_int_equal(seen.rc[r], RC_TIMEOUT);
    assert_non_null(strstr(seen.message[1], "deadlock"));
}

/* Closed with everything left over: posted, arrived, lent and on its way. Then opened again. */
static enum rc leave_all_body(struct transport *t)
{
    struct transport *own = NULL;
    struct message m = { 0 };
    struct xfer posted = { .peer = 1 - t->world->rank, .tag = 9 };
    char text[100] = "";
    enum rc rc = RC_OK;

    for (int round = 0; round < 3; round++) {
        TRY(transport_open(&own, &transport_sim, t->world));
        TRY(send_to(own, posted.peer, TAG_ANY, text, sizeof text, 0));
        TRY(send_to(own, posted.peer, TAG_ANY, text, sizeof text, 0));
        TRY(send_to(own, posted.peer, 4, text, sizeof text, 0));
        world_pause(t->world, 1000000);
        TRY(send_to(own, posted.peer, 5, text, sizeof text, 1000000));
        TRY(transport_recv_message(own, &m, SECOND_MS));
        TRY(transport_recv(own, &posted));
        transport_close(&own);
        TRY(transport_recv_message(t, &m, DO_NOT_WAIT)); /* two open transports do not mix */
        seen.n_failures += m.peer != -1 || own != NULL;
    }
out:
    transport_close(&own);
    return rc;
}

UNIT_TEST(close_abandons_what_is_left)
{
    assert_int_equal(run_sim(2, 1, leave_all_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
}

/* More than there is room for without growing. */
static enum rc many_tags_body(struct transport *t)
{
    const int other = 1 - t->world->rank;
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < 300; i++)
        TRY(send_to(t, other, i, &i, sizeof i, 0));
    for (uint32_t i = 300; i-- > 0;) {
        uint32_t got = 0;
        TRY(receive_from(t, other, i, &got, sizeof got));
        seen.n_failures += got != i;
    }
out:
    return rc;
}

UNIT_TEST(tags_are_kept_apart)
{
    assert_int_equal(run_sim(2, 1, many_tags_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
}

static enum rc threads_body(struct world *w, void *arg)
{
    struct transport *t = NULL;

    (void)arg;
    return transport_open(&t, &transport_sim, w);
}

UNIT_TEST(other_worlds_are_refused)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { 0 };

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &opts, 1, threads_body, NULL), RC_UNSUPPORTED);
    assert_names(rc_message(), "rank 0: transport sim: ... world sim ... world threads");
}

/* --- what messages cost --- */

#define LATENCY_NS 25000.0
#define NS_PER_BYTE 8.0

/* Both ends of a span are rounded to 1 ns; the time behind it is exact to 1e-9 relative. */
static void assert_time(double seen_ns, double expected_ns)
{
    if (fabs(seen_ns - expected_ns) > 1.0 + 1e-9 * expected_ns)
        fail_msg("%.1f ns, expected %.3f ns", seen_ns, expected_ns);
}

static const size_t lengths[] = { 0, 1, 7, 1500, 65536, 1000003, 123456789, 40000000000 };
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

static enum rc one_message_body(struct transport *t)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < N_LENGTHS; i++) {
        const double start_ns = now_ns(t);
        if (t->world->rank == 0) {
            TRY(send_to(t, 1, 5, NULL, 0, lengths[i]));
            seen.n_failures += now_ns(t) != start_ns; /* net.T1: not held up by the link */
        } else {
            TRY(receive_from(t, 0, 5, NULL, 0));
            seen.at_ns[i] = now_ns(t) - start_ns;
        }
        TRY(world_barrier(t->world));
        if (t->world->rank == 0) /* the barrier ended when the last came: the receiver */
            world_pause(t->world, 0);
    }
out:
    return rc;
}

static void check_one_message(int n_ranks_per_host, double latency_ns, double ns_per_byte)
{
    assert_int_equal(run_sim(2, n_ranks_per_host, one_message_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    for (int i = 0; i < N_LENGTHS; i++)
        assert_time(seen.at_ns[i], latency_ns + ns_per_byte * (double)lengths[i]);
}

UNIT_TEST(a_message_costs_latency_and_bytes_G2)
{
    check_one_message(1, LATENCY_NS, NS_PER_BYTE);
    check_one_message(2, 1000.0, 0.2); /* within a host */
}

/* Ranks 1 and 2 send 1 MB to rank 0 at once, rank 1 half a megabyte more to rank 3. */
static enum rc share_body(struct transport *t)
{
    const int rank = t->world->rank;
    enum rc rc = RC_OK;

    if (rank == 0) {
        TRY(receive_from(t, 2, 0, NULL, 0));
        seen.at_ns[0] = now_ns(t);
        TRY(receive_from(t, 1, 0, NULL, 0));
        seen.at_ns[1] = now_ns(t);
    } else if (rank == 3) {
        TRY(receive_from(t, 1, 0, NULL, 0));
        seen.at_ns[3] = now_ns(t);
    } else {
        TRY(send_to(t, 0, 0, NULL, 0, 1000000));
        if (rank == 1)
            TRY(send_to(t, 3, 0, NULL, 0, 500000));
    }
out:
    return rc;
}

UNIT_TEST(messages_share_a_link_G2)
{
    assert_int_equal(run_sim(4, 1, share_body), RC_OK);
    /* Half of rank 0's link each, half of rank 1's link each: all at half rate until rank 3 is served at
     * 8 ms; the 1 MB messages have moved 0.5 MB by then and still share rank 0's link: 16 ms. */
    assert_time(seen.at_ns[3], LATENCY_NS + 2 * 500000 * NS_PER_BYTE);
    assert_time(seen.at_ns[0], LATENCY_NS + 2 * 1000000 * NS_PER_BYTE);
    assert_time(seen.at_ns[1], LATENCY_NS + 2 * 1000000 * NS_PER_BYTE);
}

/* Everybody sends right and receives from the left: links are full duplex. */
static enum rc ring_of(struct transport *t, int n_steps, size_t n_hollow_bytes)
{
    const int rank = t->world->rank, n = t->world->n_ranks, left = (rank + n - 1) % n;
    enum rc rc = RC_OK;

    for (int step = 0; step < n_steps; step++) {
        int out[4] = { rank, step }, in[4] = { 0 };
        struct xfer tx = { .ptr = out, .n_bytes = sizeof out, .n_hollow_bytes = n_hollow_bytes };
        struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = left };
        tx.peer = (rank + 1) % n;
        TRY(transport_exchange(t, &tx, &rx, 10 * SECOND_MS));
        seen.n_failures += in[0] != left || in[1] != step || rx.n_hollow_bytes != n_hollow_bytes;
    }
    seen.at_ns[rank] = now_ns(t);
    /* net.T5, T7 */
    seen.n_failures += t->moved.bytes_sent != (uint64_t)n_steps * (16 + n_hollow_bytes);
    seen.n_failures += t->moved.bytes_recv != t->moved.bytes_sent;
out:
    return rc;
}

static enum rc few_in_a_ring(struct transport *t)
{
    return ring_of(t, 10, 250000 - 16);
}

static enum rc many_in_a_ring(struct transport *t)
{
    return ring_of(t, 200, 0);
}

/* Many ranks between one wait and the next: G1 and net.S2, or the sums of messages would be wrong. */
UNIT_TEST(a_ring_uses_both_directions_T2)
{
    assert_int_equal(run_sim(5, 1, few_in_a_ring), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    for (int r = 0; r < 5; r++)
        assert_time(seen.at_ns[r], 10 * (LATENCY_NS + 250000 * NS_PER_BYTE));
    assert_int_equal(run_sim(512, 1, many_in_a_ring), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    for (int r = 0; r < 512; r++)
        assert_time(seen.at_ns[r], 200 * (LATENCY_NS + 16 * NS_PER_BYTE));
}

enum { SERVER_STEPS = 20 };

/* Rank 0 serves: each message of a worker is answered to it; workers compute for unequal times. */
static enum rc server_body(struct transport *t)
{
    const int rank = t->world->rank, n = t->world->n_ranks;
    struct message m = { 0 };
    float data[8] = { 0 };
    enum rc rc = RC_OK;

    for (int i = 0; rank == 0 && i < SERVER_STEPS * (n - 1); i++) {
        TRY(transport_recv_message(t, &m, 10 * SECOND_MS));
        const int peer = m.peer;
        memcpy(data, m.ptr, sizeof data);
        transport_release(t, &m);
        world_charge(t->world, 20, 0);
        TRY(send_to(t, peer, 1, data, sizeof data, 0));
    }
    for (int step = 0; rank > 0 && step < SERVER_STEPS; step++) {
        world_charge(t->world, 1000.0 * rank, 0);
        data[0] = (float)(rank + step);
        TRY(send_to(t, 0, TAG_ANY | 1, data, sizeof data, 0));
        TRY(receive_from(t, 0, 1, data, sizeof data));
        seen.n_failures += data[0] != (float)(rank + step);
    }
    seen.at_ns[rank] = now_ns(t);
out:
    return rc;
}

UNIT_TEST(server_of_511)
{
    assert_int_equal(run_sim(512, 4, server_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_true(seen.at_ns[0] > SERVER_STEPS * 511 * 1.0); /* at least what the server computed */
}

UNIT_TEST(runs_repeat_to_the_digit_W3_G4)
{
    static double first[100];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_sim(100, 3, server_body), RC_OK);
        assert_int_equal(seen.n_failures, 0);
        if (i == 0)
            memcpy(first, seen.at_ns, sizeof first);
    }
    assert_memory_equal(first, seen.at_ns, sizeof first);
    assert_true(first[0] > 0 && first[99] > 0);
}

/* --- clusters that are more than hosts on a switch --- */

#define MB 1000000.0 /* bytes are such that 1 GB/s is 1 ns a byte */
#define LINKS "link_bits_per_s=8e9,link_latency_s=10e-6,local_bytes_per_s=4e9,local_latency_s=2e-6"
#define FAST "link_bits_per_s=8e15,link_latency_s=10e-6"
#define LINK_NS 10000.0 /* latencies of LINKS */
#define LOCAL_NS 2000.0

enum { MESSAGE_BYTES = 1000000, MAX_FLOWS = 12 };

struct flows { /* messages of MESSAGE_BYTES, which all begin at time 0 */
    int n;
    struct {
        int from, to;
    } flow[MAX_FLOWS];
};

static const struct flows one = { 1, { { 0, 1 } } }, out_and_back = { 2, { { 0, 1 }, { 1, 0 } } },
                          out_and_in = { 2, { { 0, 2 }, { 3, 1 } } },
                          three_in_a_row = { 3, { { 0, 1 }, { 0, 1 }, { 0, 1 } } },
                          two_across = { 2, { { 0, 2 }, { 1, 3 } } },
                          four_across = { 4, { { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } } },
                          into_one = { 3, { { 0, 3 }, { 1, 3 }, { 2, 3 } } },
                          all_pairs = { 12,
                                        { { 0, 1 },
                                          { 0, 2 },
                                          { 0, 3 },
                                          { 1, 0 },
                                          { 1, 2 },
                                          { 1, 3 },
                                          { 2, 0 },
                                          { 2, 1 },
                                          { 2, 3 },
                                          { 3, 0 },
                                          { 3, 1 },
                                          { 3, 2 } } };

/* What is to be run is flows_body() with these; at_ns[i]: when message i was received. */
static const struct flows *flows;

static enum rc flows_body(struct transport *t)
{
    const int rank = t->world->rank;
    enum rc rc = RC_OK;

    for (int i = 0; i < flows->n; i++)
        if (flows->flow[i].from == rank)
            TRY(send_to(t, flows->flow[i].to, (uint32_t)i, NULL, 0, MESSAGE_BYTES));
    for (int i = 0; i < flows->n; i++)
        if (flows->flow[i].to == rank) {
            TRY(receive_from(t, flows->flow[i].from, (uint32_t)i, NULL, 0));
            seen.at_ns[i] = now_ns(t);
        }
out:
    return rc;
}

#define GROUPS LINKS ",hosts_count=4,hosts_per_group_count=2,group_latency_s=6e-6,oversubscription_ratio="
#define SHARED LINKS ",ranks_per_host_count=4,local_sharing="
#define GRPC ",protocol=grpc,grpc_latency_s=0,grpc_message_s=0,grpc_rate_ratio=1,grpc_process_bytes_per_s="
static const struct {
    const char *what;
    int n_workers, n_ranks;
    const char *settings;
    const struct flows *flows;
    double ns[4]; /* of each message; behind the last that is not 0 all as that one; before it 0: any time */
} costs[] = {
    /* o + L + n G + o (Culler et al., LogP, 1993, and its extension by a gap per byte) */
    { "a protocol adds latency and overheads",
      2,
      2,
      LINKS ",protocol=rdma,rdma_latency_s=3e-6,rdma_message_s=7e-6,rdma_rate_ratio=0.5",
      &one,
      { 7000 + LINK_NS + 3000 + 2 * MB + 7000 } },
    /* Three messages of a process go out 7 us after each other; each has the link for itself only until the next
         * comes. 1 MB at 1 PB/s is 1 ns; the receiver is occupied by each for 7 us as well, and done with it before the
         * next. */
    { "overheads of a process add up",
      2,
      2,
      FAST ",protocol=tcp,tcp_latency_s=0,tcp_message_s=7e-6,tcp_rate_ratio=1",
      &three_in_a_row,
      { 7000 + LINK_NS + 1 + 7000, 2 * 7000 + LINK_NS + 1 + 7000, 3 * 7000 + LINK_NS + 1 + 7000 } },
    /* A server's process, which gets three at once, is done with the last 3 x 7 us after they came. They share the
         * link: 3 ns. */
    { "overheads of a receiver add up",
      3,
      4,
      FAST ",protocol=rdma,rdma_latency_s=0,rdma_message_s=7e-6,rdma_rate_ratio=1",
      &into_one,
      { 0, 0, 7000 + LINK_NS + 3 + 3 * 7000 } },
    { "nothing but grpc is spoken within a host",
      2,
      2,
      LINKS ",ranks_per_host_count=2,protocol=rdma,rdma_latency_s=1,rdma_message_s=1",
      &one,
      { LOCAL_NS + MB / 4 } },
    { "grpc is spoken within a host",
      2,
      2,
      LINKS ",ranks_per_host_count=2,protocol=grpc,grpc_latency_s=50e-6,grpc_message_s=20e-6,"
            "grpc_process_bytes_per_s=1e9",
      &one,
      { 20000 + LOCAL_NS + 50000 + MB + 20000 } },
    /* Both directions together: 2 MB at 0.5 GB/s, where the link carries 1 GB/s each way. */
    { "a process has a limit for both directions", 2, 2, LINKS GRPC "0.5e9", &out_and_back, { LINK_NS + 4 * MB } },
    /* Three workers push 1 MB each into a server that takes 1 GB/s, through a card of 8 GB/s. */
    { "a server takes what its process can",
      3,
      4,
      "link_bits_per_s=64e9,link_latency_s=10e-6" GRPC "1e9",
      &into_one,
      { LINK_NS + 3 * MB } },
    /* Two hosts of a group send to two of another: over-subscribed r times each gets 1/r of its card's rate. */
    { "groups without over-subscription", 4, 4, GROUPS "1", &two_across, { LINK_NS + 6000 + MB } },
    { "groups over-subscribed 4 times", 4, 4, GROUPS "4", &two_across, { LINK_NS + 6000 + 4 * MB } },
    /* Spread over both groups, ranks 0 and 2 are in one group, and so are 1 and 3. */
    { "a spread job meets no group link", 4, 4, GROUPS "4,job_placement=spread", &two_across, { LINK_NS + MB } },
    { "ranks of a host share its card", 8, 8, LINKS ",ranks_per_host_count=4", &four_across, { LINK_NS + 4 * MB } },
    { "cards of a host are used in turn: ranks 0 and 3 have the same one",
      8,
      8,
      LINKS ",ranks_per_host_count=4,nics_per_host_count=3",
      &four_across,
      { LINK_NS + 2 * MB, LINK_NS + MB, LINK_NS + MB, LINK_NS + 2 * MB } },
    /* Rank 0 sends and receives 1 MB at 1 GB/s each way, which at a ratio of 1.25 are 2 MB at 1.25 GB/s. */
    { "a card carries less both ways",
      2,
      2,
      LINKS ",link_duplex_ratio=1.25",
      &out_and_back,
      { LINK_NS + 2 * MB / 1.25 } },
    { "a card carries its rate one way", 2, 2, LINKS ",link_duplex_ratio=1.25", &one, { LINK_NS + MB } },
    /* Two ranks of a host have one card: its up and its down are of each. */
    { "ranks of a host share a card both ways",
      4,
      4,
      LINKS ",ranks_per_host_count=2,link_duplex_ratio=1",
      &out_and_in,
      { LINK_NS + 2 * MB } },
    /* Staging is slower than the card: twice its latency, and its rate. */
    { "device memory is staged",
      2,
      2,
      LINKS ",staging_bytes_per_s=0.25e9,staging_latency_s=5e-6",
      &one,
      { LINK_NS + 2 * 5000 + 4 * MB } },
    { "servers have no device",
      1,
      2,
      LINKS ",staging_bytes_per_s=2e9,staging_latency_s=5e-6",
      &one,
      { LINK_NS + 5000 + MB } },
    /* 12 messages between 4 ranks of a host at once; each rank sends 3 and gets 3. */
    { "within a host nothing is shared", 4, 4, SHARED "none", &all_pairs, { LOCAL_NS + MB / 4 } },
    { "within a host ranks share", 4, 4, SHARED "rank", &all_pairs, { LOCAL_NS + 3 * MB / 4 } },
    { "within a host all share", 4, 4, SHARED "host", &all_pairs, { LOCAL_NS + 12 * MB / 4 } },
    /* Server 2 is on the host of worker 0, server 3 on that of worker 1. */
    { "servers are beside workers", 2, 4, LINKS ",server_placement=beside", &two_across, { LOCAL_NS + MB / 4 } },
};

UNIT_TEST(messages_take_what_the_cluster_says)
{
    for (size_t k = 0; k < sizeof costs / sizeof *costs; k++) {
        double expected_ns = 0;
        print_message("%s\n", costs[k].what);
        flows = costs[k].flows;
        assert_int_equal(run_sim_on(costs[k].n_workers, costs[k].n_ranks, costs[k].settings, flows_body), RC_OK);
        for (int i = 0; i < flows->n; i++) {
            const double own_ns = i < 4 ? costs[k].ns[i] : 0;
            expected_ns = own_ns > 0 ? own_ns : expected_ns;
            if (expected_ns > 0)
                assert_time(seen.at_ns[i], expected_ns);
        }
    }
}

/* Each message alone takes what the pure function says, with everything at once. */
static enum rc each_alone(struct transport *t)
{
    enum rc rc = RC_OK;

    for (int from = 0; from < t->world->n_ranks; from++)
        for (int to = 0; to < t->world->n_ranks; to++) {
            const double start_ns = now_ns(t);
            if (from != to && t->world->rank == from)
                TRY(send_to(t, to, 1, NULL, 0, MESSAGE_BYTES));
            if (from != to && t->world->rank == to) {
                TRY(receive_from(t, from, 1, NULL, 0));
                seen.at_ns[16 * from + to] = now_ns(t) - start_ns;
            }
            TRY(world_barrier(t->world));
        }
out:
    return rc;
}

UNIT_TEST(each_message_takes_what_topology_says)
{
    static const char settings[] =
        LINKS ",ranks_per_host_count=2,nics_per_host_count=2,hosts_count=9,hosts_per_group_count=2,"
              "link_duplex_ratio=1.5,oversubscription_ratio=3,group_latency_s=6e-6,staging_bytes_per_s=3e9,staging_"
              "latency_s=5e-6,"
              "local_sharing=rank,protocol=grpc,grpc_process_bytes_per_s=0.9e9,job_placement=random,"
              "server_placement=beside";
    struct topology t;
    struct cluster c;

    cluster_default(&c);
    assert_int_equal(cluster_set(&c, NULL, settings), RC_OK);
    topology_init(&t, &c, 10, 14);
    assert_int_equal(run_sim_on(10, 14, settings, each_alone), RC_OK);
    for (int from = 0; from < 14; from++)
        for (int to = 0; to < 14; to++)
            if (from != to)
                assert_time(seen.at_ns[16 * from + to], 1e9 * topology_message_time_s(&t, from, to, MESSAGE_BYTES));
}

/* Rank 0 sends to rank 2 of another host: as long as is eager, a byte longer, and one for which it waits too short a
 * time; and to rank 1 of its own host. at_ns: [0] when each send had ended, [8] when each was received. */
static enum rc holding_body(struct transport *t)
{
    static const struct {
        int to, n_bytes, timeout_ms;
    } message[] = { { 2, 1000000, 0 }, { 2, 1000001, SECOND_MS }, { 1, 2000000, 0 }, { 2, 5000000, 1 } };
    enum rc rc = RC_OK;

    for (int i = 0; i < 4; i++) {
        struct xfer x = { .n_hollow_bytes = (size_t)message[i].n_bytes, .peer = message[i].to, .tag = 7 };
        if (t->world->rank == 0) {
            TRY(transport_send(t, &x));
            seen.rc[i] = transport_wait(t, &x, message[i].timeout_ms);
            seen.at_ns[i] = now_ns(t);
        } else if (t->world->rank == message[i].to) {
            TRY(receive_from(t, 0, 7, NULL, 0));
            seen.at_ns[8 + i] = now_ns(t);
        }
    }
out:
    return rc;
}

static void run_holding(const char *eager)
{
    char settings[256];

    snprintf(settings, sizeof settings,
             LINKS ",ranks_per_host_count=2,protocol=tcp,tcp_latency_s=0,tcp_message_s=0,tcp_rate_ratio=1,%s", eager);
    assert_int_equal(run_sim_on(4, 4, settings, holding_body), RC_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen.rc[i], RC_OK);
    assert_time(seen.at_ns[8], LINK_NS + 1 * MB);
    assert_time(seen.at_ns[9], LINK_NS + 2 * MB + 1);
}

UNIT_TEST(a_long_message_holds_its_sender)
{
    run_holding("tcp_eager_bytes=1000000");
    assert_time(seen.at_ns[0], 0);
    assert_time(seen.at_ns[1], seen.at_ns[9]);
    assert_time(seen.at_ns[2], seen.at_ns[1]); /* within a host nothing is spoken */
    assert_int_equal(seen.rc[3], RC_TIMEOUT);
    assert_time(seen.at_ns[3], seen.at_ns[2] + MB);
    assert_time(seen.at_ns[11], seen.at_ns[2] + LINK_NS + 5 * MB); /* it arrives all the same */
}

UNIT_TEST(without_a_limit_no_sender_is_held)
{
    run_holding("tcp_eager_bytes=0");
    assert_int_equal(seen.rc[3], RC_OK);
    for (int i = 0; i < 4; i++)
        assert_time(seen.at_ns[i], 0);
}

UNIT_MAIN("transport_sim")
