/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alpha_beta_test.c - the model's arithmetic by hand, and the measurement over a made-up transport, whose exchanges of
 * n bytes take 50 us + 10 ns n.
 */
#include "harness/bench/alpha_beta.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { US = 1000, KI = 1024, MI = 1024 * KI };

struct made_world {
    struct world base; /* first */
    uint64_t now_ns;
    int n_exchanges, n_open, n_barriers, last_timeout_ms;
    size_t last_n_bytes;
    const void *sent;
};

static struct made_world *made(struct world *w)
{
    return (struct made_world *)w;
}

static uint64_t now_ns(struct world *w)
{
    return made(w)->now_ns;
}

static enum rc barrier(struct world *w)
{
    assert_int_equal(made(w)->n_open, 1); /* nobody has closed */
    made(w)->n_barriers++;
    return RC_OK;
}

static const struct world_ops WORLD = { .module.name = "made", .now_ns = now_ns, .barrier = barrier };

static enum rc post(struct transport *t, struct xfer *x)
{
    const int step = x->receives ? -1 : 1, n = t->world->n_ranks;

    assert_int_equal(x->peer, (t->world->rank + step + n) % n);
    if (!x->receives)
        made(t->world)->sent = x->ptr;
    return RC_OK;
}

static enum rc complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct made_world *w = made(t->world);

    if (!x->receives)
        return RC_OK;
    w->last_n_bytes = x->ptr ? x->n_bytes : x->n_hollow_bytes;
    if (x->ptr) /* it does not overwrite what is sent */
        assert_true((const char *)x->ptr == (const char *)w->sent + x->n_bytes);
    else
        assert_null(w->sent);
    w->now_ns += 50 * US + 10 * w->last_n_bytes;
    w->last_timeout_ms = timeout_ms;
    w->n_exchanges++;
    return RC_OK;
}

static void net_close(struct transport **t)
{
    made((*t)->world)->n_open--;
    *t = NULL;
}

static enum rc net_open(struct transport **out, struct world *w);
static const struct transport_ops NET = { .module.name = "made",
                                          .module.caps = TR_HOLLOW,
                                          .open = net_open,
                                          .post_send = post,
                                          .post_recv = post,
                                          .complete = complete,
                                          .close = net_close };
static struct transport opened;

static enum rc net_open(struct transport **out, struct world *w)
{
    made(w)->n_open++;
    opened = (struct transport){ .ops = &NET, .world = w };
    *out = &opened;
    return RC_OK;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* Rank 2 of 3 exchanges messages of so many bytes. */
static struct alpha_beta measured(struct made_world *w, size_t message_bytes, bool is_hollow)
{
    const struct alpha_beta_env env = {
        .world = &w->base, .transport = &NET, .message_bytes = message_bytes, .is_hollow = is_hollow, .timeout_ms = 700
    };
    struct alpha_beta fit;

    *w = (struct made_world){ .base = { .ops = &WORLD, .rank = 2, .n_ranks = 3 }, .now_ns = UINT64_C(7) << 40 };
    assert_int_equal(alpha_beta_measure(&fit, &env), RC_OK);
    assert_int_equal(w->n_open, 0);
    assert_int_equal(w->n_barriers, 1);
    assert_int_equal(w->last_timeout_ms, 700);
    assert_near(fit.alpha_s, 50.04e-6);
    assert_near(fit.message_s, 50e-6 + 10e-9 * (double)fit.n_bytes);
    assert_int_equal(w->last_n_bytes, fit.n_bytes);
    return fit;
}

/* At most 50 of each length, 256 MiB of it, 2 at least; data is at most 32 MiB, sizes alone are not limited. */
static void exchanges_are_limited(void **state)
{
    struct made_world w;

    (void)state;
    assert_int_equal(measured(&w, 4000, true).n_bytes, 4000);
    assert_int_equal(w.n_exchanges, 50 + 50);
    assert_int_equal(measured(&w, 4000, false).n_bytes, 4000);
    assert_int_equal(w.n_exchanges, 50 + 50);
    assert_int_equal(measured(&w, (size_t)64 * MI, true).n_bytes, 64 * MI);
    assert_int_equal(w.n_exchanges, 50 + 4);
    assert_int_equal(measured(&w, (size_t)300 * MI, true).n_bytes, 300 * MI);
    assert_int_equal(w.n_exchanges, 50 + 2);
    assert_int_equal(measured(&w, (size_t)300 * MI, false).n_bytes, 32 * MI);
    assert_int_equal(w.n_exchanges, 50 + 8);
}

static double step_s(const struct wire_plan *plan, double alpha_s, double message_s, size_t n_bytes)
{
    const struct alpha_beta fit = { .alpha_s = alpha_s, .message_s = message_s, .n_bytes = n_bytes };

    return alpha_beta_step_s(&fit, plan);
}

static void wire_times_are_alpha_and_beta(void **state)
{
    const struct wire_plan chain = { .message_bytes = 1000, .n_in_turn = 4, .n_on_link = 5 };
    const struct wire_plan link = { .message_bytes = 1000, .n_in_turn = 2, .n_on_link = 8 };

    (void)state;
    assert_near(step_s(&chain, 2, 3, 1000), 12);  /* 4 (2 + 1) over 5 x 1 */
    assert_near(step_s(&link, 2, 7, 1000), 40);   /* 8 x 5 over 2 (2 + 5) */
    assert_near(step_s(&chain, 2, 3, 250), 24);   /* measured on a quarter: 4 (2 + 4) */
    assert_near(step_s(&chain, 2, 1.5, 1000), 8); /* not faster than a latency */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(exchanges_are_limited),
                                        cmocka_unit_test(wire_times_are_alpha_and_beta) };

    return cmocka_run_group_tests_name("alpha_beta", tests, NULL, NULL);
}
