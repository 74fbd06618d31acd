/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criteria.h - what a cluster must do to be accepted: stages, statistics, limits; from a file of YAML.
 *
 * A limit of 0 is none: then the stage judges ranks, nodes and links by each other alone.
 *
 * Invariants
 *   C1  Parser, --init, --criteria-set, manifest and help know keys from one table (criteria_keys.h) alone.
 *   C2  What --init writes, read back, is the same struct criteria.
 *   C3  An error names file, line, key, value and what would be right.
 */
#ifndef HARNESS_ACCEPT_CRITERIA_H
#define HARNESS_ACCEPT_CRITERIA_H

#include <stdio.h>

#include "harness/accept/acceptance.h"

struct criteria {
    char name[ACCEPT_NAME_BYTES]; /* of the cluster */
    char stages[128];             /* "all", or names with commas between */
    bool runs[ACCEPT_N_STAGES];   /* as stages says; the soak only with soak_minutes above 0 */
    double stage_limit_s;         /* a stage that takes longer is ended, and has no data; of the soak: each training */

    /* statistics */
    double false_discovery_ratio; /* of all findings of a stage, the part that may be false */
    double least_effect_ratio;    /* nobody is blamed who is nearer than this part to what the fleet has: 0.1 */
    int least_repeats_count, most_repeats_count; /* of rank metrics and of the tournament; the evidence decides */

    /* preflight */
    double most_clock_skew_s, least_memory_free_bytes, least_link_bits_per_s, least_cores_count;
    /* compute, of every rank */
    double least_flops_per_s, least_memory_bytes_per_s;
    /* noise, of every rank */
    double noise_quantum_s, noise_s; /* fixed work of about this long, repeated for about so long */
    double most_detour_ratio, most_longest_detour_s;
    /* pairwise, of every link */
    double pairwise_message_bytes, least_pair_bytes_per_s, most_pair_latency_s;
    /* collectives */
    char reducer[32], collective_bytes[128]; /* "4096,1048576" */
    double least_busbw_bytes_per_s;          /* of the largest size */
    double least_busbw_bound_ratio;          /* likewise */
    double rank_order_bytes;                 /* vector by which rank orders are compared; 0: they are not */
    double least_rank_order_ratio;           /* of the launcher's order, over the best */
    /* ps */
    char ps_bytes[128];
    double least_goodput_bytes_per_s, least_goodput_bound_ratio; /* of the largest size */
    /* training: synchronous, at 1, 2, 4, ... nodes and all */
    char training_model[32];
    double rank_order_training_steps_count; /* of trainings in the best order of ranks and the launcher's; 0: none */
    double training_steps_count, least_efficiency_ratio, most_exposed_ratio; /* at all nodes */
    /* integrity */
    double integrity_steps_count, integrity_every_steps;
    /* soak */
    double soak_minutes, most_drift_ratio, most_straggling_ratio;
};

enum { CRITERIA_MAX_KEYS = 48, CRITERIA_SOURCE_BYTES = 256 };
struct criteria_sources { /* of each value, by the index of its key in criteria_keys; "": it is the default */
    char text[CRITERIA_MAX_KEYS][CRITERIA_SOURCE_BYTES];
};

/* All defaults. Cannot fail. */
void criteria_default(struct criteria *out);
/* Of fewer nodes than this every repeat that may be asked for is made, and the evidence looked at once. */
enum { CRITERIA_FEW_NODES = 8 };
/* As a test of n_nodes goes by c: of few nodes the least number of repeats is the most, as a look at the evidence after
 * each repeat would leave too little of the false-discovery ratio to find anything. Once is as good as twice. For
 * accept_rank() and judge(), which whoever calls them gives what the file says. Cannot fail. */
void criteria_for_nodes(struct criteria *c, int n_nodes);
/* RC_INVAL: C3. RC_NOMEM. */
enum rc criteria_load(struct criteria *out, const char *path) MUST_CHECK;
/* Of text in memory, any bytes; name: what messages begin with. RC_INVAL: C3. RC_NOMEM. */
enum rc criteria_parse(struct criteria *out, const char *name, const char *text, size_t n_bytes) MUST_CHECK;
/* "KEY=VALUE", with commas or ends of lines between, as of --criteria-set (struct opt_joined). RC_INVAL names the
 * setting; *c is then as it was. */
enum rc criteria_set(struct criteria *c, const char *assignments) MUST_CHECK;
/* Leave out stages, "noise,ps", as of `option`, with which messages begin; "": none. RC_INVAL: no such stage, or none
 * is left; *c is then as it was. */
enum rc criteria_skip(struct criteria *c, const char *option, const char *stages) MUST_CHECK;
/* Run these, "noise,ps", and no others, likewise. */
enum rc criteria_choose(struct criteria *c, const char *option, const char *stages) MUST_CHECK;
/* The sizes of a list, smallest first: of collective_bytes, ps_bytes. Returns how many. Cannot fail after a parse. */
int criteria_sizes(const char *list, size_t out[ACCEPT_MAX_SIZES]);
/* Write c as a commented file, with the meaning and the source of each value. sources, head: NULL: none; each line of
 * head becomes a comment. Whole or not at all. RC_INVAL, RC_IO. */
enum rc criteria_write(const struct criteria *c, const struct criteria_sources *sources, const char *head,
                       const char *path) MUST_CHECK;
struct record;
/* Every key with its value, for a manifest. */
void criteria_record(const struct criteria *c, struct record *r);
/* Every key with unit, range, default and meaning, for people. */
void criteria_help(FILE *to);
/* Limits from what a healthy reference run measured: margin_ratio below, or above, the worst healthy value. What the
 * operating system takes is another from run to run: its limits are margin_ratio above the worst repeat and 6 robust
 * standard deviations of the logarithms of all repeats, and no less than what nobody is blamed for without a limit.
 * Latencies and exposed communication likewise have 6 such deviations of what repeats of a pair, and parts of a
 * training, differ by. What the run did not measure keeps its limit. sources: NULL: not wanted. RC_INVAL: it is no
 * healthy run: it failed, was cut short, lost a rank, or had faults on order. RC_NOMEM. */
enum rc criteria_from_reference(struct criteria *c, const struct acceptance *healthy, double margin_ratio,
                                struct criteria_sources *sources) MUST_CHECK;
struct cluster;
/* Limits from what a description declares of the hardware, margin_ratio below it. The test multiplies in fp32: no limit
 * follows from a rate of another flops_precision, and sources say so. */
void criteria_from_cluster(struct criteria *c, const struct cluster *cluster, double margin_ratio,
                           struct criteria_sources *sources);

#endif
