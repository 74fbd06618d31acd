/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.h - the limits of the parts of a run, measured; the upper bound on its throughput, which follows from them; and
 * the ratio of the run to it.
 *
 * Invariants
 *   B1  The limit of a part is the better of those measured before and after the run: a machine whose speed changes
 *       between has reached both. The bound is all workers' samples of a step over the longest of the three limits.
 *       With shards, computing is measured while nothing is sent within a group, and the wire limit includes
 *       activations: their time and that of the exchange, or with overlap the longer one, and their bytes if they share
 *       a link.
 *   B2  The ratio is total throughput over the bound. Its interval is that of the throughput within this run. The bound
 *       has no interval: it is a best value, not a mean. Over several launches: the geometric mean, and the interval
 *       over launches (campaign/points.c).
 *   B3  A ratio above 1 is a failed bound, whatever its interval: the run shows that it can do that, and no value is
 *       estimated. (Rounding of sums aside: 1e-9.) A launch with a failed bound is excluded from means of ratios. If
 *       there is one, there is no mean: the highest ratios would be missing from it.
 */
#ifndef HARNESS_TRAIN_BOUND_H
#define HARNESS_TRAIN_BOUND_H

#include "harness/bench/alpha_beta.h"
#include "harness/report/record.h"
#include "harness/train/train.h"

/* train.B3; false for NaN. */
bool train_bound_failed(double bound_ratio);
/* Fill baseline and efficiency of *s, which has its throughput. With stages and shards the baseline is as many ranks,
 * each computing the whole network at the profile's times; NaN without a profile. Pure. */
void train_find_efficiency(struct train_summary *s, const struct train_job *job, const struct train_result *r);
/* Fill best and bound_... of *s, which has its throughput. The bound is NaN in these cases:
 *   - r has no limits, or no wire limit (servers on workers' hosts, in modes that bound.c names)
 *   - workers share cores: a part's limit depends on its neighbours
 *   - the run omits the averages that its mode is for (omission.h), or alternates with steps that do (alternation.h)
 *   - workers have unequal batches and do not wait for each other: each has another step time
 * Pure. */
void train_find_bound(struct train_summary *s, const struct train_job *job, const struct train_result *r);
/* Record the limits that set the bound (train.B1), and those measured before and after the run; null: not measured. */
void record_limits(struct record *r, const struct train_result *result, const struct train_summary *s);
/* Record the ratio, its interval, and whether the bound failed (null: there is no bound). */
void record_bound(struct record *r, const struct train_summary *s);

/*
 * The limits of the parts of this machine (or simulated cluster), measured just before and just after the
 * steps of a run. The probe uses the run's own code: one worker alone, all workers computing, neighbours exchanging, a
 * server updating.
 */

struct rank_links {         /* which links the messages of a rank take; rank_hosts.c finds out */
    bool has_no_wire_limit; /* with this rank placement a wire limit would be invalid */
    bool has_other_pairs;   /* pairs of the collective are not the neighbours, and some pairs are on a host */
    bool next_is_near;      /* mode with servers on other hosts than workers: the next rank is on this host, and no
                               message of the exchange goes to it */
    bool has_one_link;      /* of a collective: all that a rank sends is on the same link */
};

struct probe_env { /* of one rank; borrowed */
    struct world *world;
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL on servers */
    struct wire_plan wire;     /* the messages of a step; zeros: there is no exchange */
    struct rank_links links;
    struct alpha_beta_times activations; /* of the step, in a group of shards; zeros: it has none */
    bool overlaps;                       /* activations and exchange are under way at the same time */
    const float *param;                  /* float[n_params], memory of compute; NULL on servers and without data */
    float *grad;                         /* likewise, overwritten; NULL with --forward-only too */
};

/* Collective over env->world, every rank. Fills *out on rank 0. Workers: the slowest if they meet every step, else
 * their mean rate. Paths between neighbours, but for those with links.next_is_near: the mean, because a ring's messages
 * cross all of them in turn; with links.has_other_pairs the fastest. Servers: the slowest. For the number of
 * measurements see bench/series.h and, for messages, bench/alpha_beta.h. Parameters and optimiser state stay as they
 * are; running means change. */
enum rc probe_limits(struct train_limits *out, const struct probe_env *env) MUST_CHECK;
/* Measure only the wire and the server; the other limits become NaN. */
enum rc probe_exchange(struct train_limits *out, const struct probe_env *env) MUST_CHECK;
/* Like probe_limits(), after the run. Omits the baseline, which bounds nothing: 0. */
enum rc probe_limits_again(struct train_limits *out, const struct probe_env *env) MUST_CHECK;

#endif
