/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang_options.h - options that list the processes of a run in world tcp, in the spelling of distributed TensorFlow.
 * TF_CONFIG can replace them.
 */
#ifndef HARNESS_VERBS_GANG_OPTIONS_H
#define HARNESS_VERBS_GANG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/opt.h"
#include "harness/train/train.h"
#include "harness/verbs/verb.h"
#include "harness/world/tcp/gang.h"

struct gang_opts {
    const char *worker_hosts, *ps_hosts, *task, *key_file, *join_file;
    double start_timeout_s;
};
extern const struct opt gang_opt_table[];

/* Make this process a member of the process group that options or TF_CONFIG describe, if any. Options of train that are
 * not given follow from it: world, workers, servers, mode. Call this before any code asks for the launcher of this
 * process. job: of this process, unless TF_CONFIG describes it. RC_INVAL names the option. */
enum rc gang_resolve(struct verb_call *call, const struct gang_opts *gang, struct train_opts *train,
                     enum gang_job job) MUST_CHECK;

#endif
