/* SPDX-License-Identifier: Apache-2.0 */
/* paths_test.c - what a server held, the momentum that a path looks like, and records of a training, read back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"
#include "harness/labs/curves.h"
#include "harness/labs/momentum.h"
#include "harness/labs/records.h"
#include "harness/labs/server_path.h"

/* y = 3 x - 2 without noise, x of mean 0 and mean square 1: loss (slope - 3)^2 + (offset + 2)^2. */
static const struct squares round_loss = { .x = 0, .y = -2, .xx = 1, .xy = 3, .yy = 13 };

/* Two workers of two steps; the second worker's are in between, and one is at the same time as one of the first's. */
UNIT_TEST(updates_are_in_order)
{
    struct path_point point[] = { { 0, 0, NAN, 0, 0 }, { 1, 0, NAN, 1, 0 }, { 3, 0, NAN, 3, 0 },
                                  { 0, 0, NAN, 0, 0 }, { 2, 0, NAN, 2, 0 }, { 3, 0, NAN, 4, 0 } };
    const struct training_path t = { .n_workers = 2, .n_points = 3, .point = point };
    struct server_path p = { .point = NULL };

    assert_int_equal(server_path_open(&p, &t, 10), RC_OK);
    assert_int_equal(p.n_points, 5);
    for (int i = 0; i < 5; i++)
        assert_true(p.point[i].slope == i && p.point[i].samples_count == 10 * i);
    assert_true(p.point[4].time_s == 3);
    server_path_close(&p);
    server_path_close(&p);
}

UNIT_TEST(time_to_a_loss_is_of_a_mean)
{
    /* above the least by 9, 1, 9, 1, 1, 0: one low point does not count, two in a row do */
    struct path_point point[] = { { 0, 0, NAN, 0, -2 }, { 1, 0, NAN, 2, -2 }, { 2, 0, NAN, 6, -2 },
                                  { 3, 0, NAN, 4, -2 }, { 4, 0, NAN, 2, -2 }, { 5, 0, NAN, 3, -2 } };
    const struct server_path p = { 6, point };

    assert_true(fabs(excess_loss(&round_loss, &point[0]) - 9) < 1e-12);
    assert_true(server_path_time_to(&p, &round_loss, 1, 1) == 1);
    assert_true(server_path_time_to(&p, &round_loss, 1, 2) == 3);
    assert_true(isnan(server_path_time_to(&p, &round_loss, 0.1, 2)));
    point[1].slope = (double)NAN;
    assert_true(server_path_time_to(&p, &round_loss, 1, 1) == 3);
}

/* By hand: curvature 2 both ways, rate 0.1. The first update is 0.1 x gradient, whatever the momentum. */
UNIT_TEST(momentum_begins_with_the_rate)
{
    struct line_point p[3];

    for (int k = 0; k < 2; k++) {
        const double momentum = k * 0.5;
        momentum_path(p, 3, &round_loss, momentum, 0.1);
        assert_true(p[0].slope == 0 && p[0].offset == 0);
        assert_true(fabs(p[1].slope - 0.6) < 1e-12 && fabs(p[1].offset + 0.4) < 1e-12);
        /* then momentum of that update, and 0.1 (1 - momentum) of the gradient there, 2 (0.6 - 3) */
        assert_true(fabs(p[2].slope - (0.6 + momentum * 0.6 + 0.1 * (1 - momentum) * 4.8)) < 1e-12);
    }
}

UNIT_TEST(momentum_is_found)
{
    enum { N = 60 };
    static const double of[] = { 0, 0.3, 0.75, 0.9 };
    const struct squares other = { .x = 0.1, .y = 0.5, .xx = 0.3, .xy = 0.4, .yy = 2 };

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
    make_text(path, text);
    const enum rc rc = training_record_read(out, path);
    (void)unlink(path);
    return rc;
}

#define STEP "{\"kind\":\"step\",\"samples_count\":64,\"loss\":%s,\"wall_s\":%s,\"virtual_s\":%s}\n"

#define RANK "{\"kind\":\"rank\",\"role\":\"%s\",\"compute_s\":%s,\"wait_s\":%s,\"part_batch_count\":%s}\n"

#define STAGES                                                                                   \
    "{\"kind\":\"stage\",\"planned_held_micro_batches_count\":7,\"held_micro_batches_count\":2," \
    "\"activations_bytes\":1000,\"memory_bytes\":3000}\n{\"kind\":\"stage\",\"held_micro_batches_count\":1}\n"

UNIT_TEST(records_are_read)
{
    static const char summary[] =
        "{\"kind\":\"summary\",\"staleness_mean_count\":2.5,\"seconds_to_target_loss_s\":null,"
        "\"samples_to_target_loss_count\":99,\"wall_s\":null,\"virtual_s\":7,\"step_mean_s\":0.125,"
        "\"exposed_comm_s\":0.0625,\"throughput_samples_per_s\":512,\"accuracy_ratio\":0.875}\n";
    char path[] = "/tmp/paths_test.XXXXXX", text[2048];
    struct training_record r = { .command = "kept", .process_s = 3 };

    snprintf(text, sizeof text, "{\"kind\":\"manifest\"}\n" STEP STEP RANK RANK RANK STAGES "%s", "1.5", "0.25", "null",
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
    assert_int_equal(r.n_stages, 2);
    assert_true(r.stage[0].held_count == 2 && r.stage[0].activations_bytes == 1000);
    assert_true(r.stage[1].held_count == 1 && isnan(r.stage[1].activations_bytes));
    training_record_close(&r);
    training_record_close(&r);
    assert_true(r.run_s == 7 && r.process_s == 3 && strcmp(r.command, "kept") == 0 && r.n_points == 0);
}

UNIT_TEST(others_are_refused)
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

/* A training of rounds of 100 samples, of these losses, and whether it reached its target. */
static struct outcome outcome_of_losses(const double *loss, size_t n, bool has_reached)
{
    struct loss_point point[8];
    const struct training_record r = { .seconds_to_target_s = has_reached ? 1 : (double)NAN,
                                       .n_points = n,
                                       .point = point };

    for (size_t i = 0; i < n; i++)
        point[i] = (struct loss_point){ .samples_count = 100 * (double)(i + 1), .time_s = (double)i, .loss = loss[i] };
    return outcome_of(&r, 200);
}

/* Not there yet is not diverged; nor is what rose and came back. */
UNIT_TEST(outcomes_are_told_apart)
{
    static const struct {
        double loss[5];
        bool has_reached;
        enum outcome_kind kind;
        const char *says;
    } c[] = { { { 2, 1, 0.8, 0.5, 0.4 }, true, OUTCOME_REACHED, "" },
              { { 2, 1, 0.8, 0.5, 0.4 }, false, OUTCOME_NOT_REACHED, "not in 500 samples" },
              { { 2, 9, 4, 0.5, 0.3 }, false, OUTCOME_NOT_REACHED, "not in 500 samples, rose to 9 on the way" },
              { { 2, 9, 4, 0.5, 0.3 }, true, OUTCOME_REACHED, "rose to 9 on the way" },
              { { 2, 1, 0.5, 3, 2 }, true, OUTCOME_DIVERGED, "diverged: ends at 2.5, from 2" },
              { { 2, 1, 0.5, 2, 2 }, false, OUTCOME_NOT_REACHED, "not in 500 samples" },
              { { 2, 1, 0.5, 1, NAN }, false, OUTCOME_DIVERGED, "diverged" },
              { { 2, 1, 0.5, INFINITY, 1 }, false, OUTCOME_DIVERGED, "diverged" } };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        const struct outcome o = outcome_of_losses(c[i].loss, 5, c[i].has_reached);
        char text[128];
        outcome_print(text, sizeof text, &o);
        if (o.kind != c[i].kind || strncmp(text, c[i].says, strlen(c[i].says)) != 0 || (!c[i].says[0] && text[0]))
            fail_msg("case %zu: kind %d, '%s'", i, (int)o.kind, text);
    }
}

/* What curves.h writes of these points, in a folder of its own. */
UNIT_TEST(curves_are_written)
{
    char folder[] = "/tmp/paths_test.XXXXXX", path[64], text[512];
    struct curves c;
    FILE *f;

    assert_non_null(mkdtemp(folder));
    const struct lab_env env = { .folder = folder };
    assert_int_equal(curves_open(&c, &env, "t"), RC_OK);
    curves_add(&c, "a", 1, 2);
    curves_add(&c, "a", 2, NAN);
    curves_add_band(&c, "b", 1, 2, 3);
    curves_add_band(&c, "b", 2, 2, NAN);
    curves_add_never(&c, "a", 64);
    curves_add_mean(&c, "m", 100, 1);
    curves_add_mean(&c, "m", 104, 3); /* with the one before: less than a tenth more */
    curves_add_mean(&c, "m", 105, NAN);
    curves_add_mean(&c, "m", 111, 5);
    curves_add_mean(&c, "n", 112, 7);
    assert_int_equal(curves_finish(&c, RC_OK), RC_OK);
    snprintf(path, sizeof path, "%s/t.tsv", folder);
    f = fopen(path, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    (void)unlink(path);
    (void)rmdir(folder);
    assert_string_equal(text, "line\tx\ty\thigh\na\t1\t2\tnan\nb\t1\t2\t3\na\t64\tnever\tnan\nm\t102\t2\tnan\n"
                              "m\t111\t5\tnan\nn\t112\t7\tnan\n");
}

/* Three steps, of which one was held up. */
UNIT_TEST(a_median_step_is_of_no_gap)
{
    struct path_point point[] = { { .time_s = 1 }, { .time_s = 1.5 }, { .time_s = 9 }, { .time_s = 9.25 } };
    const struct training_path three = { .n_workers = 1, .n_points = 4, .point = point };
    const struct training_path two = { .n_workers = 1, .n_points = 3, .point = point };
    double step_s;

    assert_int_equal(training_median_step_s(&step_s, &three), RC_OK);
    assert_true(step_s == 0.5);
    assert_int_equal(training_median_step_s(&step_s, &two), RC_OK);
    assert_true(step_s == 4);
}

UNIT_MAIN("paths")
