/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - the progress of a lab. A part is a training or a picture. Each is named on stderr when it begins
 * (report/progress.h). See labs.B3.
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
/* Call before the first part, and again if fewer parts follow than were announced. */
void parts_expect(const struct lab_env *env, int n_trainings, int n_pictures);
/* Begin the next part; `what` names it. */
void parts_begin(const struct lab_env *env, const char *what);
/* The stream on which a lab prints; the redrawn line is erased there. */
FILE *parts_text(const struct lab_env *env);
/* All parts are done. RC_BUG: their number is not the one that the lab announced (labs.B3). */
enum rc parts_close(struct lab_parts *p) MUST_CHECK;
/* Instead of parts_close(), if the lab failed: erases the redrawn line and prints nothing. */
void parts_abandon(struct lab_parts *p);

#endif
