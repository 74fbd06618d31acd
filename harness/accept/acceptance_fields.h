/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_fields.h - the members of struct acceptance as keys of records. Each kind of record has one table for
 * writing and reading. Private to accept/.
 *
 * Records of acceptance.jsonl, in this order:
 *
 *     acceptance  the whole test; numbers of nodes, ranks, repeats of the tournament
 *
 *     partial  without members: the test is running, or ended early; absent in a complete test
 *
 *     sums  number of allreduce sums and of pulls that were checked; absent if none was
 *
 *     node stage preflight difference collective wrong_sum push_and_pull training corruption soak finding criterion
 *       one for each, as below
 *
 *     metric  of a rank: {"metric":"flops_per_s","rank":3,"flops_per_s":[one for each repeat]}
 *
 *     rank_order  {"order":"spread","ranks":[the rank at each place],...}; "ranks":[]: there is no such order
 *
 *     trained_order  {"order":3,...}, the index of the order; absent if not requested, or if no order is better
 *
 *     pairs  of a repeat and a node: {"repeat":0,"from":2,"bytes_per_s":[to each node],"latency_s":[...]}
 *
 *     end  SHA-256 of all bytes before it (accept.P4)
 */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_FIELDS_H
#define HARNESS_ACCEPT_ACCEPTANCE_FIELDS_H

#include "harness/accept/acceptance.h"

enum field_type {
    FIELD_TEXT,     /* char[n_bytes] */
    FIELD_CONSTANT, /* const char *; kept in struct acceptance */
    FIELD_INT,      /* from least to most */
    FIELD_U64,
    FIELD_U64_NEWER, /* likewise; 0 (not known) if a record lacks it, because it is older than the field */
    FIELD_BYTES,     /* size_t */
    FIELD_F64,       /* NaN: null */
    FIELD_BOOL,
    FIELD_STAGE,       /* enums, as their names */
    FIELD_STAGE_NEWER, /* likewise; unchanged if a record lacks it */
    FIELD_OUTCOME,
    FIELD_SUBJECT
};

struct field {
    const char *key; /* NULL: end of the table */
    enum field_type type;
    size_t offset_bytes, n_bytes;
    int least, most;
};

struct fields { /* one kind of record */
    const char *kind;
    const struct field *field;
};

extern const struct fields fields_acceptance, fields_partial, fields_node, fields_stage, fields_preflight,
    fields_difference, fields_collective, fields_sums, fields_wrong_sum, fields_ps, fields_training, fields_rank_order,
    fields_rank_order_training, fields_corruption, fields_soak, fields_finding, fields_criterion;

#endif
