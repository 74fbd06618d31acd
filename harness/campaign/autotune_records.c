/* SPDX-License-Identifier: Apache-2.0 */
/* autotune_records.c - trials and choice of --autotune as records of the run, and as a file to be used again. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/autotune.h"
#include "harness/net/transport.h"
#include "harness/report/manifest.h"
#include "harness/world/child.h"
#include "harness/world/cores.h"

static void record_verdict(struct record *r, const struct race_verdict *v)
{
    record_f64(r, "ratio", v->ratio);
    record_f64(r, "ratio_low", isinf(v->ratio_high) ? (double)NAN : v->ratio_low); /* of one pair there is none */
    record_f64(r, "ratio_high", v->ratio_high);
}

/* Of the settings that are not the defaults. */
static void record_setting(struct record *r, const struct autotune_plan *plan, const struct autotune_setting *s)
{
    struct record *set = record_open(NULL);

    for (int i = 0; i < plan->n_options; i++)
        if (s->value[i][0])
            record_text(set, plan->option[i].name, s->value[i]);
    record_child(r, "settings", &set);
}

static enum rc write_trial(struct report *to, const struct autotune *a, const struct autotune_trial *t)
{
    const struct race_verdict none = { NAN, NAN, NAN, NAN };
    struct record *r = report_begin(to, "autotune_trial");

    record_text(r, "option", t->option < 0 ? NULL : a->plan.option[t->option].name);
    record_text(r, "value", t->option < 0 || !t->setting.value[t->option][0] ? NULL : t->setting.value[t->option]);
    record_setting(r, &a->plan, &t->setting);
    record_bool(r, "is_in_use", t->is_in_use);
    record_i64(r, "round", t->round);
    record_u64(r, "steps_count", t->n_steps);
    record_f64(r, "step_s", t->step_s);
    record_verdict(r, t->is_in_use ? &none : &t->so_far);
    record_text(r, "outcome", t->outcome);
    record_f64(r, "left_s", t->left_s);
    return report_end(to);
}

/* The choice, and its evidence. */
static void fill_choice(struct record *r, const struct autotune *a)
{
    record_setting(r, &a->plan, &a->chosen);
    record_bool(r, "has_changes", a->has_changes);
    record_verdict(r, &a->all);
    record_i64(r, "pairs_count", a->n_pairs);
    record_i64(r, "candidates_count", a->plan.n_values);
    record_i64(r, "untried_count", a->n_untried);
    record_bool(r, "is_stopped", a->is_stopped);
    record_f64(r, "budget_s", a->plan.budget_s);
    record_f64(r, "spent_s", a->spent_s);
}

enum rc autotune_write(struct report *to, const struct autotune *a)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < a->n_trials; i++)
        TRY(write_trial(to, a, &a->trial[i]));
    fill_choice(report_begin(to, "autotune"), a);
    TRY(report_end(to));
out:
    return rc;
}

enum rc autotune_save(const char *path, const struct autotune *a, const struct train_job *job)
{
    struct autotune_fact fact[AUTOTUNE_MAX_FACTS];
    const int n_facts = autotune_facts(fact, job);
    struct record *r = record_open("autotune"), *made_for = record_open(NULL);
    char version[128];

    manifest_version(version, sizeof version);
    record_text(r, "version", version);
    for (int i = 0; i < n_facts; i++)
        record_text(made_for, fact[i].name, fact[i].value);
    record_child(r, "made_for", &made_for);
    fill_choice(r, a);
    const enum rc rc = record_write_file(r, path);
    record_close(&r);
    return rc;
}

/* Settings that --autotune has found before: what they are for, and whether this is it. */

struct autotune_file {
    char *path;
    json_t *content, *settings, *made_for; /* the latter two are parts of the first */
};

/* --- facts --- */

struct facts {
    struct autotune_fact *out;
    int n;
};

static void add(struct facts *f, const char *name, bool must_agree, const char *fmt, ...) PRINTF_LIKE(4, 5);
static void add(struct facts *f, const char *name, bool must_agree, const char *fmt, ...)
{
    struct autotune_fact *fact = &f->out[f->n++];
    va_list args;

    *fact = (struct autotune_fact){ .name = name, .must_agree = must_agree };
    va_start(args, fmt);
    (void)vsnprintf(fact->value, sizeof fact->value, fmt, args);
    va_end(args);
}

static void add_machine(struct facts *f)
{
    char text[AUTOTUNE_FACT_BYTES];

    child_host_name(text, sizeof text);
    add(f, "host", false, "%s", text);
    manifest_cpu_model(text, sizeof text);
    add(f, "cpu_model", false, "%s", text);
    add(f, "cores_count", false, "%d", cores_allowed_count());
}

/* What its cluster description and profile hold. Other times in a profile of the same network are another day's. */
static void add_inputs(struct facts *f, const struct train_job *job)
{
    for (size_t i = 0; i < job->n_inputs; i++) {
        const struct digest *d = &job->input[i];
        if (strcmp(d->name, "cluster") == 0)
            add(f, "cluster_sha256", true, "%s", d->sha256);
        else if (strcmp(d->name, "profile") == 0)
            add(f, "profile_sha256", false, "%s", d->sha256);
    }
}

int autotune_facts(struct autotune_fact out[AUTOTUNE_MAX_FACTS], const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    struct facts f = { out, 0 };

    add(&f, "world", true, "%s", o->world);
    add(&f, "mode", true, "%s", o->mode);
    add(&f, "model", true, "%s", o->model);
    add(&f, "params_count", true, "%zu", job->n_params);
    add(&f, "workers_count", true, "%d", job->n_workers);
    add(&f, "servers_count", true, "%d", job->n_servers);
    add(&f, "transport", true, "%s", o->transport);
    add(&f, "compute", true, "%s", o->compute);
    add(&f, "overlap", true, "%s", o->overlap);
    add(&f, "priority", true, "%s", o->priority);
    add(&f, "compression", true, "%s", o->compression);
    add(&f, "batch", false, "%llu", (unsigned long long)o->batch);
    add(&f, "threads_count", false, "%llu", (unsigned long long)o->threads);
    if (job->world->module.caps & WORLD_VIRTUAL_TIME) { /* train.L4: nothing of this machine */
        add(&f, "cluster", true, "%s", job->cluster.name);
        add(&f, "cluster_set", true, "%.150s", o->cluster_set.text);
    } else {
        add_machine(&f);
    }
    add_inputs(&f, job);
    return f.n;
}

/* --- reading --- */

static const char WANTED[] = "a file that --autotune wrote";

static bool all_are_text(const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!json_is_string(value))
            return false;
    }
    return true;
}

static enum rc check_settings(const struct autotune_file *f)
{
    const char *key;
    json_t *value;

    json_object_foreach(f->settings, key, value)
    {
        if (!autotune_sets(key))
            return rc_raise(RC_INVAL, "%s: sets --%s, which no autotune does; it is not %s", f->path, key, WANTED);
    }
    return RC_OK;
}

enum rc autotune_file_open(struct autotune_file **out, const char *path)
{
    struct autotune_file *f = calloc(1, sizeof *f);
    FILE *from = NULL;
    json_error_t error;
    enum rc rc;

    if (!f || !(f->path = strdup(path)))
        FAIL(RC_NOMEM, "no memory for %s", path);
    TRY(file_open_text(&from, path, WANTED));
    f->content = json_loadf(from, JSON_REJECT_DUPLICATES, &error);
    if (!f->content)
        FAIL(RC_INVAL, "%s: line %d is no JSON: %s; wanted is %s", path, error.line, error.text, WANTED);
    const char *kind = json_string_value(json_object_get(f->content, "kind"));
    f->settings = json_object_get(f->content, "settings");
    f->made_for = json_object_get(f->content, "made_for");
    if (!kind || strcmp(kind, "autotune") != 0 || !json_is_object(f->settings) || !json_is_object(f->made_for) ||
        !all_are_text(f->settings) || !all_are_text(f->made_for))
        FAIL(RC_INVAL, "%s: is not %s", path, WANTED);
    TRY(check_settings(f));
    *out = f;
    f = NULL;
out:
    if (from)
        fclose(from);
    autotune_file_close(&f);
    return rc;
}

void autotune_file_close(struct autotune_file **f)
{
    if (!*f)
        return;
    json_decref((*f)->content);
    free((*f)->path);
    free(*f);
    *f = NULL;
}

/* --- using --- */

enum rc autotune_file_apply(const struct autotune_file *f, struct opt_group *group, int n_groups)
{
    char why[RC_MESSAGE_BYTES];
    const char *key;
    json_t *value;
    enum rc rc;

    json_object_foreach(f->settings, key, value)
    {
        rc = opt_set(group, n_groups, key, json_string_value(value));
        if (rc != RC_OK) {
            snprintf(why, sizeof why, "%s", rc_message());
            return rc_raise(rc, "--autotune-file %s: %.400s", f->path, why);
        }
    }
    return RC_OK;
}

enum rc autotune_file_check(const struct autotune_file *f, const struct train_job *job, FILE *to)
{
    struct autotune_fact fact[AUTOTUNE_MAX_FACTS];
    const int n_facts = autotune_facts(fact, job);

    for (int i = 0; i < n_facts; i++) {
        const char *then = json_string_value(json_object_get(f->made_for, fact[i].name));
        if (!then)
            return rc_raise(RC_INVAL, "--autotune-file %s: does not say for which %s it is; tune again with --autotune",
                            f->path, fact[i].name);
        if (strcmp(then, fact[i].value) == 0)
            continue;
        if (fact[i].must_agree)
            return rc_raise(RC_INVAL,
                            "--autotune-file %s: is for %s \"%s\", here it is \"%s\"; tune again with --autotune",
                            f->path, fact[i].name, then, fact[i].value);
        if (to)
            terminal_note(to, "gradmark train: warning: --autotune-file %s: is for %s \"%s\", here it is \"%s\"",
                          f->path, fact[i].name, then, fact[i].value);
    }
    return RC_OK;
}
