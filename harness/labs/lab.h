/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab.h - a lesson that is run: ordinary trainings, pictures of what they did, and questions about them.
 *
 * A lab trains by `gradmark train` in child processes, with options that its page shows: a student can repeat each
 * training. A lab leaves one folder with the trajectory of every training, the tables that are drawn, the pictures
 * (SVG, PNG) and one page.
 *
 *   labs.c       the list of labs, and the run of one
 *   training.c   a training and its trajectory, read back
 *   moved.c      a training and its messages, read back; ring_steps.c: the steps of a ring from these messages
 *   squares.c    the loss of the linear model over its data, and its least point
 *   stage_spans.c  what the stages of a pipeline computed, and when
 *   lesson.c     pictures and page
 *   records.c    a training of any model, its records, and its outcome
 *   verdict.c    which steps of distributed training are missing, from what it did
 *   server_path.c  what a parameter server held; momentum.c: which momentum that looks like
 *   curves.c     tables for pictures
 *   parts.c      progress of a lab
 *   batch_size.c distribute.c ... the labs, one file each
 *
 * Invariants
 *   B1  The folder does not exist until the lab is complete.
 *   B2  A page shows only figures of these trainings, and the command of each.
 *   B3  A lab announces its number of parts (trainings and pictures) before the first one, and begins exactly that many
 *       (parts.h).
 */
#ifndef HARNESS_LABS_LAB_H
#define HARNESS_LABS_LAB_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct lab_parts;

struct lab_env {             /* borrowed */
    const char *self_path;   /* this program */
    const char *folder;      /* the lab writes into it */
    FILE *to;                /* findings for the terminal: sentences, which come first there */
    FILE *tables;            /* tables, and pictures as text */
    struct lab_parts *parts; /* progress */
    bool in_text;            /* draw pictures on the terminal, too */
    const char *without;     /* --without; "": not given */
    int n_workers;           /* --workers; 0: not given */
};

enum lab_takes { LAB_WITHOUT = 1u << 0, LAB_WORKERS = 1u << 1 }; /* options besides those of all labs */

struct lab {
    const char *name, *summary; /* summary: its question */
    unsigned takes;             /* enum lab_takes */
    int most_workers;           /* LAB_WORKERS: from 2 to this number */
    /* Optional (may be NULL: nothing to check): checks env->without and env->n_workers before anything is run; the
     * other members are not set. RC_INVAL. */
    enum rc (*check)(const struct lab_env *env);
    /* RC_PEER: a training failed; RC_UNSUPPORTED: there is no gnuplot; RC_IO; RC_NOMEM. */
    enum rc (*run)(const struct lab_env *env);
};

/* Lab i; NULL after the last. */
const struct lab *lab_at(int i);
/* RC_INVAL: there is no such lab; names the nearest, and all. */
enum rc lab_find(const struct lab **out, const char *name) MUST_CHECK;

#endif
