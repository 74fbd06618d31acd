/* SPDX-License-Identifier: Apache-2.0 */
/* train_report.h - what `gradmark train` prints of a run. Pure: the same result gives the same text. */
#ifndef HARNESS_VERBS_TRAIN_REPORT_H
#define HARNESS_VERBS_TRAIN_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/train/train.h"

/* The table of the run; with_lines: also the lines that parsers of Horovod and tf_cnn_benchmarks read. RC_NOMEM. */
enum rc train_print(FILE *to, const struct train_job *job, const struct train_result *r, const struct train_summary *s,
                    bool with_lines) MUST_CHECK;
/* One line if options of the exchange have no effect (train_useless_exchange()); otherwise nothing. RC_NOMEM. */
enum rc train_warn_useless_exchange(FILE *to, const struct train_job *job) MUST_CHECK;
/* One line if workers share cores (train_n_sharing()); otherwise nothing. Cannot fail. */
void train_warn_shared_cores(FILE *to, const struct train_job *job, const struct train_result *r);
/* One line if ranks were lost and the remaining ranks did all their steps; otherwise nothing. Cannot fail. */
void train_tell_losses(FILE *to, const struct train_job *job, const struct train_result *r);
/* One line if a signal stopped the run; otherwise nothing. Cannot fail. */
void train_tell_stop(FILE *to, const struct train_job *job, const struct train_result *r);
/* RC_PEER: the loss of ranks has stopped the run; names them, and the step. Also the error for which the timeline could
 * not be written. */
enum rc train_check_stopped(const struct train_job *job, const struct train_result *r) MUST_CHECK;

#endif
