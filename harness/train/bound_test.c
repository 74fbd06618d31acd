/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound_test.c - what a run could have done at most, of made-up runs (result_kit.c) whose figures are known by hand:
 * invariants train.B1 to B3 of bound.h.
 */
#include "harness/train/bound.h"

#include <math.h>

#include "harness/base/suite/unit.h"
#include "harness/train/stages.h"
#include "harness/train/suite/result_kit.h"
#include "harness/world/cores.h"
#include "models/replay/profile.h"

#define assert_near(value, expected) assert_within(value, expected, 1e-12)

static void summarise(struct train_summary *out, const struct made_run *m)
{
    if (train_summarise(out, &m->job, &m->result) != RC_OK)
        fail_msg("%s", rc_message());
}

/* The bound is that of the slowest of three parts; without a baseline there is no efficiency, without limits no
 * bound; mode none has an efficiency though nothing is exchanged. */
UNIT_TEST(what_bounds_a_run)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    m.result.has_limits_after = false;
    m.result.limits.compute_s = 0.02;
    summarise(&s, &m);
    assert_near(s.bound_samples_per_s, 700);
    m.result.limits.wire_s = 0.028;
    summarise(&s, &m);
    assert_near(s.bound_samples_per_s, 500);
    m.result.limits = (struct train_limits){ 0 };
    summarise(&s, &m);
    assert_true(isnan(s.bound_samples_per_s) && isnan(s.bound_ratio));
    assert_true(isnan(s.baseline_samples_per_s) && isnan(s.efficiency_ratio));
    m.result.limits.baseline_step_s = 0.00875;
    m.job.opts.mode = "none";
    m.job.mode = train_mode_at(0);
    assert_string_equal(m.job.mode->module.name, "none");
    summarise(&s, &m);
    assert_near(s.efficiency_ratio, 0.75);
    made_free(&m);
}

/* No shard computes the network alone; the profile says what that takes: 40 images in 0.1 s are 400 a second. */
UNIT_TEST(shards_are_compared_with_the_profile)
{
    struct profile_layer layer[] = { { .forward_ns = 20000000, .backward_ns = 50000000 },
                                     { .forward_ns = 10000000, .backward_ns = 20000000 } };
    struct profile profile = { .batch = 40, .layer = layer, .n_layers = 2 };
    struct train_summary s;
    struct made_run m;

    made_allreduce(&m);
    const int n_workers = m.job.n_workers;
    m.result.limits = (struct train_limits){ .baseline_step_s = NAN, .compute_s = 0.02, .wire_s = 0.03 };
    m.result.has_limits_after = false;
    m.job.shard.n_shards = n_workers;
    summarise(&s, &m);
    assert_true(isnan(s.baseline_samples_per_s) && isnan(s.efficiency_ratio));
    assert_near(s.bound_samples_per_s, n_workers * (double)m.job.opts.batch / 0.03);
    m.job.profile = &profile;
    summarise(&s, &m);
    assert_near(s.baseline_samples_per_s, 400);
    assert_near(s.efficiency_ratio, s.measured.throughput_samples_per_s.mean / (n_workers * 400.0));
    m.job.profile = NULL;
    made_free(&m);
}

/* Two stages of one micro-batch of 8 images: forward 1 and 2 s, backward 2 and 4 s, one behind the other; the second
 * has a group of shards, in which 0.25 and 0.5 s pass, and exchanges gradients behind its own for 0.125 s. */
UNIT_TEST(stages_wait_for_their_groups)
{
    const struct sync_mode allreduce = { .module.caps = MODE_SYNCHRONOUS | MODE_COLLECTIVE };
    struct train_job job = { .mode = &allreduce,
                             .opts = { .stages = 2, .batch = 8, .accumulate = 1 },
                             .stages = {
                                 .env.cuts.n_stages = 2, .forward_s = { 0.125, 0.25 }, .backward_s = { 0.25, 0.5 } } };
    struct stage_limits limits[2] = { { .overlaps = true },
                                      { .gather_s = 0.25, .scatter_s = 0.5, .exchange_s = 0.125, .overlaps = true } };
    double bound_s;

    assert_int_equal(stages_find_bound(&bound_s, &job, limits), RC_OK);
    assert_near(bound_s, 1 + 2 + 4 + 2 + 0.25 + 0.5);
    limits[1].scatter_s = 0;
    assert_int_equal(stages_find_bound(&bound_s, &job, limits), RC_OK);
    assert_near(bound_s, 1 + 2 + 4 + 2 + 0.25);
    /* The first stage ends 2 s after the second, behind which only an exchange of its own would be. */
    limits[0].exchange_s = 0.5;
    limits[0].overlaps = false;
    assert_int_equal(stages_find_bound(&bound_s, &job, limits), RC_OK);
    assert_near(bound_s, 1 + 2 + 4 + 2 + 0.25 + 0.5);
    limits[0].exchange_s = 0;
    job.stages.forward_s[0] = NAN; /* no profile: by its own times, of a micro-batch; 3 and 5 forward, 6 and 10 back */
    assert_int_equal(stages_find_bound(&bound_s, &job, limits), RC_OK);
    assert_true(isnan(bound_s) && !stages_have_profile(&job));
    limits[0].forward_s = 3, limits[0].backward_s = 6, limits[1].forward_s = 5, limits[1].backward_s = 10;
    assert_int_equal(stages_find_bound(&bound_s, &job, limits), RC_OK);
    assert_near(bound_s, 3 + 5 + 10 + 6 + 0.25);
    limits[1].exchange_s = NAN;
    assert_int_equal(stages_find_bound(&bound_s, &job, limits), RC_OK);
    assert_true(isnan(bound_s));
}

/* What the mode is for is left out: how near the run came to what the mode allows is no question. */
UNIT_TEST(without_averages_there_is_no_bound)
{
    struct train_summary s;
    struct made_run m;

    made_allreduce(&m);
    summarise(&s, &m);
    assert_true(s.bound_samples_per_s > 0 && s.bound_ratio > 0);
    m.job.omitted = OMIT_SHARD;
    summarise(&s, &m);
    assert_true(s.bound_samples_per_s > 0 && s.bound_ratio > 0);
    m.job.omitted = OMIT_SHARD | OMIT_AVERAGE;
    summarise(&s, &m);
    assert_true(isnan(s.bound_samples_per_s) && isnan(s.bound_ratio));
    assert_true(isnan(s.bound_low_ratio) && isnan(s.bound_high_ratio));
    made_free(&m);
}

/* Workers with fewer cores of their own than threads share; servers do not count. Then nothing bounds the run. */
UNIT_TEST(workers_that_share_cores_have_no_bound)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    assert_int_equal(train_n_sharing(&m.job, &m.result), 0);
    m.result.rank[1].own_cores_count = 1;
    assert_int_equal(train_n_sharing(&m.job, &m.result), 1);
    summarise(&s, &m);
    assert_true(isnan(s.bound_samples_per_s) && isnan(s.bound_ratio));
    assert_near(s.efficiency_ratio, 0.75);
    m.result.rank[0].own_cores_count = 0;
    assert_int_equal(train_n_sharing(&m.job, &m.result), 2);
    m.job.opts.bind = false; /* unasked for: only more ranks than cores share */
    m.job.n_ranks = cores_allowed_count();
    assert_int_equal(train_n_sharing(&m.job, &m.result), 0);
    m.job.n_ranks++;
    assert_int_equal(train_n_sharing(&m.job, &m.result), 2);
    made_free(&m);
    made_allreduce(&m);
    m.result.n_threads = 2; /* sim: nobody shares */
    assert_int_equal(train_n_sharing(&m.job, &m.result), 0);
    made_free(&m);
}

/* Each part at its better time, whichever it was: compute 7.5 ms after, wire 7 before, server 10 before; then after. */
UNIT_TEST(a_part_is_taken_at_its_best_B1)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    summarise(&s, &m);
    assert_near(s.best.compute_s, 0.0075);
    assert_near(s.best.wire_s, 0.007);
    assert_near(s.best.server_s, 0.01);
    assert_near(s.bound_samples_per_s, 1400);
    m.result.limits_after.server_s = 0.008;
    summarise(&s, &m);
    assert_near(s.bound_samples_per_s, 1750);
    assert_near(s.bound_ratio, 1200.0 / 1750);
    m.result.limits_after = (struct train_limits){ .compute_s = 0.004, .wire_s = 0.0056, .server_s = 0.002 };
    summarise(&s, &m);
    assert_near(s.bound_samples_per_s, 2500);
    m.result.has_limits_after = false; /* then they are none */
    summarise(&s, &m);
    assert_near(s.bound_samples_per_s, 1400);
    assert_near(s.best.compute_s, 0.008);
    made_free(&m);
}

/* 1200 samples/s, 1005.6 to 1487.5 within the run, over 1400; three steps have no interval. */
UNIT_TEST(the_interval_is_the_throughputs_B2)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    summarise(&s, &m);
    assert_near(s.bound_ratio, 1200.0 / 1400);
    assert_true(fabs(s.bound_low_ratio - 1005.62805 / 1400) < 1e-5);
    assert_true(fabs(s.bound_high_ratio - 1487.51259 / 1400) < 1e-5);
    made_free(&m);
    made_single(&m);
    summarise(&s, &m);
    assert_near(s.bound_ratio, 0.78125);
    assert_true(isnan(s.bound_low_ratio) && isnan(s.bound_high_ratio));
    made_free(&m);
}

/* An interval that reaches below 100 % is no excuse; one that reaches above is no fault. */
UNIT_TEST(above_one_it_has_failed_B3)
{
    struct train_summary s;
    struct made_run m;

    assert_false(train_bound_failed(0.1));
    assert_false(train_bound_failed(1));
    assert_false(train_bound_failed(1 + 1e-10));
    assert_true(train_bound_failed(1 + 1e-8));
    assert_true(train_bound_failed(104));
    assert_false(train_bound_failed(NAN));
    made_ps(&m);
    m.result.has_limits_after = false;
    m.result.limits = (struct train_limits){ .compute_s = 14 / 1100.0 };
    summarise(&s, &m);
    assert_true(s.bound_low_ratio < 1 && train_bound_failed(s.bound_ratio));
    m.result.limits.compute_s = 14 / 1300.0;
    summarise(&s, &m);
    assert_true(s.bound_high_ratio > 1 && !train_bound_failed(s.bound_ratio));
    made_free(&m);
}

UNIT_MAIN("bound")
