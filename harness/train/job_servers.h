/* SPDX-License-Identifier: Apache-2.0 */
/* job_servers.h - the job's parameter servers: what each holds, and the consistency rule they follow. */
#ifndef HARNESS_TRAIN_JOB_SERVERS_H
#define HARNESS_TRAIN_JOB_SERVERS_H

#include "harness/train/train.h"

/* Fill exchange.placement, consistency, lr_staleness, n_replicas and n_in_flight, for a job whose mode and
 * ranks are known. In a mode without servers they stay zeroed. RC_INVAL: --placement, --consistency, --replicas or
 * --in-flight; names the value and valid ones. */
enum rc job_servers_parse(struct train_job *job) MUST_CHECK;
/* RC_INVAL: deadlock: a worker would wait for a piece that another worker sends later, while that one waits for it
 * (clocks.h covers one piece). Call once job->exchange is filled. */
enum rc job_servers_check(const struct train_job *job) MUST_CHECK;
/* Fill placement, hot_spot and hot_tensor, once the segments are known. n: NULL: not a network. RC_INVAL: there are
 * more servers than parts to hold; RC_NOMEM. */
enum rc job_servers_resolve(struct train_job *job, const struct network *n) MUST_CHECK;
/* The name of tensor `index` of the model. n: NULL: not a network. */
void job_tensor_name(char *out, size_t n_bytes, const struct train_job *job, const struct network *n, size_t index);
/* "whole, server 2 holds most: 106.9 MB, 3.09 x the mean, of which fc6/w 96.1 %": what each server holds, for a job
 * with servers. */
void job_placement_text(char *out, size_t n_bytes, const struct train_job *job);

#endif
