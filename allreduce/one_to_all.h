/* SPDX-License-Identifier: Apache-2.0 */
/* one_to_all.h - one rank sends to each other rank a part of an array, or all of it, at once. Used by algorithms. */
#ifndef ALLREDUCE_ONE_TO_ALL_H
#define ALLREDUCE_ONE_TO_ALL_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/exchange/collective.h"

struct part_message;

enum one_to_all_parts {
    PART_ALL,             /* a rank gets all n_elems */
    PART_CHUNK,           /* rank r gets chunk r of n_ranks */
    PART_CHUNK_OF_OTHERS, /* the rank at distance d after the sender gets chunk d - 1 of n_ranks - 1 */
};

struct one_to_all { /* the same on every rank, except data and flight */
    float *data;    /* float[n_elems]; NULL: no data */
    size_t n_elems;
    enum one_to_all_parts parts; /* empty ones are not sent */
    int sender;
    enum wire_format wire; /* of the call */
    uint32_t tag;
    struct part_message *flight; /* [n_ranks] on the sender; ignored on other ranks */
};

/* Call on every rank. Errors: those of the transport; RC_MISMATCH: a part of another length came. */
enum rc one_to_all(const struct collective *c, const struct one_to_all *o) MUST_CHECK;
/* What `rank` of n_ranks sends, or receives; data, tag and flight are ignored. Pure. */
struct collective_cost one_to_all_cost(const struct one_to_all *o, int rank, int n_ranks);

#endif
