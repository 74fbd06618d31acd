/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_calls.h - how long allreduces of few bytes take here by each algorithm, measured.
 *
 * No model of messages tells that: what each costs depends on who has to be woken for it, on which processors, on how
 * many of them one rank sends or takes at a time, and bytes go at other rates than those of long messages. So there are
 * two lengths: as many elements as ranks, with which no chunk is empty and messages are all, and 16 KiB; what is
 * between them is on a line.
 */
#ifndef ALLREDUCE_SHORT_CALLS_H
#define ALLREDUCE_SHORT_CALLS_H

#include "harness/exchange/collective.h"

enum { SHORT_CALL_ELEMS = 4096 };

struct short_call {       /* of an algorithm */
    double few_s, more_s; /* NaN: it cannot run on these ranks, or was not measured */
    size_t n_few, n_more; /* elements of each; n_few <= n_more, at most SHORT_CALL_ELEMS and max_elems */
};

/* took[i] := allreduces by ops[i], n of them, on env's transport and compute: the fastest of some series, in which all
 * take turns, of the slowest rank. Nothing is measured in virtual time, which this may not take. Takes some tens of
 * milliseconds, where ranks share processors more. Collective. Errors: those of the algorithms, RC_NOMEM. */
enum rc short_calls_measure(struct short_call *took, const struct collective_ops *const *ops, int n,
                            const struct collective_env *env) MUST_CHECK;
/* Of n_elems, at most n_more. Pure. */
double short_call_s(const struct short_call *took, size_t n_elems);

#endif
