/* SPDX-License-Identifier: Apache-2.0 */
/*
 * continued.c - --continue of the subcommands with long work that keep finished parts: simulate, reproduce, lab all.
 * compare has the same rules (campaign/begun.h), but keeps its plan in its manifest; see continued.h.
 */
#include "harness/verbs/continued.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/report/manifest.h"
#include "harness/report/record.h"
#include "harness/report/xml.h"

enum { PATH_BYTES = PATH_MAX + 64 };

static const char *const own_options[] = { "continue", "continue-anyway" };

static bool is_own(const char *option)
{
    for (size_t i = 0; i < sizeof own_options / sizeof *own_options; i++)
        if (strcmp(option, own_options[i]) == 0)
            return true;
    return false;
}

/* --- the command line --- */

enum rc continued_check(const struct verb_call *call, const char *folder, bool anyway)
{
    if (!verb_given(call, "continue"))
        return anyway ? rc_raise(RC_INVAL, "--continue-anyway: without --continue FOLDER there is nothing to continue")
                      : RC_OK;
    if (!folder[0])
        return rc_raise(RC_INVAL, "--continue: is empty; it needs a folder");
    for (int k = 0; k < call->n_groups; k++)
        for (int i = 0; call->group[k].table[i].type != OPT_END; i++) {
            const char *name = call->group[k].table[i].name;
            if (opt_is_given(&call->group[k], i) && !is_own(name))
                return rc_raise(RC_INVAL,
                                "--%s: --continue takes its options from the folder; leave this one out, or start "
                                "anew without --continue",
                                name);
        }
    return RC_OK;
}

void continued_command(char out[CONTINUED_COMMAND_BYTES], const char *verb, const char *folder)
{
    char word[CONTINUED_COMMAND_BYTES - 48];

    text_shell_word(word, sizeof word, folder);
    snprintf(out, CONTINUED_COMMAND_BYTES, "gradmark %s --continue %s", verb, word);
}

/* --- the plan --- */

/* Of the options, and of the operand if it is a file. */
static enum rc find_inputs(struct digests *out, const struct verb_call *call)
{
    const char *operand = call->operand[0];
    struct stat about;
    enum rc rc;

    TRY(begun_find_inputs(out, call->group, call->n_groups));
    if (operand && stat(operand, &about) == 0 && S_ISREG(about.st_mode))
        TRY(digests_add(out, "operand", operand));
out:
    return rc;
}

static enum rc add_words(struct command_line *l, const struct verb_call *call)
{
    enum rc rc = RC_OK;

    l->n = 0;
    for (int i = 0; i < VERB_MAX_OPERANDS && call->operand[i]; i++) {
        if (strlen(call->operand[i]) >= ARG_BYTES)
            FAIL(RC_INVAL, "%.60s...: is too long a name", call->operand[i]);
        command_line_add(l, "%s", call->operand[i]);
    }
    for (int k = 0; k < call->n_groups; k++)
        for (int i = 0; call->group[k].table[i].type != OPT_END; i++)
            if (opt_is_given(&call->group[k], i))
                TRY(command_line_add_option(l, &call->group[k], &call->group[k].table[i], ""));
    TRY(begun_check_words(l));
out:
    return rc;
}

static enum rc make_plan(struct record **out, const struct verb_call *call)
{
    struct command_line *l = malloc(sizeof *l);
    struct digests inputs = { .of = NULL };
    struct record *r = NULL;
    enum rc rc;

    if (!l)
        FAIL(RC_NOMEM, "no memory for a command line");
    TRY(add_words(l, call));
    TRY(find_inputs(&inputs, call));
    r = record_open("plan");
    record_text_array(r, "arguments", (const char *const *)l->argv, (size_t)l->n);
    record_u64(r, "ranks_count", 0);
    digest_record(r, inputs.of, inputs.n);
    TRY(begun_record_facts(r));
    *out = r;
    r = NULL;
out:
    record_close(&r);
    digests_free(&inputs);
    free(l);
    return rc;
}

/* The folder in which --continue runs the command line again. */
static enum rc find_working_folder(char out[PATH_MAX])
{
    char name[RC_MESSAGE_BYTES / 2];

    if (!getcwd(out, PATH_MAX))
        return rc_raise(RC_IO, "the folder this runs in has no name that can be kept: %s", strerror(errno));
    const bool has_control = text_has_control(name, sizeof name, out);
    if (has_control || !utf8_is_valid(out))
        return rc_raise(RC_INVAL,
                        "the working folder %s: %s, and --continue could not find it again; work in a folder with "
                        "another name",
                        name, has_control ? "its name has a control character, shown as ?" : "its name is not UTF-8");
    return RC_OK;
}

enum rc continued_check_plan(const struct verb_call *call)
{
    char here[PATH_MAX];
    struct record *plan = NULL;
    enum rc rc;

    TRY(find_working_folder(here));
    TRY(make_plan(&plan, call));
out:
    record_close(&plan);
    return rc;
}

enum rc continued_write_plan(const struct continued *c, const struct verb_call *call, const char *folder,
                             bool is_virtual)
{
    char path[PATH_BYTES], here[PATH_MAX];
    struct record *r = NULL, *plan = NULL;
    enum rc rc;

    TRY(find_working_folder(here));
    TRY(make_plan(&plan, call));
    r = record_open(call->verb->name);
    record_text(r, "working_folder", here);
    record_text(r, "continued_despite", c->despite[0] ? c->despite : NULL);
    record_child(r, "plan", &plan);
    manifest_fill(r, is_virtual);
    snprintf(path, sizeof path, "%s/" PLAN_FILE, folder);
    TRY(record_write_file(r, path));
out:
    record_close(&plan);
    record_close(&r);
    return rc;
}

/* --- the folder --- */

static bool has_file(const char *folder, const char *suffix, const char *file, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s%s/%s", folder, suffix, file);
    return access(path, F_OK) == 0;
}

/* Take `end` from the end of text, as often as it is there. */
static bool cut_end(char *text, const char *end)
{
    const size_t n_end = strlen(end);
    bool is_cut = false;

    for (size_t n = strlen(text); n > n_end && strcmp(text + n - n_end, end) == 0; n -= n_end) {
        text[n - n_end] = '\0';
        is_cut = true;
    }
    return is_cut;
}

/* c->folder, and the plan of what is to be continued there. The folder may be named as it is while the work is not
 * finished, too: "FOLDER.partial". */
static enum rc find_plan(struct continued *c, char path[PATH_BYTES], const char *folder)
{
    char *real = realpath(folder, NULL), *parent = NULL;
    enum rc rc = RC_OK;

    if (real)
        snprintf(c->folder, sizeof c->folder, "%s", real);
    else if (folder[0] == '/')
        snprintf(c->folder, sizeof c->folder, "%s", folder);
    else { /* relative, and not there: results move to it when they are finished */
        parent = realpath(".", NULL);
        if (!parent || strlen(parent) + strlen(folder) + 2 > sizeof c->folder)
            FAIL(RC_INVAL, "--continue %s: is too long a name", folder);
        snprintf(c->folder, sizeof c->folder, "%s/%s", parent, folder);
    }
    snprintf(c->shown, sizeof c->shown, "%s", folder);
    (void)cut_end(c->folder, "/");
    (void)cut_end(c->shown, "/");
    if (has_file(c->folder, "", PLAN_FILE, path) && cut_end(c->folder, ".partial"))
        (void)cut_end(c->shown, ".partial");
    if (!has_file(c->folder, ".partial", PLAN_FILE, path) && !has_file(c->folder, "", PLAN_FILE, path))
        path[0] = '\0';
out:
    free(parent);
    free(real);
    return rc;
}

/* --- whose folder it is --- */

enum { KIND_BYTES = 32 };

/* The kind of the JSON file; "": there is no such file, or it has none. */
static void read_kind(char out[KIND_BYTES], const char *path)
{
    json_t *file = json_load_file(path, 0, NULL);
    const char *kind = json_string_value(json_object_get(file, "kind"));

    snprintf(out, KIND_BYTES, "%s", kind ? kind : "");
    json_decref(file);
}

/* The subcommand that has written c->folder; "": the folder does not tell. */
static void find_kind(char out[KIND_BYTES], const struct continued *c)
{
    static const char *const of_plan[] = { ".partial", "" };
    char path[PATH_BYTES];

    out[0] = '\0';
    for (size_t i = 0; !out[0] && i < sizeof of_plan / sizeof *of_plan; i++)
        if (has_file(c->folder, of_plan[i], PLAN_FILE, path))
            read_kind(out, path);
    if (!out[0] && has_file(c->folder, "", "manifest.json", path))
        read_kind(out, path);
    if (!out[0] && has_file(c->folder, "", "slides", path))
        snprintf(out, KIND_BYTES, "lab");
    if (strcmp(out, "campaign") == 0)
        snprintf(out, KIND_BYTES, "compare");
}

static bool is_one_of(const char *kind, const char *const *name)
{
    while (*name && strcmp(*name, kind) != 0)
        name++;
    return *name;
}

static enum rc check_kind(const struct verb *v, const char *kind, const struct continued *c)
{
    static const char *const continues[] = { "compare", "simulate", "reproduce", "lab", NULL };
    static const char *const ends[] = { "accept", "predict", NULL };
    char command[CONTINUED_COMMAND_BYTES];

    if (strcmp(kind, v->name) == 0)
        return RC_OK;
    if (is_one_of(kind, ends))
        return rc_raise(RC_INVAL,
                        "--continue %s: is a folder of gradmark %s, not of gradmark %s; it cannot be continued: start "
                        "gradmark %s again",
                        c->shown, kind, v->name, kind);
    if (!is_one_of(kind, continues))
        return RC_OK;
    continued_command(command, kind, c->shown);
    return rc_raise(RC_INVAL, "--continue %s: is a folder of gradmark %s, not of gradmark %s; to continue it: %s",
                    c->shown, kind, v->name, command);
}

enum rc continued_check_kind(const struct verb *v, const char *folder)
{
    struct continued c = { .goes_on = false };
    char path[PATH_BYTES], kind[KIND_BYTES];
    enum rc rc;

    TRY(find_plan(&c, path, folder));
    find_kind(kind, &c);
    TRY(check_kind(v, kind, &c));
out:
    return rc;
}

/* --- continuing it --- */

static enum rc check_facts(struct continued *c, const struct verb_call *again, bool anyway)
{
    const char *before = json_string_value(json_object_get(c->begun.manifest, "continued_despite"));
    struct digests inputs = { .of = NULL };
    enum rc rc;

    TRY(begun_check(&c->begun, anyway));
    TRY(find_inputs(&inputs, again));
    TRY(begun_check_digests(&c->begun, &inputs, anyway));
    snprintf(c->despite, sizeof c->despite, "%.400s%s%.400s", before ? before : "",
             before && c->begun.changes[0] ? "; " : "", c->begun.changes);
    if (c->despite[0])
        terminal_note(stderr, "gradmark %s: continues though it was begun under other conditions: %s",
                      again->verb->name, c->despite);
out:
    digests_free(&inputs);
    return rc;
}

static enum rc go_on(struct verb_call *call, struct continued *c, const char *path, const struct continued_terms *terms)
{
    const struct launcher alone = { .name = NULL };
    struct verb_call again = { .stage = STAGE_INPUT };
    char kind[KIND_BYTES];
    const char *here;
    enum rc rc;

    TRY(begun_open_file(&c->begun, terms->folder, path, &alone));
    find_kind(kind, c);
    if (strcmp(kind, call->verb->name) != 0)
        FAIL(RC_INVAL, "--continue %s: the plan in its " PLAN_FILE " is damaged", terms->folder);
    here = json_string_value(json_object_get(c->begun.manifest, "working_folder"));
    if (here && chdir(here) != 0)
        FAIL(RC_INVAL, "--continue %s: it was begun in %s, which cannot be entered: %s", terms->folder, here,
             strerror(errno));
    TRY(verb_call_open(&again, call->verb, c->begun.n_words, c->begun.word));
    if (call->verb->operands && call->verb->operands[0] != '[' && !again.operand[0])
        FAIL(RC_INVAL, "--continue %s: the plan in its " PLAN_FILE " is damaged", terms->folder);
    TRY(check_facts(c, &again, terms->anyway));
    c->goes_on = true;
    again.output = call->output;
    rc = terms->run(&again, c);
    call->stage = again.stage;
    call->exit_code = again.exit_code;
    call->failure_exit_code = again.failure_exit_code;
out:
    verb_call_close(&again);
    begun_close(&c->begun);
    return rc;
}

/* Nothing is left of it to run. It ends as the work itself did: simulations that failed are named again. */
static enum rc tell_complete(struct verb_call *call, const struct continued *c)
{
    char path[PATH_BYTES];
    json_t *manifest = has_file(c->folder, "", "manifest.json", path) ? json_load_file(path, 0, NULL) : NULL, *why;
    const json_t *failed = json_object_get(manifest, FAILED_KEY);
    const size_t n_failed = json_array_size(failed);
    enum rc rc = RC_OK;
    size_t i;

    terminal_note(stderr, "gradmark %s: %s is complete: nothing is left to run", call->verb->name, c->shown);
    json_array_foreach(failed, i, why)
    {
        if (json_is_string(why))
            terminal_note(stderr, "gradmark %s: %s", call->verb->name, json_string_value(why));
    }
    json_decref(manifest);
    if (n_failed > 0) {
        call->stage = STAGE_RUN;
        rc = rc_raise(RC_PEER, "%zu simulation%s of %s failed; to run %s again, start with another --out", n_failed,
                      n_failed == 1 ? "" : "s", c->shown, n_failed == 1 ? "it" : "them");
    }
    return rc;
}

enum rc continued_run(struct verb_call *call, const struct continued_terms *terms)
{
    struct continued c = { .goes_on = false };
    char path[PATH_BYTES], other[PATH_BYTES], kind[KIND_BYTES];
    enum rc rc;

    if (!verb_given(call, "continue"))
        return terms->run(call, &c);
    TRY(find_plan(&c, path, terms->folder));
    find_kind(kind, &c);
    TRY(check_kind(call->verb, kind, &c));
    const bool is_complete = strcmp(kind, call->verb->name) == 0 && has_file(c.folder, "", terms->proof, other) &&
                             !has_file(c.folder, ".partial", PLAN_FILE, other);
    if (is_complete)
        TRY(tell_complete(call, &c));
    else if (path[0])
        TRY(go_on(call, &c, path, terms));
    else
        FAIL(RC_INVAL,
             "--continue %s: holds nothing to continue: neither %s.partial/" PLAN_FILE " nor %s/" PLAN_FILE
             " is there; start again with all options",
             terms->folder, c.shown, c.shown);
out:
    return rc;
}
