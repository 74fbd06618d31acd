/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - a digest of a run's layout; the contract is in layout.h. */
#include "ps/layout.h"

#include "harness/base/bytes.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t add(uint64_t digest, uint64_t value)
{
    unsigned char bytes[8];

    bytes_put(bytes, value, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        digest = (digest ^ bytes[i]) * FNV_PRIME;
    return digest;
}

uint64_t ps_layout_digest(const struct sync_env *env, int server)
{
    const struct buckets *buckets = env->buckets;
    uint64_t digest = FNV_OFFSET;

    digest = add(digest, buckets->n_params);
    digest = add(digest, (uint64_t)env->n_workers);
    digest = add(digest, (uint64_t)env->n_servers);
    digest = add(digest, (uint64_t)server);
    digest = add(digest, (uint64_t)env->n_replicas);
    digest = add(digest, (uint64_t)env->consistency.kind);
    digest = add(digest, env->consistency.bound_count);
    digest = add(digest, (uint64_t)env->compression.kind);
    if (env->n_batches > 0)
        digest = add(digest, env->n_batches);
    if (env->n_guests > 0)
        digest = add(digest, (uint64_t)env->n_guests);
    digest = add(digest, buckets->n_chunks);
    for (size_t k = 0; k < buckets->n_chunks; k++) {
        const struct range part = placement_part(env->placement, server, buckets->chunk[k]);
        digest = add(digest, buckets->chunk[k].offset_elems);
        digest = add(digest, part.offset_elems);
        digest = add(digest, part.n_elems);
    }
    return digest != 0 ? digest : 1;
}
