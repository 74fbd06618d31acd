/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_simulations.h - the file of finished simulations: a sealed line for each, added as it ends.
 *
 *   N1  A line that was added is there whatever ends the process (partial_file.G1). One that was cut or changed is left
 *       out, and its simulation runs again.
 *   N2  A simulation is found again by its options, without the name of the folder that it ran in.
 *   N3  What is found again is, bit for bit, what the simulation had found.
 */
#ifndef HARNESS_CAMPAIGN_KEPT_SIMULATIONS_H
#define HARNESS_CAMPAIGN_KEPT_SIMULATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"
#include "harness/campaign/simulations.h"
#include "harness/report/seal.h"

struct kept_simulations { /* owned; zeroed: nothing is kept */
    struct atomic_file file;
    const char *folder; /* borrowed; the file is in it */
    struct seal seal;
    size_t n; /* how many it holds */
};

/* FOLDER/simulations.jsonl.partial, new. RC_INVAL: it cannot be made. */
enum rc kept_simulations_open(struct kept_simulations *out, const char *folder) MUST_CHECK;
/* The one that is there. RC_INVAL: there is none, or another process writes it. */
enum rc kept_simulations_reopen(struct kept_simulations *out, const char *folder) MUST_CHECK;
/* Give what it holds to those of s[n] that it has, and cut a half line off. RC_IO, RC_NOMEM. */
enum rc kept_simulations_take(struct kept_simulations *k, struct simulation *s, size_t n) MUST_CHECK;
/* Add one that has ended well. RC_IO, RC_NOMEM: it is not there. */
enum rc kept_simulations_add(struct kept_simulations *k, const struct simulation *s) MUST_CHECK;
/* Close the file, which stays. No-op when not open. */
void kept_simulations_leave(struct kept_simulations *k);

#endif
