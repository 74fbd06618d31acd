/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_datatype.c - a message of any length in MPI's terms; the contract is in mpi_datatype.h. */
#include "harness/net/mpi_datatype.h"

#include <limits.h>

#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/world_mpi.h"

#define BLOCK_BYTES ((size_t)1 << 20)

enum rc mpi_datatype_of(const struct world *w, size_t n_bytes, MPI_Datatype *type, int *n_items, MPI_Datatype *own)
{
    struct mpi_lock *lock = world_mpi_lock(w);
    MPI_Datatype block = MPI_DATATYPE_NULL;
    enum rc rc = RC_OK;

    *own = MPI_DATATYPE_NULL;
    *type = MPI_BYTE;
    *n_items = (int)n_bytes;
    if (n_bytes <= INT_MAX)
        return RC_OK;
    const size_t n_blocks = n_bytes / BLOCK_BYTES;
    if (n_blocks > INT_MAX)
        return rc_raise(RC_INVAL, "transport mpi: %zu bytes are too many for one message", n_bytes);
    const int n_each[] = { (int)n_blocks, (int)(n_bytes % BLOCK_BYTES) };
    const MPI_Aint at[] = { 0, (MPI_Aint)(n_blocks * BLOCK_BYTES) };
    TRY_MPI(lock, MPI_Type_contiguous((int)BLOCK_BYTES, MPI_BYTE, &block));
    const MPI_Datatype of[] = { block, MPI_BYTE };
    TRY_MPI(lock, MPI_Type_create_struct(2, n_each, at, of, own));
    TRY_MPI(lock, MPI_Type_commit(own));
    *type = *own;
    *n_items = 1;
out:
    world_mpi_type_free(w, &block);
    return rc;
}
