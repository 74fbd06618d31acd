/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_calls.h - measures how long allreduces of few bytes take here by each algorithm.
 *
 * No model of messages predicts that. The cost of a message depends on the ranks that must be woken for it, and on
 * their processors. It also depends on how many messages one rank sends or receives at a time. Bytes also have other
 * rates than in long messages. So two lengths are measured: n_ranks elements, where no chunk is empty and messages are
 * the whole cost, and 16 KiB. Lengths between them are interpolated linearly.
 */
#ifndef ALLREDUCE_SHORT_CALLS_H
#define ALLREDUCE_SHORT_CALLS_H

#include "harness/exchange/collective.h"

enum { SHORT_CALL_ELEMS = 4096 };

struct short_call {       /* of one algorithm */
    double few_s, more_s; /* NaN: it cannot run on these ranks, or was not measured */
    size_t n_few, n_more; /* elements of each; n_few <= n_more, at most SHORT_CALL_ELEMS and max_elems */
};

/* took[i] := allreduces by ops[i], n algorithms, on env's transport and compute. It is the fastest of some series, in
 * which the algorithms take turns, on the slowest rank. Nothing is measured in virtual time, which this may not take.
 * Takes some tens of milliseconds, more if ranks share processors. Collective. Errors: those of the algorithms,
 * RC_NOMEM. */
enum rc short_calls_measure(struct short_call *took, const struct collective_ops *const *ops, int n,
                            const struct collective_env *env) MUST_CHECK;
/* The time for n_elems, at most n_more. Pure. */
double short_call_s(const struct short_call *took, size_t n_elems);

#endif
