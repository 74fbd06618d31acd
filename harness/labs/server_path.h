/* SPDX-License-Identifier: Apache-2.0 */
/* server_path.h - the parameters of a server after each update, from what its workers read. */
#ifndef HARNESS_LABS_SERVER_PATH_H
#define HARNESS_LABS_SERVER_PATH_H

#include "harness/labs/squares.h"
#include "harness/labs/training.h"

struct server_path {
    size_t n_points;          /* number of updates + 1 */
    struct path_point *point; /* in the order of time, the initial point first; owned. samples_count: of all updates so
                                 far; each is a batch */
};

/* For an asynchronous training with one server, in which each worker reads the parameters after its own update.
 * RC_NOMEM. */
enum rc server_path_open(struct server_path *out, const struct training_path *t, double batch) MUST_CHECK;
void server_path_close(struct server_path *p); /* accepts a zeroed one */

/* Loss over all data at a point, minus the least loss. */
double excess_loss(const struct squares *s, const struct path_point *p);
/* The time at which the mean of excess_loss() over n_mean consecutive updates is first below target: the time of the
 * first of these updates. NaN: never. */
double server_path_time_to(const struct server_path *p, const struct squares *s, double target, size_t n_mean);

#endif
