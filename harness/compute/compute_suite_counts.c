/* SPDX-License-Identifier: Apache-2.0 */
/* compute_suite_counts.c - what is counted and charged (C2), and what a hollow backend leaves alone. */
#include <math.h>

#include "harness/compute/compute_suite_kit.h"

enum { N_ELEMS = 2 * 3 * 6 * 6 * 9 }; /* the largest array below */

/* One array for every argument: legal where nothing is touched, and big enough where it is. */
struct arrays {
    float *a, *b, *c;
    uint32_t *u;
};

static const struct window window = { 2, 3, 6, 6, 3, 3, 1, 1, 1, 1 };  /* out 6 x 6 */
static const struct window pooling = { 2, 3, 6, 6, 2, 2, 2, 2, 0, 0 }; /* out 3 x 3 */
static const struct sgd plain = { 0.5f, 0.0f, 0.0f, 1.0f }, heavy = { 0.5f, 0.5f, 0.0f, 1.0f };

enum { N_CALLS = 16 };
static const struct work expected[N_CALLS] = {
    { 2.0 * 4 * 5 * 6, 0.0 },           /* gemm */
    { 0.0, 4.0 * (216 + 216 * 9) },     /* im2col */
    { 0.0, 4.0 * (216 + 216 * 9) },     /* col2im */
    { 0.0, 4.0 * (2 * 2 * 5 * 7 + 5) }, /* bias_add */
    { 0.0, 4.0 * (2 * 5 * 7 + 2 * 5) }, /* bias_grad */
    { 0.0, 4.0 * (2 * 2 * 5 * 7) },     /* swap_axes */
    { 0.0, 4.0 * 2 * 50 },              /* relu */
    { 0.0, 4.0 * 3 * 50 },              /* relu_grad */
    { 0.0, 4.0 * (216 + 2 * 54) },      /* max_pool */
    { 0.0, 4.0 * (216 + 2 * 54) },      /* max_pool_grad */
    { 0.0, 4.0 * (2 * 40 + 4) },        /* softmax_xent */
    { 0.0, 4.0 * 3 * 50 },              /* mean_square */
    { 0.0, 4.0 * 50 },                  /* zero */
    { 0.0, 4.0 * 3 * 50 },              /* accumulate */
    { 0.0, 4.0 * 3 * 50 },              /* sgd_step */
    { 0.0, 4.0 * 5 * 50 },              /* sgd_step with momentum */
};

static void call_first_half(struct compute *c, int i, const struct arrays *x)
{
    const struct gemm g = { .M = 4, .N = 5, .K = 6, .a = x->a, .b = x->b, .c = x->c };

    switch (i) {
    case 0:
        compute_gemm(c, &g);
        break;
    case 1:
        compute_im2col(c, x->a, x->b, &window);
        break;
    case 2:
        compute_col2im(c, x->a, x->b, &window);
        break;
    case 3:
        compute_bias_add(c, x->a, x->b, 2, 5, 7);
        break;
    case 4:
        compute_bias_grad(c, x->a, x->b, 2, 5, 7);
        break;
    case 5:
        compute_swap_axes(c, x->a, x->b, 2, 5, 7);
        break;
    case 6:
        compute_relu(c, x->a, 50);
        break;
    default:
        compute_relu_grad(c, x->a, x->b, 50);
    }
}

static void call_second_half(struct compute *c, int i, const struct arrays *x, double *loss, size_t *n_correct)
{
    switch (i) {
    case 8:
        compute_max_pool(c, x->a, x->u, x->b, &pooling);
        break;
    case 9:
        compute_max_pool_grad(c, x->a, x->b, x->u, &pooling);
        break;
    case 10:
        compute_softmax_xent(c, loss, x->a, n_correct, x->b, x->u, 4, 10);
        break;
    case 11:
        compute_mean_square(c, loss, x->a, x->b, x->c, 50);
        break;
    case 12:
        compute_zero(c, x->a, 50);
        break;
    case 13:
        compute_accumulate(c, x->a, x->b, 50);
        break;
    case 14:
        compute_sgd_step(c, x->a, NULL, x->b, 50, &plain);
        break;
    default:
        compute_sgd_step(c, x->a, x->c, x->b, 50, &heavy);
    }
}

static void call(struct compute *c, int i, const struct arrays *x, double *loss, size_t *n_correct)
{
    if (i < 8)
        call_first_half(c, i, x);
    else
        call_second_half(c, i, x, loss, n_correct);
}

struct charged {
    struct work sum;
    int n_calls;
};

static void charge(void *arg, double flops, double bytes)
{
    struct charged *charged = arg;

    charged->sum.flops += flops;
    charged->sum.bytes += bytes;
    charged->n_calls++;
}

static void counts_case(struct suite *s, const void *arg)
{
    struct arrays x = { NULL, NULL, NULL, NULL };
    struct charged charged = { { 0.0, 0.0 }, 0 };
    const struct compute_env env = { .charge = charge, .arg = &charged };
    struct compute *c = NULL;
    double loss;
    size_t n_correct;

    (void)arg;
    if (s->ops->touches_memory) {
        x = (struct arrays){ suite_integers(s, N_ELEMS, 1), suite_integers(s, N_ELEMS, 2),
                             suite_integers(s, N_ELEMS, 3), suite_labels(s, N_ELEMS, 10) };
    }
    if (compute_open(&c, s->ops, &env) != RC_OK) {
        suite_fail(s, "%s", rc_message());
        return;
    }
    compute_sync(c);
    if (charged.n_calls != 0)
        suite_fail(s, "C2: charged before anything was done");
    for (int i = 0; i < N_CALLS; i++) {
        charged.sum = (struct work){ 0.0, 0.0 };
        call(c, i, &x, &loss, &n_correct);
        call(c, i, &x, &loss, &n_correct);
        compute_sync(c);
        compute_sync(c);
        suite_check_one(s, "C2: flops", charged.sum.flops, 2.0 * expected[i].flops, 0.0);
        suite_check_one(s, "C2: bytes", charged.sum.bytes, 2.0 * expected[i].bytes, 0.0);
        if (charged.n_calls != i + 1)
            suite_fail(s, "C2: %d charges after %d syncs with work", charged.n_calls, i + 1);
    }
    compute_close(&c);
}

void suite_counts(struct suite *s)
{
    suite_run(s, "counted work", counts_case, NULL);
}

static void untouched_case(struct suite *s, const void *arg)
{
    const struct arrays none = { NULL, NULL, NULL, NULL };
    struct arrays x = { suite_integers(s, N_ELEMS, 1), suite_integers(s, N_ELEMS, 2), suite_integers(s, N_ELEMS, 3),
                        suite_labels(s, N_ELEMS, 10) };
    struct arrays same = { suite_integers(s, N_ELEMS, 1), suite_integers(s, N_ELEMS, 2), suite_integers(s, N_ELEMS, 3),
                           suite_labels(s, N_ELEMS, 10) };

    (void)arg;
    for (int i = 0; i < 2 * N_CALLS; i++) {
        double loss = 0.0;
        size_t n_correct = 99;
        call(s->c, i % N_CALLS, i < N_CALLS ? &none : &x, &loss, &n_correct);
        if ((i % N_CALLS == 10 || i % N_CALLS == 11) && !isnan(loss))
            suite_fail(s, "the loss is %g, should be NaN", loss);
        if (i % N_CALLS == 10 && n_correct != 0)
            suite_fail(s, "n_correct is %zu, should be 0", n_correct);
    }
    for (size_t i = 0; i < N_ELEMS; i++)
        if (x.a[i] != same.a[i] || x.b[i] != same.b[i] || x.c[i] != same.c[i] || x.u[i] != same.u[i])
            suite_fail(s, "an array was written at %zu", i);
}

void suite_untouched(struct suite *s)
{
    suite_run(s, "arrays stay untouched", untouched_case, NULL);
}
