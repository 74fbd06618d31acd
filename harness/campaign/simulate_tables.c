/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_tables.c - tables of what changes would do. */
#include <math.h>
#include <stdio.h>

#include "harness/campaign/simulate.h"
#include "harness/report/table.h"

static enum rc print_ratio(struct table *t, const struct simulate_change *c)
{
    return c && c->is_possible && !isnan(c->ratio) ? table_cell(t, "%.3f", c->ratio) : table_cell(t, "-");
}

static enum rc print_changed(struct table *t, const struct simulate *s, size_t point, bool is_short)
{
    const struct simulate_point *p = &s->point[point];
    char way[SIMULATE_WAY_BYTES];
    enum rc rc;

    if (is_short)
        simulate_way_short(way, sizeof way, s, &s->way[p->way]);
    else
        simulate_way_name(way, sizeof way, &s->way[p->way]);
    TRY(table_cell(t, "%s", s->profiles.profile[p->profile].model));
    TRY(table_cell(t, "%s", way));
    TRY(table_cell(t, "%d", p->n_gpus));
    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++)
        TRY(print_ratio(t, simulate_change_of(s, CHANGE_WHAT_IF, point, what)));
out:
    return rc;
}

enum rc simulate_what_if_table(struct table **out, const struct simulate *s, bool is_short)
{
    struct column column[3 + SIMULATE_N_WHAT_IFS] = { { "what if", ALIGN_LEFT },
                                                      { "mode", ALIGN_LEFT },
                                                      { "GPUs", ALIGN_RIGHT } };
    struct table *t = NULL;
    enum rc rc;

    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++)
        column[3 + what] = (struct column){ simulate_what_if_name(s, what), ALIGN_RIGHT };
    TRY(table_open(&t, column, sizeof column / sizeof *column));
    for (size_t i = 0; i < s->n_points; i++)
        if (simulate_is_changed(s, i) && !simulate_failure(s, &s->point[i]) && s->way[s->point[i].way].mode != ROW_NONE)
            TRY(print_changed(t, s, i, is_short));
    *out = t;
    t = NULL;
out:
    table_close(&t);
    return rc;
}
