/* SPDX-License-Identifier: Apache-2.0 */
/* opt.c - parses and formats the options of tables. */
#include "harness/base/opt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"

enum { MAX_NAMES = 160, MAX_NAME_BYTES = 64, MAX_CHOICES = 32, CHOICES_BYTES = 512 };

struct found { /* an option found by name; opt NULL: there is none */
    struct opt_group *group;
    const struct opt *opt;
    int index; /* in the table of group */
};

/* out[n_bytes] = name as the user writes it: "batch", or "ring.segment-bytes" of module ring. Returns out.
 */
static const char *name_in_group(char *out, size_t n_bytes, const struct opt_group *group, const char *name)
{
    snprintf(out, n_bytes, "%s%s%s", group->module ? group->module->name : "", group->module ? "." : "", name);
    return out;
}

static const char *full_name(char *out, size_t n_bytes, const struct opt_group *group, const struct opt *o)
{
    return name_in_group(out, n_bytes, group, o->name);
}

static bool is_called(const struct opt_group *group, const struct opt *o, const char *name)
{
    char full[MAX_NAME_BYTES];

    return strcmp(full_name(full, sizeof full, group, o), name) == 0;
}

static struct found find_option(struct opt_group *group, int n_groups, const char *name)
{
    for (int g = 0; g < n_groups; g++)
        for (int i = 0; group[g].table[i].type != OPT_END; i++)
            if (is_called(&group[g], &group[g].table[i], name))
                return (struct found){ &group[g], &group[g].table[i], i };
    return (struct found){ 0 };
}

/* RC_INVAL with the nearest name that exists. */
static enum rc raise_unknown(const struct opt_group *group, int n_groups, const char *name)
{
    char full[MAX_NAMES][MAX_NAME_BYTES];
    const char *known[MAX_NAMES + 1], *switches[MAX_NAMES + 1];
    int n_known = 0, n_switches = 0;

    for (int g = 0; g < n_groups; g++)
        for (const struct opt *o = group[g].table; o->type != OPT_END && n_known < MAX_NAMES; o++, n_known++) {
            known[n_known] = full_name(full[n_known], sizeof full[n_known], &group[g], o);
            if (o->type == OPT_BOOL)
                switches[n_switches++] = known[n_known];
        }
    known[n_known] = NULL;
    switches[n_switches] = NULL;
    const char *nearest = text_nearest(name, known);
    const char *negated = !nearest && strncmp(name, "no-", 3) == 0 ? text_nearest(name + 3, switches) : NULL;
    if (negated)
        return rc_raise(RC_INVAL, "--%s: no such option; the nearest is --no-%s", name, negated);
    for (int i = 0; i < n_known && !nearest; i++) { /* the module is missing */
        const char *dot = strchr(known[i], '.');
        nearest = dot && strcmp(dot + 1, name) == 0 ? known[i] : NULL;
    }
    if (nearest)
        return rc_raise(RC_INVAL, "--%s: no such option; the nearest is --%s", name, nearest);
    return rc_raise(RC_INVAL, "--%s: no such option; --help lists them", name);
}

const char *opt_choice(const struct opt *o, int i, char *out, size_t n_bytes)
{
    const char *rest = o->choices ? o->choices : "";

    for (; rest[0] != '\0'; i--) {
        const size_t n = strcspn(rest, "|");
        if (i == 0) {
            snprintf(out, n_bytes, "%.*s", (int)n, rest);
            return out;
        }
        rest += n + (rest[n] == '|');
    }
    return o->kind ? module_name(o->kind, i) : NULL;
}

void opt_choices(const struct opt *o, char *out, size_t n_bytes)
{
    char name[MAX_NAME_BYTES];
    size_t n_used = 0;

    out[0] = '\0';
    for (int i = 0; n_used < n_bytes && opt_choice(o, i, name, sizeof name); i++)
        n_used += (size_t)snprintf(out + n_used, n_bytes - n_used, "%s%s", i > 0 ? "|" : "",
                                   opt_choice(o, i, name, sizeof name));
}

const char *opt_default(const struct opt *o)
{
    if (o->def[0] != '\0' || !o->kind)
        return o->def;
    const char *name = o->type == OPT_LIST ? o->kind->default_list : o->kind->default_name;
    return name ? name : "";
}

static enum rc check_choice(const struct opt *o, const char *option, const char *value)
{
    char choices[CHOICES_BYTES], text[MAX_CHOICES][MAX_NAME_BYTES];
    const char *name[MAX_CHOICES + 1] = { NULL };

    for (int i = 0; i < MAX_CHOICES && (name[i] = opt_choice(o, i, text[i], sizeof text[i])); i++)
        if (strcmp(name[i], value) == 0)
            return RC_OK;
    opt_choices(o, choices, sizeof choices);
    const char *nearest = text_nearest(value, name);
    if (nearest)
        return rc_raise(RC_INVAL, "--%s %s: no such choice; the nearest is %s (of %s)", option, value, nearest,
                        choices);
    return rc_raise(RC_INVAL, "--%s %s: must be one of %s", option, value, choices);
}

static bool is_in_bytes(const struct opt *o)
{
    return o->type == OPT_U64 && strcmp(o->unit, "bytes") == 0;
}

static enum rc check_u64(const struct opt *o, const char *option, const char *text, uint64_t *out)
{
    const bool is_port = strcmp(o->unit, "port") == 0; /* 2K is none */

    if (!(is_port ? text_to_plain_u64 : text_to_u64)(text, out))
        return rc_raise(RC_INVAL, "--%s %s: must be a whole number from %.0f to %.0f%s", option, text, o->min, o->max,
                        is_in_bytes(o) ? ", with a suffix K, M, G (1000), Ki, Mi, Gi (1024) or none" : "");
    if ((double)*out < o->min || (double)*out > o->max)
        return rc_raise(RC_INVAL, "--%s %s: out of range, must be from %.0f to %.0f", option, text, o->min, o->max);
    return RC_OK;
}

static enum rc check_f64(const struct opt *o, const char *option, const char *text, double *out)
{
    char hint[80];

    text_number_hint(hint, sizeof hint, text, o->unit);
    if (!text_to_f64(text, out))
        return rc_raise(RC_INVAL, "--%s %s: must be a finite number from %g to %g%s", option, text, o->min, o->max,
                        hint);
    if (*out < o->min || *out > o->max)
        return rc_raise(RC_INVAL, "--%s %s: out of range, must be from %g to %g", option, text, o->min, o->max);
    return RC_OK;
}

static enum rc check_list(const struct opt *o, const char *option, const char *value)
{
    char element[MAX_NAME_BYTES];
    const char *rest = value;
    uint64_t number;
    enum rc rc = RC_OK;

    if (value[0] == '\0')
        return RC_OK; /* an empty list: the verb computes the default */
    while (rc == RC_OK && text_next(&rest, element, sizeof element)) {
        if (element[0] == '\0')
            return rc_raise(RC_INVAL, "--%s %s: an element of the list is empty; write 1,2 without a blank", option,
                            value);
        rc = o->choices || o->kind ? check_choice(o, option, element) : check_u64(o, option, element, &number);
    }
    return rc;
}

/* Add one value to those before it. */
static enum rc join(struct opt_joined *to, const char *option, const char *value)
{
    const size_t n = strlen(to->text), n_value = strlen(value);

    if (n + (n > 0) + n_value >= sizeof to->text)
        return rc_raise(RC_INVAL, "--%s %.40s%s: is too long; all of them together have at most %zu letters", option,
                        value, n_value > 40 ? "..." : "", sizeof to->text - 1);
    snprintf(to->text + n, sizeof to->text - n, "%s%s", n > 0 ? "," : "", value);
    return RC_OK;
}

static enum rc set_value(const struct opt_group *group, const struct opt *o, const char *value)
{
    char option[MAX_NAME_BYTES], *member = (char *)group->into + o->offset_bytes;
    enum rc rc = RC_OK;
    uint64_t whole = 0;
    double real = 0;

    full_name(option, sizeof option, group, o);
    switch (o->type) {
    case OPT_U64:
        TRY(check_u64(o, option, value, &whole));
        memcpy(member, &whole, sizeof whole);
        break;
    case OPT_F64:
        TRY(check_f64(o, option, value, &real));
        memcpy(member, &real, sizeof real);
        break;
    case OPT_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            FAIL(RC_INVAL, "--%s %s: must be true or false", option, value);
        const bool yes = strcmp(value, "true") == 0;
        memcpy(member, &yes, sizeof yes);
        break;
    case OPT_CHOICE:
        TRY(check_choice(o, option, value));
        memcpy(member, &value, sizeof value);
        break;
    case OPT_LIST:
        TRY(check_list(o, option, value));
        memcpy(member, &value, sizeof value);
        break;
    case OPT_TEXT:
        memcpy(member, &value, sizeof value);
        break;
    case OPT_JOINED:
        TRY(join((struct opt_joined *)(void *)member, option, value));
        break;
    case OPT_END:
        break;
    }
out:
    return rc;
}

/* A number without a default: the verb computes a value, or runs without one. */
static void set_unset(const struct opt *o, void *into)
{
    const uint64_t none = opt_u64_unset(o);
    const double nan = NAN;

    memcpy((char *)into + o->offset_bytes, o->type == OPT_U64 ? (const void *)&none : (const void *)&nan,
           sizeof(uint64_t));
}

static enum rc set_defaults(struct opt_group *group, int n_groups)
{
    enum rc rc = RC_OK;

    for (int g = 0; g < n_groups; g++) {
        memset(group[g].given, 0, sizeof group[g].given);
        for (const struct opt *o = group[g].table; o->type != OPT_END; o++)
            if (opt_default(o)[0] == '\0' && (o->type == OPT_U64 || o->type == OPT_F64))
                set_unset(o, group[g].into);
            else if (o->type == OPT_JOINED)
                ((char *)group[g].into)[o->offset_bytes] = '\0';
            else
                TRY(set_value(&group[g], o, opt_default(o)));
    }
out:
    return rc;
}

/* RC_INVAL: arg does not begin with two hyphens. */
static enum rc raise_no_option(struct opt_group *group, int n_groups, const char *arg)
{
    const size_t n_dashes = text_typographic_dashes(arg);
    const char *name = arg + n_dashes;

    if (n_dashes > 0)
        return rc_raise(RC_INVAL, "%.200s: begins with a typographic dash; type two hyphens: --%.200s", arg,
                        name + strspn(name, "-"));
    name += strspn(name, "-");
    const size_t n = strcspn(name, "=");
    char word[MAX_NAME_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    if (n > 0 && find_option(group, n_groups, word).opt)
        return rc_raise(RC_INVAL, "%.200s: not an option; did you mean --%s?", arg, word);
    return rc_raise(RC_INVAL, "%.200s: not an option; options begin with --", arg);
}

/* Parse one option and its value: "--name=value" in arg, or "--name" in arg and the value in next (NULL: arg is the
 * last argument). *used_next: next was the value. */
/* Does it take several values? OPT_TEXT_ names them "NAME,..." or "MODEL=FILE,...". */
static bool is_list(const struct opt *o)
{
    return o->type == OPT_LIST || (o->unit && strstr(o->unit, ",..."));
}

static enum rc parse_one(struct opt_group *group, int n_groups, const char *arg, const char *next, bool *used_next)
{
    char name[MAX_NAME_BYTES], full[MAX_NAME_BYTES];
    const char *equals = strchr(arg, '='), *value;
    bool negated = false; /* --no-name */

    *used_next = false;
    if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0')
        return raise_no_option(group, n_groups, arg);
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - (arg + 2) : (ptrdiff_t)strlen(arg + 2)), arg + 2);
    struct found f = find_option(group, n_groups, name);
    if (!f.opt && strncmp(name, "no-", 3) == 0) {
        f = find_option(group, n_groups, name + 3);
        negated = f.opt && f.opt->type == OPT_BOOL;
        if (!negated)
            f.opt = NULL;
    }
    if (!f.opt)
        return raise_unknown(group, n_groups, name);
    full_name(full, sizeof full, f.group, f.opt);
    if (opt_is_given(f.group, f.index) && f.opt->type != OPT_JOINED)
        return rc_raise(RC_INVAL, "--%s: given twice%s", full,
                        is_list(f.opt) ? "; give it once, with commas between the values" : "");
    opt_set_given(f.group, f.index, true);
    if (equals && negated)
        return rc_raise(RC_INVAL, "--%s: takes no value; --%s=true or --%s=false do", name, full, full);
    if (equals)
        value = equals + 1;
    else if (f.opt->type == OPT_BOOL)
        value = negated ? "false" : "true";
    else {
        if (!next)
            return rc_raise(RC_INVAL, "--%s: needs a value", full);
        value = next;
        *used_next = true;
    }
    if (f.opt->type == OPT_JOINED && value[0] == '\0')
        return rc_raise(RC_INVAL, "--%s: is empty; use %s", full, f.opt->unit);
    return set_value(f.group, f.opt, value);
}

/* Is o resolved to `wanted` (a LIST: is it one of the elements)? from: the option struct. */
static bool has_value(const struct opt *o, const void *from, const char *wanted)
{
    char value[256], element[MAX_NAME_BYTES];

    opt_format(o, from, value, sizeof value);
    if (o->type != OPT_LIST)
        return strcmp(value, wanted) == 0;
    for (const char *rest = value; text_next(&rest, element, sizeof element);)
        if (strcmp(element, wanted) == 0)
            return true;
    return false;
}

/* Has the module that o chooses (of a LIST: any of them) all of caps? */
static bool has_caps(const struct opt *o, const void *from, unsigned caps)
{
    for (int i = 0; module_name(o->kind, i); i++)
        if ((module_caps(o->kind, i) & caps) == caps && has_value(o, from, module_name(o->kind, i)))
            return true;
    return false;
}

/* RC_INVAL: the user gave option rule->name, but option rule->other does not have the value, or the module, it needs.
 */
static enum rc check_rule(struct opt_group *group, int n_groups, const struct opt_rule *rule)
{
    char value[256], other_value[256], needed[128];
    const struct found f = find_option(group, n_groups, rule->name), other = find_option(group, n_groups, rule->other);

    assert(f.opt && other.opt && (rule->value || other.opt->kind));
    const bool is_given = opt_is_given(f.group, f.index);
    if (!is_given || (rule->value ? has_value(other.opt, other.group->into, rule->value)
                                  : has_caps(other.opt, other.group->into, rule->caps)))
        return RC_OK;
    if (rule->value)
        snprintf(needed, sizeof needed, "%s", rule->value);
    else
        module_names_with(needed, sizeof needed, other.opt->kind, rule->caps);
    opt_format(f.opt, f.group->into, value, sizeof value);
    opt_format(other.opt, other.group->into, other_value, sizeof other_value);
    return rc_raise(RC_INVAL, "--%s %s: needs --%s %s, but that is %s", rule->name, value, rule->other, needed,
                    other_value);
}

static enum rc check_rules(struct opt_group *group, int n_groups, const struct opt_rule *rule)
{
    enum rc rc = RC_OK;

    for (; rule && rule->name; rule++)
        TRY(check_rule(group, n_groups, rule));
out:
    return rc;
}

enum rc opt_parse(struct opt_group *group, int n_groups, const struct opt_rule *rule, int argc, char *const argv[])
{
    enum rc rc;

    TRY(set_defaults(group, n_groups));
    for (int i = 0; i < argc; i++) {
        bool used_next;
        TRY(parse_one(group, n_groups, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used_next));
        i += used_next;
    }
    TRY(check_rules(group, n_groups, rule));
out:
    return rc;
}

int opt_first_given(const struct opt_group *g)
{
    for (int i = 0; g->table[i].type != OPT_END; i++)
        if (opt_is_given(g, i))
            return i;
    return -1;
}

bool opt_given(const struct opt_group *group, int n_groups, const char *name)
{
    for (int g = 0; g < n_groups; g++)
        for (int i = 0; !group[g].module && group[g].table[i].type != OPT_END; i++)
            if (strcmp(group[g].table[i].name, name) == 0)
                return opt_is_given(&group[g], i);
    assert(!"the name exists");
    return false;
}

enum rc opt_set(struct opt_group *group, int n_groups, const char *name, const char *value)
{
    const struct found f = find_option(group, n_groups, name);

    if (!f.opt)
        return raise_unknown(group, n_groups, name);
    if (opt_is_given(f.group, f.index))
        return rc_raise(RC_INVAL, "--%s: is given, and %s is set to %s there; leave out one of the two", name, name,
                        value);
    return set_value(f.group, f.opt, value);
}

const char *opt_text(const struct opt *o, const void *from)
{
    const char *text = NULL;

    if (o->type == OPT_TEXT || o->type == OPT_CHOICE || o->type == OPT_LIST)
        memcpy(&text, (const char *)from + o->offset_bytes, sizeof text);
    if (o->type == OPT_JOINED)
        text = (const char *)from + o->offset_bytes;
    return text;
}

void opt_format(const struct opt *o, const void *from, char *out, size_t n_bytes)
{
    const char *member = (const char *)from + o->offset_bytes;
    uint64_t whole;
    double real;
    bool yes;

    switch (o->type) {
    case OPT_U64:
        memcpy(&whole, member, sizeof whole);
        snprintf(out, n_bytes, "%llu", (unsigned long long)whole);
        break;
    case OPT_F64:
        memcpy(&real, member, sizeof real);
        snprintf(out, n_bytes, "%.17g", real);
        break;
    case OPT_BOOL:
        memcpy(&yes, member, sizeof yes);
        snprintf(out, n_bytes, "%s", yes ? "true" : "false");
        break;
    case OPT_TEXT:
    case OPT_CHOICE:
    case OPT_LIST:
    case OPT_JOINED:
        snprintf(out, n_bytes, "%s", opt_text(o, from));
        break;
    case OPT_END:
        out[0] = '\0';
        break;
    }
}

/* --- help --- */

enum { VALUE_BYTES = 64, NAME_BYTES = 80, MARGIN = 2, GAP = 2 };

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
