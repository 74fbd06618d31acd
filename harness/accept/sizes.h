/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h - repeats of a rate at the sizes that criteria list, for collectives and for servers. */
#ifndef HARNESS_ACCEPT_SIZES_H
#define HARNESS_ACCEPT_SIZES_H

#include "harness/accept/stages.h"

/* Parse the sizes of "4096,1048576", whole floats, in their order. RC_INVAL names the word. */
enum rc sizes_parse(size_t out[ACCEPT_MAX_SIZES], int *n, const char *list) MUST_CHECK;

struct repeats { /* of one size; rank 0 */
    double took_s[ACCEPT_MAX_REPEATS];
    int n;
};
/* The rate factor_bytes / took_s, with its interval. */
struct sized_rate repeats_rate(const struct repeats *r, size_t n_bytes, double factor_bytes);
/* Are more repeats needed? Yes until the interval is narrow, between the least and the most number of the criteria. */
bool repeats_open(const struct repeats *r, const struct criteria *c);

/* Rank 0, from the tournament: the median rate from one node to another; NaN: not measured. */
double sizes_link_rate(const struct tournament *t, int from, int to);
/* The slowest rate of all links; NaN: none was measured. */
double sizes_slowest_link(const struct tournament *t);
/* The longest own_s of all ranks of w, on rank 0; elsewhere own_s. Collective. RC_NOMEM. */
enum rc sizes_slowest_rank(double *out, struct world *w, double own_s) MUST_CHECK;

#endif
