/* SPDX-License-Identifier: Apache-2.0 */
/* job_optimizer.c - see job_optimizer.h. */
#include "harness/train/job_optimizer.h"

#include <math.h>
#include <string.h>

#define USUAL_MOMENTUM 0.9

/* What --optimizer asks for; NULL: whatever the momentum means. */
static enum rc wanted(const struct module **out, const struct train_opts *o)
{
    *out = NULL;
    return strcmp(o->optimizer, "auto") == 0 ? RC_OK : module_find(out, &optimizer_modules, o->optimizer);
}

static double default_momentum(const struct module *wanted, const struct workload *model)
{
    if (!wanted)
        return model->default_momentum;
    if (!(wanted->caps & OPTIMIZER_HAS_MOMENTUM))
        return 0;
    return model->default_momentum > 0 ? model->default_momentum : USUAL_MOMENTUM;
}

static enum rc check(const struct module *m, const struct train_opts *o)
{
    const bool has_momentum = m->caps & OPTIMIZER_HAS_MOMENTUM;
    char names[64];

    module_names_with(names, sizeof names, &optimizer_modules, OPTIMIZER_HAS_MOMENTUM);
    if (!has_momentum && o->momentum != 0)
        return rc_raise(RC_INVAL, "--momentum %g: --optimizer %s has no velocity; needs --optimizer %s", o->momentum,
                        m->name, names);
    if (has_momentum && o->momentum == 0)
        return rc_raise(RC_INVAL, "--optimizer %s: with --momentum 0 it is --optimizer %s", m->name,
                        optimizer_of_momentum(0)->name);
    if (!has_momentum && strcmp(o->momentum_correction, "off") == 0)
        return rc_raise(RC_INVAL, "--momentum-correction off: --optimizer %s has no velocity; needs --optimizer %s",
                        m->name, names);
    return RC_OK;
}

enum rc job_optimizer_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    struct train_opts *o = &job->opts;
    const struct module *m;
    enum rc rc;

    TRY(wanted(&m, o));
    if (o->forward_only && opt_given(group, n_groups, "optimizer"))
        FAIL(RC_INVAL, "--optimizer: --forward-only updates no parameters");
    if (isnan(o->momentum))
        o->momentum = default_momentum(m, job->workload);
    if (!m)
        m = optimizer_of_momentum(o->momentum);
    TRY(check(m, o));
    o->optimizer = m->name;
    job->optimizer = optimizer_rule_of(m, module_options(&o->modules, train_kinds, m), o->momentum,
                                       strcmp(o->momentum_correction, "off") == 0);
    job->optimizer.weight_decay = o->weight_decay;
    job->used[TRAIN_OPTIMIZER] = o->forward_only ? NULL : m;
out:
    return rc;
}

static bool is_sgd(const struct optimizer_rule *rule)
{
    return rule->kind == OPTIMIZER_SGD || rule->kind == OPTIMIZER_MOMENTUM;
}

enum rc job_optimizer_check_resume(const struct train_job *job)
{
    const struct optimizer_rule *was = &job->resume.optimizer, *is = &job->optimizer;

    if (job->opts.forward_only || (is_sgd(was) && is_sgd(is) && was->kind != is->kind))
        return RC_OK;
    if (was->kind != is->kind)
        return rc_raise(RC_INVAL,
                        "--resume %s: is of --optimizer %s, and keeps nothing that --optimizer %s goes on with",
                        job->opts.resume, optimizer_name(was->kind), optimizer_name(is->kind));
    if (was->rate_in_velocity != is->rate_in_velocity)
        return rc_raise(RC_INVAL, "--resume %s: is of --momentum-correction %s, with another velocity than of %s",
                        job->opts.resume, was->rate_in_velocity ? "off" : "on", is->rate_in_velocity ? "off" : "on");
    return RC_OK;
}
