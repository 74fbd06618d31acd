/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_changes.c - points simulated once more with something changed: what if, and what would be the gain. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"

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
