/* SPDX-License-Identifier: Apache-2.0 */
/* plan_layouts.h - which layouts a campaign has, and the work that all of them do. Of plan.c. */
#ifndef HARNESS_CAMPAIGN_PLAN_LAYOUTS_H
#define HARNESS_CAMPAIGN_PLAN_LAYOUTS_H

#include "harness/campaign/sweep.h"

enum { LAYOUT_OPTIONS = 3 };
#define LAYOUT_OF_ONE_RANK "1x1x1"

/* chosen[LAYOUT_OPTIONS] := what the layout assigns. RC_INVAL: it is none, or more ranks than were launched. */
enum rc plan_choose_layout(struct assignment *chosen, const struct sweep *s, const char *text) MUST_CHECK;
/* Of a point that is planned; stages, shards: NULL: 1. What is no number is 1, which campaign_add() refuses. */
struct layout plan_layout_of(int n_workers, const struct assignment *stages, const struct assignment *shards);
/* Can model and mode not have the layout, with n_others ranks beside it? Then s->left_out says so. Of one without
 * stages and shards it is only asked where layouts are an axis. */
bool plan_leaves_out(struct sweep *s, const char *model, const struct module *mode, const struct layout *l,
                     int n_others);
/* Where layouts are compared: launch_global_batch and launch_micro_batches of all points whose user names none.
 * RC_INVAL: as the file of --profile. RC_NOMEM. */
enum rc plan_work_of_layouts(struct sweep *s) MUST_CHECK;

#endif
