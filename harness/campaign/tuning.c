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
 *       without a loss, is out. Where all are out, the point keeps the rate it had, and is launched with it.
 *   U4  It costs TUNING_SEEDS trials of each rate and point that learns, and no others but those that failed.
 *   U5  A trial that fails, or leaves no summary, is made again; a rate of which max_failures trials failed is out too,
 *       and its other seeds are not tried. It ends nothing else: the point is given up by its launches alone.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/command_line.h"
#include "harness/measure/sorted.h"
#include "harness/report/record.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { MIN_TRIAL_STEPS = 20, RATE_BYTES = 32 };

static bool is_tuned(const struct sweep *s, const struct point *p)
{
    return s->tuning.n_rates > 0 && point_learns(s, p) && !point_value(p, derived_option(DERIVED_LR));
}

/* --- which rates --- */

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
    sorted_make(t->rate, (size_t)t->n_rates);
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

/* How many of its rounds have the samples of one round of all workers: W under weak scaling; under strong scaling a
 * round of one worker alone has as many. */
static uint64_t n_rounds_alone(const struct sweep *s, const struct point *p)
{
    return sweep_global_batch(s, p) > 0 ? 1 : (uint64_t)p->n_workers;
}

/* U1, U2 */
static struct launch_terms trial_terms(const struct sweep *s, const struct point *p, int rate, int seed)
{
    const uint64_t n_fair = p->n_steps / 2 / n_rounds_alone(s, p);
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
    FILE *from = fopen(path, "re");
    json_t *r = NULL;
    json_error_t error;
    bool has_summary = false;

    if (!from)
        return rc_raise(RC_MISMATCH, "%s: the trial left no records", path);
    while ((r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        const char *kind = json_string_value(json_object_get(r, "kind"));
        if (kind && strcmp(kind, "summary") == 0) {
            const char *learned = json_string_value(json_object_get(r, "learned"));
            *loss = record_number(r, "loss_last");
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
        sum += t->has_failed || t->did_not_learn[k] ? NAN : t->loss[k];
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

/* A record of each trial of point i. */
static enum rc print_trials(const struct sweep *s, size_t i, int chosen, FILE *to)
{
    const struct point *p = &s->campaign.point[i];
    enum rc rc = RC_OK;

    for (int k = 0; k < s->tuning.n_rates * TUNING_SEEDS && rc == RC_OK; k++) {
        const int rate = k / TUNING_SEEDS, seed = k % TUNING_SEEDS;
        const struct launch_terms terms = trial_terms(s, p, rate, seed);
        const struct trial *t = &s->tuning.trial[i][rate];
        struct record *r = record_open("tuning");
        for (int a = 0; a < p->n_assigned; a++)
            record_text(r, p->assigned[a].option, p->assigned[a].value);
        record_f64(r, "learning_rate", terms.lr);
        record_u64(r, "seed", terms.seed);
        record_u64(r, "steps_count", terms.n_steps);
        record_f64(r, "loss_last", t->loss[seed]);
        record_bool(r, "did_not_learn", t->did_not_learn[seed]);
        record_bool(r, "has_failed", t->has_failed);
        record_bool(r, "is_chosen", rate == chosen);
        rc = record_print(r, to);
        record_close(&r);
    }
    return rc;
}

/* Among the records of the campaign's launches, as one piece. */
static enum rc keep_trials(struct sweep *s, size_t i, int chosen)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);
    enum rc rc;

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for the records of trials");
    rc = print_trials(s, i, chosen, to);
    if (fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for the records of trials");
    if (rc == RC_OK)
        rc = campaign_keep(&s->campaign, text, n_bytes);
    free(text);
    return rc;
}

enum rc sweep_retake_trial(struct sweep *s, const struct json_t *r, bool *is_whole)
{
    struct tuning *t = &s->tuning;
    struct point *p = campaign_point_of(&s->campaign, r);
    const size_t i = p ? (size_t)(p - s->campaign.point) : 0;
    const int rate = t->n_retaken / TUNING_SEEDS, seed = t->n_retaken % TUNING_SEEDS;
    const json_t *lr = json_object_get(r, "learning_rate");

    if (!p || !is_tuned(s, p) || rate >= t->n_rates || t->trial[i][0].is_kept ||
        json_number_value(lr) != rate_of(s, p, rate))
        return rc_raise(RC_MISMATCH, "a trial of a rate is none of this campaign's");
    t->trial[i][rate].loss[seed] = record_number(r, "loss_last");
    t->trial[i][rate].did_not_learn[seed] = json_is_true(json_object_get(r, "did_not_learn"));
    t->trial[i][rate].has_failed = json_is_true(json_object_get(r, "has_failed"));
    if (json_is_true(json_object_get(r, "is_chosen")))
        p->tuned_lr = json_number_value(lr);
    *is_whole = ++t->n_retaken == t->n_rates * TUNING_SEEDS;
    if (!*is_whole)
        return RC_OK;
    t->trial[i][0].is_kept = true;
    t->n_done += (size_t)t->n_retaken;
    t->n_retaken = 0;
    return RC_OK;
}

bool sweep_begins_trials(struct sweep *s, const struct json_t *r)
{
    const struct point *p = campaign_point_of(&s->campaign, r);

    return p && is_tuned(s, p) && json_number_value(json_object_get(r, "learning_rate")) == rate_of(s, p, 0) &&
           (uint64_t)json_integer_value(json_object_get(r, "seed")) == trial_terms(s, p, 0, 0).seed;
}

const struct point *sweep_find_untried(const struct sweep *s)
{
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (is_tuned(s, p) && p->n_launches > 0 && !s->tuning.trial[i][0].is_kept)
            return p;
    }
    return NULL;
}

/* U5 */
static enum rc note_failed_trial(struct sweep *s, struct point *p, struct trial *t, double lr)
{
    enum rc rc;

    TRY(campaign_fail(&s->campaign, p, NO_BLOCK, s->failure));
    t->has_failed = ++t->n_failures >= s->max_failures;
    for (int k = 0; k < TUNING_SEEDS && t->has_failed; k++)
        t->loss[k] = NAN;
    progress_say(&s->progress, "gradmark compare: trial at rate %.3g: %s; failure %zu of at most %zu, %s", lr,
                 s->failure, t->n_failures, s->max_failures, t->has_failed ? "the rate is out" : "it is tried again");
out:
    return rc;
}

/* Rank 0, behind a trial: its summary, or why there is none in s->failure. */
static enum rc take_trial(struct sweep *s, struct point *p, struct trial *t, int seed, double lr)
{
    char name[LAUNCH_NAME_BYTES];

    if (!s->failure[0]) {
        const enum rc taken = read_trial(&t->loss[seed], &t->did_not_learn[seed], s->launch_path);
        if (taken != RC_MISMATCH)
            return taken;
        point_name(name, sizeof name, p);
        snprintf(s->failure, sizeof s->failure, "the launch of %.160s failed: %.300s", name, rc_message());
    }
    return note_failed_trial(s, p, t, lr);
}

/* Until it succeeds, or the rate is out (U5). */
static enum rc run_trial(struct sweep *s, struct world *w, size_t i, int rate, int seed, struct command_line *l)
{
    struct point *p = &s->campaign.point[i];
    const struct launch_terms terms = trial_terms(s, p, rate, seed);
    struct trial *t = &s->tuning.trial[i][rate];
    char name[LAUNCH_NAME_BYTES], what[LAUNCH_NAME_BYTES + 64];
    const bool root = !w || w->rank == 0;
    bool wanted = root && !t->has_failed;
    enum rc rc;

    point_name(name, sizeof name, p);
    snprintf(what, sizeof what, "%s, trial at rate %.3g", name, terms.lr);
    TRY(launch_agree(w, &wanted));
    while (wanted && !s->stopped) {
        if (root)
            progress_update(&s->progress, s->tuning.n_done, what, wait_clock_ns());
        TRY(launch_point(s, w, p, &terms, l));
        if (root && !s->stopped)
            TRY(take_trial(s, p, t, seed, terms.lr));
        else if (root)
            (void)unlink(s->launch_path); /* kept are all trials of a point, or none */
        wanted = root && s->failure[0] && !t->has_failed;
        TRY(launch_agree(w, &wanted));
    }
    s->tuning.n_done += !s->stopped;
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

/* Rank 0. */
static enum rc choose_rate(struct sweep *s, size_t i)
{
    struct point *p = &s->campaign.point[i];
    const int chosen = best_rate(s->tuning.trial[i], s->tuning.n_rates);

    p->tuned_lr = chosen < 0 ? 0 : rate_of(s, p, chosen);
    s->tuning.trial[i][0].is_kept = true;
    return keep_trials(s, i, chosen);
}

static enum rc tune_point(struct sweep *s, struct world *w, size_t i, struct command_line *l)
{
    struct point *p = &s->campaign.point[i];
    const bool root = !w || w->rank == 0;
    bool is_done = root && s->tuning.trial[i][0].is_kept;
    enum rc rc;

    TRY(launch_agree(w, &is_done));
    for (int k = 0; k < s->tuning.n_rates * TUNING_SEEDS && !s->stopped && !is_done; k++)
        TRY(run_trial(s, w, i, k / TUNING_SEEDS, k % TUNING_SEEDS, l));
    if (s->stopped)
        return RC_OK;
    if (root && !is_done)
        TRY(choose_rate(s, i));
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

static bool all_failed(const struct trial *trial, int n_rates)
{
    for (int i = 0; i < n_rates; i++)
        if (!trial[i].has_failed)
            return false;
    return true;
}

static void tell_point(const struct sweep *s, size_t i, FILE *to)
{
    const struct point *p = &s->campaign.point[i];
    const int n = s->tuning.n_rates, best = best_rate(s->tuning.trial[i], n);
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, p);
    if (all_failed(s->tuning.trial[i], n))
        fprintf(to, "%s: cannot be tuned, as trials of every rate failed, %.3g is kept:", name, untuned_rate(s, p));
    else if (best < 0)
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
            fprintf(to, s->tuning.trial[i][k].has_failed ? "failed)" : "did not learn)");
    }
    fprintf(to, "\n");
}

enum rc sweep_tell_tuning(const struct sweep *s, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    enum rc rc;

    if (s->tuning.n_done < s->tuning.n_trials || s->tuning.n_trials == 0)
        return RC_OK;
    TRY(terminal_text_open(&text));
    fprintf(text.lines,
            "\nrates chosen before, by the least mean loss at the end of %d short launches, from seeds of their own:\n",
            TUNING_SEEDS);
    for (size_t i = 0; i < s->campaign.n_points; i++)
        if (is_tuned(s, &s->campaign.point[i]) && s->tuning.trial[i][0].is_kept)
            tell_point(s, i, text.lines);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}
