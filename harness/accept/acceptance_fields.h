/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_fields.h - the members of struct acceptance as keys of records: one table each, by which they are written
 * and read. Of this room.
 *
 * Records of acceptance.jsonl, in this order:
 *
 *     acceptance  the whole; how many nodes, ranks, repeats of the tournament there are
 *
 *     partial  without members: the test goes on, or never came to its end; else there is none
 *
 *     sums  how many sums of the allreduce, and how many pulls, were checked; none: none was
 *
 *     node stage preflight difference collective wrong_sum push_and_pull training corruption soak finding criterion
 *       one for each, as below
 *
 *     metric  of a rank: {"metric":"flops_per_s","rank":3,"flops_per_s":[one for each repeat]}
 *
 *     rank_order  {"order":"spread","ranks":[which rank is at each place],...}; "ranks":[]: there is none
 *
 *     trained_order  {"order":3,...}, the index of the order; none: nobody asked, or no order is better
 *
 *     pairs  of a repeat and a node: {"repeat":0,"from":2,"bytes_per_s":[to each node],"latency_s":[...]}
 *
 *     end  SHA-256 of all bytes before it (acceptance_report.P4)
 */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_FIELDS_H
#define HARNESS_ACCEPT_ACCEPTANCE_FIELDS_H

#include "harness/accept/acceptance.h"

enum field_type {
    FIELD_TEXT,     /* char[n_bytes] */
    FIELD_CONSTANT, /* const char *; kept in struct acceptance */
    FIELD_INT,      /* from least to most */
    FIELD_U64,
    FIELD_U64_NEWER, /* likewise; 0, not known, of records that lack it: those of before it was kept */
    FIELD_BYTES,     /* size_t */
    FIELD_F64,       /* NaN: null */
    FIELD_BOOL,
    FIELD_STAGE,       /* enums, as their names */
    FIELD_STAGE_NEWER, /* likewise; as it was, of records that lack it */
    FIELD_OUTCOME,
    FIELD_SUBJECT
};

struct field {
    const char *key; /* NULL: the last */
    enum field_type type;
    size_t offset_bytes, n_bytes;
    int least, most;
};

struct fields { /* a kind of records */
    const char *kind;
    const struct field *field;
};

extern const struct fields fields_acceptance, fields_partial, fields_node, fields_stage, fields_preflight,
    fields_difference, fields_collective, fields_sums, fields_wrong_sum, fields_ps, fields_training, fields_rank_order,
    fields_rank_order_training, fields_corruption, fields_soak, fields_finding, fields_criterion;

#endif
