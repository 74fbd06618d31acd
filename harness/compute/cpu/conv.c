/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - convolution of the cpu backend, forward.
 *
 * A task is a tile of columns: some rows of col are made in the thread's own scratch and multiplied into y at
 * once, then the next ones are added; what is done to the outputs is done while the tile is in the cache.
 */
#include "harness/compute/cpu/conv.h"

enum {
    TILE_COLUMNS = 784,   /* measured: a tile of col and its outputs share a cache of 2 MiB */
    CHUNK_ROWS = 384,     /* of col: what BLAS libraries take at a time */
    CHUNK_CHANNELS = 256, /* where they lie in memory as they are */
    MIN_TASKS = 8,
    MIN_TILES = 4,     /* below, weights are divided too, although that costs columns */
    FLIP_CHANNELS = 8, /* turned together */
    BLOCK_ROWS = 256,  /* least rows of the weights in a task, where tiles are too few */
};

static size_t ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* Tiles of about TILE_COLUMNS columns; more where there are few, so that a few threads find equal shares, but not of
 * less than a GEMM is fast with. Measured. */
static size_t count_tiles(size_t N)
{
    const size_t n = ceil_div(N, TILE_COLUMNS), by_4 = ceil_div(n, 4) * 4, by_2 = ceil_div(n, 2) * 2;

    if (N / by_4 >= 300)
        return by_4;
    return N / by_2 >= 200 ? by_2 : n;
}

/* Equal shares of whole lines of channels, where so many fit into a chunk. */
static size_t count_chunk_channels(const struct conv_cut *cut)
{
    const size_t C = (size_t)cut->s->in.C, most = cut->n_taps < CHUNK_ROWS ? CHUNK_ROWS / cut->n_taps : 1;
    const size_t unit = most < LINE_ELEMS ? 1 : LINE_ELEMS;
    const size_t n_chunks = cut->as_it_lies ? C / CHUNK_CHANNELS : ceil_div(C, most / unit * unit);

    return n_chunks > 1 ? ceil_div(ceil_div(C, n_chunks), unit) * unit : C;
}

struct conv_cut conv_cut_of(const struct cpu *c, const struct conv_shape *s)
{
    const struct window *g = &s->in;
    struct conv_cut cut = { .s = s, .M = (size_t)s->C_out, .n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w };

    cut.K = (size_t)g->C * cut.n_taps;
    cut.as_it_lies = cut.n_taps == 1 && g->stride_h == 1 && g->stride_w == 1 && !c->bf16;
    cut.out_w = (size_t)window_out_w(g);
    cut.n_rows = (size_t)g->B * (size_t)window_out_h(g);
    cut.N = cut.n_rows * cut.out_w;
    const size_t n_tiles = count_tiles(cut.N);
    cut.tile_columns =
        cut.as_it_lies ? conv_whole_lines(ceil_div(cut.N, n_tiles)) : ceil_div(cut.n_rows, n_tiles) * cut.out_w;
    cut.n_tiles = ceil_div(cut.N, cut.tile_columns);
    cut.chunk_channels = count_chunk_channels(&cut);
    cut.n_chunks = ceil_div((size_t)g->C, cut.chunk_channels);
    return cut;
}

struct conv_tile conv_tile_of(const struct conv_cut *cut, size_t tile)
{
    const size_t column = tile * cut->tile_columns, left = cut->N - column;
    const size_t n_columns = left < cut->tile_columns ? left : cut->tile_columns;

    return (struct conv_tile){ column, n_columns, column / cut->out_w, n_columns / cut->out_w };
}

struct stretch conv_chunk_of(const struct conv_cut *cut, size_t chunk)
{
    const size_t from = chunk * cut->chunk_channels, left = (size_t)cut->s->in.C - from;

    return (struct stretch){ from, left < cut->chunk_channels ? left : cut->chunk_channels };
}

void cpu_epilogue(const struct cpu *c, float *y, const struct epilogue *e, size_t N, struct stretch rows,
                  const struct conv_tile *tile)
{
    if (c->gemm_only || (e->scale == NULL && e->shift == NULL && e->add == NULL && !e->relu))
        return;
    for (size_t o = rows.from; o < rows.from + rows.n; o++) {
        const size_t at = o * N + tile->column;
        c->kernels->epilogue(y + at, e->add != NULL ? e->add + at : NULL, e->scale != NULL ? e->scale[o] : 1.0f,
                             e->shift != NULL ? e->shift[o] : 0.0f, e->relu, tile->n_columns);
    }
}

struct conv { /* one call */
    struct cpu *c;
    struct conv_cut cut;
    float *y;
    const float *x;
    const void *weight; /* operands: (M, K) */
    bool transposed;    /* weight is (K, M); 1 x 1 only */
    bool add;           /* y is added to */
    const struct epilogue *e;
    size_t n_blocks, block_rows; /* of the weights */
};

/* Some rows of y, tile: += weight times rows [k, k + K) of col, which is b. */
static void multiply(const struct conv *t, struct stretch rows, const struct conv_tile *tile, size_t k, size_t K,
                     const void *b, size_t ldb)
{
    const struct conv_cut *cut = &t->cut;
    const size_t at = t->transposed ? k * cut->M + rows.from : rows.from * cut->K + k;
    const struct blas g = { .transpose_a = t->transposed,
                            .bf16 = t->c->bf16,
                            .M = rows.n,
                            .N = tile->n_columns,
                            .K = K,
                            .a = cpu_operand(t->c, t->weight, at),
                            .lda = t->transposed ? cut->M : cut->K,
                            .b = b,
                            .ldb = ldb,
                            .beta = t->add || k > 0 ? 1.0f : 0.0f,
                            .c = t->y + rows.from * cut->N + tile->column,
                            .ldc = cut->N };

    cpu_blas(t->c, &g);
}

static void conv_task(void *arg, int task, int thread)
{
    const struct conv *t = arg;
    const struct conv_cut *cut = &t->cut;
    const struct conv_tile tile = conv_tile_of(cut, (size_t)task / t->n_blocks);
    const size_t from = (size_t)task % t->n_blocks * t->block_rows, left = cut->M - from;
    const struct stretch rows = { from, left < t->block_rows ? left : t->block_rows };
    float *col = cpu_own(t->c, thread);

    if (cut->as_it_lies)
        multiply(t, rows, &tile, 0, cut->K, t->x + tile.column, cut->N);
    for (size_t i = 0; i < cut->n_chunks && !cut->as_it_lies; i++) {
        const struct stretch channels = conv_chunk_of(cut, i);
        const struct cols part = { &cut->s->in, channels.from, channels.n,
                                   tile.row,    tile.n_rows,   conv_whole_lines(tile.n_columns) };
        if (!t->c->gemm_only)
            cpu_im2col(t->c, col, t->x, &part);
        multiply(t, rows, &tile, channels.from * cut->n_taps, channels.n * cut->n_taps, col, part.ld);
    }
    cpu_epilogue(t->c, t->y, t->e, cut->N, rows, &tile);
}

/* Scratch is there. */
static void conv_run(struct conv *t)
{
    const struct conv_cut *cut = &t->cut;

    t->n_blocks = 1;
    if (cut->n_tiles < (cut->as_it_lies ? MIN_TASKS : MIN_TILES)) /* each block makes its columns again */
        t->n_blocks = ceil_div(MIN_TASKS, cut->n_tiles);
    if (t->n_blocks > cut->M / BLOCK_ROWS)
        t->n_blocks = cut->M >= BLOCK_ROWS ? cut->M / BLOCK_ROWS : 1;
    t->block_rows = ceil_div(cut->M, t->n_blocks);
    t->n_blocks = ceil_div(cut->M, t->block_rows);
    team_run(t->c->team, conv_task, t, (int)(cut->n_tiles * t->n_blocks));
}

size_t conv_col_elems(const struct conv_cut *cut)
{
    return cut->as_it_lies ? 0 : cut->chunk_channels * cut->n_taps * conv_whole_lines(cut->tile_columns);
}

void cpu_conv(struct compute *base, const struct conv_forward *op)
{
    struct cpu *c = cpu_of(base);
    struct conv t = { .c = c, .cut = conv_cut_of(c, &op->shape), .y = op->y, .x = op->x, .e = &op->epilogue };

    if (cpu_is_thin(&t.cut)) {
        cpu_thin_conv(c, op, &t.cut);
        return;
    }
    if (!cpu_scratch(c, conv_col_elems(&t.cut), c->bf16 ? t.cut.M * t.cut.K : 0))
        return;
    t.weight = cpu_rounded(c, cpu_common(c), op->weight, t.cut.M * t.cut.K);
    conv_run(&t);
}

struct flip {
    struct cpu *c;
    void *to; /* operands */
    const float *from;
    size_t C_out, C, n_taps;
};

/* to(C, C_out, kernel) = the weights of these channels, turned by half a turn. What lies side by side is read side
 * by side. */
static void flip_channels(const struct flip *t, float *to, struct stretch channels)
{
    const size_t n_taps = t->n_taps, n_each = t->C_out * n_taps;

    for (size_t o = 0; o < t->C_out; o++) {
        const float *from = t->from + (o * t->C + channels.from) * n_taps;
        for (size_t c = 0; c < channels.n; c++)
            for (size_t k = 0; k < n_taps; k++)
                to[c * n_each + o * n_taps + k] = from[(c + 1) * n_taps - 1 - k];
    }
}

static void flip_task(void *arg, int task, int thread)
{
    const struct flip *t = arg;
    const size_t n_each = t->C_out * t->n_taps;
    const size_t from = (size_t)task * FLIP_CHANNELS, left = t->C - from;
    const struct stretch channels = { from, left < FLIP_CHANNELS ? left : FLIP_CHANNELS };

    if (!t->c->bf16) {
        flip_channels(t, (float *)t->to + from * n_each, channels);
        return;
    }
    flip_channels(t, cpu_own(t->c, thread), channels);
    cpu_round(t->c, (uint16_t *)t->to + from * n_each, cpu_own(t->c, thread), channels.n * n_each, 1,
              channels.n * n_each);
}

/* The convolution whose output is dx: of dy with turned weights. Padding keeps it as large as the input. */
static struct conv_shape turned(const struct conv_shape *s)
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

/* It does the same work only where the output is about as large as the input. */
bool cpu_turns(const struct conv_cut *cut)
{
    const struct window *g = &cut->s->in;

    return g->stride_h == 1 && g->stride_w == 1 && 8 * (size_t)g->B * (size_t)g->H * (size_t)g->W <= 9 * cut->N;
}

void cpu_turned_conv(struct cpu *c, const struct conv_input_grad *op)
{
    static const struct epilogue none = { .relu = false };
    const struct conv_shape back = turned(&op->shape);
    struct conv t = { .c = c, .cut = conv_cut_of(c, &back), .y = op->dx, .x = op->dy, .add = op->add, .e = &none };
    const size_t n_weights = t.cut.M * t.cut.K, n_col = conv_col_elems(&t.cut),
                 n_flip = c->bf16 ? FLIP_CHANNELS * t.cut.K : 0;
    struct flip flip = { c, NULL, op->weight, (size_t)op->shape.C_out, (size_t)op->shape.in.C, t.cut.n_taps };

    t.transposed = t.cut.n_taps == 1;
    if (!cpu_scratch(c, n_col > n_flip ? n_col : n_flip, t.transposed && !c->bf16 ? 0 : n_weights))
        return;
    flip.to = cpu_common(c);
    if (t.transposed)
        t.weight = cpu_rounded(c, cpu_common(c), op->weight, n_weights);
    else {
        t.weight = flip.to;
        if (!c->gemm_only)
            team_run(c->team, flip_task, &flip, (int)ceil_div(flip.C, FLIP_CHANNELS));
    }
    conv_run(&t);
}
