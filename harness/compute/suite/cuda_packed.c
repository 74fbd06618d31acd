/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_packed.c - packed arrays of the backend cuda: what reads them has the bits of what rounds for itself, what
 * writes them rounds its own results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/cuda/cuda.h"
#include "harness/compute/cuda/on_host/on_host_test.h"
#include "harness/compute/suite/cuda_kit.h"

enum { UNTOUCHED = 0x4242 }; /* behind the n of a row; as bfloat16 some 48 */

/* cuBLAS may round otherwise where rows have another length (compute.C1 promises nothing of that); loops do not. */
static const double product_tolerance = GRADMARK_CUDA_ON_HOST ? 0.0 : 1e-5;

static struct side *bf16_side(void)
{
    return side_open(&compute_cuda, &(struct compute_env){ .precision = PRECISION_BF16 });
}

/* --- packed arrays of a side --- */

struct packing {
    struct side *s;
    void *array[MAX_ARRAYS];
    size_t n_arrays;
};

static void packing_empty(struct packing *p)
{
    for (size_t i = 0; i < p->n_arrays; i++)
        compute_memory_close(p->s->c, &p->array[i]);
    p->n_arrays = 0;
}

/* (rows, n), every element UNTOUCHED. */
static uint16_t *packed_array(struct packing *p, size_t rows, size_t n)
{
    const size_t n_elems = rows * packed_row_elems(n);
    uint16_t *host = malloc(n_elems * sizeof *host);
    void **to = &p->array[p->n_arrays++];

    assert_non_null(host);
    assert_true(p->n_arrays <= MAX_ARRAYS);
    for (size_t i = 0; i < n_elems; i++)
        host[i] = UNTOUCHED;
    assert_int_equal(compute_memory_open(p->s->c, to, n_elems * sizeof *host, "packed"), RC_OK);
    compute_put(p->s->c, *to, host, n_elems * sizeof *host);
    free(host);
    return *to;
}

/* from(rows, n), packed by the host. */
static uint16_t *packed_of(struct packing *p, const float *from, size_t rows, size_t n)
{
    const size_t ld = packed_row_elems(n);
    float *values = malloc(rows * n * sizeof *values);
    uint16_t *host = calloc(rows * ld, sizeof *host), *to = packed_array(p, rows, n);

    assert_true(values != NULL && host != NULL);
    assert_int_equal(compute_fetch(p->s->c, values, from, rows * n * sizeof *values), RC_OK);
    for (size_t i = 0; i < rows * n; i++)
        host[i / n * ld + i % n] = bf16_of_f32(values[i]);
    compute_put(p->s->c, to, host, rows * ld * sizeof *host);
    free(values);
    free(host);
    return to;
}

/* packed(rows, n) is values(rows, n), which are of side `of`, rounded; behind each row nothing was written. */
static void check_packed(struct packing *p, const uint16_t *packed, struct side *of, const float *values, size_t rows,
                         size_t n)
{
    const size_t ld = packed_row_elems(n);
    float *want = malloc(rows * n * sizeof *want);
    uint16_t *got = malloc(rows * ld * sizeof *got);

    assert_true(want != NULL && got != NULL);
    assert_int_equal(compute_fetch(of->c, want, values, rows * n * sizeof *want), RC_OK);
    assert_int_equal(compute_fetch(p->s->c, got, packed, rows * ld * sizeof *got), RC_OK);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < ld; i++) {
            const uint16_t wanted = i < n ? bf16_of_f32(want[row * n + i]) : UNTOUCHED;
            if (got[row * ld + i] != wanted)
                fail_msg("row %zu, element %zu of %zu: %04x, not %04x", row, i, n, got[row * ld + i], wanted);
        }
    free(want);
    free(got);
}

/* --- convolutions --- */

static size_t in_row(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)s->in.H * (size_t)s->in.W;
}

static size_t out_row(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)window_out_h(&s->in) * (size_t)window_out_w(&s->in);
}

static size_t weight_row(const struct conv_shape *s)
{
    return (size_t)s->in.C * (size_t)s->in.kernel_h * (size_t)s->in.kernel_w;
}

struct operands { /* of a side, in the same order on each */
    struct conv_forward forward[2];
    struct conv_input_grad input_grad[2];
    struct conv_weight_grad weight_grad;
};

static struct operands operands_of(struct side *s, const struct conv_shape *shape)
{
    const size_t n_in = (size_t)shape->in.C * in_row(shape), C_out = (size_t)shape->C_out;
    const size_t n_out = C_out * out_row(shape), n_weights = C_out * weight_row(shape);
    const float *x = side_reals(s, n_in), *weight = side_reals(s, n_weights), *dy = side_reals(s, n_out);
    const struct epilogue all = { side_reals(s, C_out), side_reals(s, C_out), side_reals(s, n_out), true };
    struct operands o;

    memset(&o, 0, sizeof o);
    for (int k = 0; k < 2; k++) {
        o.forward[k] = (struct conv_forward){ .shape = *shape, .y = side_reals(s, n_out), .x = x, .weight = weight };
        o.input_grad[k] = (struct conv_input_grad){
            .shape = *shape, .dx = side_reals(s, n_in), .dy = dy, .weight = weight, .add = k > 0
        };
    }
    o.forward[1].epilogue = all;
    o.weight_grad = (struct conv_weight_grad){ .shape = *shape, .dweight = side_reals(s, n_weights), .dy = dy, .x = x };
    return o;
}

/* All that can be read packed is; the first convolution packs the weight for the others. */
static void pack_operands(struct packing *p, struct operands *o)
{
    const struct conv_shape *s = &o->weight_grad.shape;
    const size_t C = (size_t)s->in.C, C_out = (size_t)s->C_out;
    uint16_t *x = packed_of(p, o->weight_grad.x, C, in_row(s));
    uint16_t *dy = packed_of(p, o->weight_grad.dy, C_out, out_row(s)), *w = packed_array(p, C_out, weight_row(s));

    for (int k = 0; k < 2; k++) {
        o->forward[k].x = NULL;
        o->forward[k].x_packed = x;
        o->forward[k].weight_packed = w;
        o->forward[k].y_packed = packed_array(p, C_out, out_row(s));
        o->input_grad[k].dy = o->input_grad[k].weight = NULL;
        o->input_grad[k].dy_packed = dy;
        o->input_grad[k].weight_packed = w;
    }
    o->forward[1].weight = NULL;
    o->forward[1].weight_is_packed = true;
    o->weight_grad.x = o->weight_grad.dy = NULL;
    o->weight_grad.x_packed = x;
    o->weight_grad.dy_packed = dy;
}

static void run_operands(struct side *s, const struct operands *o)
{
    for (int k = 0; k < 2; k++)
        compute_conv(s->c, &o->forward[k]);
    for (int k = 0; k < 2; k++)
        compute_conv_input_grad(s->c, &o->input_grad[k]);
    compute_conv_weight_grad(s->c, &o->weight_grad);
}

/* Rows whose length is a multiple of 8 and others; flipped, col2im, pointwise, dense; and several groups of each. */
void packed_convolutions_give_the_same_bits(void **state)
{
    static const struct conv_shape shape[] = {
        { { 2, 3, 5, 7, 3, 3, 1, 1, 1, 1 }, 4 },   { { 3, 4, 6, 6, 1, 1, 1, 1, 0, 0 }, 5 },
        { { 2, 3, 9, 9, 3, 3, 2, 2, 1, 1 }, 3 },   { { 2, 2, 8, 8, 1, 7, 1, 1, 0, 3 }, 3 },
        { { 3, 4, 5, 5, 5, 5, 1, 1, 0, 0 }, 6 },   { { 1, 5, 8, 8, 1, 1, 2, 2, 0, 0 }, 7 },
        { { 8, 8, 8, 8, 3, 3, 1, 1, 1, 1 }, 16 },  { { 3, 2, 16, 17, 3, 3, 1, 1, 1, 1 }, 3 },
        { { 3, 5, 16, 17, 1, 1, 1, 1, 0, 0 }, 3 }, { { 5, 2, 33, 31, 3, 3, 2, 2, 1, 1 }, 2 },
        { { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }, 1 },
    };
    struct side *plain = bf16_side(), *with = bf16_side();
    struct packing p = { .s = with };

    (void)state;
    assert_true(compute_takes_packed(with->c));
    for (size_t i = 0; i < 2 * sizeof shape / sizeof shape[0]; i++) {
        const struct conv_shape *s = &shape[i / 2];
        const size_t bytes = i % 2 ? 1 : CUDA_COLUMNS_BYTES;
        const struct operands a = operands_of(plain, s);
        struct operands b = operands_of(with, s);
        ((struct cuda_compute *)plain->c)->columns_bytes = ((struct cuda_compute *)with->c)->columns_bytes = bytes;
        pack_operands(&p, &b);
        run_operands(plain, &a);
        run_operands(with, &b);
        for (int k = 0; k < 2; k++)
            check_packed(&p, b.forward[k].y_packed, with, b.forward[k].y, (size_t)s->C_out, out_row(s));
        check_packed(&p, b.forward[0].weight_packed, with, b.forward[0].weight, (size_t)s->C_out, weight_row(s));
        packing_empty(&p);
        side_compare(plain, with, product_tolerance);
    }
    side_close(plain);
    side_close(with);
}

/* Of what is packed nothing is packed again, and no scratch is needed for it. */
void what_is_packed_is_not_packed_again(void **state)
{
#if GRADMARK_CUDA_ON_HOST
    static const struct conv_shape pointwise = { { 4, 8, 4, 4, 1, 1, 1, 1, 0, 0 }, 12 };
    struct side *s = bf16_side();
    struct packing p = { .s = s };
    const struct cuda_compute *c = (const struct cuda_compute *)s->c;
    struct operands o = operands_of(s, &pointwise);

    pack_operands(&p, &o);
    o.forward[0].y_packed = NULL; /* has no epilogue that would pack it on the way */
    run_operands(s, &o);
    assert_int_equal(compute_sync(s->c), RC_OK);
    assert_int_equal(on_host_n_launches(c->device, "rows_to_bf16"), 1); /* the weight */
    assert_int_equal(c->n_scratch_bytes, 0);
    packing_empty(&p);
    side_close(s);
#endif
    (void)state;
}

/* --- what writes --- */

static void norms(struct side *s, struct packing *p, size_t n, bool relu, bool add)
{
    enum { C = 3 };
    const struct batch_norm shape = { C, n, BATCH_NORM_EPSILON, 0.1f, relu };
    float *y = side_reals(s, C * n), *z = side_reals(s, C * n), *dz = side_reals(s, C * n);
    float *dy = side_reals(s, C * n), *v = side_reals(s, 8 * C);
    struct batch_norm_forward f = { .shape = shape,
                                    .z = z,
                                    .mean = v,
                                    .inv_std = v + C,
                                    .running_mean = v + 2 * C,
                                    .running_var = v + 3 * C,
                                    .y = y,
                                    .gamma = v + 4 * C,
                                    .beta = v + 5 * C,
                                    .add = add ? side_reals(s, C * n) : NULL };
    struct batch_norm_grad g = { .shape = shape,
                                 .dy = dy,
                                 .dgamma = v + 6 * C,
                                 .dbeta = v + 7 * C,
                                 .dz = dz,
                                 .y = y,
                                 .z = add ? z : NULL,
                                 .gamma = f.gamma,
                                 .beta = f.beta,
                                 .mean = f.mean,
                                 .inv_std = f.inv_std };

    for (int both = 0; both < (p != NULL ? 2 : 1); both++) { /* beside the floats, then alone */
        if (p != NULL) {
            f.z_packed = packed_array(p, C, n);
            g.dy_packed = packed_array(p, C, n);
        }
        compute_zero(s->c, v + 2 * C, 2 * C);
        compute_batch_norm(s->c, &f);
        compute_batch_norm_grad(s->c, &g);
        if (both == 0)
            f.z = g.z != NULL ? z : NULL;
        g.dy = NULL;
    }
    compute_conv_bias_grad(s->c, &(struct conv_bias_grad){ .C = C,
                                                           .n = n,
                                                           .dbias = v,
                                                           .dy = dz,
                                                           .relu = relu ? y : NULL,
                                                           .dy_packed = p != NULL ? packed_array(p, C, n) : NULL });
}

void norms_and_biases_pack(void **state)
{
    struct side *plain = bf16_side(), *with = bf16_side();
    struct packing p = { .s = with };

    (void)state;
    for (int k = 0; k < 12; k++) {
        const size_t n = k % 3 == 0 ? 37 : k % 3 == 1 ? 40 : 40004; /* rows of one part and of several */
        norms(plain, NULL, n, k % 2 != 0, k % 4 >= 2);
        norms(with, &p, n, k % 2 != 0, k % 4 >= 2);
        assert_int_equal(p.n_arrays, 5);
        for (int i = 0; i < 5; i++) /* z, dy; z, dy alone; dz of the bias */
            check_packed(&p, p.array[i], plain, plain->array[i == 4 ? 2 : i % 2 == 0 ? 1 : 3], 3, n);
        packing_empty(&p);
        side_compare(plain, with, 0.0);
    }
    side_close(plain);
    side_close(with);
}

static void pools(struct side *s, struct packing *p, const struct window *g, bool alone)
{
    const size_t rows = (size_t)g->C, row = (size_t)g->B * (size_t)window_out_h(g) * (size_t)window_out_w(g);
    struct pool_forward f = { .window = *g, .out_h = window_out_h(g), .out_w = window_out_w(g) };

    f.x = side_reals(s, (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W);
    f.argmax = (uint8_t *)side_reals(s, rows * row);
    for (int k = 0; k < 3; k++) {
        float *y = side_reals(s, rows * row);
        f.y = alone ? NULL : y;
        f.y_packed = p != NULL ? packed_array(p, rows, row) : NULL;
        if (k == 0)
            compute_max_pool(s->c, &f);
        else if (k == 1)
            compute_avg_pool(s->c, &f);
        else
            compute_adaptive_pool(s->c, &f);
    }
}

void pools_pack(void **state)
{
    static const struct window window[] = { { 2, 3, 9, 7, 3, 3, 2, 2, 1, 1 }, { 4, 3, 8, 8, 2, 2, 2, 2, 0, 0 } };
    struct side *plain = bf16_side(), *with = bf16_side();
    struct packing p = { .s = with };

    (void)state;
    for (int k = 0; k < 4; k++) {
        const struct window *g = &window[k / 2];
        const size_t row = (size_t)g->B * (size_t)window_out_h(g) * (size_t)window_out_w(g);
        pools(plain, NULL, g, false);
        pools(with, &p, g, k % 2 != 0);
        for (int i = 0; i < 3; i++)
            check_packed(&p, p.array[i], plain, plain->array[2 + i], (size_t)g->C, row);
        packing_empty(&p);
        if (k % 2 == 0)
            side_compare(plain, with, 0.0);
        side_empty(plain);
        side_empty(with);
    }
    side_close(plain);
    side_close(with);
}

/* By option and precision; a baseline of GEMMs alone reads random numbers, which nobody packs. */
void packing_can_be_off(void **state)
{
    static const struct cuda_opts off = { .graphs = "on", .packed = "off" }, on = { .graphs = "on", .packed = "on" };
    static const struct {
        struct compute_env env;
        bool takes;
    } row[] = {
        { { .precision = PRECISION_BF16 }, true },
        { { .precision = PRECISION_BF16, .opts = &on }, true },
        { { .precision = PRECISION_BF16, .opts = &off }, false },
        { { .precision = PRECISION_BF16, .gemm_only = true }, false },
        { { .precision = PRECISION_FP32, .opts = &on }, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct side *s = side_open(&compute_cuda, &row[i].env);
        assert_int_equal(compute_takes_packed(s->c), row[i].takes);
        side_close(s);
    }
}
