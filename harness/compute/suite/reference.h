/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h - every operation of compute.h again, naive and in double: what backends are held to.
 *
 * Written from the definitions, element by element; shares no code with a backend. Central differences of the losses of
 * networks that are made of it (models/suite/network_reference.h) check its gradients. Arrays and arguments are those
 * of compute.h, except that gradients always overwrite. Tests only. Nothing here can fail or allocates.
 */
#ifndef HARNESS_COMPUTE_SUITE_REFERENCE_H
#define HARNESS_COMPUTE_SUITE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compute/compute.h"

/* How many windows fit: counted, not divided. */
int reference_out(int n_in, int kernel, int stride, int pad);

/* c = op(a) op(b) + beta c; g's own arrays are not looked at. */
void reference_gemm(double *c, const double *a, const double *b, const struct gemm *g);
void reference_conv(double *y, const double *x, const double *weight, const struct conv_shape *s);
void reference_conv_input_grad(double *dx, const double *dy, const double *weight, const struct conv_shape *s);
void reference_conv_weight_grad(double *dweight, const double *dy, const double *x, const struct conv_shape *s);
/* y(C,n) in place; scale, shift, add may be NULL. */
void reference_epilogue(double *y, const double *scale, const double *shift, const double *add, bool relu, size_t C,
                        size_t n);
void reference_conv_bias_grad(double *dbias, double *dy, const double *relu, size_t C, size_t n);

void reference_batch_norm(double *z, double *mean, double *inv_std, double *running_mean, double *running_var,
                          const double *y, const double *gamma, const double *beta, const double *add,
                          const struct batch_norm *s);
void reference_batch_norm_fold(double *scale, double *shift, const double *gamma, const double *beta,
                               const double *running_mean, const double *running_var, const struct batch_norm *s);
/* Mean and variance are worked out again from y. z NULL: as compute.h says. */
void reference_batch_norm_grad(double *dy, double *dgamma, double *dbeta, double *dz, const double *y, const double *z,
                               const double *gamma, const double *beta, const struct batch_norm *s);

/* argmax may be NULL. */
void reference_max_pool(double *y, uint8_t *argmax, const double *x, const struct window *g);
void reference_max_pool_grad(double *dx, const double *dy, const uint8_t *argmax, const struct window *g);
void reference_avg_pool(double *y, const double *x, const struct window *g);
void reference_avg_pool_grad(double *dx, const double *dy, const struct window *g);
void reference_adaptive_pool(double *y, const double *x, const struct window *g, int out_h, int out_w);
void reference_adaptive_pool_grad(double *dx, const double *dy, const struct window *g, int out_h, int out_w);

/* Whether dropout keeps element i: the upper 24 bits of number i of SplitMix64 from key lie below
 * keep_ratio 2^24. */
bool reference_kept(uint64_t key, uint64_t i, float keep_ratio);
void reference_dropout(double *x, size_t n, float keep_ratio, uint64_t key);
void reference_swap_axes(double *out, const double *in, size_t n_a, size_t n_b, size_t n_inner);
void reference_bias_add(double *y, const double *bias, size_t outer, size_t n, size_t inner);
/* dbias += sums, as compute.h. */
void reference_bias_grad(double *dbias, const double *dy, size_t outer, size_t n, size_t inner);
void reference_relu(double *x, size_t n);
void reference_relu_grad(double *dx, const double *x, size_t n);
/* The loss; dlogits, n_correct may be NULL. */
double reference_softmax_xent(double *dlogits, size_t *n_correct, const double *logits, const uint32_t *label,
                              double weight, size_t B, size_t K);
double reference_mean_square(double *dy, const double *y, const double *target, size_t n);
/* v may be NULL. */
void reference_sgd_step(double *p, double *v, const double *g, size_t n, const struct sgd *s);
void reference_adagrad_step(double *p, double *sum, const double *g, size_t n, const struct adagrad *s);
void reference_adam_step(double *p, double *m, double *v, const double *g, size_t n, const struct adam *s);

#endif
