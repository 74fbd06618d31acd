/* SPDX-License-Identifier: Apache-2.0 */
/*
 * horovod.h - the lines of two well-known benchmarks, verbatim, so that programs which read theirs read ours: what
 * Horovod's opens with, and what both close with. Not our own report: see the invariant.
 *
 * Invariants
 *   V1  The numbers keep their authors' definitions, which are not ours: "+-" is 1.96 standard
 *       deviations of one rank's iterations (Horovod) or a standard error that takes steps as
 *       independent (tf_cnn_benchmarks), and Horovod's total is one rank times the number of ranks.
 *       Our throughput and its interval are in the summary record, beside these lines.
 *
 * Source: Horovod's synthetic benchmarks and tf_cnn_benchmarks, observed output. What programs look for in it:
 * verbs/parsers_cli_test.
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
    const double *samples_per_s; /* [n_iterations] of one device, one for each iteration (Horovod: of 10 batches) */
    size_t n_iterations;         /* >= 1 */
};

/* "Model: lenet", "Batch size: 32", "Number of CPUs: 4", then "Img/sec per CPU: 61.2 +-0.4" and
 * "Total img/sec on 4 CPU(s): 244.8 +-1.6". Horovod's batch is that of each device, too. Cannot fail; a failed write
 * shows at fflush. */
void horovod_print(FILE *to, const struct horovod_run *run);

/* "100\timages/sec: 61.2 +/- 0.1 (jitter = 0.3)\t7.593", then the total between rules of 64 dashes.
 *   samples_per_step     of all workers together
 *   step_s[n]            duration of each measured step, n >= 1; n is the step number printed
 *   loss                 of the last step
 *   total_samples_per_s  of all workers over the measured time
 * RC_NOMEM: nothing is printed. */
enum rc tf_cnn_print(FILE *to, double samples_per_step, const double *step_s, size_t n, double loss,
                     double total_samples_per_s) MUST_CHECK;

#endif
