/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_limits.c - limits from a healthy reference run, and from what a description declares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/criteria_keys.h"
#include "harness/accept/worst.h"
#include "harness/cluster/cluster.h"
#include "harness/cluster/cluster_keys.h"

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

static void limit_by_pair(const struct limiting *l, const struct acceptance *h, bool latency, const char *key,
                          double *member)
{
    const struct worst w = worst_pair(&h->tournament, latency);
    char of[CRITERIA_SOURCE_BYTES];

    if (w.a < 0)
        return;
    snprintf(of, sizeof of, "healthy run: the worst of %d pairs, %s -> %s, had %.4g %s", w.n_subjects,
             h->node[w.a].name, h->node[w.b].name, w.value, latency ? "s" : "byte/s");
    set_limit(l, key, member, w.value, !latency, of);
}

/* Of the largest size: the low end of its interval, where it has one. */
static void limit_by_size(const struct limiting *l, const struct sized_rate *rate, int n, const char *key,
                          double *member, const char *ratio_key, double *ratio_member)
{
    const struct sized_rate *largest = n > 0 ? &rate[n - 1] : NULL;
    char of[CRITERIA_SOURCE_BYTES];

    if (!largest)
        return;
    const double worst = largest->low_bytes_per_s > 0 ? largest->low_bytes_per_s : largest->bytes_per_s;
    snprintf(of, sizeof of, "healthy run: %.4g byte/s of %zu bytes, in the worst case", worst, largest->n_bytes);
    set_limit(l, key, member, worst, true, of);
    snprintf(of, sizeof of, "healthy run: %.4g of the bound, of %zu bytes", largest->bound_ratio, largest->n_bytes);
    set_limit(l, ratio_key, ratio_member, largest->bound_ratio, true, of);
}

static void limit_by_training(const struct limiting *l, const struct acceptance *h)
{
    const struct scaled_training *all = h->n_training > 0 ? &h->training[h->n_training - 1] : NULL;
    char of[CRITERIA_SOURCE_BYTES];

    if (!all || all->n_nodes != h->n_nodes || all->n_nodes < 2)
        return;
    const double worst = all->low_efficiency_ratio > 0 ? all->low_efficiency_ratio : all->efficiency_ratio;
    snprintf(of, sizeof of, "healthy run: %.4g at %d nodes, in the worst case", worst, all->n_nodes);
    set_limit(l, "least_efficiency_ratio", &l->criteria->least_efficiency_ratio, worst, true, of);
    snprintf(of, sizeof of, "healthy run: %.4g of a step at %d nodes", all->exposed_ratio, all->n_nodes);
    set_limit(l, "most_exposed_ratio", &l->criteria->most_exposed_ratio, all->exposed_ratio, false, of);
}

void criteria_from_reference(struct criteria *c, const struct acceptance *healthy, double margin_ratio,
                             struct criteria_sources *sources)
{
    const struct limiting l = { c, sources, margin_ratio };

    limit_by_rank(&l, healthy, METRIC_GEMM, "least_flops_per_s", &c->least_flops_per_s);
    limit_by_rank(&l, healthy, METRIC_MEMORY, "least_memory_bytes_per_s", &c->least_memory_bytes_per_s);
    limit_by_rank(&l, healthy, METRIC_DETOUR, "most_detour_ratio", &c->most_detour_ratio);
    limit_by_rank(&l, healthy, METRIC_LONGEST_DETOUR, "most_longest_detour_s", &c->most_longest_detour_s);
    limit_by_pair(&l, healthy, false, "least_pair_bytes_per_s", &c->least_pair_bytes_per_s);
    limit_by_pair(&l, healthy, true, "most_pair_latency_s", &c->most_pair_latency_s);
    limit_by_size(&l, healthy->collective, healthy->n_collective, "least_busbw_bytes_per_s",
                  &c->least_busbw_bytes_per_s, "least_busbw_bound_ratio", &c->least_busbw_bound_ratio);
    limit_by_size(&l, healthy->ps, healthy->n_ps, "least_goodput_bytes_per_s", &c->least_goodput_bytes_per_s,
                  "least_goodput_bound_ratio", &c->least_goodput_bound_ratio);
    limit_by_training(&l, healthy);
}

/* Of the link's rate that the protocol of the description carries. */
static double rate_ratio(const struct cluster *cluster)
{
    switch ((enum cluster_protocol)cluster->protocol) {
    case PROTOCOL_TCP:
        return cluster->tcp.rate_ratio;
    case PROTOCOL_RDMA:
        return cluster->rdma.rate_ratio;
    case PROTOCOL_GRPC:
        return cluster->grpc.rate_ratio;
    case PROTOCOL_BARE:
        break;
    }
    return 1;
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

void criteria_from_cluster(struct criteria *c, const struct cluster *cluster, double margin_ratio,
                           struct criteria_sources *sources)
{
    const struct limiting l = { c, sources, margin_ratio };
    const double ratio = rate_ratio(cluster);
    char of[CRITERIA_SOURCE_BYTES], pair[CRITERIA_SOURCE_BYTES];

    say_declared(of, cluster, "link_bits_per_s");
    set_limit(&l, "least_link_bits_per_s", &c->least_link_bits_per_s, 8 * cluster->link_bytes_per_s, true, of);
    snprintf(pair, sizeof pair, "%.180s, of which its protocol carries %g", of, ratio);
    set_limit(&l, "least_pair_bytes_per_s", &c->least_pair_bytes_per_s, cluster->link_bytes_per_s * ratio, true, pair);
    say_declared(of, cluster, "flops_per_s");
    set_limit(&l, "least_flops_per_s", &c->least_flops_per_s, cluster->flops_per_s, true, of);
    say_declared(of, cluster, "memory_bytes_per_s");
    set_limit(&l, "least_memory_bytes_per_s", &c->least_memory_bytes_per_s, cluster->memory_bytes_per_s, true, of);
}
