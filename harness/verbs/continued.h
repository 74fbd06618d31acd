/* SPDX-License-Identifier: Apache-2.0 */
/*
 * continued.h - --continue of the subcommands with long work that keep finished parts: simulate, reproduce, lab all.
 * compare has the same rules (campaign/begun.h), but keeps its plan in its manifest.
 *
 *   plan.json   exists until the work is finished. It holds the subcommand, its command line, the folder in which it
 *               was typed, the digests of its input files, the program, and, unless time is simulated, the machine.
 */
#ifndef HARNESS_VERBS_CONTINUED_H
#define HARNESS_VERBS_CONTINUED_H

#include <limits.h>
#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/campaign/begun.h"
#include "harness/verbs/verb.h"

struct continued { /* zeroed: new work */
    bool goes_on;
    char folder[PATH_MAX]; /* where results go; absolute */
    char shown[PATH_MAX];  /* the same as the user typed it, for messages */
    struct begun begun;
    char despite[2 * FAILURE_BYTES]; /* what has changed since the work began; "": nothing */
};

#define PLAN_FILE "plan.json"
/* Key of manifest.json: the messages of simulations that failed; absent if none did. --continue of a complete folder
 * prints them. */
#define FAILED_KEY "failed_simulations"

struct continued_terms { /* of a subcommand */
    const char *folder;  /* of --continue; "": not given */
    bool anyway;         /* --continue-anyway */
    const char *proof;   /* a file of FOLDER that exists only if the work is finished */
    enum rc (*run)(struct verb_call *call, struct continued *c);
};

/* Check --continue and --continue-anyway against the other options. RC_INVAL. */
enum rc continued_check(const struct verb_call *call, const char *folder, bool anyway) MUST_CHECK;
/* Which subcommand has written the folder that --continue of v names? RC_INVAL: another one; the message names it, and
 * the command that continues the folder, if there is one. RC_OK also if the folder does not tell. */
enum rc continued_check_kind(const struct verb *v, const char *folder) MUST_CHECK;
/* Call run with the call itself, or with the call of FOLDER's plan in the folder where it was typed. RC_INVAL: there is
 * nothing to continue, or something has changed since and anyway is not set. RC_PEER: the folder is complete, and some
 * of its simulations had failed. */
enum rc continued_run(struct verb_call *call, const struct continued_terms *terms) MUST_CHECK;
/* Write FOLDER/plan.json. RC_INVAL: an input file cannot be read, a word is not UTF-8, or the working folder has a name
 * that a plan cannot keep. */
enum rc continued_write_plan(const struct continued *c, const struct verb_call *call, const char *folder,
                             bool is_virtual) MUST_CHECK;
/* Would that succeed? The same errors; writes nothing. */
enum rc continued_check_plan(const struct verb_call *call) MUST_CHECK;
/* "gradmark VERB --continue FOLDER", for a shell. */
enum { CONTINUED_COMMAND_BYTES = 4 * PATH_MAX + 64 };
void continued_command(char out[CONTINUED_COMMAND_BYTES], const char *verb, const char *folder);

#endif
