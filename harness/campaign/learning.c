/* SPDX-License-Identifier: Apache-2.0 */
/* learning.c - which points of a campaign did not learn: their throughput is real, their comparison says little. */
#include "harness/campaign/campaign.h"

size_t point_n_unlearned(const struct point *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        n += p->launch[i].did_not_learn;
    return n;
}

void campaign_tell_unlearned(const struct campaign *c, FILE *to)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        const size_t n_unlearned = point_n_unlearned(p);
        char name[LAUNCH_NAME_BYTES];
        if (n_unlearned == 0)
            continue;
        point_name(name, sizeof name, p);
        fprintf(to, "%s: did not learn in %zu of %zu launch%s%s%s.\n", name, n_unlearned, p->n_launches,
                p->n_launches == 1 ? "" : "es", p->not_learned[0] ? ": " : "", p->not_learned);
    }
}

void points_tell_unlearned(const struct point *a, const struct point *b, FILE *to)
{
    const struct point *const of[] = { a, b };
    const char *before = "; but ";

    for (int i = 0; i < 2; i++) {
        const size_t n_unlearned = point_n_unlearned(of[i]);
        if (n_unlearned == 0)
            continue;
        fprintf(to, "%s%s did not learn in %zu of %zu launch%s", before, of[i]->mode->name, n_unlearned,
                of[i]->n_launches, of[i]->n_launches == 1 ? "" : "es");
        before = ", ";
    }
}
