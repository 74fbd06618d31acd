/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.h - faults on order, for the self-test and for drills: what a slow rank, a slow link or a flipped bit would
 * do, in any world.
 *
 *     rank:5=0.7      rank 5 computes at 70 % of its speed
 *     node:3=0.6      what node 3 receives, and what is received of it, comes at 60 % of the rate
 *     link:1-4=0.6    likewise between nodes 1 and 4 alone, both ways; link:1>4=0.6: from 1 to 4 alone
 *     loss:3=0.05     of small messages that node 3 sends or receives 5 % come as late as one that is sent again after
 *                     a time-out (200 ms). Of the pairwise stage's round trips alone: in a burst what is lost is sent
 *                     again at once
 *     stall:2         rank 2 stops answering (it hangs) in the middle of the pairwise stage
 *     kill:2          rank 2 ends without a word there
 *     kill:2@soak     likewise in another stage: in the middle of the integrity stage and of the largest training, in
 *                     the second part of the soak, in the second repeat of orders of ranks (where none are compared, at
 *                     the end of the collectives), at the beginning of all others
 *     flip:2@30       a bit of rank 2's gradient is flipped after the exchange of step 30 of the integrity stage
 *
 * A slow link delays its receiver by what a link of that rate would have taken longer than the transfer took: in
 * virtual time, too, where a rank's pause is exact. Of several faults of one rank, or on one way, the slowest counts.
 * Ranks and nodes are those of the run: w below is its own world, never a part of it.
 *
 * Invariants
 *   N1  No fault: nothing is delayed, by not one instruction in a timed loop more than a test of a pointer.
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
    double ratio;            /* 0 < ratio < 1: of the healthy speed; FAULT_LOSS: of messages */
    uint64_t step;           /* FAULT_FLIP */
    enum accept_stage stage; /* FAULT_STALL, FAULT_KILL: in which it happens */
};
enum { INJECT_MAX_FAULTS = 32 };
struct inject {
    struct fault fault[INJECT_MAX_FAULTS];
    int n_faults;
    /* Beside faults: everything that is timed takes |normal| x noise_ratio longer, drawn anew each time by seed, rank
     * and time: in virtual time, where nothing varies by itself, what real ranks and links do. 0: nothing. */
    double noise_ratio;
    uint64_t seed;
};

/* "rank:5=0.7,link:1-4=0.6"; "": none. RC_INVAL names the word and what would be right. */
enum rc inject_parse(struct inject *out, const char *text) MUST_CHECK;
/* Does every fault name ranks and nodes that there are? RC_INVAL names the word. */
enum rc inject_check(const struct inject *i, int n_nodes, int n_ranks) MUST_CHECK;
void inject_text(char *out, size_t n_bytes, const struct fault *f); /* as parsed */
/* All below accept NULL, which is no fault. */
/* This rank has just computed for elapsed_ns: pause as its fault says. */
void inject_after_compute(const struct inject *i, struct world *w, uint64_t elapsed_ns);
/* This rank has just received, in elapsed_ns, what was sent from node `from` to its own node `to`: pause likewise. */
void inject_after_receive(const struct inject *i, struct world *w, int from, int to, uint64_t elapsed_ns);
/* Does any node lose messages? */
bool inject_has_losses(const struct inject *i);
/* This rank has just received a small message from node `from` on its own node `to`: pause where it was to be lost. */
void inject_after_message(const struct inject *i, struct world *w, int from, int to);
/* FAULT_STALL, FAULT_KILL of this rank in a stage, or NULL. */
const struct fault *inject_loss(const struct inject *i, int rank, enum accept_stage stage);
/* It happens now: does not return where there is one. */
void inject_now(const struct inject *i, struct world *w, enum accept_stage stage);
/* FAULT_FLIP of this rank, or NULL. */
const struct fault *inject_flip(const struct inject *i, int rank);

#endif
