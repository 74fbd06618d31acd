/* SPDX-License-Identifier: Apache-2.0 */
/* transport_sim_cost_test.c TEST - what messages cost in virtual time: golden values, and the same ones every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/net/suite/transport_sim_kit.h"

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

static enum rc one_message_body(struct transport *t, struct seen *seen)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < N_LENGTHS; i++) {
        const double start_ns = now_ns(t);
        if (t->world->rank == 0) {
            TRY(send_to(t, 1, 5, NULL, 0, lengths[i]));
            seen->n_failures += now_ns(t) != start_ns; /* net.T1: not held up by the link */
        } else {
            TRY(receive_from(t, 0, 5, NULL, 0));
            seen->at_ns[i] = now_ns(t) - start_ns;
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
    static struct seen seen;

    assert_int_equal(run_sim(&seen, 2, n_ranks_per_host, one_message_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    for (int i = 0; i < N_LENGTHS; i++)
        assert_time(seen.at_ns[i], latency_ns + ns_per_byte * (double)lengths[i]);
}

static void a_message_costs_latency_and_bytes_G2(void **state)
{
    (void)state;
    check_one_message(1, LATENCY_NS, NS_PER_BYTE);
}

static void a_message_within_a_host_costs_local_figures_G2(void **state)
{
    (void)state;
    check_one_message(2, 1000.0, 0.2);
}

static enum rc ping_pong_body(struct transport *t, struct seen *seen)
{
    const int other = 1 - t->world->rank;
    int ball = 0;
    enum rc rc = RC_OK;

    for (int i = 0; i < 100; i++) {
        if (t->world->rank == 0) {
            ball++;
            TRY(send_to(t, other, 1, &ball, sizeof ball, 996));
            TRY(receive_from(t, other, 2, &ball, sizeof ball));
        } else {
            TRY(receive_from(t, other, 1, &ball, sizeof ball));
            seen->n_failures += ball != 2 * i + 1;
            ball++;
            TRY(send_to(t, other, 2, &ball, sizeof ball, 996));
        }
    }
    seen->at_ns[t->world->rank] = now_ns(t);
    seen->n_failures += t->moved.bytes_sent != 100000 || t->moved.bytes_recv != 100000; /* net.T5, T7 */
out:
    return rc;
}

static void ping_pong_takes_200_messages(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, ping_pong_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_time(seen.at_ns[0], 200 * (LATENCY_NS + 1000 * NS_PER_BYTE));
}

/* Ranks 1 and 2 send 1 MB to rank 0 at once, rank 1 half a megabyte more to rank 3. */
static enum rc share_body(struct transport *t, struct seen *seen)
{
    const int rank = t->world->rank;
    enum rc rc = RC_OK;

    if (rank == 0) {
        TRY(receive_from(t, 2, 0, NULL, 0));
        seen->at_ns[0] = now_ns(t);
        TRY(receive_from(t, 1, 0, NULL, 0));
        seen->at_ns[1] = now_ns(t);
    } else if (rank == 3) {
        TRY(receive_from(t, 1, 0, NULL, 0));
        seen->at_ns[3] = now_ns(t);
    } else {
        TRY(send_to(t, 0, 0, NULL, 0, 1000000));
        if (rank == 1)
            TRY(send_to(t, 3, 0, NULL, 0, 500000));
    }
out:
    return rc;
}

static void messages_share_a_link_G2(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 4, 1, share_body), RC_OK);
    /* Half of rank 0's link each, half of rank 1's link each: all at half rate until rank 3 is served at
     * 8 ms; the 1 MB messages have moved 0.5 MB by then and still share rank 0's link: 16 ms. */
    assert_time(seen.at_ns[3], LATENCY_NS + 2 * 500000 * NS_PER_BYTE);
    assert_time(seen.at_ns[0], LATENCY_NS + 2 * 1000000 * NS_PER_BYTE);
    assert_time(seen.at_ns[1], LATENCY_NS + 2 * 1000000 * NS_PER_BYTE);
}

/* Everybody sends right and receives from the left: links are full duplex. */
static enum rc ring_step_body(struct transport *t, struct seen *seen)
{
    const int rank = t->world->rank, n = t->world->n_ranks;
    enum rc rc = RC_OK;

    for (int step = 0; step < 10; step++) {
        int out = 1000 * step + rank, in = -1;
        struct xfer tx = { .ptr = &out, .n_bytes = sizeof out, .n_hollow_bytes = 249996, .peer = (rank + 1) % n };
        struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = (rank + n - 1) % n };
        TRY(transport_exchange(t, &tx, &rx, SECOND_MS));
        seen->n_failures += in != 1000 * step + (rank + n - 1) % n || rx.n_hollow_bytes != 249996;
    }
    seen->at_ns[rank] = now_ns(t);
out:
    return rc;
}

static void a_ring_uses_both_directions_T2(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 5, 1, ring_step_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    for (int r = 0; r < 5; r++)
        assert_time(seen.at_ns[r], 10 * (LATENCY_NS + 250000 * NS_PER_BYTE));
}

enum { RING_STEPS = 200 };

static enum rc ring_body(struct transport *t, struct seen *seen)
{
    const int rank = t->world->rank, n = t->world->n_ranks;
    enum rc rc = RC_OK;

    for (int step = 0; step < RING_STEPS; step++) {
        float out[4] = { (float)rank, (float)step }, in[4] = { 0 };
        struct xfer tx = { .ptr = out, .n_bytes = sizeof out, .peer = (rank + 1) % n };
        struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = (rank + n - 1) % n };
        TRY(transport_exchange(t, &tx, &rx, 10 * SECOND_MS));
        seen->n_failures += in[0] != (float)((rank + n - 1) % n) || in[1] != (float)step;
    }
    seen->at_ns[rank] = now_ns(t);
out:
    return rc;
}

/* Many ranks between one wait and the next: G1 and net.S2, or the sums of messages would be wrong. */
static void ring_of_512(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 512, 1, ring_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    for (int r = 0; r < 512; r++)
        assert_time(seen.at_ns[r], RING_STEPS * (LATENCY_NS + 16 * NS_PER_BYTE));
}

enum { SERVER_STEPS = 20 };

/* Rank 0 serves: each message of a worker is answered to it; workers compute for unequal times. */
static enum rc server_body(struct transport *t, struct seen *seen)
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
        seen->n_failures += data[0] != (float)(rank + step);
    }
    seen->at_ns[rank] = now_ns(t);
out:
    return rc;
}

static void server_of_511(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 512, 4, server_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_true(seen.at_ns[0] > SERVER_STEPS * 511 * 1.0); /* at least what the server computed */
}

/* The times of one simulation, in a process of its own. */
static void times_of_child(double *at_ns, size_t n_bytes)
{
    int ends[2], status = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static struct seen seen;
        bool ok = run_sim(&seen, 100, 3, server_body) == RC_OK && seen.n_failures == 0;
        ok = ok && write(ends[1], seen.at_ns, n_bytes) == (ssize_t)n_bytes;
        _exit(ok ? 0 : 1);
    }
    close(ends[1]);
    assert_true(read(ends[0], at_ns, n_bytes) == (ssize_t)n_bytes);
    close(ends[0]);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void runs_repeat_to_the_digit_W3_G4(void **state)
{
    static double first[100], second[100];

    (void)state;
    times_of_child(first, sizeof first);
    times_of_child(second, sizeof second);
    assert_memory_equal(first, second, sizeof first);
    assert_true(first[0] > 0 && first[99] > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_costs_latency_and_bytes_G2),
        cmocka_unit_test(a_message_within_a_host_costs_local_figures_G2),
        cmocka_unit_test(ping_pong_takes_200_messages),
        cmocka_unit_test(messages_share_a_link_G2),
        cmocka_unit_test(a_ring_uses_both_directions_T2),
        cmocka_unit_test(ring_of_512),
        cmocka_unit_test(server_of_511),
        cmocka_unit_test(runs_repeat_to_the_digit_W3_G4),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: transport_sim_cost_test TEST\n");
    return 2;
}
