/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skinny.c - GEMMs of few columns (N <= MAX_COLUMNS): dense layers with a small batch.
 *
 * Weights (411 MB in the first dense layer of vgg16) are read once and used in few multiplications: a library's GEMM
 * spends more time on packing them than on multiplying. Here col is stored transposed, rows(N, K), and stays in the
 * cache while each row of the weights is read once.
 */
#include <string.h>

#include "harness/compute/cpu/conv.h"

enum {
    MAX_COLUMNS = 16,
    RANGE_ELEMS = 1024, /* of a row of weight in one inner loop */
    TASK_ROWS = 16,
};

struct skinny { /* one call; those it does not use are NULL */
    struct cpu *c;
    const struct conv_tiling *tiling;
    float *rows;    /* (N, K): col transposed */
    float *rounded; /* (M, N): dy rounded to bf16 */
    float *out;
    const float *x, *dy, *weight;
    const struct epilogue *e;
    bool add;
};

bool cpu_is_skinny(const struct conv_tiling *tiling)
{
    return tiling->N <= MAX_COLUMNS && tiling->M * tiling->K > 64 * 1024;
}

static size_t range_channels(const struct conv_tiling *tiling)
{
    return tiling->n_taps >= RANGE_ELEMS ? 1 : RANGE_ELEMS / tiling->n_taps;
}

static int n_channel_ranges(const struct conv_tiling *tiling)
{
    const size_t each = range_channels(tiling);

    return (int)(((size_t)tiling->s->in.C + each - 1) / each);
}

static struct range channels_of(const struct conv_tiling *tiling, int task)
{
    const size_t each = range_channels(tiling), from = (size_t)task * each, left = (size_t)tiling->s->in.C - from;

    return (struct range){ from, left < each ? left : each };
}

static struct cols part_of(const struct conv_tiling *tiling, struct range channels)
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

/* rows(N, channels n_taps) = transpose of im2col(x) of these channels. */
static void gather_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct range channels = channels_of(tiling, task);
    const struct cols part = part_of(tiling, channels);
    const size_t offset = channels.from * tiling->n_taps, n = channels.n * tiling->n_taps;
    float *col = cpu_own(t->c, thread);
    const uint16_t *col16 = (const uint16_t *)(void *)col;

    cpu_im2col(t->c, col, t->x, &part);
    for (size_t i = 0; i < tiling->N; i++)
        for (size_t k = 0; k < n; k++)
            t->rows[i * tiling->K + offset + k] =
                t->c->bf16 ? bf16_float(col16[k * tiling->N + i]) : col[k * tiling->N + i];
}

static bool gather(struct skinny *t)
{
    struct cpu *c = t->c;
    const struct conv_tiling *tiling = t->tiling;
    const size_t n = range_channels(tiling) * tiling->n_taps;

    if (!cpu_scratch(c, 2 * n * MAX_COLUMNS + 4 * n + RANGE_ELEMS, tiling->N * tiling->K + tiling->M * tiling->N))
        return false;
    t->rows = cpu_common(c);
    t->rounded = t->rows + tiling->N * tiling->K;
    if (!c->gemm_only && t->x != NULL)
        thread_pool_run(c->pool, gather_task, t, n_channel_ranges(tiling));
    if (c->bf16 && t->dy != NULL) {
        c->kernels->round_to_bf16(t->rounded, t->dy, tiling->M * tiling->N);
        t->dy = t->rounded;
    }
    return true;
}

/* weight[offset ..] as n_rows rows of n: as stored, or rounded to bf16 values in scratch(n_rows, n). */
struct rows {
    const float *first;
    size_t stride;
};

static struct rows weight_operand(const struct skinny *t, size_t offset, size_t n_rows, size_t n, float *scratch)
{
    const size_t K = t->tiling->K;

    if (!t->c->bf16)
        return (struct rows){ t->weight + offset, K };
    for (size_t i = 0; i < n_rows; i++)
        t->c->kernels->round_to_bf16(scratch + i * n, t->weight + offset + i * K, n);
    return (struct rows){ scratch, n };
}

static struct range weight_rows(const struct conv_tiling *tiling, int task)
{
    const size_t from = (size_t)task * TASK_ROWS, left = tiling->M - from;

    return (struct range){ from, left < TASK_ROWS ? left : TASK_ROWS };
}

static int n_row_ranges(const struct conv_tiling *tiling)
{
    return (int)((tiling->M + TASK_ROWS - 1) / TASK_ROWS);
}

/* out(rows, N) = weight(rows, K) rows(N, K)^T, then the epilogue. */
static void forward_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct range rows = weight_rows(tiling, task);
    const struct conv_tile all = { 0, tiling->N, 0, tiling->n_rows };
    float dot[MAX_COLUMNS];

    memset(t->out + rows.from * tiling->N, 0, rows.n * tiling->N * sizeof *t->out);
    for (size_t k = 0; k < tiling->K; k += RANGE_ELEMS) {
        const size_t n = tiling->K - k < RANGE_ELEMS ? tiling->K - k : RANGE_ELEMS;
        for (size_t o = rows.from; o < rows.from + rows.n; o++) {
            t->c->kernels->skinny_dots(dot, weight_operand(t, o * tiling->K + k, 1, n, cpu_own(t->c, thread)).first,
                                       t->rows + k, tiling->K, tiling->N, n);
            for (size_t i = 0; i < tiling->N; i++)
                t->out[o * tiling->N + i] += dot[i];
        }
    }
    cpu_epilogue(t->c, t->out, t->e, tiling->N, rows, &all);
}

void cpu_skinny_conv(struct cpu *c, const struct conv_forward *op, const struct conv_tiling *tiling)
{
    struct skinny t = { .c = c, .tiling = tiling, .out = op->y, .x = op->x, .weight = op->weight, .e = &op->epilogue };

    if (gather(&t))
        thread_pool_run(c->pool, forward_task, &t, n_row_ranges(tiling));
}

/* out(rows, K) = dy(rows, N) rows(N, K). */
static void weight_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct range rows = weight_rows(tiling, task);

    (void)thread;
    for (size_t k = 0; k < tiling->K; k += RANGE_ELEMS) {
        const size_t n = tiling->K - k < RANGE_ELEMS ? tiling->K - k : RANGE_ELEMS;
        for (size_t o = rows.from; o < rows.from + rows.n; o++)
            t->c->kernels->skinny_mix(t->out + o * tiling->K + k, t->dy + o * tiling->N, t->rows + k, tiling->K,
                                      tiling->N, n);
    }
}

void cpu_skinny_weight_grad(struct cpu *c, const struct conv_weight_grad *op, const struct conv_tiling *tiling)
{
    struct skinny t = { .c = c, .tiling = tiling, .out = op->dweight, .x = op->x, .dy = op->dy };

    if (gather(&t))
        thread_pool_run(c->pool, weight_task, &t, n_row_ranges(tiling));
}

/* dx of some channels: sum(N, n) = dy(M, N)^T weight(M, n), n = channels n_taps; transposed to col(n, N); col2im. */
static void input_task(void *arg, int task, int thread)
{
    const struct skinny *t = arg;
    const struct conv_tiling *tiling = t->tiling;
    const struct window *g = &tiling->s->in;
    const struct range channels = channels_of(tiling, task);
    const struct cols part = part_of(tiling, channels);
    const size_t offset = channels.from * tiling->n_taps, n = channels.n * tiling->n_taps;
    const size_t n_each = (size_t)g->B * (size_t)g->H * (size_t)g->W;
    float *sum = cpu_own(t->c, thread), *col = sum + n * tiling->N;

    memset(sum, 0, n * tiling->N * sizeof *sum);
    for (size_t m = 0; m < tiling->M; m += 4) {
        const size_t n_rows = tiling->M - m < 4 ? tiling->M - m : 4;
        const struct rows w = weight_operand(t, m * tiling->K + offset, n_rows, n, col);
        t->c->kernels->skinny_products(sum, t->dy + m * tiling->N, w.first, w.stride, n_rows, tiling->N, n);
    }
    if (t->c->gemm_only)
        return;
    for (size_t i = 0; i < tiling->N; i++)
        for (size_t k = 0; k < n; k++)
            col[k * tiling->N + i] = sum[i * n + k];
    if (!t->add)
        memset(t->out + channels.from * n_each, 0, channels.n * n_each * sizeof *t->out);
    cpu_col2im(t->c, t->out, col, &part);
}

void cpu_skinny_input_grad(struct cpu *c, const struct conv_input_grad *op, const struct conv_tiling *tiling)
{
    struct skinny t = { .c = c, .tiling = tiling, .out = op->dx, .dy = op->dy, .weight = op->weight, .add = op->add };

    if (gather(&t))
        thread_pool_run(c->pool, input_task, &t, n_channel_ranges(tiling));
}
