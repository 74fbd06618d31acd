/* SPDX-License-Identifier: Apache-2.0 */
/* judge_pairs.c - the tournament: slow nodes and links, and limits that every pair of nodes must keep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/late.h"
#include "harness/accept/report_words.h"

/* With up to three nodes a slow one cannot be found: half of a node's pairs, or all, are with one that may be slow. */
enum { MOST_UNJUDGED = 3 };

/* out := why the pairs are too few to pass; "": they are not (accept.J2). */
static void say_too_few(char out[ACCEPT_TEXT_BYTES], const struct judging *j, const struct worst *w)
{
    const struct acceptance *a = j->a;
    const int n_repeats = a->tournament.n_repeats;

    out[0] = '\0';
    if (a->n_nodes < 2)
        snprintf(out, ACCEPT_TEXT_BYTES, "one node has no pair; at least two would be judged");
    else if (n_repeats == 0 || w->a < 0)
        snprintf(out, ACCEPT_TEXT_BYTES, "no pair was measured");
    else if (w->missing_a >= 0)
        snprintf(out, ACCEPT_TEXT_BYTES, "%s -> %s was not measured", a->node[w->missing_a].name,
                 a->node[w->missing_b].name);
    else if (n_repeats < j->c->least_repeats_count)
        snprintf(out, ACCEPT_TEXT_BYTES, "%d repeat%s; %d are asked for", n_repeats, n_repeats == 1 ? "" : "s",
                 j->c->least_repeats_count);
}

/* "the worst of 56 pairs, host1 -> host0" */
static void say_worst(char out[ACCEPT_TEXT_BYTES], const struct acceptance *a, const struct worst *w)
{
    if (w->a < 0)
        snprintf(out, ACCEPT_TEXT_BYTES, "every pair of nodes");
    else
        snprintf(out, ACCEPT_TEXT_BYTES, "the worst of %d pairs, %s -> %s", w->n_subjects, a->node[w->a].name,
                 a->node[w->b].name);
}

static struct worst worst_of(const struct acceptance *a, bool latency)
{
    const struct tournament none = { .n_nodes = 0 };

    return worst_pair(a->tournament.n_repeats > 0 ? &a->tournament : &none, latency);
}

/* Adds the findings of blame.h, and the row "slow nodes and links" with their outcome. With up to MOST_UNJUDGED nodes
 * and no finding the outcome is no data; then no row is added if least_pair_bytes_per_s judges the pairs. RC_NOMEM. */
static enum rc judge_blame(struct judging *j)
{
    struct acceptance *a = j->a;
    const struct worst w = worst_of(a, false);
    const int first = a->n_findings;
    char no_data[ACCEPT_TEXT_BYTES], well[ACCEPT_TEXT_BYTES + 32], who[ACCEPT_TEXT_BYTES], value[QUANTITY_BYTES];
    enum rc rc = RC_OK;

    say_too_few(no_data, j, &w);
    if (w.a >= 0)
        TRY(blame_tournament(a, &j->terms));
    if (a->n_nodes <= MOST_UNJUDGED && no_data[0] == '\0' && a->n_findings == first) {
        if (j->c->least_pair_bytes_per_s > 0)
            return RC_OK;
        snprintf(no_data, sizeof no_data,
                 "%d nodes have too few other pairs to compare with; a limit, least_pair_bytes_per_s, would be judged",
                 a->n_nodes);
    }
    struct criterion *row = acceptance_add_criterion(a, ACCEPT_PAIRWISE, "slow nodes and links");
    row->measured = w.value;
    row->low = w.low;
    row->high = w.high;
    row->n_samples = w.n_samples;
    row->unit = "byte/s";
    say_worst(who, a, &w);
    quantity_text(value, sizeof value, w.value, row->unit);
    snprintf(well, sizeof well, "none; %.280s, has %s", who, value);
    row_findings(a, row, first, no_data, well);
out:
    return rc;
}

/* A limit and which pairs break it. */
struct pair_limit {
    double limit;
    bool at_least;
    const char *metric, *unit;
    double *value; /* [n_nodes][n_nodes]: medians; NaN: none */
};

static bool pair_breaks(const struct pair_limit *l, const struct acceptance *a, int i, int j)
{
    return i != j && breaks_limit(l->value[(size_t)i * (size_t)a->n_nodes + (size_t)j], l->limit, l->at_least);
}

/* Does a finding of this stage name one of the nodes, or the link? */
static bool is_explained(const struct acceptance *a, int i, int j)
{
    for (int k = 0; k < a->n_findings; k++) {
        const struct finding *f = &a->finding[k];
        if (f->stage != ACCEPT_PAIRWISE)
            continue;
        if (f->subject == SUBJECT_NODE && (f->a == i || f->a == j))
            return true;
        if (f->subject == SUBJECT_LINK && ((f->a == i && f->b == j) || (f->both_ways && f->a == j && f->b == i)))
            return true;
    }
    return false;
}

/* Is the limit that all pairs break about 8 times what they have, as one in bits is? */
static bool seems_in_bits(const struct pair_limit *l, double measured)
{
    enum { LEAST_TIMES = 7, MOST_TIMES = 10 };

    return l->at_least && l->limit >= LEAST_TIMES * measured && l->limit <= MOST_TIMES * measured;
}

static enum rc add_broken(struct acceptance *a, const struct pair_limit *l, struct finding f, double measured)
{
    char is[QUANTITY_BYTES], limit[QUANTITY_BYTES];
    const bool is_question = f.subject == SUBJECT_FLEET && seems_in_bits(l, measured);

    f.stage = ACCEPT_PAIRWISE;
    f.metric = l->metric;
    f.unit = l->unit;
    f.measured = measured;
    f.expected = l->limit;
    quantity_text(is, sizeof is, measured, l->unit);
    quantity_text(limit, sizeof limit, l->limit, l->unit);
    snprintf(f.text, sizeof f.text, "%s%s; the limit is %s %s%s", f.subject == SUBJECT_LINK ? "" : "every pair: ", is,
             l->at_least ? "at least" : "at most", limit,
             is_question ? ", about 8 times as much; is it in bits, not bytes?" : "");
    return acceptance_add_finding(a, &f);
}

/* Do all pairs of the node, in one direction, break the limit? *worst: of those. */
static bool node_breaks(const struct pair_limit *l, const struct acceptance *a, int node, bool outward, double *worst)
{
    *worst = NAN;
    for (int k = 0; k < a->n_nodes; k++) {
        const int i = outward ? node : k, j = outward ? k : node;
        const double value = l->value[(size_t)i * (size_t)a->n_nodes + (size_t)j];
        if (k == node)
            continue;
        if (!pair_breaks(l, a, i, j))
            return false;
        *worst = isnan(*worst) || breaks_limit(value, *worst, l->at_least) ? value : *worst;
    }
    return true;
}

static enum rc name_nodes(struct acceptance *a, const struct pair_limit *l)
{
    enum rc rc = RC_OK;

    for (int n = 0; a->n_nodes > 2 && n < a->n_nodes; n++) {
        double worst;
        bool is_known = false;
        for (int k = 0; k < a->n_findings; k++)
            is_known = is_known || (a->finding[k].stage == ACCEPT_PAIRWISE && a->finding[k].subject == SUBJECT_NODE &&
                                    a->finding[k].a == n);
        if (!is_known && (node_breaks(l, a, n, true, &worst) || node_breaks(l, a, n, false, &worst)))
            TRY(add_broken(a, l, (struct finding){ .subject = SUBJECT_NODE, .a = n }, worst));
    }
out:
    return rc;
}

static enum rc name_links(struct acceptance *a, const struct pair_limit *l)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < a->n_nodes; i++)
        for (int j = 0; j < a->n_nodes; j++) {
            const double value = l->value[(size_t)i * (size_t)a->n_nodes + (size_t)j];
            const bool both = pair_breaks(l, a, j, i) && !is_explained(a, j, i);
            if (!pair_breaks(l, a, i, j) || is_explained(a, i, j))
                continue;
            TRY(add_broken(a, l, (struct finding){ .subject = SUBJECT_LINK, .a = i, .b = j, .both_ways = both },
                           value));
        }
out:
    return rc;
}

/* accept.J4 */
static enum rc find_breakers(struct acceptance *a, struct pair_limit *l, const struct worst *w)
{
    const struct tournament *t = &a->tournament;
    const double *x = l->at_least ? t->bytes_per_s : t->latency_s;
    const size_t n = (size_t)a->n_nodes;
    int n_breaks = 0, n_finite;
    enum rc rc = RC_OK;

    l->value = malloc(n * n * sizeof *l->value);
    if (!l->value)
        FAIL(RC_NOMEM, "no memory to judge %d nodes", a->n_nodes);
    for (size_t i = 0; i < n * n; i++) {
        l->value[i] = i % (n + 1) == 0 ? NAN : finite_median(x + i, t->n_repeats, n * n, &n_finite);
        n_breaks += breaks_limit(l->value[i], l->limit, l->at_least);
    }
    if (n_breaks == w->n_subjects && n > 2)
        TRY(add_broken(a, l, (struct finding){ .subject = SUBJECT_FLEET }, w->value));
    else {
        TRY(name_nodes(a, l));
        TRY(name_links(a, l));
    }
out:
    free(l->value);
    l->value = NULL;
    return rc;
}

/* Adds the row `key`: does the worst pair keep the limit? limit 0: adds no row. */
static enum rc judge_pair_limit(struct judging *j, const char *key, double limit, bool latency)
{
    const struct worst w = worst_of(j->a, latency);
    struct pair_limit l = { .limit = limit,
                            .at_least = !latency,
                            .metric = latency ? "pair_latency_s" : "pair_bytes_per_s",
                            .unit = latency ? "s" : "byte/s" };
    char too_few[ACCEPT_TEXT_BYTES], who[ACCEPT_TEXT_BYTES];
    enum rc rc = RC_OK;

    if (!(limit > 0))
        return RC_OK;
    struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_PAIRWISE, key);
    row->low = w.low;
    row->high = w.high;
    row->n_samples = w.n_samples;
    say_worst(who, j->a, &w);
    say_too_few(too_few, j, &w);
    const bool passes = row_limit(row, w.value, limit, !latency, l.unit, who);
    if (row->outcome == OUTCOME_FAIL)
        TRY(find_breakers(j->a, &l, &w));
    else if (too_few[0] != '\0' || !passes)
        row_end(row, OUTCOME_NO_DATA, "%s", too_few);
out:
    return rc;
}

enum rc judge_pairwise(struct judging *j)
{
    enum rc rc;

    TRY(judge_blame(j));
    TRY(judge_late(j));
    TRY(judge_pair_limit(j, "least_pair_bytes_per_s", j->c->least_pair_bytes_per_s, false));
    TRY(judge_pair_limit(j, "most_pair_latency_s", j->c->most_pair_latency_s, true));
out:
    return rc;
}

/* --- lost messages --- */

enum { LEAST_NODES = 3 };

enum rc judge_late(struct judging *j)
{
    struct acceptance *a = j->a;
    const struct tournament *t = &a->tournament;
    const int first = a->n_findings;
    char well[ACCEPT_TEXT_BYTES];
    int from = -1, to = -1;
    enum rc rc;

    if (a->n_nodes < LEAST_NODES || !late_is_known(t))
        return RC_OK;
    TRY(late_find(a, &j->terms));
    struct criterion *row = acceptance_add_criterion(a, ACCEPT_PAIRWISE, "lost messages");
    row->measured = late_worst(t, &from, &to);
    row->n_samples = t->n_repeats * t->n_rounds;
    row->unit = "of round trips";
    if (from < 0)
        row_findings(a, row, first, "no pair was measured", "");
    else {
        snprintf(well, sizeof well, "nobody loses more than others; the worst pair, %.64s - %.64s, had %.3g late",
                 a->node[from].name, a->node[to].name, row->measured);
        row_findings(a, row, first, "", well);
    }
out:
    return rc;
}
