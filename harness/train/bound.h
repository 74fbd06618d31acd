/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.h - the most that a run could have done, from what its parts could do (probe.h), and how near it came.
 *
 * Invariants
 *   B1  The limit of a part is the better of those measured before and after the run: a machine that changes its speed
 *       between has done both. The bound is the samples of a step of all workers over the longest of the three. Of
 *       shards, computing is measured while nothing crosses in their groups, and the wire has activations, too.
 *   B2  The ratio is one of aggregates, throughput over bound. Its interval is the throughput's within this run: the
 *       bound is a best, not a mean, and has none. Of several launches: the geometric mean, and the interval over
 *       launches (campaign/figures.c).
 *   B3  A ratio above 1 is a failed bound, whatever its interval: what a run has done it could do, and nothing
 *       estimated stands between. (Rounding of sums aside: 1e-9.) A launch whose bound failed is in no mean of ratios,
 *       and where there is one there is no mean: of those that are left the highest are missing.
 */
#ifndef HARNESS_TRAIN_BOUND_H
#define HARNESS_TRAIN_BOUND_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* B3; not of NaN. */
bool train_bound_failed(double bound_ratio);
/* Fill baseline and efficiency of *s, which has its throughput. Of stages and of shards: over what as many ranks would
 * do of which each computes all of the network, at the profile's times; NaN without a profile. Pure. */
void train_find_efficiency(struct train_summary *s, const struct train_job *job, const struct train_result *r);
/* Fill best and bound_... of *s, which has its throughput. NaN: r has no limits, or none by the wire, as of
 * servers on the hosts of workers in ways that rank_probe.c names, or workers share cores, and what a part can do
 * depends on its neighbours; or the run leaves out the averages that its mode is for (omission.h). Pure. */
void train_find_bound(struct train_summary *s, const struct train_job *job, const struct train_result *r);
/* Put the limits by which the bound was found (B1) into r, and those of before and after the run; null: not measured.
 */
void record_limits(struct record *r, const struct train_result *result, const struct train_summary *s);
/* Put the ratio into r, with its interval, and whether the bound failed (null: there is none). */
void record_bound(struct record *r, const struct train_summary *s);

#endif
