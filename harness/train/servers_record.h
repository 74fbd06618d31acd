/* SPDX-License-Identifier: Apache-2.0 */
/* servers_record.h - parameter servers in the records: what each holds, how late gradients were, which workers
 * waited. */
#ifndef HARNESS_TRAIN_SERVERS_RECORD_H
#define HARNESS_TRAIN_SERVERS_RECORD_H

#include "harness/train/train.h"

/* Add to the summary: placement and the server that holds most, consistency, rate of stale gradients, dropped
 * gradients. Null without servers. */
void record_servers(struct record *r, const struct train_job *job, const struct train_result *result);
/* For rank i of the result: dropped gradients, lead, and staleness as a histogram (exchange/staleness.h). A worker's
 * histogram has its own steps, each with the staleness of its stalest part. A server's has all parts that it applied.
 * Null without servers. */
void record_server_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i);
/* Write the record of kind staleness: the steps of all workers. */
enum rc write_staleness(struct report *to, const struct train_summary *s) MUST_CHECK;

/* Parts of a worker's gradient in a step, if servers drop late parts; 0: no rule of this run drops any. */
double servers_parts_per_step(const struct train_job *job, const struct train_result *result);
/* Dropped parts of gradients, of all workers. */
uint64_t servers_late_count(const struct train_result *result);
/* What servers refused, by reason, into out[n_bytes]; "" if nothing. Returns out. */
const char *servers_refused_text(char *out, size_t n_bytes, const struct train_result *result);
/* "sync:1, 40 parts of gradients came too late and were dropped": the consistency rule of a run with servers, and its
 * effect. */
void servers_consistency_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);

/* "1 of each server, on the next one; 1 server was lost and replaced, 0 updates were rolled back; 2 replicas were made
 * again, by 0.33 MB"; "": there are no replicas. */
const char *servers_replicas_text(char *out, size_t n_bytes, const struct train_job *job,
                                  const struct train_result *result);

#endif
