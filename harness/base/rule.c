/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c - which options do not go together, and why: tables of rows; see rule.h. */
#include "harness/base/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_implied(const struct rules *rules, const char *option)
{
    for (const char *const *name = rules->implied; name && *name; name++)
        if (strcmp(*name, option) == 0)
            return true;
    return false;
}

static bool has_table(const struct rules *rules, const struct opt *table)
{
    for (const struct opt *const *own = rules->table; *own; own++)
        if (*own == table)
            return true;
    return false;
}

/* The option of this name in the groups, with its value; NULL: it is not given, or there is none. */
static const struct opt *find_given(const struct rules *rules, const struct opt_group *group, int n_groups,
                                    const void *opts, const char *name, char *value, size_t n_bytes)
{
    for (int g = 0; g < n_groups; g++)
        for (int i = 0; has_table(rules, group[g].table) && group[g].table[i].name; i++) {
            const struct opt *o = &group[g].table[i];
            if (strcmp(o->name, name) != 0 || !(opt_is_given(&group[g], i) || is_implied(rules, name)))
                continue;
            opt_format(o, opts ? opts : group[g].into, value, n_bytes);
            if (o->type == OPT_F64) /* for readers, not to the last bit */
                snprintf(value, n_bytes, "%g", strtod(value, NULL));
            return o;
        }
    return NULL;
}

/* Does this value of the option ask for something? Its default does not. */
static bool is_active(const struct opt *o, const char *value)
{
    static const char *const inactive[] = { "", "0", "off", "false" };

    for (size_t i = 0; i < sizeof inactive / sizeof *inactive; i++)
        if (strcmp(value, inactive[i]) == 0)
            return false;
    return strcmp(value, opt_default(o)) != 0;
}

static bool is_any(const struct rule *rule)
{
    return rule->value && rule->value[0] == '*';
}

static bool is_value(const struct rule *rule, const struct opt *o, const char *value)
{
    const size_t n = rule->value ? strlen(rule->value) : 0;

    if (is_any(rule))
        return true;
    if (n == 0)
        return is_active(o, value);
    return rule->value[n - 1] == ':' ? strncmp(value, rule->value, n) == 0 : strcmp(value, rule->value) == 0;
}

const char *rules_why(const struct rules *rules, const bool *holds, const char *option)
{
    for (int i = 0; i < rules->n_rows; i++) {
        const struct rule *row = &rules->row[i];
        if (holds[row->fact] && (!row->value || is_any(row)) && strcmp(row->option, option) == 0)
            return row->why;
    }
    return NULL;
}

enum rc rules_check(const struct rules *rules, const bool *holds, const struct opt_group *group, int n_groups,
                    const void *opts)
{
    char value[96];

    for (int i = 0; i < rules->n_rows; i++) {
        const struct rule *row = &rules->row[i];
        const struct opt *o = NULL;
        if (holds[row->fact])
            o = find_given(rules, group, n_groups, opts, row->option, value, sizeof value);
        if (!o || !is_value(row, o, value))
            continue;
        return rc_raise(RC_INVAL, "--%s%s%s: %s", o->name, o->type == OPT_BOOL ? "" : " ",
                        o->type == OPT_BOOL ? "" : value, row->why);
    }
    return RC_OK;
}

static bool is_about(const struct rules *rules, const struct opt *option)
{
    for (const struct opt *const *table = rules->table; *table; table++)
        for (const struct opt *o = *table; o->name; o++)
            if (o == option)
                return true;
    return false;
}

void rules_words(const struct rules *rules, const struct opt *option, char *out, size_t n_bytes)
{
    size_t n = strlen(out);

    for (int i = 0; i < rules->n_rows && is_about(rules, option); i++) {
        const struct rule *row = &rules->row[i];
        const char *words = strcmp(row->option, option->name) == 0 ? rules->fact_words[row->fact] : NULL;
        if (words && n < n_bytes && !strstr(out, words))
            n += (size_t)snprintf(out + n, n_bytes - n, "%s%s", n > 0 ? ", " : "", words);
    }
}
