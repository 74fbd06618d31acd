/* SPDX-License-Identifier: Apache-2.0 */
/* autotune.c - the search of --autotune: trials, races, what comes of them. */
#include "harness/campaign/autotune.h"
#include "harness/base/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of a trial: those that warm up, and of those that are measured as many as take TRIAL_S. */
enum { N_WARM_STEPS = 2, MIN_STEPS = 4, MAX_STEPS = 1000 };
static const double TRIAL_S = 0.25;
static const char IMPOSSIBLE[] = "impossible";

struct search { /* of one rank */
    struct autotune *a;
    struct world *world;
    const struct train_job *base;
    FILE *log;
    uint64_t started_ns;
    size_t n_room; /* of a->trial */
    /* As rank 0 has measured them: */
    double step_s;     /* of the defaults */
    double overhead_s; /* of a trial, beside its steps */
    bool is_stopped;
};

struct outcome { /* of a trial, on rank 0; then on all */
    double step_s, trial_s, spent_s;
    bool is_stopped, is_impossible; /* the latter: the reducer cannot run where these ranks are */
};

static bool is_root(const struct search *s)
{
    return s->world->rank == 0;
}

static double spent_s(const struct search *s)
{
    return 1e-9 * (double)(world_now_ns(s->world) - s->started_ns);
}

/* --- a trial --- */

/* T4. */
static void make_trial(struct train_job *job, uint64_t n_steps)
{
    job->is_trial = true;
    job->n_steps = n_steps;
    job->opts.save = job->opts.timeline = job->opts.trajectory = job->opts.messages = "";
    job->opts.save_every = job->opts.verify_every = 0;
    job->keeps_moments = false;
    job->n_eval = 0;
    job->drill.rank = job->faults.flip_rank = -1;
    job->watch = NULL;
}

/* Mean over workers of the time from the start of the first step that counts to that of the last. */
static double measured_step_s(const struct train_result *r)
{
    double sum_s = 0;

    for (int w = 0; w < r->n_workers; w++) {
        const struct step_stamp *stamp = r->stamp + (size_t)w * r->n_steps;
        const uint64_t ns = stamp[r->n_steps - 1].start_ns - stamp[N_WARM_STEPS].start_ns;
        sum_s += 1e-9 * (double)ns / (double)(r->n_steps - 1 - N_WARM_STEPS);
    }
    return sum_s / r->n_workers;
}

/* n_steps are measured. Collective; *out is the same on all ranks. */
static enum rc run_trial(struct outcome *out, struct search *s, const struct autotune_setting *setting,
                         uint64_t n_steps)
{
    const double before_s = spent_s(s);
    struct train_result result = { 0 };
    struct train_job job;
    enum rc rc;

    memset(out, 0, sizeof *out);
    TRY(autotune_job(&job, s->base, &s->a->plan, setting));
    make_trial(&job, N_WARM_STEPS + n_steps + 1);
    job.n_begun_before = s->a->n_begun;
    const enum rc trained = train_rank(s->world, &job, &result);
    out->is_impossible = trained == RC_UNSUPPORTED;
    if (!out->is_impossible) {
        TRY(trained);
        s->a->n_begun += job.n_steps;
    }
    if (is_root(s) && !out->is_impossible) {
        out->is_stopped = result.stop_signal != 0;
        out->step_s = out->is_stopped ? NAN : measured_step_s(&result);
    }
    out->spent_s = spent_s(s);
    out->trial_s = out->spent_s - before_s;
    TRY(world_broadcast(s->world, out, sizeof *out));
    s->a->spent_s = out->spent_s;
    if (out->is_impossible)
        goto out;
    s->is_stopped = out->is_stopped;
    s->overhead_s = fmax(0, out->trial_s - (double)job.n_steps * out->step_s);
out:
    train_result_free(&result);
    return rc;
}

/* --- the log, of rank 0 --- */

static enum rc note_trial(struct search *s, const struct autotune_trial *t)
{
    struct autotune *a = s->a;

    if (!is_root(s))
        return RC_OK;
    if (a->n_trials == s->n_room) {
        const size_t n_room = 2 * s->n_room + 64;
        struct autotune_trial *more = realloc(a->trial, n_room * sizeof *more);
        if (!more)
            return rc_raise(RC_NOMEM, "no memory for %zu trials", n_room);
        a->trial = more;
        s->n_room = n_room;
    }
    a->trial[a->n_trials++] = *t;
    return RC_OK;
}

static void say_trial(const struct search *s, const struct autotune_trial *t, int n_rounds)
{
    const int i = t->option;
    const char *name = i < 0 ? "all together" : s->a->plan.option[i].name;
    const char *value = i < 0 ? "" : t->setting.value[i];
    char pace[64] = "";

    if (!s->log)
        return;
    if (t->outcome == IMPOSSIBLE) {
        terminal_note(s->log, "gradmark train: autotune: %s %s: is left out, these ranks cannot run it", name, value);
        return;
    }
    if (!t->is_in_use)
        snprintf(pace, sizeof pace, "%.3f of the pace in use, ", t->so_far.ratio);
    terminal_note(s->log, "gradmark train: autotune: round %d of %d, %s%s%s%s: %.4g ms a step, %s%.0f s left", t->round,
                  n_rounds, name,
                  i < 0      ? ""
                  : value[0] ? " "
                             : " not given",
                  value, t->is_in_use ? " (in use)" : "", 1e3 * t->step_s, pace, t->left_s);
}

static void say_winner(const struct search *s, int option, const struct race *race, const struct autotune_setting *arm,
                       int winner)
{
    char text[256];
    const struct race_verdict *v = &race->verdict[winner];

    if (!s->log)
        return;
    autotune_setting_text(text, sizeof text, &s->a->plan, &arm[winner]);
    if (winner == 0)
        terminal_note(s->log, "gradmark train: autotune: %s: nothing is faster beyond doubt; stays: %s",
                      option < 0 ? "all together" : s->a->plan.option[option].name, text);
    else
        terminal_note(s->log,
                      "gradmark train: autotune: %s: %.3f of the pace (%.3f to %.3f, %d pairs); from now on: %s",
                      option < 0 ? "all together" : s->a->plan.option[option].name, v->ratio, v->ratio_low,
                      v->ratio_high, race->n_rounds, text);
}

/* What became of an arm, for its trials in the log. */
static const char *outcome_of(const struct race *race, int arm, int winner)
{
    if (arm == 0)
        return "in_use";
    if (race->is_out[arm])
        return "slower"; /* or impossible, which is noted at once */
    return arm == winner ? "chosen" : race->verdict[arm].ratio_low > 1 ? "faster" : "not_shown";
}

/* --- a race --- */

/* Trials of a race, one after the other; note[] keeps them until the round is over and its ratios are known. */
struct trials {
    int option;
    struct autotune_setting arm[RACE_MAX_ARMS];
    uint64_t n_steps;
    struct race race;
    struct autotune_trial note[RACE_MAX_ARMS];
    size_t first_trial; /* of this race, in the log */
};

static enum rc log_round(struct search *s, struct trials *t)
{
    const int round = t->race.n_rounds;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < t->race.n_arms; turn++) {
        struct autotune_trial *note = &t->note[turn];
        if (note->round != round) /* its arm is out */
            continue;
        TRY(note_trial(s, note));
        if (is_root(s))
            say_trial(s, note, t->race.n_rounds_wanted);
    }
out:
    return rc;
}

static enum rc run_round(struct search *s, struct trials *t)
{
    int arm_of[RACE_MAX_ARMS] = { 0 };
    struct outcome outcome;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < t->race.n_arms; turn++) {
        const int arm = arm_of[turn] = race_arm_of_turn(&t->race, turn);
        if (t->race.is_out[arm])
            continue;
        TRY(run_trial(&outcome, s, &t->arm[arm], t->n_steps));
        if (s->is_stopped)
            return RC_OK;
        if (outcome.is_impossible)
            race_leave(&t->race, arm);
        t->race.step_s[arm][t->race.n_rounds] = outcome.is_impossible ? NAN : outcome.step_s;
        t->note[turn] = (struct autotune_trial){ .option = t->option,
                                                 .setting = t->arm[arm],
                                                 .round = t->race.n_rounds + 1,
                                                 .is_in_use = arm == 0,
                                                 .n_steps = t->n_steps,
                                                 .step_s = t->race.step_s[arm][t->race.n_rounds],
                                                 .outcome = outcome.is_impossible ? IMPOSSIBLE : NULL,
                                                 .left_s = fmax(0, s->a->plan.budget_s - outcome.spent_s) };
    }
    if (is_root(s))
        race_end_round(&t->race);
    TRY(world_broadcast(s->world, &t->race, sizeof t->race)); /* T5 */
    for (int turn = 0; turn < t->race.n_arms; turn++)
        t->note[turn].so_far = t->race.verdict[arm_of[turn]];
    TRY(log_round(s, t));
out:
    return rc;
}

/* T5: those that a rank cannot have are out from the beginning. */
static enum rc drop_impossible(struct search *s, struct trials *t)
{
    bool mine[RACE_MAX_ARMS] = { false }, *all = calloc((size_t)s->world->n_ranks, sizeof mine);
    struct train_job job;
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for what %d ranks can have", s->world->n_ranks);
    for (int a = 1; a < t->race.n_arms; a++)
        mine[a] = autotune_job(&job, s->base, &s->a->plan, &t->arm[a]) != RC_OK;
    TRY(world_allgather(s->world, mine, all, sizeof mine));
    for (int i = 0; i < s->world->n_ranks * RACE_MAX_ARMS; i++)
        if (all[i])
            race_leave(&t->race, i % RACE_MAX_ARMS);
out:
    free(all);
    return rc;
}

/* How many rounds there is time for, and steps of a trial; 0: not for enough (T6). share_s: for this race. */
static int choose_rounds(const struct search *s, uint64_t *n_steps, int n_arms, double share_s)
{
    const bool is_virtual = s->base->world->module.caps & WORLD_VIRTUAL_TIME;
    const double wanted = is_virtual ? MIN_STEPS : fmin(fmax(ceil(TRIAL_S / s->step_s), MIN_STEPS), MAX_STEPS);
    double rounds = 0;

    for (double n = wanted; rounds < RACE_MIN_ROUNDS && n >= MIN_STEPS;
         n = n > MIN_STEPS ? fmax(n / 2, MIN_STEPS) : 0) {
        *n_steps = (uint64_t)n;
        rounds = share_s / n_arms / (s->overhead_s + (n + N_WARM_STEPS + 1) * s->step_s);
    }
    if (rounds < RACE_MIN_ROUNDS)
        return 0;
    return is_virtual ? RACE_MIN_ROUNDS : (int)fmin(rounds, RACE_MAX_ROUNDS);
}

struct race_size {
    int n_rounds;
    uint64_t n_steps;
};

/* Rank 0's choice, to all. */
static enum rc agree_on_size(struct search *s, struct race_size *size, int n_arms, double share_s)
{
    enum rc rc;

    memset(size, 0, sizeof *size);
    if (is_root(s))
        size->n_rounds = choose_rounds(s, &size->n_steps, n_arms, share_s);
    TRY(world_broadcast(s->world, size, sizeof *size));
out:
    return rc;
}

/* Of t->arm[0 .. n_arms): *winner is one of them; 0 where the search was stopped. */
static enum rc run_race(struct search *s, struct trials *t, int n_arms, const struct race_size *size, int n_planned,
                        int *winner)
{
    enum rc rc;

    t->n_steps = size->n_steps;
    t->first_trial = s->a->n_trials;
    race_init(&t->race, n_arms, size->n_rounds, n_planned);
    TRY(drop_impossible(s, t));
    *winner = 0;
    while (race_goes_on(&t->race) && !s->is_stopped)
        TRY(run_round(s, t));
    if (s->is_stopped)
        return RC_OK;
    if (is_root(s)) {
        *winner = race_winner(&t->race);
        say_winner(s, t->option, &t->race, t->arm, *winner);
    }
    TRY(world_broadcast(s->world, winner, sizeof *winner));
    for (size_t i = t->first_trial; i < s->a->n_trials; i++)
        for (int a = 0; a < n_arms; a++)
            if (!s->a->trial[i].outcome && memcmp(&s->a->trial[i].setting, &t->arm[a], sizeof t->arm[a]) == 0)
                s->a->trial[i].outcome = outcome_of(&t->race, a, *winner);
out:
    return rc;
}

/* --- the search --- */

/* Is it of the reducer that is in use? */
static enum rc is_tried(const struct search *s, int option, bool *out)
{
    const char *reducer = s->a->plan.option[option].reducer;
    struct train_job job;
    enum rc rc;

    TRY(autotune_job(&job, s->base, &s->a->plan, &s->a->chosen));
    *out = reducer[0] == '\0' || strcmp(reducer, job.opts.reducer) == 0;
out:
    return rc;
}

/* Arms that are still to run, from this option on: what is left of the budget is shared by them. */
static int n_arms_from(const struct autotune_plan *plan, int option)
{
    int n = 2; /* T3 */

    for (int i = option; i < plan->n_options; i++)
        n += 1 + plan->option[i].n_values;
    return n;
}

static enum rc tune_option(struct search *s, struct trials *t, int option)
{
    const struct autotune_option *o = &s->a->plan.option[option];
    const int n_arms = 1 + o->n_values;
    struct race_size size;
    bool wanted = false;
    int winner = 0;
    enum rc rc;

    TRY(is_tried(s, option, &wanted));
    if (!wanted)
        return RC_OK;
    const double left_s = s->a->plan.budget_s - s->a->spent_s;
    TRY(agree_on_size(s, &size, n_arms, left_s * n_arms / n_arms_from(&s->a->plan, option)));
    if (size.n_rounds == 0) {
        s->a->n_untried++;
        if (s->log && is_root(s))
            terminal_note(s->log, "gradmark train: autotune: %s: is not tried, there is no time for it", o->name);
        return RC_OK;
    }
    t->option = option;
    for (int a = 0; a < n_arms; a++) {
        t->arm[a] = s->a->chosen;
        if (a > 0)
            memcpy(t->arm[a].value[option], o->value[a - 1], AUTOTUNE_VALUE_BYTES);
    }
    TRY(run_race(s, t, n_arms, &size, s->a->plan.n_values, &winner));
    s->a->chosen = t->arm[winner];
    s->a->has_changes = s->a->has_changes || winner > 0;
out:
    return rc;
}

/* T3. It is made in any case, where the time is short with the least of rounds. */
static enum rc confirm(struct search *s, struct trials *t)
{
    struct race_size size;
    int winner = 0;
    enum rc rc;

    TRY(agree_on_size(s, &size, 2, fmax(0, s->a->plan.budget_s - s->a->spent_s)));
    if (size.n_rounds == 0)
        size = (struct race_size){ RACE_MIN_ROUNDS, MIN_STEPS };
    t->option = -1;
    memset(&t->arm[0], 0, sizeof t->arm[0]);
    t->arm[1] = s->a->chosen;
    TRY(run_race(s, t, 2, &size, 1, &winner));
    s->a->all = t->race.verdict[1];
    s->a->n_pairs = t->race.n_rounds;
    s->a->has_changes = winner == 1;
    s->a->chosen = t->arm[winner];
out:
    return rc;
}

static enum rc search(struct search *s, struct trials *t)
{
    struct outcome pilot;
    enum rc rc;

    TRY(run_trial(&pilot, s, &s->a->chosen, MIN_STEPS));
    if (pilot.is_impossible)
        FAIL(RC_UNSUPPORTED, "--reducer %s: cannot run where these ranks are", s->base->opts.reducer);
    s->step_s = pilot.step_s;
    for (int i = 0; i < s->a->plan.n_options && !s->is_stopped; i++)
        TRY(tune_option(s, t, i));
    if (s->a->has_changes && !s->is_stopped)
        TRY(confirm(s, t));
    s->a->is_stopped = s->is_stopped;
    if (s->is_stopped) {
        memset(&s->a->chosen, 0, sizeof s->a->chosen);
        s->a->has_changes = false;
    }
out:
    return rc;
}

enum rc autotune_run(struct autotune *a, struct world *w, const struct autotune_plan *plan,
                     const struct train_job *base, FILE *log)
{
    struct search s = { .a = a, .world = w, .base = base, .log = log, .started_ns = world_now_ns(w) };
    struct trials *t = calloc(1, sizeof *t);
    enum rc rc;

    memset(a, 0, sizeof *a);
    a->all.ratio = a->all.ratio_low = a->all.ratio_high = a->all.p = NAN;
    if (!t)
        return rc_raise(RC_NOMEM, "no memory for trials");
    a->plan = *plan;
    TRY(world_broadcast(w, &a->plan, sizeof a->plan)); /* T5 */
    TRY(search(&s, t));
out:
    free(t);
    return rc;
}

void autotune_free(struct autotune *a)
{
    free(a->trial);
    *a = (struct autotune){ .trial = NULL };
}
