/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - see limits.h. */
#include "ps/limits.h"

#include "ps/recovery/leases.h"

enum rc ps_check_slices(const struct sync_env *env)
{
    const size_t n_elems = placement_most_elems(env->placement);

    if (n_elems > UINT32_MAX)
        return rc_raise(RC_INVAL,
                        "mode ps: a server would hold %zu parameters; at most %u are possible: use more "
                        "servers than %d",
                        n_elems, UINT32_MAX, env->n_servers);
    return RC_OK;
}

struct memory_need ps_memory(const void *opts, const struct job_facts *facts)
{
    const size_t n_even = facts->n_params / (size_t)facts->n_servers + 1;
    const size_t n_slice = facts->n_server_params > n_even ? facts->n_server_params : n_even;

    /* leases.h: of each piece at each server which batches are in it; of all, the book of the first one, and when
     * rounds ended. With a replica the same of the server that this one follows, and once more as words of a copy. */
    const size_t n_book_bytes =
        facts->n_batches > 0 ? facts->n_pieces * batch_set_bytes(facts->n_batches) + leases_bytes(facts->n_workers) +
                                   (size_t)facts->n_batches / (size_t)facts->n_workers * sizeof(uint64_t)
                             : 0;

    (void)opts;
    return (struct memory_need){ .worker_bytes = 2 * (facts->n_params + facts->n_scattered_params) * sizeof(float),
                                 .server_bytes =
                                     (1 + 2 * (size_t)facts->n_replicas) * n_book_bytes +
                                     (1 + (size_t)facts->n_replicas) * n_slice * sizeof(float) *
                                         (1 + 2 * (size_t)facts->n_workers + 2 * (size_t)facts->n_moments) };
}
