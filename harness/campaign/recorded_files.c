/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_files.c - files that gradmark train --out wrote, as the launches of one campaign (recorded.K4).
 *
 * A file holds one launch or several, one after the other.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/text.h"
#include "harness/campaign/recorded.h"
#include "harness/report/digest.h"

enum { MAX_FILES = 4096, PATH_BYTES = 600 };

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
        TRY(add_file(list, path));
    }
out:
    return rc;
}

/* --- what fits together --- */

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

enum rc reader_check_fit(const struct reader *r, const json_t *manifest)
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

enum rc reader_check_twice(const struct reader *r)
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
