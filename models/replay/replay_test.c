/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_test.c - the suite on replay.c, and on wrong versions of it that it must catch (models.M1 models.M2 models.M3
 * models.M6 models.M7 models.M8).
 *   replay_test [MUTANT]
 */
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "models/suite/profile_kit.h"
#include "models/suite/replay_suite.h"

static void count_ns(void *arg, uint64_t ns)
{
    *(uint64_t *)arg += ns;
}

UNIT_TEST(suite_holds)
{
    struct workload other;
    struct training_ops ops;

    assert_int_equal(replay_suite(&workload_replay, true), 0);
    assert_true(replay_mutant(&other, &ops, "none"));
    assert_int_equal(replay_suite(&other, true), 0);
}

UNIT_TEST(micro_batches_take_their_time)
{
    assert_int_equal(replay_micro_batches_suite(&workload_replay, true), 0);
}

UNIT_TEST(needs_a_profile)
{
    struct compute *c = NULL;
    struct training *t = NULL;

    assert_int_equal(compute_open(&c, &compute_hollow, NULL), RC_OK);
    const struct training_env env = { .compute = c, .max_batch = 8 };
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--profile"));
    assert_null(t);
    compute_close(&c);
}

/* A batch whose time overflows uint64_t ns is refused; the largest that does not is played to the nanosecond. */
UNIT_TEST(too_long_is_refused)
{
    struct profile *p = profile_kit_small();
    const uint64_t step_ns = p != NULL ? profile_step_ns(p) : 0, most = UINT64_MAX / (step_ns / 8 + 1);
    uint64_t passed_ns = 0;
    const struct compute_env heard = { .pass = count_ns, .arg = &passed_ns };
    struct compute *c = NULL;
    struct training *t = NULL;
    double loss;

    assert_non_null(p);
    assert_int_equal(compute_open(&c, &compute_hollow, &heard), RC_OK);
    struct training_env env = { .compute = c, .max_batch = most + 1, .profile = p };
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_INVAL);
    assert_non_null(strstr(rc_message(), "longer than can be counted"));
    env.max_batch = SIZE_MAX;
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_INVAL);
    assert_null(t);
    env.max_batch = most;
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_OK);
    assert_int_equal(workload_gradient(t, NULL, 0, most, NULL, &loss, NULL, NULL), RC_OK);
    assert_true(passed_ns / most == step_ns / 8);
    workload_close(&t);
    compute_close(&c);
    profile_close(&p);
}

enum { MAX_AWAITS = 8 };

struct awaits { /* what had passed when each segment was awaited */
    uint64_t passed_ns;
    size_t n;
    uint64_t at_ns[MAX_AWAITS], offset_elems[MAX_AWAITS];
};

static void awaits_pass(void *arg, uint64_t ns)
{
    ((struct awaits *)arg)->passed_ns += ns;
}

static enum rc note_await(void *arg, struct segment s)
{
    struct awaits *a = arg;

    if (a->n < MAX_AWAITS) {
        a->at_ns[a->n] = a->passed_ns;
        a->offset_elems[a->n] = s.offset_elems;
    }
    a->n++;
    return RC_OK;
}

/* models.M7: a layer's segments are awaited when the forward time of the layers before it has passed; in all, no other
 * time passes than without. At the profile's batch of 8 and at 4, rounded down. */
UNIT_TEST(awaits_are_spread_over_the_forward_pass)
{
    static const uint64_t offset[] = { 0, 45, 50, 3050, 3062 };
    static const uint64_t before_ns[] = { 1009, 1009, 28021, 28021, 68030 }; /* pad; pad, c1 and pool; and c2 */
    struct profile *p = profile_kit_small();
    struct awaits a = { 0 };
    const struct compute_env heard = { .pass = awaits_pass, .arg = &a };
    struct compute *c = NULL;
    struct training *t = NULL;
    double loss;

    assert_non_null(p);
    assert_int_equal(compute_open(&c, &compute_hollow, &heard), RC_OK);
    const struct training_env env = { .compute = c, .max_batch = 8, .profile = p };
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_OK);
    workload_set_await(t, note_await, &a);
    for (size_t batch = 8; batch >= 4; batch -= 4) {
        a.n = a.passed_ns = 0;
        assert_int_equal(workload_gradient(t, NULL, 0, batch, NULL, &loss, NULL, NULL), RC_OK);
        assert_int_equal(a.n, 5);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(a.offset_elems[i], offset[i]);
            assert_int_equal(a.at_ns[i], before_ns[i] * batch / 8);
        }
        assert_int_equal(a.passed_ns, profile_step_ns(p) * batch / 8);
    }
    workload_close(&t);
    compute_close(&c);
    profile_close(&p);
}

struct clock { /* goes on by `step_ns` from one reading to the next: what writing a layer's gradients takes */
    uint64_t now_ns, step_ns, passed_ns;
};

static uint64_t read_clock(void *arg)
{
    struct clock *c = arg;

    return c->now_ns += c->step_ns;
}

static void clock_pass(void *arg, uint64_t ns)
{
    ((struct clock *)arg)->passed_ns += ns;
}

/* What writing gradients takes is taken off the time of their layer, then of those behind: the layers' 21001 ns, 80021,
 * 39012 (with pool's) and 503. The forward time, 78037 ns, passes whole.
 * Regression: writing the gradients came on top of the recorded times. */
UNIT_TEST(writing_takes_no_time_of_its_own)
{
    static const struct {
        uint64_t step_ns, passed_ns;
    } expected[] = { { 400, 78037 + 20601 + 79621 + 38612 + 103 }, { 30000, 78037 + 41022 + 9012 }, { 100000, 78037 } };
    static float param[4096], grad[4096];
    struct profile *p = profile_kit_small();
    struct clock clock = { 0 };
    const struct compute_env heard = { .pass = clock_pass, .arg = &clock, .n_threads = 1 };
    struct compute *c = NULL;
    struct training *t = NULL;
    double loss;

    assert_non_null(p);
    assert_int_equal(compute_open(&c, &compute_cpu, &heard), RC_OK);
    const struct training_env env = { .compute = c, .max_batch = 8, .profile = p, .now_ns = read_clock };
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        clock = (struct clock){ .step_ns = expected[i].step_ns };
        assert_int_equal(workload_gradient(t, param, 0, 8, grad, &loss, NULL, NULL), RC_OK);
        assert_int_equal(clock.passed_ns, expected[i].passed_ns);
    }
    workload_close(&t);
    compute_close(&c);
    profile_close(&p);
}

static const char *mutant_name;

UNIT_TEST_OF("mutant", suite_catches)
{
    struct workload mutant;
    struct training_ops ops;

    assert_true(replay_mutant(&mutant, &ops, mutant_name));
    assert_int_not_equal(replay_suite(&mutant, false), 0);
}

int main(int argc, char **argv)
{
    mutant_name = argc > 1 ? argv[1] : NULL;
    return unit_run("replay", mutant_name ? "mutant" : NULL, NULL, NULL);
}
