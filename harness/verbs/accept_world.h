/* SPDX-License-Identifier: Apache-2.0 */
/* accept_world.h - what gradmark accept requires of its world, and how its ranks start. */
#ifndef HARNESS_VERBS_ACCEPT_WORLD_H
#define HARNESS_VERBS_ACCEPT_WORLD_H

#include <stddef.h>

#include "harness/verbs/accept_trials.h"
#include "harness/verbs/refusal.h"

enum { COULD_NOT_TEST = 2, ACCEPT_PATH_BYTES = 1024 };

/* Ranks are watched and their losses reported; a rank that ends early could not test. Borrows m. */
struct world_opts accept_world_opts(const struct machine *m, const struct accept_opts *o);

struct accept_start { /* of one process, shared by its ranks */
    char folder[ACCEPT_PATH_BYTES];
    struct refusal refusal;
    bool is_begun; /* the world runs, so it is not the world that refuses */
};
/* The folder of --out, else a dated folder in results/. RC_INVAL, RC_IO. */
enum rc accept_make_folder(char out[ACCEPT_PATH_BYTES], const struct accept_opts *o) MUST_CHECK;
/* Start the ranks: faults are checked against existing ranks and nodes, the compute is opened (*compute, which the
 * caller owns), rank 0 makes the folder. *goes_on: nothing is refused; equal on all ranks. Collective. Errors of the
 * world. */
enum rc accept_start_in(struct world *w, struct accept_start *out, struct compute **compute, const struct machine *m,
                        const struct accept_opts *o, const struct accept_terms *terms, bool *goes_on) MUST_CHECK;
/* A refusal before a test begins is an error of the input, reported by one of the launched processes. Ranks refuse
 * through accept_start_in(). If the world itself refuses (`ran`), it does so on every rank. RC_OK: nothing is refused.
 */
enum rc accept_start_check(const struct accept_start *s, enum rc ran, struct verb_call *call) MUST_CHECK;

#endif
