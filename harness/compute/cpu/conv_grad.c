/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_grad.c - the gradients of a convolution on the cpu backend.
 *
 * Weights: dweight (M, K) = dy (M, N) col (K, N)^T. A task has some rows of col and a group of tiles; it goes
 * through its tiles and adds. Groups add into memory of their own, and their sums are added in order.
 * Input: a convolution again, where strides allow; else weight^T dy, some channels at a time, is added where it
 * came from.
 */
#include <string.h>

#include "harness/compute/cpu/conv.h"

enum {
    MIN_TASKS = 8,
    MAX_PARTIAL_ELEMS = 1 << 20, /* of all sums of groups together */
    INPUT_ROWS = 192,            /* of weight^T dy at a time, at least */
    INPUT_COLUMNS = 392,
};

static size_t ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

struct weight_grad { /* one call */
    struct cpu *c;
    const struct conv_weight_grad *op;
    struct conv_cut cut;
    float *partial;      /* sums of groups; group 0 adds into dweight itself */
    const void *rounded; /* dy, where bf16 chunks share it; NULL: each task rounds its tiles */
    size_t n_groups, group_tiles;
};

static float *sum_of_group(const struct weight_grad *t, size_t group)
{
    return group == 0 ? t->op->dweight : t->partial + (group - 1) * t->cut.M * t->cut.K;
}

/* Where a thread has dy's tile, rounded, behind its part of col. */
static void *dy_of(const struct weight_grad *t, int thread)
{
    return cpu_own(t->c, thread) + conv_col_elems(&t->cut);
}

static void add_tile(const struct weight_grad *t, float *sum, struct stretch channels, const struct conv_tile *tile,
                     bool first, int thread)
{
    const struct conv_cut *cut = &t->cut;
    const struct cpu *c = t->c;
    const struct cols part = { &cut->s->in, channels.from, channels.n,
                               tile->row,   tile->n_rows,  conv_whole_lines(tile->n_columns) };
    const float *dy = t->op->dy + tile->column;
    void *col = cpu_own(c, thread);
    const struct blas g = { .transpose_b = true,
                            .bf16 = c->bf16,
                            .M = cut->M,
                            .N = channels.n * cut->n_taps,
                            .K = tile->n_columns,
                            .a = t->rounded ? cpu_operand(c, t->rounded, tile->column)
                                 : c->bf16  ? dy_of(t, thread)
                                            : dy,
                            .lda = c->bf16 && !t->rounded ? tile->n_columns : cut->N,
                            .b = cut->as_it_lies ? t->op->x + channels.from * cut->N + tile->column : col,
                            .ldb = cut->as_it_lies ? cut->N : part.ld,
                            .beta = first ? 0.0f : 1.0f,
                            .c = sum + channels.from * cut->n_taps,
                            .ldc = cut->K };

    if (!cut->as_it_lies && !c->gemm_only)
        cpu_im2col(c, col, t->op->x, &part);
    if (c->bf16 && !t->rounded && !c->gemm_only)
        cpu_round(c, dy_of(t, thread), dy, cut->N, cut->M, tile->n_columns);
    cpu_blas(t->c, &g);
}

static void weight_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const size_t group = (size_t)task / t->cut.n_chunks, first = group * t->group_tiles;
    const size_t left = t->cut.n_tiles - first, n = left < t->group_tiles ? left : t->group_tiles;
    const struct stretch channels = conv_chunk_of(&t->cut, (size_t)task % t->cut.n_chunks);

    for (size_t i = first; i < first + n; i++) {
        const struct conv_tile tile = conv_tile_of(&t->cut, i);
        add_tile(t, sum_of_group(t, group), channels, &tile, i == first, thread);
    }
}

static void reduce_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const struct stretch s = cpu_chunk(t->cut.M * t->cut.K, task);

    (void)thread;
    for (size_t group = 1; group < t->n_groups; group++)
        t->c->kernels->add(t->op->dweight + s.from, sum_of_group(t, group) + s.from, s.n);
}

static void cut_groups(struct weight_grad *t)
{
    const struct conv_cut *cut = &t->cut;
    const size_t most = MAX_PARTIAL_ELEMS / (cut->M * cut->K) + 1;

    t->n_groups = ceil_div(MIN_TASKS, cut->n_chunks);
    if (t->n_groups > most)
        t->n_groups = most;
    if (t->n_groups > cut->n_tiles)
        t->n_groups = cut->n_tiles;
    t->group_tiles = ceil_div(cut->n_tiles, t->n_groups);
    t->n_groups = ceil_div(cut->n_tiles, t->group_tiles);
}

void cpu_conv_weight_grad(struct compute *base, const struct conv_weight_grad *op)
{
    struct cpu *c = cpu_of(base);
    struct weight_grad t = { .c = c, .op = op, .cut = conv_cut_of(c, &op->shape) };
    const struct conv_cut *cut = &t.cut;

    if (cpu_is_thin(cut)) {
        cpu_thin_weight_grad(c, op, cut);
        return;
    }
    cut_groups(&t);
    const bool share = c->bf16 && cut->n_chunks > 2;
    const size_t n_partial = (t.n_groups - 1) * cut->M * cut->K;
    const size_t n_own = conv_col_elems(cut) + (c->bf16 && !share ? cut->M * cut->tile_columns : 0);
    if (!cpu_scratch(c, n_own, n_partial + (share ? cut->M * cut->N : 0)))
        return;
    t.partial = cpu_common(c);
    if (share)
        t.rounded = cpu_rounded(c, t.partial + n_partial, op->dy, cut->M * cut->N);
    team_run(c->team, weight_task, &t, (int)(cut->n_chunks * t.n_groups));
    if (t.n_groups > 1 && !c->gemm_only)
        team_run(c->team, reduce_task, &t, cpu_n_chunks(cut->M * cut->K));
}

struct input_grad { /* one call, strided */
    struct cpu *c;
    const struct conv_input_grad *op;
    struct conv_cut cut;
    const void *weight;          /* operands */
    size_t n_channels, n_images; /* of a task, and of one product in it */
    size_t n_col;                /* elements of col; dy's columns, rounded, lie behind them */
};

static void clear_channels(const struct input_grad *t, struct stretch channels)
{
    const struct window *g = &t->cut.s->in;
    const size_t n_each = (size_t)g->B * (size_t)g->H * (size_t)g->W;

    if (!t->op->add && !t->c->gemm_only)
        memset(t->op->dx + channels.from * n_each, 0, channels.n * n_each * sizeof *t->op->dx);
}

/* Images [b, b + n_images) */
static void input_images(const struct input_grad *t, struct stretch channels, size_t b, size_t n_images, float *col)
{
    const struct conv_cut *cut = &t->cut;
    const struct cpu *c = t->c;
    const size_t out_h = (size_t)window_out_h(&cut->s->in), n_columns = n_images * out_h * cut->out_w;
    const struct cols part = { &cut->s->in, channels.from, channels.n, b * out_h, n_images * out_h, n_columns };
    const float *dy = t->op->dy + b * out_h * cut->out_w;
    float *rounded = col + t->n_col;
    const struct blas g = { .transpose_a = true,
                            .bf16 = c->bf16,
                            .M = channels.n * cut->n_taps,
                            .N = n_columns,
                            .K = cut->M,
                            .a = cpu_operand(c, t->weight, channels.from * cut->n_taps),
                            .lda = cut->K,
                            .b = c->bf16 ? rounded : dy,
                            .ldb = c->bf16 ? n_columns : cut->N,
                            .c = col,
                            .ldc = n_columns };

    if (c->bf16 && !c->gemm_only)
        cpu_round(c, rounded, dy, cut->N, cut->M, n_columns);
    cpu_blas(t->c, &g);
    if (!c->gemm_only)
        cpu_col2im(c, t->op->dx, col, &part);
}

static void input_task(void *arg, int task, int thread)
{
    const struct input_grad *t = arg;
    const size_t C = (size_t)t->cut.s->in.C, B = (size_t)t->cut.s->in.B, from = (size_t)task * t->n_channels;
    const struct stretch channels = { from, C - from < t->n_channels ? C - from : t->n_channels };

    clear_channels(t, channels);
    for (size_t b = 0; b < B; b += t->n_images)
        input_images(t, channels, b, B - b < t->n_images ? B - b : t->n_images, cpu_own(t->c, thread));
}

static void strided_input_grad(struct input_grad *t)
{
    struct cpu *c = t->c;
    const struct conv_cut *cut = &t->cut;
    const size_t C = (size_t)cut->s->in.C, B = (size_t)cut->s->in.B, image = cut->N / B;

    t->n_images = image >= INPUT_COLUMNS ? 1 : ceil_div(INPUT_COLUMNS, image);
    if (t->n_images > B)
        t->n_images = B;
    t->n_channels = ceil_div(INPUT_ROWS, cut->n_taps);
    if (t->n_channels > C)
        t->n_channels = C;
    t->n_col = t->n_channels * cut->n_taps * t->n_images * image;
    if (!cpu_scratch(c, t->n_col + (c->bf16 ? cut->M * t->n_images * image : 0), c->bf16 ? cut->M * cut->K : 0))
        return;
    t->weight = cpu_rounded(c, cpu_common(c), t->op->weight, cut->M * cut->K);
    team_run(c->team, input_task, t, (int)ceil_div(C, t->n_channels));
}

void cpu_conv_input_grad(struct compute *base, const struct conv_input_grad *op)
{
    struct cpu *c = cpu_of(base);
    struct input_grad t = { .c = c, .op = op, .cut = conv_cut_of(c, &op->shape) };

    if (cpu_is_thin(&t.cut))
        cpu_thin_input_grad(c, op, &t.cut);
    else if (cpu_turns(&t.cut))
        cpu_turned_conv(c, op);
    else
        strided_input_grad(&t);
}
