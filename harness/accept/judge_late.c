/* SPDX-License-Identifier: Apache-2.0 */
/* judge_late.c - the tournament: nodes and links that lose messages now and then. */
#include <math.h>
#include <stdio.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/late.h"

enum { LEAST_NODES = 3 };

enum rc judge_late(struct judging *j)
{
    struct acceptance *a = j->a;
    const struct tournament *t = &a->tournament;
    const int first = a->n_findings;
    char well[ACCEPT_TEXT_BYTES];
    int from = -1, to = -1;
    enum rc rc;

    if (a->n_nodes < LEAST_NODES || !late_is_known(t))
        return RC_OK;
    TRY(late_find(a, &j->terms));
    struct criterion *row = acceptance_add_criterion(a, ACCEPT_PAIRWISE, "lost messages");
    row->measured = late_worst(t, &from, &to);
    row->n_samples = t->n_repeats * t->n_rounds;
    row->unit = "of round trips";
    if (from < 0)
        row_findings(a, row, first, "no pair was measured", "");
    else {
        snprintf(well, sizeof well, "nobody loses more than others; the worst pair, %.64s - %.64s, had %.3g late",
                 a->node[from].name, a->node[to].name, row->measured);
        row_findings(a, row, first, "", well);
    }
out:
    return rc;
}
