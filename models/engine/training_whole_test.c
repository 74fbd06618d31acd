/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_whole_test.c - whole trainings: a small network learns images, a large one needs the memory that was
 * planned.
 *
 * usage: training_whole_test learns | peak
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/host_memory.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "models/engine/training.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

struct fixture {
    struct dataset *data;
    struct compute *compute;
    struct training *training;
    void *param, *grad, *velocity; /* float[n_params] */
    size_t n_params;
};

static void fixture_open(struct fixture *f, const struct workload *w, const struct network_opts *opts, size_t batch,
                         uint64_t seed)
{
    const struct synthetic_opts images = { .C = 3,
                                           .H = opts->image_size,
                                           .W = opts->image_size,
                                           .n_classes = opts->n_classes,
                                           .n_train = 4000,
                                           .n_test = 200 };
    struct training_env env = {
        .seed = seed, .max_batch = batch, .order.stride = batch, .prefetch = true, .network = *opts
    };
    size_t n_bytes;

    memset(f, 0, sizeof *f);
    assert_int_equal(dataset_open_synthetic(&f->data, &images, seed), RC_OK);
    assert_int_equal(compute_open(&f->compute, &compute_cpu, NULL), RC_OK);
    env.dataset = f->data;
    env.compute = f->compute;
    assert_int_equal(workload_open(&f->training, w, &env), RC_OK);
    f->n_params = workload_n_params(f->training);
    n_bytes = f->n_params * sizeof(float);
    assert_int_equal(compute_memory_open(f->compute, &f->param, n_bytes, "param"), RC_OK);
    assert_int_equal(compute_memory_open(f->compute, &f->grad, n_bytes, "grad"), RC_OK);
    assert_int_equal(compute_memory_open(f->compute, &f->velocity, n_bytes, "velocity"), RC_OK);
    workload_init(f->training, f->param);
}

static void fixture_close(struct fixture *f)
{
    workload_close(&f->training);
    compute_memory_close(f->compute, &f->param);
    compute_memory_close(f->compute, &f->grad);
    compute_memory_close(f->compute, &f->velocity);
    compute_close(&f->compute);
    dataset_close(&f->data);
}

static void train(struct fixture *f, size_t n_steps, const struct sgd *sgd)
{
    const size_t batch = f->training->env.max_batch;

    for (size_t step = 0; step < n_steps; step++) {
        double loss = NAN;
        assert_int_equal(workload_gradient(f->training, f->param, step * batch, batch, f->grad, &loss, NULL, NULL),
                         RC_OK);
        assert_true(isfinite(loss));
        compute_sgd_step(f->compute, f->param, f->velocity, f->grad, f->n_params, sgd);
    }
}

/* With the default options it classifies generated test images of ten classes. */
UNIT_TEST_OF("learns", resnet8_learns_images)
{
    const struct network_opts opts = { .image_size = 16, .n_classes = 10 };
    const struct sgd sgd = { .lr = (float)workload_resnet8.default_lr,
                             .momentum = (float)workload_resnet8.default_momentum,
                             .grad_scale = 1.0f };

    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct evaluation before, e;
        struct fixture f;
        fixture_open(&f, &workload_resnet8, &opts, (size_t)workload_resnet8.default_batch, seed);
        assert_int_equal(workload_evaluate(f.training, f.param, 0, &before), RC_OK);
        assert_true(before.accuracy_ratio < 0.5);
        train(&f, (size_t)workload_resnet8.default_steps, &sgd);
        assert_int_equal(workload_evaluate(f.training, f.param, 0, &e), RC_OK);
        if (!(e.accuracy_ratio >= 0.9))
            fail_msg("seed %d: accuracy %.3f after %d steps", (int)seed, e.accuracy_ratio,
                     workload_resnet8.default_steps);
        fixture_close(&f);
    }
}

/* Peak memory is what was planned, the parameters, their gradient and momentum, and at most a tenth more. */
UNIT_TEST_OF("peak", memory_is_what_was_planned)
{
    const struct network_opts opts = { .image_size = 160, .n_classes = 1000 };
    const struct sgd sgd = { .lr = 0.001f, .momentum = 0.9f, .grad_scale = 1.0f };
    const double before = peak_rss_bytes();
    struct fixture f;

    fixture_open(&f, &workload_resnet50, &opts, 8, 1);
    train(&f, 2, &sgd);
    const struct network_memory m = network_memory_of(f.training);
    const double planned = (double)(m.planned_bytes + m.params_bytes + m.state_bytes);
    const double allocated = peak_rss_bytes() - before;
    fixture_close(&f);
    if (!(allocated >= 0.9 * planned && allocated <= 1.1 * planned))
        fail_msg("%.1f MB were allocated, %.1f MB were planned", allocated * 1e-6, planned * 1e-6);
}

int main(int argc, char **argv)
{
    if (IS_SANITIZED) {
        printf("skipped: under a sanitizer it would take minutes, and a peak of memory would mean nothing\n");
        return 77;
    }
    return unit_run("training_whole", argc > 1 ? argv[1] : NULL, NULL, NULL);
}
