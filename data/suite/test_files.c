/* SPDX-License-Identifier: Apache-2.0 */
/* test_files.c - small files of every format. The writers of IDX and CIFAR-10 are here: nothing else needs them. */
#include "data/suite/test_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/gmimg.h"
#include "harness/base/bytes.h"
#include "harness/base/suite/unit.h"

enum { GUARD = 3 };

void test_files_open(struct test_files *f)
{
    strcpy(f->folder, "data_test.XXXXXX");
    assert_non_null(mkdtemp(f->folder));
}

void test_files_close(struct test_files *f)
{
    DIR *folder = opendir(f->folder);

    assert_non_null(folder);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder))
        if (e->d_name[0] != '.')
            test_files_remove(f, e->d_name);
    closedir(folder);
    assert_int_equal(rmdir(f->folder), 0);
}

void test_files_path(const struct test_files *f, const char *name, char out[128])
{
    assert_true(snprintf(out, 128, "%s/%s", f->folder, name) < 128);
}

void test_files_write(const struct test_files *f, const char *name, const uint8_t *bytes, size_t n_bytes)
{
    char path[128];

    test_files_path(f, name, path);
    (void)unlink(path); /* a file cut to nothing and written again is flushed by some systems: slow */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

uint8_t *test_files_read(const struct test_files *f, const char *name, size_t *n_bytes)
{
    char path[128];

    test_files_path(f, name, path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n_bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*n_bytes + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n_bytes, file), *n_bytes);
    fclose(file);
    return bytes;
}

void test_files_remove(const struct test_files *f, const char *name)
{
    char path[128];

    test_files_path(f, name, path);
    assert_int_equal(unlink(path), 0);
}

uint8_t test_pixel(size_t i, size_t k)
{
    return (uint8_t)(i * 37 + i / 251 * 5 + k * 11 + k / 7);
}

uint32_t test_label(size_t i)
{
    return (uint32_t)((i * 3 + 9) % 10);
}

static void put_word(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void make_idx_pair(const struct test_files *f, const char *which, size_t first, size_t n, uint32_t H, uint32_t W)
{
    const size_t image_bytes = (size_t)H * W;
    uint8_t *bytes = calloc(16 + n * image_bytes, 1);
    char name[64];

    assert_non_null(bytes);
    put_word(bytes, 0x803);
    put_word(bytes + 4, (uint32_t)n);
    put_word(bytes + 8, H);
    put_word(bytes + 12, W);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < image_bytes; k++)
            bytes[16 + i * image_bytes + k] = test_pixel(first + i, k);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", which);
    test_files_write(f, name, bytes, 16 + n * image_bytes);
    put_word(bytes, 0x801);
    for (size_t i = 0; i < n; i++)
        bytes[8 + i] = (uint8_t)test_label(first + i);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", which);
    test_files_write(f, name, bytes, 8 + n);
    free(bytes);
}

void test_files_make_idx(const struct test_files *f, size_t n_train, size_t n_test, uint32_t H, uint32_t W)
{
    make_idx_pair(f, "train", 0, n_train, H, W);
    make_idx_pair(f, "t10k", n_train, n_test, H, W);
}

void test_files_make_cifar10_with(const struct test_files *f, size_t n_per_file, size_t n_in_second)
{
    const size_t most = n_per_file > n_in_second ? n_per_file : n_in_second;
    uint8_t *bytes = malloc(most * TEST_CIFAR_RECORD_BYTES);
    size_t first = 0;
    char name[32];

    assert_non_null(bytes);
    for (size_t file = 0; file < 6; file++) {
        const size_t n = file == 1 ? n_in_second : n_per_file;
        for (size_t i = 0; i < n; i++) {
            uint8_t *record = bytes + i * TEST_CIFAR_RECORD_BYTES;
            record[0] = (uint8_t)test_label(first + i);
            for (size_t k = 1; k < TEST_CIFAR_RECORD_BYTES; k++)
                record[k] = test_pixel(first + i, k - 1);
        }
        snprintf(name, sizeof name, "data_batch_%zu.bin", file + 1);
        test_files_write(f, file < 5 ? name : "test_batch.bin", bytes, n * TEST_CIFAR_RECORD_BYTES);
        first += n;
    }
    free(bytes);
}

void test_files_make_cifar10(const struct test_files *f, size_t n_per_file)
{
    test_files_make_cifar10_with(f, n_per_file, n_per_file);
}

enum rc test_files_pack(const char *path, const struct dataset *d, size_t first, size_t n_images)
{
    struct gmimg_writer *w = NULL;
    uint8_t *pixels = malloc(d->n_features);
    enum rc rc;

    assert_non_null(pixels);
    TRY(gmimg_writer_open(&w, path, d, n_images));
    for (size_t i = first; i < first + n_images; i++) {
        TRY(d->ops->bytes(d, i, pixels));
        gmimg_writer_add(w, d->ops->label(d, i), pixels);
    }
    TRY(gmimg_writer_commit(w));
out:
    gmimg_writer_close(&w);
    free(pixels);
    return rc;
}

static enum rc made_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    for (size_t k = 0; k < d->n_features; k++)
        out[k] = test_pixel(i, k);
    return RC_OK;
}

static uint32_t made_label(const struct dataset *d, size_t i)
{
    (void)d;
    return test_label(i);
}

static const struct dataset_ops made_ops = { .label = made_label, .bytes = made_bytes };

void test_files_make_gmimg(const struct test_files *f, const char *name, int C, int H, int W, size_t first,
                           size_t n_images)
{
    const struct dataset made = { .ops = &made_ops,
                                  .name = "made",
                                  .n_train = first + n_images,
                                  .n_features = (size_t)(C * H * W),
                                  .n_classes = 10,
                                  .C = C,
                                  .H = H,
                                  .W = W };
    char path[128];

    test_files_path(f, name, path);
    assert_int_equal(test_files_pack(path, &made, first, n_images), RC_OK);
}

void test_files_sign_gmimg(uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes < GMIMG_HEADER_BYTES)
        return;
    const uint64_t n = bytes_get(bytes + GMIMG_OFFSET_N_IMAGES, 8),
                   per = bytes_get(bytes + GMIMG_OFFSET_BLOCK_IMAGES, 4);
    if (per > 0 && n > 0 && n <= n_bytes) {
        const uint64_t index_bytes = n * GMIMG_LABEL_BYTES + ((n - 1) / per + 1) * GMIMG_SUM_BYTES;
        if (GMIMG_HEADER_BYTES + index_bytes <= n_bytes)
            gmimg_sum(bytes + GMIMG_OFFSET_INDEX_SUM, bytes + GMIMG_HEADER_BYTES, (size_t)index_bytes);
    }
    gmimg_sum(bytes + GMIMG_OFFSET_HEADER_SUM, bytes, GMIMG_OFFSET_HEADER_SUM);
}

struct dataset *test_files_open_dataset(const struct test_files *f)
{
    struct dataset *d = NULL;

    if (dataset_open_path(&d, f->folder) != RC_OK)
        fail_msg("%s", rc_message());
    return d;
}

/* Image i as the network sees it: every channel at its place, nothing between them. */
static int count_wrong_floats(const struct dataset *d, size_t i)
{
    const size_t plane = (size_t)d->H * (size_t)d->W, stride = plane + GUARD;
    float x[TEST_MAX_FEATURES + 3 * GUARD];
    int n_wrong = 0;

    for (size_t k = 0; k < (size_t)d->C * stride; k++)
        x[k] = 99.0f;
    assert_int_equal(d->ops->image(d, i, x, stride), RC_OK);
    for (size_t c = 0; c < (size_t)d->C; c++) {
        for (size_t k = 0; k < plane; k++) {
            const double off = x[c * stride + k] - (test_pixel(i, c * plane + k) - 127.5) / 63.75;
            n_wrong += off < -1e-6 || off > 1e-6;
        }
        for (size_t k = plane; k < stride; k++)
            n_wrong += x[c * stride + k] != 99.0f;
    }
    return n_wrong;
}

static int count_wrong_bytes(const struct dataset *d, size_t i)
{
    uint8_t byte[TEST_MAX_FEATURES];
    int n_wrong = 0;

    assert_int_equal(d->ops->bytes(d, i, byte), RC_OK);
    for (size_t k = 0; k < d->n_features; k++)
        n_wrong += byte[k] != test_pixel(i, k);
    return n_wrong;
}

int test_files_count_wrong(const struct dataset *d, const struct test_want *w)
{
    int n_wrong = 0;

    assert_string_equal(d->name, w->name);
    assert_int_equal(d->n_train, w->n_train);
    assert_int_equal(d->n_test, w->n_test);
    assert_int_equal(d->n_classes, 10);
    assert_int_equal(d->C, w->C);
    assert_int_equal(d->H, w->H);
    assert_int_equal(d->W, w->W);
    assert_int_equal(d->n_features, w->C * w->H * w->W);
    assert_true(d->n_features <= TEST_MAX_FEATURES);
    for (size_t i = 0; i < w->n_train + w->n_test; i++)
        n_wrong += count_wrong_floats(d, i) + count_wrong_bytes(d, i) + (d->ops->label(d, i) != test_label(i));
    return n_wrong;
}
