/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements.cu - operations on single elements, bound by memory.
 *
 * One thread per VECTOR_ELEMS neighbours: 16-byte accesses if all arrays are aligned, else element by element, with the
 * same result.
 */
#include "harness/compute/cuda/kernels.cuh"
#include "harness/compute/dropout.h"

/* y[i] = f(y[i], x[i]); x may be NULL. */
template <typename F> static __global__ void map_kernel(float *y, const float *x, size_t n, bool aligned, F f)
{
    for (size_t i = thread_index() * VECTOR_ELEMS; i < n; i += thread_stride() * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, n);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad a = quad_load(y + i, n_here, wide), b = { { 0.0f, 0.0f, 0.0f, 0.0f } };
        if (x != NULL)
            b = quad_load(x + i, n_here, wide);
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++)
            a.v[k] = f(a.v[k], b.v[k], i + k);
        quad_store(y + i, a, n_here, wide);
    }
}

template <typename F> static void map_launch(float *y, const float *x, size_t n, F f, cuda_stream stream)
{
    const bool aligned = is_aligned16(y) && is_aligned16(x);

    if (n > 0)
        CUDA_LAUNCH(map_kernel<F>, blocks_for((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS), BLOCK_THREADS, stream, y, x, n,
                    aligned, f);
}

struct relu_grad_of {
    __device__ float operator()(float dx, float x, size_t) const
    {
        return x > 0.0f ? dx : 0.0f;
    }
};

struct sum_of {
    __device__ float operator()(float y, float x, size_t) const
    {
        return y + x;
    }
};

struct dropout_of {
    float keep_ratio, scale;
    const uint64_t *key;

    __device__ float operator()(float x, float, size_t i) const
    {
        return dropout_kept(*key, i, keep_ratio) ? x * scale : 0.0f;
    }
};

void cuda_relu_grad(float *dx, const float *x, size_t n, cuda_stream stream)
{
    map_launch(dx, x, n, relu_grad_of(), stream);
}

void cuda_accumulate(float *y, const float *x, size_t n, cuda_stream stream)
{
    map_launch(y, x, n, sum_of(), stream);
}

void cuda_dropout(float *x, size_t n, float keep_ratio, const uint64_t *key, cuda_stream stream)
{
    struct dropout_of f;

    f.keep_ratio = keep_ratio;
    f.scale = 1.0f / keep_ratio;
    f.key = key;
    map_launch(x, NULL, n, f, stream);
}

/* v may be NULL: then momentum is 0. */
static __global__ void sgd_kernel(float *p, float *v, const float *g, size_t n, struct cuda_sgd s, bool aligned)
{
    for (size_t i = thread_index() * VECTOR_ELEMS; i < n; i += thread_stride() * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, n);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad param = quad_load(p + i, n_here, wide), velocity = { { 0.0f, 0.0f, 0.0f, 0.0f } };
        const struct quad grad = quad_load(g + i, n_here, wide);
        if (v != NULL)
            velocity = quad_load(v + i, n_here, wide);
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++) {
            const float d = s.grad_scale * grad.v[k] + s.weight_decay * param.v[k];
            float next = d;
            if (v != NULL) {
                next = s.momentum * velocity.v[k] + d;
                next = fabsf(next) < s.velocity_min ? 0.0f : next;
            }
            velocity.v[k] = next;
            param.v[k] -= s.lr * next;
        }
        if (v != NULL)
            quad_store(v + i, velocity, n_here, wide);
        quad_store(p + i, param, n_here, wide);
    }
}

void cuda_sgd_step(float *p, float *v, const float *g, size_t n, const struct cuda_sgd *s, cuda_stream stream)
{
    const bool aligned = is_aligned16(p) && is_aligned16(v) && is_aligned16(g);

    if (n > 0)
        CUDA_LAUNCH(sgd_kernel, blocks_for((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS), BLOCK_THREADS, stream, p, v, g, n,
                    *s, aligned);
}

static __global__ void adagrad_kernel(float *p, float *sum, const float *g, size_t n, struct cuda_adagrad s,
                                      bool aligned)
{
    for (size_t i = thread_index() * VECTOR_ELEMS; i < n; i += thread_stride() * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, n);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad param = quad_load(p + i, n_here, wide), squares = quad_load(sum + i, n_here, wide);
        const struct quad grad = quad_load(g + i, n_here, wide);
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++) {
            const float d = s.grad_scale * grad.v[k] + s.weight_decay * param.v[k], next = squares.v[k] + d * d;
            squares.v[k] = next < s.squares_min ? 0.0f : next;
            param.v[k] -= s.lr * d / (sqrtf(squares.v[k]) + s.epsilon);
        }
        quad_store(sum + i, squares, n_here, wide);
        quad_store(p + i, param, n_here, wide);
    }
}

void cuda_adagrad_step(float *p, float *sum, const float *g, size_t n, const struct cuda_adagrad *s, cuda_stream stream)
{
    const bool aligned = is_aligned16(p) && is_aligned16(sum) && is_aligned16(g);

    if (n > 0)
        CUDA_LAUNCH(adagrad_kernel, blocks_for((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS), BLOCK_THREADS, stream, p, sum, g,
                    n, *s, aligned);
}

static __global__ void adam_kernel(float *p, float *m, float *v, const float *g, size_t n, struct cuda_adam s,
                                   bool aligned)
{
    for (size_t i = thread_index() * VECTOR_ELEMS; i < n; i += thread_stride() * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, n);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad param = quad_load(p + i, n_here, wide), mean = quad_load(m + i, n_here, wide);
        struct quad squares = quad_load(v + i, n_here, wide);
        const struct quad grad = quad_load(g + i, n_here, wide);
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++) {
            const float d = s.grad_scale * grad.v[k] + s.weight_decay * param.v[k];
            const float next_m = s.beta1 * mean.v[k] + s.rest1 * d;
            const float next_v = s.beta2 * squares.v[k] + s.rest2 * (d * d);
            mean.v[k] = fabsf(next_m) < s.velocity_min ? 0.0f : next_m;
            squares.v[k] = next_v < s.squares_min ? 0.0f : next_v;
            param.v[k] -= s.rate * mean.v[k] / (s.root * sqrtf(squares.v[k]) + s.epsilon);
        }
        quad_store(m + i, mean, n_here, wide);
        quad_store(v + i, squares, n_here, wide);
        quad_store(p + i, param, n_here, wide);
    }
}

void cuda_adam_step(float *p, float *m, float *v, const float *g, size_t n, const struct cuda_adam *s,
                    cuda_stream stream)
{
    const bool aligned = is_aligned16(p) && is_aligned16(m) && is_aligned16(v) && is_aligned16(g);

    if (n > 0)
        CUDA_LAUNCH(adam_kernel, blocks_for((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS), BLOCK_THREADS, stream, p, m, v, g,
                    n, *s, aligned);
}

/* out(b, a, inner) = in(a, b, inner), one thread per element. With inner 1 reads are n_b elements apart, which is slow,
 * but that is used for logits and their gradient only. */
static __global__ void swap_axes_kernel(float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    const size_t n = n_a * n_b * n_inner;

    for (size_t i = thread_index(); i < n; i += thread_stride()) {
        const size_t pair = divided(i, n_inner), b = divided(pair, n_a), a = pair - b * n_a, k = i - pair * n_inner;
        out[i] = in[(a * n_b + b) * n_inner + k];
    }
}

void cuda_swap_axes(float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner, cuda_stream stream)
{
    const size_t n = n_a * n_b * n_inner;

    if (n > 0)
        CUDA_LAUNCH(swap_axes_kernel, blocks_for(n), BLOCK_THREADS, stream, out, in, n_a, n_b, n_inner);
}

static __global__ void bias_add_kernel(float *y, const float *bias, size_t n_elems, size_t n, size_t inner)
{
    for (size_t i = thread_index(); i < n_elems; i += thread_stride())
        y[i] += bias[divided(i, inner) % n];
}

void cuda_bias_add(float *y, const float *bias, size_t outer, size_t n, size_t inner, cuda_stream stream)
{
    const size_t n_elems = outer * n * inner;

    if (n_elems > 0)
        CUDA_LAUNCH(bias_add_kernel, blocks_for(n_elems), BLOCK_THREADS, stream, y, bias, n_elems, n, inner);
}
