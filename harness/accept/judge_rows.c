/* SPDX-License-Identifier: Apache-2.0 */
/* judge_rows.c - how a row of the verdict ends: by a limit, by findings, without data. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/report_words.h"

void row_end(struct criterion *row, enum accept_outcome outcome, const char *fmt, ...)
{
    va_list args;

    row->outcome = outcome;
    va_start(args, fmt);
    vsnprintf(row->text, sizeof row->text, fmt, args);
    va_end(args);
}

bool breaks_limit(double value, double limit, bool at_least)
{
    return at_least ? value < limit : value > limit;
}

bool row_limit(struct criterion *row, double measured, double limit, bool at_least, const char *unit, const char *who)
{
    char is[QUANTITY_BYTES], least[QUANTITY_BYTES];

    row->measured = measured;
    row->limit = limit;
    row->at_least = at_least;
    row->unit = unit;
    if (!isfinite(measured)) {
        row_end(row, OUTCOME_NO_DATA, "%s: not measured", who);
        return false;
    }
    const bool breaks = breaks_limit(measured, limit, at_least);
    const bool holds = row->low <= limit && row->high >= limit; /* NaN: false */
    quantity_text(is, sizeof is, measured, unit);
    quantity_text(least, sizeof least, limit, strncmp(unit, "of ", 3) == 0 ? "ratio" : unit);
    row_end(row, breaks ? OUTCOME_FAIL : OUTCOME_PASS, "%s: %s, %s the limit of %s%s", who, is,
            measured < limit   ? "below"
            : measured > limit ? "above"
                               : "at",
            least, holds ? "; the interval holds the limit" : "");
    return !breaks;
}

void row_findings(const struct acceptance *a, struct criterion *row, int first, const char *no_data, const char *well)
{
    const int n = a->n_findings - first;
    char who[2 * ACCEPT_NAME_BYTES + 16];

    if (n > 0) {
        accept_subject_text(who, sizeof who, a, &a->finding[first]);
        row_end(row, OUTCOME_FAIL, "%d found%s %s: %.180s", n, n > 1 ? ", the first" : ":", who,
                a->finding[first].text);
    } else if (no_data[0] != '\0')
        row_end(row, OUTCOME_NO_DATA, "%s", no_data);
    else
        row_end(row, OUTCOME_PASS, "%s", well);
}
