/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_sim_test.c TEST - order, ends of waits, and what is left over, in virtual time. The rules common
 * to all transports are also the suite's (transport_suite.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/net/suite/transport_sim_kit.h"

/* A long message, then a short one: the short one waits behind it, as both are on one connection. */
static enum rc order_body(struct transport *t, struct seen *seen)
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
    seen->at_ns[0] = now_ns(t);
    TRY(transport_wait(t, &first, SECOND_MS));
    seen->n_failures += now_ns(t) != seen->at_ns[0];
    TRY(transport_recv_message(t, &m, SECOND_MS)); /* another tag: it did overtake */
    seen->n_failures += m.tag != (TAG_ANY | 8) || m.n_bytes != 0 || m.peer != 1;
    transport_release(t, &m);
    for (int i = 2; i < 4; i++) {
        TRY(transport_recv_message(t, &m, SECOND_MS));
        seen->n_failures += m.n_bytes != sizeof(int) || m.n_hollow_bytes != (i == 2 ? 1000000 : 0);
        memcpy(&got[i], m.ptr, sizeof(int));
        transport_release(t, &m);
    }
    seen->n_failures += memcmp(value, got, sizeof got) != 0;
out:
    return rc;
}

static void messages_keep_their_order_T4(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, order_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_true(seen.at_ns[0] > 8e6 && seen.at_ns[0] < 9e6); /* one long message, at 1e9 bit/s */
}

/* TAG_ANY: by arrival, whoever sent first. */
static enum rc arrival_body(struct transport *t, struct seen *seen)
{
    struct message m = { 0 };
    enum rc rc = RC_OK;

    if (t->world->rank > 0) {
        TRY(send_to(t, 0, TAG_ANY, NULL, 0, 1000000 / (size_t)t->world->rank));
        return RC_OK;
    }
    TRY(transport_recv_message(t, &m, DO_NOT_WAIT));
    seen->n_failures += m.ptr != NULL || m.peer != -1 || now_ns(t) != 0;
    for (int i = 3; i > 0; i--) {
        TRY(transport_recv_message(t, &m, WAIT_FOREVER));
        seen->n_failures += m.peer != i;
        transport_release(t, &m);
    }
    TRY(transport_recv_message(t, &m, DO_NOT_WAIT)); /* none left; the transport lives on */
    seen->n_failures += m.peer != -1;
out:
    return rc;
}

static void any_messages_come_by_arrival_T8(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 4, 1, arrival_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
}

/* The message takes 8.025 ms, the receiver waits 3 ms; what then arrives is not written. */
static enum rc timeout_body(struct transport *t, struct seen *seen)
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
    note(t, seen, transport_wait(t, &x, 3));
    seen->at_ns[0] = now_ns(t);
    memset(reused, 0x5a, sizeof reused);
    memcpy((void *)&x, reused, sizeof x); /* net.T3: x is ours again, for anything */
    world_pause(t->world, 50000000);
    seen->n_failures += got != -1 || memcmp((void *)&x, reused, sizeof x) != 0;
    x = (struct xfer){ .peer = 1 };
    seen->rc[1] = transport_recv(t, &x); /* net.T6 */
out:
    return rc;
}

static void a_wait_ends_at_its_timeout_T3(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, timeout_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.rc[0], RC_TIMEOUT);
    assert_string_equal(seen.message[0], "rank 1, tag 3: no message after 3 ms");
    assert_true(seen.at_ns[0] == 3e6);
    assert_int_equal(seen.rc[1], RC_TIMEOUT);
}

/* Messages that arrive in the very nanosecond in which the wait gives up. */
static enum rc race_body(struct transport *t, struct seen *seen)
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
        seen->n_returned++;
    }
out:
    return rc;
}

static void a_message_at_the_deadline_is_not_lost(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, race_body), RC_OK);
    assert_int_equal(seen.n_returned, 20 + 2);
}

static enum rc mismatch_body(struct transport *t, struct seen *seen)
{
    char text[16] = "0123456789", room[8] = "........";
    struct xfer x = { .ptr = room, .n_bytes = 4, .peer = 1, .tag = 3 };
    enum rc rc = RC_OK;

    if (t->world->rank == 1)
        return send_to(t, 0, 3, text, 10, 0);
    TRY(transport_recv(t, &x));
    note(t, seen, transport_wait(t, &x, SECOND_MS));
    seen->n_failures += memcmp(room, "........", 8) != 0;
out:
    return rc;
}

static void a_long_message_is_a_mismatch_T9(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, mismatch_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.rc[0], RC_MISMATCH);
    assert_string_equal(seen.message[0], "message from rank 1, tag 3, has 10 bytes; the receiver has room for 4");
}

/* Rank 2 dies with a receive posted, one message matched, and one of its own on the way. */
static enum rc die_body(struct transport *t, struct seen *seen)
{
    int value = 0;
    struct xfer x = { .ptr = &value, .n_bytes = sizeof value, .peer = 2, .tag = 1 };
    struct message m = { 0 };
    enum rc rc = RC_OK;

    switch (t->world->rank) {
    case 0: /* waits for ever for a pairwise message */
        TRY(transport_recv(t, &x));
        note(t, seen, transport_wait(t, &x, WAIT_FOREVER));
        break;
    case 1: /* waits for any */
        TRY(send_to(t, 2, 1, &value, sizeof value, 0));
        note(t, seen, transport_recv_message(t, &m, WAIT_FOREVER));
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
        note(t, seen, send_to(t, 0, 1, NULL, 0, 0));
        seen->at_ns[3] = now_ns(t);
    }
    seen->n_returned++;
out:
    return rc;
}

/* net.S1, S3: what was on its way to the dead, and what it had opened, is dropped and not leaked. */
static void a_dead_rank_ends_every_wait_T10(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 4, 1, die_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 2: ended before its work was done");
    assert_int_equal(seen.n_returned, 3 + 3);
    for (int r = 0; r < 4; r++)
        if (r != 2) {
            assert_int_equal(seen.rc[r], RC_PEER);
            assert_string_equal(seen.message[r], "rank 2 failed: ended before its work was done");
        }
}

static enum rc deadlock_body(struct transport *t, struct seen *seen)
{
    const int n = t->world->n_ranks;
    struct xfer x = { .peer = (t->world->rank + 1) % n, .tag = 1 };
    enum rc rc;

    TRY(send_to(t, x.peer, 2, NULL, 0, 1000)); /* nobody asks for this one */
    TRY(transport_recv(t, &x));
    TRY(transport_wait(t, &x, WAIT_FOREVER));
out:
    note(t, seen, rc);
    return rc;
}

static void a_deadlock_is_a_timeout_E3(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 3, 1, deadlock_body), RC_TIMEOUT);
    for (int r = 0; r < 3; r++)
        assert_int_equal(seen.rc[r], RC_TIMEOUT);
    assert_non_null(strstr(seen.message[1], "deadlock"));
}

/* Closed with everything left over: posted, arrived, lent and on its way. Then opened again. */
static enum rc leave_all_body(struct transport *t, struct seen *seen)
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
        seen->n_failures += m.peer != -1 || own != NULL;
    }
out:
    transport_close(&own);
    return rc;
}

static void close_abandons_what_is_left(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, leave_all_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
}

static enum rc many_tags_body(struct transport *t, struct seen *seen)
{
    const int other = 1 - t->world->rank;
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < 300; i++)
        TRY(send_to(t, other, i, &i, sizeof i, 0));
    for (uint32_t i = 300; i-- > 0;) {
        uint32_t got = 0;
        TRY(receive_from(t, other, i, &got, sizeof got));
        seen->n_failures += got != i;
    }
out:
    return rc;
}

static void tags_are_kept_apart(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run_sim(&seen, 2, 1, many_tags_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
}

static enum rc threads_body(struct world *w, void *arg)
{
    struct transport *t = NULL;

    (void)arg;
    return transport_open(&t, &transport_sim, w);
}

static void other_worlds_are_refused(void **state)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { 0 };

    (void)state;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &opts, 1, threads_body, NULL), RC_UNSUPPORTED);
    assert_names(rc_message(), "rank 0: transport sim: ... world sim ... world threads");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_keep_their_order_T4),
        cmocka_unit_test(any_messages_come_by_arrival_T8),
        cmocka_unit_test(a_wait_ends_at_its_timeout_T3),
        cmocka_unit_test(a_message_at_the_deadline_is_not_lost),
        cmocka_unit_test(a_long_message_is_a_mismatch_T9),
        cmocka_unit_test(a_dead_rank_ends_every_wait_T10),
        cmocka_unit_test(a_deadlock_is_a_timeout_E3),
        cmocka_unit_test(close_abandons_what_is_left),
        cmocka_unit_test(tags_are_kept_apart),
        cmocka_unit_test(other_worlds_are_refused),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: transport_sim_test TEST\n");
    return 2;
}
