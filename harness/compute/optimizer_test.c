/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_test.c - the steps of each rule against its formula in double, rates that change, cut ranges, kept state.
 */
#include <math.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/optimizer.h"

enum { N = 300, N_STEPS = 12 };

static const struct optimizer_rule rules[OPTIMIZER_N_KINDS] = {
    [OPTIMIZER_SGD] = { .kind = OPTIMIZER_SGD, .weight_decay = 0.01 },
    [OPTIMIZER_MOMENTUM] = { .kind = OPTIMIZER_MOMENTUM, .momentum = 0.9, .weight_decay = 0.01 },
    [OPTIMIZER_ADAGRAD] = { .kind = OPTIMIZER_ADAGRAD, .epsilon = 1e-10, .initial = 0.1, .weight_decay = 0.01 },
    [OPTIMIZER_ADAM] = { .kind = OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01 },
};

static float drawn(uint64_t stream, size_t i)
{
    return (float)((double)(rng_u64(31, RNG_TEST, stream * N + i) >> 11) * 0x1p-52 - 1);
}

/* A warm-up, and a fall. */
static float rate(int step)
{
    return step < 6 ? 0.01f * (float)(step + 1) : 0.005f;
}

struct reference { /* in double */
    double p[N], a[N], b[N];
};

/* Of the papers: Duchi et al. 2011, Kingma and Ba 2015 (algorithm 1), and momentum as Goyal et al. 2017 write it: form
 * (9), with the rate outside. t: from 1. */
static void reference_step(struct reference *r, const struct optimizer_rule *rule, double lr, int t, int step)
{
    for (size_t i = 0; i < N; i++) {
        const double d = 0.25 * (double)drawn((uint64_t)step + 2, i) + rule->weight_decay * r->p[i];
        switch (rule->kind) {
        case OPTIMIZER_ADAGRAD:
            r->a[i] += d * d;
            r->p[i] -= lr * d / (rule->epsilon + sqrt(r->a[i]));
            break;
        case OPTIMIZER_ADAM:
            r->a[i] = rule->beta1 * r->a[i] + (1 - rule->beta1) * d;
            r->b[i] = rule->beta2 * r->b[i] + (1 - rule->beta2) * d * d;
            r->p[i] -= lr * (r->a[i] / (1 - pow(rule->beta1, t))) /
                       (sqrt(r->b[i] / (1 - pow(rule->beta2, t))) + rule->epsilon);
            break;
        default:
            r->a[i] = rule->momentum * r->a[i] + d;
            r->p[i] -= lr * r->a[i];
        }
    }
}

static void begin(struct reference *r, float *param, const struct optimizer_rule *rule)
{
    for (size_t i = 0; i < N; i++) {
        param[i] = drawn(1, i);
        r->p[i] = (double)param[i];
        r->a[i] = rule->initial;
        r->b[i] = 0;
    }
}

static void gradient(float *out, int step)
{
    for (size_t i = 0; i < N; i++)
        out[i] = drawn((uint64_t)step + 2, i);
}

/* Rounding: some units of 2^-24 of values around 1 in each step. Of a second moment near 0, of which the root is taken,
 * more: what matters is that no formula but the reference's comes as near. */
static void assert_near(const float *param, const double *want, double tolerance)
{
    for (size_t i = 0; i < N; i++)
        if (fabs((double)param[i] - want[i]) > tolerance)
            fail_msg("parameter %zu is %.9g, should be %.9g", i, (double)param[i], want[i]);
}

static void train(struct optimizer *o, float *param, int first_step, int end_step)
{
    float grad[N];

    for (int step = first_step; step < end_step; step++) {
        gradient(grad, step);
        o->lr = rate(step);
        o->grad_scale = 0.25f;
        o->n_updates = (uint64_t)step;
        assert_int_equal(optimizer_step(o, param, grad), RC_OK);
    }
}

UNIT_TEST(each_rule_is_its_formula)
{
    struct compute *c = NULL;

    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    for (int kind = 0; kind < OPTIMIZER_N_KINDS; kind++) {
        struct optimizer o = { 0 };
        struct reference r;
        float param[N];
        begin(&r, param, &rules[kind]);
        assert_int_equal(optimizer_init(&o, c, N, &rules[kind], NULL), RC_OK);
        train(&o, param, 0, N_STEPS);
        for (int step = 0; step < N_STEPS; step++)
            reference_step(&r, &rules[kind], (double)rate(step), step + 1, step);
        assert_near(param, r.p, 2e-6);
        optimizer_fini(&o);
        optimizer_fini(&o);
    }
    compute_close(&c);
}

/* The velocity in units of parameters: v = momentum ratio v + lr d, p -= v. */
static void reference_in_velocity(struct reference *r, int step)
{
    const struct optimizer_rule *rule = &rules[OPTIMIZER_MOMENTUM];
    const double lr = (double)rate(step), ratio = step > 0 ? lr / (double)rate(step - 1) : 1;

    for (size_t i = 0; i < N; i++) {
        const double d = 0.25 * (double)drawn((uint64_t)step + 2, i) + rule->weight_decay * r->p[i];
        r->a[i] = rule->momentum * ratio * r->a[i] + lr * d;
        r->p[i] -= r->a[i];
    }
}

/* Goyal et al. 2017, remark 2: with the rate in the velocity, momentum is to be corrected by the ratio of the rates. */
UNIT_TEST(momentum_correction_is_goyals)
{
    struct reference r;
    float param[N];
    struct compute *c = NULL;
    struct optimizer o = { 0 };

    assert_true(rate(0) != rate(N_STEPS - 1));
    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    begin(&r, param, &rules[OPTIMIZER_MOMENTUM]);
    assert_int_equal(optimizer_init(&o, c, N, &rules[OPTIMIZER_MOMENTUM], NULL), RC_OK);
    train(&o, param, 0, N_STEPS);
    for (int step = 0; step < N_STEPS; step++)
        reference_in_velocity(&r, step);
    assert_near(param, r.p, 2e-6);
    optimizer_fini(&o);
    compute_close(&c);
}

/* Ranges with updates of their own are as if they were alone: OP1. */
UNIT_TEST(ranges_are_independent_OP1)
{
    static const size_t cut[] = { 0, 1, 64, 65, 210, N };
    struct compute *c = NULL;

    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    for (int kind = 0; kind < OPTIMIZER_N_KINDS; kind++) {
        struct optimizer whole = { 0 }, cuts = { 0 };
        struct reference unused;
        float param[N], cut_param[N], grad[N];
        begin(&unused, param, &rules[kind]);
        memcpy(cut_param, param, sizeof param);
        assert_int_equal(optimizer_init(&whole, c, N, &rules[kind], NULL), RC_OK);
        assert_int_equal(optimizer_init(&cuts, c, N, &rules[kind], NULL), RC_OK);
        train(&whole, param, 0, N_STEPS);
        cuts.grad_scale = 0.25f;
        for (size_t k = 0; k + 1 < sizeof cut / sizeof *cut; k++)
            for (int step = 0; step < N_STEPS; step++) {
                gradient(grad, step);
                cuts.lr = rate(step);
                cuts.n_updates = (uint64_t)step;
                assert_int_equal(
                    optimizer_step_range(&cuts, cut[k], cut[k + 1] - cut[k], cut_param + cut[k], grad + cut[k]), RC_OK);
            }
        assert_memory_equal(cut_param, param, sizeof param);
        optimizer_fini(&whole);
        optimizer_fini(&cuts);
    }
    compute_close(&c);
}

UNIT_TEST(what_is_kept_goes_on_alike)
{
    static const int n_moments[OPTIMIZER_N_KINDS] = { 0, 1, 1, 2 };
    struct compute *c = NULL;

    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    for (int kind = 0; kind < OPTIMIZER_N_KINDS; kind++) {
        struct optimizer first = { 0 }, second = { 0 };
        struct reference unused;
        float param[N], again[N], moments[3 * N];
        begin(&unused, param, &rules[kind]);
        assert_int_equal(optimizer_n_moments(&rules[kind]), n_moments[kind]);
        assert_int_equal(optimizer_init(&first, c, N, &rules[kind], NULL), RC_OK);
        train(&first, param, 0, 5);
        memset(moments, 0x7f, sizeof moments);
        assert_int_equal(optimizer_moments(&first, moments), RC_OK);
        assert_int_equal(optimizer_moments(&first, NULL), RC_OK);
        for (size_t i = (size_t)n_moments[kind] * N; i < 3 * N; i++)
            assert_true(((const unsigned char *)&moments[i])[0] == 0x7f);
        memcpy(again, param, sizeof param);
        assert_int_equal(optimizer_init(&second, c, N, &rules[kind], moments), RC_OK);
        train(&first, param, 5, N_STEPS);
        train(&second, again, 5, N_STEPS);
        assert_memory_equal(again, param, sizeof param);
        optimizer_fini(&first);
        optimizer_fini(&second);
    }
    compute_close(&c);
}

/* Each float that an update reads or writes, once: parameters and moments are both. */
UNIT_TEST(the_work_is_counted_hollow_too)
{
    static const double n_floats[OPTIMIZER_N_KINDS] = { 3, 5, 5, 7 };
    const struct compute_backend *const backend[] = { &compute_cpu, &compute_hollow };

    for (int b = 0; b < 2; b++)
        for (int kind = 0; kind < OPTIMIZER_N_KINDS; kind++) {
            struct compute *c = NULL;
            struct optimizer o = { 0 };
            float param[N] = { 0 }, grad[N] = { 0 };
            assert_int_equal(compute_open(&c, backend[b], NULL), RC_OK);
            assert_int_equal(optimizer_init(&o, c, N, &rules[kind], NULL), RC_OK);
            assert_int_equal(optimizer_step(&o, b ? NULL : param, b ? NULL : grad), RC_OK);
            assert_true(c->total.bytes == n_floats[kind] * sizeof(float) * N && c->total.flops == 0);
            optimizer_fini(&o);
            compute_close(&c);
        }
}

/* The values that the papers name. */
UNIT_TEST(the_list_makes_the_rules)
{
    const struct module *m;

    for (int i = 0; (m = optimizer_modules.at(i)); i++) {
        const struct optimizer_rule rule = optimizer_rule_of(m, 0.75);
        assert_int_equal(rule.kind, i);
        assert_string_equal(optimizer_name(rule.kind), m->name);
        assert_true(rule.momentum == (i == OPTIMIZER_MOMENTUM ? 0.75 : 0));
        assert_true(rule.beta1 == (i == OPTIMIZER_ADAM ? 0.9 : 0) && rule.beta2 == (i == OPTIMIZER_ADAM ? 0.999 : 0));
        assert_true(rule.epsilon == (i == OPTIMIZER_ADAM ? 1e-8 : i == OPTIMIZER_ADAGRAD ? 1e-10 : 0));
        assert_true(rule.initial == 0);
    }
    assert_string_equal(optimizer_of_momentum(0)->name, "sgd");
    assert_string_equal(optimizer_of_momentum(0.5)->name, "momentum");
}

UNIT_MAIN("optimizer")
