/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outliers.h - which ranks or nodes are far worse than the fleet at one metric, and who makes the others wait. Pure.
 *
 * Each rank's value is the middle of its repeats, of an even number the better one (evidence.h); its deviation is
 * judged by what the other ranks differ by (measure/robust.h), on logarithms. Blamed as blame.h says: effect and
 * false-discovery rate both. Where all ranks of a node are blamed, and it has several, the node is.
 *
 * Detours may be 0, and twice next to nothing is next to nothing: with a least effect of 0.1 nobody is blamed for less
 * than 0.01 of its time, or for a detour of less than 1 ms, more than the fleet's.
 *
 * Of ranks that wait for each other who computes long is the cause and waits least; those who wait are victims, and are
 * not blamed (D3 of acceptance.h).
 */
#ifndef HARNESS_ACCEPT_OUTLIERS_H
#define HARNESS_ACCEPT_OUTLIERS_H

#include "harness/accept/blame.h"

/* Findings of one rank metric, appended to a, the worst first. Fewer than three ranks with two repeats or more: none,
 * as a fleet of two has no middle, and one repeat may be wild. METRIC_STEP_COMPUTE and _WAIT: none, see
 * stragglers_find(). RC_NOMEM. */
enum rc outliers_find(struct acceptance *a, int metric, const struct blame_terms *terms) MUST_CHECK;
/* Do more repeats have something left to decide? Yes without memory. */
bool outliers_open(const struct acceptance *a, int metric, const struct blame_terms *terms);
/* From METRIC_STEP_COMPUTE and METRIC_STEP_WAIT: ranks that compute longer than the fleet, most harmful first, unless
 * they wait longer than the others, too; findings say how much longer, and how many ranks wait for it. RC_NOMEM. */
enum rc stragglers_find(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;

#endif
