/* SPDX-License-Identifier: Apache-2.0 */
/*
 * omission.h - --omit LIST, for lessons: steps of the recipe for distributed training that a run leaves out, so that a
 * class sees what each of them is for.
 *
 *   broadcast   worker r > 0 begins with parameters of its own (workload_init_own), not with those of rank 0
 *   shard       every worker reads all samples, in the same order: in step t samples t B ... (t + 1) B
 *   average     nothing is exchanged: every worker goes on by its own gradient
 *   scaling     the rate is that of one worker, whatever --lr-scaling says
 *   rank0-save  every worker writes the checkpoint to the same file, one after the other, so that what is left is that
 *               of the last worker on every machine
 *
 * Invariants
 *   O1  Manifest, summary and table of such a run say that it is for lessons, and what it leaves out.
 *   O2  What a run would not do anyway cannot be left out of it.
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
enum { N_OMISSIONS = 5, OMISSIONS_BYTES = 64, GOES_ON_BYTES = 320 };

/* Name of omission 1 << i; NULL behind the last. */
const char *omission_name(int i);
/* *out: the set of a comma list; "": none. RC_INVAL "--OPTION LIST: ..." names the nearest. */
enum rc omission_parse(unsigned *out, const char *list, const char *option) MUST_CHECK;
/* "broadcast, shard"; "" of none. */
void omission_text(char *out, size_t n_bytes, unsigned set);
/* O1: "LEFT OUT: broadcast, shard; ..."; "" where nothing is. */
void omission_mark(char *out, size_t n_bytes, const struct train_job *job);
/* "--resume c goes on", with c what this run saves; or that no run like it does; "": it saves nothing. */
void omission_goes_on(char *out, size_t n_bytes, const struct train_job *job);
/* O2, of a job whose mode, workers, scaling and compute are known; job->omitted is set. RC_INVAL. */
enum rc omission_check(const struct train_job *job) MUST_CHECK;

#endif
