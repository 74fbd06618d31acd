/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness_lab.h - the parts of the lab "staleness", all with the linear model in sim. Private to staleness*.c.
 *
 *   staleness.c           more and more asynchronous workers at one rate, then at the rate over staleness; the page
 *   staleness_momentum.c  asynchrony looks like momentum
 *   staleness_slow.c      one slow worker: which workers wait for it, and when that costs more than staleness
 */
#ifndef HARNESS_LABS_STALENESS_LAB_H
#define HARNESS_LABS_STALENESS_LAB_H

#include "harness/labs/lesson.h"
#include "harness/labs/records.h"
#include "harness/labs/server_path.h"
#include "harness/labs/squares.h"

enum { STALENESS_SEED = 1, STALENESS_MOST_RUNS = 80 };

struct staleness_lab {
    const struct lab_env *env;
    struct squares squares; /* for the data of STALENESS_SEED */
    struct training_record record[STALENESS_MOST_RUNS];
    size_t n_runs;
};

/* Train with these options and those of all runs of this lab. *out: what the server held; *record (lent): the content
 * of the records. Errors: as training_run(). */
enum rc staleness_train(struct staleness_lab *s, struct server_path *out, const struct training_record **record,
                        const char *name, const char *options, double batch) MUST_CHECK;

/* --- staleness_momentum.c --- */

enum { MOMENTUM_N_CROWDS = 4, MOMENTUM_N_SEEDS = 6, MOMENTUM_SHOWN = 2 };

struct momentum_part {
    struct squares squares[MOMENTUM_N_SEEDS];
    struct server_path path[MOMENTUM_N_CROWDS][MOMENTUM_N_SEEDS];
    double fitted[MOMENTUM_N_CROWDS];
};
enum rc momentum_part_run(struct momentum_part *m, struct staleness_lab *s) MUST_CHECK;
enum rc momentum_part_show(const struct momentum_part *m, struct lesson *l) MUST_CHECK;
void momentum_part_close(struct momentum_part *m); /* accepts a zeroed one */

/* --- staleness_slow.c --- */

enum { SLOW_N_WAYS = 4, SLOW_N_RATIOS = 7 };

struct slow_part {
    double time_s[SLOW_N_WAYS][SLOW_N_RATIOS]; /* to the target; NaN: never */
};
enum rc slow_part_run(struct slow_part *p, struct staleness_lab *s) MUST_CHECK;
enum rc slow_part_show(const struct slow_part *p, struct lesson *l) MUST_CHECK;

#endif
