/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.h - the steady state of a series of durations: how many leading values are warm-up, and whether the speed
 * switched later.
 *
 * Warm-up is found by MSER-5 (White, Cobb, Spratt: A comparison of five steady-state truncation heuristics for
 * simulation, Winter Simulation Conference 2000). Values are averaged in blocks of 5. The cut is at the smallest
 * marginal standard error of the rest, in the first half of the series. Every record names the rule and its result.
 *
 * Invariants
 *   S1  A cut is valid inside its range. At the last admissible place, half of the series, it means no steady state,
 *       not warm-up. A drift means the same: a change by 5 %, significant as in S3, that a straight line fits better.
 *       Nothing is cut then.
 *   S2  Warm-up is a start that differs from all that follows. Its mean lies beyond that of 95 % of all later windows
 *       of the same length. A pattern that recurs later is not warm-up, and is not cut.
 *   S3  A switch is one shift of the level after the first quarter, by at least 5 %, significant at 1 %
 *       (level_shift_find() below), with a steady level before and after it. It is reported, not cut off. Warm-up is
 *       then searched in the part before it.
 *   S4  A series can be too short for a decision, which is not the same as not steady. The rule needs 20 values, and S3
 *       needs 40. A cut at the limit is no evidence with fewer than 200: 1 % to 40 % of series of independent values
 *       have it.
 */
#ifndef HARNESS_MEASURE_STEADY_H
#define HARNESS_MEASURE_STEADY_H

#include <stdbool.h>
#include <stddef.h>

#define STEADY_RULE "mser5"

enum steady_state {
    STEADY_TOO_SHORT, /* measure.S4: nothing is cut */
    STEADY_REACHED,   /* after n_warmup values */
    STEADY_NONE,      /* measure.S1: nothing is cut */
    STEADY_SWITCH,    /* measure.S3: two levels after n_warmup values */
};

struct steady {
    enum steady_state state;
    size_t n_warmup;     /* leading values to drop */
    size_t switch_index; /* STEADY_SWITCH: the first value at the second level, a multiple of 5; otherwise 0 */
    double
        switch_speed_ratio; /* STEADY_SWITCH: speed after / before, which is duration before / after; otherwise NaN */
};

/* State of x[n], durations > 0. Pure, O(n). */
struct steady steady_find(const double *x, size_t n);

/* "too short", "reached", "not reached", "switch". */
const char *steady_state_text(enum steady_state state);

/*
 * One shift of the level of a series: the split into two levels with the least squared deviations.
 * Private to this module.
 *
 * The test of a split is Student's two-sample test with equal variances. Its probability is multiplied by the number of
 * possible places of the shift (Bonferroni). Of series of independent normal values without a shift, at most
 * LEVEL_SHIFT_ALARM_RATIO are reported as shifted. Values that depend on their neighbours must first be averaged in
 * blocks, long enough that the blocks are independent.
 */

#define LEVEL_SHIFT_ALARM_RATIO 0.01

struct level_shift {
    size_t index;         /* first value of the second level; 0 < index < n */
    double before, after; /* the two levels, means */
    double squares;       /* of all deviations from them */
    bool is_significant;
};

/* The best split of y[n]. n < 3: not significant, index 0. Pure, O(n). */
struct level_shift level_shift_find(const double *y, size_t n);

struct fitted_line {
    double rise;    /* over the whole series: slope x n */
    double squares; /* of all deviations from it */
    bool is_significant;
};

/* The straight line of least squares through y[n]. A drifting series has less deviation from it than from any two
 * levels. Significant: Student's test of the slope, at LEVEL_SHIFT_ALARM_RATIO. n < 3: not significant. Pure, O(n). */
struct fitted_line line_find(const double *y, size_t n);

#endif
