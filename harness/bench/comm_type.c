/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_type.c - the operations that `gradmark comm` can measure; bytes are counted like in nccl-tests; see
 * comm_type.h.
 */
#include "harness/bench/comm_type.h"

#include <string.h>

#include "harness/base/text.h"
#include "harness/exchange/collective.h"

static const char *const type_keys[COMM_N_TYPES + 1] = { "allreduce", "broadcast", "allgather", "reduce-scatter",
                                                         "barrier",   "sendrecv",  NULL };

const char *comm_type_name(enum comm_type type)
{
    return type_keys[type];
}

enum rc comm_type_find(enum comm_type *out, const char *name)
{
    const char *nearest = text_nearest(name, type_keys);

    for (int i = 0; i < COMM_N_TYPES; i++)
        if (strcmp(type_keys[i], name) == 0) {
            *out = (enum comm_type)i;
            return RC_OK;
        }
    return rc_raise(
        RC_INVAL,
        "%.64s: no such type; %s%s%suse allreduce, broadcast, allgather, reduce-scatter, barrier, sendrecv or ps", name,
        nearest ? "the nearest is " : "", nearest ? nearest : "", nearest ? "; " : "");
}

unsigned comm_collective_type(enum comm_type type)
{
    static const unsigned types[COMM_N_TYPES] = { [COMM_ALLREDUCE] = COLL_ALLREDUCE,
                                                  [COMM_BROADCAST] = COLL_BROADCAST,
                                                  [COMM_ALLGATHER] = COLL_ALLGATHER,
                                                  [COMM_REDUCE_SCATTER] = COLL_REDUCE_SCATTER };

    return types[type];
}

double comm_bus_factor(enum comm_type type, int n_ranks)
{
    const double part = (double)(n_ranks - 1) / n_ranks;

    switch (type) {
    case COMM_ALLREDUCE:
        return 2 * part;
    case COMM_ALLGATHER:
    case COMM_REDUCE_SCATTER:
        return part;
    case COMM_BROADCAST:
    case COMM_SENDRECV:
        return 1;
    case COMM_BARRIER:
    case COMM_N_TYPES:
        break;
    }
    return 0;
}

size_t comm_counted_elems(enum comm_type type, size_t n_elems, int n_ranks)
{
    const size_t p = (size_t)n_ranks;

    return type == COMM_ALLGATHER || type == COMM_REDUCE_SCATTER ? n_elems / p + (n_elems % p > 0) : n_elems;
}

bool comm_sums(enum comm_type type)
{
    return type == COMM_ALLREDUCE || type == COMM_REDUCE_SCATTER;
}
