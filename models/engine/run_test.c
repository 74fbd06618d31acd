/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_test.c - run.c where the compute has memory of its own and runs while ready() is called: the gradients of a
 * bucket are final (models.M2). On the backend "cuda" with its kernels as C++, in fake device memory
 * (harness/compute/cuda/on_host).
 *
 * usage: run_test
 */
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/cuda/cuda.h"
#include "models/workload.h"

enum { SIDE = 16, B = 4 };

static enum rc image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    for (size_t c = 0; c < (size_t)d->C; c++)
        for (size_t k = 0; k < (size_t)(SIDE * SIDE); k++)
            x[c * channel_stride + k] = (float)((i * 31 + c * 7 + k * k) % 17) / 8.0f - 1.0f;
    return RC_OK;
}

static uint32_t label(const struct dataset *d, size_t i)
{
    return (uint32_t)(i % d->n_classes);
}

struct copies {
    struct compute *compute;
    float *grad;
    const float *device_grad;
    size_t next_end; /* segments come last first, without a gap */
    int n_segments;
};

static enum rc copy_segment(void *arg, struct segment s, const float *grad)
{
    struct copies *c = arg;
    enum rc rc = compute_sync(c->compute); /* as a sender does (C2) */

    assert_int_equal(rc, RC_OK);
    assert_int_equal(s.offset_elems + s.n_elems, c->next_end);
    assert_ptr_equal(grad, c->device_grad + s.offset_elems);
    c->next_end = s.offset_elems;
    c->n_segments++;
    compute_get(c->compute, c->grad + s.offset_elems, grad, s.n_elems * sizeof *grad);
    return RC_OK;
}

static enum rc refuse_third(void *arg, struct segment s, const float *grad)
{
    int *n_calls = arg;

    (void)s;
    (void)grad;
    return ++*n_calls == 3 ? RC_PEER : RC_OK;
}

static size_t n_images_made;

static enum rc counted_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    n_images_made++;
    return image(d, i, x, channel_stride);
}

/* A gemm_only baseline loads its first batch and keeps it; any other gradient loads its own. */
UNIT_TEST(a_gemm_only_baseline_keeps_its_batch)
{
    static const struct dataset_ops ops = { .image = counted_image, .label = label };
    const struct dataset images = { .ops = &ops,
                                    .name = "pattern",
                                    .n_train = 64,
                                    .n_features = (size_t)3 * SIDE * SIDE,
                                    .n_classes = 10,
                                    .C = 3,
                                    .H = SIDE,
                                    .W = SIDE };
    const struct network_opts narrow = { .image_size = SIDE, .n_classes = 10, .width_divisor = 4 };

    for (int gemm_only = 0; gemm_only < 2; gemm_only++) {
        const struct compute_env compute = { .gemm_only = gemm_only };
        struct training_env env = { .dataset = &images, .seed = 5, .max_batch = B, .network = narrow };
        struct training *t = NULL;
        void *param = NULL, *grad = NULL;
        double loss;
        assert_int_equal(compute_open(&env.compute, &compute_cuda, &compute), RC_OK);
        struct compute *c = env.compute;
        assert_int_equal(workload_open(&t, &workload_resnet8, &env), RC_OK);
        const size_t n_bytes = workload_n_params(t) * sizeof(float);
        assert_int_equal(compute_memory_open(c, &param, n_bytes, "parameters"), RC_OK);
        assert_int_equal(compute_memory_open(c, &grad, n_bytes, "gradients"), RC_OK);
        n_images_made = 0;
        for (uint64_t step = 0; step < 3; step++)
            assert_int_equal(workload_gradient(t, param, step * B, B, grad, &loss, NULL, NULL), RC_OK);
        assert_int_equal(n_images_made, gemm_only ? B : 3 * B);
        compute_memory_close(c, &param);
        compute_memory_close(c, &grad);
        workload_close(&t);
        compute_close(&c);
    }
}

/* models.M2, M5, M6 */
UNIT_TEST(segments_are_final_when_ready)
{
    static const struct dataset_ops ops = { .image = image, .label = label };
    const struct dataset images = { .ops = &ops,
                                    .name = "pattern",
                                    .n_train = 64,
                                    .n_test = B,
                                    .n_features = (size_t)3 * SIDE * SIDE,
                                    .n_classes = 10,
                                    .C = 3,
                                    .H = SIDE,
                                    .W = SIDE };
    struct training_env env = { .dataset = &images, .seed = 5, .max_batch = B };
    struct training *t = NULL;
    struct copies c = { .compute = NULL };
    void *param = NULL, *grad = NULL;
    double loss[3] = { 0.0 };
    uint64_t n_launches = 0;
    int n_calls = 0;

    assert_int_equal(compute_open(&c.compute, &compute_cuda, NULL), RC_OK);
    env.compute = c.compute;
    env.network = (struct network_opts){ .image_size = SIDE, .n_classes = 10, .width_divisor = 4 };
    assert_int_equal(workload_open(&t, &workload_resnet8, &env), RC_OK);
    const size_t n = workload_n_params(t), n_bytes = n * sizeof(float);
    float *host = calloc(n, sizeof *host);
    c.grad = calloc(n, sizeof *c.grad);
    assert_non_null(host);
    assert_non_null(c.grad);
    assert_int_equal(compute_memory_open(c.compute, &param, n_bytes, "parameters"), RC_OK);
    assert_int_equal(compute_memory_open(c.compute, &grad, n_bytes, "gradients"), RC_OK);
    workload_init(t, param);
    c.device_grad = grad;
    c.next_end = n;
    assert_int_equal(workload_gradient(t, param, 0, B, grad, &loss[0], copy_segment, &c), RC_OK);
    assert_int_equal(c.next_end, 0);
    assert_true(c.n_segments > COMPUTE_EVENTS);
    assert_int_equal(workload_gradient(t, param, 0, B, grad, &loss[1], NULL, NULL), RC_OK);
    compute_get(c.compute, host, grad, n_bytes);
    assert_memory_equal(host, c.grad, n_bytes);
    assert_memory_equal(&loss[0], &loss[1], sizeof loss[0]);
    /* From the third training step on the ops between two marks are a graph each, where they are enough calls. */
    for (int step = 0; step < 3; step++) {
        n_launches = ((struct cuda_compute *)c.compute)->n_graph_launches;
        c.next_end = n;
        assert_int_equal(workload_gradient(t, param, 0, B, grad, &loss[1], copy_segment, &c), RC_OK);
    }
    n_launches = ((struct cuda_compute *)c.compute)->n_graph_launches - n_launches;
    assert_true(n_launches >= 3 && n_launches <= COMPUTE_EVENTS + 1); /* the forward pass is one */
    /* An error of ready ends the training step; the next one is not affected. */
    assert_int_equal(workload_gradient(t, param, 0, B, grad, &loss[2], refuse_third, &n_calls), RC_PEER);
    assert_int_equal(n_calls, 3);
    assert_int_equal(workload_gradient(t, param, 0, B, grad, &loss[2], NULL, NULL), RC_OK);
    assert_memory_equal(&loss[0], &loss[2], sizeof loss[0]);
    free(host);
    free(c.grad);
    compute_memory_close(c.compute, &param);
    compute_memory_close(c.compute, &grad);
    workload_close(&t);
    compute_close(&c.compute);
}

UNIT_MAIN("run")
