/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_test.c - batches follow from data set, seed and position alone, prefetched or not (data.F1); workers
 * share an epoch without loss (data.D1); mutants of the loader must fail.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "harness/base/suite/test_allocations.h"
#include "harness/base/suite/unit.h"

enum { C = 3, H = 6, W = 5, PLANE = H * W, N_TRAIN = 101, N_TEST = 13, N_CLASSES = 4, MAX_BATCH = 8 };

/* loader_batch(), or a mutant of it. */
typedef enum rc batch_fn(struct loader *l, uint64_t first, size_t n_samples, const float **x, const uint32_t **label);

static struct dataset *images(void)
{
    const struct synthetic_opts opts = {
        .C = C, .H = H, .W = W, .n_classes = N_CLASSES, .n_train = N_TRAIN, .n_test = N_TEST
    };
    struct dataset *d = NULL;

    assert_int_equal(dataset_open_synthetic(&d, &opts, 17), RC_OK);
    return d;
}

/* Whether place b of a batch of n_samples image i? */
static int is_image(const struct dataset *d, size_t i, const float *x, const uint32_t *label, size_t b,
                    size_t n_samples)
{
    float want[C * PLANE];
    int same = label[b] == d->ops->label(d, i);

    assert_int_equal(d->ops->image(d, i, want, PLANE), RC_OK);
    for (size_t c = 0; c < C; c++)
        same &= memcmp(x + (c * n_samples + b) * PLANE, want + c * PLANE, PLANE * sizeof *x) == 0;
    return same;
}

/* One worker's 60 batches: every place that is not the sample the order asks for. */
static int count_failures(batch_fn *batch, bool prefetch, uint64_t first, uint64_t stride)
{
    struct dataset *d = images();
    const struct loader_env env = {
        .dataset = d, .seed = 5, .max_batch = MAX_BATCH, .order.stride = stride, .prefetch = prefetch
    };
    struct loader *l = NULL;
    int n_failures = 0;

    assert_int_equal(loader_open(&l, &env), RC_OK);
    for (int step = 0; step < 60; step++) {
        /* mostly as announced; sometimes a jump, a repetition or a smaller batch: the prefetched one is unused */
        const uint64_t at = first + (uint64_t)(step % 11 == 7 ? step - 1 : step) * stride + (step % 17 == 9 ? 3 : 0);
        const size_t n_samples = step % 13 == 5 ? 3 : MAX_BATCH;
        const float *x = NULL;
        const uint32_t *label = NULL;
        assert_int_equal(batch(l, at, n_samples, &x, &label), RC_OK);
        for (size_t b = 0; b < n_samples; b++)
            n_failures += !is_image(d, dataset_index(d, 5, at + b), x, label, b, n_samples);
    }
    loader_close(&l);
    assert_null(l);
    loader_close(&l);
    dataset_close(&d);
    return n_failures;
}

/* data.F1 */
UNIT_TEST(prefetching_changes_nothing)
{
    for (uint64_t rank = 0; rank < 3; rank++) {
        assert_int_equal(count_failures(loader_batch, false, rank * MAX_BATCH, UINT64_C(3) * MAX_BATCH), 0);
        assert_int_equal(count_failures(loader_batch, true, rank * MAX_BATCH, UINT64_C(3) * MAX_BATCH), 0);
    }
    assert_int_equal(count_failures(loader_batch, true, 0, 0), 0);
    assert_int_equal(count_failures(loader_batch, true, UINT64_C(1) << 60, MAX_BATCH), 0);
}

static enum rc gives_the_batch_before(struct loader *l, uint64_t first, size_t n_samples, const float **x,
                                      const uint32_t **label)
{
    return loader_batch(l, first >= MAX_BATCH ? first - MAX_BATCH : first, n_samples, x, label);
}

static enum rc forgets_the_epoch(struct loader *l, uint64_t first, size_t n_samples, const float **x,
                                 const uint32_t **label)
{
    return loader_batch(l, first % N_TRAIN, n_samples, x, label);
}

/* Labels of the next batch beside the images of this one. */
static enum rc labels_run_ahead(struct loader *l, uint64_t first, size_t n_samples, const float **x,
                                const uint32_t **label)
{
    static uint32_t ahead[MAX_BATCH]; /* of a test */
    enum rc rc;

    TRY(loader_batch(l, first + 1, n_samples, x, label));
    memcpy(ahead, *label, n_samples * sizeof *ahead);
    TRY(loader_batch(l, first, n_samples, x, label));
    *label = ahead;
out:
    return rc;
}

/* As if every batch had MAX_BATCH samples. */
static enum rc wrong_channel_stride(struct loader *l, uint64_t first, size_t n_samples, const float **x,
                                    const uint32_t **label)
{
    (void)n_samples;
    return loader_batch(l, first, MAX_BATCH, x, label);
}

UNIT_TEST(mutants_are_caught)
{
    batch_fn *const mutants[] = { gives_the_batch_before, forgets_the_epoch, labels_run_ahead, wrong_channel_stride };

    for (size_t i = 0; i < sizeof mutants / sizeof mutants[0]; i++)
        assert_true(count_failures(mutants[i], true, 0, MAX_BATCH) > 0);
}

/* data.D1: what W workers are given in turns is what one is given, and an epoch holds each image once. */
UNIT_TEST(workers_share_an_epoch)
{
    enum { WORKERS = 4, BATCH = 2, STEPS = 3 * N_TRAIN };
    struct dataset *d = images();
    struct loader *l[WORKERS] = { NULL };
    unsigned n_seen[N_TRAIN] = { 0 };
    const float *x = NULL;
    const uint32_t *label = NULL;

    for (uint64_t r = 0; r < WORKERS; r++) {
        const struct loader_env env = { .dataset = d,
                                        .seed = 3,
                                        .max_batch = BATCH,
                                        .order.stride = UINT64_C(1) * WORKERS * BATCH,
                                        .prefetch = r % 2 == 0 };
        assert_int_equal(loader_open(&l[r], &env), RC_OK);
    }
    for (uint64_t step = 0; step < STEPS; step++)
        for (uint64_t r = 0; r < WORKERS; r++) {
            const uint64_t first = (step * WORKERS + r) * BATCH;
            assert_int_equal(loader_batch(l[r], first, BATCH, &x, &label), RC_OK);
            for (size_t b = 0; b < BATCH; b++) {
                const size_t i = dataset_index(d, 3, first + b);
                assert_true(is_image(d, i, x, label, b, BATCH));
                n_seen[i]++;
            }
        }
    for (size_t i = 0; i < N_TRAIN; i++) /* STEPS x 8 samples are 24 whole epochs */
        assert_int_equal(n_seen[i], 24);
    for (int r = 0; r < WORKERS; r++)
        loader_close(&l[r]);
    dataset_close(&d);
}

/* Test images come in their order, between training batches and without disturbing them. */
UNIT_TEST(test_images_come_in_order)
{
    struct dataset *d = images();
    const struct loader_env env = {
        .dataset = d, .seed = 5, .max_batch = MAX_BATCH, .order.stride = 4, .prefetch = true
    };
    struct loader *l = NULL;
    const float *x = NULL;
    const uint32_t *label = NULL;

    assert_int_equal(loader_open(&l, &env), RC_OK);
    for (size_t at = 0; at < N_TEST; at += 4) {
        const size_t n_samples = N_TEST - at < 4 ? N_TEST - at : 4;
        assert_int_equal(loader_batch(l, at, 4, &x, &label), RC_OK);
        for (size_t b = 0; b < 4; b++)
            assert_true(is_image(d, dataset_index(d, 5, at + b), x, label, b, 4));
        assert_int_equal(loader_test_batch(l, at, n_samples, &x, &label), RC_OK);
        for (size_t b = 0; b < n_samples; b++)
            assert_true(is_image(d, N_TRAIN + at + b, x, label, b, n_samples));
    }
    loader_close(&l);
    dataset_close(&d);
}

struct broken { /* image 40 cannot be read */
    struct dataset base;
    uint32_t label_of_40;
};

static enum rc broken_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    (void)channel_stride;
    x[0] = (float)i;
    return i == 40 && ((const struct broken *)d)->label_of_40 == 0 ? rc_raise(RC_INVAL, "shard: offset 40: torn")
                                                                   : RC_OK;
}

static uint32_t broken_label(const struct dataset *d, size_t i)
{
    return i == 40 ? ((const struct broken *)d)->label_of_40 : 0;
}

static const struct dataset_ops broken_ops = { .image = broken_image, .label = broken_label };

/* The batch with image 40 fails with the message, whichever thread read it; the others do not. */
static void expect_one_failure(uint32_t label_of_40, bool prefetch, const char *message)
{
    const struct broken broken = { .base = { .ops = &broken_ops,
                                             .name = "broken",
                                             .n_train = 50,
                                             .n_features = 1,
                                             .n_classes = 4,
                                             .C = 1,
                                             .H = 1,
                                             .W = 1 },
                                   .label_of_40 = label_of_40 };
    const struct loader_env env = {
        .dataset = &broken.base, .seed = 1, .max_batch = 5, .order.stride = 5, .prefetch = prefetch
    };
    struct loader *l = NULL;
    const float *x = NULL;
    const uint32_t *label = NULL;
    int n_failures = 0;

    assert_int_equal(loader_open(&l, &env), RC_OK);
    for (uint64_t first = 0; first < 50; first += 5) {
        bool has_40 = false;
        for (uint64_t k = 0; k < 5; k++)
            has_40 |= dataset_index(&broken.base, 1, first + k) == 40;
        rc_clear();
        const enum rc rc = loader_batch(l, first, 5, &x, &label);
        assert_int_equal(rc, has_40 ? RC_INVAL : RC_OK);
        if (rc != RC_OK)
            assert_string_equal(rc_message(), message);
        n_failures += rc != RC_OK;
    }
    assert_int_equal(n_failures, 1);
    loader_close(&l);
}

UNIT_TEST(errors_of_reading_arrive)
{
    for (int prefetch = 0; prefetch < 2; prefetch++) {
        expect_one_failure(0, prefetch, "shard: offset 40: torn");
        expect_one_failure(4, prefetch, "data set broken: image 40 has label 4; there are 4 classes");
    }
}

struct watched { /* a data set that counts what the thread that asks for batches reads itself */
    struct dataset base;
    pthread_t caller;
    atomic_size_t n_read, n_read_by_caller;
};

static enum rc watched_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    struct watched *w = (struct watched *)(uintptr_t)d; /* of a test: made by it, not const */

    (void)channel_stride;
    x[0] = (float)i;
    w->n_read++;
    w->n_read_by_caller += pthread_equal(pthread_self(), w->caller) != 0;
    return RC_OK;
}

static uint32_t label_0(const struct dataset *d, size_t i)
{
    (void)d, (void)i;
    return 0;
}

static const struct dataset_ops watched_ops = { .image = watched_image, .label = label_0 };

/* How many of 20 batches of 4, whose first samples are 4 apart, the caller had to read itself. All
 * of them if the loader does not prefetch (it starts no background thread) or prefetches with another stride. */
static size_t count_read_by_caller(bool prefetch, uint64_t stride)
{
    enum { N_BATCHES = 20, BATCH = 4 };
    struct watched w = { .base = { .ops = &watched_ops,
                                   .name = "watched",
                                   .n_train = 50,
                                   .n_features = 1,
                                   .n_classes = 1,
                                   .C = 1,
                                   .H = 1,
                                   .W = 1 },
                         .caller = pthread_self() };
    const struct loader_env env = {
        .dataset = &w.base, .max_batch = BATCH, .order.stride = stride, .prefetch = prefetch
    };
    struct loader *l = NULL;
    const float *x = NULL;
    const uint32_t *label = NULL;

    assert_int_equal(loader_open(&l, &env), RC_OK);
    for (uint64_t i = 0; i < N_BATCHES; i++)
        assert_int_equal(loader_batch(l, i * BATCH, BATCH, &x, &label), RC_OK);
    loader_close(&l);
    assert_true(w.n_read >= (size_t)N_BATCHES * BATCH);
    assert_int_equal(w.n_read_by_caller % BATCH, 0);
    return w.n_read_by_caller / BATCH;
}

/* All but the first batch are read by the background thread; mutants never_starts (no thread) and never_matches
 * give the same batches and show here only. */
UNIT_TEST(batches_are_made_ahead)
{
    assert_int_equal(count_read_by_caller(true, 4), 1);
    assert_int_equal(count_read_by_caller(false, 4), 20);
    assert_int_equal(count_read_by_caller(true, 0), 20);
    assert_int_equal(count_read_by_caller(true, 5), 20);
}

UNIT_TEST(data_without_images_is_refused)
{
    struct dataset *line = NULL;
    struct loader *l = NULL;

    assert_int_equal(dataset_open_line(&line, 1), RC_OK);
    const struct loader_env env = { .dataset = line, .max_batch = 1 };
    assert_int_equal(loader_open(&l, &env), RC_INVAL);
    assert_string_equal(rc_message(), "data set line has no images");
    assert_null(l);
    dataset_close(&line);
}

/* data.F2 */
UNIT_TEST(nothing_allocates_after_open)
{
    struct dataset *d = images();
    struct loader *l = NULL;
    const float *x = NULL;
    const uint32_t *label = NULL;

    for (int prefetch = 0; prefetch < 2; prefetch++) {
        const struct loader_env env = {
            .dataset = d, .seed = 5, .max_batch = MAX_BATCH, .order.stride = MAX_BATCH, .prefetch = prefetch
        };
        const size_t n_maps_before = test_maps();
        assert_int_equal(loader_open(&l, &env), RC_OK);
        assert_true(test_maps() > n_maps_before); /* an arena is seen */
        const size_t before = test_allocations();
        enum rc rc = RC_OK;
        for (uint64_t i = 0; rc == RC_OK && i < 50; i++)
            rc = loader_batch(l, i * MAX_BATCH, MAX_BATCH, &x, &label);
        if (rc == RC_OK)
            rc = loader_test_batch(l, 0, MAX_BATCH, &x, &label);
        const size_t after = test_allocations();
        loader_close(&l);
        assert_int_equal(rc, RC_OK);
        assert_true(before > 0);
        assert_int_equal(after - before, 0);
    }
    dataset_close(&d);
}

struct ticks { /* of the caller's task alone */
    pthread_t caller;
    atomic_int n, n_of_others;
};

static void count_tick(void *arg)
{
    struct ticks *t = arg;

    atomic_fetch_add(pthread_equal(pthread_self(), t->caller) ? &t->n : &t->n_of_others, 1);
}

/* world.P1: a tick for each sample that the caller reads; none by the thread that reads ahead. */
UNIT_TEST(the_caller_ticks)
{
    struct dataset *d = images();

    for (int prefetch = 0; prefetch < 2; prefetch++) {
        struct ticks ticks = { .caller = pthread_self() };
        const struct loader_env env = { .dataset = d,
                                        .seed = 5,
                                        .max_batch = MAX_BATCH,
                                        .order.stride = MAX_BATCH,
                                        .prefetch = prefetch,
                                        .tick = count_tick,
                                        .tick_arg = &ticks };
        struct loader *l = NULL;
        const float *x;
        const uint32_t *label;

        assert_int_equal(loader_open(&l, &env), RC_OK);
        assert_int_equal(loader_batch(l, 0, MAX_BATCH, &x, &label), RC_OK);
        assert_int_equal(atomic_load(&ticks.n), MAX_BATCH);
        assert_int_equal(loader_batch(l, MAX_BATCH, MAX_BATCH, &x, &label), RC_OK);
        assert_true(prefetch || atomic_load(&ticks.n) == 2 * MAX_BATCH);
        loader_close(&l);
        assert_int_equal(atomic_load(&ticks.n_of_others), 0);
    }
    dataset_close(&d);
}

UNIT_MAIN("loader")
