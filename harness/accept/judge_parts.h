/* SPDX-License-Identifier: Apache-2.0 */
/* judge_parts.h - shared by the parts of judge.c. Private to accept/. */
#ifndef HARNESS_ACCEPT_JUDGE_PARTS_H
#define HARNESS_ACCEPT_JUDGE_PARTS_H

#include "harness/accept/judge.h"
#include "harness/accept/worst.h"

struct judging {
    struct acceptance *a;
    const struct criteria *c;
    struct blame_terms terms;
};

/* Add rows and findings of a stage that was run. RC_NOMEM. */
typedef enum rc judge_stage_fn(struct judging *j);
judge_stage_fn judge_preflight, judge_compute, judge_noise, judge_pairwise, judge_collectives, judge_ps, judge_training,
    judge_integrity, judge_soak;

/* Add the row of trainings in the best order of ranks, if they are requested. */
void judge_rank_training(struct judging *j);
/* Add rows and findings of lost messages (late.h); none if they were not counted, or with too few nodes. RC_NOMEM. */
judge_stage_fn judge_late;

/* Set outcome and reason of the row. */
void row_end(struct criterion *row, enum accept_outcome outcome, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Compare a value with its limit, above 0; the row ends by accept.J3. who: "the worst of 8 ranks, rank 3 on host1". A
 * NaN value is no data. Returns whether it passes. */
bool row_limit(struct criterion *row, double measured, double limit, bool at_least, const char *unit, const char *who);
/* A row that depends on the findings from index `first`. no_data: reason for no data; well: text if nothing is found.
 */
void row_findings(const struct acceptance *a, struct criterion *row, int first, const char *no_data, const char *well);
/* Does a value break its limit? NaN: no. */
bool breaks_limit(double value, double limit, bool at_least);

#endif
