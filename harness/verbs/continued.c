/* SPDX-License-Identifier: Apache-2.0 */
/* continued.c - see continued.h. */
#include "harness/verbs/continued.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/cluster/cluster.h"
#include "harness/report/manifest.h"
#include "harness/report/record.h"

enum { PATH_BYTES = PATH_MAX + 64, MOST_INPUTS = 64 };

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
                                "--%s: --continue takes its options from the folder of the campaign; others would make "
                                "another one",
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

struct inputs {
    struct digest of[MOST_INPUTS];
    size_t n;
};

/* which: of several files of the option, from 1 on; 0: there is one. */
static enum rc add_input(struct inputs *to, const char *name, int which, const char *path)
{
    struct digest *d = &to->of[to->n];
    enum rc rc = RC_OK;

    if (to->n == MOST_INPUTS)
        FAIL(RC_INVAL, "--%s: more than %d input files; fewer would be right", name, (int)MOST_INPUTS);
    TRY(digest_of(d->sha256, path));
    if (which > 0)
        snprintf(d->name, sizeof d->name, "%s, file %d", name, which);
    else
        snprintf(d->name, sizeof d->name, "%s", name);
    to->n++;
out:
    return rc;
}

/* "FILE", "PRESET|FILE" or "MODEL=FILE,..." */
static enum rc add_inputs_of(struct inputs *to, const struct opt *o, const void *from)
{
    const char *value = opt_text(o, from), *behind;
    char item[PATH_MAX];
    enum rc rc = RC_OK;

    if (value[0] == '\0' || (strncmp(o->unit, "PRESET|", 7) == 0 && cluster_is_preset(value)))
        return RC_OK;
    if (!strstr(o->unit, "..."))
        return file_of_option(add_input(to, o->name, 0, value), o->name);
    for (int which = 1; text_next(&value, item, sizeof item); which++) {
        behind = strchr(item, '=');
        TRY(file_of_option(add_input(to, o->name, which, behind ? behind + 1 : item), o->name));
    }
out:
    return rc;
}

static enum rc find_inputs(struct inputs *out, const struct verb_call *call)
{
    const char *operand = call->operand[0];
    struct stat about;
    enum rc rc = RC_OK;

    out->n = 0;
    for (int g = 0; g < call->n_groups; g++)
        for (const struct opt *o = call->group[g].table; o->type != OPT_END; o++)
            if (o->file == OPT_READ)
                TRY(add_inputs_of(out, o, call->group[g].into));
    if (operand && stat(operand, &about) == 0 && S_ISREG(about.st_mode))
        TRY(add_input(out, "operand", 0, operand));
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
    struct inputs *inputs = malloc(sizeof *inputs);
    struct record *r = NULL;
    enum rc rc;

    if (!l || !inputs)
        FAIL(RC_NOMEM, "no memory for a command line");
    TRY(add_words(l, call));
    TRY(find_inputs(inputs, call));
    TRY(record_open(&r, "plan"));
    record_text_array(r, "arguments", (const char *const *)l->argv, (size_t)l->n);
    record_u64(r, "ranks_count", 0);
    TRY(digest_record(r, inputs->of, inputs->n));
    TRY(begun_record_facts(r));
    *out = r;
    r = NULL;
out:
    record_close(&r);
    free(inputs);
    free(l);
    return rc;
}

enum rc continued_write_plan(const struct continued *c, const struct verb_call *call, const char *folder,
                             bool is_virtual)
{
    char path[PATH_BYTES], here[PATH_MAX];
    struct record *r = NULL, *plan = NULL;
    enum rc rc;

    if (!getcwd(here, sizeof here))
        FAIL(RC_IO, "the folder this runs in has no name that can be kept: %s", strerror(errno));
    TRY(make_plan(&plan, call));
    TRY(record_open(&r, call->verb->name));
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

/* --- continuing --- */

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

static enum rc check_kind(const json_t *record, const struct verb *v, const char *shown)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));

    if (kind && strcmp(kind, v->name) == 0)
        return RC_OK;
    return rc_raise(RC_INVAL, "--continue %s: was begun by gradmark %s, not by gradmark %s", shown,
                    kind ? kind : "something else", v->name);
}

static enum rc check_facts(struct continued *c, const struct verb_call *again, bool anyway)
{
    const char *before = json_string_value(json_object_get(c->begun.manifest, "continued_despite"));
    struct inputs *inputs = malloc(sizeof *inputs);
    enum rc rc;

    if (!inputs)
        return rc_raise(RC_NOMEM, "no memory for the digests of input files");
    TRY(begun_check(&c->begun, anyway));
    TRY(find_inputs(inputs, again));
    TRY(begun_check_digests(&c->begun, inputs->of, inputs->n, anyway));
    snprintf(c->despite, sizeof c->despite, "%.400s%s%.400s", before ? before : "",
             before && c->begun.changes[0] ? "; " : "", c->begun.changes);
    if (c->despite[0])
        fprintf(stderr, "gradmark %s: continues though it was begun under other conditions: %s\n", again->verb->name,
                c->despite);
out:
    free(inputs);
    return rc;
}

static enum rc go_on(struct verb_call *call, struct continued *c, const char *path, const struct continued_terms *terms)
{
    const struct launcher alone = { .name = NULL };
    struct verb_call again = { .stage = STAGE_INPUT };
    const char *here;
    enum rc rc;

    TRY(begun_open_file(&c->begun, terms->folder, path, &alone));
    TRY(check_kind(c->begun.manifest, call->verb, terms->folder));
    here = json_string_value(json_object_get(c->begun.manifest, "working_folder"));
    if (here && chdir(here) != 0)
        FAIL(RC_INVAL, "--continue %s: it was begun in %s, which cannot be entered: %s", terms->folder, here,
             strerror(errno));
    TRY(verb_call_open(&again, call->verb, c->begun.n_words, c->begun.word));
    if (call->verb->operands && call->verb->operands[0] != '[' && !again.operand[0])
        FAIL(RC_INVAL, "--continue %s: the plan in its " PLAN_FILE " is damaged", terms->folder);
    TRY(check_facts(c, &again, terms->anyway));
    c->goes_on = true;
    rc = terms->run(&again, c);
    call->stage = again.stage;
    call->exit_code = again.exit_code;
    call->failure_exit_code = again.failure_exit_code;
out:
    verb_call_close(&again);
    begun_close(&c->begun);
    return rc;
}

/* Nothing is left of it to run, if it was this verb's: its manifest says that. */
static enum rc tell_complete(const struct verb_call *call, const char *shown, const char *folder)
{
    char path[PATH_BYTES];
    json_t *manifest = has_file(folder, "", "manifest.json", path) ? json_load_file(path, 0, NULL) : NULL;
    enum rc rc = manifest ? check_kind(manifest, call->verb, shown) : RC_OK;

    if (rc == RC_OK)
        fprintf(stderr, "gradmark %s: %s is complete: nothing is left to run\n", call->verb->name, shown);
    json_decref(manifest);
    return rc;
}

enum rc continued_run(struct verb_call *call, const struct continued_terms *terms)
{
    struct continued c = { .goes_on = false };
    char path[PATH_BYTES], other[PATH_BYTES];
    enum rc rc;

    if (!verb_given(call, "continue"))
        return terms->run(call, &c);
    TRY(find_plan(&c, path, terms->folder));
    if (has_file(c.folder, "", terms->proof, other) && !has_file(c.folder, ".partial", PLAN_FILE, other))
        TRY(tell_complete(call, terms->folder, c.folder));
    else if (path[0])
        TRY(go_on(call, &c, path, terms));
    else
        FAIL(RC_INVAL,
             "--continue %s: holds nothing to continue: neither %s.partial/" PLAN_FILE " nor %s/" PLAN_FILE
             " is there; remove %s.partial if it exists, and start again",
             terms->folder, terms->folder, terms->folder, terms->folder);
out:
    return rc;
}
