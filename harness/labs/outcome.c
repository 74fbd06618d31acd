/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.c - see outcome.h. */
#include "harness/labs/outcome.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "harness/base/file.h"

enum { PATH_BYTES = 4096 };

/* null, or not there: NaN. */
static double number(const json_t *r, const char *key)
{
    const json_t *v = json_object_get(r, key);

    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static bool is_text(const json_t *r, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(r, key));

    return value && strcmp(value, text) == 0;
}

static void take_worker(struct outcome *out, const json_t *r)
{
    const int w = out->n_workers;

    if (w == OUTCOME_MOST_WORKERS)
        return;
    out->compute_s[w] = number(r, "compute_s");
    out->wait_s[w] = number(r, "wait_s");
    out->batch_count[w] = number(r, "part_batch_count");
    out->n_workers++;
}

enum rc outcome_read(struct outcome *out, const char *path)
{
    bool has_summary = false;
    json_error_t why;
    FILE *from = NULL;
    enum rc rc;

    out->n_workers = 0;
    TRY(file_open_regular(&from, path, "records of a training"));
    for (json_t *r; (r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &why)); json_decref(r)) {
        if (is_text(r, "kind", "rank") && is_text(r, "role", "worker"))
            take_worker(out, r);
        if (!is_text(r, "kind", "summary"))
            continue;
        has_summary = true;
        out->accuracy_ratio = number(r, "accuracy_ratio");
        out->throughput_samples_per_s = number(r, "throughput_samples_per_s");
    }
    if (!has_summary || out->n_workers == 0)
        FAIL(RC_MISMATCH, "%s: has no summary of a training, or none of its workers", path);
out:
    if (from)
        fclose(from);
    return rc;
}

enum rc outcome_run(struct outcome *out, const struct lab_env *env, const char *name, const char *options)
{
    char words[TRAINING_COMMAND_BYTES], path[PATH_BYTES + 64], records[PATH_BYTES + 80];
    const char *own[] = { records, NULL };
    enum rc rc;

    *out = (struct outcome){ .n_workers = 0 };
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(words, sizeof words, "%s", options);
    snprintf(out->command, sizeof out->command, "gradmark train %.400s --out %.40s.jsonl", options, name);
    snprintf(path, sizeof path, "%s/%s.jsonl", env->folder, name);
    snprintf(records, sizeof records, "--out=%s", path);
    TRY(training_launch(env, name, words, own));
    TRY(outcome_read(out, path));
out:
    return rc;
}
