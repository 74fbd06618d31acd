/* SPDX-License-Identifier: Apache-2.0 */
/* accept_world.h - what gradmark accept asks of its world, and how its ranks begin in it. */
#ifndef HARNESS_VERBS_ACCEPT_WORLD_H
#define HARNESS_VERBS_ACCEPT_WORLD_H

#include <stddef.h>

#include "harness/verbs/accept_trials.h"
#include "harness/verbs/refusal.h"

enum { COULD_NOT_TEST = 2, ACCEPT_PATH_BYTES = 1024 };

/* Ranks are watched, their losses reported, and whoever ends early could not test. Borrows m. */
struct world_opts accept_world_opts(const struct machine *m, const struct accept_opts *o);

struct accept_start { /* of a process, shared by its ranks */
    char folder[ACCEPT_PATH_BYTES];
    struct refusal refusal;
    bool is_begun; /* the world runs, and so is not itself what refuses */
};
/* The folder of --out, else a dated one in results/. RC_INVAL, RC_IO. */
enum rc accept_make_folder(char out[ACCEPT_PATH_BYTES], const struct accept_opts *o) MUST_CHECK;
/* Of ranks that begin: rank 0 makes the folder, faults name what there is, the compute is opened (*compute; of the
 * caller). *goes_on, the same on all ranks: nothing is refused. Collective. Errors of the world. */
enum rc accept_start_in(struct world *w, struct accept_start *out, struct compute **compute, const struct machine *m,
                        const struct accept_opts *o, const struct accept_terms *terms, bool *goes_on) MUST_CHECK;
/* What is refused before a test begins is an error of the input, which one of the launched processes tells: by ranks,
 * or else by the world (`ran`), which then does so on every rank. RC_OK: nothing is. */
enum rc accept_start_check(const struct accept_start *s, enum rc ran, struct verb_call *call) MUST_CHECK;

#endif
