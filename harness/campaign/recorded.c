/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.c - a folder, or a file, as a campaign.
 *
 * What a campaign knew beside its records (the order of its points, shared cores, how it exchanged) is worked out from
 * options and ranks.
 */
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
#include "harness/base/text.h"
#include "harness/campaign/sweep.h"
#include "harness/world/world.h"

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

const struct recorded_point *recorded_first(const struct recorded *k)
{
    size_t i = 0;

    while (k->campaign.point[i].n_launches == 0)
        i++;
    return &k->point[i];
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

const char *recorded_over(char name[OPTION_BYTES], const struct recorded *k)
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

bool recorded_sweeps_layout(const struct recorded *k, const char *option)
{
    char over[OPTION_BYTES] = "";

    if (recorded_over(over, k) && strcmp(over, option) == 0) /* that is assigned as such */
        return false;
    return layouts_of(k)[0] != '\0' || json_integer_value(recorded_option(k->manifest, option)) > 1;
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

void recorded_conclude(struct recorded *k)
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

bool recorded_is_campaign(const char *path)
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

enum rc recorded_begin(struct recorded *out, const char *path)
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
        fprintf(to, RECORDED_UNSEALED "\n", k->name);
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
