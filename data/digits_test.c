/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits_test.c - the reader of digits.csv: the right file, and every wrong one.
 *
 * usage: digits_test DIGITS.CSV
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset.h"
#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

enum { N_ROWS = 1797, N_TEST = 359, N_PIXELS = 64 };

static const char *digits_path;

struct text { /* a file in memory, and where it is written for the reader */
    char *byte;
    size_t n_bytes;
    char path[32];
};

static void text_open(struct text *t)
{
    FILE *f = fopen(digits_path, "rb");

    assert_non_null(f);
    t->byte = malloc(1 << 20);
    assert_non_null(t->byte);
    t->n_bytes = fread(t->byte, 1, 1 << 20, f);
    assert_true(t->n_bytes > 200000);
    fclose(f);
    strcpy(t->path, "digits_test.XXXXXX");
    const int fd = mkstemp(t->path);
    assert_true(fd >= 0);
    close(fd);
}

static void text_close(struct text *t)
{
    unlink(t->path);
    free(t->byte);
    t->byte = NULL;
}

static enum rc text_read(const struct text *t, struct dataset **d)
{
    FILE *f = fopen(t->path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(t->byte, 1, t->n_bytes, f), t->n_bytes);
    assert_int_equal(fclose(f), 0);
    return dataset_open_digits(d, t->path);
}

/* Byte at which line n (from 1) starts. */
static size_t line_at(const struct text *t, size_t n)
{
    size_t at = 0;

    for (size_t k = 1; k < n; at++)
        k += t->byte[at] == '\n';
    return at;
}

/* Replace n_old bytes at `at` by n_new. */
static void splice(struct text *t, size_t at, size_t n_old, const char *text, size_t n_new)
{
    memmove(t->byte + at + n_new, t->byte + at + n_old, t->n_bytes - at - n_old);
    memcpy(t->byte + at, text, n_new);
    t->n_bytes = t->n_bytes - n_old + n_new;
}

/* The message, after the path, must be exactly `message`. */
static void expect_refusal(const struct text *t, const char *message)
{
    struct dataset *d = NULL;
    char want[RC_MESSAGE_BYTES];

    assert_int_equal(text_read(t, &d), RC_INVAL);
    assert_null(d);
    snprintf(want, sizeof want, "%s%s", t->path, message);
    assert_string_equal(rc_message(), want);
}

static void refuse_line(size_t n, const char *with, const char *message)
{
    struct text t;

    text_open(&t);
    const size_t at = line_at(&t, n);
    splice(&t, at, line_at(&t, n + 1) - at, with, strlen(with));
    expect_refusal(&t, message);
    text_close(&t);
}

UNIT_TEST(the_file_is_read)
{
    static const float first[8] = { 0.0f, 0.0f, 5.0f, 13.0f, 9.0f, 1.0f, 0.0f, 0.0f };
    struct dataset *d = NULL;
    size_t n_of[10] = { 0 };

    assert_int_equal(dataset_open_digits(&d, digits_path), RC_OK);
    assert_string_equal(d->name, "digits");
    assert_int_equal(d->n_train + d->n_test, N_ROWS);
    assert_int_equal(d->n_test, N_TEST);
    assert_int_equal(d->n_features, N_PIXELS);
    assert_int_equal(d->n_classes, 10);
    assert_null(d->target);
    for (size_t i = 0; i < 8; i++)
        assert_true(d->feature[i] == first[i] / 16.0f);
    for (size_t i = 0; i < N_ROWS * N_PIXELS; i++)
        assert_true(d->feature[i] >= 0.0f && d->feature[i] <= 1.0f);
    for (size_t i = 0; i < N_ROWS; i++)
        n_of[d->label[i]]++;
    for (size_t k = 0; k < 10; k++)
        assert_true(n_of[k] >= 170 && n_of[k] <= 190);
    dataset_close(&d);
    dataset_close(&d);
    assert_null(d);
}

/* Rows 4, 9, 14, ... are the test set, in order; the others train, in order. */
UNIT_TEST(every_fifth_row_is_for_testing)
{
    struct dataset *d = NULL;
    struct text t;
    size_t n_train = 0, n_test = 0;

    text_open(&t);
    assert_int_equal(text_read(&t, &d), RC_OK);
    const char *p = t.byte;
    for (size_t row = 0; row < N_ROWS; row++) {
        const size_t at = row % 5 == 4 ? d->n_train + n_test++ : n_train++;
        for (size_t k = 0; k <= N_PIXELS; k++) {
            char *end;
            const long value = strtol(p, &end, 10);
            p = end + 1;
            if (k < N_PIXELS)
                assert_true(d->feature[at * N_PIXELS + k] == (float)value / 16.0f);
            else
                assert_int_equal(d->label[at], value);
        }
    }
    assert_int_equal(n_test, d->n_test);
    dataset_close(&d);
    text_close(&t);
}

#define EIGHT "1,2,3,4,5,6,7,8,"
#define ROW7 EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT
#define MORE_THAN_A_ROW        \
    "10,11,12,13,14,15,16,10," \
    "10,11,12,13,14,15,16,10," \
    "10,11,12,13,14,15,16,10," \
    "10,11,12,13,14,15,16,10,"

UNIT_TEST(wrong_rows_are_named)
{
    refuse_line(3, ROW7 "1,2,3,17,5,6,7,8,9\n", ":3: pixel 60 is \"17\", not a whole number from 0 to 16");
    refuse_line(3, ROW7 "1,2,3,-1,5,6,7,8,9\n", ":3: pixel 60 is \"-1\", not a whole number from 0 to 16");
    refuse_line(1, ROW7 "1,2,3,4,5,6,7,8,10\n", ":1: the label is \"10\", not a whole number from 0 to 9");
    refuse_line(1797, ROW7 EIGHT "x\n", ":1797: the label is \"x\", not a whole number from 0 to 9");
    refuse_line(20, ROW7 EIGHT "\n", ":20: the label is \"\", not a whole number from 0 to 9");
    refuse_line(20, "," ROW7 "1,2,3,4,5,6,7,8\n", ":20: pixel 1 is \"\", not a whole number from 0 to 16");
    refuse_line(20, " " ROW7 EIGHT "9\n", ":20: pixel 1 is \" 1\", not a whole number from 0 to 16");
    refuse_line(20, "+" ROW7 EIGHT "9\n", ":20: pixel 1 is \"+1\", not a whole number from 0 to 16");
    refuse_line(20, "0" ROW7 EIGHT "9\n", ":20: pixel 1 is \"01\", not a whole number from 0 to 16");
    refuse_line(20, "0." ROW7 EIGHT "9\n", ":20: pixel 1 is \"0.1\", not a whole number from 0 to 16");
    refuse_line(20, "\xff\x01\x7f" ROW7 EIGHT "9\n", ":20: pixel 1 is \"???1\", not a whole number from 0 to 16");
    refuse_line(20, "99999999999999999999" ROW7 EIGHT "9\n",
                ":20: pixel 1 is \"999999999999...\", not a whole number from 0 to 16");
    refuse_line(20, ROW7 EIGHT "9,9\n", ":20: 66 values instead of 65 (64 pixels and a label)");
    refuse_line(20, ROW7 "9\n", ":20: 57 values instead of 65 (64 pixels and a label)");
    refuse_line(20, "7\n", ":20: 1 values instead of 65 (64 pixels and a label)");
    refuse_line(20, "\n", ":20: empty line instead of 64 pixels and a label");
    refuse_line(20, "\r\n", ":20: empty line instead of 64 pixels and a label");
    refuse_line(20, MORE_THAN_A_ROW MORE_THAN_A_ROW MORE_THAN_A_ROW "\n",
                ":20: longer than 193 bytes, the longest a row can be");
}

UNIT_TEST(a_nul_byte_is_refused)
{
    struct text t;

    text_open(&t);
    t.byte[line_at(&t, 5)] = '\0';
    expect_refusal(&t, ":5: pixel 1 is \"?\", not a whole number from 0 to 16");
    t.n_bytes = 100000;
    memset(t.byte, 0, t.n_bytes);
    expect_refusal(&t, ":1: longer than 193 bytes, the longest a row can be");
    text_close(&t);
}

/* The longest right row: 16 everywhere, with CRLF. */
UNIT_TEST(the_longest_row_fits)
{
    struct dataset *d = NULL;
    struct text t;
    char row[256] = "";

    for (size_t i = 0; i < N_PIXELS; i++)
        strcat(row, "16,");
    strcat(row, "9\r\n");
    text_open(&t);
    splice(&t, 0, line_at(&t, 2), row, strlen(row));
    assert_int_equal(text_read(&t, &d), RC_OK);
    assert_true(d->feature[63] == 1.0f);
    assert_int_equal(d->label[0], 9);
    dataset_close(&d);
    text_close(&t);
}

/* A table as spreadsheet programs save it. */
UNIT_TEST(other_separators_and_a_byte_order_mark)
{
    struct dataset *d = NULL, *same = NULL;
    struct text t;

    text_open(&t);
    assert_int_equal(text_read(&t, &d), RC_OK);
    for (const char *separator = ";\t"; *separator; separator++) {
        for (size_t i = 0; i < t.n_bytes; i++)
            if (strchr(",;\t", t.byte[i]))
                t.byte[i] = *separator;
        splice(&t, 0, 0, "\xef\xbb\xbf", 3);
        assert_int_equal(text_read(&t, &same), RC_OK);
        assert_memory_equal(same->feature, d->feature, (size_t)N_ROWS * N_PIXELS * sizeof *d->feature);
        dataset_close(&same);
        splice(&t, 0, 3, "", 0);
    }
    dataset_close(&d);
    text_close(&t);
}

UNIT_TEST(short_and_long_files)
{
    struct dataset *d = NULL;
    struct text t;

    text_open(&t);
    splice(&t, t.n_bytes, 0, "0\n", 2);
    expect_refusal(&t, ":1798: more than 1797 rows");
    t.n_bytes -= 2;
    splice(&t, t.n_bytes, 0, "\n\r\n ,,\t\n", 8);
    assert_int_equal(text_read(&t, &d), RC_OK); /* empty lines behind the last row */
    dataset_close(&d);
    splice(&t, t.n_bytes, 0, "0\n", 2);
    expect_refusal(&t, ":1801: more than 1797 rows");
    t.n_bytes = line_at(&t, 501);
    expect_refusal(&t, ":501: ends after 500 of 1797 rows");
    t.n_bytes -= 1; /* the 500th row without its newline is whole */
    expect_refusal(&t, ":501: ends after 500 of 1797 rows");
    t.n_bytes -= 2;
    expect_refusal(&t, ":500: 64 values instead of 65 (64 pixels and a label)");
    t.n_bytes = 0;
    expect_refusal(&t, ":1: ends after 0 of 1797 rows");
    text_close(&t);
}

UNIT_TEST(line_ends)
{
    struct dataset *d = NULL, *same = NULL;
    struct text t;

    text_open(&t);
    t.n_bytes--;
    assert_int_equal(text_read(&t, &d), RC_OK); /* no newline at the end */
    t.n_bytes++;
    for (size_t n = N_ROWS + 1; n > 1; n--)
        splice(&t, line_at(&t, n) - 1, 0, "\r", 1);
    assert_int_equal(text_read(&t, &same), RC_OK); /* CRLF */
    assert_memory_equal(d->feature, same->feature, N_ROWS * N_PIXELS * sizeof(float));
    assert_memory_equal(d->label, same->label, N_ROWS * sizeof(uint32_t));
    dataset_close(&d);
    dataset_close(&same);
    text_close(&t);
}

UNIT_TEST(files_that_cannot_be_read)
{
    struct dataset *d = NULL;

    assert_int_equal(dataset_open_digits(&d, "no/such/digits.csv"), RC_INVAL);
    assert_names(rc_message(), "no/such/digits.csv:");
    assert_int_equal(dataset_open_digits(&d, "."), RC_INVAL);
    assert_string_equal(rc_message(), ".: cannot be read: Is a directory");
    assert_int_equal(dataset_open_digits(&d, ""), RC_INVAL);
    assert_null(d);
}

/* Random damage: never a crash, never a value out of range, always a place in the message. */
UNIT_TEST(damaged_files)
{
    static const char often[] = "0123456789,\n\r\t -+.\0xX\xff";
    uint64_t n_draw = 0;
    struct text t;

    text_open(&t);
    const size_t n_bytes = t.n_bytes;
    char *whole = malloc(n_bytes);
    assert_non_null(whole);
    memcpy(whole, t.byte, n_bytes);
    for (size_t round = 0; round < 400; round++) {
        struct dataset *d = NULL;
        memcpy(t.byte, whole, n_bytes);
        t.n_bytes = n_bytes;
        for (uint64_t k = rng_u64(1, RNG_TEST, n_draw++) % 4; k < 4 && t.n_bytes > 0; k++) {
            const uint64_t r = rng_u64(1, RNG_TEST, n_draw++);
            const size_t at = (size_t)(r >> 16) % t.n_bytes % (round % 2 != 0 ? 400 : t.n_bytes);
            const char byte = often[r % (sizeof often - 1)];
            if (r >> 8 & 1)
                t.byte[at] = byte;
            else if (r >> 9 & 1)
                splice(&t, at, 0, &byte, 1);
            else if (r >> 10 & 1)
                splice(&t, at, 1, "", 0);
            else
                t.n_bytes = at + 1;
        }
        const enum rc rc = text_read(&t, &d);
        assert_true(rc == RC_OK || rc == RC_INVAL);
        assert_true((rc == RC_OK) == (d != NULL));
        if (rc != RC_OK)
            assert_memory_equal(rc_message(), t.path, strlen(t.path));
        for (size_t i = 0; d != NULL && i < N_ROWS; i++)
            assert_true(d->label[i] < 10);
        for (size_t i = 0; d != NULL && i < N_ROWS * N_PIXELS; i++)
            assert_true(d->feature[i] >= 0.0f && d->feature[i] <= 1.0f);
        dataset_close(&d);
    }
    free(whole);
    text_close(&t);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: digits_test DIGITS.CSV\n");
        return 2;
    }
    digits_path = argv[1];
    return unit_run("digits", NULL, NULL, NULL);
}
