/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c - a training of any model in a child process, the content of its records (--out), and its outcome; see
 * records.h.
 */
#include "harness/labs/records.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/array.h"
#include "harness/labs/lesson.h"
#include "harness/report/record.h"
#include "harness/world/wait.h"

enum { PATH_BYTES = 4096 };

/* --- reading --- */

static bool is_text(const json_t *r, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(r, key));

    return value && strcmp(value, text) == 0;
}

/* virtual_s in world sim, wall_s in all others: a record has one of both. */
static double time_of(const json_t *r)
{
    const double virtual_s = record_number(r, "virtual_s");

    return isnan(virtual_s) ? record_number(r, "wall_s") : virtual_s;
}

static enum rc add_round(struct training_record *t, size_t *n_room, const json_t *r)
{
    struct loss_point *point = array_grow(t->point, t->n_points, n_room, sizeof *point, "rounds");

    if (!point)
        return RC_NOMEM;
    t->point = point;
    t->point[t->n_points++] = (struct loss_point){ .samples_count = record_number(r, "samples_count"),
                                                   .time_s = time_of(r),
                                                   .loss = record_number(r, "loss") };
    return RC_OK;
}

static enum rc add_worker(struct training_record *t, size_t *n_room, const json_t *r)
{
    struct worker_figures *worker =
        array_grow(t->worker, (size_t)t->n_workers, n_room, sizeof *worker, "figures of workers");

    if (!worker)
        return RC_NOMEM;
    t->worker = worker;
    t->worker[t->n_workers++] = (struct worker_figures){ .compute_s = record_number(r, "compute_s"),
                                                         .wait_s = record_number(r, "wait_s"),
                                                         .batch_count = record_number(r, "part_batch_count") };
    return RC_OK;
}

static enum rc add_stage(struct training_record *t, const json_t *r, const char *path)
{
    if (t->n_stages == TRAINING_MOST_STAGES)
        return rc_raise(RC_MISMATCH, "%s: more than %d records of stages", path, TRAINING_MOST_STAGES);
    t->stage[t->n_stages++] = (struct stage_figures){ .held_count = record_number(r, "held_micro_batches_count"),
                                                      .activations_bytes = record_number(r, "activations_bytes") };
    return RC_OK;
}

static void take_summary(struct training_record *t, const json_t *r)
{
    t->run_s = time_of(r);
    t->step_s = record_number(r, "step_mean_s");
    t->exposed_comm_s = record_number(r, "exposed_comm_s");
    t->throughput_samples_per_s = record_number(r, "throughput_samples_per_s");
    t->seconds_to_target_s = record_number(r, "seconds_to_target_loss_s");
    t->samples_to_target_count = record_number(r, "samples_to_target_loss_count");
    t->staleness_mean_count = record_number(r, "staleness_mean_count");
    t->accuracy_ratio = record_number(r, "accuracy_ratio");
}

static enum rc read_lines(struct training_record *t, FILE *from, const char *path)
{
    size_t n_rounds_room = 0, n_workers_room = 0, line_bytes = 0, n_records = 0;
    bool has_summary = false;
    char *line = NULL;
    json_t *r = NULL;
    json_error_t why;
    enum rc rc = RC_OK;

    while (getline(&line, &line_bytes, from) >= 0) {
        r = json_loads(line, 0, &why);
        n_records++;
        if (!json_is_string(json_object_get(r, "kind")))
            FAIL(RC_MISMATCH, "%s:%zu: is no record, a line of JSON with a kind", path, n_records);
        if (is_text(r, "kind", "step"))
            TRY(add_round(t, &n_rounds_room, r));
        if (is_text(r, "kind", "rank") && is_text(r, "role", "worker"))
            TRY(add_worker(t, &n_workers_room, r));
        if (is_text(r, "kind", "stage"))
            TRY(add_stage(t, r, path));
        if (is_text(r, "kind", "summary")) {
            take_summary(t, r);
            has_summary = true;
        }
        json_decref(r);
        r = NULL;
    }
    if (!has_summary || t->n_points == 0 || t->n_workers == 0)
        FAIL(RC_MISMATCH, "%s: of its %zu records none is the summary, none a step, or none a worker's, of a training",
             path, n_records);
out:
    json_decref(r);
    free(line);
    return rc;
}

enum rc training_record_read(struct training_record *out, const char *path)
{
    FILE *from = NULL;
    enum rc rc;

    out->point = NULL;
    out->n_points = 0;
    out->worker = NULL;
    out->n_workers = 0;
    out->n_stages = 0;
    TRY(file_open_regular(&from, path, "records that --out wrote"));
    TRY(read_lines(out, from, path));
out:
    if (from)
        fclose(from);
    if (rc != RC_OK)
        training_record_close(out);
    return rc;
}

void training_record_close(struct training_record *r)
{
    free(r->point);
    r->point = NULL;
    r->n_points = 0;
    free(r->worker);
    r->worker = NULL;
    r->n_workers = 0;
}

/* --- running --- */

/* own: options behind the one for the records; NULL behind the last. shown: the same as a student types them, or "". */
static enum rc run_and_read(struct training_record *out, const struct lab_env *env, const char *name,
                            const char *options, const char *const own[2], const char *shown)
{
    const uint64_t start_ns = wait_clock_ns();
    char records[PATH_BYTES + 64];
    enum rc rc;

    *out = (struct training_record){ .point = NULL };
    snprintf(out->command, sizeof out->command, "gradmark train %.380s --out %.40s.jsonl%.130s", options, name, shown);
    snprintf(records, sizeof records, "--out=%s/%s.jsonl", env->folder, name);
    TRY(training_launch(env, name, options, (const char *[]){ records, own[0], own[0] ? own[1] : NULL, NULL }));
    out->process_s = 1e-9 * (double)(wait_clock_ns() - start_ns);
    TRY(training_record_read(out, records + strlen("--out=")));
out:
    return rc;
}

enum rc training_record_run(struct training_record *out, const struct lab_env *env, const char *name,
                            const char *options)
{
    return run_and_read(out, env, name, options, (const char *[2]){ NULL }, "");
}

enum rc training_record_run_stages(struct training_record *out, const struct lab_env *env, const char *name,
                                   const char *options, const char *profile)
{
    char timeline[PATH_BYTES + 64], profile_option[PATH_BYTES + 64] = "", shown[160];

    snprintf(timeline, sizeof timeline, "--timeline=%s/%s.json", env->folder, name);
    if (profile)
        snprintf(profile_option, sizeof profile_option, "--profile=%s/%s", env->folder, profile);
    snprintf(shown, sizeof shown, " --timeline %.40s.json%s%.40s", name, profile ? " --profile " : "",
             profile ? profile : "");
    return run_and_read(out, env, name, options, (const char *[2]){ timeline, profile ? profile_option : NULL }, shown);
}

enum rc training_record_run_linear(struct training_record *out, struct training_path *path, const struct lab_env *env,
                                   const char *name, const char *options)
{
    char words[TRAINING_COMMAND_BYTES], trajectory[PATH_BYTES + 64], shown[64];
    enum rc rc;

    *path = (struct training_path){ .point = NULL };
    snprintf(words, sizeof words, "--model linear --threads 1 %s", options);
    snprintf(trajectory, sizeof trajectory, "--trajectory=%s/%s.csv", env->folder, name);
    snprintf(shown, sizeof shown, " --trajectory %.40s.csv", name);
    TRY(run_and_read(out, env, name, words, (const char *[2]){ trajectory }, shown));
    TRY(training_read(path, trajectory + strlen("--trajectory=")));
out:
    if (rc != RC_OK) {
        training_close(path);
        training_record_close(out);
    }
    return rc;
}

enum rc training_record_write_curve(const struct training_record *r, const struct lab_env *env, const char *name)
{
    struct atomic_file file = { .stream = NULL };
    char file_name[TRAINING_NAME_BYTES + 8];
    enum rc rc;

    snprintf(file_name, sizeof file_name, "%s.csv", name);
    TRY(lesson_file(&file, env, file_name));
    fputs("time_s,samples_count,loss\n", file.stream);
    for (size_t i = 0; i < r->n_points; i++)
        fprintf(file.stream, "%.9f,%.17g,%.17g\n", r->point[i].time_s, r->point[i].samples_count, r->point[i].loss);
out:
    return atomic_file_finish(&file, rc);
}

/* --- outcome --- */

#define WELL_ABOVE 1.25

struct outcome outcome_of(const struct training_record *r, double n_samples)
{
    const double end_count = r->point[r->n_points - 1].samples_count;
    struct outcome o = { .first_loss = r->point[0].loss, .highest_loss = r->point[0].loss, .samples_count = end_count };
    double sum = 0, n = 0;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct loss_point *p = &r->point[i];
        o.highest_loss = fmax(o.highest_loss, p->loss); /* the number, where the other is none */
        if (p->samples_count > end_count - n_samples) {
            sum += p->loss;
            n++;
        }
    }
    o.last_loss = sum / n;
    if (!isfinite(o.last_loss) || o.last_loss > o.first_loss)
        o.kind = OUTCOME_DIVERGED;
    else
        o.kind = isnan(r->seconds_to_target_s) ? OUTCOME_NOT_REACHED : OUTCOME_REACHED;
    return o;
}

void outcome_print(char *out, size_t n_bytes, const struct outcome *o)
{
    char rose[48] = "";

    if (o->highest_loss > WELL_ABOVE * o->first_loss)
        snprintf(rose, sizeof rose, "rose to %.2g on the way", o->highest_loss);
    switch (o->kind) {
    case OUTCOME_REACHED:
        snprintf(out, n_bytes, "%s", rose);
        break;
    case OUTCOME_NOT_REACHED:
        snprintf(out, n_bytes, "not in %.0f samples%s%s", o->samples_count, rose[0] ? ", " : "", rose);
        break;
    case OUTCOME_DIVERGED:
        snprintf(out, n_bytes, "diverged: ends at %.2g, from %.2g", o->last_loss, o->first_loss);
        break;
    }
}
