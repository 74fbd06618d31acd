/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab.h - a lesson that is run: ordinary trainings, pictures of what they did, and questions about them.
 *
 * A lab trains by `gradmark train` in child processes, with options that its page shows: what a lab does, a student can
 * type. It leaves, in one folder, the trajectory of every training, the tables that are drawn, the pictures (SVG, PNG)
 * and one page.
 *
 *   labs.c       which labs there are, and the run of one
 *   training.c   a training and its trajectory, read back
 *   moved.c      a training and its messages, read back; ring_steps.c: those of a ring, step by step
 *   squares.c    the loss of the linear model over its data, and its least point
 *   stage_spans.c  what the stages of a pipeline computed when
 *   lesson.c     pictures and page
 *   records.c    a training of any model, and what its records say; outcome.c: how it came out
 *   verdict.c    which steps of distributed training are missing, from what it did
 *   server_path.c  what a parameter server held; momentum.c: which momentum that looks like
 *   curves.c     tables for pictures
 *   parts.c      how far a lab has come
 *   batch_size.c distribute.c ... the labs, a file each
 *
 * Invariants
 *   B1  Nothing is at the folder until the lab is whole.
 *   B2  A page shows figures of these trainings alone, and the command of each.
 *   B3  A lab says how many parts it has, trainings and pictures, before the first, and begins just as many (parts.h).
 */
#ifndef HARNESS_LABS_LAB_H
#define HARNESS_LABS_LAB_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct lab_parts;

struct lab_env {             /* borrowed */
    const char *self_path;   /* this program */
    const char *folder;      /* is written into */
    FILE *to;                /* what the lab found, for the terminal: sentences, which come first there */
    FILE *tables;            /* and its tables, and pictures as text */
    struct lab_parts *parts; /* how far it has come */
    bool in_text;            /* draw there, too */
    const char *without;     /* --without; "": not given */
    int n_workers;           /* --workers; 0: not given */
};

enum lab_takes { LAB_WITHOUT = 1u << 0, LAB_WORKERS = 1u << 1 }; /* options beside those of all labs */

struct lab {
    const char *name, *summary; /* summary: its question */
    unsigned takes;             /* enum lab_takes */
    int most_workers;           /* LAB_WORKERS: from 2 to these */
    /* Optional (may be NULL: nothing to check): of env->without and env->n_workers, before anything is run; the others
     * are not set. RC_INVAL. */
    enum rc (*check)(const struct lab_env *env);
    /* RC_PEER: a training failed; RC_UNSUPPORTED: there is no gnuplot; RC_IO; RC_NOMEM. */
    enum rc (*run)(const struct lab_env *env);
};

/* Lab i; NULL behind the last. */
const struct lab *lab_at(int i);
/* RC_INVAL: there is no such lab; names the nearest, and all. */
enum rc lab_find(const struct lab **out, const char *name) MUST_CHECK;

#endif
