/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_test.c - the suite on steps.c, and on wrong versions of it that it must catch.
 *   steps_test [mutants]
 */
#include <math.h>
#include <stdlib.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/histogram.h"
#include "harness/measure/suite/suites.h"

/* --- summaries wrong in the ways that published tools are --- */

/* Rank 0's own rate times the number of workers. */
static void bug_rank0(struct steps_summary *out, const struct steps *in)
{
    double seconds = (double)(in->stamp[in->n_steps - 1].end_ns - in->stamp[0].start_ns) * 1e-9;
    double samples = (double)(in->n_steps * in->batch_per_worker_count * in->n_workers);

    out->throughput_samples_per_s =
        (struct interval){ samples / seconds, samples / seconds * 0.98, samples / seconds * 1.02, (double)in->n_steps };
}

/* All samples over all time: warm-up, late starters and stragglers included. */
static void bug_whole_run(struct steps_summary *out, const struct steps *in)
{
    out->throughput_samples_per_s.mean =
        (double)(in->n_steps * in->batch_per_worker_count * in->n_workers) / out->elapsed_s;
}

/* Warm-up counted as if it were steady. */
static void bug_keep_warmup(struct steps_summary *out, const struct steps *in)
{
    double first = out->throughput_samples_per_s.mean;

    bug_whole_run(out, in);
    if (out->steady.n_warmup == 0)
        out->throughput_samples_per_s.mean = first;
    out->steady.n_warmup = 0;
}

/* Parts cut at 0 one by one: their sum is no longer the whole. */
static void bug_lost_deficit(struct steps_summary *out, const struct steps *in)
{
    double server = 0, apply = 0;

    for (size_t i = 0; i < in->n_workers * in->n_steps; i++) {
        server += (double)in->stamp[i].server_ns * 1e-9 / (double)(in->n_workers * in->n_steps);
        apply += (double)in->stamp[i].apply_ns * 1e-9 / (double)(in->n_workers * in->n_steps);
    }
    out->wire_s = fmax(0, out->step_mean_s - out->compute_s - out->wait_s - server - apply - out->rest_s);
    out->server_s = server;
    out->apply_s = apply;
}

/* The wait for slower workers blamed on the network. */
static void see_wait_as_wire(struct steps *in)
{
    in->synchronous = false;
}

/* What nothing measured is the network's. */
static void bug_rest_as_wire(struct steps_summary *out, const struct steps *in)
{
    (void)in;
    out->wire_s += out->rest_s;
    out->rest_s = 0;
}

/* What nothing measured is left out. */
static void bug_no_rest(struct steps_summary *out, const struct steps *in)
{
    (void)in;
    out->exposed_s -= out->rest_s;
    out->rest_s = 0;
}

/* What a worker waits for parameters is taken for computing. */
static void bug_stall_as_compute(struct steps_summary *out, const struct steps *in)
{
    double stalled = 0;

    for (size_t i = 0; i < in->n_workers * in->n_steps; i++)
        stalled += (double)in->stamp[i].stalled_ns * 1e-9 / (double)(in->n_workers * in->n_steps);
    out->compute_s += stalled;
    out->wire_s -= stalled;
}

/* The first step of an overlapped run, and the end of the last exchange, taken for steps like the others. */
static void see_drain_counts(struct steps *in)
{
    in->overlapped = false;
}

static void bug_loss_of_rank0(struct steps_summary *out, const struct steps *in)
{
    out->loss_first = in->stamp[0].loss;
    out->loss_last = in->stamp[in->n_steps - 1].loss;
}

/* Percentiles of all steps beside a mean of the steady ones. */
static void bug_percentiles_of_all(struct steps_summary *out, const struct steps *in)
{
    struct histogram *h = malloc(sizeof *h);

    if (!h)
        return;
    histogram_init(h);
    for (size_t i = 0; i < in->n_workers * in->n_steps; i++)
        histogram_add(h, in->stamp[i].end_ns - in->stamp[i].start_ns);
    const struct percentiles p = histogram_percentiles(h);
    free(h);
    out->step_p50_s = p.p50 * 1e-9;
    out->step_p95_s = p.p95 * 1e-9;
    out->step_p99_s = p.p99 * 1e-9;
}

/* Half of a run that never settles is left out of its throughput. */
static void bug_cut_unsteady(struct steps_summary *out, const struct steps *in)
{
    if (out->steady.state == STEADY_NONE) {
        const struct step_stamp *first = &in->stamp[in->n_steps / 2], *last = &in->stamp[in->n_steps - 1];
        const double seconds = (double)(last->end_ns - first->start_ns) * 1e-9;

        out->throughput_samples_per_s.mean =
            (double)(last + 1 - first) * (double)in->n_workers * (double)in->batch_per_worker_count / seconds;
    }
}

static const struct mutant {
    const char *name;
    void (*see)(struct steps *in); /* one of the two: before the right summary, or after it */
    void (*spoil)(struct steps_summary *out, const struct steps *in);
} mutants[] = {
    { "rank0", .spoil = bug_rank0 },
    { "whole-run", .spoil = bug_whole_run },
    { "keep-warmup", .spoil = bug_keep_warmup },
    { "lost-deficit", .spoil = bug_lost_deficit },
    { "wait-as-wire", .see = see_wait_as_wire },
    { "rest-as-wire", .spoil = bug_rest_as_wire },
    { "no-rest", .spoil = bug_no_rest },
    { "stall-as-compute", .spoil = bug_stall_as_compute },
    { "drain-counts", .see = see_drain_counts },
    { "loss-of-rank0", .spoil = bug_loss_of_rank0 },
    { "percentiles-of-all", .spoil = bug_percentiles_of_all },
    { "cut-unsteady", .spoil = bug_cut_unsteady },
};
static const struct mutant *mutant;

static enum rc summarise_wrong(struct steps_summary *out, const struct steps *in)
{
    struct steps seen = *in;

    if (mutant->see)
        mutant->see(&seen);
    const enum rc rc = steps_summarise(out, &seen);
    if (rc == RC_OK && mutant->spoil)
        mutant->spoil(out, in);
    return rc;
}

UNIT_TEST(suite_holds)
{
    assert_int_equal(steps_suite(steps_summarise), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (mutant = mutants; mutant < mutants + N_ELEMS(mutants); mutant++)
        if (steps_suite(summarise_wrong) == 0)
            fail_msg("%s is not noticed", mutant->name);
}

UNIT_MAIN("steps")
