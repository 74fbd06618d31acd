/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - see recorded.h. */
#include "harness/train/recorded.h"

#include <math.h>

size_t recorded_n_to_target(const struct train_summary *s)
{
    struct round_point point = { .seconds = -1 };
    size_t n = 0;

    if (isnan(s->seconds_to_target_loss))
        return 0;
    while (n < s->steps.n_steps && point.seconds < s->seconds_to_target_loss)
        steps_round(&point, &s->steps, n++);
    return n;
}

bool recorded_step(size_t step, size_t n_to_target, uint64_t record_every, size_t n_steps)
{
    return step < n_to_target || step % record_every == 0 || step + 1 == n_steps; /* Y1, Y2 */
}
