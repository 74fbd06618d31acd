/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_keys_test.c - the list of keys is whole, the schema is JSON with the same keys, and a key that is not listed
 * is a bug that loses no record.
 */
#include "harness/report/record_keys.h"

#include <jansson.h>

#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/report/record.h"
#include "harness/report/suite/report_kit.h"

/* Every word of a list is a key, once; counts in n_uses, one for each key. */
static void check_words(const char *keys, int *n_uses, const char *of)
{
    char list[8192], *word, *rest = list;

    assert_true(strlen(keys) < sizeof list);
    strcpy(list, keys);
    while ((word = strsep(&rest, " ")) && *word) {
        const struct record_key *k = record_key_find(word);
        const char *again = rest && *rest ? strstr(rest, word) : NULL;
        if (!k)
            fail_msg("%s: %s is no key", of, word);
        if (again && again[-1] == ' ' && again[strlen(word)] == ' ')
            fail_msg("%s: %s is there twice", of, word);
        n_uses[k - record_keys]++;
    }
    assert_true(!keys[0] || keys[strlen(keys) - 1] == ' ');
}

UNIT_TEST(the_list_is_whole)
{
    static int n_uses[1024];

    for (const struct record_key *k = record_keys; k->name; k++) {
        assert_ptr_equal(record_key_find(k->name), k);
        assert_int_not_equal(k->types, 0);
        assert_int_equal(strspn(k->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(k->name));
        if (k->meaning[0] < 'A' || strpbrk(k->meaning, "\"\\|") || k->meaning[strlen(k->meaning) - 1] == '.')
            fail_msg("%s: meaning: %s", k->name, k->meaning);
    }
    assert_null(record_key_find("los"));
    check_words("kind ", n_uses, "all");
    check_words(record_keys_of_campaigns, n_uses, "campaigns");
    check_words(record_keys_of_objects, n_uses, "objects");
    for (const struct record_kind *kind = record_kinds; kind->name; kind++) {
        assert_ptr_equal(record_kind_find(kind->name), kind);
        check_words(kind->keys, n_uses, kind->name);
    }
    for (const struct record_key *k = record_keys; k->name; k++)
        if (n_uses[k - record_keys] == 0)
            fail_msg("no kind has the key %s", k->name);
}

UNIT_TEST(kinds_allow_what_they_list)
{
    const struct record_kind *step = record_kind_find("step"), *failure = record_kind_find("failure");
    const struct record_kind *verdict = record_kind_find("verdict"), *cluster = record_kind_find("cluster");

    assert_true(record_kind_allows(step, "kind", RECORD_TEXT));
    assert_true(record_kind_allows(step, "loss", RECORD_REAL));
    assert_true(record_kind_allows(step, "loss", 0));
    assert_true(record_kind_allows(step, "launch_index", RECORD_WHOLE));
    assert_false(record_kind_allows(step, "loss", RECORD_TEXT));
    assert_false(record_kind_allows(step, "los", RECORD_REAL));
    assert_false(record_kind_allows(step, "learning", RECORD_REAL));
    assert_false(record_kind_allows(step, "mode", RECORD_TEXT));
    assert_true(record_kind_allows(failure, "bucket-bytes", RECORD_TEXT));
    assert_false(record_kind_allows(failure, "bucket_bytes", RECORD_TEXT));
    assert_true(record_kind_allows(verdict, "a_bucket-bytes", RECORD_TEXT));
    assert_false(record_kind_allows(verdict, "c_bucket-bytes", RECORD_TEXT));
    assert_true(record_kind_allows(cluster, "link_latency_s", RECORD_REAL));
    assert_false(record_kind_allows(cluster, "link_latency_ns", RECORD_REAL));
    assert_string_equal(record_key_unit("step_s"), "s");
    assert_string_equal(record_key_unit("busbw_bytes_per_s"), "bytes/s");
    assert_string_equal(record_key_unit("real_ns"), "ns");
    assert_string_equal(record_key_unit("bound_ratio"), "");
}

static json_t *schema(void)
{
    struct printed p;
    json_error_t error;

    printed_begin(&p);
    record_print_schema(p.to);
    char *text = printed_end(&p);
    json_t *s = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!s)
        fail_msg("the schema is not JSON: line %d: %s", error.line, error.text);
    free(text);
    return s;
}

UNIT_TEST(the_schema_has_every_kind_and_key)
{
    json_t *s = schema(), *defs = json_object_get(s, "$defs"), *value;
    size_t n_kinds = 0, n_keys = 0;
    const char *name;

    for (; record_kinds[n_kinds].name; n_kinds++) {
        char key[80];
        snprintf(key, sizeof key, "kind-%s", record_kinds[n_kinds].name);
        const json_t *pattern = json_object_get(json_object_get(defs, key), "patternProperties");
        assert_int_equal(json_object_size(pattern), record_kinds[n_kinds].others != RECORD_NO_OTHERS);
    }
    for (; record_keys[n_keys].name; n_keys++)
        ;
    assert_int_equal(json_array_size(json_object_get(s, "allOf")), n_kinds);
    assert_int_equal(json_object_size(defs), n_kinds + n_keys);
    json_t *step = json_object_get(json_object_get(defs, "kind-step"), "properties");
    json_object_foreach(step, name, value) assert_true(record_kind_allows(record_kind_find("step"), name, 0));
    assert_non_null(json_object_get(step, "loss"));
    assert_true(json_is_false(json_object_get(json_object_get(defs, "kind-step"), "additionalProperties")));
    json_t *types = json_object_get(json_object_get(defs, "key-steps_count"), "type");
    assert_string_equal(json_string_value(json_array_get(types, 0)), "integer");
    assert_int_equal(json_array_size(types), 4);
    json_decref(s);
}

/* Writes r as the second of three records; the report must tell the bug, and be whole. */
static void expect_bug(struct kit *k, struct record **r, const char *what)
{
    struct report *rep = NULL;
    struct record *good = record_open("partial");
    int n_lines = 0;

    assert_int_equal(report_open(&rep, kit_path(k, "r.jsonl")), RC_OK);
    assert_int_equal(report_write(rep, good), RC_OK);
    assert_int_equal(report_write(rep, *r), RC_OK);
    assert_int_equal(report_write(rep, good), RC_OK);
    assert_int_equal(report_commit(rep), RC_BUG);
    assert_non_null(strstr(rc_message(), what));
    report_close(&rep);
    for (const char *c = kit_read(k, "r.jsonl"); *c; c++)
        n_lines += *c == '\n';
    assert_int_equal(n_lines, 3);
    assert_int_equal(record_write_file(*r, kit_path(k, "r.json")), RC_BUG);
    assert_non_null(strstr(kit_read(k, "r.json"), "kind"));
    record_close(&good);
    record_close(r);
}

KIT_TEST(what_is_not_listed_is_a_bug_O3)
{
    struct record *r = NULL, *child = NULL;

    r = record_open("step");
    record_f64(r, "los", 1);
    expect_bug(*state, &r, "key los of kind step");
    r = record_open("step");
    record_text(r, "loss", "1");
    expect_bug(*state, &r, "key loss of kind step");
    r = record_open("stepp");
    expect_bug(*state, &r, "kind stepp");
    r = record_open("manifest");
    child = record_open("cluster");
    record_f64(child, "no_such_key_s", 1);
    record_child(r, "cluster", &child);
    expect_bug(*state, &r, "key no_such_key_s of kind cluster");
}

UNIT_MAIN("record_keys")
