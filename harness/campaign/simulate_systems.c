/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_systems.c - the systems in one table: gradients summed on one host, by a collective over all, by servers in
 * step and not; what each needs of the network, and what one slow link does to it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/campaign/simulate.h"
#include "harness/report/table.h"

/* One host's cards at a tenth of their rate. */
static const char slow_link[] = "slow_links_count=1,slow_link_ratio=10";

static const char *const system_name[SIMULATE_N_SYSTEMS] = {
    [SYSTEM_ONE_HOST] = "mirrored on one host",
    [SYSTEM_COLLECTIVE] = "collective",
    [SYSTEM_ASYNC] = "asynchronous servers",
    [SYSTEM_SYNC] = "synchronous servers",
};

const char *simulate_system_name(int system)
{
    return system_name[system];
}

/* --- planning --- */

static const struct simulate_way *first_way(const struct simulate *s, bool has_servers)
{
    for (size_t i = 0; i < s->n_ways; i++)
        if (s->way[i].mode != ROW_NONE && row_mode_has_servers(s->way[i].mode) == has_servers)
            return &s->way[i];
    return NULL;
}

/* The first collective of --modes; where there is none, the first that can be simulated. */
static struct simulate_way collective_way(const struct simulate *s)
{
    const struct simulate_way *listed = first_way(s, false);
    struct simulate_way w = { .mode = ROW_COLLECTIVE };
    const struct module *m;

    if (listed)
        return *listed;
    for (int i = 0; (m = collective_kind.at(i)) != NULL && !w.reducer[0]; i++)
        if (row_reducer_is_simulated(m->name))
            snprintf(w.reducer, sizeof w.reducer, "%s", m->name);
    return w;
}

/* Servers as the first way of --modes with servers has them; where there is none, one a host, evenly. */
static struct simulate_way server_way(const struct simulate *s, bool is_async)
{
    const struct simulate_way *listed = first_way(s, true);
    struct simulate_way w = { .placement = "split", .n_servers = 0, .cluster = s->n_clusters - 1 };

    if (listed)
        w = *listed;
    w.mode = is_async ? ROW_PS_ASYNC : ROW_PS;
    snprintf(w.consistency, sizeof w.consistency, "%s", is_async ? "async" : "sync");
    return w;
}

static enum rc add_system(struct simulate *s, size_t profile, int system, int n_gpus)
{
    struct simulate_system *added = &s->system[profile][system];
    struct simulate_point p = { .profile = profile, .way = s->n_ways + (size_t)system, .n_gpus = n_gpus };
    const int n_per_host = s->cluster[0].cluster.n_ranks_per_host;
    enum rc rc = RC_OK;

    if (system == SYSTEM_ONE_HOST && n_gpus > n_per_host)
        p.n_gpus = n_per_host;
    p.n_servers = simulate_n_servers(s, &s->way[p.way], profile, p.n_gpus);
    added->is_there = simulate_fits(s, &p);
    if (!added->is_there)
        return RC_OK;
    added->point = s->n_all_points;
    TRY(simulate_add_point(s, p));
    TRY(simulate_add_change(s, (struct simulate_change){ .kind = CHANGE_SLOW_LINK, .point = added->point, .what = 0 },
                            p.n_servers, s->terms->overlap, slow_link));
out:
    return rc;
}

enum rc simulate_add_systems(struct simulate *s)
{
    const int n_gpus = s->n_gpus[s->n_counts - 1];
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    s->way[s->n_ways + SYSTEM_ONE_HOST] = s->way[s->n_ways + SYSTEM_COLLECTIVE] = collective_way(s);
    s->way[s->n_ways + SYSTEM_ASYNC] = server_way(s, true);
    s->way[s->n_ways + SYSTEM_SYNC] = server_way(s, false);
    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++)
            TRY(add_system(s, profile, system, n_gpus));
out:
    return rc;
}

/* --- results --- */

static const struct simulation *simulation_of(const struct simulate *s, const struct simulate_point *p)
{
    return &s->simulations.simulation[p->together[0]];
}

struct simulate_system_figures simulate_system_figures_of(const struct simulate *s, size_t profile, int system)
{
    const struct simulate_point *p = &s->point[s->system[profile][system].point];

    return (struct simulate_system_figures){
        .network_bytes_per_gpu = simulation_of(s, p)->network_bytes / p->n_gpus,
        .card_ratio = p->bottleneck.network_ratio,
        .staleness_count = simulation_of(s, p)->staleness_mean_count,
        .slow_ratio = simulate_change_of(s, CHANGE_SLOW_LINK, s->system[profile][system].point, 0)->ratio,
    };
}

static enum rc print_system(struct table *t, const struct simulate *s, size_t profile, int system, bool is_short)
{
    const struct simulate_point *p = &s->point[s->system[profile][system].point];
    const struct simulate_system_figures f = simulate_system_figures_of(s, profile, system);
    char way[SIMULATE_WAY_BYTES];
    enum rc rc;

    simulate_way_name(way, sizeof way, &s->way[p->way]);
    TRY(table_cell(t, "%s", s->profiles.profile[profile].model));
    TRY(table_cell(t, "%s", system_name[system]));
    if (!is_short)
        TRY(table_cell(t, "%s", way));
    TRY(table_cell(t, "%d", p->n_gpus));
    TRY(table_cell(t, "%.1f", p->images_per_s));
    if (!is_short)
        TRY(table_cell(t, "%.1f %%", 100 * p->efficiency.mean));
    TRY(table_cell(t, "%.1f", 1e-6 * f.network_bytes_per_gpu));
    TRY(table_cell(t, "%.0f %%", 100 * f.card_ratio));
    TRY(isnan(f.staleness_count) ? table_cell(t, "-") : table_cell(t, "%.1f", f.staleness_count));
    TRY(isnan(f.slow_ratio) ? table_cell(t, "-") : table_cell(t, "%.3f", f.slow_ratio));
out:
    return rc;
}

enum rc simulate_systems_table(struct table **out, const struct simulate *s, bool is_short)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },      { "system", ALIGN_LEFT },
                                            { "mode", ALIGN_LEFT },       { "GPUs", ALIGN_RIGHT },
                                            { "images/s", ALIGN_RIGHT },  { "efficiency", ALIGN_RIGHT },
                                            { "MB", ALIGN_RIGHT },        { "busiest card", ALIGN_RIGHT },
                                            { "staleness", ALIGN_RIGHT }, { "slow link", ALIGN_RIGHT } };
    static const struct column few[] = { { "model", ALIGN_LEFT },      { "system", ALIGN_LEFT },
                                         { "GPUs", ALIGN_RIGHT },      { "images/s", ALIGN_RIGHT },
                                         { "MB", ALIGN_RIGHT },        { "busiest card", ALIGN_RIGHT },
                                         { "staleness", ALIGN_RIGHT }, { "slow link", ALIGN_RIGHT } };
    struct table *t = NULL;
    enum rc rc;

    TRY(is_short ? table_open(&t, few, sizeof few / sizeof *few)
                 : table_open(&t, column, sizeof column / sizeof *column));
    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++)
            if (s->system[profile][system].is_there)
                TRY(print_system(t, s, profile, system, is_short));
    *out = t;
    t = NULL;
out:
    table_close(&t);
    return rc;
}

/* Does the collective need more of the network than servers? */
void simulate_network_claims(const struct simulate *s, void (*print)(void *arg, const char *line), void *arg)
{
    char line[SIMULATE_SENTENCE_BYTES];

    for (size_t profile = 0; profile < s->profiles.n; profile++) {
        const struct simulate_system *y = s->system[profile];
        if (!y[SYSTEM_COLLECTIVE].is_there || !y[SYSTEM_SYNC].is_there)
            continue;
        const struct simulate_system_figures ring = simulate_system_figures_of(s, profile, SYSTEM_COLLECTIVE);
        const struct simulate_system_figures ps = simulate_system_figures_of(s, profile, SYSTEM_SYNC);
        snprintf(
            line, sizeof line,
            "%s: of the network %s needs %.1f MB a GPU and step, synchronous servers %.1f; their busiest cards are "
            "at work for %.0f and %.0f %% of a step",
            s->profiles.profile[profile].model, simulate_way_exchange(&s->way[s->n_ways + SYSTEM_COLLECTIVE]),
            1e-6 * ring.network_bytes_per_gpu, 1e-6 * ps.network_bytes_per_gpu, 100 * ring.card_ratio,
            100 * ps.card_ratio);
        print(arg, line);
    }
}
