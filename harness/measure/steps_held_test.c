/* SPDX-License-Identifier: Apache-2.0 */
/* steps_held_test.c - what servers do to steps: measure.E4 where they hold answers back, that is wait, of each worker
 * and of all; measure.E1 where they drop gradients; staleness where they refuse them. */
#include <math.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/steps.h"

enum { N_WORKERS = 2, N_STEPS = 8, US = 1000 };

static void assert_us(double s, double us)
{
    if (!(fabs(s - us * 1e-6) < 1e-12))
        fail_msg("%g us are not %g", s * 1e6, us);
}

/* Of 20 us: computing 8, held 5 (worker 1: 3), server 1, apply 2, wire 3, and the rest. */
UNIT_TEST(held_time_is_wait)
{
    struct step_stamp stamp[N_WORKERS * N_STEPS];
    const struct steps in = { .stamp = stamp, .n_workers = N_WORKERS, .n_steps = N_STEPS, .batch_per_worker_count = 1 };
    struct step_parts parts[N_WORKERS];
    struct steps_summary s;

    for (uint64_t i = 0; i < N_WORKERS * N_STEPS; i++) {
        const uint64_t at_us = 100 + i % N_STEPS * 20;
        stamp[i] = (struct step_stamp){ .start_ns = at_us * US,
                                        .ready_ns = (at_us + 8) * US,
                                        .end_ns = (at_us + 20) * US,
                                        .server_ns = US,
                                        .apply_ns = 2 * US,
                                        .exchange_ns = 3 * US,
                                        .held_ns = (i < N_STEPS ? 5 : 3) * US };
    }
    assert_int_equal(steps_summarise(&s, &in), RC_OK);
    assert_int_equal(steps_worker_parts(parts, &in), RC_OK);
    assert_us(s.wait_s, 4);
    assert_us(s.wire_s, 3);
    assert_us(s.rest_s, 2);
    assert_us(s.exposed_s, 10);
    assert_us(parts[0].wait_s, 5);
    assert_us(parts[0].rest_s, 1);
    assert_us(parts[1].wait_s, 3);
    assert_us(parts[1].rest_s, 3);
    for (int i = 0; i < N_WORKERS * N_STEPS; i++)
        stamp[i].held_ns = 50 * US; /* more than there is: cut, and nothing is left for the wire */
    assert_int_equal(steps_summarise(&s, &in), RC_OK);
    assert_us(s.wait_s, 9);
    assert_us(s.wire_s, 0);
    assert_us(s.rest_s, 0);
}

/* Two workers, a step of 32 samples each in 20 us; worker 1 has one of its two messages dropped in every second step: 1
 * of 8. Regression: samples whose gradients were dropped counted. */
UNIT_TEST(dropped_samples_are_none)
{
    struct step_stamp stamp[N_WORKERS * N_STEPS];
    struct steps in = { .stamp = stamp, .n_workers = N_WORKERS, .n_steps = N_STEPS, .batch_per_worker_count = 32 };
    struct steps_summary all, applied;

    for (uint64_t i = 0; i < N_WORKERS * N_STEPS; i++) {
        const uint64_t at_us = 100 + i % N_STEPS * 20;
        stamp[i] = (struct step_stamp){ .start_ns = at_us * US,
                                        .ready_ns = (at_us + 8) * US,
                                        .end_ns = (at_us + 20) * US,
                                        .late_count = i > N_STEPS && i % 2 == 1 };
    }
    assert_int_equal(steps_summarise(&all, &in), RC_OK);
    assert_true(fabs(all.throughput_samples_per_s.mean / (64 / 20e-6) - 1) < 1e-9);
    in.messages_per_step_count = 2;
    assert_int_equal(steps_summarise(&applied, &in), RC_OK);
    assert_true(fabs(applied.throughput_samples_per_s.mean / all.throughput_samples_per_s.mean - 7 / 8.0) < 1e-9);
    assert_true(fabs(applied.throughput_samples_per_s.low / all.throughput_samples_per_s.low - 7 / 8.0) < 1e-9);
    assert_int_equal(applied.n_rounds, all.n_rounds);
    assert_us(applied.step_mean_s, 20);
}

/* Two workers that do not wait: 48 samples in 30 us, 16 in 10: 1.6 samples a us each; losses 1 and 3.
 * Regression: unequal batches counted as equal ones, 41 % too high. */
UNIT_TEST(unequal_batches_count_by_their_samples)
{
    static const size_t batch[N_WORKERS] = { 48, 16 };
    struct step_stamp stamp[N_WORKERS * N_STEPS];
    const struct steps in = {
        .stamp = stamp, .n_workers = N_WORKERS, .n_steps = N_STEPS, .batch_per_worker_count = 32, .batch_count = batch
    };
    struct steps_summary s;
    struct round_point first;
    uint64_t samples_count = 0;

    for (uint64_t i = 0; i < N_WORKERS * N_STEPS; i++) {
        const uint64_t worker = i / N_STEPS, long_us = worker == 0 ? 30 : 10, at_us = 100 + i % N_STEPS * long_us;
        stamp[i] = (struct step_stamp){ .start_ns = at_us * US,
                                        .ready_ns = (at_us + long_us) * US,
                                        .end_ns = (at_us + long_us) * US,
                                        .loss = worker == 0 ? 1 : 3 };
    }
    assert_int_equal(steps_summarise(&s, &in), RC_OK);
    if (fabs(s.throughput_samples_per_s.mean / 2.8e6 - 1) > 1e-9) /* in 80 us 8 steps of 16 and 2 of 48 */
        fail_msg("%.9g samples/s", s.throughput_samples_per_s.mean);
    assert_true(fabs(s.loss_first - 1.5) < 1e-12 && fabs(s.loss_last - 1.5) < 1e-12);
    steps_round(&first, &in, 0); /* by then the other has done three */
    assert_int_equal(first.samples_count, 48 + 3 * 16);
    assert_true(fabs(first.loss - 1.5) < 1e-12);
    assert_true(isnan(steps_seconds_to_loss(&in, 0.9, 1, &samples_count)));
    assert_true(steps_seconds_to_loss(&in, 3, 1, &samples_count) > 0);
    assert_int_equal(samples_count, 16 + 16);
}

/* Worker 0 has staleness 0, worker 1 as many as the step. Steps without one are none of staleness 0.
 * Regression: a refused step counted with staleness 0. */
UNIT_TEST(what_is_refused_has_no_staleness)
{
    enum { SUM = 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 };
    struct step_stamp stamp[N_WORKERS * N_STEPS];
    const struct steps in = { .stamp = stamp, .n_workers = N_WORKERS, .n_steps = N_STEPS, .batch_per_worker_count = 1 };
    struct steps_summary all, rest;
    uint64_t n_all[3], n_rest[3];

    for (uint32_t i = 0; i < N_WORKERS * N_STEPS; i++)
        stamp[i] = (struct step_stamp){ .start_ns = i % N_STEPS * US,
                                        .ready_ns = i % N_STEPS * US,
                                        .end_ns = (i % N_STEPS + 1) * US,
                                        .staleness_count = i < N_STEPS ? 0 : i - N_STEPS };
    assert_int_equal(steps_summarise(&all, &in), RC_OK);
    steps_staleness_histogram(n_all, 3, &in);
    assert_true(fabs(all.staleness_mean_count - SUM / 16.0) < 1e-12);
    assert_true(n_all[0] == 9 && n_all[1] == 1 && n_all[2] == 6);
    stamp[3].is_refused = true;
    stamp[5].keeps_gradient = true;
    assert_int_equal(steps_summarise(&rest, &in), RC_OK);
    steps_staleness_histogram(n_rest, 3, &in);
    assert_true(fabs(rest.staleness_mean_count - SUM / 14.0) < 1e-12);
    assert_true(n_rest[0] == 7 && n_rest[1] == 1 && n_rest[2] == 6);
    assert_int_equal(rest.staleness_max_count, 7);
}

UNIT_MAIN("steps_held")
