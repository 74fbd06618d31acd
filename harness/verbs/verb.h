/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb.h - one entry per thing a user can ask for. A verb parses its own options, does its work and returns;
 * main prints the error, if any, and picks the exit code.
 */
#ifndef HARNESS_VERBS_VERB_H
#define HARNESS_VERBS_VERB_H

#include <stdio.h>

#include "harness/base/rc.h"

enum verb_stage {
    STAGE_INPUT, /* still looking at what the user gave: exit code 2 */
    STAGE_RUN,   /* input accepted, work begun: exit code 1 */
};

struct verb {
    const char *name, *summary; /* summary: one line, no full stop */
    /* argv[0..argc): what follows the verb. *stage is STAGE_INPUT at entry. */
    enum rc (*run)(int argc, char **argv, enum verb_stage *stage);
    /* Only look at the options: what is wrong with them, before any file is opened. */
    enum rc (*check)(int argc, char **argv);
    void (*help)(FILE *to); /* every option */
};

extern const struct verb verb_compare, verb_train, verb_profile, verb_pack, verb_info;

#endif
