/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blame.c - finds slow nodes and slow links in a tournament of all pairs of nodes; see blame.h. The model of a
 * tournament is in tournament_fit.h. This file turns it into findings.
 */
#include "harness/accept/blame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/tournament_fit.h"
#include "harness/measure/robust.h"

enum { MOST_SINGLE_LINKS = 6, NETWORK_PART = 10 }; /* accept.B5 */

struct blamed { /* a finding before it is worded */
    struct finding finding;
    double deviation; /* the larger, the earlier */
};

struct blamed_list {
    struct blamed *item;
    size_t n, n_room;
};

static double from_scale(const struct tournament_fit *f, double y)
{
    return f->metric->higher_is_better ? exp(y) : exp(-y);
}

/* As criteria count: 1 finding in 1 / false_discovery_ratio, however many looks and metrics share it. */
static double reported_q(const struct tournament_fit *f, const struct blame_terms *terms, double q)
{
    return fmin(1, q * terms->false_discovery_ratio / f->level);
}

static enum rc add_blamed(struct blamed_list *list, const struct finding *finding, double deviation)
{
    if (list->n == list->n_room) {
        const size_t n_room = 2 * list->n_room + 8;
        struct blamed *more = realloc(list->item, n_room * sizeof *more);
        if (!more)
            return rc_raise(RC_NOMEM, "no memory for %zu findings", n_room);
        list->item = more;
        list->n_room = n_room;
    }
    list->item[list->n++] = (struct blamed){ *finding, deviation };
    return RC_OK;
}

struct pairs_of_node { /* of the sides that are blamed */
    int n, n_slow;
    double median;
};

static struct pairs_of_node pairs_of_node(const struct tournament_fit *f, int node)
{
    struct pairs_of_node pairs = { .n = 0 };

    for (int side = 0; side < f->n_sides; side++)
        for (int peer = 0; fitted_side(f, node, side)->is_blamed && peer < f->n_nodes; peer++) {
            const struct evidence *e = &f->evidence[side_pair(f, side, node, peer)];
            if (!evidence_is(e))
                continue;
            f->scratch[pairs.n++] = e->value;
            pairs.n_slow += f->fleet - e->value > f->noise.border;
        }
    pairs.median = robust_median(f->scratch, (size_t)pairs.n);
    return pairs;
}

static void node_text(char *out, size_t n_bytes, const struct tournament_fit *f, const struct pairs_of_node *pairs,
                      const struct finding *finding, const char *what)
{
    const double percent = 100 * finding->measured / finding->expected;

    if (!f->metric->is_directed)
        snprintf(out, n_bytes, "%d of %d pairs of it are late, median %.1f %% of the latency that other pairs have",
                 pairs->n_slow, pairs->n, percent);
    else
        snprintf(out, n_bytes, "what it %s is slow: %d of %d pairs of it%s, median %.1f %% of what other pairs have",
                 what, pairs->n_slow, pairs->n, finding->both_ways ? ", each way counted" : "", percent);
}

static enum rc blame_node(struct blamed_list *list, const struct tournament_fit *f, const struct blame_terms *terms,
                          int node)
{
    const struct fitted *sends = fitted_side(f, node, SIDE_SENDS), *receives = fitted_side(f, node, SIDE_RECEIVES);
    const bool both = sends->is_blamed && receives->is_blamed;

    if (!sends->is_blamed && !receives->is_blamed)
        return RC_OK;
    const struct pairs_of_node pairs = pairs_of_node(f, node);
    const struct fitted *worse =
        !receives->is_blamed || (both && sends->deviation >= receives->deviation) ? sends : receives;
    struct finding finding = { .stage = ACCEPT_PAIRWISE,
                               .subject = SUBJECT_NODE,
                               .a = node,
                               .b = node,
                               .both_ways = both && f->metric->is_directed,
                               .metric = f->metric->name,
                               .unit = f->metric->unit,
                               .measured = from_scale(f, pairs.median),
                               .expected = from_scale(f, f->fleet),
                               .q_value = reported_q(f, terms, both ? fmin(sends->q, receives->q) : worse->q) };
    node_text(finding.text, sizeof finding.text, f, &pairs, &finding,
              both               ? "sends and receives"
              : sends->is_blamed ? "sends"
                                 : "receives");
    return add_blamed(list, &finding, worse->deviation);
}

static void link_text(char *out, size_t n_bytes, const struct tournament_fit *f, const struct fitted *there,
                      const struct fitted *back)
{
    const double percent = 100 * from_scale(f, there->value) / from_scale(f, there->expected);

    if (!f->metric->is_directed)
        snprintf(out, n_bytes, "this pair alone is late, %.1f %% of the latency that its two nodes have with others",
                 percent);
    else if (f->n_nodes == 2)
        snprintf(out, n_bytes,
                 "this direction has %.1f %% of what the other has; which of the two nodes it is cannot be known",
                 percent);
    else if (back)
        snprintf(out, n_bytes,
                 "this pair alone is slow, there %.1f %% and back %.1f %% of what its two nodes have with others",
                 percent, 100 * from_scale(f, back->value) / from_scale(f, back->expected));
    else
        snprintf(out, n_bytes,
                 "this pair alone is slow, and in this direction alone, %.1f %% of what its two nodes have with others",
                 percent);
}

/* The pair from -> to, and the way back with it where that is blamed, too. */
static enum rc blame_link(struct blamed_list *list, const struct tournament_fit *f, const struct blame_terms *terms,
                          int from, int to)
{
    const struct fitted *there = &f->pair[side_pair(f, SIDE_SENDS, from, to)];
    const struct fitted *back = &f->pair[side_pair(f, SIDE_RECEIVES, from, to)];
    const bool both = there->is_blamed && back->is_blamed;

    if (!there->is_blamed || (both && from > to)) /* blamed with the pair to -> from */
        return RC_OK;
    const struct fitted *worse = both && back->deviation > there->deviation ? back : there;
    struct finding finding = { .stage = ACCEPT_PAIRWISE,
                               .subject = SUBJECT_LINK,
                               .a = from,
                               .b = to,
                               .both_ways = both || !f->metric->is_directed,
                               .metric = f->metric->name,
                               .unit = f->metric->unit,
                               .measured = from_scale(f, worse->value),
                               .expected = from_scale(f, worse->expected),
                               .q_value = reported_q(f, terms, both ? fmin(there->q, back->q) : there->q) };
    link_text(finding.text, sizeof finding.text, f, there, both ? back : NULL);
    return add_blamed(list, &finding, worse->deviation);
}

static size_t count_blamed_pairs(const struct tournament_fit *f)
{
    size_t n = 0;

    for (size_t k = 0; k < (size_t)f->n_nodes * (size_t)f->n_nodes; k++)
        n += f->pair[k].is_blamed;
    return n;
}

/* accept.B5 */
static bool is_network(const struct tournament_fit *f, size_t n_blamed)
{
    const size_t n_pairs = (size_t)f->n_nodes * (size_t)(f->n_nodes - 1) * (size_t)f->n_sides / N_SIDES;

    return n_blamed > MOST_SINGLE_LINKS && n_blamed > n_pairs / NETWORK_PART;
}

static enum rc blame_network(struct blamed_list *list, const struct tournament_fit *f, const struct blame_terms *terms,
                             size_t n_blamed)
{
    struct finding finding = { .stage = ACCEPT_PAIRWISE,
                               .subject = SUBJECT_FLEET,
                               .a = -1,
                               .b = -1,
                               .metric = f->metric->name,
                               .unit = f->metric->unit,
                               .expected = from_scale(f, f->fleet) };
    size_t n = 0;

    for (size_t k = 0; k < (size_t)f->n_nodes * (size_t)f->n_nodes; k++)
        if (f->pair[k].is_blamed) {
            f->scratch[n++] = f->pair[k].value;
            finding.q_value = fmax(finding.q_value, reported_q(f, terms, f->pair[k].q));
        }
    finding.measured = from_scale(f, robust_median(f->scratch, n));
    snprintf(finding.text, sizeof finding.text,
             "%zu pairs have, in the median, %.1f %% of the %s of the others: too many for single links; the network "
             "between groups of nodes is uneven",
             n_blamed, 100 * finding.measured / finding.expected, f->metric->is_directed ? "rate" : "latency");
    return add_blamed(list, &finding, INFINITY);
}

/* Nodes before links, the worst first, then by number. */
static int by_blame(const void *a, const void *b)
{
    const struct blamed *x = a, *y = b;

    if (x->finding.subject != y->finding.subject)
        return x->finding.subject == SUBJECT_NODE ? -1 : 1;
    if (x->deviation != y->deviation)
        return x->deviation > y->deviation ? -1 : 1;
    if (x->finding.a != y->finding.a)
        return x->finding.a < y->finding.a ? -1 : 1;
    return (x->finding.b > y->finding.b) - (x->finding.b < y->finding.b);
}

static enum rc blame_metric(struct acceptance *a, const struct blame_terms *terms,
                            const struct tournament_metric *metric, int n_metrics)
{
    struct tournament_fit f = { .n_nodes = 0 };
    struct blamed_list list = { .n = 0 };
    enum rc rc;

    TRY(tournament_fit_open(&f, &a->tournament, metric, terms, n_metrics));
    for (int i = 0; i < f.n_nodes; i++)
        TRY(blame_node(&list, &f, terms, i));
    const size_t n_pairs = count_blamed_pairs(&f);
    if (is_network(&f, n_pairs))
        TRY(blame_network(&list, &f, terms, n_pairs));
    for (int i = 0; i < f.n_nodes && !is_network(&f, n_pairs); i++)
        for (int j = 0; j < f.n_nodes; j++)
            TRY(blame_link(&list, &f, terms, i, j));
    if (list.n > 0)
        qsort(list.item, list.n, sizeof *list.item, by_blame);
    for (size_t i = 0; i < list.n; i++)
        TRY(acceptance_add_finding(a, &list.item[i].finding));
out:
    free(list.item);
    tournament_fit_close(&f);
    return rc;
}

static int n_metrics_of(const struct tournament *t)
{
    return tournament_has(t, &tournament_rates) + tournament_has(t, &tournament_latencies);
}

enum rc blame_tournament(struct acceptance *a, const struct blame_terms *terms)
{
    const int n_metrics = n_metrics_of(&a->tournament);
    enum rc rc = RC_OK;

    if (tournament_has(&a->tournament, &tournament_rates))
        TRY(blame_metric(a, terms, &tournament_rates, n_metrics));
    if (tournament_has(&a->tournament, &tournament_latencies))
        TRY(blame_metric(a, terms, &tournament_latencies, n_metrics));
out:
    return rc;
}

/* All repeats of a node's pairs are evidence of its side. */
static bool is_side_open(const struct tournament_fit *f, int node, int side)
{
    const struct fitted *s = fitted_side(f, node, side);
    struct evidence e = { .n = 0 };

    for (int peer = 0; peer < f->n_nodes; peer++)
        e.n += f->evidence[side_pair(f, side, node, peer)].n;
    return !isnan(s->deviation) && noise_is_open(&f->noise, &e, s->deviation);
}

/* What neither of its nodes explains is near the border; or beyond it, and for the noise of repeats not significant. */
static bool is_pair_open(const struct tournament_fit *f, size_t k)
{
    const struct evidence *e = &f->evidence[k];
    const struct fitted *pair = &f->pair[k];

    return !evidence_is(e) || noise_is_open(&f->noise, e, pair->deviation) ||
           (pair->deviation > f->noise.border && !pair->is_blamed && noise_error(&f->noise, e) > f->noise.between);
}

static void open_pairs(struct tournament_fit *f, bool *open, int *n_open)
{
    for (int i = 0; i < f->n_nodes; i++)
        for (int side = 0; side < N_SIDES; side++)
            f->scratch[i * N_SIDES + side] = is_side_open(f, i, side);
    *n_open = 0;
    for (int i = 0; i < f->n_nodes; i++)
        for (int j = 0; j < f->n_nodes; j++) {
            const size_t k = side_pair(f, SIDE_SENDS, i, j);
            open[k] = i != j && (is_pair_open(f, k) || f->scratch[i * N_SIDES + SIDE_SENDS] > 0 ||
                                 f->scratch[j * N_SIDES + SIDE_RECEIVES] > 0);
            *n_open += open[k];
        }
}

enum rc blame_open_pairs(const struct tournament *t, const struct blame_terms *terms, bool *open, int *n_open)
{
    struct tournament_fit f = { .n_nodes = 0 };
    const int n_metrics = n_metrics_of(t);
    enum rc rc;

    TRY(tournament_fit_open(&f, t, &tournament_rates, terms, n_metrics > 0 ? n_metrics : 1));
    open_pairs(&f, open, n_open);
out:
    tournament_fit_close(&f);
    return rc;
}
