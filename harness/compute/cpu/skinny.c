/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skinny.c - products of few columns: dense layers of a small batch.
 *
 * Their weights (411 MB in the first dense layer of vgg16) are read once and used for a few multiplications:
 * a GEMM that packs them first takes longer to pack than to multiply. The few columns lie as rows
 * (N, K), in the cache, and each row of the weights goes past them once.
 */
#include <string.h>

#include "harness/compute/cpu/conv.h"

enum {
    MAX_COLUMNS = 16,
    SEGMENT = 1024, /* elements of a row at a time */
    GROUP_ROWS = 16,
};

struct thin { /* one call; those it does not use are NULL */
    struct cpu *c;
    const struct conv_cut *cut;
    float *rows;    /* (N, K): the columns */
    float *rounded; /* (M, N): dy; bf16 */
    float *out;
    const float *x, *dy, *weight;
    const struct epilogue *e;
    bool add;
};

bool cpu_is_thin(const struct conv_cut *cut)
{
    return cut->N <= MAX_COLUMNS && cut->M * cut->K > 64 * 1024;
}

static size_t segment_channels(const struct conv_cut *cut)
{
    return cut->n_taps >= SEGMENT ? 1 : SEGMENT / cut->n_taps;
}

static int n_segments(const struct conv_cut *cut)
{
    const size_t each = segment_channels(cut);

    return (int)(((size_t)cut->s->in.C + each - 1) / each);
}

static struct stretch segment_of(const struct conv_cut *cut, int task)
{
    const size_t each = segment_channels(cut), from = (size_t)task * each, left = (size_t)cut->s->in.C - from;

    return (struct stretch){ from, left < each ? left : each };
}

static struct cols part_of(const struct conv_cut *cut, struct stretch channels)
{
    return (struct cols){ &cut->s->in, channels.from, channels.n, 0, cut->n_rows, cut->N };
}

static float bf16_float(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* rows := columns of x */
static void gather_task(void *arg, int task, int thread)
{
    const struct thin *t = arg;
    const struct conv_cut *cut = t->cut;
    const struct stretch channels = segment_of(cut, task);
    const struct cols part = part_of(cut, channels);
    const size_t at = channels.from * cut->n_taps, n = channels.n * cut->n_taps;
    float *col = cpu_own(t->c, thread);
    const uint16_t *col16 = (const uint16_t *)(void *)col;

    cpu_im2col(t->c, col, t->x, &part);
    for (size_t i = 0; i < cut->N; i++)
        for (size_t k = 0; k < n; k++)
            t->rows[i * cut->K + at + k] = t->c->bf16 ? bf16_float(col16[k * cut->N + i]) : col[k * cut->N + i];
}

static bool gather(struct thin *t)
{
    struct cpu *c = t->c;
    const struct conv_cut *cut = t->cut;
    const size_t n = segment_channels(cut) * cut->n_taps;

    if (!cpu_scratch(c, 2 * n * MAX_COLUMNS + 4 * n + SEGMENT, cut->N * cut->K + cut->M * cut->N))
        return false;
    t->rows = cpu_common(c);
    t->rounded = t->rows + cut->N * cut->K;
    if (!c->gemm_only && t->x != NULL)
        team_run(c->team, gather_task, t, n_segments(cut));
    if (c->bf16 && t->dy != NULL) {
        c->kernels->round_to_bf16(t->rounded, t->dy, cut->M * cut->N);
        t->dy = t->rounded;
    }
    return true;
}

/* n_rows rows of the weights, K apart, from element at on: as operands. */
struct rows {
    const float *at;
    size_t step;
};

static struct rows weights(const struct thin *t, size_t at, size_t n_rows, size_t n, float *scratch)
{
    const size_t K = t->cut->K;

    if (!t->c->bf16)
        return (struct rows){ t->weight + at, K };
    for (size_t i = 0; i < n_rows; i++)
        t->c->kernels->round_to_bf16(scratch + i * n, t->weight + at + i * K, n);
    return (struct rows){ scratch, n };
}

static struct stretch weight_rows(const struct conv_cut *cut, int task)
{
    const size_t from = (size_t)task * GROUP_ROWS, left = cut->M - from;

    return (struct stretch){ from, left < GROUP_ROWS ? left : GROUP_ROWS };
}

static int n_weight_groups(const struct conv_cut *cut)
{
    return (int)((cut->M + GROUP_ROWS - 1) / GROUP_ROWS);
}

static void forward_task(void *arg, int task, int thread)
{
    const struct thin *t = arg;
    const struct conv_cut *cut = t->cut;
    const struct stretch rows = weight_rows(cut, task);
    const struct conv_tile all = { 0, cut->N, 0, cut->n_rows };
    float dot[MAX_COLUMNS];

    memset(t->out + rows.from * cut->N, 0, rows.n * cut->N * sizeof *t->out);
    for (size_t k = 0; k < cut->K; k += SEGMENT) {
        const size_t n = cut->K - k < SEGMENT ? cut->K - k : SEGMENT;
        for (size_t o = rows.from; o < rows.from + rows.n; o++) {
            t->c->kernels->thin_dots(dot, weights(t, o * cut->K + k, 1, n, cpu_own(t->c, thread)).at, t->rows + k,
                                     cut->K, cut->N, n);
            for (size_t i = 0; i < cut->N; i++)
                t->out[o * cut->N + i] += dot[i];
        }
    }
    cpu_epilogue(t->c, t->out, t->e, cut->N, rows, &all);
}

void cpu_thin_conv(struct cpu *c, const struct conv_forward *op, const struct conv_cut *cut)
{
    struct thin t = { .c = c, .cut = cut, .out = op->y, .x = op->x, .weight = op->weight, .e = &op->epilogue };

    if (gather(&t))
        team_run(c->team, forward_task, &t, n_weight_groups(cut));
}

static void weight_task(void *arg, int task, int thread)
{
    const struct thin *t = arg;
    const struct conv_cut *cut = t->cut;
    const struct stretch rows = weight_rows(cut, task);

    (void)thread;
    for (size_t k = 0; k < cut->K; k += SEGMENT) {
        const size_t n = cut->K - k < SEGMENT ? cut->K - k : SEGMENT;
        for (size_t o = rows.from; o < rows.from + rows.n; o++)
            t->c->kernels->thin_mix(t->out + o * cut->K + k, t->dy + o * cut->N, t->rows + k, cut->K, cut->N, n);
    }
}

void cpu_thin_weight_grad(struct cpu *c, const struct conv_weight_grad *op, const struct conv_cut *cut)
{
    struct thin t = { .c = c, .cut = cut, .out = op->dweight, .x = op->x, .dy = op->dy };

    if (gather(&t))
        team_run(c->team, weight_task, &t, n_weight_groups(cut));
}

/* Some channels of dx: weight^T dy as rows, then as columns, then where they came from. */
static void input_task(void *arg, int task, int thread)
{
    const struct thin *t = arg;
    const struct conv_cut *cut = t->cut;
    const struct window *g = &cut->s->in;
    const struct stretch channels = segment_of(cut, task);
    const struct cols part = part_of(cut, channels);
    const size_t at = channels.from * cut->n_taps, n = channels.n * cut->n_taps;
    const size_t n_each = (size_t)g->B * (size_t)g->H * (size_t)g->W;
    float *sum = cpu_own(t->c, thread), *col = sum + n * cut->N;

    memset(sum, 0, n * cut->N * sizeof *sum);
    for (size_t m = 0; m < cut->M; m += 4) {
        const size_t n_rows = cut->M - m < 4 ? cut->M - m : 4;
        const struct rows w = weights(t, m * cut->K + at, n_rows, n, col);
        t->c->kernels->thin_products(sum, t->dy + m * cut->N, w.at, w.step, n_rows, cut->N, n);
    }
    if (t->c->gemm_only)
        return;
    for (size_t i = 0; i < cut->N; i++)
        for (size_t k = 0; k < n; k++)
            col[k * cut->N + i] = sum[i * n + k];
    if (!t->add)
        memset(t->out + channels.from * n_each, 0, channels.n * n_each * sizeof *t->out);
    cpu_col2im(t->c, t->out, col, &part);
}

void cpu_thin_input_grad(struct cpu *c, const struct conv_input_grad *op, const struct conv_cut *cut)
{
    struct thin t = { .c = c, .cut = cut, .out = op->dx, .dy = op->dy, .weight = op->weight, .add = op->add };

    if (gather(&t))
        team_run(c->team, input_task, &t, n_segments(cut));
}
