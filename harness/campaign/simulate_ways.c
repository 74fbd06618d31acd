/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_ways.c - lists of options to ways to exchange, and models to profiles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/text.h"
#include "harness/campaign/simulate.h"
#include "models/workload.h"

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

enum rc simulate_find_ways(struct simulate *s)
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
int simulate_n_servers(const struct simulate *s, const struct simulate_way *w, size_t profile, int n_gpus)
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

/* RC_INVAL: nothing says how fast one GPU is. */
static enum rc raise_no_rate(const struct simulate *s, const char *model)
{
    const char *names[MOST_WORKLOADS + 1] = { NULL }, *name;
    const struct workload *workload = NULL;
    int n = 0;

    for (int i = 0; n < MOST_WORKLOADS && (name = module_name(&workload_kind, i)); i++)
        if (workload_find(&workload, name) == RC_OK && workload->network)
            names[n++] = name;
    if (workload_find(&workload, model) == RC_OK && workload->network)
        return rc_raise(RC_INVAL,
                        "--models %s: no rate of one GPU was published for cluster %.60s; add --profile %s=FILE "
                        "(gradmark profile writes it), or --published GPU",
                        model, s->terms->cluster, model);
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
