/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h - the options of `gradmark train` for one launch of a point. Private to this room. */
#ifndef HARNESS_CAMPAIGN_COMMAND_LINE_H
#define HARNESS_CAMPAIGN_COMMAND_LINE_H

#include "harness/campaign/sweep.h"

enum { MAX_ARGS = 128, ARG_BYTES = 640 };

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

void command_line_add(struct command_line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Add the options of a launch of p: those the user gave for all launches, if p uses them; those p assigns; those
 * computed for p, and of this launch. Options of modules: of those in p->used. */
void command_line_add_point(struct command_line *l, const struct sweep *s, const struct point *p,
                            const struct launch_terms *terms);

/* Launch p and leave its records in s->launch_path (rank 0); w NULL: as a process. s->stopped: it was ended, and left
 * none, which is no error; other errors name the point. In launch.c. */
enum rc launch_point(struct sweep *s, struct world *w, const struct point *p, const struct launch_terms *terms,
                     struct command_line *l) MUST_CHECK;

#endif
