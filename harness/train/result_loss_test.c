/* SPDX-License-Identifier: Apache-2.0 */
/* result_loss_test.c - figures and records of a made-up run (result_kit.h) that has lost its last worker. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/train/suite/result_kit.h"

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

static int n_times(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void assert_holds(const char *text, const char *part)
{
    if (n_times(text, part) != 1)
        fail_msg("%d times \"%s\" in %s", n_times(text, part), part, text);
}

/* 2 workers x 8 samples in 10 ms, of 2 x 8 / 8 ms; the wire's 7.5 ms bound 2 workers to 16 samples in them. */
static void figures_count_survivors_only(void **state)
{
    struct made_run m;
    struct train_summary s;

    (void)state;
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

static void records_name_the_lost_rank(void **state)
{
    struct made_run m;

    (void)state;
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
static void ranks_keep_their_numbers(void **state)
{
    struct made_run m;
    struct train_loss loss = { .rank = 1, .why = "ended before its work was done" };

    (void)state;
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
static void runs_without_losses_say_so_or_nothing(void **state)
{
    struct made_run m;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_count_survivors_only),
        cmocka_unit_test(records_name_the_lost_rank),
        cmocka_unit_test(ranks_keep_their_numbers),
        cmocka_unit_test(runs_without_losses_say_so_or_nothing),
    };

    return cmocka_run_group_tests_name("result_loss", tests, NULL, NULL);
}
