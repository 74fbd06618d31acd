/* SPDX-License-Identifier: Apache-2.0 */
/* job_ranks.c - see job_ranks.h. */
#include "harness/train/job_ranks.h"

#include <stdio.h>

int train_default_servers(bool colocate, int n_workers)
{
    if (!colocate)
        return 1;
    return n_workers < TRAIN_MAX_SERVERS ? n_workers : TRAIN_MAX_SERVERS;
}

/* Under a launcher, without --workers: the ranks that are no servers. */
static enum rc workers_of_launched(struct train_opts *o, bool has_servers, uint64_t n_launched)
{
    const bool shares_evenly = has_servers && o->colocate && o->servers == 0;
    const uint64_t n_servers = !has_servers ? 0 : o->servers > 0 ? o->servers : 1;

    if (shares_evenly && n_launched % 2 > 0)
        return rc_raise(RC_INVAL,
                        "--colocate: %llu ranks were launched, which are not as many workers as servers; launch an "
                        "even number, or give --servers",
                        (unsigned long long)n_launched);
    if (n_launched <= n_servers)
        return rc_raise(RC_INVAL, "--mode %s: %llu ranks were launched, %llu servers and a worker need %llu", o->mode,
                        (unsigned long long)n_launched, (unsigned long long)n_servers,
                        (unsigned long long)n_servers + 1);
    o->workers = shares_evenly ? n_launched / 2 : n_launched - n_servers;
    return RC_OK;
}

static enum rc wrong_launch(const struct train_job *job, int n_launched)
{
    const bool one_each = job->opts.colocate && job->has_default_servers;
    const int n_left = n_launched - job->n_drivers - job->n_workers;
    char servers[64] = "";

    if (one_each && n_left >= 1 && n_left <= job->n_workers)
        snprintf(servers, sizeof servers, ", or give --servers %d", n_left);
    return rc_raise(RC_INVAL, "--workers %d: with %d server%s%s%s that is %d ranks, but %d were launched; launch %d%s",
                    job->n_workers, job->n_servers, job->n_servers == 1 ? "" : "s",
                    one_each ? ", one beside each worker," : "", job->n_drivers > 0 ? " and the driver" : "",
                    train_n_ranks(job), n_launched, train_n_ranks(job), servers);
}

enum rc job_ranks_resolve(struct train_job *job, int n_given_ranks)
{
    struct train_opts *o = &job->opts;
    const bool launched = job->world->module.caps & WORLD_LAUNCHED;
    const bool has_servers = job->mode->module.caps & MODE_SERVERS;
    const int n_launched = n_given_ranks > 0 ? n_given_ranks : 1;
    enum rc rc = RC_OK;

    if (launched && n_launched <= job->n_drivers)
        FAIL(RC_INVAL, "--input feed: 1 rank was launched, a worker and the driver are 2");
    if (launched && o->workers == 0)
        TRY(workers_of_launched(o, has_servers, (uint64_t)(n_launched - job->n_drivers)));
    if (o->workers == 0)
        o->workers = 1;
    if (!has_servers)
        o->servers = 0;
    else if (o->servers == 0) {
        job->has_default_servers = true;
        o->servers = (uint64_t)train_default_servers(o->colocate, (int)o->workers);
    }
    if (job->mode->module.caps & MODE_ONE_WORKER && o->workers != 1)
        FAIL(RC_INVAL,
             "--workers %llu: mode %s has one worker; use --mode allreduce or --mode ps (--mode none: no exchange, for "
             "comparison)",
             (unsigned long long)o->workers, o->mode);
    if (o->colocate && o->servers > o->workers)
        FAIL(RC_INVAL,
             "--servers %llu --colocate: one server lives beside a worker, and there %s %llu worker%s; give "
             "--servers %llu at most, or more --workers",
             (unsigned long long)o->servers, o->workers == 1 ? "is" : "are", (unsigned long long)o->workers,
             o->workers == 1 ? "" : "s", (unsigned long long)o->workers);
    job->n_workers = (int)o->workers;
    job->n_servers = (int)o->servers;
    job->n_ranks = job->n_workers + job->n_servers;
    if (launched && train_n_ranks(job) != n_launched)
        TRY(wrong_launch(job, n_launched));
out:
    return rc;
}
