/* SPDX-License-Identifier: Apache-2.0 */
/* record_options_test.c - options of every type in a record, and a report that is used in another order than
 * report.O2's. */
#include "harness/report/record.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/report/manifest.h"
#include "harness/report/suite/report_kit.h"

struct sample {
    uint64_t n, zero, none, unset, rank_0, no_rank;
    double rate;
    bool yes, no;
    const char *text, *word;
};

static const struct opt table[] = {
    OPT_U64_(struct sample, n, "n", "7", 0, 9, "", "a number"),
    OPT_U64_(struct sample, zero, "zero", "3", 0, 9, "", "0 was given, and is not the default"),
    OPT_U64_(struct sample, none, "none", "", 1, 9, "", "not given, and without a default"),
    OPT_U64_(struct sample, unset, "unset", "1", 0, 9, "", "does not apply: UINT64_MAX"),
    OPT_U64_(struct sample, rank_0, "rank-0", "", 0, 9, "", "0 was given: once recorded as null"),
    OPT_U64_(struct sample, no_rank, "no-rank", "", 0, 9, "", "likewise, not given"),
    OPT_F64_(struct sample, rate, "rate", "0.5", 0, 1, "", "a rate"),
    OPT_BOOL_(struct sample, yes, "yes", "true", "a choice"),
    OPT_BOOL_(struct sample, no, "no", "true", "another"),
    OPT_TEXT_(struct sample, text, "text", "", "FILE", "a path"),
    OPT_CHOICE_(struct sample, word, "word", "one", "one|two", "a word"),
    OPT_END_,
};
static const struct sample given = { 4, 0, 0, UINT64_MAX, 0, UINT64_MAX, 0.125, true, false, "a \"path\"", "two" };

static void assert_line(struct record *r, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(record_print(r, p.to), RC_OK);
    char *line = printed_end(&p);
    assert_string_equal(line, expected);
    free(line);
}

UNIT_TEST(each_type_has_its_form)
{
    struct record *r = record_open("options");

    record_options(r, table, &given);
    assert_line(r, "{\"kind\":\"options\",\"n\":4,\"zero\":0,\"none\":null,\"unset\":null,\"rank-0\":0,\"no-rank\":"
                   "null,\"rate\":0.125,\"yes\":true,"
                   "\"no\":false,\"text\":\"a \\\"path\\\"\",\"word\":\"two\"}\n");
    record_close(&r);
}

UNIT_TEST(a_modules_options_carry_its_name)
{
    static const struct opt one[] = { OPT_U64_(struct sample, n, "n", "7", 0, 9, "", "a number"), OPT_END_ };
    static const struct module ring = { .name = "ring", .options = one };
    struct record *r = record_open(NULL);

    record_module_options(r, &ring, &given);
    record_module_options(r, &ring, NULL); /* was not chosen */
    assert_line(r, "{\"ring.n\":4}\n");
    record_close(&r);
}

UNIT_TEST(nothing_comes_after_the_commit)
{
    static struct kit kit;
    struct report *rep = NULL;
    struct record *r = NULL;

    assert_true(kit_open(&kit));
    r = record_open("step");
    assert_int_equal(report_open(&rep, kit_path(&kit, "r.jsonl")), RC_OK);
    assert_int_equal(report_write(rep, r), RC_OK);
    assert_int_equal(report_commit(rep), RC_OK);
    assert_int_equal(report_write(rep, r), RC_BUG);
    report_close(&rep);
    assert_string_equal(kit_read(&kit, "r.jsonl"), "{\"kind\":\"step\"}\n");
    record_close(&r);
    kit_close(&kit);
}

/* Paths and lists of any length. */
UNIT_TEST(long_values_are_whole)
{
    struct long_opts {
        const char *text, *list;
    };
    static const struct opt long_table[] = {
        OPT_TEXT_(struct long_opts, text, "text", "", "PATH", "a path"),
        OPT_LIST_(struct long_opts, list, "list", "", NULL, 0, 9, "numbers"),
        OPT_END_,
    };
    char text[3001], list[4000] = "1", *line = NULL, *expected = NULL;
    const struct long_opts from = { text, list };
    struct record *r = NULL;

    memset(text, 'p', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t n = 1; n + 2 < sizeof list; n += 2)
        memcpy(list + n, ",2", 3);
    struct printed printed;
    printed_begin(&printed);
    r = record_open(NULL);
    record_options(r, long_table, &from);
    assert_int_equal(record_print(r, printed.to), RC_OK);
    line = printed_end(&printed);
    assert_true(asprintf(&expected, "{\"text\":\"%s\",\"list\":\"%s\"}\n", text, list) > 0);
    assert_string_equal(line, expected);
    free(expected);
    free(line);
    record_close(&r);
}

/* "0.9.0 (commit 0123456789ab)", as `gradmark --version` prints it; the record has the same commit in full. */
UNIT_TEST(the_version_names_the_commit)
{
    char version[200], *line = NULL;
    struct record *r = NULL;

    manifest_version(version, sizeof version);
    const char *commit = strstr(version, " (commit ");
    assert_non_null(commit);
    assert_true(version[0] >= '0' && version[0] <= '9' && version[strlen(version) - 1] == ')');
    commit += strlen(" (commit ");
    const size_t n_commit = strcspn(commit, ",)");
    assert_true(n_commit == 12 || strncmp(commit, "unknown", n_commit) == 0);
    struct printed p;
    printed_begin(&p);
    r = record_open(NULL);
    manifest_fill(r, true);
    assert_int_equal(record_print(r, p.to), RC_OK);
    line = printed_end(&p);
    const char *full = strstr(line, "\"git_commit\":\"");
    assert_non_null(full);
    assert_memory_equal(full + strlen("\"git_commit\":\""), commit, n_commit);
    assert_true((strstr(line, "\"git_dirty\":true") != NULL) == (strcmp(commit + n_commit, ", changed)") == 0));
    free(line);
    record_close(&r);
}

UNIT_MAIN("record_options")
