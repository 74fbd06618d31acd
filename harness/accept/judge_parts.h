/* SPDX-License-Identifier: Apache-2.0 */
/* judge_parts.h - what the parts of judge.c share. Private to this room. */
#ifndef HARNESS_ACCEPT_JUDGE_PARTS_H
#define HARNESS_ACCEPT_JUDGE_PARTS_H

#include "harness/accept/judge.h"
#include "harness/accept/worst.h"

struct judging {
    struct acceptance *a;
    const struct criteria *c;
    struct blame_terms terms;
};

/* Rows and findings of a stage that was run. RC_NOMEM. */
typedef enum rc judge_stage_fn(struct judging *j);
judge_stage_fn judge_preflight, judge_compute, judge_noise, judge_pairwise, judge_collectives, judge_ps, judge_training,
    judge_integrity, judge_soak;

/* The row and findings of wrong sums: of ACCEPT_COLLECTIVES or ACCEPT_PS. RC_NOMEM. */
enum rc judge_sums(struct judging *j, enum accept_stage stage);
/* The row of the orders of ranks, where there is something to be said of them. */
void judge_rank_orders(struct judging *j);
/* Likewise of trainings in the best of them, where these are asked for. */
void judge_rank_training(struct judging *j);
/* Rows and findings of lost messages (late.h); none where nobody counted them, or there are too few nodes. RC_NOMEM. */
judge_stage_fn judge_late;

/* The row has this outcome for this reason. */
void row_end(struct criterion *row, enum accept_outcome outcome, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A value beside its limit, above 0; the row ends by J3. who: "the worst of 8 ranks, rank 3 on host1"; a value that is
 * NaN is no data. Returns whether it passes. */
bool row_limit(struct criterion *row, double measured, double limit, bool at_least, const char *unit, const char *who);
/* A row that findings from index `first` on decide: the reason of no data, or else what is well. */
void row_findings(const struct acceptance *a, struct criterion *row, int first, const char *no_data, const char *well);
/* Does a value break its limit? NaN: no. */
bool breaks_limit(double value, double limit, bool at_least);

#endif
