/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_save.c - checkpoints that rank 0 writes between steps, over the last one. Where workers wait for each other in
 * their steps, all of them meet before it and behind it, so that no step of any contains it (train.L2); else the others
 * go on meanwhile. With servers that hold workers back (--consistency ssp, sync) they go on as far as that lets them,
 * and what they wait for rank 0 then is wait of their steps.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/exchange/exchange.h"
#include "harness/train/rank_state.h"
#include "models/engine/training.h"

/* Does this rank write, or give its shard to the one that does? */
static bool writes(const struct rank *r)
{
    return (r->world->rank == 0 || rank_shard_gives(r)) && r->job->opts.save_every > 0 && r->param;
}

/* Do the workers of this run wait for each other? All ranks of such a mode are workers. */
static bool all_meet(const struct rank *r)
{
    return r->job->mode->module.caps & MODE_SYNCHRONOUS && r->job->n_workers > 1;
}

enum rc rank_save_open(struct rank *r)
{
    struct checkpoint *c = &r->result.final;

    if (!writes(r))
        return RC_OK;
    c->n_params = r->job->n_params;
    c->n_state = r->job->n_state;
    c->optimizer = r->job->optimizer;
    return checkpoint_alloc(c, true);
}

/* Neither the last step, behind which the run's own end writes the checkpoint, nor one between two of them. */
bool rank_save_is_due(const struct rank *r, size_t step)
{
    const uint64_t every = r->job->opts.save_every, n_done = r->job->resume.steps_count + step + 1;

    return every > 0 && r->param && n_done % every == 0 && step + 1 < r->job->n_steps &&
           (r->world->rank == 0 || all_meet(r));
}

static void note_failure(struct train_saves *s, uint64_t n_steps)
{
    char line[RC_MESSAGE_BYTES + 96];

    if (s->n_failed++ == 0)
        (void)snprintf(s->why, sizeof s->why, "%s", rc_message());
    (void)snprintf(line, sizeof line, "the checkpoint after %llu steps was not written, the run goes on: %s",
                   (unsigned long long)n_steps, rc_message());
    peer_tell(&(struct peer_opts){ 0 }, line);
}

static enum rc write_checkpoint(struct rank *r, size_t step)
{
    struct train_saves *s = &r->result.saves;
    struct checkpoint *own = &r->result.final, *c = own, uncut = { .param = NULL }, whole = { .param = NULL };
    size_t n_state = 0;
    enum rc rc = RC_OK;

    TRY(exchange_snapshot(r->exchange, c->param, &c->kept));
    const float *state = workload_state(r->training, &n_state);
    if (c->state)
        TRY(compute_fetch(r->compute, c->state, state, n_state * sizeof *state));
    rank_describe(r, c, step + 1);
    if (r->shard) {
        TRY(rank_shard_join(r, &uncut, own));
        c = &uncut;
    }
    if (r->world->rank > 0) /* the first shard writes */
        goto out;
    if (r->pipe) {
        TRY(rank_pipe_join(r, &whole, c));
        c = &whole;
    }
    if (r->job->stages.number > 0) /* and the first stage */
        goto out;
    if (checkpoint_save_ticking(c, r->job->opts.save, world_tick_callback, r->world) == RC_OK)
        s->n_written++;
    else
        note_failure(s, c->steps_count);
out:
    checkpoint_free(&uncut);
    checkpoint_free(&whole);
    return rc;
}

enum rc rank_save(struct rank *r, size_t step)
{
    enum rc rc = RC_OK;

    if (!rank_save_is_due(r, step))
        return RC_OK;
    const uint64_t started_ns = world_now_ns(r->world);
    if (all_meet(r)) /* the others have ended their step */
        TRY(world_barrier(r->world));
    if (writes(r))
        TRY(write_checkpoint(r, step));
    if (all_meet(r)) /* none has begun its next one */
        TRY(world_barrier(r->world));
    r->result.saves.spent_s += 1e-9 * (double)(world_now_ns(r->world) - started_ns);
out:
    return rc;
}
