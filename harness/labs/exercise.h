/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exercise.h - a program with gaps that a student fills. It goes from one worker to two in five steps: shard,
 * broadcast, scale, average, save once.
 *
 *   exercise.c      the list of exercises, and the program
 *   exercise_run.c  a student's program, built and run with 2 workers under limits
 *   diagnosis.c     which steps of the recipe its workers took, from their paths alone
 *
 * Invariants
 *   F1  A diagnosis uses only what the workers did (gm_note() of gradmark.h), never the text of the program: any
 *       program that takes the paths of the reference is correct.
 *   F2  A program that is run always ends: by itself, or at a limit of time or of output, and then a message names the
 *       limit. At the memory limit allocations fail, and the effect on the program is reported: usually a crash.
 */
#ifndef HARNESS_LABS_EXERCISE_H
#define HARNESS_LABS_EXERCISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct workload;

struct exercise {
    const char *name; /* name of its lab */
    const char *title;
    const struct workload *model; /* linear, or a network with a shipped data set */
    int n_samples, batch, n_steps;
    double lr;
};

/* Exercise i; NULL after the last. */
const struct exercise *exercise_at(int i);
/* RC_INVAL: there is no exercise of this name; names all. */
enum rc exercise_find(const struct exercise **out, const char *name) MUST_CHECK;
/* Write the program to path: a new file, or any file if may_replace. RC_INVAL: it exists; RC_IO. */
enum rc exercise_write(const struct exercise *e, const char *path, bool may_replace) MUST_CHECK;

enum { N_EXERCISE_WORKERS = 2 };

enum recipe_step { RECIPE_SHARD, RECIPE_BROADCAST, RECIPE_SCALE, RECIPE_AVERAGE, RECIPE_SAVE, N_RECIPE_STEPS };
enum finding_kind {
    FINDING_RIGHT,
    FINDING_MISSING, /* the step is as in the program that the student got: its gap is still open */
    FINDING_WRONG,   /* the gap was filled, but not correctly */
    FINDING_UNKNOWN  /* not judged, because an earlier step is wrong */
};

struct finding {
    enum finding_kind kind;
    char text[200]; /* one sentence without full stop; "": nothing to report */
};

struct diagnosis {
    struct finding finding[N_RECIPE_STEPS];
    bool is_unknown; /* no known mistake explains the paths */
};

struct note { /* gm_note() */
    double lr, loss, first, last, mean;
    double n_combined, n_broadcasts; /* calls of libgradmark so far */
};

struct answer {                            /* what a student's program did */
    struct note *note[N_EXERCISE_WORKERS]; /* [n_steps + 1] each; owned */
    int n_saved[N_EXERCISE_WORKERS];
};

/* "shard the data" */
const char *recipe_step_name(enum recipe_step step);
/* Build file and run it with 2 workers for at most limit_s. RC_UNSUPPORTED: no MPI, no compiler; RC_PEER: it does not
 * compile, or failed; RC_TIMEOUT: it exceeded a limit; RC_MISMATCH: it left no paths. */
enum rc answer_run(struct answer *out, const struct exercise *e, const char *file, int limit_s) MUST_CHECK;
void answer_close(struct answer *a); /* accepts a zeroed one */
/* RC_UNSUPPORTED: answers cannot be run here; the message says why. */
enum rc answer_possible(void) MUST_CHECK;
/* If no known mistake explains the paths, finds the gap at which they part. RC_NOMEM. */
enum rc diagnose(struct diagnosis *out, const struct exercise *e, const struct answer *a) MUST_CHECK;
/* Print the diagnosis. Returns true if all steps are correct. */
bool diagnosis_print(const struct diagnosis *d, const struct exercise *e, FILE *to);

#endif
