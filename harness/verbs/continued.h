/* SPDX-License-Identifier: Apache-2.0 */
/*
 * continued.h - --continue of verbs whose long work keeps what is finished: simulate, reproduce, lab all. compare has
 * the same rules (campaign/begun.h), and its plan in its manifest.
 *
 *   plan.json   while the work is not finished: the verb, its command line, the folder it was typed in, the digests of
 *               its input files, the program, and, unless time is simulated, the machine
 */
#ifndef HARNESS_VERBS_CONTINUED_H
#define HARNESS_VERBS_CONTINUED_H

#include <limits.h>
#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/campaign/begun.h"
#include "harness/verbs/verb.h"

struct continued { /* zeroed: work that begins */
    bool goes_on;
    char folder[PATH_MAX]; /* where results go; absolute */
    char shown[PATH_MAX];  /* the same as it was typed, for people */
    struct begun begun;
    char despite[2 * FAILURE_BYTES]; /* what has changed since it began; "": nothing */
};

#define PLAN_FILE "plan.json"

struct continued_terms { /* of a verb */
    const char *folder;  /* of --continue; "": it is not given */
    bool anyway;         /* --continue-anyway */
    const char *proof;   /* a file of FOLDER that only finished work has */
    enum rc (*run)(struct verb_call *call, struct continued *c);
};

/* --continue and --continue-anyway beside the other options. RC_INVAL. */
enum rc continued_check(const struct verb_call *call, const char *folder, bool anyway) MUST_CHECK;
/* Call run with the call itself; or with the call that FOLDER's plan has, in the folder that it was typed in. RC_INVAL:
 * nothing is there to continue, or something has changed since, and anyway is not set. */
enum rc continued_run(struct verb_call *call, const struct continued_terms *terms) MUST_CHECK;
/* FOLDER/plan.json. RC_INVAL: an input file cannot be read, or a word is not UTF-8. */
enum rc continued_write_plan(const struct continued *c, const struct verb_call *call, const char *folder,
                             bool is_virtual) MUST_CHECK;
/* "gradmark VERB --continue FOLDER", for a shell. */
enum { CONTINUED_COMMAND_BYTES = 4 * PATH_MAX + 64 };
void continued_command(char out[CONTINUED_COMMAND_BYTES], const char *verb, const char *folder);

#endif
