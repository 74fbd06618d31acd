/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_limits.c - limits from a healthy reference run, and from what a description declares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/criteria_keys.h"
#include "harness/accept/evidence.h"
#include "harness/accept/report_words.h"
#include "harness/accept/worst.h"
#include "harness/cluster/cluster.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/measure/robust.h"

struct limiting {
    struct criteria *criteria;
    struct criteria_sources *sources; /* NULL: not wanted */
    double margin_ratio;
};

/* Four digits are enough for a limit, and readable. */
static double rounded(double x)
{
    char text[32];

    snprintf(text, sizeof text, "%.4g", x);
    return strtod(text, NULL);
}

/* *member, the value of `key` := value with the margin, within the key's range; of: "healthy run: ...". What is not
 * above 0 is no limit. */
static void set_limit(const struct limiting *l, const char *key, double *member, double value, bool at_least,
                      const char *of)
{
    const int i = key_find(&criteria_key_table, key);
    const double limit = rounded(value * (at_least ? 1 - l->margin_ratio : 1 + l->margin_ratio));

    if (!(limit > 0) || !isfinite(limit))
        return;
    *member = fmin(limit, criteria_keys[i].most);
    if (l->sources)
        snprintf(l->sources->text[i], CRITERIA_SOURCE_BYTES, "%s; %g %% %s that", of, 100 * l->margin_ratio,
                 at_least ? "below" : "above");
}

static void limit_by_rank(const struct limiting *l, const struct acceptance *h, int metric, const char *key,
                          double *member)
{
    const struct rank_metric *m = &h->metric[metric];
    const struct worst w = worst_rank(h, metric);
    char of[CRITERIA_SOURCE_BYTES];

    if (w.a < 0)
        return;
    snprintf(of, sizeof of, "healthy run: the worst of %d ranks, rank %d on %s, had %.4g %s", w.n_subjects, w.a,
             h->node[w.b].name, w.value, m->unit);
    set_limit(l, key, member, w.value, m->higher_is_better, of);
}

/* Robust standard deviations from the middle that single repeats of another healthy run hardly reach. */
#define NOISE_DEVIATIONS 6.0
/* What nobody is blamed for by others alone (outliers.h): no limit is lower. */
#define FLOOR_DETOUR_RATIO 0.01
#define FLOOR_LONGEST_DETOUR_S 1e-3

struct spread { /* of all repeats of all ranks, on the scale ln(start + x) */
    double start, median, worst, deviation;
    int n;
};

static enum rc spread_of(struct spread *out, const struct acceptance *h, int metric, double start)
{
    const struct rank_metric *m = &h->metric[metric];
    const size_t n_all = m->value ? (size_t)h->n_ranks * (size_t)m->n_repeats : 0;
    double *y = malloc((n_all + 1) * sizeof *y);
    size_t n = 0;

    *out = (struct spread){ .start = start, .median = NAN, .worst = NAN };
    if (!y)
        return rc_raise(RC_NOMEM, "no memory for %zu repeats", n_all);
    for (size_t i = 0; i < n_all; i++)
        if (isfinite(m->value[i]) && m->value[i] >= 0) {
            y[n++] = log(start + m->value[i]);
            out->worst = fmax(out->worst, m->value[i]);
        }
    const double middle = robust_median(y, n);
    out->n = (int)n;
    out->median = exp(middle) - start;
    if (out->median < 1e-9 * start) /* the error of the logarithm */
        out->median = 0;
    out->deviation = spread_between(y, n);
    free(y);
    return RC_OK;
}

/* At most (1 + margin) max(worst, (median + start) exp(6 s) - start), and no less than floor. Detours have long tails,
 * and the worst rank of one run is not that of the next: a margin above it alone fails healthy ones. */
static enum rc limit_by_noise(const struct limiting *l, const struct acceptance *h, int metric, const char *key,
                              double *member, double floor)
{
    const int i = key_find(&criteria_key_table, key);
    struct spread s;
    enum rc rc;

    TRY(spread_of(&s, h, metric, floor / 10));
    if (s.n == 0)
        return RC_OK;
    const double border = (s.median + s.start) * exp(NOISE_DEVIATIONS * s.deviation) - s.start;
    const double limit = rounded(fmax(floor, (1 + l->margin_ratio) * fmax(s.worst, border)));
    const bool is_any = limit < criteria_keys[i].most; /* else everything keeps it */
    *member = is_any ? limit : 0;
    if (l->sources)
        snprintf(l->sources->text[i], CRITERIA_SOURCE_BYTES,
                 "healthy run: %d repeats of %d ranks had median %.3g and worst %.3g; %g %% above the worst, or above "
                 "the median plus 6 deviations (%.3g each, of ln(%g + value)) if that is more; %s %g",
                 s.n, h->n_ranks, s.median, s.worst, 100 * l->margin_ratio, s.deviation, s.start,
                 is_any ? "at least" : "no limit, because it would be above", is_any ? floor : criteria_keys[i].most);
out:
    return rc;
}

/* --- what repeats differ by, of pairs and of trainings --- */

/* Limits of less are about nothing. */
#define FLOOR_EXPOSED_RATIO 0.02
/* A standard deviation is so many median absolute deviations; of a median so many times that of a mean. */
#define OF_MAD 1.4826
#define OF_MEDIAN 1.2533

/* Robust standard deviation of one repeat, from y[n] (reordered): how far each is from the one before it. So neither
 * what pairs differ by nor a slow drift counts. 0: nothing was repeated. */
static double deviation_of_jumps(double *y, size_t n)
{
    return n > 0 ? OF_MAD * robust_median(y, n) / sqrt(2) : 0;
}

/* On the scale ln x. RC_NOMEM. */
static enum rc latency_deviation(double *out, const struct tournament *t)
{
    const size_t n_pairs = (size_t)t->n_nodes * (size_t)t->n_nodes, n_repeats = (size_t)t->n_repeats;
    double *y = malloc((n_pairs * n_repeats + 1) * sizeof *y);
    size_t n = 0;

    if (!y)
        return rc_raise(RC_NOMEM, "no memory for the latencies of %d nodes", t->n_nodes);
    for (size_t k = n_pairs; k < n_pairs * n_repeats; k++) /* NaN: not measured, or no pair */
        if (t->latency_s[k] > 0 && t->latency_s[k - n_pairs] > 0)
            y[n++] = fabs(log(t->latency_s[k] / t->latency_s[k - n_pairs]));
    *out = deviation_of_jumps(y, n);
    free(y);
    return RC_OK;
}

/* The worst pair's median, and what a median of the least repeats of another healthy run hardly is above that. */
static enum rc limit_by_latency(const struct limiting *l, const struct acceptance *h)
{
    const struct worst w = worst_pair(&h->tournament, true);
    char of[CRITERIA_SOURCE_BYTES];
    double s = 0;
    enum rc rc;

    if (w.a < 0)
        return RC_OK;
    TRY(latency_deviation(&s, &h->tournament));
    const double more = exp(NOISE_DEVIATIONS * OF_MEDIAN * s / sqrt(l->criteria->least_repeats_count));
    snprintf(of, sizeof of,
             "healthy run: the worst of %d pairs, %.24s -> %.24s, had %.4g s, times %.3g, as repeats differ (robust "
             "deviation of logarithms %.3g)",
             w.n_subjects, h->node[w.a].name, h->node[w.b].name, w.value, more, s);
    set_limit(l, "most_pair_latency_s", &l->criteria->most_pair_latency_s, more * w.value, false, of);
out:
    return rc;
}

/* Of parts of the training of all nodes, rank by rank, on the scale ln(start + the part of its steps that a rank
 * waited). RC_NOMEM. */
static enum rc waiting_deviation(double *out, const struct acceptance *h, double start)
{
    const struct rank_metric *wait = &h->metric[METRIC_STEP_WAIT], *compute = &h->metric[METRIC_STEP_COMPUTE];
    const bool is_known = wait->value && compute->value && wait->n_repeats == compute->n_repeats;
    const size_t n_parts = is_known ? (size_t)wait->n_repeats : 0, n_all = n_parts * (size_t)h->n_ranks;
    double *y = malloc((n_all + 1) * sizeof *y), before = NAN;
    size_t n = 0;

    if (!y)
        return rc_raise(RC_NOMEM, "no memory for parts of %d trainings", h->n_ranks);
    for (size_t i = 0; i < n_all; i++) {
        const double now = log(start + wait->value[i] / (wait->value[i] + compute->value[i]));
        if (i % n_parts != 0 && isfinite(now - before))
            y[n++] = fabs(now - before);
        before = now;
    }
    *out = deviation_of_jumps(y, n);
    free(y);
    return RC_OK;
}

static enum rc limit_by_exposed(const struct limiting *l, const struct acceptance *h, const struct scaled_training *all)
{
    const double start = FLOOR_EXPOSED_RATIO / 10, e = all->exposed_ratio;
    const int i = key_find(&criteria_key_table, "most_exposed_ratio");
    char of[CRITERIA_SOURCE_BYTES];
    double s = 0;
    enum rc rc;

    if (!(e > 0))
        return RC_OK;
    TRY(waiting_deviation(&s, h, start));
    const double border = fmax(FLOOR_EXPOSED_RATIO, (e + start) * exp(NOISE_DEVIATIONS * s) - start);
    snprintf(of, sizeof of,
             "healthy run: %.4g of a step waited at %d nodes; with 6 deviations of its parts (%.3g each, of "
             "logarithms) %.4g",
             e, all->n_nodes, s, border);
    if ((1 + l->margin_ratio) * border < criteria_keys[i].most) {
        set_limit(l, "most_exposed_ratio", &l->criteria->most_exposed_ratio, border, false, of);
        goto out;
    }
    l->criteria->most_exposed_ratio = 0; /* everything would keep it */
    if (l->sources)
        snprintf(l->sources->text[i], CRITERIA_SOURCE_BYTES,
                 "%.180s: no limit, because it would be above the whole step", of);
out:
    return rc;
}

static void limit_by_rate(const struct limiting *l, const struct acceptance *h)
{
    const struct worst w = worst_pair(&h->tournament, false);
    char of[CRITERIA_SOURCE_BYTES], rate[QUANTITY_BYTES];

    if (w.a < 0)
        return;
    quantity_text(rate, sizeof rate, w.value, "byte/s");
    snprintf(of, sizeof of, "healthy run: the worst of %d pairs, %s -> %s, had %s", w.n_subjects, h->node[w.a].name,
             h->node[w.b].name, rate);
    set_limit(l, "least_pair_bytes_per_s", &l->criteria->least_pair_bytes_per_s, w.value, true, of);
}

/* Of the largest size: the low end of its interval, where it has one. */
static void limit_by_size(const struct limiting *l, const struct sized_rate *rate, int n, const char *key,
                          double *member, const char *ratio_key, double *ratio_member)
{
    const struct sized_rate *largest = n > 0 ? &rate[n - 1] : NULL;
    char of[CRITERIA_SOURCE_BYTES], rate_text[QUANTITY_BYTES];

    if (!largest)
        return;
    const double worst = largest->low_bytes_per_s > 0 ? largest->low_bytes_per_s : largest->bytes_per_s;
    quantity_text(rate_text, sizeof rate_text, worst, "byte/s");
    snprintf(of, sizeof of, "healthy run: %s with %zu bytes, in the worst case", rate_text, largest->n_bytes);
    set_limit(l, key, member, worst, true, of);
    snprintf(of, sizeof of, "healthy run: %.4g of the bound, of %zu bytes", largest->bound_ratio, largest->n_bytes);
    set_limit(l, ratio_key, ratio_member, largest->bound_ratio, true, of);
}

/* The launcher's order beside the best: at the worse end of the interval; where none was measured there is no limit. */
static void limit_by_rank_order(const struct limiting *l, const struct acceptance *h)
{
    const int best = acceptance_best_rank_order(h);
    char of[CRITERIA_SOURCE_BYTES];

    if (best < 0)
        return;
    const struct rank_order *o = &h->rank_order[best];
    const double worst = 1 / (best != RANK_ORDER_LAUNCHER && o->high_ratio > 0 ? o->high_ratio : o->ratio);
    snprintf(of, sizeof of, "healthy run: the launcher's order had %.4g of %s, in the worst case", worst,
             best == RANK_ORDER_LAUNCHER ? "the best" : accept_rank_order_name(best));
    set_limit(l, "least_rank_order_ratio", &l->criteria->least_rank_order_ratio, worst, true, of);
}

static enum rc limit_by_training(const struct limiting *l, const struct acceptance *h)
{
    const struct scaled_training *all = h->n_training > 0 ? &h->training[h->n_training - 1] : NULL;
    char of[CRITERIA_SOURCE_BYTES];

    if (!all || all->n_nodes != h->n_nodes || all->n_nodes < 2)
        return RC_OK;
    const double worst = all->low_efficiency_ratio > 0 ? all->low_efficiency_ratio : all->efficiency_ratio;
    snprintf(of, sizeof of, "healthy run: %.4g at %d nodes, in the worst case", worst, all->n_nodes);
    set_limit(l, "least_efficiency_ratio", &l->criteria->least_efficiency_ratio, worst, true, of);
    return limit_by_exposed(l, h, all);
}

/* Nobody knows whether such a run was healthy. The first reason is enough. */
static enum rc raise_without_verdict(const struct acceptance *h, const char *right)
{
    const char *name = "nothing was judged";

    for (int i = h->n_criteria - 1; i >= 0; i--)
        if (h->criterion[i].outcome == OUTCOME_NO_DATA)
            name = h->criterion[i].name;
    return rc_raise(RC_INVAL, "that run had no verdict (no data: %s); %s", name, right);
}

/* Limits from a run that was not healthy would let the same fault pass ever after. */
static enum rc check_healthy(const struct acceptance *h)
{
    static const char right[] = "use a whole run that passed";

    if (h->injected[0])
        return rc_raise(RC_INVAL, "that run had faults by --inject, %.200s; %s", h->injected, right);
    if (h->lost_rank >= 0)
        return rc_raise(RC_INVAL, "rank %d was lost in that run; %s", h->lost_rank, right);
    if (h->is_partial)
        return rc_raise(RC_INVAL, "that run was cut short; %s", right);
    if (h->outcome == OUTCOME_FAIL)
        return rc_raise(RC_INVAL, "that run failed; %s", right);
    if (h->outcome != OUTCOME_PASS)
        return raise_without_verdict(h, right);
    return RC_OK;
}

enum rc criteria_from_reference(struct criteria *c, const struct acceptance *healthy, double margin_ratio,
                                struct criteria_sources *sources)
{
    const struct limiting l = { c, sources, margin_ratio };
    enum rc rc;

    TRY(check_healthy(healthy));
    limit_by_rank(&l, healthy, METRIC_GEMM, "least_flops_per_s", &c->least_flops_per_s);
    limit_by_rank(&l, healthy, METRIC_MEMORY, "least_memory_bytes_per_s", &c->least_memory_bytes_per_s);
    TRY(limit_by_noise(&l, healthy, METRIC_DETOUR, "most_detour_ratio", &c->most_detour_ratio, FLOOR_DETOUR_RATIO));
    TRY(limit_by_noise(&l, healthy, METRIC_LONGEST_DETOUR, "most_longest_detour_s", &c->most_longest_detour_s,
                       FLOOR_LONGEST_DETOUR_S));
    limit_by_rate(&l, healthy);
    TRY(limit_by_latency(&l, healthy));
    limit_by_size(&l, healthy->collective, healthy->n_collective, "least_busbw_bytes_per_s",
                  &c->least_busbw_bytes_per_s, "least_busbw_bound_ratio", &c->least_busbw_bound_ratio);
    limit_by_rank_order(&l, healthy);
    limit_by_size(&l, healthy->ps, healthy->n_ps, "least_goodput_bytes_per_s", &c->least_goodput_bytes_per_s,
                  "least_goodput_bound_ratio", &c->least_goodput_bound_ratio);
    TRY(limit_by_training(&l, healthy));
out:
    return rc;
}

/* What carries messages in the description; NULL: links alone. */
static const struct protocol_cost *protocol_of(const struct cluster *cluster)
{
    switch ((enum cluster_protocol)cluster->protocol) {
    case PROTOCOL_TCP:
        return &cluster->tcp;
    case PROTOCOL_RDMA:
        return &cluster->rdma;
    case PROTOCOL_GRPC:
        return &cluster->grpc;
    case PROTOCOL_BARE:
        break;
    }
    return NULL;
}

/* "declared: KEY 1e+09 bits/s" */
static void say_declared(char out[CRITERIA_SOURCE_BYTES], const struct cluster *cluster, const char *name)
{
    const int key = cluster_key_find(name);
    char value[64];

    cluster_key_format(cluster, key, value, sizeof value);
    snprintf(out, CRITERIA_SOURCE_BYTES, "declared%s: %s of %s is %s %s",
             cluster->assumed >> key & 1 ? ", though assumed there" : "", name, cluster->name, value,
             cluster_keys[key].unit);
}

static void limit_by_links(const struct limiting *l, const struct cluster *cluster)
{
    const struct protocol_cost *protocol = protocol_of(cluster);
    const double ratio = protocol ? protocol->rate_ratio : 1, process = protocol ? protocol->process_bytes_per_s : 0;
    const double carried = cluster->link_bytes_per_s * ratio;
    const bool is_bound = process > 0 && process < carried;
    char of[CRITERIA_SOURCE_BYTES], text[CRITERIA_SOURCE_BYTES], rate[QUANTITY_BYTES];

    say_declared(of, cluster, "link_bits_per_s");
    snprintf(text, sizeof text, "%.120s, for the card of the interface in use (with MPI: the fastest active port)", of);
    set_limit(l, "least_link_bits_per_s", &l->criteria->least_link_bits_per_s, 8 * cluster->link_bytes_per_s, true,
              text);
    quantity_text(rate, sizeof rate, process, "byte/s");
    if (is_bound)
        snprintf(text, sizeof text, "%.120s, of which a process of its protocol carries %s", of, rate);
    else
        snprintf(text, sizeof text, "%.180s, of which its protocol carries %g", of, ratio);
    set_limit(l, "least_pair_bytes_per_s", &l->criteria->least_pair_bytes_per_s, is_bound ? process : carried, true,
              text);
}

/* A device has a rate for each precision: that of tensor cores is many times that of fp32. */
static void limit_by_flops(const struct limiting *l, const struct cluster *cluster)
{
    const int i = key_find(&criteria_key_table, "least_flops_per_s");
    char of[CRITERIA_SOURCE_BYTES], precision[16];

    say_declared(of, cluster, "flops_per_s");
    if (cluster->flops_precision == FLOPS_FP32) {
        set_limit(l, "least_flops_per_s", &l->criteria->least_flops_per_s, cluster->flops_per_s, true, of);
        return;
    }
    cluster_key_format(cluster, cluster_key_find("flops_precision"), precision, sizeof precision);
    if (l->sources)
        snprintf(l->sources->text[i], CRITERIA_SOURCE_BYTES,
                 "%.140s, of %s by flops_precision; the test multiplies in fp32: no limit, --reference has one", of,
                 precision);
}

void criteria_from_cluster(struct criteria *c, const struct cluster *cluster, double margin_ratio,
                           struct criteria_sources *sources)
{
    const struct limiting l = { c, sources, margin_ratio };
    char of[CRITERIA_SOURCE_BYTES];

    limit_by_links(&l, cluster);
    limit_by_flops(&l, cluster);
    say_declared(of, cluster, "memory_bytes_per_s");
    set_limit(&l, "least_memory_bytes_per_s", &c->least_memory_bytes_per_s, cluster->memory_bytes_per_s, true, of);
}
