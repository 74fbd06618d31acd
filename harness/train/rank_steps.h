/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_steps.h - the steps of a worker, and what features do around them. Private to this room.
 *
 * The loop knows no feature. A feature that acts between steps, or in them, is a struct step_hook in the feature's own
 * file. rank_steps.c lists all hooks in one table, whose order is the order of their calls.
 */
#ifndef HARNESS_TRAIN_RANK_STEPS_H
#define HARNESS_TRAIN_RANK_STEPS_H

#include "harness/train/rank_state.h"

enum step_point {
    CHOOSE_STEP,   /* before a step: may this rank begin it, and with which batch (r->place)? In no step's time */
    BEFORE_STEP,   /* the step begins. In no step's time */
    COMPUTED_PART, /* a part of the gradient is computed; at last, all of it. In the step's time */
    AFTER_STEP,    /* the step has ended, and its stamp is complete. In no step's time */
    AFTER_STEPS, /* the last step of this rank has ended, of whichever cause but an error. step: the number of steps */
    N_STEP_POINTS
};

/* step: of this run. May block, and may be collective over r->world if all workers have the same steps. An error ends
 * the run. A hook that sets r->has_ended makes this step the last: hooks behind it are not called at this point. */
typedef enum rc step_fn(struct rank *r, size_t step);

/* Every member but the name is optional: NULL does nothing. */
struct step_hook {
    const char *name;
    /* Does the job use this feature? NULL: every job does. The other members are called only if so. */
    bool (*wanted)(const struct train_job *job);
    /* Every rank, servers too, before it has tasks. Collective. Errors: as world_split(). */
    enum rc (*meet)(struct rank *r);
    /* Every rank, servers too, with its exchange open: allocate. RC_NOMEM. */
    enum rc (*open)(struct rank *r);
    /* Workers only. */
    step_fn *at[N_STEP_POINTS];
    /* Does the hook act behind this step? Then the step awaits its own exchange, which may else overlap with the next
     * step. The same on all workers that wait for each other. */
    bool (*acts_behind)(const struct rank *r, size_t step);
    /* Every remaining rank, after the last step: gather into the result on rank 0. Collective over `gathered`. */
    enum rc (*gather)(struct rank *r, struct world *gathered);
    /* Free what meet and open made; also after a failure of either, or if neither was called. */
    void (*close)(struct rank *r);
};

extern const struct step_hook hook_alternation, hook_elastic, hook_input, hook_kept_state, hook_save, hook_slow_rank,
    hook_trajectory, hook_verify;

/* Find the hooks that the job uses, for the functions below. */
void rank_hooks_find(struct rank *r);
enum rc rank_hooks_meet(struct rank *r) MUST_CHECK;
enum rc rank_hooks_open(struct rank *r) MUST_CHECK;
enum rc rank_hooks_gather(struct rank *r, struct world *gathered) MUST_CHECK;
void rank_hooks_close(struct rank *r);

/* Train: all steps of this worker. Errors: those of the exchange, the workload and the hooks. */
enum rc rank_steps(struct rank *r) MUST_CHECK;
/* For CHOOSE_STEP: the run is to stop before `step` (stop.h). Sets r->has_ended, and ends the exchange of the step
 * before. Does nothing if the run must go on: what would be saved is not whole after this many steps. */
enum rc rank_stop(struct rank *r, size_t step) MUST_CHECK;

#endif
