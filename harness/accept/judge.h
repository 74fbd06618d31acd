/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - the verdict: a row for each criterion, findings, and the outcome of each stage and of the test (accept.D2).
 * Pure.
 *
 * Invariants
 *   J1  Every stage has at least one row. The row of a stage that was left out is "skipped". A stage that was requested
 *       but measured nothing has no data, with the reason.
 *   J2  A vacuous test is no data: a tournament of one node, outliers of two ranks without a limit, parameters of one
 *       rank, exposed communication of one rank, a rank or a pair without a value, fewer repeats than the criteria
 *       require, a stage that was ended early.
 *   J3  The measured value decides (for ranks and pairs the median of repeats), not its interval. A cluster at the
 *       border of a limit passes or fails, and the row says that the interval contains the limit.
 *   J4  A value that breaks a limit is a separate, certain finding, unless statistics have named it already. The
 *       finding names the rank; the node, if all of its ranks or all of its pairs break it; the fleet, if all nodes do.
 *       For facts of the preflight, each node that breaks a limit or differs from the majority is a finding
 *       (preflight_rows.h); the fleet is one if all nodes break the limit with the same value.
 *   -   A value without a limit is measured but not judged: its row has OUTCOME_NO_LIMIT, and does not count as passed.
 *   J6  The verdict is "no data", never a pass, if the noise stage shows a disturbed machine: on half of the ranks,
 *       other work took more than DISTURBED_RATIO of the time (or most_detour_ratio, if that is larger).
 */
#ifndef HARNESS_ACCEPT_JUDGE_H
#define HARNESS_ACCEPT_JUDGE_H

#include "harness/accept/acceptance.h"
#include "harness/accept/blame.h"
#include "harness/accept/criteria.h"

/* Replace findings and criteria of a by those that follow from its measurements. c: as the file and options have it;
 * the adaptation to few nodes (criteria_for_nodes()) is done here, as accept_rank() does it for the stages. RC_NOMEM.
 */
enum rc judge(struct acceptance *a, const struct criteria *c) MUST_CHECK;
/* The terms of blame, from criteria for these nodes. Stages that ask whether the evidence is sufficient use the same.
 */
struct blame_terms judge_terms(const struct criteria *c);

#endif
