/* SPDX-License-Identifier: Apache-2.0 */
/*
 * between_hosts.h - allreduce among the first ranks of hosts, of a vector that each of them has, around a ring
 * (ring.h). Also the place of a rank among hosts.
 *
 * Chunk i of h hosts is added in the order of hosts i, i + 1, ...
 */
#ifndef ALLREDUCE_BETWEEN_HOSTS_H
#define ALLREDUCE_BETWEEN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allreduce/ring.h"
#include "harness/base/arena.h"
#include "harness/exchange/collective.h"

struct world;

struct between_hosts {
    int n_hosts;
    struct ring_circle circle; /* of the first ranks of hosts */
    int *first;                /* [n_hosts]: the first ranks */
    struct arena arena;
    float *scratch;              /* a received chunk; only on first ranks, like what follows */
    struct part_message *flight; /* [3 RING_MOST_SEGMENTS]: NULL: no segments */
    uint32_t n_steps;            /* of the ring so far */
};

/* From env it uses transport and max_elems. group: the ranks of this host, whose rank 0 is the first; host: its
 * number among n_hosts. Collective over the world of env->transport. *out is written on errors too: close it.
 * RC_NOMEM. */
enum rc between_hosts_open(struct between_hosts *out, const struct collective_env *env, const struct world *group,
                           int host, int n_hosts) MUST_CHECK;
void between_hosts_close(struct between_hosts *b); /* accepts a zeroed one */
/* Call on the first rank of each host. c: for its env, and its name in errors. data[n_elems], NULL: no data (A5).
 * input: exchange.A13.
 * Errors: those of transfers; RC_MISMATCH: a message of another length. */
enum rc between_hosts_sum(struct between_hosts *b, const struct collective *c, float *data, const float *input,
                          size_t n_elems) MUST_CHECK;

/* The following functions are pure. */

/* The most elements, of n_elems, that a first rank receives at once. */
size_t between_hosts_scratch_elems(size_t n_elems, int n_hosts);
/* Cost on the first rank of host k of h. */
struct collective_cost between_hosts_cost(const struct collective_call *call, int h, int k);

struct host_place { /* the place of a rank: its host, and its index there */
    int n_hosts, host, n_on_host, index;
};
/* Hosts are numbered here in the order of their first ranks, not by their numbers in the group. */
struct host_place host_place_of(const struct collective_group *group, int rank);

#endif
