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

#include "data/dataset.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/report/chart.h"
#include "harness/train/train.h"
#include "harness/world/stop.h"
#include "harness/world/world.h"

/* --- files that a subcommand reads and writes --- */

enum { SHOWN_BYTES = 400 };

struct named_file {
    const char *option; /* NULL: an operand */
    const char *value;  /* as it was given: one file, or several */
    enum opt_file use;
    bool is_data;        /* a data set: of a folder the files of its format are read */
    char path[PATH_MAX]; /* of one file */
};

struct named_files {
    struct named_file *file;
    size_t n, n_most;
};

/* --- which files --- */

static bool names_a_file(const char *what)
{
    static const char *const word[] = { "FILE", "FOLDER", "DIR", "PATH", ".yaml" };

    for (size_t i = 0; what && i < sizeof word / sizeof *word; i++)
        if (strstr(what, word[i]))
            return true;
    return false;
}

static bool is_written(const struct named_file *f)
{
    return f->use == OPT_WRITTEN || f->use == OPT_CHART;
}

static enum rc add(struct named_files *to, const struct named_file *like, const char *path)
{
    if (path[0] == '\0' || strcmp(path, "-") == 0 || strlen(path) >= sizeof like->path)
        return RC_OK;
    if (to->n == to->n_most) {
        const size_t n_most = 2 * to->n_most + 8;
        struct named_file *more = realloc(to->file, n_most * sizeof *more);
        if (!more)
            return rc_raise(RC_NOMEM, "no memory for the names of files");
        to->file = more;
        to->n_most = n_most;
    }
    struct named_file *f = &to->file[to->n++];
    *f = *like;
    memcpy(f->path, path, strlen(path) + 1);
    return RC_OK;
}

static enum rc add_chart(struct named_files *to, const struct named_file *like)
{
    static const char *const ending[] = { "png", "svg", "tsv" };
    char dir[CHART_PATH_BYTES], name[CHART_PATH_BYTES], path[2 * CHART_PATH_BYTES + 8];
    enum rc rc = RC_OK;

    if (!chart_split_path(like->value, dir, name))
        return RC_OK;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending[i]);
        TRY(add(to, like, path));
    }
out:
    return rc;
}

/* "a,b", "x=a,y=b" */
static enum rc add_list(struct named_files *to, const struct named_file *like)
{
    const char *rest = like->value;
    char path[PATH_MAX];
    enum rc rc = RC_OK;

    while (text_next(&rest, path, sizeof path)) {
        const char *behind = strchr(path, '=');
        TRY(add(to, like, path));
        if (behind)
            TRY(add(to, like, behind + 1));
    }
out:
    return rc;
}

/* A line feed would cut the lines that name the file, and programs that draw charts cannot open it. */
static enum rc check_name(const struct opt *o, const char *value)
{
    char name[SHOWN_BYTES];

    if (o->file == OPT_READ || strcmp(o->name, "continue") == 0 || !text_has_control(name, sizeof name, value))
        return RC_OK;
    return rc_raise(RC_INVAL, "--%s %s: has a control character in its name, shown as ?; give it another name", o->name,
                    name);
}

static enum rc add_option(struct named_files *to, const struct opt *o, const void *from)
{
    struct named_file f = { .option = o->name, .value = opt_text(o, from), .use = o->file };

    enum rc rc;

    if (o->file == OPT_NO_FILE || f.value[0] == '\0' || train_is_built_in(o, f.value))
        return RC_OK;
    TRY(check_name(o, f.value));
    f.is_data = strcmp(o->unit, "PATH") == 0;
    if (o->file == OPT_CHART)
        TRY(add_chart(to, &f));
    else
        TRY(strstr(o->unit, "...") ? add_list(to, &f) : add(to, &f, f.value));
out:
    return rc;
}

static enum rc add_all(struct named_files *to, const struct verb_call *call)
{
    enum rc rc = RC_OK;

    for (int g = 0; g < call->n_groups; g++)
        for (const struct opt *o = call->group[g].table; o->type != OPT_END; o++) {
            assert(o->type != OPT_TEXT || names_a_file(o->unit) == (o->file != OPT_NO_FILE)); /* OPT_FILE_ says which */
            TRY(add_option(to, o, call->group[g].into));
        }
    for (int i = 0; names_a_file(call->verb->operands) && i < VERB_MAX_OPERANDS && call->operand[i]; i++)
        TRY(add(to, &(struct named_file){ .value = call->operand[i], .use = OPT_READ }, call->operand[i]));
out:
    return rc;
}

/* --- which are the same --- */

/* "--save x", "--chart y.png (y.tsv)", "the operand r.jsonl" */
static const char *shown(char out[SHOWN_BYTES], const struct named_file *f)
{
    const bool is_one = f->use != OPT_CHART;

    (void)snprintf(out, SHOWN_BYTES, "%s%s %.120s%s%.120s%s", f->option ? "--" : "the ",
                   f->option ? f->option : "operand", f->value, is_one ? "" : " (", is_one ? "" : f->path,
                   is_one ? "" : ")");
    return out;
}

/* A run goes on from its checkpoint, and replaces it. */
static bool may_be_same(const struct named_file *written, const struct named_file *read)
{
    return read->option && strcmp(written->option, "save") == 0 && strcmp(read->option, "resume") == 0;
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Would it replace a file in the folder that is read? A page may be written there: it is of what is read. */
static bool replaces_part(const struct named_file *written, const struct named_file *folder)
{
    const char *slash = strrchr(written->path, '/'), *name = slash ? slash + 1 : written->path;
    const char *ending = strrchr(name, '.');
    struct stat about;

    if (!is_folder(folder->path) || stat(written->path, &about) != 0 || !S_ISREG(about.st_mode) ||
        !file_is_in_folder(written->path, folder->path))
        return false;
    return folder->is_data ? dataset_path_is_part(name) : !ending || strcmp(ending, ".html") != 0;
}

static enum rc compare(const struct named_file *written, const struct named_file *other)
{
    char a[SHOWN_BYTES], b[SHOWN_BYTES];

    if (other->use == OPT_FOLDER || may_be_same(written, other))
        return RC_OK;
    if (file_is_same(written->path, other->path))
        return rc_raise(RC_INVAL, "%s: is the same file as %s; name another file", shown(a, written), shown(b, other));
    if (other->use == OPT_READ && replaces_part(written, other))
        return rc_raise(RC_INVAL, "%s: would replace a file of %s; name another file", shown(a, written),
                        shown(b, other));
    if (other->use == OPT_MADE_FOLDER && file_is_in_folder(written->path, other->path))
        return rc_raise(RC_INVAL, "%s: is in the folder of %s, which must be empty; name a file elsewhere",
                        shown(a, written), shown(b, other));
    return RC_OK;
}

/* Call this before the subcommand runs. Compares the files of its options and operands by identity, not by spelling.
 * RC_INVAL names both options and the file. A file that is missing or unreadable is reported elsewhere. */
static enum rc verb_check_files(const struct verb_call *call)
{
    struct named_files all = { .file = NULL };
    enum rc rc;

    TRY(add_all(&all, call));
    for (size_t i = 0; i < all.n; i++)
        for (size_t k = 0; is_written(&all.file[i]) && k < all.n; k++) {
            const bool is_of_one = all.file[i].option == all.file[k].option; /* the files of a chart */
            if (!is_of_one && (k > i || !is_written(&all.file[k])))
                TRY(compare(&all.file[i], &all.file[k]));
        }
out:
    free(all.file);
    return rc;
}

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

/* The option of this name, of n bytes; NULL: v has none. */
static const struct opt *find_option(const struct verb *v, const char *name, size_t n)
{
    for (const struct verb_group *g = v->group; g->table; g++)
        for (const struct opt *o = g->table; o->type != OPT_END; o++)
            if (strncmp(o->name, name, n) == 0 && o->name[n] == '\0')
                return o;
    return v->format && strncmp(v->format->name, name, n) == 0 && v->format->name[n] == '\0' ? v->format : NULL;
}

/* Returns rc, the result of the parser. If the parser refused an option or a value that v has a hint for, the hint
 * replaces its message; one for any value ("model *") follows it. The match is by that message ("--NAME: no such
 * option", "-N: not an option", "--NAME VALUE: ", "must be one of"), so it depends on the wording in base/opt.c. */
static enum rc hinted(enum rc rc, const struct verb *v)
{
    /* Names of other programs, and an option here, with a value if it needs one. The first that the verb has. */
    static const struct verb_hint other_names[] = {
        { "algo", "reducer" },
        { "algorithm", "reducer" },
        { "b", "bytes" }, /* nccl-tests: -b, -e, -f, -n, -g */
        { "backend", "reducer" },
        { "bandwidth", "cluster-set link_bits_per_s=N" },
        { "checkpoint", "save" },
        { "device", "compute" },
        { "dtype", "precision" },
        { "e", "bytes" },
        { "f", "bytes" },
        { "g", "workers" },
        { "gpu", "compute cuda" },
        { "gpus", "compute cuda" },
        { "hosts", "workers" },
        { "iterations", "steps" },
        { "iterations", "repeats" },
        { "iters", "steps" },
        { "iters", "repeats" },
        { "latency", "cluster-set link_latency_s=N" },
        { "log", "out" },
        { "log", "records" },
        { "n", "repeats" },
        { "nodes", "workers" },
        { "nodes", "gpus" },
        { "np", "workers" },
        { "num-workers", "workers" },
        { "output", "results" },
        { "ranks", "workers" },
        { "repeats", "launches" },
        { "runs", "launches" },
        { "size", "bytes" },
        { "sizes", "bytes" },
        { "time", "budget-s" },
        { "trials", "launches" },
        { NULL, NULL },
    };
    char unknown[64], message[RC_MESSAGE_BYTES];

    snprintf(message, sizeof message, "%s", rc == RC_INVAL ? rc_message() : "");
    for (const struct verb_hint *h = v->hint; rc == RC_INVAL && h && h->option; h++) {
        const size_t n_name = strcspn(h->option, "*");
        if (h->option[n_name] && strncmp(message, "--", 2) == 0 && strncmp(message + 2, h->option, n_name) == 0 &&
            strstr(message, ": must be one of "))
            return rc_raise(RC_INVAL, "%s; %s", message, h->instead);
        const bool has_value = strchr(h->option, ' ');
        snprintf(unknown, sizeof unknown, "--%s: %s", h->option, has_value ? "" : "no such option");
        if (strncmp(message, unknown, strlen(unknown)) == 0)
            return rc_raise(RC_INVAL, "--%s: %s; %s", h->option, has_value ? "no such choice" : "no such option",
                            h->instead);
    }
    for (const struct verb_hint *h = other_names; rc == RC_INVAL && h->option; h++) {
        const bool is_short = strncmp(message, "--", 2) != 0;
        snprintf(unknown, sizeof unknown, is_short ? "-%s: not an option" : "--%s: no such option", h->option);
        if (strncmp(message, unknown, strlen(unknown)) == 0 && find_option(v, h->instead, strcspn(h->instead, " ")))
            return rc_raise(RC_INVAL, "%s; use --%s", unknown, h->instead);
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
    size_t n_before = 0;

    if (!word)
        return RC_OK;
    for (size_t at = 0; options[n_before] != word && at < sizeof before; n_before++)
        at += (size_t)snprintf(before + at, sizeof before - at, " %s", options[n_before]);
    if (strcmp(word, "gradmark") == 0 && options[n_before] == word && options[n_before + 1])
        word = options[n_before + 1];
    return rc_raise(RC_INVAL, "%.100s: write -- before the subcommand: gradmark %s%s -- %.100s", word, call->verb->name,
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

enum rc verb_refuse_ranks(const char *what)
{
    const struct launcher launcher = world_launcher();

    if (launcher.n_ranks < 2 || launcher.is_by_hand)
        return RC_OK;
    return rc_raise(RC_INVAL, "%sis the work of one process, and %s started %d; run it without %s", what, launcher.name,
                    launcher.n_ranks, launcher.name);
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
