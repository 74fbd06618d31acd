/* SPDX-License-Identifier: Apache-2.0 */
/* accept.c - a complete acceptance test, run on every rank; see accept.h. */
#include "harness/accept/accept.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/hold.h"

static const struct stage {
    stage_fn *run;
    double weight;  /* its part of the time of a short test, about */
    bool loses_own; /* a rank that inject.h orders to be lost in it is, inside */
} stages[ACCEPT_N_STAGES] = {
    [ACCEPT_PREFLIGHT] = { stage_preflight, 1 },
    [ACCEPT_COMPUTE] = { stage_compute, 4 },
    [ACCEPT_NOISE] = { stage_noise, 2 },
    [ACCEPT_PAIRWISE] = { stage_pairwise, 10, true },
    [ACCEPT_COLLECTIVES] = { stage_collectives, 4, true },
    [ACCEPT_PS] = { stage_ps, 4 },
    [ACCEPT_TRAINING] = { stage_training, 8, true },
    [ACCEPT_INTEGRITY] = { stage_integrity, 4, true },
    [ACCEPT_SOAK] = { stage_soak, 0, true },
};

struct run { /* of this rank */
    const struct accept_terms *terms;
    struct stage_env env;
    double done_weight, stage_weight, all_weight;
    double told_ratio; /* what was last shown; a stage that trains twice counts once */
    const char *stage_name;
};

static double weight_of(const struct criteria *c, int s)
{
    enum { SECONDS_OF_A_MINUTE = 60 };

    return !c->runs[s] ? 0 : s == ACCEPT_SOAK ? SECONDS_OF_A_MINUTE * c->soak_minutes : stages[s].weight;
}

static void tell(void *arg, double done_ratio, const char *what)
{
    struct run *run = arg;
    const double done = run->done_weight + done_ratio * run->stage_weight;
    char text[128];

    if (!run->env.out || !run->terms->progress)
        return;
    snprintf(text, sizeof text, "%s%s%s", run->stage_name, what && what[0] ? ": " : "", what ? what : "");
    run->told_ratio = fmax(run->told_ratio, run->all_weight > 0 ? done / run->all_weight : 0);
    run->terms->progress(run->terms->arg, run->told_ratio, text);
}

static void describe(struct acceptance *a, const struct stage_env *env)
{
    const struct fleet *f = env->fleet;
    const struct world *w = env->world;
    char fault[64];

    a->is_virtual = w->ops->module.caps & WORLD_VIRTUAL_TIME;
    snprintf(a->cluster_name, sizeof a->cluster_name, "%s", env->criteria->name);
    snprintf(a->world, sizeof a->world, "%s", w->ops->module.name);
    snprintf(a->transport, sizeof a->transport, "%s", env->transport->module.name);
    snprintf(a->compute, sizeof a->compute, "%s", env->backend->module.name);
    for (int i = 0; i < env->inject->n_faults; i++) {
        const size_t n = strlen(a->injected);
        const struct fault *ordered = &env->inject->fault[i];
        const bool has_stage =
            (ordered->kind == FAULT_KILL || ordered->kind == FAULT_STALL) && ordered->stage == ACCEPT_PAIRWISE;
        inject_text(fault, sizeof fault, ordered);
        snprintf(a->injected + n, sizeof a->injected - n, "%s%s%s", n > 0 ? "," : "", fault,
                 has_stage ? "@pairwise" : ""); /* the default, which inject_text() leaves out */
    }
    if (env->inject->noise_ratio > 0) {
        const size_t n = strlen(a->injected);
        snprintf(a->injected + n, sizeof a->injected - n, "%snoise %g", n > 0 ? "," : "", env->inject->noise_ratio);
    }
    fleet_describe(a, f);
}

/* accept.A2. Rank 0: why the stage has not ended; NULL: it says so itself. */
static void note_end(struct acceptance *a, const struct world *w, int s, const char *why)
{
    if (why)
        snprintf(a->stage[s].why, sizeof a->stage[s].why, "%s", why);
    a->lost_rank = world_lost_rank(w);
    for (int later = s + 1; later < ACCEPT_N_STAGES; later++)
        if (a->stage[later].outcome != OUTCOME_SKIPPED)
            snprintf(a->stage[later].why, sizeof a->stage[later].why, "the test ended in stage %s",
                     accept_stage_name((enum accept_stage)s));
}

/* Rank 0: how long the stage took, and why it ended before its work was done, if it did. */
static void note_stage(struct run *run, int s, uint64_t started_ns)
{
    struct stage_state *state = &run->env.out->stage[s];

    state->took_s = (double)(world_now_ns(run->env.world) - started_ns) / 1e9;
    if (run->env.ended[0] && !state->why[0])
        snprintf(state->why, sizeof state->why, "%s", run->env.ended);
}

/* One stage. *goes_on: another may follow; the same on all ranks that are left. */
static enum rc run_stage(struct run *run, int s, bool *goes_on)
{
    struct stage_env *env = &run->env;
    const uint64_t started_ns = world_now_ns(env->world);
    enum rc rc;

    run->stage_name = accept_stage_name((enum accept_stage)s);
    run->stage_weight = weight_of(env->criteria, s);
    env->started_ns = started_ns; /* of its limit of time; the soak sets it anew for each training */
    env->ended[0] = '\0';
    if (env->out)
        env->out->stage[s].was_run = true;
    tell(run, 0, "");
    hold_at("stage", env->world->rank, (uint64_t)s);
    if (!stages[s].loses_own)
        inject_now(env->inject, env->world, (enum accept_stage)s);
    rc = stages[s].run(env);
    if (env->out)
        note_stage(run, s, started_ns);
    if (rc == RC_OK) { /* a stage at its limit of time ends alone, a signal ends the test */
        env->started_ns = world_now_ns(env->world);
        env->ended[0] = '\0';
        rc = stage_goes_on(env, true, goes_on);
    }
    run->done_weight += run->stage_weight;
    return rc;
}

static enum rc run_stages(struct run *run)
{
    struct acceptance *a = run->env.out;
    struct world *w = run->env.world;
    bool goes_on = true;
    enum rc rc = RC_OK;

    if (a && run->terms->keep) /* accept.A3 */
        run->terms->keep(run->terms->arg, a);
    for (int s = 0; s < ACCEPT_N_STAGES && goes_on; s++) {
        if (!run->env.criteria->runs[s])
            continue;
        rc = run_stage(run, s, &goes_on);
        if (a && (rc != RC_OK || !goes_on))
            note_end(a, w, s, rc != RC_OK ? rc_message() : NULL);
        if (rc == RC_PEER && world_lost_rank(w) >= 0) { /* accept.A2 */
            rc = RC_OK;
            goes_on = false;
        }
        if (a && run->terms->keep) /* accept.A3 */
            run->terms->keep(run->terms->arg, a);
        TRY(rc);
    }
    run->stage_weight = 0;
    tell(run, 0, "");
    if (a)
        a->is_partial = a->stop_signal != 0;
out:
    return rc;
}

/* Longer than a rank may be silent: who is lost is named, before a message of it is missed. */
static int message_limit_ms(const struct accept_terms *terms)
{
    const double s = fmax(terms->criteria->stage_limit_s, 2 * terms->stall_abort_s), most_s = 1e6;

    return (int)(1000 * fmin(s, most_s));
}

enum rc accept_check(struct world *w, const struct accept_terms *terms)
{
    struct fleet fleet = { 0 };
    enum rc rc;

    TRY(fleet_open(&fleet, w, terms->node_per_rank));
    TRY(inject_check(terms->inject, fleet.n_nodes, fleet.n_ranks));
out:
    fleet_close(&fleet);
    return rc;
}

enum rc accept_rank(struct world *w, struct compute *compute, int n_threads, const struct accept_terms *terms,
                    struct acceptance *out)
{
    const bool is_virtual = w->ops->module.caps & WORLD_VIRTUAL_TIME;
    struct criteria criteria = *terms->criteria;
    struct fleet fleet = { 0 };
    struct run run = { .terms = terms,
                       .stage_name = "",
                       .env = { .world = w,
                                .fleet = &fleet,
                                .criteria = &criteria,
                                .inject = terms->inject,
                                .transport = terms->transport,
                                .backend = terms->backend,
                                .cluster = is_virtual ? terms->cluster : NULL,
                                .compute = compute,
                                .n_threads = n_threads,
                                .timeout_ms = is_virtual ? WAIT_FOREVER : message_limit_ms(terms),
                                .seed = terms->seed,
                                .wait = terms->wait,
                                .progress = tell,
                                .soaked = terms->soaked,
                                .soaked_arg = terms->arg } };
    enum rc rc;

    run.env.progress_arg = &run;
    TRY(fleet_open(&fleet, w, terms->node_per_rank));
    criteria_for_nodes(&criteria, fleet.n_nodes);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        run.all_weight += weight_of(terms->criteria, s);
    if (w->rank == 0) {
        TRY(acceptance_open(out, fleet.n_nodes, fleet.n_ranks));
        run.env.out = out;
        out->is_partial = true;
        describe(out, &run.env);
        for (int s = 0; s < ACCEPT_N_STAGES; s++)
            out->stage[s].outcome = terms->criteria->runs[s] ? OUTCOME_NO_DATA : OUTCOME_SKIPPED;
    }
    TRY(run_stages(&run));
out:
    fleet_close(&fleet);
    return rc;
}
