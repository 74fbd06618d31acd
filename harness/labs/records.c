/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - see records.h. */
#include "harness/labs/records.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/curves.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"

enum { MAX_WORDS = 48, PATH_BYTES = 4096 };

/* --- reading --- */

/* NaN: null, or not there. */
static double number_of(const json_t *r, const char *key)
{
    const json_t *value = json_object_get(r, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool is_of_kind(const json_t *r, const char *kind)
{
    const char *text = json_string_value(json_object_get(r, "kind"));

    return text && strcmp(text, kind) == 0;
}

static enum rc add_round(struct training_record *t, size_t *n_room, const json_t *r)
{
    const double wall_s = number_of(r, "wall_s");

    if (t->n_points == *n_room) {
        const size_t n_wanted = *n_room > 0 ? 2 * *n_room : 256;
        struct loss_point *larger = realloc(t->point, n_wanted * sizeof *larger);
        if (!larger)
            return rc_raise(RC_NOMEM, "no memory for %zu rounds", n_wanted);
        t->point = larger;
        *n_room = n_wanted;
    }
    t->point[t->n_points++] = (struct loss_point){ .samples_count = number_of(r, "samples_count"),
                                                   .time_s = isnan(wall_s) ? number_of(r, "virtual_s") : wall_s,
                                                   .loss = number_of(r, "loss") };
    return RC_OK;
}

static void take_summary(struct training_record *t, const json_t *r)
{
    const char *learned = json_string_value(json_object_get(r, "learned"));

    t->staleness_mean_count = number_of(r, "staleness_mean_count");
    t->seconds_to_target_s = number_of(r, "seconds_to_target_loss_s");
    t->samples_to_target_count = number_of(r, "samples_to_target_loss_count");
    t->has_learned = learned && strcmp(learned, "yes") == 0;
}

enum rc training_record_read(struct training_record *out, const char *path)
{
    size_t n_room = 0, n_records = 0;
    bool has_summary = false;
    FILE *from = NULL;
    json_error_t why;
    enum rc rc;

    *out = (struct training_record){ .point = NULL };
    TRY(file_open_regular(&from, path, "records that --out wrote"));
    for (json_t *r; (r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &why)); n_records++) {
        rc = is_of_kind(r, "step") ? add_round(out, &n_room, r) : RC_OK;
        if (is_of_kind(r, "summary")) {
            take_summary(out, r);
            has_summary = true;
        }
        json_decref(r);
        TRY(rc);
    }
    if (!has_summary || out->n_points == 0)
        FAIL(RC_MISMATCH, "%s: of its %zu records none is the summary, or none a step, of a training", path, n_records);
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
    *r = (struct training_record){ .point = NULL };
}

/* --- running --- */

static enum rc launch(const struct lab_env *env, const char *name, char *words, char *const *file_option)
{
    char complaint[RC_MESSAGE_BYTES / 2] = "", *rest = NULL;
    char *argv[MAX_WORDS] = { (char *)(uintptr_t)env->self_path, "train" };
    int n = 2, exit_code = 0;
    enum rc rc;

    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (n == MAX_WORDS - 3)
            return rc_raise(RC_BUG, "more than %d words of a training", MAX_WORDS - 5);
        argv[n++] = word;
    }
    for (; *file_option; file_option++)
        argv[n++] = *file_option;
    argv[n] = NULL;
    TRY(child_run(argv, 0, stop_wanted, &exit_code, complaint, sizeof complaint));
    complaint[strcspn(complaint, "\n")] = '\0';
    if (exit_code != 0)
        FAIL(RC_PEER, "the training %s ended with exit code %d: %s", name, exit_code, complaint);
out:
    return rc;
}

static enum rc write_losses(const struct training_record *r, const struct lab_env *env, const char *name)
{
    struct curves losses = { .file.stream = NULL };
    char file_name[TRAINING_NAME_BYTES + 8];
    enum rc rc;

    snprintf(file_name, sizeof file_name, "%s.csv", name);
    TRY(curves_open_file(&losses, env, file_name));
    fputs("round,samples_count,time_s,loss\n", losses.file.stream);
    for (size_t i = 0; i < r->n_points; i++)
        fprintf(losses.file.stream, "%zu,%.0f,%.9f,%.9g\n", i, r->point[i].samples_count, r->point[i].time_s,
                r->point[i].loss);
    TRY(curves_commit(&losses));
out:
    curves_discard(&losses);
    return rc;
}

enum rc training_run_recorded(struct training_path *path, struct training_record *record, const struct lab_env *env,
                              enum training_model model, const char *name, const char *options)
{
    const bool has_path = model == TRAIN_LINEAR;
    char words[TRAINING_COMMAND_BYTES], out[PATH_BYTES + 64], trajectory[PATH_BYTES + 64], shown[128] = "";
    char *const file_option[] = { out, has_path ? trajectory : NULL, NULL };
    enum rc rc;

    *path = (struct training_path){ .point = NULL };
    *record = (struct training_record){ .point = NULL };
    snprintf(path->name, sizeof path->name, "%s", name);
    snprintf(words, sizeof words, "%s--threads 1 %s", has_path ? "--model linear " : "", options);
    if (has_path)
        snprintf(shown, sizeof shown, " --trajectory %.40s.csv", name);
    snprintf(path->command, sizeof path->command, "gradmark train %.380s --out %.40s.jsonl%s", words, name, shown);
    snprintf(out, sizeof out, "--out=%s/%s.jsonl", env->folder, name);
    snprintf(trajectory, sizeof trajectory, "--trajectory=%s/%s.csv", env->folder, name);
    TRY(launch(env, name, words, file_option));
    TRY(training_record_read(record, out + strlen("--out=")));
    if (has_path)
        TRY(training_read(path, trajectory + strlen("--trajectory=")));
    else
        TRY(write_losses(record, env, name));
out:
    if (rc != RC_OK) {
        training_close(path);
        training_record_close(record);
    }
    return rc;
}
