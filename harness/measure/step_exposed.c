/* SPDX-License-Identifier: Apache-2.0 */
/* step_exposed.c - the communication in one step of one worker. */
#include "harness/measure/steps.h"

double steps_exposed_s(const struct step_stamp *s)
{
    const uint64_t gradient_ns = s->ready_ns - s->start_ns;
    const uint64_t stalled_ns = s->stalled_ns < gradient_ns ? s->stalled_ns : gradient_ns;
    const uint64_t waited_ns = stalled_ns + (s->end_ns - s->ready_ns);

    return waited_ns > s->apply_ns ? 1e-9 * (double)(waited_ns - s->apply_ns) : 0;
}

double steps_hidden_s(const struct step_stamp *s)
{
    return 1e-9 * (double)s->hidden_ns;
}
