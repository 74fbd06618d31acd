/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.h - upper bound on a run's throughput, from the measured limits of its parts (probe.h), and the ratio of the
 * run to it.
 *
 * Invariants
 *   B1  The limit of a part is the better of those measured before and after the run: a machine whose speed changes
 *       between has reached both. The bound is all workers' samples of a step over the longest of the three limits.
 *       With shards, computing is measured while nothing is sent within a group, and the wire limit includes
 *       activations.
 *   B2  The ratio is total throughput over the bound. Its interval is that of the throughput within this run. The bound
 *       has no interval: it is a best value, not a mean. Over several launches: the geometric mean, and the interval
 *       over launches (campaign/figures.c).
 *   B3  A ratio above 1 is a failed bound, whatever its interval: the run shows that it can do that, and no value is
 *       estimated. (Rounding of sums aside: 1e-9.) A launch with a failed bound is excluded from means of ratios. If
 *       there is one, there is no mean: the highest ratios would be missing from it.
 */
#ifndef HARNESS_TRAIN_BOUND_H
#define HARNESS_TRAIN_BOUND_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* B3; false for NaN. */
bool train_bound_failed(double bound_ratio);
/* Fill baseline and efficiency of *s, which has its throughput. With stages and shards the baseline is as many ranks,
 * each computing the whole network at the profile's times; NaN without a profile. Pure. */
void train_find_efficiency(struct train_summary *s, const struct train_job *job, const struct train_result *r);
/* Fill best and bound_... of *s, which has its throughput. NaN in three cases. First: r has no limits, or no wire limit
 * (servers on workers' hosts, in modes that probe.c names). Second: workers share cores, so a part's limit depends
 * on its neighbours. Third: the run omits the averages that its mode is for (omission.h). Pure. */
void train_find_bound(struct train_summary *s, const struct train_job *job, const struct train_result *r);
/* Record the limits that set the bound (B1), and those measured before and after the run; null: not measured. */
void record_limits(struct record *r, const struct train_result *result, const struct train_summary *s);
/* Record the ratio, its interval, and whether the bound failed (null: there is no bound). */
void record_bound(struct record *r, const struct train_summary *s);

#endif
