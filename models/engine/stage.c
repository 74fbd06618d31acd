/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - see stage.h. */
#include "models/engine/stage.h"

size_t stage_held(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches)
{
    const size_t n_ahead = (size_t)(n_stages - stage);

    return schedule == SCHEDULE_1F1B && n_ahead < n_micro_batches ? n_ahead : n_micro_batches;
}

/* The first `held` are forward; then backward and forward take turns while there are forwards left. */
struct stage_action stage_action_at(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches,
                                    size_t i)
{
    const size_t held = stage_held(schedule, stage, n_stages, n_micro_batches);
    const size_t n_turns = 2 * (n_micro_batches - held); /* actions behind the first ones in which both take turns */

    if (i < held)
        return (struct stage_action){ .micro_batch = i };
    const size_t k = i - held;
    if (k >= n_turns)
        return (struct stage_action){ .micro_batch = n_turns / 2 + (k - n_turns), .is_backward = true };
    return (struct stage_action){ .micro_batch = k % 2 == 0 ? k / 2 : held + k / 2, .is_backward = k % 2 == 0 };
}
