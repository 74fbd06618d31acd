/* SPDX-License-Identifier: Apache-2.0 */
/* help_formats.c - the option tables of subcommands in the formats of other programs; see help_formats.h. */
#include "harness/verbs/help_formats.h"

#include <ctype.h>
#include <string.h>

#include "harness/base/rule.h"
#include "harness/base/terminal.h"
#include "harness/cluster/cluster.h"
#include "harness/report/manifest.h"
#include "harness/report/record_keys.h"
#include "harness/verbs/help.h"
#include "models/workload.h"

enum { CHOICE_BYTES = 64, NAME_BYTES = 80, LINE_BYTES = 256, PAGE_COLUMNS = 110 };

/* Prints text with a backslash before each of `special`. */
static void print_escaped(FILE *to, const char *text, const char *special)
{
    for (; *text; text++)
        fprintf(to, "%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static bool names_files(const struct opt *o)
{
    return o->type == OPT_TEXT && o->file != OPT_NO_FILE;
}

static const char *network_name(int i)
{
    const struct module *m = network_kind.at(i);

    return m ? m->name : NULL;
}

/* Names that a TEXT may be: its unit says which. */
static const struct {
    const char *unit;
    const char *(*name)(int i);
} names_of[] = { { "PRESET|FILE", cluster_preset_name }, { "MODEL,...", network_name } };

/* Word i to offer as a value of o; NULL after the last. out[n_bytes] may hold it. */
static const char *value_word(const struct opt *o, int i, char *out, size_t n_bytes)
{
    for (size_t k = 0; o->type == OPT_TEXT && k < sizeof names_of / sizeof *names_of; k++)
        if (strcmp(o->unit, names_of[k].unit) == 0)
            return names_of[k].name(i);
    return opt_choice(o, i, out, n_bytes);
}

/* The words to offer, a blank between two. */
static void print_choices(FILE *to, const struct opt *o)
{
    char name[CHOICE_BYTES];
    const char *choice;

    for (int i = 0; (choice = value_word(o, i, name, sizeof name)) != NULL; i++)
        fprintf(to, "%s%s", i > 0 ? " " : "", choice);
}

static bool has_choices(const struct opt *o)
{
    char name[CHOICE_BYTES];

    return value_word(o, 0, name, sizeof name) != NULL;
}

/* Is its value several words, with commas between? */
static bool is_list(const struct opt *o)
{
    return o->type == OPT_LIST || (o->type == OPT_TEXT && strstr(o->unit, ",...") != NULL);
}

/* Names of the first operand, each with a blank before it. */
static void print_operands(FILE *to, const struct verb *v)
{
    for (int i = 0; v->operand_name && v->operand_name(i); i++)
        fprintf(to, " %s", v->operand_name(i));
}

static void print_formats(FILE *to)
{
    for (int i = 0; help_format_word(i); i++)
        fprintf(to, "%s%s", i > 0 ? " " : "", help_format_word(i));
}

/* What may follow gradmark help. */
static void print_help_words(FILE *to, const struct verb *const *verbs)
{
    char name[NAME_BYTES];

    for (const struct verb *const *v = verbs; *v; v++)
        fprintf(to, "%s ", (*v)->name);
    for (int i = 0; help_page_word(i, verbs, name, sizeof name); i++)
        fprintf(to, "%s ", name);
    fputs("--all --format", to);
}

/* The verb before v that has the same tables; NULL: none. */
static const struct verb *verb_before_with_options(const struct verb *const *verbs, const struct verb *v)
{
    for (; *verbs && *verbs != v; verbs++)
        if ((*verbs)->group == v->group && v->group->table)
            return *verbs;
    return NULL;
}

static void print_verb_names(FILE *to, const struct verb *const *verbs)
{
    for (const struct verb *const *v = verbs; *v; v++)
        fprintf(to, "%s ", (*v)->name);
    fputs("help", to);
}

/* --- man(7) --- */

/* Words as they stand: no escape, no hyphen that a browser of pages may break at, no request at the begin of a line. */
static void print_roff(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", to);
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else
            fputc(*text, to);
}

static void print_man_title(FILE *to, const char *name)
{
    char version[96];

    manifest_version(version, sizeof version);
    fputs(".\\\" made by gradmark help --format man\n.TH GRADMARK", to);
    if (name)
        fputc('-', to);
    for (const char *c = name ? name : ""; *c; c++)
        fputc(toupper((unsigned char)*c), to);
    fprintf(to, " 1 \"\" \"gradmark %.*s\" \"gradmark\"\n.SH NAME\ngradmark%s%s \\- ", (int)strcspn(version, " "),
            version, name ? "\\-" : "", name ? name : "");
}

static void print_man_paragraphs(FILE *to, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        const size_t n = end ? (size_t)(end - text) : strlen(text);
        fprintf(to, ".PP\n");
        for (size_t i = 0; i < n; i++)
            if (text[i] == '\\')
                fputs("\\e", to);
            else
                fputc(text[i], to);
        fputc('\n', to);
        text += n + strspn(text + n, "\n");
    }
}

static void print_man_option(FILE *to, const struct help_option *o)
{
    char name[NAME_BYTES], value[NAME_BYTES], text[OPT_TEXT_BYTES], not_with[RULES_BYTES];

    opt_help_name(name, sizeof name, o->module, o->opt);
    opt_help_value(value, sizeof value, o->module, o->opt);
    help_not_with(o, not_with, sizeof not_with);
    opt_help_text(text, sizeof text, o->module, o->opt, OPT_WHOLE, not_with);
    fputs(".TP\n\\fB", to);
    print_roff(to, name);
    fputs("\\fR", to);
    if (value[0]) {
        fputs(" \\fI", to);
        print_roff(to, value);
        fputs("\\fR", to);
    }
    fputc('\n', to);
    print_roff(to, text);
    fputs(".\n", to);
}

static void print_man_of_verb(FILE *to, const struct verb *const *verbs, const struct verb *v)
{
    struct help_option options[HELP_MOST_OPTIONS];
    const struct verb *same = verb_before_with_options(verbs, v);
    const int n = help_options(options, v);
    char line[LINE_BYTES];

    print_man_title(to, v->name);
    print_roff(to, v->summary);
    fputs("\n.SH SYNOPSIS\n.nf\n", to);
    for (int i = 0; help_usage_line(line, sizeof line, v, i); i++) {
        print_roff(to, line);
        fputc('\n', to);
    }
    fputs(".fi\n", to);
    if (v->introduction) {
        fputs(".SH DESCRIPTION\n", to);
        print_man_paragraphs(to, v->introduction);
    }
    if (v->example)
        fputs(".SH EXAMPLES\n", to);
    for (const struct verb_example *e = v->example; e && e->command; e++) {
        fputs(".TP\n\\fBgradmark ", to);
        print_roff(to, e->command);
        fprintf(to, "\\fR\n%s.\n", e->what);
    }
    if (n > 0)
        fputs(".SH OPTIONS\n", to);
    if (same)
        fprintf(to, "Those of\n.BR gradmark\\-%s (1).\n", same->name);
    for (int i = 0; i < n && !same; i++) {
        if (i == 0 || strcmp(options[i].topic, options[i - 1].topic) != 0)
            fprintf(to, ".SS %s\n", options[i].topic);
        print_man_option(to, &options[i]);
    }
    fputs(".SH SEE ALSO\n.BR gradmark (1)\n", to);
}

void help_print_man(FILE *to, const struct verb *const *verbs, const struct verb *v)
{
    if (v) {
        print_man_of_verb(to, verbs, v);
        return;
    }
    print_man_title(to, NULL);
    fputs("measures the cost of gradient exchange\n.SH SYNOPSIS\n.B gradmark\n.I SUBCOMMAND\n[\\-\\-option value ...]\n"
          ".SH DESCRIPTION\ngradmark trains networks with a parameter server, a ring allreduce or on one node. It "
          "measures throughput, scaling efficiency and convergence.\n.SH SUBCOMMANDS\n",
          to);
    for (const struct verb *const *each = verbs; *each; each++)
        fprintf(to, ".TP\n.BR gradmark\\-%s (1)\n%s\n", (*each)->name, (*each)->summary);
    fputs(".SH EXIT STATUS\n.TP\n0\nThe work is done.\n.TP\n1\nThe work failed, or a test found a fault.\n.TP\n2\nThe "
          "input is not valid. One line names the option, its value and the remedy.\n.TP\n128+N\nSignal N stopped the "
          "program.\n",
          to);
}

/* --- shells --- */

static void print_bash_names(FILE *to, const struct help_option *options, int n)
{
    for (int i = 0; i < n; i++) {
        const struct help_option *o = &options[i];
        const char *dot = o->module ? "." : "", *module = o->module ? o->module->name : "";
        fprintf(to, "--%s%s%s ", module, dot, o->opt->name);
        if (o->opt->type == OPT_BOOL)
            fprintf(to, "--no-%s%s%s ", module, dot, o->opt->name);
    }
    fputs("--help --help-all", to);
}

void help_print_bash(FILE *to, const struct verb *const *verbs)
{
    struct help_option options[HELP_MOST_OPTIONS];

    fputs("# made by gradmark help --format bash\n"
          "_gradmark() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= files= list=\n"
          "    if [ \"$word\" = = ]; then\n"
          "        word=\n"
          "    elif [ \"$before\" = = ]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words='",
          to);
    print_verb_names(to, verbs);
    fputs("'\n    else\n        case ${COMP_WORDS[1]}:$before in\n        help:--format) words='", to);
    print_formats(to);
    fputs("' ;;\n        help:man) words='", to);
    print_verb_names(to, verbs);
    fputs("' ;;\n        help:*) words='", to);
    print_help_words(to, verbs);
    fputs("' ;;\n", to);
    for (const struct verb *const *v = verbs; *v; v++) {
        const int n = help_options(options, *v);
        for (int i = 0; i < n; i++) {
            const struct help_option *o = &options[i];
            if (o->opt->type == OPT_BOOL)
                continue;
            fprintf(to, "        %s:--%s%s%s) ", (*v)->name, o->module ? o->module->name : "", o->module ? "." : "",
                    o->opt->name);
            if (has_choices(o->opt)) {
                fputs("words='", to);
                print_choices(to, o->opt);
                fputs(is_list(o->opt) ? "' list=1 " : "' ", to);
            }
            fputs(names_files(o->opt) ? "files=1 ;;\n" : ";;\n", to);
        }
        fprintf(to, "        %s:*) files=1 words='", (*v)->name);
        print_bash_names(to, options, n);
        print_operands(to, *v);
        fputs("' ;;\n", to);
    }
    fputs("        esac\n"
          "    fi\n"
          "    if [ -n \"$list\" ] && [ \"${word%,*}\" != \"$word\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -P \"${word%,*},\" -W \"$words\" -- \"${word##*,}\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "    fi\n"
          "    [ -z \"$files\" ] || [ \"${word#-}\" != \"$word\" ] || compopt -o default 2>/dev/null\n"
          "}\n"
          "complete -F _gradmark gradmark\n",
          to);
}

static void print_zsh_option(FILE *to, const struct help_option *o)
{
    char text[OPT_TEXT_BYTES], value[NAME_BYTES];
    const char *dot = o->module ? "." : "", *module = o->module ? o->module->name : "";

    opt_help_text(text, sizeof text, o->module, o->opt, OPT_BRIEF, "");
    opt_help_value(value, sizeof value, o->module, o->opt);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '`'; /* the word that it is in begins and ends with a quote */
    fprintf(to, "        '--%s%s%s[", module, dot, o->opt->name);
    print_escaped(to, text, "[]:");
    fputc(']', to);
    if (o->opt->type != OPT_BOOL) {
        fputc(':', to);
        print_escaped(to, has_choices(o->opt) ? "NAME" : value, ":");
        fputc(':', to);
        if (has_choices(o->opt) && names_files(o->opt)) {
            fputs("{compadd ", to);
            print_choices(to, o->opt);
            fputs("; _files}", to);
        } else if (has_choices(o->opt)) {
            fputs(is_list(o->opt) ? "_values -s , NAME " : "(", to);
            print_choices(to, o->opt);
            fputs(is_list(o->opt) ? "" : ")", to);
        } else if (names_files(o->opt)) {
            fputs("_files", to);
        }
    }
    fputs("' \\\n", to);
    if (o->opt->type == OPT_BOOL)
        fprintf(to, "        '--no-%s%s%s[not --%s%s%s]' \\\n", module, dot, o->opt->name, module, dot, o->opt->name);
}

void help_print_zsh(FILE *to, const struct verb *const *verbs)
{
    struct help_option options[HELP_MOST_OPTIONS];

    fputs("#compdef gradmark\n# made by gradmark help --format zsh\n"
          "if (( CURRENT == 2 )); then\n    compadd ",
          to);
    print_verb_names(to, verbs);
    fputs("\n    return\nfi\nlocal verb=${words[2]}\nshift words\n(( CURRENT-- ))\ncase $verb in\n"
          "help)\n    case ${words[CURRENT - 1]} in\n    --format) compadd ",
          to);
    print_formats(to);
    fputs(" ;;\n    man) compadd ", to);
    print_verb_names(to, verbs);
    fputs(" ;;\n    *) compadd -- ", to);
    print_help_words(to, verbs);
    fputs(" ;;\n    esac ;;\n", to);
    for (const struct verb *const *v = verbs; *v; v++) {
        const int n = help_options(options, *v);
        fprintf(to, "%s)\n    _arguments \\\n", (*v)->name);
        for (int i = 0; i < n; i++)
            print_zsh_option(to, &options[i]);
        fputs("        '--help[main options]' '--help-all[all options]' ", to);
        if ((*v)->operand_name) {
            fputs("'1:NAME:{compadd", to);
            print_operands(to, *v);
            fputs("; _files}' ", to);
        }
        fputs("'*:file:_files' ;;\n", to);
    }
    fputs("esac\n", to);
}

void help_print_fish(FILE *to, const struct verb *const *verbs)
{
    struct help_option options[HELP_MOST_OPTIONS];

    fputs("# made by gradmark help --format fish\n"
          "complete -c gradmark -n __fish_use_subcommand -f -a help -d 'options, and pages to read'\n"
          "complete -c gradmark -n '__fish_seen_subcommand_from help' -f -a '",
          to);
    print_help_words(to, verbs);
    fputs("'\ncomplete -c gradmark -n '__fish_seen_subcommand_from help' -l format -x -a '", to);
    print_formats(to);
    fputs("' -d 'text for another program'\n", to);
    for (const struct verb *const *v = verbs; *v; v++) {
        const int n = help_options(options, *v);
        fprintf(to, "complete -c gradmark -n __fish_use_subcommand -f -a %s -d '", (*v)->name);
        print_escaped(to, (*v)->summary, "'\\");
        fputs("'\n", to);
        if ((*v)->operand_name) {
            fprintf(to, "complete -c gradmark -n '__fish_seen_subcommand_from %s' -a '", (*v)->name);
            print_operands(to, *v);
            fputs("'\n", to);
        }
        for (int i = 0; i < n; i++) {
            char text[OPT_TEXT_BYTES];
            const struct help_option *o = &options[i];
            opt_help_text(text, sizeof text, o->module, o->opt, OPT_BRIEF, "");
            fprintf(to, "complete -c gradmark -n '__fish_seen_subcommand_from %s' -l %s%s%s", (*v)->name,
                    o->module ? o->module->name : "", o->module ? "." : "", o->opt->name);
            if (has_choices(o->opt)) {
                fputs(names_files(o->opt) ? " -r -a '" : " -x -a '", to);
                fputs(is_list(o->opt) ? "(__fish_append , " : "", to);
                print_choices(to, o->opt);
                fputs(is_list(o->opt) ? ")'" : "'", to);
            } else if (o->opt->type != OPT_BOOL) {
                fputs(names_files(o->opt) ? " -r" : " -x", to);
            }
            fputs(" -d '", to);
            print_escaped(to, text, "'\\");
            fputs("'\n", to);
        }
    }
}

/* --- docs/options.md --- */

static void print_markdown_option(FILE *to, const struct help_option *o)
{
    char name[NAME_BYTES], value[NAME_BYTES], text[OPT_TEXT_BYTES], line[OPT_TEXT_BYTES + 2 * NAME_BYTES];
    char not_with[RULES_BYTES];

    opt_help_name(name, sizeof name, o->module, o->opt);
    opt_help_value(value, sizeof value, o->module, o->opt);
    help_not_with(o, not_with, sizeof not_with);
    opt_help_text(text, sizeof text, o->module, o->opt, OPT_WHOLE, not_with);
    snprintf(line, sizeof line, "`%s%s%s`: %s.", name, value[0] ? " " : "", value, text);
    fputs("- ", to);
    terminal_fill(to, line, 2, PAGE_COLUMNS);
}

void help_print_markdown(FILE *to, const struct verb *const *verbs)
{
    struct help_option options[HELP_MOST_OPTIONS];

    fputs("# Options\n\n"
          "```sh\nbuild/release/gradmark help train                # the options that most people need\n"
          "build/release/gradmark help --format markdown    # this page\n```\n\n"
          "Every option of every subcommand. `gradmark train --help-all` prints those of one subcommand.\n\n"
          "Whole numbers may have a suffix: K, M, G (1000) or Ki, Mi, Gi (1024). `--no-NAME` takes a switch back.\n",
          to);
    for (const struct verb *const *v = verbs; *v; v++) {
        const int n = help_options(options, *v);
        const struct verb *same = verb_before_with_options(verbs, *v);
        fprintf(to, "\n## gradmark %s\n\n", (*v)->name);
        fprintf(to, "%c", toupper((unsigned char)(*v)->summary[0]));
        fprintf(to, "%s.\n", (*v)->summary + 1);
        for (int i = 0; i < n && !same; i++) {
            if (i == 0 || strcmp(options[i].topic, options[i - 1].topic) != 0)
                fprintf(to, "\n%s%s:\n\n", (char[]){ (char)toupper((unsigned char)options[i].topic[0]), '\0' },
                        options[i].topic + 1);
            print_markdown_option(to, &options[i]);
        }
        if (same)
            fprintf(to, "\nIts options are those of `%s`.\n", same->name);
        if (n == 0)
            fputs("\nIt has no options.\n", to);
    }
}

/* --- records --- */

void help_print_records(FILE *to, const struct verb *const *verbs)
{
    (void)verbs;
    record_print_page(to);
}

void help_print_json_schema(FILE *to, const struct verb *const *verbs)
{
    (void)verbs;
    record_print_schema(to);
}
