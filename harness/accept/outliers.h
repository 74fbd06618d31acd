/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outliers.h - finds ranks or nodes that are far worse than the fleet in one metric, and ranks for which others wait.
 * Pure.
 *
 * The value of a rank is its middle repeat; of an even number the better of the two (evidence.h). Its deviation is
 * compared with the differences between all other ranks (measure/robust.h), on logarithms. Blame needs both effect and
 * false-discovery rate, as in blame.h. If all ranks of a node with several ranks are blamed, the node is blamed.
 *
 * Detours may be 0, and a ratio of two tiny values means nothing. So there is a minimum difference from the fleet, here
 * for a least effect of 0.1: 0.01 of the time for lost time, 1 ms for the longest detour.
 *
 * If ranks wait for each other, the rank that computes long is the cause and waits least. Ranks that wait are victims,
 * and are not blamed (accept.D3 of acceptance.h).
 */
#ifndef HARNESS_ACCEPT_OUTLIERS_H
#define HARNESS_ACCEPT_OUTLIERS_H

#include "harness/accept/blame.h"

/* Append the findings of one rank metric to a, the worst first. None with fewer than three ranks of two or more
 * repeats: a fleet of two has no middle, and one repeat may be wild. None for METRIC_STEP_COMPUTE and _WAIT, see
 * stragglers_find(). RC_NOMEM. */
enum rc outliers_find(struct acceptance *a, int metric, const struct blame_terms *terms) MUST_CHECK;
/* Could more repeats change the result? True if there is no memory. */
bool outliers_open(const struct acceptance *a, int metric, const struct blame_terms *terms);
/* From METRIC_STEP_COMPUTE and METRIC_STEP_WAIT: ranks that compute longer than the fleet, most harmful first. Ranks
 * that also wait longer than the fleet are excluded. Findings say how much longer, and how many ranks wait.
 * RC_NOMEM. */
enum rc stragglers_find(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;

#endif
