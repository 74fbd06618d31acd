/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - which launches of a campaign ran on a disturbed machine, and which reached no steady state.
 *
 * They are told, and count all the same: whether a launch is left out would depend on what was measured of it, and so
 * would the means of those that are kept (a slow mode runs longer, and is disturbed more often).
 */
#include <math.h>

#include "harness/campaign/campaign.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/sorted.h"

static const char *const mark_name[] = { [MARK_DISTURBED] = "disturbed", [MARK_UNSTEADY] = "unsteady" };

const char *mark_column(enum launch_mark mark)
{
    return mark_name[mark];
}

/* How far the frequency of a launch is off the median of its point's launches: points that keep more cores busy, or use
 * wider instructions, have another one by right. NaN: not known. */
static double frequency_off_ratio(const struct point *p, size_t launch)
{
    double known[MAX_LAUNCHES];
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        if (!isnan(p->launch[i].frequency_hz))
            known[n++] = p->launch[i].frequency_hz;
    if (n == 0)
        return NAN;
    sorted_make(known, n);
    return p->launch[launch].frequency_hz / sorted_median(known, n) - 1;
}

static bool has_other_frequency(const struct point *p, size_t launch)
{
    return fabs(frequency_off_ratio(p, launch)) > DISTURBED_FREQUENCY_RATIO;
}

bool launch_has_mark(const struct point *p, size_t launch, enum launch_mark mark)
{
    const struct launch *l = &p->launch[launch];

    if (mark == MARK_UNSTEADY)
        return l->switched || l->never_settled;
    return l->was_disturbed || has_other_frequency(p, launch);
}

size_t point_n_marked(const struct point *p, enum launch_mark mark)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        n += launch_has_mark(p, i, mark);
    return n;
}

bool point_is_marked(const struct point *p, enum launch_mark mark)
{
    return (double)point_n_marked(p, mark) > WITHHELD_RATIO * (double)p->n_launches;
}

bool point_is_doubtful(const struct point *p)
{
    return point_is_marked(p, MARK_DISTURBED) || point_is_marked(p, MARK_UNSTEADY);
}

char mark_letter(enum launch_mark mark)
{
    return mark_name[mark][0];
}

const char *mark_meaning(enum launch_mark mark)
{
    static const char *const meaning[N_MARKS] = {
        [MARK_DISTURBED] = "other programs disturbed more than a quarter of the runs",
        [MARK_UNSTEADY] = "more than a quarter of the runs had no steady state",
    };

    return meaning[mark];
}

bool campaign_has_mark(const struct campaign *c, enum launch_mark mark)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (point_n_marked(&c->point[i], mark) > 0)
            return true;
    return false;
}

size_t pairs_n_marked(const struct point *a, const struct point *b, enum launch_mark mark)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_launches && i < b->n_launches; i++)
        n += launch_has_mark(a, i, mark) || launch_has_mark(b, i, mark);
    return n;
}

void campaign_tell_unknown_load(const struct campaign *c, FILE *to)
{
    size_t n_unknown = 0, n_launches = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        n_launches += p->n_launches;
        for (size_t k = 0; k < p->n_launches; k++)
            n_unknown += p->launch[k].is_load_unknown;
    }
    if (n_unknown > 0)
        fprintf(to,
                "It is not known whether other programs disturbed %zu of %zu runs: a run was shorter than %g s, or "
                "/proc/stat does not tell the load.\n",
                n_unknown, n_launches, DISTURBANCE_MIN_S);
}

/* "lenet ps, 2 workers: disturbed in 3 of 10 launches: " */
static void tell_how_many(const struct point *p, size_t n_marked, const char *what, FILE *to)
{
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, p);
    fprintf(to, "%s: %s in %zu of %zu launch%s: ", name, what, n_marked, p->n_launches, p->n_launches == 1 ? "" : "es");
}

/* By what the launches of a point were disturbed: the most of each. */
static void tell_disturbed(const struct point *p, FILE *to)
{
    double others_cores = 0, steal_ratio = 0, taken_ratio = 0, off_ratio = 0;
    size_t n_taken = 0, n_off = 0;

    for (size_t i = 0; i < p->n_launches; i++) {
        const struct launch *l = &p->launch[i];
        if (l->was_disturbed) {
            n_taken++;
            others_cores = fmax(others_cores, l->others_cores_count);
            steal_ratio = fmax(steal_ratio, l->steal_ratio);
            taken_ratio = fmax(taken_ratio, l->taken_cores_ratio);
        }
        if (has_other_frequency(p, i)) {
            n_off++;
            off_ratio = fmax(off_ratio, fabs(frequency_off_ratio(p, i)));
        }
    }
    tell_how_many(p, point_n_marked(p, MARK_DISTURBED), mark_name[MARK_DISTURBED], to);
    if (n_taken > 0)
        fprintf(to, "others used up to %.2f cores, steal was up to %.2g %%, together up to %.0f %% of a run's cores",
                others_cores, 100 * steal_ratio, 100 * taken_ratio);
    if (n_off > 0)
        fprintf(to, "%sfrequency up to %.0f %% off the median in %zu", n_taken > 0 ? "; " : "", 100 * off_ratio, n_off);
    fprintf(to, "\n");
}

static void tell_unsteady(const struct point *p, FILE *to)
{
    size_t n_switched = 0, n_never = 0;

    for (size_t i = 0; i < p->n_launches; i++) {
        n_switched += p->launch[i].switched;
        n_never += p->launch[i].never_settled;
    }
    tell_how_many(p, point_n_marked(p, MARK_UNSTEADY), mark_name[MARK_UNSTEADY], to);
    if (n_switched > 0)
        fprintf(to, "the speed switched in %zu%s", n_switched, n_never > 0 ? ", " : "");
    if (n_never > 0)
        fprintf(to, "never settled in %zu", n_never);
    fprintf(to, "\n");
}

void campaign_tell_marked(const struct campaign *c, FILE *to)
{
    static void (*const tell[])(const struct point *p,
                                FILE *to) = { [MARK_DISTURBED] = tell_disturbed, [MARK_UNSTEADY] = tell_unsteady };

    for (int mark = 0; mark < N_MARKS; mark++)
        for (size_t i = 0; i < c->n_points; i++)
            if (point_n_marked(&c->point[i], (enum launch_mark)mark) > 0)
                tell[mark](&c->point[i], to);
}

void campaign_explain_marks(const struct campaign *c, FILE *to)
{
    if (campaign_has_mark(c, MARK_DISTURBED))
        fprintf(to,
                "disturbed: other programs and steal took more than %.0f %% of a run's cores (short runs: more),\n"
                "or its frequency is more than %.0f %% off the median of its setting\n",
                100 * DISTURBED_RATIO, 100 * DISTURBED_FREQUENCY_RATIO);
    if (campaign_has_mark(c, MARK_DISTURBED) || campaign_has_mark(c, MARK_UNSTEADY))
        fprintf(to, "marked runs still count: leaving some out afterwards would bias the comparison\n");
}

void campaign_tell_marks(const struct campaign *c, FILE *to)
{
    campaign_tell_marked(c, to);
    campaign_explain_marks(c, to);
}

/* "allreduce (2)", "allreduce (2x1x1)" */
static void who_text(char out[LAYOUT_NAME_BYTES], const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    if (point_has_layout(p))
        snprintf(out, LAYOUT_NAME_BYTES, "%.20s (%s)", p->mode->name, text);
    else
        snprintf(out, LAYOUT_NAME_BYTES, "%.20s (%d)", p->mode->name, p->n_workers);
}

void pairs_tell_marks(const struct point *a, const struct point *b, FILE *to)
{
    static const char *const what[] = {
        [MARK_DISTURBED] = "on a disturbed machine", [MARK_UNSTEADY] = "without a steady state"
    };
    const size_t n_pairs = a->n_launches < b->n_launches ? a->n_launches : b->n_launches;
    char setting[LAUNCH_NAME_BYTES], who[2][LAYOUT_NAME_BYTES];
    bool is_first = true;

    point_setting(setting, sizeof setting, a, ", ", " ");
    who_text(who[0], a);
    who_text(who[1], b);
    for (enum launch_mark mark = 0; mark < N_MARKS; mark++) {
        const size_t n_marked = pairs_n_marked(a, b, mark);
        if (n_marked == 0)
            continue;
        if (is_first)
            fprintf(to, "%s: of %zu pairs of %s and %s %zu have launches %s", setting, n_pairs, who[0], who[1],
                    n_marked, what[mark]);
        else
            fprintf(to, ", %zu %s", n_marked, what[mark]);
        is_first = false;
    }
    if (!is_first)
        fprintf(to, ".\n");
}
