/* SPDX-License-Identifier: Apache-2.0 */
/* criteria.c - defaults, single values, stages that are left out. */
#include "harness/accept/criteria.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/criteria_keys.h"
#include "harness/base/file.h"
#include "harness/base/key_table.h"
#include "harness/base/key_yaml.h"
#include "harness/base/text.h"

void criteria_default(struct criteria *out)
{
    int key = 0;
    enum rc rc;

    memset(out, 0, sizeof *out);
    TRY(key_set_defaults(&criteria_key_table, out));
    TRY(criteria_settle(out, &key));
out:
    assert(rc == RC_OK); /* base.K1: tested */
}

void criteria_for_nodes(struct criteria *c, int n_nodes)
{
    if (n_nodes < CRITERIA_FEW_NODES)
        c->least_repeats_count = c->most_repeats_count;
}

enum rc criteria_set(struct criteria *c, const char *assignments)
{
    static const char option[] = "--criteria-set";
    struct criteria changed = *c;
    char joined[1024];
    int key = 0;
    enum rc rc = RC_OK;

    if (strlen(assignments) >= sizeof joined)
        FAIL(RC_INVAL, "%s: is too long; use at most %zu bytes", option, sizeof joined - 1);
    snprintf(joined, sizeof joined, "%s", assignments);
    for (char *s = joined; *s; s++)
        if (*s == '\n')
            *s = s[1] ? ',' : '\0';
    TRY(key_change(&criteria_key_table, &changed, option, joined, NULL, NULL));
    if (criteria_settle(&changed, &key) != RC_OK)
        TRY(key_refuse_setting(option, criteria_keys[key].name));
    *c = changed;
out:
    return rc;
}

/* runs[] is true. The stages whose names are in the list are none that runs. RC_INVAL names one that there is not, or
 * one that is there twice. */
static enum rc clear_stages(bool runs[ACCEPT_N_STAGES], const char *option, const char *stages)
{
    const char *known[ACCEPT_N_STAGES + 1] = { NULL };
    const char *rest = stages;
    char element[64], name[64], choices[200];

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        known[s] = accept_stage_name((enum accept_stage)s);
    while (text_next(&rest, element, sizeof element)) {
        const char *begin = element + strspn(element, " ");
        int s = 0, n = (int)strlen(begin);
        while (n > 0 && begin[n - 1] == ' ')
            n--;
        snprintf(name, sizeof name, "%.*s", n, begin);
        while (s < ACCEPT_N_STAGES && strcmp(known[s], name) != 0)
            s++;
        text_say_choices(choices, sizeof choices, name, known);
        if (s == ACCEPT_N_STAGES)
            return rc_raise(RC_INVAL, "%s %s: no such stage%s", option, name, choices);
        if (!runs[s])
            return rc_raise(RC_INVAL, "%s %s: %s is named twice; leave one out", option, stages, name);
        runs[s] = false;
    }
    return RC_OK;
}

/* Those of runs become those of c, by name, too. RC_INVAL: there is none. */
static enum rc take_stages(struct criteria *c, const bool runs[ACCEPT_N_STAGES], const char *option, const char *stages)
{
    char names[sizeof c->stages] = "";

    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        const size_t n = strlen(names);
        if (runs[s])
            snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? "," : "", accept_stage_name((enum accept_stage)s));
    }
    if (names[0] == '\0')
        return rc_raise(RC_INVAL, "%s %s: no stage is left; use at least one", option, stages);
    memcpy(c->runs, runs, sizeof c->runs);
    memcpy(c->stages, names, sizeof names);
    return RC_OK;
}

enum rc criteria_choose(struct criteria *c, const char *option, const char *stages)
{
    bool runs[ACCEPT_N_STAGES];
    enum rc rc = RC_OK;

    if (stages[0] == '\0')
        return RC_OK;
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        runs[s] = true;
    TRY(clear_stages(runs, option, stages));
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        runs[s] = !runs[s];
    TRY(take_stages(c, runs, option, stages));
out:
    return rc;
}

/* --- the file --- */

/* The first key of each part of the file. */
static const struct part {
    const char *key, *title;
} parts[] = {
    { "name", "What is tested" },
    { "false_discovery_ratio", "Statistics, of all stages" },
    { "most_clock_skew_s", "Stage preflight: what nodes must have" },
    { "least_flops_per_s", "Stage compute" },
    { "noise_quantum_s", "Stage noise: work of others on the cores" },
    { "pairwise_message_bytes", "Stage pairwise: each pair of nodes" },
    { "reducer", "Stage collectives" },
    { "ps_bytes", "Stage ps: parameter servers" },
    { "training_model", "Stage training" },
    { "integrity_steps_count", "Stage integrity: the same parameters on all ranks" },
    { "soak_minutes", "Stage soak" },
};

static void write_key(FILE *to, const struct criteria *c, const struct criteria *defaults, int i, const char *source)
{
    const struct key *k = &criteria_keys[i];
    char about[512], range[256], value[KEY_VALUE_BYTES], usual[KEY_VALUE_BYTES];
    char unchanged[KEY_VALUE_BYTES + 32] = "the default";

    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        if (strcmp(parts[p].key, k->name) == 0)
            fprintf(to, "\n# --- %s\n", parts[p].title);
    key_range(k, range, sizeof range);
    snprintf(about, sizeof about, "%s (%s%s%s)", k->meaning, k->unit, k->unit[0] ? ": " : "", range);
    fputc('\n', to);
    key_write_text(to, about);
    key_format(k, c, value, sizeof value);
    key_format(k, defaults, usual, sizeof usual);
    if (strcmp(value, usual) != 0)
        snprintf(unchanged, sizeof unchanged, "set; the default is %s", usual[0] ? usual : "empty");
    key_write_value(to, k, c, source[0] ? source : unchanged);
}

enum rc criteria_write(const struct criteria *c, const struct criteria_sources *sources, const char *head,
                       const char *path)
{
    struct criteria checked = *c, defaults;
    struct atomic_file file = { 0 };
    int key = 0;
    enum rc rc;

    criteria_default(&defaults);
    TRY(criteria_settle(&checked, &key));
    TRY(atomic_file_open(&file, path));
    key_write_head(file.stream, head);
    for (int i = 0; i < CRITERIA_N_KEYS; i++)
        write_key(file.stream, c, &defaults, i, sources ? sources->text[i] : "");
out:
    return atomic_file_finish(&file, rc);
}

/* --- to read --- */

static enum rc take_all(struct criteria *out, const struct key_file *file)
{
    struct criteria c;
    int key = 0;
    enum rc rc;

    criteria_default(&c);
    for (int i = 0; i < CRITERIA_N_KEYS; i++)
        TRY(key_file_set(file, i, &c));
    if (criteria_settle(&c, &key) != RC_OK)
        TRY(key_file_refuse(file, key));
    *out = c;
out:
    return rc;
}

enum rc criteria_load(struct criteria *out, const char *path)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_load(&file, &criteria_key_table, path));
    TRY(take_all(out, file));
out:
    key_file_close(&file);
    return rc;
}

enum rc criteria_parse(struct criteria *out, const char *name, const char *text, size_t n_bytes)
{
    struct key_file *file = NULL;
    enum rc rc;

    TRY(key_file_parse(&file, &criteria_key_table, name, text, n_bytes));
    TRY(take_all(out, file));
out:
    key_file_close(&file);
    return rc;
}
