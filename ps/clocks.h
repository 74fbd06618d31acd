/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - the clocks of one chunk of the gradient at one server: how many steps each worker has pushed, which
 * gradients count, and which worker may read. What the server does then: server_push.c.
 *
 * A worker's clock is the number of its pushes of this chunk. It pushes step c at clock c. Then, at clock c + 1, it
 * waits until it may read the parameters for step c + 1. There are N workers; some may be out (gone or lost).
 *
 *   rule     its gradient of step c                                  at clock c it may read once
 *   async    counts at once                                          -
 *   ssp:S    counts at once                                          the slowest worker's clock >= c - S
 *   sync:B   is kept until the round is full if the round is c,      the round is c
 *            and counts then; is late if the round is beyond c
 *
 * Invariants
 *   Q1  ssp:S: a worker that reads at clock c reads at least the first c - S gradients of every worker that is not out.
 *   Q2  sync:B: round c makes the only update of step c, from the first N - B gradients of that step. The remaining B
 *       are late. So in n steps, B n gradients of N workers are late. Fewer than N - B count only if fewer workers are
 *       not out.
 *   Q3  No worker waits for ever: while any worker waits, at least one worker that is not out does not wait.
 *   Q4  A worker that is out delays no other worker, and the server waits for none of its gradients.
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
    uint32_t slowest; /* least clock of the workers that are not out; unchanged when every worker is out */
    int n_slowest;    /* number of workers with that clock */
    uint32_t round;   /* sync: updates so far */
    int n_kept;       /* sync: gradients of this round so far */
};

/* RC_NOMEM. */
enum rc clocks_open(struct clocks *out, const struct consistency *rule, int n_workers) MUST_CHECK;
void clocks_close(struct clocks *c); /* accepts a zeroed one, leaves it zeroed */

/* Worker w pushes the step of its clock, which grows by one. Worker w may read and is not out. O(1), except every
 * n_workers-th call. */
enum push_fate clocks_push(struct clocks *c, int w);
/* sync: has the round all gradients that it waits for, and at least one? */
bool clocks_round_is_full(const struct clocks *c);
/* The kept gradients have been applied. */
void clocks_end_round(struct clocks *c);
bool clocks_may_read(const struct clocks *c, int w);
/* Worker w is out and pushes nothing until clocks_join(). Not with sync. */
void clocks_keep_out(struct clocks *c, int w);
/* Worker w is not out any more. Returns its clock, which is that of the slowest worker. */
uint32_t clocks_join(struct clocks *c, int w);
/* Worker w is out. had_kept: the server kept a gradient of it, which is now dropped. Then the round may be full, and
 * other workers may read. */
void clocks_leave(struct clocks *c, int w, bool had_kept);

#endif
