/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_conv_grad.c - the gradients of a convolution on the cpu backend.
 *
 * Weights: dweight (M, K) = dy (M, N) col (K, N)^T. A task has some rows of col and a group of tiles; it goes
 * through its tiles and adds. Groups add into memory of their own, and their sums are added in order.
 * Input: a convolution again, where strides allow; else weight^T dy, some channels at a time, is added where it
 * came from.
 */
#include <string.h>

#include "harness/compute/cpu_conv.h"

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
    struct conv_cut cut;
    float *dweight, *partial; /* group 0 adds into dweight itself */
    const float *dy, *x;
    size_t n_groups, group_tiles;
};

static float *sum_of_group(const struct weight_grad *t, size_t group)
{
    return group == 0 ? t->dweight : t->partial + (group - 1) * t->cut.M * t->cut.K;
}

/* One tile, or where col is x itself, all tiles of the group at once. */
static void add_tile(const struct weight_grad *t, float *sum, struct stretch channels, const struct conv_tile *tile,
                     bool first, float *col)
{
    const struct conv_cut *cut = &t->cut;
    const struct cols part = { &cut->s->in, channels.from, channels.n, tile->row, tile->n_rows, tile->n_columns };
    const struct blas g = { .transpose_b = true,
                            .M = cut->M,
                            .N = channels.n * cut->n_taps,
                            .K = tile->n_columns,
                            .a = t->dy + tile->column,
                            .lda = cut->N,
                            .b = cut->as_it_lies ? t->x + channels.from * cut->N + tile->column : col,
                            .ldb = cut->as_it_lies ? cut->N : tile->n_columns,
                            .beta = first ? 0.0f : 1.0f,
                            .c = sum + channels.from * cut->n_taps,
                            .ldc = cut->K };

    if (!cut->as_it_lies && !t->c->gemms_alone)
        cpu_im2col(t->c->kernels, col, t->x, &part);
    cpu_blas(&g);
}

static void weight_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const size_t group = (size_t)task / t->cut.n_chunks, first = group * t->group_tiles;
    const size_t left = t->cut.n_tiles - first, n = left < t->group_tiles ? left : t->group_tiles;
    const struct stretch channels = conv_chunk_of(&t->cut, (size_t)task % t->cut.n_chunks);

    for (size_t i = first; i < first + n; i++) {
        const struct conv_tile tile = conv_tile_of(&t->cut, i);
        add_tile(t, sum_of_group(t, group), channels, &tile, i == first, cpu_own(t->c, thread));
    }
}

static void reduce_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const struct stretch s = cpu_chunk(t->cut.M * t->cut.K, task);

    (void)thread;
    for (size_t group = 1; group < t->n_groups; group++)
        t->c->kernels->add(t->dweight + s.from, sum_of_group(t, group) + s.from, s.n);
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

void cpu_conv_weight_grad(struct compute *base, float *dweight, const float *dy, const float *x,
                          const struct conv_shape *s)
{
    struct weight_grad t = { .c = cpu_of(base), .cut = conv_cut_of(s), .dweight = dweight, .dy = dy, .x = x };
    const struct conv_cut *cut = &t.cut;

    if (cpu_is_thin(cut)) {
        cpu_thin_weight_grad(t.c, dweight, dy, x, cut);
        return;
    }
    cut_groups(&t);
    if (!cpu_scratch(t.c, cut->as_it_lies ? 0 : cut->chunk_channels * cut->n_taps * cut->tile_rows * cut->out_w,
                     (t.n_groups - 1) * cut->M * cut->K))
        return;
    t.partial = cpu_common(t.c);
    team_run(t.c->team, weight_task, &t, (int)(cut->n_chunks * t.n_groups));
    if (t.n_groups > 1 && !t.c->gemms_alone)
        team_run(t.c->team, reduce_task, &t, cpu_n_chunks(cut->M * cut->K));
}

struct input_grad { /* one call, strided */
    struct cpu *c;
    struct conv_cut cut;
    float *dx;
    const float *dy, *weight;
    bool add;
    size_t n_channels, n_images; /* of a task, and of one product in it */
};

static void clear_channels(const struct input_grad *t, struct stretch channels)
{
    const struct window *g = &t->cut.s->in;
    const size_t n_each = (size_t)g->B * (size_t)g->H * (size_t)g->W;

    if (!t->add && !t->c->gemms_alone)
        memset(t->dx + channels.from * n_each, 0, channels.n * n_each * sizeof *t->dx);
}

static void input_task(void *arg, int task, int thread)
{
    const struct input_grad *t = arg;
    const struct conv_cut *cut = &t->cut;
    const size_t C = (size_t)cut->s->in.C, out_h = (size_t)window_out_h(&cut->s->in);
    const size_t from = (size_t)task * t->n_channels;
    const struct stretch channels = { from, C - from < t->n_channels ? C - from : t->n_channels };
    float *col = cpu_own(t->c, thread);

    clear_channels(t, channels);
    for (size_t b = 0; b < (size_t)cut->s->in.B; b += t->n_images) {
        const size_t left = (size_t)cut->s->in.B - b, n_images = left < t->n_images ? left : t->n_images;
        const size_t n_columns = n_images * out_h * cut->out_w;
        const struct cols part = { &cut->s->in, channels.from, channels.n, b * out_h, n_images * out_h, n_columns };
        const struct blas g = { .transpose_a = true,
                                .M = channels.n * cut->n_taps,
                                .N = n_columns,
                                .K = cut->M,
                                .a = t->weight + channels.from * cut->n_taps,
                                .lda = cut->K,
                                .b = t->dy + b * out_h * cut->out_w,
                                .ldb = cut->N,
                                .c = col,
                                .ldc = n_columns };
        cpu_blas(&g);
        if (!t->c->gemms_alone)
            cpu_col2im(t->c->kernels, t->dx, col, &part);
    }
}

void cpu_conv_input_grad(struct compute *base, float *dx, const float *dy, const float *weight, bool add,
                         const struct conv_shape *s)
{
    struct input_grad t = { .c = cpu_of(base), .cut = conv_cut_of(s), .dx = dx, .dy = dy, .weight = weight };
    const size_t C = (size_t)s->in.C, image = t.cut.N / (size_t)s->in.B;

    t.add = add;
    if (cpu_is_thin(&t.cut)) {
        cpu_thin_input_grad(t.c, dx, dy, weight, add, &t.cut);
        return;
    }
    if (cpu_turns(&t.cut)) {
        cpu_turned_conv(t.c, dx, dy, weight, add, s);
        return;
    }
    t.n_images = image >= INPUT_COLUMNS ? 1 : ceil_div(INPUT_COLUMNS, image);
    if (t.n_images > (size_t)s->in.B)
        t.n_images = (size_t)s->in.B;
    t.n_channels = ceil_div(INPUT_ROWS, t.cut.n_taps);
    if (t.n_channels > C)
        t.n_channels = C;
    if (cpu_scratch(t.c, t.n_channels * t.cut.n_taps * t.n_images * image, 0))
        team_run(t.c->team, input_task, &t, (int)ceil_div(C, t.n_channels));
}
