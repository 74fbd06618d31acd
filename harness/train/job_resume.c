/* SPDX-License-Identifier: Apache-2.0 */
/* job_resume.c - see job_resume.h. */
#include "harness/train/job_resume.h"

#include <math.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/train/job_optimizer.h"
#include "harness/train/job_periods.h"
#include "harness/train/job_split.h"
#include "harness/train/local_sgd.h"

static bool are_finite(const float *value, size_t n)
{
    for (size_t i = 0; value && i < n; i++)
        if (!isfinite((double)value[i]))
            return false;
    return true;
}

/* A training that has diverged stays so, whatever its learning rate. */
static enum rc check_finite(const struct checkpoint *c, const char *path)
{
    const char *what = NULL;

    if (!are_finite(c->param, c->n_params))
        what = "parameters";
    else if (!are_finite(c->kept.moments, (size_t)optimizer_n_moments(&c->optimizer) * c->n_params))
        what = "optimizer's moments";
    else if (!are_finite(c->state, c->n_state))
        what = "running means and variances";
    if (!what)
        return RC_OK;
    return rc_raise(
        RC_INVAL,
        "--resume %s: its %s are not all finite numbers: that training diverged before step %llu; resume an "
        "earlier checkpoint, or begin again with a lower --lr",
        path, what, (unsigned long long)c->steps_count);
}

/* n_params, n_state: of the model, whatever stage of it the job is. */
static enum rc check_resume(const struct train_job *job, size_t n_params, size_t n_state)
{
    const struct checkpoint *c = &job->resume;
    const char *path = job->opts.resume;

    if (strcmp(c->model, job->opts.model) != 0)
        return rc_raise(RC_INVAL, "--resume %s: is of model %s, not %s", path, c->model, job->opts.model);
    if (c->n_params != n_params)
        return rc_raise(RC_INVAL, "--resume %s: has %zu parameters, model %s has %zu", path, c->n_params,
                        job->opts.model, n_params);
    if (c->n_state != n_state)
        return rc_raise(RC_INVAL, "--resume %s: has %zu running means and variances, model %s has %zu", path,
                        c->n_state, job->opts.model, n_state);
    if (c->seed != job->opts.seed)
        return rc_raise(RC_INVAL, "--resume %s: is of --seed %llu, not %llu", path, (unsigned long long)c->seed,
                        (unsigned long long)job->opts.seed);
    if (job->exchange.stop_at == 0 && c->steps_count >= job->opts.steps) /* else job_periods_check_resume() */
        return rc_raise(RC_INVAL, "--steps %llu: %s has done %llu already", (unsigned long long)job->opts.steps, path,
                        (unsigned long long)c->steps_count);
    return check_finite(c, path);
}

enum rc job_resume_resolve(struct train_job *job)
{
    const struct job_stages *s = &job->stages;
    const bool is_stage = s->env.cuts.n_stages > 1;
    enum rc rc = RC_OK;

    if (job->opts.resume[0]) {
        TRY(file_of_option(checkpoint_load(&job->resume, job->opts.resume), "resume"));
        TRY(check_resume(job, is_stage ? s->whole_params : job->n_params, is_stage ? s->whole_state : job->n_state));
        TRY(job_split_check_resume(job));
        TRY(job_optimizer_check_resume(job));
        TRY(job_periods_check_resume(job));
        TRY(local_sgd_check_resume(job));
        if (is_stage)
            TRY(checkpoint_cut(&job->resume, &s->part[s->number]));
    }
out:
    return rc;
}
