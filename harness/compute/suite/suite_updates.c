/* SPDX-License-Identifier: Apache-2.0 */
/* suite_updates.c - the steps of optimisers that scale each parameter's rate. */
#include "harness/compute/suite/reference.h"
#include "harness/compute/suite/suite_kit.h"

static const size_t n_elems[] = { 0, 1, 3, 16, 97, 4099, 140001 };

/* Epsilons that show where they are added; the second step sees what the first one kept. */
static const struct adagrad adagrads[] = { { 0.1f, 0.25f, 0.0f, 1.0f }, { 0.05f, 0.5f, 0.125f, 0.25f } };
static const struct adam adams[] = { { 0.9f, 0.1f, 0.99f, 0.01f, 0.125f, 0.0f, 1.0f, 0.1f, 2.0f },
                                     { 0.5f, 0.5f, 0.75f, 0.25f, 0.5f, 0.25f, 0.5f, 0.05f, 1.0f } };

/* In [0, 1]. */
static struct array *squares(struct suite *s, size_t n, uint64_t stream)
{
    struct array *a = suite_reals(s, n, stream);

    for (size_t i = 0; i < n; i++)
        a->host[i] *= a->host[i];
    suite_put(s, a);
    return a;
}

static void adagrad_steps(struct suite *s, const struct adagrad *rule, size_t n)
{
    struct array *p = suite_reals(s, n, 1), *sum = squares(s, n, 2), *g = suite_reals(s, n, 3);
    double *want_p = suite_double(s, p), *want_sum = suite_double(s, sum);

    for (int step = 0; step < 2; step++) {
        reference_adagrad_step(want_p, want_sum, suite_double(s, g), n, rule);
        compute_adagrad_step(s->c, p->v, sum->v, g->v, n, rule);
    }
    suite_check(s, "p", p, want_p, suite_tolerance_fp32(0));
    suite_check(s, "sum", sum, want_sum, 2 * suite_tolerance_fp32(0)); /* values up to 3 */
}

static void adagrad_case(struct suite *s, const void *arg)
{
    adagrad_steps(s, arg, 140001);
}

static void adagrad_shape_case(struct suite *s, const void *arg)
{
    adagrad_steps(s, &adagrads[0], *(const size_t *)arg);
}

/* Squares that would be denormal numbers are 0; so is the step of a gradient that was always 0. */
static void adagrad_fading_case(struct suite *s, const void *arg)
{
    const struct adagrad rule = { 0.5f, 1e-10f, 0.0f, 1.0f };
    const size_t n = 19;
    struct array *p = suite_integers(s, n, 1), *sum = suite_constant(s, n, 0.0f), *g = suite_constant(s, n, 1e-20f);
    struct array *none = suite_constant(s, n, 0.0f), *unmoved = suite_integers(s, n, 1);
    double *want = suite_double(s, unmoved);

    (void)arg;
    compute_adagrad_step(s->c, unmoved->v, sum->v, none->v, n, &rule);
    compute_adagrad_step(s->c, p->v, sum->v, g->v, n, &rule);
    suite_ignore(s, p);
    suite_check(s, "sum", sum, suite_zeros(s, n), 0.0);
    suite_check(s, "p without gradient", unmoved, want, 0.0);
}

static void adam_steps(struct suite *s, const struct adam *rule, size_t n)
{
    struct array *p = suite_reals(s, n, 1), *m = suite_reals(s, n, 2), *v = squares(s, n, 3);
    struct array *g = suite_reals(s, n, 4);
    double *want_p = suite_double(s, p), *want_m = suite_double(s, m), *want_v = suite_double(s, v);

    for (int step = 0; step < 2; step++) {
        reference_adam_step(want_p, want_m, want_v, suite_double(s, g), n, rule);
        compute_adam_step(s->c, p->v, m->v, v->v, g->v, n, rule);
    }
    suite_check(s, "p", p, want_p, suite_tolerance_fp32(0));
    suite_check(s, "m", m, want_m, suite_tolerance_fp32(0));
    suite_check(s, "v", v, want_v, suite_tolerance_fp32(0));
}

static void adam_case(struct suite *s, const void *arg)
{
    adam_steps(s, arg, 140001);
}

static void adam_shape_case(struct suite *s, const void *arg)
{
    adam_steps(s, &adams[0], *(const size_t *)arg);
}

/* Without gradient both moments die out, not into denormal numbers but to 0. */
static void adam_fading_case(struct suite *s, const void *arg)
{
    const struct adam rule = { 0.5f, 0.5f, 0.25f, 0.75f, 0.5f, 0.0f, 1.0f, 0.5f, 1.0f };
    const size_t n = 19;
    struct array *p = suite_integers(s, n, 1), *m = suite_integers(s, n, 2), *v = squares(s, n, 3);
    struct array *g = suite_constant(s, n, 0.0f);

    (void)arg;
    for (int step = 0; step < 110; step++) /* 2^-110 */
        compute_adam_step(s->c, p->v, m->v, v->v, g->v, n, &rule);
    suite_ignore(s, p);
    suite_check(s, "m", m, suite_zeros(s, n), 0.0);
    suite_check(s, "v", v, suite_zeros(s, n), 0.0);
}

void suite_updates(struct suite *s)
{
    SUITE_RUN_EACH(s, "adagrad_step", adagrad_case, adagrads);
    SUITE_RUN_EACH(s, "adagrad_step, shapes", adagrad_shape_case, n_elems);
    suite_run(s, "adagrad_step without gradient", adagrad_fading_case, NULL);
    SUITE_RUN_EACH(s, "adam_step", adam_case, adams);
    SUITE_RUN_EACH(s, "adam_step, shapes", adam_shape_case, n_elems);
    suite_run(s, "adam_step without gradient", adam_fading_case, NULL);
}
