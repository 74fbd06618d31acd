/* SPDX-License-Identifier: Apache-2.0 */
/*
 * micro_batch_test.c - gradients of networks in micro-batches (models.M8): what each of them gives alone, added up.
 *
 * usage: micro_batch_test
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/engine/run.h"
#include "models/suite/network_fixture.h"

enum { FIRST = 7 };

/* The gradients of n batches one after the other, each 1 / n of it, added up in that order; the mean of their losses.
 * n is a power of two: a share of each is exact. */
static double sum_of_batches(float *sum, struct network_fixture *f, size_t n)
{
    const size_t n_params = f->network->n_params, B = f->variant->B;
    double loss, losses = 0.0;

    for (size_t part = 0; part < n; part++) {
        assert_int_equal(workload_gradient(f->training, f->param, FIRST + part * B, B, f->grad, &loss, NULL, NULL),
                         RC_OK);
        for (size_t i = 0; i < n_params; i++)
            sum[i] = part == 0 ? f->grad[i] / (float)n : sum[i] + f->grad[i] / (float)n;
        losses += loss;
    }
    return losses / (double)n;
}

static enum rc count_await(void *arg, struct segment s)
{
    size_t *n_elems = arg;

    assert_int_equal(s.offset_elems, *n_elems); /* models.M7: first segment first, each once */
    *n_elems += s.n_elems;
    return RC_OK;
}

static void check_sum(const struct variant *v, size_t n)
{
    struct network_fixture parts, single;
    size_t n_awaited = 0, n_state;
    double loss = NAN;

    assert_int_equal(network_fixture_open(&parts, v, &(struct network_fixture_opts){ .n_micro_batches = n }), RC_OK);
    assert_int_equal(network_fixture_open(&single, v, &(struct network_fixture_opts){ 0 }), RC_OK);
    const size_t n_bytes = parts.network->n_params * sizeof(float);
    float *want = malloc(n_bytes);
    assert_non_null(want);
    const double loss_want = sum_of_batches(want, &single, n);
    workload_set_await(parts.training, count_await, &n_awaited);
    assert_int_equal(workload_gradient(parts.training, parts.param, FIRST, n * v->B, parts.grad, &loss,
                                       network_fixture_ready, &parts),
                     RC_OK);
    assert_memory_equal(parts.grad, want, n_bytes);
    assert_memory_equal(parts.seen, want, n_bytes); /* final when it was ready */
    assert_int_equal(parts.n_called, parts.network->n_segments);
    assert_int_equal(n_awaited, parts.network->n_params);
    assert_true(loss == loss_want);
    const float *state = workload_state(parts.training, &n_state),
                *state_want = workload_state(single.training, &n_state);
    if (n_state > 0) /* running means of as many batches */
        assert_memory_equal(state, state_want, n_state * sizeof *state);
    free(want);
    network_fixture_close(&parts);
    network_fixture_close(&single);
}

UNIT_TEST(gradients_are_added_up)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++) {
        check_sum(v, 2);
        check_sum(v, 4);
    }
}

/* Without batch norm and dropout, the gradient of all samples at once: lenet. */
UNIT_TEST(three_parts_are_the_whole)
{
    const struct variant *v = network_variant_find("lenet");
    struct network_fixture parts, whole;
    double loss = NAN, loss_want = NAN, largest = 0.0;

    assert_int_equal(network_fixture_open(&parts, v, &(struct network_fixture_opts){ .n_micro_batches = 3 }), RC_OK);
    assert_int_equal(network_fixture_open(&whole, v, &(struct network_fixture_opts){ .max_batch = 3 * v->B }), RC_OK);
    assert_int_equal(workload_gradient(parts.training, parts.param, FIRST, 3 * v->B, parts.grad, &loss, NULL, NULL),
                     RC_OK);
    assert_int_equal(
        workload_gradient(whole.training, whole.param, FIRST, 3 * v->B, whole.grad, &loss_want, NULL, NULL), RC_OK);
    assert_true(fabs(loss - loss_want) <= 1e-6 * loss_want);
    for (size_t i = 0; i < whole.network->n_params; i++)
        largest = fmax(largest, fabs((double)whole.grad[i]));
    for (size_t i = 0; i < whole.network->n_params; i++)
        assert_true(fabs((double)parts.grad[i] - (double)whole.grad[i]) <= 1e-5 * largest);
    network_fixture_close(&parts);
    network_fixture_close(&whole);
}

/* Planned for one micro-batch, and the gradients of the largest node. */
UNIT_TEST(memory_is_that_of_a_micro_batch)
{
    const struct variant *v = network_variant_find("vgg16");
    struct network_memory needed, one;
    struct network_fixture f;
    size_t largest = 0;

    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ .n_micro_batches = 4 }), RC_OK);
    const struct network_memory m = network_memory_of(f.training);
    assert_int_equal(network_memory_needed(&needed, f.compute, f.network,
                                           &(struct network_step){ .n_samples = 4 * v->B, .n_micro_batches = 4 }),
                     RC_OK);
    assert_int_equal(network_memory_needed(&one, f.compute, f.network,
                                           &(struct network_step){ .n_samples = v->B, .n_micro_batches = 1 }),
                     RC_OK);
    for (int i = 0; i < f.network->n_nodes; i++) {
        const size_t n_elems = f.network->node[i].weight.n_elems + f.network->node[i].shift.n_elems;
        largest = n_elems > largest ? n_elems : largest;
    }
    assert_memory_equal(&needed, &m, sizeof m);
    assert_int_equal(m.planned_bytes, one.planned_bytes);
    assert_int_equal(one.part_bytes, 0);
    assert_int_equal(m.part_bytes, (largest + NETWORK_PART_ALIGN_ELEMS) * sizeof(float));
    assert_int_equal(network_memory_needed(
                         &needed, f.compute, f.network,
                         &(struct network_step){ .n_samples = 4 * v->B, .n_micro_batches = 4, .forward_only = true }),
                     RC_OK);
    assert_int_equal(needed.part_bytes, 0); /* forward only: there are no gradients */
    /* Of 10 samples in 4 micro-batches the largest has 3. */
    assert_int_equal(network_memory_needed(&needed, f.compute, f.network,
                                           &(struct network_step){ .n_samples = 10, .n_micro_batches = 4 }),
                     RC_OK);
    assert_int_equal(network_memory_needed(&one, f.compute, f.network,
                                           &(struct network_step){ .n_samples = 3, .n_micro_batches = 1 }),
                     RC_OK);
    assert_int_equal(needed.planned_bytes, one.planned_bytes);
    network_fixture_close(&f);
}

/* models.M3: as many are ready where nothing is computed. */
UNIT_TEST(as_many_are_ready_on_hollow)
{
    const struct variant *v = network_variant_find("resnet8");
    const struct network_fixture_opts opts = { .n_micro_batches = 2, .backend = &compute_hollow };
    struct network_fixture f;
    double loss = 0.0;

    assert_int_equal(network_fixture_open(&f, v, &opts), RC_OK);
    assert_int_equal(workload_gradient(f.training, NULL, FIRST, 2 * v->B, NULL, &loss, network_fixture_ready, &f),
                     RC_OK);
    assert_int_equal(f.n_called, f.network->n_segments);
    assert_true(isnan(loss));
    network_fixture_close(&f);
}

UNIT_MAIN("micro_batch")
