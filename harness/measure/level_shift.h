/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level_shift.h - one shift of the level of a series: the split into two levels with the least squared deviations.
 * Private to this module.
 *
 * The test of a split is Student's two-sample test with equal variances. Its probability is multiplied by the number of
 * possible places of the shift (Bonferroni). Of series of independent normal values without a shift, at most
 * LEVEL_SHIFT_ALARM_RATIO are reported as shifted. Values that depend on their neighbours must first be averaged in
 * blocks, long enough that the blocks are independent.
 */
#ifndef HARNESS_MEASURE_LEVEL_SHIFT_H
#define HARNESS_MEASURE_LEVEL_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

#define LEVEL_SHIFT_ALARM_RATIO 0.01

struct level_shift {
    size_t index;         /* first value of the second level; 0 < index < n */
    double before, after; /* the two levels, means */
    double squares;       /* of all deviations from them */
    bool is_significant;
};

/* The best split of y[n]. n < 3: not significant, index 0. Pure, O(n). */
struct level_shift level_shift_find(const double *y, size_t n);

struct line {
    double rise;    /* over the whole series: slope x n */
    double squares; /* of all deviations from it */
    bool is_significant;
};

/* The straight line of least squares through y[n]. A drifting series has less deviation from it than from any two
 * levels. Significant: Student's test of the slope, at LEVEL_SHIFT_ALARM_RATIO. n < 3: not significant. Pure, O(n). */
struct line line_find(const double *y, size_t n);

#endif
