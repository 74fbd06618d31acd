/* SPDX-License-Identifier: Apache-2.0 */
/* training.c - a training of the linear model in a child process, and its path; see training.h. */
#include "harness/labs/training.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/csv.h"
#include "harness/base/file.h"
#include "harness/labs/array.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/measure/sorted.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"

enum { MAX_WORDS = 48, PATH_BYTES = 4096, N_COLUMNS = 7 };

static const char header[] = "worker,step,time_s,samples_count,loss,slope,offset\n";

/* A number that fills the whole field. */
static bool take_number(double *out, const char *field)
{
    char *end;

    *out = strtod(field, &end);
    return end != field && *end == '\0';
}

static bool take_row(struct path_point *p, double *worker, char *line)
{
    char *field[N_COLUMNS];

    line[strcspn(line, "\r\n")] = '\0';
    return csv_cut(line, ',', field, N_COLUMNS) == N_COLUMNS && take_number(worker, field[0]) &&
           take_number(&p->time_s, field[2]) && take_number(&p->samples_count, field[3]) &&
           take_number(&p->loss, field[4]) && take_number(&p->slope, field[5]) && take_number(&p->offset, field[6]);
}

/* One point more, behind n. */
static enum rc add_point(struct training_path *t, size_t n, size_t *n_room, const struct path_point *p)
{
    struct path_point *point = array_grow(t->point, n, n_room, sizeof *point, "points of a path");

    if (!point)
        return RC_NOMEM;
    t->point = point;
    t->point[n] = *p;
    return RC_OK;
}

static enum rc read_rows(struct training_path *t, FILE *from, const char *path)
{
    double last_worker = -1, worker;
    size_t n = 0, n_room = 0, line_bytes = 0;
    char *line = NULL;
    struct path_point p;
    enum rc rc = RC_OK;

    t->n_workers = 0;
    if (getline(&line, &line_bytes, from) < 0 || strcmp(line, header) != 0)
        FAIL(RC_MISMATCH, "%s:1: is not the head of a trajectory of model linear, %.*s", path, (int)(sizeof header - 2),
             header);
    while (getline(&line, &line_bytes, from) >= 0) {
        if (!take_row(&p, &worker, line))
            FAIL(RC_MISMATCH, "%s:%zu: is no row of a trajectory, %d numbers", path, n + 2, (int)N_COLUMNS);
        t->n_workers += worker != last_worker;
        last_worker = worker;
        TRY(add_point(t, n, &n_room, &p));
        n++;
    }
    if (n == 0 || n % (size_t)t->n_workers != 0)
        FAIL(RC_MISMATCH, "%s: has %zu rows of %d workers, not as many of each", path, n, t->n_workers);
    t->n_points = n / (size_t)t->n_workers;
out:
    free(line);
    return rc;
}

enum rc training_read(struct training_path *out, const char *path)
{
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_regular(&from, path, "a file that --trajectory wrote"));
    TRY(read_rows(out, from, path));
out:
    if (from)
        fclose(from);
    return rc;
}

void training_close(struct training_path *t)
{
    free(t->point);
    *t = (struct training_path){ .point = NULL };
}

enum rc training_median_step_s(double *out_s, const struct training_path *t)
{
    const size_t n = t->n_points - 1;
    double *step_s = calloc(n + 1, sizeof *step_s);

    if (!step_s)
        return rc_raise(RC_NOMEM, "no memory for the durations of %zu steps", n);
    for (size_t i = 0; i < n; i++)
        step_s[i] = t->point[i + 1].time_s - t->point[i].time_s;
    sorted_make(step_s, n);
    *out_s = n == 0 ? 0 : n % 2 ? step_s[n / 2] : (step_s[n / 2 - 1] + step_s[n / 2]) / 2;
    free(step_s);
    return RC_OK;
}

double training_apart(const struct training_path *t, size_t step)
{
    double most = 0;

    for (int w = 1; w < t->n_workers; w++) {
        const struct path_point *p = &t->point[(size_t)w * t->n_points + step];
        most = fmax(most, hypot(p->slope - t->point[step].slope, p->offset - t->point[step].offset));
    }
    return most;
}

static enum rc write_history(const struct training_path *t, const struct lab_env *env, int worker, bool is_slope)
{
    struct atomic_file file = { .stream = NULL };
    char name[64];
    enum rc rc;

    snprintf(name, sizeof name, "%s_hist_%d", is_slope ? "slope" : "offset", worker);
    TRY(lesson_file(&file, env, name));
    for (size_t i = 0; i < t->n_points; i++) {
        const struct path_point *p = &t->point[(size_t)worker * t->n_points + i];
        fprintf(file.stream, "%.9g\n", is_slope ? p->slope : p->offset);
    }
out:
    return atomic_file_finish(&file, rc);
}

enum rc training_histories(const struct training_path *t, const struct lab_env *env)
{
    enum rc rc = RC_OK;

    for (int w = 0; w < t->n_workers; w++) {
        TRY(write_history(t, env, w, true));
        TRY(write_history(t, env, w, false));
    }
out:
    return rc;
}

enum rc training_launch(const struct lab_env *env, const char *name, const char *options, const char *const *own)
{
    char words[TRAINING_COMMAND_BYTES], complaint[RC_MESSAGE_BYTES / 2] = "", *rest = NULL;
    char *argv[MAX_WORDS] = { (char *)(uintptr_t)env->self_path, "train" };
    int n = 2, exit_code = 0;
    enum rc rc;

    snprintf(words, sizeof words, "%s", options);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (n == MAX_WORDS - 3)
            return rc_raise(RC_BUG, "more than %d words of a training", MAX_WORDS - 5);
        argv[n++] = word;
    }
    for (; *own; own++) {
        if (n == MAX_WORDS - 1)
            return rc_raise(RC_BUG, "more than %d words of a training", MAX_WORDS - 5);
        argv[n++] = (char *)(uintptr_t)*own;
    }
    argv[n] = NULL;
    parts_begin(env, name);
    TRY(child_run(argv, 0, stop_wanted, &exit_code, complaint, sizeof complaint));
    complaint[strcspn(complaint, "\n")] = '\0';
    if (exit_code != 0 && stop_wanted())
        FAIL(RC_PEER, "stopped by %s during the training %s", stop_signal_name(stop_signal()), name);
    if (exit_code != 0) {
        char ending[sizeof complaint + 64];
        child_ending(ending, sizeof ending, exit_code, complaint);
        FAIL(RC_PEER, "the training %s %s", name, ending);
    }
out:
    return rc;
}

/* Where the trajectory and, if it saves, the checkpoint go. */
static enum rc launch(const struct training_path *t, const struct lab_env *env, const char *options, bool saves)
{
    char trajectory[PATH_BYTES + 64], save[PATH_BYTES + 64];
    const char *own[] = { trajectory, saves ? save : NULL, NULL };

    snprintf(trajectory, sizeof trajectory, "--trajectory=%s/%s.csv", env->folder, t->name);
    snprintf(save, sizeof save, "--save=%s/%s.ckpt", env->folder, t->name);
    return training_launch(env, t->name, options, own);
}

static enum rc run_training(struct training_path *out, const struct lab_env *env, const char *name, const char *options,
                            bool saves)
{
    char words[TRAINING_COMMAND_BYTES], path[PATH_BYTES], save[TRAINING_NAME_BYTES + 16];
    enum rc rc;

    *out = (struct training_path){ .point = NULL };
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(words, sizeof words, "--model linear --threads 1 %s", options);
    snprintf(save, sizeof save, " --save %.40s.ckpt", name);
    snprintf(out->command, sizeof out->command, "gradmark train %.380s --trajectory %.40s.csv%.60s", words, name,
             saves ? save : "");
    snprintf(path, sizeof path, "%s/%s.csv", env->folder, name);
    TRY(launch(out, env, words, saves));
    TRY(training_read(out, path));
out:
    if (rc != RC_OK)
        training_close(out);
    return rc;
}

enum rc training_run(struct training_path *out, const struct lab_env *env, const char *name, const char *options)
{
    return run_training(out, env, name, options, false);
}

enum rc training_run_saving(struct training_path *out, const struct lab_env *env, const char *name, const char *options)
{
    return run_training(out, env, name, options, true);
}
