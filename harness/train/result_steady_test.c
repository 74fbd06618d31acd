/* SPDX-License-Identifier: Apache-2.0 */
/* result_steady_test.c - the records of made-up runs whose speed switches, or whose steps stall; the time to a loss
 * whose mean is over so many samples. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "harness/train/suite/result_kit.h"

enum { N_STEPS = 60 };

/* The run of made_single with other steps: 10 ms, from step 30 on 20. */
static void made_switch(struct made_run *m)
{
    made_single(m);
    free(m->result.stamp);
    free(m->result.lr);
    m->job.n_steps = m->result.n_steps = N_STEPS;
    m->job.opts.record_every = N_STEPS;
    m->result.stamp = calloc(N_STEPS, sizeof *m->result.stamp);
    m->result.lr = calloc(N_STEPS, sizeof *m->result.lr);
    assert_true(m->result.stamp && m->result.lr);
    for (uint64_t t = 0, at_ns = 0; t < N_STEPS; t++) {
        const uint64_t end_ns = at_ns + (t < 30 ? 10000000 : 20000000);

        m->result.stamp[t] = (struct step_stamp){ .start_ns = at_ns, .ready_ns = end_ns, .end_ns = end_ns };
        at_ns = end_ns;
    }
}

/* The last record; freed by the caller. */
static json_t *summary_of(const struct made_run *m)
{
    char *text = made_records(m);
    json_t *summary = json_loads(strstr(text, "{\"kind\":\"summary\""), 0, NULL);

    free(text);
    assert_non_null(summary);
    return summary;
}

static void assert_number(const json_t *record, const char *key, double expected)
{
    const double value = json_number_value(json_object_get(record, key));

    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%s is %.17g, not %.17g", key, value, expected);
}

/* When and by how much; 8 samples in 15 ms are of both speeds. */
static void a_switch_is_recorded(void **state)
{
    struct made_run m;

    (void)state;
    made_switch(&m);
    json_t *s = summary_of(&m);
    assert_string_equal(json_string_value(json_object_get(s, "steady_state")), "switch");
    assert_number(s, "speed_switch_round_index", 30);
    assert_number(s, "speed_switch_ratio", 0.5);
    assert_true(json_is_integer(json_object_get(s, "warmup_rounds_count")));
    assert_number(s, "warmup_rounds_count", 0);
    assert_number(s, "rounds_count", 60);
    assert_number(s, "throughput_samples_per_s", 8 / 0.015);
    assert_number(s, "step_min_s", 0.01);
    assert_number(s, "step_p99_s", 0.02);
    json_decref(s);
    made_free(&m);
}

/* Record `index` of all; freed by the caller. */
static json_t *record_of(const struct made_run *m, int index)
{
    char *text = made_records(m), *line = text;

    for (int i = 0; i < index && line; i++)
        line = strchr(line, '\n') + 1;
    json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    free(text);
    assert_non_null(record);
    return record;
}

/* What a worker waited for parameters inside a step is exchange. */
static void stalls_are_exchange(void **state)
{
    struct made_run m;

    (void)state;
    made_ps(&m);
    for (size_t step = 0; step < m.job.n_steps; step++)
        m.result.stamp[step].stalled_ns = 1500000;
    json_t *first = record_of(&m, 13), *second = record_of(&m, 14);
    assert_number(first, "compute_s", 0.0045);
    assert_number(first, "exchange_s", 0.0055);
    assert_number(second, "compute_s", 0.009);
    json_decref(first);
    json_decref(second);
    made_free(&m);
}

/* Two workers of 7 samples a step, the first two losses of one and the first of the other high: the mean of 2 steps of
 * each is low when the first has made 5 of 10 ms, of 3 steps when it has made 6. */
static void a_target_is_of_so_many_samples(void **state)
{
    static const struct {
        uint64_t n_samples;
        double seconds;
        uint64_t samples_count;
    } c[] = { { 28, 0.05, 49 }, { 15, 0.05, 49 }, { 29, 0.06, 63 }, { 140, 0.155, 154 }, { 0, 0.155, 154 } };
    struct made_run m;

    (void)state;
    made_ps(&m);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct train_summary s;
        m.job.opts.target_samples = c[i].n_samples;
        assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
        if (fabs(s.seconds_to_target_loss - c[i].seconds) > 1e-12 ||
            s.samples_to_target_loss_count != c[i].samples_count)
            fail_msg("of %llu samples: after %g s, %llu samples", (unsigned long long)c[i].n_samples,
                     s.seconds_to_target_loss, (unsigned long long)s.samples_to_target_loss_count);
    }
    made_free(&m);
}

static void a_summary_says_how_the_run_went(void **state)
{
    struct made_run m;

    (void)state;
    made_ps(&m);
    m.result.stop_signal = SIGTERM;
    m.job.opts.save_every = 4;
    m.result.saves = (struct train_saves){ .n_written = 2, .n_failed = 1, .spent_s = 0.25 };
    m.job.restarts = (struct train_restarts){ .n = 2, .from_steps = { 40, 80 } };
    json_t *s = summary_of(&m), *from = json_object_get(s, "restarted_from_steps");
    assert_string_equal(json_string_value(json_object_get(s, "stopped_by")), "SIGTERM");
    assert_number(s, "saves_count", 2);
    assert_number(s, "failed_saves_count", 1);
    assert_number(s, "saving_s", 0.25);
    assert_number(s, "restarts_count", 2);
    assert_true(json_array_size(from) == 2 && json_integer_value(json_array_get(from, 0)) == 40 &&
                json_integer_value(json_array_get(from, 1)) == 80);
    json_decref(s);
    made_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_switch_is_recorded), cmocka_unit_test(stalls_are_exchange),
                                        cmocka_unit_test(a_target_is_of_so_many_samples),
                                        cmocka_unit_test(a_summary_says_how_the_run_went) };

    return cmocka_run_group_tests_name("result_steady", tests, NULL, NULL);
}
