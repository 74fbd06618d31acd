/* SPDX-License-Identifier: Apache-2.0 */
/* server_path.h - what a parameter server held, update after update, from what its workers read. */
#ifndef HARNESS_LABS_SERVER_PATH_H
#define HARNESS_LABS_SERVER_PATH_H

#include "harness/labs/squares.h"
#include "harness/labs/training.h"

struct server_path {
    size_t n_points;          /* updates and one */
    struct path_point *point; /* in the order of time, the beginning first; owned. samples_count: of all updates so far,
                                 each a batch */
};

/* Of an asynchronous training with one server, where each worker reads behind its own update what is there then.
 * RC_NOMEM. */
enum rc server_path_open(struct server_path *out, const struct training_path *t, double batch) MUST_CHECK;
void server_path_close(struct server_path *p); /* accepts a zeroed one */

/* The loss of all data above the least one, at a point. */
double excess_loss(const struct squares *s, const struct path_point *p);
/* When the mean of that over n_mean updates in a row is below target for the first time: the time of the first of them.
 * NaN: never. */
double server_path_time_to(const struct server_path *p, const struct squares *s, double target, size_t n_mean);

#endif
