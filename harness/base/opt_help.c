/* SPDX-License-Identifier: Apache-2.0 */
/* opt_help.c - the help of option tables (opt.h). */
#include "harness/base/opt.h"

#include <string.h>

#include "harness/base/terminal.h"

enum { CHOICES_BYTES = 512, VALUE_BYTES = 64, NAME_BYTES = 80, MARGIN = 2, GAP = 2 };

void opt_help_name(char *out, size_t n_bytes, const struct module *module, const struct opt *o)
{
    const char *is_on = o->type == OPT_BOOL && strcmp(o->def, "true") == 0 ? "[no-]" : "";

    snprintf(out, n_bytes, "--%s%s%s%s", is_on, module ? module->name : "", module ? "." : "", o->name);
}

/* What may be given, "a|b|c"; "": words of the user. A text has choices where its unit has words to be typed: "split|
 * chunk:BYTES", not "NAME|ADDRESS". */
static void choices_of(char *out, size_t n_bytes, const struct opt *o)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz";

    opt_choices(o, out, n_bytes);
    if (out[0] == '\0' && o->type == OPT_TEXT && strchr(o->unit, '|') && strpbrk(o->unit, small))
        snprintf(out, n_bytes, "%s", o->unit);
}

static bool is_whole_number_list(const struct opt *o)
{
    return o->type == OPT_LIST && !o->choices && !o->kind;
}

/* Do its choices stand behind its name? Else they stand in the text. */
static bool shows_choices(const struct module *module, const struct opt *o, const char *choices)
{
    char name[NAME_BYTES];

    opt_help_name(name, sizeof name, module, o);
    return choices[0] != '\0' && o->type != OPT_LIST &&
           MARGIN + strlen(name) + 1 + strlen(choices) + GAP <= OPT_TEXT_COLUMN;
}

void opt_help_value(char *out, size_t n_bytes, const struct module *module, const struct opt *o)
{
    char choices[CHOICES_BYTES];
    const char *value = "";

    choices_of(choices, sizeof choices, o);
    if (o->type == OPT_U64)
        value = "N";
    else if (o->type == OPT_F64)
        value = "X";
    else if (is_whole_number_list(o))
        value = "N,N,...";
    else if (o->type == OPT_LIST)
        value = "NAME,...";
    else if (shows_choices(module, o, choices))
        value = choices;
    else if (choices[0] != '\0')
        value = "NAME";
    else if (o->type == OPT_TEXT || o->type == OPT_JOINED)
        value = o->unit[0] ? o->unit : "TEXT";
    snprintf(out, n_bytes, "%s", value);
}

/* Appends to out[n_bytes], of which n_used are used; returns how many are then. */
static size_t append(char *out, size_t n_bytes, size_t n_used, const char *text, size_t n_text)
{
    if (n_used + n_text >= n_bytes)
        n_text = n_bytes - 1 - n_used;
    memcpy(out + n_used, text, n_text);
    out[n_used + n_text] = '\0';
    return n_used + n_text;
}

static size_t append_text(char *out, size_t n_bytes, size_t n_used, const char *text)
{
    return append(out, n_bytes, n_used, text, strlen(text));
}

/* "a, b or c" */
static size_t append_choices(char *out, size_t n_bytes, size_t n_used, const char *choices)
{
    while (*choices) {
        const size_t n = strcspn(choices, "|");
        const bool is_last = choices[n] == '\0';
        n_used = append(out, n_bytes, n_used, choices, n);
        choices += n + !is_last;
        if (!is_last)
            n_used = append_text(out, n_bytes, n_used, strchr(choices, '|') ? ", " : " or ");
    }
    return n_used;
}

/* The first sentence, its choices, and " (samples; default 32)"; its help may end in a default that is no value of the
 * table: "batch (default: the model's)". Returns the bytes used. */
static size_t append_brief(char *out, size_t n_bytes, const struct module *module, const struct opt *o,
                           size_t n_sentence)
{
    const bool is_number = o->type == OPT_U64 || o->type == OPT_F64;
    const char *unit = is_number && strcmp(o->unit, "port") != 0 ? o->unit : "";
    const char *own = strstr(o->help, " (default: "), *def = o->type == OPT_BOOL ? "" : opt_default(o);
    const bool has_own = own && own < o->help + n_sentence;
    const size_t n_before = has_own ? (size_t)(own - o->help) : n_sentence;
    size_t n = append(out, n_bytes, 0, o->help, n_before);
    char choices[CHOICES_BYTES];

    choices_of(choices, sizeof choices, o);
    if (choices[0] != '\0' && !shows_choices(module, o, choices)) {
        n = append_text(out, n_bytes, n, ": ");
        n = append_choices(out, n_bytes, n, choices);
    }
    if (unit[0] == '\0' && def[0] == '\0' && !has_own)
        return n;
    n = append_text(out, n_bytes, n, " (");
    n = append_text(out, n_bytes, n, unit);
    if (unit[0] != '\0' && (has_own || def[0] != '\0'))
        n = append_text(out, n_bytes, n, "; ");
    if (has_own)
        return append(out, n_bytes, n, own + 2, n_sentence - n_before - 2); /* with its ) */
    if (def[0] != '\0') {
        n = append_text(out, n_bytes, n, "default ");
        n = append_text(out, n_bytes, n, def);
    }
    return append_text(out, n_bytes, n, ")");
}

void opt_help_text(char *out, size_t n_bytes, const struct module *module, const struct opt *o, enum opt_detail detail,
                   const char *not_with)
{
    const char *end = strstr(o->help, ". ");
    size_t n = append_brief(out, n_bytes, module, o, end ? (size_t)(end - o->help) : strlen(o->help));

    if (detail == OPT_BRIEF)
        return;
    if (end)
        n = append_text(out, n_bytes, n, end);
    if (o->type == OPT_JOINED)
        n = append_text(out, n_bytes, n, ". May be given several times");
    if (not_with[0]) {
        n = append_text(out, n_bytes, n, ". Not with ");
        n = append_text(out, n_bytes, n, not_with);
    }
}

void opt_help_print(FILE *to, const struct module *module, const struct opt *o, enum opt_detail detail,
                    const char *not_with, int n_columns)
{
    char name[NAME_BYTES], value[VALUE_BYTES], text[OPT_TEXT_BYTES], left[NAME_BYTES + VALUE_BYTES];

    opt_help_name(name, sizeof name, module, o);
    opt_help_value(value, sizeof value, module, o);
    opt_help_text(text, sizeof text, module, o, detail, not_with);
    snprintf(left, sizeof left, "%s%s%s", name, value[0] ? " " : "", value);
    const bool is_long = MARGIN + (int)strlen(left) + GAP > OPT_TEXT_COLUMN;
    if (is_long)
        fprintf(to, "%*s%s\n%*s", MARGIN, "", left, OPT_TEXT_COLUMN, "");
    else
        fprintf(to, "%*s%-*s", MARGIN, "", OPT_TEXT_COLUMN - MARGIN, left);
    terminal_fill(to, text, OPT_TEXT_COLUMN, n_columns);
}
