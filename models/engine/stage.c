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

/* The value of a micro-batch; behind the last one there is none, and to the first stage nobody sends any. */
static enum rc expect(const struct pipeline_stage *s, const struct stage_player *p, size_t micro_batch, size_t n)
{
    return s->number > 0 && micro_batch < n ? p->expect(p->arg, micro_batch) : RC_OK;
}

enum rc stage_play(const struct pipeline_stage *s, size_t n_micro_batches, const struct stage_player *player)
{
    const int n_stages = s->cuts.n_stages;
    const size_t held = stage_held(s->schedule, s->number, n_stages, n_micro_batches);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < held; i++)
        TRY(expect(s, player, i, n_micro_batches));
    for (size_t i = 0; i < 2 * n_micro_batches; i++) {
        const struct stage_action a = stage_action_at(s->schedule, s->number, n_stages, n_micro_batches, i);
        if (s->pipe.begins != NULL)
            s->pipe.begins(s->pipe.arg, a);
        TRY(a.is_backward ? player->backward(player->arg, a.micro_batch) : player->forward(player->arg, a.micro_batch));
        if (s->pipe.ended != NULL)
            s->pipe.ended(s->pipe.arg, a);
        if (a.is_backward) /* the room of this one is free */
            TRY(expect(s, player, a.micro_batch + held, n_micro_batches));
    }
out:
    return rc;
}
