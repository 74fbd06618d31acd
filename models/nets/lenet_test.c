/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lenet_test.c - lenet on digits: batches add up, ranks that are threads agree, and it learns, also from late
 * gradients. (Its gradient: training_test.c.)
 *
 * usage: lenet_test batches|threads|learns|late PATH-OF-DIGITS.CSV
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "models/workload.h"

enum { N_PARAMS = 160 + 4640 + 8256 + 650 };

static const char *digits_path;

struct fixture {
    struct dataset *data;
    struct compute *compute;
    struct training *training;
    float *param, *grad, *velocity;
};

static float *floats(size_t n)
{
    float *x = calloc(n, sizeof *x);

    assert_non_null(x);
    return x;
}

/* data NULL: opens it. */
static void fixture_open(struct fixture *f, uint64_t seed, size_t max_batch, struct dataset *data)
{
    struct training_env env = { .seed = seed, .max_batch = max_batch };

    *f = (struct fixture){ data, NULL, NULL, floats(N_PARAMS), floats(N_PARAMS), floats(N_PARAMS) };
    if (data == NULL)
        assert_int_equal(dataset_open_digits(&f->data, digits_path), RC_OK);
    assert_int_equal(compute_open(&f->compute, &compute_cpu, NULL), RC_OK);
    env.dataset = f->data;
    env.compute = f->compute;
    assert_int_equal(workload_open(&f->training, &workload_lenet, &env), RC_OK);
    assert_int_equal(workload_n_params(f->training), N_PARAMS);
    workload_init(f->training, f->param);
}

static void fixture_close(struct fixture *f, bool data_too)
{
    workload_close(&f->training);
    compute_close(&f->compute);
    if (data_too)
        dataset_close(&f->data);
    free(f->param);
    free(f->grad);
    free(f->velocity);
}

/* 4 x 8 samples, averaged, are 32 samples; and max_batch does not show in the bits (C1). */
UNIT_TEST_OF("batches", batches_add_up)
{
    struct fixture f, wide;
    double loss = NAN, part = NAN, sum = 0.0, scale = 0.0;
    float *mean = floats(N_PARAMS);

    fixture_open(&f, 3, 32, NULL);
    fixture_open(&wide, 3, 77, NULL);
    for (uint64_t r = 0; r < 4; r++) {
        assert_int_equal(workload_gradient(f.training, f.param, 64 + 8 * r, 8, f.grad, &part, NULL, NULL), RC_OK);
        sum += part / 4.0;
        for (size_t i = 0; i < N_PARAMS; i++)
            mean[i] += 0.25f * f.grad[i];
    }
    assert_int_equal(workload_gradient(f.training, f.param, 64, 32, f.grad, &loss, NULL, NULL), RC_OK);
    assert_true(fabs(loss - sum) <= 1e-6 * loss);
    for (size_t i = 0; i < N_PARAMS; i++)
        scale = fmax(scale, fabs((double)f.grad[i]));
    for (size_t i = 0; i < N_PARAMS; i++)
        assert_true(fabs((double)(f.grad[i] - mean[i])) <= 1e-5 * scale);
    memcpy(mean, f.grad, N_PARAMS * sizeof *mean);
    assert_int_equal(workload_gradient(wide.training, f.param, 64, 32, wide.grad, &part, NULL, NULL), RC_OK);
    assert_memory_equal(wide.grad, mean, N_PARAMS * sizeof *mean);
    assert_memory_equal(&part, &loss, sizeof loss);
    free(mean);
    fixture_close(&f, true);
    fixture_close(&wide, true);
}

struct rank {
    struct fixture f;
    pthread_t thread;
    double loss;
    int n_failures;
};

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    const struct sgd sgd = { .lr = 0.01f, .grad_scale = 1.0f };

    for (uint64_t step = 0; step < 20; step++) {
        r->n_failures +=
            workload_gradient(r->f.training, r->f.param, step * 32, 32, r->f.grad, &r->loss, NULL, NULL) != RC_OK;
        compute_sgd_step(r->f.compute, r->f.param, NULL, r->f.grad, N_PARAMS, &sgd);
    }
    return NULL;
}

/* C1: ranks that are threads, at work at the same time, get the bits that one alone gets. models.D2: they
 * share the samples, and nobody writes them. */
UNIT_TEST_OF("threads", threads_get_the_same_bits)
{
    enum { N_THREADS = 4 };
    struct rank alone = { .n_failures = 0 }, rank[N_THREADS];
    struct dataset *fresh = NULL;

    fixture_open(&alone.f, 3, 32, NULL);
    run_rank(&alone);
    for (size_t i = 0; i < N_THREADS; i++) {
        rank[i].n_failures = 0;
        fixture_open(&rank[i].f, 3, 32, alone.f.data);
    }
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&rank[i].thread, NULL, run_rank, &rank[i]), 0);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(rank[i].thread, NULL), 0);
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(rank[i].n_failures, 0);
        assert_memory_equal(rank[i].f.param, alone.f.param, N_PARAMS * sizeof(float));
        assert_memory_equal(&rank[i].loss, &alone.loss, sizeof(double));
        fixture_close(&rank[i].f, false);
    }
    assert_int_equal(dataset_open_digits(&fresh, digits_path), RC_OK);
    assert_memory_equal(alone.f.data->feature, fresh->feature, (fresh->n_train + fresh->n_test) * 64 * sizeof(float));
    assert_memory_equal(alone.f.data->label, fresh->label, (fresh->n_train + fresh->n_test) * sizeof(uint32_t));
    dataset_close(&fresh);
    fixture_close(&alone.f, true);
}

/* Accuracy after n_epochs, each gradient computed from parameters n_late updates old. */
static double train(uint64_t seed, size_t n_epochs, size_t n_late)
{
    const size_t B = (size_t)workload_lenet.default_batch;
    const struct sgd sgd = { .lr = (float)workload_lenet.default_lr,
                             .momentum = (float)workload_lenet.default_momentum,
                             .grad_scale = 1.0f };
    struct evaluation e;
    struct fixture f;
    double loss;

    fixture_open(&f, seed, B, NULL);
    float *old = floats((n_late + 1) * N_PARAMS);
    for (size_t k = 0; k <= n_late; k++)
        memcpy(old + k * N_PARAMS, f.param, N_PARAMS * sizeof *old);
    for (uint64_t step = 0; step < n_epochs * f.data->n_train / B; step++) {
        float *from = old + step % (n_late + 1) * N_PARAMS;
        assert_int_equal(workload_gradient(f.training, from, step * B, B, f.grad, &loss, NULL, NULL), RC_OK);
        compute_sgd_step(f.compute, f.param, f.velocity, f.grad, N_PARAMS, &sgd);
        memcpy(from, f.param, N_PARAMS * sizeof *old);
    }
    assert_int_equal(workload_evaluate(f.training, f.param, 0, &e), RC_OK);
    free(old);
    fixture_close(&f, true);
    return e.accuracy_ratio;
}

UNIT_TEST_OF("learns", it_learns_digits)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const double accuracy_ratio = train(seed, 15, 0);
        if (!(accuracy_ratio >= 0.97))
            fail_msg("seed %d: accuracy %.4f", (int)seed, accuracy_ratio);
    }
}

UNIT_TEST_OF("late", it_learns_from_late_gradients)
{
    for (size_t n_late = 1; n_late <= 3; n_late += 2) {
        const double accuracy_ratio = train(1, 20, n_late);
        if (!(accuracy_ratio >= 0.95))
            fail_msg("%zu updates late: accuracy %.4f", n_late, accuracy_ratio);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: lenet_test batches|threads|learns|late PATH\n");
        return 2;
    }
    digits_path = argv[2];
    return unit_run("lenet", argv[1], NULL, NULL);
}
