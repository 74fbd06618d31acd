/* SPDX-License-Identifier: Apache-2.0 */
/* suite_convs.c - convolutions, their epilogues and their three gradients. */
#include <math.h>

#include "harness/compute/suite/reference.h"
#include "harness/compute/suite/suite_kit.h"

struct conv_case {
    struct conv_shape shape;
    bool exact;             /* integers */
    bool scale, shift, add; /* of the epilogue; add: also of the input gradient */
    bool relu;
    bool with_nan;
};

static size_t weight_elems(const struct conv_shape *s)
{
    return (size_t)s->C_out * (size_t)s->in.C * (size_t)s->in.kernel_h * (size_t)s->in.kernel_w;
}

static size_t out_elems(const struct conv_shape *s)
{
    return suite_out_elems(&s->in) / (size_t)s->in.C * (size_t)s->C_out;
}

static double tolerance_of(const struct suite *s, const struct conv_case *c, size_t K)
{
    return c->exact ? 0.0 : suite_tolerance(s, K);
}

static void conv_case(struct suite *s, const void *arg)
{
    const struct conv_case *c = arg;
    const struct conv_shape *shape = &c->shape;
    const size_t n = out_elems(shape), C_out = (size_t)shape->C_out;
    struct array *x = suite_values(s, suite_in_elems(&shape->in), 1, c->exact);
    struct array *weight = suite_values(s, weight_elems(shape), 2, c->exact), *y = suite_dirty(s, n);
    struct array *scale = c->scale ? suite_values(s, C_out, 3, c->exact) : NULL;
    struct array *shift = c->shift ? suite_values(s, C_out, 4, c->exact) : NULL;
    struct array *add = c->add ? suite_values(s, n, 5, c->exact) : NULL;
    const struct epilogue e = { scale != NULL ? scale->v : NULL, shift != NULL ? shift->v : NULL,
                                add != NULL ? add->v : NULL, c->relu };

    if (c->with_nan) {
        x->host[x->n_elems / 2] = NAN;
        suite_put(s, x);
    }
    double *want = suite_zeros(s, n);
    if (s->judging) {
        reference_conv(want, suite_double(s, x), suite_double(s, weight), shape);
        reference_epilogue(want, suite_double(s, scale), suite_double(s, shift), suite_double(s, add), c->relu, C_out,
                           n / C_out);
    }
    compute_conv(s->c,
                 &(struct conv_forward){ .shape = *shape, .y = y->v, .x = x->v, .weight = weight->v, .epilogue = e });
    suite_check(s, "y", y, want, tolerance_of(s, c, weight_elems(shape) / C_out + 3));
}

static void input_grad_case(struct suite *s, const void *arg)
{
    const struct conv_case *c = arg;
    const struct conv_shape *shape = &c->shape;
    const size_t n = suite_in_elems(&shape->in), K = weight_elems(shape) / (size_t)shape->in.C;
    struct array *dy = suite_values(s, out_elems(shape), 1, c->exact);
    struct array *weight = suite_values(s, weight_elems(shape), 2, c->exact);
    struct array *dx = c->add ? suite_values(s, n, 3, c->exact) : suite_dirty(s, n);
    double *want = suite_zeros(s, n);

    if (s->judging) {
        reference_conv_input_grad(want, suite_double(s, dy), suite_double(s, weight), shape);
        for (size_t i = 0; c->add && i < n; i++)
            want[i] += (double)dx->host[i];
    }
    compute_conv_input_grad(s->c, &(struct conv_input_grad){
                                      .shape = *shape, .dx = dx->v, .dy = dy->v, .weight = weight->v, .add = c->add });
    suite_check(s, "dx", dx, want, tolerance_of(s, c, K + 1));
}

static void weight_grad_case(struct suite *s, const void *arg)
{
    const struct conv_case *c = arg;
    const struct conv_shape *shape = &c->shape;
    struct array *dy = suite_values(s, out_elems(shape), 1, c->exact);
    struct array *x = suite_values(s, suite_in_elems(&shape->in), 2, c->exact);
    struct array *dweight = suite_dirty(s, weight_elems(shape));
    double *want = suite_zeros(s, weight_elems(shape));

    if (s->judging)
        reference_conv_weight_grad(want, suite_double(s, dy), suite_double(s, x), shape);
    compute_conv_weight_grad(
        s->c, &(struct conv_weight_grad){ .shape = *shape, .dweight = dweight->v, .dy = dy->v, .x = x->v });
    suite_check(s, "dweight", dweight, want, tolerance_of(s, c, out_elems(shape) / (size_t)shape->C_out));
}

/* B C H W, kernel, stride, pad; C_out */
static const struct conv_shape shapes[] = {
    { { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }, 1 },     /* the least */
    { { 3, 1, 1, 1, 3, 3, 1, 1, 1, 1 }, 2 },     /* mostly padding */
    { { 1, 2, 2, 2, 5, 5, 1, 1, 2, 2 }, 3 },     /* a kernel beyond the image */
    { { 3, 5, 7, 9, 1, 1, 1, 1, 0, 0 }, 7 },     /* pointwise: x is col */
    { { 2, 4, 7, 9, 1, 1, 2, 2, 0, 0 }, 3 },     /* a projection */
    { { 2, 3, 8, 8, 3, 3, 1, 1, 1, 1 }, 5 },     /* keeps the image's shape */
    { { 1, 2, 5, 7, 3, 3, 1, 1, 0, 0 }, 4 },     /* no padding */
    { { 1, 2, 6, 6, 3, 3, 1, 1, 2, 2 }, 3 },     /* more padding than keeps the shape */
    { { 5, 3, 9, 11, 3, 3, 2, 2, 1, 1 }, 6 },    /* halves */
    { { 2, 3, 9, 6, 5, 5, 1, 1, 2, 2 }, 17 },    /* C_out beyond a vector */
    { { 2, 3, 15, 17, 7, 7, 2, 2, 3, 3 }, 5 },   /* a first layer */
    { { 1, 3, 31, 27, 11, 11, 4, 4, 2, 2 }, 4 }, /* another */
    { { 2, 5, 6, 9, 1, 7, 1, 1, 0, 3 }, 4 },     /* 1 x 7 */
    { { 2, 5, 9, 6, 7, 1, 1, 1, 3, 0 }, 4 },     /* 7 x 1 */
    { { 3, 2, 1, 9, 1, 3, 1, 1, 0, 1 }, 3 },     /* one row */
    { { 4, 2, 9, 1, 3, 1, 1, 1, 1, 0 }, 3 },     /* one column */
    { { 2, 2, 8, 10, 3, 3, 3, 1, 1, 0 }, 3 },    /* strides that differ */
    { { 2, 3, 7, 8, 2, 3, 1, 2, 0, 1 }, 4 },     /* kernel, stride and pad that differ */
    { { 1, 2, 8, 8, 2, 2, 3, 3, 0, 0 }, 3 },     /* gaps: inputs no window sees */
    { { 2, 2, 9, 10, 2, 2, 2, 2, 0, 0 }, 3 },    /* a last row that no window reaches */
    { { 4, 3, 5, 4, 5, 4, 1, 1, 0, 0 }, 10 },    /* dense, from images */
    { { 5, 33, 1, 1, 1, 1, 1, 1, 0, 0 }, 13 },   /* dense, from dense */
    { { 1, 67, 1, 1, 1, 1, 1, 1, 0, 0 }, 130 },  /* dense, one sample */
    { { 1, 7, 6, 5, 3, 3, 1, 1, 1, 1 }, 131 },   /* many filters */
    { { 1, 150, 4, 4, 3, 3, 1, 1, 1, 1 }, 3 },   /* many channels: K 1350 */
    { { 2, 3, 40, 41, 3, 3, 1, 1, 1, 1 }, 9 },   /* 3280 columns: more than a tile */
    { { 3, 9, 33, 31, 1, 1, 1, 1, 0, 0 }, 17 },  /* 3069 columns */
    { { 5, 2, 45, 45, 3, 3, 1, 1, 1, 1 }, 3 },   /* 10125 columns: many tiles */
    { { 1, 1, 3, 2100, 1, 7, 1, 1, 0, 3 }, 2 },  /* one row fills a tile */
    { { 2, 2, 91, 89, 3, 3, 2, 2, 1, 1 }, 3 },   /* 4140 columns by strides */
    { { 41, 5, 6, 6, 3, 3, 1, 1, 1, 1 }, 3 },    /* small images, a tile that ends within one */
    { { 900, 4, 2, 3, 2, 3, 1, 1, 0, 0 }, 5 },   /* dense, from many small images */
    { { 3, 6, 2, 2, 5, 5, 1, 1, 2, 2 }, 4 },     /* small images, a kernel beyond them */
    { { 9, 4, 5, 7, 3, 3, 1, 1, 1, 1 }, 6 },     /* small images, sides that differ */
    { { 1, 5, 1, 1, 3, 3, 1, 1, 1, 1 }, 3 },     /* one pixel: most taps see nothing */
    { { 41, 5, 6, 6, 3, 3, 1, 1, 1, 1 }, 11 },   /* small images, more filters than channels: col2im */
    { { 5, 25, 4, 4, 3, 3, 1, 1, 1, 1 }, 50 },   /* ... with more channels than a task has */
    { { 7, 6, 3, 5, 5, 5, 1, 1, 2, 2 }, 13 },    /* ... with a kernel beyond the image's height */
    { { 2, 4, 1, 1, 3, 3, 1, 1, 1, 1 }, 8 },     /* ... of one pixel */
    { { 3, 5, 8, 8, 3, 3, 2, 2, 1, 1 }, 7 },     /* stride 2 halves small images */
    { { 47, 6, 12, 8, 3, 3, 2, 2, 1, 1 }, 9 },   /* ... a tile ends within one; col2im in several blocks */
    { { 5, 23, 6, 10, 3, 3, 2, 2, 1, 1 }, 4 },   /* ... with more channels than a task has */
    { { 4, 3, 12, 32, 5, 5, 2, 2, 2, 2 }, 4 },   /* ... with a larger kernel */
    { { 3, 4, 2, 2, 3, 3, 2, 2, 1, 1 }, 5 },     /* ... to one pixel */
    { { 2, 3, 34, 4, 3, 3, 2, 2, 1, 1 }, 4 },    /* ... beyond the narrow ones */
    { { 2, 3, 8, 6, 2, 2, 2, 2, 0, 0 }, 3 },     /* ... with windows that do not overlap */
    { { 75, 10, 8, 8, 3, 3, 1, 1, 1, 1 }, 8 },   /* small images of even sides */
    { { 2, 8, 32, 32, 3, 3, 1, 1, 1, 1 }, 16 },  /* ... larger */
    { { 3, 11, 36, 2, 3, 3, 1, 1, 1, 1 }, 8 },   /* ... of few columns */
    { { 37, 8, 8, 10, 3, 3, 1, 1, 1, 1 }, 9 },   /* ... sides that differ */
    { { 2, 8, 2, 38, 3, 3, 1, 1, 1, 1 }, 12 },   /* ... of few rows */
};

enum { N_SHAPES = sizeof shapes / sizeof shapes[0], N_EPILOGUES = 6 };

static struct conv_case case_of(size_t shape, size_t epilogue, bool exact)
{
    const struct conv_case c[N_EPILOGUES] = {
        { .scale = false },
        { .shift = true },
        { .shift = true, .relu = true },
        { .scale = true, .shift = true, .add = true, .relu = true },
        { .add = true },
        { .scale = true, .shift = true, .relu = true },
    };
    struct conv_case one = c[epilogue % N_EPILOGUES];

    one.shape = shapes[shape];
    one.exact = exact;
    return one;
}

static void conv_cases(struct suite *s, size_t shape)
{
    /* every epilogue on two shapes, one of them of several tiles; elsewhere they take turns */
    const size_t n_epilogues = shape == 5 || shape == 26 ? N_EPILOGUES : 1;

    s->case_index = shape;
    for (size_t k = 0; k < n_epilogues; k++) {
        const struct conv_case exact = case_of(shape, shape + k, true), real = case_of(shape, shape + k + 3, false);
        suite_run_product(s, "conv", conv_case, &exact);
        suite_run_product(s, "conv, reals", conv_case, &real);
    }
    for (int add = 0; add < 2; add++) {
        struct conv_case exact = case_of(shape, 0, true), real = case_of(shape, 0, false);
        exact.add = add != 0;
        real.add = add == 0;
        suite_run_product(s, "conv_input_grad", input_grad_case, &exact);
        if (add == 0)
            suite_run_product(s, "conv_input_grad, reals", input_grad_case, &real);
    }
    const struct conv_case exact = case_of(shape, 0, true), real = case_of(shape, 0, false);
    suite_run_product(s, "conv_weight_grad", weight_grad_case, &exact);
    suite_run_product(s, "conv_weight_grad, reals", weight_grad_case, &real);
    s->case_index = 0;
}

struct rows {
    size_t C, n;
};

static void bias_grad_of(struct suite *s, const struct rows *r, bool masked, bool exact)
{
    struct array *dy = suite_values(s, r->C * r->n, 1, exact), *dbias = suite_dirty(s, r->C);
    struct array *relu = masked ? suite_values(s, r->C * r->n, 2, exact) : NULL;
    double *want = suite_zeros(s, r->C), *want_dy = suite_double(s, dy);

    reference_conv_bias_grad(want, want_dy, suite_double(s, relu), r->C, r->n);
    compute_conv_bias_grad(
        s->c, &(struct conv_bias_grad){
                  .C = r->C, .n = r->n, .dbias = dbias->v, .dy = dy->v, .relu = relu != NULL ? relu->v : NULL });
    suite_check(s, "dbias", dbias, want, exact ? 0.0 : suite_tolerance_fp32(r->n));
    suite_check(s, "dy", dy, want_dy, 0.0);
}

static void conv_bias_grad_case(struct suite *s, const void *arg)
{
    bias_grad_of(s, arg, false, true);
}

static void conv_bias_grad_real_case(struct suite *s, const void *arg)
{
    bias_grad_of(s, arg, false, false);
}

static void conv_bias_grad_masked_case(struct suite *s, const void *arg)
{
    bias_grad_of(s, arg, true, true);
}

static void conv_bias_grad_masked_real_case(struct suite *s, const void *arg)
{
    bias_grad_of(s, arg, true, false);
}

void suite_convs(struct suite *s)
{
    static const struct rows rows[] = { { 1, 1 },     { 3, 5 },   { 17, 33 },  { 5, 1000 },
                                        { 2, 70001 }, { 131, 4 }, { 700, 101 } };

    for (size_t i = 0; i < N_SHAPES; i++)
        conv_cases(s, i);
    for (size_t i = 3; i < N_SHAPES; i += 5) { /* a NaN shows where it is seen and nowhere else */
        struct conv_case c = case_of(i, 2, true);
        c.with_nan = true;
        suite_run_product(s, "conv of a NaN", conv_case, &c);
    }
    SUITE_RUN_EACH(s, "conv_bias_grad", conv_bias_grad_case, rows);
    SUITE_RUN_EACH(s, "conv_bias_grad, reals", conv_bias_grad_real_case, rows);
    SUITE_RUN_EACH(s, "conv_bias_grad behind a relu", conv_bias_grad_masked_case, rows);
    SUITE_RUN_EACH(s, "conv_bias_grad behind a relu, reals", conv_bias_grad_masked_real_case, rows);
}
