/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.c - MSER-5, walked from the end so that one pass over the series is enough, and a switch of the speed.
 *
 * For a cut after d blocks the marginal standard error of the k = n_blocks - d blocks that remain is
 * (sum of squared deviations from their mean) / k^2. Welford's update gives that sum for every d,
 * block by block, and gives exactly 0 for equal values: a constant series is not cut.
 *
 * A switch is sought in at most MAX_SPANS means of spans of blocks: spans of a long run are long enough not to depend
 * on their neighbours. A span's mean is of the middle three values of every block: one interrupted step in 5 leaves no
 * trace.
 */
#include "harness/measure/steady.h"

#include <assert.h>
#include <math.h>

#include "harness/measure/interval.h"

enum { BLOCK = 5, MIN_VALUES = 20, MIN_JUDGED_VALUES = 200 };
enum { MIN_SPANS = 8, MAX_SPANS = 40, MIN_LEVEL_SPANS = 3 };
static const double LEAST_SWITCH_RATIO = 1.05, WINDOWS_BEYOND_RATIO = 0.95;

const char *steady_state_text(enum steady_state state)
{
    switch (state) {
    case STEADY_TOO_SHORT:
        return "too short";
    case STEADY_REACHED:
        return "reached";
    case STEADY_NONE:
        return "not reached";
    case STEADY_SWITCH:
        return "switch";
    }
    assert(false);
    return NULL;
}

static double block_mean(const double *x, size_t block)
{
    double sum = 0;

    for (size_t i = 0; i < BLOCK; i++)
        sum += x[block * BLOCK + i];
    return sum / BLOCK;
}

/* Where MSER-5 cuts, in blocks: 0 <= result <= n_blocks / 2. */
static size_t mser_cut(const double *x, size_t n_blocks)
{
    double mean = 0, sum_squares = 0, least = 0;
    size_t cut = n_blocks / 2;

    for (size_t k = 1; k <= n_blocks; k++) { /* k blocks remain */
        double y = block_mean(x, n_blocks - k), delta = y - mean;

        mean += delta / (double)k;
        sum_squares += delta * (y - mean);
        double error = sum_squares / ((double)k * (double)k);
        if (n_blocks - k > n_blocks / 2)
            continue;
        if (n_blocks - k == n_blocks / 2 || error <= least) { /* of equals, the shortest warm-up */
            least = error;
            cut = n_blocks - k;
        }
    }
    return cut;
}

/* measure.S2: of the windows of n_start blocks behind the first n_start, nearly all are on one side of those. */
static bool start_differs(const double *x, size_t n_start, size_t n_blocks)
{
    const size_t n_windows = n_blocks - 2 * n_start + 1;
    size_t n_above = 0, n_below = 0;
    double start = 0, window = 0;

    for (size_t b = 0; b < n_start; b++) {
        start += block_mean(x, b);
        window += block_mean(x, n_start + b);
    }
    for (size_t w = 0; w < n_windows; w++) {
        if (w > 0)
            window += block_mean(x, 2 * n_start + w - 1) - block_mean(x, n_start + w - 1);
        n_above += window > start;
        n_below += window < start;
    }
    return fmax((double)n_above, (double)n_below) >= WINDOWS_BEYOND_RATIO * (double)n_windows;
}

/* MSER-5 with what it is accepted for (measure.S1, S2, S4). */
static struct steady warmup_of(const double *x, size_t n)
{
    const size_t n_blocks = n / BLOCK;
    struct steady s = { .state = STEADY_TOO_SHORT, .switch_speed_ratio = NAN };

    if (n < MIN_VALUES)
        return s;
    const size_t cut = mser_cut(x, n_blocks);
    if (cut == n_blocks / 2) {
        s.state = n < MIN_JUDGED_VALUES ? STEADY_TOO_SHORT : STEADY_NONE;
        return s;
    }
    s.state = STEADY_REACHED;
    if (cut > 0 && start_differs(x, cut, n_blocks))
        s.n_warmup = cut * BLOCK;
    return s;
}

/* Mean of the middle three of a block. */
static double block_middle(const double *x, size_t block)
{
    double v[BLOCK] = { 0 };

    for (size_t i = 0; i < BLOCK; i++) { /* insertion sort */
        size_t at = i;
        for (; at > 0 && v[at - 1] > x[block * BLOCK + i]; at--)
            v[at] = v[at - 1];
        v[at] = x[block * BLOCK + i];
    }
    return (v[1] + v[2] + v[3]) / 3;
}

/* Does y[n] change by a third of a shift or more? */
static bool changes(const double *y, size_t n, const struct level_shift *of)
{
    const double third = fabs(of->after - of->before) / 3;
    const struct level_shift s = level_shift_find(y, n);
    const struct fitted_line line = line_find(y, n);

    return (s.is_significant && fabs(s.after - s.before) >= third) || (line.is_significant && fabs(line.rise) >= third);
}

/* The shift of y[n] behind what is taken for warm-up: what shifts in the first quarter, be it after another shift was
 * found behind. Index from y[0]; *first: the first value behind the warm-up. */
static bool find_late_shift(struct level_shift *out, size_t *first, const double *y, size_t n)
{
    struct level_shift s, early;

    *first = 0;
    for (;;) {
        s = level_shift_find(y + *first, n - *first);
        if (!s.is_significant)
            return false;
        if (4 * (*first + s.index) < n)
            *first += s.index;
        else if (!changes(y + *first, s.index, &s))
            break;
        else if ((early = level_shift_find(y + *first, s.index)).index > 0 && 4 * (*first + early.index) < n)
            *first += early.index;
        else
            break;
    }
    s.index += *first;
    *out = s;
    return true;
}

enum shift { SHIFT_NONE, SHIFT_SWITCH, SHIFT_DRIFT };

/* measure.S1, S3, in y[n]. */
static enum shift find_shift(struct level_shift *out, const double *y, size_t n)
{
    const size_t n_least = n / 10 > MIN_LEVEL_SPANS ? n / 10 : MIN_LEVEL_SPANS;
    struct level_shift s;
    size_t first;

    if (!find_late_shift(&s, &first, y, n) || fmax(s.before, s.after) < LEAST_SWITCH_RATIO * fmin(s.before, s.after))
        return SHIFT_NONE;
    if (line_find(y + first, n - first).squares <= s.squares)
        return SHIFT_DRIFT;
    const size_t n_before = s.index - first, n_after = n - s.index;
    if (n_before < n_least || n_before < first || n_after < n_least) /* warm-up at the end of which the level changes */
        return SHIFT_NONE;
    if (changes(y + first, n_before, &s) || changes(y + s.index, n_after, &s))
        return SHIFT_NONE;
    *out = s;
    return SHIFT_SWITCH;
}

/* The block where the second level begins: within a span of the shift, that with the least squares. */
static size_t locate(const double *x, size_t from_block, size_t to_block, const struct level_shift *s)
{
    double sum = 0, least = 0;
    size_t best = from_block;

    for (size_t b = from_block; b < to_block; b++) { /* block b goes to the first level */
        const double y = block_middle(x, b);
        sum += (y - s->before) * (y - s->before) - (y - s->after) * (y - s->after);
        if (sum < least) {
            least = sum;
            best = b + 1;
        }
    }
    return best;
}

static struct steady switch_of(const double *x, size_t n_per_span, const struct level_shift *s)
{
    const size_t block = locate(x, (s->index - 1) * n_per_span, (s->index + 1) * n_per_span, s);

    return (struct steady){ .state = STEADY_SWITCH,
                            .n_warmup = warmup_of(x, block * BLOCK).n_warmup,
                            .switch_index = block * BLOCK,
                            .switch_speed_ratio = s->before / s->after };
}

struct steady steady_find(const double *x, size_t n)
{
    const size_t n_blocks = n / BLOCK, n_per_span = (n_blocks + MAX_SPANS - 1) / MAX_SPANS;
    double y[MAX_SPANS] = { 0 };
    struct level_shift shift = { 0 };

    if (n_blocks < MIN_SPANS)
        return warmup_of(x, n);
    const size_t n_spans = n_blocks / n_per_span;
    for (size_t b = 0; b < n_spans * n_per_span; b++)
        y[b / n_per_span] += block_middle(x, b) / (double)n_per_span;
    switch (find_shift(&shift, y, n_spans)) {
    case SHIFT_SWITCH:
        return switch_of(x, n_per_span, &shift);
    case SHIFT_DRIFT:
        return (struct steady){ .state = STEADY_NONE, .switch_speed_ratio = NAN };
    case SHIFT_NONE:
        break;
    }
    return warmup_of(x, n);
}

/* Sums from the first value on, so that equal values have no deviation at all. */

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

struct fitted_line line_find(const double *y, size_t n)
{
    const double middle = ((double)n - 1) / 2, dof = (double)n - 2;
    double sum = 0, product = 0, run = 0;
    struct fitted_line line = { 0 };

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
