/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.h - which unit does the arithmetic, and what it costs.
 *
 * "cpu" (oneDNN or CBLAS, each thread its own GEMMs) is the reference: every other backend must match it
 * (suite/compute_suite.h). "cuda" works in GPU memory. "hollow" costs time and touches nothing: it accepts
 * NULL for every array and only counts the work; it needs a world with virtual time.
 *
 * Invariants
 *   C1  Equal inputs give equal bits, on every run, rank and world, and with any n_threads (fixed
 *       summation order; the split of the work depends on shapes alone). A CPU of another kind, or another
 *       GEMM library, may give others.
 *   C2  The wrappers count the work of every call; compute_sync() hands what was counted since
 *       the last sync to env.charge, so callers sync before they send, or read a clock.
 *   C3  Nothing allocates between the first call of an operation with its largest shape and close.
 *   C4  Calls run in order; only compute_sync(), put() and get() wait. Results that go to the host
 *       (losses, n_correct) are there after compute_sync(). A failed call is reported by the next
 *       sync.
 *   C5  Arrays of operations live in memory of compute_memory_open(), of which the host may read and
 *       write only that of a backend with host_memory. Scalars (losses) are the host's.
 *
 * Arrays are row-major; the leading letter of a shape is the slowest index. Activations are
 * channel-major, (C, B, H, W): a 1x1 convolution is then one GEMM as they lie, a channel is one
 * stretch (what batch norm sums over), and a concatenation of channels is no work at all. No array may
 * overlap another unless said. One thread calls; a backend may use others inside a call.
 */
#ifndef HARNESS_COMPUTE_COMPUTE_H
#define HARNESS_COMPUTE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
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

/* Geometry of a convolution or pooling window over (C, B, H, W). */
struct window {
    int B, C, H, W;         /* input */
    int kernel_h, kernel_w; /* >= 1 */
    int stride_h, stride_w; /* >= 1 */
    int pad_h, pad_w;       /* zeros around; 0 <= pad < kernel, so no window lies in them alone */
};
int window_out_h(const struct window *g); /* (H + 2 pad_h - kernel_h) / stride_h + 1 */
int window_out_w(const struct window *g);

/* A convolution; a dense layer is one whose kernel is its whole input (weight (C_out, C kernel_h
 * kernel_w) is then (N, K) of the flattened input, in the order C, H, W). */
struct conv_shape {
    struct window in;
    int C_out;
};

/* What becomes of each output before it is written: v = scale[c] v + shift[c] + add; relu: max(v, 0), NaN stays NaN. */
struct epilogue {
    const float *scale; /* (C_out); NULL: 1 */
    const float *shift; /* (C_out); NULL: 0. A bias, or the rest of a folded batch norm */
    const float *add;   /* shape of the output; NULL: 0 */
    bool relu;
};

#define BATCH_NORM_EPSILON 1e-5f
/* Batch normalisation of C channels over n = B H W values each (Ioffe and Szegedy, 2015):
 * z = gamma (y - mean) / sqrt(var + epsilon) + beta [+ add] [relu: NaN stays NaN]. */
struct batch_norm {
    size_t C, n;
    float epsilon;
    float momentum; /* of the running values: r = (1 - momentum) r + momentum new */
    bool relu;
};

struct sgd {
    float lr, momentum, weight_decay;
    float grad_scale; /* 1 / workers where g is a sum, else 1 */
};

#define SGD_VELOCITY_MIN 1e-30f

struct work {
    double flops, bytes; /* bytes: streamed through memory by element-wise operations */
};

enum precision { /* of the multiplications of GEMMs and convolutions; everything else is fp32 */
                 PRECISION_FP32,
                 PRECISION_TF32, /* 10-bit mantissa, fp32 range and sums (GPU) */
                 PRECISION_BF16, /* operands rounded to bfloat16, fp32 sums; parameters stay fp32 */
};

struct compute_env {                                       /* a zeroed one is valid */
    void (*charge)(void *arg, double flops, double bytes); /* NULL: real time passes by itself */
    void (*pass)(void *arg, uint64_t ns);                  /* NULL: nothing; replay lets recorded time pass */
    void *arg;
    int n_threads; /* that share the work of each call, the caller among them; 0: 1 */
    bool may_spin; /* there is a core for each of them */
    enum precision precision;
    int device;       /* cuda: which GPU */
    bool gemms_alone; /* a yardstick: convolutions and GEMMs do their GEMMs, same shapes and split, on
                         whatever lies in scratch; every other operation does nothing */
};

enum { COMPUTE_MARKS = 16 };

struct compute_backend {
    struct module module; /* caps: enum compute_caps */
    bool touches_memory;  /* false: arrays may be NULL and keep what they hold */
    bool host_memory;     /* memory of this backend can be read and written by the host */

    /* RC_UNSUPPORTED: precision or device not to be had here (says why). */
    enum rc (*open)(struct compute **out, const struct compute_env *env);
    void (*close)(struct compute **c);

    /* n_bytes of memory, zeroed, every page touched; RC_NOMEM names needed and available.
     * hollow: NULL. */
    enum rc (*memory_open)(struct compute *c, void **out, size_t n_bytes);
    void (*memory_close)(struct compute *c, void **memory);
    /* Bytes that memory_open could still give, about; SIZE_MAX: not known. */
    size_t (*memory_available)(struct compute *c);
    /* Optional (may be NULL): what the device calls itself, "NVIDIA H200". */
    void (*device_name)(struct compute *c, char *out, size_t n_bytes);
    /* Optional (both or neither): n_bytes of host memory, zeroed, that put() and get() copy from and to at the full
     * speed of the link, without a copy on the way: pinned memory, of which there is little. RC_NOMEM. */
    enum rc (*host_open)(struct compute *c, void **out, size_t n_bytes);
    void (*host_close)(struct compute *c, void **memory);
    /* Host to backend memory and back. put() returns when host may be changed, get() when it is filled. */
    void (*put)(struct compute *c, void *to, const void *host, size_t n_bytes);
    void (*get)(struct compute *c, void *host, const void *from, size_t n_bytes);
    /* Optional (may be NULL): wait for all calls; report what failed (C4). */
    enum rc (*sync)(struct compute *c);
    /* Optional (may be NULL): mark k, 0 .. COMPUTE_MARKS-1, stands after the calls made so far. Does not wait. */
    void (*mark)(struct compute *c, int k);
    /* Optional, with mark: from now on get() and sync() wait for the calls before mark k alone, so later ones
     * go on meanwhile; what get() reads must not be written by them. k -1: as ever. */
    void (*as_of)(struct compute *c, int k);

    void (*gemm)(struct compute *c, const struct gemm *g);

    /* y(C_out,B,out_h,out_w) = e(conv(x(C,B,H,W), weight(C_out,C,kernel_h,kernel_w))). */
    void (*conv)(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
                 const struct conv_shape *s);
    /* dx = gradient of x; add: dx += it. */
    void (*conv_input_grad)(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                            const struct conv_shape *s);
    /* dweight = gradient of weight (overwrites). */
    void (*conv_weight_grad)(struct compute *c, float *dweight, const float *dy, const float *x,
                             const struct conv_shape *s);
    /* relu != NULL: first dy(C,n) = relu > 0 ? dy : 0 in place, relu(C,n) being the relu's output. Then
     * dbias(C) = sums over n (overwrites). */
    void (*conv_bias_grad)(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n);

    /* Training: z(C,n) from y(C,n); z may be y's memory only if no gradient is wanted. mean(C), inv_std(C):
     * kept for the gradient; running_mean, running_var(C): updated (var: unbiased). add: NULL or (C,n). */
    void (*batch_norm)(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,
                       float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                       const struct batch_norm *s);
    /* Inference: scale = gamma / sqrt(running_var + epsilon), shift = beta - running_mean scale: an
     * epilogue of the convolution before. */
    void (*batch_norm_fold)(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                            const float *running_mean, const float *running_var, const struct batch_norm *s);
    /* z NULL: there was no add; the relu's mask is then worked out from y. Otherwise z is the output. dz is
     * replaced by the masked dz (which is the gradient of add), dy = gradient of y; dy may be dz's memory
     * when z is NULL. dgamma, dbeta(C): overwritten. */
    void (*batch_norm_grad)(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                            const float *z, const float *gamma, const float *beta, const float *mean,
                            const float *inv_std, const struct batch_norm *s);

    /* y(C,B,out_h,out_w) = window maximum; at(same shape) = kernel_w kh + kw of the first one. Padding
     * never wins: only elements of x are compared. kernel_h kernel_w <= 256. NaN wins. */
    void (*max_pool)(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g);
    /* dx(C,B,H,W) = scattered dy; add: dx += it. */
    void (*max_pool_grad)(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                          const struct window *g);
    /* y(C,B,out_h,out_w) = window sum / (kernel_h kernel_w): zeros around count. */
    void (*avg_pool)(struct compute *c, float *y, const float *x, const struct window *g);
    void (*avg_pool_grad)(struct compute *c, float *dx, const float *dy, bool add, const struct window *g);
    /* y(C,B,out_h,out_w): output (i,j) is the mean of rows floor(i H / out_h) .. ceil((i+1) H / out_h) - 1 and
     * columns likewise. 1 x 1 is global pooling; g's kernel, stride and pad are not looked at. */
    void (*adaptive_pool)(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w);
    void (*adaptive_pool_grad)(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                               int out_h, int out_w);
    /* x[i] = dropout_kept(key, i, keep_ratio) ? x[i] / keep_ratio : 0 in place (dropout.h): the same elements on every
     * backend, a share keep_ratio of all. Applied to the gradient it is its own backward. */
    void (*dropout)(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key);
    /* y = x with the first two axes swapped: (a,b,inner) -> (b,a,inner). */
    void (*swap_axes)(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner);

    /* y(outer,n,inner) += bias(n). */
    void (*bias_add)(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner);
    /* dbias(n) += sum over outer and inner of dy(outer,n,inner). */
    void (*bias_grad)(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner);
    /* x = max(x, 0) in place, NaN stays NaN; dx = x > 0 ? dx : 0 in place, x being the output of relu. */
    void (*relu)(struct compute *c, float *x, size_t n);
    void (*relu_grad)(struct compute *c, float *dx, const float *x, size_t n);
    /* Mean cross-entropy over B rows of logits(B,K); dlogits = weight d mean / d logits (NULL: none);
     * n_correct (NULL: not wanted) counts rows whose largest logit, the first of equals, is the label.
     * mean_loss, n_correct: the host's, filled by the next sync (C4). hollow: loss NaN, n_correct 0. */
    void (*softmax_xent)(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                         const uint32_t *label, float weight, size_t B, size_t K);
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
extern const struct compute_backend compute_cuda; /* where it is built in */

/* The backends: option --compute. */
extern const struct module_kind compute_kind;
/* RC_INVAL names the nearest; RC_UNSUPPORTED: known, but not built in (says why). */
enum rc compute_find(const struct compute_backend **out, const char *name) MUST_CHECK;

/* env NULL: a zeroed one. */
enum rc compute_open(struct compute **out, const struct compute_backend *ops, const struct compute_env *env) MUST_CHECK;
void compute_close(struct compute **c); /* NULL-safe, nulls */
/* C2, C4. */
enum rc compute_sync(struct compute *c) MUST_CHECK;
/* Let ns pass, as a workload that was recorded does. Cannot fail. */
void compute_pass(struct compute *c, uint64_t ns);

/* C5. RC_NOMEM: "WHAT: needs N bytes, M available". what: for the message. */
enum rc compute_memory_open(struct compute *c, void **out, size_t n_bytes, const char *what) MUST_CHECK;
void compute_memory_close(struct compute *c, void **memory); /* NULL-safe, nulls */
/* Host memory for put() and get(), zeroed; of a backend without host_open(), ordinary memory. RC_NOMEM: "WHAT: ...". */
enum rc compute_host_open(struct compute *c, void **out, size_t n_bytes, const char *what) MUST_CHECK;
void compute_host_close(struct compute *c, void **memory); /* NULL-safe, nulls */
void compute_put(struct compute *c, void *to, const void *host, size_t n_bytes);
void compute_get(struct compute *c, void *host, const void *from, size_t n_bytes);
bool compute_has_marks(const struct compute *c);
/* Of a backend that has them. */
void compute_mark(struct compute *c, int k);
void compute_as_of(struct compute *c, int k);

/* Wrappers, one per operation, arguments as above; they assert shapes and count work: a GEMM is
 * 2MNK flops and no bytes, a convolution the flops of its GEMM and the bytes of its input, output and
 * weight once each, element-wise operations count bytes read and written. Shapes alone decide, never
 * whether an array is NULL, so all backends count the same: gradients of the losses always count,
 * velocity counts when momentum is not 0. */
void compute_gemm(struct compute *c, const struct gemm *g);
void compute_conv(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
                  const struct conv_shape *s);
void compute_conv_input_grad(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                             const struct conv_shape *s);
void compute_conv_weight_grad(struct compute *c, float *dweight, const float *dy, const float *x,
                              const struct conv_shape *s);
void compute_conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n);
void compute_batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,
                        float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                        const struct batch_norm *s);
void compute_batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                             const float *running_mean, const float *running_var, const struct batch_norm *s);
void compute_batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                             const float *z, const float *gamma, const float *beta, const float *mean,
                             const float *inv_std, const struct batch_norm *s);
void compute_max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g);
void compute_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                           const struct window *g);
void compute_avg_pool(struct compute *c, float *y, const float *x, const struct window *g);
void compute_avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g);
void compute_adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w);
void compute_adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                                int out_h, int out_w);
void compute_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key);
void compute_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner);
void compute_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner);
void compute_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner);
void compute_relu(struct compute *c, float *x, size_t n);
void compute_relu_grad(struct compute *c, float *dx, const float *x, size_t n);
void compute_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                          const uint32_t *label, float weight, size_t B, size_t K);
void compute_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target,
                         size_t n);
void compute_zero(struct compute *c, float *x, size_t n);
void compute_accumulate(struct compute *c, float *y, const float *x, size_t n);
void compute_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s);

#endif
