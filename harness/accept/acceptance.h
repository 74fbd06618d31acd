/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance.h - the measurements and findings of an acceptance test of a cluster: plain data that stages fill, judges
 * read and reports show.
 *
 *   criteria.h    the requirements: limits, statistics, stages; a YAML file
 *   stages.h      measures: each stage is collective over all ranks, and fills its part of struct acceptance on rank 0
 *   blame.h, outliers.h    which node, link or rank is to blame, by statistics; pure
 *   rank_order.h  possible orders of ranks in a ring; pure
 *   judge.h       from measurements to criteria, one row each, and findings
 *   inject.h      fault injection, for the self-test and for exercises
 *   trials.h   detection rate and false alarms of all of these
 *   acceptance_report.h   terminal, page, JSON, JUnit, host lists
 *
 * A node is a host; its ranks are those that the launcher (in sim: the description) puts there. Nodes are in the order
 * of their first rank. A higher rate is better, a lower time is better.
 *
 * Invariants
 *   D1  A value that was not measured is NaN, never 0.
 *   D2  A stage that measured nothing (one node in a tournament, no repeat) is OUTCOME_NO_DATA with the reason, and so
 *       is a criterion without data. The whole test passes only if every criterion passes or its stage was skipped on
 *       request, and at least one passes. NO_DATA is not a pass. A partial test is NO_DATA as a whole; its findings and
 *       failed criteria are kept and shown.
 *   D3  A finding names the node, rank or link to blame, with the measured and the expected value. Victims are not
 *       findings.
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
    OUTCOME_NO_LIMIT, /* measured, but no criterion judges it */
    N_OUTCOMES
};

enum { ACCEPT_NAME_BYTES = 64, ACCEPT_TEXT_BYTES = 320, ACCEPT_MAX_CRITERIA = 96, ACCEPT_MAX_REPEATS = 64 };
enum { ACCEPT_INJECTED_BYTES = 1024 };

struct accept_node {
    char name[ACCEPT_NAME_BYTES];
    char kernel[HOST_KERNEL_BYTES]; /* host_kernel_id(); nodes with equal kernels share a machine */
    int first_rank, n_ranks;
};

struct rank_metric { /* repeats of one measurement on every rank */
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
    METRIC_DETOUR,         /* detour_ratio: time lost in fixed quanta of work, over their total time */
    METRIC_LONGEST_DETOUR, /* longest_detour_s */
    METRIC_STEP_COMPUTE,   /* step_compute_s: mean step of the training stage; repeats are parts of the run */
    METRIC_STEP_WAIT,      /* step_wait_s: likewise, waiting for slower ranks */
    ACCEPT_N_METRICS
};

/* All pairs of nodes, each measured alone on its links (circle method), in several repeats. */
struct tournament {
    int n_nodes, n_repeats;
    double *bytes_per_s; /* [n_repeats][n_nodes][n_nodes]: from row to column; the diagonal is NaN; owned */
    double *latency_s;   /* likewise, one way; both directions hold half of the round trip; owned */
    double *late_ratio;  /* likewise, equal in both directions: late round trips (late.h) over n_rounds; owned */
    int n_rounds;        /* round trips of two nodes in a repeat; 0: late ones were not counted */
};

struct sized_rate { /* of a collective, or of push and pull */
    size_t n_bytes;
    double bytes_per_s, low_bytes_per_s, high_bytes_per_s; /* busbw, or goodput of all servers; 95 % over repeats */
    double bound_ratio;                                    /* over the bound by the slowest link; NaN: not known */
    int n_repeats;
};
enum { ACCEPT_MAX_SIZES = 16 };

struct wrong_sum {           /* wrong sums of one size on one rank; addends are small whole numbers: sums are exact */
    enum accept_stage stage; /* collectives: sums of allreduces; ps: pulled sums of the pushes of all workers */
    size_t n_bytes;
    int rank;
    uint64_t n_wrong, element; /* wrong elements in all repeats; index of the first */
    double value, expected;    /* of the first */
};
enum rank_order_kind {                      /* order of ranks in a ring or tree (rank_order.h) */
                       RANK_ORDER_LAUNCHER, /* as the launcher numbered them */
                       RANK_ORDER_PACK,     /* nodes one after another: ranks of a node are neighbours */
                       RANK_ORDER_SPREAD,   /* a rank of each node in turn */
                       RANK_ORDER_SWITCHES, /* packed, and nodes of a switch are neighbours, from a scheduler or a
                                               description */
                       RANK_ORDER_SHORTEST, /* packed, with a short way around all nodes, from measurements of the
                                               tournament */
                       ACCEPT_N_RANK_ORDERS
};
struct rank_order {
    int *rank;      /* [n_ranks]: the rank at each place; rank 0 is first. NULL: there is no such order; owned */
    int same_as;    /* the first order that is equal; its own kind if no earlier one is equal */
    size_t n_bytes; /* of the vector that is summed */
    double bytes_per_s, low_bytes_per_s, high_bytes_per_s; /* its bus bandwidth; 95 % over repeats */
    double ratio, low_ratio, high_ratio;                   /* over that of the launcher's order, repeat by repeat */
    int n_repeats;                                         /* 0: not measured, as is an order equal to another */
    bool is_best; /* the fastest measured order that is significantly faster than the launcher's, else the latter */
    char why[ACCEPT_TEXT_BYTES]; /* why there is no such order, or its basis; "": nothing to add */
};

struct rank_order_training { /* training stage: the best rank order compared with the launcher's, on all nodes */
    int order;               /* kind of the best order */
    int n_repeats;           /* trainings in each order; 0: not measured */
    uint64_t n_steps;        /* of each training */
    double launcher_samples_per_s, low_launcher_samples_per_s, high_launcher_samples_per_s; /* 95 % over repeats */
    double samples_per_s, low_samples_per_s, high_samples_per_s;
    double ratio, low_ratio, high_ratio; /* over that in the launcher's order, repeat by repeat */
    char why[ACCEPT_TEXT_BYTES];         /* why it was not measured although there is a better order; else "" */
};

struct scaled_training { /* training stage, on a number of nodes */
    int n_nodes, n_ranks;
    double samples_per_s, low_samples_per_s, high_samples_per_s;
    double efficiency_ratio, low_efficiency_ratio, high_efficiency_ratio; /* n_nodes 1: 1 */
    double exposed_ratio;                                                 /* exposed communication / step */
    /* Steps trained, and those of them after the warm-up, which were measured. 0: not known, as in older reports. */
    uint64_t n_steps, n_measured_steps;
};
enum { ACCEPT_MAX_SCALES = 16 };
/* Ranks are compared by parts of a training, each of at least this number of measured steps. With fewer parts no rank
 * can be blamed. */
enum { TRAINING_PART_STEPS = 5, TRAINING_LEAST_PARTS = 2 };
enum { TRAINING_LEAST_STEPS = TRAINING_LEAST_PARTS * TRAINING_PART_STEPS };

struct soak {
    double minutes;     /* duration; 0: it did not run */
    double drift_ratio; /* median step of the last tenth over that of the first tenth, less 1 */
    double worst_ratio; /* the slowest minute's (or tenth's) steps over the median of all */
    uint64_t n_steps;
    uint64_t n_parts; /* number of trainings in it; 0: not known, as in older reports */
};
enum { SOAK_LEAST_PARTS = 2 }; /* one part has no beginning and end to compare, and no worst minute */

struct corruption { /* of parameters that should be equal on all ranks */
    int rank;       /* -1: not known (two ranks differ) */
    uint64_t step;  /* the check that detected it; there is a check every integrity_every_steps steps */
    char segment[ACCEPT_NAME_BYTES];
};
enum { ACCEPT_MAX_CORRUPTIONS = 8 };

struct preflight_row {            /* one fact that must be equal on all nodes, or that has a limit */
    char what[ACCEPT_NAME_BYTES]; /* "Open MPI", "cores", "clock skew" */
    enum accept_outcome outcome;
    char value[ACCEPT_TEXT_BYTES]; /* value of the majority */
    int node;                      /* the first that differs or breaks the limit; -1: none */
    char other[ACCEPT_TEXT_BYTES]; /* its value, and how many more differ; with node -1: what differs in all */
    /* Of a number with a limit, as the test compared it; not in records. unit: a constant; NULL: no such number */
    double measured, limit; /* measured: the worst of all nodes */
    bool at_least;
    const char *unit;
};
enum { ACCEPT_MAX_PREFLIGHT = 24 };

struct node_difference { /* a node that differs in a fact of preflight, or breaks its limit */
    int fact;            /* index in preflight[] */
    int node;            /* -1: nodes differ without a majority, and none is to blame */
    char has[ACCEPT_TEXT_BYTES];
};

enum subject { SUBJECT_FLEET, SUBJECT_NODE, SUBJECT_RANK, SUBJECT_LINK };

struct finding { /* accept.D3 */
    enum accept_stage stage;
    enum subject subject;
    int a, b;           /* node: a; rank: a is the rank, b its node; link: nodes a -> b */
    bool both_ways;     /* link: also from b to a */
    const char *metric; /* its name; a constant */
    const char *unit;
    double measured, expected;    /* median of its values; value of the healthy part of the fleet */
    double q_value;               /* false-discovery rate at which it is found, or 0: certain (a limit, a corruption) */
    char text[ACCEPT_TEXT_BYTES]; /* a sentence for people, without a full stop */
};

struct criterion { /* a row of the verdict */
    enum accept_stage stage;
    char name[ACCEPT_NAME_BYTES]; /* "allreduce_busbw_bytes_per_s 1048576" */
    enum accept_outcome outcome;
    double measured, low, high; /* low, high: 95 %; NaN: none */
    double limit;               /* NaN: the criterion depends on findings only */
    bool at_least;              /* measured must be at least the limit; else at most */
    const char *unit;           /* a constant */
    int n_samples;
    char text[ACCEPT_TEXT_BYTES]; /* why, without a full stop */
};

struct stage_state {
    enum accept_outcome outcome; /* of its criteria: FAIL before NO_DATA before PASS before NO_LIMIT */
    bool was_run;
    double took_s;
    char why[ACCEPT_TEXT_BYTES]; /* why it has no data, or was skipped; "": it ran to its end */
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
    /* Number of allreduces whose sums were compared on every rank, and of pulls that were compared on every worker.
     * 0: the compute backend has no data. */
    uint64_t sum_checks_count, pull_checks_count;
    struct wrong_sum *wrong_sum; /* [n_wrong_sums]; by stage, size, then rank, each combination once; owned */
    int n_wrong_sums;
    struct rank_order rank_order[ACCEPT_N_RANK_ORDERS]; /* of the collectives stage */
    struct scaled_training training[ACCEPT_MAX_SCALES];
    int n_training;
    struct rank_order_training rank_order_training;
    uint64_t integrity_checks_count, integrity_every_steps;
    struct corruption corruption[ACCEPT_MAX_CORRUPTIONS];
    int n_corruptions;
    struct soak soak;
    struct finding *finding; /* [n_findings]; certain findings first, then by q_value */
    int n_findings;
    struct criterion criterion[ACCEPT_MAX_CRITERIA];
    int n_criteria;
    enum accept_outcome outcome;          /* accept.D2 */
    bool is_partial;                      /* it is running, or ended early for another reason than a lost rank */
    int stop_signal;                      /* the signal that stopped the test; 0: none */
    int lost_rank;                        /* the rank whose loss ended the test; -1: none */
    char injected[ACCEPT_INJECTED_BYTES]; /* injected faults, as --inject names them; "": none. Every output has it */
    struct kept_text *kept_text;          /* of a loaded one: storage of its constants; owned */
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

/* Allocate for nodes and ranks; the rest is empty, every stage is OUTCOME_SKIPPED. RC_NOMEM. */
enum rc acceptance_open(struct acceptance *out, int n_nodes, int n_ranks) MUST_CHECK;
/* Give a metric its values, all NaN. RC_NOMEM. */
enum rc acceptance_add_metric(struct acceptance *a, int metric, int n_repeats) MUST_CHECK;
/* The same for the tournament: room for up to n_repeats; its n_repeats stays 0 until repeats are filled. RC_NOMEM. */
enum rc acceptance_add_tournament(struct acceptance *a, int n_repeats) MUST_CHECK;
/* Set the places of an order, order[n_ranks]; NULL: there is no such order. All its values are NaN. RC_NOMEM. */
enum rc acceptance_add_rank_order(struct acceptance *a, int kind, const int *order) MUST_CHECK;
/* The order that is_best; -1: none was measured. */
int acceptance_best_rank_order(const struct acceptance *a);
/* Append a copy. RC_NOMEM. */
enum rc acceptance_add_finding(struct acceptance *a, const struct finding *f) MUST_CHECK;
/* The same for a fact in which a node differs. RC_NOMEM. */
enum rc acceptance_add_difference(struct acceptance *a, const struct node_difference *d) MUST_CHECK;
/* The same for wrong sums, in sorted order. If there is already an entry for the stage, size and rank, they are added
 * to it. RC_NOMEM. */
enum rc acceptance_add_wrong_sum(struct acceptance *a, const struct wrong_sum *w) MUST_CHECK;
/* A copy of text that lives as long as a; equal texts share a copy. For names and units that are not constants of the
 * program. NULL: no memory. */
const char *acceptance_keep_text(struct acceptance *a, const char *text);
/* The next row of the verdict, zeroed except for NaNs; asserts that there is room. */
struct criterion *acceptance_add_criterion(struct acceptance *a, enum accept_stage stage, const char *name);
void acceptance_close(struct acceptance *a); /* accepts a zeroed one */

/* Server rank of the stage ps: the first rank of the last node. With one node its last rank, since rank 0 keeps the
 * measurements. */
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
