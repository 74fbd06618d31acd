/* SPDX-License-Identifier: Apache-2.0 */
/* closing.c - prints warnings before the first launch; after the last, writes the results and prints them. */
#include <string.h>

#include "harness/campaign/sim_cost.h"
#include "harness/campaign/sweep.h"
#include "harness/report/manifest.h"
#include "harness/world/cores.h"

static void announce_shared_cores(const struct sweep *s, FILE *to)
{
    for (size_t i = 0; i < s->campaign.n_points; i++)
        if (s->campaign.point[i].oversubscribed) {
            fprintf(to,
                    "gradmark compare: warning: points with more than %d threads of workers share cores: marked *\n",
                    cores_allowed_count());
            return;
        }
}

/* Announce which models train fewer steps than by default, because they are slow. */
static void announce_steps(const struct sweep *s, FILE *to)
{
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (p->n_steps < p->default_steps && s->train.steps == 0 && !point_value(p, "steps") &&
            (i == 0 || p->workload != p[-1].workload))
            fprintf(to, "gradmark compare: %s: %llu steps a launch, %s --budget-s %g\n", p->workload->module.name,
                    (unsigned long long)p->n_steps,
                    p->over_budget ? "the minimum: two turns will not fit in" : "so that two turns fit in",
                    s->budget_s);
    }
}

static void announce_baseline(const struct sweep *s, FILE *to)
{
    const struct point *single = NULL;

    for (size_t i = 0; i < s->campaign.n_points && !single; i++)
        single = campaign_find_baseline(&s->campaign, &s->campaign.point[i]);
    if (s->added_baseline && single)
        fprintf(to,
                "gradmark compare: %s with 1 worker is added, which efficiency is measured by; --no-baseline: not\n",
                single->mode->name);
}

void sweep_announce(const struct sweep *s, FILE *to)
{
    announce_baseline(s, to);
    announce_shared_cores(s, to);
    sweep_announce_wait(s, cores_allowed_count(), to);
    if (s->useless[0])
        fprintf(to, "gradmark compare: warning: %s\n", s->useless);
    announce_steps(s, to);
}

static enum rc write_manifest(const struct sweep *s, struct record **options)
{
    const struct campaign *c = &s->campaign;
    struct record *r = NULL;
    char path[600];
    enum rc rc;

    TRY(record_open(&r, "campaign"));
    record_child(r, "options", options);
    record_u64(r, "points_count", c->n_points);
    record_u64(r, "launches_per_point_count", c->point[0].n_launches);
    record_text(r, "launcher", s->launcher.name);
    manifest_fill(r, c->is_virtual);
    snprintf(path, sizeof path, "%s/manifest.json", c->dir);
    TRY(record_write_file(r, path));
out:
    record_close(&r);
    return rc;
}

static enum rc write_results(struct sweep *s, bool is_complete, struct record **options, bool charts, FILE *to)
{
    struct campaign *c = &s->campaign;
    enum rc rc, drawn = RC_OK;
    char why[RC_MESSAGE_BYTES];

    TRY(campaign_commit(c));
    TRY(write_manifest(s, options));
    TRY(campaign_print(c, to));
    sweep_tell_tuning(s, to);
    fputc('\n', to);
    TRY(campaign_verdict(c, to));
    campaign_tell_unlearned(c, to);
    if (is_complete && !c->is_virtual && c->point[0].n_launches < c->n_launches_wanted)
        fprintf(to, "--budget-s %g was spent after %zu of %zu launches of each point.\n", s->budget_s,
                c->point[0].n_launches, c->n_launches_wanted);
    if (charts)
        drawn = campaign_draw(c, to);
    snprintf(why, sizeof why, "%s", rc_message());
    fprintf(to, "\nresults: %s\n", c->dir);
    if (c->is_virtual)
        TRY(sim_cost_write(stderr, "compare", s->cost_file, &s->cost));
    if (drawn != RC_OK)
        FAIL(drawn, "%s", why); /* everything else is done */
out:
    return rc;
}

enum rc sweep_finish(struct sweep *s, enum rc launched, struct record **options, bool charts, FILE *to)
{
    const size_t n_done = s->campaign.n_launches_done;
    char why[RC_MESSAGE_BYTES];
    enum rc rc;

    snprintf(why, sizeof why, "%s", rc_message());
    if (n_done == 0 && s->stopped)
        FAIL(RC_PEER, "stopped before the first launch was done; %s is removed", s->campaign.dir);
    if (n_done == 0)
        TRY(launched);
    TRY(write_results(s, launched == RC_OK && !s->stopped, options, charts, to));
    if (launched != RC_OK)
        FAIL(launched, "failed after %zu launches (results: %s): %s", n_done, s->campaign.dir, why);
    if (s->stopped)
        FAIL(RC_PEER, "stopped after %zu launches; results: %s", n_done, s->campaign.dir);
out:
    return rc;
}
