/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_agrees.c - the operations of cuda against those of cpu, on shapes that take every way through them. */
#include <math.h>
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

static size_t in_elems(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)s->in.C * (size_t)s->in.H * (size_t)s->in.W;
}

static size_t out_elems(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)s->C_out * (size_t)window_out_h(&s->in) * (size_t)window_out_w(&s->in);
}

static void convolve(struct side *s, const struct conv_shape *shape)
{
    const size_t n_weights =
        (size_t)shape->C_out * (size_t)shape->in.C * (size_t)shape->in.kernel_h * (size_t)shape->in.kernel_w;
    const float *x = side_reals(s, in_elems(shape)), *weight = side_reals(s, n_weights);
    const float *dy = side_reals(s, out_elems(shape)), *add = side_reals(s, out_elems(shape));
    const float *shift = side_reals(s, (size_t)shape->C_out), *scale = side_reals(s, (size_t)shape->C_out);
    const struct epilogue all = { scale, shift, add, true };
    struct conv_forward forward = { .shape = *shape, .x = x, .weight = weight };
    struct conv_input_grad input_grad = { .shape = *shape, .dy = dy, .weight = weight };

    for (int k = 0; k < 2; k++) {
        forward.y = side_reals(s, out_elems(shape));
        compute_conv(s->c, &forward);
        forward.epilogue = all;
    }
    for (int k = 0; k < 2; k++) {
        input_grad.dx = side_reals(s, in_elems(shape));
        compute_conv_input_grad(s->c, &input_grad);
        input_grad.add = true;
    }
    compute_conv_weight_grad(
        s->c, &(struct conv_weight_grad){ .shape = *shape, .dweight = side_reals(s, n_weights), .dy = dy, .x = x });
}

/* Small ones; a dense layer; 1 x 7 and 7 x 1; strides; an output much smaller than the input. */
static const struct conv_shape shapes[] = {
    { { 2, 3, 5, 7, 3, 3, 1, 1, 1, 1 }, 4 },     { { 3, 4, 6, 6, 1, 1, 1, 1, 0, 0 }, 5 },
    { { 2, 3, 9, 9, 3, 3, 2, 2, 1, 1 }, 3 },     { { 2, 2, 8, 8, 1, 7, 1, 1, 0, 3 }, 3 },
    { { 2, 2, 8, 8, 7, 1, 1, 1, 3, 0 }, 3 },     { { 3, 4, 5, 5, 5, 5, 1, 1, 0, 0 }, 6 },
    { { 2, 3, 11, 11, 11, 11, 4, 4, 2, 2 }, 2 }, { { 1, 5, 8, 8, 1, 1, 2, 2, 0, 0 }, 7 },
    { { 4, 8, 8, 8, 3, 3, 1, 1, 0, 0 }, 16 },    { { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }, 1 },
};

void convolutions_agree(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL), *b = side_open(&compute_cpu, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        convolve(a, &shapes[i]);
        convolve(b, &shapes[i]);
        side_compare(a, b, 1e-5);
    }
    side_close(a);
    side_close(b);
}

/* Operands are rounded to 8 bits of mantissa, sums are not. */
void bf16_convolutions_are_near(void **state)
{
    const struct compute_env env = { .precision = PRECISION_BF16 };
    struct side *a = side_open(&compute_cuda, &env), *b = side_open(&compute_cpu, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        convolve(a, &shapes[i]);
        convolve(b, &shapes[i]);
        side_compare(a, b, 2e-2);
    }
    side_close(a);
    side_close(b);
}

static void normalise(struct side *s, size_t C, size_t n, bool relu, bool add)
{
    const struct batch_norm shape = { C, n, BATCH_NORM_EPSILON, 0.1f, relu };
    const float *y = side_reals(s, C * n), *gamma = side_reals(s, C), *beta = side_reals(s, C);
    const float *more = add ? side_reals(s, C * n) : NULL;
    const struct batch_norm_forward forward = { .shape = shape,
                                                .z = side_reals(s, C * n),
                                                .mean = side_reals(s, C),
                                                .inv_std = side_reals(s, C),
                                                .running_mean = side_reals(s, C),
                                                .running_var = side_reals(s, C),
                                                .y = y,
                                                .gamma = gamma,
                                                .beta = beta,
                                                .add = more };
    const struct batch_norm_grad backward = { .shape = shape,
                                              .dy = side_reals(s, C * n),
                                              .dgamma = side_reals(s, C),
                                              .dbeta = side_reals(s, C),
                                              .dz = side_reals(s, C * n),
                                              .y = y,
                                              .z = add ? forward.z : NULL,
                                              .gamma = gamma,
                                              .beta = beta,
                                              .mean = forward.mean,
                                              .inv_std = forward.inv_std };

    compute_batch_norm(s->c, &forward);
    compute_batch_norm_grad(s->c, &backward);
    compute_conv_bias_grad(
        s->c, &(struct conv_bias_grad){
                  .C = C, .n = n, .dbias = side_reals(s, C), .dy = backward.dz, .relu = relu ? forward.z : NULL });
}

/* col2im of stride 2, 20 images of 3 x 3 outputs: as many at a time as columns_bytes hold, of several GEMMs by eights.
 */
void images_are_grouped_by_eights(void **state)
{
#if GRADMARK_CUDA_ON_HOST
    static const struct conv_shape shape = { { 20, 2, 6, 6, 3, 3, 2, 2, 1, 1 }, 3 };
    static const struct {
        size_t n_fit;
        int n_images;
    } row[] = { { 40, 20 }, { 20, 20 }, { 19, 16 }, { 15, 8 }, { 8, 8 }, { 7, 7 }, { 1, 1 }, { 0, 1 } };
    struct side *a = side_open(&compute_cuda, NULL);
    struct cuda_compute *c = (struct cuda_compute *)a->c;
    float *dx = side_reals(a, 2 * 20 * 36), *dy = side_reals(a, 3 * 20 * 9), *w = side_reals(a, 3 * 18);

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        c->columns_bytes = row[i].n_fit * 18 * 9 * sizeof(float);
        (void)on_host_widest_gemm(c->device);
        compute_conv_input_grad(a->c, &(struct conv_input_grad){ .shape = shape, .dx = dx, .dy = dy, .weight = w });
        assert_int_equal(compute_sync(a->c), RC_OK);
        assert_int_equal(on_host_widest_gemm(c->device), 9 * row[i].n_images);
    }
    side_close(a);
#endif
    (void)state;
}

void norms_agree(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL), *b = side_open(&compute_cpu, NULL);

    (void)state;
    for (int k = 0; k < 16; k++) { /* rows of one part and of several, aligned or not */
        const size_t C = k % 4 < 2 ? 3 : 1, n = k % 2 == 0 ? 37 : 40004;
        for (int side = 0; side < 2; side++)
            normalise(side ? b : a, C, n, (k & 4) != 0, (k & 8) != 0);
        side_compare(a, b, 2e-5);
    }
    side_close(a);
    side_close(b);
}

/* --- columns in several groups, images in several groups --- */

static void grouped(const struct compute_env *env, double tolerance)
{
    /* Packed, straight, with strides, and one image at a time; the last group is smaller. */
    static const struct conv_shape several[] = { { { 3, 2, 16, 17, 3, 3, 1, 1, 1, 1 }, 3 },
                                                 { { 3, 5, 16, 17, 1, 1, 1, 1, 0, 0 }, 3 },
                                                 { { 5, 2, 33, 31, 3, 3, 2, 2, 1, 1 }, 2 } };
    struct side *a = side_open(&compute_cuda, env), *b = side_open(&compute_cpu, NULL);

    ((struct cuda_compute *)a->c)->columns_bytes = 1;
    for (size_t i = 0; i < sizeof several / sizeof several[0]; i++) {
        convolve(a, &several[i]);
        convolve(b, &several[i]);
        side_compare(a, b, tolerance);
    }
    side_close(a);
    side_close(b);
}

void grouped_convolutions_agree(void **state)
{
    const struct compute_env bf16 = { .precision = PRECISION_BF16 };

    (void)state;
    grouped(NULL, 1e-5);
    grouped(&bf16, 2e-2);
}

/* --- everything else --- */

static uint8_t *bytes_of(struct side *s, size_t n)
{
    return (uint8_t *)side_reals(s, (n + 3) / 4);
}

static void pool(struct side *s, const struct window *g, int out_h, int out_w)
{
    const size_t n_in = (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W;
    const size_t n = (size_t)g->B * (size_t)g->C, n_out = n * (size_t)window_out_h(g) * (size_t)window_out_w(g);
    const size_t n_adaptive = n * (size_t)out_h * (size_t)out_w;
    uint8_t *argmax = bytes_of(s, n_out);
    struct pool_forward f = {
        .window = *g, .out_h = out_h, .out_w = out_w, .argmax = argmax, .x = side_reals(s, n_in)
    };
    struct pool_grad b = { .window = *g, .out_h = out_h, .out_w = out_w, .argmax = argmax };

    f.y = side_reals(s, n_out);
    compute_max_pool(s->c, &f);
    f.y = side_reals(s, n_out);
    compute_avg_pool(s->c, &f);
    f.y = side_reals(s, n_adaptive);
    compute_adaptive_pool(s->c, &f);
    for (int add = 0; add < 2; add++) {
        b.add = add != 0;
        b.dy = side_reals(s, n_out);
        b.dx = side_reals(s, n_in);
        compute_max_pool_grad(s->c, &b);
        b.dx = side_reals(s, n_in);
        compute_avg_pool_grad(s->c, &b);
        b.dx = side_reals(s, n_in);
        b.dy = side_reals(s, n_adaptive);
        compute_adaptive_pool_grad(s->c, &b);
    }
}

void pools_agree(void **state)
{
    static const struct window windows[] = { { 2, 3, 8, 8, 2, 2, 2, 2, 0, 0 },
                                             { 2, 3, 9, 7, 3, 3, 2, 2, 1, 1 },
                                             { 3, 2, 7, 7, 3, 3, 1, 1, 1, 1 },
                                             { 1, 2, 13, 13, 3, 2, 2, 3, 0, 1 } };
    struct side *a = side_open(&compute_cuda, NULL), *b = side_open(&compute_cpu, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        for (int out = 1; out <= 10; out += 3) {
            pool(a, &windows[i], out, (out + 1) / 2);
            pool(b, &windows[i], out, (out + 1) / 2);
            side_compare(a, b, 1e-6);
        }
    side_close(a);
    side_close(b);
}

static void values(struct side *s, size_t n)
{
    const struct sgd plain = { 0.1f, 0.0f, 0.01f, 0.5f }, heavy = { 0.1f, 0.9f, 0.01f, 0.5f };
    const struct adagrad adagrad = { 0.1f, 1e-10f, 0.01f, 0.5f };
    const struct adam adam = { 0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, 0.01f, 0.5f, 0.02f, 3.0f };
    const float *x = side_reals(s, n);
    float *y[13];

    for (int k = 0; k < 13; k++)
        y[k] = side_reals(s, n);
    compute_relu_grad(s->c, y[1], x, n);
    compute_accumulate(s->c, y[2], x, n);
    compute_dropout(s->c, y[3], n, 0.7f, UINT64_C(0x123456789abcdef));
    compute_sgd_step(s->c, y[4], NULL, x, n, &plain);
    compute_sgd_step(s->c, y[5], y[6], x, n, &heavy);
    compute_zero(s->c, y[7], n / 2);
    compute_zero(s->c, y[9], n);
    compute_adagrad_step(s->c, y[8], y[9], x, n, &adagrad);
    compute_zero(s->c, y[12], n);
    compute_adam_step(s->c, y[10], y[11], y[12], x, n, &adam);
}

void values_agree(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL), *b = side_open(&compute_cpu, NULL);

    (void)state;
    for (size_t n = 1; n < 6000; n = 3 * n + 1) {
        values(a, n);
        values(b, n);
        side_compare(a, b, 1e-6);
    }
    side_close(a);
    side_close(b);
}
