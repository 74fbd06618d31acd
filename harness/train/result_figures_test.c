/* SPDX-License-Identifier: Apache-2.0 */
/* result_figures_test.c - records of made-up runs: changes of speed, stalls, time to a loss, lost ranks, bytes. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
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
UNIT_TEST(a_switch_is_recorded)
{
    struct made_run m;

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
UNIT_TEST(stalls_are_exchange)
{
    struct made_run m;

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
UNIT_TEST(a_target_is_of_so_many_samples)
{
    static const struct {
        uint64_t n_samples;
        double seconds;
        uint64_t samples_count;
    } c[] = { { 28, 0.05, 49 }, { 15, 0.05, 49 }, { 29, 0.06, 63 }, { 140, 0.155, 154 }, { 0, 0.155, 154 } };
    struct made_run m;

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

UNIT_TEST(a_summary_says_how_the_run_went)
{
    struct made_run m;

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

/* Figures and records of a made-up run (result_kit.h) that has lost its last worker. */

static struct train_loss lost_worker = {
    .rank = 2, .was_seen = true, .duty = { PHASE_STEP, 20, -1 }, .why = "silent for 6.0 s: in step 20"
};

/* Of 3 workers the last is lost, in step 20 of 24. */
static void lose_worker(struct made_run *m)
{
    struct train_result *r = &m->result;

    m->job.on_loss = ON_LOSS_REPORT;
    r->n_workers = r->n_ranks = 2;
    r->n_steps = 20;
    memmove(r->stamp + 20, r->stamp + 24, 20 * sizeof *r->stamp); /* [n_workers][n_steps] */
    r->loss = &lost_worker;
    r->n_losses = 1;
}

static void assert_holds(const char *text, const char *part)
{
    if (n_times(text, part) != 1)
        fail_msg("%d times \"%s\" in %s", n_times(text, part), part, text);
}

/* 2 workers x 8 samples in 10 ms, of 2 x 8 / 8 ms; the wire's 7.5 ms bound 2 workers to 16 samples in them. */
UNIT_TEST(figures_count_survivors_only)
{
    struct made_run m;
    struct train_summary s;

    made_allreduce(&m);
    lose_worker(&m);
    assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
    assert_true(fabs(s.measured.throughput_samples_per_s.mean - 1600) < 1e-9);
    assert_true(fabs(s.baseline_samples_per_s - 1000) < 1e-9);
    assert_true(fabs(s.efficiency_ratio - 0.8) < 1e-12);
    assert_true(fabs(s.bound_ratio - 0.75) < 1e-12);
    assert_int_equal(s.steps.n_workers, 2);
    assert_int_equal(s.steps.n_steps, 20);
    made_free(&m);
}

UNIT_TEST(records_name_the_lost_rank)
{
    struct made_run m;

    made_allreduce(&m);
    lose_worker(&m);
    char *text = made_records(&m);
    assert_holds(text, "{\"kind\":\"loss\",\"rank\":2,\"phase\":\"step\",\"step_index\":20,"
                       "\"why\":\"silent for 6.0 s: in step 20\"}");
    assert_holds(text, "\"lost_ranks\":[2]");
    assert_holds(text, "\"steps_count\":20,");
    assert_holds(text, "\"workers_count\":3,");
    assert_int_equal(n_times(text, "\"kind\":\"rank\""), 2);
    assert_int_equal(n_times(text, "\"kind\":\"step\""), 3); /* 0, 10, and the last, 19: 20 x 2 x 8 samples */
    assert_holds(text, "\"step_index\":19,\"samples_count\":320,");
    assert_int_equal(n_times(text, "\"step_index\":20,\"samples_count\""), 0);
    free(text);
    made_free(&m);
}

/* A worker in the middle: those that are left keep their numbers in the run. */
UNIT_TEST(ranks_keep_their_numbers)
{
    struct made_run m;
    struct train_loss loss = { .rank = 1, .why = "ended before its work was done" };

    made_allreduce(&m);
    lose_worker(&m);
    m.result.loss = &loss;
    m.result.rank[1].number = 2;
    char *text = made_records(&m);
    assert_holds(text, "\"kind\":\"rank\",\"rank\":0,");
    assert_holds(text, "\"kind\":\"rank\",\"rank\":2,");
    assert_holds(text, "{\"kind\":\"loss\",\"rank\":1,\"phase\":null,\"step_index\":null,"
                       "\"why\":\"ended before its work was done\"}");
    free(text);
    made_free(&m);
}

/* The key is there where ranks may be lost, and nowhere else. */
UNIT_TEST(runs_without_losses_say_so_or_nothing)
{
    struct made_run m;

    made_allreduce(&m);
    char *text = made_records(&m);
    assert_int_equal(n_times(text, "lost_ranks"), 0);
    free(text);
    m.job.on_loss = ON_LOSS_REPORT;
    text = made_records(&m);
    assert_holds(text, "\"lost_ranks\":[]");
    assert_int_equal(n_times(text, "\"kind\":\"loss\""), 0);
    free(text);
    made_free(&m);
}

/* What records say of compression, and of the bytes that ranks sent; numbers made up. */

/* Of record number `at` of this kind, among those of the run. */
static json_t *record_of_kind(const struct made_run *m, const char *kind, int at)
{
    char *text = made_records(m), *rest = NULL;
    json_t *found = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *r = json_loads(line, 0, NULL);
        assert_non_null(r);
        if (!found && strcmp(json_string_value(json_object_get(r, "kind")), kind) == 0 && at-- == 0)
            found = json_incref(r);
        json_decref(r);
    }
    free(text);
    assert_non_null(found);
    return found;
}

/* NaN: null */
static void expect_number(json_t *record, const char *key, double value)
{
    json_t *v = json_object_get(record, key);

    assert_non_null(v);
    if (isnan(value))
        assert_true(json_is_null(v));
    else
        assert_true(fabs(json_number_value(v) - value) <= 1e-12 * fabs(value));
}

static void expect_sent(const struct made_run *m, const char *kind, int at, double n_bytes, double ratio)
{
    json_t *r = record_of_kind(m, kind, at);

    expect_number(r, "sent_bytes_per_step", n_bytes);
    expect_number(r, "sent_ratio", ratio);
    json_decref(r);
}

static void expect_compression(const struct made_run *m, const char *text)
{
    json_t *r = record_of_kind(m, "summary", 0);

    if (text)
        assert_string_equal(json_string_value(json_object_get(r, "compression")), text);
    else
        assert_true(json_is_null(json_object_get(r, "compression")));
    json_decref(r);
}

UNIT_TEST(each_rank_and_the_mean_worker)
{
    struct made_run m;

    made_ps(&m);
    const double n_steps = (double)m.result.n_steps;
    m.job.exchange.compression = (struct compression){ COMPRESSION_TOPK, 0.25 };
    m.result.rank[0].sent_bytes = (uint64_t)(n_steps * 300);
    m.result.rank[1].sent_bytes = (uint64_t)(n_steps * 100);
    m.result.rank[2].sent_bytes = (uint64_t)(n_steps * 900);
    m.result.rank[0].full_bytes = m.result.rank[1].full_bytes = 400;
    m.result.rank[2].full_bytes = 800;
    expect_sent(&m, "rank", 0, 300, 0.75);
    expect_sent(&m, "rank", 1, 100, 0.25);
    expect_sent(&m, "rank", 2, 900, 1.125);
    expect_sent(&m, "summary", 0, 200, 0.5);
    expect_compression(&m, "topk:0.25");
    made_free(&m);
}

/* --stop-at-step: what a worker sent is of its own steps, not of those that all have done. */
UNIT_TEST(workers_that_end_apart_have_steps_of_their_own)
{
    enum { N_OF_0 = 12, N_OF_1 = 60 };
    struct made_run m;

    made_ps(&m);
    m.job.exchange.stop_at = N_OF_0 + N_OF_1;
    m.result.rank[0].steps_count = N_OF_0;
    m.result.rank[1].steps_count = N_OF_1;
    m.result.rank[0].sent_bytes = N_OF_0 * 400;
    m.result.rank[1].sent_bytes = N_OF_1 * 400;
    m.result.rank[2].sent_bytes = (N_OF_0 + N_OF_1) * 800;
    m.result.rank[0].full_bytes = m.result.rank[1].full_bytes = 400;
    m.result.rank[2].full_bytes = 800;
    expect_sent(&m, "rank", 0, 400, 1);
    expect_sent(&m, "rank", 1, 400, 1);
    expect_sent(&m, "rank", 2, 1600, 2); /* replies to two workers */
    expect_sent(&m, "summary", 0, 400, 1);
    made_free(&m);
}

UNIT_TEST(where_nothing_is_sent_there_is_no_ratio)
{
    struct made_run m;

    made_allreduce(&m); /* in shared memory, say */
    expect_sent(&m, "rank", 1, 0, NAN);
    expect_sent(&m, "summary", 0, 0, NAN);
    expect_compression(&m, "none");
    made_free(&m);
    made_single(&m);
    expect_sent(&m, "rank", 0, NAN, NAN);
    expect_sent(&m, "summary", 0, NAN, NAN);
    expect_compression(&m, NULL);
    made_free(&m);
}

UNIT_MAIN("result_figures")
