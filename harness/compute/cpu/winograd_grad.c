/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_grad.c - the gradient of the weights of small convolutions of 3 x 3 on the cpu backend: see winograd.h.
 *
 * A task sums du(16, M, C) over a group of blocks. The sums of the groups are added in their order, then brought back
 * to 3 x 3.
 */
#include "harness/compute/cpu/winograd.h"

#include <string.h>

enum { MAX_GROUPS = 8 };

struct weight_grad { /* one call */
    struct winograd w;
    const struct conv_weight_grad *op;
    size_t C, M;
    size_t n_groups, group_blocks;
    float *du; /* (n_groups, 16, M, C) */
};

static size_t sums_elems(const struct weight_grad *t)
{
    return WINOGRAD_FREQUENCIES * t->M * t->C;
}

/* du_f(M, C) (+)= dm_f(M, n_tiles) v_f(C, n_tiles)^T for all frequencies; first: = */
static void multiply(const struct weight_grad *t, float *du, const float *dm, const float *v, size_t n_tiles,
                     bool first)
{
    const size_t dm_elems = winograd_frequency_elems(&t->w, t->M), v_elems = winograd_frequency_elems(&t->w, t->C);

    for (size_t f = 0; f < WINOGRAD_FREQUENCIES; f++) {
        const struct blas g = { .transpose_b = true,
                                .M = t->M,
                                .N = t->C,
                                .K = n_tiles,
                                .a = dm + f * dm_elems,
                                .lda = t->w.ld,
                                .b = v + f * v_elems,
                                .ldb = t->w.ld,
                                .beta = first ? 0.0f : 1.0f,
                                .c = du + f * t->M * t->C,
                                .ldc = t->C };
        cpu_blas(t->w.c, &g);
    }
}

static void group_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const struct winograd *w = &t->w;
    const size_t first = (size_t)task * t->group_blocks, left = w->n_blocks - first;
    const size_t n = left < t->group_blocks ? left : t->group_blocks;
    float *v = cpu_own(w->c, thread), *dm = v + winograd_elems(w, t->C);

    for (size_t i = first; i < first + n; i++) {
        const struct winograd_block block = winograd_block_of(w, i);
        if (!w->c->gemm_only) {
            winograd_input(w, v, t->op->x, t->C, &block);
            winograd_output_grad(w, dm, t->op->dy, t->M, &block);
        }
        multiply(t, t->du + (size_t)task * sums_elems(t), dm, v, block.n_tiles, i == first);
    }
}

/* du of the first group += those of the others. */
static void add_task(void *arg, int task, int thread)
{
    const struct weight_grad *t = arg;
    const struct index_range s = cpu_range(sums_elems(t), task);

    (void)thread;
    for (size_t group = 1; group < t->n_groups; group++)
        t->w.c->kernels->add(t->du + s.from, t->du + group * sums_elems(t) + s.from, s.n);
}

/* The three rows of G^T u of one column of u, of a line of kernels at a time. */
static void reduce_four(float out[3][LINE_ELEMS], const float *a, const float *b, const float *c, const float *d)
{
    for (size_t i = 0; i < LINE_ELEMS; i++) {
        out[0][i] = a[i] + 0.5f * (b[i] + c[i]);
        out[1][i] = 0.5f * (b[i] - c[i]);
        out[2][i] = 0.5f * (b[i] + c[i]) + d[i];
    }
}

/* dg(n, 3, 3) = G^T du G of du(16, n). */
static void reduce_kernels(float *dg, const float *du, size_t n)
{
    float u[WINOGRAD_FREQUENCIES][LINE_ELEMS] = { { 0 } }, column[WINOGRAD_SIDE][3][LINE_ELEMS], row[3][LINE_ELEMS];

    for (size_t from = 0; from < n; from += LINE_ELEMS) {
        const size_t n_kernels = n - from < LINE_ELEMS ? n - from : LINE_ELEMS;
        for (size_t f = 0; f < WINOGRAD_FREQUENCIES; f++)
            memcpy(u[f], du + f * n + from, n_kernels * sizeof *du);
        for (size_t k = 0; k < WINOGRAD_SIDE; k++)
            reduce_four(column[k], u[k], u[4 + k], u[8 + k], u[12 + k]);
        for (size_t r = 0; r < 3; r++) {
            reduce_four(row, column[0][r], column[1][r], column[2][r], column[3][r]);
            for (size_t i = 0; i < n_kernels; i++)
                for (size_t k = 0; k < 3; k++)
                    dg[(from + i) * 9 + r * 3 + k] = row[k][i];
        }
    }
}

void cpu_winograd_weight_grad(struct cpu *c, const struct conv_weight_grad *op)
{
    const struct conv_shape *s = &op->shape;
    const size_t C = (size_t)s->in.C, M = (size_t)s->C_out;
    struct weight_grad t = { .w = winograd_of(c, &s->in, C + M), .op = op, .C = C, .M = M };

    t.group_blocks = (t.w.n_blocks + MAX_GROUPS - 1) / MAX_GROUPS;
    t.n_groups = (t.w.n_blocks + t.group_blocks - 1) / t.group_blocks;
    if (!cpu_scratch(c, winograd_elems(&t.w, C) + winograd_elems(&t.w, M), t.n_groups * sums_elems(&t)))
        return;
    t.du = cpu_common(c);
    thread_pool_run(c->pool, group_task, &t, (int)t.n_groups);
    if (c->gemm_only)
        return;
    if (t.n_groups > 1)
        thread_pool_run(c->pool, add_task, &t, cpu_n_ranges(sums_elems(&t)));
    reduce_kernels(op->dweight, t.du, M * C);
}
