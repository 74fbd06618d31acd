/* SPDX-License-Identifier: Apache-2.0 */
/* local_sgd.c - see local_sgd.h. */
#include "harness/train/local_sgd.h"

#include <string.h>

#include "harness/base/text.h"
#include "harness/exchange/collective.h"

/* NULL: it means something. */
static const char *why_not(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;

    if (job->n_workers == 1)
        return "there is one worker, whose parameters are the mean; --workers 2";
    if (job->omitted & OMIT_AVERAGE)
        return "--omit average leaves out what this does";
    if (strcmp(o->overlap, "on") == 0)
        return "parameters are averaged behind the step, and nothing is left to overlap; --overlap off";
    if (job->collective->module.caps & COLL_DEVICE)
        return "this reducer sums gradients on the device; --reducer ring";
    if (job->on_loss == ON_LOSS_REPORT)
        return "workers have no step in common to go back to; --on-loss abort";
    if ((o->save[0] || o->resume[0]) && o->momentum != 0)
        return "every worker has a momentum of its own, which no checkpoint holds; --momentum 0";
    if ((o->save[0] || o->resume[0]) && optimizer_n_moments(&job->optimizer) > 0)
        return "every worker has an optimiser's state of its own, which no checkpoint holds; --optimizer sgd";
    return NULL;
}

enum rc local_sgd_check(const struct train_job *job)
{
    const unsigned long long every = job->opts.average_every, n_steps = job->opts.steps;
    const unsigned long long save_every = job->opts.save_every;
    char fitting[48];

    if (every == 0)
        return RC_OK;
    const char *why = why_not(job);
    if (why)
        return rc_raise(RC_INVAL, "--average-every %llu: %s", every, why);
    text_near_multiples(fitting, sizeof fitting, save_every, every);
    if (save_every % every != 0)
        return rc_raise(RC_INVAL,
                        "--save-every %llu: is no multiple of --average-every %llu; in between workers have no "
                        "parameters in common; %s would be right",
                        save_every, every, fitting);
    if (job->opts.save[0] && n_steps % every != 0)
        return rc_raise(RC_INVAL,
                        "--steps %llu: is no multiple of --average-every %llu, so that no run can go on from "
                        "what --save writes as if it had not ended; %llu would be right",
                        n_steps, every, n_steps + every - n_steps % every);
    return RC_OK;
}

enum rc local_sgd_check_resume(const struct train_job *job)
{
    const unsigned long long every = job->opts.average_every, n_steps = job->resume.steps_count;

    if (every == 0 || n_steps % every == 0)
        return RC_OK;
    return rc_raise(RC_INVAL, "--resume %s: ended after %llu steps, between two averages of --average-every %llu",
                    job->opts.resume, n_steps, every);
}

bool local_sgd_may_stop(const struct train_job *job, size_t n_steps)
{
    const uint64_t every = job->opts.average_every;

    return every == 0 || job->opts.save[0] == '\0' || (job->resume.steps_count + n_steps) % every == 0;
}
