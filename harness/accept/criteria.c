/* SPDX-License-Identifier: Apache-2.0 */
/* criteria.c - defaults, single values, stages that are left out. */
#include "harness/accept/criteria.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/criteria_keys.h"
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

/* The stages whose names are in the list are none that runs. RC_INVAL names one that there is not. */
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
