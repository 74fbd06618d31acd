/* SPDX-License-Identifier: Apache-2.0 */
/* accept_trials.h - the options of gradmark accept, and its --self-test. */
#ifndef HARNESS_VERBS_ACCEPT_TRIALS_H
#define HARNESS_VERBS_ACCEPT_TRIALS_H

#include "harness/accept/accept.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/verb.h"

struct accept_opts {
    const char *out, *metrics, *stages, *inject, *init, *declared, *reference;
    struct opt_joined set;
    double stall_abort_s, noise_ratio;
    bool node_per_rank, force;
    uint64_t seed;
    uint64_t self_test; /* trials; 0: no self-test */
    struct machine_opts machine;
};

/* Runs trials with faults drawn by the seed; each is a separate acceptance test. Prints a table to standard output and
 * writes records to self_test.jsonl in the folder of --out. In mpi all trials run in this launch, without faults that
 * lose ranks; elsewhere one after another, each in a separate process. A trial that fails counts as "could not test",
 * with its reason. Sets the exit code of the program: 0: all faults were found and nothing healthy was blamed; 1: not
 * so; 2: a trial could not test. */
enum rc accept_self_test(struct verb_call *call, const struct accept_terms *terms,
                         const struct machine *machine) MUST_CHECK;

#endif
