/* SPDX-License-Identifier: Apache-2.0 */
/* level_shift.c - sums from the first value on, so that equal values have no deviation at all. */
#include "harness/measure/level_shift.h"

#include <math.h>

#include "harness/measure/student.h"

/* Would values of the same level explain that much (one degree of freedom) beside squares (dof degrees), best of
 * n_tries? */
static bool is_unlikely(double explained, double squares, double dof, size_t n_tries)
{
    if (explained <= 0)
        return false;
    if (squares <= 0)
        return true;
    return (double)n_tries * student_two_sided(sqrt(explained * dof / squares), dof) <= LEVEL_SHIFT_ALARM_RATIO;
}

/* Squares of all = between the levels + around them; the best split has the greatest part between. */
struct level_shift level_shift_find(const double *y, size_t n)
{
    struct level_shift best = { 0 };
    double sum = 0, squares = 0, left = 0, most = -1;

    if (n < 3)
        return best;
    for (size_t i = 0; i < n; i++)
        sum += y[i] - y[0];
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - y[0] - sum / (double)n) * (y[i] - y[0] - sum / (double)n);
    for (size_t i = 1; i < n; i++) {
        left += y[i - 1] - y[0];
        const double before = left / (double)i, after = (sum - left) / (double)(n - i);
        const double between = (after - before) * (after - before) * (double)i * (double)(n - i) / (double)n;
        if (between <= most)
            continue;
        most = between;
        best = (struct level_shift){ .index = i, .before = y[0] + before, .after = y[0] + after };
    }
    best.squares = fmax(0, squares - most);
    best.is_significant = is_unlikely(most, best.squares, (double)n - 2, n - 1);
    return best;
}

struct line line_find(const double *y, size_t n)
{
    const double middle = ((double)n - 1) / 2, dof = (double)n - 2;
    double sum = 0, product = 0, run = 0;
    struct line line = { 0 };

    if (n < 3)
        return line;
    for (size_t i = 0; i < n; i++) {
        sum += y[i] - y[0];
        product += (y[i] - y[0]) * ((double)i - middle);
        run += ((double)i - middle) * ((double)i - middle);
    }
    const double slope = product / run;
    for (size_t i = 0; i < n; i++) {
        const double deviation = y[i] - y[0] - sum / (double)n - slope * ((double)i - middle);
        line.squares += deviation * deviation;
    }
    line.rise = slope * (double)n;
    line.is_significant = is_unlikely(slope * slope * run, line.squares, dof, 1);
    return line;
}
