/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_reader.c - reading records back.
 *
 * Records of a launch stand together: its manifest, then steps and ranks, then its summary.
 */
#include "harness/campaign/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"

enum { FIRST_ROOM = 16 }; /* launches of a point, doubled as they come */

static enum rc misfit(const struct reader *r, const char *what)
{
    return rc_raise(RC_MISMATCH, "%s: line %zu: %s", r->path, r->line, what);
}

/* --- points --- */

/* Is item, as the user wrote it (".01", "1Mi"), this number? */
static bool is_number(const char *item, const json_t *value)
{
    uint64_t whole;
    double real;

    if (json_is_integer(value))
        return text_to_u64(item, &whole) && whole == (uint64_t)json_integer_value(value);
    return json_is_real(value) && text_to_f64(item, &real) && real == json_real_value(value);
}

/* listed: the values of the option as the user wrote them, with commas between; NULL: not known. */
static bool assign(struct assignment *a, const char *option, const char *listed, const json_t *values)
{
    const json_t *value = json_object_get(values, option);
    char item[sizeof a->value];

    if (!json_is_string(value) && !json_is_number(value) && !json_is_boolean(value))
        return false;
    snprintf(a->option, sizeof a->option, "%s", option);
    recorded_text(a->value, sizeof a->value, value);
    while (listed && text_next(&listed, item, sizeof item))
        if (is_number(item, value)) {
            snprintf(a->value, sizeof a->value, "%s", item);
            break;
        }
    return true;
}

static enum rc add_point(struct reader *r, const struct assignment *a, int n_assigned)
{
    struct recorded *k = r->into;
    struct point *p = NULL;
    struct recorded_point *grown;
    enum rc rc;

    k->campaign.n_launches_wanted = FIRST_ROOM;
    rc = campaign_add(&k->campaign, a, n_assigned, &p);
    if (rc != RC_OK) {
        char why[RC_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%s", rc_message());
        return misfit(r, why);
    }
    grown = realloc(k->point, k->campaign.n_points * sizeof *grown);
    if (!grown) {
        k->campaign.n_points--; /* whose launches are freed with it */
        free(p->launch);
        free(p->curve);
        return rc_raise(RC_NOMEM, "no memory for %zu points", k->campaign.n_points + 1);
    }
    k->point = grown;
    grown[k->campaign.n_points - 1] = (struct recorded_point){ NULL, NULL };
    return RC_OK;
}

/* The point of these values, a new one where there is none yet: *index. lack: what a record without them is. */
static enum rc find_or_add(struct reader *r, const json_t *values, const char *lack, size_t *index)
{
    char over[OPTION_BYTES];
    const char *option[MAX_ASSIGNMENTS] = { "model", "mode", "workers" };
    const struct campaign *c = &r->into->campaign;
    struct assignment a[MAX_ASSIGNMENTS];
    int n_assigned = 3;

    const char *listed = recorded_over(over, r->into);
    const int over_index = listed ? n_assigned : -1;

    if (listed)
        option[n_assigned++] = over;
    if (recorded_sweeps_layout(r->into, "stages"))
        option[n_assigned++] = "stages";
    if (recorded_sweeps_layout(r->into, "shard-dense"))
        option[n_assigned++] = "shard-dense";
    for (int i = 0; i < n_assigned; i++)
        if (!assign(&a[i], option[i], i == over_index ? listed : NULL, values))
            return misfit(r, lack);
    const struct point *p = campaign_find(c, a, n_assigned);
    *index = p ? (size_t)(p - c->point) : c->n_points;
    return p ? RC_OK : add_point(r, a, n_assigned);
}

/* Room for one launch more. */
static enum rc make_room(const struct reader *r, struct point *p)
{
    const size_t n_room = 2 * p->n_curves_room;

    if (p->n_launches >= MAX_LAUNCHES)
        return misfit(r, "more launches of a point than a campaign can have");
    if (p->n_launches < p->n_curves_room)
        return RC_OK;
    struct launch *launch = realloc(p->launch, n_room * sizeof *launch);
    if (launch)
        p->launch = launch;
    struct curve *curve = realloc(p->curve, n_room * sizeof *curve);
    if (curve)
        p->curve = curve;
    if (!launch || !curve)
        return rc_raise(RC_NOMEM, "no memory for %zu launches", n_room);
    memset(curve + p->n_curves_room, 0, (n_room - p->n_curves_room) * sizeof *curve);
    p->n_curves_room = n_room;
    return RC_OK;
}

/* --- launches --- */

/* A number of cores, or of threads; 0: none that there can be. */
static json_int_t count_at(const json_t *record, const char *key)
{
    enum { MOST = 1 << 20 };
    const json_int_t n = json_integer_value(json_object_get(record, key));

    return n > 0 && n <= MOST ? n : 0;
}

static enum rc begin_launch(struct reader *r, json_t *manifest)
{
    static const char lack[] =
        "a manifest without model, mode and workers among its options, or without what the campaign is over";
    const char *verb = json_string_value(json_object_get(manifest, "verb")); /* of compare and train: none */
    struct campaign *c = &r->into->campaign;
    enum rc rc;

    if (r->into->is_run && r->n_launches_begun > 0)
        FAIL(RC_INVAL, "%s: holds the records of several launches; give the folder of their campaign", r->path);
    if (verb)
        FAIL(RC_MISMATCH, "%s: line %zu: the records of gradmark %.40s; use those of gradmark train or compare",
             r->path, r->line, verb);
    if (r->first_manifest)
        TRY(reader_check_fit(r, manifest));
    TRY(find_or_add(r, json_object_get(manifest, "options"), lack, &r->point));
    TRY(make_room(r, &c->point[r->point]));
    const json_t *index = json_object_get(manifest, "launch_index");
    if (index && json_integer_value(index) != (json_int_t)c->point[r->point].n_launches)
        return misfit(r, "launches of a point are missing, or twice there");
    if (!r->into->point[r->point].manifest)
        r->into->point[r->point].manifest = json_incref(manifest);
    if (r->are_files && !r->first_manifest) {
        r->first_manifest = r->into->point[r->point].manifest;
        r->first_path = r->path;
    }
    r->is_open = true;
    r->has_summary = false;
    r->n_servers = r->n_own_cores = r->n_hosts = r->n_stage_servers = 0;
    r->hosts = (struct hosts){ .n = 0 };
    r->n_launches_begun++;
out:
    return rc;
}

static enum rc end_launch(struct reader *r)
{
    struct campaign *c = &r->into->campaign;
    enum rc rc = RC_OK;

    if (!r->is_open)
        return RC_OK;
    struct point *p = &c->point[r->point];
    const struct recorded_point *about = &r->into->point[r->point];
    if (!r->has_summary)
        return misfit(r, "the launch before has no summary");
    if (r->are_files)
        TRY(reader_check_twice(r));
    /* A launcher may let each process have one core: hosts have those of all their ranks at least. */
    const json_int_t n_hosts = r->n_hosts > 0 ? r->n_hosts : larger(r->hosts.n, 1);
    const json_int_t n_cores = count_at(about->manifest, "cores_count") * n_hosts;
    p->n_host_cores = (long)larger(p->n_host_cores, larger(n_cores, r->n_own_cores));
    p->n_servers = (int)(p->n_stages > 1 ? r->n_stage_servers : r->n_servers);
    p->n_curves = ++p->n_launches;
    p->is_given_up = p->is_fate_unknown = false; /* what failed before was repeated */
    c->n_launches_done++;
    r->is_open = false;
out:
    return rc;
}

/* Of a host that the rank before has not: list it where it is new. */
static enum rc list_host(const struct reader *r, const char *host)
{
    if (recorded_has_host(r->into, host))
        return RC_OK;
    if (json_array_append_new(r->into->hosts, json_string(host)) != 0)
        return rc_raise(RC_NOMEM, "no memory for a host's name");
    return RC_OK;
}

static enum rc read_rank(struct reader *r, json_t *record)
{
    const char *role = json_string_value(json_object_get(record, "role"));
    const char *host = json_string_value(json_object_get(record, "host"));

    r->n_servers += role && strcmp(role, "server") == 0;
    r->n_own_cores += count_at(record, "own_cores_count");
    if (r->into->is_run && json_array_append(r->into->ranks, record) != 0)
        return rc_raise(RC_NOMEM, "no memory for the records of ranks");
    return hosts_add(&r->hosts, host) ? list_host(r, host) : RC_OK;
}

static void read_summary_facts(struct reader *r, json_t *record)
{
    struct point *p = &r->into->campaign.point[r->point];
    const json_int_t n_threads = count_at(record, "threads_per_worker_count");

    r->has_summary = true;
    r->n_hosts = count_at(record, "hosts_count");
    r->n_stage_servers = count_at(record, "servers_count");
    p->n_threads = n_threads > 0 ? (int)n_threads : 1;
    p->servers_beside = json_is_true(json_object_get(record, "servers_beside_workers"));
    p->n_steps = (uint64_t)json_integer_value(json_object_get(record, "steps_count"));
    if (json_is_number(json_object_get(record, "virtual_s")))
        r->into->campaign.is_virtual = true;
    if (json_is_string(json_object_get(record, "disturbed")))
        r->into->tells_disturbance = true;
    if (!r->into->point[r->point].summary)
        r->into->point[r->point].summary = json_incref(record);
}

/* Of a launch, or of a trial: maybe the only thing that is known of its point. */
static enum rc read_failure(struct reader *r, json_t *record)
{
    const json_t *is_given_up = json_object_get(record, "is_given_up");
    size_t index;
    enum rc rc;

    TRY(find_or_add(r, record, "a failure without model, mode and workers", &index));
    struct point *p = &r->into->campaign.point[index];
    point_retake_failure(p, record);
    if (json_object_get(record, "launch_index")) { /* a trial gives nothing up */
        p->is_given_up = json_is_true(is_given_up);
        p->is_fate_unknown = !json_is_boolean(is_given_up);
    }
    if (p->n_launches == 0) {
        p->n_servers = (int)count_at(record, "servers_count");
        p->n_threads = (int)larger(count_at(record, "threads_per_worker_count"), 1);
    }
    if (json_array_append(r->into->failures, record) != 0)
        FAIL(RC_NOMEM, "no memory for the records of launches that failed");
out:
    return rc;
}

/* Of the launch whose summary was before: trials and choice, and what its stages and shards came to, which campaigns
 * have before it. */
static bool stands_behind(const char *kind)
{
    return strncmp(kind, "autotune", strlen("autotune")) == 0 || strcmp(kind, "stage") == 0 ||
           strcmp(kind, "shard") == 0;
}

static enum rc read_record(struct reader *r, json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));
    enum rc rc = RC_OK;

    if (!kind)
        return misfit(r, "a record without a kind");
    if (strcmp(kind, "tuning") == 0 || strcmp(kind, "failure") == 0 || strcmp(kind, "manifest") == 0)
        TRY(end_launch(r)); /* they stand between launches */
    if (strcmp(kind, "tuning") == 0)
        return json_array_append(r->into->tuning, record) == 0 ? RC_OK : rc_raise(RC_NOMEM, "no memory for records");
    if (strcmp(kind, "failure") == 0)
        return read_failure(r, record);
    if (strcmp(kind, "manifest") == 0)
        return begin_launch(r, record);
    if (r->is_open && stands_behind(kind))
        return RC_OK;
    if (strcmp(kind, "acceptance") == 0 && r->into->is_run)
        FAIL(RC_INVAL, "%s: holds the records of an acceptance test; give its folder", r->path);
    if (!r->is_open || r->has_summary)
        return misfit(r, "a record that belongs to no launch: not the records of gradmark train or compare");
    TRY(point_read_record(&r->into->campaign.point[r->point], record));
    if (strcmp(kind, "rank") == 0)
        TRY(read_rank(r, record));
    if (strcmp(kind, "loss") == 0 && r->into->is_run && json_array_append(r->into->losses, record) != 0)
        FAIL(RC_NOMEM, "no memory for the records of lost ranks");
    if (strcmp(kind, "summary") == 0)
        read_summary_facts(r, record);
out:
    return rc;
}

/* The launch under way has no end, and does not count; nor does its point, where nothing else is known of it. */
static void drop_launch(struct reader *r)
{
    struct recorded *k = r->into;
    struct point *p = &k->campaign.point[r->point];
    struct curve *cut = &p->curve[p->n_launches];

    free(cut->seconds);
    free(cut->samples_count);
    free(cut->loss);
    *cut = (struct curve){ 0 };
    r->is_open = false;
    r->n_launches_begun--;
    if (p->n_launches > 0)
        return;
    json_decref(k->point[r->point].manifest);
    k->point[r->point].manifest = NULL;
    if (p->n_failures + p->n_failed_trials > 0)
        return;
    free(p->launch); /* it is the last point: others were before */
    free(p->curve);
    k->campaign.n_points--;
}

/* Is the line as it was written? A file is sealed from its first line on, or not at all. */
static enum rc check_seal(struct reader *r, const char *line, size_t n_bytes)
{
    struct seal begun = { "" };
    const enum seal_found found = seal_check(&r->seal, line, n_bytes);

    if (r->line == 1)
        r->into->is_sealed = found != SEAL_NONE;
    if (found == (r->into->is_sealed ? SEAL_FITS : SEAL_NONE))
        return RC_OK;
    if (r->line > 1 && seal_check(&begun, line, n_bytes) == SEAL_FITS)
        return misfit(r, "changed after it was written: the records of another campaign begin here; give each campaign "
                         "its own folder");
    return misfit(r, "changed after it was written, or a line before it is missing (" SEAL_KEY " does not match): "
                     "restore the file from a copy, or measure again");
}

/* One line; *is_cut: it is the last one, has no end, and is left out. */
static enum rc read_line(struct reader *r, const char *line, size_t n_bytes, bool *is_cut)
{
    char why[RC_MESSAGE_BYTES];
    json_error_t error;
    json_t *record = json_loadb(line, n_bytes, 0, &error);
    enum rc rc;

    r->line++;
    *is_cut = r->is_partial && line[n_bytes - 1] != '\n';
    snprintf(why, sizeof why, "not a record: %s%s", record ? "" : error.text,
             r->line > 1 ? "" : "; use a folder of results, or a file of records (.jsonl)");
    if (*is_cut) {
        json_decref(record);
        return RC_OK;
    }
    TRY(check_seal(r, line, n_bytes));
    if (!record)
        TRY(misfit(r, why));
    (void)json_object_del(record, SEAL_KEY); /* it tells of the file, not of a launch */
    TRY(read_record(r, record));
out:
    json_decref(record);
    return rc;
}

enum rc reader_run(struct reader *r)
{
    FILE *from = NULL;
    char *line = NULL;
    size_t n_room = 0;
    bool is_cut = false;
    enum rc rc = RC_OK;

    TRY(file_open_text(&from, r->path, "what compare or train --out wrote"));
    for (ssize_t n; !is_cut && (n = getline(&line, &n_room, from)) > 0;)
        TRY(read_line(r, line, (size_t)n, &is_cut));
    if (ferror(from))
        FAIL(RC_IO, "%s: cannot be read: %s", r->path, strerror(errno));
    if (r->is_partial && r->is_open && !r->has_summary)
        drop_launch(r);
    TRY(end_launch(r));
    if (r->n_launches_begun == 0)
        FAIL(RC_INVAL, "%s: holds no launch%s", r->path, r->is_partial ? " that has ended" : "");
out:
    free(line);
    if (from)
        fclose(from);
    return rc;
}
