/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_records_test.c - acceptance.jsonl gives back what was written, and nothing else passes for it. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/bundle_parts.h"
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/suite/names.h"
#include "harness/report/suite/report_kit.h"

enum { TEXT_BYTES = 200000 };

/* What is saved of a, in memory of the caller. */
static char *saved(struct kit *k, const struct acceptance *a)
{
    assert_int_equal(acceptance_save(a, kit_path(k, "acceptance.jsonl")), RC_OK);
    char *text = strdup(kit_read(k, "acceptance.jsonl"));
    assert_non_null(text);
    assert_true(strlen(text) < KIT_TEXT_BYTES - 1);
    return text;
}

/* Saved, loaded and saved again; closes a. */
static void comes_back(struct kit *k, struct acceptance *a)
{
    struct acceptance b;
    char *first = saved(k, a);

    if (acceptance_load(&b, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    kit_assert_equal(a, &b);
    char *second = saved(k, &b);
    assert_string_equal(first, second);
    free(first);
    free(second);
    acceptance_close(a);
    acceptance_close(&b);
}

KIT_TEST(what_was_written_is_read)
{
    struct acceptance a;

    for (int faults = 0; faults <= ALL_FAULTS; faults++) {
        kit_acceptance(&a, faults);
        if (faults % 2 == 0)
            kit_add_rank_orders(&a);
        comes_back(*state, &a);
    }
}

KIT_TEST(what_was_not_measured_is_not_zero_D1)
{
    struct acceptance a;

    assert_int_equal(acceptance_open(&a, 1, 1), RC_OK);
    comes_back(*state, &a);
    kit_fleet(&a, 3);
    *tournament_rate(&a.tournament, 0, 1, 2) = NAN;
    a.soak = (struct soak){ NAN, NAN, NAN, 0, 0 };
    comes_back(*state, &a);
}

KIT_TEST(numbers_come_back_to_the_bit)
{
    static const double numbers[] = { 1.0 / 3, -0.0, DBL_MAX, DBL_MIN, 4.9e-324, 1e22, -1e-7, 123456789.123456789 };
    struct acceptance a;

    kit_acceptance(&a, 0);
    for (int i = 0; i < 8; i++)
        a.metric[METRIC_GEMM].value[i] = numbers[i];
    a.soak = (struct soak){ 0.1, -0.25, 1.5, INT64_MAX, UINT64_C(1) << 40 };
    a.collective[0].n_bytes = SIZE_MAX / 2;
    a.integrity_checks_count = UINT64_C(1) << 63;
    a.is_virtual = true;
    a.stop_signal = 2;
    a.is_partial = true;
    snprintf(a.injected, sizeof a.injected, "link:1-4=0.6,flip:2@30");
    comes_back(*state, &a);
}

KIT_TEST(names_are_texts)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_LINK);
    snprintf(a.node[0].name, sizeof a.node[0].name, "a\"b<c>&\n\\ \x7f caf\xc3\xa9");
    snprintf(a.finding[0].text, sizeof a.finding[0].text, "{\"kind\":\"end\"}\n\t");
    comes_back(*state, &a);
}

/* accept.P6: what is no UTF-8, and then too long. */
KIT_TEST(bytes_that_are_no_text_are_replaced_and_cut)
{
    struct acceptance a, b;

    kit_acceptance(&a, 0);
    memset(a.node[0].name, 0xff, ACCEPT_NAME_BYTES - 1);
    snprintf(a.node[1].name, sizeof a.node[1].name, "x\xff");
    free(saved(*state, &a));
    assert_int_equal(acceptance_load(&b, ((struct kit *)*state)->dir), RC_OK);
    assert_int_equal(strlen(b.node[0].name), 63); /* 21 letters of three bytes */
    assert_memory_equal(b.node[0].name, "\xef\xbf\xbd\xef\xbf\xbd", 6);
    assert_string_equal(b.node[1].name, "x\xef\xbf\xbd");
    acceptance_close(&a);
    comes_back(*state, &b);
}

/* --- damage (accept.P4) --- */

#if defined(__SANITIZE_ADDRESS__) /* a minute there; other tests damage files at random places */
enum { PLACES_APART = 5 };
#else
enum { PLACES_APART = 1 };
#endif

static void is_refused(const char *text, size_t n_bytes, const char *message)
{
    struct acceptance a;

    assert_int_equal(acceptance_parse(&a, "FILE", text, n_bytes), RC_INVAL);
    assert_memory_equal(rc_message(), "FILE: line ", 11);
    if (!strstr(rc_message(), message))
        fail_msg("%s\nis not of: %s", rc_message(), message);
}

KIT_TEST(any_changed_byte_is_noticed_P4)
{
    struct acceptance a;

    kit_acceptance(&a, ALL_FAULTS);
    char *text = saved(*state, &a);
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i += PLACES_APART) {
        const char kept = text[i];
        text[i] = kept == '0' ? '1' : kept == ' ' ? '\t' : (char)(kept ^ 1);
        is_refused(text, n, "");
        text[i] = kept;
    }
    free(text);
    acceptance_close(&a);
}

KIT_TEST(a_file_cut_anywhere_is_noticed)
{
    struct acceptance a;

    kit_acceptance(&a, ALL_FAULTS);
    char *text = saved(*state, &a);
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i += PLACES_APART)
        is_refused(text, i, "the file was cut");
    free(text);
    acceptance_close(&a);
}

/* text with its first `old` as new, and a last line that fits again; in memory of the caller. */
static char *changed(const char *text, const char *old, const char *new)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char *out = calloc(1, TEXT_BYTES);
    const char *at = strstr(text, old);

    assert_non_null(out);
    if (!at)
        fail_msg("nothing is: %s", old);
    snprintf(out, TEXT_BYTES, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    char *end = strstr(out, "{\"kind\":\"end\"");
    if (end) {
        crypto_hash_sha256(digest, (const unsigned char *)out, (unsigned long long)(end - out));
        acceptance_end_line(end, digest);
    }
    return out;
}

/* Reports of before steps were counted can still be read; what else lacks is refused. */
KIT_TEST(older_records_lack_steps)
{
    struct acceptance a, back;

    kit_acceptance(&a, 0);
    a.soak = (struct soak){ 5, 0, 1, 1000, 10 };
    char *text = saved(*state, &a);
    char *older = changed(text, ",\"steps_count\":60,\"measured_steps_count\":57", "");
    char *oldest = changed(older, ",\"parts_count\":10", "");
    assert_int_equal(acceptance_parse(&back, "FILE", oldest, strlen(oldest)), RC_OK);
    assert_true(back.training[0].n_steps == 0 && back.training[0].n_measured_steps == 0 && back.soak.n_parts == 0);
    assert_true(back.training[1].n_steps == 60 && back.training[1].n_measured_steps == 41 && back.soak.n_steps == 1000);
    acceptance_close(&back);
    free(oldest);
    free(older);
    free(text);
    acceptance_close(&a);
}

/* So can those of before pulls were checked, whose wrong sums are of allreduces. */
KIT_TEST(older_records_lack_pulls)
{
    struct acceptance a, back;

    kit_acceptance(&a, ALL_FAULTS);
    a.n_wrong_sums = 1;
    char *text = saved(*state, &a);
    char *older = changed(text, ",\"pull_checks_count\":9", "");
    char *oldest = changed(older, "\"wrong_sum\",\"stage\":\"collectives\",", "\"wrong_sum\",");
    assert_int_equal(acceptance_parse(&back, "FILE", oldest, strlen(oldest)), RC_OK);
    assert_true(back.sum_checks_count == 12 && back.pull_checks_count == 0);
    assert_int_equal(back.n_wrong_sums, 1);
    assert_int_equal(back.wrong_sum[0].stage, ACCEPT_COLLECTIVES);
    assert_true(back.wrong_sum[0].rank == 5 && back.wrong_sum[0].n_wrong == 3);
    acceptance_close(&back);
    free(oldest);
    free(older);
    free(text);
    acceptance_close(&a);
}

KIT_TEST(an_error_names_line_and_key)
{
    static const struct {
        const char *old, *new, *message;
    } damage[] = {
        { "\"cluster\"", "\"clusters\"", "FILE: line 1: record acceptance: \"cluster\" is missing" },
        { "\"nodes_count\":4", "\"nodes_count\":9", "FILE: line 1: the file is too short for so many" },
        { "\"nodes_count\":4", "\"nodes_count\":0",
          "FILE: line 1: record acceptance: \"nodes_count\" is no whole number in its range" },
        { "\"lost_rank\":-1", "\"lost_rank\":8",
          "FILE: line 1: record acceptance: \"lost_rank\" is a rank that there is not" },
        { "\"ranks_count\":8", "\"ranks_count\":2000000000", "FILE: line 1: the file is too short for so many" },
        { "\"tournament_repeats_count\":3", "\"tournament_repeats_count\":4",
          "FILE: line 90: records are missing before the last one" },
        { "\"nodes_count\":4,\"ranks_count\":8,\"tournament_repeats_count\":3",
          "\"nodes_count\":100,\"ranks_count\":100,\"tournament_repeats_count\":3",
          "FILE: line 1: the file is too short" },
        { "\"tournament_repeats_count\":3", "\"tournament_repeats_count\":2", "record pairs: is not of the next" },
        { "{\"kind\":\"node\"", "{\"kind\":\"knot\"", "FILE: line 2: no kind of record: knot" },
        { "{\"kind\":\"node\"", "{\"king\":\"node\"", "FILE: line 2: a record without a kind" },
        { "{\"kind\":\"node\"", "{\"kind\":\"node\"]", "FILE: line 2: not a record: " },
        { "\"name\":\"host1\"", "\"name\":7", "FILE: line 2: record node: \"name\" is no text" },
        { "\"node_of_rank\":[0", "\"node_of_rank\":[4", "FILE: line 6: record ranks: \"node_of_rank\" names a node" },
        { "\"node_of_rank\":[0,", "\"node_of_rank\":[", "FILE: line 6: record ranks: \"node_of_rank\" is no array" },
        { "\"stage\":\"noise\"", "\"stage\":\"noises\"", "FILE: line 9: record stage: \"stage\" is not the name" },
        { "\"outcome\":\"skipped\"", "\"outcome\":\"skip\"", "record stage: \"outcome\" is no known name" },
        { "\"was_run\":true", "\"was_run\":1", "FILE: line 7: record stage: \"was_run\" is neither true nor false" },
        { "\"took_s\":0.5", "\"took_s\":\"x\"", "FILE: line 7: record stage: \"took_s\" is neither a number nor null" },
        { "\"node\":3", "\"node\":4", "FILE: line 17: record preflight: \"node\" is a node that there is not" },
        { "\"fact\":1", "\"fact\":2", "FILE: line 18: record difference: \"fact\" is a fact that there is not" },
        { "\"fact\":1,\"node\":3", "\"fact\":1,\"node\":4",
          "FILE: line 18: record difference: \"node\" is a node that there is not" },
        { "\"rank\":5,\"wrong_count\"", "\"rank\":8,\"wrong_count\"",
          "record wrong_sum: \"rank\" is a rank that there is not" },
        { "\"stage\":\"ps\",\"message_bytes\"", "\"stage\":\"noise\",\"message_bytes\"",
          "record wrong_sum: \"stage\" is none that sums" },
        { "\"stage\":\"ps\",\"message_bytes\"", "\"stage\":\"pulls\",\"message_bytes\"",
          "record wrong_sum: \"stage\" is no known name" },
        { ",\"pull_checks_count\":9", ",\"pull_checks_count\":-9", "record sums: \"pull_checks_count\" is no count" },
        { "{\"kind\":\"sums\"", "{\"kind\":\"sums\",\"checks_count\":1}\n{\"kind\":\"sums\"", "a second record sums" },
        { "\"metric\":\"flops_per_s\"", "\"metric\":\"flops\"", "record metric: \"metric\" is no known name" },
        { "\"rank\":1", "\"rank\":2", "record metric: \"rank\" is not the next rank" },
        { "\"flops_per_s\":[", "\"flops_per_s\":[1,", "FILE: line 20: \"flops_per_s\" is no array of 4 numbers" },
        { "\"latency_s\":[null", "\"latency_s\":[true", "\"latency_s\": number 1 is none" },
        { "\"late_ratio\":[null", "\"late_ratio\":[true", "\"late_ratio\": number 1 is none" },
        { "\"late_ratio\":[null", "\"late_ratio\":[-1e30",
          "record pairs: \"late_ratio\" has a number that is not from 0 to 1" },
        { "\"rounds_count\":40", "\"rounds_count\":0", "record pairs: \"rounds_count\" is no whole number from 1 on" },
        { "\"message_bytes\":4096", "\"message_bytes\":-1", "record collective: \"message_bytes\" is no count" },
        { "\"rank\":5,\"step\"", "\"rank\":8,\"step\"", "record corruption: \"rank\" is a rank that there is not" },
        { "\"subject\":\"node\",\"a\":2", "\"subject\":\"node\",\"a\":4", "record finding: \"a\" or \"b\" is a node" },
        { "\"subject\":\"link\"", "\"subject\":\"knot\"", "record finding: \"subject\" is no known name" },
        { "\"unit\":\"of the time\"", "\"unit\":null", "record criterion: \"unit\" is no text" },
        { "\"kind\":\"soak\"", "\"kind\":\"push_and_pull\"", "record push_and_pull: \"message_bytes\" is missing" },
        { "{\"kind\":\"node\"", "{\"kind\":\"node\",\"kind\":\"node\"", "FILE: line 2: not a record: duplicate" },
        { "\"order\":\"pack\"", "\"order\":\"packed\"", "record rank_order: \"order\" is not the name of the next" },
        { "\"ranks\":[0,2,", "\"ranks\":[0,", "record rank_order: \"ranks\" is no array of all ranks, or of none" },
        { "\"ranks\":[0,2,", "\"ranks\":[0,0,", "record rank_order: \"ranks\" has a rank twice" },
        { "\"ranks\":[0,2,", "\"ranks\":[0,8,", "record rank_order: \"ranks\" names a rank that there is not" },
        { "\"same_as\":2", "\"same_as\":3", "record rank_order: \"same_as\" is no order before it" },
        { "\"same_as\":2", "\"same_as\":5", "record rank_order: \"same_as\" is no whole number in its range" },
        { "\"is_best\":false", "\"is_best\":true", "record rank_order: \"is_best\" is true of an order that there" },
        { "\"kind\":\"trained_order\",\"order\":3", "\"kind\":\"trained_order\",\"order\":5",
          "record trained_order: \"order\" is no whole number in its range" },
        { "\"kind\":\"rank_order\",\"order\":\"shortest\"", "\"kind\":\"rank_order\",\"order\":\"launcher\"",
          "record rank_order: \"order\" is not the name" },
    };
    struct acceptance a;

    kit_acceptance(&a, ALL_FAULTS & ~FAULT_IN_PS);
    kit_add_rank_orders(&a);
    char *text = saved(*state, &a);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        char *damaged = changed(text, damage[i].old, damage[i].new);
        is_refused(damaged, strlen(damaged), damage[i].message);
        free(damaged);
    }
    free(text);
    acceptance_close(&a);
}

/* Without any one of its lines, and with any one twice. */
KIT_TEST(no_line_may_be_lacking_or_be_there_twice)
{
    char line[16384], twice[2 * sizeof line];
    struct acceptance a;

    kit_acceptance(&a, 0);
    kit_add_rank_orders(&a);
    /* of which there may be any number */
    a.n_criteria = a.n_preflight = a.n_differences = a.n_collective = a.n_ps = a.n_training = 0;
    a.sum_checks_count = a.pull_checks_count = 0;
    char *text = saved(*state, &a);
    for (const char *at = text; strncmp(at, "{\"kind\":\"end\"", 13) != 0; at += strlen(line)) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n") + 1, at);
        if (!strstr(line, "\"trained_order\"")) { /* of which there may be none */
            char *less = changed(text, line, "");
            is_refused(less, strlen(less), "");
            free(less);
        }
        snprintf(twice, sizeof twice, "%s%s", line, line);
        char *more = changed(text, line, twice);
        is_refused(more, strlen(more), "");
        free(more);
    }
    free(text);
    acceptance_close(&a);
}

KIT_TEST(a_folder_is_known_by_its_records)
{
    struct kit *k = *state;
    struct acceptance a;

    assert_false(acceptance_is_bundle(k->dir));
    assert_int_equal(acceptance_load(&a, k->dir), RC_INVAL);
    assert_names(rc_message(), "acceptance.jsonl:");
    kit_acceptance(&a, 0);
    free(saved(k, &a));
    assert_true(acceptance_is_bundle(k->dir));
    acceptance_close(&a);
}

UNIT_MAIN("acceptance_records")
