/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_changes.c - points simulated once more with something changed: what if, and what would be the gain. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/table.h"

enum what_if { NETWORK, LATENCY, SERVERS, HALF_BYTES, OVERLAP };

static const char *const what_if_name[SIMULATE_N_WHAT_IFS + 1] = {
    [NETWORK] = "network x 2",       [LATENCY] = "latency / 2",   [SERVERS] = "servers x 2",
    [HALF_BYTES] = "half the bytes", [OVERLAP] = "other overlap", NULL
};

const char *simulate_what_if_name(const struct simulate *s, int i)
{
    if (i == OVERLAP)
        return strcmp(s->terms->overlap, "off") == 0 ? "with overlap" : "no overlap";
    return what_if_name[i];
}

/* --- any change --- */

/* Could it be simulated? */
static bool is_possible(const struct simulate *s, const struct simulate_point *p, const struct simulate_change *c,
                        int n_servers)
{
    const struct simulate_way *w = &s->way[p->way];
    struct simulate_point changed = *p;
    struct cluster cluster = s->cluster[w->cluster].cluster;

    changed.n_servers = n_servers;
    return cluster_set(&cluster, NULL, c->setting) == RC_OK &&
           cluster_check(&cluster, p->n_gpus, p->n_gpus + n_servers) == RC_OK && simulate_fits(s, &changed);
}

enum rc simulate_add_change(struct simulate *s, struct simulate_change c, int n_servers, const char *overlap,
                            const char *setting)
{
    const struct simulate_point *p = &s->point[c.point];
    struct simulated_run run = simulate_run_of(s, p), alone;
    struct simulate_change *more;
    enum rc rc = RC_OK;

    c.ratio = NAN;
    snprintf(c.setting, sizeof c.setting, "%s", setting);
    c.is_possible = is_possible(s, p, &c, n_servers);
    run.variation = c.setting;
    run.n_servers = n_servers;
    run.overlap = overlap;
    if (c.is_possible)
        TRY(simulation_set_find(&c.together, &s->simulations, &run));
    alone = simulate_alone_of(&run);
    if (c.is_possible && c.kind == CHANGE_CALIBRATED)
        TRY(simulation_set_find(&c.alone, &s->simulations, &alone));
    more = realloc(s->change, (s->n_changes + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a change");
    s->change = more;
    more[s->n_changes++] = c;
out:
    return rc;
}

void simulate_take_changes(struct simulate *s)
{
    const struct simulation *simulation = s->simulations.simulation;

    for (size_t i = 0; i < s->n_changes; i++) {
        struct simulate_change *c = &s->change[i];
        c->is_possible &= !c->is_possible || !simulation[c->together].has_failed; /* M4 */
        if (c->kind == CHANGE_CALIBRATED)
            c->is_possible &= !c->is_possible || !simulation[c->alone].has_failed;
        if (c->is_possible) /* both of the first seed: the same draws */
            c->ratio = simulation[s->point[c->point].together[0]].step_s / simulation[c->together].step_s;
    }
}

const struct simulate_change *simulate_change_of(const struct simulate *s, enum change_kind kind, size_t point,
                                                 int what)
{
    for (size_t i = 0; i < s->n_changes; i++)
        if (s->change[i].kind == kind && s->change[i].point == point && s->change[i].what == what)
            return &s->change[i];
    return NULL;
}

/* --- what if --- */

/* Behind settings: key=factor times its value; a rate of 0, which is no limit, stays. */
static void scale(char *settings, size_t n_bytes, const struct cluster *c, const char *name, double factor)
{
    const int key = cluster_key_find(name);
    const size_t at = strlen(settings);

    if (cluster_key_number(c, key) > 0)
        snprintf(settings + at, n_bytes - at, "%s%s=%.17g", at > 0 ? "," : "", name,
                 factor * cluster_key_number(c, key));
}

/* The same of the protocol in use. */
static void scale_protocol(char *settings, size_t n_bytes, const struct used_cluster *c, const char *what,
                           double factor)
{
    char name[64];

    snprintf(name, sizeof name, "%s_%s", used_cluster_transport(c), what);
    if (c->cluster.protocol != PROTOCOL_BARE)
        scale(settings, n_bytes, &c->cluster, name, factor);
}

static void set_what_if(char *to, size_t n, enum what_if what, const struct used_cluster *c)
{
    switch (what) {
    case NETWORK:
        scale(to, n, &c->cluster, "link_bits_per_s", 2);
        break;
    case LATENCY:
        scale(to, n, &c->cluster, "link_latency_s", 0.5);
        scale(to, n, &c->cluster, "group_latency_s", 0.5);
        scale_protocol(to, n, c, "latency_s", 0.5);
        break;
    case HALF_BYTES: /* bytes take half the time wherever they go, and nothing else changes */
        scale(to, n, &c->cluster, "link_bits_per_s", 2);
        scale(to, n, &c->cluster, "local_bytes_per_s", 2);
        scale(to, n, &c->cluster, "staging_bytes_per_s", 2);
        scale_protocol(to, n, c, "process_bytes_per_s", 2);
        break;
    case SERVERS:
    case OVERLAP:
        break;
    }
}

static enum rc add_what_ifs(struct simulate *s, size_t point)
{
    const struct simulate_point p = s->point[point];
    const struct simulate_way *w = &s->way[p.way];
    const char *other = strcmp(s->terms->overlap, "off") == 0 ? "on" : "off";
    enum rc rc = RC_OK;

    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++) {
        struct simulate_change c = { .kind = CHANGE_WHAT_IF, .point = point, .what = what };
        if (w->mode == ROW_NONE || (what == SERVERS && p.n_servers == 0))
            continue; /* nothing there to change */
        char setting[SIMULATE_SETTING_BYTES] = "";
        set_what_if(setting, sizeof setting, (enum what_if)what, &s->cluster[w->cluster]);
        TRY(simulate_add_change(s, c, what == SERVERS ? 2 * p.n_servers : p.n_servers,
                                what == OVERLAP ? other : s->terms->overlap, setting));
    }
out:
    return rc;
}

bool simulate_is_changed(const struct simulate *s, size_t point)
{
    const struct simulate_point *p = &s->point[point], *next = p + 1;

    return point + 1 == s->n_points || next->profile != p->profile || next->way != p->way; /* its largest count */
}

enum rc simulate_add_what_ifs(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; s->terms->has_what_if && i < s->n_points; i++)
        if (simulate_is_changed(s, i))
            TRY(add_what_ifs(s, i));
out:
    return rc;
}

/*
 * The systems in one table: gradients summed on one host, by a collective over all, by servers in
 * step and not; what each needs of the network, and what one slow link does to it.
 */

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

static void print_system(struct table *t, const struct simulate *s, size_t profile, int system, bool is_short)
{
    const struct simulate_point *p = &s->point[s->system[profile][system].point];
    const struct simulate_system_figures f = simulate_system_figures_of(s, profile, system);
    char way[SIMULATE_WAY_BYTES];

    simulate_way_name(way, sizeof way, &s->way[p->way]);
    table_cell(t, "%s", s->profiles.profile[profile].model);
    table_cell(t, "%s", system_name[system]);
    if (!is_short)
        table_cell(t, "%s", way);
    table_cell(t, "%d", p->n_gpus);
    table_cell(t, "%.1f", p->images_per_s);
    if (!is_short)
        table_cell(t, "%.1f %%", 100 * p->efficiency.mean);
    table_cell(t, "%.1f", 1e-6 * f.network_bytes_per_gpu);
    table_cell(t, "%.0f %%", 100 * f.card_ratio);
    isnan(f.staleness_count) ? table_cell(t, "-") : table_cell(t, "%.1f", f.staleness_count);
    isnan(f.slow_ratio) ? table_cell(t, "-") : table_cell(t, "%.3f", f.slow_ratio);
}

struct table *simulate_systems_table(const struct simulate *s, bool is_short)
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
    struct table *t =
        is_short ? table_open(few, sizeof few / sizeof *few) : table_open(column, sizeof column / sizeof *column);

    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++)
            if (s->system[profile][system].is_there)
                print_system(t, s, profile, system, is_short);
    return t;
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
