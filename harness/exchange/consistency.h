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
 * A new rule is a row of CONSISTENCY_RULES, and functions in ps/clocks.c where it needs others. ps/clocks.h says when a
 * gradient counts and when a worker may read. Other code compares no kind: it asks for a property.
 */
#ifndef HARNESS_EXCHANGE_CONSISTENCY_H
#define HARNESS_EXCHANGE_CONSISTENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/base/text.h"

/* RULE(KIND, push, may_read, properties): two functions of ps/clocks.c; members of struct consistency_properties. */
#define CONSISTENCY_RULES(RULE)                                                                        \
    RULE(ASYNC, counts_at_once, reads_at_once, .name = "async", .plain = "async")                      \
    RULE(SSP, counts_at_once, reads_within_lead, .name = "ssp", .numbered = "ssp:S", .may_wait = true, \
         .bounds_lead = true)                                                                          \
    RULE(SYNC, counts_in_round, reads_in_round, .name = "sync", .plain = "sync", .numbered = "sync:B", \
         .has_rounds = true, .may_wait = true, .drops_late = true)

struct consistency_properties {
    const char *name;
    const char *plain, *numbered; /* as it is typed: without a number, with one; NULL: not so */
    bool has_rounds;              /* one update per step, by the mean gradient; else each gradient is one */
    bool may_wait;                /* a worker may have to wait for others */
    bool bounds_lead;             /* the number is how many steps a worker may be ahead of the slowest */
    bool drops_late;              /* the number is how many gradients of a step are dropped; needs has_rounds */
};

#define CONSISTENCY_KIND(KIND, push, may_read, ...) CONSISTENCY_##KIND,
enum consistency_kind { CONSISTENCY_RULES(CONSISTENCY_KIND) N_CONSISTENCY_KINDS };
#undef CONSISTENCY_KIND

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
/* Is there one update per step, by the mean gradient? Otherwise each gradient makes one. */
bool consistency_has_rounds(const struct consistency *c);
/* May a worker have to wait for others? Otherwise each push is answered at once. */
bool consistency_may_wait(const struct consistency *c);
/* Gradients of each step that come late and are dropped. */
uint32_t consistency_n_dropped(const struct consistency *c);
/* Is a worker never more than bound_count steps ahead of the slowest, with an update for each gradient? */
bool consistency_bounds_lead(const struct consistency *c);
/* Does every step wait for every worker? */
bool consistency_waits_for_all(const struct consistency *c);
/* May a worker have to wait for the gradient that another one pushes in the same step? */
bool consistency_waits_in_step(const struct consistency *c);

/*
 * Bins of a histogram of staleness in fixed memory: one for each count below 32, then four to the octave.
 *
 *   bin    0  1 ... 31  32  33  34  35  36 ... 39  40 ...  60   61   62   63
 *   first  0  1 ... 31  32  40  48  56  64 ... 112 128 ... 4096 5120 6144 7168, and all above
 */

enum { STALENESS_EXACT = 32, STALENESS_BINS = 64 };

/* The least count of bin i < STALENESS_BINS. */
static inline uint64_t staleness_bin_first(int i)
{
    const int octave = (i - STALENESS_EXACT) / 4, quarter = (i - STALENESS_EXACT) % 4;

    return i < STALENESS_EXACT ? (uint64_t)i : (uint64_t)(4 + quarter) << (octave + 3);
}

/* The bin that counts this one. */
static inline int staleness_bin(uint64_t count)
{
    int i = count < STALENESS_EXACT ? (int)count : STALENESS_EXACT;

    while (i + 1 < STALENESS_BINS && staleness_bin_first(i + 1) <= count)
        i++;
    return i;
}

/*
 * The rate at which a server applies a late gradient.
 *
 *   none      the rate of the worker's step
 *   inverse   that rate, over max(1, staleness) (Zhang, Gupta, Lian, Liu: Staleness-aware Async-SGD, IJCAI 2016)
 */

/* Option --lr-staleness: its choices, in the order of the enum. */
#define LR_STALENESSES "none|inverse"
enum lr_staleness { LR_STALENESS_NONE, LR_STALENESS_INVERSE };

/* name: one of LR_STALENESSES. */
static inline enum lr_staleness lr_staleness_of(const char *name)
{
    return (enum lr_staleness)text_choice(LR_STALENESSES, name);
}

static inline const char *lr_staleness_text(enum lr_staleness rule)
{
    return rule == LR_STALENESS_INVERSE ? "inverse" : "none";
}

/* The rate for a gradient after `staleness` updates by other workers. Up to one update late it is lr to the bit. */
static inline float lr_of_stale(enum lr_staleness rule, float lr, uint64_t staleness)
{
    return rule == LR_STALENESS_INVERSE && staleness > 1 ? lr / (float)staleness : lr;
}

#endif
