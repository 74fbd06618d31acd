/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance.h - what an acceptance test of a cluster measured, and what it found: plain data that stages fill, judges
 * read and reports show.
 *
 *   criteria.h    what is asked for: limits, statistics, stages; a file of YAML
 *   stages.h      measures: each stage is collective over all ranks, and fills its part of struct acceptance on rank 0
 *   blame.h, outliers.h    who is to blame, by statistics; pure
 *   rank_order.h  orders in which ranks could be the members of a ring; pure
 *   judge.h       criteria from what was measured: one row each, and findings
 *   inject.h      faults on order, for the self-test and for drills
 *   trials.h   detection rate and false alarms of all of these
 *   acceptance_report.h   terminal, page, JSON, JUnit, host lists
 *
 * A node is a host; its ranks are those that the launcher put there (in sim: that the description puts there). Nodes
 * are in the order of their first rank. Rates are higher when better, times lower.
 *
 * Invariants
 *   D1  What was not measured is NaN, never 0.
 *   D2  A stage that measured nothing (one node in a tournament, no repeat) is OUTCOME_NO_DATA with the reason, and so
 *       is a criterion without data. The whole passes only if every criterion passes or its stage was skipped on
 *       request, and at least one passes. NO_DATA is no pass. A partial test is NO_DATA as a whole; what it found and
 *       which criteria failed is kept, and shown.
 *   D3  A finding names who is to blame: node, rank or link, with what was measured and what was to be expected.
 *       Victims are not findings.
 *   D4  In virtual time equal options give equal bytes in every output: no date, no fact of this machine.
 */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_H
#define HARNESS_ACCEPT_ACCEPTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/host_load.h"

enum accept_stage { /* in the order in which they run */
                    ACCEPT_PREFLIGHT,
                    ACCEPT_COMPUTE,
                    ACCEPT_NOISE,
                    ACCEPT_PAIRWISE,
                    ACCEPT_COLLECTIVES,
                    ACCEPT_PS,
                    ACCEPT_TRAINING,
                    ACCEPT_INTEGRITY,
                    ACCEPT_SOAK,
                    ACCEPT_N_STAGES
};

enum accept_outcome {
    OUTCOME_PASS,
    OUTCOME_FAIL,
    OUTCOME_NO_DATA,
    OUTCOME_SKIPPED,
    OUTCOME_NO_LIMIT, /* measured, and judged by nothing */
    N_OUTCOMES
};

enum { ACCEPT_NAME_BYTES = 64, ACCEPT_TEXT_BYTES = 320, ACCEPT_MAX_CRITERIA = 96, ACCEPT_MAX_REPEATS = 64 };
enum { ACCEPT_INJECTED_BYTES = 1024 };

struct accept_node {
    char name[ACCEPT_NAME_BYTES];
    char kernel[HOST_KERNEL_BYTES]; /* host_kernel_id(); nodes of one kernel share a machine */
    int first_rank, n_ranks;
};

struct rank_metric { /* repeats of one measurement by every rank */
    enum accept_stage stage;
    const char *name; /* "flops_per_s"; a constant */
    const char *unit; /* for people: "flop/s" */
    bool higher_is_better;
    int n_repeats;
    double *value; /* [n_ranks][n_repeats]; owned */
};

enum {
    METRIC_GEMM,           /* flops_per_s */
    METRIC_MEMORY,         /* memory_bytes_per_s */
    METRIC_DETOUR,         /* detour_ratio: time lost in fixed quanta of work, over all their time */
    METRIC_LONGEST_DETOUR, /* longest_detour_s */
    METRIC_STEP_COMPUTE,   /* step_compute_s: of the training stage, a mean step; repeats are parts of the run */
    METRIC_STEP_WAIT,      /* step_wait_s: likewise, waiting for slower ranks */
    ACCEPT_N_METRICS
};

/* Every two nodes, measured alone on their links (circle method), repeat after repeat. */
struct tournament {
    int n_nodes, n_repeats;
    double *bytes_per_s; /* [n_repeats][n_nodes][n_nodes]: from row to column; the diagonal is NaN; owned */
    double *latency_s;   /* likewise, one way; both directions hold half of the round trip; owned */
    double *late_ratio;  /* likewise, both directions the same: of n_rounds round trips those that were late (late.h) */
    int n_rounds;        /* of two nodes in a repeat; 0: nobody has counted late ones */
};

struct sized_rate { /* of a collective, or of push and pull */
    size_t n_bytes;
    double bytes_per_s, low_bytes_per_s, high_bytes_per_s; /* busbw, or goodput of all servers; 95 % over repeats */
    double bound_ratio;                                    /* of what the slowest link allows; NaN: not known */
    int n_repeats;
};
enum { ACCEPT_MAX_SIZES = 16 };

struct wrong_sum {           /* what a rank got of the sums of a size, which are of small whole numbers, and exact */
    enum accept_stage stage; /* collectives: of allreduces; ps: what it pulled of what all workers had pushed */
    size_t n_bytes;
    int rank;
    uint64_t n_wrong, element; /* elements of all repeats; the first of them */
    double value, expected;    /* of that one */
};
enum rank_order_kind {                      /* in which order ranks are the members of a ring or tree (rank_order.h) */
                       RANK_ORDER_LAUNCHER, /* as the launcher numbered them */
                       RANK_ORDER_PACK,     /* nodes one after another: ranks of a node are neighbours */
                       RANK_ORDER_SPREAD,   /* a rank of each node in turn */
                       RANK_ORDER_SWITCHES, /* packed, and nodes of a switch are neighbours: as a scheduler or a
                                               description says */
                       RANK_ORDER_SHORTEST, /* packed, and the way around all nodes is short, by what the tournament
                                               measured */
                       ACCEPT_N_RANK_ORDERS
};
struct rank_order {
    int *rank;      /* [n_ranks]: which rank is at each place; rank 0 is first. NULL: there is no such order; owned */
    int same_as;    /* the first order that is the same; its own kind where none before it is */
    size_t n_bytes; /* of the vector that is summed */
    double bytes_per_s, low_bytes_per_s, high_bytes_per_s; /* bus bandwidth of its own; 95 % over repeats */
    double ratio, low_ratio, high_ratio;                   /* over that of the launcher's order, repeat by repeat */
    int n_repeats;                                         /* 0: not measured, as of all that are the same as another */
    bool is_best; /* of those measured the fastest that surely is faster than the launcher's, else that */
    char why[ACCEPT_TEXT_BYTES]; /* why there is none, or what it stands on; "": nothing more to be said */
};

struct rank_order_training { /* of the training stage: the best order of ranks beside the launcher's, at all nodes */
    int order;               /* that order's kind */
    int n_repeats;           /* trainings in each; 0: not measured */
    uint64_t n_steps;        /* of each training */
    double launcher_samples_per_s, low_launcher_samples_per_s, high_launcher_samples_per_s; /* 95 % over repeats */
    double samples_per_s, low_samples_per_s, high_samples_per_s;
    double ratio, low_ratio, high_ratio; /* over that in the launcher's order, repeat by repeat */
    char why[ACCEPT_TEXT_BYTES];         /* why it was not measured, though there is a better order; "": nothing */
};

struct scaled_training { /* of the training stage, at a number of nodes */
    int n_nodes, n_ranks;
    double samples_per_s, low_samples_per_s, high_samples_per_s;
    double efficiency_ratio, low_efficiency_ratio, high_efficiency_ratio; /* n_nodes 1: 1 */
    double exposed_ratio;                                                 /* exposed communication / step */
    /* Trained; of these, behind the warm-up: what the figures are of. 0: not known, as of older reports. */
    uint64_t n_steps, n_measured_steps;
};
enum { ACCEPT_MAX_SCALES = 16 };
/* Ranks are compared by parts of a training, of so many measured steps at least; by fewer parts nobody can be blamed.
 */
enum { TRAINING_PART_STEPS = 5, TRAINING_LEAST_PARTS = 2 };
enum { TRAINING_LEAST_STEPS = TRAINING_LEAST_PARTS * TRAINING_PART_STEPS };

struct soak {
    double minutes;     /* that it ran; 0: it did not */
    double drift_ratio; /* steps of the last tenth over those of the first tenth, medians, less 1 */
    double worst_ratio; /* the slowest minute's (or tenth's) steps over the median of all */
    uint64_t n_steps;
    uint64_t n_parts; /* trainings that it consists of; 0: not known, as of older reports */
};
enum { SOAK_LEAST_PARTS = 2 }; /* one has neither an end beside a beginning nor a worst minute */

struct corruption { /* of parameters that were to be the same on all ranks */
    int rank;       /* -1: cannot be told (two ranks differ) */
    uint64_t step;  /* the check that saw it; checks are every so many steps */
    char segment[ACCEPT_NAME_BYTES];
};
enum { ACCEPT_MAX_CORRUPTIONS = 8 };

struct preflight_row {            /* of one fact that nodes must agree on, or that has a limit */
    char what[ACCEPT_NAME_BYTES]; /* "Open MPI", "cores", "clock skew" */
    enum accept_outcome outcome;
    char value[ACCEPT_TEXT_BYTES]; /* what most have */
    int node;                      /* the first that differs or breaks the limit; -1: none */
    char other[ACCEPT_TEXT_BYTES]; /* what that one has, and how many others differ; of node -1: in what all differ */
};
enum { ACCEPT_MAX_PREFLIGHT = 24 };

struct node_difference { /* a node that differs in a fact of preflight, or breaks its limit */
    int fact;            /* of preflight[] */
    int node;            /* -1: nodes differ without a majority, and none is to blame */
    char has[ACCEPT_TEXT_BYTES];
};

enum subject { SUBJECT_FLEET, SUBJECT_NODE, SUBJECT_RANK, SUBJECT_LINK };

struct finding { /* D3 */
    enum accept_stage stage;
    enum subject subject;
    int a, b;           /* node: a; rank: a is the rank, b its node; link: nodes a -> b */
    bool both_ways;     /* link: likewise from b to a */
    const char *metric; /* name of it; a constant */
    const char *unit;
    double measured, expected;    /* median of its own; what the healthy of the fleet have */
    double q_value;               /* false-discovery rate at which it is found, or 0: certain (a limit, a corruption) */
    char text[ACCEPT_TEXT_BYTES]; /* a sentence for people, without a full stop */
};

struct criterion { /* a row of the verdict */
    enum accept_stage stage;
    char name[ACCEPT_NAME_BYTES]; /* "allreduce_busbw_bytes_per_s 1048576" */
    enum accept_outcome outcome;
    double measured, low, high; /* low, high: 95 %; NaN: none */
    double limit;               /* NaN: the criterion is one of findings alone */
    bool at_least;              /* measured must be at least the limit; else at most */
    const char *unit;           /* a constant */
    int n_samples;
    char text[ACCEPT_TEXT_BYTES]; /* why, without a full stop */
};

struct stage_state {
    enum accept_outcome outcome; /* of its criteria: FAIL before NO_DATA before PASS before NO_LIMIT */
    bool was_run;
    double took_s;
    char why[ACCEPT_TEXT_BYTES]; /* why it has no data, or was skipped; "": it was run to its end */
};

struct acceptance { /* on rank 0; owned */
    char cluster_name[ACCEPT_NAME_BYTES];
    char world[16], transport[16], compute[16];
    bool is_virtual;
    int n_nodes, n_ranks;
    struct accept_node *node; /* [n_nodes] */
    int *node_of_rank;        /* [n_ranks] */
    struct stage_state stage[ACCEPT_N_STAGES];
    struct preflight_row preflight[ACCEPT_MAX_PREFLIGHT];
    int n_preflight;
    struct node_difference *difference; /* [n_differences]; in the order of facts; owned */
    int n_differences;
    struct rank_metric metric[ACCEPT_N_METRICS]; /* value NULL: not measured */
    struct tournament tournament;                /* n_repeats 0: not measured */
    struct sized_rate collective[ACCEPT_MAX_SIZES], ps[ACCEPT_MAX_SIZES];
    int n_collective, n_ps;
    /* Allreduces whose sums were compared on every rank, and pulls that were on every worker; 0: compute has no numbers
     */
    uint64_t sum_checks_count, pull_checks_count;
    struct wrong_sum *wrong_sum; /* [n_wrong_sums]; by stage, by size, then by rank, each of these once; owned */
    int n_wrong_sums;
    struct rank_order rank_order[ACCEPT_N_RANK_ORDERS]; /* of the collectives stage */
    struct scaled_training training[ACCEPT_MAX_SCALES];
    int n_training;
    struct rank_order_training rank_order_training;
    uint64_t integrity_checks_count, integrity_every_steps;
    struct corruption corruption[ACCEPT_MAX_CORRUPTIONS];
    int n_corruptions;
    struct soak soak;
    struct finding *finding; /* [n_findings]; what is certain first, then by q_value */
    int n_findings;
    struct criterion criterion[ACCEPT_MAX_CRITERIA];
    int n_criteria;
    enum accept_outcome outcome;          /* D2 */
    bool is_partial;                      /* it goes on, or ended before its end, but for a lost rank */
    int stop_signal;                      /* the test was stopped for it; 0: it was not */
    int lost_rank;                        /* that ended the test; -1: none */
    char injected[ACCEPT_INJECTED_BYTES]; /* faults on order, as --inject names them; "": none. Every output says so */
    struct kept_text *kept_text;          /* of a loaded one: what its constants are; owned */
};

/* "pairwise". */
const char *accept_stage_name(enum accept_stage stage);
/* "flops_per_s", of METRIC_*. */
const char *accept_metric_name(int metric);
/* "spread". */
const char *accept_rank_order_name(int kind);
/* "pass", "fail", "no data", "skipped". */
const char *accept_outcome_name(enum accept_outcome outcome);
/* "fleet", "node", "rank", "link". */
const char *accept_subject_name(enum subject subject);
/* For people and files: "host3", "rank 5 on host2", "link host1 - host4", "link host1 -> host4", "all nodes". */
void accept_subject_text(char *out, size_t n_bytes, const struct acceptance *a, const struct finding *f);

/* Allocate for nodes and ranks; the rest is empty, every stage OUTCOME_SKIPPED. RC_NOMEM. */
enum rc acceptance_open(struct acceptance *out, int n_nodes, int n_ranks) MUST_CHECK;
/* Give a metric its values, all NaN. RC_NOMEM. */
enum rc acceptance_add_metric(struct acceptance *a, int metric, int n_repeats) MUST_CHECK;
/* The same for the tournament: room for up to n_repeats; its n_repeats stays 0 until repeats are filled. RC_NOMEM. */
enum rc acceptance_add_tournament(struct acceptance *a, int n_repeats) MUST_CHECK;
/* Give an order its places, order[n_ranks]; NULL: there is no such order. All its values are NaN. RC_NOMEM. */
enum rc acceptance_add_rank_order(struct acceptance *a, int kind, const int *order) MUST_CHECK;
/* The order that is_best; -1: none was measured. */
int acceptance_best_rank_order(const struct acceptance *a);
/* Append a copy. RC_NOMEM. */
enum rc acceptance_add_finding(struct acceptance *a, const struct finding *f) MUST_CHECK;
/* The same of a fact in which a node differs. RC_NOMEM. */
enum rc acceptance_add_difference(struct acceptance *a, const struct node_difference *d) MUST_CHECK;
/* The same of sums that are wrong, at their place; those of a stage, size and rank that are there already are more of
 * them. RC_NOMEM. */
enum rc acceptance_add_wrong_sum(struct acceptance *a, const struct wrong_sum *w) MUST_CHECK;
/* A copy of text that lives as long as a, the same for equal texts: for names and units that are no constants of the
 * program. NULL: no memory. */
const char *acceptance_keep_text(struct acceptance *a, const char *text);
/* The next row of the verdict, zeroed but for NaNs; asserts that there is room. */
struct criterion *acceptance_add_criterion(struct acceptance *a, enum accept_stage stage, const char *name);
void acceptance_close(struct acceptance *a); /* accepts a zeroed one */

/* Of the stage ps: the first rank of the last node; of one node its last rank, as rank 0 keeps what is measured. */
static inline int accept_server_rank(const struct accept_node *node, int n_nodes, int n_ranks)
{
    return node[n_nodes - 1].first_rank > 0 ? node[n_nodes - 1].first_rank : n_ranks - 1;
}

static inline double *tournament_rate(const struct tournament *t, int repeat, int from, int to)
{
    return &t->bytes_per_s[((size_t)repeat * (size_t)t->n_nodes + (size_t)from) * (size_t)t->n_nodes + (size_t)to];
}
static inline double *tournament_latency(const struct tournament *t, int repeat, int from, int to)
{
    return &t->latency_s[((size_t)repeat * (size_t)t->n_nodes + (size_t)from) * (size_t)t->n_nodes + (size_t)to];
}
static inline double *tournament_late(const struct tournament *t, int repeat, int from, int to)
{
    return &t->late_ratio[((size_t)repeat * (size_t)t->n_nodes + (size_t)from) * (size_t)t->n_nodes + (size_t)to];
}

#endif
