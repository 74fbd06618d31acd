/* SPDX-License-Identifier: Apache-2.0 */
/* narrow.c - floats to 16 bits and back, by the cpu backend. */
#include "harness/compute/cpu/cpu.h"

struct narrowing { /* one call; those it does not use are NULL */
    const struct cpu_kernels *kernels;
    enum wire_format format;
    float *wide, *residual;
    const float *from;
    uint16_t *half;
    const uint16_t *from_half;
    size_t n;
    bool add;
};

static void run(struct compute *base, struct narrowing *t, thread_pool_fn *task)
{
    struct cpu *c = cpu_of(base);

    t->kernels = c->kernels;
    thread_pool_run(c->pool, task, t, cpu_n_ranges(t->n));
}

static void narrow_task(void *arg, int task, int thread)
{
    const struct narrowing *t = arg;
    const struct index_range s = cpu_range(t->n, task);

    (void)thread;
    t->kernels->narrow[t->format](t->half + s.from, t->from + s.from, s.n);
}

void cpu_narrow(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format)
{
    run(c, &(struct narrowing){ .format = format, .half = to, .from = from, .n = n }, narrow_task);
}

static void widen_task(void *arg, int task, int thread)
{
    const struct narrowing *t = arg;
    const struct index_range s = cpu_range(t->n, task);

    (void)thread;
    (t->add ? t->kernels->widen_add : t->kernels->widen)[t->format](t->wide + s.from, t->from_half + s.from, s.n);
}

void cpu_widen(struct compute *c, float *to, const uint16_t *from, size_t n, enum wire_format format, bool add)
{
    run(c, &(struct narrowing){ .format = format, .wide = to, .from_half = from, .n = n, .add = add }, widen_task);
}

static void round_task(void *arg, int task, int thread)
{
    const struct narrowing *t = arg;
    const struct index_range s = cpu_range(t->n, task);

    (void)thread;
    t->kernels->round[t->format](t->wide + s.from, t->residual ? t->residual + s.from : NULL, s.n);
}

void cpu_round_narrow(struct compute *c, float *x, float *residual, size_t n, enum wire_format format)
{
    run(c, &(struct narrowing){ .format = format, .wide = x, .residual = residual, .n = n }, round_task);
}
