/* SPDX-License-Identifier: Apache-2.0 */
/* transport_shm_test.c - what transport shm refuses, and the memory that it says it needs. */
#include <stdatomic.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/byte_ring.h"
#include "harness/net/shm_line.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_shm;
extern const struct world_ops world_threads;

enum { N_RANKS = 4 };

/* Ranks 0 and 1 on one host, 2 and 3 on another: what a world over two machines says. */
static enum rc two_hosts(struct world *w, struct world **out, int *host, int *n_hosts)
{
    *host = w->rank / 2;
    *n_hosts = 2;
    return out ? world_split(w, *host, w->rank, out) : RC_OK;
}

struct refusal {
    bool is_virtual;
    const char *begins, *names;
    atomic_int n_refused;
};

static enum rc open_refused(struct world *w, void *arg)
{
    struct refusal *refusal = arg;
    const struct world_ops *real = w->ops;
    struct share_ops shares = *real->shares;
    struct world_ops ops = *real;
    struct transport *t = NULL;

    shares.host_group = two_hosts;
    ops.shares = &shares;
    if (refusal->is_virtual)
        ops.module.caps |= WORLD_VIRTUAL_TIME;
    w->ops = &ops;
    const enum rc rc = transport_open(&t, &transport_shm, w);
    w->ops = real;
    if (rc == RC_UNSUPPORTED && !t && strncmp(rc_message(), refusal->begins, strlen(refusal->begins)) == 0 &&
        strstr(rc_message(), refusal->names))
        atomic_fetch_add(&refusal->n_refused, 1);
    return RC_OK;
}

static void run_refused(struct refusal *refusal)
{
    const struct world_opts opts = { .bind_cores = false };

    assert_int_equal(world_run(&world_threads, &opts, N_RANKS, open_refused, refusal), RC_OK);
    assert_int_equal(atomic_load(&refusal->n_refused), N_RANKS);
}

UNIT_TEST(ranks_of_two_hosts_are_refused_by_name)
{
    struct refusal refusal = { .begins = "--transport shm: rank 0 is on host ", .names = ", and rank 2 on host " };

    run_refused(&refusal);
}

UNIT_TEST(virtual_time_is_refused)
{
    struct refusal refusal = { .is_virtual = true, .begins = "transport shm: ", .names = "world threads" };

    run_refused(&refusal);
}

/* Of each worker and each server, the block that open() makes where no plan is known. */
UNIT_TEST(memory_is_that_of_a_block)
{
    const struct transport_plan none = { 0 };
    const struct job_facts facts = { .n_workers = 3, .n_servers = 2 }, alone = { .n_workers = 1 };
    const struct memory_need need = transport_shm.module.memory(NULL, &facts);

    assert_int_equal(need.worker_bytes, shm_geometry_of(5, &none).block_bytes);
    assert_int_equal(need.server_bytes, need.worker_bytes);
    assert_int_equal(need.rank_0_bytes, 0);
    assert_int_equal(transport_shm.module.memory(NULL, &alone).worker_bytes, BYTE_RING_LINE);
}

UNIT_MAIN("transport_shm")
