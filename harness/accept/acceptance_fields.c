/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_fields.c - the members of struct acceptance as keys of records; see acceptance_fields.h. Ranges that
 * depend on nodes and ranks are checked by the reader.
 */
#include "harness/accept/acceptance_fields.h"

#include <limits.h>

enum { MOST = INT_MAX };

#define AT(s, member) offsetof(struct s, member)
#define TEXT(s, member, key)                                                  \
    {                                                                         \
        key, FIELD_TEXT, AT(s, member), sizeof(((struct s *)0)->member), 0, 0 \
    }
#define INT(s, member, key, least, most)                        \
    {                                                           \
        key, FIELD_INT, AT(s, member), sizeof(int), least, most \
    }
#define OF(s, member, key, type)                                        \
    {                                                                   \
        key, type, AT(s, member), sizeof(((struct s *)0)->member), 0, 0 \
    }
#define F64(s, member, key) OF(s, member, key, FIELD_F64)
#define END                          \
    {                                \
        NULL, FIELD_TEXT, 0, 0, 0, 0 \
    }

static const struct field of_acceptance[] = {
    TEXT(acceptance, cluster_name, "cluster"),
    TEXT(acceptance, world, "world"),
    TEXT(acceptance, transport, "transport"),
    TEXT(acceptance, compute, "compute"),
    OF(acceptance, is_virtual, "is_virtual", FIELD_BOOL),
    INT(acceptance, n_nodes, "nodes_count", 1, MOST),
    INT(acceptance, n_ranks, "ranks_count", 1, MOST),
    INT(acceptance, tournament.n_repeats, "tournament_repeats_count", 0, ACCEPT_MAX_REPEATS),
    OF(acceptance, integrity_checks_count, "integrity_checks_count", FIELD_U64),
    OF(acceptance, integrity_every_steps, "integrity_every_steps_count", FIELD_U64),
    OF(acceptance, outcome, "outcome", FIELD_OUTCOME),
    INT(acceptance, stop_signal, "stop_signal", 0, MOST),
    INT(acceptance, lost_rank, "lost_rank", -1, MOST),
    TEXT(acceptance, injected, "injected"),
    END
};
const struct fields fields_acceptance = { "acceptance", of_acceptance };

static const struct field of_partial[] = { END };
const struct fields fields_partial = { "partial", of_partial };

static const struct field of_node[] = { TEXT(accept_node, name, "name"), TEXT(accept_node, kernel, "kernel"),
                                        INT(accept_node, first_rank, "first_rank", 0, MOST),
                                        INT(accept_node, n_ranks, "ranks_count", 0, MOST), END };
const struct fields fields_node = { "node", of_node };

static const struct field of_stage[] = { OF(stage_state, outcome, "outcome", FIELD_OUTCOME),
                                         OF(stage_state, was_run, "was_run", FIELD_BOOL),
                                         F64(stage_state, took_s, "took_s"), TEXT(stage_state, why, "why"), END };
const struct fields fields_stage = { "stage", of_stage };

static const struct field of_preflight[] = {
    TEXT(preflight_row, what, "what"),   OF(preflight_row, outcome, "outcome", FIELD_OUTCOME),
    TEXT(preflight_row, value, "value"), INT(preflight_row, node, "node", -1, MOST),
    TEXT(preflight_row, other, "other"), END
};
const struct fields fields_preflight = { "preflight", of_preflight };

static const struct field of_difference[] = { INT(node_difference, fact, "fact", 0, ACCEPT_MAX_PREFLIGHT - 1),
                                              INT(node_difference, node, "node", -1, MOST),
                                              TEXT(node_difference, has, "has"), END };
const struct fields fields_difference = { "difference", of_difference };

static const struct field of_sized_rate[] = { OF(sized_rate, n_bytes, "message_bytes", FIELD_BYTES),
                                              F64(sized_rate, bytes_per_s, "bytes_per_s"),
                                              F64(sized_rate, low_bytes_per_s, "low_bytes_per_s"),
                                              F64(sized_rate, high_bytes_per_s, "high_bytes_per_s"),
                                              F64(sized_rate, bound_ratio, "bound_ratio"),
                                              INT(sized_rate, n_repeats, "repeats_count", 0, MOST),
                                              END };
const struct fields fields_collective = { "collective", of_sized_rate };
const struct fields fields_ps = { "push_and_pull", of_sized_rate };

static const struct field of_sums[] = { OF(acceptance, sum_checks_count, "checks_count", FIELD_U64),
                                        OF(acceptance, pull_checks_count, "pull_checks_count", FIELD_U64_NEWER), END };
const struct fields fields_sums = { "sums", of_sums };

static const struct field of_wrong_sum[] = { OF(wrong_sum, stage, "stage", FIELD_STAGE_NEWER),
                                             OF(wrong_sum, n_bytes, "message_bytes", FIELD_BYTES),
                                             INT(wrong_sum, rank, "rank", 0, MOST),
                                             OF(wrong_sum, n_wrong, "wrong_count", FIELD_U64),
                                             OF(wrong_sum, element, "element", FIELD_U64),
                                             F64(wrong_sum, value, "value"),
                                             F64(wrong_sum, expected, "expected"),
                                             END };
const struct fields fields_wrong_sum = { "wrong_sum", of_wrong_sum };

static const struct field of_rank_order[] = { INT(rank_order, same_as, "same_as", 0, ACCEPT_N_RANK_ORDERS - 1),
                                              OF(rank_order, n_bytes, "message_bytes", FIELD_BYTES),
                                              F64(rank_order, bytes_per_s, "bytes_per_s"),
                                              F64(rank_order, low_bytes_per_s, "low_bytes_per_s"),
                                              F64(rank_order, high_bytes_per_s, "high_bytes_per_s"),
                                              F64(rank_order, ratio, "ratio"),
                                              F64(rank_order, low_ratio, "low_ratio"),
                                              F64(rank_order, high_ratio, "high_ratio"),
                                              INT(rank_order, n_repeats, "repeats_count", 0, MOST),
                                              OF(rank_order, is_best, "is_best", FIELD_BOOL),
                                              TEXT(rank_order, why, "why"),
                                              END };
const struct fields fields_rank_order = { "rank_order", of_rank_order };

#define OF_TRAINING(member) F64(rank_order_training, member, #member)
static const struct field of_rank_order_training[] = {
    INT(rank_order_training, order, "order", 1, ACCEPT_N_RANK_ORDERS - 1),
    INT(rank_order_training, n_repeats, "repeats_count", 0, ACCEPT_MAX_REPEATS),
    OF(rank_order_training, n_steps, "steps_count", FIELD_U64),
    OF_TRAINING(launcher_samples_per_s),
    OF_TRAINING(low_launcher_samples_per_s),
    OF_TRAINING(high_launcher_samples_per_s),
    OF_TRAINING(samples_per_s),
    OF_TRAINING(low_samples_per_s),
    OF_TRAINING(high_samples_per_s),
    OF_TRAINING(ratio),
    OF_TRAINING(low_ratio),
    OF_TRAINING(high_ratio),
    TEXT(rank_order_training, why, "why"),
    END
};
const struct fields fields_rank_order_training = { "trained_order", of_rank_order_training };

static const struct field of_training[] = { INT(scaled_training, n_nodes, "nodes_count", 0, MOST),
                                            INT(scaled_training, n_ranks, "ranks_count", 0, MOST),
                                            F64(scaled_training, samples_per_s, "samples_per_s"),
                                            F64(scaled_training, low_samples_per_s, "low_samples_per_s"),
                                            F64(scaled_training, high_samples_per_s, "high_samples_per_s"),
                                            F64(scaled_training, efficiency_ratio, "efficiency_ratio"),
                                            F64(scaled_training, low_efficiency_ratio, "low_efficiency_ratio"),
                                            F64(scaled_training, high_efficiency_ratio, "high_efficiency_ratio"),
                                            F64(scaled_training, exposed_ratio, "exposed_ratio"),
                                            OF(scaled_training, n_steps, "steps_count", FIELD_U64_NEWER),
                                            OF(scaled_training, n_measured_steps, "measured_steps_count",
                                               FIELD_U64_NEWER),
                                            END };
const struct fields fields_training = { "training", of_training };

static const struct field of_corruption[] = { INT(corruption, rank, "rank", -1, MOST),
                                              OF(corruption, step, "step", FIELD_U64),
                                              TEXT(corruption, segment, "segment"), END };
const struct fields fields_corruption = { "corruption", of_corruption };

static const struct field of_soak[] = { F64(soak, minutes, "minutes"),
                                        F64(soak, drift_ratio, "drift_ratio"),
                                        F64(soak, worst_ratio, "worst_ratio"),
                                        OF(soak, n_steps, "steps_count", FIELD_U64),
                                        OF(soak, n_parts, "parts_count", FIELD_U64_NEWER),
                                        END };
const struct fields fields_soak = { "soak", of_soak };

static const struct field of_finding[] = { OF(finding, stage, "stage", FIELD_STAGE),
                                           OF(finding, subject, "subject", FIELD_SUBJECT),
                                           INT(finding, a, "a", INT_MIN, MOST),
                                           INT(finding, b, "b", INT_MIN, MOST),
                                           OF(finding, both_ways, "both_ways", FIELD_BOOL),
                                           OF(finding, metric, "metric", FIELD_CONSTANT),
                                           OF(finding, unit, "unit", FIELD_CONSTANT),
                                           F64(finding, measured, "measured"),
                                           F64(finding, expected, "expected"),
                                           F64(finding, q_value, "q_value"),
                                           TEXT(finding, text, "text"),
                                           END };
const struct fields fields_finding = { "finding", of_finding };

static const struct field of_criterion[] = { OF(criterion, stage, "stage", FIELD_STAGE),
                                             TEXT(criterion, name, "name"),
                                             OF(criterion, outcome, "outcome", FIELD_OUTCOME),
                                             F64(criterion, measured, "measured"),
                                             F64(criterion, low, "low"),
                                             F64(criterion, high, "high"),
                                             F64(criterion, limit, "limit"),
                                             OF(criterion, at_least, "at_least", FIELD_BOOL),
                                             OF(criterion, unit, "unit", FIELD_CONSTANT),
                                             INT(criterion, n_samples, "samples_count", INT_MIN, MOST),
                                             TEXT(criterion, text, "text"),
                                             END };
const struct fields fields_criterion = { "criterion", of_criterion };
