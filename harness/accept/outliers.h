/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outliers.h - which ranks or nodes are far worse than the fleet at one metric, and who makes the others wait. Pure.
 *
 * Each rank's value is the median of its repeats; its deviation in robust standard deviations (median, 1.4826 x MAD,
 * measure/robust.h) of the fleet's, on logarithms where values are positive. Blamed as blame.h says: effect and false-
 * discovery rate both. Where all ranks of a node are blamed, and it has several, the node is.
 *
 * Of ranks that wait for each other who computes long is the cause and waits least; those who wait are victims, and are
 * not blamed (D3 of acceptance.h).
 */
#ifndef HARNESS_ACCEPT_OUTLIERS_H
#define HARNESS_ACCEPT_OUTLIERS_H

#include "harness/accept/blame.h"

/* Findings of one rank metric, appended to a. Fewer than three ranks with values: none, as a fleet of two has no
 * middle. RC_NOMEM. */
enum rc outliers_find(struct acceptance *a, int metric, const struct blame_terms *terms) MUST_CHECK;
/* Do more repeats have something left to decide? */
bool outliers_open(const struct acceptance *a, int metric, const struct blame_terms *terms);
/* From METRIC_STEP_COMPUTE and METRIC_STEP_WAIT: ranks that make the others wait, most harmful first; findings say how
 * much longer the step is for it, and how many ranks wait. RC_NOMEM. */
enum rc stragglers_find(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;

#endif
