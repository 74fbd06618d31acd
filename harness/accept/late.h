/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.h - which node, or which link, loses messages now and then: from the part of round trips of a tournament that
 * were late. Pure.
 *
 * A transport that is reliable sends a lost message again after a time-out: 200 ms and more in TCP (RFC 6298, with
 * Linux's least), some 70 ms in InfiniBand. So a round trip that took LATE_S or longer, and LATE_MEDIANS times the
 * median, was late: medians and fastest repeats never show it.
 *
 * Invariants
 *   L1  A node is blamed where its pairs but the worst are late more often than the pairs of all others are, by
 *       Fisher's exact test with a bound for all nodes and pairs (Bonferroni); then its pairs count no more. A link is
 *       blamed likewise, once no node is.
 *   L2  Blame needs LEAST_LATE round trips, in two repeats, and LEAST_LATE_RATIO of them: one moment in which a host
 *       stood still is no loss.
 *   L3  Fewer than three nodes have nobody to compare with: no finding. Where all lose alike, nobody is blamed.
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
/* Findings of metric "late_ratio", appended to a, nodes first. RC_NOMEM. */
enum rc late_find(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;
/* Of the pair of nodes with the greatest part: that part, and who; NaN: none. */
double late_worst(const struct tournament *t, int *from, int *to);
/* Fisher's exact test, one side: the probability of k or more late ones among n, where K of N are, and n is drawn of
 * them. Cannot fail. */
double late_chance(long k, long n, long of_k, long of_n);

#endif
