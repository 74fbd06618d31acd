/* SPDX-License-Identifier: Apache-2.0 */
/* result_sent_test.c - what records say of compression, and of the bytes that ranks sent; numbers made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "harness/train/suite/result_kit.h"

/* Of record number `at` of this kind, among those of the run. */
static json_t *record_of(const struct made_run *m, const char *kind, int at)
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
    json_t *r = record_of(m, kind, at);

    expect_number(r, "sent_bytes_per_step", n_bytes);
    expect_number(r, "sent_ratio", ratio);
    json_decref(r);
}

static void expect_compression(const struct made_run *m, const char *text)
{
    json_t *r = record_of(m, "summary", 0);

    if (text)
        assert_string_equal(json_string_value(json_object_get(r, "compression")), text);
    else
        assert_true(json_is_null(json_object_get(r, "compression")));
    json_decref(r);
}

static void each_rank_and_the_mean_worker(void **state)
{
    struct made_run m;

    (void)state;
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
static void workers_that_end_apart_have_steps_of_their_own(void **state)
{
    enum { N_OF_0 = 12, N_OF_1 = 60 };
    struct made_run m;

    (void)state;
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

static void where_nothing_is_sent_there_is_no_ratio(void **state)
{
    struct made_run m;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_and_the_mean_worker),
        cmocka_unit_test(workers_that_end_apart_have_steps_of_their_own),
        cmocka_unit_test(where_nothing_is_sent_there_is_no_ratio),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
