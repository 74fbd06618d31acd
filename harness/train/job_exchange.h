/* SPDX-License-Identifier: Apache-2.0 */
/* job_exchange.h - how a job exchanges gradients: its servers, compression, periods, overlap, local SGD. */
#ifndef HARNESS_TRAIN_JOB_EXCHANGE_H
#define HARNESS_TRAIN_JOB_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/train/train.h"

struct network;

/* --- the plan: buckets and chunks, in words --- */

/* --partition-bytes. Without it: what servers usually cut into, over a transport with TR_CUTS; else 0, whole buckets.
 * Of topk the bits depend on chunks. The transport of sim has no TR_CUTS: a default would change what is predicted of
 * other systems. Mode, transport and compression are resolved. Cannot fail. */
uint64_t job_partition_bytes(const struct train_job *job);

enum { USELESS_EXCHANGE_BYTES = 256 };

/* Do ranks exchange anything? No if the mode has one worker and no server, nor with --omit average. Cannot fail. */
bool train_exchanges(const struct train_job *job);
/* "5 buckets, 14 chunks, overlap on (auto: workers are on 2 hosts), priority on". With servers: "14 chunks, 8 at once",
 * or "one after the other". With one chunk: "all gradients at once, overlap off". RC_NOMEM. */
enum rc train_exchange_text(char *out, size_t n_bytes, const struct train_job *job,
                            const struct overlap_choice *chosen) MUST_CHECK;
/* One sentence if --overlap on, --priority on or --partition-bytes have no effect, or topk saves nothing, with what to
 * give instead; else "". It fits USELESS_EXCHANGE_BYTES. RC_NOMEM. */
enum rc train_useless_exchange(char *out, size_t n_bytes, const struct train_job *job) MUST_CHECK;

/* --- parameter servers --- */

/* Fill exchange.placement, consistency, lr_staleness, n_replicas and n_in_flight, for a job whose mode and
 * ranks are known. In a mode without servers they stay zeroed. RC_INVAL: --placement, --consistency, --replicas or
 * --in-flight; names the value and valid ones. */
enum rc job_servers_parse(struct train_job *job) MUST_CHECK;
/* RC_INVAL: deadlock: a worker would wait for a chunk that another worker sends later, while that one waits for it
 * (clocks.h covers one chunk). Call once job->exchange is filled. */
enum rc job_servers_check(const struct train_job *job) MUST_CHECK;
/* Fill placement, hot_spot and hot_tensor, once the segments are known. n: NULL: not a network. RC_INVAL: there are
 * more servers than parts to hold; RC_NOMEM. */
enum rc job_servers_resolve(struct train_job *job, const struct network *n) MUST_CHECK;
/* The name of tensor `index` of the model. n: NULL: not a network. */
void job_tensor_name(char *out, size_t n_bytes, const struct train_job *job, const struct network *n, size_t index);
/* "whole, server 2 holds most: 106.9 MB, 3.09 x the mean, of which fc6/w 96.1 %": what each server holds, for a job
 * with servers. */
void job_placement_text(char *out, size_t n_bytes, const struct train_job *job);

/* --- --compression --- */

enum { COMPRESSION_ROW_BYTES = 128 };

/* Fill exchange.compression, for a job whose mode is known. */
enum rc job_compression_resolve(struct train_job *job) MUST_CHECK;
/* RC_INVAL, RC_UNSUPPORTED: the collective cannot carry it; names those that can. */
enum rc job_compression_check(const struct train_job *job) MUST_CHECK;
/* Memory it needs in addition to the modules': for a worker, and for a server that holds n_slice parameters. */
struct memory_need job_compression_memory(const struct train_job *job, size_t n_slice);
/* Bytes that ranks first .. end - 1 together sent in the mean step, and would have sent uncompressed; NaN: unknown, or
 * nothing is sent. */
double compression_sent_bytes(const struct train_job *job, const struct train_result *r, int first, int end);
double compression_full_bytes(const struct train_job *job, const struct train_result *r, int first, int end);
/* "fp16: 22.5 kB sent by a worker in a step, 0.500 of all as it is"; "" without compression. */
const char *job_compression_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
void record_compression(struct record *r, const struct train_job *job, const struct train_result *result);
void record_sent_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank);

/* --- --push-every, --pull-every, --stop-at-step --- */

/* With --stop-at-step: set steps to what one worker alone would do, the maximum for any worker. For a job whose mode
 * and consistency are known. RC_INVAL: names what they cannot be combined with. */
enum rc job_periods_resolve(struct train_job *job) MUST_CHECK;
/* RC_INVAL: the checkpoint is within a period, or already has as many updates as requested. */
enum rc job_periods_check_resume(const struct train_job *job) MUST_CHECK;
/* Maximum steps of a worker in this run, not counting those of the checkpoint it resumes from. */
size_t job_periods_n_steps(const struct train_job *job);
/* May a run that was asked to stop end after n_steps of its steps? */
bool job_periods_may_stop(const struct train_job *job, size_t n_steps);
/* Memory that a worker needs for them, in bytes. */
size_t job_periods_bytes(const struct train_job *job);
/* "41 and 59: 100 updates, as --stop-at-step says", or the text of elastic.h; "" if each worker does the same number of
 * steps. */
const char *job_steps_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* "every 4th step (a sum of gradients), every 2nd step"; "" if every step pushes and pulls. */
const char *job_periods_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
void record_periods(struct record *r, const struct train_job *job, const struct train_result *result);
void record_periods_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i);

/*
 * Resolves --overlap auto and --priority auto: before the world starts, whether the job rules them out;
 * then by the number of the workers' hosts.
 *
 * Between hosts, a step of VGG-16's shape took 1.00 times the longer of computing and exchange with overlap and
 * priority. It took 1.27 times with overlap alone, 1.98 times without (results/2026-11-26-overlap-check, measured with
 * allreduce). In simulation with its dense layers in 2 shards, overlap took 0.77 of the time without, and with priority
 * 0.65 (results/2026-11-27-shard-overlap). On one host the exchange uses the cores that computing needs; overlap was
 * not faster there.
 *
 * Invariants
 *   O1  --overlap auto: on if three conditions hold, else off. Workers are on several hosts; the mode is allreduce with
 *       more than one chunk to exchange; nothing else in the job prevents it. The bits are the same (exchange.E3).
 *   O2  --priority auto: on if --overlap auto resolved to on; else off. It is also off where it is impossible: with
 *       --alternate-exchange, and with shards that have different numbers of chunks (exchange.E14).
 *   O3  An explicit on or off is obeyed or refused, as if auto did not exist.
 *   -   All workers make the same choice, from facts that all of them know.
 */

/* Set may_overlap and overlap_reason of a job that is otherwise prepared. RC_NOMEM. */
enum rc job_overlap_resolve(struct train_job *job) MUST_CHECK;
/* The choice for a job whose workers are on n_hosts. tasks_may_send: whether tasks of this world may send; if not,
 * mpi_level gives the reason. Pure. */
struct overlap_choice job_overlap_choose(const struct train_job *job, int n_hosts, bool tasks_may_send,
                                         const char *mpi_level);
/* Add overlap, priority and overlap_reason to a summary. */
void record_overlap(struct record *r, const struct train_job *job, const struct train_result *result);

/* --- --average-every (exchange.E8) --- */

/* Check it, for a job whose numbers are known. RC_INVAL. */
enum rc local_sgd_check(const struct train_job *job) MUST_CHECK;
/* Check the checkpoint that the run resumes from. RC_INVAL. */
enum rc local_sgd_check_resume(const struct train_job *job) MUST_CHECK;
/* May the run, if asked to stop, end after n_steps of its steps? A run that writes a checkpoint ends only after an
 * average: between averages the workers' parameters differ, and the checkpoint holds one worker's. */
bool local_sgd_may_stop(const struct train_job *job, size_t n_steps);

#endif
