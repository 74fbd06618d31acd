/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.h - fault injection for the self-test and for exercises: the effect of a slow rank, a slow link or a flipped
 * bit, in any world.
 *
 *     rank:5=0.7      rank 5 computes at 70 % of its speed
 *     node:3=0.6      data that node 3 sends or receives arrives at 60 % of the rate
 *     link:1-4=0.6    likewise only between nodes 1 and 4, both ways; link:1>4=0.6: from 1 to 4 only
 *     loss:3=0.05     5 % of the small messages that node 3 sends or receives are late, as if sent again after a
 *                     time-out (200 ms). Only in round trips of the pairwise stage: in a burst, a lost message is sent
 *                     again at once
 *     stall:2         rank 2 stops answering (it hangs) in the middle of the pairwise stage
 *     kill:2          rank 2 dies there without a message
 *     kill:2@soak     likewise in another stage: in the middle of the integrity stage and of the largest training, in
 *                     the second part of the soak, in the second repeat of rank orders (if none are compared, at the
 *                     end of the collectives), at the beginning of all other stages
 *     flip:2@30       a bit of rank 2's gradient is flipped after the exchange of step 30 of the integrity stage
 *
 * A slow link delays its receiver by the extra time that a link of that rate would need, compared with the actual
 * transfer, in the pairwise stage alone: other stages measure without this fault. This holds in virtual time, too,
 * where the pause of a rank is exact. Of several faults on one way, the slowest counts. Ranks and nodes are those of
 * the run: w below is the world of the run, never a part of it.
 *
 * Invariants
 *   N1  Without faults nothing is delayed; a timed loop has at most one extra test of a pointer.
 *   N2  Every output of a run with faults says so.
 */
#ifndef HARNESS_ACCEPT_INJECT_H
#define HARNESS_ACCEPT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/accept/acceptance.h"
#include "harness/base/rc.h"

struct world;

enum fault_kind { FAULT_SLOW_RANK, FAULT_SLOW_NODE, FAULT_SLOW_LINK, FAULT_STALL, FAULT_KILL, FAULT_FLIP, FAULT_LOSS };
enum { FAULT_N_KINDS = FAULT_LOSS + 1 };
struct fault {
    enum fault_kind kind;
    int a, b;                /* rank; node; nodes */
    bool both_ways;          /* FAULT_SLOW_LINK */
    double ratio;            /* 0 < ratio < 1: of the healthy speed; FAULT_LOSS: part of the messages */
    uint64_t step;           /* FAULT_FLIP */
    enum accept_stage stage; /* FAULT_STALL, FAULT_KILL: the stage in which it happens */
};
enum { INJECT_MAX_FAULTS = 32 };
struct inject {
    struct fault fault[INJECT_MAX_FAULTS];
    int n_faults;
    /* In addition to faults, each timed operation takes |normal| x noise_ratio longer, drawn anew by seed, rank and
     * time. In virtual time, where nothing varies by itself, this imitates real ranks and links. 0: no noise. */
    double noise_ratio;
    uint64_t seed;
};

/* Parse "rank:5=0.7,link:1-4=0.6"; "": none. RC_INVAL names the word, and the expected form or that it is given twice.
 */
enum rc inject_parse(struct inject *out, const char *text) MUST_CHECK;
/* Check that every fault names existing ranks and nodes. RC_INVAL names the word. */
enum rc inject_check(const struct inject *i, int n_nodes, int n_ranks) MUST_CHECK;
void inject_text(char *out, size_t n_bytes, const struct fault *f); /* as parsed */
/* All functions below accept NULL, which means no fault. */
/* Call after this rank computed for elapsed_ns: pauses according to its fault. */
void inject_after_compute(const struct inject *i, struct world *w, uint64_t elapsed_ns);
/* Call after this rank received, in elapsed_ns, data from node `from` on its own node `to`: pauses likewise. */
void inject_after_receive(const struct inject *i, struct world *w, int from, int to, uint64_t elapsed_ns);
/* Is a node or a link slow? Its delays are in the pairwise stage alone. */
bool inject_has_slow_links(const struct inject *i);
/* Does any node lose messages? */
bool inject_has_losses(const struct inject *i);
/* Call after this rank received a small message from node `from` on its own node `to`: pauses if it counts as lost. */
void inject_after_message(const struct inject *i, struct world *w, int from, int to);
/* The FAULT_STALL or FAULT_KILL of this rank in a stage, or NULL. */
const struct fault *inject_loss(const struct inject *i, int rank, enum accept_stage stage);
/* Execute the stall or kill of this stage, and then do not return; without one, do nothing. */
void inject_now(const struct inject *i, struct world *w, enum accept_stage stage);
/* The FAULT_FLIP of this rank, or NULL. */
const struct fault *inject_flip(const struct inject *i, int rank);

#endif
