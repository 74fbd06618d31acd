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
struct mpi_peers;

struct mpi_rank { /* what all worlds of a rank share */
    struct mpi_lock lock;
    struct thread_tasks tasks;
    int rank;                  /* among all ranks of the run */
    int64_t offset_ns;         /* mpi_clock_offset() */
    struct mpi_peers *peers;   /* NULL: nobody watches */
    struct mpi_attach *attach; /* in a caller's MPI; NULL: MPI is initialised for this run */
    int *host_of;              /* [ranks of the run]: the first rank of each one's host; NULL without ON_LOSS_REPORT */
    int n_made_parts;          /* parts made without MPI (mpi_parts.c) that this rank knows of */
};

struct mpi_world {
    struct world base;
    struct mpi_rank *self;
    MPI_Comm comm;
    MPI_Comm host_comm;  /* the ranks of comm on this host */
    int host_first_rank; /* of comm */
    int *number;         /* base.number, of a part with ON_LOSS_REPORT */
    int *comm_rank;      /* [n_ranks]: in comm, of a part made without MPI, which borrows comm; NULL: as in the world */
    int first_tag;       /* of the part's messages in comm */
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
/* Set host_comm, host_rank and n_host_ranks: the ranks of comm on this host. Collective over comm. */
enum rc mpi_find_host_ranks(struct mpi_world *m) MUST_CHECK;
/* With ON_LOSS_REPORT: set self->host_of. Collective over the run. */
enum rc mpi_find_hosts(struct mpi_world *m) MUST_CHECK;

/* RC_NOMEM on all ranks of m->comm where is_ready is false on one of them. Before the body. */
enum rc mpi_agree_on_memory(struct mpi_world *m, bool is_ready) MUST_CHECK;

/* Set what m->base and the tasks of the rank know of cores; bind the calling thread where opts ask for it. Before the
 * body; collective over m->host_comm. */
enum rc mpi_cores_bind(struct mpi_world *m, const struct world_opts *opts) MUST_CHECK;

#endif
