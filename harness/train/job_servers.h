/* SPDX-License-Identifier: Apache-2.0 */
/* job_servers.h - the part of a job that its parameter servers are: what each holds, and by which rule they answer. */
#ifndef HARNESS_TRAIN_JOB_SERVERS_H
#define HARNESS_TRAIN_JOB_SERVERS_H

#include "harness/train/train.h"

/* Fill exchange.placement, consistency, lr_staleness, n_replicas, snapshots and n_in_flight of a job whose mode and
 * ranks are known; of a mode without servers they stay as they are, zeroed. RC_INVAL: --placement, --consistency,
 * --replicas, --server-save or --in-flight, the value and what would be right. */
enum rc job_servers_parse(struct train_job *job) MUST_CHECK;
/* RC_INVAL: a worker would wait for a piece that another sends later, as it waits for that one's (clocks.h is of one
 * piece). Once job->exchange is filled. */
enum rc job_servers_check(const struct train_job *job) MUST_CHECK;
/* Fill placement, hot_spot and hot_tensor, once the segments are known. n: NULL: not a network. RC_INVAL: there are
 * more servers than can be given something; RC_NOMEM. */
enum rc job_servers_resolve(struct train_job *job, const struct network *n) MUST_CHECK;
/* The name of tensor `index` of the model. n: NULL: not a network. */
void job_tensor_name(char *out, size_t n_bytes, const struct train_job *job, const struct network *n, size_t index);
/* "whole, server 2 holds most: 106.9 MB, 3.09 x the mean, of which fc6/w 96.1 %": what each server holds. Of a job with
 * servers. */
void job_placement_text(char *out, size_t n_bytes, const struct train_job *job);

#endif
