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
#include <stdint.h>

struct world;

enum { LOSS_N_CASES = 10, LOSS_N_RANKS = LOSS_N_CASES + 2 }; /* of a world in which all cases are run */

struct loss_plan {
    int first_case;
    bool hangs; /* ranks are lost by world_hang(), else by world_die() */
};

/* Failures on this rank; 0: conforms. failed_case (may be NULL): its name, NULL: none. */
int loss_suite(struct world *w, const struct loss_plan *plan, const char **failed_case);

/* Called by the ranks of w before rank `victim` of w goes. That rank returns once all others have called it with this
 * step, so they are in no operation from before, which its loss would end for them though it has ended on the victim
 * (world.W8); the others return at once. step: at least 100, another one each time. False: a rank does not come. */
bool loss_await_others(struct world *w, int victim, int64_t step);

#endif
