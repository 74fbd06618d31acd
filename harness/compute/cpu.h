/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the operations of the cpu backend that live in cpu_layers.c. Private to this room. */
#ifndef HARNESS_COMPUTE_CPU_H
#define HARNESS_COMPUTE_CPU_H

#include "harness/compute/compute.h"

/* As the members of struct compute_backend say. None can fail; none uses c. */
void cpu_im2col(struct compute *c, float *col, const float *x, const struct window *g);
void cpu_col2im(struct compute *c, float *dx, const float *col, const struct window *g);
void cpu_max_pool(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g);
void cpu_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint32_t *at, const struct window *g);
void cpu_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                      const uint32_t *label, size_t B, size_t K);
void cpu_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n);

#endif
