/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_test.c - the line: its gradient, and where gradient descent ends.
 *
 * usage: linear_test gradient | converges
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "models/workload.h"

enum { N = 1000 };

struct fixture {
    struct dataset *data;
    struct compute *compute;
    struct training *training;
};

static void fixture_open_parts(struct fixture *f, uint64_t seed, size_t max_batch, size_t n_micro_batches)
{
    struct training_env env = { .seed = seed, .max_batch = max_batch, .order.n_micro_batches = n_micro_batches };

    *f = (struct fixture){ NULL, NULL, NULL };
    assert_int_equal(dataset_open_line(&f->data, seed), RC_OK);
    assert_int_equal(compute_open(&f->compute, &compute_cpu, NULL), RC_OK);
    env.dataset = f->data;
    env.compute = f->compute;
    assert_int_equal(workload_open(&f->training, &workload_linear, &env), RC_OK);
}

static void fixture_open(struct fixture *f, uint64_t seed, size_t max_batch)
{
    fixture_open_parts(f, seed, max_batch, 1);
}

static void fixture_close(struct fixture *f)
{
    workload_close(&f->training);
    compute_close(&f->compute);
    dataset_close(&f->data);
}

static double loss_of(const struct fixture *f, const double *param, uint64_t first, size_t B)
{
    double sum = 0.0;

    for (uint64_t i = first; i < first + B; i++) {
        const size_t at = dataset_index(f->data, f->training->env.seed, i);
        const double e = param[0] * (double)f->data->feature[at] + param[1] - (double)f->data->target[at];
        sum += e * e;
    }
    return sum / (double)B;
}

UNIT_TEST_OF("gradient", gradient_matches_central_differences)
{
    static const size_t batch[] = { 1, 3, 8, 100, 999, 1000 };
    const double h = 1e-6, param[2] = { 0.75, -0.25 };
    const float param_f[2] = { 0.75f, -0.25f };
    struct fixture f;

    fixture_open(&f, 4, N);
    for (size_t k = 0; k < sizeof batch / sizeof batch[0]; k++) {
        const uint64_t first = 37 * k;
        float grad[2] = { NAN, NAN };
        double loss = NAN, want[2];
        for (size_t i = 0; i < 2; i++) {
            double above[2] = { param[0], param[1] }, below[2] = { param[0], param[1] };
            above[i] += h;
            below[i] -= h;
            want[i] = (loss_of(&f, above, first, batch[k]) - loss_of(&f, below, first, batch[k])) / (2.0 * h);
        }
        assert_int_equal(workload_gradient(f.training, param_f, first, batch[k], grad, &loss, NULL, NULL), RC_OK);
        const double scale = fmax(fabs(want[0]), fabs(want[1])), loss_want = loss_of(&f, param, first, batch[k]);
        assert_true(fabs(loss - loss_want) <= 1e-5 * loss_want);
        for (size_t i = 0; i < 2; i++)
            assert_true(fabs((double)grad[i] - want[i]) <= 1e-4 * scale);
    }
    fixture_close(&f);
}

/* models.M8, to the bit: a quarter is exact. */
UNIT_TEST_OF("gradient", micro_batches_are_summed)
{
    enum { B = 25, N_PARTS = 4 };
    const float param[2] = { 0.75f, -0.25f };
    float grad[2] = { NAN, NAN }, whole[2], want[2] = { 0.0f, 0.0f };
    double loss = NAN, loss_want = 0.0, loss_whole = NAN;
    struct fixture parts, single, all;

    fixture_open_parts(&parts, 4, B, N_PARTS);
    fixture_open(&single, 4, B);
    fixture_open(&all, 4, B * N_PARTS);
    assert_int_equal(workload_gradient(parts.training, param, 37, B * N_PARTS, grad, &loss, NULL, NULL), RC_OK);
    assert_int_equal(workload_gradient(all.training, param, 37, B * N_PARTS, whole, &loss_whole, NULL, NULL), RC_OK);
    for (uint64_t i = 0; i < N_PARTS; i++) {
        float part[2];
        double loss_part;
        assert_int_equal(workload_gradient(single.training, param, 37 + i * B, B, part, &loss_part, NULL, NULL), RC_OK);
        for (int k = 0; k < 2; k++)
            want[k] += part[k] / N_PARTS;
        loss_want += loss_part / N_PARTS;
    }
    assert_memory_equal(grad, want, sizeof grad);
    assert_true(fabs(loss - loss_want) <= 1e-12 * loss_want && fabs(loss - loss_whole) <= 1e-6 * loss_whole);
    for (int k = 0; k < 2; k++)
        assert_true(fabsf(grad[k] - whole[k]) <= 1e-5f * fabsf(whole[k]));
    fixture_close(&parts);
    fixture_close(&single);
    fixture_close(&all);
}

/* Least squares in closed form. */
static void least_squares(double *slope, double *offset, const struct dataset *d)
{
    double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;

    for (size_t i = 0; i < d->n_train; i++) {
        const double a = (double)d->feature[i], b = (double)d->target[i];
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    const double n = (double)d->n_train;
    *slope = (n * xy - x * y) / (n * xx - x * x);
    *offset = (y - *slope * x) / n;
}

UNIT_TEST_OF("converges", full_batches_end_at_least_squares)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct fixture f;
        struct sgd sgd = { .lr = (float)workload_linear.default_lr, .grad_scale = 1.0f };
        struct evaluation end;
        float param[2], grad[2];
        double slope, offset, loss = NAN;

        fixture_open(&f, seed, N);
        workload_init(f.training, param);
        for (uint64_t step = 0; step < 1200; step++) {
            assert_int_equal(workload_gradient(f.training, param, step * N, N, grad, &loss, NULL, NULL), RC_OK);
            compute_sgd_step(f.compute, param, NULL, grad, 2, &sgd);
        }
        least_squares(&slope, &offset, f.data);
        assert_true(fabs((double)param[0] - slope) < 1e-4);
        assert_true(fabs((double)param[1] - offset) < 1e-4);
        assert_int_equal(workload_evaluate(f.training, param, 0, &end), RC_OK);
        assert_true(fabs(end.loss - loss) < 1e-6);
        assert_true(isnan(end.accuracy_ratio));
        fixture_close(&f);
    }
}

/* The evaluation is over all samples, whatever the batch. */
UNIT_TEST_OF("converges", evaluation_does_not_depend_on_the_batch)
{
    static const size_t max_batch[] = { 1, 7, 100, 1000, 5000 };
    const float param[2] = { 1.5f, 0.25f };

    for (size_t k = 0; k < sizeof max_batch / sizeof max_batch[0]; k++) {
        struct fixture f;
        struct evaluation e;
        const double exact[2] = { 1.5, 0.25 };
        fixture_open(&f, 2, max_batch[k]);
        assert_int_equal(workload_evaluate(f.training, param, 0, &e), RC_OK);
        const double want = loss_of(&f, exact, 0, N);
        assert_true(fabs(e.loss - want) < 1e-6 * want);
        fixture_close(&f);
    }
}

UNIT_MAIN("linear")
