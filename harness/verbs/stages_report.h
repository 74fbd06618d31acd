/* SPDX-License-Identifier: Apache-2.0 */
/* stages_report.h - what gradmark train --stages S leaves: a checkpoint, records, tables. */
#ifndef HARNESS_VERBS_STAGES_REPORT_H
#define HARNESS_VERBS_STAGES_REPORT_H

#include "harness/train/stages_run.h"

/* Where rank 0 lived, once (later calls do nothing): the checkpoint; the records to run->out ("": none, "-": standard
 * output), with one of kind "stage" for each stage; and the tables to standard output. w: the world of all, NULL: it
 * has ended. */
enum rc stages_report(struct train_stages_run *run, struct world *w) MUST_CHECK;

#endif
