/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - step times with more workers than were measured, and how they are told; see predict.h. */
#include "harness/campaign/predict.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/bench/calibration.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/sweep.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/exchange/sync_mode.h"
#include "harness/report/digest.h"
#include "harness/report/html.h"
#include "harness/report/record.h"
#include "harness/report/table.h"
#include "harness/train/train.h"
#include "models/replay/profile.h"
#include "models/workload.h"

/*
 * measured points to settings, settings to simulations, simulations to predictions.
 */

/* --- the options by which a measured launch is simulated --- */

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

/* Add the options by which the launches of a point are simulated, with n_workers workers.
 * RC_INVAL: one is too long. */
static enum rc prediction_add_words(struct simulation *s, const struct prediction *p,
                                    const struct recorded_point *about, const struct point *like, int n_workers,
                                    enum predict_variant variant)
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

/* --- what was measured --- */

/* Y5 */
static bool is_cut(const struct point *point)
{
    return point->n_launches > 0 && (point->n_stages > 1 || point->n_shards > 1);
}

/* A size that says something of an exchange, of ranks that have all of a network each. */
static bool is_usable(const struct point *point)
{
    return point->n_launches > 0 && mode_exchanges(point->mode) && point->n_workers + point->n_servers > 1 &&
           !is_cut(point);
}

static bool is_same_setting(const struct point *a, const struct point *b)
{
    return a->mode == b->mode && a->n_servers == b->n_servers && point_comparable(a, b);
}

/* Half the 95 % interval of the mean over launches, as a logarithm. */
static double half_interval_log(const struct point *point)
{
    const struct interval i = point_interval(point, offsetof(struct launch, step_mean_s));

    return isnan(i.high) ? 0 : log(i.high / i.mean);
}

static enum rc add_measured(struct predicted_setting *s, const struct prediction *p, const struct point *point)
{
    size_t at = s->n_measured;
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, point);
    if (s->n_measured == PREDICT_MAX_SIZES)
        return rc_raise(RC_INVAL, "%s: more than %d sizes of one setting", p->terms->runs, (int)PREDICT_MAX_SIZES);
    if (!p->runs.campaign.is_virtual && point->n_launches < 2)
        return rc_raise(RC_INVAL, "%s: %s: was launched once; two launches and more would tell how much they vary",
                        p->terms->runs, name);
    for (; at > 0 && s->size[at - 1].n_workers > point->n_workers; at--)
        s->size[at] = s->size[at - 1];
    s->size[at] = (struct predicted_size){ .point = point,
                                           .n_workers = point->n_workers,
                                           .measured_log = half_interval_log(point) };
    s->n_sizes = ++s->n_measured;
    return RC_OK;
}

/* The setting of a point, made where there is none. */
static enum rc find_setting(struct predicted_setting **out, struct prediction *p, const struct point *point)
{
    struct predicted_setting *more;
    char setting[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < p->n_settings; i++)
        if (is_same_setting(p->setting[i].size[0].point, point)) {
            *out = &p->setting[i];
            return RC_OK;
        }
    more = realloc(p->setting, (p->n_settings + 1) * sizeof *more);
    if (!more)
        return rc_raise(RC_NOMEM, "no memory for a setting");
    p->setting = more;
    *out = &more[p->n_settings++];
    **out = (struct predicted_setting){ .n_measured = 0 };
    point_setting(setting, sizeof setting, point, ", ", " ");
    if (point->n_servers > 0)
        snprintf((*out)->name, sizeof(*out)->name, "%.400s, %s, %d server%s", setting, point->mode->name,
                 point->n_servers, point->n_servers == 1 ? "" : "s");
    else
        snprintf((*out)->name, sizeof(*out)->name, "%.400s, %s", setting, point->mode->name);
    return RC_OK;
}

static enum rc check_setting(const struct prediction *p, const struct predicted_setting *s)
{
    if (s->n_measured < 2)
        return rc_raise(RC_INVAL,
                        "%s: %s: one size with two ranks and more, %d workers; use two, as the largest is "
                        "kept back to check the prediction by",
                        p->terms->runs, s->name, s->size[0].n_workers);
    return RC_OK;
}

static enum rc find_settings(struct prediction *p)
{
    const struct campaign *c = &p->runs.campaign;
    struct predicted_setting *s = NULL;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < c->n_points; i++) {
        p->n_cut += is_cut(&c->point[i]);
        if (is_usable(&c->point[i])) {
            TRY(find_setting(&s, p, &c->point[i]));
            TRY(add_measured(s, p, &c->point[i]));
        }
    }
    if (p->n_settings == 0 && p->n_cut > 0)
        FAIL(RC_INVAL,
             "%s: its launches of two ranks and more cut the model into stages or shards, which is not predicted; "
             "gradmark simulate --layout WxSxK tells what a layout takes",
             p->terms->runs);
    if (p->n_settings == 0)
        FAIL(RC_INVAL, "%s: no launches of two ranks and more that exchange something", p->terms->runs);
    for (size_t i = 0; i < p->n_settings; i++)
        TRY(check_setting(p, &p->setting[i]));
    if (!c->is_virtual && json_array_size(p->runs.hosts) < 2)
        FAIL(RC_INVAL, "%s: all ranks ran on one host; what links between hosts take is not in it", p->terms->runs);
out:
    return rc;
}

/* --- what is asked for --- */

static enum rc add_target(struct predicted_setting *s, const struct prediction *p, int n_workers)
{
    const int largest = s->size[s->n_measured - 1].n_workers;

    if (n_workers <= largest)
        return rc_raise(RC_INVAL, "--to %d: %d workers were measured (%s); use more", n_workers, largest, s->name);
    if (s->n_sizes == PREDICT_MAX_SIZES)
        return rc_raise(RC_INVAL, "--to %s: with those measured more than %d sizes", p->terms->to,
                        (int)PREDICT_MAX_SIZES);
    s->size[s->n_sizes++] = (struct predicted_size){ .n_workers = n_workers };
    return file_of_option(cluster_check(&p->cluster, n_workers, n_workers + s->size[0].point->n_servers), "to");
}

static enum rc add_targets(struct prediction *p)
{
    const char *rest = p->terms->to;
    char word[32];
    uint64_t n = 0;
    enum rc rc = RC_OK;

    while (text_next(&rest, word, sizeof word)) {
        if (!text_to_u64(word, &n) || n < 1 || n > CLUSTER_MAX_RANKS)
            FAIL(RC_INVAL, "--to %s: use a whole number from 1 to %d", word, (int)CLUSTER_MAX_RANKS);
        for (size_t i = 0; i < p->n_settings; i++)
            TRY(add_target(&p->setting[i], p, (int)n));
    }
out:
    return rc;
}

/* --- simulations --- */

static enum rc plan_size(struct prediction *p, const struct predicted_setting *s, struct predicted_size *size)
{
    const struct point *like = s->size[s->n_measured - 1].point;
    const struct recorded_point *about = &p->runs.point[like - p->runs.campaign.point];
    enum rc rc = RC_OK;

    size->simulation = p->n_simulations;
    for (int v = 0; v < N_VARIANTS; v++) {
        struct simulation *to = &p->simulation[p->n_simulations++];
        TRY(simulation_open(to));
        TRY(prediction_add_words(to, p, about, like, size->n_workers, (enum predict_variant)v));
    }
out:
    return rc;
}

static enum rc plan(struct prediction *p)
{
    size_t n = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < p->n_settings; i++)
        n += N_VARIANTS * p->setting[i].n_sizes;
    p->simulation = calloc(n, sizeof *p->simulation);
    if (!p->simulation)
        FAIL(RC_NOMEM, "no memory for %zu simulations", n);
    for (size_t i = 0; i < p->n_settings; i++)
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            TRY(plan_size(p, &p->setting[i], &p->setting[i].size[k]));
out:
    return rc;
}

static enum rc load_cluster(struct prediction *p)
{
    enum rc rc;

    p->sources = calloc(1, sizeof *p->sources);
    if (!p->sources)
        return rc_raise(RC_NOMEM, "no memory for the sources of a cluster");
    TRY(file_of_option(cluster_find(&p->cluster, p->sources, p->terms->cluster), "cluster"));
    p->residual_ratio = calibration_rate_ratio(p->sources);
    if (isnan(p->residual_ratio))
        FAIL(RC_INVAL,
             "--cluster %s: link_bits_per_s tells no residual of a measurement; use a file that gradmark calibrate "
             "wrote on "
             "two hosts and more",
             p->terms->cluster);
out:
    return rc;
}

enum rc prediction_open(struct prediction *out, const struct predict_terms *terms)
{
    struct prediction p = { .terms = terms };
    enum rc rc;

    TRY(file_of_option(recorded_open_runs(&p.runs, terms->runs), "from"));
    TRY(load_cluster(&p));
    TRY(find_settings(&p));
    TRY(add_targets(&p));
    TRY(plan(&p));
    *out = p;
    p = (struct prediction){ .terms = NULL };
out:
    prediction_close(&p);
    return rc;
}

void prediction_close(struct prediction *p)
{
    for (size_t i = 0; i < p->n_simulations; i++)
        simulation_close(&p->simulation[i]);
    free(p->simulation);
    free(p->setting);
    free(p->sources);
    recorded_close(&p->runs);
    *p = (struct prediction){ .terms = NULL };
}

/* --- predictions --- */

static struct step_times prediction_simulated(const struct prediction *p, const struct predicted_size *size,
                                              enum predict_variant variant)
{
    const struct simulation *s = &p->simulation[size->simulation + variant];

    return (struct step_times){ s->step_mean_s, s->compute_s };
}

/* Means over launches. */
static struct step_times prediction_measured(const struct predicted_size *size)
{
    return (struct step_times){ point_mean(size->point, offsetof(struct launch, step_mean_s)),
                                point_mean(size->point, offsetof(struct launch, compute_s)) };
}

/* size by the first n_used measured ones. */
static struct extrapolation by_variant(const struct prediction *p, const struct predicted_setting *s, size_t n_used,
                                       const struct predicted_size *size, enum predict_variant variant)
{
    struct size_times used[PREDICT_MAX_SIZES];

    for (size_t i = 0; i < n_used; i++)
        used[i] = (struct size_times){ s->size[i].n_workers, prediction_measured(&s->size[i]),
                                       prediction_simulated(p, &s->size[i], variant) };
    return extrapolate(used, n_used, &(struct size_target){ size->n_workers, prediction_simulated(p, size, variant) });
}

void prediction_of_size(const struct prediction *p, const struct predicted_setting *s, size_t n_used,
                        struct predicted_size *size)
{
    size->is_predicted = true;
    size->by = by_variant(p, s, n_used, size, VARIANT_AS_MEASURED);
    size->calibration_log = 0;
    for (int v = VARIANT_FASTER; v < N_VARIANTS; v++) {
        const double other_s = by_variant(p, s, n_used, size, (enum predict_variant)v).step_s;
        size->calibration_log = fmax(size->calibration_log, fabs(log(other_s / size->by.step_s)));
    }
    size->band_log = extrapolate_band_log(&size->by, s->size[n_used - 1].measured_log, size->calibration_log);
}

/* Predicted over measured of the check, less 1. */
static double prediction_check_error(const struct predicted_setting *s)
{
    const struct predicted_size *last = &s->size[s->n_measured - 1];

    return last->by.step_s / prediction_measured(last).step_s - 1;
}

enum rc prediction_run(struct prediction *p, const struct simulations_env *env)
{
    enum rc rc;

    TRY(simulations_run(p->simulation, p->n_simulations, env));
    TRY(simulations_check(p->simulation, p->n_simulations)); /* a size less is another prediction */
    for (size_t i = 0; i < p->n_settings; i++) {
        struct predicted_setting *s = &p->setting[i];
        prediction_of_size(p, s, s->n_measured - 1, &s->size[s->n_measured - 1]); /* Y1 */
        for (size_t k = s->n_measured; k < s->n_sizes; k++)
            prediction_of_size(p, s, s->n_measured, &s->size[k]);
    }
out:
    return rc;
}

static double exchange_s(struct step_times t)
{
    return t.step_s - t.compute_s;
}

static bool has_parts(struct step_times simulated)
{
    return exchange_s(simulated) >= EXTRAPOLATE_LEAST_RATIO * simulated.step_s && simulated.compute_s > 0;
}

static struct extrapolation by_size(const struct size_times *of, struct step_times target, bool is_whole)
{
    const double whole_ratio = of->measured.step_s / of->simulated.step_s;
    struct extrapolation x = { .is_whole = is_whole, .compute_ratio = whole_ratio, .exchange_ratio = whole_ratio };

    if (!is_whole) {
        x.compute_ratio = of->measured.compute_s / of->simulated.compute_s;
        x.exchange_ratio = exchange_s(of->measured) / exchange_s(of->simulated);
    }
    x.step_s = x.compute_ratio * target.compute_s + x.exchange_ratio * exchange_s(target);
    return x;
}

/* X2: how many times as far the target is as this other size, at least once. */
static double n_distances(int other, int largest, int target)
{
    return fmax(1, log((double)target / largest) / log((double)largest / other));
}

struct extrapolation extrapolate(const struct size_times *used, size_t n, const struct size_target *target)
{
    const struct size_times *last = &used[n - 1];
    bool is_whole = false;
    struct extrapolation x;

    assert(n >= 1);
    for (size_t i = 0; i < n; i++)
        is_whole = is_whole || !has_parts(used[i].simulated);
    x = by_size(last, target->simulated, is_whole);
    for (size_t i = 0; i + 1 < n; i++) {
        const double other_s = by_size(&used[i], target->simulated, is_whole).step_s;
        x.spread_log = fmax(x.spread_log, fabs(log(other_s / x.step_s)) *
                                              n_distances(used[i].n_workers, last->n_workers, target->n_workers));
    }
    x.drift_log = EXTRAPOLATE_DRIFT_RATIO * fabs(log(x.step_s / target->simulated.step_s)) *
                  log2((double)target->n_workers / last->n_workers);
    return x;
}

double extrapolate_band_log(const struct extrapolation *x, double launches_log, double calibration_log)
{
    return sqrt(x->spread_log * x->spread_log + x->drift_log * x->drift_log + launches_log * launches_log +
                calibration_log * calibration_log);
}

/*
 * predictions as a table, in words, as records and as a page.
 */

static double low_s(const struct predicted_size *size)
{
    return size->by.step_s * exp(-size->band_log);
}

static double high_s(const struct predicted_size *size)
{
    return size->by.step_s * exp(size->band_log);
}

static void seconds_cell(struct table *t, bool is_known, double seconds)
{
    is_known ? table_cell(t, "%.4g", 1e3 * seconds) : table_cell(t, "-");
}

static void size_cells(struct table *t, const struct prediction *p, const struct predicted_setting *s,
                       const struct predicted_size *size)
{
    const double measured_s = size->point ? prediction_measured(size).step_s : NAN;
    const double error_percent = round(1000 * (size->by.step_s / measured_s - 1)) / 10 + 0.0; /* -0 becomes 0 */

    table_cell(t, "%s", s->name);
    table_cell(t, "%d", size->n_workers);
    seconds_cell(t, size->point != NULL, measured_s);
    seconds_cell(t, true, prediction_simulated(p, size, VARIANT_AS_MEASURED).step_s);
    seconds_cell(t, size->is_predicted, size->by.step_s);
    size->is_predicted ? table_cell(t, "%.4g to %.4g", 1e3 * low_s(size), 1e3 * high_s(size)) : table_cell(t, "-");
    size->is_predicted && size->point ? table_cell(t, "%+.1f %%", error_percent) : table_cell(t, "-");
}

static void size_row(struct table *t, const struct prediction *p, const struct predicted_setting *s,
                     const struct predicted_size *size)
{
    size_cells(t, p, s, size);
    table_cell(t, "%s", !size->point ? "" : size->is_predicted ? "check: by the smaller ones" : "measured");
}

static struct table *open_table(const struct prediction *p)
{
    static const struct column column[] = { { "setting", ALIGN_LEFT },        { "workers", ALIGN_RIGHT },
                                            { "measured, ms", ALIGN_RIGHT },  { "simulated, ms", ALIGN_RIGHT },
                                            { "predicted, ms", ALIGN_RIGHT }, { "band, ms", ALIGN_RIGHT },
                                            { "error", ALIGN_RIGHT },         { "", ALIGN_LEFT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (size_t i = 0; i < p->n_settings; i++) {
        if (i > 0)
            table_rule(t);
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            size_row(t, p, &p->setting[i], &p->setting[i].size[k]);
    }
    return t;
}

/* What the figures are, a line each. The caller frees. has_checks: also how far off each check was. */
static char *notes(const struct prediction *p, bool has_checks)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(&p->cluster, key);
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    if (!to)
        return NULL;
    fprintf(to, "step: the mean of a worker; simulated: on %s, as its links and processors were measured\n",
            p->terms->cluster);
    if (p->n_cut > 0)
        fprintf(to,
                "left out: %zu point%s with stages or shards; gradmark simulate --layout WxSxK tells what a layout "
                "takes\n",
                p->n_cut, p->n_cut == 1 ? "" : "s");
    for (size_t i = 0; i < p->n_settings; i++) {
        const struct predicted_setting *s = &p->setting[i];
        const struct predicted_size *check = &s->size[s->n_measured - 1], *last = &s->size[s->n_sizes - 1];
        if (has_checks)
            fprintf(to, "%s: with %d workers the prediction is %.1f %% off, made from the %zu smaller size%s alone\n",
                    s->name, check->n_workers, 100 * fabs(prediction_check_error(s)), s->n_measured - 1,
                    s->n_measured == 2 ? "" : "s");
        if (last->by.is_whole)
            fprintf(to, "%s: with %d workers measured steps take %.3f times the simulated ones\n", s->name,
                    check->n_workers, last->by.exchange_ratio);
        else
            fprintf(to,
                    "%s: with %d workers computing takes %.3f times as long as simulated, what is exposed of the "
                    "exchange %.3f times\n",
                    s->name, check->n_workers, last->by.compute_ratio, last->by.exchange_ratio);
    }
    fprintf(
        to,
        "predicted: the simulated parts times these ratios. band: from four independent parts: the spread between "
        "sizes (at "
        "as many doublings); a quarter of what steps took longer than simulated, for every doubling of workers "
        "(assumed); the 95 %% interval over launches; and links whose rate is %.1f %% off, the largest residual of the "
        "calibration's fit of long messages. Assumed values of the cluster are not in it\n",
        100 * p->residual_ratio);
    fprintf(to, "assumed of the cluster:");
    for (size_t i = 0; i < n_assumed; i++)
        fprintf(to, "%s %s", i > 0 ? "," : "", cluster_keys[key[i]].name);
    fputc('\n', to);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

enum rc prediction_print(const struct prediction *p, FILE *to)
{
    char *text = notes(p, true);
    enum rc rc = RC_OK;

    if (!text)
        FAIL(RC_NOMEM, "no memory for what predictions are");
    TRY(table_finish(open_table(p), to));
    fputs(text, to);
    TRY(output_flush(to));
out:
    free(text);
    return rc;
}

/* --- on a terminal --- */

enum { MOST_ANSWERED = 2 /* settings */ };
static const double WIDE_RATIO = 1.5; /* of the ends of a band */

/* What one setting takes with the most workers asked for, and how far off the check was. */
static void tell_setting(const struct predicted_setting *s, FILE *to)
{
    const struct predicted_size *check = &s->size[s->n_measured - 1], *last = &s->size[s->n_sizes - 1];

    fprintf(to, "%s: with %d workers a step takes %.4g ms (%.4g to %.4g); with %d it takes %.4g, measured.\n", s->name,
            last->n_workers, 1e3 * last->by.step_s, 1e3 * low_s(last), 1e3 * high_s(last), check->n_workers,
            1e3 * prediction_measured(check).step_s);
    fprintf(to, "  Check: with %d workers the prediction is %.1f %% off, made from the %zu smaller size%s alone.",
            check->n_workers, 100 * fabs(prediction_check_error(s)), s->n_measured - 1, s->n_measured == 2 ? "" : "s");
    if (high_s(last) / low_s(last) > WIDE_RATIO)
        fprintf(to, " The band is wide: measure more launches, or more numbers of workers.");
    fputc('\n', to);
}

static enum rc print_short_table(const struct prediction *p, FILE *to)
{
    static const struct column column[] = { { "setting", ALIGN_LEFT },       { "workers", ALIGN_RIGHT },
                                            { "measured ms", ALIGN_RIGHT },  { "simulated ms", ALIGN_RIGHT },
                                            { "predicted ms", ALIGN_RIGHT }, { "band, ms", ALIGN_RIGHT },
                                            { "error", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (size_t i = 0; i < p->n_settings; i++) {
        if (i > 0)
            table_rule(t);
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            size_cells(t, p, &p->setting[i], &p->setting[i].size[k]);
    }
    return table_finish(t, to);
}

enum rc prediction_print_answer(const struct prediction *p, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    for (size_t i = 0; i < p->n_settings && i < MOST_ANSWERED; i++)
        tell_setting(&p->setting[i], text.lines);
    if (p->n_settings > MOST_ANSWERED)
        fprintf(text.lines, "%zu more settings are in the table.\n", p->n_settings - MOST_ANSWERED);
    calibration_tell_doubt(p->sources, p->terms->cluster, text.lines);
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(print_short_table(p, to));
    TRY(output_flush(to));
out:
    return rc;
}

enum rc prediction_print_rest(const struct prediction *p, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    char *about = notes(p, p->n_settings > MOST_ANSWERED);
    enum rc rc = RC_OK;

    if (!about)
        FAIL(RC_NOMEM, "no memory for what predictions are");
    TRY(terminal_text_open(&text));
    fprintf(text.lines, "\n%s", about);
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    free(about);
    return rc;
}

/* --- records --- */

static enum rc write_size(struct report *to, const struct prediction *p, const struct predicted_setting *s,
                          const struct predicted_size *size)
{
    const struct point *like = s->size[0].point;
    const struct step_times simulated = prediction_simulated(p, size, VARIANT_AS_MEASURED);
    const struct step_times measured = size->point ? prediction_measured(size) : (struct step_times){ NAN, NAN };
    const double none = NAN;
    struct record *r = report_begin(to, !size->point ? "prediction" : size->is_predicted ? "check" : "size");

    record_text(r, "setting", s->name);
    record_text(r, "model", like->workload->module.name);
    record_text(r, "mode", like->mode->name);
    record_i64(r, "workers_count", size->n_workers);
    record_i64(r, "servers_count", like->n_servers);
    record_u64(r, "launches_count", size->point ? size->point->n_launches : 0);
    record_f64(r, "measured_step_s", measured.step_s);
    record_f64(r, "measured_compute_s", measured.compute_s);
    record_f64(r, "simulated_step_s", simulated.step_s);
    record_f64(r, "simulated_compute_s", simulated.compute_s);
    record_f64(r, "predicted_step_s", size->is_predicted ? size->by.step_s : none);
    record_f64(r, "low_step_s", size->is_predicted ? low_s(size) : none);
    record_f64(r, "high_step_s", size->is_predicted ? high_s(size) : none);
    record_f64(r, "error_ratio", size->is_predicted && size->point ? prediction_check_error(s) : none);
    record_f64(r, "compute_ratio", size->is_predicted ? size->by.compute_ratio : none);
    record_f64(r, "exchange_ratio", size->is_predicted ? size->by.exchange_ratio : none);
    record_f64(r, "spread_log", size->is_predicted ? size->by.spread_log : none);
    record_f64(r, "drift_log", size->is_predicted ? size->by.drift_log : none);
    record_f64(r, "calibration_log", size->is_predicted ? size->calibration_log : none);
    record_f64(r, "launches_log", size->measured_log);
    return report_end(to);
}

enum rc prediction_write(const struct prediction *p, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < p->n_settings; i++)
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            TRY(write_size(to, p, &p->setting[i], &p->setting[i].size[k]));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/* --- page --- */

enum rc prediction_page(const struct prediction *p, const char *path)
{
    struct html page = { .file.stream = NULL };
    char *text = notes(p, true);
    FILE *to;
    enum rc rc = RC_OK;

    if (!text)
        FAIL(RC_NOMEM, "no memory for what predictions are");
    TRY(html_open(&page, path, p->runs.name));
    to = page.file.stream;
    html_element(to, "p", NULL,
                 "Steps of more workers than were measured, predicted by simulation on the cluster as calibrated.");
    TRY(html_table_finish(to, open_table(p), "measured, simulated and predicted steps"));
    html_lines(to, NULL, text);
    html_element(to, "h2", NULL, "The cluster");
    fputs("<ul>\n", to);
    for (int k = 0; k < CLUSTER_N_KEYS; k++) {
        char value[64];
        cluster_key_format(&p->cluster, k, value, sizeof value);
        if (cluster_key_matters(&p->cluster, k))
            html_element(to, "li", NULL, "%s = %s%s%s: %s", cluster_keys[k].name, value,
                         cluster_keys[k].unit[0] ? " " : "", cluster_keys[k].unit, p->sources->text[k]);
    }
    fputs("</ul>\n", to);
out:
    rc = html_finish(&page, rc);
    free(text);
    return rc;
}
