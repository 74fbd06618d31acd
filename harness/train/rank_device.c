/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_device.c - which device each worker computes on, and whether workers share one. A launcher may show each process
 * one GPU of its own, each as number 0, or all of the host: so numbers tell nothing, and bus ids are compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/train/rank_state.h"
#include "harness/world/child.h"

struct seat { /* of a worker; device "": none */
    char host[64], kernel[HOST_KERNEL_BYTES], device[COMPUTE_DEVICE_ID_BYTES];
    int32_t n_visible;
};

enum rc rank_device_number(int *out, const struct compute_backend *compute, int host_rank)
{
    int n_devices = 1;
    enum rc rc = RC_OK;

    if (compute->device_count)
        TRY(compute->device_count(&n_devices));
    *out = host_rank % n_devices;
out:
    return rc;
}

/* Hosts that are namespaces of one system, such as containers, share its devices. */
static bool is_same_device(const char *device_a, const char *host_a, const char *kernel_a, const char *device_b,
                           const char *host_b, const char *kernel_b)
{
    const bool knows_kernels = kernel_a[0] && kernel_b[0];

    return device_a[0] && strcmp(device_a, device_b) == 0 &&
           (knows_kernels ? strcmp(kernel_a, kernel_b) == 0 : strcmp(host_a, host_b) == 0);
}

/* seat: of the workers of all sets first. */
static enum rc refuse_sharing(const struct rank *r, const struct seat *seat)
{
    for (int b = 0; b < train_n_sets(r->job) * r->job->n_workers; b++)
        for (int a = 0; a < b; a++)
            if (is_same_device(seat[a].device, seat[a].host, seat[a].kernel, seat[b].device, seat[b].host,
                               seat[b].kernel))
                return rc_raise(
                    RC_INVAL,
                    "--workers %d: workers %d and %d are both on %s %s of host %s, where worker %d sees %d; "
                    "start at most one for each, or give --share-device",
                    r->job->n_workers, a, b, r->job->compute->device_kind, seat[b].device, seat[b].host, b,
                    (int)seat[b].n_visible);
    return RC_OK;
}

enum rc rank_check_devices(struct rank *r)
{
    struct world *all = rank_all(r);
    const size_t n_ranks = (size_t)all->n_ranks;
    struct seat own = { .n_visible = 0 }, *seat = NULL;
    int n_visible = 0;
    enum rc rc = RC_OK;

    if (!r->job->compute->device_count || world_is_guest(r->world)) /* of every rank's job */
        return RC_OK;
    if (rank_is_worker(r)) {
        r->compute->ops->device_id(r->compute, own.device);
        TRY(compute_sync(r->compute)); /* it was to be had */
        TRY(r->compute->ops->device_count(&n_visible));
    }
    own.n_visible = n_visible;
    child_host_name(own.host, sizeof own.host);
    host_kernel_id(own.kernel, "");
    memcpy(r->info.device, own.device, sizeof own.device);
    seat = malloc(n_ranks * sizeof *seat);
    if (!seat)
        FAIL(RC_NOMEM, "no memory for the devices of %zu ranks", n_ranks);
    TRY(world_allgather(all, &own, seat, sizeof own));
    if (!r->job->opts.share_device)
        TRY(refuse_sharing(r, seat));
out:
    free(seat);
    return rc;
}

int train_most_on_device(const struct train_result *r)
{
    int n_most = 0;

    for (int a = 0; a < r->n_workers; a++) {
        const struct train_rank_info *of = r->rank;
        int n = 0;
        for (int b = 0; b < r->n_workers; b++)
            n += is_same_device(of[a].device, of[a].host, of[a].kernel, of[b].device, of[b].host, of[b].kernel);
        n_most = n > n_most ? n : n_most;
    }
    return n_most;
}
