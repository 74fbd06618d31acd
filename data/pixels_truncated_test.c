/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels_truncated_test.c - files of every format that become shorter while they are open are errors with file and
 * offset, never signals (data.P4); more shards than a shell allows open files.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/suite/test_files.h"
#include "harness/base/suite/unit.h"

/* What the file that is cut holds: n_images of record_bytes, the pixels of the first at `at`. */
struct layout {
    const char *name;
    size_t at, record_bytes, n_images, n_bytes;
    bool block_first; /* a block is summed before any image of it is read */
};

/* Image i of the file, which was cut to n_left bytes: there, or an error that names the first byte that is not. */
static void expect_cut_image(const struct test_files *f, const struct dataset *d, const struct layout *l, size_t i,
                             size_t n_left)
{
    const size_t from = l->at + (l->block_first ? 0 : i * l->record_bytes);
    const size_t end = l->block_first ? l->n_bytes : from + d->n_features;
    float *x = malloc(d->n_features * sizeof *x);
    uint8_t *byte = malloc(d->n_features);
    char want[256];

    assert_true(x != NULL && byte != NULL);
    snprintf(want, sizeof want, "%s/%s: offset %zu: the file ends; it had %zu bytes when it was opened", f->folder,
             l->name, n_left > from ? n_left : from, l->n_bytes);
    const enum rc right = n_left < end ? RC_INVAL : RC_OK;
    assert_int_equal(d->ops->image(d, i, x, d->n_features / (size_t)d->C), right);
    if (right != RC_OK)
        assert_string_equal(rc_message(), want);
    rc_clear();
    assert_int_equal(d->ops->bytes(d, i, byte), right);
    if (right != RC_OK)
        assert_string_equal(rc_message(), want);
    free(x);
    free(byte);
}

static void cut(const struct test_files *f, const struct layout *l, bool read_before)
{
    for (size_t n_left = l->n_bytes; n_left > 0; n_left = n_left > 7 ? n_left - n_left / 7 : 0) {
        struct dataset *d = NULL;
        struct layout now = *l;
        size_t n_whole = 0;
        char path[128];
        uint8_t *whole = test_files_read(f, l->name, &n_whole);
        assert_int_equal(n_whole, l->n_bytes);
        assert_int_equal(dataset_open_path(&d, f->folder), RC_OK);
        if (read_before) {
            expect_cut_image(f, d, l, 0, l->n_bytes);
            now.block_first = false;
        }
        test_files_path(f, l->name, path);
        assert_int_equal(truncate(path, (off_t)n_left), 0);
        for (size_t i = 0; i < l->n_images; i++)
            expect_cut_image(f, d, &now, i, n_left);
        dataset_close(&d);
        test_files_write(f, l->name, whole, n_whole);
        free(whole);
    }
}

UNIT_TEST(idx_may_shrink)
{
    const struct layout l = {
        .name = "train-images-idx3-ubyte", .at = 16, .record_bytes = 90 * 91, .n_images = 9, .n_bytes = 16 + 9 * 90 * 91
    };
    struct test_files f;

    test_files_open(&f);
    test_files_make_idx(&f, 9, 3, 90, 91);
    cut(&f, &l, false);
    test_files_close(&f);
}

UNIT_TEST(cifar10_may_shrink)
{
    const struct layout l = { .name = "data_batch_1.bin",
                              .at = 1,
                              .record_bytes = TEST_CIFAR_RECORD_BYTES,
                              .n_images = 5,
                              .n_bytes = 5 * TEST_CIFAR_RECORD_BYTES };
    struct test_files f;

    test_files_open(&f);
    test_files_make_cifar10(&f, 5);
    cut(&f, &l, false);
    test_files_close(&f);
}

UNIT_TEST(gmimg_may_shrink)
{
    enum { IMAGE_BYTES = 2 * 150 * 151, AT = 80 + 5 * 4 + 16 };
    const struct layout l = { .name = "train-1.gmimg",
                              .at = AT,
                              .record_bytes = IMAGE_BYTES,
                              .n_images = 5,
                              .n_bytes = AT + 5 * IMAGE_BYTES,
                              .block_first = true };
    struct test_files f;

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 2, 150, 151, 0, 5);
    cut(&f, &l, false);
    cut(&f, &l, true);
    test_files_close(&f);
}

enum { N_SHARDS = 40, FEW_FILES = 20 };

/* Of a child, whose limits are its own: 0 when the shards open as they should. */
static int open_under_limit(const char *folder, bool may_be_lifted)
{
    struct dataset *d = NULL;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    limit.rlim_cur = FEW_FILES;
    limit.rlim_max = may_be_lifted ? limit.rlim_max : FEW_FILES;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 3;
    const enum rc rc = dataset_open_path(&d, folder);
    if (may_be_lifted)
        return !(rc == RC_OK && d->n_train == N_SHARDS);
    return !(rc == RC_INVAL && strstr(rc_message(), ".gmimg: Too many open files") != NULL);
}

UNIT_TEST(many_shards_open)
{
    struct test_files f;
    char name[32];

    test_files_open(&f);
    for (size_t i = 0; i < N_SHARDS; i++) {
        snprintf(name, sizeof name, "train-%02zu.gmimg", i);
        test_files_make_gmimg(&f, name, 1, 2, 3, i, 1);
    }
    for (int may_be_lifted = 0; may_be_lifted < 2; may_be_lifted++) {
        const pid_t child = fork();
        int status = 0;
        assert_true(child >= 0);
        if (child == 0)
            _exit(open_under_limit(f.folder, may_be_lifted));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    test_files_close(&f);
}

UNIT_MAIN("pixels_truncated")
