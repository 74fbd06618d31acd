/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - measured points to settings, settings to simulations, simulations to predictions. */
#include "harness/campaign/predict.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/campaign/prediction.h"
#include "harness/exchange/sync_mode.h"

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

struct step_times prediction_simulated(const struct prediction *p, const struct predicted_size *size,
                                       enum predict_variant variant)
{
    const struct simulation *s = &p->simulation[size->simulation + variant];

    return (struct step_times){ s->step_mean_s, s->compute_s };
}

struct step_times prediction_measured(const struct predicted_size *size)
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

double prediction_check_error(const struct predicted_setting *s)
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
