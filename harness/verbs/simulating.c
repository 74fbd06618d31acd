/* SPDX-License-Identifier: Apache-2.0 */
/* simulating.c - see simulating.h. */
#include "harness/verbs/simulating.h"

#include <string.h>

#include "harness/base/file.h"
#include "harness/report/manifest.h"
#include "harness/report/progress.h"
#include "harness/report/record.h"
#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/wait.h"

enum { FOLDER_BYTES = 512 };

enum rc simulating_check(const char *out, const char *json)
{
    if (strcmp(json, "-") == 0 || strcmp(out, "-") == 0)
        return rc_raise(RC_INVAL, "--%s -: name a %s; the table goes to standard output",
                        strcmp(json, "-") == 0 ? "json" : "out", strcmp(json, "-") == 0 ? "file" : "folder");
    return RC_OK;
}

enum rc simulating_folder_open(struct atomic_folder *folder, const char *out, const char *verb)
{
    if (!out[0])
        return atomic_folder_open_temporary(folder, verb);
    if (strlen(out) >= FOLDER_BYTES)
        return rc_raise(RC_INVAL, "--out %.64s...: is too long a name", out);
    return file_of_option(atomic_folder_open(folder, out), "out");
}

enum rc simulating_run(enum rc (*run)(void *what, const struct simulations_env *env), void *what, const char *folder,
                       uint64_t n_jobs, size_t n)
{
    char self_path[512];
    struct progress progress;
    const struct simulations_env env = { .self_path = self_path,
                                         .folder = folder,
                                         .n_jobs = n_jobs > 0 ? (int)n_jobs : cores_allowed_count(),
                                         .progress = &progress };
    enum rc rc;

    TRY(child_self_path(self_path, sizeof self_path));
    progress_init(&progress, stderr, n, wait_clock_ns());
    rc = run(what, &env);
    progress_fini(&progress, wait_clock_ns());
out:
    return rc;
}

enum rc simulating_print_into(enum rc (*print)(const void *what, FILE *to), const void *what, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    TRY(print(what, file.stream));
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc simulating_tell_folder(const char *out)
{
    size_t n = strlen(out);

    while (n > 1 && out[n - 1] == '/')
        n--;
    printf("\nPage: %.*s/report.html    All tables and assumptions: %.*s/table.txt\n", (int)n, out, (int)n, out);
    return fflush(stdout) == 0 ? RC_OK : rc_raise(RC_IO, "standard output cannot be written");
}

static bool says_what(const struct opt *o)
{
    static const char *const where_or_how[] = { "out", "json", "jobs" };

    for (size_t i = 0; i < sizeof where_or_how / sizeof *where_or_how; i++)
        if (strcmp(o->name, where_or_how[i]) == 0)
            return false;
    return true;
}

static void record_group(struct record *to, const struct opt_group *group)
{
    for (const struct opt *o = group->table; o->type != OPT_END; o++) {
        const struct opt alone[] = { *o, OPT_END_ };
        if (says_what(o))
            record_options(to, alone, group->into);
    }
}

enum rc simulating_write_manifest(const char *verb, const struct verb_call *call, const char *folder)
{
    struct record *r = NULL, *options = NULL;
    char path[FOLDER_BYTES + 32];
    enum rc rc;

    TRY(record_open(&options, "options"));
    for (int i = 0; i < call->n_groups; i++)
        record_group(options, &call->group[i]);
    TRY(record_open(&r, verb));
    record_text(r, "operand", call->operand[0]);
    record_child(r, "options", &options);
    manifest_fill(r, true);
    snprintf(path, sizeof path, "%s/manifest.json", folder);
    TRY(record_write_file(r, path));
out:
    record_close(&options);
    record_close(&r);
    return rc;
}
