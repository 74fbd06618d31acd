/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_p2p.h - collectives that a rank can give up: in a caller's MPI when a rank fails, and with ON_LOSS_REPORT when
 * one is lost. They send messages to rank 0 of the world and back, one at a time; MPI's own collectives cannot be given
 * up half-way. Private to harness/world/mpi.
 *
 * They use the communicator of the world, which MPI's collectives also use, but no other messages. A part that was made
 * without MPI (mpi_survivors.c) has the communicator of its original world, and separate tags.
 */
#ifndef HARNESS_WORLD_MPI_MPI_P2P_H
#define HARNESS_WORLD_MPI_MPI_P2P_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct mpi_attach;
struct world;

enum mpi_p2p_tag { TAG_GATHER = 1, TAG_RELEASE, TAG_MEET, TAG_ANSWER, TAG_ARRIVE, TAG_DECIDE, N_P2P_TAGS = 8 };

enum mpi_p2p_until {                       /* what ends a wait before its message has come, with RC_PEER */
                     UNTIL_FAILURE,        /* a failure of the run or of a task of this rank, or the loss of a rank of
                                            * the world */
                     UNTIL_FAILURE_IS_OLD, /* the same, some seconds ago; in a caller's MPI: nothing */
                     UNTIL_PEER_LOST, /* a failure of the run, where MPI is not a caller's; the loss of the other side
                                       */
};

/* Does this world use these functions instead of MPI's collectives? */
bool mpi_is_p2p(const struct world *w);

/* For world_ops. */
enum rc mpi_p2p_gather(struct world *w, const void *in, void *out, size_t n_bytes_each, bool to_all) MUST_CHECK;
enum rc mpi_p2p_broadcast(struct world *w, void *bytes, size_t n_bytes) MUST_CHECK;
/* Returns when all ranks of w are here, with RC_OK on all of them or on none (world.M4); then a blocking call of MPI
 * may follow. Ends no sooner than rank 0 of w calls it, ends its body or is lost. Main task. */
enum rc mpi_p2p_meet(struct world *w) MUST_CHECK;
/* In a caller's MPI, after the end of this rank's body: answers one rank that came to meet it, if any. */
enum rc mpi_p2p_refuse_meeting(struct mpi_attach *a, MPI_Comm comm) MUST_CHECK;

/* In a caller's MPI: waits for one of the run's own requests, despite failures. */
enum rc mpi_p2p_finish(struct mpi_attach *a, MPI_Request *request) MUST_CHECK;

/* One message of at most 64 MiB, between ranks of w. */
enum rc mpi_p2p_send(struct world *w, const void *bytes, size_t n_bytes, int to, enum mpi_p2p_tag tag,
                     enum mpi_p2p_until until) MUST_CHECK;
enum rc mpi_p2p_recv(struct world *w, void *bytes, size_t n_bytes, int from, enum mpi_p2p_tag tag,
                     enum mpi_p2p_until until) MUST_CHECK;
/* The same if a message has come; *came. */
enum rc mpi_p2p_try_recv(struct world *w, void *bytes, size_t n_bytes, int from, enum mpi_p2p_tag tag,
                         bool *came) MUST_CHECK;

#endif
