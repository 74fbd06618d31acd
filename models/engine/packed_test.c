/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_test.c - networks in bf16 on a compute that takes packed arrays (models.X4), on the emulated GPU: losses,
 * gradients and evaluations are those without, bit by bit; how often a step packs; and what memory it takes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/cuda/cuda.h"
#include "harness/compute/cuda/on_host/on_host_test.h"
#include "models/engine/trainer.h"
#include "models/suite/network_fixture.h"
#include "models/workload_list.h"

enum { BATCH = 3, N_STEPS = 2 };

struct model {
    const struct workload *workload;
    int C, size, divisor;
    unsigned n_left; /* packs that a gradient makes of other operands (program_packed.c): what dropout has changed in
                        place, where a pointwise convolution reads it; a gradient that went through a relu alone */
};

/* Norms, shortcuts and pools; pointwise convolutions and strides; biases and dropout; concatenations. */
static const struct model models[] = { { &workload_lenet, 1, 28, 2, 0 },     { &workload_resnet8, 3, 8, 4, 0 },
                                       { &workload_patchwork, 2, 12, 1, 2 }, { &workload_alexnet, 3, 63, 32, 2 },
#if !defined(__SANITIZE_ADDRESS__) /* minutes of emulation there */
                                       { &workload_resnet50, 3, 32, 32, 0 }, { &workload_inception3, 3, 107, 32, 2 }
#endif
};
enum { N_MODELS = sizeof models / sizeof models[0] };

struct side {
    struct compute *compute;
    struct dataset *data;
    struct training *training;
    void *param, *grad, *velocity;
    float *host;
    size_t n_params, n_micro_batches;
};

static struct cuda_compute *cuda_of(const struct side *s)
{
    return (struct cuda_compute *)s->compute;
}

static size_t available(const struct side *s)
{
    return s->compute->ops->memory_available(s->compute);
}

static void side_open(struct side *s, const struct model *m, bool packed, size_t n_micro_batches)
{
    const struct synthetic_opts images = {
        .C = m->C, .H = m->size, .W = m->size, .n_classes = 10, .n_train = 90, .n_test = BATCH + 1
    };
    const struct cuda_opts opts = { .graphs = "on", .packed = packed ? "on" : "off" };
    const struct compute_env compute = { .precision = PRECISION_BF16, .opts = &opts };
    struct training_env env = { .seed = 3,
                                .max_batch = BATCH,
                                .order = { .stride = 2 * BATCH, .n_micro_batches = n_micro_batches },
                                .prefetch = true,
                                .network = { .image_size = m->size, .n_classes = 10, .width_divisor = m->divisor } };

    memset(s, 0, sizeof *s);
    s->n_micro_batches = n_micro_batches;
    assert_int_equal(dataset_open_synthetic(&s->data, &images, 5), RC_OK);
    assert_int_equal(compute_open(&s->compute, &compute_cuda, &compute), RC_OK);
    env.compute = s->compute;
    env.dataset = s->data;
    if (workload_open(&s->training, m->workload, &env) != RC_OK)
        fail_msg("%s", rc_message());
    s->n_params = workload_n_params(s->training);
    s->host = malloc(s->n_params * sizeof *s->host);
    assert_non_null(s->host);
    assert_int_equal(compute_memory_open(s->compute, &s->param, s->n_params * sizeof(float), "param"), RC_OK);
    assert_int_equal(compute_memory_open(s->compute, &s->grad, s->n_params * sizeof(float), "grad"), RC_OK);
    assert_int_equal(compute_memory_open(s->compute, &s->velocity, s->n_params * sizeof(float), "velocity"), RC_OK);
    workload_init(s->training, s->param);
}

static void side_close(struct side *s)
{
    workload_close(&s->training);
    compute_memory_close(s->compute, &s->param);
    compute_memory_close(s->compute, &s->grad);
    compute_memory_close(s->compute, &s->velocity);
    compute_close(&s->compute);
    dataset_close(&s->data);
    free(s->host);
}

/* The loss of one step; its gradient is in host. */
static double step(struct side *s, uint64_t first)
{
    const struct sgd sgd = { .lr = 0.05f, .momentum = 0.9f, .grad_scale = 1.0f };
    const size_t n = BATCH * s->n_micro_batches;
    double loss = NAN;

    assert_int_equal(workload_gradient(s->training, s->param, first, n, s->grad, &loss, NULL, NULL), RC_OK);
    compute_sgd_step(s->compute, s->param, s->velocity, s->grad, s->n_params, &sgd);
    assert_int_equal(compute_fetch(s->compute, s->host, s->grad, s->n_params * sizeof *s->host), RC_OK);
    return loss;
}

static void give_the_same_bits(const struct model *m, size_t n_micro_batches)
{
    struct side plain, packed;

    side_open(&plain, m, false, n_micro_batches);
    side_open(&packed, m, true, n_micro_batches);
    for (uint64_t i = 0; i < N_STEPS; i++) {
        struct evaluation a, b;
        const double loss = step(&plain, 2 * BATCH * i), again = step(&packed, 2 * BATCH * i);
        assert_true(isfinite(loss));
        assert_memory_equal(&loss, &again, sizeof loss);
        assert_memory_equal(plain.host, packed.host, plain.n_params * sizeof *plain.host);
        /* of parameters that a step has changed, in batches of two sizes */
        assert_int_equal(workload_evaluate(plain.training, plain.param, 0, &a), RC_OK);
        assert_int_equal(workload_evaluate(packed.training, packed.param, 0, &b), RC_OK);
        assert_memory_equal(&a.loss, &b.loss, sizeof a.loss);
    }
    side_close(&plain);
    side_close(&packed);
}

UNIT_TEST(packed_networks_give_the_same_bits)
{
    for (size_t i = 0; i < N_MODELS; i++)
        give_the_same_bits(&models[i], 1);
    give_the_same_bits(&models[1], 2);
}

static unsigned n_convolutions(const struct network *n)
{
    unsigned count = 0;

    for (int i = 0; i < n->n_nodes; i++)
        count += n->node[i].kind == NODE_CONV;
    return count;
}

/* Each weight, once a step, whatever the number of micro-batches; and what is left. */
UNIT_TEST(a_step_packs_each_weight_once)
{
    for (size_t i = 0; i < 2 * N_MODELS; i++) {
        const struct model *m = &models[i / 2];
        const size_t n_micro_batches = i % 2 + 1;
        struct side s;
        side_open(&s, m, true, n_micro_batches);
        const unsigned n_each = n_convolutions(network_of(s.training)) + m->n_left * (unsigned)n_micro_batches;
        for (uint64_t k = 0; k < N_STEPS; k++) {
            const unsigned before = on_host_n_launches(cuda_of(&s)->device, "rows_to_bf16");
            (void)step(&s, 2 * BATCH * k);
            assert_int_equal(on_host_n_launches(cuda_of(&s)->device, "rows_to_bf16") - before, n_each);
            assert_int_equal(on_host_n_launches(cuda_of(&s)->device, "align_rows"), 0);
        }
        side_close(&s);
    }
}

/* All that was taken is what was foretold, where the scratch counted is at least the scratch used. */
UNIT_TEST(packed_memory_is_foretold)
{
    for (size_t i = 0; i < 2 * N_MODELS; i++) {
        const struct model *m = &models[i / 2];
        struct side s;
        side_open(&s, m, true, i % 2 + 1);
        const size_t others = 3 * s.n_params * sizeof(float), n_keys = CUDA_MAX_KEYS * sizeof(uint64_t);
        const struct network_memory need = network_memory_of(s.training);
        (void)step(&s, 0);
        const size_t taken =
            ((size_t)1 << 30) - available(&s) - others - n_keys - CUDA_MAX_RESULTS * sizeof(struct cuda_result);
        const size_t scratch = network_scratch_bytes(s.compute, network_of(s.training), BATCH, true);
        assert_in_range(cuda_of(&s)->n_scratch_bytes, 1, scratch - CUDA_ALLOWANCE_BYTES);
        assert_int_equal(taken, need.planned_bytes + need.state_bytes + need.part_bytes + need.device_bytes - scratch +
                                    cuda_of(&s)->n_scratch_bytes);
        side_close(&s);
    }
}

/* Published shapes, of which nothing is opened, at batch 64. Values and gradients in half the bytes, against what is
 * kept both ways: of a ResNet, the sums that shortcuts and pointwise convolutions read. */
UNIT_TEST(packed_plans_are_known)
{
    static const struct {
        const struct workload *workload;
        size_t plain_mib, packed_mib;
    } row[] = { { &workload_resnet50, 4973, 5197 },
                { &workload_inception3, 4538, 3432 },
                { &workload_vgg16, 3799, 3638 } };

    for (size_t i = 0; i < 2 * sizeof row / sizeof row[0]; i++) {
        const struct network_opts all = { .image_size = 0 };
        const bool packed = i % 2 != 0;
        const struct cuda_opts opts = { .graphs = "on", .packed = packed ? "on" : "off" };
        const struct compute_env env = { .precision = PRECISION_BF16, .opts = &opts };
        struct network_memory need, forward_only;
        struct network *n = NULL;
        struct compute *c = NULL;
        assert_int_equal(network_open(&n, row[i / 2].workload->network, &all), RC_OK);
        assert_int_equal(compute_open(&c, &compute_cuda, &env), RC_OK);
        assert_int_equal(
            network_memory_needed(&need, c, n, &(struct network_step){ .n_samples = 64, .n_micro_batches = 1 }), RC_OK);
        assert_int_equal(need.planned_bytes >> 20, packed ? row[i / 2].packed_mib : row[i / 2].plain_mib);
        /* the weights are kept where there are gradients: 2 bytes for 4, and what rows and arrays end with */
        const size_t others = 2 * (network_images_bytes(n, 64) + 64 * sizeof(uint32_t));
        const size_t kept = need.device_bytes - others - network_scratch_bytes(c, n, 64, true);
        assert_int_equal(kept, packed ? network_packed_bytes(n) : 0);
        assert_in_range(network_packed_bytes(n), 2 * n->n_params * 99 / 100, 2 * n->n_params * 101 / 100);
        assert_int_equal(network_memory_needed(
                             &forward_only, c, n,
                             &(struct network_step){ .n_samples = 64, .n_micro_batches = 1, .forward_only = true }),
                         RC_OK);
        assert_int_equal(forward_only.device_bytes, others + network_scratch_bytes(c, n, 64, false));
        compute_close(&c);
        network_close(&n);
    }
}

UNIT_MAIN("packed")
