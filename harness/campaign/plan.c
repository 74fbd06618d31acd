/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - which points a comparison has. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/campaign/sweep.h"
#include "harness/world/cores.h"

enum { MAX_COUNTS = 64 };

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Sorted, without repetition. */
static int tidy_counts(int *count, int n)
{
    int n_kept = 0;

    qsort(count, (size_t)n, sizeof *count, ascending);
    for (int i = 0; i < n; i++)
        if (i == 0 || count[i] != count[n_kept - 1])
            count[n_kept++] = count[i];
    return n_kept;
}

static int default_counts(int *count, const struct comparison *c)
{
    const bool sim = strcmp(c->opts.train.world, "sim") == 0;
    const int n_cores = cores_allowed_count(), n_fit = n_cores / c->campaign.n_threads;
    const int n_most = sim ? 8 : c->launcher.name ? c->launcher.n_ranks : n_fit > 0 ? n_fit : 1;
    int n = 0;

    for (int w = 1; w < n_most && n < MAX_COUNTS - 2; w *= 2)
        count[n++] = w;
    count[n++] = n_most;
    if (!sim && !c->launcher.name)
        count[n++] = 2 * n_most; /* the oversubscribed point */
    return tidy_counts(count, n);
}

static enum rc worker_counts(int *count, int *n, const struct comparison *c)
{
    const char *rest = c->opts.workers;
    char element[32];
    uint64_t value = 0;

    if (rest[0] == '\0') {
        *n = default_counts(count, c);
        return RC_OK;
    }
    for (*n = 0; text_next(&rest, element, sizeof element);) {
        if (*n == MAX_COUNTS)
            return rc_raise(RC_INVAL, "--workers %s: more than %d counts", c->opts.workers, MAX_COUNTS);
        if (!text_to_u64(element, &value)) /* the option table has checked it */
            return rc_raise(RC_BUG, "--workers %s: not a number", element);
        if (c->launcher.name && value > (uint64_t)c->launcher.n_ranks)
            return rc_raise(RC_INVAL, "--workers %s: %d ranks were launched", element, c->launcher.n_ranks);
        count[(*n)++] = (int)value;
    }
    *n = tidy_counts(count, *n);
    return RC_OK;
}

static int n_servers_of(const struct comparison *c, const char *mode)
{
    if (strcmp(mode, "ps") != 0)
        return 0;
    return c->opts.train.servers ? (int)c->opts.train.servers : 1;
}

/* Workers of mode at a wanted count; 0: no such point. Under a launcher servers come out of the given ranks. */
static int workers_of(const struct comparison *c, const char *mode, int wanted)
{
    const int n_servers = n_servers_of(c, mode);

    if (strcmp(mode, "single") == 0)
        return wanted == 1 ? 1 : 0;
    if (c->launcher.name && wanted + n_servers > c->launcher.n_ranks)
        return c->launcher.n_ranks > n_servers ? c->launcher.n_ranks - n_servers : 0;
    return wanted;
}

static enum rc plan_point(struct comparison *c, const char *model, const char *mode, int n_workers)
{
    struct point *p = NULL;
    enum rc rc = RC_OK;

    if (n_workers == 0 || campaign_find(&c->campaign, model, mode, n_workers))
        return RC_OK;
    TRY(campaign_add(&c->campaign, &p));
    snprintf(p->model, sizeof p->model, "%s", model);
    snprintf(p->mode, sizeof p->mode, "%s", mode);
    p->n_workers = n_workers;
    p->n_servers = n_servers_of(c, mode);
    /* Under a launcher the hosts are known after a launch: campaign_take. */
    if (!c->campaign.is_virtual && !c->campaign.is_launched)
        point_mark_shared_cores(p, c->campaign.n_threads, cores_allowed_count());
out:
    return rc;
}

enum rc compare_plan(struct comparison *c)
{
    int count[MAX_COUNTS], n_counts = 0;
    char model[32], mode[32];
    enum rc rc;

    TRY(worker_counts(count, &n_counts, c));
    for (const char *models = c->opts.model; text_next(&models, model, sizeof model);)
        for (const char *modes = c->opts.mode; text_next(&modes, mode, sizeof mode);)
            for (int i = 0; i < n_counts; i++)
                TRY(plan_point(c, model, mode, workers_of(c, mode, count[i])));
    if (c->campaign.n_points == 0)
        FAIL(RC_INVAL, "--mode %s --workers %s: nothing to run; single has one worker", c->opts.mode, c->opts.workers);
out:
    return rc;
}
