/* SPDX-License-Identifier: Apache-2.0 */
/* sgd.c - gm_sgd: the ranks' gradients summed, and the optimiser's step with their mean. */
#include <stdlib.h>
#include <string.h>

#include "harness/compute/optimizer.h"
#include "harness/lib/job.h"
#include "harness/world/world.h"

struct gm_sgd {
    struct gm_job *job;
    struct optimizer optimizer;
    void *block; /* (2, n_params): parameters and gradient, where the compute can work */
    float *param, *grad;
};

void gm_sgd_close(struct gm_sgd **sgd)
{
    if (!sgd || !*sgd)
        return;
    optimizer_fini(&(*sgd)->optimizer);
    compute_memory_close((*sgd)->job->compute, &(*sgd)->block);
    free(*sgd);
    *sgd = NULL;
}

static enum rc sgd_open(struct gm_sgd **out, struct gm_job *job, size_t n_params, const struct gm_rule *rule,
                        const char *function)
{
    enum { ALIGN_ELEMS = COMPUTE_ALIGN_BYTES / sizeof(float) };
    const size_t n_room = (n_params + ALIGN_ELEMS - 1) / ALIGN_ELEMS * ALIGN_ELEMS;
    struct optimizer_rule own;
    struct gm_sgd *s = NULL;
    enum rc rc;

    TRY(job_check(job, function));
    if (n_params == 0)
        FAIL(RC_INVAL, "%s: n_params is 0; at least one parameter is needed", function);
    TRY(job_rule(&own, rule, function));
    s = calloc(1, sizeof *s);
    if (!s)
        FAIL(RC_NOMEM, "%s: no memory", function);
    s->job = job;
    TRY(compute_memory_open(job->compute, &s->block, 2 * n_room * sizeof(float), function));
    s->param = s->block;
    s->grad = s->param + n_room;
    TRY(optimizer_init(&s->optimizer, job->compute, n_params, &own, NULL));
    *out = s;
    s = NULL;
out:
    gm_sgd_close(&s);
    return rc;
}

int gm_sgd_open(struct gm_sgd **out, struct gm_job *job, size_t n_params, float momentum, float weight_decay)
{
    const struct gm_rule rule = { .momentum = (double)momentum, .weight_decay = (double)weight_decay };

    return sgd_open(out, job, n_params, &rule, "gm_sgd_open");
}

int gm_sgd_open_rule(struct gm_sgd **out, struct gm_job *job, size_t n_params, const struct gm_rule *rule)
{
    return sgd_open(out, job, n_params, rule, "gm_sgd_open_rule");
}

int gm_sgd_step(struct gm_sgd *sgd, float *param, const float *grad, float lr)
{
    enum rc rc = RC_OK;

    if (!sgd)
        FAIL(RC_INVAL, "gm_sgd_step: sgd is NULL; gm_sgd_open() makes one");
    TRY(job_check(sgd->job, "gm_sgd_step"));
    const size_t n_bytes = sgd->optimizer.n_params * sizeof *param;
    TRY(job_sum(sgd->job, CALL_SGD_STEP, sgd->grad, grad, sgd->optimizer.n_params));
    memcpy(sgd->param, param, n_bytes);
    sgd->optimizer.lr = lr;
    sgd->optimizer.grad_scale = 1.0f / (float)sgd->job->world->n_ranks;
    TRY(optimizer_step(&sgd->optimizer, sgd->param, sgd->grad));
    sgd->optimizer.n_updates++;
    memcpy(param, sgd->param, n_bytes);
out:
    return rc;
}
