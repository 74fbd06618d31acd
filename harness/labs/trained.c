/* SPDX-License-Identifier: Apache-2.0 */
/* trained.c - see trained.h. */
#include "harness/labs/trained.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/training.h"
#include "harness/world/wait.h"

enum { PATH_BYTES = 4096 };

/* NaN where it is null, or not there. */
static double number(const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double time_of(const json_t *record)
{
    const double virtual_s = number(record, "virtual_s");

    return isnan(virtual_s) ? number(record, "wall_s") : virtual_s;
}

static enum rc add_point(struct trained *t, size_t *n_room, const json_t *step)
{
    if (t->n_points == *n_room) {
        const size_t n_wanted = *n_room > 0 ? 2 * *n_room : 256;
        struct trained_point *larger = realloc(t->point, n_wanted * sizeof *larger);
        if (!larger)
            return rc_raise(RC_NOMEM, "no memory for the records of %zu steps", n_wanted);
        t->point = larger;
        *n_room = n_wanted;
    }
    t->point[t->n_points++] =
        (struct trained_point){ time_of(step), number(step, "samples_count"), number(step, "loss") };
    return RC_OK;
}

static void take_summary(struct trained *t, const json_t *summary)
{
    t->to_target_s = number(summary, "seconds_to_target_loss_s");
    t->to_target_count = number(summary, "samples_to_target_loss_count");
    t->step_s = number(summary, "step_mean_s");
    t->waiting_s = number(summary, "exposed_comm_s");
    t->throughput_per_s = number(summary, "throughput_samples_per_s");
    t->run_s = time_of(summary);
}

static enum rc read_lines(struct trained *t, FILE *from, const char *path)
{
    size_t n_room = 0, line_bytes = 0, n_lines = 0;
    bool has_summary = false;
    char *line = NULL;
    json_t *record = NULL;
    enum rc rc = RC_OK;

    while (getline(&line, &line_bytes, from) >= 0) {
        json_error_t why;
        record = json_loads(line, 0, &why);
        n_lines++;
        const char *kind = json_string_value(json_object_get(record, "kind"));
        if (!kind)
            FAIL(RC_MISMATCH, "%s:%zu: is no record", path, n_lines);
        if (strcmp(kind, "step") == 0)
            TRY(add_point(t, &n_room, record));
        if (strcmp(kind, "summary") == 0) {
            take_summary(t, record);
            has_summary = true;
        }
        json_decref(record);
        record = NULL;
    }
    if (!has_summary)
        FAIL(RC_MISMATCH, "%s: %zu records, of which none is a summary", path, n_lines);
out:
    json_decref(record);
    free(line);
    return rc;
}

enum rc trained_read(struct trained *out, const char *path)
{
    FILE *from = NULL;
    enum rc rc;

    out->point = NULL;
    out->n_points = 0;
    TRY(file_open_regular(&from, path, "records that --out wrote"));
    TRY(read_lines(out, from, path));
out:
    if (from)
        fclose(from);
    if (rc != RC_OK)
        trained_close(out);
    return rc;
}

static enum rc write_curve(const struct trained *t, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("time_s,samples_count,loss\n", file.stream);
    for (size_t i = 0; i < t->n_points; i++)
        fprintf(file.stream, "%.9f,%.17g,%.17g\n", t->point[i].time_s, t->point[i].samples_count, t->point[i].loss);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc trained_run(struct trained *out, const struct lab_env *env, const char *name, const char *options)
{
    const uint64_t start_ns = wait_clock_ns();
    char path[PATH_BYTES], records[PATH_BYTES + 16];
    enum rc rc;

    *out = (struct trained){ .point = NULL };
    snprintf(out->command, sizeof out->command, "gradmark train %.400s --out %.40s.jsonl", options, name);
    snprintf(path, sizeof path, "%s/%s.jsonl", env->folder, name);
    snprintf(records, sizeof records, "--out=%s", path);
    TRY(training_launch(env, name, options, (const char *[]){ records, NULL }));
    out->here_s = 1e-9 * (double)(wait_clock_ns() - start_ns);
    TRY(trained_read(out, path));
    snprintf(path, sizeof path, "%s/%s.csv", env->folder, name);
    TRY(write_curve(out, path));
out:
    if (rc != RC_OK)
        trained_close(out);
    return rc;
}

void trained_close(struct trained *t)
{
    free(t->point);
    t->point = NULL;
    t->n_points = 0;
}
