/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - the verdict: a row for each criterion, findings, and the outcome of stages and of the whole (D2). Pure.
 *
 * Invariants
 *   J1  Every stage has at least one row: one that is left out is skipped, one that was asked for and measured nothing
 *       has no data, with the reason.
 *   J2  A vacuous test is no data: a tournament of one node, outliers of two ranks without a limit, parameters of one
 *       rank, exposed communication of one rank, a rank or a pair without a value, fewer repeats than criteria ask for,
 *       a stage that was ended.
 *   J3  The value that was measured decides (of ranks and pairs the median of repeats), not its interval: a cluster at
 *       the border of a limit passes or fails, and the row says that the interval holds the limit.
 *   J4  What breaks a limit is a finding of its own, certain, unless statistics have named it: ranks; the node, where
 *       all of its ranks or all of its pairs do; the fleet, where everybody does. Of facts of the preflight each node
 *       that breaks a limit or differs from most is one (preflight_rows.h).
 *   J5  A value without a limit is measured, and is not judged: its row ends with OUTCOME_NO_LIMIT, and does not count
 *       as held.
 *   J6  Where others took more than DISTURBED_RATIO (or most_detour_ratio, where that is larger) of the time of half
 *       of the ranks in stage noise, the verdict is no data: it is never a pass.
 */
#ifndef HARNESS_ACCEPT_JUDGE_H
#define HARNESS_ACCEPT_JUDGE_H

#include "harness/accept/acceptance.h"
#include "harness/accept/blame.h"
#include "harness/accept/criteria.h"

/* Replaces findings and criteria of a by those that follow from what was measured. c: as the file and options have it;
 * what few nodes change in it (criteria_for_nodes()) is done here, as accept_rank() does it for the stages. RC_NOMEM.
 */
enum rc judge(struct acceptance *a, const struct criteria *c) MUST_CHECK;
/* The terms by which it blames, of criteria for these nodes; stages that ask whether the evidence is in use the same.
 */
struct blame_terms judge_terms(const struct criteria *c);

#endif
