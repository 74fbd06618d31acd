/* SPDX-License-Identifier: Apache-2.0 */
/* diff_parts.h - how two campaigns are compared, and the other differences between them. Private to campaign/. */
#ifndef HARNESS_CAMPAIGN_DIFF_PARTS_H
#define HARNESS_CAMPAIGN_DIFF_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/campaign/recorded.h"
#include "harness/measure/independent.h"

enum { DIFF_TEXT_BYTES = 512 };

enum outcome { BETTER, WORSE, UNTOLD, EQUAL, NOT_COMPARED };

struct pair { /* the same point of both campaigns */
    size_t a, b;
    struct contrast x; /* b over a */
    enum outcome outcome;
    char differs[DIFF_TEXT_BYTES]; /* N2; "": compared */
};

struct diff {
    const struct recorded *of[2];
    struct pair *pair; /* owned */
    size_t n_pairs, n_tested;
    bool all_rows; /* the table also has points without a difference */
};

static inline const struct recorded_point *diff_about(const struct diff *d, int which, const struct pair *p)
{
    return &d->of[which]->point[which ? p->b : p->a];
}

/* diff_conditions.c */

/* Print "KEY x and y" and return true if both know the value and it differs; else false. */
bool diff_values(char *out, size_t n_bytes, const char *key, const json_t *a, const json_t *b);
/* Print a line for each difference, except for the compared figures: diff.N3. */
void diff_tell_conditions(const struct diff *d, FILE *to);

#endif
