/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_world.h - the state of a tcp world. Private to harness/world/tcp. */
#ifndef HARNESS_WORLD_TCP_TCP_WORLD_H
#define HARNESS_WORLD_TCP_TCP_WORLD_H

#include <stdint.h>

#include "harness/world/host_address.h"
#include "harness/world/process/process_peers.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/tcp_hub.h"
#include "harness/world/tcp/tcp_link.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/world.h"

struct tcp_rank { /* shared by all worlds of a rank */
    struct gang gang;
    struct tcp_hub *hub; /* of rank 0; else NULL */
    struct tcp_link *link;
    struct thread_tasks tasks;
    struct process_peers *peers; /* NULL: not watched */
    int rank;                    /* in the run */
    int *host_of;                /* [ranks of the run]: the lowest rank of each one's host */
    int64_t offset_ns;           /* of rank 0's clock to this host's */
    uint64_t n_calls;
    uint64_t limit_ns; /* of an opened world: limit for waits for other ranks; 0: none */
    int failure_exit_code;
    bool ends_no_process;             /* of an opened world: after a failure its caller ends the process */
    bool has_begun;                   /* tcp_begin() */
    bool has_left;                    /* world_leave() */
    struct tcp_message welcome;       /* of a late joiner */
    char *identity;                   /* likewise */
    struct peers guest_peers;         /* likewise: its own seat */
    char address[HOST_ADDRESS_BYTES]; /* at which other hosts reach this one; "": unknown */
    struct world *host_part;          /* the ranks of this host, before the body */
};

struct tcp_world {
    struct world base;
    struct tcp_rank *self;
    uint32_t id;
    int *number; /* [n_ranks], base.number; NULL: the run's own world */
};

static inline struct tcp_world *tcp_world_of(struct world *w)
{
    return (struct tcp_world *)w;
}

/* --- world_tcp.c: world_ops that late joiners share --- */

uint64_t tcp_now_ns(struct world *w);
void tcp_die(struct world *w);
void tcp_hang(struct world *w);

/* --- tcp_collectives.c: world_ops --- */

enum rc tcp_barrier(struct world *w);
/* The world is open on this rank; acts as a barrier. RC_PEER: another rank is lost before it opened (world.G4). */
enum rc tcp_begin(struct world *w) MUST_CHECK;
enum rc tcp_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc tcp_gather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc tcp_broadcast(struct world *w, void *bytes, size_t n_bytes);
enum rc tcp_split(struct world *w, int color, int key, struct world **out);
void tcp_split_close(struct world **w);
enum rc tcp_survivors(struct world *w, struct world **out);
/* Sets host_rank, n_host_ranks and host_first_rank. */
void tcp_find_host_ranks(struct tcp_world *t);
/* RC_PEER: the run has failed, or this rank's tasks were stopped. */
enum rc tcp_check(struct world *w);

/* --- tcp_guest.c: late joiners (world.W9) --- */

enum rc tcp_open_doors(struct world *w, const void *welcome, size_t n_bytes);
bool tcp_next_guest(struct world *w, struct guest_event *out);
/* Replaces tcp_world_open() in a process that joins. RC_MISMATCH, RC_TIMEOUT, RC_PEER: it does not join. */
enum rc tcp_guest_open(struct tcp_world *t, struct tcp_rank *self, const struct world_opts *opts) MUST_CHECK;
/* Replaces tcp_world_close(). */
enum rc tcp_guest_close(struct tcp_world *t, enum rc rc) MUST_CHECK;

/* --- tcp_start.c --- */

/* Finds the group, and makes t the world of all its ranks. RC_INVAL, RC_TIMEOUT, RC_MISMATCH, ...: no rank begins. */
enum rc tcp_world_open(struct tcp_world *t, struct tcp_rank *rank, const struct world_opts *opts,
                       int n_ranks) MUST_CHECK;
/* This rank has failed with rc. If another rank is lost, that may be the cause, and is then the run's failure. Any
 * thread. */
void tcp_tell_failure(struct tcp_rank *self, enum rc rc);
/* address may be a loopback address that rank 0's host name resolves to, and not the text of that name. Then another
 * address of this host replaces it, if there is one. */
void tcp_leave_loopback(const struct gang *gang, char address[HOST_ADDRESS_BYTES]);
/* The failure of the run, if any, instead of rc, the result of this rank's body. */
enum rc tcp_raise_failure(const struct tcp_rank *self, enum rc rc) MUST_CHECK;
/* world_ops.leave */
enum rc tcp_leave(struct world *w);
/* The body has ended, with rc: informs the other ranks, or meets them for the last time. Returns the failure of the
 * run. */
enum rc tcp_world_close(struct tcp_world *t, enum rc rc) MUST_CHECK;

#endif
