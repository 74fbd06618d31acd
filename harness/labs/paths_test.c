/* SPDX-License-Identifier: Apache-2.0 */
/* paths_test.c - what a server held, the momentum that a path looks like, and records of a training, read back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/labs/curves.h"
#include "harness/labs/momentum.h"
#include "harness/labs/records.h"
#include "harness/labs/server_path.h"

/* y = 3 x - 2 without noise, x of mean 0 and mean square 1: loss (slope - 3)^2 + (offset + 2)^2. */
static const struct squares round_loss = { .x = 0, .y = -2, .xx = 1, .xy = 3, .yy = 13 };

/* Two workers of two steps; the second worker's are in between, and one is at the same time as one of the first's. */
static void updates_are_in_order(void **state)
{
    struct path_point point[] = { { 0, 0, NAN, 0, 0 }, { 1, 0, NAN, 1, 0 }, { 3, 0, NAN, 3, 0 },
                                  { 0, 0, NAN, 0, 0 }, { 2, 0, NAN, 2, 0 }, { 3, 0, NAN, 4, 0 } };
    const struct training_path t = { .n_workers = 2, .n_points = 3, .point = point };
    struct server_path p = { .point = NULL };

    (void)state;
    assert_int_equal(server_path_open(&p, &t, 10), RC_OK);
    assert_int_equal(p.n_points, 5);
    for (int i = 0; i < 5; i++)
        assert_true(p.point[i].slope == i && p.point[i].samples_count == 10 * i);
    assert_true(p.point[4].time_s == 3);
    server_path_close(&p);
    server_path_close(&p);
}

static void time_to_a_loss_is_of_a_mean(void **state)
{
    /* above the least by 9, 1, 9, 1, 1, 0: one low point does not count, two in a row do */
    struct path_point point[] = { { 0, 0, NAN, 0, -2 }, { 1, 0, NAN, 2, -2 }, { 2, 0, NAN, 6, -2 },
                                  { 3, 0, NAN, 4, -2 }, { 4, 0, NAN, 2, -2 }, { 5, 0, NAN, 3, -2 } };
    const struct server_path p = { 6, point };

    (void)state;
    assert_true(fabs(excess_loss(&round_loss, &point[0]) - 9) < 1e-12);
    assert_true(server_path_time_to(&p, &round_loss, 1, 1) == 1);
    assert_true(server_path_time_to(&p, &round_loss, 1, 2) == 3);
    assert_true(isnan(server_path_time_to(&p, &round_loss, 0.1, 2)));
    point[1].slope = (double)NAN;
    assert_true(server_path_time_to(&p, &round_loss, 1, 1) == 3);
}

/* By hand: curvature 2 both ways, rate 0.1. The first update is 0.1 x gradient, whatever the momentum. */
static void momentum_begins_with_the_rate(void **state)
{
    struct line_point p[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        const double momentum = k * 0.5;
        momentum_path(p, 3, &round_loss, momentum, 0.1);
        assert_true(p[0].slope == 0 && p[0].offset == 0);
        assert_true(fabs(p[1].slope - 0.6) < 1e-12 && fabs(p[1].offset + 0.4) < 1e-12);
        /* then momentum of that update, and 0.1 (1 - momentum) of the gradient there, 2 (0.6 - 3) */
        assert_true(fabs(p[2].slope - (0.6 + momentum * 0.6 + 0.1 * (1 - momentum) * 4.8)) < 1e-12);
    }
}

static void momentum_is_found(void **state)
{
    enum { N = 60 };
    static const double of[] = { 0, 0.3, 0.75, 0.9 };
    const struct squares other = { .x = 0.1, .y = 0.5, .xx = 0.3, .xy = 0.4, .yy = 2 };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct line_point made[2][N];
        struct path_point point[2][N];
        const struct squares *loss[2] = { &round_loss, &other };
        struct observed_path path[2];
        double found;
        for (int k = 0; k < 2; k++) {
            momentum_path(made[k], N, loss[k], of[i], 0.2);
            for (int t = 0; t < N; t++) /* noise that has no mean */
                point[k][t] = (struct path_point){ .slope = made[k][t].slope + (t % 2 ? 0.01 : -0.01),
                                                   .offset = made[k][t].offset };
            path[k] = (struct observed_path){ loss[k], point[k] };
        }
        assert_int_equal(momentum_fit(&found, path, 2, N, 0.2), RC_OK);
        if (fabs(found - of[i]) > 0.005)
            fail_msg("momentum %g, not %g", found, of[i]);
    }
}

static enum rc read_text(struct training_record *out, const char *text, char *path)
{
    const int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    const enum rc rc = training_record_read(out, path);
    (void)unlink(path);
    return rc;
}

#define STEP "{\"kind\":\"step\",\"samples_count\":64,\"loss\":%s,\"wall_s\":%s,\"virtual_s\":%s}\n"

#define RANK "{\"kind\":\"rank\",\"role\":\"%s\",\"compute_s\":%s,\"wait_s\":%s,\"part_batch_count\":%s}\n"

static void records_are_read(void **state)
{
    static const char summary[] =
        "{\"kind\":\"summary\",\"staleness_mean_count\":2.5,\"seconds_to_target_loss_s\":null,"
        "\"samples_to_target_loss_count\":99,\"wall_s\":null,\"virtual_s\":7,\"step_mean_s\":0.125,"
        "\"exposed_comm_s\":0.0625,\"throughput_samples_per_s\":512,\"accuracy_ratio\":0.875}\n";
    char path[] = "/tmp/paths_test.XXXXXX", text[2048];
    struct training_record r = { .command = "kept", .process_s = 3 };

    (void)state;
    snprintf(text, sizeof text, "{\"kind\":\"manifest\"}\n" STEP STEP RANK RANK RANK "%s", "1.5", "0.25", "null",
             "null", "null", "0.75", "worker", "0.5", "0.25", "24", "server", "9", "9", "9", "worker", "1", "null",
             "null", summary);
    assert_int_equal(read_text(&r, text, path), RC_OK);
    assert_int_equal(r.n_points, 2);
    assert_true(r.point[0].loss == 1.5 && r.point[0].time_s == 0.25 && r.point[0].samples_count == 64);
    assert_true(isnan(r.point[1].loss) && r.point[1].time_s == 0.75);
    assert_true(r.staleness_mean_count == 2.5 && r.samples_to_target_count == 99 && isnan(r.seconds_to_target_s));
    assert_true(r.run_s == 7 && r.step_s == 0.125 && r.exposed_comm_s == 0.0625);
    assert_true(r.throughput_samples_per_s == 512 && r.accuracy_ratio == 0.875);
    assert_int_equal(r.n_workers, 2); /* the server is none */
    assert_true(r.worker[0].compute_s == 0.5 && r.worker[0].wait_s == 0.25 && r.worker[0].batch_count == 24);
    assert_true(r.worker[1].compute_s == 1 && isnan(r.worker[1].wait_s) && isnan(r.worker[1].batch_count));
    training_record_close(&r);
    training_record_close(&r);
    assert_true(r.run_s == 7 && r.process_s == 3 && strcmp(r.command, "kept") == 0 && r.n_points == 0);
}

static void others_are_refused(void **state)
{
#define A_STEP "{\"kind\":\"step\",\"loss\":1}\n"
#define A_WORKER "{\"kind\":\"rank\",\"role\":\"worker\"}\n"
#define A_SUMMARY "{\"kind\":\"summary\"}\n"
    static const struct {
        const char *text, *message;
    } bad[] = { { "", ": of its 0 records none is the summary" },
                { A_WORKER A_SUMMARY, ": of its 2 records" },
                { A_STEP A_SUMMARY, ": of its 2 records" },
                { A_STEP A_WORKER, ": of its 2 records" },
                { A_STEP "{\"kind\":\"rank\",\"role\":\"server\"}\n" A_SUMMARY, ": of its 3 records" },
                { A_STEP A_WORKER "no record\n" A_SUMMARY, ":3: is no record" },
                { A_STEP "{\"loss\":1}\n", ":2: is no record" } };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[] = "/tmp/paths_test.XXXXXX";
        struct training_record r = { .point = NULL };
        assert_int_equal(read_text(&r, bad[i].text, path), RC_MISMATCH);
        if (!strstr(rc_message(), path) || !strstr(rc_message(), bad[i].message))
            fail_msg("case %zu: '%s' has no '%s'", i, rc_message(), bad[i].message);
        assert_true(!r.point && !r.worker && r.n_points == 0 && r.n_workers == 0);
        training_record_close(&r);
    }
}

/* Every point to the 61st, then ever fewer, and the last one once. */
static void curves_end_at_the_last_point(void **state)
{
    (void)state;
    assert_int_equal(curves_next(0, 5), 1);
    assert_int_equal(curves_next(3, 5), 4);
    assert_int_equal(curves_next(4, 5), 5);
    assert_int_equal(curves_next(600, 1000), 611);
    assert_int_equal(curves_next(998, 1000), 999);
    assert_int_equal(curves_next(999, 1000), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_are_in_order),
        cmocka_unit_test(time_to_a_loss_is_of_a_mean),
        cmocka_unit_test(momentum_begins_with_the_rate),
        cmocka_unit_test(momentum_is_found),
        cmocka_unit_test(records_are_read),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(curves_end_at_the_last_point),
    };

    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
