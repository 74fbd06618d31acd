/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_clock.c - clock offsets by ping-pong: the first rank of each other host measures its offset to rank 0,
 * one host after another, and broadcasts it on its host.
 */
#include "harness/world/mpi/mpi_clock.h"

#include <stdlib.h>
#include <string.h>

#include "harness/world/host_load.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/wait.h"

enum { N_PINGS = 50, TAG_CLOCK = 1 };

uint64_t mpi_clock_common_ns(uint64_t local_ns, int64_t offset_ns)
{
    return local_ns + (uint64_t)offset_ns;
}

static enum rc measure_offset(MPI_Comm comm, int64_t *offset_ns)
{
    uint64_t shortest_ns = UINT64_MAX, remote_ns = 0;
    enum rc rc = RC_OK;

    for (int i = 0; i < N_PINGS; i++) {
        const uint64_t start_ns = wait_clock_ns();
        TRY_MPI_ALONE(MPI_Sendrecv(&start_ns, 1, MPI_UINT64_T, 0, TAG_CLOCK, &remote_ns, 1, MPI_UINT64_T, 0, TAG_CLOCK,
                                   comm, MPI_STATUS_IGNORE));
        const uint64_t end_ns = wait_clock_ns();
        if (end_ns - start_ns < shortest_ns) {
            shortest_ns = end_ns - start_ns;
            *offset_ns = wait_clock_offset(start_ns, remote_ns, end_ns);
        }
    }
out:
    return rc;
}

static enum rc answer_pings(MPI_Comm comm, int rank)
{
    uint64_t asked_ns;
    enum rc rc = RC_OK;

    for (int i = 0; i < N_PINGS; i++) {
        TRY_MPI_ALONE(MPI_Recv(&asked_ns, 1, MPI_UINT64_T, rank, TAG_CLOCK, comm, MPI_STATUS_IGNORE));
        const uint64_t now_ns = wait_clock_ns();
        TRY_MPI_ALONE(MPI_Send(&now_ns, 1, MPI_UINT64_T, rank, TAG_CLOCK, comm));
    }
out:
    return rc;
}

enum rc mpi_clock_offset(MPI_Comm comm, MPI_Comm host_comm, int64_t *out_ns)
{
    char own_kernel[HOST_KERNEL_BYTES] = "",
         kernel_of_0[HOST_KERNEL_BYTES]; /* containers on one kernel share its clock */
    int rank, n_ranks, host_rank;
    int64_t offset_ns = 0;
    int *asks = NULL, is_ready, all_are;
    enum rc rc = RC_OK;

    TRY_MPI_ALONE(MPI_Comm_rank(comm, &rank));
    TRY_MPI_ALONE(MPI_Comm_size(comm, &n_ranks));
    TRY_MPI_ALONE(MPI_Comm_rank(host_comm, &host_rank));
    host_kernel_id(own_kernel, "");
    memcpy(kernel_of_0, own_kernel, sizeof kernel_of_0);
    TRY_MPI_ALONE(MPI_Bcast(kernel_of_0, HOST_KERNEL_BYTES, MPI_CHAR, 0, comm));
    asks = calloc((size_t)n_ranks, sizeof *asks);
    is_ready = asks != NULL;
    TRY_MPI_ALONE(MPI_Allreduce(&is_ready, &all_are, 1, MPI_INT, MPI_MIN, comm));
    if (!asks || !all_are)
        FAIL(RC_NOMEM, "no memory for the clocks of %d ranks", n_ranks);
    /* Rank 0 is the first of its own host and never asks. */
    const int same_kernel = own_kernel[0] != '\0' && strcmp(own_kernel, kernel_of_0) == 0;
    const int asks_self = host_rank == 0 && rank != 0 && !same_kernel;
    TRY_MPI_ALONE(MPI_Allgather(&asks_self, 1, MPI_INT, asks, 1, MPI_INT, comm));
    for (int r = 1; rank == 0 && r < n_ranks; r++)
        if (asks[r])
            TRY(answer_pings(comm, r));
    if (asks_self)
        TRY(measure_offset(comm, &offset_ns));
    TRY_MPI_ALONE(MPI_Bcast(&offset_ns, 1, MPI_INT64_T, 0, host_comm));
    *out_ns = offset_ns;
out:
    free(asks);
    return rc;
}
