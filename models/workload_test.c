/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_test.c - what every workload promises (models.M1 to M7), and the registry. Networks: small variants, on
 * noise.
 *
 * usage: workload_test registry | promises NAME | errors NAME
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/test_allocations.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "models/suite/network_fixture.h"
#include "models/workload.h"

enum { MAX_SEGMENTS = 600, GUARD = 16, B = 4, MAX_FAILURES = 40 };

static const struct workload *workload;

struct fixture {
    struct dataset *line; /* NULL: noise */
    struct noise noise;
    struct compute *compute;
    struct training *training;
    float *param, *grad, *seen; /* float[n_params + GUARD] */
    size_t n_params, n_segments;
    struct segment called[MAX_SEGMENTS];
    size_t n_called, fail_at;
    bool hollow;
};

/* The variant of the suite; where a family has another network's: one as small. */
static struct network_opts small_opts(void)
{
    const struct variant *v = network_variant_find(workload->module.name);
    const struct network_opts small = { .image_size = 32, .n_classes = 7, .width_divisor = 16 };
    struct network_opts opts;
    struct network *n = NULL;

    assert_int_equal(network_open(&n, workload->network, v != NULL ? &v->opts : &small), RC_OK);
    opts = n->opts;
    network_close(&n);
    return opts;
}

static void open_data(struct fixture *f, struct training_env *env)
{
    if (workload->network == NULL) {
        assert_int_equal(dataset_open_line(&f->line, 1), RC_OK);
        env->dataset = f->line;
        return;
    }
    env->network = small_opts();
    noise_init(&f->noise, &env->network, workload->network->C_in);
    env->dataset = &f->noise.base;
}

static void fixture_open_as(struct fixture *f, const struct compute_backend *backend, uint64_t seed, bool forward_only)
{
    struct training_env env = { .seed = seed, .max_batch = B, .forward_only = forward_only };

    memset(f, 0, sizeof *f);
    f->fail_at = MAX_SEGMENTS;
    f->hollow = !backend->touches_memory;
    open_data(f, &env);
    assert_int_equal(compute_open(&f->compute, backend, NULL), RC_OK);
    env.compute = f->compute;
    assert_int_equal(workload_open(&f->training, workload, &env), RC_OK);
    f->n_params = workload_n_params(f->training);
    f->n_segments = workload->ops->n_segments(f->training);
    assert_true(f->n_segments <= MAX_SEGMENTS);
    if (!f->hollow) {
        f->param = calloc(3 * (f->n_params + GUARD), sizeof *f->param);
        assert_non_null(f->param);
        f->grad = f->param + f->n_params + GUARD;
        f->seen = f->grad + f->n_params + GUARD;
    }
    workload_init(f->training, f->param);
}

static void fixture_open(struct fixture *f, const struct compute_backend *backend, uint64_t seed)
{
    fixture_open_as(f, backend, seed, false);
}

static void fixture_close(struct fixture *f)
{
    workload_close(&f->training);
    workload_close(&f->training);
    assert_null(f->training);
    compute_close(&f->compute);
    dataset_close(&f->line);
    free(f->param);
}

static enum rc take(void *arg, struct segment s, const float *grad)
{
    struct fixture *f = arg;

    if (f->n_called == f->fail_at)
        return rc_raise(RC_PEER, "segment %zu was refused", f->n_called);
    if (f->n_called < MAX_SEGMENTS)
        f->called[f->n_called] = s;
    f->n_called++;
    if (grad != NULL && grad != f->grad + s.offset_elems) /* models.M5 */
        return rc_raise(RC_BUG, "the gradient is not where it belongs");
    if (grad != NULL)
        memcpy(f->seen + s.offset_elems, grad, s.n_elems * sizeof *grad);
    return RC_OK;
}

UNIT_TEST_OF("registry", registry_names_the_nearest)
{
    const struct workload *w = NULL;
    int n = 0;

    for (; workload_at(n) != NULL; n++) {
        assert_int_equal(workload_find(&w, workload_at(n)->module.name), RC_OK);
        assert_ptr_equal(w, workload_at(n));
        assert_true(w->default_lr > 0.0 && w->default_batch >= 1);
        assert_true(w->default_momentum >= 0.0 && w->default_momentum < 1.0);
    }
    assert_true(n >= 10);
    assert_int_equal(workload_find(&w, "lenett"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "the nearest is lenet"));
    assert_int_equal(workload_find(&w, "resnet-101"), RC_INVAL);
    assert_names(rc_message(), "resnet101");
    assert_int_equal(workload_find(&w, ""), RC_INVAL);
}

UNIT_TEST_OF("registry", other_data_is_refused)
{
    struct training_env env = { .seed = 1, .max_batch = 1 };
    struct training *t = NULL;
    struct dataset *d = NULL;
    struct noise noise;

    assert_int_equal(dataset_open_line(&d, 1), RC_OK);
    assert_int_equal(compute_open(&env.compute, &compute_cpu, NULL), RC_OK);
    env.dataset = d;
    assert_int_equal(workload_open(&t, &workload_lenet, &env), RC_INVAL);
    assert_null(t);
    noise_init(&noise, &(struct network_opts){ .image_size = 8, .n_classes = 10 }, 1);
    env.dataset = &noise.base;
    assert_int_equal(workload_open(&t, &workload_linear, &env), RC_INVAL);
    assert_null(t);
    compute_close(&env.compute);
    dataset_close(&d);
}

/* models.M1 */
UNIT_TEST_OF("promises", init_follows_the_seed)
{
    struct fixture a, b, other;

    fixture_open(&a, &compute_cpu, 5);
    fixture_open(&b, &compute_cpu, 5);
    fixture_open(&other, &compute_cpu, 6);
    assert_memory_equal(a.param, b.param, a.n_params * sizeof(float));
    for (size_t i = a.n_params; i < a.n_params + GUARD; i++)
        assert_true(a.param[i] == 0.0f); /* nothing is written past the end */
    if (a.n_params > 2)
        assert_memory_not_equal(a.param, other.param, a.n_params * sizeof(float));
    workload_init_own(b.training, 0, b.param);
    assert_memory_equal(a.param, b.param, a.n_params * sizeof(float));
    workload_init_own(a.training, 3, a.param);
    assert_memory_not_equal(a.param, b.param, a.n_params * sizeof(float));
    workload_init_own(b.training, 3, b.param);
    assert_memory_equal(a.param, b.param, a.n_params * sizeof(float));
    workload_init_own(b.training, 4, b.param);
    assert_memory_not_equal(a.param, b.param, a.n_params * sizeof(float));
    fixture_close(&a);
    fixture_close(&b);
    fixture_close(&other);
}

/* models.M2 */
UNIT_TEST_OF("promises", segments_come_last_first_and_final)
{
    struct fixture f;
    double loss = NAN;
    size_t at = 0;

    fixture_open(&f, &compute_cpu, 5);
    for (size_t i = 0; i < f.n_segments; i++) {
        const struct segment s = workload->ops->segment(f.training, i);
        assert_int_equal(s.offset_elems, at);
        assert_true(s.n_elems > 0);
        at += s.n_elems;
    }
    assert_int_equal(at, f.n_params);
    for (uint64_t step = 0; step < 3; step++) {
        f.n_called = 0;
        memset(f.grad, 0xff, (f.n_params + GUARD) * sizeof(float));
        memset(f.seen, 0, f.n_params * sizeof(float));
        assert_int_equal(workload_gradient(f.training, f.param, step * B, B, f.grad, &loss, take, &f), RC_OK);
        assert_int_equal(f.n_called, f.n_segments);
        for (size_t i = 0; i < f.n_segments; i++) {
            const struct segment s = workload->ops->segment(f.training, f.n_segments - 1 - i);
            assert_int_equal(f.called[i].offset_elems, s.offset_elems);
            assert_int_equal(f.called[i].n_elems, s.n_elems);
        }
        assert_memory_equal(f.seen, f.grad, f.n_params * sizeof(float)); /* final when ready was called */
        for (size_t i = 0; i < f.n_params; i++)
            assert_true(isfinite(f.grad[i]));
        assert_true(isnan(f.grad[f.n_params])); /* nothing is written past the end */
        assert_true(loss > 0.0);
    }
    fixture_close(&f);
}

struct awaited {
    struct fixture *f;
    const float *right; /* the parameters */
    size_t n_awaited, fail_at;
};

static enum rc bring_params(void *arg, struct segment s)
{
    struct awaited *a = arg;
    const struct segment expected = a->n_awaited < a->f->n_segments
                                        ? workload->ops->segment(a->f->training, a->n_awaited)
                                        : (struct segment){ 0, 0 };

    if (a->n_awaited == a->fail_at)
        return rc_raise(RC_PEER, "the parameters of segment %zu do not come", a->n_awaited);
    if (s.offset_elems != expected.offset_elems || s.n_elems != expected.n_elems)
        return rc_raise(RC_BUG, "await %zu is not of that segment", a->n_awaited);
    a->n_awaited++;
    memcpy(a->f->param + s.offset_elems, a->right + s.offset_elems, s.n_elems * sizeof(float));
    return RC_OK;
}

static enum rc spoil_params(void *arg, struct segment s, const float *grad)
{
    struct awaited *a = arg;

    (void)grad;
    memset(a->f->param + s.offset_elems, 0xff, s.n_elems * sizeof(float));
    return RC_OK;
}

/* models.M7, and M2's end: parameters are NaN until they were awaited and again as soon as their gradient is ready, and
 * nobody notices. */
UNIT_TEST_OF("promises", params_are_read_between_await_and_ready)
{
    struct fixture f, plain;
    struct awaited a = { .f = &f, .fail_at = SIZE_MAX };
    double loss, plain_loss;

    fixture_open(&f, &compute_cpu, 5);
    fixture_open(&plain, &compute_cpu, 5);
    a.right = plain.param;
    assert_int_equal(workload_gradient(plain.training, plain.param, B, B, plain.grad, &plain_loss, NULL, NULL), RC_OK);
    memset(f.param, 0xff, f.n_params * sizeof(float));
    workload_set_await(f.training, bring_params, &a);
    assert_int_equal(workload_gradient(f.training, f.param, B, B, f.grad, &loss, spoil_params, &a), RC_OK);
    assert_int_equal(a.n_awaited, f.n_segments);
    assert_true(loss == plain_loss);
    assert_memory_equal(f.grad, plain.grad, f.n_params * sizeof(float));
    for (size_t i = 0; i < f.n_params; i++)
        assert_true(isnan(f.param[i]));
    a.n_awaited = 0;
    a.fail_at = f.n_segments / 2;
    assert_int_equal(workload_gradient(f.training, f.param, B, B, f.grad, &loss, spoil_params, &a), RC_PEER);
    workload_set_await(f.training, NULL, NULL);
    memcpy(f.param, a.right, f.n_params * sizeof(float));
    assert_int_equal(workload_gradient(f.training, f.param, B, B, f.grad, &loss, NULL, NULL), RC_OK);
    assert_memory_equal(f.grad, plain.grad, f.n_params * sizeof(float));
    fixture_close(&f);
    fixture_close(&plain);
}

/* An error of ready ends the gradient, at every segment; where there are many, at some. */
UNIT_TEST_OF("errors", errors_of_ready_come_back)
{
    struct fixture f;
    double loss;

    fixture_open(&f, &compute_cpu, 5);
    for (f.fail_at = 0; f.fail_at < f.n_segments; f.fail_at += f.n_segments / MAX_FAILURES + 1) {
        f.n_called = 0;
        assert_int_equal(workload_gradient(f.training, f.param, 0, B, f.grad, &loss, take, &f), RC_PEER);
        assert_int_equal(f.n_called, f.fail_at);
    }
    fixture_close(&f);
}

/* models.M3 */
UNIT_TEST_OF("promises", hollow_counts_the_same)
{
    struct fixture real, hollow;
    struct evaluation e;
    double loss = 0.0;

    fixture_open(&real, &compute_cpu, 5);
    fixture_open(&hollow, &compute_hollow, 5);
    assert_int_equal(hollow.n_params, real.n_params);
    assert_int_equal(workload_gradient(real.training, real.param, 0, B, real.grad, &loss, take, &real), RC_OK);
    assert_int_equal(workload_gradient(hollow.training, NULL, 0, B, NULL, &loss, take, &hollow), RC_OK);
    assert_true(isnan(loss));
    assert_int_equal(hollow.n_called, real.n_called);
    assert_memory_equal(hollow.called, real.called, sizeof real.called);
    assert_true(real.compute->total.flops > 0.0 && real.compute->total.bytes > 0.0);
    assert_true(hollow.compute->total.flops == real.compute->total.flops);
    assert_true(hollow.compute->total.bytes == real.compute->total.bytes);
    assert_true(real.compute->total.flops == B * workload->ops->flops_per_sample(real.training));
    assert_int_equal(workload_evaluate(real.training, real.param, 0, &e), RC_OK);
    assert_true(isfinite(e.loss));
    assert_int_equal(workload_evaluate(hollow.training, NULL, 0, &e), RC_OK);
    assert_true(isnan(e.loss) && isnan(e.accuracy_ratio));
    assert_true(hollow.compute->total.flops == real.compute->total.flops);
    assert_true(hollow.compute->total.bytes == real.compute->total.bytes);
    fixture_close(&real);
    fixture_close(&hollow);
}

UNIT_TEST_OF("promises", forward_only_counts_no_backward)
{
    struct fixture f;
    double loss;

    fixture_open_as(&f, &compute_hollow, 5, true);
    assert_int_equal(workload_gradient(f.training, NULL, 0, B, NULL, &loss, take, &f), RC_OK);
    assert_int_equal(f.n_called, 0);
    assert_true(f.compute->total.flops > 0.0);
    assert_true(f.compute->total.flops == B * workload->ops->flops_per_sample(f.training));
    fixture_close(&f);
}

static enum rc train_and_evaluate(struct fixture *f, uint64_t first)
{
    struct evaluation e;
    double loss;
    enum rc rc;

    f->n_called = 0;
    TRY(workload_gradient(f->training, f->param, first, B, f->grad, &loss, take, f));
    TRY(workload_evaluate(f->training, f->param, 0, &e));
out:
    return rc;
}

/* models.M4; the first calls of an operation may find room for it (C3). */
UNIT_TEST_OF("promises", nothing_allocates_after_the_first)
{
    struct fixture f;
    enum rc rc;

    fixture_open(&f, &compute_cpu, 5);
    rc = train_and_evaluate(&f, 0);
    const size_t before = test_allocations();
    for (uint64_t step = 1; step < 4 && rc == RC_OK; step++)
        rc = train_and_evaluate(&f, step * B);
    workload_init(f.training, f.param);
    const size_t after = test_allocations();
    assert_int_equal(rc, RC_OK);
    assert_int_equal(after - before, 0);
    assert_true(before > 0);
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    const bool is_of_workload = argc == 3 && workload_find(&workload, argv[2]) == RC_OK;

    if (!is_of_workload && (argc != 2 || strcmp(argv[1], "registry") != 0)) {
        fprintf(stderr, "usage: workload_test registry | promises NAME | errors NAME\n");
        return 2;
    }
    return unit_run("workload", argv[1], NULL, NULL);
}
