/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels_large_test.c - data sets with more images, and images with more pixels, than the readers hold in a buffer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/loader.h"
#include "data/suite/test_files.h"

enum { N_LONG = 9001, N_LONG_TEST = 4103 }; /* beyond 8192 and 4096, and no multiple: published sets have 60,000 */

static void long_idx_is_read(void **state)
{
    struct test_files f;

    (void)state;
    test_files_open(&f);
    test_files_make_idx(&f, N_LONG, N_LONG_TEST, 5, 3);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "idx", N_LONG, N_LONG_TEST, 1, 5, 3 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

static void long_cifar10_is_read(void **state)
{
    struct test_files f;

    (void)state;
    test_files_open(&f);
    test_files_make_cifar10_with(&f, 3, N_LONG);
    struct dataset *d = test_files_open_dataset(&f);
    assert_int_equal(test_files_count_wrong(d, &(struct test_want){ "cifar10", 12 + N_LONG, 3, 3, 32, 32 }), 0);
    dataset_close(&d);
    test_files_close(&f);
}

/* Planes of more pixels than one read of the file takes. */
static void wide_images_are_read(void **state)
{
    enum { SIDE = 150, PLANE = SIDE * SIDE };
    static float x[2 * PLANE];
    struct test_files f;
    int n_wrong = 0;

    (void)state;
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
static void long_gmimg_is_read(void **state)
{
    struct test_files f;

    (void)state;
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
static void a_long_epoch_is_loaded_whole(void **state)
{
    enum { BATCH = 13, PLANE = 15 };
    static bool seen[N_LONG];
    struct test_files f;
    struct loader *loader = NULL;
    const float *x = NULL;
    const uint32_t *label = NULL;
    int n_wrong = 0;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_idx_is_read),
        cmocka_unit_test(long_cifar10_is_read),
        cmocka_unit_test(long_gmimg_is_read),
        cmocka_unit_test(wide_images_are_read),
        cmocka_unit_test(a_long_epoch_is_loaded_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
