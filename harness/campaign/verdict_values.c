/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_values.c - what a value of an option that a campaign varies (--over) gives, over its first value.
 *
 * Of each mode at its largest number of workers, with as many workers and all other options alike.
 */
#include <string.h>

#include "harness/campaign/verdict_parts.h"

/* The point like p with the first value of this option, in the order of points; NULL: p has it itself, or none has. */
static const struct point *of_first_value(const struct campaign *c, const struct point *p, const char *option)
{
    struct assignment assigned[MAX_ASSIGNMENTS];
    const char *first = NULL;

    for (size_t i = 0; i < c->n_points && !first; i++)
        first = point_value(&c->point[i], option);
    memcpy(assigned, p->assigned, sizeof assigned);
    for (int k = 0; k < p->n_assigned; k++)
        if (strcmp(assigned[k].option, option) == 0)
            snprintf(assigned[k].value, sizeof assigned[k].value, "%s", first);
    const struct point *q = campaign_find(c, assigned, p->n_assigned);
    return q == p ? NULL : q;
}

enum rc claims_add_values(struct claims *all)
{
    const struct campaign *c = all->campaign;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        const char *option;
        if (p->n_launches == 0 || p->n_workers != campaign_largest(c, p, p->mode, NULL))
            continue;
        for (int k = 0; (option = campaign_other_option(c, k)) != NULL; k++) {
            const struct point *first = point_value(p, option) ? of_first_value(c, p, option) : NULL;
            if (!first || first->n_launches == 0)
                continue;
            TRY(claims_add(all, CLAIM_VALUE, p, first));
            all->claim[all->n_claims - 1].option = option;
        }
    }
out:
    return rc;
}

void claim_tell_value(const struct claims *all, const struct claim *k, FILE *to)
{
    const double ratio = point_throughput(k->a).mean / point_throughput(k->b).mean;
    const char *value = point_value(k->a, k->option), *first = point_value(k->b, k->option);
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, k->a);
    fprintf(to, "%s: ", name);
    if (all->campaign->is_virtual)
        fprintf(to, "%.2f x the samples/s of %s %s (simulated: no spread).\n", ratio, k->option, first);
    else if (k->holds)
        fprintf(to, "%.2f x the samples/s of %s %s (95 %%: %.2f to %.2f).\n", k->x.ratio, k->option, first,
                k->x.ratio_low, k->x.ratio_high);
    else {
        fprintf(to, "cannot tell whether %s %s or %s is faster: ", k->option, value, first);
        claim_tell_not_told(all, k, to);
    }
}
