/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skinny.c - GEMMs of few columns (N <= MAX_COLUMNS): dense layers with a small batch.
 *
 * Weights (411 MB in the first dense layer of vgg16) are read once and used in few multiplications: a library's GEMM
 * spends more time on packing them than on multiplying. Here col is stored transposed, col_t(N, K), and stays in the
 * cache while each row of the weights is read once.
 *
 *   forward          y(M, N) = weight(M, K) col_t(N, K)^T          tasks: TASK_ROWS of the M rows
 *   weight gradient  dweight(M, K) = dy(M, N) col_t(N, K)          tasks: the same
 *   input gradient   dcol(K, N) = weight(M, K)^T dy(M, N), col2im  tasks: ranges of channels, n_taps rows of dcol each
 */
#include <string.h>

#include "harness/compute/cpu/conv.h"

enum {
    MAX_COLUMNS = 16,
    RANGE_ELEMS = 1024, /* of the K elements of a weight row, in one call of a kernel */
    TASK_ROWS = 16,     /* of weight, in one task */
};

struct skinny { /* one call of a pass; arrays that this pass does not use are NULL */
    struct cpu *c;
    const struct conv_tiling *tiling;
    float *col_t;   /* (N, K): col transposed; forward, weight gradient */
    float *rounded; /* (M, N): dy rounded to bf16 */
    float *out;     /* y(M, N), dweight(M, K) or dx(C, B, H, W) */
    const float *x, *dy, *weight;
    const struct epilogue *epilogue;
    bool add; /* dx += instead of dx = */
};

bool cpu_is_skinny(const struct conv_tiling *tiling)
{
    return tiling->N <= MAX_COLUMNS && tiling->M * tiling->K > 64 * 1024;
}

/* Channels in one task that computes rows of col or dcol: at most RANGE_ELEMS rows, but at least one channel. */
static size_t range_channels(const struct conv_tiling *tiling)
{
    return tiling->n_taps >= RANGE_ELEMS ? 1 : RANGE_ELEMS / tiling->n_taps;
}

static int n_channel_ranges(const struct conv_tiling *tiling)
{
    const size_t each = range_channels(tiling);

    return (int)(((size_t)tiling->s->in.C + each - 1) / each);
}

static struct index_range channels_of(const struct conv_tiling *tiling, int task)
{
    const size_t each = range_channels(tiling), from = (size_t)task * each, left = (size_t)tiling->s->in.C - from;

    return (struct index_range){ from, left < each ? left : each };
}

/* All N columns of col, the rows of these channels. */
static struct cols cols_of(const struct conv_tiling *tiling, struct index_range channels)
{
    return (struct cols){ &tiling->s->in, channels.from, channels.n, 0, tiling->n_rows, tiling->N };
}

static float bf16_float(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* col_t(N, channels n_taps) = transpose of im2col(x) of these channels. */
static void transpose_col_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct index_range channels = channels_of(tiling, task);
    const struct cols cols = cols_of(tiling, channels);
    const size_t offset = channels.from * tiling->n_taps, n = channels.n * tiling->n_taps;
    float *col = cpu_own(t->c, thread);
    const uint16_t *col16 = (const uint16_t *)(void *)col;

    cpu_im2col(t->c, col, t->x, &cols);
    for (size_t i = 0; i < tiling->N; i++) /* col(n, N) -> col_t(N, [offset, offset + n)) */
        for (size_t k = 0; k < n; k++)
            t->col_t[i * tiling->K + offset + k] =
                t->c->bf16 ? bf16_float(col16[k * tiling->N + i]) : col[k * tiling->N + i];
}

/* Allocate scratch, compute col_t (passes that read x) and round dy to bf16 (passes that read dy). false: no memory. */
static bool prepare(struct skinny *t)
{
    struct cpu *c = t->c;
    const struct conv_tiling *tiling = t->tiling;
    const size_t n = range_channels(tiling) * tiling->n_taps;

    if (!cpu_scratch(c, 2 * n * MAX_COLUMNS + 4 * n + RANGE_ELEMS, tiling->N * tiling->K + tiling->M * tiling->N))
        return false;
    t->col_t = cpu_common(c);
    t->rounded = t->col_t + tiling->N * tiling->K;
    if (!c->gemm_only && t->x != NULL)
        thread_pool_run(c->pool, transpose_col_task, t, n_channel_ranges(tiling));
    if (c->bf16 && t->dy != NULL) {
        c->kernels->round_to_bf16(t->rounded, t->dy, tiling->M * tiling->N);
        t->dy = t->rounded;
    }
    return true;
}

/* A block of n_rows rows of n elements. */
struct weight_block {
    const float *first;
    size_t stride; /* elements from one row to the next */
};

/* The block of weight(M, K) that begins at element offset: as stored, or rounded to bf16 in scratch(n_rows, n). */
static struct weight_block weight_operand(const struct skinny *t, size_t offset, size_t n_rows, size_t n,
                                          float *scratch)
{
    const size_t K = t->tiling->K;

    if (!t->c->bf16)
        return (struct weight_block){ t->weight + offset, K };
    for (size_t i = 0; i < n_rows; i++)
        t->c->kernels->round_to_bf16(scratch + i * n, t->weight + offset + i * K, n);
    return (struct weight_block){ scratch, n };
}

static struct index_range weight_rows(const struct conv_tiling *tiling, int task)
{
    const size_t from = (size_t)task * TASK_ROWS, left = tiling->M - from;

    return (struct index_range){ from, left < TASK_ROWS ? left : TASK_ROWS };
}

static int n_row_ranges(const struct conv_tiling *tiling)
{
    return (int)((tiling->M + TASK_ROWS - 1) / TASK_ROWS);
}

/* y(rows, N) = weight(rows, K) col_t(N, K)^T, then the epilogue. `rows` are those of the task. */
static void forward_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct index_range rows = weight_rows(tiling, task);
    const struct conv_tile all = { 0, tiling->N, 0, tiling->n_rows };
    float dot[MAX_COLUMNS];

    memset(t->out + rows.from * tiling->N, 0, rows.n * tiling->N * sizeof *t->out);
    for (size_t k = 0; k < tiling->K; k += RANGE_ELEMS) {
        const size_t n = tiling->K - k < RANGE_ELEMS ? tiling->K - k : RANGE_ELEMS;
        for (size_t o = rows.from; o < rows.from + rows.n;
             o++) { /* y(o, N) += col_t(N, [k, k + n)) weight(o, [k, k + n)) */
            t->c->kernels->skinny_dots(dot, weight_operand(t, o * tiling->K + k, 1, n, cpu_own(t->c, thread)).first,
                                       t->col_t + k, tiling->K, tiling->N, n);
            for (size_t i = 0; i < tiling->N; i++)
                t->out[o * tiling->N + i] += dot[i];
        }
    }
    cpu_epilogue(t->c, t->out, t->epilogue, tiling->N, rows, &all);
}

void cpu_skinny_conv(struct cpu *c, const struct conv_forward *op, const struct conv_tiling *tiling)
{
    struct skinny t = {
        .c = c, .tiling = tiling, .out = op->y, .x = op->x, .weight = op->weight, .epilogue = &op->epilogue
    };

    if (prepare(&t))
        thread_pool_run(c->pool, forward_task, &t, n_row_ranges(tiling));
}

/* dweight(rows, K) = dy(rows, N) col_t(N, K). */
static void weight_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct index_range rows = weight_rows(tiling, task);

    (void)thread;
    for (size_t k = 0; k < tiling->K; k += RANGE_ELEMS) {
        const size_t n = tiling->K - k < RANGE_ELEMS ? tiling->K - k : RANGE_ELEMS;
        for (size_t o = rows.from; o < rows.from + rows.n;
             o++) /* dweight(o, [k, k + n)) = dy(o, N) col_t(N, [k, k + n)) */
            t->c->kernels->skinny_mix(t->out + o * tiling->K + k, t->dy + o * tiling->N, t->col_t + k, tiling->K,
                                      tiling->N, n);
    }
}

void cpu_skinny_weight_grad(struct cpu *c, const struct conv_weight_grad *op, const struct conv_tiling *tiling)
{
    struct skinny t = { .c = c, .tiling = tiling, .out = op->dweight, .x = op->x, .dy = op->dy };

    if (prepare(&t))
        thread_pool_run(c->pool, weight_task, &t, n_row_ranges(tiling));
}

/* dx of the channels of a task: sum(N, n) = dy(M, N)^T weight(M, n) with n = channels n_taps, transposed to col(n, N),
 * from which col2im adds to dx. `sum` and `col` are the thread's scratch; col holds rounded weights before. */
static void input_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct window *g = &tiling->s->in;
    const struct index_range channels = channels_of(tiling, task);
    const struct cols cols = cols_of(tiling, channels);
    const size_t offset = channels.from * tiling->n_taps, n = channels.n * tiling->n_taps;
    const size_t n_plane = /* elements of a channel of dx */
        (size_t)g->B * (size_t)g->H * (size_t)g->W;
    float *sum = cpu_own(t->c, thread), *col = sum + n * tiling->N;

    memset(sum, 0, n * tiling->N * sizeof *sum);
    for (size_t m = 0; m < tiling->M; m += 4) { /* sum(N, n) += dy([m, m + 4), N)^T weight([m, m + 4), n) */
        const size_t n_rows = tiling->M - m < 4 ? tiling->M - m : 4;
        const struct weight_block w = weight_operand(t, m * tiling->K + offset, n_rows, n, col);
        t->c->kernels->skinny_products(sum, t->dy + m * tiling->N, w.first, w.stride, n_rows, tiling->N, n);
    }
    if (t->c->gemm_only)
        return;
    for (size_t i = 0; i < tiling->N; i++) /* sum(N, n) -> col(n, N) */
        for (size_t k = 0; k < n; k++)
            col[k * tiling->N + i] = sum[i * n + k];
    if (!t->add)
        memset(t->out + channels.from * n_plane, 0, channels.n * n_plane * sizeof *t->out);
    cpu_col2im(t->c, t->out, col, &cols);
}

void cpu_skinny_input_grad(struct cpu *c, const struct conv_input_grad *op, const struct conv_tiling *tiling)
{
    struct skinny t = { .c = c, .tiling = tiling, .out = op->dx, .dy = op->dy, .weight = op->weight, .add = op->add };

    if (prepare(&t))
        thread_pool_run(c->pool, input_task, &t, n_channel_ranges(tiling));
}
