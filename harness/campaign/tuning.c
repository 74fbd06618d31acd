/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuning.c - finds the learning rate of each point before its launches (--tune-lr).
 *
 * Invariants
 *   U1  A trial is a launch of a point at a rate. All trials of a point see as many samples, and of a model as near to
 *       as many as whole steps allow: half of those that one worker alone sees in a launch, MIN_TRIAL_STEPS steps of
 *       each worker at least.
 *   U2  Each rate is tried from TUNING_SEEDS seeds, the same at all rates and points, and none of them that of a launch
 *       of the campaign: what a rate is chosen by is not what it is judged by.
 *   U3  Chosen is the rate with the least mean of the losses at the end; one at which a trial did not learn, or ended
 *       without a loss, is out. Where all are out, the point keeps the rate it had.
 *   U4  It costs TUNING_SEEDS trials of each rate and point that learns, and no others.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/text.h"
#include "harness/campaign/command_line.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { MIN_TRIAL_STEPS = 20, RATE_BYTES = 32 };

static bool is_tuned(const struct sweep *s, const struct point *p)
{
    return s->tuning.n_rates > 0 && point_learns(s, p) && !point_value(p, derived_option(DERIVED_LR));
}

/* --- which rates --- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static enum rc read_list(struct tuning *t, const char *list)
{
    const char *rest = list;
    char text[RATE_BYTES];
    double rate;

    while (text_next(&rest, text, sizeof text)) {
        if (!text_to_f64(text, &rate) || rate < 1e-12 || rate > 1e6)
            return rc_raise(RC_INVAL, "--tune-lr %s: not a learning rate from 1e-12 to 1e6; a list of them, or auto",
                            text);
        if (t->n_rates == MAX_TUNED_RATES)
            return rc_raise(RC_INVAL, "--tune-lr %s: more than %d rates", list, MAX_TUNED_RATES);
        t->rate[t->n_rates++] = rate;
    }
    qsort(t->rate, (size_t)t->n_rates, sizeof *t->rate, ascending);
    for (int i = 1; i < t->n_rates; i++)
        if (t->rate[i] == t->rate[i - 1])
            return rc_raise(RC_INVAL, "--tune-lr %s: %g is there twice", list, t->rate[i]);
    return RC_OK;
}

/* The rate that p has without tuning. */
static double untuned_rate(const struct sweep *s, const struct point *p)
{
    return s->train.lr > 0 ? s->train.lr : p->workload->default_lr;
}

static double rate_of(const struct sweep *s, const struct point *p, int i)
{
    return s->tuning.is_auto ? s->tuning.rate[i] * untuned_rate(s, p) : s->tuning.rate[i];
}

enum rc sweep_plan_tuning(struct sweep *s)
{
    static const double factor[] = { 0.25, 0.5, 1, 2, 4 };
    struct tuning *t = &s->tuning;
    size_t n_tuned = 0;
    enum rc rc = RC_OK;

    if (!s->tune_lr || !s->tune_lr[0])
        return RC_OK;
    t->is_auto = strcmp(s->tune_lr, "auto") == 0;
    if (t->is_auto) {
        memcpy(t->rate, factor, sizeof factor);
        t->n_rates = sizeof factor / sizeof *factor;
    } else {
        TRY(read_list(t, s->tune_lr));
        if (opt_given(sweep_train_group(s), 1, "lr"))
            FAIL(RC_INVAL, "--lr: --tune-lr %s says which rates are tried; --tune-lr auto tries some around --lr",
                 s->tune_lr);
    }
    for (size_t i = 0; i < s->campaign.n_points; i++)
        n_tuned += is_tuned(s, &s->campaign.point[i]);
    if (n_tuned == 0)
        FAIL(RC_INVAL, "--tune-lr %s: no point learns, so there is no best rate", s->tune_lr);
    t->trial = calloc(s->campaign.n_points, sizeof *t->trial);
    if (!t->trial)
        FAIL(RC_NOMEM, "no memory for the trials of %zu points", s->campaign.n_points);
    t->n_trials = n_tuned * (size_t)t->n_rates * TUNING_SEEDS;
out:
    return rc;
}

void sweep_tuning_free(struct sweep *s)
{
    free(s->tuning.trial);
    s->tuning.trial = NULL;
}

/* --- trials --- */

/* U1, U2 */
static struct launch_terms trial_terms(const struct sweep *s, const struct point *p, int rate, int seed)
{
    const uint64_t n_fair = p->n_steps / 2 / (uint64_t)p->n_workers;
    const uint64_t n_steps = n_fair > MIN_TRIAL_STEPS ? n_fair : MIN_TRIAL_STEPS;

    return (struct launch_terms){
        .seed = (s->train.seed + MAX_LAUNCHES + (uint64_t)seed) % (TRAIN_MAX_SEED + 1),
        .n_steps = n_steps < p->n_steps ? n_steps : p->n_steps,
        .lr = rate_of(s, p, rate),
    };
}

/* The summary in the records of a launch at path; removes path. RC_MISMATCH: there is none. */
static enum rc read_trial(double *loss, bool *did_not_learn, const char *path)
{
    FILE *from = fopen(path, "r");
    json_t *r = NULL;
    json_error_t error;
    bool has_summary = false;

    if (!from)
        return rc_raise(RC_MISMATCH, "%s: the trial left no records", path);
    while ((r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        const char *kind = json_string_value(json_object_get(r, "kind"));
        if (kind && strcmp(kind, "summary") == 0) {
            const json_t *last = json_object_get(r, "loss_last");
            const char *learned = json_string_value(json_object_get(r, "learned"));
            *loss = json_is_number(last) ? json_number_value(last) : NAN;
            *did_not_learn = learned && strcmp(learned, learned_word(LEARNED_NO)) == 0;
            has_summary = true;
        }
        json_decref(r);
    }
    fclose(from);
    (void)unlink(path);
    return has_summary ? RC_OK : rc_raise(RC_MISMATCH, "%s: the trial left no summary", path);
}

/* Mean over seeds; NaN: out (U3). */
static double trial_loss(const struct trial *t)
{
    double sum = 0;

    for (int k = 0; k < TUNING_SEEDS; k++)
        sum += t->did_not_learn[k] ? NAN : t->loss[k];
    return sum / TUNING_SEEDS;
}

/* U3. Index of the best rate; -1: all are out. */
static int best_rate(const struct trial *trial, int n_rates)
{
    int best = -1;

    for (int i = 0; i < n_rates; i++)
        if (isfinite(trial_loss(&trial[i])) && (best < 0 || trial_loss(&trial[i]) < trial_loss(&trial[best])))
            best = i;
    return best;
}

/* A record of each trial of point i, among those of the campaign's launches. */
static enum rc write_trials(const struct sweep *s, size_t i, int chosen)
{
    const struct point *p = &s->campaign.point[i];
    struct record *r = NULL;
    enum rc rc = RC_OK;

    for (int k = 0; k < s->tuning.n_rates * TUNING_SEEDS; k++) {
        const int rate = k / TUNING_SEEDS, seed = k % TUNING_SEEDS;
        const struct launch_terms terms = trial_terms(s, p, rate, seed);
        const struct trial *t = &s->tuning.trial[i][rate];
        TRY(record_open(&r, "tuning"));
        for (int a = 0; a < p->n_assigned; a++)
            record_text(r, p->assigned[a].option, p->assigned[a].value);
        record_f64(r, "learning_rate", terms.lr);
        record_u64(r, "seed", terms.seed);
        record_u64(r, "steps_count", terms.n_steps);
        record_f64(r, "loss_last", t->loss[seed]);
        record_bool(r, "did_not_learn", t->did_not_learn[seed]);
        record_bool(r, "is_chosen", rate == chosen);
        TRY(record_print(r, s->campaign.runs.stream));
        record_close(&r);
    }
out:
    record_close(&r);
    return rc;
}

static enum rc run_trial(struct sweep *s, struct world *w, size_t i, int rate, int seed, struct command_line *l)
{
    const struct point *p = &s->campaign.point[i];
    const struct launch_terms terms = trial_terms(s, p, rate, seed);
    struct trial *t = &s->tuning.trial[i][rate];
    char name[LAUNCH_NAME_BYTES], what[LAUNCH_NAME_BYTES + 64];
    const bool root = !w || w->rank == 0;
    enum rc rc;

    point_name(name, sizeof name, p);
    snprintf(what, sizeof what, "%s, trial at rate %.3g", name, terms.lr);
    if (root)
        progress_update(&s->progress, s->tuning.n_done, what, wait_clock_ns());
    TRY(launch_point(s, w, p, &terms, l));
    s->tuning.n_done++;
    if (root && !s->stopped)
        TRY(read_trial(&t->loss[seed], &t->did_not_learn[seed], s->launch_path));
out:
    return rc;
}

/* Rank 0 has seen the losses. */
static enum rc agree_on_rate(struct point *p, struct world *w)
{
    double *all = w ? calloc((size_t)w->n_ranks, sizeof *all) : NULL;
    enum rc rc = RC_OK;

    if (!w)
        return RC_OK;
    if (!all)
        return rc_raise(RC_NOMEM, "no memory for %d ranks", w->n_ranks);
    TRY(world_allgather(w, &p->tuned_lr, all, sizeof *all));
    p->tuned_lr = all[0];
out:
    free(all);
    return rc;
}

static enum rc tune_point(struct sweep *s, struct world *w, size_t i, struct command_line *l)
{
    struct point *p = &s->campaign.point[i];
    enum rc rc = RC_OK;

    for (int k = 0; k < s->tuning.n_rates * TUNING_SEEDS && !s->stopped; k++)
        TRY(run_trial(s, w, i, k / TUNING_SEEDS, k % TUNING_SEEDS, l));
    if (s->stopped)
        return RC_OK;
    if (!w || w->rank == 0) {
        const int chosen = best_rate(s->tuning.trial[i], s->tuning.n_rates);
        p->tuned_lr = chosen < 0 ? 0 : rate_of(s, p, chosen);
        TRY(write_trials(s, i, chosen));
    }
    TRY(agree_on_rate(p, w));
out:
    return rc;
}

enum rc sweep_tune(struct sweep *s, struct world *w)
{
    struct command_line *l = NULL;
    enum rc rc = RC_OK;

    if (s->tuning.n_rates == 0)
        return RC_OK;
    l = malloc(sizeof *l);
    if (!l)
        return rc_raise(RC_NOMEM, "no memory for a command line");
    if (!w)
        stop_catch();
    for (size_t i = 0; i < s->campaign.n_points && !s->stopped; i++)
        if (is_tuned(s, &s->campaign.point[i]))
            TRY(tune_point(s, w, i, l));
    s->started_ns = wait_clock_ns();
out:
    free(l);
    return rc;
}

/* --- what is told --- */

static void tell_point(const struct sweep *s, size_t i, FILE *to)
{
    const struct point *p = &s->campaign.point[i];
    const int n = s->tuning.n_rates, best = best_rate(s->tuning.trial[i], n);
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, p);
    if (best < 0)
        fprintf(to, "%s: at none of these rates it learned, %.3g is kept:", name, untuned_rate(s, p));
    else
        fprintf(to, "%s: learning rate %.3g%s, of", name, rate_of(s, p, best),
                best == 0 || best == n - 1 ? " (at the edge of what was tried)" : "");
    for (int k = 0; k < n; k++) {
        const double loss = trial_loss(&s->tuning.trial[i][k]);
        fprintf(to, "%s %.3g (", k > 0 ? "," : "", rate_of(s, p, k));
        if (isfinite(loss))
            fprintf(to, "loss %.4f)", loss);
        else
            fprintf(to, "did not learn)");
    }
    fprintf(to, "\n");
}

void sweep_tell_tuning(const struct sweep *s, FILE *to)
{
    if (s->tuning.n_done < s->tuning.n_trials || s->tuning.n_trials == 0)
        return;
    fprintf(to,
            "\nrates chosen before, by the least mean loss at the end of %d short launches, from seeds of their own:\n",
            TUNING_SEEDS);
    for (size_t i = 0; i < s->campaign.n_points; i++)
        if (is_tuned(s, &s->campaign.point[i]))
            tell_point(s, i, to);
}
