/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - how far a lab has come: a part is a training, or a picture, and each is named on stderr as it begins
 * (report/progress.h). Of lab.B3.
 */
#ifndef HARNESS_LABS_PARTS_H
#define HARNESS_LABS_PARTS_H

#include "harness/report/progress.h"

struct lab_env;

struct lab_parts {
    struct progress shown;
    const char *lab; /* borrowed */
    int n_begun, n_expected;
};

/* to: usually stderr. */
void parts_open(struct lab_parts *p, const char *lab, FILE *to);
/* Before the first part; again where fewer come than were said. */
void parts_expect(const struct lab_env *env, int n_trainings, int n_pictures);
/* The next part begins: what. */
void parts_begin(const struct lab_env *env, const char *what);
/* Where a lab prints; what is redrawn in place has gone there. */
FILE *parts_text(const struct lab_env *env);
/* All parts are done. RC_BUG: they are not as many as the lab said (lab.B3). */
enum rc parts_close(struct lab_parts *p) MUST_CHECK;
/* In place of parts_close(), where the lab has failed: what was redrawn in place goes, else nothing is said. */
void parts_abandon(struct lab_parts *p);

#endif
