/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_suite.h - what every world must do when it loses ranks and reports it: world.W8.
 *
 * Test-only (library gm_world_testing). Call it from a rank body, on all ranks of a run with ON_LOSS_REPORT. Its cases
 * lose one rank each; the next case goes on in the world of the survivors. So there are as many cases as the world has
 * ranks less two, of at most LOSS_N_CASES. The call does not return on a rank that is lost, and returns on the others
 * once no case is left, or at the first that failed on this rank: then its body must return an error, which ends the
 * others. Failed expectations are printed to standard error.
 */
#ifndef HARNESS_WORLD_SUITE_LOSS_SUITE_H
#define HARNESS_WORLD_SUITE_LOSS_SUITE_H

#include <stdbool.h>

struct world;

enum { LOSS_N_CASES = 10, LOSS_N_RANKS = LOSS_N_CASES + 2 }; /* of a world in which all cases are run */

struct loss_plan {
    int first_case;
    bool hangs; /* ranks are lost by world_hang(), else by world_die() */
};

/* Failures on this rank; 0: conforms. failed_case (may be NULL): its name, NULL: none. */
int loss_suite(struct world *w, const struct loss_plan *plan, const char **failed_case);

#endif
