/* SPDX-License-Identifier: Apache-2.0 */
/* autotune_records.c - trials and choice of --autotune as records of the run, and as a file to be used again. */
#include <math.h>

#include "harness/campaign/autotune.h"
#include "harness/report/manifest.h"

static void record_verdict(struct record *r, const struct race_verdict *v)
{
    record_f64(r, "ratio", v->ratio);
    record_f64(r, "ratio_low", isinf(v->ratio_high) ? (double)NAN : v->ratio_low); /* of one pair there is none */
    record_f64(r, "ratio_high", v->ratio_high);
}

/* Of the settings that are not the defaults. */
static enum rc record_setting(struct record *r, const struct autotune_plan *plan, const struct autotune_setting *s)
{
    struct record *set = NULL;
    enum rc rc;

    TRY(record_open(&set, NULL));
    for (int i = 0; i < plan->n_options; i++)
        if (s->value[i][0])
            record_text(set, plan->option[i].name, s->value[i]);
    record_child(r, "settings", &set);
out:
    record_close(&set);
    return rc;
}

static enum rc write_trial(struct report *to, const struct autotune *a, const struct autotune_trial *t)
{
    const struct race_verdict none = { NAN, NAN, NAN, NAN };
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "autotune_trial"));
    record_text(r, "option", t->option < 0 ? NULL : a->plan.option[t->option].name);
    record_text(r, "value", t->option < 0 || !t->setting.value[t->option][0] ? NULL : t->setting.value[t->option]);
    TRY(record_setting(r, &a->plan, &t->setting));
    record_bool(r, "is_in_use", t->is_in_use);
    record_i64(r, "round", t->round);
    record_u64(r, "steps_count", t->n_steps);
    record_f64(r, "step_s", t->step_s);
    record_verdict(r, t->is_in_use ? &none : &t->so_far);
    record_text(r, "outcome", t->outcome);
    record_f64(r, "left_s", t->left_s);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

/* The choice, and its evidence. */
static enum rc fill_choice(struct record *r, const struct autotune *a)
{
    enum rc rc;

    TRY(record_setting(r, &a->plan, &a->chosen));
    record_bool(r, "has_changes", a->has_changes);
    record_verdict(r, &a->all);
    record_i64(r, "pairs_count", a->n_pairs);
    record_i64(r, "candidates_count", a->plan.n_values);
    record_i64(r, "untried_count", a->n_untried);
    record_bool(r, "is_stopped", a->is_stopped);
    record_f64(r, "budget_s", a->plan.budget_s);
    record_f64(r, "spent_s", a->spent_s);
out:
    return rc;
}

enum rc autotune_write(struct report *to, const struct autotune *a)
{
    struct record *r = NULL;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < a->n_trials; i++)
        TRY(write_trial(to, a, &a->trial[i]));
    TRY(record_open(&r, "autotune"));
    TRY(fill_choice(r, a));
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

enum rc autotune_save(const char *path, const struct autotune *a, const struct train_job *job)
{
    struct autotune_fact fact[AUTOTUNE_MAX_FACTS];
    const int n_facts = autotune_facts(fact, job);
    struct record *r = NULL, *made_for = NULL;
    char version[128];
    enum rc rc;

    TRY(record_open(&r, "autotune"));
    TRY(record_open(&made_for, NULL));
    manifest_version(version, sizeof version);
    record_text(r, "version", version);
    for (int i = 0; i < n_facts; i++)
        record_text(made_for, fact[i].name, fact[i].value);
    record_child(r, "made_for", &made_for);
    TRY(fill_choice(r, a));
    TRY(record_write_file(r, path));
out:
    record_close(&made_for);
    record_close(&r);
    return rc;
}
