/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.h - how many leading values of a series are warm-up.
 *
 * The rule is MSER-5 (White, Simulation 69(6), 1997): values are averaged in blocks of 5, and
 * the cut is where the marginal standard error of what remains is smallest, in the first half of
 * the series. Every record has the name of the rule and its result.
 */
#ifndef HARNESS_MEASURE_STEADY_H
#define HARNESS_MEASURE_STEADY_H

#include <stddef.h>

#define STEADY_RULE "mser5"

/* Number of leading values to drop; 0 <= result <= n / 2; 0 when n < 20. Pure, O(n). */
size_t steady_start(const double *x, size_t n);

#endif
