/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulating.c - shared by subcommands that run many simulations and keep a folder: reproduce, simulate, predict; see
 * simulating.h.
 */
#include "harness/verbs/simulating.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/hold.h"
#include "harness/base/partial_file.h"
#include "harness/base/terminal.h"
#include "harness/report/manifest.h"
#include "harness/report/progress.h"
#include "harness/report/record.h"
#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { FOLDER_BYTES = 512 };

enum rc simulating_check(const char *out, const char *records)
{
    if (strcmp(records, "-") == 0 || strcmp(out, "-") == 0)
        return rc_raise(RC_INVAL, "--%s -: name a %s; the table goes to standard output",
                        strcmp(records, "-") == 0 ? "records" : "out", strcmp(records, "-") == 0 ? "file" : "folder");
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

static int n_jobs_of(uint64_t n_jobs)
{
    return n_jobs > 0 ? (int)n_jobs : cores_allowed_count();
}

enum rc simulating_run(const struct simulating_run *r)
{
    char self_path[512];
    struct progress progress;
    const struct simulations_env env = { .self_path = self_path,
                                         .folder = r->folder,
                                         .n_jobs = n_jobs_of(r->n_jobs),
                                         .progress = &progress,
                                         .kept = r->kept };
    enum rc rc;

    TRY(child_self_path(self_path, sizeof self_path));
    progress_init(&progress, stderr, r->n, wait_clock_ns());
    rc = r->run(r->what, &env);
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
out:
    return atomic_file_finish(&file, rc);
}

enum rc simulating_tell_folder(const char *out)
{
    size_t n = strlen(out);

    while (n > 1 && out[n - 1] == '/')
        n--;
    printf("\nPage: %.*s/report.html    All tables and assumptions: %.*s/table.txt\n", (int)n, out, (int)n, out);
    return output_flush(stdout);
}

static bool says_what(const struct opt *o)
{
    static const char *const where_or_how[] = { "out", "records", "jobs", "continue", "continue-anyway", "dry-run" };

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

/* FAILED_KEY */
static enum rc record_failures(struct record *r, const struct simulation_set *set)
{
    const char **why = calloc(set->n + 1, sizeof *why);
    size_t n = 0;

    if (!why)
        return rc_raise(RC_NOMEM, "no memory for the failures of %zu simulations", set->n);
    for (size_t i = 0; i < set->n; i++)
        if (set->simulation[i].has_failed)
            why[n++] = set->simulation[i].why;
    if (n > 0)
        record_text_array(r, FAILED_KEY, why, n);
    free(why);
    return RC_OK;
}

enum rc simulating_write_manifest(const struct verb_call *call, const char *folder, const char *despite,
                                  const struct simulation_set *set)
{
    struct record *r = record_open(call->verb->name), *options = record_open("options");
    char path[FOLDER_BYTES + 32];
    enum rc rc;

    for (int i = 0; i < call->n_groups; i++)
        record_group(options, &call->group[i]);
    record_text(r, "operand", call->operand[0]);
    record_child(r, "options", &options);
    if (despite[0])
        record_text(r, "continued_despite", despite);
    if (set)
        TRY(record_failures(r, set));
    manifest_fill(r, true);
    snprintf(path, sizeof path, "%s/manifest.json", folder);
    TRY(record_write_file(r, path));
out:
    record_close(&r);
    return rc;
}

/* --- verbs with --continue --- */

/* What the process before was writing: all but the plan and the finished simulations. */
static void remove_others(const char *folder)
{
    DIR *dir = opendir(folder);

    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (strcmp(e->d_name, PLAN_FILE) != 0 && strncmp(e->d_name, "simulations.jsonl", 17) != 0)
            (void)unlinkat(dirfd(dir), e->d_name, 0); /* fails for . and .. */
    (void)closedir(dir);
}

enum rc simulating_open(struct simulating *s, const struct continued *c, const char *verb, const char *out, bool is_dry)
{
    enum rc rc;

    *s = (struct simulating){ .continued = c, .keeps = out[0] && !is_dry };
    if (strlen(out) >= FOLDER_BYTES)
        return rc_raise(RC_INVAL, "--out %.64s...: is too long a name", out);
    if (out[0] && is_dry)
        TRY(file_of_option(atomic_folder_check(out, KEPT_SIMULATIONS_FILE, PLAN_FILE), "out"));
    if (!s->keeps)
        return atomic_folder_open_temporary(&s->folder, verb);
    if (!c->goes_on) {
        TRY(file_of_option(atomic_folder_open_partial(&s->folder, out, KEPT_SIMULATIONS_FILE, PLAN_FILE), "out"));
        TRY(kept_simulations_open(&s->kept, s->folder.temporary_path));
        return RC_OK;
    }
    TRY(file_of_option(atomic_folder_reopen_partial(&s->folder, c->folder), "continue"));
    s->folder.stays = true;
    TRY(kept_simulations_reopen(&s->kept, s->folder.temporary_path));
    remove_others(s->folder.temporary_path);
out:
    return rc;
}

/* A simulation is there: now there is something to continue. */
static void note_kept(struct simulating *s)
{
    s->folder.stays = s->folder.stays || s->kept.n > 0;
}

/* As it was typed. */
static const char *shown_folder(const struct simulating *s)
{
    return s->continued->goes_on ? s->continued->shown : s->folder.path;
}

/* Before the first one of a set runs. */
static enum rc begin(struct simulating *s, const struct verb_call *call, const struct simulation_set *set)
{
    char command[CONTINUED_COMMAND_BYTES];
    enum rc rc;

    if (s->has_begun)
        return kept_simulations_take(&s->kept, set->simulation, set->n);
    hold_at("plan", 0, 0);
    TRY(continued_write_plan(s->continued, call, s->folder.temporary_path, true));
    s->has_begun = true;
    continued_command(command, call->verb->name, shown_folder(s));
    if (s->continued->goes_on) {
        TRY(kept_simulations_take(&s->kept, set->simulation, set->n));
        terminal_note(stderr, "gradmark %s: continues %s: %zu of %zu simulations are finished", call->verb->name,
                      shown_folder(s), set->n - simulations_n_left(set->simulation, set->n), set->n);
    } else
        terminal_note(stderr, "gradmark %s: finished simulations are kept; to continue an interrupted run: %s",
                      call->verb->name, command);
out:
    return rc;
}

/* The message of a run that was stopped, and what to do. */
static enum rc add_remedy(const struct simulating *s, const struct verb_call *call, enum rc rc)
{
    char command[CONTINUED_COMMAND_BYTES], why[RC_MESSAGE_BYTES];

    if (rc == RC_OK || !stop_wanted())
        return rc;
    snprintf(why, sizeof why, "%s", rc_message());
    if (!s->keeps)
        return rc_raise(rc, "%s; use --out FOLDER to be able to continue", why);
    if (!s->folder.stays)
        return rc_raise(rc, "%s; nothing is kept", why);
    continued_command(command, call->verb->name, shown_folder(s));
    return rc_raise(rc, "%s; to continue: %s", why, command);
}

enum rc simulating_run_kept(struct simulating *s, struct verb_call *call, const struct simulation_set *set,
                            struct simulating_run r)
{
    enum rc rc;

    if (s->keeps)
        TRY(begin(s, call, set));
    call->stage = STAGE_RUN;
    stop_catch();
    r.folder = s->folder.temporary_path;
    r.n = simulations_n_left(set->simulation, set->n);
    r.kept = s->keeps ? &s->kept : NULL;
    rc = simulating_run(&r);
    note_kept(s);
    rc = add_remedy(s, call, rc);
out:
    return rc;
}

enum rc simulating_commit(struct simulating *s, const struct verb_call *call, const struct simulation_set *set)
{
    static const char *const of_the_run[] = { KEPT_SIMULATIONS_FILE, PLAN_FILE };
    char path[FOLDER_BYTES + PATH_MAX], folder[PATH_MAX];
    enum rc rc = RC_OK;

    if (!s->keeps)
        return RC_OK;
    TRY(simulating_write_manifest(call, s->folder.temporary_path, s->continued->despite, set));
    snprintf(folder, sizeof folder, "%s", s->folder.path);
    TRY(atomic_folder_commit(&s->folder));
    for (size_t i = 0; i < sizeof of_the_run / sizeof *of_the_run; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, of_the_run[i]);
        (void)unlink(path);
    }
out:
    return rc;
}

void simulating_close(struct simulating *s)
{
    kept_simulations_leave(&s->kept);
    atomic_folder_discard(&s->folder);
}

enum rc simulating_print_plan(const struct verb_call *call, const struct simulation_set *set, uint64_t n_jobs, FILE *to)
{
    double n_messages = 0;

    if (verb_given(call, "out")) {
        const enum rc rc = continued_check_plan(call);
        if (rc != RC_OK)
            return rc;
    }

    terminal_note(to, "gradmark %s would run %zu simulation%s, %d at a time:", call->verb->name, set->n,
                  set->n == 1 ? "" : "s", n_jobs_of(n_jobs));
    for (size_t i = 0; i < set->n; i++) {
        size_t n_alike = 0, first = i;
        for (size_t k = 0; k < set->n; k++)
            if (strcmp(set->simulation[k].name, set->simulation[i].name) == 0) {
                n_alike++;
                first = k < first ? k : first;
            }
        n_messages += set->simulation[i].weight;
        if (first == i)
            fprintf(to, "%6zu  %s\n", n_alike, set->simulation[i].name);
    }
    fprintf(to,
            "They have about %.2g messages in all. The time depends on this machine:\n"
            "it is not known before the first one has ended.\n",
            n_messages);
    return RC_OK;
}
