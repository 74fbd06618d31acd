/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_kit.h - a known acceptance test of host1 to host4, of two ranks each, with faults as one likes. Tests
 * only.
 *
 * Three repeats, of which the second has the median: 100, 101 and 102 MB/s between nodes, 20 us one way, 50 Gflop/s
 * and 10 GB/s of each rank (100, 101 and 99 % of it), 0.1 % of the time in detours.
 */
#ifndef HARNESS_ACCEPT_SUITE_ACCEPTANCE_KIT_H
#define HARNESS_ACCEPT_SUITE_ACCEPTANCE_KIT_H

#include <stdio.h>

#include "harness/accept/acceptance.h"
#include "harness/base/suite/unit.h"

enum {
    FAULT_IN_NODE = 1,       /* host3 sends and receives at 60 % */
    FAULT_IN_LINK = 2,       /* host1 - host4 has 50 % of the rate, and twice the latency */
    FAULT_IN_RANK = 4,       /* rank 3, on host2, computes at 70 % */
    FAULT_IN_PARAMETERS = 8, /* of rank 5, on host3, at step 30 */
    FAULT_IN_PS = 16,        /* the stage has no data */
    ALL_FAULTS = 31
};

/* The caller closes it. */
void kit_acceptance(struct acceptance *out, int faults);
/* Orders of ranks of a kit_acceptance(): launcher and pack 90, spread 45, switches (host1, host3, host2, host4) 99
 * MB/s and the best, none shortest. */
void kit_add_rank_orders(struct acceptance *a);
/* n_nodes of one rank each, whose tournament has one repeat, 100 MB/s and 20 us everywhere. */
void kit_fleet(struct acceptance *out, int n_nodes);
/* What a function prints of a, in memory of the caller. */
char *kit_printed(const struct acceptance *a, void (*print)(const struct acceptance *a, FILE *to));
/* Do both hold the same, NaNs as equals? Asserts each member. */
void kit_assert_equal(const struct acceptance *a, const struct acceptance *b);

#endif
