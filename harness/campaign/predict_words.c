/* SPDX-License-Identifier: Apache-2.0 */
/* predict_words.c - a measured launch's options as those of its simulation. */
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/base/text.h"
#include "harness/campaign/predict.h"
#include "harness/campaign/sweep.h"
#include "harness/report/digest.h"
#include "harness/train/train.h"
#include "models/replay/profile.h"
#include "models/workload.h"

enum { PATH_BYTES = 4096 };
enum { MAX_STEPS = 100, MIN_STEPS = 5, MAX_WORKER_STEPS = 4000 }; /* of a simulation */

/* As many as the launches had, as far as it takes no longer to say the same. */
static int steps_count(const struct point *like, int n_workers)
{
    const int n_affordable = MAX_WORKER_STEPS / n_workers;
    const int n_most = n_affordable > MAX_STEPS ? MAX_STEPS : n_affordable < MIN_STEPS ? MIN_STEPS : n_affordable;

    return like->n_steps > 0 && like->n_steps < (uint64_t)n_most ? (int)like->n_steps : n_most;
}

/* What a simulation is given otherwise, or what means nothing in virtual time. */
static bool is_of_the_machine(const char *name)
{
    static const char *const machine_option[] = { "world",         "transport",    "interface", "cluster",
                                                  "cluster-set",   "compute",      "threads",   "bind",
                                                  "wait",          "profile",      "steps",     "target-loss",
                                                  "stall-abort-s", "share-device", "precision", "data",
                                                  "eval-samples" };

    for (size_t i = 0; i < sizeof machine_option / sizeof *machine_option; i++)
        if (strcmp(machine_option[i], name) == 0)
            return true;
    return false;
}

/* A part of --global-batch: it follows from the workers. */
static bool is_a_part(const char *name, const json_t *manifest)
{
    return strcmp(name, "batch") == 0 && json_is_integer(recorded_option(manifest, "global-batch"));
}

/* The options of how it trains and exchanges, as far as they are no defaults. */
static enum rc add_options(struct simulation *s, const json_t *manifest, const struct module *mode)
{
    char value[SIMULATION_WORD_BYTES];
    enum rc rc = RC_OK;

    for (const struct opt *o = train_opt_table; o->type != OPT_END; o++) {
        const json_t *given = recorded_option(manifest, o->name);
        recorded_text(value, sizeof value, given);
        if (!given || json_is_null(given) || !mode_takes(mode, o->name) || is_of_the_machine(o->name) ||
            is_a_part(o->name, manifest) || strcmp(value, "-") == 0 || strcmp(value, opt_default(o)) == 0)
            continue;
        if (o->type == OPT_BOOL)
            TRY(simulation_add(s, "--%s%s", json_is_true(given) ? "" : "no-", o->name));
        else
            TRY(simulation_add(s, "--%s=%s", o->name, value));
    }
out:
    return rc;
}

/* Where the file lies that the runs name: beside them, in one of two folders above, from which they may have been
 * started, or in the folder of this process. RC_INVAL: nowhere. */
static enum rc find_profile(char out[PATH_BYTES], const struct prediction *p, const char *named)
{
    static const char *const above[] = { "", "../", "../../" };
    char runs[PATH_BYTES];
    struct stat about;
    const char *rest = p->terms->runs;

    if (!text_next(&rest, runs, sizeof runs))
        runs[0] = '\0';
    if (stat(runs, &about) != 0 || !S_ISDIR(about.st_mode)) { /* of a file its folder */
        char *const slash = strrchr(runs, '/');
        if (slash)
            *slash = '\0';
        else
            memcpy(runs, ".", sizeof ".");
    }
    for (size_t i = 0; named[0] != '/' && i < sizeof above / sizeof *above; i++) {
        snprintf(out, PATH_BYTES, "%.2000s/%s%.1500s", runs, above[i], named);
        if (access(out, F_OK) == 0)
            return RC_OK;
    }
    snprintf(out, PATH_BYTES, "%s", named);
    if (access(out, F_OK) == 0)
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "--from %.200s: they name the profile %.200s, which is neither beside them nor in this folder; "
                    "--profile FILE names it",
                    p->terms->runs, named);
}

/* Where a profile comes from: of --profile, or found by the name that the runs tell. */
static enum rc refuse_profile(const struct prediction *p, const char *path, const char *key, const char *is,
                              const char *was)
{
    if (p->terms->profile[0])
        return rc_raise(RC_INVAL, "--profile %.200s: its %s is %.150s, in the runs %.150s; use the profile of the runs",
                        path, key, is, was);
    return rc_raise(RC_INVAL,
                    "--from %.200s: the profile there, %.200s, is not the one that they used: its %s is %.150s, in the "
                    "runs %.150s; --profile FILE names the right one",
                    p->terms->runs, path, key, is, was);
}

/* Is the file that is there under the name the one that the runs read? Older records do not tell it. */
static enum rc check_contents(const struct prediction *p, const char *path, const json_t *manifest)
{
    const char *was = json_string_value(json_object_get(json_object_get(manifest, DIGEST_KEY), "profile"));
    char is[DIGEST_BYTES];
    enum rc rc = RC_OK;

    if (p->terms->profile[0] || !was)
        return RC_OK;
    TRY(digest_of(is, path));
    if (strcmp(is, was) != 0)
        TRY(refuse_profile(p, path, "SHA-256", is, was));
out:
    return rc;
}

/* Is it a profile of what the runs trained? */
static enum rc check_profile(const struct prediction *p, const char *path, const json_t *manifest)
{
    const json_t *was = json_object_get(manifest, "profile"), *n_params = json_object_get(manifest, "params_count");
    struct profile *profile = NULL;
    char is[PROFILE_SOURCE_BYTES], then[PROFILE_SOURCE_BYTES];
    enum rc rc;

    TRY(file_of_option(profile_load(&profile, path), "profile"));
    const struct {
        const char *key, *text;
        double number; /* of those without text */
    } row[] = { { "model", profile->model, 0 },
                { "params_count", NULL, (double)profile_n_params(profile) },
                { "source", profile->source, 0 },
                { "device", profile->device, 0 },
                { "precision", profile->precision, 0 },
                { "batch_count", NULL, profile->batch },
                { "image_size_px", NULL, profile->image_size } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const json_t *value = strcmp(row[i].key, "params_count") == 0 ? n_params : json_object_get(was, row[i].key);
        if (!value || json_is_null(value))
            continue;
        if (row[i].text)
            snprintf(is, sizeof is, "%s", row[i].text[0] ? row[i].text : "-");
        else
            snprintf(is, sizeof is, "%.0f", row[i].number);
        recorded_text(then, sizeof then, value);
        if (strcmp(is, then) != 0)
            TRY(refuse_profile(p, path, row[i].key, is, then));
    }
    TRY(check_contents(p, path, manifest));
out:
    profile_close(&profile);
    return rc;
}

static enum rc add_profile(struct simulation *s, const struct prediction *p, const json_t *manifest)
{
    const char *profile = json_string_value(recorded_option(manifest, "profile"));
    char path[PATH_BYTES];
    enum rc rc = RC_OK;

    if (p->terms->profile[0])
        profile = p->terms->profile;
    if (!profile || !profile[0])
        return RC_OK;
    if (!p->terms->profile[0]) {
        TRY(find_profile(path, p, profile));
        profile = path;
    }
    TRY(check_profile(p, profile, manifest));
    TRY(simulation_add(s, "--profile=%s", profile));
    /* The noise that was calibrated is that of computing; a profile is waited for. */
    TRY(simulation_add(s, "--cluster-set=jitter=none,jitter_ratio=0"));
out:
    return rc;
}

static double link_factor(const struct prediction *p, enum predict_variant variant)
{
    return variant == VARIANT_FASTER   ? 1 + p->residual_ratio
           : variant == VARIANT_SLOWER ? 1 / (1 + p->residual_ratio)
                                       : 1;
}

enum rc prediction_add_words(struct simulation *s, const struct prediction *p, const struct recorded_point *about,
                             const struct point *like, int n_workers, enum predict_variant variant)
{
    const double link_bits_per_s = 8 * p->cluster.link_bytes_per_s * link_factor(p, variant);
    enum rc rc;

    s->n_steps = steps_count(like, n_workers);
    s->weight = n_workers;
    TRY(simulation_add(s, "--world=sim"));
    TRY(simulation_add(s, "--compute=hollow"));
    TRY(simulation_add(s, "--model=%s", like->workload->module.name));
    TRY(simulation_add(s, "--mode=%s", like->mode->name));
    TRY(simulation_add(s, "--workers=%d", n_workers));
    TRY(simulation_add(s, "--cluster=%s", p->terms->cluster));
    if (variant != VARIANT_AS_MEASURED)
        TRY(simulation_add(s, "--cluster-set=link_bits_per_s=%.17g", link_bits_per_s));
    TRY(simulation_add(s, "--steps=%d", s->n_steps));
    TRY(simulation_add(s, "--record-every=%d", s->n_steps));
    TRY(simulation_add(s, "--stall-abort-s=86400"));
    TRY(add_profile(s, p, about->manifest));
    TRY(add_options(s, about->manifest, like->mode));
    snprintf(s->name, sizeof s->name, "%s %s, %d workers", like->workload->module.name, like->mode->name, n_workers);
out:
    return rc;
}
