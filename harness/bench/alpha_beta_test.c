/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alpha_beta_test.c - the model's arithmetic by hand, and the measurement over a made-up transport, whose messages of n
 * bytes take 50 us + 10 ns n one way, and the first of each length 20 us more. The other rank is always there: it
 * answers at once, and what it sends first has come long before.
 */
#include "harness/base/suite/unit.h"
#include "harness/bench/alpha_beta.h"

#include <math.h>

enum { US = 1000, KI = 1024, MI = 1024 * KI };

struct made_world {
    struct world base; /* first */
    uint64_t now_ns;
    int n_served, n_answered, n_open, n_barriers, last_timeout_ms;
    int order[4], n_phases; /* length by length: 1 this rank served, 0 it answered */
    bool has_sent;          /* and has not received since */
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
    const int p = t->world->n_ranks, next = (t->world->rank + 1) % p, before = (t->world->rank + p - 1) % p;

    assert_true(x->peer == next || x->peer == before);
    if (!x->receives) {
        made(t->world)->sent = x->ptr;
        made(t->world)->has_sent = true;
    }
    return RC_OK;
}

/* There and back, where this rank has sent; else the message is there. */
static void arrive(struct made_world *w, int peer, size_t n_bytes)
{
    const int p = w->base.n_ranks;
    const bool served = w->has_sent,
               is_first = n_bytes != w->last_n_bytes || (served ? w->n_served : w->n_answered) == 0;

    assert_int_equal(peer, (w->base.rank + (served ? 1 : p - 1)) % p);
    if (served)
        w->now_ns += 2 * (50 * US + 10 * n_bytes + (is_first ? 20 * US : 0));
    if (is_first && w->n_phases < 4)
        w->order[w->n_phases++] = served;
    w->last_n_bytes = n_bytes;
    w->has_sent = false;
    (*(served ? &w->n_served : &w->n_answered))++;
}

static enum rc complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct made_world *w = made(t->world);
    const size_t n_bytes = x->ptr ? x->n_bytes : x->n_hollow_bytes;

    w->last_timeout_ms = timeout_ms;
    if (!x->receives) {
        w->has_sent = false;
        return RC_OK;
    }
    if (x->ptr && w->has_sent) /* it does not overwrite what is sent */
        assert_true((const char *)x->ptr == (const char *)w->sent + n_bytes);
    arrive(w, x->peer, n_bytes);
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

#define assert_near(value, expected) assert_within(value, expected, 1e-9)

/* Rank r of p plays with its neighbours with messages of so many bytes. */
static struct alpha_beta measured(struct made_world *w, int r, int p, size_t message_bytes, bool is_hollow)
{
    const struct alpha_beta_env env = {
        .world = &w->base, .transport = &NET, .message_bytes = message_bytes, .is_hollow = is_hollow, .timeout_ms = 700
    };
    struct alpha_beta fit;

    *w = (struct made_world){ .base = { .ops = &WORLD, .rank = r, .n_ranks = p }, .now_ns = UINT64_C(7) << 40 };
    assert_int_equal(alpha_beta_measure(&fit, &env), RC_OK);
    assert_int_equal(w->n_open, 0);
    assert_int_equal(w->n_barriers, p % 2 == 0 ? 2 : 3); /* a turn each */
    assert_int_equal(w->last_timeout_ms, 700);
    assert_int_equal(w->n_served, w->n_answered);
    assert_near(fit.alpha_s, 50.04e-6);
    assert_near(fit.message_s, 50e-6 + 10e-9 * (double)fit.n_bytes);
    assert_int_equal(w->last_n_bytes, fit.n_bytes);
    return fit;
}

/* At most 50 of each length, 256 MiB of it, 2 at least, and one of each more; data is at most 32 MiB, sizes alone are
 * not limited. */
UNIT_TEST(rounds_are_limited)
{
    struct made_world w;

    assert_int_equal(measured(&w, 2, 3, 4000, true).n_bytes, 4000);
    assert_int_equal(w.n_served, 51 + 51);
    assert_int_equal(measured(&w, 2, 3, 4000, false).n_bytes, 4000);
    assert_int_equal(w.n_served, 51 + 51);
    assert_int_equal(measured(&w, 2, 3, (size_t)64 * MI, true).n_bytes, 64 * MI);
    assert_int_equal(w.n_served, 51 + 5);
    assert_int_equal(measured(&w, 2, 3, (size_t)300 * MI, true).n_bytes, 300 * MI);
    assert_int_equal(w.n_served, 51 + 3);
    assert_int_equal(measured(&w, 2, 3, (size_t)300 * MI, false).n_bytes, 32 * MI);
    assert_int_equal(w.n_served, 51 + 9);
}

/* In each turn every rank is of one pair at most, and the pairs come in the same order on both their ranks: of 2 ranks
 * rank 0 serves first; of more, even ones, of whose pairs the last of an odd number comes after all others. */
UNIT_TEST(pairs_take_turns)
{
    struct made_world w;

    for (int p = 2; p <= 7; p++)
        for (int r = 0; r < p; r++) {
            const int serves_first = r % 2 == 0 && !(p % 2 == 1 && r == p - 1);
            (void)measured(&w, r, p, 4000, true);
            assert_int_equal(w.n_phases, 4);
            for (int i = 0; i < 4; i++)
                assert_int_equal(w.order[i], i < 2 ? serves_first : !serves_first);
        }
}

/* Rank 1 of 4 answers in the first of 4 turns, and serves in the second. */
UNIT_TEST(a_pair_may_be_alone)
{
    struct made_world w = { .base = { .ops = &WORLD, .rank = 1, .n_ranks = 4 }, .now_ns = UINT64_C(7) << 40 };
    const struct alpha_beta_env env = { .world = &w.base,
                                        .transport = &NET,
                                        .message_bytes = 4000,
                                        .is_hollow = true,
                                        .timeout_ms = 700,
                                        .is_alone = true };
    struct alpha_beta fit;

    assert_int_equal(alpha_beta_measure(&fit, &env), RC_OK);
    assert_int_equal(w.n_barriers, 4);
    assert_int_equal(w.n_phases, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(w.order[i], i >= 2);
}

static double step_s(const struct wire_plan *plan, double alpha_s, double message_s, size_t n_bytes)
{
    const struct alpha_beta fit = { .alpha_s = alpha_s, .message_s = message_s, .n_bytes = n_bytes };

    return alpha_beta_step_s(&fit, plan);
}

UNIT_TEST(wire_times_are_alpha_and_beta)
{
    const struct wire_plan chain = { .message_bytes = 1000, .n_in_turn = 4, .n_on_link = 5 };
    const struct wire_plan link = { .message_bytes = 1000, .n_in_turn = 2, .n_on_link = 8 };

    assert_near(step_s(&chain, 2, 3, 1000), 12);  /* 4 (2 + 1) over 5 x 1 */
    assert_near(step_s(&link, 2, 7, 1000), 40);   /* 8 x 5 over 2 (2 + 5) */
    assert_near(step_s(&chain, 2, 3, 250), 24);   /* measured on a quarter: 4 (2 + 4) */
    assert_near(step_s(&chain, 2, 1.5, 1000), 6); /* the longer message needed 1.5: no message needs more */
    assert_near(step_s(&link, 2, 1.5, 1000), 3);  /* and its bytes need no time that is known */
}

UNIT_MAIN("alpha_beta")
