/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prediction_inputs.c - what is simulated, as options name it: clusters with their assumptions, and profiles; see
 * prediction_inputs.h.
 */
#include "harness/campaign/prediction_inputs.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/record.h"
#include "models/replay/profile.h"
#include "models/workload.h"

bool used_cluster_is(const struct used_cluster *c, const struct cluster_wish *wish)
{
    return strcmp(c->name, wish->name) == 0 && strcmp(c->transport, wish->transport) == 0 &&
           c->n_gpus_per_host == wish->n_gpus_per_host && c->system == wish->system;
}

enum rc used_cluster_open(struct used_cluster *out, const char *option, const struct cluster_wish *wish,
                          const char *settings)
{
    struct used_cluster c = { .sources = calloc(1, sizeof *c.sources),
                              .n_gpus_per_host = wish->n_gpus_per_host,
                              .system = wish->system };
    char protocol[32], hosts[48];
    enum rc rc;

    if (!c.sources)
        FAIL(RC_NOMEM, "no memory for the sources of a cluster");
    if (strlen(wish->name) >= sizeof c.name)
        FAIL(RC_INVAL, "cluster %.60s...: is too long a name", wish->name);
    snprintf(c.name, sizeof c.name, "%s", wish->name);
    snprintf(c.transport, sizeof c.transport, "%s", wish->transport);
    rc = cluster_find(&c.cluster, c.sources, c.name);
    TRY(option ? file_of_option(rc, option) : rc);
    if (c.system)
        TRY(published_system_fill(c.filled, c.system, &c.cluster, c.sources));
    TRY(cluster_set(&c.cluster, c.sources, settings));
    snprintf(protocol, sizeof protocol, "protocol=%s", c.transport);
    if (c.transport[0])
        TRY(cluster_set(&c.cluster, NULL, protocol));
    snprintf(hosts, sizeof hosts, "ranks_per_host_count=%d", c.n_gpus_per_host);
    if (c.n_gpus_per_host > 0)
        TRY(cluster_set(&c.cluster, NULL, hosts));
    c.n_calibrated = calibration_spread(c.calibrated, &c.cluster, c.sources);
    *out = c;
    c.sources = NULL;
out:
    used_cluster_close(&c);
    return rc;
}

void used_cluster_close(struct used_cluster *c)
{
    free(c->sources);
    c->sources = NULL;
}

const char *used_cluster_transport(const struct used_cluster *c)
{
    static const char *const name[] = {
        [PROTOCOL_BARE] = "bare", [PROTOCOL_TCP] = "tcp", [PROTOCOL_RDMA] = "rdma", [PROTOCOL_GRPC] = "grpc"
    };

    return name[c->cluster.protocol];
}

void used_cluster_short_name(char *out, size_t n_bytes, const struct used_cluster *c)
{
    const char *name = strrchr(c->name, '/');

    name = name ? name + 1 : c->name;
    const size_t n = strlen(name), n_suffix = strlen(".yaml");
    const bool is_yaml = n > n_suffix && strcmp(name + n - n_suffix, ".yaml") == 0;
    snprintf(out, n_bytes, "%.*s", (int)(is_yaml ? n - n_suffix : n), name);
}

void used_cluster_title(char *out, size_t n_bytes, const struct used_cluster *c)
{
    char file[ROW_CLUSTER_BYTES];

    used_cluster_short_name(file, sizeof file, c);
    if (!c->cluster.name[0] || strcmp(c->cluster.name, "unnamed") == 0 || strcmp(c->cluster.name, file) == 0)
        snprintf(out, n_bytes, "%s", c->name);
    else
        snprintf(out, n_bytes, "%s (%s)", c->cluster.name, c->name);
}

const char *used_cluster_source_name(const struct used_cluster *c, int key)
{
    if (c->cluster.assumed >> key & 1)
        return "assumed";
    return strncmp(c->sources->text[key], "measured", 8) == 0 ? "measured" : "given";
}

static void print_chosen(const struct used_cluster *c, FILE *to)
{
    int n = 0;

    for (int k = 0; k < CLUSTER_N_KEYS; k++)
        if (strstr(c->sources->text[k], "chosen beside the published") != NULL)
            fprintf(to, "%s%s",
                    n++ == 0 ? "  chosen to fit published rows, so the errors of these are no test: " : ", ",
                    cluster_keys[k].name);
    if (n > 0)
        fputc('\n', to);
}

size_t used_cluster_assumed(const struct used_cluster *c, int out[CLUSTER_MAX_KEYS])
{
    const size_t n_all = cluster_assumed(&c->cluster, out);
    size_t n = 0;

    for (size_t i = 0; i < n_all; i++)
        if (!(c->fitted >> out[i] & 1))
            out[n++] = out[i];
    return n;
}

void used_cluster_print_assumed(const struct used_cluster *c, FILE *to)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n = used_cluster_assumed(c, key);

    fprintf(to, "%s%s%s: assumed, neither measured nor published:", c->name, c->transport[0] ? ", " : "", c->transport);
    for (size_t k = 0; k < n; k++) {
        char value[64];
        cluster_key_format(&c->cluster, key[k], value, sizeof value);
        fprintf(to, "%s %s=%s", k > 0 ? "," : "", cluster_keys[key[k]].name, value);
    }
    fputc('\n', to);
    print_chosen(c, to);
}

void used_cluster_write_assumed(const struct used_cluster *c, FILE *to)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n = used_cluster_assumed(c, key);

    html_element(to, "p", NULL, "Assumed of %s%s%s:", c->name, c->transport[0] ? ", " : "", c->transport);
    fputs("<ul>\n", to);
    for (size_t i = 0; i < n; i++) {
        char value[64];
        cluster_key_format(&c->cluster, key[i], value, sizeof value);
        html_element(to, "li", NULL, "%s = %s: %s", cluster_keys[key[i]].name, value, c->sources->text[key[i]]);
    }
    fputs("</ul>\n", to);
}

static void record_value(struct record *record, const struct cluster *c, int key)
{
    char text[64];

    if (cluster_keys[key].type == KEY_REAL || cluster_keys[key].type == KEY_WHOLE) {
        record_f64(record, cluster_keys[key].name, cluster_key_number(c, key));
        return;
    }
    cluster_key_format(c, key, text, sizeof text);
    record_text(record, cluster_keys[key].name, text);
}

void used_cluster_record(struct record *record, const struct used_cluster *c)
{
    struct record *values = record_open(NULL), *assumed = record_open(NULL);
    int key[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(&c->cluster, key);

    record_text(record, "cluster", c->name);
    record_text(record, "transport", used_cluster_transport(c));
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        record_value(values, &c->cluster, i);
    for (size_t i = 0; i < n; i++)
        record_text(assumed, cluster_keys[key[i]].name, c->sources->text[key[i]]);
    record_child(record, "values", &values);
    record_child(record, "assumed", &assumed);
}

enum rc used_cluster_print_json(const char *option, const char *name, const char *settings)
{
    struct used_cluster c = { .sources = NULL };
    struct report *to = NULL;
    enum rc rc;

    TRY(used_cluster_open(&c, option, &(struct cluster_wish){ .name = name, .transport = "" }, settings));
    TRY(report_open(&to, "-"));
    used_cluster_record(report_begin(to, "cluster"), &c);
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    used_cluster_close(&c);
    return rc;
}

enum { MOST_WORKLOADS = 64 };

enum rc used_profile_given(char *file, size_t n_bytes, bool *is_given, const char *profiles, const char *model)
{
    char item[USED_PROFILE_PATH_BYTES];

    *is_given = false;
    while (profiles && profiles[0] && text_next(&profiles, item, sizeof item)) {
        const size_t n_name = strcspn(item, "=");
        if (item[n_name] == '\0' && item[0] && strcmp(item, model) != 0)
            return rc_raise(RC_INVAL, "--profile %.100s: use MODEL=FILE,MODEL=FILE, as %s=%.100s", item, model, item);
        if (item[n_name] == '\0' || n_name == 0 || item[n_name + 1] == '\0')
            return rc_raise(RC_INVAL, "--profile %.100s: use MODEL=FILE,MODEL=FILE", item);
        if (strlen(model) != n_name || strncmp(item, model, n_name) != 0)
            continue;
        if (*is_given)
            return rc_raise(RC_INVAL, "--profile %.100s: model %s has a profile already; use one", item, model);
        *is_given = true;
        snprintf(file, n_bytes, "%s", item + n_name + 1);
    }
    return RC_OK;
}

/* RC_INVAL: neither a network of gradmark nor a profile has this name. */
static enum rc raise_unknown(const struct profile_wish *w)
{
    const char *names[MOST_WORKLOADS + 1] = { NULL }, *name, *nearest;
    const struct workload *workload = NULL;
    int n = 0;

    for (int i = 0; n < MOST_WORKLOADS && (name = module_name(&workload_kind, i)); i++)
        if (workload_find(&workload, name) == RC_OK && workload->network)
            names[n++] = name;
    nearest = text_nearest(w->model, names);
    return rc_raise(RC_INVAL, "%s: %s is no model of gradmark%s%s%s; your own model needs --profile %s=FILE", w->place,
                    w->model, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "", w->model);
}

static enum rc derive(struct profile **out, const struct profile_wish *w)
{
    struct published_rate rate = {
        .precision = "fp32", .gpu = "published", .batch = w->batch, .images_per_s = w->one_gpu_images_per_s
    };
    const struct network_opts opts = { .image_size = 0, .n_classes = 0, .aux_head = false, .width_divisor = 0 };
    const struct workload *workload = NULL;
    struct network *network = NULL;
    enum rc rc;

    if (workload_find(&workload, w->model) != RC_OK || !workload->network)
        return raise_unknown(w);
    if (isnan(w->one_gpu_images_per_s))
        return rc_raise(RC_INVAL, "%s: %s has no profile; use --profile %s=FILE (gradmark profile writes them)",
                        w->place, w->model, w->model);
    if (w->rate)
        rate = *w->rate;
    else
        snprintf(rate.source, sizeof rate.source, "%s", w->published_in);
    snprintf(rate.model, sizeof rate.model, "%s", w->model);
    TRY(network_open(&network, workload->network, &opts));
    TRY(published_profile(out, &rate, network));
out:
    network_close(&network);
    return rc;
}

static enum rc make_profile(struct profile **out, const struct profile_wish *w)
{
    char file[USED_PROFILE_PATH_BYTES];
    bool is_given;
    enum rc rc;

    TRY(used_profile_given(file, sizeof file, &is_given, w->profiles, w->model));
    if (!is_given)
        return derive(out, w);
    TRY(profile_load(out, file));
    if (!isnan(w->one_gpu_images_per_s))
        profile_scale(*out, w->one_gpu_images_per_s);
out:
    return rc;
}

/* Two wishes for a model are met by one profile where they tell the same rate, or none. */
static bool is_same_rate(double a, double b)
{
    return (isnan(a) && isnan(b)) || !(a < b || a > b || isnan(a) || isnan(b));
}

enum rc used_profiles_find(size_t *out, struct used_profiles *u, const struct profile_wish *w, const char *folder)
{
    struct used_profile *more;
    struct profile *p = NULL;
    enum rc rc = RC_OK;

    for (*out = 0; *out < u->n; ++*out)
        if (strcmp(u->profile[*out].model, w->model) == 0 &&
            is_same_rate(u->profile[*out].one_gpu_images_per_s, w->one_gpu_images_per_s))
            return RC_OK;
    TRY(make_profile(&p, w));
    if (profile_step_ns(p) == 0)
        FAIL(RC_INVAL, "the profile of %s: every forward_ns and backward_ns is 0; write the times of one GPU, in ns",
             w->model);
    more = realloc(u->profile, (u->n + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a profile");
    u->profile = more;
    more += u->n;
    *more = (struct used_profile){ .one_gpu_images_per_s = w->one_gpu_images_per_s,
                                   .images_per_s = p->batch / (1e-9 * (double)profile_step_ns(p)),
                                   .batch = p->batch,
                                   .n_tensors = (size_t)profile_n_tensors(p),
                                   .n_params = profile_n_params(p) };
    snprintf(more->model, sizeof more->model, "%s", w->model);
    snprintf(more->source, sizeof more->source, "%s", p->source);
    snprintf(more->precision, sizeof more->precision, "%s", p->precision);
    snprintf(more->path, sizeof more->path, "%s/profile-%zu.json", folder, u->n);
    TRY(profile_save(p, more->path));
    u->n++;
out:
    profile_close(&p);
    return rc;
}

enum rc used_profiles_check_all_used(const struct used_profiles *u, const char *profiles, const char *asked_by)
{
    const char **names = calloc(u->n + 1, sizeof *names), *near;
    char item[USED_PROFILE_PATH_BYTES];
    enum rc rc = RC_OK;

    if (!names)
        return rc_raise(RC_NOMEM, "no memory for names of models");
    for (size_t i = 0; i < u->n; i++)
        names[i] = u->profile[i].model;
    while (profiles && profiles[0] && text_next(&profiles, item, sizeof item)) {
        bool is_used = false;
        item[strcspn(item, "=")] = '\0';
        for (size_t i = 0; i < u->n; i++)
            is_used |= strcmp(item, names[i]) == 0;
        near = is_used ? NULL : text_nearest(item, names);
        if (!is_used)
            FAIL(RC_INVAL, "--profile %.60s=...: %s does not name the model %.60s%s%s%s", item, asked_by, item,
                 near ? "; did you mean " : "; leave it out", near ? near : "", near ? "?" : "");
    }
out:
    free(names);
    return rc;
}

void used_profiles_free(struct used_profiles *u)
{
    free(u->profile);
    *u = (struct used_profiles){ .profile = NULL };
}
