/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - see limits.h. */
#include "ps/limits.h"

#include "ps/recovery/attach.h"

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

    (void)opts;
    return (struct memory_need){
        .worker_bytes = 2 * (facts->n_params + facts->n_scattered_params) * sizeof(float),
        .server_bytes = recovery_bytes(facts) + (1 + (size_t)facts->n_replicas) * n_slice * sizeof(float) *
                                                    (1 + 2 * (size_t)facts->n_workers + 2 * (size_t)facts->n_moments)
    };
}
