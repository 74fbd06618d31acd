/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the operations of the cpu backend that live in cpu_layers.c. Private to this room. */
#ifndef HARNESS_COMPUTE_CPU_H
#define HARNESS_COMPUTE_CPU_H

#include "harness/compute/compute.h"

/* As the members of struct compute_backend say. None can fail; none uses c. */
void cpu_im2col(struct compute *c, float *col, const float *x, const struct window *g);
void cpu_col2im(struct compute *c, float *dx, const float *col, const struct window *g);

void cpu_conv(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
              const struct conv_shape *s);
void cpu_conv_input_grad(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                         const struct conv_shape *s);
void cpu_conv_weight_grad(struct compute *c, float *dweight, const float *dy, const float *x,
                          const struct conv_shape *s);
void cpu_conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *output, size_t C, size_t n);
void cpu_batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean, float *running_var,
                    const float *y, const float *gamma, const float *beta, const float *add,
                    const struct batch_norm *s);
void cpu_batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                         const float *running_mean, const float *running_var, const struct batch_norm *s);
void cpu_batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                         const float *z, const float *gamma, const float *beta, const float *mean, const float *inv_std,
                         const struct batch_norm *s);
void cpu_max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g);
void cpu_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                       const struct window *g);
void cpu_avg_pool(struct compute *c, float *y, const float *x, const struct window *g);
void cpu_avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g);
void cpu_adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w);
void cpu_adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g, int out_h,
                            int out_w);
void cpu_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key);
void cpu_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                      const uint32_t *label, float weight, size_t B, size_t K);
void cpu_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n);

#endif
