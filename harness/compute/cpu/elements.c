/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - operations of the cpu backend that read or write each element once. */
#include <string.h>

#include "harness/compute/cpu/cpu.h"

/* SUM_ELEMS: 8 KiB. STREAM_BYTES: what is longer would not be in the cache when it is read again. */
enum { SUM_ELEMS = 2048, STREAM_BYTES = 1 << 18 };

struct elements { /* one call; those it does not use are zero */
    const struct cpu_kernels *kernels;
    void (*one)(const struct elements *t, size_t from, size_t n);
    float *out, *state, *squares;
    const float *in;
    size_t n;
    float keep_ratio;
    uint64_t key;
    const struct sgd *sgd;
    const struct adagrad *adagrad;
    const struct adam *adam;
    const struct sum_arrays *sum;
    bool streams;
};

static void element_task(void *arg, int task, int thread)
{
    const struct elements *t = arg;
    const struct index_range s = cpu_range(t->n, task);

    (void)thread;
    t->one(t, s.from, s.n);
}

static void run(struct compute *base, struct elements t)
{
    struct cpu *c = cpu_of(base);

    t.kernels = c->kernels;
    thread_pool_run(c->pool, element_task, &t, cpu_n_ranges(t.n));
}

static void relu_grad_one(const struct elements *t, size_t from, size_t n)
{
    t->kernels->relu_grad(t->out + from, t->in + from, n);
}

void cpu_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    run(c, (struct elements){ .one = relu_grad_one, .out = dx, .in = x, .n = n });
}

static void zero_one(const struct elements *t, size_t from, size_t n)
{
    memset(t->out + from, 0, n * sizeof *t->out);
}

void cpu_zero(struct compute *c, float *x, size_t n)
{
    run(c, (struct elements){ .one = zero_one, .out = x, .n = n });
}

static void accumulate_one(const struct elements *t, size_t from, size_t n)
{
    t->kernels->add(t->out + from, t->in + from, n);
}

void cpu_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    run(c, (struct elements){ .one = accumulate_one, .out = y, .in = x, .n = n });
}

/* Do both results take the place of both operands? */
static bool is_sum_of_both(const struct sum_arrays *op)
{
    return op->n_operands == 2 && op->n_results == 2 && op->result[0] == op->operand[0] &&
           op->result[1] == op->operand[1];
}

static size_t into_line(const float *x)
{
    return (uintptr_t)x / sizeof *x % STREAM_ELEMS;
}

static bool is_operand(const struct sum_arrays *op, const float *result)
{
    int j = 0;

    while (j < op->n_operands && op->operand[j] != result)
        j++;
    return j < op->n_operands;
}

/* Is it long, and does no result take the place of an operand? Then results are written past the caches, so that they
 * are not read from memory first. */
static bool is_streamed(const struct cpu_kernels *kernels, const struct sum_arrays *op)
{
    if (!kernels->stream_sums || op->n_operands == 1 || op->n * sizeof(float) * (size_t)op->n_results < STREAM_BYTES)
        return false;
    for (int k = 0; k < op->n_results; k++)
        if (is_operand(op, op->result[k]) || into_line(op->result[k]) != into_line(op->result[0]))
            return false;
    return true;
}

/* Of some elements that fit into the cache beside their operands: sums leave it once. They arise in the first result if
 * that is no operand. */
static void sum_block(const struct cpu_kernels *kernels, const struct sum_arrays *op, size_t from, size_t n)
{
    float own[SUM_ELEMS], *sum = is_operand(op, op->result[0]) ? own : op->result[0] + from;

    kernels->sum_two(sum, op->operand[0] + from, op->operand[1] + from, n);
    for (int j = 2; j < op->n_operands; j++)
        kernels->add(sum, op->operand[j] + from, n);
    for (int k = 0; k < op->n_results; k++)
        if (op->result[k] + from != sum)
            memcpy(op->result[k] + from, sum, n * sizeof *sum);
}

/* Whole lines of the results, and what is before and behind them. */
static void stream_one(const struct cpu_kernels *kernels, const struct sum_arrays *op, size_t from, size_t n)
{
    const size_t n_to_line = (STREAM_ELEMS - into_line(op->result[0] + from)) % STREAM_ELEMS;
    const size_t n_first = n_to_line < n ? n_to_line : n, n_last = (n - n_first) % STREAM_ELEMS;

    sum_block(kernels, op, from, n_first);
    kernels->stream_sums(op, from + n_first, n - n_first - n_last);
    sum_block(kernels, op, from + n - n_last, n_last);
}

static void copy_one(const struct sum_arrays *op, size_t from, size_t n)
{
    for (int k = 0; k < op->n_results; k++)
        if (op->result[k] != op->operand[0])
            memcpy(op->result[k] + from, op->operand[0] + from, n * sizeof **op->operand);
}

static void sum_one(const struct elements *t, size_t from, size_t n)
{
    const struct sum_arrays *op = t->sum;

    if (op->n_operands == 1) {
        copy_one(op, from, n);
        return;
    }
    if (is_sum_of_both(op)) {
        t->kernels->sum_both(op->result[0] + from, op->result[1] + from, n);
        return;
    }
    if (t->streams) {
        stream_one(t->kernels, op, from, n);
        return;
    }
    if (op->n_operands == 2 && op->n_results == 1) {
        t->kernels->sum_two(op->result[0] + from, op->operand[0] + from, op->operand[1] + from, n);
        return;
    }
    for (size_t done = 0; done < n; done += SUM_ELEMS)
        sum_block(t->kernels, op, from + done, n - done < SUM_ELEMS ? n - done : SUM_ELEMS);
}

void cpu_sum_arrays(struct compute *c, const struct sum_arrays *op)
{
    run(c, (struct elements){ .one = sum_one, .sum = op, .streams = is_streamed(cpu_of(c)->kernels, op), .n = op->n });
}

static void dropout_one(const struct elements *t, size_t from, size_t n)
{
    t->kernels->dropout(t->out + from, from, n, t->keep_ratio, t->key);
}

void cpu_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    run(c, (struct elements){ .one = dropout_one, .out = x, .n = n, .keep_ratio = keep_ratio, .key = key });
}

static void sgd_one(const struct elements *t, size_t from, size_t n)
{
    t->kernels->sgd(t->out + from, t->state != NULL ? t->state + from : NULL, t->in + from, n, t->sgd);
}

void cpu_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    run(c, (struct elements){ .one = sgd_one, .out = p, .state = v, .in = g, .n = n, .sgd = s });
}

static void adagrad_one(const struct elements *t, size_t from, size_t n)
{
    t->kernels->adagrad(t->out + from, t->squares + from, t->in + from, n, t->adagrad);
}

void cpu_adagrad_step(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)
{
    run(c, (struct elements){ .one = adagrad_one, .out = p, .squares = sum, .in = g, .n = n, .adagrad = s });
}

static void adam_one(const struct elements *t, size_t from, size_t n)
{
    t->kernels->adam(t->out + from, t->state + from, t->squares + from, t->in + from, n, t->adam);
}

void cpu_adam_step(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
{
    run(c, (struct elements){ .one = adam_one, .out = p, .state = m, .squares = v, .in = g, .n = n, .adam = s });
}

struct layout { /* (outer, n, inner), or (a, b, inner) */
    const struct cpu_kernels *kernels;
    float *out;
    const float *in;
    size_t outer, n, inner;
};

static void bias_add_task(void *arg, int task, int thread)
{
    const struct layout *t = arg;
    const struct index_range rows = cpu_item_range(t->outer, t->n * t->inner, task);

    (void)thread;
    for (size_t o = rows.from; o < rows.from + rows.n; o++) {
        float *row = t->out + o * t->n * t->inner;
        if (t->inner == 1)
            t->kernels->add(row, t->in, t->n);
        else
            for (size_t i = 0; i < t->n; i++)
                t->kernels->add_constant(row + i * t->inner, t->in[i], t->inner);
    }
}

void cpu_bias_add(struct compute *base, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    struct cpu *c = cpu_of(base);
    struct layout t = { .kernels = c->kernels, .out = y, .in = bias, .outer = outer, .n = n, .inner = inner };

    thread_pool_run(c->pool, bias_add_task, &t, cpu_n_item_ranges(outer, n * inner));
}

void cpu_bias_grad(struct compute *base, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    const struct cpu *c = cpu_of(base);

    for (size_t o = 0; o < outer; o++) {
        const float *row = dy + o * n * inner;
        if (inner == 1)
            c->kernels->add(dbias, row, n);
        else
            for (size_t i = 0; i < n; i++)
                dbias[i] += (float)c->kernels->sum(row + i * inner, inner);
    }
}

static void swap_task(void *arg, int task, int thread)
{
    const struct layout *t = arg;
    const struct index_range rows = cpu_item_range(t->n, t->outer * t->inner, task);

    (void)thread;
    for (size_t j = rows.from; j < rows.from + rows.n; j++) {
        float *to = t->out + j * t->outer * t->inner;
        for (size_t i = 0; i < t->outer; i++, to += t->inner) {
            const float *from = t->in + (i * t->n + j) * t->inner;
            for (size_t k = 0; k < t->inner; k++)
                to[k] = from[k];
        }
    }
}

void cpu_swap_axes(struct compute *base, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    struct cpu *c = cpu_of(base);
    struct layout t = { .kernels = c->kernels, .out = out, .in = in, .outer = n_a, .n = n_b, .inner = n_inner };

    thread_pool_run(c->pool, swap_task, &t, cpu_n_item_ranges(n_b, n_a * n_inner));
}
