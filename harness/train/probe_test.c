/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_test.c - the limits of a run, measured by a made-up clock that moves only where the test says:
 *   a gradient takes 9, 5, 6, 9, 5, 6, ... ms; memory takes 1 ns a byte, now and then more; a message of n bytes takes
 *   50 us + 10 ns n one way, and 20 us more the first time. Other ranks' limits come from the test.
 */
#include <math.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/train/bound.h"
#include "harness/train/job.h"

enum { N_RANKS = 5, US = 1000, MS = 1000000, BATCH = 7 };

struct made_world {
    struct world base; /* first: the probe sees only this */
    uint64_t now_ns, gradient_ns[3], slow_ns;
    struct train_limits others[N_RANKS];
    int n_gradients, n_served, n_charges, n_barriers, n_open;
    bool has_sent;       /* a message, and has not received one since */
    uint64_t first;      /* sample of the latest gradient */
    size_t last_n_bytes; /* of the latest exchange */
    int last_timeout_ms;
};

static struct made_world *made(struct world *w)
{
    return (struct made_world *)w;
}

static uint64_t now_ns(struct world *w)
{
    return made(w)->now_ns;
}

/* 1 ns a byte; every fifth time slow_ns more. */
static void charge(struct world *w, double flops, double bytes)
{
    (void)flops;
    made(w)->now_ns += (uint64_t)bytes + (made(w)->n_charges++ % 5 == 0 ? made(w)->slow_ns : 0);
}

static void compute_charge(void *w, double flops, double bytes)
{
    charge(w, flops, bytes);
}

static enum rc barrier(struct world *w)
{
    made(w)->n_barriers++;
    return RC_OK;
}

static enum rc gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    assert_int_equal(n_bytes_each, sizeof(struct train_limits));
    if (w->rank != 0)
        return RC_OK;
    memcpy(out, made(w)->others, (size_t)w->n_ranks * n_bytes_each);
    memcpy(out, in, n_bytes_each);
    return RC_OK;
}

static const struct world_ops REAL = {
    .module.name = "made", .now_ns = now_ns, .charge = charge, .barrier = barrier, .gather = gather
};
static const struct world_ops VIRTUAL = { .module.name = "made",
                                          .module.caps = WORLD_VIRTUAL_TIME,
                                          .now_ns = now_ns,
                                          .charge = charge,
                                          .barrier = barrier,
                                          .gather = gather };

static enum rc gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                        double *mean_loss, grad_ready_fn *ready, void *arg)
{
    struct made_world *w = t->env.compute->env.arg;

    (void)param, (void)grad, (void)ready, (void)arg;
    assert_int_equal(n_samples, BATCH);
    w->first = first;
    w->now_ns += w->gradient_ns[w->n_gradients++ % 3];
    *mean_loss = NAN;
    return RC_OK;
}

static const struct training_ops TRAINING_OPS = { .gradient = gradient };
static const struct workload WORKLOAD = { .module.name = "made", .ops = &TRAINING_OPS };

static struct transport opened;

static enum rc net_open(struct transport **out, struct world *w);

static enum rc post(struct transport *t, struct xfer *x)
{
    const int p = t->world->n_ranks, next = (t->world->rank + 1) % p, before = (t->world->rank + p - 1) % p;

    assert_true(x->peer == next || x->peer == before);
    made(t->world)->has_sent = made(t->world)->has_sent || !x->receives;
    return RC_OK;
}

/* There and back, where this rank has sent and awaits the answer; else the message has come long before. */
static enum rc complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct made_world *w = made(t->world);

    if (x->receives && w->has_sent) {
        assert_int_equal(x->n_bytes, 0); /* hollow */
        w->now_ns += 2 * (50 * US + 10 * x->n_hollow_bytes + (x->n_hollow_bytes != w->last_n_bytes ? 20 * US : 0));
        w->last_n_bytes = x->n_hollow_bytes;
        w->n_served++;
    }
    w->has_sent = false;
    w->last_timeout_ms = timeout_ms;
    return RC_OK;
}

static void net_close(struct transport **t)
{
    made((*t)->world)->n_open--;
    *t = NULL;
}

static const struct transport_ops NET = { .module.name = "made",
                                          .module.caps = TR_HOLLOW,
                                          .open = net_open,
                                          .post_send = post,
                                          .post_recv = post,
                                          .complete = complete,
                                          .close = net_close };

static enum rc net_open(struct transport **out, struct world *w)
{
    made(w)->n_open++;
    opened = (struct transport){ .ops = &NET, .world = w };
    *out = &opened;
    return RC_OK;
}

struct made_probe {
    struct made_world world;
    struct train_job job;
    struct training training;
    struct probe_env env;
};

static const struct sync_mode SYNCHRONOUS = { .module.caps = MODE_SYNCHRONOUS }, ASYNCHRONOUS = { .module.caps = 0 };

/* Rank r of n_workers + n_servers, which meet every step; 250000 parameters with momentum: 5 ms an update. 4000 bytes a
 * message. The other workers compute in 5 ms, and all ranks' messages take 270 us. */
static void make(struct made_probe *p, int rank, int n_workers, int n_servers)
{
    *p = (struct made_probe){ .world = { .gradient_ns = { 9 * MS, 5 * MS, 6 * MS }, .now_ns = UINT64_C(7) << 40 } };
    p->world.base = (struct world){ .ops = &REAL, .rank = rank, .n_ranks = n_workers + n_servers };
    p->job = (struct train_job){ .world = &REAL,
                                 .mode = &SYNCHRONOUS,
                                 .n_workers = n_workers,
                                 .n_servers = n_servers,
                                 .n_ranks = n_workers + n_servers,
                                 .n_params = 250000,
                                 .transport = &NET };
    for (int r = 0; r < n_workers + n_servers; r++)
        p->world.others[r] = (struct train_limits){ .compute_s = r < n_workers ? 0.005 : 0, .wire_s = 0.00027 };
    p->job.opts.batch = BATCH;
    p->job.optimizer = optimizer_sgd(0.5, 0);
    p->job.opts.stall_abort_s = 60;
    p->training = (struct training){ .workload = &WORKLOAD, .env = { .max_batch = BATCH } };
    p->env = (struct probe_env){ .world = &p->world.base, .job = &p->job };
    assert_int_equal(compute_open(&p->env.compute, &compute_hollow,
                                  &(struct compute_env){ .charge = compute_charge, .arg = &p->world }),
                     RC_OK);
    p->training.env.compute = p->env.compute;
    if (rank < n_workers)
        p->env.training = &p->training;
    p->env.wire = (struct wire_plan){ .message_bytes = 4000, .n_in_turn = 3, .n_on_link = 2 };
}

#define assert_near(value, expected) assert_within(value, expected, 1e-9)

/* Probe, and close what make() opened. */
static struct train_limits limits_of(struct made_probe *p)
{
    struct train_limits l;

    assert_int_equal(probe_limits(&l, &p->env), RC_OK);
    assert_int_equal(p->world.n_open, 0);
    compute_close(&p->env.compute);
    return l;
}

/* Steps of 14, 10, 11, 14, 10, 11, 14 ms, of which the first is discarded, fill the 60 ms of the baseline, whose median
 * is 11 ms; gradients of 5, 6, 9, 5, 6 ... those of the compute limit, whose least is 5 ms, though the first does not
 * count. Latency 50.04 us, a message 90 us: 3 in turn take 270 us. */
UNIT_TEST(a_worker_measures_its_own_limits)
{
    struct made_probe p;

    make(&p, 0, 2, 1);
    const struct train_limits l = limits_of(&p);
    assert_near(l.baseline_step_s, 0.011);
    assert_near(l.compute_s, 0.005);
    assert_near(l.wire_s, 0.00027);
    assert_true(l.server_s == 0);
    assert_int_equal(p.world.n_gradients, 7 + 10);
    assert_int_equal(p.world.first, 9 * 2 * BATCH);
    assert_int_equal(p.world.n_served, 51 + 51);
    assert_int_equal(p.world.last_timeout_ms, 120000);
}

/* What crosses in a group of shards comes before what is exchanged: 270 us, and 1 ms. */
UNIT_TEST(activations_are_on_the_wire)
{
    const struct alpha_beta_times long_chain = { .chain_s = 0.001, .link_s = 0.0005 };
    struct made_probe p;

    make(&p, 1, 2, 1);
    p.env.activations = long_chain;
    assert_near(limits_of(&p).wire_s, 0.00127);
    make(&p, 1, 2, 1);
    p.env.activations = long_chain;
    p.env.wire = (struct wire_plan){ 0 }; /* one group: each shard is of one worker alone */
    assert_near(limits_of(&p).wire_s, 0.001);
}

/* With overlap latencies pass together, and the bytes of a link one after the other: 2 messages of 39.96 us, and 0.5
 * ms. The last message, of 90 us, comes after all activations. Regression: 1.09 of the bound was reached. */
UNIT_TEST(activations_cross_while_gradients_do)
{
    const struct alpha_beta_times activations = { .chain_s = 0.0001, .link_s = 0.0005 };
    struct made_probe p;

    make(&p, 1, 2, 1);
    p.env.activations = activations;
    p.env.overlaps = true;
    assert_near(limits_of(&p).wire_s, 0.0005);
    make(&p, 1, 2, 1);
    p.env.activations = activations;
    p.env.overlaps = p.env.links.has_one_link = true;
    assert_near(limits_of(&p).wire_s, 0.0005 + 2 * 39.96e-6);
    make(&p, 1, 2, 1);
    p.env.activations = activations;
    p.env.overlaps = p.env.links.has_one_link = true;
    p.env.wire.n_last = 1;
    assert_near(limits_of(&p).wire_s, 0.0005 + 90e-6);
}

/* A cold gradient of a slow network is in no limit: 30 s of pages to touch, then 2 s each. */
UNIT_TEST(a_cold_step_does_not_count)
{
    struct made_probe p;

    make(&p, 1, 2, 1);
    p.world.gradient_ns[0] = UINT64_C(30000) * MS;
    p.world.gradient_ns[1] = p.world.gradient_ns[2] = UINT64_C(2000) * MS;
    assert_near(limits_of(&p).compute_s, 2);
    assert_int_equal(p.world.n_gradients, 3);
}

/* Of workers that meet every step the slowest bounds the step; the baseline is rank 0's, which computed while others
 * slept. A message that goes around crosses every path: 270, 200 and 400 us. */
UNIT_TEST(rank_0_takes_the_slowest_of_each_kind)
{
    struct made_probe p;

    make(&p, 0, 2, 1);
    p.world.others[1] = (struct train_limits){ .baseline_step_s = 99, .compute_s = 0.008, .wire_s = 0.0002 };
    p.world.others[2] = (struct train_limits){ .baseline_step_s = 99, .wire_s = 0.0004, .server_s = 0.0123 };
    struct train_limits l = limits_of(&p);
    assert_near(l.baseline_step_s, 0.011);
    assert_near(l.compute_s, 0.008);
    assert_near(l.wire_s, 0.00029);
    assert_near(l.server_s, 0.0123);
    make(&p, 0, 2, 2);
    p.world.others[1] = (struct train_limits){ .compute_s = 0.001, .wire_s = 0.00027 };
    p.world.others[2].server_s = 0.003;
    p.world.others[3].server_s = 0.001;
    l = limits_of(&p);
    assert_near(l.compute_s, 0.005);
    assert_near(l.wire_s, 0.00027);
    assert_near(l.server_s, 0.003);
}

/* 5, 20 and 4 ms: 500 steps a second in all, as of 3 workers of 6 ms each. */
UNIT_TEST(workers_that_do_not_meet_go_at_their_own_rates)
{
    struct made_probe p;

    make(&p, 0, 3, 1);
    p.job.mode = &ASYNCHRONOUS;
    p.world.others[1].compute_s = 0.02;
    p.world.others[2].compute_s = 0.004;
    assert_near(limits_of(&p).compute_s, 0.006);
    make(&p, 0, 3, 1);
    p.job.mode = &ASYNCHRONOUS;
    assert_true(limits_of(&p).compute_s == 0.005); /* of equal ones, to the bit */
}

/* After the run, all but the baseline. */
UNIT_TEST(the_second_time_without_a_baseline)
{
    struct train_limits l;
    struct made_probe p;

    make(&p, 0, 2, 1);
    p.world.others[2].server_s = 0.0123;
    assert_int_equal(probe_limits_again(&l, &p.env), RC_OK);
    compute_close(&p.env.compute);
    assert_int_equal(p.world.n_gradients, 10);
    assert_true(l.baseline_step_s == 0);
    assert_near(l.compute_s, 0.005);
    assert_near(l.wire_s, 0.00027);
    assert_near(l.server_s, 0.0123);
}

/* Half the parameters, 125000: update 20 bytes each, reply 8, so 3.5 ms; for each of 3 workers. Some rounds are 1 ms
 * slower. */
UNIT_TEST(a_server_takes_a_round_for_every_worker_of_its_share)
{
    struct made_probe p;

    make(&p, 4, 3, 2);
    p.world.slow_ns = 1 * MS;
    const struct train_limits l = limits_of(&p);
    assert_near(l.server_s, 0.0105);
    assert_near(l.wire_s, 0.00027);
    assert_true(l.compute_s == 0 && l.baseline_step_s == 0);
    assert_int_equal(p.world.n_gradients, 0);
}

UNIT_TEST(other_workers_measure_no_baseline)
{
    struct made_probe p;

    make(&p, 1, 2, 1);
    const struct train_limits l = limits_of(&p);
    assert_true(l.baseline_step_s == 0 && l.server_s == 0);
    assert_near(l.compute_s, 0.005);
    assert_int_equal(p.world.n_gradients, 10); /* 9, discarded; 5 6 9 5 6 9 5 6 9: 60 ms */
    assert_int_equal(p.world.first, (9 * 2 + 1) * BATCH);
}

/* Inference has no update and sends nothing; one rank has no neighbour. */
UNIT_TEST(what_does_not_happen_has_no_limit)
{
    struct made_probe p;

    make(&p, 0, 2, 0);
    p.job.opts.forward_only = true;
    p.env.wire = (struct wire_plan){ 0 };
    p.world.others[1].wire_s = 0;
    struct train_limits l = limits_of(&p);
    assert_near(l.baseline_step_s, 0.006);
    assert_true(l.wire_s == 0);
    make(&p, 0, 1, 0);
    l = limits_of(&p);
    assert_near(l.baseline_step_s, 0.011);
    assert_true(l.wire_s == 0);
    assert_int_equal(p.world.n_served, 0);
}

/* Virtual time does not vary: two repeats of each. What takes over a second is done three times, once for nothing; long
 * messages 256 MiB in all, two at least, and one for nothing. */
UNIT_TEST(repeats_are_limited)
{
    struct made_probe p;

    make(&p, 0, 2, 0);
    p.world.base.ops = &VIRTUAL;
    (void)limits_of(&p);
    assert_int_equal(p.world.n_gradients, 2 + 2);
    assert_int_equal(p.world.n_served, 2 + 2);
    make(&p, 0, 2, 0);
    for (int i = 0; i < 3; i++)
        p.world.gradient_ns[i] = UINT64_C(1500) * MS;
    const struct train_limits l = limits_of(&p);
    assert_near(l.baseline_step_s, 1.505);
    assert_near(l.compute_s, 1.5);
    assert_int_equal(p.world.n_gradients, 3 + 3);
    make(&p, 0, 2, 0);
    p.env.wire.message_bytes = 64 << 20;
    (void)limits_of(&p);
    assert_int_equal(p.world.n_served, 51 + 5);
    make(&p, 0, 2, 0);
    p.env.wire.message_bytes = 300 << 20;
    (void)limits_of(&p);
    assert_int_equal(p.world.n_served, 51 + 3);
}

/* The largest batch that fits, at the edges. */

/* 1000 bytes, and 100 for each sample. */
static enum rc bytes_of(const void *arg, size_t batch, double *n_bytes)
{
    const size_t *refused = arg;

    *n_bytes = 1000 + 100 * (double)batch;
    return batch == *refused ? rc_raise(RC_INVAL, "a batch that cannot be") : RC_OK;
}

UNIT_TEST(the_largest_that_fits)
{
    static const struct {
        size_t too_large;
        double available_bytes;
        const char *text;
    } cases[] = {
        { 1000, 2000, "--batch 10 fits" }, /* to the byte */
        { 1000, 1999, "--batch 9 fits" },          { 1000, 1100, "--batch 1 fits" },
        { 1000, 1099, "not even --batch 1 fits" }, { 8, 1e9, "--batch 7 fits" },
        { 1, 1e9, "not even --batch 1 fits" },
    };
    const size_t none = 0;
    char text[MAX_BATCH_TEXT_BYTES];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(max_batch_text(text, cases[i].too_large, 1, cases[i].available_bytes, bytes_of, &none), RC_OK);
        assert_string_equal(text, cases[i].text);
    }
}

/* A batch in three parts: those that have three equal ones. */
UNIT_TEST(multiples_are_named)
{
    const size_t none = 0;
    char text[MAX_BATCH_TEXT_BYTES];

    assert_int_equal(max_batch_text(text, 999, 3, 2000, bytes_of, &none), RC_OK);
    assert_string_equal(text, "--batch 9 fits");
    assert_int_equal(max_batch_text(text, 12, 3, 1299, bytes_of, &none), RC_OK);
    assert_string_equal(text, "not even --batch 3 fits");
    assert_int_equal(max_batch_text(text, 12, 3, 1e9, bytes_of, &none), RC_OK);
    assert_string_equal(text, "--batch 9 fits");
}

UNIT_TEST(errors_are_those_of_the_bytes)
{
    const size_t middle = 4;
    char text[MAX_BATCH_TEXT_BYTES];

    assert_int_equal(max_batch_text(text, 8, 1, 1e9, bytes_of, &middle), RC_INVAL);
    assert_string_equal(rc_message(), "a batch that cannot be");
}

UNIT_MAIN("probe")
