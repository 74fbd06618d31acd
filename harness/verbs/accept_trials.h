/* SPDX-License-Identifier: Apache-2.0 */
/* accept_trials.h - the options of gradmark accept, and its --self-test. */
#ifndef HARNESS_VERBS_ACCEPT_TRIALS_H
#define HARNESS_VERBS_ACCEPT_TRIALS_H

#include "harness/accept/accept.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/verb.h"

struct self_test_opts {
    bool on;
    uint64_t trials, faults;
    double fault_ratio, loss_ratio;
};
extern const struct opt accept_self_test_table[];

struct accept_opts {
    const char *out, *stages, *skip, *inject, *init, *declared, *reference;
    struct opt_joined set;
    double minutes, margin_ratio, stall_abort_s, noise_ratio;
    bool node_per_rank, force;
    uint64_t seed;
    struct self_test_opts self_test;
    struct machine_opts machine;
};

/* Trials with faults drawn by the seed, each a test of its own; table to standard output, records to
 * self_test.jsonl in the folder of --out. In mpi all in this launch, without faults that lose ranks; else each in a
 * process of its own, one after the other. A trial that fails is one that could not test, with its reason. The exit
 * code of the program: 0: all faults were found and nobody was blamed without one; 1: not; 2: a trial could not test.
 */
enum rc accept_self_test(struct verb_call *call, const struct accept_terms *terms,
                         const struct machine *machine) MUST_CHECK;

#endif
