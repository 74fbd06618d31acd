/* SPDX-License-Identifier: Apache-2.0 */
/* suite_norms.c - batch normalisation. */
#include <math.h>

#include "harness/compute/suite/reference.h"
#include "harness/compute/suite/suite_kit.h"

struct norm_case {
    struct batch_norm shape;
    bool add;
    bool in_place;
    float spread, offset; /* y is spread times a real, plus offset: variances near epsilon, means far from 0 */
};

/* Of a value of z or dy: sums of n, and what a mean beside a small spread costs. */
static double tolerance_of(const struct norm_case *c)
{
    const double spread = (double)c->spread, std = sqrt(spread * spread / 3.0 + (double)c->shape.epsilon);

    return (fabs((double)c->offset) + spread) / std * suite_tolerance_fp32(24) + suite_tolerance_fp32(24);
}

static struct array *image_of(struct suite *s, const struct norm_case *c)
{
    struct array *y = suite_reals(s, c->shape.C * c->shape.n, 1);

    for (size_t i = 0; i < y->n_elems; i++)
        y->host[i] = c->spread * y->host[i] + c->offset;
    suite_put(s, y);
    return y;
}

static struct array *positives(struct suite *s, size_t n, uint64_t stream)
{
    struct array *x = suite_reals(s, n, stream);

    for (size_t i = 0; i < n; i++)
        x->host[i] += 1.5f;
    suite_put(s, x);
    return x;
}

struct norm { /* what compute_batch_norm reads and writes */
    struct array *y, *z, *mean, *inv_std, *running_mean, *running_var, *gamma, *beta, *add;
    double *want_z, *want_mean, *want_inv_std, *want_running_mean, *want_running_var;
};

static struct norm norm_of(struct suite *s, const struct norm_case *c, bool in_place)
{
    const size_t C = c->shape.C, n = C * c->shape.n;
    struct norm m = { .y = image_of(s, c),
                      .mean = suite_dirty(s, C),
                      .inv_std = suite_dirty(s, C),
                      .running_mean = suite_reals(s, C, 2),
                      .running_var = positives(s, C, 3),
                      .gamma = suite_reals(s, C, 4),
                      .beta = suite_reals(s, C, 5),
                      .add = c->add ? suite_reals(s, n, 6) : NULL };

    m.z = in_place ? m.y : suite_dirty(s, n);
    m.want_z = suite_zeros(s, n);
    m.want_mean = suite_zeros(s, C);
    m.want_inv_std = suite_zeros(s, C);
    m.want_running_mean = suite_double(s, m.running_mean);
    m.want_running_var = suite_double(s, m.running_var);
    reference_batch_norm(m.want_z, m.want_mean, m.want_inv_std, m.want_running_mean, m.want_running_var,
                         suite_double(s, m.y), suite_double(s, m.gamma), suite_double(s, m.beta),
                         suite_double(s, m.add), &c->shape);
    return m;
}

static void norm_case(struct suite *s, const void *arg)
{
    const struct norm_case *c = arg;
    struct norm m = norm_of(s, c, c->in_place);
    const double far = fabs((double)c->offset) + (double)c->spread, tolerance = tolerance_of(c);

    compute_batch_norm(s->c, &(struct batch_norm_forward){ .shape = c->shape,
                                                           .z = m.z->v,
                                                           .mean = m.mean->v,
                                                           .inv_std = m.inv_std->v,
                                                           .running_mean = m.running_mean->v,
                                                           .running_var = m.running_var->v,
                                                           .y = m.y->v,
                                                           .gamma = m.gamma->v,
                                                           .beta = m.beta->v,
                                                           .add = m.add != NULL ? m.add->v : NULL });
    suite_check(s, "mean", m.mean, m.want_mean, far * suite_tolerance_fp32(8));
    suite_check(s, "inv_std", m.inv_std, m.want_inv_std, tolerance / sqrt((double)c->shape.epsilon));
    for (size_t i = 0; s->judging && i < c->shape.C; i++)
        if (!(fabs((double)m.inv_std->got[i] / m.want_inv_std[i] - 1.0) <= tolerance))
            suite_fail(s, "inv_std[%zu] is %.9g, should be %.9g", i, (double)m.inv_std->got[i], m.want_inv_std[i]);
    suite_check(s, "running_mean", m.running_mean, m.want_running_mean, (1.0 + far) * suite_tolerance_fp32(8));
    suite_check(s, "running_var", m.running_var, m.want_running_var,
                3.0 * suite_tolerance_fp32(8) + far * (double)c->spread * tolerance);
    suite_check(s, "z", m.z, m.want_z, tolerance);
}

/* A NaN is not taken for a 0 by the relu. */
static void norm_nan_case(struct suite *s, const void *arg)
{
    const struct norm_case *c = arg;
    const size_t C = c->shape.C, n = C * c->shape.n;
    struct array *y = image_of(s, c), *z = suite_dirty(s, n), *state[4];
    struct array *gamma = suite_reals(s, C, 4), *beta = suite_reals(s, C, 5);
    double *want = suite_zeros(s, c->shape.n);

    for (size_t i = 0; i < 4; i++)
        state[i] = i < 2 ? suite_dirty(s, C) : positives(s, C, i);
    y->host[c->shape.n / 2] = NAN; /* in the first channel */
    suite_put(s, y);
    compute_batch_norm(s->c, &(struct batch_norm_forward){ .shape = c->shape,
                                                           .z = z->v,
                                                           .mean = state[0]->v,
                                                           .inv_std = state[1]->v,
                                                           .running_mean = state[2]->v,
                                                           .running_var = state[3]->v,
                                                           .y = y->v,
                                                           .gamma = gamma->v,
                                                           .beta = beta->v });
    for (size_t i = 0; i < 4; i++)
        suite_ignore(s, state[i]);
    for (size_t i = 0; i < c->shape.n; i++)
        want[i] = NAN;
    z->n_elems = c->shape.n;
    suite_check(s, "z of the first channel", z, want, 0.0);
}

static void fold_case(struct suite *s, const void *arg)
{
    const struct norm_case *c = arg;
    const size_t C = c->shape.C;
    struct array *scale = suite_dirty(s, C), *shift = suite_dirty(s, C), *gamma = suite_reals(s, C, 1);
    struct array *beta = suite_reals(s, C, 2), *mean = suite_reals(s, C, 3), *var = positives(s, C, 4);
    double *want_scale = suite_zeros(s, C), *want_shift = suite_zeros(s, C);

    for (size_t i = 0; i < C; i++)
        var->host[i] *= i % 2 == 0 ? c->shape.epsilon : 1.0f; /* near epsilon, too */
    suite_put(s, var);
    reference_batch_norm_fold(want_scale, want_shift, suite_double(s, gamma), suite_double(s, beta),
                              suite_double(s, mean), suite_double(s, var), &c->shape);
    compute_batch_norm_fold(s->c, &(struct batch_norm_fold){ .shape = c->shape,
                                                             .scale = scale->v,
                                                             .shift = shift->v,
                                                             .gamma = gamma->v,
                                                             .beta = beta->v,
                                                             .running_mean = mean->v,
                                                             .running_var = var->v });
    const double most = 1.0 + 1.0 / sqrt(1.5 * (double)c->shape.epsilon);
    suite_check(s, "scale", scale, want_scale, most * suite_tolerance_fp32(0));
    suite_check(s, "shift", shift, want_shift, most * suite_tolerance_fp32(0));
}

/* z NULL where nothing was added. */
static void norm_grad_case(struct suite *s, const void *arg)
{
    const struct norm_case *c = arg;
    const size_t C = c->shape.C, n = C * c->shape.n;
    struct norm m = norm_of(s, c, false);
    struct array *dz = suite_reals(s, n, 7), *dy = c->in_place ? dz : suite_dirty(s, n);
    struct array *dgamma = suite_dirty(s, C), *dbeta = suite_dirty(s, C);
    double *want_dz = suite_double(s, dz), *want_dy = suite_zeros(s, n);
    double *want_dgamma = suite_zeros(s, C), *want_dbeta = suite_zeros(s, C);
    const double tolerance = tolerance_of(c), std_least = sqrt((double)c->shape.epsilon);
    const double std = sqrt((double)(c->spread * c->spread) / 3.0 + std_least * std_least);

    for (size_t i = 0; i < C; i++) { /* what a forward pass would have left */
        m.mean->host[i] = (float)m.want_mean[i];
        m.inv_std->host[i] = (float)m.want_inv_std[i];
    }
    for (size_t i = 0; i < n; i++)
        m.z->host[i] = (float)m.want_z[i];
    suite_put(s, m.mean);
    suite_put(s, m.inv_std);
    suite_put(s, m.z);
    reference_batch_norm_grad(want_dy, want_dgamma, want_dbeta, want_dz, suite_double(s, m.y), c->add ? m.want_z : NULL,
                              suite_double(s, m.gamma), suite_double(s, m.beta), &c->shape);
    compute_batch_norm_grad(s->c, &(struct batch_norm_grad){ .shape = c->shape,
                                                             .dy = dy->v,
                                                             .dgamma = dgamma->v,
                                                             .dbeta = dbeta->v,
                                                             .dz = dz->v,
                                                             .y = m.y->v,
                                                             .z = c->add ? m.z->v : NULL,
                                                             .gamma = m.gamma->v,
                                                             .beta = m.beta->v,
                                                             .mean = m.mean->v,
                                                             .inv_std = m.inv_std->v });
    suite_check(s, "dbeta", dbeta, want_dbeta, suite_tolerance_fp32(c->shape.n));
    suite_check(s, "dgamma", dgamma, want_dgamma, 2.0 * (double)c->shape.n * tolerance);
    if (!c->in_place)
        suite_check(s, "dz", dz, want_dz, 0.0);
    suite_check(s, "dy", dy, want_dy, 8.0 * tolerance / std);
}

void suite_norms(struct suite *s)
{
    static const struct norm_case norm[] = {
        /* C, n, epsilon, momentum, relu; add, in place; spread, offset */
        { { 1, 2, 1e-5f, 0.1f, false }, false, false, 1.0f, 0.0f },
        { { 3, 5, 1e-5f, 0.1f, true }, false, false, 1.0f, 0.25f },
        { { 17, 33, 1e-5f, 0.1f, true }, true, false, 1.0f, 0.0f },
        { { 5, 49, 1e-5f, 0.25f, false }, true, false, 2.0f, -1.0f },
        { { 2, 70001, 1e-5f, 0.1f, true }, false, false, 1.0f, 0.5f },
        { { 3, 2500, 1e-3f, 0.1f, true }, true, false, 1.0f, 0.0f },
        { { 131, 4, 1e-5f, 0.1f, false }, false, false, 1.0f, 0.0f },
        { { 4, 97, 1e-5f, 0.9f, true }, false, true, 1.0f, 0.0f },
        { { 4, 4099, 1e-5f, 0.1f, false }, false, true, 3.0f, 1.0f },
        { { 3, 64, 1e-2f, 0.1f, true }, false, false, 0.1f, 0.0f },     /* a variance below epsilon */
        { { 3, 1000, 1e-5f, 0.1f, false }, false, false, 1.0f, 30.0f }, /* a mean far from 0 */
    };

    SUITE_RUN_EACH(s, "batch_norm", norm_case, norm);
    SUITE_RUN_EACH(s, "batch_norm_fold", fold_case, norm);
    SUITE_RUN_EACH(s, "batch_norm_grad", norm_grad_case, norm);
    suite_run(s, "batch_norm of a NaN", norm_nan_case, &norm[2]);
}
