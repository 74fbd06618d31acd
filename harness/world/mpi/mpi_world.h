/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_world.h - the state of an mpi world. Private to harness/world/mpi. */
#ifndef HARNESS_WORLD_MPI_MPI_WORLD_H
#define HARNESS_WORLD_MPI_MPI_WORLD_H

#include <mpi.h>
#include <stdint.h>

#include "harness/world/mpi/mpi_lock.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/world.h"

struct mpi_attach;
struct process_peers;

struct mpi_rank { /* shared by all worlds of a rank */
    struct mpi_lock lock;
    struct thread_tasks tasks;
    int rank;                    /* among all ranks of the run */
    int64_t offset_ns;           /* mpi_clock_offset() */
    struct process_peers *peers; /* NULL: not watched */
    struct mpi_attach *attach;   /* in a caller's MPI; NULL: MPI is initialised for this run */
    int *host_of;          /* [ranks of the run]: the first rank of each rank's host; NULL without ON_LOSS_REPORT */
    int failure_exit_code; /* of world_opts, or 1 */
    int n_made_parts;      /* parts made without MPI (mpi_parts.c) that this rank knows of */
};

struct mpi_world {
    struct world base;
    struct mpi_rank *self;
    MPI_Comm comm;
    MPI_Comm host_comm; /* the ranks of comm on this host */
    int *number;        /* base.number, of a part with ON_LOSS_REPORT */
    int *comm_rank;     /* [n_ranks]: rank in comm, in a part made without MPI, which borrows comm; NULL: as in the
                           world */
    int first_tag;      /* of the part's messages in comm */
};

/* world_ops. */
enum rc mpi_barrier(struct world *w);
enum rc mpi_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc mpi_gather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc mpi_broadcast(struct world *w, void *bytes, size_t n_bytes);

/* mpi_parts.c */
enum rc mpi_split(struct world *w, int color, int key, struct world **out);
void mpi_split_close(struct world **w);
enum rc mpi_survivors(struct world *w, struct world **out);
/* Sets host_comm, host_rank and n_host_ranks: the ranks of comm on this host. Collective over comm. */
enum rc mpi_find_host_ranks(struct mpi_world *m) MUST_CHECK;
/* With ON_LOSS_REPORT: set self->host_of. Collective over the run. */
enum rc mpi_find_hosts(struct mpi_world *m) MUST_CHECK;

/* RC_NOMEM on all ranks of m->comm if is_ready is false on one of them. Before the body. */
enum rc mpi_agree_on_memory(struct mpi_world *m, bool is_ready) MUST_CHECK;

/* --- world_mpi.c --- */

enum { MPI_NO_CALLS = -1 }; /* below all thread levels of MPI */
/* The thread level that opts need. */
int mpi_needed_level(const struct world_opts *opts);
/* Initialises it for this process, before it joins a job; rank is lent until fini. RC_UNSUPPORTED: MPI cannot satisfy
 * opts. */
enum rc mpi_world_init(struct mpi_world *m, struct mpi_rank *rank, const struct world_opts *opts) MUST_CHECK;
void mpi_world_fini(struct mpi_world *m);
/* Makes m a world of the ranks of `all`, which returns errors. level: what MPI grants this thread. Collective. */
enum rc mpi_join_job(struct mpi_world *m, const struct world_opts *opts, MPI_Comm all, int n_ranks,
                     int level) MUST_CHECK;

/* --- mpi_caller.c: in a caller's MPI --- */

enum rc mpi_run_in_caller(struct mpi_world *m, const struct world_opts *opts, int n_ranks, rank_main_fn *body,
                          void *arg) MUST_CHECK;
/* world_ops */
enum rc mpi_world_open(struct world **out, const struct world_opts *opts);
enum rc mpi_world_close(struct world **w);

#endif
