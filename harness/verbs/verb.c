/* SPDX-License-Identifier: Apache-2.0 */
/* verb.c - from a verb's tables to option groups. */
#include "harness/verbs/verb.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/verbs/verb_files.h"
#include "harness/world/stop.h"

const struct opt verb_output_table[] = {
    OPT_BOOL_(struct verb_output, json, "json", "false",
              "print records (JSON) instead of text. Standard output has nothing else, and notes go to standard error"),
    OPT_BOOL_(struct verb_output, quiet, "quiet", "false",
              "print no progress and no notes. Results and errors are printed"),
    OPT_END_,
};
const struct opt verb_format_table[] = {
    OPT_CHOICE_(struct verb_output, format, "format", "text", "text|csv",
                "form of the output. csv: the tables alone, as comma-separated values, with an empty line between two"),
    OPT_END_,
};

/* The groups of v, filling opts. */
static int groups_of(struct opt_group group[VERB_MAX_GROUPS], const struct verb *v, void *opts)
{
    char *base = opts;
    int n = 0;

    for (const struct verb_group *g = v->group; g->table; g++) {
        assert(n < VERB_MAX_GROUPS - MAX_MODULE_GROUPS);
        group[n++] = (struct opt_group){ g->title, g->table, base + g->offset_bytes, { 0 }, NULL };
    }
    if (v->kinds)
        n += module_opt_groups(group + n, v->kinds, (union module_values *)(void *)(base + v->modules_offset_bytes));
    return n;
}

/* Returns rc, the result of the parser. If the parser refused an option or a value that v has a hint for, the hint
 * replaces its message. The match is by the start of that message ("--NAME: no such option", "--NAME VALUE: "), so it
 * depends on the wording in base/opt.c. */
static enum rc hinted(enum rc rc, const struct verb *v)
{
    char unknown[64];

    for (const struct verb_hint *h = v->hint; rc == RC_INVAL && h && h->option; h++) {
        const bool has_value = strchr(h->option, ' ');
        snprintf(unknown, sizeof unknown, "--%s: %s", h->option, has_value ? "" : "no such option");
        if (strncmp(rc_message(), unknown, strlen(unknown)) == 0)
            return rc_raise(RC_INVAL, "--%s: %s; %s", h->option, has_value ? "no such choice" : "no such option",
                            h->instead);
    }
    return rc;
}

/* Words are named by its operands, a blank between two. */
static int n_operands_of(const struct verb *v)
{
    int n = v->operands != NULL;

    for (const char *c = v->operands; c && *c; c++)
        n += *c == ' ';
    return n;
}

/* The option of this name, of n bytes; NULL: v has none. */
static const struct opt *find_option(const struct verb *v, const char *name, size_t n)
{
    for (const struct verb_group *g = v->group; g->table; g++)
        for (const struct opt *o = g->table; o->type != OPT_END; o++)
            if (strncmp(o->name, name, n) == 0 && o->name[n] == '\0')
                return o;
    return v->format && strncmp(v->format->name, name, n) == 0 && v->format->name[n] == '\0' ? v->format : NULL;
}

/* Is this word an option whose value is the next word? */
static bool takes_next(const struct verb *v, const char *word)
{
    const struct opt *o = strncmp(word, "--", 2) == 0 ? find_option(v, word + 2, strlen(word + 2)) : NULL;

    return o && o->type != OPT_BOOL;
}

/* Take the operands out of argv; options[n_options] := what is left, which is not more than argc. */
static int take_operands(struct verb_call *call, const struct verb *v, int argc, char *const argv[], char **options)
{
    const int n_wanted = n_operands_of(v);
    int n_taken = 0, n_options = 0;

    assert(n_wanted <= VERB_MAX_OPERANDS);
    for (int i = 0; i < argc; i++) {
        const bool is_value = i > 0 && takes_next(v, argv[i - 1]);
        if (argv[i][0] != '-' && text_typographic_dashes(argv[i]) == 0 && !is_value && n_taken < n_wanted)
            call->operand[n_taken++] = argv[i];
        else
            options[n_options++] = argv[i];
    }
    return n_options;
}

/* Take what stands behind -- out of argv; returns how many words are before it. */
static int take_command(struct verb_call *call, const struct verb *v, int argc, char *const argv[])
{
    for (int i = 0; v->command && i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            call->command = argv + i + 1;
            return i;
        }
    return argc;
}

/* The first word that is neither an option nor the value of one; NULL: there is none. */
static const char *first_bare_word(const struct verb *v, int n, char *const options[])
{
    for (int i = 0; i < n; i++)
        if (options[i][0] != '-' && (i == 0 || !takes_next(v, options[i - 1])))
            return options[i];
    return NULL;
}

/* "batch-size" of "batch size"; NULL: the two words are no choice of the first operand. */
static const char *joined_name(const struct verb_call *call, const char *word)
{
    const char *(*const name)(int i) = call->verb->operand_name;
    char joined[128];

    snprintf(joined, sizeof joined, "%.60s-%.60s", call->operand[0], word);
    for (int i = 0; name && name(i); i++)
        if (strcmp(name(i), joined) == 0)
            return name(i);
    return NULL;
}

/* Of the operands, which are at least one. */
static const char *last_operand(const struct verb_call *call)
{
    int n = 0;

    while (n + 1 < n_operands_of(call->verb) && call->operand[n + 1])
        n++;
    return call->operand[n];
}

/* The parser ended at a word that is no option: what it may mean, by the words before it. */
static enum rc explained_word(enum rc rc, const struct verb_call *call, int n, char *const options[])
{
    const struct verb *v = call->verb;
    const char *word = first_bare_word(v, n, options), *first = call->operand[0], *joined;
    char unknown[128];
    int at = 0;

    snprintf(unknown, sizeof unknown, "%.100s: not an option; options", word ? word : "");
    if (rc != RC_INVAL || !word || strncmp(rc_message(), unknown, strlen(unknown)) != 0)
        return rc;
    while (options[at] != word)
        at++;
    if (at > 0 && options[at - 1][strlen(options[at - 1]) - (options[at - 1][0] != '\0')] == ',')
        return rc_raise(RC_INVAL, "%.100s: follows a comma and a blank; leave out the blank: %.100s%.100s", word,
                        options[at - 1], word);
    if (!first)
        return rc_raise(RC_INVAL, "%.100s: not an option; options begin with --. gradmark help %s has examples", word,
                        v->name);
    if ((joined = joined_name(call, word)))
        return rc_raise(RC_INVAL, "%.60s %.60s: did you mean %s?", first, word, joined);
    if (find_option(v, first, strlen(first)))
        return rc_raise(RC_INVAL, "%.60s %.60s: did you mean --%s %.60s?", first, word, first, word);
    return rc_raise(RC_INVAL, "%.100s: one word too many after %.100s; usage: gradmark %s %s [--option value ...]",
                    word, last_operand(call), v->name, v->operands);
}

/* RC_INVAL: v starts a command, which has no -- before it. */
static enum rc check_command(const struct verb_call *call, int n, char *const options[])
{
    const char *word = call->verb->command && !call->command ? first_bare_word(call->verb, n, options) : NULL;
    char before[160] = " -np 2";

    if (!word)
        return RC_OK;
    for (size_t i = 0, at = 0; options[i] != word && at < sizeof before; i++)
        at += (size_t)snprintf(before + at, sizeof before - at, " %s", options[i]);
    return rc_raise(RC_INVAL, "%.100s: write -- before the verb: gradmark %s%s -- %.100s", word, call->verb->name,
                    before, word);
}

/* Is this the name of an operand, as "criteria" of "[CRITERIA.yaml]"? */
static bool names_operand(const struct verb *v, const char *name, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (const char *at = v->operands; *at; at += strspn(at, letters)) {
        at += strcspn(at, letters);
        if (n > 0 && strspn(at, letters) == n && strncasecmp(at, name, n) == 0)
            return true;
    }
    return false;
}

/* RC_INVAL: an operand is given as an option. */
static enum rc check_operands(const struct verb *v, int n, char *const options[])
{
    for (int i = 0; i < n && v->operands; i++) {
        const char *name = options[i] + 2;
        const size_t n_name = strncmp(options[i], "--", 2) == 0 ? strcspn(name, "=") : 0;
        if (n_name > 0 && names_operand(v, name, n_name) && !find_option(v, name, n_name))
            return rc_raise(RC_INVAL, "--%.*s: no such option; leave it out: gradmark %s %s", (int)n_name, name,
                            v->name, v->operands);
    }
    return RC_OK;
}

/* Spell options as the tables do. */
static void spell(const struct verb *v, int n, char **options)
{
    for (int i = 0; i < n; i++)
        for (const struct verb_short *s = v->shorts; s && s->given; s++)
            if (strcmp(options[i], s->given) == 0)
                options[i] = (char *)s->option; /* which nobody writes to */
}

/* rc is how the parser ended: a file behind --json is why it failed. */
static enum rc explained(enum rc rc, int n, char *const options[])
{
    for (int i = 0; rc == RC_INVAL && i + 1 < n; i++)
        if (strcmp(options[i], "--json") == 0 && options[i + 1][0] != '-')
            return rc_raise(rc, "--json: takes no file, and %.200s is one; to write it: --json > %.200s",
                            options[i + 1], options[i + 1]);
    return rc;
}

/* With the options of the output, which are then no group of the call. */
static enum rc parse(struct verb_call *call, const struct verb *v, int n_options, char **options)
{
    int n = call->n_groups;

    if (v->has_records)
        call->group[n++] = (struct opt_group){ "output", verb_output_table, &call->output, { 0 }, NULL };
    if (v->format)
        call->group[n++] = (struct opt_group){ "output", v->format, &call->output, { 0 }, NULL };
    const enum rc rc = hinted(opt_parse(call->group, n, v->rule, n_options, options), v);

    return explained_word(v->has_records ? explained(rc, n_options, options) : rc, call, n_options, options);
}

/* Did the user give the option of that name? It need not exist. */
static bool has(const struct verb_call *call, const char *name)
{
    for (int g = 0; g < call->n_groups; g++)
        for (int i = 0; call->group[g].table[i].type != OPT_END; i++)
            if (!call->group[g].module && strcmp(call->group[g].table[i].name, name) == 0)
                return opt_is_given(&call->group[g], i);
    return false;
}

bool verb_prints_csv(const struct verb_call *call)
{
    return call->output.format && strcmp(call->output.format, "csv") == 0;
}

/* RC_INVAL: records or tables alone, with an option that makes none; or both. */
static enum rc check_output(const struct verb_call *call)
{
    static const char *const without[] = { "dry-run", "init", "exercise", "check" };
    const bool is_csv = verb_prints_csv(call);

    for (size_t i = 0; (call->output.json || is_csv) && i < sizeof without / sizeof *without; i++)
        if (has(call, without[i]))
            return rc_raise(RC_INVAL, "--%s: there are no %s with --%s; leave one of them out",
                            is_csv ? "format csv" : "json", is_csv ? "tables" : "records", without[i]);
    if (call->output.json && call->output.format && strcmp(call->output.format, call->verb->format->def) != 0)
        return rc_raise(RC_INVAL, "--json: --format %s is given too; give one of them", call->output.format);
    return RC_OK;
}

enum rc verb_call_open(struct verb_call *call, const struct verb *v, int argc, char *const argv[])
{
    char **options = NULL;
    enum rc rc = RC_OK;

    *call = (struct verb_call){ .verb = v, .stage = STAGE_INPUT };
    call->opts = calloc(1, v->opts_bytes + 1);
    options = calloc((size_t)argc + 1, sizeof *options);
    if (!call->opts || !options)
        FAIL(RC_NOMEM, "no memory for options");
    call->n_groups = groups_of(call->group, v, call->opts);
    const int n_options = take_operands(call, v, take_command(call, v, argc, argv), argv, options);
    spell(v, n_options, options);
    TRY(check_command(call, n_options, options));
    TRY(check_operands(v, n_options, options));
    TRY(parse(call, v, n_options, options));
    TRY(check_output(call));
    if (v->check)
        TRY(v->check(call));
out:
    free(options);
    return rc;
}

/* "B" of "A B", where A is given. */
static const char *missing_operands(const struct verb_call *call)
{
    const char *missing = call->verb->operands;

    for (int i = 0; call->operand[i]; i++)
        missing = strchr(missing, ' ') + 1;
    return missing;
}

enum rc verb_run(const struct verb *v, struct verb_call *call)
{
    const int n_wanted = n_operands_of(v);

    /* --continue has the operand of the work that it continues */
    if (n_wanted > 0 && v->operands[0] != '[' && !has(call, "continue") && !call->operand[n_wanted - 1])
        return rc_raise(RC_INVAL, "missing: %s; usage: gradmark %s %s", missing_operands(call), v->name, v->operands);
    enum rc rc;

    TRY(verb_check_files(call));
    rc = v->run(call);
    if (rc != RC_OK && call->stage == STAGE_RUN && call->failure_exit_code == 0 && stop_wanted())
        call->failure_exit_code = VERB_STOPPED + stop_signal();
out:
    return rc;
}

void verb_call_close(struct verb_call *call)
{
    free(call->opts);
    *call = (struct verb_call){ .stage = STAGE_INPUT };
}

bool verb_given(const struct verb_call *call, const char *option)
{
    return opt_given(call->group, call->n_groups, option);
}

enum rc verb_copy_records(const char *path)
{
    static const char *const name[] = { "acceptance.jsonl", "self_test.jsonl", "runs.jsonl", "verdicts.jsonl" };
    char file[PATH_MAX];
    struct stat about;
    enum rc rc = RC_OK;

    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return output_copy(path);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", path, name[i]);
        if (access(file, F_OK) == 0)
            TRY(output_copy(file));
    }
out:
    return rc;
}

bool verb_help_is_wanted(char *const words[])
{
    for (; *words && strcmp(*words, "--") != 0; words++)
        if (strcmp(*words, "--help") == 0 || strcmp(*words, "-h") == 0 || strcmp(*words, "--help-all") == 0)
            return true;
    return false;
}
