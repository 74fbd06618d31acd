/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic_test.c - made images: pure, bounded, different and learnable; mutants must fail. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"

enum { C = 3, H = 12, W = 10, PLANE = H * W, STRIDE = PLANE + 5, N_CLASSES = 7, N_TRAIN = 300, N_TEST = 40 };

static const struct synthetic_opts plain = { C, H, W, N_CLASSES, N_TRAIN, N_TEST };

static struct dataset *open_plain(uint64_t seed)
{
    struct dataset *d = NULL;

    assert_int_equal(dataset_open_synthetic(&d, &plain, seed), RC_OK);
    return d;
}

/* image() and label(), or a mutant of them. */
struct maker {
    enum rc (*image)(const struct dataset *d, size_t i, float *x, size_t channel_stride);
    uint32_t (*label)(const struct dataset *d, size_t i);
};

static enum rc real_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    return d->ops->image(d, i, x, channel_stride);
}

static uint32_t real_label(const struct dataset *d, size_t i)
{
    return d->ops->label(d, i);
}

static void make(const struct maker *m, const struct dataset *d, size_t i, float x[C * STRIDE])
{
    for (size_t k = 0; k < (size_t)C * STRIDE; k++)
        x[k] = -99.0f;
    assert_int_equal(m->image(d, i, x, STRIDE), RC_OK);
}

/* Every pixel is there, small, and nothing else was touched. */
static int count_out_of_bounds(const float x[C * STRIDE])
{
    int n_bad = 0;

    for (size_t k = 0; k < (size_t)C * STRIDE; k++)
        n_bad += k % STRIDE < PLANE ? !(fabsf(x[k]) < 12.0f) : x[k] != -99.0f;
    return n_bad;
}

static int count_failures(const struct maker *m)
{
    static const struct maker real = { real_image, real_label };
    struct dataset *a = open_plain(1), *b = open_plain(1), *other = open_plain(2);
    static float x[C * STRIDE], y[C * STRIDE];
    size_t n_of[N_CLASSES] = { 0 }, n_same_labels = 0;
    int n_failures = 0;

    for (size_t i = N_TRAIN + N_TEST; i-- > 0;) { /* backwards: order does not matter */
        const uint32_t label = m->label(a, i);
        make(m, a, i, x);
        make(&real, b, i, y);
        n_failures += memcmp(x, y, sizeof x) != 0 || label != real_label(b, i);
        make(m, other, i, y);
        n_failures += memcmp(x, y, sizeof x) == 0 || count_out_of_bounds(x) != 0;
        make(m, a, (i + 1) % (N_TRAIN + N_TEST), y);
        n_failures += memcmp(x, y, sizeof x) == 0;
        n_same_labels += label == m->label(other, i);
        if (label < N_CLASSES)
            n_of[label]++;
        else
            n_failures++;
    }
    for (size_t k = 0; k < N_CLASSES; k++) /* 49 each, on average; the deviation is 6.5 */
        n_failures += n_of[k] < 15 || n_of[k] > 85;
    n_failures += n_same_labels > (N_TRAIN + N_TEST) / 2;
    dataset_close(&a);
    dataset_close(&b);
    dataset_close(&other);
    return n_failures;
}

/* data.D1, D2: the same from any object, in any order. */
UNIT_TEST(images_are_pure_functions)
{
    assert_int_equal(count_failures(&(struct maker){ real_image, real_label }), 0);
}

static enum rc dense_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    (void)channel_stride;
    return real_image(d, i, x, PLANE);
}

static enum rc one_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    return real_image(d, i / 2 * 2, x, channel_stride);
}

static enum rc loud_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const enum rc rc = real_image(d, i, x, channel_stride);

    x[7] *= 100.0f;
    return rc;
}

static uint32_t label_too_far(const struct dataset *d, size_t i)
{
    return real_label(d, i) + 1;
}

static uint32_t label_zero(const struct dataset *d, size_t i)
{
    (void)d, (void)i;
    return 0;
}

UNIT_TEST(mutants_are_caught)
{
    static const struct maker mutant[] = { { dense_image, real_label },
                                           { one_image, real_label },
                                           { loud_image, real_label },
                                           { real_image, label_too_far },
                                           { real_image, label_zero } };

    for (size_t i = 0; i < sizeof mutant / sizeof mutant[0]; i++)
        assert_true(count_failures(&mutant[i]) > 0);
}

UNIT_TEST(shape_is_as_asked)
{
    struct dataset *d = open_plain(1);

    assert_string_equal(d->name, "synthetic");
    assert_true(d->C == C && d->H == H && d->W == W);
    assert_int_equal(d->n_features, C * PLANE);
    assert_int_equal(d->n_classes, N_CLASSES);
    assert_int_equal(d->n_train, N_TRAIN);
    assert_int_equal(d->n_test, N_TEST);
    assert_null(d->ops->bytes);
    dataset_close(&d);
    dataset_close(&d);
    assert_null(d);
}

/* Small and odd sides: rows are filled to the last pixel. */
UNIT_TEST(any_side_is_filled)
{
    for (int side = 1; side <= 20; side++) {
        const struct synthetic_opts opts = { 2, 21 - side, side, 3, 5, 0 };
        struct dataset *d = NULL;
        float x[2 * 400];
        assert_int_equal(dataset_open_synthetic(&d, &opts, 3), RC_OK);
        for (size_t k = 0; k < 2 * 400; k++)
            x[k] = NAN;
        assert_int_equal(d->ops->image(d, 4, x, d->n_features / 2), RC_OK);
        for (size_t k = 0; k < 2 * 400; k++)
            assert_true(k < d->n_features ? isfinite(x[k]) : isnan(x[k]));
        dataset_close(&d);
    }
}

/* Images of a class are nearer to one another than to others': they can be learnt. Mean squared distance. */
UNIT_TEST(classes_can_be_told_apart)
{
    struct dataset *d = open_plain(9);
    static float x[N_TRAIN][C * PLANE];
    double sum[2] = { 0.0, 0.0 };
    size_t n[2] = { 0, 0 };

    for (size_t i = 0; i < N_TRAIN; i++)
        assert_int_equal(d->ops->image(d, i, x[i], PLANE), RC_OK);
    for (size_t i = 0; i < N_TRAIN; i++)
        for (size_t j = 0; j < i; j++) {
            const int same = d->ops->label(d, i) == d->ops->label(d, j);
            for (size_t k = 0; k < (size_t)C * PLANE; k++)
                sum[same] += (double)(x[i][k] - x[j][k]) * (double)(x[i][k] - x[j][k]);
            n[same]++;
        }
    assert_true(n[0] > 1000 && n[1] > 1000);
    assert_true(sum[1] / (double)n[1] < 0.97 * sum[0] / (double)n[0]);
    dataset_close(&d);
}

static void refuse(struct synthetic_opts opts, const char *message)
{
    struct dataset *d = NULL;

    assert_int_equal(dataset_open_synthetic(&d, &opts, 1), RC_INVAL);
    assert_null(d);
    assert_string_equal(rc_message(), message);
}

UNIT_TEST(bad_options_are_refused)
{
#define OF(what) "synthetic images of " what "; 1 to 64 channels of 1 to 8192 pixels a side"
    refuse((struct synthetic_opts){ 0, 4, 4, 2, 1, 0 }, OF("0 x 4 x 4"));
    refuse((struct synthetic_opts){ 65, 4, 4, 2, 1, 0 }, OF("65 x 4 x 4"));
    refuse((struct synthetic_opts){ 1, 0, 4, 2, 1, 0 }, OF("1 x 0 x 4"));
    refuse((struct synthetic_opts){ 1, 8193, 4, 2, 1, 0 }, OF("1 x 8193 x 4"));
    refuse((struct synthetic_opts){ 1, 4, -1, 2, 1, 0 }, OF("1 x 4 x -1"));
    refuse((struct synthetic_opts){ 1, 4, 8193, 2, 1, 0 }, OF("1 x 4 x 8193"));
    refuse((struct synthetic_opts){ 1, 4, 4, 0, 1, 0 }, "synthetic images in 0 classes; 1 to 1000000");
    refuse((struct synthetic_opts){ 1, 4, 4, 1000001, 1, 0 }, "synthetic images in 1000001 classes; 1 to 1000000");
    refuse((struct synthetic_opts){ 1, 4, 4, 2, 0, 5 }, "no synthetic training image: at least 1");
}

/* FNV-1a of the bits of a few images: recorded losses, golden paths and published records stand on these pixels. */
UNIT_TEST(pixels_are_those_of_always)
{
    struct dataset *d = open_plain(5);
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < 3; i++) {
        float x[C * STRIDE];
        make(&(const struct maker){ real_image, real_label }, d, i * 150, x);
        for (size_t k = 0; k < (size_t)C * STRIDE; k++) {
            uint32_t bits;
            memcpy(&bits, &x[k], sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3u;
        }
    }
    dataset_close(&d);
    assert_int_equal(hash, 0xbd611101ef128e40u);
}

UNIT_MAIN("synthetic")
