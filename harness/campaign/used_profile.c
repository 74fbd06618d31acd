/* SPDX-License-Identifier: Apache-2.0 */
/* used_profile.c - see used_profile.h. */
#include "harness/campaign/used_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "models/replay/profile.h"
#include "models/workload.h"

enum { MOST_WORKLOADS = 64 };

enum rc used_profile_given(char *file, size_t n_bytes, bool *is_given, const char *profiles, const char *model)
{
    char item[USED_PROFILE_PATH_BYTES];

    *is_given = false;
    while (profiles && profiles[0] && text_next(&profiles, item, sizeof item)) {
        const size_t n_name = strcspn(item, "=");
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
