/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistency.h - when a worker of a parameter server may continue, and which gradients count.
 *
 *   async    at once; each gradient is applied when it arrives
 *   ssp:S    stale synchronous parallel: each gradient is applied when it arrives; a worker that has pushed c steps
 *            reads when the slowest worker has pushed c - S (Ho et al., NIPS 2013)
 *   sync     one update per step, by the mean gradient of all workers; it releases them: sync:0
 *   sync:B   the same of all but B: the B latest gradients of each step, of backup workers, are dropped and counted
 *            (Chen et al., Revisiting Distributed Synchronous SGD, 2016; TensorFlow's SyncReplicasOptimizer)
 *
 * Here are the names; the rules are in ps/clocks.h. ps/README.md lists the code that depends on the rule.
 */
#ifndef HARNESS_EXCHANGE_CONSISTENCY_H
#define HARNESS_EXCHANGE_CONSISTENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum consistency_kind { CONSISTENCY_ASYNC, CONSISTENCY_SSP, CONSISTENCY_SYNC };

enum { CONSISTENCY_TEXT_BYTES = 24 };

struct consistency { /* zeroed: async */
    enum consistency_kind kind;
    uint32_t bound_count; /* ssp: S; sync: B; async: 0 */
};

/* "async", "ssp:S", "sync", "sync:B". RC_INVAL names the valid values; the message begins with "--consistency TEXT:
 * ". */
enum rc consistency_parse(struct consistency *out, const char *text) MUST_CHECK;
/* Writes it as text, cut to out[n_bytes]; CONSISTENCY_TEXT_BYTES are enough. */
void consistency_text(char *out, size_t n_bytes, const struct consistency *c);
/* RC_INVAL: the number of backup workers is at least that of workers. */
enum rc consistency_check(const struct consistency *c, int n_workers) MUST_CHECK;
/* Does every step wait for every worker? */
static inline bool consistency_waits_for_all(const struct consistency *c)
{
    return c->kind == CONSISTENCY_SYNC && c->bound_count == 0;
}

#endif
