/* SPDX-License-Identifier: Apache-2.0 */
/*
 * between_hosts.h - allreduce among the first ranks of hosts, of a vector that each of them has: around a ring
 * (ring_half.h), or by halving and doubling (halving_doubling_members.h). And where a rank is among hosts.
 *
 * By the ring chunk i of h hosts is added in the order of hosts i, i + 1, ...
 */
#ifndef ALLREDUCE_BETWEEN_HOSTS_H
#define ALLREDUCE_BETWEEN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allreduce/ring_half.h"
#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/exchange/collective.h"

struct world;

struct between_hosts_opts { /* of a module that sums so */
    bool halving;
    uint64_t segment_bytes;
};
extern const struct opt between_hosts_options[];

struct between_hosts {
    int n_hosts;
    struct ring_circle circle; /* of the first rank of each host */
    int *first;                /* [n_hosts]: their numbers */
    struct arena arena;
    float *scratch;              /* a chunk as received; of first ranks, as what follows */
    struct part_message *flight; /* [3 RING_MOST_SEGMENTS]: of the ring; NULL: no segments */
    uint32_t n_steps;            /* of the ring so far */
};

/* Of env: transport, opts and max_elems. group: the ranks of this host, of which rank 0 is the first; host: its number
 * of n_hosts. Collective over the world of env->transport. *out is written on errors too: close it. RC_NOMEM. */
enum rc between_hosts_open(struct between_hosts *out, const struct collective_env *env, const struct world *group,
                           int host, int n_hosts) MUST_CHECK;
void between_hosts_close(struct between_hosts *b); /* accepts a zeroed one */
/* On the first rank of each host; c: its env is used, and its name in errors. data[n_elems], NULL: hollow (A5).
 * Errors: those of transfers; RC_MISMATCH: a message of another length. */
enum rc between_hosts_sum(struct between_hosts *b, const struct collective *c, float *data, size_t n_elems) MUST_CHECK;

/* What follows is pure; opts NULL: defaults. */

/* What a first rank receives at once, of n_elems. */
size_t between_hosts_scratch_elems(const void *opts, size_t n_elems, int n_hosts);
/* Of the first rank of host k of h. */
struct collective_cost between_hosts_cost(const void *opts, const struct collective_call *call, int h, int k);
/* From first send to last receive. */
struct collective_cost between_hosts_path(const void *opts, const struct collective_call *call, int h);

struct host_place { /* of a rank: of which host, which of its ranks */
    int n_hosts, host, n_on_host, index;
};
/* Hosts are numbered here in the order of their first ranks, whatever their numbers in the group are. */
struct host_place host_place_of(const struct collective_group *group, int rank);

#endif
