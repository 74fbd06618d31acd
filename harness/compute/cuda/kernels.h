/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the GPU kernels: one function per kernel launch, called from C. Private to cuda.
 *
 * Every function queues its work on `stream` and returns; arrays are device memory. None allocates, waits, or uses
 * atomic operations on floats: the order of a sum depends only on shapes (compute.C1), not on alignment or the number
 * of multiprocessors. A failed launch is reported by cuda_device_check() (device.h). Arguments are those of compute.h
 * unless stated.
 *
 * The same sources are compiled a second time as plain C++, for tests on a machine without a GPU (on_host/).
 */
#ifndef HARNESS_COMPUTE_CUDA_KERNELS_H
#define HARNESS_COMPUTE_CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compute/cuda/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "harness/compute/compute.h"

typedef void *cuda_stream; /* a cudaStream_t */

/* --- elements.cu --- */
void cuda_relu_grad(float *dx, const float *x, size_t n, cuda_stream stream);
void cuda_accumulate(float *y, const float *x, size_t n, cuda_stream stream);
void cuda_sgd_step(float *p, float *v, const float *g, size_t n, const struct cuda_sgd *s, cuda_stream stream);
void cuda_adagrad_step(float *p, float *sum, const float *g, size_t n, const struct cuda_adagrad *s,
                       cuda_stream stream);
void cuda_adam_step(float *p, float *m, float *v, const float *g, size_t n, const struct cuda_adam *s,
                    cuda_stream stream);
/* key: in device memory, read when the kernel runs. */
void cuda_dropout(float *x, size_t n, float keep_ratio, const uint64_t *key, cuda_stream stream);
void cuda_swap_axes(float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner, cuda_stream stream);
void cuda_bias_add(float *y, const float *bias, size_t outer, size_t n, size_t inner, cuda_stream stream);

/* --- sums.cu; partial: scratch of cuda_sums_bytes() --- */
/* Scratch for sums over each of C rows of n. */
size_t cuda_sums_bytes(size_t C, size_t n);
void cuda_conv_bias_grad(const struct conv_bias_grad *op, void *partial, cuda_stream stream);
void cuda_bias_grad(float *dbias, const float *dy, size_t outer, size_t n, size_t inner, cuda_stream stream);
/* Scratch of the two losses over n values or rows. */
size_t cuda_loss_bytes(size_t n);
/* *loss, *n_correct: in device memory, instead of those of op. */
void cuda_softmax_xent(const struct softmax_xent *op, double *loss, uint64_t *n_correct, void *partial,
                       cuda_stream stream);
void cuda_mean_square(double *loss, float *dy, const float *y, const float *target, size_t n, void *partial,
                      cuda_stream stream);

/* --- norm.cu; partial: scratch of cuda_sums_bytes(C, n) --- */
void cuda_batch_norm(const struct batch_norm_forward *op, void *partial, cuda_stream stream);
void cuda_batch_norm_fold(const struct batch_norm_fold *op, cuda_stream stream);
void cuda_batch_norm_grad(const struct batch_norm_grad *op, void *partial, cuda_stream stream);

/* --- pools.cu; packed: of y (compute.h) --- */
void cuda_max_pool(float *y, uint16_t *packed, uint8_t *argmax, const float *x, const struct cuda_window *g,
                   cuda_stream stream);
void cuda_max_pool_grad(float *dx, const float *dy, const uint8_t *argmax, bool add, const struct cuda_window *g,
                        cuda_stream stream);
void cuda_avg_pool(float *y, uint16_t *packed, const float *x, const struct cuda_window *g, cuda_stream stream);
void cuda_avg_pool_grad(float *dx, const float *dy, bool add, const struct cuda_window *g, cuda_stream stream);
/* To out_h x out_w of g; its kernel, stride and pad are not read. */
void cuda_adaptive_pool(float *y, uint16_t *packed, const float *x, const struct cuda_window *g, cuda_stream stream);
void cuda_adaptive_pool_grad(float *dx, const float *dy, bool add, const struct cuda_window *g, cuda_stream stream);

/* --- columns.cu: a convolution's operands --- */
/* col(C kernel_h kernel_w, n): columns [first, first + n) of all B out_h out_w, as float, or bfloat16 if bf16.
 * Rows are ld elements apart; elements n .. ld - 1 of a row are not written. */
void cuda_im2col(void *col, const float *x, const struct cuda_window *g, size_t first, size_t n, size_t ld, bool bf16,
                 cuda_stream stream);
/* dx (+)= images [first, first + n) of all B, summed from col(C kernel_h kernel_w, n out_h out_w). */
void cuda_col2im(float *dx, const float *col, const struct cuda_window *g, int first, int n, bool add,
                 cuda_stream stream);
/* out(C, C_out, kernel_h, kernel_w), both kernel axes flipped, from weight(C_out, C, kernel_h, kernel_w). */
void cuda_flip_weight(void *out, const float *weight, int C_out, int C, int kernel_h, int kernel_w, bool bf16,
                      cuda_stream stream);
/* The same for packed arrays (compute.h). */
void cuda_im2col_packed(uint16_t *col, const uint16_t *x, const struct cuda_window *g, size_t first, size_t n,
                        size_t ld, cuda_stream stream);
void cuda_flip_packed(uint16_t *out, const uint16_t *weight, int C_out, int C, int kernel_h, int kernel_w,
                      cuda_stream stream);
/* out(n_rows, n) from in, rows out_ld and in_ld apart. */
void cuda_align_rows(uint16_t *out, size_t out_ld, const uint16_t *in, size_t in_ld, size_t n_rows, size_t n,
                     cuda_stream stream);
/* out(n_rows, n) as bfloat16 from in, whose rows are in_ld apart; out's are out_ld apart. */
void cuda_rows_to_bf16(uint16_t *out, size_t out_ld, const float *in, size_t in_ld, size_t n_rows, size_t n,
                       cuda_stream stream);
/* In place on y(C, n) and e->add(C, n), rows ld apart: columns of (C, ld). packed: NULL, or those of that, packed. */
void cuda_epilogue(float *y, uint16_t *packed, const struct epilogue *e, size_t C, size_t n, size_t ld,
                   cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
