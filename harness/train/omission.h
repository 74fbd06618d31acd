/* SPDX-License-Identifier: Apache-2.0 */
/*
 * omission.h - --omit LIST, for lessons: a run omits steps of the recipe for distributed training, to show the purpose
 * of each.
 *
 *   broadcast   worker r > 0 starts with its own initial parameters (workload_init_own), not with those of rank 0
 *   shard       every worker reads all samples, in the same order: in step t samples t B ... (t + 1) B
 *   average     nothing is exchanged: every worker applies only its own gradient
 *   scaling     the rate is that of one worker, whatever --lr-scaling is
 *   rank0-save  every worker writes the checkpoint to the same file, one after the other, so that each machine keeps
 *               that of its last worker
 *
 * Invariants
 *   M1  Manifest, summary and table of such a run state that it is for lessons, and what it omits.
 *   M2  A step that a run would not do anyway cannot be omitted.
 */
#ifndef HARNESS_TRAIN_OMISSION_H
#define HARNESS_TRAIN_OMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct train_job;

enum omission {
    OMIT_BROADCAST = 1 << 0,
    OMIT_SHARD = 1 << 1,
    OMIT_AVERAGE = 1 << 2,
    OMIT_SCALING = 1 << 3,
    OMIT_RANK0_SAVE = 1 << 4
};
enum { N_OMISSIONS = 5, OMISSIONS_BYTES = 64, RESUME_TEXT_BYTES = 320 };

/* Name of omission 1 << i; NULL after the last. */
const char *omission_name(int i);
/* *out: the set in a comma list; "": empty. RC_INVAL "--OPTION LIST: ..." names the nearest valid name. */
enum rc omission_parse(unsigned *out, const char *list, const char *option) MUST_CHECK;
/* "broadcast, shard"; "" for an empty set. */
void omission_text(char *out, size_t n_bytes, unsigned set);
/* train.M1: "LEFT OUT: broadcast, shard; ..."; "" if nothing is omitted. */
void omission_mark(char *out, size_t n_bytes, const struct train_job *job);
/* "--resume c continues", with c what this run saves; or that no run can resume it; "": it saves nothing. */
void omission_resume_text(char *out, size_t n_bytes, const struct train_job *job);
/* train.M2, for a job whose mode, workers, scaling and compute are known; job->omitted is set. RC_INVAL. */
enum rc omission_check(const struct train_job *job) MUST_CHECK;

#endif
