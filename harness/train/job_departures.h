/* SPDX-License-Identifier: Apache-2.0 */
/* job_departures.h - --omit, --split, --average-every, --verify-every, --alternate-exchange: options that change what a
 * job's mode does by default. */
#ifndef HARNESS_TRAIN_JOB_DEPARTURES_H
#define HARNESS_TRAIN_JOB_DEPARTURES_H

#include "harness/train/train.h"

/* Parse them, before data and batch are known. RC_INVAL. */
enum rc job_departures_parse(struct train_job *job) MUST_CHECK;
/* Check that they are valid for a job whose data, batch, collective and scaling are known. RC_INVAL. */
enum rc job_departures_check(struct train_job *job) MUST_CHECK;

#endif
