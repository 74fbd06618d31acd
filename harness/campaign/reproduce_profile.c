/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reproduce_profile.c - what each model's GPU computes: the profile that the user gave for it, at the row's one-GPU
 * rate where it tells one; or without one that rate, spread over the layers of a network of ours.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/campaign/reproduce.h"
#include "models/replay/profile.h"
#include "models/replay/published.h"
#include "models/workload.h"

enum { USUAL_BATCH = 64 };

/* file[n_bytes] := of --profile; false: it has none of model. RC_INVAL: no such list. */
static enum rc given_profile(char *file, size_t n_bytes, bool *is_given, const char *profiles, const char *model)
{
    char item[REPRODUCE_PATH_BYTES];

    *is_given = false;
    while (profiles && profiles[0] && text_next(&profiles, item, sizeof item)) {
        const size_t n_name = strcspn(item, "=");
        if (item[n_name] == '\0' || n_name == 0 || item[n_name + 1] == '\0')
            return rc_raise(RC_INVAL, "--profile %.100s: MODEL=FILE,MODEL=FILE would be right", item);
        if (strlen(model) != n_name || strncmp(item, model, n_name) != 0)
            continue;
        if (*is_given)
            return rc_raise(RC_INVAL, "--profile %.100s: model %s has a profile already; one would be right", item,
                            model);
        *is_given = true;
        snprintf(file, n_bytes, "%s", item + n_name + 1);
    }
    return RC_OK;
}

static enum rc derive(struct profile **out, const struct reproduction *r, const struct published_row *row)
{
    struct published_rate rate = { .precision = "fp32",
                                   .gpu = "published",
                                   .framework = "as published",
                                   .data = "synthetic",
                                   .batch = row->batch > 0 ? row->batch : USUAL_BATCH,
                                   .images_per_s = row->one_gpu_images_per_s };
    const struct network_opts opts = { .image_size = 0, .n_classes = 0, .aux_head = false, .width_divisor = 0 };
    const struct workload *workload = NULL;
    struct network *network = NULL;
    enum rc rc;

    if (isnan(row->one_gpu_images_per_s))
        return rc_raise(RC_INVAL,
                        "%s:%d: model: %s has no profile; --profile %s=FILE (gradmark profile writes them) "
                        "would be right",
                        r->rows.path, row->line, row->model, row->model);
    if (workload_find(&workload, row->model) != RC_OK || !workload->network)
        return rc_raise(RC_INVAL,
                        "%s:%d: model: %s is no network of gradmark, and has no profile; --profile %s=FILE "
                        "would be right",
                        r->rows.path, row->line, row->model, row->model);
    snprintf(rate.model, sizeof rate.model, "%s", row->model);
    snprintf(rate.source, sizeof rate.source, "the table that is reproduced");
    TRY(network_open(&network, workload->network, &opts));
    TRY(published_profile(out, &rate, network));
out:
    network_close(&network);
    return rc;
}

static enum rc make_profile(struct profile **out, const struct reproduction *r, const struct published_row *row)
{
    char file[REPRODUCE_PATH_BYTES];
    bool is_given;
    enum rc rc;

    TRY(given_profile(file, sizeof file, &is_given, r->terms->profiles, row->model));
    if (!is_given)
        return derive(out, r, row);
    TRY(profile_load(out, file));
    if (!isnan(row->one_gpu_images_per_s))
        profile_scale(*out, row->one_gpu_images_per_s);
out:
    return rc;
}

/* Two rows of a model use one profile where they tell the same rate, or none. */
static bool is_same_rate(double a, double b)
{
    return (isnan(a) && isnan(b)) || !(a < b || a > b || isnan(a) || isnan(b));
}

enum rc reproduce_find_profile(size_t *out, struct reproduction *r, const struct published_row *row)
{
    struct used_profile *more;
    struct profile *p = NULL;
    enum rc rc = RC_OK;

    for (*out = 0; *out < r->n_profiles; ++*out)
        if (strcmp(r->profile[*out].model, row->model) == 0 &&
            is_same_rate(r->profile[*out].one_gpu_images_per_s, row->one_gpu_images_per_s))
            return RC_OK;
    TRY(make_profile(&p, r, row));
    more = realloc(r->profile, (r->n_profiles + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a profile");
    r->profile = more;
    more += r->n_profiles;
    *more = (struct used_profile){ .one_gpu_images_per_s = row->one_gpu_images_per_s,
                                   .images_per_s = p->batch / (1e-9 * (double)profile_step_ns(p)),
                                   .batch = p->batch,
                                   .n_tensors = (size_t)profile_n_tensors(p),
                                   .n_params = profile_n_params(p) };
    snprintf(more->model, sizeof more->model, "%s", row->model);
    snprintf(more->source, sizeof more->source, "%s", p->source);
    snprintf(more->path, sizeof more->path, "%s/profile-%zu.json", r->folder, r->n_profiles);
    TRY(profile_save(p, more->path));
    r->n_profiles++;
out:
    profile_close(&p);
    return rc;
}
