/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels_test.c - valid files of every format are read exactly; mutants of the readers of IDX and CIFAR-10 must
 * fail.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "data/suite/test_files.h"
#include "harness/base/suite/unit.h"

enum { MAX_FEATURES = TEST_MAX_FEATURES };

UNIT_TEST(idx_is_read)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_idx(&f, 300, 7, 5, 3); /* more than a byte counts, higher than wide */
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "idx", 300, 7, 1, 5, 3 }), 0);
    dataset_close(&d);
    assert_null(d);
    /* Under the other published names. */
    char from[128], to[128];
    test_files_path(&f, "train-labels-idx1-ubyte", from);
    test_files_path(&f, "train-labels.idx1-ubyte", to);
    assert_int_equal(rename(from, to), 0);
    d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "idx", 300, 7, 1, 5, 3 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

UNIT_TEST(cifar10_is_read)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_cifar10(&f, 3);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "cifar10", 15, 3, 3, 32, 32 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

UNIT_TEST(gmimg_is_read)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 3, 4, 6, 0, 9);
    test_files_make_gmimg(&f, "train-2.gmimg", 3, 4, 6, 9, 1);
    test_files_make_gmimg(&f, "test-1.gmimg", 3, 4, 6, 10, 2);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "gmimg", 10, 2, 3, 4, 6 }), 0);
    dataset_close(&d);
    char path[128];
    test_files_path(&f, "train-1.gmimg", path);
    assert_int_equal(dataset_open_path(&d, path), RC_OK);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "gmimg", 9, 0, 3, 4, 6 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

/* The bytes as gmimg.h says, once written by hand. */
UNIT_TEST(gmimg_bytes_are_as_described)
{
    static const uint8_t begin[40] = { 'G', 'M', 'I', 'M', 'G', '0', '1', 0, 2, 0, 0, 0, 1,    0,    0, 0, 3, 0, 0, 0,
                                       10,  0,   0,   0,   2,   0,   0,   0, 0, 0, 0, 0, 0xaa, 0xaa, 2, 0, 0, 0, 0, 0 };
    struct test_files f;
    size_t n_bytes;

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 2, 1, 3, 0, 2);
    uint8_t *bytes = test_files_read(&f, "train-1.gmimg", &n_bytes);
    assert_int_equal(n_bytes, 80 + 2 * 4 + 16 + 2 * 6);
    assert_memory_equal(bytes, begin, sizeof begin);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(bytes[80 + 4 * i], test_label(i));
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(bytes[104 + 6 * i + k], test_pixel(i, k));
    }
    free(bytes);
    test_files_close(&f);
}

static enum rc real_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    return real_of(d)->ops->image(real_of(d), i, x, channel_stride);
}

/* The labels of the training images for those of the test, too. */
static uint32_t label_of_train(const struct dataset *d, size_t i)
{
    return real_label(d, i < d->n_train ? i : i - d->n_train);
}

/* The label of the record before. */
static uint32_t stale_label(const struct dataset *d, size_t i)
{
    return real_label(d, i == 0 ? 0 : i - 1);
}

static enum rc columns_first(const struct dataset *d, size_t i, uint8_t *out)
{
    const size_t H = (size_t)d->H, W = (size_t)d->W;
    uint8_t byte[MAX_FEATURES];
    const enum rc rc = real_bytes(d, i, byte);

    for (size_t k = 0; k < d->n_features; k++)
        out[k] = byte[k / (H * W) * H * W + k % W * H + k / W % H];
    return rc;
}

/* The label of a record taken for its first pixel. */
static enum rc label_for_a_pixel(const struct dataset *d, size_t i, uint8_t *out)
{
    uint8_t byte[MAX_FEATURES];
    const enum rc rc = real_bytes(d, i, byte);

    out[0] = (uint8_t)real_label(d, i);
    memcpy(out + 1, byte, d->n_features - 1);
    return rc;
}

/* Blue first. */
static enum rc channels_backward(const struct dataset *d, size_t i, uint8_t *out)
{
    const size_t C = (size_t)d->C, plane = d->n_features / C;
    uint8_t byte[MAX_FEATURES];
    const enum rc rc = real_bytes(d, i, byte);

    for (size_t c = 0; c < C; c++)
        memcpy(out + c * plane, byte + (C - 1 - c) * plane, plane);
    return rc;
}

static enum rc test_first(const struct dataset *d, size_t i, uint8_t *out)
{
    return real_bytes(d, (i + d->n_train) % (d->n_train + d->n_test), out);
}

/* Channels side by side, whatever stride was asked for. */
static enum rc no_stride(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    (void)channel_stride;
    return real_image(d, i, x, d->n_features / (size_t)d->C);
}

/* 0 to 1. */
static enum rc not_centred(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const enum rc rc = real_image(d, i, x, channel_stride);

    for (size_t c = 0; c < (size_t)d->C; c++)
        for (size_t k = 0; k < d->n_features / (size_t)d->C; k++)
            x[c * channel_stride + k] = (x[c * channel_stride + k] + 2.0f) / 4.0f;
    return rc;
}

/* Bytes above 127 are negative. */
static enum rc signed_bytes(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const enum rc rc = real_image(d, i, x, channel_stride);

    for (size_t k = 0; k < d->n_features / (size_t)d->C; k++)
        x[k] -= x[k] > 0.0f ? 256.0f / 63.75f : 0.0f;
    return rc;
}

/* Mutants of a correct reader; those with needs_channels can be detected only in images of several channels. */
static int count_survivors(const struct dataset *d, const struct test_want *w)
{
    static const struct {
        struct dataset_ops ops;
        bool needs_channels;
    } mutant[] = {
        { { .label = label_of_train, .bytes = real_bytes, .image = real_image }, false },
        { { .label = stale_label, .bytes = real_bytes, .image = real_image }, false },
        { { .label = real_label, .bytes = columns_first, .image = real_image }, false },
        { { .label = real_label, .bytes = label_for_a_pixel, .image = real_image }, false },
        { { .label = real_label, .bytes = channels_backward, .image = real_image }, true },
        { { .label = real_label, .bytes = test_first, .image = real_image }, false },
        { { .label = real_label, .bytes = real_bytes, .image = no_stride }, true },
        { { .label = real_label, .bytes = real_bytes, .image = not_centred }, false },
        { { .label = real_label, .bytes = real_bytes, .image = signed_bytes }, false },
    };
    int n_survivors = 0;

    assert_int_equal(test_files_count_wrong(d, w), 0);
    for (size_t i = 0; i < sizeof mutant / sizeof mutant[0]; i++) {
        struct wrapped wrapped = { .base = *d, .real = d };
        wrapped.base.ops = &mutant[i].ops;
        n_survivors += (test_files_count_wrong(&wrapped.base, w) == 0) != (mutant[i].needs_channels && d->C == 1);
    }
    return n_survivors;
}

UNIT_TEST(mutants_are_caught)
{
    for (int which = 0; which < 2; which++) {
        struct test_files f;
        test_files_open(&f);
        if (which == 0)
            test_files_make_idx(&f, 12, 3, 5, 3);
        else
            test_files_make_cifar10(&f, 3);
        struct dataset *d = test_files_open_dataset(&f);
        const struct test_want want[2] = { { "idx", 12, 3, 1, 5, 3 }, { "cifar10", 15, 3, 3, 32, 32 } };
        assert_int_equal(count_survivors(d, &want[which]), 0);
        dataset_close(&d);
        test_files_close(&f);
    }
}

enum { IMAGES_BYTES = 16 + 12 * 15, LABELS_BYTES = 8 + 12 };

/* A damaged file becomes what a careless reader makes of it. There is room for 8 bytes more. */
typedef void mend_fn(bool idx, bool labels, uint8_t *byte, size_t *n_bytes);

static void mend_nothing(bool idx, bool labels, uint8_t *byte, size_t *n_bytes)
{
    (void)idx, (void)labels, (void)byte, (void)n_bytes;
}

static void mend_labels(bool idx, bool labels, uint8_t *byte, size_t *n_bytes) /* one that believes labels */
{
    for (size_t at = idx ? 8 : 0; labels && at < *n_bytes; at += idx ? 1 : TEST_CIFAR_RECORD_BYTES)
        byte[at] %= 10;
}

static void mend_end(bool idx, bool labels, uint8_t *byte, size_t *n_bytes) /* one that stops where it has enough */
{
    (void)byte;
    if (!idx)
        *n_bytes -= *n_bytes % TEST_CIFAR_RECORD_BYTES;
    else if (!labels && *n_bytes > IMAGES_BYTES)
        *n_bytes = IMAGES_BYTES;
}

static void mend_count(bool idx, bool labels, uint8_t *byte, size_t *n_bytes) /* one that takes missing labels for 0 */
{
    if (idx && labels && *n_bytes < LABELS_BYTES) {
        byte[7] = 12;
        *n_bytes = LABELS_BYTES; /* what follows is zero */
    }
}

/* data.P3: a label of no class, bytes too many, fewer labels than images; all must be refused. */
static int count_accepted(mend_fn *mend)
{
    static const struct {
        const char *name;
        bool idx, labels;
        size_t at;
        uint8_t value;
        int n_more;
    } damage[] = {
        { "train-labels-idx1-ubyte", true, true, 18, 255, 0 }, { "train-images-idx3-ubyte", true, false, 0, 0, 1 },
        { "train-labels-idx1-ubyte", true, true, 7, 11, -1 },  { "data_batch_2.bin", false, true, 3073, 10, 0 },
        { "data_batch_2.bin", false, true, 3073, 9, 4 },
    };
    int n_accepted = 0;

    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        struct dataset *d = NULL;
        struct test_files f;
        size_t n_whole = 0;
        test_files_open(&f);
        if (damage[i].idx)
            test_files_make_idx(&f, 12, 3, 5, 3);
        else
            test_files_make_cifar10(&f, 2);
        uint8_t *whole = test_files_read(&f, damage[i].name, &n_whole), *byte = calloc(1, n_whole + 8);
        assert_non_null(byte);
        size_t n_bytes = damage[i].n_more < 0 ? n_whole - 1 : n_whole + (size_t)damage[i].n_more;
        memcpy(byte, whole, n_bytes < n_whole ? n_bytes : n_whole);
        byte[damage[i].at] = damage[i].value;
        mend(damage[i].idx, damage[i].labels, byte, &n_bytes);
        test_files_write(&f, damage[i].name, byte, n_bytes);
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
    assert_int_equal(count_accepted(mend_labels), 2);
    assert_int_equal(count_accepted(mend_end), 2);
    assert_int_equal(count_accepted(mend_count), 1);
}

/*
 * Data sets with more images, and images with more pixels, than the readers hold in a buffer.
 */

enum { N_LONG = 9001, N_LONG_TEST = 4103 }; /* beyond 8192 and 4096, and no multiple: published sets have 60,000 */

UNIT_TEST(long_idx_is_read)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_idx(&f, N_LONG, N_LONG_TEST, 5, 3);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "idx", N_LONG, N_LONG_TEST, 1, 5, 3 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

UNIT_TEST(long_cifar10_is_read)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_cifar10_with(&f, 3, N_LONG);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "cifar10", 12 + N_LONG, 3, 3, 32, 32 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

/* Planes of more pixels than one read of the file takes. */
UNIT_TEST(wide_images_are_read)
{
    enum { SIDE = 150, PLANE = SIDE * SIDE };
    static float x[2 * PLANE];
    struct test_files f;
    int n_wrong = 0;

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 2, SIDE, SIDE, 0, 3);
    struct dataset *d = test_files_open_dataset(&f);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(d->ops->image(d, i, x, PLANE), RC_OK);
        for (size_t k = 0; k < d->n_features; k++) {
            const double off = x[k] - (test_pixel(i, k) - 127.5) / 63.75;
            n_wrong += off < -1e-6 || off > 1e-6;
        }
    }
    assert_int_equal(n_wrong, 0);
    dataset_close(&d);
    test_files_close(&f);
}

/* Several blocks of 2048 images in a shard, the last of them short. */
UNIT_TEST(long_gmimg_is_read)
{
    struct test_files f;

    test_files_open(&f);
    test_files_make_gmimg(&f, "train-1.gmimg", 2, 16, 16, 0, 5);
    test_files_make_gmimg(&f, "train-2.gmimg", 2, 16, 16, 5, N_LONG);
    test_files_make_gmimg(&f, "test-1.gmimg", 2, 16, 16, 5 + N_LONG, N_LONG_TEST);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "gmimg", 5 + N_LONG, N_LONG_TEST, 2, 16, 16 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

/* Place b of a batch of n_samples: image i with its label. */
static int is_wrong_in_batch(size_t i, const float *x, const uint32_t *label, size_t b, size_t plane)
{
    int n_wrong = label[b] != test_label(i);

    for (size_t k = 0; k < plane; k++) {
        const double off = x[b * plane + k] - (test_pixel(i, k) - 127.5) / 63.75;
        n_wrong += off < -1e-6 || off > 1e-6;
    }
    return n_wrong;
}

/* An epoch in batches has every training image once, with its own label; then comes the test set, in order. */
UNIT_TEST(a_long_epoch_is_loaded_whole)
{
    enum { BATCH = 13, PLANE = 15 };
    static bool seen[N_LONG];
    struct test_files f;
    struct loader *loader = NULL;
    const float *x = NULL;
    const uint32_t *label = NULL;
    int n_wrong = 0;

    test_files_open(&f);
    test_files_make_idx(&f, N_LONG, N_LONG_TEST, 5, 3);
    struct dataset *d = test_files_open_dataset(&f);
    const struct loader_env env = {
        .dataset = d, .seed = 3, .max_batch = BATCH, .order.stride = BATCH, .prefetch = true
    };
    assert_int_equal(loader_open(&loader, &env), RC_OK);
    for (size_t first = 0; first < N_LONG; first += BATCH) {
        const size_t n = N_LONG - first < BATCH ? N_LONG - first : BATCH;
        assert_int_equal(loader_batch(loader, first, n, &x, &label), RC_OK);
        for (size_t b = 0; b < n; b++) {
            const size_t i = dataset_index(d, 3, first + b);
            n_wrong += seen[i] + is_wrong_in_batch(i, x, label, b, PLANE);
            seen[i] = true;
        }
    }
    for (size_t first = 0; first < N_LONG_TEST; first += BATCH) {
        const size_t n = N_LONG_TEST - first < BATCH ? N_LONG_TEST - first : BATCH;
        assert_int_equal(loader_test_batch(loader, first, n, &x, &label), RC_OK);
        for (size_t b = 0; b < n; b++)
            n_wrong += is_wrong_in_batch(N_LONG + first + b, x, label, b, PLANE);
    }
    assert_int_equal(n_wrong, 0);
    loader_close(&loader);
    dataset_close(&d);
    test_files_close(&f);
}

UNIT_MAIN("pixels")
