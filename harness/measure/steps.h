/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - summarises a run from the time stamps of every step on every worker.
 *
 * Invariants
 *   E1  Throughput is the samples of all workers in the window over the window's time, by the clocks of all ranks. It
 *       is never one rank's rate times the number of ranks. Samples whose gradients servers dropped do not count: the
 *       window's samples are reduced by the dropped share, in messages.
 *   E2  A round is n_workers consecutive step completions in time order: one step of a synchronous mode; in an
 *       asynchronous mode one update per worker on average.
 *   E3  Only time in which every worker trained counts: from the latest first start to the earliest last end.
 *       Overlapped runs of at least three steps exclude two of them: the first has nothing to wait for, and the last
 *       also waits for its own exchange. So do staged ones, whose first has no exchange of later stages to wait for,
 *       and whose last ends with all stages; of three steps they keep the last. Where workers exchange once in some
 *       steps, so many rounds or a multiple count: no exchange is missing.
 *   E4  compute, wait, wire, server and apply are measured. wait is for the latest worker of a synchronous mode, and
 *       while servers hold replies back for other workers. rest is the remainder of a step (a wake-up, a copy), and
 *       never negative. compute + wait + wire + server + apply + rest is exactly the mean step of a worker, and of all
 *       workers. Parts that exceed a worker's time (possible with the clocks of several hosts) are cut to it. wait +
 *       wire + server + rest is the exposed communication, in which a worker neither computes nor updates. Hidden
 *       communication is in no part.
 *   E5  Throughput, its interval, the step's parts, minimum, maximum and percentiles cover the same steady steps: those
 *       after the warm-up (steady.h). Without a steady state, or with too few rounds to decide, nothing is excluded. If
 *       the speed of a run switched, both speeds count.
 */
#ifndef HARNESS_MEASURE_STEPS_H
#define HARNESS_MEASURE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/measure/interval.h"
#include "harness/measure/steady.h"

struct step_stamp {       /* of one step on one worker; the clock of struct world */
    uint64_t start_ns;    /* the step began */
    uint64_t ready_ns;    /* its gradient was complete */
    uint64_t end_ns;      /* it held the next parameters */
    uint64_t stalled_ns;  /* of ready - start: waiting for parameters, with overlapped exchange */
    uint64_t server_ns;   /* of stalled + end - ready: waiting in the server's queue */
    uint64_t apply_ns;    /* likewise: updating parameters */
    uint64_t exchange_ns; /* likewise: between ranks, without the server's part; includes the wait for other workers */
    uint64_t hidden_ns;   /* exchanging while the worker did something else */
    uint64_t input_ns;    /* of ready - start: waiting for the samples; 0 in sim */
    double loss;          /* mean over its batch; NaN: not computed (no data) */
    uint64_t held_ns;     /* of stalled + end - ready, in none of these: at a server that holds its reply until other
                         workers catch up */
    uint32_t staleness_count; /* ps */
    uint32_t late_count;      /* ps: messages whose gradient was dropped */
    bool keeps_gradient;      /* ps: its gradient is pushed in a later step, which has its staleness */
    bool is_refused;          /* ps: its push was not finite and not applied: it has no staleness */
};

/* Was its gradient pushed in this step, and not refused? */
static inline bool step_has_staleness(const struct step_stamp *s)
{
    return !s->keeps_gradient && !s->is_refused;
}

enum { STEPS_LAST = 10 }; /* loss_last is a mean over this many; with fewer, over all */

struct steps {                      /* borrowed */
    const struct step_stamp *stamp; /* [n_workers][n_steps] */
    size_t n_workers, n_steps;
    size_t batch_per_worker_count;
    bool synchronous; /* workers meet every step: the wait for the latest worker is separate from the wire */
    bool overlapped;  /* a step waits for the exchange of the step before; its stamp has the hidden time */
    double messages_per_step_count; /* with a gradient, that servers apply or drop (late_count); 0: never dropped */
    const size_t *batch_count;      /* [n_workers]: samples per step of each worker; the value above is their mean;
                                       NULL: all are equal */
    bool staged;                    /* a step waits for the exchange that later stages made in the step before */
    size_t period_steps;            /* workers exchange once in so many steps; 0: in each */
};

struct steps_summary {
    size_t n_rounds;                                     /* whole rounds inside measure.E3 */
    struct steady steady;                                /* measure.E5, of the rounds' durations: values are rounds */
    struct interval throughput_samples_per_s;            /* within this run, autocorrelation-aware */
    double step_mean_s, step_min_s, step_max_s;          /* measure.E5, over workers and steady steps */
    double step_p50_s, step_p95_s, step_p99_s;           /* measure.E5, likewise (measure.H1, H2) */
    double compute_s, wait_s, wire_s, server_s, apply_s; /* measure.E4, means over steady steps */
    double rest_s;                                       /* measure.E4, likewise */
    double exposed_s, hidden_s;                          /* measure.E4: communication */
    double loss_first, loss_last;                        /* mean of the first round, and of the last STEPS_LAST */
    double staleness_mean_count;                         /* over all steps with staleness: step_has_staleness() */
    uint32_t staleness_max_count;
    double elapsed_s; /* first start to last end, all workers */
};

/* Fill out; scratch is allocated and freed inside. O(N log n_workers) for N steps of all workers. RC_INVAL: n_steps or
 * n_workers is 0, or a worker's stamps go back in time; RC_NOMEM; out is unchanged then. Without a whole round inside
 * measure.E3, throughput is NaN, and costs cover all steps. */
enum rc steps_summarise(struct steps_summary *out, const struct steps *in) MUST_CHECK;

struct step_parts { /* measure.E4, E5: of one worker; NaN: it has no steady step */
    double step_mean_s, compute_s, wait_s, wire_s, server_s, apply_s, rest_s;
    double exposed_s, hidden_s;
};
/* out[in->n_workers] := each worker's parts, over the summary's steps. Errors: as steps_summarise(). */
enum rc steps_worker_parts(struct step_parts *out, const struct steps *in) MUST_CHECK;

/* Communication in one step of a worker: exposed (measure.E4; not below 0), and hidden. */
double steps_exposed_s(const struct step_stamp *s);
double steps_hidden_s(const struct step_stamp *s);

/* Round r (of n_steps) : mean loss over workers' step r, seconds from the first start to the latest end
 * of step r, samples seen by then by all workers. */
struct round_point {
    double loss, seconds;
    uint64_t samples_count;
};
void steps_round(struct round_point *out, const struct steps *in, size_t r);

/* Seconds from the first start until the mean loss of the last n_mean * n_workers completions (n_mean
 * steps a worker) was at most target for the first time; NaN: never, or no memory. *samples_count
 * (may be NULL): samples of all workers by then, 0 if never. */
double steps_seconds_to_loss(const struct steps *in, double target_loss, size_t n_mean, uint64_t *samples_count);

/* count[s] := steps that push with staleness s, for s < n_bins; the last bin includes all higher values. */
void steps_staleness_histogram(uint64_t *count, size_t n_bins, const struct steps *in);

#endif
