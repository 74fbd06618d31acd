/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.h - finds nodes and links that sometimes lose messages, from the ratio of late round trips in a tournament.
 * Pure.
 *
 * A reliable transport sends a lost message again after a time-out: 200 ms and more in TCP (RFC 6298, with Linux's
 * minimum), some 70 ms in InfiniBand. So a round trip was late if it took at least LATE_S, and at least LATE_MEDIANS
 * times the median. Medians and fastest repeats never show such losses.
 *
 * Invariants
 *   L1  A node is blamed if its pairs, without the worst one, are late significantly more often than all pairs of other
 *       nodes. The test is Fisher's exact test with a bound for all nodes and pairs (Bonferroni). Then its pairs are
 *       excluded. When no further node is blamed, links are tested likewise.
 *   L2  Blame needs LEAST_LATE late round trips, in two repeats, and a ratio of LEAST_LATE_RATIO: one moment in which a
 *       host stood still is not a loss.
 *   L3  With fewer than three nodes there is nothing to compare with: no finding. If all nodes lose alike, none is
 *       blamed.
 */
#ifndef HARNESS_ACCEPT_LATE_H
#define HARNESS_ACCEPT_LATE_H

#include "harness/accept/blame.h"

#define LATE_S 0.05
#define LATE_MEDIANS 10
#define LEAST_LATE_RATIO 0.01
enum { LEAST_LATE = 3 };

static inline bool is_late(double round_trip_s, double median_s)
{
    return round_trip_s >= LATE_S && round_trip_s >= LATE_MEDIANS * median_s;
}

/* Were round trips counted? */
bool late_is_known(const struct tournament *t);
/* Append findings of metric "late_ratio" to a, nodes first. RC_NOMEM. */
enum rc late_find(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;
/* The greatest ratio of late round trips of a pair; *from, *to: its nodes. NaN: none. */
double late_worst(const struct tournament *t, int *from, int *to);
/* Fisher's exact test, one-sided: n items are drawn from of_n items, and of_k of these are late. Returns the
 * probability that k or more of the drawn items are late. Cannot fail. */
double late_chance(long k, long n, long of_k, long of_n);

#endif
