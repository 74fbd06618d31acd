/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate.c - predictions for models on a described cluster, for every way to exchange and every number of GPUs; see
 * simulate.h.
 */
#include "harness/campaign/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"

/* --- planning --- */

static enum rc find_counts(struct simulate *s)
{
    const char *gpus = s->terms->gpus;
    char item[64];
    uint64_t n;
    enum rc rc = RC_OK;

    while (text_next(&gpus, item, sizeof item)) {
        if (!text_to_u64(item, &n) || n < 1 || n > ROW_MAX_GPUS)
            FAIL(RC_INVAL, "--gpus %.40s: use a whole number from 1 to %d", item, (int)ROW_MAX_GPUS);
        if (s->n_counts > 0 && (int)n <= s->n_gpus[s->n_counts - 1])
            FAIL(RC_INVAL, "--gpus %s: does not rise after %d; use ascending numbers", item,
                 s->n_gpus[s->n_counts - 1]);
        if (s->n_counts == SIMULATE_MOST_COUNTS)
            FAIL(RC_INVAL, "--gpus: more than %d numbers; use fewer", (int)SIMULATE_MOST_COUNTS);
        s->n_gpus[s->n_counts++] = (int)n;
    }
    if (s->n_counts == 0)
        FAIL(RC_INVAL, "--gpus: is empty; use 1,2,4,8,16");
out:
    return rc;
}

static enum rc find_clusters(struct simulate *s)
{
    const struct simulate_terms *t = s->terms;
    struct cluster_wish wish = { .name = t->cluster, .transport = "" };
    enum rc rc;

    TRY(used_cluster_open(&s->cluster[s->n_clusters], "cluster", &wish, t->cluster_set));
    s->n_clusters++;
    if (strcmp(t->ps_transport, "cluster") != 0) {
        wish.transport = t->ps_transport;
        TRY(used_cluster_open(&s->cluster[s->n_clusters], "cluster", &wish, t->cluster_set));
        s->n_clusters++;
    }
out:
    return rc;
}

struct simulated_run simulate_run_of(const struct simulate *s, const struct simulate_point *p)
{
    const struct simulate_terms *t = s->terms;
    const struct simulate_way *w = &s->way[p->way];

    return (struct simulated_run){
        .profile = &s->profiles.profile[p->profile],
        .cluster = &s->cluster[w->cluster],
        .cluster_set = t->cluster_set,
        .variation = "",
        .mode = w->mode,
        .reducer = w->reducer,
        .placement = w->placement,
        .consistency = w->consistency,
        .overlap = t->overlap,
        .bucket_bytes = row_mode_has_servers(w->mode) ? 0 : t->bucket_bytes,
        .n_gpus = p->n_gpus,
        .n_servers = p->n_servers,
        .batch = s->profiles.profile[p->profile].batch,
        .seed = 0,
    };
}

struct simulated_run simulate_alone_of(const struct simulated_run *run)
{
    struct simulated_run alone = *run;

    alone.mode = run->mode == ROW_NONE ? ROW_NONE : ROW_COLLECTIVE;
    alone.reducer = row_mode_has_servers(run->mode) ? "" : run->reducer;
    alone.n_gpus = 1;
    alone.n_servers = 0;
    return alone;
}

/* The message that rc_raise() kept, of a number of GPUs. */
static enum rc at_count(enum rc rc, const struct simulate_way *w, int n_gpus)
{
    char name[SIMULATE_WAY_BYTES];

    simulate_way_name(name, sizeof name, w);
    return rc_prefix(rc, "--gpus %d, %s: ", n_gpus, name);
}

/* What the simulation would refuse (M2). */
enum rc simulate_check_point(const struct simulate *s, const struct simulate_point *p)
{
    const struct simulate_way *w = &s->way[p->way];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    struct consistency c;
    enum rc rc;

    if (!row_mode_has_servers(w->mode))
        return simulated_check_hosts(&s->cluster[w->cluster], w->reducer, p->n_gpus);
    TRY(consistency_parse(&c, w->consistency));
    TRY(consistency_check(&c, p->n_gpus));
    if (p->n_servers > simulated_most_servers(profile, w->placement))
        FAIL(RC_INVAL, "%s has %zu tensors, which %s leaves whole; use at most %zu servers", profile->model,
             profile->n_tensors, w->placement, profile->n_tensors);
out:
    return rc;
}

static uint64_t n_messages(const struct simulate_point *p)
{
    return (uint64_t)p->n_gpus * (uint64_t)p->n_servers;
}

static bool is_too_many(const struct simulate_point *p)
{
    return n_messages(p) > SIMULATE_MOST_MESSAGES;
}

static void leave_out(struct simulate *s, const struct simulate_point *p)
{
    if (s->n_left_out == 0 || n_messages(p) < s->least_left_out)
        s->least_left_out = n_messages(p);
    s->n_left_out++;
}

bool simulate_fits(const struct simulate *s, const struct simulate_point *p)
{
    const struct cluster *c = &s->cluster[s->way[p->way].cluster].cluster;

    return cluster_check(c, p->n_gpus, p->n_gpus + p->n_servers) == RC_OK && simulate_check_point(s, p) == RC_OK &&
           !is_too_many(p);
}

enum rc simulate_add_point(struct simulate *s, struct simulate_point p)
{
    struct simulated_run run, alone;
    struct simulate_point *more;
    enum rc rc = RC_OK;

    for (int seed = 0; seed < s->n_seeds; seed++) {
        run = simulate_run_of(s, &p);
        run.seed = s->n_seeds > 1 ? (uint64_t)seed + 1 : 0;
        alone = simulate_alone_of(&run);
        TRY(simulation_set_find(&p.together[seed], &s->simulations, &run));
        TRY(simulation_set_find(&p.alone[seed], &s->simulations, &alone));
    }
    more = realloc(s->point, (s->n_all_points + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a point");
    s->point = more;
    more[s->n_all_points++] = p;
out:
    return rc;
}

static enum rc add_point(struct simulate *s, struct simulate_point p)
{
    const struct simulate_way *w = &s->way[p.way];
    enum rc rc;

    p.n_servers = simulate_n_servers(s, w, p.profile, p.n_gpus);
    TRY(at_count(cluster_check(&s->cluster[w->cluster].cluster, p.n_gpus, p.n_gpus + p.n_servers), w, p.n_gpus));
    TRY(at_count(simulate_check_point(s, &p), w, p.n_gpus));
    if (is_too_many(&p))
        leave_out(s, &p);
    else
        TRY(simulate_add_point(s, p));
out:
    return rc;
}

static enum rc add_points(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (size_t way = 0; way < s->n_ways; way++)
            for (size_t i = 0; i < s->n_counts; i++)
                TRY(add_point(s, (struct simulate_point){ .profile = profile, .way = way, .n_gpus = s->n_gpus[i] }));
    s->n_points = s->n_all_points;
    if (s->n_points == 0)
        FAIL(RC_INVAL, "--servers %.60s: GPUs x servers is at least %llu; at most %d can be simulated",
             s->terms->servers, (unsigned long long)s->least_left_out, SIMULATE_MOST_MESSAGES);
out:
    return rc;
}

enum rc simulate_open(struct simulate *out, const char *folder, const struct simulate_terms *terms)
{
    struct simulate s = { .terms = terms, .folder = folder };
    enum rc rc;

    TRY(find_counts(&s));
    TRY(find_clusters(&s));
    s.n_seeds = simulate_is_random(&s.cluster[0].cluster) ? SIMULATE_USUAL_SEEDS : 1;
    s.n_seeds = terms->n_seeds > 0 ? (int)terms->n_seeds : s.n_seeds;
    TRY(simulate_find_ways(&s));
    TRY(simulate_find_profiles(&s));
    TRY(used_profiles_check_all_used(&s.profiles, terms->profiles, "--models"));
    TRY(add_points(&s));
    TRY(simulate_add_what_ifs(&s));
    TRY(simulate_add_assumptions(&s));
    TRY(simulate_add_systems(&s));
    TRY(simulate_add_calibrated(&s));
    *out = s;
    s = (struct simulate){ .terms = NULL };
out:
    simulate_close(&s);
    return rc;
}

/* --- results --- */

const char *simulate_failure(const struct simulate *s, const struct simulate_point *p)
{
    const struct simulation *simulation = s->simulations.simulation;

    for (int seed = 0; seed < s->n_seeds; seed++) {
        if (simulation[p->together[seed]].has_failed)
            return simulation[p->together[seed]].why;
        if (simulation[p->alone[seed]].has_failed)
            return simulation[p->alone[seed]].why;
    }
    return NULL;
}

static void forget_failed_systems(struct simulate *s)
{
    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++) {
            struct simulate_system *y = &s->system[profile][system];
            y->is_there &= !y->is_there || !simulate_failure(s, &s->point[y->point]);
        }
}

static void take_results(struct simulate *s, struct simulate_point *p)
{
    const struct simulation *simulation = s->simulations.simulation;
    double ratio[SIMULATE_MOST_SEEDS] = { 0 };

    p->step_s = p->exposed_s = 0;
    for (int seed = 0; seed < s->n_seeds; seed++) {
        const struct simulation *together = &simulation[p->together[seed]];
        ratio[seed] = simulation[p->alone[seed]].step_s / together->step_s;
        p->step_s += together->step_s / s->n_seeds;
        p->exposed_s += together->exposed_s / s->n_seeds;
    }
    p->efficiency = prediction_band_of(ratio, (size_t)s->n_seeds);
    p->images_per_s = p->efficiency.mean * p->n_gpus * s->profiles.profile[p->profile].images_per_s;
    if (!simulate_failure(s, p))
        p->bottleneck = bottleneck_find(&simulation[p->together[0]]);
}

enum rc simulate_run(struct simulate *s, const struct simulations_env *env)
{
    enum rc rc;

    TRY(simulations_run(s->simulations.simulation, s->simulations.n, env));
    for (size_t i = 0; i < s->n_all_points; i++)
        take_results(s, &s->point[i]);
    simulate_take_changes(s);
    simulate_widen_bands(s);
    forget_failed_systems(s);
out:
    return rc;
}

void simulate_close(struct simulate *s)
{
    for (size_t i = 0; i < s->n_clusters; i++)
        used_cluster_close(&s->cluster[i]);
    simulation_set_free(&s->simulations);
    used_profiles_free(&s->profiles);
    free(s->point);
    free(s->change);
    *s = (struct simulate){ .terms = NULL };
}
