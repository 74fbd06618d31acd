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

/* --- wrong sums --- */

/*
 * Sums of allreduces, and what workers pull of a server, are what they must be.
 *
 * Wrong on less than half of those who got some: each of them is at fault. Else they may have what another one sent
 * to them: the server, or whoever pushed to it. Which is not known, and nobody is blamed.
 */

struct sum_terms { /* of a stage */
    enum accept_stage stage;
    const char *row, *metric, *sums, *summed, *to_sum, *getters;
    int n_getters;     /* ranks that each get every sum */
    uint64_t n_checks; /* by each of them */
    bool is_measured;
    char server[80]; /* "rank 6 on host3"; "": no server */
};

static struct sum_terms terms_of(const struct acceptance *a, enum accept_stage stage)
{
    struct sum_terms t = { .stage = stage,
                           .row = "sums are right",
                           .metric = "allreduce_sums",
                           .sums = "sums",
                           .summed = "summed",
                           .to_sum = "to sum",
                           .getters = "ranks",
                           .n_getters = a->n_ranks,
                           .n_checks = a->sum_checks_count,
                           .is_measured = a->n_collective > 0 };

    if (stage != ACCEPT_PS)
        return t;
    t.row = "pulls are right";
    t.metric = "ps_pulls";
    t.sums = "pulls";
    t.summed = "pulled";
    t.to_sum = "to push";
    t.getters = "workers";
    t.n_getters = a->n_ranks - 1;
    t.n_checks = a->pull_checks_count;
    t.is_measured = a->n_ps > 0;
    snprintf(t.server, sizeof t.server, "rank %d on %.50s", accept_server_rank(a->node, a->n_nodes, a->n_ranks),
             a->node[a->n_nodes - 1].name);
    return t;
}

/* "rank 1 on host0, 2 on host1 and 5 more": ranks of wrong[n]. */
static void say_ranks(char *out, size_t n_bytes, const struct acceptance *a, const struct wrong_sum *wrong, int n)
{
    enum { MOST = 4 };
    size_t at = 0;

    for (int i = 0; i < n && i < MOST && at < n_bytes; i++)
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%d on %.24s", i > 0 ? ", " : "rank ", wrong[i].rank,
                               a->node[a->node_of_rank[wrong[i].rank]].name);
    if (n > MOST && at < n_bytes)
        (void)snprintf(out + at, n_bytes - at, " and %d more", n - MOST);
}

static enum rc find_wrong_rank(struct acceptance *a, const struct sum_terms *t, const struct wrong_sum *w)
{
    struct finding f = { .stage = t->stage,
                         .subject = SUBJECT_RANK,
                         .a = w->rank,
                         .b = a->node_of_rank[w->rank],
                         .metric = t->metric,
                         .unit = "elements",
                         .measured = (double)w->n_wrong };
    char what[160];

    if (t->server[0])
        snprintf(what, sizeof what, "what it pulls of %zu bytes from %s, the server, is wrong", w->n_bytes, t->server);
    else
        snprintf(what, sizeof what, "its sums of %zu bytes are wrong", w->n_bytes);
    snprintf(f.text, sizeof f.text, "%s, in %llu elements of all repeats, first in element %llu: %.9g, not %.9g", what,
             (unsigned long long)w->n_wrong, (unsigned long long)w->element, w->value, w->expected);
    return acceptance_add_finding(a, &f);
}

static enum rc find_wrong_fleet(struct acceptance *a, const struct sum_terms *t, const struct wrong_sum *w, int n)
{
    struct finding f = { .stage = t->stage, .subject = SUBJECT_FLEET, .metric = t->metric, .unit = "elements" };
    char who[160];

    for (int i = 0; i < n; i++)
        f.measured += (double)w[i].n_wrong;
    say_ranks(who, sizeof who, a, w, n);
    if (t->server[0])
        snprintf(f.text, sizeof f.text,
                 "what %d of %d workers pull of %zu bytes from %s is wrong, first in element %llu: %.9g, not %.9g; %s",
                 n, t->n_getters, w->n_bytes, t->server, (unsigned long long)w->element, w->value, w->expected, who);
    else
        snprintf(f.text, sizeof f.text,
                 "sums of %zu bytes are wrong on %d of %d ranks, first in element %llu: %.9g, not %.9g; %s", w->n_bytes,
                 n, t->n_getters, (unsigned long long)w->element, w->value, w->expected, who);
    return acceptance_add_finding(a, &f);
}

/* Wrong sums of one size, w[n]. */
static enum rc find_wrong_size(struct acceptance *a, const struct sum_terms *t, const struct wrong_sum *w, int n)
{
    const bool are_few = 2 * n < t->n_getters;
    enum rc rc = RC_OK;

    for (int i = 0; are_few && i < n; i++)
        TRY(find_wrong_rank(a, t, &w[i]));
    if (!are_few)
        TRY(find_wrong_fleet(a, t, w, n));
out:
    return rc;
}

/* Add the row and findings of wrong sums, for ACCEPT_COLLECTIVES or ACCEPT_PS. RC_NOMEM. */
static enum rc judge_sums(struct judging *j, enum accept_stage stage)
{
    struct acceptance *a = j->a;
    const struct sum_terms t = terms_of(a, stage);
    struct criterion *row = acceptance_add_criterion(a, stage, t.row);
    const int first = a->n_findings;
    char no_data[64] = "", well[96];
    enum rc rc = RC_OK;

    if (t.n_checks == 0 && t.is_measured) {
        row_end(row, OUTCOME_SKIPPED, "--compute %s computes no numbers %s", a->compute, t.to_sum);
        return RC_OK;
    }
    row->n_samples = (int)t.n_checks;
    for (int i = 0, n = 1; i < a->n_wrong_sums; i += n) {
        const struct wrong_sum *w = &a->wrong_sum[i];
        for (n = 1; i + n < a->n_wrong_sums && w[n].stage == w->stage && w[n].n_bytes == w->n_bytes;)
            n++;
        if (w->stage == stage)
            TRY(find_wrong_size(a, &t, w, n));
    }
    if (t.n_checks == 0)
        snprintf(no_data, sizeof no_data, "nothing was %s", t.summed);
    snprintf(well, sizeof well, "every element of %llu %s, on %d %s", (unsigned long long)t.n_checks, t.sums,
             t.n_getters, t.getters);
    row_findings(a, row, first, no_data, well);
out:
    return rc;
}

/* --- orders of ranks --- */

/*
 * The launcher's order of ranks beside the best.
 *
 * Where all orders are the same nothing is measured. That is a pass where something is known of the network between
 * nodes, as then an order that knows it is the launcher's; of one rank a node and no such knowledge it is no data.
 */

/* The launcher's rate over the best one, with the interval of that comparison. */
static void judge_best(struct judging *j, struct criterion *row, int best)
{
    const struct rank_order *o = &j->a->rank_order[best];
    const double limit = j->c->least_rank_order_ratio;
    char who[128];

    if (best != RANK_ORDER_LAUNCHER) {
        row->low = 1 / o->high_ratio;
        row->high = 1 / o->low_ratio;
        snprintf(who, sizeof who, "the launcher's order beside %s, as rank_order.hosts has it",
                 accept_rank_order_name(best));
    } else
        snprintf(who, sizeof who, "no order is surely better than the launcher's");
    row->n_samples = o->n_repeats;
    if (limit > 0)
        row_limit(row, 1 / o->ratio, limit, true, "of the best", who);
    else {
        row->measured = 1 / o->ratio;
        row_end(row, OUTCOME_NO_LIMIT, "%s: %.4g of the best order, without a limit", who, row->measured);
    }
}

static void judge_same(struct judging *j, struct criterion *row)
{
    const struct rank_order *order = j->a->rank_order;
    const bool is_known = order[RANK_ORDER_SWITCHES].rank || order[RANK_ORDER_SHORTEST].rank;

    row->limit = j->c->least_rank_order_ratio;
    row->at_least = true;
    if (j->a->n_nodes < 2)
        row_end(row, OUTCOME_NO_DATA, "one node: no order of its ranks brings nodes nearer to each other");
    else if (!order[RANK_ORDER_LAUNCHER].rank)
        row_end(row, OUTCOME_NO_DATA,
                j->c->rank_order_bytes < sizeof(float) ? "rank_order_bytes is 0" : "orders of ranks were not compared");
    else if (!is_known)
        row_end(row, OUTCOME_NO_DATA,
                "one rank a node, and nothing is known of the network: the pairwise stage measures it");
    else {
        row->measured = 1;
        row->n_samples = j->a->n_nodes;
        row_end(row, OUTCOME_PASS, "what is known of the network gives the launcher's order");
    }
}

/* Are all orders that there are the launcher's? */
static bool are_same(const struct acceptance *a)
{
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        if (a->rank_order[k].rank && a->rank_order[k].same_as != RANK_ORDER_LAUNCHER)
            return false;
    return true;
}

/* Add the row of the rank orders, if there is something to report. */
static void judge_rank_orders(struct judging *j)
{
    const int best = acceptance_best_rank_order(j->a);
    struct criterion *row;

    if (best < 0 && !(j->c->least_rank_order_ratio > 0))
        return;
    row = acceptance_add_criterion(j->a, ACCEPT_COLLECTIVES, "rank_order_ratio");
    row->unit = "of the best";
    if (best >= 0)
        judge_best(j, row, best);
    else if (are_same(j->a))
        judge_same(j, row);
    else {
        row->limit = j->c->least_rank_order_ratio;
        row->at_least = true;
        row_end(row, OUTCOME_NO_DATA, "orders differ, and were not %s",
                j->a->rank_order[RANK_ORDER_LAUNCHER].n_repeats > 0 ? "compared to the end" : "measured");
    }
}

/* --- trainings --- */

static void judge_trained(const struct rank_order_training *t, struct criterion *row)
{
    char rate[QUANTITY_BYTES], launcher[QUANTITY_BYTES];

    row->measured = t->ratio;
    row->low = t->low_ratio;
    row->high = t->high_ratio;
    row->n_samples = t->n_repeats;
    quantity_text(rate, sizeof rate, t->samples_per_s, "sample/s");
    quantity_text(launcher, sizeof launcher, t->launcher_samples_per_s, "sample/s");
    row_end(row, OUTCOME_PASS,
            "in the order %s %s, in the launcher's %s, in %d trainings of %llu steps each, without a limit",
            accept_rank_order_name(t->order), rate, launcher, t->n_repeats, (unsigned long long)t->n_steps);
}

void judge_rank_training(struct judging *j)
{
    const struct rank_order_training *t = &j->a->rank_order_training;
    const int best = acceptance_best_rank_order(j->a);
    struct criterion *row;

    if (!(j->c->rank_order_training_steps_count > 0))
        return;
    row = acceptance_add_criterion(j->a, ACCEPT_TRAINING, "rank_order_training_ratio");
    row->unit = "of the launcher's";
    if (t->n_repeats > 0)
        judge_trained(t, row);
    else if (best == RANK_ORDER_LAUNCHER || (j->a->rank_order[RANK_ORDER_LAUNCHER].rank && are_same(j->a)))
        row_end(row, OUTCOME_SKIPPED, "no order is surely better than the launcher's");
    else if (best < 0)
        row_end(row, OUTCOME_NO_DATA, "orders of ranks were not compared; the stage collectives does");
    else
        row_end(row, OUTCOME_NO_DATA, "%s", t->why[0] ? t->why : "not measured");
}

/* --- stages --- */

static enum rc find_difference(struct acceptance *a, const struct preflight_row *p, const struct node_difference *d)
{
    struct finding f = { .stage = ACCEPT_PREFLIGHT,
                         .subject = d->node >= 0 ? SUBJECT_NODE : SUBJECT_FLEET,
                         .a = d->node >= 0 ? d->node : 0,
                         .metric = "preflight",
                         .unit = "",
                         .measured = NAN,
                         .expected = NAN };

    if (d->node >= 0)
        snprintf(f.text, sizeof f.text, "%s is %.110s; most have %.110s", p->what, d->has, p->value);
    else
        snprintf(f.text, sizeof f.text, "%s: %.250s", p->what, d->has);
    return acceptance_add_finding(a, &f);
}

static enum rc judge_fact(struct judging *j, int fact)
{
    const struct preflight_row *p = &j->a->preflight[fact];
    struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_PREFLIGHT, p->what);
    enum rc rc = RC_OK;

    if (p->unit) {
        row->measured = p->measured;
        row->limit = p->limit;
        row->at_least = p->at_least;
        row->unit = p->unit;
    }
    row->n_samples = p->outcome == OUTCOME_PASS || p->outcome == OUTCOME_FAIL ? j->a->n_nodes : 0;
    if (p->node >= 0 && p->node < j->a->n_nodes)
        row_end(row, p->outcome, "%s: %.110s; most have %.110s", j->a->node[p->node].name, p->other, p->value);
    else
        row_end(row, p->outcome, "%s%s%.250s", p->other[0] ? "" : p->what, p->other[0] ? "" : ": ",
                p->other[0] ? p->other : p->value);
    for (int i = 0; i < j->a->n_differences; i++)
        if (j->a->difference[i].fact == fact)
            TRY(find_difference(j->a, p, &j->a->difference[i]));
out:
    return rc;
}

enum rc judge_preflight(struct judging *j)
{
    const struct criteria *c = j->c;
    const bool has_limit = c->most_clock_skew_s > 0 || c->least_memory_free_bytes > 0 || c->least_link_bits_per_s > 0 ||
                           c->least_cores_count > 0;
    struct acceptance *a = j->a;
    const int first = a->n_findings;
    char no_data[128] = "", well[64];
    enum rc rc = RC_OK;

    for (int i = 0; i < a->n_preflight; i++)
        TRY(judge_fact(j, i));
    if (a->n_nodes == 1 && a->n_preflight > 0 && has_limit)
        return RC_OK; /* limits judge it */
    if (a->n_preflight == 0)
        snprintf(no_data, sizeof no_data, "no fact was asked for");
    else if (a->n_nodes == 1)
        snprintf(no_data, sizeof no_data,
                 "one node agrees with itself; a limit, such as least_cores_count, would be judged");
    snprintf(well, sizeof well, "%d facts of %d nodes", a->n_preflight, a->n_nodes);
    struct criterion *row = acceptance_add_criterion(a, ACCEPT_PREFLIGHT, "all nodes agree");
    row->n_samples = a->n_preflight > 0 ? a->n_nodes : 0;
    row_findings(a, row, first, no_data, well);
out:
    return rc;
}

/* What collectives and servers are judged by. */
struct sized_terms {
    enum accept_stage stage;
    const char *metric, *rate_key, *ratio_key, *sizes;
    double least_bytes_per_s, least_bound_ratio;
    const struct sized_rate *rate;
    int n_rates;
};

/* Of vectors of as many elements; NULL: not measured. */
static const struct sized_rate *rate_of(const struct sized_terms *t, size_t n_bytes)
{
    for (int i = 0; i < t->n_rates; i++)
        if (t->rate[i].n_bytes / sizeof(float) == n_bytes / sizeof(float) && t->rate[i].n_repeats > 0)
            return &t->rate[i];
    return NULL;
}

static void judge_size(struct judging *j, const struct sized_terms *t, size_t n_bytes, double limit)
{
    const struct sized_rate *rate = rate_of(t, n_bytes);
    char text[ACCEPT_NAME_BYTES], value[QUANTITY_BYTES];

    snprintf(text, sizeof text, "%s %zu", t->metric, n_bytes);
    struct criterion *row = acceptance_add_criterion(j->a, t->stage, text);
    row->unit = "byte/s";
    if (!rate || !(rate->bytes_per_s > 0)) {
        row->limit = limit > 0 ? limit : NAN;
        row->at_least = true;
        row_end(row, OUTCOME_NO_DATA, j->a->n_ranks < 2 ? "one rank exchanges nothing" : "this size was not measured");
        return;
    }
    row->low = rate->low_bytes_per_s;
    row->high = rate->high_bytes_per_s;
    row->n_samples = rate->n_repeats;
    snprintf(text, sizeof text, "%zu bytes%s", n_bytes, limit > 0 ? ", the largest size" : "");
    if (limit > 0)
        row_limit(row, rate->bytes_per_s, limit, true, "byte/s", text);
    else {
        row->measured = rate->bytes_per_s;
        quantity_text(value, sizeof value, rate->bytes_per_s, row->unit);
        row_end(row, OUTCOME_NO_LIMIT, "%s: %s, without a limit", text, value);
    }
}

static void judge_bound(struct judging *j, const struct sized_terms *t, size_t n_bytes)
{
    const struct sized_rate *rate = rate_of(t, n_bytes);
    struct criterion *row = acceptance_add_criterion(j->a, t->stage, t->ratio_key);

    row->n_samples = rate ? rate->n_repeats : 0;
    row_limit(row, rate ? rate->bound_ratio : NAN, t->least_bound_ratio, true, "of the bound",
              rate ? "the largest size" : "the largest size was not measured");
    if (rate && !isfinite(rate->bound_ratio))
        row_end(row, OUTCOME_NO_DATA,
                "what the slowest link allows is not known: the pairwise stage measures links, not every reducer tells "
                "what it sends, and --inject makes links slow in that stage alone");
}

static void judge_sized(struct judging *j, const struct sized_terms *t)
{
    size_t n_bytes[ACCEPT_MAX_SIZES];
    const int n = criteria_sizes(t->sizes, n_bytes);

    for (int i = 0; i < n; i++)
        judge_size(j, t, n_bytes[i], i == n - 1 ? t->least_bytes_per_s : 0);
    if (t->least_bound_ratio > 0 && n > 0)
        judge_bound(j, t, n_bytes[n - 1]);
}

enum rc judge_collectives(struct judging *j)
{
    const struct sized_terms t = { .stage = ACCEPT_COLLECTIVES,
                                   .metric = "allreduce_busbw_bytes_per_s",
                                   .ratio_key = "least_busbw_bound_ratio",
                                   .sizes = j->c->collective_bytes,
                                   .least_bytes_per_s = j->c->least_busbw_bytes_per_s,
                                   .least_bound_ratio = j->c->least_busbw_bound_ratio,
                                   .rate = j->a->collective,
                                   .n_rates = j->a->n_collective };

    judge_sized(j, &t);
    judge_rank_orders(j);
    return judge_sums(j, ACCEPT_COLLECTIVES);
}

enum rc judge_ps(struct judging *j)
{
    const struct sized_terms t = { .stage = ACCEPT_PS,
                                   .metric = "ps_goodput_bytes_per_s",
                                   .ratio_key = "least_goodput_bound_ratio",
                                   .sizes = j->c->ps_bytes,
                                   .least_bytes_per_s = j->c->least_goodput_bytes_per_s,
                                   .least_bound_ratio = j->c->least_goodput_bound_ratio,
                                   .rate = j->a->ps,
                                   .n_rates = j->a->n_ps };

    judge_sized(j, &t);
    return judge_sums(j, ACCEPT_PS);
}

static enum rc find_corruption(struct acceptance *a, const struct corruption *k)
{
    const bool is_known = k->rank >= 0 && k->rank < a->n_ranks;
    struct finding f = { .stage = ACCEPT_INTEGRITY,
                         .subject = is_known ? SUBJECT_RANK : SUBJECT_FLEET,
                         .a = is_known ? k->rank : 0,
                         .b = is_known ? a->node_of_rank[k->rank] : 0,
                         .metric = "parameters",
                         .unit = "",
                         .measured = NAN,
                         .expected = NAN };

    snprintf(f.text, sizeof f.text, "%s in segment %s at the check of step %llu",
             is_known ? "its parameters differ from those of the others"
                      : "parameters differ, and which rank is wrong cannot be told,",
             k->segment, (unsigned long long)k->step);
    return acceptance_add_finding(a, &f);
}

enum rc judge_integrity(struct judging *j)
{
    struct acceptance *a = j->a;
    struct criterion *row = acceptance_add_criterion(a, ACCEPT_INTEGRITY, "parameters are equal");
    const uint64_t n_wanted = (uint64_t)(j->c->integrity_steps_count / j->c->integrity_every_steps);
    const int first = a->n_findings;
    char no_data[128] = "", well[128];
    enum rc rc = RC_OK;

    row->n_samples = (int)a->integrity_checks_count;
    for (int i = 0; i < a->n_corruptions; i++)
        TRY(find_corruption(a, &a->corruption[i]));
    if (a->n_ranks < 2)
        snprintf(no_data, sizeof no_data, "one rank is the same as itself; at least two would be judged");
    else if (a->integrity_checks_count < n_wanted || n_wanted == 0)
        snprintf(no_data, sizeof no_data, "%llu of %llu checks were made",
                 (unsigned long long)a->integrity_checks_count, (unsigned long long)n_wanted);
    snprintf(well, sizeof well, "at %llu checks, of %d ranks", (unsigned long long)a->integrity_checks_count,
             a->n_ranks);
    row_findings(a, row, first, no_data, well);
out:
    return rc;
}

enum rc judge_soak(struct judging *j)
{
    const struct soak *s = &j->a->soak;
    const struct {
        const char *key, *who;
        double measured, limit;
    } row_of[] = {
        { "most_drift_ratio", "the end beside the beginning", s->drift_ratio, j->c->most_drift_ratio },
        { "most_straggling_ratio", "the worst minute beside all", s->worst_ratio - 1, j->c->most_straggling_ratio },
    };
    const bool is_whole = s->n_steps > 0 && s->minutes >= 0.99 * j->c->soak_minutes;
    struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_SOAK, "soak_minutes");

    row->measured = s->minutes;
    row->limit = j->c->soak_minutes;
    row->at_least = true;
    row->unit = "min";
    row->n_samples = (int)s->n_steps;
    row_end(row, is_whole ? OUTCOME_PASS : OUTCOME_NO_DATA, "%llu steps in %llu trainings, in %.4g of %.4g minutes",
            (unsigned long long)s->n_steps, (unsigned long long)s->n_parts, s->minutes, j->c->soak_minutes);
    for (size_t i = 0; i < sizeof row_of / sizeof *row_of; i++) {
        if (!(row_of[i].limit > 0))
            continue;
        row = acceptance_add_criterion(j->a, ACCEPT_SOAK, row_of[i].key);
        row->n_samples = (int)s->n_steps;
        row_limit(row, s->n_steps > 0 ? row_of[i].measured : NAN, row_of[i].limit, false, "of a step", row_of[i].who);
        if (!is_whole && row->outcome == OUTCOME_PASS)
            row_end(row, OUTCOME_NO_DATA, "the soak ended early");
        else if (s->n_parts < SOAK_LEAST_PARTS && row->outcome == OUTCOME_PASS)
            row_end(row, OUTCOME_NO_DATA, "a soak of one training has no parts to compare");
    }
    return RC_OK;
}

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
