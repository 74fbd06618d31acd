/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset_test.c - the data set "line" and the order of samples (data.D1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"

UNIT_TEST(line_is_as_described)
{
    struct dataset *d = NULL;
    double sum_x = 0.0, sum_noise = 0.0, min_noise = 1.0, max_noise = -1.0;

    assert_int_equal(dataset_open_line(&d, 7), RC_OK);
    assert_string_equal(d->name, "line");
    assert_int_equal(d->n_train, 1000);
    assert_int_equal(d->n_test, 0);
    assert_int_equal(d->n_features, 1);
    assert_int_equal(d->n_classes, 0);
    assert_null(d->label);
    for (size_t i = 0; i < d->n_train; i++) {
        const double x = (double)d->feature[i], noise = (double)d->target[i] - 2.0 * x;
        assert_true(x >= -0.5 && x <= 0.5);
        assert_true(noise >= -0.5001 && noise <= 0.5001);
        sum_x += x;
        sum_noise += noise;
        min_noise = noise < min_noise ? noise : min_noise;
        max_noise = noise > max_noise ? noise : max_noise;
    }
    /* The mean of 1000 uniform numbers deviates by 0.009; 5 deviations. */
    assert_true(sum_x / 1000.0 < 0.046 && sum_x / 1000.0 > -0.046);
    assert_true(sum_noise / 1000.0 < 0.046 && sum_noise / 1000.0 > -0.046);
    assert_true(min_noise < -0.48 && max_noise > 0.48);
    dataset_close(&d);
    dataset_close(&d);
    assert_null(d);
}

UNIT_TEST(line_follows_its_seed)
{
    struct dataset *a = NULL, *b = NULL, *c = NULL;

    assert_int_equal(dataset_open_line(&a, 7), RC_OK);
    assert_int_equal(dataset_open_line(&b, 7), RC_OK);
    assert_int_equal(dataset_open_line(&c, 8), RC_OK);
    assert_memory_equal(a->feature, b->feature, 1000 * sizeof(float));
    assert_memory_equal(a->target, b->target, 1000 * sizeof(float));
    assert_memory_not_equal(a->feature, c->feature, 1000 * sizeof(float));
    assert_memory_not_equal(a->target, c->target, 1000 * sizeof(float));
    dataset_close(&a);
    dataset_close(&b);
    dataset_close(&c);
}

/* data.D1 */
UNIT_TEST(every_epoch_is_a_permutation)
{
    static const size_t n_train[] = { 1, 2, 3, 7, 64, 1000, 1438 };
    unsigned char *seen = malloc(1438);

    assert_non_null(seen);
    for (size_t k = 0; k < sizeof n_train / sizeof n_train[0]; k++)
        for (uint64_t epoch = 0; epoch < 20; epoch++) {
            const struct dataset d = { .n_train = n_train[k] };
            memset(seen, 0, 1438);
            for (uint64_t i = 0; i < d.n_train; i++) {
                const size_t at = dataset_index(&d, 11, epoch * d.n_train + i);
                assert_true(at < d.n_train);
                assert_int_equal(seen[at]++, 0);
            }
        }
    free(seen);
}

static size_t same_places(const struct dataset *d, uint64_t seed_a, uint64_t from_a, uint64_t seed_b, uint64_t from_b)
{
    size_t n_same = 0;

    for (uint64_t i = 0; i < d->n_train; i++)
        n_same += dataset_index(d, seed_a, from_a + i) == dataset_index(d, seed_b, from_b + i);
    return n_same;
}

/* data.D1: two independent permutations agree in 1 place on average. */
UNIT_TEST(seeds_and_epochs_differ)
{
    const struct dataset d = { .n_train = 1438 };

    for (uint64_t k = 1; k < 20; k++) {
        assert_true(same_places(&d, 1, 0, 1, k * d.n_train) < 12);
        assert_true(same_places(&d, 1, 0, 1 + k, 0) < 12);
    }
    assert_int_equal(same_places(&d, 5, 3 * d.n_train, 5, 3 * d.n_train), d.n_train);
}

/* data.D1: 4 workers' batches of 8, side by side, are one worker's batch of 32. */
UNIT_TEST(batches_do_not_know_ranks)
{
    enum { W = 4, B = 8, STEPS = 70 };
    struct dataset *d = NULL;
    float x[W * B], y[W * B], part_x[B], part_y[B];

    assert_int_equal(dataset_open_line(&d, 7), RC_OK);
    for (uint64_t step = 0; step < STEPS; step++) {
        dataset_batch(d, NULL, 3, step * W * B, W * B, x, y, NULL);
        for (uint64_t r = 0; r < W; r++) {
            dataset_batch(d, NULL, 3, (step * W + r) * B, B, part_x, part_y, NULL);
            assert_memory_equal(part_x, x + r * B, sizeof part_x);
            assert_memory_equal(part_y, y + r * B, sizeof part_y);
        }
        for (uint64_t i = 0; i < W * B; i++) {
            const size_t at = dataset_index(d, 3, step * W * B + i);
            assert_memory_equal(&x[i], &d->feature[at], sizeof(float));
            assert_memory_equal(&y[i], &d->target[at], sizeof(float));
        }
    }
    dataset_batch(d, NULL, 3, UINT64_MAX - 100, 1, x, y, NULL); /* far epochs exist, too */
    dataset_close(&d);
}

/* Models name their default data set; a path is no name. */
UNIT_TEST(sources_are_found)
{
    const struct dataset_source *digits = dataset_source_find("digits"), *made = dataset_source_find("synthetic");
    assert_non_null(digits);
    assert_non_null(made);
    assert_false(digits->makes_images);
    char path[4096];
    dataset_source_path(digits, path, sizeof path);
    assert_non_null(strstr(path, "/digits.csv"));
    assert_true(made->makes_images);
    assert_null(made->shipped_file);
    assert_null(dataset_source_find("line"));
    assert_null(dataset_source_find("./digits"));
}

UNIT_MAIN("dataset")
