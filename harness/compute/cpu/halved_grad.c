/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halved_grad.c - the gradient of the input of convolutions that halve small images, on the cpu backend.
 *
 * With stride 2 each of the four phases of dx (im2col_phases.c) is the output of a convolution of dy with some of the
 * taps: of 3 x 3 taps, padded by 1, a phase of even rows sees the middle row of taps, one of odd rows the two others,
 * the first of them in the row of dy below; columns likewise. So all four are GEMMs with rows of one matrix, which
 * holds dy four times: shifted by a row, as it is, shifted by a column, by both. Each element of dx is written once,
 * where col2im adds to it for every tap.
 *
 * A task takes a block of whole images, whose matrix and phases stay in the second-level cache.
 */
#include "harness/compute/cpu/conv.h"
#include "harness/compute/cpu/im2col.h"

enum {
    N_PHASES = 4,
    N_SHIFTS = 4,
    N_TAPS = 9,
    CACHE_ELEMS = 128 * 1024, /* as that of winograd.c */
    MIN_BLOCKS = 8,           /* as many threads can share them; less where an image is larger */
};

/* In this order the shifts that a phase sees are neighbours. */
static const struct {
    int top, left;
} shifts[N_SHIFTS] = { { 1, 0 }, { 0, 0 }, { 0, 1 }, { 1, 1 } };

/* Phases as split_phases() orders them: the first of its shifts, and how many. */
static const struct {
    size_t first, n;
} sees[N_PHASES] = { { 1, 1 }, { 1, 2 }, { 0, 2 }, { 0, 4 } };

struct halved_grad { /* one call */
    struct cpu *c;
    const struct conv_input_grad *op;
    size_t C, M, image_columns, block_images, n_blocks; /* columns: of dy */
    const float *weight;                                /* for each phase, (C, n shifts, M) */
};

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t elems_of_column(const struct conv_shape *s)
{
    return N_SHIFTS * (size_t)s->C_out + N_PHASES * (size_t)s->in.C;
}

bool cpu_halved_grad_pays(const struct cpu *c, const struct conv_shape *s)
{
    const struct window *g = &s->in;

    return !c->bf16 && g->kernel_h == 3 && g->kernel_w == 3 && g->stride_h == 2 && g->stride_w == 2 && g->pad_h == 1 &&
           g->pad_w == 1 && g->H % 2 == 0 && g->W % 2 == 0 &&
           elems_of_column(s) * conv_row_elems((size_t)g->H / 2 * ((size_t)g->W / 2)) <= CACHE_ELEMS;
}

/* The tap that a phase sees in dy shifted by `shift`. */
static size_t tap_of(int phase, size_t shift)
{
    const size_t row = phase / 2 == 0 ? 1 : shifts[shift].top == 0 ? 2 : 0;
    const size_t column = phase % 2 == 0 ? 1 : shifts[shift].left == 0 ? 2 : 0;

    return row * 3 + column;
}

/* Where the weights of a phase begin: behind those of the phases before. */
static size_t weight_offset(const struct halved_grad *t, int phase)
{
    size_t n_taps = 0;

    for (int k = 0; k < phase; k++)
        n_taps += sees[k].n;
    return n_taps * t->C * t->M;
}

/* to(C, shifts, M) of each phase = weight(M, C, 3, 3) */
static void sort_weights(const struct halved_grad *t, float *to)
{
    for (int phase = 0; phase < N_PHASES; phase++)
        for (size_t c = 0; c < t->C; c++)
            for (size_t k = 0; k < sees[phase].n; k++) {
                const float *from = t->op->weight + c * N_TAPS + tap_of(phase, sees[phase].first + k);
                for (size_t o = 0; o < t->M; o++)
                    *to++ = from[o * t->C * N_TAPS];
            }
}

/* col(shifts, M, n) of dy of the block; n: in whole lines. */
static void fill_shifts(const struct halved_grad *t, float *col, const struct cols *part)
{
    const size_t channel_elems = t->image_columns * (size_t)part->g->B;

    for (size_t k = 0; k < N_SHIFTS; k++)
        for (size_t o = 0; o < t->M; o++) {
            const struct col_row row = { .c = t->c, .row = (char *)(col + (k * t->M + o) * part->ld) };
            cpu_fill_shifted(&row, t->op->dy + o * channel_elems, part, shifts[k].top, shifts[k].left);
        }
}

/* phase(C, n) = weight(C, shifts M) col(shifts M, n) for each phase; of a channel they lie one behind the other. */
static void multiply(const struct halved_grad *t, float *phases, const float *col, size_t n_columns, size_t ld)
{
    for (int phase = 0; phase < N_PHASES; phase++) {
        const size_t K = sees[phase].n * t->M;
        const struct blas g = { .M = t->C,
                                .N = n_columns,
                                .K = K,
                                .a = t->weight + weight_offset(t, phase),
                                .lda = K,
                                .b = col + sees[phase].first * t->M * ld,
                                .ldb = ld,
                                .c = phases + (size_t)phase * ld,
                                .ldc = N_PHASES * ld };
        cpu_blas(t->c, &g);
    }
}

static void block_task(void *arg, int task, int thread)
{
    const struct halved_grad *t = arg;
    const struct window *in = &t->op->shape.in;
    const size_t B = (size_t)in->B, first = (size_t)task * t->block_images, n = lesser(t->block_images, B - first);
    const size_t out_h = (size_t)in->H / 2, plane = (size_t)in->H * (size_t)in->W, n_columns = n * t->image_columns;
    const struct window out = { .B = in->B, .C = (int)t->M, .H = in->H / 2, .W = in->W / 2 };
    const struct cols part = { .g = &out, .from = first * out_h, .n = n * out_h, .ld = conv_row_elems(n_columns) };
    const struct cpu_copy_kernels *k = t->c->kernels->copies;
    float *col = cpu_own(t->c, thread), *phases = col + N_SHIFTS * t->M * part.ld;

    if (!t->c->gemm_only)
        fill_shifts(t, col, &part);
    multiply(t, phases, col, n_columns, part.ld);
    for (size_t c = 0; c < t->C && !t->c->gemm_only; c++)
        (t->op->add ? k->add_phases : k->join_phases)(t->op->dx + (c * B + first) * plane,
                                                      phases + c * N_PHASES * part.ld, part.ld, n * (size_t)in->H,
                                                      (size_t)in->W);
}

void cpu_halved_grad(struct cpu *c, const struct conv_input_grad *op)
{
    const struct window *g = &op->shape.in;
    struct halved_grad t = { .c = c, .op = op, .C = (size_t)g->C, .M = (size_t)op->shape.C_out };
    const size_t B = (size_t)g->B, n_each = elems_of_column(&op->shape);

    t.image_columns = (size_t)g->H / 2 * ((size_t)g->W / 2);
    t.block_images = lesser(CACHE_ELEMS / n_each / t.image_columns, B > MIN_BLOCKS ? B / MIN_BLOCKS : 1);
    t.n_blocks = (B + t.block_images - 1) / t.block_images;
    if (!cpu_scratch(c, n_each * conv_row_elems(t.block_images * t.image_columns), N_TAPS * t.C * t.M))
        return;
    if (!c->gemm_only)
        sort_weights(&t, cpu_common(c));
    t.weight = cpu_common(c);
    thread_pool_run(c->pool, block_task, &t, (int)t.n_blocks);
}
