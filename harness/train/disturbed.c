/* SPDX-License-Identifier: Apache-2.0 */
/* disturbed.c - asks the system around the steps, and sums up over the ranks of each host. */
#include "harness/train/disturbed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_virtual(const struct train_job *job)
{
    return job->world->module.caps & WORLD_VIRTUAL_TIME;
}

void disturbance_begin(struct host_load *before, const struct world *w, const char *root)
{
    if (!(w->ops->module.caps & WORLD_VIRTUAL_TIME))
        host_load_read(before, root);
}

static double mean_frequency_hz(const struct host_load *a, const struct host_load *b)
{
    return (a->frequency_hz + b->frequency_hz) / 2;
}

void disturbance_end(struct train_rank_info *info, const struct host_load *before, const struct world *w,
                     const char *root)
{
    struct host_load after;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return;
    host_load_read(&after, root);
    host_kernel_id(info->kernel, root);
    info->process = (int64_t)getpid();
    const double window_s = 1e-9 * (double)(after.now_ns - before->now_ns);
    info->load = (struct window_load){ .window_s = window_s, .own_cores = (after.own_s - before->own_s) / window_s };
    if (w->host_rank != 0 || after.n_cores == 0 || before->n_cores == 0)
        return;
    info->load.n_host_cores = after.n_cores;
    info->load.busy_cores = (after.busy_s - before->busy_s) / window_s;
    info->load.steal_ratio = (after.steal_s - before->steal_s) / (window_s * after.n_cores);
    info->load.frequency_hz = mean_frequency_hz(before, &after);
}

/* Hosts that are namespaces of one system are one machine. */
static bool on_same_machine(const struct train_rank_info *a, const struct train_rank_info *b)
{
    if (a->kernel[0] || b->kernel[0])
        return strcmp(a->kernel, b->kernel) == 0;
    return strcmp(a->host, b->host) == 0;
}

/* The ranks of all stages, or of the run: *n_ranks of them, in stages one after another. */
static const struct train_rank_info *all_ranks(int *n_ranks, const struct train_result *r)
{
    *n_ranks = r->n_stages > 0 ? r->n_stages * r->n_ranks : r->n_ranks;
    return r->n_stages > 0 ? r->stage_rank : r->rank;
}

/* Numbers of processes are equal on different hosts. */
static bool is_first_of_process(const struct train_rank_info *rank, int i)
{
    for (int k = 0; k < i; k++)
        if (rank[k].process == rank[i].process && strcmp(rank[k].host, rank[i].host) == 0)
            return false;
    return true;
}

/* Of the machine of *of. */
static struct disturbance disturbance_of(const struct train_job *job, const struct train_result *r,
                                         const struct train_rank_info *of)
{
    const struct window_load *host = NULL;
    double own_cores = 0;
    int n_used_cores = 0, n_ranks;
    const struct train_rank_info *rank = all_ranks(&n_ranks, r);

    if (is_virtual(job))
        return DISTURBANCE_NOT_KNOWN;
    for (int k = 0; k < n_ranks; k++) {
        const struct window_load *load = &rank[k].load;
        if (!on_same_machine(&rank[k], of))
            continue;
        n_used_cores += k % r->n_ranks < r->n_workers ? r->n_threads : 1;
        own_cores += is_first_of_process(rank, k) ? load->own_cores : 0;
        if (!host && load->n_host_cores > 0)
            host = load;
    }
    if (!host)
        return DISTURBANCE_NOT_KNOWN;
    return disturbance_of_host(host, own_cores, n_used_cores < host->n_host_cores ? n_used_cores : host->n_host_cores);
}

struct disturbance disturbance_of_rank(const struct train_job *job, const struct train_result *r, int i)
{
    return disturbance_of(job, r, &r->rank[i]);
}

struct disturbance disturbance_of_run(const struct train_job *job, const struct train_result *r)
{
    struct disturbance worst = DISTURBANCE_NOT_KNOWN;
    int n_ranks;
    const struct train_rank_info *rank = all_ranks(&n_ranks, r);

    for (int i = 0; i < n_ranks; i++)
        if (rank[i].load.n_host_cores > 0) {
            const struct disturbance d = disturbance_of(job, r, &rank[i]);
            worst = disturbance_worse(&worst, &d);
        }
    return worst;
}

struct disturbance disturbance_between(const struct host_load *before, const struct host_load *after, int n_used_cores)
{
    const double window_s = 1e-9 * (double)(after->now_ns - before->now_ns);
    const struct window_load host = {
        .window_s = window_s,
        .n_host_cores = before->n_cores > 0 ? after->n_cores : 0,
        .busy_cores = (after->busy_s - before->busy_s) / window_s,
        .steal_ratio = (after->steal_s - before->steal_s) / (window_s * after->n_cores),
        .frequency_hz = NAN,
    };

    if (n_used_cores > after->n_cores && after->n_cores > 0)
        n_used_cores = after->n_cores;
    return disturbance_of_host(&host, (after->own_s - before->own_s) / window_s, n_used_cores);
}

void disturbance_now_text(char *out, size_t n_bytes, const struct disturbance *d, int n_host_cores)
{
    (void)snprintf(out, n_bytes, "others use %.1f of %d cores", d->others_cores + d->steal_ratio * n_host_cores,
                   n_host_cores);
}

void record_disturbance(struct record *to, const struct train_job *job, const struct disturbance *d)
{
    record_text(to, "disturbed", is_virtual(job) ? NULL : disturbance_word(d));
    record_f64(to, "steal_ratio", d->steal_ratio);
    record_f64(to, "others_cores_count", d->others_cores);
    record_f64(to, "taken_cores_ratio", d->taken_ratio);
    record_f64(to, "taken_cores_limit_ratio", d->taken_limit_ratio);
    record_f64(to, "frequency_hz", d->frequency_hz);
}
