/* SPDX-License-Identifier: Apache-2.0 */
/* training_kit.h - runs of stages that exchange and train, in threads and sim, and what formulas say. Test-only. */
#ifndef HARNESS_ACCEPT_SUITE_TRAINING_KIT_H
#define HARNESS_ACCEPT_SUITE_TRAINING_KIT_H

#include "harness/accept/suite/stage_kit.h"
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

struct kit_case {
    const char *name;
    void (*run)(void **state);
};
/* One run to a process: the case of that name, skipped where the world is not built. An exit code. */
int kit_run_case(const struct kit_case *one, int n_cases, const char *name, const char *world);

#endif
