/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_simulations.h - the file of finished simulations: a sealed line for each, added when it ends.
 *
 *   N1  A line that was added stays even if the process dies (partial_file.G1). A line that was cut or changed is
 *       ignored, and its simulation runs again.
 *   N2  The key of a simulation is its options, without the name of its folder.
 *   N3  A result that is found equals, bit for bit, the result of the simulation.
 */
#ifndef HARNESS_CAMPAIGN_KEPT_SIMULATIONS_H
#define HARNESS_CAMPAIGN_KEPT_SIMULATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"
#include "harness/campaign/simulations.h"
#include "harness/report/seal.h"

#define KEPT_SIMULATIONS_FILE "simulations.jsonl.partial" /* its name until the work is finished */

struct kept_simulations { /* owned; zeroed: nothing is kept */
    struct atomic_file file;
    const char *folder; /* borrowed; the file is in it */
    struct seal seal;
    size_t n; /* number of simulations in it */
};

/* Make FOLDER/simulations.jsonl.partial. RC_INVAL: it cannot be made. */
enum rc kept_simulations_open(struct kept_simulations *out, const char *folder) MUST_CHECK;
/* Open the existing file. RC_INVAL: there is no file, or another process writes it. */
enum rc kept_simulations_reopen(struct kept_simulations *out, const char *folder) MUST_CHECK;
/* Set the results of those of s[n] that it contains, and cut off an incomplete last line. Reads the whole file, each
 * time: a command may have several sets. RC_IO, RC_NOMEM. */
enum rc kept_simulations_take(struct kept_simulations *k, struct simulation *s, size_t n) MUST_CHECK;
/* Add a simulation that ended successfully. RC_IO, RC_NOMEM: it was not added. */
enum rc kept_simulations_add(struct kept_simulations *k, const struct simulation *s) MUST_CHECK;
/* Close the file and keep it. No-op if not open. */
void kept_simulations_leave(struct kept_simulations *k);

#endif
