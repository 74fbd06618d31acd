/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.h - which unit does the arithmetic, and what it costs.
 *
 * "cpu" (OpenBLAS, one thread per rank) is the reference: every other backend must match it
 * (compute_suite.h). "hollow" costs time and touches nothing: it accepts NULL for every
 * array and only counts the work; it needs a world with virtual time.
 *
 * Invariants
 *   C1  Equal inputs give equal bits, on every run, rank and world (fixed summation order).
 *   C2  The wrappers count the work of every call; compute_sync() hands what was counted since
 *       the last sync to env.charge, so callers sync before they send, or read a clock.
 *   C3  Nothing allocates after open.
 *
 * Arrays are row-major; the leading letter of a shape is the slowest index. Images are
 * (B, C, H, W). No array may overlap another unless said. One thread per struct compute.
 */
#ifndef HARNESS_COMPUTE_COMPUTE_H
#define HARNESS_COMPUTE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct compute;

/* C(M,N) = op(A)(M,K) op(B)(K,N) + beta C; op transposes where asked: A is stored (K,M), B (N,K)
 * then. Row-major; lda, ldb and ldc are the tight row lengths of the arrays as stored.
 * beta 0: c is written, never read, so it may hold anything. M, N, K >= 1. */
struct gemm {
    bool transpose_a, transpose_b;
    int M, N, K;
    const float *a, *b;
    float beta;
    float *c;
};

/* Geometry of a convolution or pooling window over (B, C, H, W). */
struct window {
    int B, C, H, W;         /* input */
    int kernel_h, kernel_w; /* >= 1 */
    int stride_h, stride_w; /* >= 1 */
    int pad_h, pad_w;       /* zeros around; 0 <= pad < kernel, so no window lies in them alone */
};
int window_out_h(const struct window *g); /* (H + 2 pad_h - kernel_h) / stride_h + 1 */
int window_out_w(const struct window *g);

struct sgd {
    float lr, momentum, weight_decay;
    float grad_scale; /* 1 / workers where g is a sum, else 1 */
};

#define SGD_VELOCITY_MIN 1e-30f

struct work {
    double flops, bytes; /* bytes: streamed through memory by element-wise operations */
};

struct compute_env {
    void (*charge)(void *arg, double flops, double bytes); /* NULL: real time passes by itself */
    void *arg;
};

struct compute_backend {
    const char *name;    /* "cpu", "hollow" */
    bool touches_memory; /* false: arrays may be NULL and keep what they hold */

    enum rc (*open)(struct compute **out);
    void (*close)(struct compute **c);

    void (*gemm)(struct compute *c, const struct gemm *g);
    /* col(C*kernel_h*kernel_w, B*out_h*out_w) from x(B,C,H,W); zeros where the window leaves it. */
    void (*im2col)(struct compute *c, float *col, const float *x, const struct window *g);
    /* dx(B,C,H,W) = sum of the col entries that came from each element (zeroes dx first). */
    void (*col2im)(struct compute *c, float *dx, const float *col, const struct window *g);
    /* y(outer,n,inner) += bias(n). */
    void (*bias_add)(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner);
    /* dbias(n) += sum over outer and inner of dy(outer,n,inner). */
    void (*bias_grad)(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner);
    /* (a,b,inner) -> (b,a,inner): out[j][i][k] = in[i][j][k]. */
    void (*swap_axes)(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner);
    /* x = max(x, 0) in place, NaN stays NaN; dx = x > 0 ? dx : 0 in place, x being the output of relu. */
    void (*relu)(struct compute *c, float *x, size_t n);
    void (*relu_grad)(struct compute *c, float *dx, const float *x, size_t n);
    /* y(B,C,out_h,out_w) = window maximum; at(same shape) = flat index in x of the first one. Padding
     * never wins: only elements of x are compared. */
    void (*max_pool)(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g);
    /* dx(B,C,H,W) = 0, then dx[at[i]] += dy[i]. */
    void (*max_pool_grad)(struct compute *c, float *dx, const float *dy, const uint32_t *at, const struct window *g);
    /* Mean cross-entropy over B rows of logits(B,K); dlogits = d mean / d logits (NULL: none);
     * n_correct (NULL: not wanted) counts rows whose largest logit, the first of equals, is the label.
     * hollow: loss NaN, n_correct 0. */
    void (*softmax_xent)(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                         const uint32_t *label, size_t B, size_t K);
    /* mean of e^2 with e = y - target over n; dy = 2 e / n (NULL: none). hollow: loss NaN. */
    void (*mean_square)(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n);
    /* x = 0. */
    void (*zero)(struct compute *c, float *x, size_t n);
    /* y += x: the only arithmetic a reducer needs. */
    void (*accumulate)(struct compute *c, float *y, const float *x, size_t n);
    /* d = grad_scale g + weight_decay p; v = momentum v + d; p -= lr v. v NULL: momentum is 0
     * and v = d. g read only. A v below SGD_VELOCITY_MIN in magnitude becomes 0: where a gradient is
     * 0 for good it would end as a denormal number, which costs 100 times as much. */
    void (*sgd_step)(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s);
};

struct compute { /* first member of each backend's struct */
    const struct compute_backend *ops;
    struct compute_env env;
    struct work since_sync, total;
};

extern const struct compute_backend compute_cpu, compute_hollow;

/* Every backend this binary was built with, NULL-terminated. */
const struct compute_backend *const *compute_all(void);
/* RC_INVAL names the nearest. */
enum rc compute_find(const struct compute_backend **out, const char *name) MUST_CHECK;

/* env NULL: nothing is charged. */
enum rc compute_open(struct compute **out, const struct compute_backend *ops, const struct compute_env *env) MUST_CHECK;
void compute_close(struct compute **c); /* NULL-safe, nulls */
/* C2. Cannot fail. */
void compute_sync(struct compute *c);

/* Wrappers, one per operation, arguments as above; they assert shapes and count work: a GEMM is
 * 2MNK flops and no bytes, element-wise operations count bytes read and written. Shapes alone decide,
 * never whether an array is NULL, so cpu and hollow count the same: gradients of the losses always
 * count, velocity counts when momentum is not 0. */
void compute_gemm(struct compute *c, const struct gemm *g);
void compute_im2col(struct compute *c, float *col, const float *x, const struct window *g);
void compute_col2im(struct compute *c, float *dx, const float *col, const struct window *g);
void compute_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner);
void compute_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner);
void compute_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner);
void compute_relu(struct compute *c, float *x, size_t n);
void compute_relu_grad(struct compute *c, float *dx, const float *x, size_t n);
void compute_max_pool(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g);
void compute_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint32_t *at, const struct window *g);
void compute_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                          const uint32_t *label, size_t B, size_t K);
void compute_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target,
                         size_t n);
void compute_zero(struct compute *c, float *x, size_t n);
void compute_accumulate(struct compute *c, float *y, const float *x, size_t n);
void compute_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s);

#endif
