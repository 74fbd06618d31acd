/* SPDX-License-Identifier: Apache-2.0 */
/*
 * periods.h - how often a worker pushes and pulls (Dean et al., NIPS 2012: DistBelief's Downpour SGD, n_push and
 * n_fetch).
 *
 * Steps n of the training count from 1. A step pushes if n is a multiple of push_every; it pushes the sum of the
 * gradients since the push before. It pulls if n is a multiple of pull_every. A step without a pull continues with its
 * own gradient: p -= lr (g + weight_decay p), for any optimiser of the servers. The last step of a run pushes, so that
 * no gradient is lost.
 */
#ifndef HARNESS_EXCHANGE_PERIODS_H
#define HARNESS_EXCHANGE_PERIODS_H

#include <stdbool.h>
#include <stdint.h>

struct periods { /* 0: same as 1 */
    uint64_t push_every, pull_every;
};

enum push_pull { EXCHANGE_PUSH = 1u << 0, EXCHANGE_PULL = 1u << 1 };

struct period_counts { /* steps */
    uint64_t n_pushes, n_pulls, n_both;
};

static inline bool periods_are_on(const struct periods *p)
{
    return p->push_every > 1 || p->pull_every > 1;
}

/* enum push_pull of step n; is_last: of the run. */
static inline unsigned periods_push_pull(const struct periods *p, uint64_t n, bool is_last)
{
    const bool pushes = p->push_every <= 1 || n % p->push_every == 0 || is_last;

    return (pushes ? EXCHANGE_PUSH : 0u) | (p->pull_every <= 1 || n % p->pull_every == 0 ? EXCHANGE_PULL : 0u);
}

static inline void periods_add(struct period_counts *to, unsigned push_pull)
{
    to->n_pushes += (push_pull & EXCHANGE_PUSH) != 0;
    to->n_pulls += (push_pull & EXCHANGE_PULL) != 0;
    to->n_both += push_pull == (EXCHANGE_PUSH | EXCHANGE_PULL);
}

static inline uint64_t periods_multiples(uint64_t every, uint64_t first, uint64_t n_steps)
{
    return (first + n_steps) / every - first / every;
}

/* The counts for a run of n_steps steps (at least 1) after the first `first` steps of the training. */
static inline struct period_counts periods_count(const struct periods *p, uint64_t first, uint64_t n_steps)
{
    const uint64_t push = p->push_every > 1 ? p->push_every : 1, pull = p->pull_every > 1 ? p->pull_every : 1;
    const bool pushes_rest = (first + n_steps) % push != 0, pulls_last = (first + n_steps) % pull == 0;
    uint64_t a = push, b = pull; /* Euclid: a becomes their greatest common divisor */

    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (struct period_counts){ .n_pushes = periods_multiples(push, first, n_steps) + pushes_rest,
                                   .n_pulls = periods_multiples(pull, first, n_steps),
                                   .n_both = periods_multiples(push / a * pull, first, n_steps) +
                                             (pushes_rest && pulls_last) };
}

#endif
