/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criteria.h - what a cluster must do to be accepted: stages, statistics, limits; from a YAML file.
 *
 * A limit of 0 means no limit: then the stage judges ranks, nodes and links only by comparison with each other.
 *
 * Invariants
 *   C1  Parser, --init and --criteria-set use the keys of one table (criteria_keys.h) only.
 *   C2  Reading back what --init writes gives the same struct criteria.
 *   C3  An error names file, line, key, value and the expected value.
 */
#ifndef HARNESS_ACCEPT_CRITERIA_H
#define HARNESS_ACCEPT_CRITERIA_H

#include <stdio.h>

#include "harness/accept/acceptance.h"

struct criteria {
    char name[ACCEPT_NAME_BYTES]; /* of the cluster */
    char stages[128];             /* "all", or comma-separated names */
    bool runs[ACCEPT_N_STAGES];   /* from stages; the soak only with soak_minutes above 0 */
    double stage_limit_s;         /* a stage that takes longer is ended and has no data; soak: limit of each training */

    /* statistics */
    double false_discovery_ratio; /* part of the findings of a stage that may be false */
    double least_effect_ratio;    /* a deviation from the fleet by less than this ratio is never blamed: 0.1 */
    int least_repeats_count, most_repeats_count; /* of rank metrics and of the tournament; the evidence decides */

    /* preflight */
    double most_clock_skew_s, least_memory_free_bytes, least_link_bits_per_s, least_cores_count;
    /* compute, of every rank */
    double least_flops_per_s, least_memory_bytes_per_s;
    /* noise, of every rank */
    double noise_quantum_s, noise_s; /* duration of the fixed work, and of all its repetitions; both approximate */
    double most_detour_ratio, most_longest_detour_s;
    /* pairwise, of every link */
    double pairwise_message_bytes, least_pair_bytes_per_s, most_pair_latency_s;
    /* collectives */
    char reducer[32], collective_bytes[128]; /* "4096,1048576" */
    double least_busbw_bytes_per_s;          /* of the largest size */
    double least_busbw_bound_ratio;          /* likewise */
    double rank_order_bytes;                 /* vector size for comparing rank orders; 0: they are not compared */
    double least_rank_order_ratio;           /* of the launcher's order, over the best */
    /* ps */
    char ps_bytes[128];
    double least_goodput_bytes_per_s, least_goodput_bound_ratio; /* of the largest size */
    /* training: synchronous, on 1, 2, 4, ... nodes and on all */
    char training_model[32];
    double rank_order_training_steps_count; /* of trainings in the best rank order and the launcher's; 0: none */
    double training_steps_count, least_efficiency_ratio, most_exposed_ratio; /* on all nodes */
    /* integrity */
    double integrity_steps_count, integrity_every_steps;
    /* soak */
    double soak_minutes, most_drift_ratio, most_straggling_ratio;
};

enum { CRITERIA_MAX_KEYS = 48, CRITERIA_SOURCE_BYTES = 256 };
struct criteria_sources { /* source of each value, by the index of its key in criteria_keys; "": the default */
    char text[CRITERIA_MAX_KEYS][CRITERIA_SOURCE_BYTES];
};

/* All defaults. Cannot fail. */
void criteria_default(struct criteria *out);
/* With fewer nodes than this all allowed repeats are made, and the evidence is evaluated once. */
enum { CRITERIA_FEW_NODES = 8 };
/* Adapt c to a test of n_nodes: with few nodes the least number of repeats becomes the most. Evaluating the evidence
 * after each repeat would leave too little of the false-discovery ratio to find anything. A second call changes
 * nothing. Used by accept_rank() and judge(), to which the caller passes c as the file has it. Cannot fail. */
void criteria_for_nodes(struct criteria *c, int n_nodes);
/* RC_INVAL: accept.C3. RC_NOMEM. */
enum rc criteria_load(struct criteria *out, const char *path) MUST_CHECK;
/* Parse text in memory, any bytes; messages begin with name. RC_INVAL: accept.C3. RC_NOMEM. */
enum rc criteria_parse(struct criteria *out, const char *name, const char *text, size_t n_bytes) MUST_CHECK;
/* Apply "KEY=VALUE" settings, separated by commas or line ends, as in --criteria-set (struct opt_joined). RC_INVAL
 * names the setting; *c is then unchanged. */
enum rc criteria_set(struct criteria *c, const char *assignments) MUST_CHECK;
/* Run only these stages, "noise,ps"; "": as before. Messages begin with `option`. RC_INVAL: no such stage, or one is
 * named twice; *c is then unchanged. */
enum rc criteria_choose(struct criteria *c, const char *option, const char *stages) MUST_CHECK;
/* Parse a list of sizes, collective_bytes or ps_bytes; smallest first. Returns their number. Cannot fail after a parse.
 */
int criteria_sizes(const char *list, size_t out[ACCEPT_MAX_SIZES]);
/* Write c as a commented file, with the meaning and the source of each value. sources, head: may be NULL; each line of
 * head becomes a comment. Completely or not at all. RC_INVAL, RC_IO. */
enum rc criteria_write(const struct criteria *c, const struct criteria_sources *sources, const char *head,
                       const char *path) MUST_CHECK;
/* Derive limits from the measurements of a healthy reference run: margin_ratio below, or above, the worst healthy
 * value. Operating system noise varies from run to run. So its limits are margin_ratio above the worst repeat plus 6
 * robust standard deviations of the logarithms of all repeats. They are never below the level at which nothing is
 * blamed without a limit. Latencies and exposed communication likewise have 6 deviations, of the differences between
 * repeats of a pair and between parts of a training. A value that was not measured keeps its limit. sources: may be
 * NULL. RC_INVAL: the run is not healthy: it failed, was cut short, lost a rank, or had injected faults. RC_NOMEM. */
enum rc criteria_from_reference(struct criteria *c, const struct acceptance *healthy, double margin_ratio,
                                struct criteria_sources *sources) MUST_CHECK;
struct cluster;
/* Derive limits from the declared hardware of a description, margin_ratio below it. The test multiplies in fp32: a rate
 * of another flops_precision sets no limit, and sources say so. */
void criteria_from_cluster(struct criteria *c, const struct cluster *cluster, double margin_ratio,
                           struct criteria_sources *sources);

#endif
