/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c - predictions for models on a described cluster: options to ways and points, points to simulations,
 * simulations to predictions; see simulate.h. */
#include "harness/campaign/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/text.h"
#include "harness/campaign/prediction.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/table.h"
#include "models/workload.h"

/*
 * lists of options to ways to exchange, and models to profiles.
 */

enum { ITEM_BYTES = 64, MOST_SERVERS = 1024, MOST_WORKLOADS = 64 };

/* --- ways --- */

static enum rc add_way(struct simulate *s, const struct simulate_way *w)
{
    char own[SIMULATE_WAY_BYTES], other[SIMULATE_WAY_BYTES];

    simulate_way_name(own, sizeof own, w);
    for (size_t i = 0; i < s->n_ways; i++) {
        simulate_way_name(other, sizeof other, &s->way[i]);
        if (strcmp(own, other) == 0)
            return rc_raise(RC_INVAL, "%s is named twice by --modes, --placements and --servers; leave one out", own);
    }
    if (s->n_ways == SIMULATE_MOST_WAYS)
        return rc_raise(RC_INVAL, "--modes, --placements and --servers name more than %d ways; use fewer",
                        (int)SIMULATE_MOST_WAYS);
    s->way[s->n_ways++] = *w;
    return RC_OK;
}

static enum rc take_servers(struct simulate_way *w, const char *text)
{
    uint64_t n;

    if (strcmp(text, "host") == 0) {
        w->n_servers = 0;
        return RC_OK;
    }
    if (!text_to_u64(text, &n) || n < 1 || n > MOST_SERVERS)
        return rc_raise(RC_INVAL, "--servers %.40s: use a whole number from 1 to %d, or host", text, (int)MOST_SERVERS);
    w->n_servers = (int)n;
    return RC_OK;
}

/* The message that rc_raise() kept, of --placements where it begins with "--placement"; prefix: "--placement". */
static enum rc of_list(enum rc rc, const char *prefix)
{
    char why[RC_MESSAGE_BYTES];
    const size_t n = strlen(prefix);

    if (rc == RC_OK || strncmp(rc_message(), prefix, n) != 0)
        return rc;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "%ss%s", prefix, why + n);
}

/* Every placement with every number of servers. */
static enum rc add_server_ways(struct simulate *s, struct simulate_way w)
{
    const char *placements = s->terms->placements, *servers;
    char placement[ITEM_BYTES], n[ITEM_BYTES];
    struct placement_opts opts;
    enum rc rc = RC_OK;

    w.cluster = s->n_clusters - 1;
    while (text_next(&placements, placement, sizeof placement)) {
        TRY(of_list(placement_parse(&opts, placement), "--placement"));
        placement_text(w.placement, sizeof w.placement, &opts);
        servers = s->terms->servers;
        while (text_next(&servers, n, sizeof n)) {
            TRY(take_servers(&w, n));
            TRY(add_way(s, &w));
        }
    }
out:
    return rc;
}

/* What modes without servers do not read. */
static enum rc check_lists(const struct simulate_terms *t)
{
    const char *placements = t->placements, *servers = t->servers;
    struct simulate_way w = { .mode = ROW_NONE };
    struct placement_opts opts;
    char item[ITEM_BYTES];
    enum rc rc = RC_OK;

    while (text_next(&placements, item, sizeof item))
        TRY(of_list(placement_parse(&opts, item), "--placement"));
    while (text_next(&servers, item, sizeof item))
        TRY(take_servers(&w, item));
out:
    return rc;
}

static enum rc unknown_mode(const char *text)
{
    return rc_raise(
        RC_INVAL,
        "--modes %.40s: cannot be simulated; choose none, ring or another collective algorithm, ps-async, ps-ssp:S, "
        "ps-sync or ps-sync:B",
        text);
}

static enum rc add_mode(struct simulate *s, const char *text)
{
    struct simulate_way w = { .mode = ROW_NONE };
    const char *collective = row_mode_name(ROW_COLLECTIVE);
    const size_t n = strlen(collective);
    const char *reducer = strncmp(text, collective, n) != 0 ? text
                          : text[n] == '-'                  ? text + n + 1
                          : text[n] == '\0'                 ? collective_kind.default_name
                                                            : text;
    struct consistency c;

    if (strcmp(text, row_mode_name(ROW_NONE)) == 0)
        return add_way(s, &w);
    if (row_reducer_is_simulated(reducer)) {
        w.mode = ROW_COLLECTIVE;
        snprintf(w.reducer, sizeof w.reducer, "%s", reducer);
        return add_way(s, &w);
    }
    if (strcmp(text, row_mode_name(ROW_PS)) == 0)
        text = "ps-sync";
    if (strncmp(text, "ps-", 3) != 0 || consistency_parse(&c, text + 3) != RC_OK)
        return unknown_mode(text);
    w.mode = consistency_may_wait(&c) ? ROW_PS : ROW_PS_ASYNC;
    if (consistency_waits_for_all(&c)) /* sync:0, which most people call so */
        snprintf(w.consistency, sizeof w.consistency, "sync");
    else
        consistency_text(w.consistency, sizeof w.consistency, &c);
    return add_server_ways(s, w);
}

static enum rc simulate_find_ways(struct simulate *s)
{
    const char *modes = s->terms->modes;
    char mode[ITEM_BYTES];
    enum rc rc = RC_OK;

    while (text_next(&modes, mode, sizeof mode))
        TRY(add_mode(s, mode));
    TRY(check_lists(s->terms));
    if (s->n_ways == 0)
        FAIL(RC_INVAL, "--modes: is empty; use ring,ps-sync");
out:
    return rc;
}

void simulate_way_name(char *out, size_t n_bytes, const struct simulate_way *w)
{
    char servers[32];

    snprintf(servers, sizeof servers, "%d server%s", w->n_servers, w->n_servers == 1 ? "" : "s");
    if (row_mode_has_servers(w->mode))
        snprintf(out, n_bytes, "%s %s, %s, %s", row_mode_name(w->mode), w->consistency, w->placement,
                 w->n_servers > 0 ? servers : "one server per host");
    else
        snprintf(out, n_bytes, "%s", simulated_exchange(w->mode, w->reducer));
}

const char *simulate_way_exchange(const struct simulate_way *w)
{
    return simulated_exchange(w->mode, w->reducer);
}

/* Placements that cut no tensor need one for each server. */
static int simulate_n_servers(const struct simulate *s, const struct simulate_way *w, size_t profile, int n_gpus)
{
    const int n_per_host = s->cluster[w->cluster].cluster.n_ranks_per_host;
    const int n_hosts = (n_gpus - 1) / n_per_host + 1;

    if (!row_mode_has_servers(w->mode))
        return 0;
    if (w->n_servers > 0)
        return w->n_servers;
    const int n_most = simulated_most_servers(&s->profiles.profile[profile], w->placement);
    return n_hosts < n_most ? n_hosts : n_most;
}

/* --- models --- */

static enum rc of_gpu(size_t *out, struct simulate *s, struct profile_wish *w)
{
    const struct published_wish wish = { .gpu = s->terms->published, .model = w->model, .precision = "", .batch = 0 };
    struct published p = { .path = NULL };
    enum rc rc;

    TRY(published_load(&p, s->terms->published_rates));
    TRY(of_list(published_choose(&w->rate, NULL, &p, &wish), "--model"));
    w->one_gpu_images_per_s = w->rate->images_per_s;
    w->batch = w->rate->batch;
    TRY(used_profiles_find(out, &s->profiles, w, s->folder));
out:
    published_free(&p);
    return rc;
}

/* "--published P100 (gradmark profile --list has all), or ", of a GPU that has a rate for the model; "": none has. */
static void say_published(char *out, size_t n_bytes, const struct simulate *s, const char *model)
{
    const struct published_wish wish = { .gpu = "", .model = model, .precision = "", .batch = 0 };
    const struct published_rate *rate;
    struct published p = { .path = NULL };

    out[0] = '\0';
    if (published_load(&p, s->terms->published_rates) == RC_OK && published_choose(&rate, NULL, &p, &wish) == RC_OK)
        snprintf(out, n_bytes, "--published %.*s (gradmark profile --list has all), or ",
                 (int)strcspn(rate->gpu, "-( "), rate->gpu);
    published_free(&p);
}

/* RC_INVAL: nothing says how fast one GPU is. */
static enum rc raise_no_rate(const struct simulate *s, const char *model)
{
    const char *names[MOST_WORKLOADS + 1] = { NULL }, *name;
    const struct workload *workload = NULL;
    char published[128];
    int n = 0;

    say_published(published, sizeof published, s, model);
    for (int i = 0; n < MOST_WORKLOADS && (name = module_name(&workload_kind, i)); i++)
        if (workload_find(&workload, name) == RC_OK && workload->network)
            names[n++] = name;
    if (workload_find(&workload, model) == RC_OK && workload->network)
        return rc_raise(RC_INVAL,
                        "--models %s: cluster %.60s names no rate of one GPU for it; use %s--profile %s=FILE "
                        "(gradmark profile writes it)",
                        model, s->terms->cluster, published, model);
    const char *nearest = text_nearest(model, names);
    return rc_raise(RC_INVAL, "--models %s: no such model%s%s; your own model needs --profile %s=FILE", model,
                    nearest ? "; the nearest is " : "", nearest ? nearest : "", model);
}

/* The rate of one GPU that a published table has of this model on this cluster; none leaves *w as it is. */
static enum rc of_table(size_t *out, struct simulate *s, struct profile_wish *w)
{
    struct published_rows rows = { .path = NULL };
    enum rc rc;

    TRY(published_rows_load(&rows, s->terms->published_rows, false));
    for (size_t i = 0; i < rows.n_rows && isnan(w->one_gpu_images_per_s); i++) {
        const struct published_row *row = &rows.row[i];
        if (strcmp(row->model, w->model) == 0 && strcmp(row->cluster, s->terms->cluster) == 0) {
            w->one_gpu_images_per_s = row->one_gpu_images_per_s;
            w->batch = row->batch;
            w->published_in = "the published tables of this cluster, results/published/horovod.csv";
        }
    }
    if (isnan(w->one_gpu_images_per_s))
        TRY(raise_no_rate(s, w->model));
    TRY(used_profiles_find(out, &s->profiles, w, s->folder));
out:
    published_rows_free(&rows);
    return rc;
}

static enum rc find_profile(struct simulate *s, const char *model)
{
    struct profile_wish w = { .model = model,
                              .profiles = s->terms->profiles,
                              .one_gpu_images_per_s = NAN,
                              .batch = 0,
                              .published_in = "",
                              .rate = NULL,
                              .place = "--models" };
    const size_t n_before = s->profiles.n;
    char file[USED_PROFILE_PATH_BYTES];
    bool is_given;
    size_t found = 0;
    enum rc rc;

    if (strlen(model) >= ROW_MODEL_BYTES || !row_model_is_named(model))
        FAIL(RC_INVAL,
             "--models %.60s: use letters, digits, '.', '_' and '-', a letter or digit first, at most %d: files are "
             "called by it",
             model, (int)ROW_MODEL_BYTES - 1);
    TRY(used_profile_given(file, sizeof file, &is_given, w.profiles, model));
    if (is_given)
        TRY(used_profiles_find(&found, &s->profiles, &w, s->folder));
    else if (s->terms->published[0])
        TRY(of_gpu(&found, s, &w));
    else
        TRY(of_table(&found, s, &w));
    if (s->profiles.n == n_before)
        FAIL(RC_INVAL, "--models %s: is named twice; leave one out", model);
out:
    return rc;
}

enum rc simulate_find_profiles(struct simulate *s)
{
    const char *models = s->terms->models;
    char model[ITEM_BYTES];
    enum rc rc = RC_OK;

    while (text_next(&models, model, sizeof model)) {
        if (s->profiles.n == SIMULATE_MOST_MODELS)
            FAIL(RC_INVAL, "--models: names more than %d models; use fewer", (int)SIMULATE_MOST_MODELS);
        TRY(find_profile(s, model));
    }
    if (s->profiles.n == 0)
        FAIL(RC_INVAL, "--models: is empty; use vgg16,resnet101");
out:
    return rc;
}

/*
 * predictions for models on a described cluster, for every way to exchange and every number of GPUs; see
 * simulate.h.
 */

static enum rc find_counts(struct simulate *s)
{
    const char *gpus = s->terms->gpus;
    char item[64];
    uint64_t n;
    enum rc rc = RC_OK;

    while (text_next(&gpus, item, sizeof item)) {
        if (!text_to_u64(item, &n) || n < 1 || n > ROW_MAX_GPUS)
            FAIL(RC_INVAL, "--gpus %.40s: use a whole number from 1 to %d", item, (int)ROW_MAX_GPUS);
        if (s->n_counts > 0 && (int)n <= s->n_gpus[s->n_counts - 1])
            FAIL(RC_INVAL, "--gpus %s: does not rise after %d; use ascending numbers", item,
                 s->n_gpus[s->n_counts - 1]);
        if (s->n_counts == SIMULATE_MOST_COUNTS)
            FAIL(RC_INVAL, "--gpus: more than %d numbers; use fewer", (int)SIMULATE_MOST_COUNTS);
        s->n_gpus[s->n_counts++] = (int)n;
    }
    if (s->n_counts == 0)
        FAIL(RC_INVAL, "--gpus: is empty; use 1,2,4,8,16");
out:
    return rc;
}

static enum rc find_clusters(struct simulate *s)
{
    const struct simulate_terms *t = s->terms;
    struct cluster_wish wish = { .name = t->cluster, .transport = "" };
    enum rc rc;

    TRY(used_cluster_open(&s->cluster[s->n_clusters], "cluster", &wish, t->cluster_set));
    s->n_clusters++;
    if (strcmp(t->ps_transport, "cluster") != 0) {
        wish.transport = t->ps_transport;
        TRY(used_cluster_open(&s->cluster[s->n_clusters], "cluster", &wish, t->cluster_set));
        s->n_clusters++;
    }
out:
    return rc;
}

/* The run of a point's first seed. */
static struct simulated_run simulate_run_of(const struct simulate *s, const struct simulate_point *p)
{
    const struct simulate_terms *t = s->terms;
    const struct simulate_way *w = &s->way[p->way];

    return (struct simulated_run){
        .profile = &s->profiles.profile[p->profile],
        .cluster = &s->cluster[w->cluster],
        .cluster_set = t->cluster_set,
        .variation = "",
        .mode = w->mode,
        .reducer = w->reducer,
        .placement = w->placement,
        .consistency = w->consistency,
        .overlap = t->overlap,
        .bucket_bytes = row_mode_has_servers(w->mode) ? 0 : t->bucket_bytes,
        .n_gpus = p->n_gpus,
        .n_servers = p->n_servers,
        .batch = s->profiles.profile[p->profile].batch,
        .seed = 0,
    };
}

/* M1: the run of one GPU, which updates, and sends nothing. */
static struct simulated_run simulate_alone_of(const struct simulated_run *run)
{
    struct simulated_run alone = *run;

    alone.mode = run->mode == ROW_NONE ? ROW_NONE : ROW_COLLECTIVE;
    alone.reducer = row_mode_has_servers(run->mode) ? "" : run->reducer;
    alone.n_gpus = 1;
    alone.n_servers = 0;
    return alone;
}

/* The message that rc_raise() kept, of a number of GPUs. */
static enum rc at_count(enum rc rc, const struct simulate_way *w, int n_gpus)
{
    char name[SIMULATE_WAY_BYTES];

    simulate_way_name(name, sizeof name, w);
    return rc_prefix(rc, "--gpus %d, %s: ", n_gpus, name);
}

/* What the simulation would refuse (M2). */
static enum rc simulate_check_point(const struct simulate *s, const struct simulate_point *p)
{
    const struct simulate_way *w = &s->way[p->way];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    struct consistency c;
    enum rc rc;

    if (!row_mode_has_servers(w->mode))
        return simulated_check_hosts(&s->cluster[w->cluster], w->reducer, p->n_gpus);
    TRY(consistency_parse(&c, w->consistency));
    TRY(consistency_check(&c, p->n_gpus));
    if (p->n_servers > simulated_most_servers(profile, w->placement))
        FAIL(RC_INVAL, "%s has %zu tensors, which %s leaves whole; use at most %zu servers", profile->model,
             profile->n_tensors, w->placement, profile->n_tensors);
out:
    return rc;
}

static uint64_t n_messages(const struct simulate_point *p)
{
    return (uint64_t)p->n_gpus * (uint64_t)p->n_servers;
}

static bool is_too_many(const struct simulate_point *p)
{
    return n_messages(p) > SIMULATE_MOST_MESSAGES;
}

static void leave_out(struct simulate *s, const struct simulate_point *p)
{
    if (s->n_left_out == 0 || n_messages(p) < s->least_left_out)
        s->least_left_out = n_messages(p);
    s->n_left_out++;
}

/* Can it be simulated: does it fit, and is it of at most SIMULATE_MOST_MESSAGES? n_servers is known. */
static bool simulate_fits(const struct simulate *s, const struct simulate_point *p)
{
    const struct cluster *c = &s->cluster[s->way[p->way].cluster].cluster;

    return cluster_check(c, p->n_gpus, p->n_gpus + p->n_servers) == RC_OK && simulate_check_point(s, p) == RC_OK &&
           !is_too_many(p);
}

/* Add p after all points; it fits. RC_NOMEM. */
static enum rc simulate_add_point(struct simulate *s, struct simulate_point p)
{
    struct simulated_run run, alone;
    struct simulate_point *more;
    enum rc rc = RC_OK;

    for (int seed = 0; seed < s->n_seeds; seed++) {
        run = simulate_run_of(s, &p);
        run.seed = s->n_seeds > 1 ? (uint64_t)seed + 1 : 0;
        alone = simulate_alone_of(&run);
        TRY(simulation_set_find(&p.together[seed], &s->simulations, &run));
        TRY(simulation_set_find(&p.alone[seed], &s->simulations, &alone));
    }
    more = realloc(s->point, (s->n_all_points + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a point");
    s->point = more;
    more[s->n_all_points++] = p;
out:
    return rc;
}

/*
 * points simulated once more with something changed: what if, and what would be the gain.
 */

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

/* Add c, whose kind, point and what are set. RC_NOMEM. */
static enum rc simulate_add_change(struct simulate *s, struct simulate_change c, int n_servers, const char *overlap,
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

static void simulate_take_changes(struct simulate *s)
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

static enum rc simulate_add_what_ifs(struct simulate *s)
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

static enum rc simulate_add_systems(struct simulate *s)
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

/*
 * which assumption moves a prediction most: each one alone at the ends of its range, or chosen
 * otherwise, all else as it was, with the same draws of chance.
 */

enum { VALUE_BYTES = 64, MOST_CHOICES = 8 };

static enum rc add_value(struct simulate *s, size_t point, int key, const char *value)
{
    const struct simulate_point p = s->point[point];
    const struct cluster *c = &s->cluster[s->way[p.way].cluster].cluster;
    struct simulate_change change = { .kind = CHANGE_ASSUMED, .point = point, .what = key };
    char own[VALUE_BYTES], setting[SIMULATE_SETTING_BYTES];

    cluster_key_format(c, key, own, sizeof own);
    if (strcmp(value, own) == 0)
        return RC_OK; /* at the end of its range */
    snprintf(setting, sizeof setting, "%s=%s", cluster_keys[key].name, value);
    return simulate_add_change(s, change, p.n_servers, s->terms->overlap, setting);
}

/* Both ends of its range; 0 stays 0. */
static enum rc add_number(struct simulate *s, size_t point, int key)
{
    const struct used_cluster *c = &s->cluster[s->way[s->point[point].way].cluster];
    struct assumed_range range;
    char value[VALUE_BYTES];
    enum rc rc;

    if (!assumed_range_of(&range, &c->cluster, c->sources, key))
        return RC_OK;
    snprintf(value, sizeof value, "%.6g", range.low);
    TRY(add_value(s, point, key, value));
    snprintf(value, sizeof value, "%.6g", range.high);
    TRY(add_value(s, point, key, value));
out:
    return rc;
}

static enum rc add_choices(struct simulate *s, size_t point, int key)
{
    const char *choices = cluster_keys[key].choices;
    char value[VALUE_BYTES];
    enum rc rc = RC_OK;

    while (*choices) {
        const size_t n = strcspn(choices, "|");
        snprintf(value, sizeof value, "%.*s", (int)n, choices);
        TRY(add_value(s, point, key, value));
        choices += n + (choices[n] == '|');
    }
out:
    return rc;
}

/* Is the value of any use to this way? */
static bool concerns(const struct simulate_way *w, int key)
{
    return assumed_concerns(key, row_mode_has_servers(w->mode));
}

static enum rc add_assumptions_of(struct simulate *s, size_t point)
{
    const struct simulate_way *w = &s->way[s->point[point].way];
    int key[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(&s->cluster[w->cluster].cluster, key);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        const enum key_type type = cluster_keys[key[i]].type;
        if (!concerns(w, key[i]) || type == KEY_TEXT)
            continue;
        TRY(type == KEY_CHOICE ? add_choices(s, point, key[i]) : add_number(s, point, key[i]));
    }
out:
    return rc;
}

/* Are the assumptions of this point varied, one by one? Not where nothing is exchanged. */
bool simulate_is_explained(const struct simulate *s, size_t point)
{
    return s->terms->has_assumptions && simulate_is_changed(s, point) && s->way[s->point[point].way].mode != ROW_NONE;
}

/* Add both neighbours of every assumption of the explained points. RC_NOMEM. */
static enum rc simulate_add_assumptions(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++)
        if (simulate_is_explained(s, i))
            TRY(add_assumptions_of(s, i));
out:
    return rc;
}

/* --- ranked --- */

struct ranked { /* an assumption */
    int key;
    const struct simulate_change *change[MOST_CHOICES];
    int n;
    double moves_ratio; /* the most of any of these, up or down */
};

/* Into its place among ranked[n], by falling effect; equal ones stay in the order of keys. */
static void insert(struct ranked *ranked, size_t n, const struct ranked *r)
{
    for (; n > 0 && ranked[n - 1].moves_ratio < r->moves_ratio; n--)
        ranked[n] = ranked[n - 1];
    ranked[n] = *r;
}

static size_t rank_all(struct ranked ranked[CLUSTER_MAX_KEYS], const struct simulate *s, size_t point)
{
    size_t n = 0;

    for (int key = 0; key < CLUSTER_N_KEYS; key++) {
        struct ranked r = { .key = key, .n = 0, .moves_ratio = 0 };
        for (size_t i = 0; i < s->n_changes; i++) {
            const struct simulate_change *c = &s->change[i];
            if (c->kind != CHANGE_ASSUMED || c->point != point || c->what != key || !c->is_possible ||
                isnan(c->ratio) || r.n == MOST_CHOICES)
                continue;
            r.change[r.n++] = c;
            r.moves_ratio = fmax(r.moves_ratio, fabs(c->ratio - 1));
        }
        if (r.n > 0)
            insert(ranked, n++, &r);
    }
    return n;
}

/* "0.42: -30.1 %, 1: +5.2 %" */
static void effects_text(char *out, size_t n_bytes, const struct ranked *r)
{
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; i < r->n && at < n_bytes; i++)
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%s: %+.1f %%", i > 0 ? ", " : "",
                               strchr(r->change[i]->setting, '=') + 1, 100 * (r->change[i]->ratio - 1));
}

struct table *simulate_assumptions_table(const struct simulate *s, size_t point, size_t n_most)
{
    static const struct column column[] = { { "assumption", ALIGN_LEFT },
                                            { "value", ALIGN_RIGHT },
                                            { "throughput with another", ALIGN_LEFT },
                                            { "moves it by", ALIGN_RIGHT } };
    const struct cluster *c = &s->cluster[s->way[s->point[point].way].cluster].cluster;
    struct ranked ranked[CLUSTER_MAX_KEYS];
    const size_t n = rank_all(ranked, s, point);
    char value[VALUE_BYTES], effects[SIMULATE_SENTENCE_BYTES];
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (size_t i = 0; i < n && i < n_most; i++) {
        cluster_key_format(c, ranked[i].key, value, sizeof value);
        effects_text(effects, sizeof effects, &ranked[i]);
        table_cell(t, "%s", cluster_keys[ranked[i].key].name);
        table_cell(t, "%s", value);
        table_cell(t, "%s", effects);
        table_cell(t, "%.1f %%", 100 * ranked[i].moves_ratio);
    }
    return t;
}

/*
 * What the spread of calibrated values makes of predictions: each one alone as much higher,
 * and as much lower, as its source says that it may be off, all else as it was, with the same draws of chance.
 */

static enum rc add_both(struct simulate *s, size_t point, const struct calibrated_value *value)
{
    const struct simulate_point p = s->point[point];
    const struct cluster *c = &s->cluster[s->way[p.way].cluster].cluster;
    char setting[CALIBRATION_SETTING_BYTES];
    enum rc rc = RC_OK;

    for (int is_higher = 0; is_higher < 2; is_higher++) {
        const struct simulate_change change = { .kind = CHANGE_CALIBRATED, .point = point, .what = value->key };
        calibration_setting(setting, c, value, is_higher);
        TRY(simulate_add_change(s, change, p.n_servers, s->terms->overlap, setting));
    }
out:
    return rc;
}

/* Add both neighbours of every calibrated value of every point. RC_NOMEM. */
static enum rc simulate_add_calibrated(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_way *w = &s->way[s->point[i].way];
        const struct used_cluster *c = &s->cluster[w->cluster];
        for (size_t k = 0; k < c->n_calibrated && w->mode != ROW_NONE; k++)
            TRY(add_both(s, i, &c->calibrated[k]));
    }
out:
    return rc;
}

bool simulate_has_bands(const struct simulate *s)
{
    bool has = s->n_seeds >= PREDICTION_BAND_LEAST;

    for (size_t i = 0; i < s->n_clusters; i++)
        has = has || s->cluster[i].n_calibrated > 0;
    return has;
}

/* By how much a change moves the efficiency of its point; 0: it was not simulated. */
static double moves(const struct simulate *s, const struct simulate_change *c)
{
    const struct simulation *simulation = s->simulations.simulation;
    const struct simulate_point *p = &s->point[c->point];

    if (!c->is_possible)
        return 0;
    return fabs(simulation[c->alone].step_s / simulation[c->together].step_s -
                simulation[p->alone[0]].step_s / simulation[p->together[0]].step_s);
}

static void simulate_widen_bands(struct simulate *s)
{
    for (size_t i = 0; i < s->n_points; i++) {
        const struct used_cluster *of = &s->cluster[s->way[s->point[i].way].cluster];
        double by[CALIBRATION_MOST_VALUES] = { 0 };
        bool is_changed = false;
        if (simulate_failure(s, &s->point[i]))
            continue;
        for (size_t c = 0; c < s->n_changes; c++)
            for (size_t k = 0; k < of->n_calibrated; k++) {
                const struct simulate_change *change = &s->change[c];
                if (change->kind != CHANGE_CALIBRATED || change->point != i || change->what != of->calibrated[k].key)
                    continue;
                by[k] = fmax(by[k], moves(s, change));
                is_changed = true;
            }
        if (is_changed)
            prediction_band_widen(&s->point[i].efficiency, by, of->n_calibrated);
    }
}

/*
 * predictions for models on a described cluster, for every way to exchange and every number of GPUs; see
 * simulate.h.
 */

static enum rc add_point(struct simulate *s, struct simulate_point p)
{
    const struct simulate_way *w = &s->way[p.way];
    enum rc rc;

    p.n_servers = simulate_n_servers(s, w, p.profile, p.n_gpus);
    TRY(at_count(cluster_check(&s->cluster[w->cluster].cluster, p.n_gpus, p.n_gpus + p.n_servers), w, p.n_gpus));
    TRY(at_count(simulate_check_point(s, &p), w, p.n_gpus));
    if (is_too_many(&p))
        leave_out(s, &p);
    else
        TRY(simulate_add_point(s, p));
out:
    return rc;
}

static enum rc add_points(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (size_t way = 0; way < s->n_ways; way++)
            for (size_t i = 0; i < s->n_counts; i++)
                TRY(add_point(s, (struct simulate_point){ .profile = profile, .way = way, .n_gpus = s->n_gpus[i] }));
    s->n_points = s->n_all_points;
    if (s->n_points == 0)
        FAIL(RC_INVAL, "--servers %.60s: GPUs x servers is at least %llu; at most %d can be simulated",
             s->terms->servers, (unsigned long long)s->least_left_out, SIMULATE_MOST_MESSAGES);
out:
    return rc;
}

enum rc simulate_open(struct simulate *out, const char *folder, const struct simulate_terms *terms)
{
    struct simulate s = { .terms = terms, .folder = folder };
    enum rc rc;

    TRY(find_counts(&s));
    TRY(find_clusters(&s));
    s.n_seeds = simulate_is_random(&s.cluster[0].cluster) ? SIMULATE_USUAL_SEEDS : 1;
    s.n_seeds = terms->n_seeds > 0 ? (int)terms->n_seeds : s.n_seeds;
    TRY(simulate_find_ways(&s));
    TRY(simulate_find_profiles(&s));
    TRY(used_profiles_check_all_used(&s.profiles, terms->profiles, "--models"));
    TRY(add_points(&s));
    TRY(simulate_add_what_ifs(&s));
    TRY(simulate_add_assumptions(&s));
    TRY(simulate_add_systems(&s));
    TRY(simulate_add_calibrated(&s));
    *out = s;
    s = (struct simulate){ .terms = NULL };
out:
    simulate_close(&s);
    return rc;
}

/* --- results --- */

const char *simulate_failure(const struct simulate *s, const struct simulate_point *p)
{
    const struct simulation *simulation = s->simulations.simulation;

    for (int seed = 0; seed < s->n_seeds; seed++) {
        if (simulation[p->together[seed]].has_failed)
            return simulation[p->together[seed]].why;
        if (simulation[p->alone[seed]].has_failed)
            return simulation[p->alone[seed]].why;
    }
    return NULL;
}

static void forget_failed_systems(struct simulate *s)
{
    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++) {
            struct simulate_system *y = &s->system[profile][system];
            y->is_there &= !y->is_there || !simulate_failure(s, &s->point[y->point]);
        }
}

static void take_results(struct simulate *s, struct simulate_point *p)
{
    const struct simulation *simulation = s->simulations.simulation;
    double ratio[SIMULATE_MOST_SEEDS] = { 0 };

    p->step_s = p->exposed_s = 0;
    for (int seed = 0; seed < s->n_seeds; seed++) {
        const struct simulation *together = &simulation[p->together[seed]];
        ratio[seed] = simulation[p->alone[seed]].step_s / together->step_s;
        p->step_s += together->step_s / s->n_seeds;
        p->exposed_s += together->exposed_s / s->n_seeds;
    }
    p->efficiency = prediction_band_of(ratio, (size_t)s->n_seeds);
    p->images_per_s = p->efficiency.mean * p->n_gpus * s->profiles.profile[p->profile].images_per_s;
    if (!simulate_failure(s, p))
        p->bottleneck = bottleneck_find(&simulation[p->together[0]]);
}

enum rc simulate_run(struct simulate *s, const struct simulations_env *env)
{
    enum rc rc;

    TRY(simulations_run(s->simulations.simulation, s->simulations.n, env));
    for (size_t i = 0; i < s->n_all_points; i++)
        take_results(s, &s->point[i]);
    simulate_take_changes(s);
    simulate_widen_bands(s);
    forget_failed_systems(s);
out:
    return rc;
}

void simulate_close(struct simulate *s)
{
    for (size_t i = 0; i < s->n_clusters; i++)
        used_cluster_close(&s->cluster[i]);
    simulation_set_free(&s->simulations);
    used_profiles_free(&s->profiles);
    free(s->point);
    free(s->change);
    *s = (struct simulate){ .terms = NULL };
}
