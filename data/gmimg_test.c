/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gmimg_test.c - images of every format go into a shard and come out to the bit; readers that change or overlook
 * something must show.
 *
 * usage: gmimg_test DIGITS.CSV
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/gmimg.h"
#include "data/suite/test_files.h"
#include "harness/base/suite/unit.h"

static const char *digits_path;

/* Images first, first + 1, ... of a against 0, 1, ... of b: bytes and labels. */
static int count_different(const struct dataset *a, size_t first, const struct dataset *b, size_t n)
{
    uint8_t *left = malloc(a->n_features), *right = malloc(a->n_features);
    int n_different = 0;

    assert_true(left != NULL && right != NULL);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a->ops->bytes(a, first + i, left), RC_OK);
        assert_int_equal(b->ops->bytes(b, i, right), RC_OK);
        n_different += memcmp(left, right, a->n_features) != 0 || a->ops->label(a, first + i) != b->ops->label(b, i);
    }
    free(left);
    free(right);
    return n_different;
}

/* How many images of `packed` are not those of `real` after they went through a file. */
static int count_lost(const struct dataset *real, const struct dataset *packed, size_t first, size_t n)
{
    struct dataset *again = NULL;
    struct test_files f;
    char path[128];

    test_files_open(&f);
    test_files_path(&f, "a.gmimg", path);
    assert_int_equal(test_files_pack(path, packed, first, n), RC_OK);
    assert_int_equal(dataset_open_path(&again, path), RC_OK);
    assert_int_equal(again->n_train, n);
    assert_int_equal(again->n_test, 0);
    assert_int_equal(again->n_classes, real->n_classes);
    assert_true(again->C == real->C && again->H == real->H && again->W == real->W);
    const int n_lost = count_different(real, first, again, n);
    dataset_close(&again);
    test_files_close(&f);
    return n_lost;
}

static void expect_round_trips(const struct dataset *d)
{
    assert_int_equal(count_lost(d, d, 0, d->n_train), 0);
    assert_int_equal(count_lost(d, d, d->n_train, d->n_test), 0);
    assert_int_equal(count_lost(d, d, 3, 1), 0);
}

UNIT_TEST(digits_come_back)
{
    struct dataset *d = NULL;
    uint8_t byte[64];

    assert_int_equal(dataset_open_digits(&d, digits_path), RC_OK);
    expect_round_trips(d);
    for (size_t i = 0; i < d->n_train + d->n_test; i++) { /* 16 steps of a pixel stay apart */
        assert_int_equal(d->ops->bytes(d, i, byte), RC_OK);
        for (size_t k = 0; k < 64; k++)
            assert_true((byte[k] * 16 + 127) / 255 == (int)(d->feature[i * 64 + k] * 16.0f));
    }
    dataset_close(&d);
}

UNIT_TEST(files_come_back)
{
    for (int which = 0; which < 3; which++) {
        struct dataset *d = NULL;
        struct test_files f;
        test_files_open(&f);
        if (which == 0)
            test_files_make_idx(&f, 20, 4, 7, 5);
        else if (which == 1)
            test_files_make_cifar10(&f, 80); /* 400 x 3072 bytes: two blocks */
        else {
            test_files_make_gmimg(&f, "train-1.gmimg", 2, 3, 4, 0, 9);
            test_files_make_gmimg(&f, "test-1.gmimg", 2, 3, 4, 9, 3);
        }
        assert_int_equal(dataset_open_path(&d, f.folder), RC_OK);
        expect_round_trips(d);
        dataset_close(&d);
        test_files_close(&f);
    }
}

/* Room for more images than came: the file is the same to the byte as where their number was known. */
UNIT_TEST(room_leaves_no_trace)
{
    static const size_t n_images[] = { 1, 340, 341, 342, 700 }, n_more[] = { 0, 1, 341, 5000 };
    struct dataset *d = NULL;
    struct test_files f;
    uint8_t pixels[TEST_MAX_FEATURES];
    char path[128];

    test_files_open(&f);
    test_files_make_cifar10(&f, 140); /* 700 x 3072 bytes: a block has 341 */
    assert_int_equal(dataset_open_path(&d, f.folder), RC_OK);
    for (size_t i = 0; i < 5 * 4; i++) {
        const size_t n = n_images[i / 4];
        size_t want_bytes = 0, got_bytes = 0;
        struct gmimg_writer *w = NULL;
        test_files_path(&f, "want", path);
        assert_int_equal(test_files_pack(path, d, 0, n), RC_OK);
        test_files_path(&f, "got", path);
        assert_int_equal(gmimg_writer_open(&w, path, d, n + n_more[i % 4]), RC_OK);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(d->ops->bytes(d, k, pixels), RC_OK);
            gmimg_writer_add(w, d->ops->label(d, k), pixels);
        }
        assert_int_equal(gmimg_writer_commit(w), RC_OK);
        gmimg_writer_close(&w);
        uint8_t *want = test_files_read(&f, "want", &want_bytes), *got = test_files_read(&f, "got", &got_bytes);
        assert_int_equal(got_bytes, want_bytes);
        assert_memory_equal(got, want, want_bytes);
        free(want);
        free(got);
    }
    struct gmimg_writer *w = NULL;
    test_files_path(&f, "none", path);
    assert_int_equal(gmimg_writer_open(&w, path, d, 3), RC_OK);
    assert_int_equal(gmimg_writer_commit(w), RC_INVAL);
    gmimg_writer_close(&w);
    assert_null(fopen(path, "rb"));
    dataset_close(&d);
    test_files_close(&f);
}

static size_t test_first(const struct dataset *d, size_t i)
{
    return (i + real_of(d)->n_train) % (real_of(d)->n_train + real_of(d)->n_test);
}

static uint32_t test_first_label(const struct dataset *d, size_t i)
{
    return real_label(d, test_first(d, i));
}

static enum rc test_first_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    return real_bytes(d, test_first(d, i), out);
}

static uint32_t stale_label(const struct dataset *d, size_t i)
{
    return real_label(d, i == 0 ? 0 : i - 1);
}

static enum rc last_byte_lost(const struct dataset *d, size_t i, uint8_t *out)
{
    const enum rc rc = real_bytes(d, i, out);

    out[real_of(d)->n_features - 1] = 0;
    return rc;
}

/* Pixel by pixel instead of channel by channel. */
static enum rc channels_last(const struct dataset *d, size_t i, uint8_t *out)
{
    const struct dataset *real = real_of(d);
    const size_t C = (size_t)real->C, plane = real->n_features / C;
    uint8_t byte[24];
    const enum rc rc = real_bytes(d, i, byte);

    for (size_t k = 0; k < real->n_features; k++)
        out[k % plane * C + k / plane] = byte[k];
    return rc;
}

UNIT_TEST(mutants_are_caught)
{
    static const struct dataset_ops mutant[] = {
        { .label = test_first_label, .bytes = test_first_bytes }, { .label = stale_label, .bytes = real_bytes },
        { .label = real_label, .bytes = last_byte_lost },         { .label = real_label, .bytes = channels_last },
        { .label = test_first_label, .bytes = real_bytes },
    };
    struct dataset *d = NULL;
    struct test_files f;

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 2, 3, 4, 0, 9);
    test_files_make_gmimg(&f, "test-1.gmimg", 2, 3, 4, 9, 3);
    assert_int_equal(dataset_open_path(&d, f.folder), RC_OK);
    for (size_t i = 0; i < sizeof mutant / sizeof mutant[0]; i++) {
        struct wrapped wrapped = { .base = *d, .real = d };
        wrapped.base.ops = &mutant[i];
        assert_true(count_lost(d, &wrapped.base, 0, d->n_train) > 0);
    }
    dataset_close(&d);
    test_files_close(&f);
}

enum { LABEL = 84, N_DAMAGES = 3, WHOLE_BYTES = 80 + 9 * 4 + 16 + 9 * 24 };

/* dataset_open_path() of a damaged shard, or of what a careless reader makes of it. */
typedef void mend_fn(uint8_t *byte, size_t *n_bytes);

static void mend_nothing(uint8_t *byte, size_t *n_bytes)
{
    (void)byte, (void)n_bytes;
}

static void mend_sums(uint8_t *byte, size_t *n_bytes) /* a reader that checks none */
{
    test_files_sign_gmimg(byte, *n_bytes);
}

static void mend_end(uint8_t *byte, size_t *n_bytes) /* one that stops where it has enough */
{
    (void)byte;
    *n_bytes = *n_bytes == WHOLE_BYTES + 1 ? WHOLE_BYTES : *n_bytes;
}

static void mend_label(uint8_t *byte, size_t *n_bytes) /* one that believes labels */
{
    byte[LABEL] %= 10;
    test_files_sign_gmimg(byte, *n_bytes);
}

/* data.P3: a label of another class, a label of no class, a byte too many; all must be refused. */
static int count_accepted(mend_fn *mend)
{
    int n_accepted = 0;

    for (int which = 0; which < N_DAMAGES; which++) {
        struct dataset *d = NULL;
        struct test_files f;
        size_t n_bytes = 0;
        test_files_open(&f);
        test_files_make_gmimg(&f, "train-1.gmimg", 2, 3, 4, 0, 9);
        uint8_t *whole = test_files_read(&f, "train-1.gmimg", &n_bytes), *byte = calloc(1, n_bytes + 1);
        assert_non_null(byte);
        assert_int_equal(n_bytes, WHOLE_BYTES);
        memcpy(byte, whole, n_bytes);
        if (which == 0)
            byte[LABEL] = (uint8_t)((byte[LABEL] + 1) % 10);
        else if (which == 1)
            byte[LABEL] = 10;
        else
            n_bytes++;
        if (which == 1)
            test_files_sign_gmimg(byte, n_bytes);
        mend(byte, &n_bytes);
        test_files_write(&f, "train-1.gmimg", byte, n_bytes);
        n_accepted += dataset_open_path(&d, f.folder) == RC_OK;
        dataset_close(&d);
        free(whole);
        free(byte);
        test_files_close(&f);
    }
    return n_accepted;
}

UNIT_TEST(careless_readers_show)
{
    assert_int_equal(count_accepted(mend_nothing), 0);
    assert_int_equal(count_accepted(mend_sums), 1);
    assert_int_equal(count_accepted(mend_end), 1);
    assert_int_equal(count_accepted(mend_label), 2);
}

static int n_reads_left; /* until the disk is gone */

static enum rc failing_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    return n_reads_left-- > 0 ? real_bytes(d, i, out) : rc_raise(RC_INVAL, "the disk is gone");
}

static int count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    int n_files = -2; /* . and .. */

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n_files++;
    closedir(dir);
    return n_files;
}

/* A whole file, or none, nor a temporary one: wherever reading fails. Images are read once, with the file
 * open. */
UNIT_TEST(nothing_half_is_left)
{
    enum { N_IMAGES = 6 };
    static const struct dataset_ops failing = { .label = real_label, .bytes = failing_bytes };
    struct dataset *d = NULL;
    struct test_files f, to;
    char path[128];

    test_files_open(&f);
    test_files_open(&to);
    test_files_make_idx(&f, 20, 4, 7, 5);
    assert_int_equal(dataset_open_path(&d, f.folder), RC_OK);
    struct wrapped wrapped = { .base = *d, .real = d };
    wrapped.base.ops = &failing;
    test_files_path(&to, "a.gmimg", path);
    for (int n_reads = 0; n_reads < N_IMAGES; n_reads++) {
        n_reads_left = n_reads;
        assert_int_equal(test_files_pack(path, &wrapped.base, 0, N_IMAGES), RC_INVAL);
        assert_string_equal(rc_message(), "the disk is gone");
        assert_int_equal(n_reads_left, -1);
        assert_int_equal(count_files(to.folder), 0);
    }
    assert_int_equal(test_files_pack(path, d, 0, 0), RC_INVAL);
    assert_int_equal(test_files_pack("no/such/a.gmimg", d, 0, 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "no/such/a.gmimg"));
    assert_int_equal(count_files(to.folder), 0);
    n_reads_left = N_IMAGES;
    assert_int_equal(test_files_pack(path, &wrapped.base, 0, N_IMAGES), RC_OK);
    assert_int_equal(count_files(to.folder), 1);
    dataset_close(&d);
    test_files_close(&to);
    test_files_close(&f);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: gmimg_test DIGITS.CSV\n");
        return 2;
    }
    digits_path = argv[1];
    return unit_run("gmimg", NULL, NULL, NULL);
}
