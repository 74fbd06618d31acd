/* SPDX-License-Identifier: Apache-2.0 */
/* training_kit.h - runs of stages that exchange and train, in threads and sim, and what formulas say. Test-only. */
#ifndef HARNESS_ACCEPT_SUITE_TRAINING_KIT_H
#define HARNESS_ACCEPT_SUITE_TRAINING_KIT_H

#include "harness/accept/suite/stage_kit.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"

/* Workers and servers whose arithmetic takes no time. */
extern const char kit_fast_hosts[];

struct criteria kit_training_criteria(void);
/* Hollow; cluster: settings of the built-in one, with links of 1 Gbit/s. */
struct kit_run kit_in_sim(int n_ranks, const char *cluster);
/* Each rank is a node. */
struct kit_run kit_in_threads(int n_ranks);
struct cluster kit_cluster(const char *settings);
/* Seconds of the slowest path of a ring of so many bytes. */
double kit_ring_s(const struct cluster *c, size_t n_bytes, int n_ranks);
/* The test fails unless they differ by at most ratio; what: for the message. */
void kit_assert_within(const char *what, double measured, double expected, double ratio);

/* One run to a process: the test of that name, skipped where the world is not built. An exit status. */
static inline int kit_run_case(const char *name, const char *world)
{
    const struct world_ops *ops;

    if (world_find(&ops, world) == RC_OK)
        return unit_run(name, name, NULL, NULL);
    printf("skipped: %s\n", rc_message());
    return 77;
}

#endif
