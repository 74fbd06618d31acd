/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - what stages have in common: whether another repeat follows, and where values of ranks go. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/stages.h"
#include "harness/world/stop.h"

/* "" := why a stage that has more to do is not to go on. */
static void find_reason(struct stage_env *env, int signal)
{
    const double took_s = 1e-9 * (double)(world_now_ns(env->world) - env->started_ns);

    if (signal != 0)
        snprintf(env->ended, sizeof env->ended, "stopped by %s", stop_signal_name(signal));
    else if (env->criteria->stage_limit_s > 0 && took_s > env->criteria->stage_limit_s)
        snprintf(env->ended, sizeof env->ended, "ended after %.3g s, at the limit of stage_limit_s: %g", took_s,
                 env->criteria->stage_limit_s);
}

enum rc stage_part_goes_on(struct stage_env *env, struct world *part, bool wants, bool *out)
{
    const int own = stop_signal();
    int *signal = NULL, first = 0;
    enum rc rc = RC_OK;

    if (part->rank == 0) {
        signal = calloc((size_t)part->n_ranks, sizeof *signal);
        if (!signal)
            FAIL(RC_NOMEM, "no memory for the signals of %d ranks", part->n_ranks);
    }
    TRY(world_gather(part, &own, signal, sizeof own));
    *out = wants;
    if (signal) {
        for (int r = part->n_ranks - 1; r >= 0; r--)
            first = signal[r] != 0 ? signal[r] : first;
        if (first != 0 && env->out)
            env->out->stop_signal = first;
        if (wants)
            find_reason(env, first);
        *out = wants && !env->ended[0];
    }
    TRY(world_broadcast(part, out, sizeof *out));
out:
    free(signal);
    return rc;
}

enum rc stage_goes_on(struct stage_env *env, bool wants, bool *out)
{
    return stage_part_goes_on(env, env->world, wants, out);
}

enum rc stage_keep_metric(struct stage_env *env, int metric, const double *value, int n_repeats)
{
    const size_t n_bytes = (size_t)n_repeats * sizeof *value;
    double *all = NULL;
    enum rc rc = RC_OK;

    if (env->world->rank == 0) {
        TRY(acceptance_add_metric(env->out, metric, n_repeats));
        all = env->out->metric[metric].value;
    }
    TRY(world_gather(env->world, value, all, n_bytes));
out:
    return rc;
}

enum rc stage_keep_wrong(struct stage_env *env, enum accept_stage stage, size_t n_bytes, struct wrong_sum *own,
                         int n_checks)
{
    struct world *w = env->world;
    struct acceptance *a = env->out;
    struct wrong_sum *all = NULL;
    enum rc rc = RC_OK;

    if (!env->backend->touches_memory)
        return RC_OK;
    own->stage = stage;
    own->n_bytes = n_bytes;
    own->rank = w->rank;
    if (a) {
        all = calloc((size_t)w->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the sums of %d ranks", w->n_ranks);
        *(stage == ACCEPT_PS ? &a->pull_checks_count : &a->sum_checks_count) += (uint64_t)n_checks;
    }
    TRY(world_gather(w, own, all, sizeof *own));
    for (int r = 0; all && r < w->n_ranks; r++)
        if (all[r].n_wrong > 0)
            TRY(acceptance_add_wrong_sum(a, &all[r]));
out:
    free(all);
    *own = (struct wrong_sum){ .n_wrong = 0 };
    return rc;
}

void stage_why(struct stage_env *env, enum accept_stage stage, const char *fmt, ...)
{
    va_list args;

    if (!env->out)
        return;
    va_start(args, fmt);
    (void)vsnprintf(env->out->stage[stage].why, sizeof env->out->stage[stage].why, fmt, args);
    va_end(args);
}

void stage_progress(struct stage_env *env, double done_ratio, const char *fmt, ...)
{
    char what[128];
    va_list args;

    if (!env->progress || env->world->rank != 0)
        return;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    env->progress(env->progress_arg, done_ratio, what);
}
