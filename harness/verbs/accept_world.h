/* SPDX-License-Identifier: Apache-2.0 */
/* accept_world.h - what gradmark accept asks of its world, and the folder of its results, which rank 0 makes in it. */
#ifndef HARNESS_VERBS_ACCEPT_WORLD_H
#define HARNESS_VERBS_ACCEPT_WORLD_H

#include <stddef.h>

#include "harness/verbs/accept_trials.h"

enum { COULD_NOT_TEST = 2, ACCEPT_PATH_BYTES = 1024 };

/* Ranks are watched, their losses reported, and whoever ends early could not test. Borrows m. */
struct world_opts accept_world_opts(const struct machine *m, const struct accept_opts *o);

struct accept_folder {
    char path[ACCEPT_PATH_BYTES];
    enum rc refused; /* RC_OK: it is there, and empty */
    char why[RC_MESSAGE_BYTES];
};
/* The folder of --out, else a dated one in results/. Cannot fail: a refusal is in *out. */
void accept_folder_make(struct accept_folder *out, const struct accept_opts *o);
/* The same by rank 0; the others have its refusal, so that all ranks leave at once. *out is of the process, shared by
 * its ranks. *is_made: the same on all ranks. Collective. RC_PEER. */
enum rc accept_folder_make_in(struct world *w, struct accept_folder *out, const struct accept_opts *o,
                              bool *is_made) MUST_CHECK;
/* The refusal, raised: an error of the input, of which one of the launched processes tells. */
enum rc accept_folder_check(const struct accept_folder *f, struct verb_call *call) MUST_CHECK;

#endif
