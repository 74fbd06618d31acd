/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - losses of the cpu backend. */
#include <math.h>

#include "harness/compute/cpu/cpu.h"

enum { N_LANES = 8 };

struct xent { /* one call */
    const struct softmax_xent *op;
    double *loss;     /* of each row */
    uint32_t *is_hit; /* of each row */
};

/* Loss of one row; p(K) (NULL: none) := weight (softmax - 1 at the label) / B. */
static double xent_row(float *p, const float *logit, size_t label, float weight, size_t K, size_t B, size_t *best)
{
    double sum = 0.0;
    size_t top = 0;

    for (size_t k = 1; k < K; k++)
        if (logit[k] > logit[top])
            top = k;
    for (size_t k = 0; k < K; k++) { /* the largest exponent is 0: no overflow */
        const float e = expf(logit[k] - logit[top]);
        sum += e;
        if (p != NULL)
            p[k] = e;
    }
    if (p != NULL) {
        const double scale = (double)weight / (sum * (double)B);
        for (size_t k = 0; k < K; k++)
            p[k] = (float)(p[k] * scale);
        p[label] -= weight / (float)B;
    }
    *best = top;
    return log(sum) - ((double)logit[label] - (double)logit[top]);
}

static void xent_task(void *arg, int task, int thread)
{
    const struct xent *t = arg;
    const struct softmax_xent *op = t->op;
    const struct index_range rows =
        cpu_item_range(op->B, 4 * op->K, task); /* an exponential costs as much as several sums */

    (void)thread;
    for (size_t i = rows.from; i < rows.from + rows.n; i++) {
        size_t best;
        t->loss[i] = xent_row(op->dlogits != NULL ? op->dlogits + i * op->K : NULL, op->logits + i * op->K,
                              op->label[i], op->weight, op->K, op->B, &best);
        t->is_hit[i] = best == op->label[i];
    }
}

void cpu_softmax_xent(struct compute *base, const struct softmax_xent *op)
{
    struct cpu *c = cpu_of(base);
    struct xent t = { .op = op };
    double loss = 0.0;
    size_t n_correct = 0;

    if (!cpu_scratch(c, 0, 3 * op->B))
        return;
    t.loss = (double *)(void *)cpu_common(c);
    t.is_hit = (uint32_t *)(void *)(t.loss + op->B);
    thread_pool_run(c->pool, xent_task, &t, cpu_n_item_ranges(op->B, 4 * op->K));
    for (size_t i = 0; i < op->B; i++) {
        loss += t.loss[i];
        n_correct += t.is_hit[i];
    }
    *op->mean_loss = loss / (double)op->B;
    if (op->n_correct != NULL)
        *op->n_correct = n_correct;
}

void cpu_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    double lane[N_LANES] = { 0.0 }, sum = 0.0;
    const float scale = 2.0f / (float)n;
    size_t i = 0;

    (void)c;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++) {
            const double e = (double)(y[i + j] - target[i + j]);
            lane[j] += e * e;
        }
    for (size_t j = 0; j < N_LANES; j++)
        sum += lane[j];
    for (; i < n; i++) {
        const double e = (double)(y[i] - target[i]);
        sum += e * e;
    }
    *mean_loss = sum / (double)n;
    if (dy != NULL)
        for (i = 0; i < n; i++)
            dy[i] = scale * (y[i] - target[i]);
}
