/* SPDX-License-Identifier: Apache-2.0 */
/* judge_stages.c - facts before the test, collectives, parameter servers, parameters that stay the same, the soak. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/report_words.h"

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
                "what the slowest link allows is not known: the pairwise stage measures links, and not every reducer "
                "tells what it sends");
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
    struct criterion *row = acceptance_add_criterion(a, ACCEPT_INTEGRITY, "parameters are the same on all ranks");
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
