/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lenet_test.c - the whole network against the reference, and what it learns.
 *
 * usage: lenet_test forward|gradient|batches|threads|learns|late PATH-OF-DIGITS.CSV
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "harness/compute/compute.h"
#include "models/reference.h"
#include "models/workload.h"

enum { N_PARAMS = REFERENCE_N_PARAMS };

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

static void fixture_open(struct fixture *f, uint64_t seed, size_t max_batch)
{
    struct training_env env = { .seed = seed, .max_batch = max_batch };

    *f = (struct fixture){ NULL, NULL, NULL, floats(N_PARAMS), floats(N_PARAMS), floats(N_PARAMS) };
    assert_int_equal(dataset_open_digits(&f->data, digits_path), RC_OK);
    assert_int_equal(compute_open(&f->compute, &compute_cpu, NULL), RC_OK);
    env.dataset = f->data;
    env.compute = f->compute;
    assert_int_equal(workload_open(&f->training, &workload_lenet, &env), RC_OK);
    assert_int_equal(workload_n_params(f->training), N_PARAMS);
    workload_init(f->training, f->param);
}

static void fixture_close(struct fixture *f)
{
    workload_close(&f->training);
    compute_close(&f->compute);
    dataset_close(&f->data);
    free(f->param);
    free(f->grad);
    free(f->velocity);
}

/* Biases start at 0; a test wants them to count. */
static void stir(struct fixture *f)
{
    for (size_t i = 0; i < N_PARAMS; i++)
        if (f->param[i] == 0.0f)
            f->param[i] = 0.02f * (float)(i % 7) - 0.05f;
}

static void reference_take(struct reference_lenet *r, const struct fixture *f, uint64_t first, int B)
{
    r->B = B;
    for (int b = 0; b < B; b++) {
        const size_t at = dataset_index(f->data, f->training->env.seed, first + (uint64_t)b);
        r->label[b] = f->data->label[at];
        for (size_t k = 0; k < 64; k++)
            r->x[(size_t)b * 64 + k] = (double)f->data->feature[at * 64 + k];
    }
}

static double *doubles_of(const float *x)
{
    double *y = calloc(N_PARAMS, sizeof *y);

    assert_non_null(y);
    for (size_t i = 0; i < N_PARAMS; i++)
        y[i] = (double)x[i];
    return y;
}

static void forward_matches_the_reference(void **state)
{
    struct reference_lenet *r = calloc(1, sizeof *r);

    (void)state;
    assert_non_null(r);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct fixture f;
        fixture_open(&f, seed, 3);
        stir(&f);
        double *param = doubles_of(f.param);
        for (uint64_t first = 0; first < 30; first += 3) {
            double loss = NAN;
            reference_take(r, &f, first, 3);
            const double want = reference_lenet_loss(r, param, 0, -1);
            assert_int_equal(workload_gradient(f.training, f.param, first, 3, f.grad, &loss, NULL, NULL), RC_OK);
            if (!(fabs(loss - want) <= 1e-5 * want))
                fail_msg("loss is %.9g, should be %.9g", loss, want);
        }
        free(param);
        fixture_close(&f);
    }
    free(r);
}

/* The layer that parameter i belongs to, and the channel in it (convolutions). */
static int layer_of(size_t i, int *channel)
{
    *channel = -1;
    if (i < 160)
        *channel = (int)(i < 144 ? i / 9 : i - 144);
    else if (i < 160 + 4640)
        *channel = (int)(i - 160 < 4608 ? (i - 160) / 144 : i - 160 - 4608);
    return i < 160 ? 0 : i < 160 + 4640 ? 1 : i < 160 + 4640 + 8256 ? 2 : 3;
}

/* Every parameter; what is reused was used up (L2). h is small, so that no relu or maximum changes sides within it. */
static void gradient_matches_central_differences(void **state)
{
    enum { B = 2 };
    const double h = 1e-7;
    struct reference_lenet *r = calloc(1, sizeof *r);
    double *want = calloc(N_PARAMS, sizeof *want), loss = NAN;
    struct fixture f;

    (void)state;
    assert_non_null(r);
    assert_non_null(want);
    fixture_open(&f, 1, B);
    stir(&f);
    double *param = doubles_of(f.param);
    reference_take(r, &f, 0, B);
    reference_lenet_loss(r, param, 0, -1);
    for (size_t k = 0; k < N_PARAMS; k++) {
        const size_t i = N_PARAMS - 1 - k; /* last layer first: the activations before stay true */
        const double was = param[i];
        int channel, layer = layer_of(i, &channel);
        param[i] = was + h;
        const double above = reference_lenet_loss(r, param, layer, channel);
        param[i] = was - h;
        want[i] = (above - reference_lenet_loss(r, param, layer, channel)) / (2.0 * h);
        param[i] = was;
        if (channel >= 0)
            reference_lenet_loss(r, param, layer, channel); /* the next may be of another channel */
    }
    assert_int_equal(workload_gradient(f.training, f.param, 0, B, f.grad, &loss, NULL, NULL), RC_OK);
    for (size_t s = 0; s < workload_lenet.n_segments(f.training); s++) {
        const struct segment segment = workload_lenet.segment(f.training, s);
        double scale = 0.0;
        for (size_t i = segment.at; i < segment.at + segment.n_elems; i++)
            scale = fmax(scale, fabs(want[i]));
        assert_true(scale > 1e-3);
        for (size_t i = segment.at; i < segment.at + segment.n_elems; i++)
            if (!(fabs((double)f.grad[i] - want[i]) <= 1e-4 * scale))
                fail_msg("segment %zu [%zu] is %.9g, should be %.9g", s, i - segment.at, (double)f.grad[i], want[i]);
    }
    free(param);
    free(want);
    free(r);
    fixture_close(&f);
}

/* Loss and accuracy of the test set, in whatever chunks. */
static void evaluation_is_over_the_test_set(void **state)
{
    static const size_t max_batch[] = { 1, 50, 359, 400 };
    struct reference_lenet *r = calloc(1, sizeof *r);

    (void)state;
    assert_non_null(r);
    for (size_t k = 0; k < sizeof max_batch / sizeof max_batch[0]; k++) {
        struct fixture f;
        struct evaluation e;
        double loss = 0.0;
        size_t n_correct = 0;
        fixture_open(&f, 2, max_batch[k]);
        double *param = doubles_of(f.param);
        r->B = 1;
        for (size_t at = f.data->n_train; at < f.data->n_train + f.data->n_test; at++) {
            size_t top = 0;
            r->label[0] = f.data->label[at];
            for (size_t i = 0; i < 64; i++)
                r->x[i] = (double)f.data->feature[at * 64 + i];
            loss += reference_lenet_loss(r, param, 0, -1);
            for (size_t i = 1; i < 10; i++)
                top = r->logits[i] > r->logits[top] ? i : top;
            n_correct += top == r->label[0];
        }
        workload_evaluate(f.training, f.param, &e);
        loss /= (double)f.data->n_test;
        assert_true(fabs(e.loss - loss) <= 1e-5 * loss);
        assert_true(fabs(e.accuracy_ratio * (double)f.data->n_test - (double)n_correct) < 1e-6);
        free(param);
        fixture_close(&f);
    }
    free(r);
}

/* 4 x 8 samples, averaged, are 32 samples; and max_batch does not show in the bits (C1). */
static void batches_add_up(void **state)
{
    struct fixture f, wide;
    double loss = NAN, part = NAN, sum = 0.0, scale = 0.0;
    float *mean = floats(N_PARAMS);

    (void)state;
    fixture_open(&f, 3, 32);
    fixture_open(&wide, 3, 77);
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
    fixture_close(&f);
    fixture_close(&wide);
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

/* C1: ranks that are threads, at work at the same time, get the bits that one alone gets. D2: they
 * share the samples, and nobody writes them. */
static void threads_get_the_same_bits(void **state)
{
    enum { N_THREADS = 4 };
    struct rank alone = { .n_failures = 0 }, rank[N_THREADS];
    struct dataset *fresh = NULL;

    (void)state;
    fixture_open(&alone.f, 3, 32);
    run_rank(&alone);
    for (size_t i = 0; i < N_THREADS; i++) {
        rank[i].n_failures = 0;
        fixture_open(&rank[i].f, 3, 32);
        rank[i].f.training->env.dataset = alone.f.data;
    }
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&rank[i].thread, NULL, run_rank, &rank[i]), 0);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(rank[i].thread, NULL), 0);
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(rank[i].n_failures, 0);
        assert_memory_equal(rank[i].f.param, alone.f.param, N_PARAMS * sizeof(float));
        assert_memory_equal(&rank[i].loss, &alone.loss, sizeof(double));
        fixture_close(&rank[i].f);
    }
    assert_int_equal(dataset_open_digits(&fresh, digits_path), RC_OK);
    assert_memory_equal(alone.f.data->feature, fresh->feature, (fresh->n_train + fresh->n_test) * 64 * sizeof(float));
    assert_memory_equal(alone.f.data->label, fresh->label, (fresh->n_train + fresh->n_test) * sizeof(uint32_t));
    dataset_close(&fresh);
    fixture_close(&alone.f);
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

    fixture_open(&f, seed, B);
    float *old = floats((n_late + 1) * N_PARAMS);
    for (size_t k = 0; k <= n_late; k++)
        memcpy(old + k * N_PARAMS, f.param, N_PARAMS * sizeof *old);
    for (uint64_t step = 0; step < n_epochs * f.data->n_train / B; step++) {
        float *from = old + step % (n_late + 1) * N_PARAMS;
        assert_int_equal(workload_gradient(f.training, from, step * B, B, f.grad, &loss, NULL, NULL), RC_OK);
        compute_sgd_step(f.compute, f.param, f.velocity, f.grad, N_PARAMS, &sgd);
        memcpy(from, f.param, N_PARAMS * sizeof *old);
    }
    workload_evaluate(f.training, f.param, &e);
    free(old);
    fixture_close(&f);
    return e.accuracy_ratio;
}

static void it_learns_digits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const double accuracy_ratio = train(seed, 15, 0);
        if (!(accuracy_ratio >= 0.97))
            fail_msg("seed %d: accuracy %.4f", (int)seed, accuracy_ratio);
    }
}

static void it_learns_from_late_gradients(void **state)
{
    (void)state;
    for (size_t n_late = 1; n_late <= 3; n_late += 2) {
        const double accuracy_ratio = train(1, 20, n_late);
        if (!(accuracy_ratio >= 0.95))
            fail_msg("%zu updates late: accuracy %.4f", n_late, accuracy_ratio);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest forward[] = { cmocka_unit_test(forward_matches_the_reference),
                                          cmocka_unit_test(evaluation_is_over_the_test_set) };
    const struct CMUnitTest gradient[] = { cmocka_unit_test(gradient_matches_central_differences) };
    const struct CMUnitTest batches[] = { cmocka_unit_test(batches_add_up) };
    const struct CMUnitTest threads[] = { cmocka_unit_test(threads_get_the_same_bits) };
    const struct CMUnitTest learns[] = { cmocka_unit_test(it_learns_digits) };
    const struct CMUnitTest late[] = { cmocka_unit_test(it_learns_from_late_gradients) };
    const char *what = argc == 3 ? argv[1] : "";

    digits_path = argc == 3 ? argv[2] : NULL;
    if (strcmp(what, "forward") == 0)
        return cmocka_run_group_tests(forward, NULL, NULL);
    if (strcmp(what, "gradient") == 0)
        return cmocka_run_group_tests(gradient, NULL, NULL);
    if (strcmp(what, "batches") == 0)
        return cmocka_run_group_tests(batches, NULL, NULL);
    if (strcmp(what, "threads") == 0)
        return cmocka_run_group_tests(threads, NULL, NULL);
    if (strcmp(what, "learns") == 0)
        return cmocka_run_group_tests(learns, NULL, NULL);
    if (strcmp(what, "late") == 0)
        return cmocka_run_group_tests(late, NULL, NULL);
    fprintf(stderr, "usage: lenet_test forward|gradient|batches|threads|learns|late PATH\n");
    return 2;
}
