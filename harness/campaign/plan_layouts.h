/* SPDX-License-Identifier: Apache-2.0 */
/* plan_layouts.h - the layouts of a campaign, and the work that is equal for all of them. Private to plan.c. */
#ifndef HARNESS_CAMPAIGN_PLAN_LAYOUTS_H
#define HARNESS_CAMPAIGN_PLAN_LAYOUTS_H

#include "harness/campaign/sweep.h"

enum { LAYOUT_OPTIONS = 3 };
#define LAYOUT_OF_ONE_RANK "1x1x1"

/* chosen[LAYOUT_OPTIONS] := the assignments of the layout. RC_INVAL: not a layout, or more ranks than launched. */
enum rc plan_choose_layout(struct assignment *chosen, const struct sweep *s, const char *text) MUST_CHECK;
/* The layout of a planned point; stages, shards: NULL: 1. An invalid number counts as 1; campaign_add() refuses it. */
struct layout plan_layout_of(int n_workers, const struct assignment *stages, const struct assignment *shards);
/* Is the layout impossible for model and mode, with n_others further ranks? Then s->left_out says so. A layout without
 * stages and shards is only checked if layouts are an axis. */
bool plan_leaves_out(struct sweep *s, const char *model, const struct module *mode, const struct layout *l,
                     int n_others);
/* If layouts are compared, set launch_global_batch and launch_micro_batches of all points, unless the user gave them.
 * RC_INVAL: as the file of --profile. RC_NOMEM. */
enum rc plan_work_of_layouts(struct sweep *s) MUST_CHECK;

#endif
