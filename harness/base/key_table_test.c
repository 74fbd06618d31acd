/* SPDX-License-Identifier: Apache-2.0 */
/* key_table_test.c - keys of each type from text and back (base.K1 to K3), settings, and files that are written and
 * read. */
#include "harness/base/key_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/key_yaml.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

struct garden {
    char name[8], beds[64], tree[16], rows[128];
    int n_rows, soil;
    double area_bytes, rate_bytes_per_s, slope_ratio;
};

static const struct module apple = { .name = "apple" }, pear = { .name = "pear" };
static const struct module *tree_at(int i)
{
    return i == 0 ? &apple : i == 1 ? &pear : NULL;
}
static const struct module_kind tree_kind = { "tree", tree_at, NULL, "pear", NULL };

static const struct key keys[] = {
    { .name = "name", .type = KEY_TEXT, KEY_LETTERS_(struct garden, name), .def = "none", .unit = "" },
    { .name = "beds",
      .type = KEY_LIST,
      KEY_LETTERS_(struct garden, beds),
      .choices = "herbs|roses|leeks",
      .def = "herbs,leeks",
      .unit = "" },
    { .name = "tree", .type = KEY_TEXT, KEY_LETTERS_(struct garden, tree), .def = "", .unit = "", .kind = &tree_kind },
    { .name = "rows_count",
      .type = KEY_LIST,
      KEY_LETTERS_(struct garden, rows),
      .least = 2,
      .most = 4096,
      .def = "2,4Ki",
      .unit = "rows" },
    { .name = "row_count",
      .type = KEY_WHOLE,
      KEY_MEMBER_(struct garden, n_rows, int),
      .least = 1,
      .most = 9,
      .def = "3",
      .unit = "rows" },
    { .name = "soil",
      .type = KEY_CHOICE,
      KEY_MEMBER_(struct garden, soil, int),
      .choices = "loam|clay",
      .def = "clay",
      .unit = "" },
    { .name = "area_bytes",
      .type = KEY_COUNT,
      KEY_MEMBER_(struct garden, area_bytes, double),
      .most = 1e15,
      .def = "4Mi",
      .unit = "bytes" },
    { .name = "rate_bits_per_s",
      .type = KEY_REAL,
      KEY_MEMBER_(struct garden, rate_bytes_per_s, double),
      .most = 1e12,
      .is_bits = true,
      .def = "1e9",
      .unit = "bits/s" },
    { .name = "slope_ratio",
      .type = KEY_REAL,
      KEY_MEMBER_(struct garden, slope_ratio, double),
      .most = 1,
      .def = "0.25",
      .unit = "",
      .only = "soil=loam" },
};
enum { N_KEYS = sizeof keys / sizeof *keys };
static const struct key_table table = { keys, N_KEYS, "plan of a garden", "a plan of a garden (YAML)" };

static struct garden standard(void)
{
    struct garden g;

    memset(&g, 0x5a, sizeof g);
    assert_int_equal(key_set_defaults(&table, &g), RC_OK);
    return g;
}

UNIT_TEST(defaults_are_parsed)
{
    const struct garden g = standard();

    assert_string_equal(g.name, "none");
    assert_string_equal(g.beds, "herbs,leeks");
    assert_string_equal(g.tree, "pear"); /* the kind's */
    assert_string_equal(g.rows, "2,4Ki");
    assert_int_equal(g.n_rows, 3);
    assert_int_equal(g.soil, 1);
    assert_true(g.area_bytes == 4194304 && g.rate_bytes_per_s == 125e6 && g.slope_ratio == 0.25);
    assert_true(key_number(&keys[7], &g) == 1e9);
    assert_false(key_matters(&table, &g, 8));
    assert_true(key_matters(&table, &g, 7));
    assert_int_equal(key_value_bytes(&table), 128);
    assert_int_equal(key_find(&table, "soil"), 5);
    assert_int_equal(key_find(&table, "soi"), -1);
}

UNIT_TEST(wrong_values_say_what_is_right)
{
    static const struct {
        int key;
        const char *text, *message;
    } wrong[] = {
        { 0, "12345678", "is too long; use at most 7 bytes" },
        { 0, "a\tb", "has a control character; use printable text" },
        { 1, "herbs,rose",
          "is \"herbs,rose\"; the nearest to rose is roses; use names with commas between, each one of "
          "herbs|roses|leeks" },
        { 1, "", "is \"\"; use names with commas between, each one of herbs|roses|leeks" },
        { 1, "herbs,", "is \"herbs,\"; use names with commas between, each one of herbs|roses|leeks" },
        { 2, "aple", "is \"aple\"; the nearest to aple is apple; use one of apple|pear" },
        { 2, "oak\n", "has a control character; use printable text" },
        { 2, "zzzzzzz", "is \"zzzzzzz\"; use one of apple|pear" },
        { 3, "1,2", "is \"1,2\"; use whole numbers with commas between, each from 2 to 4096" },
        { 3, "2,,3", "is \"2,,3\"; use whole numbers with commas between, each from 2 to 4096" },
        { 3, "2,5Ki", "is \"2,5Ki\"; use whole numbers with commas between, each from 2 to 4096" },
        { 4, "0", "is \"0\"; use a whole number from 1 to 9" },
        { 4, "10", "is \"10\"; use a whole number from 1 to 9" },
        { 4, "2.5", "is \"2.5\"; use a whole number from 1 to 9" },
        { 5, "sand", "is \"sand\"; use one of loam|clay" },
        { 6, "0.5", "is \"0.5\"; use a whole number from 0 to 1e+15" },
        { 6, "2000000000000000", "is \"2000000000000000\"; use a whole number from 0 to 1e+15" },
        { 7, "1e13", "is \"1e13\"; use a number from 0 to 1e+12" },
        { 7, "nan", "is \"nan\"; use a number from 0 to 1e+12" },
        { 8, "-0.1", "is \"-0.1\"; use a number from 0 to 1" },
    };
    const struct garden before = standard();

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct garden g = standard();
        assert_int_equal(key_set(&keys[wrong[i].key], &g, wrong[i].text), RC_INVAL);
        assert_string_equal(rc_message(), wrong[i].message);
        for (int k = 0; k < N_KEYS; k++) {
            char value[KEY_VALUE_BYTES], should[KEY_VALUE_BYTES];
            key_format(&keys[k], &g, value, sizeof value);
            key_format(&keys[k], &before, should, sizeof should);
            assert_string_equal(value, should);
        }
    }
}

UNIT_TEST(numbers_come_back_to_the_last_bit)
{
    static const double number[] = { 1.0 / 3, 0.1, 4194304, 1e-300, 123456789012.125, 0 };
    struct garden g = standard(), again = standard();
    char text[KEY_VALUE_BYTES];

    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        g.rate_bytes_per_s = number[i];
        key_format(&keys[7], &g, text, sizeof text);
        assert_int_equal(key_set(&keys[7], &again, text), RC_OK);
        assert_memory_equal(&again.rate_bytes_per_s, &g.rate_bytes_per_s, sizeof(double));
    }
    g.area_bytes = 123456789012345;
    key_format(&keys[6], &g, text, sizeof text);
    assert_string_equal(text, "123456789012345");
}

static void count_changes(void *arg, int key)
{
    ((int *)arg)[key]++;
}

/* What follows a list goes on with it, up to the next "=". */
UNIT_TEST(settings_hold_lists)
{
    int n_changes[N_KEYS] = { 0 };
    struct garden g = standard();

    assert_int_equal(key_change(&table, &g, "--set", "beds=roses,herbs,rows_count=2,3,4,row_count=5,name=x",
                                count_changes, n_changes),
                     RC_OK);
    assert_string_equal(g.beds, "roses,herbs");
    assert_string_equal(g.rows, "2,3,4");
    assert_int_equal(g.n_rows, 5);
    assert_string_equal(g.name, "x");
    assert_true(n_changes[0] == 1 && n_changes[1] == 1 && n_changes[3] == 1 && n_changes[4] == 1 && n_changes[2] == 0);
    assert_int_equal(key_change(&table, &g, "--set", "", NULL, NULL), RC_OK);
    assert_int_equal(key_change(&table, &g, "--set", "row_count=5,6", NULL, NULL), RC_INVAL);
    assert_string_equal(rc_message(), "--set 6: use KEY=VALUE");
    assert_int_equal(key_change(&table, &g, "--set", "rows_count=2,,name=y", NULL, NULL), RC_INVAL);
    assert_names(rc_message(), "--set rows_count=2,: ... \"2,\" ... 2 ... 4096");
    assert_int_equal(key_change(&table, &g, "--set", "rows_count=2,3,name=y,rows_count=4", NULL, NULL), RC_INVAL);
    assert_string_equal(rc_message(), "--set rows_count=4: this key is given twice; leave one of the two out");
    assert_int_equal(key_change(&table, &g, "--set", "row_cnt=2", NULL, NULL), RC_INVAL);
    assert_names(rc_message(), "--set row_cnt=2: ... row_count ... name, beds, tree, rows_count, row_count, soil, "
                               "area_bytes, rate_bits_per_s, slope_ratio");
}

/* A list as long as can be, and longer. */
UNIT_TEST(long_settings_are_refused)
{
    char setting[1024] = "rows_count=2";
    struct garden g = standard();

    for (size_t n = strlen(setting); n + 3 < sizeof setting; n += 2)
        snprintf(setting + n, sizeof setting - n, ",3");
    assert_int_equal(key_change(&table, &g, "--set", setting, NULL, NULL), RC_INVAL);
    assert_non_null(strstr(rc_message(), ": is too long; no value has so many letters"));
}

UNIT_TEST(files_come_back)
{
    struct garden g = standard(), again = standard();
    struct key_file *file = NULL;
    char *text = NULL, comment[256];
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    assert_non_null(to);
    snprintf(g.name, sizeof g.name, "a: #\"");
    snprintf(g.rows, sizeof g.rows, "7,8,9");
    g.slope_ratio = 1.0 / 3;
    key_write_head(to, "a head\n\nof three lines: {");
    for (int i = 0; i < N_KEYS; i++) {
        key_write_text(to, "what it means: name: 5 # and more");
        key_write_value(to, &keys[i], &g, i % 2 ? "where it is from: x" : "");
    }
    fclose(to);
    assert_int_equal(strncmp(text, "# a head\n#\n# of three lines: {\n", 31), 0);
    if (key_file_parse(&file, &table, "made", text, n_bytes) != RC_OK)
        fail_msg("%s", rc_message());
    for (int i = 0; i < N_KEYS; i++) {
        assert_int_equal(key_file_set(file, i, &again), RC_OK);
        assert_int_equal(key_file_line(file, i), 5 + 2 * i);
        key_file_comment(file, i, comment, sizeof comment);
        assert_string_equal(comment, i % 2 ? "where it is from: x" : "");
    }
    assert_string_equal(again.name, "a: #\"");
    assert_string_equal(again.rows, "7,8,9");
    assert_true(again.slope_ratio == 1.0 / 3);
    key_file_close(&file);
    assert_null(file);
    key_file_close(&file);
    free(text);
}

UNIT_TEST(other_files_are_refused_as_what_they_are_not)
{
    static char long_text[KEY_FILE_BYTES_MAX + 1];
    struct key_file *file = NULL;

    memset(long_text, '\n', sizeof long_text);
    assert_int_equal(key_file_parse(&file, &table, "made", long_text, sizeof long_text), RC_INVAL);
    assert_names(rc_message(), "made:1: ... 65536 bytes ... plan of a garden");
    assert_int_equal(key_file_parse(&file, &table, "made", "soil: &a loam\nsoil: 1\n", 22), RC_INVAL);
    assert_names(rc_message(), "made:2: soil:");
    assert_int_equal(key_file_load(&file, &table, "/dev/null"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "a plan of a garden (YAML)"));
    assert_null(file);
}

UNIT_MAIN("key_table")
