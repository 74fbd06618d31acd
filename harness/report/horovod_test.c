/* SPDX-License-Identifier: Apache-2.0 */
/* horovod_test.c - report.V1: the lines letter by letter, and through the patterns that parsers of them use. */
#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/report/horovod.h"

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RULE "----------------------------------------------------------------\n"

static bool matches(const char *text, const char *pattern)
{
    regex_t r;

    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    bool found = regexec(&r, text, 0, NULL, 0) == 0;
    regfree(&r);
    return found;
}

UNIT_TEST(horovods_lines_v1)
{
    const double rate[] = { 60, 61, 62, 63 }; /* mean 61.5, population deviation 1.118 */
    struct printed p;

    printed_begin(&p);
    horovod_print(p.to, &(struct horovod_run){ "resnet50", 64, "GPU", 4, rate, 4 });
    char *text = printed_end(&p);
    assert_string_equal(text, "Model: resnet50\n"
                              "Batch size: 64\n"
                              "Number of GPUs: 4\n"
                              "Img/sec per GPU: 61.5 +-2.2\n"
                              "Total img/sec on 4 GPU(s): 246.0 +-8.8\n");
    assert_true(matches(text, "^Number of [CG]PUs: 4$"));
    assert_true(matches(text, "^Total img/sec on [0-9]+ GPU\\(s\\): [0-9.]+ \\+-[0-9.]+$"));
    free(text);
}

UNIT_TEST(tf_cnn_benchmarks_lines_v1)
{
    /* Rates 100 200 400 800 of 100 samples: median 300, deviations 200 100 100 500, their median 150;
     * mean 100 / 0.46875 s = 213.3; deviation 268.095 / sqrt(4). */
    const double step_s[] = { 1, 0.5, 0.25, 0.125 };
    struct printed p;

    printed_begin(&p);
    assert_int_equal(tf_cnn_print(p.to, 100, step_s, 4, 7.5934, 213.333), RC_OK);
    char *text = printed_end(&p);
    assert_string_equal(text, "4\timages/sec: 213.3 +/- 134.0 (jitter = 222.4)\t7.593\n" RULE
                              "total images/sec: 213.33\n" RULE);
    assert_true(matches(text, "images/sec: [0-9.]+ \\+/- [0-9.]+ \\(jitter = [0-9.]+\\)"));
    assert_true(matches(text, "^total images/sec: [0-9.]+$"));
    free(text);
}

UNIT_TEST(a_hollow_loss_has_no_sign)
{
    const double step_s[] = { 0.5, 0.5, 0.5 };
    struct printed p;

    printed_begin(&p);
    assert_int_equal(tf_cnn_print(p.to, 8, step_s, 3, -NAN, 16), RC_OK);
    char *text = printed_end(&p);
    assert_string_equal(text,
                        "3\timages/sec: 16.0 +/- 0.0 (jitter = 0.0)\tnan\n" RULE "total images/sec: 16.00\n" RULE);
    free(text);
}

/* Without a steady rate the mean of all steps stands in its place: readers look for a number. */
UNIT_TEST(a_total_is_a_number)
{
    const double step_s[] = { 0.5, 0.5 };
    struct printed p;

    printed_begin(&p);
    assert_int_equal(tf_cnn_print(p.to, 8, step_s, 2, 1, (double)NAN), RC_OK);
    char *text = printed_end(&p);
    assert_non_null(strstr(text, "total images/sec: 16.00\n"));
    free(text);
}

UNIT_MAIN("horovod")
