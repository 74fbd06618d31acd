/* SPDX-License-Identifier: Apache-2.0 */
/* job_servers.c - placement and consistency of a job, and the name of the tensor that makes a server the hottest. */
#include "harness/train/job_servers.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/world/world.h"
#include "models/engine/network.h"
#include "models/replay/profile.h"

#define ALIKE_RATIO 1.01 /* servers that hold no more than this times the mean */

static bool has_servers(const struct train_job *job)
{
    return job->mode->module.caps & MODE_SERVERS;
}

/* What --replicas does not go with: NULL, it is right. */
static const char *why_no_heirs(const struct train_job *job)
{
    if (job->n_servers < 2)
        return "2 servers or more would be right";
    if (strcmp(job->opts.on_loss, "report") != 0 && !job->opts.elastic) /* which implies it */
        return "with --on-loss abort the loss of a server ends the run; --on-loss report continues";
    return NULL;
}

/* In place of a server that is lost. */
static enum rc parse_heirs(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const char *why = why_no_heirs(job);

    job->exchange.n_replicas = (int)o->replicas;
    if (o->replicas > 0 && why)
        return rc_raise(RC_INVAL, "--servers %d --replicas 1: %s", job->n_servers, why);
    return RC_OK;
}

/* --in-flight; 0: rank_choose_flight() has to choose. */
static enum rc parse_in_flight(struct train_job *job)
{
    const int most = job->mode->most_in_flight;

    if (job->opts.in_flight > (uint64_t)most)
        return rc_raise(RC_INVAL, "--in-flight %llu: a worker of mode %s pushes and pulls %d pieces at once at most",
                        (unsigned long long)job->opts.in_flight, job->opts.mode, most);
    job->exchange.n_in_flight = (int)job->opts.in_flight;
    return RC_OK;
}

enum rc job_servers_parse(struct train_job *job)
{
    const struct module *rule;
    enum rc rc = RC_OK;

    if (!has_servers(job))
        return RC_OK;
    TRY(placement_parse(&job->exchange.placement, job->opts.placement));
    TRY(consistency_parse(&job->exchange.consistency, job->opts.consistency));
    TRY(consistency_check(&job->exchange.consistency, job->n_workers));
    TRY(module_find(&rule, &lr_staleness_kind, job->opts.lr_staleness));
    job->exchange.lr_staleness = lr_staleness_of(rule);
    TRY(parse_heirs(job));
    TRY(parse_in_flight(job));
out:
    return rc;
}

/* With overlap and priority workers take their pieces in orders of their own. */
enum rc job_servers_check(const struct train_job *job)
{
    const struct exchange_opts *x = &job->exchange;
    const bool waits_in_a_step = x->consistency.kind == CONSISTENCY_SYNC ||
                                 (x->consistency.kind == CONSISTENCY_SSP && x->consistency.bound_count == 0);

    if (waits_in_a_step && x->overlap && x->priority && job->n_workers > 1)
        return rc_raise(RC_INVAL,
                        "--priority on: with --overlap on and --consistency %s workers would wait for each other's "
                        "pieces in other orders; needs --priority off, async, or ssp:1 and more",
                        job->opts.consistency);
    return RC_OK;
}

/* Of a stage of the profile: the tensors before its own. */
static size_t tensors_before(const struct train_job *job)
{
    const struct job_stages *s = &job->stages;
    const int end = s->number > 0 ? s->env.cuts.end[s->number - 1] : 0;
    size_t n = 0;

    for (int i = 0; i < end; i++)
        n += (size_t)job->profile->layer[i].n_tensors;
    return n;
}

/* Tensor number `index` of the profile: its name, which most begin with that of the layer. */
static void name_in_profile(char *out, size_t n_bytes, const struct profile *p, size_t index)
{
    for (int i = 0; i < p->n_layers; i++) {
        const struct profile_layer *l = &p->layer[i];
        if (index < (size_t)l->n_tensors) {
            const char *name = l->tensor[index].name;
            snprintf(out, n_bytes, "%s%s%s", strchr(name, '/') ? "" : l->name, strchr(name, '/') ? "" : "/", name);
            return;
        }
        index -= (size_t)l->n_tensors;
    }
}

void job_tensor_name(char *out, size_t n_bytes, const struct train_job *job, const struct network *n, size_t index)
{
    if (n)
        snprintf(out, n_bytes, "%s", n->segment_name[index]);
    else if (job->profile)
        name_in_profile(out, n_bytes, job->profile, tensors_before(job) + index);
    else
        snprintf(out, n_bytes, "tensor %zu", index);
}

/* Where nobody gave their number: why there are so many. rc of what refused them, which names --servers. */
static enum rc explain_servers(const struct train_job *job, enum rc rc)
{
    char why[RC_MESSAGE_BYTES];

    if (rc != RC_INVAL || !job->has_default_servers || !job->opts.colocate)
        return rc;
    (void)snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "--colocate: without --servers there is one beside each of %d workers: %.400s", job->n_workers,
                    why);
}

enum rc job_servers_resolve(struct train_job *job, const struct network *n)
{
    enum rc rc = RC_OK;

    if (!has_servers(job))
        return RC_OK;
    if ((size_t)job->n_servers > job->n_params)
        TRY(explain_servers(job, rc_raise(RC_INVAL,
                                          "--servers %d: model %s has only %zu parameters to share out; give "
                                          "--servers %zu at most",
                                          job->n_servers, job->opts.model, job->n_params, job->n_params)));
    TRY(explain_servers(
        job, placement_open(&job->placement, &job->exchange.placement, job->segment, job->n_segments, job->n_servers)));
    job->hot_spot = placement_hot_spot(&job->placement, job->segment, job->n_segments);
    job_tensor_name(job->hot_tensor, sizeof job->hot_tensor, job, n, job->hot_spot.segment);
out:
    return rc;
}

void job_placement_text(char *out, size_t n_bytes, const struct train_job *job)
{
    const struct hot_spot *hot = &job->hot_spot;
    char placement[PLACEMENT_TEXT_BYTES];

    placement_text(placement, sizeof placement, &job->exchange.placement);
    if (hot->imbalance_ratio < ALIKE_RATIO) {
        snprintf(out, n_bytes, "%s, %.4g MB on each of %d servers", placement,
                 (double)job->n_params * sizeof(float) * 1e-6 / job->n_servers, job->n_servers);
        return;
    }
    snprintf(out, n_bytes, "%s, server %d holds most: %.4g MB, %.3g x the mean, of which %s is %.1f %%", placement,
             hot->server, (double)hot->n_elems * sizeof(float) * 1e-6, hot->imbalance_ratio, job->hot_tensor,
             100 * (double)hot->n_segment_elems / (double)hot->n_elems);
}
