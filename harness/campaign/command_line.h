/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h - the options of `gradmark train` for one launch of a point. Private to this room. */
#ifndef HARNESS_CAMPAIGN_COMMAND_LINE_H
#define HARNESS_CAMPAIGN_COMMAND_LINE_H

#include "harness/campaign/sweep.h"

enum { MAX_ARGS = 128, ARG_BYTES = 4096 + 128 }; /* a path as long as the system takes, and the name of its option */

struct command_line { /* as a shell would pass it */
    char text[MAX_ARGS][ARG_BYTES];
    char *argv[MAX_ARGS + 1]; /* NULL behind the last */
    int n;
};

struct launch_terms { /* what launches of one point differ in */
    uint64_t seed;
    uint64_t n_steps;
    double lr; /* of one worker; NaN: the model's */
};
/* Those of its launch in a block. Launches of all points in one block are trained from the same seed, s->train.seed +
 * block, so that what differs in a pair is the point, and what differs over blocks is chance, of the training too;
 * simulated ones, of which there is one of each point, from s->train.seed. */
struct launch_terms launch_terms_of(const struct sweep *s, const struct point *p, size_t block);

/* Will losses of p's launches say anything? Not where time passes without computing, nor in inference. */
bool point_learns(const struct sweep *s, const struct point *p);

/* Add an argument of fewer than ARG_BYTES letters. */
void command_line_add(struct command_line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Add option o of g with its value, behind folder/ unless folder is "". RC_INVAL: it is too long. */
enum rc command_line_add_option(struct command_line *l, const struct opt_group *g, const struct opt *o,
                                const char *folder) MUST_CHECK;
/* Add the options of a launch of p: those the user gave for all launches, if p uses them; those p assigns; those
 * computed for p, and of this launch. Options of modules: of those in p->used. RC_INVAL: one is too long. */
enum rc command_line_add_point(struct command_line *l, const struct sweep *s, const struct point *p,
                               const struct launch_terms *terms) MUST_CHECK;

/* Launch p and leave its records in s->launch_path (rank 0); w NULL: as a process. s->stopped: a signal came, and ended
 * it, which is no error, or came too late for that: then its records are there. Nor is s->failure, why it failed, and
 * left none, the same on all ranks. In launch.c. */
enum rc launch_point(struct sweep *s, struct world *w, const struct point *p, const struct launch_terms *terms,
                     struct command_line *l) MUST_CHECK;

/* *yes of rank 0 becomes everyone's; w NULL: there are no others. In launch.c. */
enum rc launch_agree(struct world *w, bool *yes) MUST_CHECK;
/* Read a record of kind "tuning" again: of the trials of a point one after the other. *is_whole: it was the point's
 * last, and its rate is known again. RC_MISMATCH: it is none of this campaign's. In tuning.c. */
struct json_t;
enum rc sweep_retake_trial(struct sweep *s, const struct json_t *record, bool *is_whole) MUST_CHECK;
/* Is it the first of the trials of its point? */
bool sweep_begins_trials(struct sweep *s, const struct json_t *record);
/* The first point with launches, but without the trials that their rate was chosen by; NULL: none. In tuning.c. */
const struct point *sweep_find_untried(const struct sweep *s);

#endif
