/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - loops that a compiler turns into vector code: see kernels.h.
 *
 * Compiled several times: CPU_KERNELS is the name of this build's table, CPU_KERNELS_ISA its instruction set.
 */
#include "harness/compute/cpu/kernels.h"

#include <math.h>
#include <string.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

#include "harness/compute/dropout.h"
#include "harness/compute/narrow.h"

enum {
    N_LANES = 32,
    BLOCK = 2048, /* elements summed in fp32 lanes; the sums of blocks are added in double */
};

extern const struct cpu_kernels CPU_KERNELS;
extern const struct cpu_pool_kernels CPU_POOL_KERNELS; /* of kernels_pool.c, for the same instruction set */

/* --- im2col and its reverse --- */

static void strided_copy(float *restrict to, const float *restrict from, size_t stride, size_t n)
{
    if (stride == 2)
        for (size_t i = 0; i < n; i++)
            to[i] = from[2 * i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = from[i * stride];
}

static void masked_copy(float *restrict to, const float *restrict from, const float *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = mask[i] != 0.0f ? from[i] : 0.0f;
}

static void masked_add(float *restrict to, const float *restrict from, const float *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = mask[i] != 0.0f ? to[i] + from[i] : to[i];
}

static void strided_add(float *restrict to, size_t stride, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i * stride] += from[i];
}

/* --- sums --- */

static void add(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void sum_two(float *z, const float *x, const float *y, size_t n)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        z[i] = x[i] + y[i];
}

static void sum_both(float *restrict x, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = y[i] = x[i] + y[i];
}

/* A line of each operand at a time, and the whole line of each result at once: that needs no read before. */
#ifdef __SSE__
static void stream_sums(const struct sum_arrays *op, size_t from, size_t n)
{
    enum { N = 4 }; /* vectors of 4 elements */

    for (size_t i = from; i < from + n; i += STREAM_ELEMS) {
        __m128 sum[N];
        for (size_t v = 0; v < N; v++)
            sum[v] = _mm_loadu_ps(op->operand[0] + i + 4 * v);
        for (int j = 1; j < op->n_operands; j++)
            for (size_t v = 0; v < N; v++)
                sum[v] = _mm_add_ps(sum[v], _mm_loadu_ps(op->operand[j] + i + 4 * v));
        for (int k = 0; k < op->n_results; k++)
            for (size_t v = 0; v < N; v++)
                _mm_stream_ps(op->result[k] + i + 4 * v, sum[v]);
    }
    _mm_sfence();
}
#define STREAM_SUMS stream_sums
#else
#define STREAM_SUMS NULL
#endif

static void add_constant(float *restrict y, float value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += value;
}

static void add_scaled(float *restrict y, const float *restrict x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

static size_t block_elems(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}

static float lanes_sum(const float *lane)
{
    float sum = 0.0f;

    for (size_t j = 0; j < N_LANES; j++)
        sum += lane[j];
    return sum;
}

static float block_sum(const float *x, size_t n)
{
    float lane[N_LANES] = { 0.0f };
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++)
            lane[j] += x[i + j];
    for (size_t j = 0; i < n; i++, j++)
        lane[j] += x[i];
    return lanes_sum(lane);
}

static double sum(const float *x, size_t n)
{
    double total = 0.0;

    for (size_t i = 0; i < n; i += BLOCK)
        total += (double)block_sum(x + i, block_elems(i, n));
    return total;
}

static float dot(const float *x, const float *y, size_t n)
{
    float lane[N_LANES] = { 0.0f };
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++)
            lane[j] += x[i + j] * y[i + j];
    for (size_t j = 0; i < n; i++, j++)
        lane[j] += x[i] * y[i];
    return lanes_sum(lane);
}

static void relu_grad(float *restrict dx, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] > 0.0f ? dx[i] : 0.0f;
}

static double relu_grad_sum(float *restrict dy, const float *restrict x, size_t n)
{
    double total = 0.0;

    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t n_block = block_elems(i, n);
        relu_grad(dy + i, x + i, n_block);
        total += (double)block_sum(dy + i, n_block);
    }
    return total;
}

static void epilogue(float *restrict y, const float *restrict more, float scale, float shift, bool clip, size_t n)
{
    const float floor = clip ? 0.0f : -INFINITY;

    if (more == NULL)
        for (size_t i = 0; i < n; i++) {
            const float v = scale * y[i] + shift;
            y[i] = v < floor ? floor : v;
        }
    else
        for (size_t i = 0; i < n; i++) {
            const float v = scale * y[i] + shift + more[i];
            y[i] = v < floor ? floor : v;
        }
}

static float block_squares(const float *x, size_t n, float mean)
{
    float lane[N_LANES] = { 0.0f };
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++) {
            const float d = x[i + j] - mean;
            lane[j] += d * d;
        }
    for (size_t j = 0; i < n; i++, j++)
        lane[j] += (x[i] - mean) * (x[i] - mean);
    return lanes_sum(lane);
}

/* Two passes over each block while it is in the first-level cache; blocks are merged as in Chan, Golub and LeVeque
 * (The American Statistician 37(3), 1983). */
static struct moments moments(const float *x, size_t n)
{
    struct moments m = { 0.0, 0.0 };

    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t n_block = block_elems(i, n);
        const double sum_block = (double)block_sum(x + i, n_block);
        const float center = (float)(sum_block / (double)n_block);
        const double off = sum_block / (double)n_block - (double)center;
        const double squares = (double)block_squares(x + i, n_block, center) - off * off * (double)n_block;
        const double d = sum_block / (double)n_block - m.mean, share = (double)n_block / (double)(i + n_block);
        m.squares += squares + d * d * (double)i * share;
        m.mean += d * share;
    }
    return m;
}

static void norm(float *restrict z, const float *y, const float *restrict more, const struct norm_channel *s, size_t n)
{
    const float gamma = s->gamma, beta = s->beta, mean = s->mean, inv_std = s->inv_std;
    const float floor = s->relu ? 0.0f : -INFINITY;

    if (more == NULL)
        for (size_t i = 0; i < n; i++) {
            const float v = gamma * ((y[i] - mean) * inv_std) + beta;
            z[i] = v < floor ? floor : v;
        }
    else
        for (size_t i = 0; i < n; i++) {
            const float v = gamma * ((y[i] - mean) * inv_std) + beta + more[i];
            z[i] = v < floor ? floor : v;
        }
}

/* masked[n] = output > 0 ? dz : 0; the output is out, or recomputed from y if out is NULL. */
static void mask_block(float *restrict masked, const float *dz, const float *y, const float *out,
                       const struct norm_channel *s, size_t n)
{
    const float gamma = s->gamma, beta = s->beta, mean = s->mean, inv_std = s->inv_std;

    if (!s->relu)
        memcpy(masked, dz, n * sizeof *masked);
    else if (out != NULL)
        for (size_t i = 0; i < n; i++)
            masked[i] = out[i] > 0.0f ? dz[i] : 0.0f;
    else
        for (size_t i = 0; i < n; i++)
            masked[i] = gamma * ((y[i] - mean) * inv_std) + beta > 0.0f ? dz[i] : 0.0f;
}

static struct norm_sums norm_grad_sums(float *dz, const float *y, const float *out, bool keep,
                                       const struct norm_channel *s, size_t n)
{
    struct norm_sums total = { 0.0, 0.0 };
    const float mean = s->mean;
    float masked[BLOCK];

    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t n_block = block_elems(i, n);
        const float *restrict from = y + i;
        float lane[N_LANES] = { 0.0f };
        size_t k = 0;
        mask_block(masked, dz + i, from, out != NULL ? out + i : NULL, s, n_block);
        for (; k + N_LANES <= n_block; k += N_LANES)
            for (size_t j = 0; j < N_LANES; j++)
                lane[j] += masked[k + j] * (from[k + j] - mean);
        for (size_t j = 0; k < n_block; k++, j++)
            lane[j] += masked[k] * (from[k] - mean);
        total.dz_hat += (double)lanes_sum(lane) * (double)s->inv_std;
        total.dz += (double)block_sum(masked, n_block);
        if (keep && s->relu)
            memcpy(dz + i, masked, n_block * sizeof *masked);
    }
    return total;
}

static void norm_grad(float *dy, const float *dz, const float *restrict y, bool mask, float mean_dz, float mean_dz_hat,
                      const struct norm_channel *s, size_t n)
{
    const float gamma = s->gamma, beta = s->beta, mean = s->mean, inv_std = s->inv_std, scale = gamma * inv_std;

    if (mask && s->relu)
        for (size_t i = 0; i < n; i++) {
            const float hat = (y[i] - mean) * inv_std, d = gamma * hat + beta > 0.0f ? dz[i] : 0.0f;
            dy[i] = scale * (d - mean_dz - hat * mean_dz_hat);
        }
    else
        for (size_t i = 0; i < n; i++) {
            const float hat = (y[i] - mean) * inv_std;
            dy[i] = scale * (dz[i] - mean_dz - hat * mean_dz_hat);
        }
}

/* to(H + 2 pad_h, W + 2 pad_w) = x(H, W) with zeros around it. Returns the number of elements. */
static size_t with_border(float *restrict to, const float *restrict x, const struct window *g)
{
    const size_t H = (size_t)g->H, W = (size_t)g->W, pad_h = (size_t)g->pad_h, pad_w = (size_t)g->pad_w;
    const size_t row = W + 2 * pad_w, n = (H + 2 * pad_h) * row;

    memset(to, 0, n * sizeof *to);
    for (size_t h = 0; h < H; h++)
        memcpy(to + (pad_h + h) * row + pad_w, x + h * W, W * sizeof *to);
    return n;
}

/* y[i] = x[i] + x[i + stride] + ..., kernel terms. */
static void add_shifted(float *restrict y, const float *restrict x, size_t stride, size_t kernel, size_t n)
{
    if (kernel == 3) {
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] + x[i + stride] + x[i + 2 * stride];
        return;
    }
    memcpy(y, x, n * sizeof *y);
    for (size_t k = 1; k < kernel; k++)
        add(y, x + k * stride, n);
}

/* Sums over kernel_h rows, then over kernel_w columns, at every position of the padded plane (H + 2 pad_h, W + 2
 * pad_w), which makes each pass one contiguous loop; then the positions of windows are picked: y(out_h, out_w). */
static void average_plane(float *restrict y, const float *restrict x, float *restrict scratch, const struct window *g,
                          bool more)
{
    const size_t row = (size_t)g->W + 2 * (size_t)g->pad_w, kernel_h = (size_t)g->kernel_h;
    const size_t kernel_w = (size_t)g->kernel_w, n = with_border(scratch, x, g);
    const size_t n_down = n - (kernel_h - 1) * row, n_sums = n_down - (kernel_w - 1);
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g), stride = (size_t)g->stride_w;
    const float scale = 1.0f / (float)(g->kernel_h * g->kernel_w);
    float *down = scratch + n, *sums = scratch; /* the padded plane is no longer needed when sums are written */

    add_shifted(down, scratch, row, kernel_h, n_down);
    add_shifted(sums, down, 1, kernel_w, n_sums);
    for (size_t h = 0; h < out_h; h++, y += out_w) {
        const float *from = sums + h * (size_t)g->stride_h * row;
        if (stride > 1) {
            strided_copy(down, from, stride, out_w);
            from = down;
        }
        if (more)
            add_scaled(y, from, scale, out_w);
        else
            for (size_t w = 0; w < out_w; w++)
                y[w] = scale * from[w];
    }
}

static void dropout(float *restrict x, size_t first, size_t n, float keep_ratio, uint64_t key)
{
    const float scale = 1.0f / keep_ratio;

    for (size_t i = 0; i < n; i++)
        x[i] = dropout_kept(key, first + i, keep_ratio) ? x[i] * scale : 0.0f;
}

static void sgd_plain(float *restrict p, const float *restrict g, size_t n, const struct sgd *s)
{
    const float lr = s->lr, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++)
        p[i] -= lr * (scale * g[i] + decay * p[i]);
}

static void sgd(float *restrict p, float *restrict v, const float *restrict g, size_t n, const struct sgd *s)
{
    const float lr = s->lr, momentum = s->momentum, decay = s->weight_decay, scale = s->grad_scale;

    if (v == NULL) {
        sgd_plain(p, g, n, s);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float next = momentum * v[i] + (scale * g[i] + decay * p[i]);
        const float kept = fabsf(next) < SGD_VELOCITY_MIN ? 0.0f : next;
        v[i] = kept;
        p[i] -= lr * kept;
    }
}

static void skinny_dots(float *out, const float *row, const float *x, size_t x_stride, size_t B, size_t n)
{
    for (size_t i = 0; i < B; i++)
        out[i] = dot(row, x + i * x_stride, n);
}

/* out[n] += scale[0] a[n] + ... of four rows of a, stride elements apart. */
static void add_four(float *restrict out, const float *scale, size_t scale_stride, const float *restrict a,
                     size_t stride, size_t n)
{
    const float *restrict b = a + stride, *restrict c = b + stride, *restrict d = c + stride;
    const float sa = scale[0], sb = scale[scale_stride], sc = scale[2 * scale_stride], sd = scale[3 * scale_stride];

    for (size_t k = 0; k < n; k++)
        out[k] += (sa * a[k] + sb * b[k]) + (sc * c[k] + sd * d[k]);
}

static void skinny_mix(float *restrict out, const float *scale, const float *restrict x, size_t x_stride, size_t B,
                       size_t n)
{
    size_t i = 0;

    memset(out, 0, n * sizeof *out);
    for (; i + 4 <= B; i += 4)
        add_four(out, scale + i, 1, x + i * x_stride, x_stride, n);
    for (; i < B; i++)
        add_scaled(out, x + i * x_stride, scale[i], n);
}

static void skinny_products(float *restrict out, const float *scale, const float *restrict w, size_t w_stride, size_t M,
                            size_t B, size_t n)
{
    size_t m = 0;

    for (; m + 4 <= M; m += 4)
        for (size_t i = 0; i < B; i++)
            add_four(out + i * n, scale + m * B + i, B, w + m * w_stride, w_stride, n);
    for (; m < M; m++)
        for (size_t i = 0; i < B; i++)
            add_scaled(out + i * n, w + m * w_stride, scale[m * B + i], n);
}

/* Denormal numbers become zero, as with the AVX512-BF16 instructions. */
static inline uint32_t bf16_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffffu, nan = (bits | 0x400000u) & 0xffff0000u;
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    const uint32_t normal = magnitude > 0x7f800000u ? nan : rounded;
    return magnitude < 0x800000u ? bits & 0x80000000u : normal;
}

static void to_bf16_side_by_side(uint16_t *restrict to, const float *restrict from, size_t n)
{
    size_t i = 0;

#ifdef __AVX512BF16__
    for (; i + 64 <= n; i += 64) {
        const __m512bh low = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i));
        const __m512bh high = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 48), _mm512_loadu_ps(from + i + 32));
        memcpy(to + i, &low, sizeof low);
        memcpy(to + i + 32, &high, sizeof high);
    }
    for (; i + 16 <= n; i += 16) {
        const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(from + i));
        memcpy(to + i, &rounded, sizeof rounded);
    }
#endif
    for (; i < n; i++)
        to[i] = (uint16_t)(bf16_bits(from[i]) >> 16);
}

static void to_bf16(uint16_t *restrict to, const float *restrict from, size_t stride, size_t n)
{
    float line[128];

    if (stride == 1) {
        to_bf16_side_by_side(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i += 128) {
        const size_t n_line = n - i < 128 ? n - i : 128;
        strided_copy(line, from + i * stride, stride, n_line);
        to_bf16_side_by_side(to + i, line, n_line);
    }
}

static void round_to_bf16(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = bf16_bits(from[i]);
        memcpy(to + i, &bits, sizeof bits);
    }
}

/* --- floats to 16 bits and back; the rounding is narrow.h's --- */

/* The loops of one format, each over [n]. */
#define LOOPS(format)                                                                               \
    static void narrow_##format(uint16_t *restrict to, const float *restrict from, size_t n)        \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            to[i] = format##_of_f32(from[i]);                                                       \
    }                                                                                               \
    static void widen_##format(float *restrict to, const uint16_t *restrict from, size_t n)         \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            to[i] = f32_of_##format(from[i]);                                                       \
    }                                                                                               \
    static void widen_add_##format(float *restrict to, const uint16_t *restrict from, size_t n)     \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            to[i] += f32_of_##format(from[i]);                                                      \
    }                                                                                               \
    static void round_##format(float *restrict x, float *restrict residual, size_t n)               \
    {                                                                                               \
        for (size_t i = 0; i < n && !residual; i++)                                                 \
            x[i] = f32_of_##format(format##_of_f32(x[i]));                                          \
        for (size_t i = 0; i < n && residual; i++) {                                                \
            const float given = x[i] + residual[i], sent = f32_of_##format(format##_of_f32(given)); \
            residual[i] = given - sent;                                                             \
            x[i] = sent;                                                                            \
        }                                                                                           \
    }
LOOPS(f16)
LOOPS(bf16)

/* --- the steps of optimisers whose rate each parameter's own gradients set: compute.h --- */

static void adagrad(float *restrict p, float *restrict sum, const float *restrict g, size_t n, const struct adagrad *s)
{
    const float lr = s->lr, epsilon = s->epsilon, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++) {
        const float d = scale * g[i] + decay * p[i], next = sum[i] + d * d;
        const float kept = next < UPDATE_SQUARES_MIN ? 0.0f : next;
        sum[i] = kept;
        p[i] -= lr * d / (sqrtf(kept) + epsilon);
    }
}

static void adam(float *restrict p, float *restrict m, float *restrict v, const float *restrict g, size_t n,
                 const struct adam *s)
{
    const float beta1 = s->beta1, rest1 = s->rest1, beta2 = s->beta2, rest2 = s->rest2;
    const float rate = s->rate, root = s->root, epsilon = s->epsilon, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++) {
        const float d = scale * g[i] + decay * p[i];
        const float next_m = beta1 * m[i] + rest1 * d, next_v = beta2 * v[i] + rest2 * (d * d);
        const float kept_m = fabsf(next_m) < SGD_VELOCITY_MIN ? 0.0f : next_m;
        const float kept_v = next_v < UPDATE_SQUARES_MIN ? 0.0f : next_v;
        m[i] = kept_m;
        v[i] = kept_v;
        p[i] -= rate * kept_m / (root * sqrtf(kept_v) + epsilon);
    }
}

const struct cpu_kernels CPU_KERNELS = {
    .isa = CPU_KERNELS_ISA,
    .add = add,
    .sum_two = sum_two,
    .sum_both = sum_both,
    .stream_sums = STREAM_SUMS,
    .add_constant = add_constant,
    .add_scaled = add_scaled,
    .sum = sum,
    .dot = dot,
    .relu_grad = relu_grad,
    .relu_grad_sum = relu_grad_sum,
    .epilogue = epilogue,
    .moments = moments,
    .norm = norm,
    .norm_grad_sums = norm_grad_sums,
    .norm_grad = norm_grad,
    .strided_copy = strided_copy,
    .strided_add = strided_add,
    .masked_copy = masked_copy,
    .masked_add = masked_add,
    .pool = &CPU_POOL_KERNELS,
    .narrow = { [WIRE_F16] = narrow_f16, [WIRE_BF16] = narrow_bf16 },
    .widen = { [WIRE_F16] = widen_f16, [WIRE_BF16] = widen_bf16 },
    .widen_add = { [WIRE_F16] = widen_add_f16, [WIRE_BF16] = widen_add_bf16 },
    .round = { [WIRE_F16] = round_f16, [WIRE_BF16] = round_bf16 },
    .average_plane = average_plane,
    .dropout = dropout,
    .sgd = sgd,
    .adagrad = adagrad,
    .adam = adam,
    .skinny_dots = skinny_dots,
    .skinny_mix = skinny_mix,
    .skinny_products = skinny_products,
    .to_bf16 = to_bf16,
    .round_to_bf16 = round_to_bf16,
};
