/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_thin.c - products of few columns: dense layers of a small batch.
 *
 * Their weights (411 MB in the first dense layer of vgg16) are read once and used for a few multiplications:
 * a GEMM that packs them first takes longer to pack than to multiply. The few columns lie as rows
 * (N, K), in the cache, and each row of the weights goes past them once.
 */
#include <string.h>

#include "harness/compute/cpu_conv.h"

enum {
    MAX_COLUMNS = 16,
    SEGMENT = 1024, /* elements of a row at a time */
    GROUP_ROWS = 16,
};

struct thin { /* one call; those it does not use are NULL */
    struct cpu *c;
    const struct conv_cut *cut;
    float *rows; /* (N, K): the columns */
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

/* rows := columns of x */
static void gather_task(void *arg, int task, int thread)
{
    const struct thin *t = arg;
    const struct conv_cut *cut = t->cut;
    const struct stretch channels = segment_of(cut, task);
    const struct cols part = part_of(cut, channels);
    const size_t at = channels.from * cut->n_taps, n = channels.n * cut->n_taps;
    float *col = cpu_own(t->c, thread);

    cpu_im2col(t->c->kernels, col, t->x, &part);
    for (size_t i = 0; i < cut->N; i++)
        for (size_t k = 0; k < n; k++)
            t->rows[i * cut->K + at + k] = col[k * cut->N + i];
}

static bool gather(struct thin *t)
{
    if (!cpu_scratch(t->c, 2 * segment_channels(t->cut) * t->cut->n_taps * MAX_COLUMNS, t->cut->N * t->cut->K))
        return false;
    t->rows = cpu_common(t->c);
    if (!t->c->gemms_alone && t->x != NULL)
        team_run(t->c->team, gather_task, t, n_segments(t->cut));
    return true;
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
    const struct conv_tile all = { 0, cut->n_rows, 0, cut->N };
    float dot[MAX_COLUMNS];

    (void)thread;
    memset(t->out + rows.from * cut->N, 0, rows.n * cut->N * sizeof *t->out);
    for (size_t k = 0; k < cut->K; k += SEGMENT) {
        const size_t n = cut->K - k < SEGMENT ? cut->K - k : SEGMENT;
        for (size_t o = rows.from; o < rows.from + rows.n; o++) {
            t->c->kernels->thin_dots(dot, t->weight + o * cut->K + k, t->rows + k, cut->K, cut->N, n);
            for (size_t i = 0; i < cut->N; i++)
                t->out[o * cut->N + i] += dot[i];
        }
    }
    cpu_epilogue(t->c, t->out, t->e, cut->N, rows, &all);
}

void cpu_thin_conv(struct cpu *c, float *y, const float *x, const float *weight, const struct epilogue *e,
                   const struct conv_cut *cut)
{
    struct thin t = { .c = c, .cut = cut, .out = y, .x = x, .weight = weight, .e = e };

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

void cpu_thin_weight_grad(struct cpu *c, float *dweight, const float *dy, const float *x, const struct conv_cut *cut)
{
    struct thin t = { .c = c, .cut = cut, .out = dweight, .x = x, .dy = dy };

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

    t->c->kernels->thin_products(sum, t->dy, t->weight + at, cut->K, cut->M, cut->N, n);
    if (t->c->gemms_alone)
        return;
    for (size_t i = 0; i < cut->N; i++)
        for (size_t k = 0; k < n; k++)
            col[k * cut->N + i] = sum[i * n + k];
    if (!t->add)
        memset(t->out + channels.from * n_each, 0, channels.n * n_each * sizeof *t->out);
    cpu_col2im(t->c->kernels, t->out, col, &part);
}

void cpu_thin_input_grad(struct cpu *c, float *dx, const float *dy, const float *weight, bool add,
                         const struct conv_cut *cut)
{
    struct thin t = { .c = c, .cut = cut, .out = dx, .dy = dy, .weight = weight, .add = add };

    if (gather(&t))
        team_run(c->team, input_task, &t, n_segments(cut));
}
