/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/world/suite/flows_kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/world/sim/sim_network.h"

static uint64_t draw(uint64_t seed, uint64_t *i, uint64_t n)
{
    return rng_u64(seed, RNG_TEST, (*i)++) % n;
}

void kit_flows_draw(struct kit_flows *out, uint64_t seed, int n)
{
    static const char *const settings[] = {
        "link_bits_per_s=8e9",
        "link_bits_per_s=8e9,ranks_per_host_count=4,local_sharing=rank",
        "link_bits_per_s=8e9,ranks_per_host_count=4,local_sharing=host,hosts_per_group_count=2,oversubscription_ratio="
        "3",
        "link_bits_per_s=25e9,ranks_per_host_count=4,protocol=grpc,grpc_process_bytes_per_s=1e9",
        "link_bits_per_s=25e9,ranks_per_host_count=2,staging_bytes_per_s=4e9,protocol=tcp,tcp_rate_ratio=0.5",
        "link_bits_per_s=25e9,ranks_per_host_count=4,nics_per_host_count=2,hosts_per_group_count=1,"
        "oversubscription_ratio=1.5,protocol=grpc,grpc_process_bytes_per_s=1.3e9",
    };
    uint64_t i = 0;
    struct cluster c;

    memset(out, 0, sizeof *out);
    cluster_default(&c);
    c.local_latency_s = c.link_latency_s; /* SimGrid gives flows shares by their latencies: here all have one */
    c.group_latency_s = 0;
    if (cluster_set(&c, NULL, settings[draw(seed, &i, sizeof settings / sizeof *settings)]) != RC_OK)
        abort();
    const int n_ranks = 2 + (int)draw(seed, &i, 15), n_targets = 1 + (int)draw(seed, &i, (uint64_t)n_ranks - 1);
    const double within_s = 1e-4 * pow(100, rng_uniform(seed, RNG_TEST, i++));
    topology_init(&out->topology, &c, n_ranks, n_ranks);
    out->n = 1 + (int)draw(seed, &i, (uint64_t)n);
    for (int f = 0; f < out->n; f++) {
        struct kit_flow *flow = &out->flow[f];
        flow->to = (int)draw(seed, &i, (uint64_t)n_targets);
        flow->from = (flow->to + 1 + (int)draw(seed, &i, (uint64_t)n_ranks - 1)) % n_ranks;
        flow->at_s = draw(seed, &i, 3) == 0 ? 0 : within_s * rng_uniform(seed, RNG_TEST, i++);
        flow->n_bytes = floor(pow(1e7, rng_uniform(seed, RNG_TEST, i++)));
    }
}

static struct kit_event { /* of a flow: its first byte comes, or its last */
    struct sim_flow flow; /* first member */
    int number;
    bool has_joined;
} * kit_event(struct sim_flow *f)
{
    return (struct kit_event *)f;
}

int kit_flows_play(const struct kit_flows *k, double *arrived_s)
{
    struct kit_event *all = calloc((size_t)k->n, sizeof *all);
    struct sim_network *network = NULL;
    struct sim_clock clock;
    struct sim_event *e;
    int n_left = k->n;

    sim_clock_init(&clock);
    if (!all || sim_network_open(&network, &k->topology, &clock) != RC_OK)
        abort();
    for (int f = 0; f < k->n; f++) {
        const struct kit_flow *flow = &k->flow[f];
        if (sim_network_plan(network, &all[f].flow, flow->from, flow->to, flow->n_bytes) != RC_OK ||
            sim_clock_reserve(&clock, 1) != RC_OK)
            abort();
        all[f].number = f;
        sim_clock_set(&clock, &all[f].flow.event, flow->at_s + all[f].flow.latency_s);
    }
    while ((e = sim_clock_advance(&clock)) != NULL) {
        for (; e; e = sim_clock_more(&clock)) {
            struct sim_flow *f = (struct sim_flow *)e; /* first member, where it is a flow's */
            if (e->kind == EVENT_FLOW && !kit_event(f)->has_joined) {
                kit_event(f)->has_joined = true;
                sim_network_join(network, f);
                continue;
            }
            for (f = sim_network_take_done(network, e); f; f = f->next, n_left--)
                arrived_s[kit_event(f)->number] = clock.now_s;
        }
        sim_network_settle(network);
    }
    sim_network_close(&network);
    sim_clock_fini(&clock);
    free(all);
    return n_left != 0;
}

/* --- by the definition --- */

struct path {
    struct topology_link link[TOPOLOGY_MAX_PATH];
    int n;
    double latency_s, left_bytes, bytes_per_s;
    bool is_active;
};

static bool are_same(const struct topology_link *a, const struct topology_link *b)
{
    return a->is_shared && b->is_shared && a->kind == b->kind && a->index == b->index;
}

/* What link has left for each flow that has no rate yet. */
static double level_of(const struct path *path, int n, const struct topology_link *link)
{
    double left = link->bytes_per_s;
    int n_open = 0;

    if (!link->is_shared)
        return left;
    for (int f = 0; f < n; f++)
        for (int h = 0; path[f].is_active && h < path[f].n; h++)
            if (are_same(link, &path[f].link[h])) {
                n_open += path[f].bytes_per_s < 0;
                left -= path[f].bytes_per_s > 0 ? path[f].bytes_per_s : 0;
            }
    return left / n_open;
}

/* Give the flows of the link with the least level their rate, and so on. */
static void share(struct path *path, int n)
{
    for (int f = 0; f < n; f++)
        path[f].bytes_per_s = -1;
    for (;;) {
        const struct topology_link *first = NULL;
        double least = INFINITY;
        for (int f = 0; f < n; f++)
            for (int h = 0; path[f].is_active && path[f].bytes_per_s < 0 && h < path[f].n; h++) {
                const struct topology_link *link = &path[f].link[h];
                if (link->bytes_per_s / n >= least)
                    continue;
                const double level = level_of(path, n, link);
                first = level < least ? link : first;
                least = level < least ? level : least;
            }
        if (!first)
            return;
        for (int f = 0; f < n; f++)
            for (int h = 0; path[f].is_active && path[f].bytes_per_s < 0 && h < path[f].n; h++)
                if (&path[f].link[h] == first || are_same(first, &path[f].link[h]))
                    path[f].bytes_per_s = least;
    }
}

void kit_flows_by_definition(const struct kit_flows *k, double *arrived_s)
{
    struct path *path = calloc((size_t)k->n, sizeof *path);
    double now_s = 0;

    if (!path)
        abort();
    for (int f = 0; f < k->n; f++) {
        path[f].n = topology_path(&k->topology, k->flow[f].from, k->flow[f].to, path[f].link);
        path[f].left_bytes = k->flow[f].n_bytes;
        arrived_s[f] = -1;
        for (int h = 0; h < path[f].n; h++)
            path[f].latency_s += path[f].link[h].latency_s;
    }
    for (;;) {
        double next_s = INFINITY;
        share(path, k->n);
        for (int f = 0; f < k->n; f++) {
            const double begins_s = k->flow[f].at_s + path[f].latency_s;
            if (arrived_s[f] < 0)
                next_s = fmin(next_s, path[f].is_active ? now_s + path[f].left_bytes / path[f].bytes_per_s : begins_s);
        }
        if (!isfinite(next_s))
            break;
        for (int f = 0; f < k->n; f++) {
            struct path *p = &path[f];
            if (p->is_active)
                p->left_bytes -= p->bytes_per_s * (next_s - now_s);
            if (p->is_active && p->left_bytes <= 1e-12 * p->bytes_per_s) {
                p->is_active = false;
                arrived_s[f] = next_s;
            } else if (arrived_s[f] < 0 && k->flow[f].at_s + p->latency_s <= next_s)
                p->is_active = true;
        }
        now_s = next_s;
    }
    free(path);
}

double kit_flows_error(const struct kit_flows *k, const double *arrived_s, const double *expected_s)
{
    double most = 0;

    for (int f = 0; f < k->n; f++)
        most = fmax(most, fabs(arrived_s[f] - expected_s[f]) / (expected_s[f] - k->flow[f].at_s));
    return most;
}
