/* SPDX-License-Identifier: Apache-2.0 */
/* lab_verb.c - gradmark lab: lists the lessons, or runs one. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/hold.h"
#include "harness/base/rc.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/labs/exercise.h"
#include "harness/labs/lab.h"
#include "harness/labs/parts.h"
#include "harness/report/chart.h"
#include "harness/report/record.h"
#include "harness/verbs/continued.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"

/* --- slides --- */

enum { PATH_BYTES = 4096, COPIED_BYTES = 1 << 16 };

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');

    return name[0] != '.' && dot && (strcmp(dot, ".png") == 0 || strcmp(dot, ".gif") == 0);
}

static enum rc copy(const char *to, const char *from)
{
    struct atomic_file file = { .stream = NULL };
    char bytes[COPIED_BYTES];
    FILE *source = NULL;
    size_t n_bytes;
    enum rc rc;

    TRY(file_open_regular(&source, from, "a picture"));
    TRY(atomic_file_open(&file, to));
    while ((n_bytes = fread(bytes, 1, sizeof bytes, source)) > 0)
        if (fwrite(bytes, 1, n_bytes, file.stream) != n_bytes)
            FAIL(RC_IO, "%s: cannot be written: %s", to, strerror(errno));
    if (ferror(source))
        FAIL(RC_IO, "%s: cannot be read: %s", from, strerror(errno));
out:
    rc = atomic_file_finish(&file, rc);
    if (source)
        fclose(source);
    return rc;
}

static enum rc copy_of_lab(const char *slides, const char *results, const char *name, int number, int *n_slides)
{
    char folder[PATH_BYTES], from[2 * PATH_BYTES], to[2 * PATH_BYTES];
    struct dirent *entry;
    DIR *dir = NULL;
    enum rc rc = RC_OK;

    snprintf(folder, sizeof folder, "%s/%s", results, name);
    dir = opendir(folder);
    if (!dir)
        FAIL(RC_IO, "%s: %s", folder, strerror(errno));
    while ((entry = readdir(dir)))
        if (is_picture(entry->d_name)) {
            snprintf(from, sizeof from, "%s/%s", folder, entry->d_name);
            snprintf(to, sizeof to, "%s/%d-%s-%s", slides, number, name, entry->d_name);
            TRY(copy(to, from));
            ++*n_slides;
        }
out:
    if (dir)
        closedir(dir);
    return rc;
}

/* Copy every PNG and GIF of RESULTS/NAME, for each name[n_names], to RESULTS/slides/NUMBER-NAME-PICTURE. The first
 * name has the number 1. The folder slides must be new or empty. *n_slides := number of copies. RC_INVAL, RC_IO,
 * RC_NOMEM; nothing new is then at RESULTS/slides. */
static enum rc lab_slides_write(const char *results, const char *const *name, int n_names, int *n_slides)
{
    struct atomic_folder slides = { .path = NULL };
    char path[PATH_BYTES];
    enum rc rc;

    *n_slides = 0;
    snprintf(path, sizeof path, "%s/slides", results);
    TRY(atomic_folder_open(&slides, path));
    for (int i = 0; i < n_names; i++)
        TRY(copy_of_lab(slides.temporary_path, results, name[i], i + 1, n_slides));
    TRY(atomic_folder_commit(&slides));
out:
    atomic_folder_discard(&slides);
    return rc;
}

enum { MOST_LABS = 32 };

static const char every_lab[] = "all";

struct lab_opts {
    const char *results, *without, *check, *continued;
    uint64_t workers, limit_s;
    bool terminal, exercise, force, continue_anyway, dry_run;
};

struct found { /* by a lab, in memory */
    char *sentences, *tables;
    size_t n_sentences_bytes, n_tables_bytes;
};

static const struct opt table[] = {
    OPT_FILE_(
        struct lab_opts, results, "results", OPT_MADE_FOLDER, "", "FOLDER",
        "new or empty folder for pictures, tables and page (default: lab-NAME, for all: labs). With all it gets a "
        "folder for each lab, and slides"),
    OPT_TEXT_(struct lab_opts, without, "without", "", "STEP",
              "step that lab distribute leaves out: broadcast, shard, average, scaling or rank0-save"),
    OPT_U64_(struct lab_opts, workers, "workers", "", 2, 64, "", "workers of lab distribute (default: 2)"),
    OPT_BOOL_(struct lab_opts, terminal, "terminal", "false", "draw on the terminal, too, as text"),
    OPT_BOOL_(struct lab_opts, exercise, "exercise", "false",
              "write a program with gaps, NAME.c. It is in the folder of --results, or here"),
    OPT_BOOL_(struct lab_opts, force, "force", "false", "replace the program of --exercise if it exists"),
    OPT_FILE_(
        struct lab_opts, check, "check", OPT_READ, "", "FILE",
        "build and run this program, and print which steps are right. It runs with 2 workers. Exit status 1: some "
        "step is wrong"),
    OPT_U64_(struct lab_opts, limit_s, "limit-s", "60", 1, 3600, "s", "time after which --check ends the program"),
    OPT_FILE_(struct lab_opts, continued, "continue", OPT_FOLDER, "", "FOLDER",
              "continue a lab all that was stopped. It takes its options from FOLDER, which was its --results"),
    OPT_BOOL_(struct lab_opts, continue_anyway, "continue-anyway", "false",
              "continue although program or machine changed"),
    OPT_BOOL_(struct lab_opts, dry_run, "dry-run", "false", "print what would run, and write nothing"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "lab", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static void print_item(FILE *to, const char *name, const char *what)
{
    enum { WHAT_COLUMN = 17 };

    fprintf(to, "  %-*s", WHAT_COLUMN - 2, name);
    terminal_fill(to, what, WHAT_COLUMN, terminal_line_columns(to));
}

static void list(FILE *to)
{
    const struct exercise *e;
    const struct lab *lab;

    terminal_note(to, "Labs: to run one, use gradmark lab NAME; gradmark lab all runs all, with slides\n");
    for (int i = 0; (lab = lab_at(i)); i++)
        print_item(to, lab->name, lab->summary);
    terminal_note(to, "\nExercises: to write one, use gradmark lab NAME --exercise; --check FILE grades it\n");
    for (int i = 0; (e = exercise_at(i)); i++)
        print_item(to, e->name, e->title);
}

/* --json: of the list, or of a lab that is whole. folder, found NULL: of the list. */
static enum rc write_lab(const char *kind, const char *name, const char *summary, const char *folder,
                         const struct found *found)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, "-"));
    struct record *r = report_begin(to, kind);
    record_text(r, "name", name);
    record_text(r, "summary", summary);
    if (found) {
        record_text(r, "folder", folder);
        record_text(r, "found", found->sentences);
        record_text(r, "tables", found->tables);
    }
    TRY(report_end(to));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

static enum rc write_list(void)
{
    const struct exercise *e;
    const struct lab *lab;
    enum rc rc = RC_OK;

    for (int i = 0; (lab = lab_at(i)); i++)
        TRY(write_lab("lab", lab->name, lab->summary, NULL, NULL));
    for (int i = 0; (e = exercise_at(i)); i++)
        TRY(write_lab("exercise", e->name, e->title, NULL, NULL));
out:
    return rc;
}

/* An option that only some labs take. */
static enum rc refuse_option(const struct verb_call *call, const struct lab *of, const char *option, unsigned takes)
{
    char takers[128] = "";

    if (!verb_given(call, option) || of->takes & takes)
        return RC_OK;
    for (int i = 0; lab_at(i); i++)
        if (lab_at(i)->takes & takes)
            snprintf(takers + strlen(takers), sizeof takers - strlen(takers), "%s%s", takers[0] ? ", " : "",
                     lab_at(i)->name);
    return rc_raise(RC_INVAL, "--%s: lab %s does not take it; these do: %s", option, of->name, takers);
}

static enum rc check_lab(const struct verb_call *call)
{
    const struct lab_opts *o = call->opts;
    const struct lab_env env = { .without = o->without, .n_workers = (int)o->workers };
    const struct lab *lab;
    enum rc rc;

    TRY(lab_find(&lab, call->operand[0]));
    TRY(refuse_option(call, lab, "without", LAB_WITHOUT));
    TRY(refuse_option(call, lab, "workers", LAB_WORKERS));
    if (verb_given(call, "without") && o->without[0] == '\0')
        FAIL(RC_INVAL, "--without: is empty; name the step that is to be left out");
    if (lab->takes & LAB_WORKERS && env.n_workers > lab->most_workers)
        FAIL(RC_INVAL, "--workers %d: lab %s shows from 2 to %d", env.n_workers, lab->name, lab->most_workers);
    if (lab->check)
        TRY(lab->check(&env));
out:
    return rc;
}

static enum rc check_all(const struct verb_call *call)
{
    static const char *const of_one[] = { "without", "workers" };

    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        if (verb_given(call, of_one[i]))
            return rc_raise(RC_INVAL, "--%s: is of one lab, not of all; gradmark lab NAME --%s ...", of_one[i],
                            of_one[i]);
    return RC_OK;
}

/* Of --exercise and --check, and the options that are theirs. */
static enum rc check_exercise_use(const struct verb_call *call)
{
    static const char *const of_lessons[] = { "terminal", "without", "workers", "continue", "dry-run" };
    const struct lab_opts *o = call->opts;
    const char *mode = o->exercise ? "exercise" : "check";
    const struct exercise *e;

    if (o->exercise && o->check[0])
        return rc_raise(RC_INVAL, "--check %.200s: --exercise is given; one of the two", o->check);
    if (!call->operand[0])
        return rc_raise(RC_INVAL, "--%s: of which lab? gradmark lab lists those with an exercise", mode);
    for (size_t i = 0; i < sizeof of_lessons / sizeof *of_lessons; i++)
        if (verb_given(call, of_lessons[i]))
            return rc_raise(RC_INVAL, "--%s: is for a lesson, not for --%s", of_lessons[i], mode);
    if (o->check[0] && verb_given(call, "results"))
        return rc_raise(RC_INVAL, "--results: nothing is drawn for --check");
    return exercise_find(&e, call->operand[0]);
}

static enum rc check_use(const struct verb_call *call)
{
    const struct lab_opts *o = call->opts;

    if (verb_given(call, "check") && !o->check[0])
        return rc_raise(RC_INVAL, "--check: is empty; name a program");
    if (verb_given(call, "force") && !o->exercise)
        return rc_raise(RC_INVAL, "--force: is for --exercise");
    if (verb_given(call, "limit-s") && !o->check[0])
        return rc_raise(RC_INVAL, "--limit-s: is for --check");
    if (o->exercise || o->check[0])
        return check_exercise_use(call);
    if (call->operand[0] && strcmp(call->operand[0], every_lab) != 0 && verb_given(call, "continue"))
        return rc_raise(RC_INVAL, "--continue %.200s: is for lab all; leave out %.100s", o->continued,
                        call->operand[0]);
    if (verb_given(call, "continue") || o->continue_anyway)
        return continued_check(call, o->continued, o->continue_anyway);
    if (call->operand[0] && strcmp(call->operand[0], every_lab) == 0)
        return check_all(call);
    if (call->operand[0])
        return check_lab(call);
    for (const struct opt *known = table; known->name; known++)
        if (verb_given(call, known->name))
            return rc_raise(RC_INVAL,
                            "--%s: is of a lab that is run; gradmark lab NAME --%s ...; gradmark lab lists them",
                            known->name, known->name);
    return RC_OK;
}

/* Of a lab that is whole: what it found, where its page is, then its tables. */
static enum rc print_found(const struct lab *lab, const char *path, const char *found, const char *tables)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    fprintf(text.lines, "lab %s: %s\n%s", lab->name, lab->summary, found);
    fprintf(text.lines, "Pictures, questions, and what to try next: %s/report.html\n\n", path);
    TRY(terminal_text_close(&text, stdout));
    fputs(tables ? tables : "", stdout);
    TRY(output_flush(stdout));
out:
    return rc;
}

/* With --format csv tables go out as they are made: a stream in memory keeps its own form of them (report/table.h). */
static enum rc found_open(struct found *f, struct lab_env *env, bool is_csv)
{
    env->to = open_memstream(&f->sentences, &f->n_sentences_bytes);
    env->tables = is_csv ? stdout : open_memstream(&f->tables, &f->n_tables_bytes);
    return env->to && env->tables ? RC_OK : rc_raise(RC_NOMEM, "no memory for what the lab finds");
}

/* Then its texts are whole; they stay until they are freed. */
static void found_close(struct lab_env *env)
{
    if (env->to)
        (void)fclose(env->to);
    if (env->tables && env->tables != stdout)
        (void)fclose(env->tables);
    env->to = env->tables = NULL;
}

static enum rc check_charts(const char *lab)
{
    if (chart_available())
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED, "lab %s: pictures need gnuplot, which cannot be started (Debian: gnuplot-nox)",
                    lab);
}

/* path: its folder; shown: the same, for messages. */
static enum rc run_lab(struct verb_call *call, const char *name, const char *path, const char *shown)
{
    const struct lab_opts *o = call->opts;
    char self_path[512];
    struct lab_parts parts;
    struct atomic_folder folder = { .path = NULL };
    struct lab_env env = { .self_path = self_path,
                           .parts = &parts,
                           .in_text = o->terminal,
                           .without = o->without,
                           .n_workers = (int)o->workers };
    struct found found = { .sentences = NULL };
    const struct lab *lab;
    enum rc rc;

    TRY(lab_find(&lab, name));
    TRY(file_of_option(atomic_folder_open(&folder, path), "results"));
    TRY(child_self_path(self_path, sizeof self_path));
    call->stage = STAGE_RUN;
    TRY(check_charts(name));
    stop_catch();
    env.folder = folder.temporary_path;
    TRY(found_open(&found, &env, verb_prints_csv(call)));
    parts_open(&parts, lab->name, stderr);
    rc = lab->run(&env);
    if (rc != RC_OK) {
        parts_abandon(&parts);
        goto out;
    }
    TRY(parts_close(&parts));
    TRY(atomic_folder_commit(&folder));
    found_close(&env);
    TRY(print_found(lab, shown, found.sentences, found.tables));
    if (call->output.json)
        TRY(write_lab("lab", lab->name, lab->summary, path, &found));
out:
    found_close(&env);
    free(found.sentences);
    free(found.tables);
    atomic_folder_discard(&folder);
    return rc;
}

static int n_labs(void)
{
    int n = 0;

    while (lab_at(n) && n < MOST_LABS)
        n++;
    return n;
}

/* Before the first lab runs: each will have its folder, and so will the slides. */
static enum rc check_folders(const char *results, const char *const *name, int n_names)
{
    char path[PATH_BYTES];
    enum rc rc = RC_OK;

    for (int i = 0; i <= n_names; i++) {
        snprintf(path, sizeof path, "%s/%s", results, i < n_names ? name[i] : "slides");
        TRY(file_of_option(atomic_folder_check(path, NULL, NULL), "results"));
    }
out:
    return rc;
}

static bool is_there(const char *results, const char *lab, const char *file)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s/%s", results, lab, file);
    return access(path, F_OK) == 0;
}

/* Is results a place for new labs? */
static enum rc check_results(const struct verb_call *call, const char *results, const char *const *name, int n_names)
{
    char command[CONTINUED_COMMAND_BYTES];
    enum rc rc;

    continued_command(command, "lab", results);
    if (is_there(results, ".", PLAN_FILE))
        FAIL(RC_INVAL, "--results %s: holds labs of a run that was stopped; to continue: %s", results, command);
    TRY(continued_check_plan(call));
    TRY(check_folders(results, name, n_names));
out:
    return rc;
}

/* A folder for labs, with the plan by which they are continued. *is_new: nothing was there. */
static enum rc begin_all(bool *is_new, int *lock, const struct verb_call *call, const struct continued *c,
                         const char *results, const char *const *name, int n_names)
{
    char command[CONTINUED_COMMAND_BYTES];
    enum rc rc;

    *is_new = access(results, F_OK) != 0;
    continued_command(command, "lab", results);
    if (!c->goes_on)
        TRY(check_results(call, results, name, n_names));
    TRY(file_of_option(file_make_folder(results), "results"));
    TRY(file_of_option(folder_lock(lock, results), c->goes_on ? "continue" : "results"));
    TRY(continued_write_plan(c, call, results, false));
    if (!c->goes_on)
        terminal_note(stderr, "gradmark lab: finished labs are kept; to continue an interrupted run: %s", command);
out:
    return rc;
}

/* The message of what ended it early, and what to do; with nothing finished, nothing is left. */
static enum rc end_early(const char *results, const char *shown, bool is_new, int n_finished, enum rc rc)
{
    char command[CONTINUED_COMMAND_BYTES], why[RC_MESSAGE_BYTES], plan[PATH_BYTES];

    if (stop_wanted())
        snprintf(why, sizeof why, "stopped by %s", stop_signal_name(stop_signal()));
    else
        snprintf(why, sizeof why, "%s", rc_message());
    if (n_finished == 0) {
        snprintf(plan, sizeof plan, "%s/" PLAN_FILE, results);
        (void)unlink(plan);
        if (is_new)
            (void)rmdir(results);
        return rc_raise(rc, "%s; no lab is finished", why);
    }
    continued_command(command, "lab", shown);
    return rc_raise(rc, "%s after %d of %d labs; to continue: %s", why, n_finished, n_labs(), command);
}

/* shown: results as the user typed it. */
static enum rc run_missing(struct verb_call *call, const char *results, const char *shown, const char *const *name,
                           int n_names, int *n_finished)
{
    char path[PATH_BYTES], shown_path[PATH_BYTES];
    enum rc rc = RC_OK;

    for (int i = 0; i < n_names; i++) {
        const bool is_finished = is_there(results, name[i], "report.html");
        hold_at("lab", 0, (uint64_t)i);
        if (stop_wanted())
            FAIL(RC_PEER, "stopped");
        printf("%s--- %s%s\n", i > 0 ? "\n" : "", name[i], is_finished ? ": is finished" : "");
        fflush(stdout);
        snprintf(path, sizeof path, "%s/%s", results, name[i]);
        snprintf(shown_path, sizeof shown_path, "%s/%s", shown, name[i]);
        if (!is_finished) {
            terminal_note(stderr, "gradmark lab: lab %d of %d: %s", i + 1, n_names, name[i]);
            TRY(run_lab(call, name[i], path, shown_path));
        }
        ++*n_finished;
    }
out:
    return rc;
}

static const char *all_results(const struct lab_opts *o)
{
    return o->results[0] ? o->results : "labs";
}

static void name_labs(const char **name, int n_names)
{
    for (int i = 0; i < n_names; i++)
        name[i] = lab_at(i)->name;
}

/* "lab-NAME" */
static const char *lab_results(char *own, size_t n_bytes, const struct lab_opts *o, const char *name)
{
    snprintf(own, n_bytes, "lab-%s", name);
    return o->results[0] ? o->results : own;
}

static enum rc run_all(struct verb_call *call, const struct continued *c)
{
    const struct lab_opts *o = call->opts;
    const char *given = all_results(o), *name[MOST_LABS];
    const char *results = c->goes_on ? c->folder : given, *shown = c->goes_on ? c->shown : given;
    const int n_names = n_labs();
    char plan[PATH_BYTES];
    int n_slides = 0, n_finished = 0, lock = -1;
    bool is_new = false;
    enum rc rc;

    name_labs(name, n_names);
    TRY(begin_all(&is_new, &lock, call, c, results, name, n_names));
    call->stage = STAGE_RUN;
    stop_catch();
    rc = run_missing(call, results, shown, name, n_names, &n_finished);
    if (rc != RC_OK) {
        rc = end_early(results, shown, is_new, n_finished, rc);
        goto out;
    }
    TRY(lab_slides_write(results, name, n_names, &n_slides));
    terminal_note(stdout, "%s/slides has the %d pictures of all labs", shown, n_slides);
    snprintf(plan, sizeof plan, "%s/" PLAN_FILE, results);
    (void)unlink(plan);
out:
    if (lock >= 0)
        close(lock);
    return rc;
}

/* --dry-run: what the run itself would refuse is refused. */
static enum rc print_plan(struct verb_call *call, const char *name)
{
    const struct lab_opts *o = call->opts;
    const bool is_all = strcmp(name, every_lab) == 0;
    const int n = is_all ? n_labs() : 1;
    const char *names[MOST_LABS];
    const struct lab *lab;
    char own[128];
    enum rc rc;

    name_labs(names, n);
    if (is_all)
        TRY(check_results(call, all_results(o), names, n));
    else
        TRY(file_of_option(atomic_folder_check(lab_results(own, sizeof own, o, name), NULL, NULL), "results"));
    call->stage = STAGE_RUN;
    TRY(check_charts(name));
    terminal_note(stdout, "gradmark lab would run %d lab%s:", n, n == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
        lab = lab_at(i);
        if (!is_all)
            TRY(lab_find(&lab, name));
        print_item(stdout, lab->name, lab->summary);
    }
    terminal_note(stdout,
                  "The time depends on this machine. gradmark help teach has the time of each lab on two cores.");
out:
    return rc;
}

static enum rc write_exercise(const struct verb_call *call)
{
    const struct lab_opts *o = call->opts;
    const struct exercise *e;
    char path[PATH_MAX], word[PATH_MAX];
    enum rc rc;

    TRY(exercise_find(&e, call->operand[0]));
    if (o->results[0])
        TRY(file_of_option(file_make_folder(o->results), "results"));
    snprintf(path, sizeof path, "%s%s%s.c", o->results, o->results[0] ? "/" : "", e->name);
    TRY(exercise_write(e, path, o->force));
    text_shell_word(word, sizeof word, path);
    terminal_note(stdout, "%s: fill the gaps (1) to (5), then: gradmark lab %s --check %s", path, e->name, word);
out:
    return rc;
}

static enum rc check_exercise(struct verb_call *call)
{
    const struct lab_opts *o = call->opts;
    struct answer answer = { .note = { NULL } };
    struct diagnosis found;
    const struct exercise *e;
    FILE *source = NULL;
    enum rc rc;

    TRY(exercise_find(&e, call->operand[0]));
    TRY(file_of_option(file_open_regular(&source, o->check, "a program in C"), "check"));
    TRY(answer_possible());
    call->stage = STAGE_RUN;
    stop_catch();
    TRY(rc_prefix(answer_run(&answer, e, o->check, (int)o->limit_s), "--check %.200s: ", o->check));
    TRY(diagnose(&found, e, &answer));
    if (!diagnosis_print(&found, e, stdout))
        call->exit_code = 1;
out:
    if (source)
        (void)fclose(source);
    answer_close(&answer);
    return rc;
}

static enum rc run_any(struct verb_call *call, struct continued *c)
{
    const struct lab_opts *o = call->opts;
    char own[128];

    if (o->exercise)
        return write_exercise(call);
    if (o->check[0])
        return check_exercise(call);
    if (call->operand[0] && o->dry_run)
        return print_plan(call, call->operand[0]);
    if (call->operand[0] && strcmp(call->operand[0], every_lab) == 0)
        return run_all(call, c);
    if (call->operand[0]) {
        const char *path = lab_results(own, sizeof own, o, call->operand[0]);
        return run_lab(call, call->operand[0], path, path);
    }
    list(stdout);
    if (!call->output.json)
        return RC_OK;
    call->stage = STAGE_RUN;
    return write_list();
}

static enum rc lab_run(struct verb_call *call)
{
    const struct lab_opts *o = call->opts;
    const struct continued_terms terms = {
        .folder = o->continued, .anyway = o->continue_anyway, .proof = "slides", .run = run_any
    };

    return continued_run(call, &terms);
}

static const char *operand_name(int i)
{
    const int n = n_labs();

    return i < n ? lab_at(i)->name : i == n ? every_lab : NULL;
}

static const struct verb_example examples[] = {
    { "lab", "List all labs and exercises" },
    { "lab batch-size", "Run a lab of 2 seconds" },
    { "lab cnn --exercise", "Write an exercise, cnn.c" },
    { "lab cnn --check cnn.c", "Grade it (needs MPI and a C compiler)" },
    { NULL, NULL },
};

#define LAB_TRAIN_HINT "a lab has fixed values. Its page lists commands of gradmark train, which you can change"
static const struct verb_hint hints[] = {
    { "batch", LAB_TRAIN_HINT }, { "lr", LAB_TRAIN_HINT },    { "seed", LAB_TRAIN_HINT },
    { "steps", LAB_TRAIN_HINT }, { "model", LAB_TRAIN_HINT }, { NULL, NULL },
};

const struct verb verb_lab = {
    .name = "lab",
    .summary = "run a lesson about SGD, with pictures and questions",
    .operands = "[NAME]",
    .operand_name = operand_name,
    .usage = "[NAME] [--option value ...]\n"
             "NAME --exercise\n"
             "NAME --check FILE\n"
             "all [--results FOLDER]",
    .introduction = "Runs ordinary trainings, and writes their pictures, tables and questions to one page, "
                    "report.html. Without NAME it lists all labs and exercises. With all it runs every lab, and makes "
                    "slides of all pictures.\n\n"
                    "An exercise is a program with gaps. --check grades it.",
    .example = examples,
    .hint = hints,
    .page = "teach",
    .is_one_process = true,
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct lab_opts),
    .group = groups,
    .check = check_use,
    .run = lab_run,
};
