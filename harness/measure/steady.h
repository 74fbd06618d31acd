/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.h - where a series of durations is steady: how many leading values are warm-up, and whether the machine's
 * speed switched later.
 *
 * Warm-up is found by MSER-5 (White, Cobb, Spratt: A comparison of five steady-state truncation heuristics for
 * simulation, Winter Simulation Conference 2000): values are averaged in blocks of 5, and the cut is where the marginal
 * standard error of what remains is smallest, in the first half of the series. Every record has the name of the rule
 * and its result.
 *
 * Invariants
 *   S1  Inside its range: a cut at the last admissible place, half of the series, is no warm-up but no steady state, as
 *       is a drift: a change by 5 % and significant as in S3, that a straight line fits better. Nothing is cut then.
 *   S2  Warm-up is a start that differs from all that follows: its mean is beyond that of 95 % of all windows of the
 *       same length behind it. What comes back later is not warm-up, and is not cut.
 *   S3  A switch is one shift of the level, behind the first quarter, by 5 % at least, significant at 1 %
 *       (level_shift.h), with a steady level before and after it. It is reported, not cut off; warm-up is then sought
 *       in what is before it.
 *   S4  Too short is told from not steady: the rule is not used on fewer than 20 values, and S3 on fewer than 40; a cut
 *       at the limit says nothing of fewer than 200, where that of independent values is there in 1 % to 40 % of
 *       series.
 */
#ifndef HARNESS_MEASURE_STEADY_H
#define HARNESS_MEASURE_STEADY_H

#include <stddef.h>

#define STEADY_RULE "mser5"

enum steady_state {
    STEADY_TOO_SHORT, /* S4: nothing is cut */
    STEADY_REACHED,   /* behind n_warmup values */
    STEADY_NONE,      /* S1: nothing is cut */
    STEADY_SWITCH,    /* S3: two levels behind n_warmup values */
};

struct steady {
    enum steady_state state;
    size_t n_warmup;     /* leading values to drop */
    size_t switch_index; /* STEADY_SWITCH: the first value at the second level, a multiple of 5; otherwise 0 */
    double
        switch_speed_ratio; /* STEADY_SWITCH: speed after / before, which is duration before / after; otherwise NaN */
};

/* What state x[n] is in, durations > 0. Pure, O(n). */
struct steady steady_find(const double *x, size_t n);

/* "too short", "reached", "not reached", "switch". */
const char *steady_state_text(enum steady_state state);

#endif
