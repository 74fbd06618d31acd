/* SPDX-License-Identifier: Apache-2.0 */
/* job_overlap.c - see job_overlap.h. */
#include "harness/train/job_overlap.h"

#include <stdio.h>
#include <string.h>

#include "harness/exchange/buckets.h"
#include "harness/exchange/collective.h"
#include "harness/train/alternation.h"
#include "harness/train/exchange_plan.h"
#include "harness/train/job_work.h"

static bool is_auto(const char *value)
{
    return strcmp(value, "auto") == 0;
}

static const char one_host[] = "all workers are on one host";

/* NULL: nothing of the options stands in the way. */
static const char *why_off(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const struct {
        bool is_so;
        const char *why;
    } rule[] = {
        { !(job->mode->module.caps & MODE_COLLECTIVE), "was not measured to be faster with parameter servers" },
        { !train_exchanges(job) || job->n_workers == 1, "nothing crosses between workers" },
        { !(job->world->module.caps & (WORLD_LAUNCHED | WORLD_VIRTUAL_TIME)), one_host },
        { job->collective && job->collective->module.caps & COLL_DEVICE,
          "was not measured to be faster where the reducer sums on the device" },
        { o->average_every > 0, "--average-every averages parameters behind the step" },
        { o->trajectory[0] != '\0', "--trajectory wants the parameters that a step begins with" },
        { alternation_is_on(job) && strcmp(o->priority, "on") == 0, "--alternate-exchange goes with --priority off" },
    };

    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].is_so)
            return rule[i].why;
    return NULL;
}

static enum rc has_pieces(bool *out, const struct train_job *job)
{
    struct buckets b = { 0 };
    enum rc rc;

    TRY(buckets_open_cut(&b, job->segment, job->n_segments, &job->exchange.buckets, job->shard.n_common_params));
    *out = b.n_pieces > 1;
out:
    buckets_close(&b);
    return rc;
}

/* Would a module in use refuse a task that sends beside the main one? Then its message is the reason. */
static bool is_refused(const struct train_job *job)
{
    struct job_facts facts = train_job_facts(job);

    facts.sends_in_tasks = true;
    return module_check_all(&job->opts.modules, train_kinds, job->used, &facts) != RC_OK;
}

enum rc job_overlap_resolve(struct train_job *job)
{
    const char *why;
    bool is_cut = false;
    enum rc rc = RC_OK;

    job->may_overlap = false;
    job->overlap_reason[0] = '\0';
    if (!is_auto(job->opts.overlap) || !mode_exchanges(&job->mode->module))
        return RC_OK;
    why = why_off(job);
    if (!why) {
        TRY(has_pieces(&is_cut, job));
        why = !is_cut ? "the gradients are one piece" : is_refused(job) ? rc_message() : NULL;
    }
    job->may_overlap = !why;
    if (why)
        snprintf(job->overlap_reason, sizeof job->overlap_reason, "%s", why);
out:
    return rc;
}

struct overlap_choice job_overlap_choose(const struct train_job *job, int n_hosts, bool tasks_may_send,
                                         const char *mpi_level)
{
    const struct exchange_opts *x = &job->exchange;
    struct overlap_choice c = { .overlaps = x->overlap, .by_priority = x->priority };

    memcpy(c.reason, job->overlap_reason, sizeof c.reason);
    if (!job->may_overlap)
        return c;
    if (n_hosts == 1)
        snprintf(c.reason, sizeof c.reason, "%s", one_host);
    else if (!tasks_may_send)
        snprintf(c.reason, sizeof c.reason, "MPI grants %s, so that a task beside the main one cannot send",
                 mpi_level ? mpi_level : "too little");
    else
        snprintf(c.reason, sizeof c.reason, "workers are on %d hosts", n_hosts);
    c.overlaps = n_hosts > 1 && tasks_may_send;
    if (is_auto(job->opts.priority))
        c.by_priority = c.overlaps && !alternation_is_on(job) && !job->shard.pieces_differ;
    return c;
}

void record_overlap(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const struct overlap_choice *c = &result->overlap;
    const bool exchanges = train_exchanges(job);

    record_text(r, "overlap", !exchanges ? NULL : c->overlaps ? "on" : "off");
    record_text(r, "priority", !exchanges ? NULL : c->by_priority ? "on" : "off");
    record_text(r, "overlap_reason", exchanges && c->reason[0] ? c->reason : NULL);
}
