/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the inner loops of the cpu backend, over contiguous or strided arrays: no threads. Private to it.
 *
 * kernels.c and kernels_pool.c are compiled once for each instruction set; cpu_kernels_best() picks one when the
 * program runs. Sums use a fixed number of lanes and no operation is fused or reordered, so all instruction sets give
 * equal bits; a CBLAS may give other bits on another CPU.
 */
#ifndef HARNESS_COMPUTE_CPU_KERNELS_H
#define HARNESS_COMPUTE_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compute/compute.h"

struct norm_channel { /* one channel of a batch norm */
    float gamma, beta, mean, inv_std;
    bool relu;
};

struct norm_sums {
    double dz, dz_hat; /* sums of masked dz, and of masked dz (y - mean) inv_std */
};

struct moments {
    double mean, squares; /* squares: sum of squared distances from the mean */
};

struct cpu_pool_kernels {
    /* best[i], argmax[i] = from[i * stride], k if that is larger (or the first NaN). */
    void (*max_tap)(float *best, int32_t *argmax, const float *from, size_t stride, int32_t k, size_t n);
    void (*narrow)(uint8_t *to, const int32_t *from, size_t n);
    /* Windows of 2 x 2 and stride 2 that cover the input, the rows of all planes in one call: y, argmax(n_rows, out_w)
     * from x(2 n_rows, 2 out_w). out_w is at most quads_max_w. */
    void (*max_quads)(float *y, uint8_t *argmax, const float *x, size_t out_w, size_t n_rows);
    /* dx(2 n_rows, 2 out_w) = the gradient. */
    void (*max_quads_grad)(float *dx, const float *dy, const uint8_t *argmax, size_t out_w, size_t n_rows);
    size_t quads_max_w;
};

enum { STREAM_ELEMS = 16 }; /* a line of the caches */

struct cpu_kernels {
    const char *isa;
    const struct cpu_pool_kernels *pool;
    void (*add)(float *y, const float *x, size_t n);
    /* z = x + y; z may be x or y. */
    void (*sum_two)(float *z, const float *x, const float *y, size_t n);
    /* Both become x + y. */
    void (*sum_both)(float *x, float *y, size_t n);
    /* compute_sum_arrays() of elements from, ..., from + n - 1, past the caches. n: a multiple of STREAM_ELEMS. No
     * result is an operand, and element `from` of each is on 64 bytes. NULL: this processor has no such writes. */
    void (*stream_sums)(const struct sum_arrays *op, size_t from, size_t n);
    void (*add_constant)(float *y, float value, size_t n);
    void (*add_scaled)(float *y, const float *x, float scale, size_t n);
    double (*sum)(const float *x, size_t n);
    float (*dot)(const float *x, const float *y, size_t n);
    void (*relu_grad)(float *dx, const float *x, size_t n);
    /* dy = x > 0 ? dy : 0; returns its sum. */
    double (*relu_grad_sum)(float *dy, const float *x, size_t n);
    /* y = scale y + shift [+ add] [relu]. */
    void (*epilogue)(float *y, const float *add, float scale, float shift, bool relu, size_t n);

    struct moments (*moments)(const float *x, size_t n);
    void (*norm)(float *z, const float *y, const float *add, const struct norm_channel *s, size_t n);
    /* out NULL: the mask is recomputed from y. keep: dz is replaced by the masked dz. */
    struct norm_sums (*norm_grad_sums)(float *dz, const float *y, const float *out, bool keep,
                                       const struct norm_channel *s, size_t n);
    /* dy = gamma inv_std (dz - mean_dz - hat mean_dz_hat); mask: dz is not masked yet. dy may be dz. */
    void (*norm_grad)(float *dy, const float *dz, const float *y, bool mask, float mean_dz, float mean_dz_hat,
                      const struct norm_channel *s, size_t n);

    void (*strided_copy)(float *to, const float *from, size_t stride, size_t n);
    /* to = mask == 0 ? 0 : from. */
    void (*masked_copy)(float *to, const float *from, const float *mask, size_t n);
    /* to += from where mask is not 0; elsewhere to keeps its bits. */
    void (*masked_add)(float *to, const float *from, const float *mask, size_t n);
    void (*strided_add)(float *to, size_t stride, const float *from, size_t n);

    /* One plane: y(out_h,out_w) [+]= averages of windows of x(H,W), zeros around it. scratch: 2 (H + 2 pad_h)
     * (W + 2 pad_w) elements. */
    void (*average_plane)(float *y, const float *x, float *scratch, const struct window *g, bool add);
    /* x[i] is element first + i of the whole array. */
    void (*dropout)(float *x, size_t first, size_t n, float keep_ratio, uint64_t key);
    void (*sgd)(float *p, float *v, const float *g, size_t n, const struct sgd *s);
    void (*adagrad)(float *p, float *sum, const float *g, size_t n, const struct adagrad *s);
    void (*adam)(float *p, float *m, float *v, const float *g, size_t n, const struct adam *s);

    /* For each format except WIRE_F32 (narrow.h). */
    void (*narrow[N_WIRE_FORMATS])(uint16_t *to, const float *from, size_t n);
    void (*widen[N_WIRE_FORMATS])(float *to, const uint16_t *from, size_t n);
    void (*widen_add[N_WIRE_FORMATS])(float *to, const uint16_t *from, size_t n); /* to += from */
    /* x[i] becomes x[i] + residual[i], rounded, and residual[i] the remainder; residual NULL: zeros. */
    void (*round[N_WIRE_FORMATS])(float *x, float *residual, size_t n);

    /* Skinny GEMMs; x is (B, n), w is (M, n), rows x_stride and w_stride apart. out(B) = x row[n]. */
    void (*skinny_dots)(float *out, const float *row, const float *x, size_t x_stride, size_t B, size_t n);
    /* out(n) = scale(B) x(B, n). */
    void (*skinny_mix)(float *out, const float *scale, const float *x, size_t x_stride, size_t B, size_t n);
    /* out(B, n) += scale(M, B)^T w(M, n). */
    void (*skinny_products)(float *out, const float *scale, const float *w, size_t w_stride, size_t M, size_t B,
                            size_t n);
    /* Rounded to the nearest bf16, ties to even; denormal numbers become zero, a NaN stays one. */
    void (*to_bf16)(uint16_t *to, const float *from, size_t stride, size_t n);
    void (*round_to_bf16)(float *to, const float *from, size_t n);
};

const struct cpu_kernels *cpu_kernels_best(void);

#endif
