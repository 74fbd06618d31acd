/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_attach.h - a run in an MPI that its caller has initialised (world_opts.mpi_comm): how it fails without an end of
 * the caller's job, and leaves nothing in MPI. Private to harness/world/mpi.
 *
 * A rank that fails sends a notice to every other rank, on a communicator of the run; world_check() looks for one. MPI
 * cannot cancel a message, so the requests of a wait that ended early are kept until the end of the run.
 *
 * Invariants
 *   M1  Memory that MPI may still read or write belongs to its request (struct mpi_left), not to a caller. Messages
 *       pass through memory of that kind, by a copy on each side.
 *   M2  Sends are synchronous: one that MPI has ended was matched by a receive.
 *   M3  Communicators are freed at the end of the run, when no rank has a request of any of them: all ranks are
 *       present, each has received the messages that no wait of it received, and all sends have ended.
 *   M4  An operation that needs blocking calls of MPI (a split) begins on all ranks of a world or on none. Rank 0 of
 *       the world decides, also for ranks that ask after it has left the body (mpi_p2p_meet()).
 *   M5  Every rank returns the same failure, that of the rank that failed first by the world's clock.
 *   M6  With a limit (world_opts.timeout_ms) a run that the other ranks do not begin, or do not end, is given up. MPI
 *       may still write to its memory. So communicators and memory, including this struct, stay until the process
 *       ends.
 */
#ifndef HARNESS_WORLD_MPI_MPI_ATTACH_H
#define HARNESS_WORLD_MPI_MPI_ATTACH_H

#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/cores.h"
#include "harness/world/mpi/mpi_lock.h"
#include "harness/world/mpi/world_mpi.h"

struct mpi_failure { /* also a notice, byte by byte */
    int rank;        /* of the run; -1: none */
    enum rc rc;
    uint64_t failed_ns; /* world_now_ns() of that rank */
    char message[RC_MESSAGE_BYTES];
};

struct mpi_kept_comm {
    MPI_Comm comm;
    bool is_bootstrap; /* of a world's own collectives */
};

struct mpi_attach { /* of one rank, for one run */
    struct mpi_lock *lock;
    MPI_Comm comm; /* of all ranks of the run: notices, and the end */
    int rank, n_ranks;
    MPI_Errhandler caller_handler, global_handler; /* of the caller's communicator and MPI_COMM_WORLD, restored later */
    uint64_t limit_ns;                             /* of a wait for another rank; 0: none */
    bool is_given_up;                              /* world.M6 */
    int has_failed;                                /* is_own, which MPI sends at the end */
    int is_ready, all_are_ready;                   /* at the beginning: it has its memory */
    struct core_set caller_cores;
    jmp_buf died; /* target after the body (world_die) */

    pthread_mutex_t mutex; /* protects first and is_own */
    atomic_bool failed;    /* first is set, and does not change any more */
    struct mpi_failure first;
    bool is_own;          /* first is of this rank */
    atomic_bool has_told; /* has informed the other ranks */
    MPI_Request *notice;  /* (n_ranks): sends to them */
    struct mpi_failure incoming;
    MPI_Request incoming_request;
    _Atomic uint64_t looked_ns;

    pthread_mutex_t left_mutex;
    struct mpi_left *left;
    struct mpi_kept_comm *kept; /* (n_kept) of capacity */
    int n_kept, capacity;
    int *flags; /* (n_ranks) */
};

/* Collective over the caller's communicator. timeout_ms: world.M6; 0: no limit. Errors are equal on all ranks, except
 * RC_TIMEOUT; after one, mpi_attach_fini() frees the rest. */
enum rc mpi_attach_init(struct mpi_attach *a, struct mpi_lock *lock, const MPI_Comm *caller, int timeout_ms) MUST_CHECK;
/* After the body, when its tasks have ended: waits for all ranks, and returns the failure of the run (world.M3, M5).
 * Its message reads "rank R: ...". Collective over the run. */
enum rc mpi_attach_end(struct mpi_attach *a) MUST_CHECK;
/* Frees the communicators. If the run was given up: only restores the error handlers. */
void mpi_attach_fini(struct mpi_attach *a, const MPI_Comm *caller);

/* Makes room for n more communicators. RC_NOMEM. */
enum rc mpi_attach_reserve(struct mpi_attach *a, int n) MUST_CHECK;
/* Within that room; freed by mpi_attach_fini(). */
void mpi_attach_keep(struct mpi_attach *a, MPI_Comm comm, bool is_bootstrap);

/* This rank failed; the first failure that this rank knows of is kept. Any task. */
void mpi_attach_fail(struct mpi_attach *a, enum rc why, const char *message, uint64_t now_ns);
/* Another rank failed. */
void mpi_attach_hear(struct mpi_attach *a, const struct mpi_failure *failure);
/* RC_PEER, naming the rank, once a rank failed. Cheap: looks for a notice every LOOK_NS. Any task. */
enum rc mpi_attach_check(struct mpi_attach *a) MUST_CHECK;
/* MPI_Cancel() was tried; any task. */
void mpi_attach_leave(struct mpi_attach *a, struct mpi_left *left);

#endif
