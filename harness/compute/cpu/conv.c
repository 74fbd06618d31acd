/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - convolution of the cpu backend, forward.
 *
 * y(M, N) = weight(M, K) col(K, N), see conv.h. A task computes one tile of columns of y: for each range of channels it
 * writes those rows of col to the thread's scratch and runs one GEMM that adds to the tile; then it applies the
 * epilogue while the tile is in the cache.
 */
#include "harness/compute/cpu/conv.h"

enum {
    TILE_COLUMNS = 784,   /* measured: a tile of col and its outputs share a cache of 2 MiB */
    RANGE_ROWS = 384,     /* of col in one GEMM: the K block of BLAS libraries */
    RANGE_CHANNELS = 256, /* the same, pointwise */
    MIN_TASKS = 8,
    MIN_TILES = 4,     /* below, rows of weight are divided too, although each block then computes col again */
    FLIP_CHANNELS = 8, /* of weight flipped by one task */
    BLOCK_ROWS = 256,  /* least rows of weight in a task */
};

static size_t ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* Tiles of about TILE_COLUMNS columns. A multiple of 4 or 2 tiles, so that as many threads get equal shares, if the
 * tiles stay wide enough for a fast GEMM (300 or 200 columns, measured). */
static size_t count_tiles(size_t N)
{
    const size_t n = ceil_div(N, TILE_COLUMNS), by_4 = ceil_div(n, 4) * 4, by_2 = ceil_div(n, 2) * 2;

    if (N / by_4 >= 300)
        return by_4;
    return N / by_2 >= 200 ? by_2 : n;
}

/* Channels in one GEMM: equal shares of C, in multiples of a cache line if a line fits into RANGE_ROWS rows of col. */
static size_t count_range_channels(const struct conv_tiling *tiling)
{
    const size_t C = (size_t)tiling->s->in.C, most = tiling->n_taps < RANGE_ROWS ? RANGE_ROWS / tiling->n_taps : 1;
    const size_t unit = most < LINE_ELEMS ? 1 : LINE_ELEMS;
    const size_t n_channel_ranges = tiling->pointwise ? C / RANGE_CHANNELS : ceil_div(C, most / unit * unit);

    return n_channel_ranges > 1 ? ceil_div(ceil_div(C, n_channel_ranges), unit) * unit : C;
}

struct conv_tiling conv_tiling_of(const struct cpu *c, const struct conv_shape *s)
{
    const struct window *g = &s->in;
    struct conv_tiling tiling = { .s = s, .M = (size_t)s->C_out, .n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w };

    tiling.K = (size_t)g->C * tiling.n_taps;
    tiling.pointwise = tiling.n_taps == 1 && g->stride_h == 1 && g->stride_w == 1 && !c->bf16;
    tiling.out_w = (size_t)window_out_w(g);
    tiling.n_rows = (size_t)g->B * (size_t)window_out_h(g);
    tiling.N = tiling.n_rows * tiling.out_w;
    const size_t n_tiles = count_tiles(tiling.N);
    tiling.tile_columns = tiling.pointwise ? conv_whole_lines(ceil_div(tiling.N, n_tiles))
                                           : ceil_div(tiling.n_rows, n_tiles) * tiling.out_w;
    tiling.n_tiles = ceil_div(tiling.N, tiling.tile_columns);
    tiling.range_channels = count_range_channels(&tiling);
    tiling.n_channel_ranges = ceil_div((size_t)g->C, tiling.range_channels);
    return tiling;
}

struct conv_tile conv_tile_of(const struct conv_tiling *tiling, size_t tile)
{
    const size_t column = tile * tiling->tile_columns, left = tiling->N - column;
    const size_t n_columns = left < tiling->tile_columns ? left : tiling->tile_columns;

    return (struct conv_tile){ column, n_columns, column / tiling->out_w, n_columns / tiling->out_w };
}

struct index_range conv_channels_of(const struct conv_tiling *tiling, size_t i)
{
    const size_t from = i * tiling->range_channels, left = (size_t)tiling->s->in.C - from;

    return (struct index_range){ from, left < tiling->range_channels ? left : tiling->range_channels };
}

void cpu_epilogue(const struct cpu *c, float *y, const struct epilogue *e, size_t N, struct index_range rows,
                  const struct conv_tile *tile)
{
    if (c->gemm_only || (e->scale == NULL && e->shift == NULL && e->add == NULL && !e->relu))
        return;
    for (size_t o = rows.from; o < rows.from + rows.n; o++) { /* y(o, n_columns) of the tile */
        const size_t offset_elems = o * N + tile->column;
        c->kernels->epilogue(y + offset_elems, e->add != NULL ? e->add + offset_elems : NULL,
                             e->scale != NULL ? e->scale[o] : 1.0f, e->shift != NULL ? e->shift[o] : 0.0f, e->relu,
                             tile->n_columns);
    }
}

struct conv { /* one call */
    struct cpu *c;
    struct conv_tiling tiling;
    float *y;
    const float *x;
    const void *weight; /* GEMM operand (M, K) */
    bool transposed;    /* weight is (K, M); 1 x 1 only */
    bool add;           /* y += instead of y = */
    const struct epilogue *e;
    size_t n_blocks, block_rows; /* of weight */
};

/* Tile of y, `rows` of it: y(rows, n_columns) (+)= weight(rows, [k, k + K)) b(K, n_columns), b being rows k .. of col.
 */
static void multiply(const struct conv *t, struct index_range rows, const struct conv_tile *tile, size_t k, size_t K,
                     const void *b, size_t ldb)
{
    const struct conv_tiling *tiling = &t->tiling;
    const size_t offset_elems = t->transposed ? k * tiling->M + rows.from : rows.from * tiling->K + k;
    const struct blas g = { .transpose_a = t->transposed,
                            .bf16 = t->c->bf16,
                            .M = rows.n,
                            .N = tile->n_columns,
                            .K = K,
                            .a = cpu_operand(t->c, t->weight, offset_elems),
                            .lda = t->transposed ? tiling->M : tiling->K,
                            .b = b,
                            .ldb = ldb,
                            .beta = t->add || k > 0 ? 1.0f : 0.0f,
                            .c = t->y + rows.from * tiling->N + tile->column,
                            .ldc = tiling->N };

    cpu_blas(t->c, &g);
}

/* y(rows, n_columns) of one tile and one block of rows of weight: for each range of channels, im2col writes
 * col(channels n_taps, n_columns) to the thread's scratch and a GEMM adds its product; then the epilogue. */
static void conv_task(void *arg, int task, int thread)
{
    const struct conv *t = arg;
    const struct conv_tiling *tiling = &t->tiling;
    const struct conv_tile tile = conv_tile_of(tiling, (size_t)task / t->n_blocks);
    const size_t from = (size_t)task % t->n_blocks * t->block_rows, left = tiling->M - from;
    const struct index_range rows = { from, left < t->block_rows ? left : t->block_rows };
    float *col = cpu_own(t->c, thread);

    if (tiling->pointwise)
        multiply(t, rows, &tile, 0, tiling->K, t->x + tile.column, tiling->N);
    for (size_t i = 0; i < tiling->n_channel_ranges && !tiling->pointwise; i++) {
        const struct index_range channels = conv_channels_of(tiling, i);
        const struct cols part = { &tiling->s->in, channels.from, channels.n,
                                   tile.row,       tile.n_rows,   conv_row_elems(tile.n_columns) };
        if (!t->c->gemm_only)
            cpu_im2col(t->c, col, t->x, &part);
        multiply(t, rows, &tile, channels.from * tiling->n_taps, channels.n * tiling->n_taps, col, part.ld);
    }
    cpu_epilogue(t->c, t->y, t->e, tiling->N, rows, &tile);
}

/* Choose the blocks of rows of weight, and run all tiles times blocks. The caller has allocated scratch. */
static void conv_run(struct conv *t)
{
    const struct conv_tiling *tiling = &t->tiling;

    t->n_blocks = 1;
    if (tiling->n_tiles < (tiling->pointwise ? MIN_TASKS : MIN_TILES)) /* each block of rows computes col again */
        t->n_blocks = ceil_div(MIN_TASKS, tiling->n_tiles);
    if (t->n_blocks > tiling->M / BLOCK_ROWS)
        t->n_blocks = tiling->M >= BLOCK_ROWS ? tiling->M / BLOCK_ROWS : 1;
    t->block_rows = ceil_div(tiling->M, t->n_blocks);
    t->n_blocks = ceil_div(tiling->M, t->block_rows);
    thread_pool_run(t->c->pool, conv_task, t, (int)(tiling->n_tiles * t->n_blocks));
}

size_t conv_col_elems(const struct conv_tiling *tiling)
{
    return tiling->pointwise ? 0 : tiling->range_channels * tiling->n_taps * conv_row_elems(tiling->tile_columns);
}

void cpu_conv(struct compute *base, const struct conv_forward *op)
{
    struct cpu *c = cpu_of(base);
    struct conv t = { .c = c, .tiling = conv_tiling_of(c, &op->shape), .y = op->y, .x = op->x, .e = &op->epilogue };

    if (cpu_is_skinny(&t.tiling)) {
        cpu_skinny_conv(c, op, &t.tiling);
        return;
    }
    if (!cpu_scratch(c, conv_col_elems(&t.tiling), c->bf16 ? t.tiling.M * t.tiling.K : 0))
        return;
    t.weight = cpu_rounded(c, cpu_common(c), op->weight, t.tiling.M * t.tiling.K);
    conv_run(&t);
}

struct flip {
    struct cpu *c;
    void *to; /* GEMM operand */
    const float *from;
    size_t C_out, C, n_taps;
};

/* to(C, C_out, n_taps) = weight(C_out, C, n_taps) of these channels with both kernel axes reversed. The loop over C_out
 * is outermost, so that reads are contiguous. */
static void flip_channels(const struct flip *t, float *to, struct index_range channels)
{
    const size_t n_taps = t->n_taps, n_each = t->C_out * n_taps;

    for (size_t o = 0; o < t->C_out; o++) {
        const float *from = t->from + (o * t->C + channels.from) * n_taps;
        for (size_t c = 0; c < channels.n; c++)
            for (size_t k = 0; k < n_taps; k++)
                to[c * n_each + o * n_taps + k] = from[(c + 1) * n_taps - 1 - k];
    }
}

/* Flip FLIP_CHANNELS channels; bf16: into the thread's scratch, then round to `to`. */
static void flip_task(void *arg, int task, int thread)
{
    const struct flip *t = arg;
    const size_t n_each = t->C_out * t->n_taps;
    const size_t from = (size_t)task * FLIP_CHANNELS, left = t->C - from;
    const struct index_range channels = { from, left < FLIP_CHANNELS ? left : FLIP_CHANNELS };

    if (!t->c->bf16) {
        flip_channels(t, (float *)t->to + from * n_each, channels);
        return;
    }
    flip_channels(t, cpu_own(t->c, thread), channels);
    cpu_round(t->c, (uint16_t *)t->to + from * n_each, cpu_own(t->c, thread), channels.n * n_each, 1,
              channels.n * n_each);
}

/* The convolution of dy(C_out, ..) with flipped weights, whose output is dx; padded so that it has the size of x. */
static struct conv_shape flipped(const struct conv_shape *s)
{
    const struct window *g = &s->in;
    const struct window in = { .B = g->B,
                               .C = s->C_out,
                               .H = window_out_h(g),
                               .W = window_out_w(g),
                               .kernel_h = g->kernel_h,
                               .kernel_w = g->kernel_w,
                               .stride_h = 1,
                               .stride_w = 1,
                               .pad_h = g->kernel_h - 1 - g->pad_h,
                               .pad_w = g->kernel_w - 1 - g->pad_w };

    return (struct conv_shape){ .in = in, .C_out = g->C };
}

/* Its flops are 2 |dx| C_out n_taps: no more than those of the gradient only if x is about as large as y. Of narrow
 * images the reverse, col2im, is as fast as im2col, and moves C_in channels instead of C_out. */
bool cpu_flip_pays(const struct cpu *c, const struct conv_tiling *tiling)
{
    const struct window *g = &tiling->s->in;

    if (g->stride_h != 1 || g->stride_w != 1 || 8 * (size_t)g->B * (size_t)g->H * (size_t)g->W > 9 * tiling->N)
        return false;
    return !cpu_is_narrow(c, g) || tiling->M < 2 * (size_t)g->C;
}

void cpu_flipped_conv(struct cpu *c, const struct conv_input_grad *op)
{
    static const struct epilogue none = { .relu = false };
    const struct conv_shape back = flipped(&op->shape);
    struct conv t = {
        .c = c, .tiling = conv_tiling_of(c, &back), .y = op->dx, .x = op->dy, .add = op->add, .e = &none
    };
    const size_t n_weights = t.tiling.M * t.tiling.K, n_col = conv_col_elems(&t.tiling),
                 n_flip = c->bf16 ? FLIP_CHANNELS * t.tiling.K : 0;
    struct flip flip = { c, NULL, op->weight, (size_t)op->shape.C_out, (size_t)op->shape.in.C, t.tiling.n_taps };

    t.transposed = t.tiling.n_taps == 1;
    if (!cpu_scratch(c, n_col > n_flip ? n_col : n_flip, t.transposed && !c->bf16 ? 0 : n_weights))
        return;
    flip.to = cpu_common(c);
    if (t.transposed)
        t.weight = cpu_rounded(c, cpu_common(c), op->weight, n_weights);
    else {
        t.weight = flip.to;
        if (!c->gemm_only)
            thread_pool_run(c->pool, flip_task, &flip, (int)ceil_div(flip.C, FLIP_CHANNELS));
    }
    conv_run(&t);
}
