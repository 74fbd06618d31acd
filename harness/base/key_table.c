/* SPDX-License-Identifier: Apache-2.0 */
/* key_table.c - values of keys from text and to text, and settings "key=value,key=value". */
#include "harness/base/key_table.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

enum { SHOWN_BYTES = 64, MAX_CHOICES = 32, NAME_BYTES = 64 };

int key_find(const struct key_table *t, const char *name)
{
    for (int i = 0; i < t->n_keys; i++)
        if (strcmp(t->key[i].name, name) == 0)
            return i;
    return -1;
}

size_t key_value_bytes(const struct key_table *t)
{
    size_t most = SHOWN_BYTES;

    for (int i = 0; i < t->n_keys; i++)
        if ((t->key[i].type == KEY_TEXT || t->key[i].type == KEY_LIST) && t->key[i].member_bytes > most)
            most = t->key[i].member_bytes;
    return most;
}

/* out[n_bytes] := name number i of "a|b|c"; false: there are not so many. */
static bool choice_name(const char *choices, int i, char *out, size_t n_bytes)
{
    for (; i > 0 && choices; i--) {
        choices = strchr(choices, '|');
        choices += choices != NULL;
    }
    if (choices)
        snprintf(out, n_bytes, "%.*s", (int)strcspn(choices, "|"), choices);
    return choices != NULL;
}

static int whole_of(const struct key *k, const void *object)
{
    int value;

    memcpy(&value, (const char *)object + k->offset_bytes, sizeof value);
    return value;
}

double key_number(const struct key *k, const void *object)
{
    double value;

    if (k->type == KEY_WHOLE || k->type == KEY_CHOICE)
        return whole_of(k, object);
    memcpy(&value, (const char *)object + k->offset_bytes, sizeof value);
    return k->is_bits ? 8 * value : value;
}

/* As few digits as give the same number again. */
static void format_real(double value, char *out, size_t n_bytes)
{
    double again = 0;

    for (int n_digits = 6; n_digits <= 17; n_digits++) {
        snprintf(out, n_bytes, "%.*g", n_digits, value);
        if (text_to_f64(out, &again) && memcmp(&again, &value, sizeof value) == 0)
            return;
    }
}

void key_format(const struct key *k, const void *object, char *out, size_t n_bytes)
{
    switch (k->type) {
    case KEY_TEXT:
    case KEY_LIST:
        snprintf(out, n_bytes, "%s", (const char *)object + k->offset_bytes);
        break;
    case KEY_CHOICE:
        (void)choice_name(k->choices, whole_of(k, object), out, n_bytes);
        break;
    case KEY_WHOLE:
        snprintf(out, n_bytes, "%d", whole_of(k, object));
        break;
    case KEY_COUNT:
        snprintf(out, n_bytes, "%.0f", key_number(k, object));
        break;
    case KEY_REAL:
        format_real(key_number(k, object), out, n_bytes);
        break;
    }
}

/* name[0 .. return - 1] := what the value, or an element of it, may be, NULL behind the last; held in text. */
static int known_names(const struct key *k, char text[MAX_CHOICES][NAME_BYTES], const char *name[MAX_CHOICES + 1])
{
    int n = 0;

    if (k->kind)
        for (; n < MAX_CHOICES && (name[n] = module_name(k->kind, n)) != NULL; n++)
            ;
    else
        for (; n < MAX_CHOICES && choice_name(k->choices, n, text[n], NAME_BYTES); n++)
            name[n] = text[n];
    name[n] = NULL;
    return n;
}

static bool is_name(const struct key *k)
{
    return k->kind || k->choices;
}

void key_range(const struct key *k, char *out, size_t n_bytes)
{
    char text[MAX_CHOICES][NAME_BYTES];
    const char *name[MAX_CHOICES + 1];
    size_t n_used = 0;

    if (is_name(k)) {
        n_used = (size_t)snprintf(out, n_bytes, k->type == KEY_LIST ? "names with commas between, each " : "");
        known_names(k, text, name);
        for (int i = 0; name[i] && n_used < n_bytes; i++)
            n_used += (size_t)snprintf(out + n_used, n_bytes - n_used, "%s%s", i > 0 ? "|" : "one of ", name[i]);
    } else if (k->type == KEY_TEXT)
        snprintf(out, n_bytes, "text of at most %zu bytes", k->member_bytes - 1);
    else if (k->type == KEY_LIST)
        snprintf(out, n_bytes, "whole numbers with commas between, each from %g to %g", k->least, k->most);
    else
        snprintf(out, n_bytes, "a %snumber from %g to %g", k->type != KEY_REAL ? "whole " : "", k->least, k->most);
}

const char *key_default(const struct key *k)
{
    return k->def[0] == '\0' && k->kind && k->kind->default_name ? k->kind->default_name : k->def;
}

static void show(char out[SHOWN_BYTES], const char *text)
{
    snprintf(out, SHOWN_BYTES, "%s", text);
    for (char *c = out; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            *c = '?';
}

/* RC_INVAL for a value that a key cannot have. */
static enum rc wrong_value(const struct key *k, const char *text)
{
    char shown[SHOWN_BYTES], range[256], hint[80] = "";

    show(shown, text);
    key_range(k, range, sizeof range);
    if (k->type == KEY_REAL)
        text_number_hint(hint, sizeof hint, shown, k->unit);
    return rc_raise(RC_INVAL, "is \"%s\"; use %s%s", shown, range, hint);
}

/* RC_INVAL for a name that is none of those that are known; element: of a list. */
static enum rc wrong_name(const struct key *k, const char *value, const char *element)
{
    char text[MAX_CHOICES][NAME_BYTES], shown[SHOWN_BYTES], part[SHOWN_BYTES], range[256];
    const char *name[MAX_CHOICES + 1], *nearest;

    known_names(k, text, name);
    nearest = text_nearest(element, name);
    if (k->type == KEY_CHOICE || !nearest)
        return wrong_value(k, value);
    show(shown, value);
    show(part, element);
    key_range(k, range, sizeof range);
    return rc_raise(RC_INVAL, "is \"%s\"; the nearest to %s is %s; use %s", shown, part, nearest, range);
}

/* Index of a name among those that are known; -1: it is none of them. */
static int name_index(const struct key *k, const char *wanted)
{
    char text[MAX_CHOICES][NAME_BYTES];
    const char *name[MAX_CHOICES + 1];

    known_names(k, text, name);
    for (int i = 0; name[i]; i++)
        if (strcmp(name[i], wanted) == 0)
            return i;
    return -1;
}

static enum rc take_whole(const struct key *k, const char *text, uint64_t *out)
{
    if (!text_to_u64(text, out) || (double)*out < k->least || (double)*out > k->most)
        return wrong_value(k, text);
    return RC_OK;
}

static enum rc check_list(const struct key *k, const char *text)
{
    char element[KEY_VALUE_BYTES]; /* holds each whole */
    const char *rest = text;
    uint64_t whole;

    while (text_next(&rest, element, sizeof element)) {
        if (k->choices && name_index(k, element) < 0)
            return wrong_name(k, text, element);
        if (!k->choices && (!text_to_u64(element, &whole) || (double)whole < k->least || (double)whole > k->most))
            return wrong_value(k, text);
    }
    return RC_OK;
}

static enum rc set_letters(const struct key *k, char *member, const char *text)
{
    enum rc rc = RC_OK;

    for (const char *c = text; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            return rc_raise(RC_INVAL, "has a control character; use printable text");
    if (strlen(text) >= k->member_bytes)
        return rc_raise(RC_INVAL, "is too long; use at most %zu bytes", k->member_bytes - 1);
    if (k->type == KEY_LIST)
        TRY(check_list(k, text));
    else if (is_name(k) && name_index(k, text) < 0)
        TRY(wrong_name(k, text, text));
    memset(member, 0, k->member_bytes); /* equal values are equal bytes */
    snprintf(member, k->member_bytes, "%s", k->type == KEY_TEXT && text[0] == '\0' ? key_default(k) : text);
out:
    return rc;
}

enum rc key_set(const struct key *k, void *object, const char *text)
{
    char *member = (char *)object + k->offset_bytes;
    uint64_t whole = 0;
    double real = 0;
    int value = 0;
    enum rc rc = RC_OK;

    switch (k->type) {
    case KEY_TEXT:
    case KEY_LIST:
        return set_letters(k, member, text);
    case KEY_CHOICE:
        value = name_index(k, text);
        if (value < 0)
            TRY(wrong_name(k, text, text));
        memcpy(member, &value, sizeof value);
        break;
    case KEY_WHOLE:
        TRY(take_whole(k, text, &whole));
        value = (int)whole;
        memcpy(member, &value, sizeof value);
        break;
    case KEY_COUNT:
        TRY(take_whole(k, text, &whole));
        real = (double)whole;
        memcpy(member, &real, sizeof real);
        break;
    case KEY_REAL:
        if (!text_to_f64(text, &real) || real < k->least || real > k->most)
            return wrong_value(k, text);
        real = k->is_bits ? real / 8 : real;
        memcpy(member, &real, sizeof real);
        break;
    }
out:
    return rc;
}

enum rc key_set_defaults(const struct key_table *t, void *object)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < t->n_keys && rc == RC_OK; i++)
        rc = key_set(&t->key[i], object, key_default(&t->key[i]));
    return rc;
}

bool key_matters(const struct key_table *t, const void *object, int key)
{
    const char *only = t->key[key].only;
    const char *equals = only ? strchr(only, '=') : NULL;
    char name[NAME_BYTES], value[KEY_VALUE_BYTES];

    if (!equals)
        return true;
    snprintf(name, sizeof name, "%.*s", (int)(equals - only), only);
    key_format(&t->key[key_find(t, name)], object, value, sizeof value);
    return strcmp(value, equals + 1) == 0;
}

enum { KEY_CHOICES_BYTES = 860 }; /* file, line and key have room in a message, too */

void key_say_unknown(const struct key_table *t, const char *name, char *out, size_t n_bytes)
{
    const char *known[KEY_MAX_KEYS + 1] = { NULL };
    enum { FEW_KEYS = 12 }; /* of more the nearest alone is told */
    char choices[KEY_CHOICES_BYTES];

    for (int i = 0; i < t->n_keys; i++)
        known[i] = t->key[i].name;
    const char *nearest = text_nearest(name, known);
    if (nearest && t->n_keys > FEW_KEYS) {
        snprintf(out, n_bytes, "no such key; the nearest is %s", nearest);
        return;
    }
    text_say_choices(choices, sizeof choices, name, known);
    snprintf(out, n_bytes, "no such key%s", choices);
}

/* RC_INVAL for a setting: what is wrong with it. */
static enum rc wrong_setting(const char *option, const char *setting, const char *why)
{
    char shown[128];

    snprintf(shown, sizeof shown, "%s", setting);
    for (char *c = shown; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            *c = '?';
    return rc_raise(RC_INVAL, "%s %s: %s", option, shown, why);
}

enum rc key_refuse_setting(const char *option, const char *setting)
{
    char why[RC_MESSAGE_BYTES];

    snprintf(why, sizeof why, "%.300s", rc_message());
    return wrong_setting(option, setting, why);
}

/* Set one key as "key=value" says; *key: which. */
static enum rc change_one(const struct key_table *t, void *object, const char *option, const char *setting, int *key)
{
    const char *equals = strchr(setting, '=');
    char name[2 * KEY_VALUE_BYTES], why[RC_MESSAGE_BYTES];

    if (!equals || equals == setting)
        return wrong_setting(option, setting, "use KEY=VALUE");
    snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
    *key = key_find(t, name);
    if (*key < 0) {
        key_say_unknown(t, name, why, sizeof why);
        return wrong_setting(option, setting, why);
    }
    if (key_set(&t->key[*key], object, equals + 1) != RC_OK)
        return key_refuse_setting(option, setting);
    return RC_OK;
}

/* Does the setting give the value of a list? */
static bool is_list(const struct key_table *t, const char *setting)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(setting, "="), setting);
    const int key = key_find(t, name);
    return key >= 0 && t->key[key].type == KEY_LIST;
}

/* setting[n_bytes] := the next setting, with all elements of a list; false: none is left. */
static bool next_setting(const struct key_table *t, const char **rest, char *setting, size_t n_bytes)
{
    if (!text_next(rest, setting, n_bytes))
        return false;
    while (*rest && is_list(t, setting)) {
        const size_t n_element = strcspn(*rest, ","), n = strlen(setting);
        if (memchr(*rest, '=', n_element))
            break;
        if (n + 1 < n_bytes) {
            setting[n] = ',';
            setting[n + 1] = '\0';
            (void)text_next(rest, setting + n + 1, n_bytes - n - 1);
        } else
            *rest = (*rest)[n_element] == ',' ? *rest + n_element + 1 : NULL;
    }
    return true;
}

enum rc key_change(const struct key_table *t, void *object, const char *option, const char *settings,
                   key_changed_fn *changed, void *arg)
{
    const size_t n_bytes = 2 * key_value_bytes(t); /* of a setting, with its key */
    char setting[2 * KEY_VALUE_BYTES];
    bool is_given[KEY_MAX_KEYS] = { false };
    const char *rest = settings;
    int key = 0;
    enum rc rc = RC_OK;

    assert(n_bytes <= sizeof setting && t->n_keys <= KEY_MAX_KEYS);
    if (settings[0] == '\0')
        return RC_OK;
    while (next_setting(t, &rest, setting, n_bytes)) {
        if (strlen(setting) == n_bytes - 1)
            TRY(wrong_setting(option, setting, "is too long; no value has so many letters"));
        TRY(change_one(t, object, option, setting, &key));
        if (is_given[key])
            TRY(wrong_setting(option, setting, "this key is given twice; leave one of the two out"));
        is_given[key] = true;
        if (changed)
            changed(arg, key);
    }
out:
    return rc;
}

/* Text in quotes may be escapes of 4 bytes. */
enum { LINE_CHARS = 120, QUOTED_BYTES = 4 * KEY_VALUE_BYTES + 3, COMMENT_COLUMN = 32 };

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* out := text as a YAML value: as it is where nothing in it can mean anything, else in quotes. A '#' is escaped too:
 * who looks for the comment finds no other. */
static void quote(char out[QUOTED_BYTES], const char *text)
{
    bool needs_quotes = text[0] == '\0' || !isalpha((unsigned char)text[0]);
    size_t n = 0;

    for (const char *c = text; *c; c++)
        needs_quotes = needs_quotes || !is_plain(*c);
    if (!needs_quotes) {
        snprintf(out, QUOTED_BYTES, "%s", text);
        return;
    }
    out[n++] = '"';
    for (const char *c = text; *c; c++)
        n += (size_t)snprintf(out + n, QUOTED_BYTES - n, *c == '"' || *c == '\\' || *c == '#' ? "\\x%02x" : "%c",
                              (unsigned char)*c);
    snprintf(out + n, QUOTED_BYTES - n, "\"");
}

/* text as a comment in column `indent`, of a line that is written up to `column`, wrapped at spaces. Runs of spaces
 * become one. */
static void write_comment(FILE *to, const char *text, int column, int indent)
{
    bool is_first = true;

    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        const int n = (int)strcspn(word, " ");
        if (is_first)
            column += fprintf(to, "%*s# ", column < indent ? indent - column : column > 0, "");
        else if (column + 1 + n > LINE_CHARS) {
            column = fprintf(to, "\n%*s# ", indent, "") - 1;
        } else
            column += fprintf(to, " ");
        for (int i = 0; i < n; i++)
            fputc((unsigned char)word[i] < 0x20 || word[i] == 0x7f ? '?' : word[i], to);
        column += n;
        is_first = false;
        word += n;
    }
    fputc('\n', to);
}

void key_write_head(FILE *to, const char *text)
{
    for (const char *line = text ? text : ""; *line; line += *line == '\n') {
        const int n = (int)strcspn(line, "\n");
        fprintf(to, "#%s%.*s\n", n > 0 ? " " : "", n, line);
        line += n;
    }
}

void key_write_value(FILE *to, const struct key *k, const void *object, const char *comment)
{
    char value[KEY_VALUE_BYTES], quoted[QUOTED_BYTES];

    key_format(k, object, value, sizeof value);
    quote(quoted, value);
    write_comment(to, comment,
                  fprintf(to, "%s: %s", k->name, k->type == KEY_TEXT || k->type == KEY_LIST ? quoted : value),
                  COMMENT_COLUMN);
}

void key_write_text(FILE *to, const char *text)
{
    write_comment(to, text, 0, 0);
}
