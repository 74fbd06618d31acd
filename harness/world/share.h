/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - memory that the ranks of one host all map, and rings by which they wait for each other.
 *
 * A host group is a world of the ranks that can map each other's memory. A share gives each of them a block, mapped by
 * all. Only its rings order the ranks' accesses.
 *
 * Invariants
 *   H1  Each rank of a world is in one host group of it. threads: all ranks. sim: those of a simulated host. mpi, tcp:
 *       those that are counted to one host (world.n_host_ranks) and that run on one kernel with the same process and
 *       IPC namespaces. A group has its ranks in the world's order, and rank 0 leads. Hosts are numbered by their
 *       leader's rank in the world.
 *   H2  world_share_open() ends equally on all ranks of the group: with a share, or with the error of the first rank
 *       that failed. Only if a rank ends meanwhile (world.W4, W5), some may have the share and others RC_PEER.
 *   H3  Memory is reserved on opening. If there is no room, that is RC_NOMEM; later no access fails or raises a signal.
 *       Blocks are zero at first. Their owner touched each page once, on its own NUMA node; every rank has mapped all.
 *   H4  peer[r] on every rank is the memory that is `mine` on rank r. A block starts at a multiple of 64 bytes, or of
 *       2 MiB if it has 2 MiB or more; such a block is in huge pages if the system grants them.
 *   H5  Each rank has a bell in each share. Rings are not lost: a share_wait() returns once its rank was rung after its
 *       `seen` count was read. A ring releases, a wait acquires. If hand-overs of a fraction of a microsecond matter,
 *       use counts in the waiting rank's block, which others raise before they ring it: a rank that spins reads only
 *       these.
 *   H6  Every wait has a time limit. It ends before it with RC_PEER when a rank failed (world.W4, W5) or this rank's
 *       tasks were stopped (world.K4); with ON_LOSS_REPORT also when a rank of the group, or of share.together, is lost
 *       (world.W8).
 *   H7  Closing is not collective and does not wait. A block stays mapped on its peers until they close, even if its
 *       owner has ended. In threads or sim, what a dead rank had open is freed when the run ends.
 *   H8  Nothing outlives the processes, even if they are killed at any moment. mpi, tcp: memory without a name
 *       (memfd), which peers open through /proc. If the system refuses memfd: files of /dev/shm that have no name
 *       either. If it refuses /proc, such files get a name while peers map them in world_share_open(). If a rank is
 *       killed then, its name remains until the next rank that makes a name removes it.
 */
#ifndef HARNESS_WORLD_SHARE_H
#define HARNESS_WORLD_SHARE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/world.h"

enum { SHARE_ALIGN_BYTES = 64 };

enum share_kind {
    SHARE_ADDRESS_SPACE, /* ranks share one anyway (threads, sim) */
    SHARE_MEMFD,         /* opened by peers through /proc */
    SHARE_FILE,          /* in /dev/shm, if memfd does not work */
};

struct doorbell;

struct share { /* first member of each implementation's struct */
    struct world *group;
    void *mine;
    void *const *peer; /* [group->n_ranks]; peer[group->rank] is mine */
    size_t n_bytes;    /* of each block */
    enum share_kind kind;
    const char *reason;           /* SHARE_FILE: why not memfd; else NULL */
    struct doorbell *const *bell; /* [group->n_ranks]; for implementations */
    const struct world *together; /* world.H6; NULL: the group. The owner may set a world of several hosts with the
                                    group's ranks: all of them then end together; borrowed, outlives the share */
};

struct share_ops {
    enum rc (*host_group)(struct world *w, struct world **out, int *host, int *n_hosts);
    /* The ranks agree on n_bytes, and there is room; *out is set if open() ends with RC_OK. */
    enum rc (*open)(struct share **out, struct world *group, size_t n_bytes);
    void (*ring)(struct share *s, int peer);
    enum rc (*wait)(struct share *s, uint32_t seen, uint64_t limit_ns);
    void (*close)(struct share *s);
};

/* The ranks of w that share this rank's host, as a world; this host's number, and the number of hosts. Collective over
 * w; the owner closes *out with world_split_close(). out NULL: only the numbers, also allowed for a rank with other
 * tasks (world.K5). RC_PEER, RC_NOMEM. */
enum rc world_host_group(struct world *w, struct world **out, int *host, int *n_hosts) MUST_CHECK;

/* Opens a block of n_bytes for each rank of a host group. Collective over it; for the main task; never on a measured
 * path. The group stays open until the share is closed. 0 bytes: only the rings. Errors: RC_NOMEM if memory or a limit
 * of this process is too small; RC_MISMATCH if the ranks pass different n_bytes; RC_INVAL if the ranks are on several
 * hosts; RC_UNSUPPORTED if the system refuses every way to share, with all reasons; RC_PEER. */
enum rc world_share_open(struct world *group, size_t n_bytes, struct share **out) MUST_CHECK;
/* No task of this rank uses the share any more; peers may (world.H7). NULL-safe, nulls. Cannot fail. */
void world_share_close(struct share **s);

/* Ring the bell of rank `peer` of the group, which may be this one. Any task; never waits. */
void share_ring(struct share *s, int peer);
/* Rings of this rank's bell so far. Read it, then test the condition, then share_wait() with it. */
uint32_t share_seen(const struct share *s);
/* Waits until this rank's bell was rung after `seen` was read, at most limit_ns: then RC_TIMEOUT. Spins, yields and
 * sleeps as wait.h says; in sim waits in virtual time. Any task: a ring ends the waits of all tasks. world.H6. */
enum rc share_wait(struct share *s, uint32_t seen, uint64_t limit_ns) MUST_CHECK;

/* The same until each of count[n], in this rank's block, has reached `wanted` (modulo 2^32). A rank that raises one
 * stores it (release), and then rings this rank. */
enum rc share_wait_counts(struct share *s, const _Atomic uint32_t *count, int n, uint32_t wanted,
                          uint64_t limit_ns) MUST_CHECK;

/* For records. The kind of a block's pages: pages_of(s->mine, s->n_bytes). */
const char *share_kind_text(enum share_kind kind);

#endif
