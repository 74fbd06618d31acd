/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainings_test.c - stages that train, and all that exchange: in threads.
 *
 * trainings_test.c CASE WORLD N     one run of N ranks, in a world that has one to a process; in sim figures are what
 *                                   formulas say
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/suite/training_kit.h"
#include "harness/accept/trainings.h"
#include "harness/base/suite/unit.h"
#include "harness/world/stop.h"

/* --- training --- */

/* A step of n nodes is that of one, and a ring; but for its update, which is there already. */
UNIT_TEST_OF("sim", trainings_are_as_the_formula_says)
{
    enum { N_NODES = 6, N_PARAMS = 13706 };
    static const int scale[] = { 1, 2, 4, 6 };
    struct kit_run run = kit_in_sim(N_NODES, "");
    const struct cluster c = kit_cluster("");

    run.stage[0] = stage_training;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(a->n_training, 4);
    const double batch = 32, one_s = batch / a->training[0].samples_per_s;
    for (int i = 0; i < 4; i++) {
        const struct scaled_training *s = &a->training[i];
        assert_int_equal(s->n_nodes, scale[i]);
        assert_int_equal(s->n_ranks, scale[i]);
        const double step_s = batch * scale[i] / s->samples_per_s;
        if (i > 0)
            kit_assert_within("step", step_s, one_s + kit_ring_s(&c, N_PARAMS * sizeof(float), scale[i]), 0.02);
        kit_assert_within("efficiency", s->efficiency_ratio, one_s / step_s, 1e-6);
        assert_true(s->low_efficiency_ratio <= s->efficiency_ratio && s->efficiency_ratio <= s->high_efficiency_ratio);
        kit_assert_within("exposed", 1 - s->exposed_ratio, one_s / step_s, 0.02);
    }
    assert_int_equal(a->metric[METRIC_STEP_COMPUTE].n_repeats, 4);
    assert_int_equal(a->metric[METRIC_STEP_WAIT].n_repeats, 4);
    kit_assert_within("compute", kit_metric(&run, METRIC_STEP_COMPUTE, 5, 3), one_s, 0.05);
    assert_string_equal(a->stage[ACCEPT_TRAINING].why, "");
    kit_close(&run);
}

UNIT_TEST_OF("sim", a_slow_rank_computes_long_and_others_wait)
{
    struct kit_run run = kit_in_sim(4, "");

    run.inject = "rank:2=0.7,rank:1=0.9";
    run.stage[0] = stage_training;
    kit_must_run(&run);
    for (int p = 0; p < 4; p++) {
        const double healthy = kit_metric(&run, METRIC_STEP_COMPUTE, 0, p), slow = healthy / 0.7;
        kit_assert_within("rank 3", kit_metric(&run, METRIC_STEP_COMPUTE, 3, p), healthy, 1e-4);
        kit_assert_within("rank 2", kit_metric(&run, METRIC_STEP_COMPUTE, 2, p), slow, 1e-4);
        kit_assert_within("rank 1", kit_metric(&run, METRIC_STEP_COMPUTE, 1, p), healthy / 0.9, 1e-4);
        kit_assert_within("rank 0 waits", kit_metric(&run, METRIC_STEP_WAIT, 0, p), slow - healthy, 0.15);
        assert_true(kit_metric(&run, METRIC_STEP_WAIT, 2, p) < 0.02 * slow);
    }
    kit_close(&run);
}

/* Both 2 000 000 steps and their memory are out of the question. */
UNIT_TEST_OF("sim", limits_leave_fewer_steps)
{
    struct kit_run run = kit_in_sim(4, "");

    run.criteria.training_steps_count = 2e6;
    run.criteria.stage_limit_s = 1;
    run.stage[0] = stage_training;
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_training, 3);
    assert_true(run.took_ns > 300000000 && run.took_ns <= 1000000000);
    for (int i = 0; i < 3; i++) {
        const struct scaled_training *s = &run.accepted.training[i];
        assert_true(s->n_steps > 10 && s->n_steps < 100000 && s->n_steps == run.accepted.training[0].n_steps);
        assert_true(s->n_measured_steps <= s->n_steps && 2 * s->n_measured_steps >= s->n_steps);
    }
    kit_close(&run);
}

UNIT_TEST_OF("sim", a_limit_shorter_than_the_pace_ends_it)
{
    struct kit_run run = kit_in_sim(4, "");

    run.criteria.stage_limit_s = 1e-6;
    run.stage[0] = stage_training;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(a->n_training, 0); /* what measures the pace takes longer */
    assert_non_null(strstr(a->stage[ACCEPT_TRAINING].why, "ended before it had trained at 1 nodes: ended after"));
    kit_close(&run);
}

UNIT_TEST_OF("sim", a_run_of_few_steps_has_one_part)
{
    struct kit_run run = kit_in_sim(4, "");

    run.criteria.training_steps_count = 9;
    run.stage[0] = stage_training;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(a->n_training, 3);
    assert_int_equal(a->metric[METRIC_STEP_COMPUTE].n_repeats, 1);
    assert_int_equal(a->training[2].n_steps, 9);
    assert_int_equal(a->training[2].n_measured_steps, 9);
    kit_close(&run);
}

/* --- integrity, soak --- */

static void assert_flip(int n_ranks, const char *inject, int rank)
{
    struct kit_run run = kit_in_sim(n_ranks, "");

    run.inject = inject;
    run.stage[0] = stage_integrity;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(a->n_corruptions, 1);
    assert_int_equal(a->corruption[0].rank, rank);
    assert_int_equal(a->corruption[0].step, 9); /* behind 10 steps */
    assert_true(strlen(a->corruption[0].segment) > 3 && strchr(a->corruption[0].segment, '/'));
    assert_int_equal(a->integrity_checks_count, 2);
    assert_int_equal(a->integrity_every_steps, 5);
    kit_close(&run);
}

UNIT_TEST_OF("sim", a_flip_is_named)
{
    assert_flip(3, "flip:1@6", 1);
}

UNIT_TEST_OF("sim", a_flip_of_two_ranks)
{
    assert_flip(2, "flip:1@7", -1);
}

UNIT_TEST_OF("sim", a_soak_is_as_long_as_asked)
{
    struct kit_run run = kit_in_sim(3, "");

    run.criteria.soak_minutes = 0.02;
    run.criteria.stage_limit_s = 0.5; /* of a part */
    run.stage[0] = stage_soak;
    kit_must_run(&run);
    const struct soak *s = &run.accepted.soak;
    assert_string_equal(run.accepted.stage[ACCEPT_SOAK].why, "");
    assert_true(s->minutes >= 0.02 && s->minutes < 0.03);
    assert_true(s->n_steps >= 10 && s->n_parts >= 9 && s->n_parts <= 12);
    assert_true(fabs(s->drift_ratio) < 1e-3 && s->worst_ratio >= 1 && s->worst_ratio < 1.001);
    kit_close(&run);
}

/* Trainings beside the one that measures the pace, as the soak orders them: the linker puts this in their place. */
enum { EVERY_TRAINING = 1 << 20 };
static int n_trainings, n_allowed = EVERY_TRAINING; /* later ones cannot be made */
static uint64_t last_longer = 1;                    /* times as many steps has the last that is allowed */
static uint64_t n_steps_each;                       /* of every training; 0: as many as are ordered */

enum rc __real_part_training_run(struct part_training_run *out, struct stage_env *env,
                                 const struct training_order *order);
enum rc __wrap_part_training_run(struct part_training_run *out, struct stage_env *env,
                                 const struct training_order *order);
enum rc __wrap_part_training_run(struct part_training_run *out, struct stage_env *env,
                                 const struct training_order *order)
{
    struct training_order longer = *order;
    int n = env->world->rank == 0 ? ++n_trainings : 0;
    enum rc rc;

    TRY(world_broadcast(env->world, &n, sizeof n));
    if (n_steps_each > 0)
        longer.n_steps = n_steps_each;
    if (n == n_allowed)
        longer.n_steps *= last_longer;
    if (n <= n_allowed)
        return __real_part_training_run(out, env, &longer);
    *out = (struct part_training_run){ .has_run = false };
    stage_why(env, order->stage, "rank 0 cannot train: it is out of memory");
    if (n > n_allowed + 8)
        FAIL(RC_INVAL, "it is tried for ever");
out:
    return rc;
}

/* Regression: the soak tried the same training again until its minutes were over. */
UNIT_TEST_OF("sim", a_soak_ends_with_what_cannot_train)
{
    struct kit_run run = kit_in_sim(3, "");

    n_allowed = 3;
    run.criteria.soak_minutes = 0.02;
    run.stage[0] = stage_soak;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(n_trainings, 4);
    assert_int_equal(a->soak.n_parts, 3);
    assert_true(a->soak.minutes > 0.005 && a->soak.minutes < 0.008);
    assert_string_equal(strstr(a->stage[ACCEPT_SOAK].why, " of 0.02 minutes"),
                        " of 0.02 minutes: rank 0 cannot train: it is out of memory");
    kit_close(&run);
    run = kit_in_sim(3, ""); /* of fewer nodes than all no times of ranks are kept: the others have none */
    n_allowed = n_trainings + 1;
    run.stage[0] = stage_training;
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_training, 1);
    assert_int_equal(run.accepted.training[0].n_nodes, 1);
    assert_null(run.accepted.metric[METRIC_STEP_COMPUTE].value);
    kit_close(&run);
}

/* A part that is planned for a tenth of 1.2 s takes twenty times as long.
 * Regression: stage_limit_s never ended a soak. */
UNIT_TEST_OF("sim", a_limit_ends_a_soak)
{
    struct kit_run run = kit_in_sim(3, "");

    n_allowed = 2;
    last_longer = 5;
    run.criteria.soak_minutes = 0.02;
    run.criteria.stage_limit_s = 0.3;
    run.stage[0] = stage_soak;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(n_trainings, 2);
    assert_int_equal(a->soak.n_parts, 2);
    assert_true(a->soak.minutes > 0.0105 && a->soak.minutes < 0.0125);
    assert_non_null(strstr(a->stage[ACCEPT_SOAK].why, " of 0.02 minutes: ended after 0."));
    assert_non_null(strstr(a->stage[ACCEPT_SOAK].why, "at the limit of stage_limit_s: 0.3"));
    kit_close(&run);
}

/* So does one that not even what measures the pace keeps. */
UNIT_TEST_OF("sim", a_short_limit_ends_a_soak_at_once)
{
    struct kit_run run = kit_in_sim(3, "");

    run.criteria.soak_minutes = 0.02;
    run.criteria.stage_limit_s = 1e-6;
    run.stage[0] = stage_soak;
    kit_must_run(&run);
    assert_int_equal(n_trainings, 0);
    assert_int_equal(run.accepted.soak.n_steps, 0);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_SOAK].why, "ended after 0 of 0.02 minutes: ended after "));
    kit_close(&run);
}

/* --- everywhere --- */

static int n_given;
static const char *world_given;

static void assert_healthy(const struct kit_run *run)
{
    const struct acceptance *a = &run->accepted;

    if (!a->node) /* in mpi other ranks have nothing */
        return;
    assert_int_equal(a->n_collective, 2);
    assert_int_equal(a->n_ps, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(a->collective[i].bytes_per_s > 0 && a->ps[i].bytes_per_s > 0);
        assert_true(a->collective[i].n_repeats >= 3 && a->ps[i].n_repeats >= 3);
        assert_true(isnan(a->ps[i].bound_ratio) && isnan(a->collective[i].bound_ratio)); /* no tournament */
    }
    assert_true(a->n_training >= 1 && a->training[a->n_training - 1].n_ranks == run->n_ranks);
    assert_true(a->training[0].samples_per_s > 0);
    assert_int_equal(a->integrity_checks_count, 4);
    assert_int_equal(a->n_corruptions, 0);
    assert_true(run->progress > 0.9 && run->n_progress > 4);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        assert_string_equal(a->stage[s].why, "");
}

/* KIT_MAX_STAGES of them. */
UNIT_TEST(every_stage_runs)
{
    struct kit_run run = kit_in_threads(3);

    if (n_given > 0) {
        run.world = run.transport = world_given;
        run.n_ranks = n_given;
    }
    run.stage[0] = stage_collectives;
    run.stage[1] = stage_ps;
    run.stage[2] = stage_training;
    run.stage[3] = stage_integrity;
    kit_must_run(&run);
    assert_healthy(&run);
    kit_close(&run);
}

UNIT_TEST(a_flip_is_named_in_threads)
{
    struct kit_run run = kit_in_threads(3);

    run.inject = "flip:2@11";
    run.stage[0] = stage_integrity;
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_corruptions, 1);
    assert_int_equal(run.accepted.corruption[0].rank, 2);
    assert_int_equal(run.accepted.corruption[0].step, 14);
    kit_close(&run);
}

/* accept.D2, S1 */
UNIT_TEST(one_rank_has_no_data)
{
    struct kit_run run = kit_in_threads(1);

    run.stage[0] = stage_collectives;
    run.stage[1] = stage_ps;
    run.stage[2] = stage_integrity;
    run.stage[3] = stage_soak;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_true(a->n_collective == 0 && a->n_ps == 0 && a->integrity_checks_count == 0 && a->soak.n_steps == 0);
    assert_string_equal(a->stage[ACCEPT_COLLECTIVES].why, "one rank has no other rank to sum with");
    assert_string_equal(a->stage[ACCEPT_PS].why, "one rank has no server to push to");
    assert_string_equal(a->stage[ACCEPT_INTEGRITY].why, "one rank has no other rank to compare its parameters with");
    assert_string_equal(a->stage[ACCEPT_SOAK].why, "soak_minutes is 0: there is nothing to do");
    kit_close(&run);
}

/* accept.R2: no error, and the reason. */
UNIT_TEST(what_cannot_train_is_no_data)
{
    struct kit_run run = kit_in_threads(2);

    snprintf(run.criteria.training_model, sizeof run.criteria.training_model, "resnet51");
    snprintf(run.criteria.reducer, sizeof run.criteria.reducer, "rign");
    run.stage[0] = stage_training;
    run.stage[1] = stage_integrity;
    run.stage[2] = stage_collectives;
    kit_must_run(&run);
    const struct acceptance *a = &run.accepted;
    assert_int_equal(a->n_training, 0);
    assert_true(!a->metric[METRIC_STEP_COMPUTE].value);
    assert_non_null(strstr(a->stage[ACCEPT_TRAINING].why, "rank 0 cannot train: "));
    assert_non_null(strstr(a->stage[ACCEPT_COLLECTIVES].why, "ring"));
    assert_true(a->stage[ACCEPT_INTEGRITY].why[0] != '\0');
    kit_close(&run);
}

/* The four steps that measure the pace are shown one by one, those of the soak eleven by eleven: the signal comes
 * behind its step 33. */
UNIT_TEST(a_signal_ends_a_soak_between_steps)
{
    struct kit_run run = kit_in_threads(2);

    n_steps_each = 640;
    run.criteria.soak_minutes = 600;
    run.signal = SIGTERM;
    run.signal_at = 4 + 2;
    run.stage[0] = stage_soak;
    stop_catch();
    kit_must_run(&run);
    stop_release();
    n_steps_each = 0;
    assert_int_equal(run.accepted.soak.n_parts, 1);
    assert_in_range(run.accepted.soak.n_steps, 33, 639);
    assert_true(run.accepted.soak.minutes > 0);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_SOAK].why, "of 600 minutes"));
    kit_close(&run);
}

/* A rank alone, in the one training that there is, behind the four steps that measure its pace. */
UNIT_TEST(a_signal_cuts_a_training_short)
{
    struct kit_run run = kit_in_threads(1);
    char why[ACCEPT_TEXT_BYTES];

    run.criteria.training_steps_count = 640;
    run.signal = SIGTERM;
    run.signal_at = 6;
    run.stage[0] = stage_training;
    stop_catch();
    kit_must_run(&run);
    stop_release();
    const struct acceptance *a = &run.accepted;
    assert_int_equal(a->n_training, 1);
    assert_in_range(a->training[0].n_steps, 1, 639);
    snprintf(why, sizeof why, "stopped after %d of 640 steps at 1 nodes", (int)a->training[0].n_steps);
    assert_string_equal(a->stage[ACCEPT_TRAINING].why, why);
    kit_close(&run);
}

/* As env->wait says, on every rank. */
static enum rc train_asleep(struct stage_env *env)
{
    const struct training_order order = {
        .stage = ACCEPT_TRAINING, .model = "linear", .n_nodes = 2, .n_steps = 2, .more = ""
    };
    struct part_training_run run;
    enum rc rc;

    TRY(part_training_run(&run, env, &order));
    if (!run.has_run || strcmp(run.job.opts.wait, "sleep") != 0)
        rc = rc_raise(RC_MISMATCH, "trained: %d, --wait %s", run.has_run, run.has_run ? run.job.opts.wait : "");
    part_training_close(&run);
out:
    return rc;
}

UNIT_TEST(ranks_wait_as_they_are_told)
{
    struct kit_run run = kit_in_threads(2);

    run.wait = "sleep";
    run.stage[0] = train_asleep;
    kit_must_run(&run);
    kit_close(&run);
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        world_given = argv[2];
        n_given = (int)strtol(argv[3], NULL, 10);
        return kit_run_case(argv[1], world_given);
    }
    return unit_run("trainings", NULL, NULL, NULL);
}
