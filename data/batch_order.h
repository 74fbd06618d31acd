/* SPDX-License-Identifier: Apache-2.0 */
/* batch_order.h - the order in which a worker takes batches of training samples. */
#ifndef DATA_BATCH_ORDER_H
#define DATA_BATCH_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct batch_order {
    uint64_t first;         /* first sample of the run's first step; used only with several micro-batches */
    uint64_t stride;        /* distance from the first sample of a step to that of the next; 0: not known */
    size_t n_micro_batches; /* per step, of equal size, adjacent; 0: 1 */
};

/* 1 or more. */
static inline size_t batch_order_n_parts(const struct batch_order *o)
{
    return o->n_micro_batches > 1 ? o->n_micro_batches : 1;
}

/* The first sample of the batch that follows the n_samples from `at` on. Requires a known stride. */
static inline uint64_t batch_order_next(const struct batch_order *o, uint64_t at, size_t n_samples)
{
    const uint64_t n = batch_order_n_parts(o);
    const uint64_t number = n > 1 ? (at - o->first) % o->stride / n_samples : 0;

    return number + 1 < n ? at + n_samples : at + o->stride - (n - 1) * n_samples;
}

#endif
