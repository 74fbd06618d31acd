/* SPDX-License-Identifier: Apache-2.0 */
/*
 * horovod.h - the output lines of two well-known benchmarks, verbatim: the first lines of Horovod's benchmark and the
 * last lines of both. Programs that parse their output can parse ours. This is not our own report: see the invariant.
 *
 * Invariants
 *   V1  The numbers keep their authors' definitions, which differ from ours. "+-" is 1.96 standard
 *       deviations of one rank's iterations (Horovod), or a standard error that assumes independent
 *       steps (tf_cnn_benchmarks). Horovod's total is the rate of one rank times the number of ranks.
 *       Our throughput and its interval are in the summary record, beside these lines.
 *
 * Source: observed output of Horovod's synthetic benchmarks and of tf_cnn_benchmarks. verbs/parsers_cli_test shows what
 * programs look for in it.
 */
#ifndef HARNESS_REPORT_HOROVOD_H
#define HARNESS_REPORT_HOROVOD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct horovod_run {
    const char *model;
    uint64_t batch_per_device_count;
    const char *device; /* "CPU" or "GPU" */
    size_t n_devices;
    const double *samples_per_s; /* [n_iterations] of one device, one per iteration (Horovod: per 10 batches) */
    size_t n_iterations;         /* >= 1 */
};

/* "Model: lenet", "Batch size: 32", "Number of CPUs: 4", then "Img/sec per CPU: 61.2 +-0.4" and
 * "Total img/sec on 4 CPU(s): 244.8 +-1.6". The batch size is per device, as in Horovod. Cannot fail; a failed write
 * shows at fflush. */
void horovod_print(FILE *to, const struct horovod_run *run);

/* "100\timages/sec: 61.2 +/- 0.1 (jitter = 0.3)\t7.593", then the total between rules of 64 dashes.
 *   samples_per_step     sum over all workers
 *   step_s[n]            duration of each measured step, n >= 1; n is the step number printed
 *   loss                 loss of the last step
 *   total_samples_per_s  sum over all workers, over the measured time
 * RC_NOMEM: nothing is printed. */
enum rc tf_cnn_print(FILE *to, double samples_per_step, const double *step_s, size_t n, double loss,
                     double total_samples_per_s) MUST_CHECK;

#endif
