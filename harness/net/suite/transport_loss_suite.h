/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_loss_suite.h - what every transport must do when a rank of its world is lost, and reported: net.T6, T12.
 *
 * Test-only (library gm_net_testing). Call it from a rank body, on all ranks of a run with ON_LOSS_REPORT. One case a
 * run: rank 1 is lost in it, and does not return. At least 3 ranks; failed expectations are printed to standard error.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_LOSS_SUITE_H
#define HARNESS_NET_SUITE_TRANSPORT_LOSS_SUITE_H

#include <stdbool.h>

struct world;
struct transport_ops;

struct transport_loss_plan {
    int nth;        /* case */
    int timeout_ms; /* of waits that a loss must end */
    bool hangs;     /* rank 1 is lost by world_hang(), else by world_die() */
};

/* The name of a case; NULL: there are no more. */
const char *transport_loss_case(int nth);
/* Failures on this rank. */
int transport_loss_suite(struct world *w, const struct transport_ops *ops, const struct transport_loss_plan *plan);

#endif
