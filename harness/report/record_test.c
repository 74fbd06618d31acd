/* SPDX-License-Identifier: Apache-2.0 */
/* record_test.c - every line is read back by a JSON parser; files appear whole or not at all. */
#include "harness/report/record.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"

/* The only line of a report that got r. */
static const char *line_of(struct kit *k, const struct record *r)
{
    struct report *rep = NULL;

    assert_int_equal(report_open(&rep, kit_path(k, "r.jsonl")), RC_OK);
    assert_int_equal(report_write(rep, r), RC_OK);
    assert_int_equal(report_commit(rep), RC_OK);
    report_close(&rep);
    assert_null(rep);
    return kit_read(k, "r.jsonl");
}

static json_t *parsed(const char *line)
{
    json_error_t error;
    json_t *value = json_loads(line, JSON_REJECT_DUPLICATES, &error);

    if (!value)
        fail_msg("not JSON: %s: %s", error.text, line);
    return value;
}

KIT_TEST(keys_stay_in_order_O1)
{
    struct record *r = NULL, *child = NULL;
    const uint64_t bins[] = { 3, 0, 9007199254740993u };

    r = record_open(NULL);
    child = record_open(NULL);
    record_u64(r, "steps_count", 12);
    record_i64(r, "offset_ns", -5);
    record_f64(r, "wall_s", 0.5);
    record_bool(r, "oversubscribed", true);
    record_text(r, "mode", "ps");
    record_null(r, "virtual_s");
    record_u64_array(r, "staleness_count", bins, 3);
    record_u64_array(r, "nothing_count", NULL, 0);
    record_text_array(r, "arguments", (const char *const[]){ "--lr=1", "a \"b\"" }, 2);
    record_text_array(r, "no_arguments", NULL, 0);
    record_text(child, "mpi", "4.1");
    record_child(r, "libraries", &child);
    assert_null(child);
    assert_string_equal(line_of(*state, r), "{\"steps_count\":12,\"offset_ns\":-5,\"wall_s\":0.5,"
                                            "\"oversubscribed\":true,\"mode\":\"ps\",\"virtual_s\":null,"
                                            "\"staleness_count\":[3,0,9007199254740993],\"nothing_count\":[],"
                                            "\"arguments\":[\"--lr=1\",\"a \\\"b\\\"\"],\"no_arguments\":[],"
                                            "\"libraries\":{\"mpi\":\"4.1\"}}\n");
    record_close(&r);
    assert_null(r);
    record_close(&r);
}

/* What goes into files that are more than records. */
KIT_TEST(parts_of_other_files_O1)
{
    static const struct {
        const char *text, *quoted;
    } cases[] = {
        { "", "\"\"" },
        { "a \"b\" \\ \n\x01", "\"a \\\"b\\\" \\\\ \\n\\u0001\"" },
        { "\xc3\xa4", "\"\xc3\xa4\"" },
        { "x\xff\xed\xa0\x80y", "\"x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy\"" },
    };
    struct record *r = NULL;
    FILE *to = fopen(kit_path(*state, "part.json"), "w");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *quoted = NULL;

        assert_int_equal(record_quote(&quoted, cases[i].text), RC_OK);
        assert_string_equal(quoted, cases[i].quoted);
        free(quoted);
    }
    assert_non_null(to);
    r = record_open(NULL);
    record_f64(r, "x_s", 0.5);
    record_text(r, "mode", "ps");
    fputs("[", to);
    assert_int_equal(record_print(r, to), RC_OK);
    fputs("]", to);
    fclose(to);
    assert_string_equal(kit_read(*state, "part.json"), "[{\"x_s\":0.5,\"mode\":\"ps\"}\n]");
    record_close(&r);
}

KIT_TEST(reals_come_back_to_the_bit_O1)
{
    const double x[] = { 0.1, 1.0 / 3, -0.0, 1e300, 5e-324, DBL_MAX, DBL_MIN, 123456789.123456789, 1e22, 3 };

    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        struct record *r = NULL;

        r = record_open(NULL);
        record_f64(r, "x_s", x[i]);
        json_t *value = parsed(line_of(*state, r));
        double back = json_real_value(json_object_get(value, "x_s"));
        assert_memory_equal(&back, &x[i], sizeof back);
        json_decref(value);
        record_close(&r);
    }
}

KIT_TEST(what_is_no_number_becomes_null_O1)
{
    struct record *r = record_open(NULL);

    record_f64(r, "a_s", NAN);
    record_f64(r, "b_s", INFINITY);
    record_f64(r, "c_s", -INFINITY);
    record_text(r, "d", NULL);
    assert_string_equal(line_of(*state, r), "{\"a_s\":null,\"b_s\":null,\"c_s\":null,\"d\":null}\n");
    record_close(&r);
}

KIT_TEST(great_integers_stay_readable_O1)
{
    struct record *r = record_open(NULL);

    record_u64(r, "a_ns", INT64_MAX);
    record_u64(r, "b_ns", UINT64_MAX);
    record_i64(r, "c_ns", INT64_MIN);
    json_t *value = parsed(line_of(*state, r));
    assert_true(json_integer_value(json_object_get(value, "a_ns")) == INT64_MAX);
    assert_true(json_real_value(json_object_get(value, "b_ns")) == 0x1p64);
    assert_true(json_integer_value(json_object_get(value, "c_ns")) == INT64_MIN);
    json_decref(value);
    record_close(&r);
}

KIT_TEST(text_is_escaped_in_full_O1)
{
    static const struct {
        const char *in, *out;
    } text[] = {
        { "plain", "plain" },
        { "\" \\ \b \f \n \r \t \x01 \x1f \x7f /", "\" \\ \b \f \n \r \t \x01 \x1f \x7f /" },
        { "µs × 4 — 日本 \xf0\x9f\x92\xa1", "µs × 4 — 日本 \xf0\x9f\x92\xa1" },
        { "bad \xff byte", "bad \xef\xbf\xbd byte" },
        { "cut \xe6\x97", "cut \xef\xbf\xbd\xef\xbf\xbd" },
        { "overlong \xc0\xaf", "overlong \xef\xbf\xbd\xef\xbf\xbd" },
        { "surrogate \xed\xa0\x80", "surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "beyond \xf4\x90\x80\x80", "beyond \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "", "" },
    };

    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct record *r = NULL;

        r = record_open(NULL);
        record_text(r, "t", text[i].in);
        const char *line = line_of(*state, r);
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1); /* one line */
        json_t *value = parsed(line);
        assert_string_equal(json_string_value(json_object_get(value, "t")), text[i].out);
        json_decref(value);
        record_close(&r);
    }
}

KIT_TEST(every_byte_pair_gives_json_O1)
{
    struct record *r = NULL;
    char text[3] = "";

    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            text[0] = (char)a;
            text[1] = (char)b;
            r = record_open(text);
            struct report *nowhere = NULL;
            assert_int_equal(report_open(&nowhere, NULL), RC_OK);
            assert_int_equal(report_write(nowhere, r), RC_OK);
            report_close(&nowhere);
            record_close(&r);
        }
}

KIT_TEST(nothing_is_at_path_before_commit_O2)
{
    struct kit *k = *state;
    struct report *rep = NULL;
    struct record *r = record_open("step");

    assert_int_equal(report_open(&rep, kit_path(k, "a.jsonl")), RC_OK);
    for (int i = 0; i < 10000; i++) /* more than any buffer */
        assert_int_equal(report_write(rep, r), RC_OK);
    assert_null(kit_read(k, "a.jsonl"));
    assert_int_equal(report_commit(rep), RC_OK);
    assert_non_null(kit_read(k, "a.jsonl"));
    report_close(&rep);
    assert_non_null(kit_read(k, "a.jsonl"));
    assert_int_equal(kit_count_files(k), 1);
    record_close(&r);
}

KIT_TEST(closing_drops_what_was_not_committed_O2)
{
    struct kit *k = *state;
    struct report *rep = NULL;
    struct record *r = record_open("step");

    assert_true(kit_write(k, "a.jsonl", "old\n"));
    assert_int_equal(report_open(&rep, kit_path(k, "a.jsonl")), RC_OK);
    assert_int_equal(report_write(rep, r), RC_OK);
    report_close(&rep);
    assert_string_equal(kit_read(k, "a.jsonl"), "old\n");
    assert_int_equal(kit_count_files(k), 1); /* no temporary file is left */
    record_close(&r);
}

KIT_TEST(a_killed_writer_leaves_nothing_at_path_O2)
{
    struct kit *k = *state;
    int status = 0;
    pid_t child = fork();

    if (child == 0) { /* no assertions here: they would return into the parent's test */
        struct record *r = record_open("step");
        struct report *rep = NULL;

        if (report_open(&rep, kit_path(k, "a.jsonl")) == RC_OK)
            for (int i = 0; i < 10000; i++)
                if (report_write(rep, r) != RC_OK)
                    _exit(1);
        raise(SIGKILL);
        _exit(1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status));
    assert_null(kit_read(k, "a.jsonl"));
}

KIT_TEST(bad_paths_are_told_at_once)
{
    struct kit *k = *state;
    struct report *rep = NULL;

    assert_int_equal(report_open(&rep, kit_path(k, "missing/a.jsonl")), RC_INVAL);
    assert_non_null(strstr(rc_message(), "missing/a.jsonl"));
    assert_int_equal(report_open(&rep, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), k->dir));
    assert_int_equal(report_open(&rep, ""), RC_INVAL);
    if (geteuid() != 0) { /* root may write anywhere */
        assert_int_equal(chmod(k->dir, 0500), 0);
        assert_int_equal(report_open(&rep, kit_path(k, "a.jsonl")), RC_INVAL);
        assert_int_equal(chmod(k->dir, 0700), 0);
    }
    assert_null(rep);
    report_close(&rep);
    assert_int_equal(kit_count_files(k), 0);
}

KIT_TEST(standard_output_comes_at_commit_O2)
{
    struct kit *k = *state;
    struct report *rep = NULL;
    struct record *r = record_open("step");

    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_non_null(freopen(kit_path(k, "stdout"), "w", stdout));
    enum rc rc = report_open(&rep, "-");
    if (rc == RC_OK)
        rc = report_write(rep, r);
    fflush(stdout);
    char early[8];
    snprintf(early, sizeof early, "%s", kit_read(k, "stdout"));
    if (rc == RC_OK)
        rc = report_commit(rep);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO); /* the test's own words go where they went before */
    close(saved);
    assert_int_equal(rc, RC_OK);
    assert_string_equal(early, "");
    assert_string_equal(kit_read(k, "stdout"), "{\"kind\":\"step\"}\n");
    assert_int_equal(report_commit(rep), RC_OK); /* nothing is left to write */
    report_close(&rep);
    record_close(&r);
}

KIT_TEST(a_record_can_be_a_file)
{
    struct kit *k = *state;
    struct record *r = record_open("manifest");

    record_u64(r, "cores_count", 2);
    assert_int_equal(record_write_file(r, kit_path(k, "manifest.json")), RC_OK);
    assert_string_equal(kit_read(k, "manifest.json"), "{\n  \"kind\": \"manifest\",\n  \"cores_count\": 2\n}\n");
    assert_int_equal(record_write_file(r, kit_path(k, "no/manifest.json")), RC_INVAL);
    assert_int_equal(kit_count_files(k), 1);
    record_close(&r);
}

UNIT_MAIN("record")
