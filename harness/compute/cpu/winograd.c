/* SPDX-License-Identifier: Apache-2.0 */
/* winograd.c - small convolutions of 3 x 3 on the cpu backend, and the gradient of their input: see winograd.h. */
#include "harness/compute/cpu/winograd.h"

#include <string.h>

enum {
    MIN_CHANNELS = 8,         /* below, the GEMMs are too small to be fast */
    MIN_IMAGE_TILES = 16,     /* below, transforming the weights takes as long as what is won */
    MIN_BLOCKS = 8,           /* as many threads can share them; less where an image is larger */
    MIN_TILES = 64,           /* of a block, for wide enough GEMMs */
    CACHE_ELEMS = 128 * 1024, /* of v and m of a block: half a MiB, the smallest second-level cache of a server */
};

static size_t ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* As many images as fit into the cache, but enough blocks for all threads. */
static size_t count_block_images(const struct winograd *w, size_t n_channels)
{
    const size_t most_tiles = lesser(WINOGRAD_MAX_TILES, CACHE_ELEMS / (WINOGRAD_FREQUENCIES * n_channels));
    const size_t most = most_tiles / w->image_tiles, wide = ceil_div(MIN_TILES, w->image_tiles);
    const size_t n = w->B / MIN_BLOCKS > wide ? w->B / MIN_BLOCKS : wide;

    return lesser(lesser(most, n), w->B);
}

struct winograd winograd_of(struct cpu *c, const struct window *g, size_t n_channels)
{
    struct winograd w = { .c = c, .B = (size_t)g->B, .H = (size_t)g->H, .W = (size_t)g->W };

    w.out_w = w.W / 2;
    w.image_tiles = w.H / 2 * w.out_w;
    w.block_images = count_block_images(&w, n_channels);
    w.n_blocks = w.block_images > 0 ? ceil_div(w.B, w.block_images) : 0;
    w.ld = conv_row_elems(w.block_images * w.image_tiles);
    return w;
}

bool cpu_winograd_pays(const struct cpu *c, const struct conv_shape *s)
{
    const struct window *g = &s->in;

    if (c->bf16 || g->kernel_h != 3 || g->kernel_w != 3 || g->stride_h != 1 || g->stride_w != 1 || g->pad_h != 1 ||
        g->pad_w != 1 || g->H % 2 != 0 || g->W % 2 != 0 || g->C < MIN_CHANNELS || s->C_out < MIN_CHANNELS)
        return false;
    const size_t image_tiles = (size_t)g->H / 2 * ((size_t)g->W / 2), n_channels = (size_t)g->C + (size_t)s->C_out;
    return image_tiles >= MIN_IMAGE_TILES && image_tiles <= WINOGRAD_MAX_TILES &&
           WINOGRAD_FREQUENCIES * n_channels * image_tiles <= CACHE_ELEMS;
}

struct winograd_block winograd_block_of(const struct winograd *w, size_t block)
{
    const size_t first = block * w->block_images, n = lesser(w->block_images, w->B - first);

    return (struct winograd_block){ first, n, n * w->image_tiles };
}

size_t winograd_frequency_elems(const struct winograd *w, size_t n_channels)
{
    return n_channels * w->ld + LINE_ELEMS;
}

size_t winograd_elems(const struct winograd *w, size_t n_channels)
{
    return WINOGRAD_FREQUENCIES * winograd_frequency_elems(w, n_channels);
}

/* Of channel c of an array (C, B, H, W): where the block begins. */
static size_t block_offset(const struct winograd *w, size_t c, const struct winograd_block *block)
{
    return (c * w->B + block->first_image) * w->H * w->W;
}

static struct winograd_images images_of(const struct winograd *w, const struct winograd_block *block)
{
    return (struct winograd_images){ block->n_images, w->H, w->W };
}

void winograd_input(const struct winograd *w, float *v, const float *x, size_t n_channels,
                    const struct winograd_block *block)
{
    const struct winograd_images images = images_of(w, block);

    for (size_t c = 0; c < n_channels; c++)
        w->c->kernels->winograd->input(v + c * w->ld, winograd_frequency_elems(w, n_channels),
                                       x + block_offset(w, c, block), &images);
}

void winograd_output_grad(const struct winograd *w, float *dm, const float *dy, size_t n_channels,
                          const struct winograd_block *block)
{
    const struct winograd_images images = images_of(w, block);

    for (size_t c = 0; c < n_channels; c++)
        w->c->kernels->winograd->output_grad(dm + c * w->ld, winograd_frequency_elems(w, n_channels),
                                             dy + block_offset(w, c, block), &images);
}

struct winograd_conv { /* one call: y(M, B, H, W) (+)= x(C, B, H, W) * weight */
    struct winograd w;
    size_t C, M;
    float *y;
    const float *x, *u; /* u(16, M, C), reversed: u(16, C, M) */
    bool reversed, add;
    const struct epilogue *e;
};

/* The frequency that has the place of f once both axes of the kernel are reversed: rows 0 and 3 of G change places. */
static size_t reversed_frequency(size_t f)
{
    static const size_t reversed[WINOGRAD_SIDE] = { 3, 1, 2, 0 };

    return reversed[f / WINOGRAD_SIDE] * WINOGRAD_SIDE + reversed[f % WINOGRAD_SIDE];
}

/* m_f(M, n_tiles) = u_f(M, C) v_f(C, n_tiles) for all frequencies. */
static void multiply(const struct winograd_conv *t, float *m, const float *v, size_t n_tiles)
{
    const size_t m_elems = winograd_frequency_elems(&t->w, t->M), v_elems = winograd_frequency_elems(&t->w, t->C);

    for (size_t f = 0; f < WINOGRAD_FREQUENCIES; f++) {
        const struct blas g = { .transpose_a = t->reversed,
                                .M = t->M,
                                .N = n_tiles,
                                .K = t->C,
                                .a = t->u + (t->reversed ? reversed_frequency(f) : f) * t->M * t->C,
                                .lda = t->reversed ? t->M : t->C,
                                .b = v + f * v_elems,
                                .ldb = t->w.ld,
                                .c = m + f * m_elems,
                                .ldc = t->w.ld };
        cpu_blas(t->w.c, &g);
    }
}

/* y of the block from m, and its epilogue while a channel is in the cache. */
static void write_outputs(const struct winograd_conv *t, const float *m, const struct winograd_block *block)
{
    const struct winograd *w = &t->w;
    const struct winograd_images images = images_of(w, block);
    const struct conv_tile all = { .column = block->first_image * w->H * w->W, .n_columns = images.n * w->H * w->W };

    for (size_t o = 0; o < t->M; o++) {
        w->c->kernels->winograd->output(t->y + block_offset(w, o, block), m + o * w->ld,
                                        winograd_frequency_elems(w, t->M), &images, t->add);
        cpu_epilogue(w->c, t->y, t->e, w->B * w->H * w->W, (struct index_range){ o, 1 }, &all);
    }
}

static void conv_task(void *arg, int task, int thread)
{
    const struct winograd_conv *t = arg;
    const struct winograd_block block = winograd_block_of(&t->w, (size_t)task);
    float *v = cpu_own(t->w.c, thread), *m = v + winograd_elems(&t->w, t->C);

    if (!t->w.c->gemm_only)
        winograd_input(&t->w, v, t->x, t->C, &block);
    multiply(t, m, v, block.n_tiles);
    if (!t->w.c->gemm_only)
        write_outputs(t, m, &block);
}

/* The four rows of G g of one column of g, of a line of kernels at a time. */
static void transform_three(float out[WINOGRAD_SIDE][LINE_ELEMS], const float *a, const float *b, const float *c)
{
    for (size_t i = 0; i < LINE_ELEMS; i++) {
        out[0][i] = a[i];
        out[1][i] = 0.5f * (a[i] + b[i] + c[i]);
        out[2][i] = 0.5f * (a[i] - b[i] + c[i]);
        out[3][i] = c[i];
    }
}

/* u(16, n) = G g G^T of kernels g(n, 3, 3). */
static void transform_kernels(float *u, const float *g, size_t n)
{
    float tap[9][LINE_ELEMS] = { { 0 } }, column[3][WINOGRAD_SIDE][LINE_ELEMS], row[WINOGRAD_SIDE][LINE_ELEMS];

    for (size_t from = 0; from < n; from += LINE_ELEMS) {
        const size_t n_kernels = lesser(LINE_ELEMS, n - from);
        for (size_t i = 0; i < n_kernels; i++, g += 9)
            for (int k = 0; k < 9; k++)
                tap[k][i] = g[k];
        for (int k = 0; k < 3; k++)
            transform_three(column[k], tap[k], tap[3 + k], tap[6 + k]);
        for (size_t r = 0; r < WINOGRAD_SIDE; r++) {
            transform_three(row, column[0][r], column[1][r], column[2][r]);
            for (size_t k = 0; k < WINOGRAD_SIDE; k++)
                memcpy(u + (r * WINOGRAD_SIDE + k) * n + from, row[k], n_kernels * sizeof *u);
        }
    }
}

static void conv_run(struct winograd_conv *t, const float *weight)
{
    struct cpu *c = t->w.c;
    const size_t n = t->M * t->C;

    if (!cpu_scratch(c, winograd_elems(&t->w, t->C) + winograd_elems(&t->w, t->M), WINOGRAD_FREQUENCIES * n))
        return;
    if (!c->gemm_only)
        transform_kernels(cpu_common(c), weight, n);
    t->u = cpu_common(c);
    thread_pool_run(c->pool, conv_task, t, (int)t->w.n_blocks);
}

void cpu_winograd_conv(struct cpu *c, const struct conv_forward *op)
{
    const struct conv_shape *s = &op->shape;
    const size_t C = (size_t)s->in.C, M = (size_t)s->C_out;
    struct winograd_conv t = {
        .w = winograd_of(c, &s->in, C + M), .C = C, .M = M, .y = op->y, .x = op->x, .e = &op->epilogue
    };

    conv_run(&t, op->weight);
}

void cpu_winograd_input_grad(struct cpu *c, const struct conv_input_grad *op)
{
    static const struct epilogue none = { .relu = false };
    const struct conv_shape *s = &op->shape;
    const size_t C = (size_t)s->in.C, M = (size_t)s->C_out;
    struct winograd_conv t = { .w = winograd_of(c, &s->in, C + M),
                               .C = M,
                               .M = C,
                               .y = op->dx,
                               .x = op->dy,
                               .reversed = true,
                               .add = op->add,
                               .e = &none };

    conv_run(&t, op->weight);
}
