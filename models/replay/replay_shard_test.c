/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_shard_test.c - a profile replayed as a shard: what crosses, and when (player.h).
 *
 * usage: replay_shard_test
 */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/engine/stage.h"
#include "models/replay/player.h"
#include "models/suite/profile_kit.h"

enum { BATCH = 8, N_SHARDS = 4, MOST_EVENTS = 16, N_EVENTS = 5 };

struct event {
    bool is_scatter;
    uint64_t at_ns; /* of the step: what had passed */
    size_t n_elems[N_SHARDS];
};

struct heard {
    uint64_t passed_ns;
    struct event event[MOST_EVENTS];
    size_t n_events, n_ready, n_ready_elems;
};

/* lenet's nodes: c1, pool, c2, pool, fc3, fc4, loss; forward 800 ns, 1600 ns, ..., backward ten times that. */
static const struct event expected[N_EVENTS] = {
    { false, 8000, { 1024, 1024, 1024, 1024 } },         /* 128 elements of 8 images, behind the second pool */
    { false, 12000, { 512, 512, 512, 512 } },            /* 16 channels of 32 images, behind fc3 */
    { false, 16800, { 64, 96, 64, 96 } },                /* 2 or 3 classes, behind fc4 */
    { true, 22400 + 104000, { 512, 512, 512, 512 } },    /* behind all forward, and the backward of loss and fc4 */
    { true, 22400 + 144000, { 1024, 1024, 1024, 1024 } } /* and of fc3 */
};

static void pass(void *arg, uint64_t ns)
{
    ((struct heard *)arg)->passed_ns += ns;
}

static enum rc note(struct heard *h, bool is_scatter, const size_t *n_elems)
{
    struct event *e = &h->event[h->n_events++ % MOST_EVENTS];

    *e = (struct event){ .is_scatter = is_scatter, .at_ns = h->passed_ns };
    memcpy(e->n_elems, n_elems, sizeof e->n_elems);
    return RC_OK;
}

static enum rc gather(void *arg, float *whole, const float *own, const size_t *n_elems)
{
    (void)whole;
    (void)own;
    return note(arg, false, n_elems);
}

static enum rc scatter(void *arg, float *own, float *whole, const size_t *n_elems)
{
    (void)whole;
    (void)own;
    return note(arg, true, n_elems);
}

static enum rc ready(void *arg, struct segment s, const float *grad)
{
    struct heard *h = arg;

    (void)grad;
    h->n_ready++;
    h->n_ready_elems += s.n_elems;
    return RC_OK;
}

static struct profile *profile_of_lenet(void)
{
    struct network *n = NULL;
    struct profile *p = NULL;

    assert_int_equal(network_open(&n, workload_lenet.network, &(struct network_opts){ 0 }), RC_OK);
    assert_int_equal(profile_of_network(&p, n, BATCH), RC_OK);
    network_close(&n);
    for (int i = 0; i < p->n_layers; i++) {
        p->layer[i].forward_ns = 800 * (uint64_t)(i + 1);
        p->layer[i].backward_ns = 8000 * (uint64_t)(i + 1);
    }
    return p;
}

static void check_events(const struct heard *h, size_t first, uint64_t since_ns)
{
    for (size_t i = 0; i < N_EVENTS; i++) {
        const struct event *e = &h->event[first + i];
        assert_int_equal(e->is_scatter, expected[i].is_scatter);
        assert_int_equal(e->at_ns - since_ns, expected[i].at_ns);
        assert_memory_equal(e->n_elems, expected[i].n_elems, sizeof e->n_elems);
    }
}

UNIT_TEST(activations_cross_where_the_network_has_them)
{
    struct heard h = { .passed_ns = 0 };
    const struct compute_env compute = { .pass = pass, .arg = &h };
    const struct dense_shard shard = { 1, N_SHARDS, { gather, scatter, &h } };
    struct profile *p = profile_of_lenet();
    const uint64_t step_ns = profile_step_ns(p);
    struct compute *c = NULL;
    double loss;

    assert_int_equal(compute_open(&c, &compute_hollow, &compute), RC_OK);
    for (size_t n_parts = 1; n_parts <= 2; n_parts++) {
        struct training_env env = { .compute = c, .max_batch = BATCH, .profile = p, .shard = &shard };
        struct training *t = NULL;
        env.order.n_micro_batches = n_parts;
        assert_int_equal(workload_open(&t, &workload_replay, &env), RC_OK);
        assert_int_equal(workload_n_params(t), 4800 + 16 * 129 + 3 * 65);
        h = (struct heard){ .passed_ns = 0 };
        assert_int_equal(workload_gradient(t, NULL, 0, n_parts * BATCH, NULL, &loss, ready, &h), RC_OK);
        assert_int_equal(h.n_events, n_parts * N_EVENTS);
        for (size_t i = 0; i < n_parts; i++)
            check_events(&h, i * N_EVENTS, i * step_ns);
        assert_int_equal(h.passed_ns, n_parts * step_ns); /* as without shards */
        assert_int_equal(h.n_ready, 8);
        assert_int_equal(h.n_ready_elems, workload_n_params(t));
        workload_close(&t);
    }
    compute_close(&c);
    profile_close(&p);
}

UNIT_TEST(other_models_are_refused)
{
    struct profile *p = profile_kit_small();
    const struct dense_shard shard = { .n_shards = 2 };
    const struct training_env env = { .profile = p, .shard = &shard };
    struct replay_shard *s = NULL;

    assert_non_null(p);
    assert_int_equal(replay_shard_open(&s, &env), RC_INVAL);
    assert_non_null(strstr(rc_message(), "is not one of gradmark's networks"));
    assert_null(s);
    profile_close(&p);
}

UNIT_MAIN("replay_shard")
