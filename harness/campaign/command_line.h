/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h - the options of `gradmark train` for one launch of a point. Private to campaign/. */
#ifndef HARNESS_CAMPAIGN_COMMAND_LINE_H
#define HARNESS_CAMPAIGN_COMMAND_LINE_H

#include "harness/campaign/sweep.h"

enum { MAX_ARGS = 128, ARG_BYTES = 4096 + 128 }; /* the longest path of the system, and the name of its option */

struct command_line { /* as a shell would pass it */
    char text[MAX_ARGS][ARG_BYTES];
    char *argv[MAX_ARGS + 1]; /* NULL-terminated */
    int n;
};

struct launch_terms { /* the differences between launches of one point */
    uint64_t seed;
    uint64_t n_steps;
    double lr; /* of one worker; NaN: the model's */
};
/* Terms of the launch of a point in a block. Launches of all points in one block have the same seed, s->train.seed +
 * block. So differences in a pair come from the point, and differences over blocks from chance, including the chance of
 * the training. Simulated points have one launch each, with s->train.seed. */
struct launch_terms launch_terms_of(const struct sweep *s, const struct point *p, size_t block);

/* Are the losses of p's launches meaningful? Not if time passes without computing, nor in inference. */
bool point_learns(const struct sweep *s, const struct point *p);

/* Add an argument of fewer than ARG_BYTES letters. */
void command_line_add(struct command_line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Add option o of g with its value, prefixed by folder/ unless folder is "". RC_INVAL: it is too long. */
enum rc command_line_add_option(struct command_line *l, const struct opt_group *g, const struct opt *o,
                                const char *folder) MUST_CHECK;
/* Add the options of a launch of p: those that the user gave for all launches, if p uses them; those that p assigns;
 * those computed for p and for this launch. Options of modules: of those in p->used. RC_INVAL: one is too long. */
enum rc command_line_add_point(struct command_line *l, const struct sweep *s, const struct point *p,
                               const struct launch_terms *terms) MUST_CHECK;

/* Launch p and leave its records in s->launch_path (rank 0); w NULL: as a process. s->stopped: a signal ended the
 * launch, which is not an error, or came too late to end it: then its records exist. s->failure: the launch failed and
 * left no records; this is not an error either. Both are equal on all ranks. In launch.c. */
enum rc launch_point(struct sweep *s, struct world *w, const struct point *p, const struct launch_terms *terms,
                     struct command_line *l) MUST_CHECK;

/* Broadcast *yes of rank 0; w NULL: there are no other ranks. In launch.c. */
enum rc launch_agree(struct world *w, bool *yes) MUST_CHECK;
/* Read a record of kind "tuning" again; the trials of a point come one after another. *is_whole: it was the point's
 * last, and its rate is known again. RC_MISMATCH: the record does not belong to this campaign. In tuning.c. */
struct json_t;
enum rc sweep_retake_trial(struct sweep *s, const struct json_t *record, bool *is_whole) MUST_CHECK;
/* Is record the first trial of its point? */
bool sweep_begins_trials(struct sweep *s, const struct json_t *record);
/* The first point that has launches but lacks the trials that chose its rate; NULL: none. In tuning.c. */
const struct point *sweep_find_untried(const struct sweep *s);

#endif
