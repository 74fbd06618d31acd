/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.h - the operations of a training step on a compute device, and their cost.
 *
 * "cpu" (oneDNN or CBLAS; threads share an operation, each calls its own GEMMs) is the reference that every other
 * backend must match (suite/compute_suite.h). "cuda" is one GPU. "hollow" computes nothing: it accepts NULL for every
 * array and only counts the work; it needs a world with virtual time.
 *
 * Invariants
 *   C1  Equal inputs in arrays of equal alignment give equal bits. This holds on every run, rank and world, with any
 *       n_threads, for calls queued one by one or as a graph. The reason: summation order and the split of the work
 *       depend only on shapes. It holds at other alignments too (an alignment is an address modulo
 *       COMPUTE_ALIGN_BYTES). Exception: if the backend lacks bits_at_any_alignment, a GEMM or convolution may round
 *       differently there. Memory of memory_open() starts on COMPUTE_ALIGN_BYTES, and a run lays out its contents by
 *       shapes alone, so all ranks of all worlds have equal alignment. Another kind of CPU or GPU, or another GEMM
 *       library, may give other bits.
 *   C2  The wrappers count the work of every call. compute_sync() passes what was counted since the last sync to
 *       env.charge, so callers sync before they send a message or read a clock.
 *   C3  Nothing allocates between the first call of an operation with its largest shape and close.
 *   C4  Calls run in order; only compute_sync(), put() and get() wait. Results for the host (losses, n_correct) are
 *       valid after compute_sync(). A failed call is reported by the next sync.
 *   C5  Arrays of operations are in memory of compute_memory_open(). If the backend has host_memory, any other host
 *       memory that starts on 64 bytes is allowed too. The host may read and write memory of a backend only if it has
 *       host_memory. mean_loss and n_correct are host memory.
 *   C6  Every call of an operation, and compute_pass(), first calls env.tick, to show that its owner is alive. Code
 *       that works for long without such a call must call compute_tick().
 *
 * Arrays are row-major; the first letter of a shape is the slowest index. Activations are channel-major, (C, B, H, W).
 * So a pointwise convolution is one GEMM on the arrays as stored. The values of a channel (which batch norm sums) are
 * contiguous, and concatenating channels needs no copy. Arrays may not overlap unless said. One thread calls; a backend
 * may use more threads inside a call.
 *
 * An operation is described by a struct, which the backend reads before it returns; the arrays in it must stay valid
 * until the next sync. Operations cannot fail; shapes are asserted.
 */
#ifndef HARNESS_COMPUTE_COMPUTE_H
#define HARNESS_COMPUTE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"
#include "harness/compute/narrow.h"

struct compute;
struct compute_side_ops;

enum compute_caps {                         /* flags of a backend's module */
                    COMPUTE_SIDE = 1u << 0, /* libraries can work in its memory at the same time (side.h) */
};

/* --- shapes --- */

/* Geometry of a convolution or pooling window over (C, B, H, W). */
struct window {
    int B, C, H, W;         /* input */
    int kernel_h, kernel_w; /* >= 1 */
    int stride_h, stride_w; /* >= 1 */
    int pad_h, pad_w;       /* zeros on each side; 0 <= pad < kernel, so every window covers part of the input */
};
int window_out_h(const struct window *g); /* (H + 2 pad_h - kernel_h) / stride_h + 1 */
int window_out_w(const struct window *g);

/* A convolution. A dense layer is one whose kernel covers its whole input: weight (C_out, C kernel_h kernel_w) is then
 * (N, K) for the input flattened in the order C, H, W. */
struct conv_shape {
    struct window in;
    int C_out;
};

/* A packed array (rows, n) has the same values as bfloat16, rounded to nearest, ties to even. Rows are
 * packed_row_elems(n) apart; elements after the n of a row are never read. For computes with compute_takes_packed();
 * others get NULL. As an input it is read instead of the float array, which may be NULL. As an output it is written in
 * addition to the float array, or alone where that one "may be NULL". Results have the same bits as without it. */
enum { PACKED_ROW_ELEMS = 8 };
static inline size_t packed_row_elems(size_t n)
{
    return (n + PACKED_ROW_ELEMS - 1) / PACKED_ROW_ELEMS * PACKED_ROW_ELEMS;
}

#define BATCH_NORM_EPSILON 1e-5f
/* Batch normalisation of C channels over n = B H W values each (Ioffe and Szegedy, 2015):
 * z = gamma (y - mean) / sqrt(var + epsilon) + beta [+ add] [relu: NaN stays NaN]. */
struct batch_norm {
    size_t C, n;
    float epsilon;
    float momentum; /* for the running values: r = (1 - momentum) r + momentum new */
    bool relu;
};

struct sgd {
    float lr, momentum, weight_decay;
    float grad_scale; /* 1 / workers if g is a sum, else 1 */
};

#define SGD_VELOCITY_MIN 1e-30f

struct adagrad {
    float lr, epsilon, weight_decay;
    float grad_scale; /* as in sgd */
};

/* For step t, the first being 1: beta1 and beta2 as given, rest1 = 1 - beta1, rest2 = 1 - beta2. */
struct adam {
    float beta1, rest1, beta2, rest2, epsilon, weight_decay;
    float grad_scale; /* as in sgd */
    float rate;       /* lr / (1 - beta1^t) */
    float root;       /* 1 / sqrt(1 - beta2^t) */
};

#define UPDATE_SQUARES_MIN 1e-36f

/* --- operations --- */

/* C(M,N) = op(A)(M,K) op(B)(K,N) + beta C; op transposes if asked: A is then stored as (K,M), B as (N,K). Row lengths
 * lda, ldb and ldc are those of the arrays as stored, without padding.
 * beta 0: c is written, never read, so it may hold anything. M, N, K >= 1. */
struct gemm {
    bool transpose_a, transpose_b;
    int M, N, K;
    const float *a, *b;
    float beta;
    float *c;
};

/* Applied to each output v before it is stored: scale[c] v + shift[c] + add; relu: max(v, 0), NaN stays NaN. */
struct epilogue {
    const float *scale; /* (C_out); NULL: 1 */
    const float *shift; /* (C_out); NULL: 0. A bias, or the rest of a folded batch norm */
    const float *add;   /* shape of the output; NULL: 0 */
    bool relu;
};

/* y(C_out,B,out_h,out_w) = epilogue(x(C,B,H,W) * weight(C_out,C,kernel_h,kernel_w)). 2 |y| C kernel_h kernel_w flop. */
struct conv_forward {
    struct conv_shape shape;
    float *y;
    const float *x, *weight;
    struct epilogue epilogue;
    uint16_t *y_packed;       /* (C_out, B out_h out_w); not y's memory */
    const uint16_t *x_packed; /* (C, B H W) */
    uint16_t *weight_packed;  /* (C_out, C kernel_h kernel_w): written, and kept for the gradient; NULL: not kept */
    bool weight_is_packed;    /* it is already written: read it */
};

/* dx(C,B,H,W) = gradient of x, from dy(C_out,B,out_h,out_w); add: dx += it. */
struct conv_input_grad {
    struct conv_shape shape;
    float *dx;
    const float *dy, *weight;
    bool add;
    const uint16_t *dy_packed, *weight_packed; /* as in conv_forward */
};

/* dweight(C_out,C,kernel_h,kernel_w) = gradient of weight (overwrites). */
struct conv_weight_grad {
    struct conv_shape shape;
    float *dweight;
    const float *dy, *x;
    const uint16_t *dy_packed, *x_packed;
};

/* relu != NULL: first dy(C,n) = relu > 0 ? dy : 0 in place; relu(C,n) is the output of the relu. Then dbias(C) = sums
 * over n (overwrites). */
struct conv_bias_grad {
    size_t C, n;
    float *dbias, *dy;
    const float *relu;
    uint16_t *dy_packed; /* (C,n): dy after that */
};

/* Training: z(C,n) from y(C,n); z may be y's memory only if no gradient is wanted. */
struct batch_norm_forward {
    struct batch_norm shape;
    float *z;                          /* may be NULL where it is packed */
    uint16_t *z_packed;                /* (C,n) */
    float *mean, *inv_std;             /* (C), kept for the gradient */
    float *running_mean, *running_var; /* (C), updated; var: unbiased */
    const float *y, *gamma, *beta;     /* gamma, beta: (C) */
    const float *add;                  /* (C,n); NULL: 0 */
};

/* Inference: scale = gamma / sqrt(running_var + epsilon), shift = beta - running_mean scale; all (C). Used as the
 * epilogue of the preceding convolution. */
struct batch_norm_fold {
    struct batch_norm shape;
    float *scale, *shift;
    const float *gamma, *beta, *running_mean, *running_var;
};

/* dy(C,n) = gradient of y; dgamma, dbeta(C): overwritten. dz(C,n) is replaced by dz masked by the relu, which is the
 * gradient of add. dy may be dz's memory when z is NULL. */
struct batch_norm_grad {
    struct batch_norm shape;
    float *dy; /* may be NULL where it is packed */
    float *dgamma, *dbeta, *dz;
    uint16_t *dy_packed; /* (C,n) */
    const float *y;
    const float *z; /* (C,n), the forward output; NULL: there was no add, the relu's mask is recomputed from y */
    const float *gamma, *beta, *mean, *inv_std;
};

/* y(C,B,out_h,out_w) from x(C,B,H,W).
 * max_pool: maximum of the window; NaN wins, padding never does. kernel_h kernel_w <= 256.
 * avg_pool: sum of the window / (kernel_h kernel_w); padding counts as 0.
 * adaptive_pool: output (i,j) is the mean of rows floor(i H / out_h) .. ceil((i+1) H / out_h) - 1 and columns
 * likewise. 1 x 1 is global pooling; kernel, stride and pad are not read. */
struct pool_forward {
    struct window window;
    int out_h, out_w;   /* adaptive_pool only */
    float *y;           /* may be NULL where it is packed */
    uint16_t *y_packed; /* (C, B out_h out_w) */
    uint8_t *argmax;    /* max_pool only, shape of y: kernel_w kh + kw of the first maximum */
    const float *x;
};

/* dx(C,B,H,W) = gradient of x from dy(C,B,out_h,out_w); add: dx += it. */
struct pool_grad {
    struct window window;
    int out_h, out_w; /* adaptive_pool only */
    float *dx;
    const float *dy;
    const uint8_t *argmax; /* max_pool only */
    bool add;
};

/* Mean cross-entropy over B rows of logits(B,K). hollow and gemm_only: mean_loss NaN, n_correct 0. */
struct softmax_xent {
    size_t B, K;
    double *mean_loss; /* host; filled by the next sync (compute.C4) */
    size_t
        *n_correct; /* host, likewise: rows whose largest logit, the first of equals, is the label; NULL: not wanted */
    float *dlogits; /* (B,K) = weight d mean_loss / d logits; NULL: none */
    const float *logits;
    const uint32_t *label; /* (B) */
    float weight;
};

/* result[k][i] = the sum over j of operand[j][i], added in the order of j, for each i < n. A result may be an operand;
 * arrays overlap in no other way. With one operand: a copy. */
struct sum_arrays {
    const float *const *operand; /* [n_operands] */
    float *const *result;        /* [n_results] */
    int n_operands, n_results;   /* at least 1 */
    size_t n;
};

struct work {
    double flops, bytes; /* bytes: read and written by element-wise operations */
};

enum precision { /* precision of the products in GEMMs and convolutions; everything else is fp32 */
                 PRECISION_FP32,
                 PRECISION_TF32, /* 10-bit mantissa, fp32 range and sums (GPU) */
                 PRECISION_BF16, /* operands rounded to bfloat16, fp32 sums; parameters stay fp32 */
};
/* RC_INVAL: no such precision (names the valid ones). */
enum rc precision_find(enum precision *out, const char *name) MUST_CHECK;

struct compute_env {                                       /* a zeroed one is valid */
    void (*charge)(void *arg, double flops, double bytes); /* NULL: real time passes by itself */
    void (*pass)(void *arg, uint64_t ns);                  /* NULL: nothing; replay uses it for recorded time */
    void (*tick)(void *arg);                               /* NULL: nothing; compute.C6 */
    void *arg;
    int n_threads; /* threads that share the work of each call, including the caller; 0: 1 */
    bool may_spin; /* threads may spin: each has a core */
    enum precision precision;
    int device;       /* index, below device_count() */
    const void *opts; /* of the backend's module; NULL: its defaults */
    bool gemm_only; /* baseline: convolutions and GEMMs run their GEMMs alone, same shapes and tiling, on uninitialised
                       scratch; every other operation does nothing. On a device, whose clock rises where it multiplies
                       zeros, scratch and memory hold random numbers at first */
};

enum { COMPUTE_EVENTS = 16, COMPUTE_STAMPS = 4096, COMPUTE_ALIGN_BYTES = 256, COMPUTE_DEVICE_ID_BYTES = 32 };

/* The operations, each with its arguments behind the struct compute: what backends and wrappers are declared by.
 * Those of a device, and those for backends with host_memory; round() is declared apart, as its wrapper has an
 * argument more. */
#define COMPUTE_DEVICE_OPERATIONS(X)                                                            \
    X(gemm, const struct gemm *op)                                                              \
    X(conv, const struct conv_forward *op)                                                      \
    X(conv_input_grad, const struct conv_input_grad *op)                                        \
    X(conv_weight_grad, const struct conv_weight_grad *op)                                      \
    X(conv_bias_grad, const struct conv_bias_grad *op)                                          \
    X(batch_norm, const struct batch_norm_forward *op)                                          \
    X(batch_norm_fold, const struct batch_norm_fold *op)                                        \
    X(batch_norm_grad, const struct batch_norm_grad *op)                                        \
    X(max_pool, const struct pool_forward *op)                                                  \
    X(max_pool_grad, const struct pool_grad *op)                                                \
    X(avg_pool, const struct pool_forward *op)                                                  \
    X(avg_pool_grad, const struct pool_grad *op)                                                \
    X(adaptive_pool, const struct pool_forward *op)                                             \
    X(adaptive_pool_grad, const struct pool_grad *op)                                           \
    X(softmax_xent, const struct softmax_xent *op)                                              \
    X(dropout, float *x, size_t n, float keep_ratio, uint64_t key)                              \
    X(swap_axes, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)           \
    X(bias_add, float *y, const float *bias, size_t outer, size_t n, size_t inner)              \
    X(bias_grad, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)           \
    X(relu_grad, float *dx, const float *x, size_t n)                                           \
    X(mean_square, double *mean_loss, float *dy, const float *y, const float *target, size_t n) \
    X(zero, float *x, size_t n)                                                                 \
    X(accumulate, float *y, const float *x, size_t n)                                           \
    X(sgd_step, float *p, float *v, const float *g, size_t n, const struct sgd *s)              \
    X(adagrad_step, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)    \
    X(adam_step, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
#define COMPUTE_OPERATIONS(X)                                                     \
    COMPUTE_DEVICE_OPERATIONS(X)                                                  \
    X(sum_arrays, const struct sum_arrays *op)                                    \
    X(narrow, uint16_t *to, const float *from, size_t n, enum wire_format format) \
    X(widen, float *to, const uint16_t *from, size_t n, enum wire_format format, bool add)

/* Operations: NULL in a backend that touches no memory. The wrappers below skip NULL ones; with gemm_only they skip all
 * but GEMMs and convolutions. */
struct compute_backend {
    struct module module;
    bool touches_memory;        /* false: arrays may be NULL and keep what they hold */
    bool host_memory;           /* the host can read and write memory of this backend */
    bool bits_at_any_alignment; /* compute.C1, for GEMMs and convolutions */
    const char *device_kind;    /* "CPU" or "GPU", for closing lines */

    /* RC_UNSUPPORTED: this machine lacks the precision or the device (the message says why). */
    enum rc (*open)(struct compute **out, const struct compute_env *env);
    void (*close)(struct compute **c);

    /* n_bytes of memory from a multiple of COMPUTE_ALIGN_BYTES on (compute.C1), zeroed, every page touched; RC_NOMEM
     * names needed and available.
     * hollow: NULL. */
    enum rc (*memory_open)(struct compute *c, void **out, size_t n_bytes);
    void (*memory_close)(struct compute *c, void **memory);
    /* Approximate bytes that memory_open can still give; SIZE_MAX: not known. */
    size_t (*memory_available)(struct compute *c);
    /* Optional, with device_id: number of devices that this process sees, 1 or more. Errors: as open(). */
    enum rc (*device_count)(int *out);
    /* Optional, with device_count: a device, where it is, and which others it reaches directly; for people. Cut to
     * out[n_bytes]. Cannot fail: what is not known is left out. */
    void (*device_text)(int device, char *out, size_t n_bytes);
    /* Optional, with device_count: an id that is unique among the devices of the host, "0000:1b:00.0". */
    void (*device_id)(struct compute *c, char out[COMPUTE_DEVICE_ID_BYTES]);
    /* Optional (may be NULL; false): do the operations of c read and write packed arrays? */
    bool (*takes_packed)(const struct compute *c);
    /* Optional (may be NULL): bytes that the backend takes, in addition to memory_open(), for a convolution of this
     * shape, and for its gradients. An upper bound, for arrays that are not packed, except the weight if there are
     * gradients. Operations share these bytes: the maximum over all is needed once. */
    size_t (*scratch_bytes)(struct compute *c, const struct conv_shape *s, bool with_gradients);
    /* Allowance for other memory: graphs of steps and scratch of small operations. */
    size_t allowance_bytes;
    /* Optional (may be NULL): the device's name, "NVIDIA H200". */
    void (*device_name)(struct compute *c, char *out, size_t n_bytes);
    /* Optional (both or neither): n_bytes of host memory, zeroed. put() and get() copy from and to it at the full speed
     * of the link, without an intermediate copy. It is pinned memory, which is scarce. RC_NOMEM. */
    enum rc (*host_open)(struct compute *c, void **out, size_t n_bytes);
    void (*host_close)(struct compute *c, void **memory);
    /* Copy host to backend memory and back. put() returns when host may be changed; from memory of host_open(), when
     * the copy is complete. get() returns when host is filled. */
    void (*put)(struct compute *c, void *to, const void *host, size_t n_bytes);
    void (*get)(struct compute *c, void *host, const void *from, size_t n_bytes);
    /* Optional, with host_open(): put() of n_bytes of its memory that does not wait. It is not ordered after the calls
     * made so far, which must not use `to`; later calls are ordered after it. host may be changed after the next sync
     * of all calls. */
    void (*upload)(struct compute *c, void *to, const void *host, size_t n_bytes);
    /* Optional (may be NULL): start the calls made so far, if they would otherwise start only with a later call. Does
     * not wait. */
    void (*start)(struct compute *c);
    /* Optional (may be NULL): wait for all calls; report failures (compute.C4). */
    enum rc (*sync)(struct compute *c);
    /* Optional (may be NULL): record event k, 0 .. COMPUTE_EVENTS-1, after the calls made so far. Does not wait. */
    void (*record_event)(struct compute *c, int k);
    /* Optional, with record_event: from now on get(), put() and sync() wait only for event k, while later calls
     * continue. Later calls must not write what get() reads, nor use what put() writes. k -1: wait for all calls
     * again. */
    void (*wait_event)(struct compute *c, int k);
    /* Optional (both or neither): stamp k, 0 .. COMPUTE_STAMPS-1, is the device's time when it completes the calls made
     * so far. Does not wait. */
    void (*record_stamp)(struct compute *c, int k);
    /* Ns from stamp i to a later stamp k, both recorded before the last sync. */
    uint64_t (*stamp_ns)(struct compute *c, int i, int k);
    const struct compute_side_ops *side; /* with COMPUTE_SIDE; else NULL */

    void (*gemm)(struct compute *c, const struct gemm *op);
    void (*conv)(struct compute *c, const struct conv_forward *op);
    void (*conv_input_grad)(struct compute *c, const struct conv_input_grad *op);
    void (*conv_weight_grad)(struct compute *c, const struct conv_weight_grad *op);
    void (*conv_bias_grad)(struct compute *c, const struct conv_bias_grad *op);
    void (*batch_norm)(struct compute *c, const struct batch_norm_forward *op);
    void (*batch_norm_fold)(struct compute *c, const struct batch_norm_fold *op);
    void (*batch_norm_grad)(struct compute *c, const struct batch_norm_grad *op);
    void (*max_pool)(struct compute *c, const struct pool_forward *op);
    void (*max_pool_grad)(struct compute *c, const struct pool_grad *op);
    void (*avg_pool)(struct compute *c, const struct pool_forward *op);
    void (*avg_pool_grad)(struct compute *c, const struct pool_grad *op);
    void (*adaptive_pool)(struct compute *c, const struct pool_forward *op);
    void (*adaptive_pool_grad)(struct compute *c, const struct pool_grad *op);
    void (*softmax_xent)(struct compute *c, const struct softmax_xent *op);
    /* x[i] = dropout_kept(key, i, keep_ratio) ? x[i] / keep_ratio : 0 in place (dropout.h): the same elements on every
     * backend, a share keep_ratio of all. Applied to the gradient it is its own backward. */
    void (*dropout)(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key);
    /* out(b,a,inner) = in(a,b,inner). */
    void (*swap_axes)(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner);
    /* y(outer,n,inner) += bias(n). */
    void (*bias_add)(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner);
    /* dbias(n) += sum over outer and inner of dy(outer,n,inner). */
    void (*bias_grad)(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner);
    /* dx = x > 0 ? dx : 0 in place, x being the output of relu. */
    void (*relu_grad)(struct compute *c, float *dx, const float *x, size_t n);
    /* Mean of e^2 with e = y - target over n; dy = 2 e / n (NULL: none). mean_loss: as in softmax_xent. */
    void (*mean_square)(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n);
    /* x = 0. */
    void (*zero)(struct compute *c, float *x, size_t n);
    /* y += x: collectives use it to add messages. */
    void (*accumulate)(struct compute *c, float *y, const float *x, size_t n);
    /* For backends with host_memory: used by collectives in shared memory. Each operand is read once, each result
     * written once. */
    void (*sum_arrays)(struct compute *c, const struct sum_arrays *op);
    /* For backends with host_memory: conversion for messages of 16 bits (compute.H1 and H2); format: not WIRE_F32. to
     * = from; arrays do not overlap. */
    void (*narrow)(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format);
    /* to = from, or with add to += from. */
    void (*widen)(struct compute *c, float *to, const uint16_t *from, size_t n, enum wire_format format, bool add);
    /* x becomes x + residual rounded to 16 bits, and residual becomes the remainder. residual NULL: zeros, not kept. */
    void (*round)(struct compute *c, float *x, float *residual, size_t n, enum wire_format format);
    /* d = grad_scale g + weight_decay p; v = momentum v + d; p -= lr v. v NULL: momentum is 0 and v = d. g is only
     * read. A v below SGD_VELOCITY_MIN in magnitude becomes 0. Otherwise, if a gradient stays 0, v decays into denormal
     * numbers, which cost 100 times as much. */
    void (*sgd_step)(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s);
    /* d as in sgd_step; sum += d d; p -= lr d / (sqrt(sum) + epsilon) (Duchi, Hazan, Singer: JMLR 12, 2011, whose delta
     * is outside the root). A sum below UPDATE_SQUARES_MIN becomes 0: it would be a denormal number. */
    void (*adagrad_step)(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s);
    /* d as in sgd_step; m = beta1 m + rest1 d; v = beta2 v + rest2 d d; p -= rate m / (root sqrt(v) + epsilon) (Kingma
     * and Ba: ICLR 2015, algorithm 1). An m below SGD_VELOCITY_MIN in magnitude, or a v below UPDATE_SQUARES_MIN,
     * becomes 0. */
    void (*adam_step)(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s);
};

struct compute { /* first member of each backend's struct */
    const struct compute_backend *ops;
    struct compute_env env;
    struct work since_sync, total;
};

extern const struct compute_backend compute_cpu, compute_hollow;
extern const struct compute_backend compute_cuda; /* if built in */

/* The backends: option --compute. */
extern const struct module_kind compute_kind;
/* The backends with real, measurable time: --compute of gradmark profile. */
extern const struct module_kind measured_compute_kind;
/* RC_INVAL names the nearest valid name; RC_UNSUPPORTED: known, but not built in (says why). */
enum rc compute_find(const struct compute_backend **out, const char *name) MUST_CHECK;

/* env NULL: a zeroed one. */
enum rc compute_open(struct compute **out, const struct compute_backend *ops, const struct compute_env *env) MUST_CHECK;
void compute_close(struct compute **c); /* NULL-safe, nulls */
bool compute_takes_packed(const struct compute *c);
/* compute.C2, C4. */
enum rc compute_sync(struct compute *c) MUST_CHECK;
/* Let ns pass, for a workload of recorded times. Cannot fail. */
void compute_pass(struct compute *c, uint64_t ns);
void compute_tick(struct compute *c); /* compute.C6 */

/* compute.C5. RC_NOMEM: "WHAT: needs N bytes, M available". what: for the message. */
/* Does it have separate memory that the host cannot access? */
static inline bool compute_has_own_memory(const struct compute_backend *b)
{
    return b->touches_memory && !b->host_memory;
}
enum rc compute_memory_open(struct compute *c, void **out, size_t n_bytes, const char *what) MUST_CHECK;
void compute_memory_close(struct compute *c, void **memory); /* NULL-safe, nulls */
/* Host memory for put() and get(), zeroed; ordinary memory if the backend has no host_open(). RC_NOMEM: "WHAT: ...". */
enum rc compute_host_open(struct compute *c, void **out, size_t n_bytes, const char *what) MUST_CHECK;
void compute_host_close(struct compute *c, void **memory); /* NULL-safe, nulls */
void compute_put(struct compute *c, void *to, const void *host, size_t n_bytes);
void compute_get(struct compute *c, void *host, const void *from, size_t n_bytes);
/* Does nothing if calls start at once. */
void compute_start(struct compute *c);
/* Only for a backend with upload(). */
void compute_upload(struct compute *c, void *to, const void *host, size_t n_bytes);
/* get() and sync(), for data that is kept, sent or judged. Errors: a failure of it, or of earlier calls; host may then
 * hold anything. */
enum rc compute_fetch(struct compute *c, void *host, const void *from, size_t n_bytes) MUST_CHECK;
bool compute_has_events(const struct compute *c);
/* Only for a backend with events. */
void compute_record_event(struct compute *c, int k);
void compute_wait_event(struct compute *c, int k);

/* Wrappers, one per operation, arguments as above. They assert shapes and count work. A GEMM is 2 M N K flops and no
 * bytes. A convolution is the flops of its GEMM and the bytes of its input, output and weight once each. Element-wise
 * operations are the bytes read and written. Only shapes count, never whether an array is NULL, so all backends count
 * the same. Gradients of the losses always count; velocity counts if momentum is not 0. */
#define X(name, ...) void compute_##name(struct compute *c, __VA_ARGS__);
COMPUTE_OPERATIONS(X)
#undef X
/* has_residual: count the work with a residual. */
void compute_round(struct compute *c, float *x, float *residual, size_t n, enum wire_format format, bool has_residual);

#endif
