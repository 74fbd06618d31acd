/* SPDX-License-Identifier: Apache-2.0 */
/* campaign.c - the folder of a campaign, its points, and the records that launches leave. */
#include "harness/campaign/campaign.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/text.h"

/* date-name, then date-name-2, ...: the first that can be made. */
static enum rc make_dir(struct campaign *c, const char *results_dir, const char *name)
{
    enum { MAX_TRIES = 1000 };
    const time_t now = time(NULL);
    struct tm local;
    char date[16];

    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&now, &local));
    for (int i = 1; i < MAX_TRIES; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%d", i);
        snprintf(c->dir, sizeof c->dir, "%s/%s-%s%s", results_dir, date, name, suffix);
        if (mkdir(c->dir, 0777) == 0) {
            c->made_dir = true;
            return RC_OK;
        }
        if (errno != EEXIST)
            return rc_raise(RC_INVAL, "%s: cannot be made: %s", c->dir, strerror(errno));
    }
    return rc_raise(RC_INVAL, "%s: exists, and so do %d more of that name", c->dir, MAX_TRIES);
}

enum rc campaign_open(struct campaign *c, const char *results_dir, const char *name)
{
    char path[600];
    enum rc rc;

    TRY(file_make_folder(results_dir));
    TRY(make_dir(c, results_dir, name));
    snprintf(path, sizeof path, "%s/runs.jsonl", c->dir);
    TRY(atomic_file_open(&c->runs, path));
out:
    return rc;
}

enum rc campaign_add(struct campaign *c, const struct assignment *assigned, int n_assigned, struct point **out)
{
    struct point added = { .n_assigned = n_assigned, .n_threads = 1, .learning_rate = NAN };
    struct point *grown = NULL;
    uint64_t n_workers = 0;
    enum rc rc;

    assert(n_assigned <= MAX_ASSIGNMENTS);
    memcpy(added.assigned, assigned, (size_t)n_assigned * sizeof *assigned);
    assert(point_value(&added, "model") && point_value(&added, "mode") && point_value(&added, "workers"));
    TRY(workload_find(&added.workload, point_value(&added, "model")));
    TRY(module_find(&added.mode, &mode_kind, point_value(&added, "mode")));
    if (!text_to_u64(point_value(&added, "workers"), &n_workers) || n_workers == 0 || n_workers > INT_MAX)
        FAIL(RC_INVAL, "--workers %s: not a number of workers", point_value(&added, "workers"));
    added.n_workers = (int)n_workers;
    grown = realloc(c->point, (c->n_points + 1) * sizeof *grown);
    if (!grown)
        FAIL(RC_NOMEM, "no memory for point %zu", c->n_points + 1);
    c->point = grown;
    added.launch = calloc(c->n_launches_wanted, sizeof *added.launch);
    added.curve = calloc(c->n_launches_wanted, sizeof *added.curve);
    added.n_curves_room = c->n_launches_wanted;
    if (!added.launch || !added.curve)
        FAIL(RC_NOMEM, "no memory for %zu launches", c->n_launches_wanted);
    *out = &grown[c->n_points++];
    **out = added;
    added = (struct point){ 0 };
out:
    free(added.launch);
    free(added.curve);
    return rc;
}

static double number_at(const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool has_text(const json_t *record, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(record, key));

    return value && strcmp(value, text) == 0;
}

static void read_summary(struct launch *out, const json_t *r)
{
    *out = (struct launch){
        .throughput_samples_per_s = number_at(r, "throughput_samples_per_s"),
        .low_samples_per_s = number_at(r, "throughput_low_samples_per_s"),
        .high_samples_per_s = number_at(r, "throughput_high_samples_per_s"),
        .efficiency_ratio = number_at(r, "efficiency_ratio"),
        .bound_ratio = number_at(r, "bound_ratio"),
        .bound_low_ratio = number_at(r, "bound_low_ratio"),
        .bound_high_ratio = number_at(r, "bound_high_ratio"),
        .step_mean_s = number_at(r, "step_mean_s"),
        .compute_s = number_at(r, "compute_s"),
        .wait_s = number_at(r, "wait_s"),
        .wire_s = number_at(r, "wire_s"),
        .server_s = number_at(r, "server_s"),
        .apply_s = number_at(r, "apply_s"),
        .rest_s = number_at(r, "rest_s"),
        .loss_last = number_at(r, "loss_last"),
        .accuracy_ratio = number_at(r, "accuracy_ratio"),
        .staleness_mean_count = number_at(r, "staleness_mean_count"),
        .staleness_max_count = number_at(r, "staleness_max_count"),
        .seconds_to_target_s = number_at(r, "seconds_to_target_loss_s"),
        .steal_ratio = number_at(r, "steal_ratio"),
        .others_cores_count = number_at(r, "others_cores_count"),
        .taken_cores_ratio = number_at(r, "taken_cores_ratio"),
        .frequency_hz = number_at(r, "frequency_hz"),
        .samples_to_target_count = number_at(r, "samples_to_target_loss_count"),
        .did_not_learn = has_text(r, "learned", learned_word(LEARNED_NO)),
        .was_disturbed = has_text(r, "disturbed", "yes"),
        .switched = has_text(r, "steady_state", steady_state_text(STEADY_SWITCH)),
        .never_settled = has_text(r, "steady_state", steady_state_text(STEADY_NONE)),
    };
}

/* Only the first launch that did not learn has its reason kept. */
static void read_learning(struct point *p, const json_t *r)
{
    const char *advice = json_string_value(json_object_get(r, "not_learned_advice"));

    if (p->launch[p->n_launches].did_not_learn && advice && !p->not_learned[0])
        snprintf(p->not_learned, sizeof p->not_learned, "%s", advice);
}

/* Grow by doubling: one step record more. */
static enum rc add_to_curve(struct curve *c, const json_t *r)
{
    const size_t n = c->n_points;

    if ((n & (n - 1)) == 0) { /* 0 or a power of two: full */
        const size_t n_room = n ? 2 * n : 1;
        double *seconds = realloc(c->seconds, n_room * sizeof *seconds);
        if (seconds)
            c->seconds = seconds;
        double *samples = realloc(c->samples_count, n_room * sizeof *samples);
        if (samples)
            c->samples_count = samples;
        double *loss = realloc(c->loss, n_room * sizeof *loss);
        if (loss)
            c->loss = loss;
        if (!seconds || !samples || !loss)
            return rc_raise(RC_NOMEM, "no memory for %zu points of a loss curve", n_room);
    }
    const double wall_s = number_at(r, "wall_s");
    c->seconds[n] = isnan(wall_s) ? number_at(r, "virtual_s") : wall_s;
    c->samples_count[n] = number_at(r, "samples_count");
    c->loss[n] = number_at(r, "loss");
    c->n_points++;
    return RC_OK;
}

/* Ranks of a launch are in order: a host not seen in the rank before is another one. */
struct hosts {
    char last[64];
    int n_hosts;
};

static void take_host(struct hosts *hosts, const json_t *r)
{
    const char *host = json_string_value(json_object_get(r, "host"));

    if (host && strcmp(host, hosts->last) != 0) {
        snprintf(hosts->last, sizeof hosts->last, "%s", host);
        hosts->n_hosts++;
    }
}

static enum rc take_record(struct campaign *c, struct point *p, size_t block_position, json_t *r, struct hosts *hosts,
                           bool *has_summary)
{
    const char *kind = json_string_value(json_object_get(r, "kind"));
    enum rc rc = RC_OK;

    if (!kind)
        return rc_raise(RC_MISMATCH, "a record of a launch has no kind");
    if (strcmp(kind, "summary") == 0) {
        read_summary(&p->launch[p->n_launches], r);
        read_learning(p, r);
        p->batch_per_worker_count = (uint64_t)json_integer_value(json_object_get(r, "batch_per_worker_count"));
        *has_summary = true;
    } else if (strcmp(kind, "step") == 0) {
        p->learning_rate = number_at(r, "learning_rate");
        TRY(add_to_curve(&p->curve[p->n_launches], r));
    } else if (strcmp(kind, "rank") == 0)
        take_host(hosts, r);
    if (json_object_set_new(r, "launch_index", json_integer((json_int_t)p->n_launches)) != 0 ||
        json_object_set_new(r, "block_position", json_integer((json_int_t)block_position)) != 0 ||
        json_dumpf(r, c->runs.stream, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
        fputc('\n', c->runs.stream) == EOF)
        FAIL(RC_IO, "%s: write failed", c->runs.path);
out:
    return rc;
}

enum rc campaign_take(struct campaign *c, struct point *p, size_t block_position, const char *path)
{
    FILE *from = fopen(path, "r");
    bool has_summary = false;
    struct hosts hosts = { .n_hosts = 0 };
    json_t *record = NULL;
    json_error_t error;
    enum rc rc = RC_OK;

    if (!from)
        return rc_raise(RC_MISMATCH, "%s: the launch left no records: %s", path, strerror(errno));
    while ((record = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        TRY(take_record(c, p, block_position, record, &hosts, &has_summary));
        json_decref(record);
    }
    if (!has_summary)
        FAIL(RC_MISMATCH, "%s: the launch left no summary", path);
    p->n_launches++;
    p->n_curves = p->n_launches;
    c->n_launches_done++;
    if (c->is_launched) /* its hosts are taken to be alike */
        point_mark_shared_cores(p, sysconf(_SC_NPROCESSORS_ONLN) * (hosts.n_hosts > 0 ? hosts.n_hosts : 1));
out:
    if (rc != RC_OK)
        p->curve[p->n_launches].n_points = 0; /* steps of a launch that is none */
    json_decref(record);
    fclose(from);
    unlink(path);
    return rc;
}

enum rc campaign_commit(struct campaign *c)
{
    return atomic_file_commit(&c->runs);
}

void campaign_close(struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++) {
        struct point *p = &c->point[i];
        for (size_t k = 0; k < p->n_curves_room; k++) {
            free(p->curve[k].seconds);
            free(p->curve[k].samples_count);
            free(p->curve[k].loss);
        }
        free(p->curve);
        free(p->launch);
    }
    free(c->point);
    atomic_file_discard(&c->runs);
    if (c->made_dir)
        (void)rmdir(c->dir); /* if it is empty */
    *c = (struct campaign){ 0 };
}
