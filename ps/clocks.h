/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - of one piece of the gradient at one server: how many steps each worker has pushed, whose gradient counts,
 * and who may read. Not what is done then: server_push.c.
 *
 * A worker's clock is the number of its pushes of this piece: it pushes step c at clock c, and then, at clock c + 1,
 * waits until it may read what it begins step c + 1 with. N workers, of whom some may be out: gone or lost.
 *
 *   rule     its gradient of step c                                  at clock c it may read once
 *   async    counts at once                                          -
 *   ssp:S    counts at once                                          the slowest worker's clock >= c - S
 *   sync:B   is kept until the round is full where the round is c,   the round is c
 *            and counts then; is late where the round is beyond c
 *
 * Invariants
 *   Q1  ssp:S: who reads at clock c reads at least the first c - S gradients of every worker that is not out.
 *   Q2  sync:B: round c is the one update of step c, of the first N - B gradients of that step; the others are late. So
 *       of n steps of N workers B n gradients are late. Fewer than N - B count only where fewer workers are not out.
 *   Q3  Nobody waits for ever: while anybody waits, somebody who is not out does not.
 *   Q4  Who is out holds up nobody, and none of its gradients is waited for.
 */
#ifndef PS_CLOCKS_H
#define PS_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/exchange/consistency.h"

enum push_fate { PUSH_COUNTS, PUSH_IS_KEPT, PUSH_IS_LATE };

struct clocks { /* owned */
    struct consistency rule;
    int n_workers, n_out;
    uint32_t *clock;  /* [n_workers] */
    bool *is_out;     /* [n_workers] */
    uint32_t slowest; /* least clock of those that are not out; stays when all are */
    int n_slowest;    /* that have it */
    uint32_t round;   /* sync: updates so far */
    int n_kept;       /* sync: gradients of this round so far */
};

/* RC_NOMEM. */
enum rc clocks_open(struct clocks *out, const struct consistency *rule, int n_workers) MUST_CHECK;
void clocks_close(struct clocks *c); /* accepts a zeroed one, leaves it zeroed */

/* Worker w, which may read and is not out, pushes the step of its clock, which grows by one. O(1) but for every
 * n_workers-th call. */
enum push_fate clocks_push(struct clocks *c, int w);
/* Worker w is n steps further, though it has pushed nothing; with sync not beyond the round. O(1), as clocks_push(). */
void clocks_skip(struct clocks *c, int w, uint32_t n);
/* As many steps as clock[n_workers] says, and rounds; what was kept is not: who has pushed beyond the round pushes
 * again. Nobody is out. O(n_workers). */
void clocks_restore(struct clocks *c, const uint32_t *clock, uint32_t round);
/* sync: are all gradients there that the round waits for, and is there one? */
bool clocks_round_is_full(const struct clocks *c);
/* The kept gradients have been applied. */
void clocks_end_round(struct clocks *c);
bool clocks_may_read(const struct clocks *c, int w);
/* Worker w is out, and pushes nothing, until clocks_join(). Not with sync. */
void clocks_keep_out(struct clocks *c, int w);
/* It is not any more: its clock is that of the slowest one, which it returns. */
uint32_t clocks_join(struct clocks *c, int w);
/* Worker w is out; had_kept: a gradient of it is kept, and now dropped. The round may be full, and others may read. */
void clocks_leave(struct clocks *c, int w, bool had_kept);

#endif
