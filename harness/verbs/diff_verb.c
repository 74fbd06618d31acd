/* SPDX-License-Identifier: Apache-2.0 */
/* diff_verb.c - gradmark diff: is the second of two campaigns, or acceptance tests, better or worse? */
#include <stdio.h>

#include "harness/accept/acceptance_report.h"
#include "harness/base/opt.h"
#include "harness/campaign/diff.h"
#include "harness/verbs/verb.h"

enum { EXIT_WORSE = 1 };

static const struct verb_group no_groups[] = { { NULL, NULL, 0, NULL } };

static enum rc diff_acceptances(struct verb_call *call)
{
    struct acceptance of[2] = { { .n_nodes = 0 }, { .n_nodes = 0 } };
    int n_worse;
    enum rc rc;

    for (int i = 0; i < 2; i++)
        TRY(acceptance_read(&of[i], call->operand[i]));
    TRY(acceptance_diff(&of[0], &of[1], stdout, &n_worse));
    if (fflush(stdout) != 0)
        FAIL(RC_IO, "standard output cannot be written");
    call->exit_code = n_worse > 0 ? EXIT_WORSE : 0;
out:
    for (int i = 0; i < 2; i++)
        acceptance_close(&of[i]);
    return rc;
}

/* Everything is input: whatever fails is exit code 2, so that 1 says one thing. */
static enum rc diff_run(struct verb_call *call)
{
    struct recorded of[2] = { { .manifest = NULL }, { .manifest = NULL } };
    struct diff_counts n;
    enum rc rc;

    const bool is_bundle[2] = { acceptance_is_bundle(call->operand[0]), acceptance_is_bundle(call->operand[1]) };
    if (is_bundle[0] && is_bundle[1])
        return diff_acceptances(call);
    if (is_bundle[0] != is_bundle[1])
        return rc_raise(RC_INVAL, "%.200s is an acceptance test, and %.200s is none", call->operand[is_bundle[1]],
                        call->operand[!is_bundle[1]]);
    for (int i = 0; i < 2; i++)
        TRY(recorded_open(&of[i], call->operand[i]));
    for (int i = 0; i < 2; i++)
        recorded_tell_unsealed(&of[i], stdout);
    TRY(campaign_diff(&of[0], &of[1], &n, stdout));
    if (fflush(stdout) != 0)
        FAIL(RC_IO, "standard output cannot be written");
    call->exit_code = n.n_worse > 0 ? EXIT_WORSE : 0;
out:
    for (int i = 0; i < 2; i++)
        recorded_close(&of[i]);
    return rc;
}

const struct verb verb_diff = {
    .name = "diff",
    .summary = "compare two campaigns or acceptance tests: is B better or worse than A",
    .operands = "A B",
    .introduction =
        "usage: gradmark diff A B\n\n"
        "A and B are folders of campaigns (gradmark compare), or files of runs. Points in both are compared by the\n"
        "samples/s of their launches. What differs beside, machine, libraries, environment, options, is named first;\n"
        "points whose samples are not the same (data set, image size, classes, task) are not compared.\n"
        "Two folders of acceptance tests (gradmark accept): criteria with another outcome, findings of one alone, "
        "figures\n"
        "of nodes. Worse is a criterion that passed in A and fails or has no data in B, and a finding of B alone.\n\n"
        "exit code: 0 no point is worse; 1 some point is worse; 2 bad input, or nothing that can be compared\n\n",
    .group = no_groups,
    .run = diff_run,
};
