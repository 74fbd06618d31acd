/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - how the workers of each point wait: comparable points by one policy. */
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/bench/gemm.h"
#include "harness/campaign/sweep.h"
#include "harness/exchange/collective.h"
#include "harness/world/cores.h"
#include "harness/world/share.h"

/* collective.A11 */
static bool has_library_threads(const struct sweep *s, const struct point *p)
{
    const char *assigned = point_value(p, "reducer"), *name = assigned ? assigned : s->train.reducer;
    const struct collective_ops *ops = NULL;

    if (!(p->mode->caps & MODE_COLLECTIVE) || !name)
        return false;
    if (collective_find(&ops, &collective_kind, name) != RC_OK)
        rc_clear(); /* its launch says why */
    return ops && ops->module.caps & COLL_THREADS;
}

/* Of each worker: those that compute, one that exchanges beside them, and one of a library. */
static int n_worker_threads(const struct sweep *s, const struct point *p)
{
    const char *assigned = point_value(p, "overlap");

    return p->n_threads + (mode_exchanges(p->mode) && strcmp(assigned ? assigned : s->train.overlap, "on") == 0) +
           has_library_threads(s, p);
}

/* Comparable points wait alike, if one of them has to sleep all do; but for those with more threads than cores. */
static void spread_sleep(struct campaign *c)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < c->n_points; i++)
            for (size_t k = 0; k < c->n_points; k++) {
                struct point *p = &c->point[i];
                const struct point *q = &c->point[k];
                if (p->wait == WAIT_SLEEP || q->wait != WAIT_SLEEP || q->oversubscribed || !point_comparable(p, q))
                    continue;
                p->wait = WAIT_SLEEP;
                changed = true;
            }
    }
}

/* Before others are compared with it. Servers on the workers' cores get them only while these sleep (rank_hosts.c). */
static enum wait_policy wait_alone(const struct point *p, enum wait_policy given, bool has_cores)
{
    if (given != WAIT_AUTO)
        return given;
    return has_cores && !p->servers_beside ? WAIT_SPIN : WAIT_SLEEP;
}

void sweep_set_wait(struct sweep *s, int n_cores)
{
    const enum wait_policy given = train_wait_policy(s->train.wait);

    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct point *p = &s->campaign.point[i];
        p->n_busy_threads = point_n_ranks(p) * n_worker_threads(s, p);
        p->wait = wait_alone(p, given, p->n_busy_threads <= n_cores);
    }
    if (given == WAIT_AUTO)
        spread_sleep(&s->campaign);
}

/* Does a task of a worker exchange beside computing, in some launch? */
static enum rc find_overlap(bool *overlaps, const struct sweep *s, struct world *w)
{
    struct world *group = NULL;
    int host, n_hosts = 1;
    enum rc rc = RC_OK;

    if (s->may_overlap)
        TRY(world_host_group(w, &group, &host, &n_hosts));
    *overlaps = strcmp(s->train.overlap, "on") == 0 || n_hosts > 1;
out:
    world_split_close(&group);
    return rc;
}

enum rc sweep_agree_on_wait(struct sweep *s, struct world *w)
{
    const enum wait_policy given = train_wait_policy(s->train.wait);
    bool has_cores = false, overlaps = false, has_library = false;
    enum rc rc;

    TRY(find_overlap(&overlaps, s, w));
    for (size_t i = 0; i < s->campaign.n_points; i++)
        has_library = has_library || has_library_threads(s, &s->campaign.point[i]);
    TRY(world_has_cores(w, sweep_n_threads(s) + overlaps + has_library, &has_cores));
    for (size_t i = 0; i < s->campaign.n_points; i++)
        s->campaign.point[i].wait = wait_alone(&s->campaign.point[i], given, has_cores);
    if (given == WAIT_AUTO)
        spread_sleep(&s->campaign);
out:
    return rc;
}

static bool could_spin(const struct point *p, int n_cores)
{
    return p->n_busy_threads <= n_cores && !p->servers_beside;
}

/* The first point that makes points sleep which could spin; NULL: none. */
static const struct point *culprit(const struct campaign *c, int n_cores)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (p->wait != WAIT_SLEEP || p->oversubscribed || could_spin(p, n_cores))
            continue;
        for (size_t k = 0; k < c->n_points; k++)
            if (could_spin(&c->point[k], n_cores) && point_comparable(p, &c->point[k]))
                return p;
    }
    return NULL;
}

/* The first point whose servers share the cores of workers that spin, as those beside workers always do; where the user
 * chose to spin only these are told of, which lose time on any number of cores. NULL: none. */
static const struct point *spins_on_servers(const struct campaign *c, bool is_given)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (p->wait == WAIT_SPIN && (p->servers_beside || (p->servers_share && !is_given)))
            return p;
    }
    return NULL;
}

static void announce_sleep(const struct point *p, int n_cores, FILE *to)
{
    char name[LAUNCH_NAME_BYTES], has[64] = "its servers on its workers' cores";

    point_name(name, sizeof name, p);
    if (!p->servers_beside)
        snprintf(has, sizeof has, "%d threads of workers for %d cores", p->n_busy_threads, n_cores);
    terminal_note(to,
                  "gradmark compare: workers sleep while they wait, in all points alike: %s, has %s; %s, or --wait "
                  "spin, change that",
                  name, has, p->servers_beside ? "points without --colocate" : "fewer --workers");
}

void sweep_announce_wait(const struct sweep *s, int n_cores, FILE *to)
{
    const bool is_given = train_wait_policy(s->train.wait) != WAIT_AUTO;
    const struct point *sleeper = is_given ? NULL : culprit(&s->campaign, n_cores);
    const struct point *spinner = spins_on_servers(&s->campaign, is_given);
    char name[LAUNCH_NAME_BYTES];

    if (s->campaign.is_virtual || s->campaign.is_launched)
        return;
    if (sleeper)
        announce_sleep(sleeper, n_cores, to);
    if (spinner) {
        point_name(name, sizeof name, spinner);
        terminal_note(
            to,
            "gradmark compare: %s: no core is left for its servers, so they will be slower, as workers spin while "
            "they wait. --wait sleep reduces this",
            name);
    }
}

/*
 * How many steps a launch has, where the user leaves it open.
 *
 * The same number at every point of a model: their losses are to be compared.
 */

enum { MIN_STEPS = 6, PROBE_STEPS = 3, N_TURNS = 2 };

#define SLOW_S 0.05
#define SHARE_OF_GEMM 0.25 /* of a GEMM's rate that a network's step reaches, small images and batches included */

/* One step of all workers of p, on this machine. Simulated workers compute one after the other. */
static double step_seconds(const struct sweep *s, const struct point *p, double flops_per_s)
{
    const int n_cores = cores_allowed_count(), n_wanted = point_n_ranks(p) * p->n_threads;
    const int n_at_once = s->campaign.is_virtual ? 1 : n_wanted < n_cores ? n_wanted : n_cores;

    return p->step_s + p->step_flops / (SHARE_OF_GEMM * flops_per_s * n_at_once);
}

/* How many let two turns fit in the budget; below MIN_STEPS they do not. */
static double affordable_steps(const struct sweep *s, double step_s)
{
    const double n_launches = (double)s->campaign.n_points * (s->campaign.is_virtual ? 1 : N_TURNS);

    return s->budget_s / n_launches / step_s - PROBE_STEPS;
}

/* The longest step of the points of a model. */
static double slowest_step_seconds(const struct sweep *s, const struct workload *model, double flops_per_s)
{
    double slowest_s = 0;

    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (p->workload == model && step_seconds(s, p, flops_per_s) > slowest_s)
            slowest_s = step_seconds(s, p, flops_per_s);
    }
    return slowest_s;
}

void sweep_set_steps(struct sweep *s, double flops_per_s)
{
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct point *p = &s->campaign.point[i];
        p->n_steps = s->train.steps;
        if ((point_value(p, "steps") && text_to_u64(point_value(p, "steps"), &p->n_steps)) || p->n_steps > 0)
            continue;
        const double slowest_s = slowest_step_seconds(s, p->workload, flops_per_s);
        p->n_steps = p->default_steps;
        if (slowest_s > SLOW_S && affordable_steps(s, slowest_s) < (double)p->n_steps) {
            const double n_steps = affordable_steps(s, slowest_s);
            p->over_budget = n_steps < MIN_STEPS;
            p->n_steps = p->over_budget ? MIN_STEPS : (uint64_t)n_steps;
        }
    }
}

enum rc sweep_choose_steps(struct sweep *s)
{
    double flops_per_s = 0;
    enum rc rc = RC_OK;

    if (s->train.steps == 0)
        TRY(gemm_flops_per_s(&flops_per_s));
    sweep_set_steps(s, flops_per_s);
out:
    return rc;
}
