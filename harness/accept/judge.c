/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c - the verdict over all stages. */
#include "harness/accept/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/report_words.h"
#include "harness/world/stop.h"

static judge_stage_fn *const judge_stage[ACCEPT_N_STAGES] = {
    [ACCEPT_PREFLIGHT] = judge_preflight, [ACCEPT_COMPUTE] = judge_compute,         [ACCEPT_NOISE] = judge_noise,
    [ACCEPT_PAIRWISE] = judge_pairwise,   [ACCEPT_COLLECTIVES] = judge_collectives, [ACCEPT_PS] = judge_ps,
    [ACCEPT_TRAINING] = judge_training,   [ACCEPT_INTEGRITY] = judge_integrity,     [ACCEPT_SOAK] = judge_soak,
};

struct blame_terms judge_terms(const struct criteria *c)
{
    return (struct blame_terms){ .false_discovery_ratio = c->false_discovery_ratio,
                                 .least_effect_ratio = c->least_effect_ratio,
                                 .n_looks = c->most_repeats_count > c->least_repeats_count ? 2 : 1 };
}

/* The one row of a stage whose data nobody looks at. */
static void add_only_row(struct acceptance *a, enum accept_stage s, enum accept_outcome outcome)
{
    char name[ACCEPT_NAME_BYTES];

    snprintf(name, sizeof name, "%s not run", accept_stage_name(s));
    row_end(acceptance_add_criterion(a, s, name), outcome, "%s", a->stage[s].why);
}

static void skip_stage(struct judging *j, enum accept_stage s)
{
    struct stage_state *state = &j->a->stage[s];

    if (state->why[0] == '\0')
        snprintf(state->why, sizeof state->why, "%s",
                 s == ACCEPT_SOAK && !(j->c->soak_minutes > 0) ? "soak_minutes is 0" : "left out on request");
    add_only_row(j->a, s, OUTCOME_SKIPPED);
}

/* It was asked for, but the test ended before it. */
static void miss_stage(struct acceptance *a, enum accept_stage s)
{
    struct stage_state *state = &a->stage[s];

    if (state->why[0] == '\0' && a->stop_signal != 0)
        snprintf(state->why, sizeof state->why, "%s stopped the test before this stage",
                 stop_signal_name(a->stop_signal));
    else if (state->why[0] == '\0')
        snprintf(state->why, sizeof state->why, "the stage was asked for, and %s",
                 a->is_partial ? "the test did not come to its end" : "was not run");
    add_only_row(a, s, OUTCOME_NO_DATA);
}

/* accept.J2: rows from `first` on of a stage that was not run to its end. What is bad already stays bad. */
static void doubt_rows(struct acceptance *a, int first, const char *why)
{
    for (int i = first; i < a->n_criteria; i++)
        if (a->criterion[i].outcome == OUTCOME_PASS || a->criterion[i].outcome == OUTCOME_NO_LIMIT)
            row_end(&a->criterion[i], OUTCOME_NO_DATA, "%s", why);
}

/* Of rows from `first` on; skipped ones alone, or none, are no data. */
static enum accept_outcome worst_outcome(const struct acceptance *a, int first)
{
    static const enum accept_outcome worst[] = { OUTCOME_FAIL, OUTCOME_NO_DATA, OUTCOME_PASS, OUTCOME_NO_LIMIT };
    bool has[N_OUTCOMES] = { false };

    for (int i = first; i < a->n_criteria; i++)
        has[a->criterion[i].outcome] = true;
    for (size_t i = 0; i < sizeof worst / sizeof *worst; i++)
        if (has[worst[i]])
            return worst[i];
    return OUTCOME_NO_DATA;
}

static enum rc judge_one(struct judging *j, enum accept_stage s)
{
    struct stage_state *state = &j->a->stage[s];
    const int first = j->a->n_criteria;
    enum rc rc = RC_OK;

    if (!j->c->runs[s]) {
        skip_stage(j, s);
        state->outcome = OUTCOME_SKIPPED;
        return RC_OK;
    }
    if (state->was_run)
        TRY(judge_stage[s](j));
    else
        miss_stage(j->a, s);
    if (state->why[0] != '\0')
        doubt_rows(j->a, first, state->why);
    state->outcome = worst_outcome(j->a, first);
out:
    return rc;
}

struct place { /* of a finding, before they are put into order */
    double q_value;
    int index;
};

static int compare_places(const void *p, const void *q)
{
    const struct place *a = p, *b = q;

    if (a->q_value < b->q_value || a->q_value > b->q_value)
        return a->q_value < b->q_value ? -1 : 1;
    return a->index - b->index;
}

/* What is certain first, then by q_value; of equals in the order of stages. */
static enum rc sort_findings(struct acceptance *a)
{
    const size_t n = (size_t)a->n_findings;
    struct place *place = malloc((n + 1) * sizeof *place);
    struct finding *sorted = malloc((n + 1) * sizeof *sorted);
    enum rc rc = RC_OK;

    if (!place || !sorted)
        FAIL(RC_NOMEM, "no memory to put %d findings into order", a->n_findings);
    for (size_t i = 0; i < n; i++)
        place[i] = (struct place){ a->finding[i].q_value, (int)i };
    qsort(place, n, sizeof *place, compare_places);
    for (size_t i = 0; i < n; i++)
        sorted[i] = a->finding[place[i].index];
    free(a->finding);
    a->finding = sorted;
    sorted = NULL;
out:
    free(place);
    free(sorted);
    return rc;
}

/* accept.D2: a test without its end is no verdict; stages that were skipped on request do not count, rows of others
 * do. */
static enum accept_outcome whole_outcome(const struct acceptance *a)
{
    bool has[N_OUTCOMES] = { false };

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        has[a->stage[s].outcome] = true;
    if (a->is_partial || a->stop_signal != 0)
        return OUTCOME_NO_DATA;
    if (has[OUTCOME_FAIL])
        return OUTCOME_FAIL;
    return has[OUTCOME_NO_DATA] || !has[OUTCOME_PASS] ? OUTCOME_NO_DATA : OUTCOME_PASS;
}

/* Who is lost is at fault, and so is its node, whatever else was measured. */
static enum rc blame_lost_rank(struct acceptance *a)
{
    struct finding f = { .subject = SUBJECT_RANK,
                         .a = a->lost_rank,
                         .b = a->node_of_rank[a->lost_rank],
                         .metric = "lost",
                         .unit = "",
                         .measured = NAN,
                         .expected = NAN };

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        if (a->stage[s].was_run) /* the last one that was */
            f.stage = (enum accept_stage)s;
    snprintf(f.text, sizeof f.text, "lost in stage %s", accept_stage_name(f.stage));
    return acceptance_add_finding(a, &f);
}

enum rc judge(struct acceptance *a, const struct criteria *c)
{
    struct criteria fitted = *c;
    criteria_for_nodes(&fitted, a->n_nodes);
    struct judging j = { a, &fitted, judge_terms(&fitted) };
    enum rc rc = RC_OK;

    free(a->finding);
    a->finding = NULL;
    a->n_findings = a->n_criteria = 0;
    a->outcome = OUTCOME_NO_DATA;
    if (a->lost_rank >= 0) /* before all others: they may follow from it */
        TRY(blame_lost_rank(a));
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        TRY(judge_one(&j, (enum accept_stage)s));
    TRY(sort_findings(a));
    a->outcome = whole_outcome(a);
out:
    return rc;
}

/* --- rows --- */

void row_end(struct criterion *row, enum accept_outcome outcome, const char *fmt, ...)
{
    va_list args;

    row->outcome = outcome;
    va_start(args, fmt);
    vsnprintf(row->text, sizeof row->text, fmt, args);
    va_end(args);
}

bool breaks_limit(double value, double limit, bool at_least)
{
    return at_least ? value < limit : value > limit;
}

bool row_limit(struct criterion *row, double measured, double limit, bool at_least, const char *unit, const char *who)
{
    char is[QUANTITY_BYTES], least[QUANTITY_BYTES];

    row->measured = measured;
    row->limit = limit;
    row->at_least = at_least;
    row->unit = unit;
    if (!isfinite(measured)) {
        row_end(row, OUTCOME_NO_DATA, "%s: not measured", who);
        return false;
    }
    const bool breaks = breaks_limit(measured, limit, at_least);
    const bool holds = row->low <= limit && row->high >= limit; /* NaN: false */
    quantity_text(is, sizeof is, measured, unit);
    quantity_text(least, sizeof least, limit, strncmp(unit, "of ", 3) == 0 ? "ratio" : unit);
    row_end(row, breaks ? OUTCOME_FAIL : OUTCOME_PASS, "%s: %s, %s the limit of %s%s", who, is,
            measured < limit   ? "below"
            : measured > limit ? "above"
                               : "at",
            least, holds ? "; the interval holds the limit" : "");
    return !breaks;
}

void row_findings(const struct acceptance *a, struct criterion *row, int first, const char *no_data, const char *well)
{
    const int n = a->n_findings - first;
    char who[2 * ACCEPT_NAME_BYTES + 16];

    if (n > 0) {
        accept_subject_text(who, sizeof who, a, &a->finding[first]);
        row_end(row, OUTCOME_FAIL, "%d found%s %s: %.180s", n, n > 1 ? ", the first" : ":", who,
                a->finding[first].text);
    } else if (no_data[0] != '\0')
        row_end(row, OUTCOME_NO_DATA, "%s", no_data);
    else
        row_end(row, OUTCOME_PASS, "%s", well);
}
