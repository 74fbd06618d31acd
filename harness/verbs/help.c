/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - documentation from the option tables of subcommands: --help, man pages, shell completion, docs/options.md;
 * see help.h.
 */
#include "harness/verbs/help.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/report/markdown.h"
#include "harness/train/rules.h"
#include "harness/verbs/help_formats.h"
#include "harness/verbs/machine.h"

enum { WORD_BYTES = HELP_WORD_BYTES, USAGE_BYTES = 256, MARGIN = 2, DEEP_MARGIN = 6, MOST_PAGES = 32 };

extern const char help_pages[]; /* of docs/: for each a byte 0x0c, its name, an end of line, its text */

/* --- the list of options --- */

static bool names_word(const char *names, const char *word)
{
    const size_t n_word = strlen(word);

    for (const char *at = names; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (n == n_word && strncmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static const struct verb_basics *basics_of(const struct verb *v, const char *name)
{
    for (const struct verb_basics *b = v->basics; b && b->title; b++)
        if (names_word(b->options, name))
            return b;
    return NULL;
}

static int add_table(struct help_option *out, int n, const struct verb *v, const char *title, const struct module *m,
                     const struct opt *table, const struct opt_topic *topic)
{
    const char *heading = title;

    for (const struct opt *o = table; o->type != OPT_END; o++) {
        assert(n < HELP_MOST_OPTIONS);
        if (topic && topic->title && strcmp(topic->first, o->name) == 0)
            heading = topic++->title;
        out[n] = (struct help_option){
            .module = m, .opt = o, .rules = v->not_with, .basics = m ? NULL : basics_of(v, o->name)
        };
        snprintf(out[n++].topic, sizeof out->topic, "%s%s%s", heading, m ? " " : "", m ? m->name : "");
    }
    assert(!topic || !topic->title); /* topics stand in the order of the table */
    return n;
}

int help_options(struct help_option out[HELP_MOST_OPTIONS], const struct verb *v)
{
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values unused;
    int n = 0;

    for (const struct verb_group *g = v->group; g->table; g++)
        n = add_table(out, n, v, g->title, NULL, g->table, g->topic);
    if (v->has_records)
        n = add_table(out, n, v, "printing", NULL, verb_output_table, NULL);
    if (v->format)
        n = add_table(out, n, v, "printing", NULL, v->format, NULL);
    const int n_groups = v->kinds ? module_opt_groups(group, v->kinds, &unused) : 0;
    for (int g = 0; g < n_groups; g++)
        n = add_table(out, n, v, group[g].title, group[g].module, group[g].table, NULL);
    return n;
}

const struct help_option *help_option_of(const struct help_option *options, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!options[i].module && strcmp(options[i].opt->name, name) == 0)
            return &options[i];
    assert(!"each basic option is one");
    return NULL;
}

void help_each_word(const char *names, void (*each)(void *to, const char *name), void *to)
{
    char name[WORD_BYTES];

    for (const char *at = names; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        each(to, name);
        at += n;
    }
}

bool help_usage_line(char *out, size_t n_bytes, const struct verb *v, int i)
{
    const char *line = v->usage ? v->usage : v->group->table ? "[--option value ...]" : "";

    for (; i > 0 && line; i--) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    if (!line)
        return false;
    const int n = (int)strcspn(line, "\n");
    const bool is_whole = strncmp(line, "gradmark ", 9) == 0 || strncmp(line, "mpirun ", 7) == 0;
    snprintf(out, n_bytes, "%s%s%s%.*s", is_whole ? "" : "gradmark ", is_whole ? "" : v->name,
             is_whole || n == 0 ? "" : " ", n, line);
    return true;
}

/* --- --help of a verb --- */

void help_not_with(const struct help_option *o, char *out, size_t n_bytes)
{
    out[0] = '\0';
    rules_words(&train_rules, o->opt, out, n_bytes);
    rules_words(&machine_rules, o->opt, out, n_bytes);
    if (o->rules)
        rules_words(o->rules, o->opt, out, n_bytes);
}

struct printing {
    FILE *to;
    const struct help_option *options;
    int n, n_columns;
    enum opt_detail detail;
};

static void print_option(const struct printing *p, const struct help_option *o)
{
    char not_with[RULES_BYTES];

    help_not_with(o, not_with, sizeof not_with);
    opt_help_print(p->to, o->module, o->opt, p->detail, not_with, p->n_columns);
}

static void print_basic(void *printing, const char *name)
{
    const struct printing *p = printing;

    print_option(p, help_option_of(p->options, p->n, name));
}

static void print_options(struct printing *p, const struct verb *v)
{
    const char *topic = "";
    int n_left = 0;

    for (const struct verb_basics *b = v->basics; b && b->title; b++) {
        fprintf(p->to, "\n%s\n", b->title);
        help_each_word(b->options, print_basic, p);
    }
    for (int i = 0; i < p->n; i++) {
        const struct help_option *o = &p->options[i];
        n_left += o->basics == NULL;
        if (o->basics || (v->basics && p->detail == OPT_BRIEF))
            continue;
        if (strcmp(topic, o->topic) != 0)
            fprintf(p->to, "\n%s\n", o->topic);
        topic = o->topic;
        print_option(p, o);
    }
    if (p->detail == OPT_BRIEF && v->basics && n_left > 0)
        terminal_note(p->to, "\n%d more options: gradmark %s --help-all", n_left, v->name);
}

static void print_examples(const struct printing *p, const struct verb *v)
{
    if (v->example)
        fputs("\nexamples\n", p->to);
    for (const struct verb_example *e = v->example; e && e->command; e++) {
        fprintf(p->to, "%*sgradmark %s\n%*s", MARGIN, "", e->command, DEEP_MARGIN, "");
        terminal_fill(p->to, e->what, DEEP_MARGIN, p->n_columns);
    }
}

static void print_paragraphs(const struct printing *p, const char *text)
{
    char *copy = strdup(text), *at = copy;

    for (char *next = NULL; at && *at; at = next) {
        next = strstr(at, "\n\n");
        if (next) {
            *next = '\0';
            next += 2;
        }
        fputc('\n', p->to);
        terminal_fill(p->to, at, 0, p->n_columns);
    }
    free(copy);
}

/* The words after the command stand below it if a line has no room for them. */
static void print_usage_line(FILE *to, const char *before, const char *line)
{
    fputs(before, to);
    terminal_fill(to, line, (int)strlen(before), terminal_text_columns(to));
}

void help_print(FILE *to, const struct verb *v, enum opt_detail detail)
{
    struct help_option options[HELP_MOST_OPTIONS];
    struct printing p = { to, options, help_options(options, v), terminal_text_columns(to), detail };
    char line[USAGE_BYTES];

    terminal_note(to, "gradmark %s: %s\n", v->name, v->summary);
    for (int i = 0; help_usage_line(line, sizeof line, v, i); i++)
        print_usage_line(to, i == 0 ? "usage: " : "       ", line);
    if (v->introduction)
        print_paragraphs(&p, v->introduction);
    print_examples(&p, v);
    print_options(&p, v);
    if (detail == OPT_WHOLE && p.n > 0)
        print_paragraphs(&p, "Whole numbers may have a suffix: K, M, G (1000) or Ki, Mi, Gi (1024). A switch --NAME is "
                             "taken back by --no-NAME.");
    if (v->page)
        fprintf(to, "\nRead on: gradmark help %s.md\n", v->page);
}

/* --- pages of docs/ --- */

/* Is word this page, "compare", as such or with the extension of its file, "compare.md"? The name of a page may be a
 * verb, too. */
static bool is_page(const char *word, const char *page)
{
    const size_t n = strlen(page);

    return strncmp(word, page, n) == 0 && (word[n] == '\0' || strcmp(word + n, ".md") == 0);
}

/* The page of this name and its bytes; NULL: there is none. name NULL: page i. */
static const char *find_page(const char *name, int i, char found[WORD_BYTES], size_t *n_bytes)
{
    for (const char *at = help_pages; *at == '\f'; i--) {
        const char *text = strchr(at, '\n') + 1;
        const size_t n = strcspn(text, "\f");
        snprintf(found, WORD_BYTES, "%.*s", (int)(text - at - 2), at + 1);
        *n_bytes = n;
        if (name ? is_page(name, found) : i == 0)
            return text;
        at = text + n;
    }
    return NULL;
}

static void print_page_names(FILE *to)
{
    char names[1024] = "Pages:", name[WORD_BYTES];
    size_t n_bytes;

    for (int i = 0; find_page(NULL, i, name, &n_bytes); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s %s", i > 0 ? "," : "", name);
    terminal_fill(to, names, 0, terminal_text_columns(to));
}

/* Is this heading of the glossary, n bytes, that word? Letters may be large, and a hyphen is a blank: "batch-size". */
static bool is_heading(const char *heading, size_t n, const char *word)
{
    if (strlen(word) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const bool is_blank = word[i] == '-' || word[i] == '_' || word[i] == ' ';
        const bool has_blank = heading[i] == '-' || heading[i] == ' ';
        if (is_blank != has_blank ||
            (!is_blank && tolower((unsigned char)word[i]) != tolower((unsigned char)heading[i])))
            return false;
    }
    return true;
}

/* Does this entry of the glossary, n bytes, have the word in code font, as a key or a name in tables? */
static bool has_code(const char *entry, size_t n, const char *word)
{
    char code[WORD_BYTES + 2];

    return snprintf(code, sizeof code, "`%s`", word) < (int)sizeof code && memmem(entry, n, code, strlen(code));
}

/* The entry of the glossary for this word and its bytes, with its heading; NULL: there is none. word NULL: entry i.
 * is_code: the first that has it in code font. */
static const char *find_entry(const char *word, bool is_code, int i, size_t *n_bytes)
{
    static const char mark[] = "\n### ";
    char name[WORD_BYTES];
    size_t n_page = 0;
    const char *page = find_page("glossary", 0, name, &n_page), *end = page + n_page, *next = NULL;

    for (const char *at = strstr(page, mark); at && at < end; at = next, i--) {
        const char *entry = at + 1, *heading = at + strlen(mark);
        next = strstr(entry, mark);
        *n_bytes = (size_t)((next && next < end ? next : end) - entry);
        if (!word     ? i != 0
            : is_code ? !has_code(entry, *n_bytes, word)
                      : !is_heading(heading, strcspn(heading, "\n"), word))
            continue;
        return entry;
    }
    return NULL;
}

/* --- gradmark help --- */

static const struct verb *find_verb(const struct verb *const *verbs, const char *name)
{
    for (; *verbs; verbs++)
        if (strcmp((*verbs)->name, name) == 0)
            return *verbs;
    return NULL;
}

static void print_usage_row(FILE *to, const char *word, const char *what)
{
    enum { WHAT_COLUMN = 12 };

    fprintf(to, "  %-*s", WHAT_COLUMN - 2, word);
    terminal_fill(to, what, WHAT_COLUMN, terminal_text_columns(to));
}

static void print_usage(FILE *to, const struct verb *const *verbs)
{
    terminal_note(to, "gradmark: the cost of turning many workers' gradients into new parameters\n");
    print_usage_line(to, "usage: ", "gradmark SUBCOMMAND [--option value ...]");
    fputc('\n', to);
    for (const struct verb *const *v = verbs; *v; v++)
        print_usage_row(to, (*v)->name, (*v)->summary);
    print_usage_row(to, "help",
                    "this text; help SUBCOMMAND: its main options; help PAGE: a page to read; help WORD: its entry in "
                    "the glossary");
    print_usage_row(to, "--version", "name and version of this program");
    fputc('\n', to);
    print_page_names(to);
}

static const struct help_format {
    const char *word;
    void (*print)(FILE *to, const struct verb *const *verbs);
} formats[] = { { "bash", help_print_bash },       { "zsh", help_print_zsh },
                { "fish", help_print_fish },       { "markdown", help_print_markdown },
                { "records", help_print_records }, { "json-schema", help_print_json_schema } };

const char *help_format_word(int i)
{
    return i == 0 ? "man" : i <= (int)(sizeof formats / sizeof *formats) ? formats[i - 1].word : NULL;
}

const char *help_page_word(int i, const struct verb *const *verbs, char *out, size_t n_bytes)
{
    char name[WORD_BYTES];
    size_t n_text_bytes;

    if (!find_page(NULL, i, name, &n_text_bytes))
        return NULL;
    snprintf(out, n_bytes, "%s%s", name, find_verb(verbs, name) ? ".md" : "");
    return out;
}

static bool is_help_option(const char *word)
{
    return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

/* --format man [VERB] | bash | ... [--help]; words: behind --format. Returns the exit code. */
static int print_format(const struct verb *const *verbs, char *const *words)
{
    const char *format = words[0] ? words[0] : "", *name = words[0] && !is_help_option(words[1]) ? words[1] : NULL;
    const bool wants_help = words[0] && (is_help_option(words[1]) || (name && is_help_option(words[2])));
    const struct verb *v = name ? find_verb(verbs, name) : NULL;
    const bool is_man = strcmp(format, "man") == 0 && (v || !name);
    size_t i = 0;

    while (i < sizeof formats / sizeof *formats && (strcmp(formats[i].word, format) != 0 || name))
        i++;
    const bool is_other = i < sizeof formats / sizeof *formats;
    if (is_man || is_other) {
        if (wants_help)
            print_usage(stdout, verbs);
        else if (is_man)
            help_print_man(stdout, verbs, v);
        else
            formats[i].print(stdout, verbs);
        return EXIT_SUCCESS;
    }
    terminal_note(stderr,
                  "gradmark help: --format %s%s%s: must be man, man SUBCOMMAND, bash, zsh, fish, markdown, records or "
                  "json-schema",
                  format, name ? " " : "", name ? name : "");
    return 2;
}

static void print_all(const struct verb *const *verbs)
{
    for (const struct verb *const *v = verbs; *v; v++) {
        fputs("\n== ", stdout);
        help_print(stdout, *v, OPT_WHOLE);
    }
}

/* Returns the exit code; 2: word is neither. */
static int print_verb_or_page(const struct verb *const *verbs, const char *word, const char *detail)
{
    const struct verb *v = find_verb(verbs, word);
    char name[WORD_BYTES];
    size_t n_bytes = 0;
    const char *page = v ? NULL : find_page(word, 0, name, &n_bytes);

    if (!v && !page)
        page = find_entry(word, false, 0, &n_bytes);
    if (!v && !page)
        page = find_entry(word, true, 0, &n_bytes);
    if (v)
        help_print(stdout, v, detail && strcmp(detail, "--help-all") == 0 ? OPT_WHOLE : OPT_BRIEF);
    if (page && markdown_page(page, n_bytes, stdout) != RC_OK) {
        terminal_note(stderr, "gradmark help: %s", rc_message());
        return EXIT_FAILURE;
    }
    return v || page ? EXIT_SUCCESS : 2;
}

const char *help_nearest(char out[HELP_WORD_BYTES], const struct verb *const *verbs, const char *word)
{
    enum { MOST_KNOWN = 256 };
    char text[MOST_KNOWN][WORD_BYTES];
    const char *known[MOST_KNOWN + 1], *entry;
    size_t n_bytes;
    int n = 0;

    for (int i = 0; verbs[i]; i++)
        snprintf(text[n++], WORD_BYTES, "%s", verbs[i]->name);
    for (int i = 0; n < MOST_KNOWN && find_page(NULL, i, text[n], &n_bytes); i++)
        n++;
    for (int i = 0; n < MOST_KNOWN && (entry = find_entry(NULL, false, i, &n_bytes)); i++) {
        entry += strlen("### ");
        snprintf(text[n++], WORD_BYTES, "%.*s", (int)strcspn(entry, "\n"), entry);
    }
    for (int i = 0; i < n; i++) {
        for (char *c = text[i]; *c; c++)
            *c = *c == ' ' ? '-' : *c; /* one word of a shell */
        known[i] = text[i];
    }
    known[n] = NULL;
    const char *found = text_nearest(word, known);
    if (!found)
        return NULL;
    snprintf(out, HELP_WORD_BYTES, "%s", found);
    return out;
}

/* out[n_bytes] := the words up to the first option, with blanks: "parameter server". Returns the option, or NULL. */
static const char *join_words(char *out, size_t n_bytes, char *const *words)
{
    size_t n = 0;

    for (; *words && (*words)[0] != '-'; words++)
        n += n < n_bytes ? (size_t)snprintf(out + n, n_bytes - n, "%s%s", n > 0 ? " " : "", *words) : 0;
    return *words;
}

int help_run(const struct verb *const *verbs, char *const *words, char unknown[HELP_WORD_BYTES])
{
    const char *first = words[0];

    unknown[0] = '\0';
    if (first && strcmp(first, "--format") == 0)
        return print_format(verbs, words + 1);
    if (first && first[0] != '-') {
        const char *detail = join_words(unknown, HELP_WORD_BYTES, words);
        const int exit_code = print_verb_or_page(verbs, find_verb(verbs, first) ? first : unknown, detail);
        if (exit_code != 2)
            unknown[0] = '\0';
        return exit_code;
    }
    print_usage(stdout, verbs);
    if (first && strcmp(first, "--all") == 0)
        print_all(verbs);
    return EXIT_SUCCESS;
}
