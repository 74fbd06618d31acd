/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload_test.c - on a compute that takes the next batch while it works on this one, gradients, losses and evaluations
 * are those of batches copied one by one, bit by bit; also where the next gradient asks for another batch than that.
 * Built with the emulated GPU, and for a real one, without which it ends with 77 (skipped).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/compute/cuda/on_host/on_host_test.h"
#include "harness/compute/suite/gpu_skip.h"
#include "models/engine/trainer.h"
#include "models/engine/training.h"

enum { BATCH = 3, SIZE = 8, DIVISOR = 4, STRIDE = 2 * BATCH };

struct side {
    struct compute *compute;
    struct training *training;
    void *param, *grad, *velocity;
    float *host;
    size_t n_params;
};

static void side_open(struct side *s, const struct dataset *data, bool prefetch, size_t n_micro_batches)
{
    const struct training_env env = { .dataset = data,
                                      .seed = 3,
                                      .max_batch = BATCH,
                                      .order = { .stride = STRIDE, .n_micro_batches = n_micro_batches },
                                      .prefetch = prefetch,
                                      .network = { .image_size = SIZE, .n_classes = 10, .width_divisor = DIVISOR } };
    struct training_env with = env;

    memset(s, 0, sizeof *s);
    assert_int_equal(compute_open(&s->compute, &compute_cuda, NULL), RC_OK);
    with.compute = s->compute;
    assert_int_equal(workload_open(&s->training, &workload_resnet8, &with), RC_OK);
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
    free(s->host);
}

/* The last segment is passed on when the next batch is on its way: its copy is beside the computing, and not behind the
 * exchange. */
struct passing {
    struct side *side;
    uint64_t next;
    bool was_ahead;
};

static enum rc note_segment(void *arg, struct segment seg, const float *grad)
{
    struct passing *p = arg;
    const struct network_trainer *t = network_trainer_of(p->side->training);

    (void)seg;
    (void)grad;
    p->was_ahead = t->batch[1 - t->now].is_ahead && t->batch[1 - t->now].first == p->next;
    return RC_OK;
}

UNIT_TEST(batches_go_ahead_of_the_exchange)
{
    const struct synthetic_opts images = { .C = 3, .H = SIZE, .W = SIZE, .n_classes = 10, .n_train = 90, .n_test = 5 };
    struct dataset *data = NULL;
    struct side s;

    assert_int_equal(dataset_open_synthetic(&data, &images, 5), RC_OK);
    side_open(&s, data, true, 1);
    for (uint64_t first = 0; first < 3 * STRIDE; first += STRIDE) {
        struct passing p = { .side = &s, .next = first + STRIDE };
        double loss;
        assert_int_equal(workload_gradient(s.training, s.param, first, BATCH, s.grad, &loss, note_segment, &p), RC_OK);
        assert_true(p.was_ahead);
    }
    side_close(&s);
    dataset_close(&data);
}

/* The loss of one step; its gradient is in host. */
static double step(struct side *s, uint64_t first, size_t n)
{
    const struct sgd sgd = { .lr = 0.05f, .momentum = 0.9f, .grad_scale = 1.0f };
    double loss = NAN;

    assert_int_equal(workload_gradient(s->training, s->param, first, n, s->grad, &loss, NULL, NULL), RC_OK);
    compute_sgd_step(s->compute, s->param, s->velocity, s->grad, s->n_params, &sgd);
    compute_get(s->compute, s->host, s->grad, s->n_params * sizeof *s->host);
    assert_int_equal(compute_sync(s->compute), RC_OK);
    return loss;
}

static bool is_ahead(const struct side *s)
{
    const struct network_trainer *t = network_trainer_of(s->training);

    return t->batch[1 - t->now].is_ahead;
}

static void same_bits(void)
{
    /* The next one, which is there already; a batch again, as after a resume; fewer samples; a jump; the next ones. */
    static const struct {
        uint64_t first;
        size_t n;
        int now; /* the device's batch that holds it: the other one where it was there already */
    } steps[] = { { 0, BATCH, 0 },           { STRIDE, BATCH, 1 },
                  { STRIDE, BATCH, 1 },      { 2 * STRIDE, BATCH - 1, 1 },
                  { 3 * STRIDE, BATCH, 1 },  { 700, BATCH, 1 },
                  { 700 + STRIDE, BATCH, 0 } };
    const struct synthetic_opts images = { .C = 3, .H = SIZE, .W = SIZE, .n_classes = 10, .n_train = 900, .n_test = 5 };
    struct side plain, ahead;
    struct dataset *data = NULL;

    assert_int_equal(dataset_open_synthetic(&data, &images, 5), RC_OK);
    side_open(&plain, data, false, 1);
    side_open(&ahead, data, true, 1);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const double a = step(&plain, steps[i].first, steps[i].n), b = step(&ahead, steps[i].first, steps[i].n);
        struct evaluation of_plain, of_ahead;
        assert_memory_equal(&a, &b, sizeof a);
        assert_memory_equal(plain.host, ahead.host, plain.n_params * sizeof *plain.host);
        assert_true(is_ahead(&ahead) && !is_ahead(&plain));
        assert_int_equal(network_trainer_of(ahead.training)->now, steps[i].now);
        if (i % 2 == 0)
            continue;
        assert_int_equal(workload_evaluate(plain.training, plain.param, 0, &of_plain), RC_OK);
        assert_int_equal(workload_evaluate(ahead.training, ahead.param, 0, &of_ahead), RC_OK);
        assert_memory_equal(&of_plain.loss, &of_ahead.loss, sizeof of_plain.loss);
        assert_true(is_ahead(&ahead)); /* an evaluation does not take its place */
    }
    side_close(&plain);
    side_close(&ahead);
    dataset_close(&data);
}

/* Each micro-batch while the one before is computed; the first of the next step while the last is. */
UNIT_TEST(micro_batches_go_ahead_too)
{
    const struct synthetic_opts images = { .C = 3, .H = SIZE, .W = SIZE, .n_classes = 10, .n_train = 90, .n_test = 5 };
    struct dataset *data = NULL;
    struct side plain, ahead;

    assert_int_equal(dataset_open_synthetic(&data, &images, 5), RC_OK);
    side_open(&plain, data, false, 2);
    side_open(&ahead, data, true, 2);
    for (uint64_t first = 0; first < 3 * STRIDE; first += STRIDE) {
        const double a = step(&plain, first, 2 * BATCH), b = step(&ahead, first, 2 * BATCH);
        const struct network_trainer *t = network_trainer_of(ahead.training);
        assert_memory_equal(&a, &b, sizeof a);
        assert_memory_equal(plain.host, ahead.host, plain.n_params * sizeof *plain.host);
        assert_int_equal(t->now, 1); /* the second, uploaded beside the first */
        assert_true(t->batch[0].is_ahead && t->batch[0].first == first + STRIDE && t->batch[0].n_samples == BATCH);
    }
    side_close(&plain);
    side_close(&ahead);
    dataset_close(&data);
}

/* The emulated GPU copies as late as it may, and then as early: neither may show. */
UNIT_TEST(uploaded_batches_give_the_same_bits)
{
#if GRADMARK_CUDA_ON_HOST
    struct on_host_limits limits = { .memory_bytes = (size_t)1 << 30 };
    on_host_set(&limits);
#if !defined(__SANITIZE_ADDRESS__) /* half a minute of emulation there */
    same_bits();
#endif
    limits.eager_copies = 1;
    on_host_set(&limits);
#endif
    same_bits();
}

int main(void)
{
    struct compute *c = NULL;

    if (compute_open(&c, &compute_cuda, NULL) == RC_UNSUPPORTED)
        return gpu_skip(rc_message());
    compute_close(&c);
    return unit_run("upload", NULL, NULL, NULL);
}
