/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - a folder, a file or several files, as a campaign; see recorded.h. */
#include "harness/campaign/recorded.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/sweep.h"
#include "harness/report/digest.h"
#include "harness/world/world.h"

struct reader { /* of one file, line by line; the caller sets into, path and is_partial; the rest is zero */
    struct recorded *into;
    const char *path;             /* of the current file */
    bool is_partial;              /* its end may be cut off */
    bool are_files;               /* one of several files, whose launches must fit together: recorded.K4 */
    const char *first_path;       /* are_files: of the first file, */
    const json_t *first_manifest; /* and of its first launch; NULL: none was read yet */
    size_t line, n_launches_begun;
    struct seal seal; /* of the line before */
    /* The current launch. is_open: its manifest was read; its summary is missing or may not be its last record. */
    bool is_open, has_summary;
    size_t point;                      /* of the launch */
    json_int_t n_servers, n_own_cores; /* of its ranks */
    json_int_t n_hosts;                /* from its summary; 0: not there */
    json_int_t n_stage_servers;        /* likewise: of each stage, with or without records of its ranks */
    struct hosts hosts;                /* of its ranks */
};

static json_int_t larger(json_int_t a, json_int_t b)
{
    return a > b ? a : b;
}

/*
 * reading records back.
 *
 * Records of a launch stand together: its manifest, then steps and ranks, then its summary.
 */

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

static const char *recorded_over(char name[OPTION_BYTES], const struct recorded *k)
{
    const char *over = json_string_value(recorded_option(k->manifest, "over"));
    const char *equals = over ? strchr(over, '=') : NULL;

    if (!equals || equals - over >= OPTION_BYTES)
        return NULL;
    snprintf(name, OPTION_BYTES, "%.*s", (int)(equals - over), over);
    return strcmp(name, LAYOUT_AXIS) == 0 ? NULL : equals + 1; /* the option of that name has them too */
}

/* "": none. */
static const char *layouts_of(const struct recorded *k)
{
    const char *layouts = json_string_value(recorded_option(k->manifest, LAYOUT_AXIS));

    return layouts ? layouts : "";
}

/* recorded.c: do points assign this option, stages or shard-dense, because the campaign compared layouts? */
static bool recorded_sweeps_layout(const struct recorded *k, const char *option)
{
    char over[OPTION_BYTES] = "";

    if (recorded_over(over, k) && strcmp(over, option) == 0) /* that is assigned as such */
        return false;
    return layouts_of(k)[0] != '\0' || json_integer_value(recorded_option(k->manifest, option)) > 1;
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

/* Where results go, how often they are told, what is drawn anew for each launch, and what the sizes are for. */
static bool may_differ(const char *option, bool is_strong)
{
    static const char *const free_option[] = { "workers",    "seed",     "steps",    "record-every", "save",
                                               "save-every", "restarts", "timeline", "trajectory",   "messages" };

    for (size_t i = 0; i < sizeof free_option / sizeof *free_option; i++)
        if (strcmp(free_option[i], option) == 0)
            return true;
    return is_strong && strcmp(option, "batch") == 0; /* it follows from the workers */
}

enum { MAX_FILES = 4096, PATH_BYTES = 600 };

static enum rc refuse_other(const struct reader *r, const char *key, const json_t *own, const json_t *first)
{
    char mine[PATH_BYTES / 4], other[PATH_BYTES / 4];

    recorded_text(mine, sizeof mine, own);
    recorded_text(other, sizeof other, first);
    return rc_raise(RC_MISMATCH,
                    "%s: line %zu: %s is %s, in %s %s; use runs that differ in workers, steps and seed alone", r->path,
                    r->line, key, mine, r->first_path, other);
}

static bool is_equal(const json_t *a, const json_t *b)
{
    return a == b || (a && b && json_equal(a, b)) || (!a && json_is_null(b)) || (!b && json_is_null(a));
}

/* Of the same file names the contents; records of older versions do not tell them. */
static enum rc check_inputs(const struct reader *r, const json_t *manifest)
{
    json_t *own = json_object_get(manifest, DIGEST_KEY), *first = json_object_get(r->first_manifest, DIGEST_KEY),
           *value;
    char what[DIGEST_NAME_BYTES + 32];
    const char *option;

    json_object_foreach(own, option, value)
    {
        if (!first || is_equal(value, json_object_get(first, option)))
            continue;
        snprintf(what, sizeof what, "the SHA-256 of --%s", option);
        return refuse_other(r, what, value, json_object_get(first, option));
    }
    return RC_OK;
}

/* Does the launch with this manifest fit the first one? RC_MISMATCH names both files. */
static enum rc reader_check_fit(const struct reader *r, const json_t *manifest)
{
    static const char *const program[] = { "version", "git_commit", "git_dirty" };
    json_t *own = json_object_get(manifest, "options"), *first = json_object_get(r->first_manifest, "options"), *value;
    const bool is_strong = json_is_integer(json_object_get(own, "global-batch"));
    const char *option;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < sizeof program / sizeof *program; i++)
        if (!is_equal(json_object_get(manifest, program[i]), json_object_get(r->first_manifest, program[i])))
            return refuse_other(r, program[i], json_object_get(manifest, program[i]),
                                json_object_get(r->first_manifest, program[i]));
    json_object_foreach(own, option, value)
    {
        if (!may_differ(option, is_strong) && !is_equal(value, json_object_get(first, option)))
            TRY(refuse_other(r, option, value, json_object_get(first, option)));
    }
    json_object_foreach(first, option, value)
    {
        if (!may_differ(option, is_strong) && !is_equal(value, json_object_get(own, option)))
            TRY(refuse_other(r, option, json_object_get(own, option), value));
    }
    TRY(check_inputs(r, manifest));
out:
    return rc;
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

/* RC_MISMATCH: the launch that ends, of r->point, equals an earlier one. */
static enum rc reader_check_twice(const struct reader *r)
{
    const struct point *p = &r->into->campaign.point[r->point];
    const struct launch *last = &p->launch[p->n_launches];

    for (size_t i = 0; i < p->n_launches && !r->into->campaign.is_virtual; i++)
        if (p->launch[i].step_mean_s == last->step_mean_s && p->launch[i].compute_s == last->compute_s &&
            p->launch[i].throughput_samples_per_s == last->throughput_samples_per_s)
            return rc_raise(RC_MISMATCH,
                            "%s: line %zu: this launch with %d workers is there twice: to the last bit it took as long "
                            "as one before it",
                            r->path, r->line, p->n_workers);
    return RC_OK;
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

/* Read the whole file into r->into: points with their launches, in the order of the file; hosts, ranks, trials.
 * RC_INVAL: it cannot be read, or contains no launch. RC_MISMATCH: recorded.K2. */
static enum rc reader_run(struct reader *r)
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

/*
 * files that gradmark train --out wrote, as the launches of one campaign (recorded.K4).
 *
 * A file holds one launch or several, one after the other.
 */

struct file_list {
    char *path[MAX_FILES]; /* owned */
    size_t n;
};

static enum rc add_file(struct file_list *list, const char *path)
{
    if (list->n == MAX_FILES)
        return rc_raise(RC_INVAL, "%s: more than %d files", path, (int)MAX_FILES);
    list->path[list->n] = strdup(path);
    if (!list->path[list->n])
        return rc_raise(RC_NOMEM, "no memory for the name of a file");
    list->n++;
    return RC_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_as_records(const char *name)
{
    static const char suffix[] = ".jsonl";
    const size_t n = strlen(name), n_suffix = sizeof suffix - 1;

    return name[0] != '.' && n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

static enum rc list_folder(struct file_list *list, const char *folder)
{
    char path[PATH_BYTES];
    DIR *d = opendir(folder);
    enum rc rc = RC_OK;

    if (!d)
        FAIL(RC_INVAL, "%s: %s", folder, strerror(errno));
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (!ends_as_records(e->d_name))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path)
            FAIL(RC_INVAL, "%.200s...: too long a name", path);
        TRY(add_file(list, path));
    }
    if (list->n == 0)
        FAIL(
            RC_INVAL,
            "%s: holds no records: use runs.jsonl, as gradmark compare leaves it, or files *.jsonl that gradmark train "
            "--out wrote",
            folder);
    qsort(list->path, list->n, sizeof *list->path, by_name);
out:
    if (d)
        closedir(d);
    return rc;
}

static enum rc list_named(struct file_list *list, const char *names)
{
    struct stat about;
    char path[PATH_BYTES];
    enum rc rc = RC_OK;

    if (stat(names, &about) == 0)
        return add_file(list, names);
    while (text_next(&names, path, sizeof path)) {
        if (stat(path, &about) != 0)
            FAIL(RC_INVAL, "%s: %s", path, strerror(errno));
        if (!S_ISREG(about.st_mode))
            FAIL(RC_INVAL, "%s: is no file; use one folder alone, or files", path);
        for (size_t i = 0; i < list->n; i++)
            if (file_is_same(list->path[i], path))
                FAIL(RC_INVAL, "%s: is the same file as %s; leave one of the two out", path, list->path[i]);
        TRY(add_file(list, path));
    }
out:
    return rc;
}

/* --- what fits together --- */

/* --- reading --- */

static enum rc read_files(struct recorded *k, const struct file_list *list)
{
    struct reader r = { .into = k, .are_files = true };
    enum rc rc = RC_OK;

    for (size_t i = 0; i < list->n; i++) {
        r.path = list->path[i];
        r.line = r.n_launches_begun = 0;
        r.seal = (struct seal){ "" };
        TRY(reader_run(&r));
    }
    k->manifest = json_incref(k->point[0].manifest); /* whose workers, steps and seed are one of several */
out:
    return rc;
}

/* The first point that has launches: there is one. */
static const struct recorded_point *recorded_first(const struct recorded *k)
{
    size_t i = 0;

    while (k->campaign.point[i].n_launches == 0)
        i++;
    return &k->point[i];
}

/* The place of value in a comma list; -1: not in it, as a baseline that was added. */
static int place_in(const char *rest, const char *value)
{
    char element[VALUE_BYTES];

    for (int i = 0; rest && text_next(&rest, element, sizeof element); i++)
        if (strcmp(element, value) == 0)
            return i;
    return -1;
}

static int layout_place(const struct recorded *k, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    return place_in(layouts_of(k), text);
}

/* Does point a stand before b? Models, modes, values of --over and numbers of workers, as the options list them. */
static bool is_before(const struct recorded *k, const struct point *a, const struct point *b)
{
    enum { N_LISTED = 4 };
    char over[OPTION_BYTES] = "";
    const char *values = recorded_over(over, k);
    const char *const listed[N_LISTED] = { "model", "mode", over, "workers" };

    for (size_t i = 0; i < N_LISTED; i++) {
        const char *list = i == 2 ? values : json_string_value(recorded_option(k->manifest, listed[i]));
        const int first = list ? place_in(list, point_value(a, listed[i])) : 0;
        const int second = list ? place_in(list, point_value(b, listed[i])) : 0;
        if (first != second)
            return first < second;
    }
    if (layouts_of(k)[0])
        return layout_place(k, a) < layout_place(k, b);
    return a->n_workers < b->n_workers;
}

/* Points were launched in an order that was drawn. Equal ones keep theirs. */
static void order_points(struct recorded *k)
{
    struct point *p = k->campaign.point;

    for (size_t i = 1; i < k->campaign.n_points; i++)
        for (size_t at = i; at > 0 && is_before(k, &p[at], &p[at - 1]); at--) {
            const struct point point = p[at];
            const struct recorded_point about = k->point[at];
            p[at] = p[at - 1];
            p[at - 1] = point;
            k->point[at] = k->point[at - 1];
            k->point[at - 1] = about;
        }
}

static unsigned world_caps(const char *name)
{
    int i = 0;

    for (; name && world_kind.at(i); i++)
        if (strcmp(world_kind.at(i)->name, name) == 0)
            return world_kind.at(i)->caps;
    for (const struct module_absent *absent = world_kind.absent; name && absent && absent->name; absent++)
        if (strcmp(absent->name, name) == 0)
            return absent->caps;
    return 0;
}

/* As sweep_plan() notes it. */
static void note_exchange(struct recorded *k)
{
    char *text = k->campaign.exchange, value[VALUE_BYTES];

    for (const struct opt *o = train_opt_table; o->type != OPT_END; o++) {
        const json_t *given = recorded_option(k->manifest, o->name);
        const size_t n_used = strlen(text);

        recorded_text(value, sizeof value, given);
        const bool is_given = given && !json_is_null(given) && !(json_is_string(given) && !json_string_length(given));
        if (option_belongs_to_modes(o->name) && is_given && strcmp(value, opt_default(o)) != 0)
            snprintf(text + n_used, sizeof k->campaign.exchange - n_used, "%s%s %s", n_used > 0 ? ", " : "", o->name,
                     value);
    }
}

/* The rates that were chosen before. */
static void note_tuning(struct recorded *k)
{
    for (size_t i = 0; i < json_array_size(k->tuning); i++) {
        const json_t *trial = json_array_get(k->tuning, i);
        struct point *p = campaign_point_of(&k->campaign, trial);
        if (p && json_is_true(json_object_get(trial, "is_chosen")))
            p->tuned_lr = json_number_value(json_object_get(trial, "learning_rate"));
    }
}

/* "2 cores, x86_64": as the pictures of the campaign have it. */
static void note_machine(struct recorded *k, long n_cores)
{
    const json_t *manifest = recorded_first(k)->manifest, *cluster = json_object_get(manifest, "cluster");
    const char *words = json_string_value(json_object_get(manifest, "kernel"));
    const char *last = words ? strrchr(words, ' ') : NULL;

    snprintf(k->campaign.machine, sizeof k->campaign.machine, "%ld cores%s%s", n_cores, last ? ", " : "",
             last ? last + 1 : "");
    recorded_text(k->campaign.cluster_name, sizeof k->campaign.cluster_name, json_object_get(cluster, "name"));
}

static long most_cores(const struct campaign *c)
{
    long most = 0;

    for (size_t i = 0; i < c->n_points; i++)
        most = c->point[i].n_host_cores > most ? c->point[i].n_host_cores : most;
    return most;
}

/* As sweep_plan() does, and under a launcher campaign_take(): then nothing is known of a point without launches. */
static void mark_shared_cores(struct campaign *c)
{
    const long otherwise = c->is_launched ? 0 : most_cores(c);

    for (size_t i = 0; i < c->n_points && !c->is_virtual; i++) {
        struct point *p = &c->point[i];
        const long n_cores = p->n_host_cores > 0 ? p->n_host_cores : otherwise;
        if (n_cores > 0)
            point_mark_shared_cores(p, n_cores);
    }
}

/* Compute the values that are not in the records. */
static void recorded_conclude(struct recorded *k)
{
    struct campaign *c = &k->campaign;
    const json_t *wanted = recorded_option(k->manifest, "launches");
    const char *world = json_string_value(json_object_get(recorded_first(k)->summary, "world"));

    c->n_launches_wanted =
        json_integer_value(wanted) > 0 ? (size_t)json_integer_value(wanted) : campaign_most_launches(c);
    c->is_launched = (world_caps(world) & WORLD_LAUNCHED) != 0;
    campaign_set_data(c, json_string_value(recorded_option(recorded_manifest(k), "data")));
    order_points(k);
    note_exchange(k);
    note_tuning(k);
    note_machine(k, most_cores(c));
    mark_shared_cores(c);
}

/* recorded.c: is path a folder that contains runs.jsonl, or its partial file? */
static bool recorded_is_campaign(const char *path)
{
    static const char *const name[] = { "runs.jsonl", "runs.jsonl.partial" };
    struct stat about;
    char runs[600];

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (snprintf(runs, sizeof runs, "%s/%s", path, name[i]) < (int)sizeof runs && stat(runs, &about) == 0)
            return true;
    return false;
}

/* "." is called as the folder is. */
static void name_of(char *out, size_t n_bytes, const char *path)
{
    char *whole = realpath(path, NULL), *copy = whole ? whole : strdup(path);

    snprintf(out, n_bytes, "%s", copy ? basename(copy) : path);
    free(copy);
}

/* Make empty lists, and set the name. Close it in every case. RC_NOMEM. */
static enum rc recorded_begin(struct recorded *out, const char *path)
{
    *out = (struct recorded){ .hosts = json_array(),
                              .ranks = json_array(),
                              .losses = json_array(),
                              .failures = json_array(),
                              .tuning = json_array() };
    if (!out->hosts || !out->ranks || !out->losses || !out->failures || !out->tuning)
        return rc_raise(RC_NOMEM, "no memory for records");
    name_of(out->name, sizeof out->name, path);
    return RC_OK;
}

enum rc recorded_open_runs(struct recorded *out, const char *paths)
{
    struct recorded k = { .manifest = NULL };
    struct file_list *list = NULL;
    struct stat about;
    enum rc rc;

    *out = (struct recorded){ .manifest = NULL };
    if (recorded_is_campaign(paths))
        return recorded_open(out, paths);
    list = calloc(1, sizeof *list);
    if (!list)
        FAIL(RC_NOMEM, "no memory for the names of files");
    TRY(stat(paths, &about) == 0 && S_ISDIR(about.st_mode) ? list_folder(list, paths) : list_named(list, paths));
    TRY(recorded_begin(&k, paths));
    TRY(read_files(&k, list));
    recorded_conclude(&k);
    *out = k;
    k = (struct recorded){ .manifest = NULL };
out:
    recorded_close(&k);
    for (size_t i = 0; list && i < list->n; i++)
        free(list->path[i]);
    free(list);
    return rc;
}

/*
 * a folder, or a file, as a campaign.
 *
 * What a campaign knew beside its records (the order of its points, shared cores, how it exchanged) is worked out from
 * options and ranks.
 */

void recorded_text(char *out, size_t n_bytes, const json_t *value)
{
    if (json_is_string(value))
        snprintf(out, n_bytes, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(out, n_bytes, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, n_bytes, "%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(out, n_bytes, "%s", json_is_true(value) ? "true" : "false");
    else
        snprintf(out, n_bytes, "-");
    if (out[0] == '\0')
        snprintf(out, n_bytes, "-");
}

const json_t *recorded_option(const json_t *manifest, const char *option)
{
    return json_object_get(json_object_get(manifest, "options"), option);
}

const json_t *recorded_manifest(const struct recorded *k)
{
    return k->manifest ? k->manifest : recorded_first(k)->manifest;
}

bool recorded_has_host(const struct recorded *k, const char *host)
{
    for (size_t i = 0; i < json_array_size(k->hosts); i++)
        if (strcmp(json_string_value(json_array_get(k->hosts, i)), host) == 0)
            return true;
    return false;
}

/* --- what the campaign knew --- */

/* --- files --- */

static enum rc read_manifest(struct recorded *k)
{
    char path[600];
    json_error_t error;
    struct stat about;
    FILE *from = NULL;
    enum rc rc;

    snprintf(path, sizeof path, "%s/manifest.json", k->campaign.dir);
    if (stat(path, &about) != 0 && errno == ENOENT)
        return RC_OK;
    TRY(file_open_text(&from, path, "what compare wrote"));
    k->manifest = json_loadf(from, 0, &error);
    if (!k->manifest)
        FAIL(RC_MISMATCH, "%s: line %d: %s", path, error.line, error.text);
    const json_t *wanted = recorded_option(k->manifest, "launches");
    if (json_integer_value(wanted) > MAX_LAUNCHES)
        FAIL(RC_MISMATCH, "%s: launches is %lld: a campaign has %d of a point at most", path,
             (long long)json_integer_value(wanted), MAX_LAUNCHES);
out:
    if (from)
        fclose(from);
    return rc;
}

/* RC_INVAL; a folder of results holds such folders: the newest of them is named. */
static enum rc refuse_folder(const char *path)
{
    struct dirent **entry = NULL;
    char inside[PATH_MAX] = "";
    struct stat about;

    if (snprintf(inside, sizeof inside, "%s/report.html", path) < (int)sizeof inside && stat(inside, &about) == 0)
        return rc_raise(RC_INVAL, "%.300s: not a folder of gradmark compare or accept; its page is there: %.300s", path,
                        inside);
    inside[0] = '\0';
    const int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[PATH_MAX];
        const bool fits = snprintf(file, sizeof file, "%s/%s/runs.jsonl", path, entry[i]->d_name) < (int)sizeof file;
        if (fits && entry[i]->d_name[0] != '.' && stat(file, &about) == 0)
            snprintf(inside, sizeof inside, "%.*s", (int)(strlen(file) - strlen("/runs.jsonl")), file);
        free(entry[i]);
    }
    free(entry);
    return rc_raise(
        RC_INVAL, "%s: not a folder of gradmark compare or accept (no runs.jsonl, no acceptance.jsonl)%s%.300s%s", path,
        inside[0] ? "; did you mean " : "; use the folder that one of them wrote, as results/DATE-compare", inside,
        inside[0] ? "?" : "");
}

static enum rc read_folder(struct recorded *k, struct reader *r, const char *path, char *runs, size_t n_bytes)
{
    struct stat about;
    enum rc rc;

    if (snprintf(k->campaign.dir, sizeof k->campaign.dir, "%s", path) >= (int)sizeof k->campaign.dir)
        return rc_raise(RC_INVAL, "%s: too long a name", path);
    for (size_t n = strlen(k->campaign.dir); n > 1 && k->campaign.dir[n - 1] == '/'; n--)
        k->campaign.dir[n - 1] = '\0';
    snprintf(runs, n_bytes, "%s/runs.jsonl", path);
    if (stat(runs, &about) != 0) {
        snprintf(runs, n_bytes, "%s/runs.jsonl.partial", path);
        r->is_partial = stat(runs, &about) == 0;
    }
    if (stat(runs, &about) != 0)
        return refuse_folder(path);
    TRY(read_manifest(k));
    TRY(reader_run(r));
    const char *end = json_string_value(json_object_get(k->manifest, "runs_" SEAL_KEY));
    if (end && !r->is_partial && strcmp(end, r->seal.last) != 0)
        FAIL(RC_MISMATCH,
             "%s: line %zu: changed after it was written: this is not the last line that the campaign wrote, by "
             "runs_" SEAL_KEY " in its manifest.json; restore both files from a copy, or measure again",
             runs, r->line);
out:
    return rc;
}

static enum rc read_run(struct recorded *k, struct reader *r, const char *path)
{
    char *copy = strdup(path);
    enum rc rc = RC_OK;

    if (!copy)
        return rc_raise(RC_NOMEM, "no memory for a name");
    k->is_run = true;
    snprintf(k->campaign.dir, sizeof k->campaign.dir, "%s", dirname(copy));
    TRY(reader_run(r));
    if (k->campaign.n_points != 1)
        FAIL(RC_INVAL, "%s: holds launches of other points, which failed; give the folder of their campaign", path);
    k->manifest = json_incref(k->point[0].manifest);
out:
    free(copy);
    return rc;
}

/* RC_INVAL. A run that was stopped has a folder of its name and ".partial". */
static enum rc refuse_missing(const char *path)
{
    const char *const why = strerror(errno);
    char partial[PATH_MAX];
    struct stat about;

    if (snprintf(partial, sizeof partial, "%s.partial", path) < (int)sizeof partial && stat(partial, &about) == 0 &&
        S_ISDIR(about.st_mode))
        return rc_raise(RC_INVAL, "%.300s: is not finished; its subcommand continues it with --continue %.300s", path,
                        path);
    return rc_raise(RC_INVAL, "%s: %s", path, why);
}

enum rc recorded_open(struct recorded *out, const char *path)
{
    struct recorded k = { .manifest = NULL };
    struct reader r = { .into = &k, .path = path };
    char runs[600];
    struct stat about;
    enum rc rc;

    *out = (struct recorded){ .manifest = NULL };
    if (stat(path, &about) != 0)
        TRY(refuse_missing(path));
    TRY(recorded_begin(&k, path));
    if (S_ISDIR(about.st_mode)) {
        r.path = runs;
        TRY(read_folder(&k, &r, path, runs, sizeof runs));
    } else
        TRY(read_run(&k, &r, path));
    recorded_conclude(&k);
    *out = k;
    k = (struct recorded){ .manifest = NULL };
out:
    recorded_close(&k);
    return rc;
}

void recorded_tell_unsealed(const struct recorded *k, FILE *to)
{
    if (!k->is_run && !k->is_sealed)
        terminal_note(to, RECORDED_UNSEALED, k->name);
}

void recorded_close(struct recorded *k)
{
    for (size_t i = 0; k->point && i < k->campaign.n_points; i++) {
        json_decref(k->point[i].manifest);
        json_decref(k->point[i].summary);
    }
    free(k->point);
    json_decref(k->manifest);
    json_decref(k->hosts);
    json_decref(k->ranks);
    json_decref(k->losses);
    json_decref(k->failures);
    json_decref(k->tuning);
    campaign_close(&k->campaign);
    *k = (struct recorded){ .manifest = NULL };
}
