/* SPDX-License-Identifier: Apache-2.0 */
/* alternation_test.c - turns with exchange and without: in which steps, what is compared, and what workers hold. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/alternation.h"
#include "harness/train/suite/train_kit.h"

UNIT_TEST(turns_come_in_mirrored_pairs)
{
    static const char alone[] = "001111000011"; /* of turns of 2 */

    for (size_t step = 0; alone[step]; step++) {
        assert_int_equal(alternation_is_alone(2, step), alone[step] == '1');
        assert_int_equal(alternation_begins_turn(2, step), step % 2 == 0);
        assert_int_equal(alternation_ends_turn(2, step), step % 2 == 1);
        assert_false(alternation_is_alone(0, step) || alternation_begins_turn(0, step) ||
                     alternation_ends_turn(0, step));
    }
}

/* Turns of 2 steps, of two workers, batch 10. With exchange a turn takes worker 0 200 ns and worker 1 250; without 100
 * and 200. Steps of the first pair take a second. */
UNIT_TEST(compared_is_the_throughput_of_pairs_W1)
{
    enum { N_STEPS = 17, TURN = 2 }; /* 4 pairs, the first of which is warm-up; a step is left */
    struct step_stamp stamp[2][N_STEPS];
    struct train_job job = { .opts = { .alternate_exchange = TURN, .batch = 10 }, .n_workers = 2 };
    const struct train_result result = { .stamp = &stamp[0][0], .n_workers = 2, .n_steps = N_STEPS };
    struct comparison c;
    char text[ALTERNATION_TEXT_BYTES];

    memset(stamp, 0, sizeof stamp);
    for (int w = 0; w < 2; w++)
        for (uint64_t step = 0, now_ns = 1000; step < N_STEPS; step++) {
            static const uint64_t step_ns[2][2] = { { 100, 50 }, { 125, 100 } };
            const uint64_t took_ns =
                step < 2 * TURN ? 1000000000 : step_ns[w][alternation_is_alone(TURN, (size_t)step)];
            if (step % TURN == 0)
                now_ns += 77777; /* in which workers meet */
            stamp[w][step] = (struct step_stamp){ .start_ns = now_ns, .end_ns = now_ns + took_ns };
            now_ns += took_ns;
        }
    assert_int_equal(alternation_compare(&c, &job, &result), RC_OK);
    assert_int_equal(c.n_pairs, 3);
    assert_true(fabs(c.ratio - 0.6) < 1e-9); /* (20 / 200 + 20 / 250) / (20 / 100 + 20 / 200) */
    assert_true(fabs(c.ratio_low - 0.6) < 1e-9 && fabs(c.ratio_high - 0.6) < 1e-9);
    alternation_text(text, &job, &c);
    assert_string_equal(text, "60.00 % of the throughput without it (60.00 to 60.00 %), 3 pairs of turns of 2 steps");
    stamp[0][2 * TURN + 1].end_ns += 200; /* pair 1 begins without: worker 0 then takes 300 */
    assert_int_equal(alternation_compare(&c, &job, &result), RC_OK);
    const double odd = 0.18 / (20.0 / 300 + 0.1), mean = (2 * log(0.6) + log(odd)) / 3;
    assert_true(fabs(c.ratio - exp(mean)) < 1e-9 && c.ratio_low < 0.6 && c.ratio_high > c.ratio);
    job.opts.alternate_exchange = 0;
    assert_int_equal(alternation_compare(&c, &job, &result), RC_OK);
    assert_int_equal(c.n_pairs, 0);
    alternation_text(text, &job, &c);
    assert_string_equal(text, "");
}

static const float *row(const struct train_result *r, int worker, size_t step)
{
    return r->trajectory + ((size_t)worker * (r->n_steps + 1) + step) * 2;
}

/* Where gradients are exchanged all workers take the same step, and are as far apart as before; else they part, or
 * come nearer. */
UNIT_TEST(workers_part_in_their_own_turns_alone)
{
    enum { TURN = 3, N_STEPS = 18 };
    struct train_result r;

    kit_must_train(&r, "--model linear --batch 4 --lr 0.05 --momentum 0 --mode allreduce --workers 2 --steps 18 "
                       "--alternate-exchange 3 --trajectory t");
    for (size_t step = 0; step < N_STEPS; step++) {
        const double before = (double)row(&r, 0, step)[0] - (double)row(&r, 1, step)[0];
        const double after = (double)row(&r, 0, step + 1)[0] - (double)row(&r, 1, step + 1)[0];
        if ((fabs(after - before) > 1e-5) != alternation_is_alone(TURN, step))
            fail_msg("step %zu: %g apart, then %g", step, before, after);
    }
    train_result_free(&r);
}

/* A turn has what belongs to it, whoever exchanges: the caller, a task beside it, of one bucket or of many. */
UNIT_TEST(overlap_changes_no_bits)
{
    static const char way[] = "--model lenet --batch 4 --mode allreduce --workers 3 --steps 12 --alternate-exchange 2";
    struct train_result plain, overlapped;
    char options[256];

    (void)snprintf(options, sizeof options, "%s --bucket-bytes 4096", way);
    kit_must_train(&plain, options);
    (void)snprintf(options, sizeof options, "%s --bucket-bytes 4096 --overlap on", way);
    kit_must_train(&overlapped, options);
    assert_memory_equal(plain.final.param, overlapped.final.param, plain.final.n_params * sizeof(float));
    assert_true(plain.rank[1].sent_bytes == 6 * plain.rank[1].full_bytes);
    assert_true(overlapped.rank[1].sent_bytes == 6 * plain.rank[1].full_bytes);
    train_result_free(&plain);
    train_result_free(&overlapped);
}

static uint64_t took_ns(const struct train_result *r, size_t step)
{
    return r->stamp[step].end_ns - r->stamp[step].start_ns;
}

/* In virtual time all steps of a kind are alike, on all workers, and nothing but the exchange differs. */
UNIT_TEST_OF("sim", the_ratio_is_that_of_steps)
{
    enum { TURN = 4 };
    static const char options[] = "--world sim --compute hollow --model lenet --batch 8 --workers 4 --mode allreduce "
                                  "--steps 24 --alternate-exchange 4";
    struct train_result result;
    struct train_summary summary;
    struct train_job job;

    kit_must_train(&result, options);
    assert_int_equal(kit_prepare(&job, options), RC_OK);
    assert_int_equal(train_summarise(&summary, &job, &result), RC_OK);
    for (size_t step = 0; step < result.n_steps; step++)
        assert_true((result.stamp[step].exchange_ns == 0) == alternation_is_alone(TURN, step));
    const double with_ns = (double)took_ns(&result, 2 * TURN + TURN), without_ns = (double)took_ns(&result, 2 * TURN);
    assert_true(with_ns - without_ns > 0.9 * (double)result.stamp[2 * TURN + TURN].exchange_ns);
    assert_true(without_ns / with_ns > 0.05 && without_ns / with_ns < 0.95);
    assert_int_equal(summary.exchange_keeps.n_pairs, 2);
    if (!(fabs(summary.exchange_keeps.ratio / (without_ns / with_ns) - 1) < 1e-4))
        fail_msg("%g of turns, %g of steps", summary.exchange_keeps.ratio, without_ns / with_ns);
    assert_true(isnan(summary.efficiency_ratio) && isnan(summary.bound_ratio)); /* train.W2 */
    train_result_free(&result);
    train_job_free(&job);
}

UNIT_TEST(refuses)
{
    static const struct kit_refusal c[] = {
        { "--mode allreduce --workers 1", "--alternate-exchange 5: one worker" },
        { "--mode none --workers 2", "this mode exchanges no gradients" },
        { "--mode ps --workers 2", "its servers make every update" },
        { "--mode allreduce --workers 2 --omit average", "never exchanges" },
        { "--mode allreduce --workers 2 --average-every 2", "leaves out exchanges, too" },
        { "--mode allreduce --workers 2 --save f", "its parameters are useless" },
        { "--mode allreduce --workers 2 --on-loss report", "no common step" },
        { "--mode allreduce --workers 2 --verify-every 2", "needs equal parameters" },
        { "--mode allreduce --workers 2 --messages f", "same number of messages in every step" },
        { "--mode allreduce --workers 2 --target-loss 1", "exchanges in every step" },
        { "--mode allreduce --workers 2 --priority on --overlap on", "sends its order to the others" },
        { "--mode allreduce --workers 2 --steps 29",
          "needs 3 pairs of turns, of which the first is warm-up; use --steps 30 or more" },
    };

    kit_expect_each_refused("--model linear --alternate-exchange 5", c, sizeof c / sizeof *c);
}

/* sim: what is measured in virtual time, in a process of its own. */
UNIT_MAIN("alternation")
