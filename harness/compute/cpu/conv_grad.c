/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_grad.c - the gradients of a convolution on the cpu backend.
 *
 * Weights: dweight(M, K) = dy(M, N) col(K, N)^T. A task takes one range of channels (rows of col) and one group of
 * tiles, over which it accumulates. Each group has a dweight of its own; these are added in the order of the groups.
 * Input: with stride 1 mostly a convolution of dy with flipped weights; else col = weight^T dy for some channels and
 * images at a time, then col2im.
 */
#include <string.h>

#include "harness/compute/cpu/conv.h"

enum {
    MIN_TASKS = 8,
    MAX_PARTIAL_ELEMS = 1 << 20, /* of the dweights of all groups but the first */
    INPUT_ROWS = 192,            /* of weight^T dy in one GEMM, at least */
    INPUT_COLUMNS = 392,
};

static size_t ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

struct weight_grad { /* one call */
    struct cpu *c;
    const struct conv_weight_grad *op;
    struct conv_tiling tiling;
    float *partial;      /* (n_groups - 1, M, K): the dweights of groups; group 0 uses dweight itself */
    const void *rounded; /* dy(M, N) in bf16, shared by all tasks; NULL: each task rounds its tiles */
    size_t n_groups, group_tiles;
};

/* The dweight(M, K) into which a group of tiles accumulates. */
static float *sum_of_group(const struct weight_grad *t, size_t group)
{
    return group == 0 ? t->op->dweight : t->partial + (group - 1) * t->tiling.M * t->tiling.K;
}

/* The bf16 tile of dy in a thread's scratch, behind its block of col. */
static void *dy_of(const struct weight_grad *t, int thread)
{
    return cpu_own(t->c, thread) + conv_col_elems(&t->tiling);
}

/* sum(M, channels n_taps) (+)= dy(M, n_columns) col(channels n_taps, n_columns)^T of one tile; first: = */
static void add_tile(const struct weight_grad *t, float *sum, struct index_range channels, const struct conv_tile *tile,
                     bool first, int thread)
{
    const struct conv_tiling *tiling = &t->tiling;
    const struct cpu *c = t->c;
    const struct cols part = { &tiling->s->in, channels.from, channels.n,
                               tile->row,      tile->n_rows,  conv_row_elems(tile->n_columns) };
    const float *dy = t->op->dy + tile->column;
    void *col = cpu_own(c, thread);
    const struct blas g = { .transpose_b = true,
                            .bf16 = c->bf16,
                            .M = tiling->M,
                            .N = channels.n * tiling->n_taps,
                            .K = tile->n_columns,
                            .a = t->rounded ? cpu_operand(c, t->rounded, tile->column)
                                 : c->bf16  ? dy_of(t, thread)
                                            : dy,
                            .lda = c->bf16 && !t->rounded ? tile->n_columns : tiling->N,
                            .b = tiling->pointwise ? t->op->x + channels.from * tiling->N + tile->column : col,
                            .ldb = tiling->pointwise ? tiling->N : part.ld,
                            .beta = first ? 0.0f : 1.0f,
                            .c = sum + channels.from * tiling->n_taps,
                            .ldc = tiling->K };

    if (!tiling->pointwise && !c->gemm_only)
        cpu_im2col(c, col, t->op->x, &part);
    if (c->bf16 && !t->rounded && !c->gemm_only)
        cpu_round(c, dy_of(t, thread), dy, tiling->N, tiling->M, tile->n_columns);
    cpu_blas(t->c, &g);
}

/* dweight(M, channels n_taps) of one range of channels, summed over one group of tiles. */
static void weight_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const size_t group = (size_t)task / t->tiling.n_channel_ranges, first = group * t->group_tiles;
    const size_t left = t->tiling.n_tiles - first, n = left < t->group_tiles ? left : t->group_tiles;
    const struct index_range channels = conv_channels_of(&t->tiling, (size_t)task % t->tiling.n_channel_ranges);

    for (size_t i = first; i < first + n; i++) {
        const struct conv_tile tile = conv_tile_of(&t->tiling, i);
        add_tile(t, sum_of_group(t, group), channels, &tile, i == first, thread);
    }
}

/* Some elements of dweight(M, K) += those of the partial sums(n_groups - 1, M, K), in order of the groups. */
static void reduce_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const struct index_range s = cpu_range(t->tiling.M * t->tiling.K, task);

    (void)thread;
    for (size_t group = 1; group < t->n_groups; group++)
        t->c->kernels->add(t->op->dweight + s.from, sum_of_group(t, group) + s.from, s.n);
}

/* Divide the tiles into groups: enough for MIN_TASKS tasks, if their partial sums fit in MAX_PARTIAL_ELEMS. */
static void divide_groups(struct weight_grad *t)
{
    const struct conv_tiling *tiling = &t->tiling;
    const size_t most = MAX_PARTIAL_ELEMS / (tiling->M * tiling->K) + 1;

    t->n_groups = ceil_div(MIN_TASKS, tiling->n_channel_ranges);
    if (t->n_groups > most)
        t->n_groups = most;
    if (t->n_groups > tiling->n_tiles)
        t->n_groups = tiling->n_tiles;
    t->group_tiles = ceil_div(tiling->n_tiles, t->n_groups);
    t->n_groups = ceil_div(tiling->n_tiles, t->group_tiles);
}

void cpu_conv_weight_grad(struct compute *base, const struct conv_weight_grad *op)
{
    struct cpu *c = cpu_of(base);
    struct weight_grad t = { .c = c, .op = op, .tiling = conv_tiling_of(c, &op->shape) };
    const struct conv_tiling *tiling = &t.tiling;

    if (cpu_is_skinny(tiling)) {
        cpu_skinny_weight_grad(c, op, tiling);
        return;
    }
    divide_groups(&t);
    const bool share = c->bf16 && tiling->n_channel_ranges > 2; /* one bf16 copy of dy for all tasks */
    const size_t n_partial = (t.n_groups - 1) * tiling->M * tiling->K;
    const size_t n_own = conv_col_elems(tiling) + (c->bf16 && !share ? tiling->M * tiling->tile_columns : 0);
    if (!cpu_scratch(c, n_own, n_partial + (share ? tiling->M * tiling->N : 0)))
        return;
    t.partial = cpu_common(c);
    if (share)
        t.rounded = cpu_rounded(c, t.partial + n_partial, op->dy, tiling->M * tiling->N);
    thread_pool_run(c->pool, weight_task, &t, (int)(tiling->n_channel_ranges * t.n_groups));
    if (t.n_groups > 1 && !c->gemm_only)
        thread_pool_run(c->pool, reduce_task, &t, cpu_n_ranges(tiling->M * tiling->K));
}

struct input_grad { /* one call, strided */
    struct cpu *c;
    const struct conv_input_grad *op;
    struct conv_tiling tiling;
    const void *weight;          /* GEMM operand (M, K) */
    size_t n_channels, n_images; /* channels of a task; images of one GEMM in it */
    size_t n_col;                /* elements of col in a thread's scratch; bf16 columns of dy follow */
};

/* dx(channels, B, H, W) = 0, unless the operation adds to dx. */
static void clear_channels(const struct input_grad *t, struct index_range channels)
{
    const struct window *g = &t->tiling.s->in;
    const size_t n_each = (size_t)g->B * (size_t)g->H * (size_t)g->W;

    if (!t->op->add && !t->c->gemm_only)
        memset(t->op->dx + channels.from * n_each, 0, channels.n * n_each * sizeof *t->op->dx);
}

/* dx of images [b, b + n_images): col(channels n_taps, columns) = weight(M, channels n_taps)^T dy(M, columns), col2im.
 */
static void input_images(const struct input_grad *t, struct index_range channels, size_t b, size_t n_images, float *col)
{
    const struct conv_tiling *tiling = &t->tiling;
    const struct cpu *c = t->c;
    const size_t out_h = (size_t)window_out_h(&tiling->s->in), n_columns = n_images * out_h * tiling->out_w;
    const struct cols part = { &tiling->s->in, channels.from, channels.n, b * out_h, n_images * out_h, n_columns };
    const float *dy = t->op->dy + b * out_h * tiling->out_w;
    float *rounded = col + t->n_col;
    const struct blas g = { .transpose_a = true,
                            .bf16 = c->bf16,
                            .M = channels.n * tiling->n_taps,
                            .N = n_columns,
                            .K = tiling->M,
                            .a = cpu_operand(c, t->weight, channels.from * tiling->n_taps),
                            .lda = tiling->K,
                            .b = c->bf16 ? rounded : dy,
                            .ldb = c->bf16 ? n_columns : tiling->N,
                            .c = col,
                            .ldc = n_columns };

    if (c->bf16 && !c->gemm_only)
        cpu_round(c, rounded, dy, tiling->N, tiling->M, n_columns);
    cpu_blas(t->c, &g);
    if (!c->gemm_only)
        cpu_col2im(c, t->op->dx, col, &part);
}

/* dx of n_channels channels and all images, n_images at a time. */
static void input_task(void *arg, int task, int thread)
{
    const struct input_grad *t = arg;
    const size_t C = (size_t)t->tiling.s->in.C, B = (size_t)t->tiling.s->in.B, from = (size_t)task * t->n_channels;
    const struct index_range channels = { from, C - from < t->n_channels ? C - from : t->n_channels };

    clear_channels(t, channels);
    for (size_t b = 0; b < B; b += t->n_images)
        input_images(t, channels, b, B - b < t->n_images ? B - b : t->n_images, cpu_own(t->c, thread));
}

/* Choose the channels of a task and the images of a GEMM, so that no GEMM is too small to be fast, and run all tasks.
 */
static void strided_input_grad(struct input_grad *t)
{
    struct cpu *c = t->c;
    const struct conv_tiling *tiling = &t->tiling;
    const size_t C = (size_t)tiling->s->in.C, B = (size_t)tiling->s->in.B, image = tiling->N / B;

    t->n_images = image >= INPUT_COLUMNS ? 1 : ceil_div(INPUT_COLUMNS, image);
    if (t->n_images > B)
        t->n_images = B;
    t->n_channels = ceil_div(INPUT_ROWS, tiling->n_taps);
    if (t->n_channels > C)
        t->n_channels = C;
    t->n_col = t->n_channels * tiling->n_taps * t->n_images * image;
    if (!cpu_scratch(c, t->n_col + (c->bf16 ? tiling->M * t->n_images * image : 0),
                     c->bf16 ? tiling->M * tiling->K : 0))
        return;
    t->weight = cpu_rounded(c, cpu_common(c), t->op->weight, tiling->M * tiling->K);
    thread_pool_run(c->pool, input_task, t, (int)ceil_div(C, t->n_channels));
}

void cpu_conv_input_grad(struct compute *base, const struct conv_input_grad *op)
{
    struct cpu *c = cpu_of(base);
    struct input_grad t = { .c = c, .op = op, .tiling = conv_tiling_of(c, &op->shape) };

    if (cpu_is_skinny(&t.tiling))
        cpu_skinny_input_grad(c, op, &t.tiling);
    else if (cpu_flip_pays(c, &t.tiling))
        cpu_flipped_conv(c, op);
    else
        strided_input_grad(&t);
}
