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

#include "harness/base/folder.h"
#include "harness/base/hold.h"
#include "harness/base/text.h"
#include "harness/exchange/consistency.h"
#include "harness/report/record.h"
#include "harness/train/job_batch.h"

enum rc campaign_open(struct campaign *c, const char *results_dir, const char *name)
{
    char path[600];
    enum rc rc;

    TRY(file_make_folder(results_dir));
    TRY(folder_make_dated(c->dir, sizeof c->dir, results_dir, name));
    c->made_dir = true;
    snprintf(path, sizeof path, "%s/runs.jsonl", c->dir);
    TRY(partial_file_open(&c->runs, path));
out:
    return rc;
}

enum rc campaign_reopen(struct campaign *c, const char *dir)
{
    char path[600];
    enum rc rc;

    if (strlen(dir) >= sizeof c->dir)
        FAIL(RC_INVAL, "%s: the name of the folder is too long", dir);
    snprintf(c->dir, sizeof c->dir, "%s", dir);
    snprintf(path, sizeof path, "%s/runs.jsonl", dir);
    TRY(partial_file_reopen(&c->runs, path));
    c->is_kept = true;
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
    TRY(point_set_layout(&added));
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

static bool has_text(const json_t *record, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(record, key));

    return value && strcmp(value, text) == 0;
}

struct point *campaign_point_of(struct campaign *c, const json_t *record)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        int n_same = 0;
        while (n_same < p->n_assigned && has_text(record, p->assigned[n_same].option, p->assigned[n_same].value))
            n_same++;
        if (n_same == p->n_assigned)
            return &c->point[i];
    }
    return NULL;
}

/* What a layout's first rank waits for the others of its worker, or of its group, is in what it calls compute. */
static void part_waiting(struct launch *out, double waited_ratio)
{
    const double waited_s = waited_ratio * out->step_mean_s;
    const double moved_s = waited_s < out->compute_s ? waited_s : out->compute_s;

    if (!(waited_ratio > 0))
        return;
    out->compute_s -= moved_s;
    out->wait_s += moved_s;
}

static void read_summary(struct launch *out, const json_t *r)
{
    *out = (struct launch){
        .did_not_learn = has_text(r, "learned", learned_word(LEARNED_NO)),
        .was_disturbed = has_text(r, "disturbed", "yes"),
        .is_load_unknown = has_text(r, "disturbed", "not_known"),
        .switched = has_text(r, "steady_state", steady_state_text(STEADY_SWITCH)),
        .never_settled = has_text(r, "steady_state", steady_state_text(STEADY_NONE)),
        .session = (int)json_integer_value(json_object_get(r, "session_index")),
    };
#define READ(member, key) out->member = record_number(r, key);
    LAUNCH_FIGURES(READ)
#undef READ
    part_waiting(out, record_number(r, "layout_waited_ratio"));
}

static void read_encryption(struct point *p, const json_t *r)
{
    const char *encryption = json_string_value(json_object_get(r, "encryption"));

    snprintf(p->encryption, sizeof p->encryption, "%s", encryption ? encryption : "");
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
    const double wall_s = record_number(r, "wall_s");
    c->seconds[n] = isnan(wall_s) ? record_number(r, "virtual_s") : wall_s;
    c->samples_count[n] = record_number(r, "samples_count");
    c->loss[n] = record_number(r, "loss");
    c->n_points++;
    return RC_OK;
}

bool hosts_add(struct hosts *hosts, const char *host)
{
    if (!host || strncmp(host, hosts->last, sizeof hosts->last - 1) == 0)
        return false;
    snprintf(hosts->last, sizeof hosts->last, "%s", host);
    hosts->n++;
    return true;
}

struct taking { /* the records of one launch */
    struct point *p;
    size_t block_position;
    FILE *to; /* they are copied to it; NULL: they are in runs.jsonl */
    struct hosts hosts;
    long n_hosts; /* as the summary tells, where ranks are not all in the records; 0: it does not */
    json_t
        *summary; /* it is copied behind all others, also behind those of stages: with it a launch has ended; owned */
    bool has_summary;
    double campaign_s;
};

/* A launch that was too short to measure others (measure.D3) has those that were there before the first launch. */
static int note_others_before(const struct campaign *c, json_t *summary)
{
    const struct disturbance *d = &c->before;

    if (!has_text(summary, "disturbed", "not_known") || isnan(d->taken_ratio) || !(d->taken_limit_ratio > 0))
        return 0;
    return json_object_set_new(summary, "disturbed", json_string(disturbance_word(d))) |
           json_object_set_new(summary, "steal_ratio", json_real(d->steal_ratio)) |
           json_object_set_new(summary, "others_cores_count", json_real(d->others_cores)) |
           json_object_set_new(summary, "taken_cores_ratio", json_real(d->taken_ratio)) |
           json_object_set_new(summary, "taken_cores_limit_ratio", json_real(d->taken_limit_ratio));
}

/* What a record in runs.jsonl has more than that of a launch by itself. */
static enum rc complete_record(const struct campaign *c, const struct taking *t, json_t *r, bool is_summary)
{
    int failed = json_object_set_new(r, "launch_index", json_integer((json_int_t)t->p->n_launches)) != 0 ||
                 json_object_set_new(r, "block_position", json_integer((json_int_t)t->block_position)) != 0;

    if (is_summary && !c->is_virtual) /* there equal launches have equal records */
        failed = failed || json_object_set_new(r, "campaign_s", json_real(c->spent_s)) != 0 ||
                 json_object_set_new(r, "session_index", json_integer(c->session)) != 0 ||
                 note_others_before(c, r) != 0;
    return failed ? rc_raise(RC_NOMEM, "no memory for a record of a launch") : RC_OK;
}

/* A run that was stopped leaves a summary of the steps that it made: that is no launch of its point. */
static enum rc check_steps(const struct point *p, const json_t *summary)
{
    const json_t *n_steps = json_object_get(summary, "steps_count");

    if (json_is_integer(n_steps) && json_integer_value(n_steps) < (json_int_t)p->n_steps)
        return rc_raise(RC_MISMATCH, "it ended after %lld of %llu steps", (long long)json_integer_value(n_steps),
                        (unsigned long long)p->n_steps);
    return RC_OK;
}

/* By the rule of its servers; 0: it has none, or they apply each gradient. */
static int n_averaged(const struct point *p, const json_t *summary)
{
    const char *rule = json_string_value(json_object_get(summary, "consistency"));
    struct consistency c;

    if (!rule || consistency_parse(&c, rule) != RC_OK || !consistency_has_rounds(&c))
        return 0;
    return p->n_workers - (int)consistency_n_dropped(&c);
}

enum rc point_read_record(struct point *p, const json_t *r)
{
    const char *kind = json_string_value(json_object_get(r, "kind"));
    enum rc rc = RC_OK;

    if (!kind)
        return rc_raise(RC_MISMATCH, "a record of a launch has no kind");
    if (strcmp(kind, "summary") == 0) {
        read_summary(&p->launch[p->n_launches], r);
        read_learning(p, r);
        read_encryption(p, r);
        point_read_layout(p, r);
        p->batch_per_worker_count = (uint64_t)json_integer_value(json_object_get(r, "batch_per_worker_count"));
        p->global_batch_count = has_text(r, "scaling", scaling_text(true))
                                    ? (uint64_t)json_integer_value(json_object_get(r, "global_batch_count"))
                                    : 0;
        p->n_averaged = n_averaged(p, r);
        p->lowers_stale = has_text(r, "lr_staleness", lr_staleness_text(LR_STALENESS_INVERSE));
        p->is_inference = has_text(r, "task", "inference");
        p->servers_beside = json_is_true(json_object_get(r, "servers_beside_workers"));
    } else if (strcmp(kind, "step") == 0) {
        p->learning_rate = record_number(r, "learning_rate");
        TRY(add_to_curve(&p->curve[p->n_launches], r));
    }
out:
    return rc;
}

/* to NULL: it is there. */
static enum rc copy_record(FILE *to, const json_t *r)
{
    if (to && (json_dumpf(r, to, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 || fputc('\n', to) == EOF))
        return rc_raise(RC_NOMEM, "no memory for the records of a launch");
    return RC_OK;
}

static enum rc take_record(const struct campaign *c, struct taking *t, json_t *r)
{
    const bool is_summary = has_text(r, "kind", "summary");
    enum rc rc;

    if (t->to)
        TRY(complete_record(c, t, r, is_summary));
    if (is_summary)
        TRY(check_steps(t->p, r));
    TRY(point_read_record(t->p, r));
    if (is_summary) {
        t->has_summary = true;
        t->campaign_s = record_number(r, "campaign_s");
        t->n_hosts = (long)json_integer_value(json_object_get(r, "hosts_count"));
        t->summary = t->to ? json_incref(r) : NULL;
        goto out;
    }
    if (has_text(r, "kind", "rank"))
        (void)hosts_add(&t->hosts, json_string_value(json_object_get(r, "host")));
    TRY(copy_record(t->to, r));
out:
    return rc;
}

/* All records of `from`, of which `name` tells in messages. */
static enum rc take_records(const struct campaign *c, struct taking *t, FILE *from, const char *name)
{
    json_t *record = NULL;
    json_error_t error;
    enum rc rc = RC_OK;

    while ((record = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        TRY(take_record(c, t, record));
        json_decref(record);
    }
    if (!t->has_summary)
        FAIL(RC_MISMATCH, "%s: the launch left no summary", name);
    if (t->summary)
        TRY(copy_record(t->to, t->summary));
out:
    json_decref(t->summary);
    t->summary = NULL;
    json_decref(record);
    return rc;
}

/* rc: how the taking ended. */
static void end_taking(struct campaign *c, struct taking *t, enum rc rc)
{
    struct point *p = t->p;

    if (rc != RC_OK) {
        p->curve[p->n_launches].n_points = 0; /* steps of a launch that is none */
        return;
    }
    p->n_launches++;
    p->n_curves = p->n_launches;
    c->n_launches_done++;
    if (!c->is_launched)
        return;
    const long n_hosts = t->n_hosts > 0 ? t->n_hosts : t->hosts.n > 0 ? t->hosts.n : 1;
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN) * n_hosts; /* its hosts are alike */
    p->n_host_cores = n_cores > p->n_host_cores ? n_cores : p->n_host_cores;
    point_mark_shared_cores(p, p->n_host_cores);
}

enum rc campaign_take(struct campaign *c, struct point *p, size_t block_position, const char *path)
{
    struct taking t = { .p = p, .block_position = block_position };
    FILE *from = fopen(path, "re");
    char *text = NULL;
    size_t n_bytes = 0;
    enum rc rc = RC_OK;

    if (!from)
        return rc_raise(RC_MISMATCH, "%s: the launch left no records: %s", path, strerror(errno));
    t.to = open_memstream(&text, &n_bytes);
    if (!t.to)
        FAIL(RC_NOMEM, "no memory for the records of a launch");
    TRY(take_records(c, &t, from, path));
    const int closed = fclose(t.to);
    t.to = NULL;
    if (closed != 0)
        FAIL(RC_NOMEM, "no memory for the records of a launch");
    TRY(campaign_keep(c, text, n_bytes));
    hold_at("kept", 0, c->n_launches_done);
out:
    end_taking(c, &t, rc);
    if (t.to)
        fclose(t.to);
    free(text);
    fclose(from);
    unlink(path); /* not before its records are kept */
    return rc;
}

enum rc campaign_retake(struct campaign *c, struct point *p, const char *text, size_t n_bytes)
{
    struct taking t = { .p = p };
    FILE *from = fmemopen((void *)(uintptr_t)text, n_bytes, "r");
    enum rc rc;

    if (!from)
        return rc_raise(RC_NOMEM, "no memory to read the records of a launch");
    TRY(take_records(c, &t, from, c->runs.temporary_path));
    if (!isnan(t.campaign_s))
        c->spent_s = t.campaign_s;
out:
    end_taking(c, &t, rc);
    fclose(from);
    return rc;
}

enum rc campaign_keep(struct campaign *c, const char *text, size_t n_bytes)
{
    struct seal seal = c->seal;
    char *sealed = NULL;
    enum rc rc;

    if (!c->is_unsealed)
        TRY(seal_lines(&seal, &sealed, &n_bytes, text, n_bytes));
    TRY(partial_file_append(&c->runs, sealed ? sealed : text, n_bytes));
    c->seal = seal;
    c->is_kept = true;
out:
    free(sealed);
    return rc;
}

enum rc campaign_commit(struct campaign *c)
{
    return partial_file_commit(&c->runs);
}

void campaign_close(struct campaign *c)
{
    char path[600];

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
    free(c->hosts);
    if (c->is_kept)
        partial_file_leave(&c->runs);
    else
        atomic_file_discard(&c->runs);
    if (c->made_dir && !c->is_kept) {
        snprintf(path, sizeof path, "%s/manifest.json", c->dir);
        (void)unlink(path);
        (void)rmdir(c->dir); /* if it is empty */
    }
    *c = (struct campaign){ 0 };
}
