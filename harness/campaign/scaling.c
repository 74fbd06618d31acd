/* SPDX-License-Identifier: Apache-2.0 */
/* scaling.c - what is the same at every number of workers: each worker's batch (weak scaling), or that of all (strong).
 */
#include "harness/campaign/campaign.h"

bool campaign_scales_strongly(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].global_batch_count > 0)
            return true;
    return false;
}

void point_scaling_text(char *out, size_t n_bytes, const struct point *p)
{
    if (p->global_batch_count > 0)
        snprintf(out, n_bytes, "strong scaling: batch %llu of all workers", (unsigned long long)p->global_batch_count);
    else
        snprintf(out, n_bytes, "weak scaling: batch %llu per worker", (unsigned long long)p->batch_per_worker_count);
}

/* The global batch of all points; 0: not all have the same. */
static uint64_t common_global_batch(const struct campaign *c)
{
    uint64_t common = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const uint64_t own = c->point[i].global_batch_count;
        if (c->point[i].n_launches == 0)
            continue;
        if (own == 0 || (common > 0 && own != common))
            return 0;
        common = own;
    }
    return common;
}

void campaign_tell_scaling(const struct campaign *c, FILE *to)
{
    const uint64_t common = common_global_batch(c);

    if (!campaign_scales_strongly(c))
        return;
    if (common > 0)
        fprintf(to,
                "Strong scaling: a round has %llu samples at every number of workers, each worker its part of them.\n",
                (unsigned long long)common);
    else
        fprintf(to, "Strong scaling: a round has as many samples at every number of workers, each worker its part of "
                    "them.\n");
}
