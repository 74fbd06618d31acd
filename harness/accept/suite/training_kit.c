/* SPDX-License-Identifier: Apache-2.0 */
/* training_kit.c - see training_kit.h. */
#include "harness/accept/suite/training_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"

const char kit_fast_hosts[] = "flops_per_s=1e15,memory_bytes_per_s=1e15,server_memory_bytes_per_s=1e15";

struct criteria kit_training_criteria(void)
{
    struct criteria c = kit_criteria();

    snprintf(c.reducer, sizeof c.reducer, "ring");
    snprintf(c.collective_bytes, sizeof c.collective_bytes, "4096,4194304");
    snprintf(c.ps_bytes, sizeof c.ps_bytes, "4096,4194304");
    snprintf(c.training_model, sizeof c.training_model, "lenet");
    c.training_steps_count = 20;
    c.integrity_steps_count = 20;
    c.integrity_every_steps = 5;
    return c;
}

struct kit_run kit_in_sim(int n_ranks, const char *cluster)
{
    return (struct kit_run){ .world = "sim",
                             .transport = "sim",
                             .compute = "hollow",
                             .cluster = cluster,
                             .n_ranks = n_ranks,
                             .criteria = kit_training_criteria() };
}

struct kit_run kit_in_threads(int n_ranks)
{
    return (struct kit_run){ .world = "threads",
                             .transport = "inproc",
                             .compute = "cpu",
                             .n_ranks = n_ranks,
                             .node_per_rank = true,
                             .criteria = kit_training_criteria() };
}

void kit_assert_within(const char *what, double measured, double expected, double ratio)
{
    if (!(fabs(measured / expected - 1) <= ratio))
        fail_msg("%s: %.6g; %.6g was expected, within %g", what, measured, expected, ratio);
}

struct cluster kit_cluster(const char *settings)
{
    struct cluster c;

    cluster_default(&c);
    assert_int_equal(cluster_set(&c, NULL, settings), RC_OK);
    return c;
}

double kit_ring_s(const struct cluster *c, size_t n_bytes, int n_ranks)
{
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = n_bytes / sizeof(float) };
    const struct collective_ops *ring;

    assert_int_equal(collective_find(&ring, &collective_kind, "ring"), RC_OK);
    const struct collective_cost path =
        ring->critical_path(NULL, &call, &(struct collective_group){ .n_ranks = n_ranks });
    return (double)path.msgs * c->link_latency_s + (double)path.bytes / c->link_bytes_per_s +
           (double)path.memory_bytes / c->memory_bytes_per_s;
}
