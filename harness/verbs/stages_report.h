/* SPDX-License-Identifier: Apache-2.0 */
/* stages_report.h - the output of gradmark train --stages S: a checkpoint, records, tables. */
#ifndef HARNESS_VERBS_STAGES_REPORT_H
#define HARNESS_VERBS_STAGES_REPORT_H

#include "harness/train/stages_run.h"

/* In the process of rank 0, write the checkpoint, the records and the tables. Later calls do nothing. Records go to
 * run->out ("": none, "-": standard output), with one of kind "stage" for each stage. Tables go to standard output. w:
 * the world of all stages; NULL: it has ended. */
enum rc stages_report(struct train_stages_run *run, struct world *w) MUST_CHECK;

#endif
