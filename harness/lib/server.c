/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - gm_ps: workers and servers over the exchange of mode ps, all parameters one segment. */
#include <stdlib.h>
#include <string.h>

#include "harness/compute/compute.h"
#include "harness/exchange/exchange.h"
#include "harness/lib/job.h"
#include "harness/world/world.h"
#include "ps/ps.h"

struct gm_ps {
    struct gm_job *job;
    struct exchange *exchange;
    struct segment all;
    int n_workers;
    uint64_t n_pushes;
    bool is_finished;
};

int gm_ps_is_server(const struct gm_ps *ps)
{
    return ps->job->world->rank >= ps->n_workers;
}

int gm_ps_n_workers(const struct gm_ps *ps)
{
    return ps->n_workers;
}

unsigned gm_ps_staleness(const struct gm_ps *ps)
{
    return exchange_cost(ps->exchange).staleness_count;
}

struct wanted { /* of gm_ps_open() or gm_ps_open_rule() */
    const char *function;
    const float *param;
    size_t n_params;
    int n_servers;
    const struct gm_rule *rule;
    const char *consistency;
};

static enum rc check_open(struct gm_job *job, const struct wanted *w, struct consistency *consistency,
                          struct optimizer_rule *rule)
{
    enum rc rc;

    TRY(job_check(job, w->function));
    if (w->n_servers < 1 || w->n_servers >= job->world->n_ranks)
        FAIL(RC_INVAL, "%s: n_servers is %d of %d ranks; at least one server and one worker are needed", w->function,
             w->n_servers, job->world->n_ranks);
    if (w->n_params < (size_t)w->n_servers)
        FAIL(RC_INVAL, "%s: n_params is %zu; each of %d servers needs one", w->function, w->n_params, w->n_servers);
    TRY(job_rule(rule, w->rule, w->function));
    TRY(consistency_parse(consistency, w->consistency ? w->consistency : "async"));
    TRY(consistency_check(consistency, job->world->n_ranks - w->n_servers));
out:
    return rc;
}

/* Rank 0's parameters go to all. */
static enum rc start(struct gm_ps *ps, const float *param, size_t n_params)
{
    const struct initial_state from = { .n_running = 0 };

    if (ps->job->world->rank == 0)
        compute_put(ps->job->compute, exchange_param(ps->exchange), param, n_params * sizeof *param);
    return exchange_start(ps->exchange, &from);
}

static enum rc open_servers(struct gm_ps **out, struct gm_job *job, const struct wanted *w)
{
    struct consistency consistency = { .bound_count = 0 };
    struct optimizer_rule rule;
    const struct signature s = { .function = CALL_PS_OPEN, .with = w->n_servers, .n = w->n_params };
    struct gm_ps *ps = NULL;
    enum rc rc;

    TRY(check_open(job, w, &consistency, &rule));
    TRY(job_agree(job, &s));
    ps = calloc(1, sizeof *ps);
    if (!ps)
        FAIL(RC_NOMEM, "%s: no memory", w->function);
    ps->job = job;
    ps->n_workers = job->world->n_ranks - w->n_servers;
    ps->all = (struct segment){ .offset_elems = 0, .n_elems = w->n_params };
    const struct exchange_env env = { .world = job->world,
                                      .compute = job->compute,
                                      .mode = &sync_ps,
                                      .transport = job->transport_ops,
                                      .segment = &ps->all,
                                      .n_segments = 1,
                                      .n_workers = ps->n_workers,
                                      .n_servers = w->n_servers,
                                      .opts = { .consistency = consistency },
                                      .optimizer = rule,
                                      .timeout_ms = job->timeout_ms,
                                      .n_steps = 1 };
    TRY(exchange_open(&ps->exchange, &env));
    TRY(start(ps, w->param, w->n_params));
    *out = ps;
    ps = NULL;
out:
    if (ps)
        exchange_close(&ps->exchange);
    free(ps);
    return job ? job_ended(job, rc) : rc;
}

int gm_ps_open(struct gm_ps **out, struct gm_job *job, const float *param, size_t n_params, int n_servers,
               float momentum, const char *consistency)
{
    const struct gm_rule rule = { .momentum = (double)momentum };
    const struct wanted w = { "gm_ps_open", param, n_params, n_servers, &rule, consistency };

    return open_servers(out, job, &w);
}

int gm_ps_open_rule(struct gm_ps **out, struct gm_job *job, const float *param, size_t n_params, int n_servers,
                    const struct gm_rule *rule, const char *consistency)
{
    const struct wanted w = { "gm_ps_open_rule", param, n_params, n_servers, rule, consistency };

    return open_servers(out, job, &w);
}

/* RC_INVAL: of the other kind of rank. */
static enum rc check_kind(struct gm_ps *ps, const char *function, bool wants_server)
{
    enum rc rc = RC_OK;

    if (!ps)
        FAIL(RC_INVAL, "%s: ps is NULL; gm_ps_open() makes one", function);
    TRY(job_check(ps->job, function));
    if ((gm_ps_is_server(ps) != 0) != wants_server)
        FAIL(RC_INVAL, "%s: rank %d is a %s; this is a call of %s", function, ps->job->world->rank,
             wants_server ? "worker" : "server", wants_server ? "servers" : "workers");
out:
    return rc;
}

int gm_ps_serve(struct gm_ps *ps)
{
    enum rc rc;

    TRY(check_kind(ps, "gm_ps_serve", true));
    if (ps->is_finished)
        FAIL(RC_INVAL, "gm_ps_serve: all workers have closed before");
    TRY(job_ended(ps->job, exchange_serve(ps->exchange, 0)));
    ps->is_finished = true;
out:
    return rc;
}

static enum rc push(struct gm_ps *ps, const float *grad, float lr)
{
    uint64_t now_ns = world_now_ns(ps->job->world);
    enum rc rc;

    TRY(exchange_begin(ps->exchange, ps->n_pushes, lr));
    compute_put(ps->job->compute, exchange_grad(ps->exchange), grad, ps->all.n_elems * sizeof *grad);
    TRY(compute_sync(ps->job->compute));
    TRY(exchange_submit(ps->exchange, NULL, now_ns));
    TRY(exchange_await_all(ps->exchange, &now_ns));
    ps->n_pushes++;
out:
    return rc;
}

int gm_push(struct gm_ps *ps, const float *grad, float lr)
{
    enum rc rc;

    TRY(check_kind(ps, "gm_push", false));
    TRY(job_ended(ps->job, push(ps, grad, lr)));
out:
    return rc;
}

int gm_pull(struct gm_ps *ps, float *param)
{
    enum rc rc;

    TRY(check_kind(ps, "gm_pull", false));
    TRY(compute_fetch(ps->job->compute, param, exchange_param(ps->exchange), ps->all.n_elems * sizeof *param));
out:
    return rc;
}

/* A worker leaves; rank 0 takes what the servers have. */
static enum rc finish(struct gm_ps *ps, float *final_param)
{
    enum rc rc;

    TRY(exchange_final(ps->exchange, NULL));
    if (final_param && ps->job->world->rank == 0)
        TRY(compute_fetch(ps->job->compute, final_param, exchange_param(ps->exchange),
                          ps->all.n_elems * sizeof *final_param));
out:
    return rc;
}

int gm_ps_close(struct gm_ps **ps, float *final_param)
{
    enum rc rc;

    if (!ps || !*ps)
        return GM_OK;
    TRY(job_check((*ps)->job, "gm_ps_close"));
    if (!gm_ps_is_server(*ps))
        TRY(job_ended((*ps)->job, finish(*ps, final_param)));
out:
    exchange_close(&(*ps)->exchange);
    free(*ps);
    *ps = NULL;
    return rc;
}
