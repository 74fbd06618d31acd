/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_clock_test.c - clocks of hosts that are far apart become one: made-up stamps with offsets worked out by hand, and
 * four ranks on three made-up hosts whose clocks differ by thousands of seconds. Started by mpiexec with 4 ranks.
 */
#include "harness/world/mpi/mpi_clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/world/share.h"
#include "harness/world/suite/share_suite.h"
#include "harness/world/suite/test_clock.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;

enum { N_RANKS = 4 };

#define SECOND_NS INT64_C(1000000000)
/* Far more than a round trip takes, far less than the clocks differ. */
#define NEAR_NS (500 * SECOND_NS)

static const int host_of[N_RANKS] = { 0, 1, 1, 2 };
/* What each host's clock shows more than that of host 0. */
static const int64_t ahead_ns[3] = { 0, 1000 * SECOND_NS, -2500 * SECOND_NS };

static bool one_kernel;

int test_host(void)
{
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return host_of[rank];
}

uint64_t test_clock_ns(void)
{
    return wait_clock_ns() + (uint64_t)(10000 * SECOND_NS + ahead_ns[test_host()]);
}

void test_kernel_id(char out[HOST_KERNEL_BYTES])
{
    (void)snprintf(out, HOST_KERNEL_BYTES, "host %d", one_kernel ? 0 : test_host());
}

static int expect(bool ok, const char *what)
{
    if (!ok)
        fprintf(stderr, "host %d: not so: %s\n", test_host(), what);
    return !ok;
}
#define EXPECT(ok) expect((ok), #ok)

static bool is_near(int64_t a_ns, int64_t b_ns)
{
    return a_ns - b_ns < NEAR_NS && b_ns - a_ns < NEAR_NS;
}

static int stamps(void)
{
    int n_failures = 0;

    n_failures += EXPECT(mpi_clock_common_ns(1100, 50000) == 51100);
    n_failures += EXPECT(mpi_clock_common_ns(51100, -50000) == 1100);
    n_failures += EXPECT(mpi_clock_common_ns(UINT64_C(1) << 62, -1) == (UINT64_C(1) << 62) - 1);
    return n_failures;
}

static int offsets(MPI_Comm host_comm)
{
    int64_t offset_ns = -1, least_ns = 0;
    int n_failures = 0;

    one_kernel = false;
    n_failures += EXPECT(mpi_clock_offset(MPI_COMM_WORLD, host_comm, &offset_ns) == RC_OK);
    n_failures += EXPECT(is_near(offset_ns, -ahead_ns[test_host()]));
    n_failures += EXPECT(test_host() != 0 || offset_ns == 0);
    /* One offset for a host. */
    MPI_Allreduce(&offset_ns, &least_ns, 1, MPI_INT64_T, MPI_MIN, host_comm);
    n_failures += EXPECT(least_ns == offset_ns);
    /* Where the kernel is one, so is the clock: nothing is estimated. */
    one_kernel = true;
    n_failures += EXPECT(mpi_clock_offset(MPI_COMM_WORLD, host_comm, &offset_ns) == RC_OK);
    n_failures += EXPECT(offset_ns == 0);
    one_kernel = false;
    return n_failures;
}

static int host_groups(struct world *w)
{
    static const int group_rank[N_RANKS] = { 0, 0, 1, 0 }, n_group_ranks[N_RANKS] = { 1, 2, 2, 1 };
    struct world *group = NULL;
    int host = -1, n_hosts = -1, n_failures = 0;

    n_failures += EXPECT(world_host_group(w, &group, &host, &n_hosts) == RC_OK);
    n_failures += EXPECT(host == test_host() && n_hosts == 3);
    n_failures += EXPECT(group && group->rank == group_rank[w->rank] && group->n_ranks == n_group_ranks[w->rank]);
    world_split_close(&group);
    return n_failures + share_suite(w, (uint64_t)(20 * SECOND_NS), NULL);
}

static enum rc body(struct world *w, void *arg)
{
    int *n_failures = arg;
    uint64_t all_ns[N_RANKS];
    MPI_Comm host_comm = MPI_COMM_NULL;
    enum rc rc;

    *n_failures += stamps();
    /* At about the same moment all read about the same time, that of rank 0's host. */
    TRY(world_barrier(w));
    const uint64_t now_ns = world_now_ns(w);
    TRY(world_allgather(w, &now_ns, all_ns, sizeof now_ns));
    for (int r = 0; r < N_RANKS; r++)
        *n_failures += EXPECT(is_near((int64_t)all_ns[r], (int64_t)all_ns[0]));
    *n_failures += EXPECT(is_near((int64_t)now_ns, (int64_t)test_clock_ns() - ahead_ns[test_host()]));
    MPI_Comm_split(MPI_COMM_WORLD, test_host(), w->rank, &host_comm);
    *n_failures += offsets(host_comm);
    MPI_Comm_free(&host_comm);
    *n_failures += host_groups(w);
out:
    return rc;
}

int main(void)
{
    const struct world_opts opts = { .bind_cores = false };
    int n_failures = 0;
    const enum rc rc = world_run(&world_mpi, &opts, N_RANKS, body, &n_failures);

    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return rc != RC_OK || n_failures > 0;
}
