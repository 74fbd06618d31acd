/* SPDX-License-Identifier: Apache-2.0 */
/* part_message_test.c - what is posted, ended and added, on a made-up transport that notes it; rank 1 sends tens. */
#include <string.h>

#include "allreduce/part_message.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/world/world.h"

enum { N_ELEMS = 4 };

struct made { /* a transport, and what uses it */
    struct transport base;
    struct transport_ops ops;
    struct world world;
    struct collective_ops algorithm;
    struct collective collective;
    int n_posted, n_ended;
    int failing;               /* the end that is a time-out, counted from 0; -1: none */
    size_t n_bytes_short;      /* so much less arrives than there is room for */
    const float *watched;      /* what it holds when a send ends, is */
    float watched_at_send_end; /* this */
};

static enum rc made_post(struct transport *t, struct xfer *x)
{
    (void)x;
    ((struct made *)t)->n_posted++;
    return RC_OK;
}

static enum rc made_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct made *made = (struct made *)t;
    float *to = x->ptr;

    (void)timeout_ms;
    if (made->n_ended++ == made->failing)
        return rc_raise(RC_TIMEOUT, "nothing came");
    if (!x->receives && made->watched)
        made->watched_at_send_end = *made->watched;
    if (!x->receives)
        return RC_OK;
    x->n_bytes -= made->n_bytes_short;
    for (size_t i = 0; i < x->n_bytes / sizeof *to; i++)
        to[i] = 10 + (x->add ? to[i] : 0);
    return RC_OK;
}

static void open_made(struct made *made, unsigned caps)
{
    const struct compute_backend *cpu = NULL;

    *made = (struct made){ .ops = { .module = { .name = "made", .caps = caps },
                                    .post_send = made_post,
                                    .post_recv = made_post,
                                    .complete = made_complete },
                           .world = { .n_ranks = 2 },
                           .algorithm.module.name = "sum",
                           .failing = -1 };
    made->base.ops = &made->ops;
    made->base.world = &made->world;
    made->base.fails_together = true;
    made->collective.ops = &made->algorithm;
    made->collective.env.transport = &made->base;
    assert_int_equal(compute_find(&cpu, "cpu"), RC_OK);
    assert_int_equal(compute_open(&made->collective.env.compute, cpu, &(struct compute_env){ 0 }), RC_OK);
}

static void close_made(struct made *made)
{
    compute_close(&made->collective.env.compute);
}

static struct part_message message(struct made *made, float *data, size_t offset_elems, size_t n_elems)
{
    return (struct part_message){
        .collective = &made->collective, .data = data, .part = { offset_elems, n_elems }, .peer = 1, .tag = 7
    };
}

static void assert_floats(const float *x, float a, float b, float c, float d)
{
    const float wanted[N_ELEMS] = { a, b, c, d };

    assert_memory_equal(x, wanted, sizeof wanted);
}

UNIT_TEST(parts_are_received_over_or_added_once)
{
    static const struct {
        unsigned caps;
        bool add;
        float wanted, beside;
    } cases[] = { { 0, false, 10, -1 }, { 0, true, 12, 10 }, { TR_ADD, false, 10, -1 }, { TR_ADD, true, 12, -1 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float data[N_ELEMS] = { 2, 2, 2, 2 }, beside[N_ELEMS] = { -1, -1, -1, -1 };
        struct made made;
        open_made(&made, cases[i].caps);
        struct part_message m = message(&made, data, 1, 2);
        m.add = cases[i].add;
        m.beside = beside;
        assert_int_equal(part_transfer(NULL, &m), RC_OK);
        assert_floats(data, 2, cases[i].wanted, cases[i].wanted, 2);
        assert_floats(beside, cases[i].beside, cases[i].beside, -1, -1);
        assert_int_equal(made.n_posted, 1);
        assert_int_equal(made.n_ended, 1);
        close_made(&made);
    }
}

UNIT_TEST(empty_parts_are_not_posted)
{
    float data[N_ELEMS] = { 2, 2, 2, 2 };
    struct made made;

    open_made(&made, 0);
    struct part_message none = message(&made, data, 1, 0), two = message(&made, data, 1, 2);
    assert_int_equal(part_transfer(&none, &none), RC_OK);
    assert_int_equal(part_send(&none), RC_OK);
    assert_int_equal(part_receive(&none), RC_OK);
    assert_int_equal(part_end(&none), RC_OK);
    assert_int_equal(made.n_posted, 0);
    assert_int_equal(part_transfer(&two, &none), RC_OK);
    assert_floats(data, 2, 2, 2, 2);
    assert_int_equal(part_transfer(&none, &two), RC_OK);
    assert_floats(data, 2, 10, 10, 2);
    assert_int_equal(made.n_posted, 2);
    assert_int_equal(made.n_ended, 2);
    close_made(&made);
}

UNIT_TEST(parts_of_another_length_are_refused)
{
    float data[N_ELEMS] = { 2, 2, 2, 2 }, beside[N_ELEMS] = { 0 };
    struct made made;

    open_made(&made, 0);
    made.n_bytes_short = 4;
    struct part_message m = message(&made, data, 0, 3);
    m.add = true;
    m.beside = beside;
    assert_int_equal(part_transfer(NULL, &m), RC_MISMATCH);
    assert_string_equal(rc_message(), "sum: rank 1 sent 8 bytes where 12 belong");
    assert_floats(data, 2, 2, 2, 2);
    close_made(&made);
}

/* A peer may wait for what is sent. */
UNIT_TEST(additions_wait_for_the_end_of_what_is_sent)
{
    float data[N_ELEMS] = { 2, 2, 2, 2 }, beside[N_ELEMS] = { 0 };
    struct made made;

    open_made(&made, 0);
    made.watched = &data[2];
    struct part_message sent = message(&made, data, 0, 2), received = message(&made, data, 2, 2);
    received.add = true;
    received.beside = beside;
    assert_int_equal(part_transfer(&sent, &received), RC_OK);
    assert_true(made.watched_at_send_end == 2);
    assert_floats(data, 2, 2, 12, 12);
    assert_int_equal(made.n_ended, 2);
    close_made(&made);
}

UNIT_TEST(nothing_is_in_flight_after_an_error)
{
    float data[N_ELEMS] = { 2, 2, 2, 2 };
    struct part_message m[N_ELEMS];
    struct made made;

    open_made(&made, 0);
    made.failing = 1;
    for (size_t i = 0; i < N_ELEMS; i++) {
        m[i] = message(&made, data, i, 1);
        assert_int_equal(i == 3 ? RC_OK : part_receive(&m[i]), RC_OK);
    }
    assert_int_equal(part_end(&m[0]), RC_OK);
    assert_int_equal(part_end(&m[1]), RC_TIMEOUT);
    assert_int_equal(made.n_ended, 2);
    assert_int_equal(part_give_up(m, N_ELEMS, RC_TIMEOUT), RC_TIMEOUT);
    assert_string_equal(rc_message(), "nothing came");
    assert_int_equal(made.n_posted, 3);
    assert_int_equal(made.n_ended, 3);
    for (size_t i = 0; i < N_ELEMS; i++)
        assert_false(m[i].is_posted);
    close_made(&made);
}

UNIT_MAIN("part_message")
