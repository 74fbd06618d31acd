/* SPDX-License-Identifier: Apache-2.0 */
/* steps_mutants.c - summaries wrong in the ways that published tools are; the suite must catch each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure/histogram.h"
#include "harness/measure/suite/suites.h"

/* Rank 0's own rate times the number of workers. */
static enum rc bug_rank0(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        double seconds = (double)(in->stamp[in->n_steps - 1].end_ns - in->stamp[0].start_ns) * 1e-9;
        double samples = (double)(in->n_steps * in->batch_per_worker_count * in->n_workers);

        out->throughput_samples_per_s = (struct interval){ samples / seconds, samples / seconds * 0.98,
                                                           samples / seconds * 1.02, (double)in->n_steps };
    }
    return rc;
}

/* All samples over all time: warm-up, late starters and stragglers included. */
static enum rc bug_whole_run(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK)
        out->throughput_samples_per_s.mean =
            (double)(in->n_steps * in->batch_per_worker_count * in->n_workers) / out->elapsed_s;
    return rc;
}

/* Warm-up counted as if it were steady. */
static enum rc bug_keep_warmup(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        double first = out->throughput_samples_per_s.mean;
        rc = bug_whole_run(out, in);
        if (out->steady.n_warmup == 0)
            out->throughput_samples_per_s.mean = first;
        out->steady.n_warmup = 0;
    }
    return rc;
}

/* Parts cut at 0 one by one: their sum is no longer the whole. */
static enum rc bug_lost_deficit(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        double server = 0, apply = 0;

        for (size_t i = 0; i < in->n_workers * in->n_steps; i++) {
            server += (double)in->stamp[i].server_ns * 1e-9 / (double)(in->n_workers * in->n_steps);
            apply += (double)in->stamp[i].apply_ns * 1e-9 / (double)(in->n_workers * in->n_steps);
        }
        out->wire_s = fmax(0, out->step_mean_s - out->compute_s - out->wait_s - server - apply - out->rest_s);
        out->server_s = server;
        out->apply_s = apply;
    }
    return rc;
}

/* The wait for slower workers blamed on the network. */
static enum rc bug_wait_as_wire(struct steps_summary *out, const struct steps *in)
{
    struct steps alone = *in;

    alone.synchronous = false;
    return steps_summarise(out, &alone);
}

/* What nothing measured is the network's. */
static enum rc bug_rest_as_wire(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        out->wire_s += out->rest_s;
        out->rest_s = 0;
    }
    return rc;
}

/* What nothing measured is left out. */
static enum rc bug_no_rest(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        out->exposed_s -= out->rest_s;
        out->rest_s = 0;
    }
    return rc;
}

/* What a worker waits for parameters is taken for computing. */
static enum rc bug_stall_as_compute(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        double stalled = 0;

        for (size_t i = 0; i < in->n_workers * in->n_steps; i++)
            stalled += (double)in->stamp[i].stalled_ns * 1e-9 / (double)(in->n_workers * in->n_steps);
        out->compute_s += stalled;
        out->wire_s -= stalled;
    }
    return rc;
}

/* The first step of an overlapped run, and the end of the last exchange, taken for steps like the others. */
static enum rc bug_drain_counts(struct steps_summary *out, const struct steps *in)
{
    struct steps plain = *in;

    plain.overlapped = false;
    return steps_summarise(out, &plain);
}

static enum rc bug_loss_of_rank0(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK) {
        out->loss_first = in->stamp[0].loss;
        out->loss_last = in->stamp[in->n_steps - 1].loss;
    }
    return rc;
}

/* Percentiles of all steps beside a mean of the steady ones. */
static enum rc bug_percentiles_of_all(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);
    struct histogram *h = rc == RC_OK ? malloc(sizeof *h) : NULL;

    if (!h)
        return rc;
    histogram_init(h);
    for (size_t i = 0; i < in->n_workers * in->n_steps; i++)
        histogram_add(h, in->stamp[i].end_ns - in->stamp[i].start_ns);
    const struct percentiles p = histogram_percentiles(h);
    free(h);
    out->step_p50_s = p.p50 * 1e-9;
    out->step_p95_s = p.p95 * 1e-9;
    out->step_p99_s = p.p99 * 1e-9;
    return rc;
}

/* Half of a run that never settles is left out of its throughput. */
static enum rc bug_cut_unsteady(struct steps_summary *out, const struct steps *in)
{
    enum rc rc = steps_summarise(out, in);

    if (rc == RC_OK && out->steady.state == STEADY_NONE) {
        const struct step_stamp *first = &in->stamp[in->n_steps / 2], *last = &in->stamp[in->n_steps - 1];
        const double seconds = (double)(last->end_ns - first->start_ns) * 1e-9;

        out->throughput_samples_per_s.mean =
            (double)(last + 1 - first) * (double)in->n_workers * (double)in->batch_per_worker_count / seconds;
    }
    return rc;
}

const struct steps_mutant steps_mutants[] = {
    { "rank0", bug_rank0 },
    { "whole-run", bug_whole_run },
    { "keep-warmup", bug_keep_warmup },
    { "lost-deficit", bug_lost_deficit },
    { "wait-as-wire", bug_wait_as_wire },
    { "rest-as-wire", bug_rest_as_wire },
    { "no-rest", bug_no_rest },
    { "stall-as-compute", bug_stall_as_compute },
    { "drain-counts", bug_drain_counts },
    { "loss-of-rank0", bug_loss_of_rank0 },
    { "percentiles-of-all", bug_percentiles_of_all },
    { "cut-unsteady", bug_cut_unsteady },
    { NULL, NULL },
};
