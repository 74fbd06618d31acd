/* SPDX-License-Identifier: Apache-2.0 */
/* diff_verb.c - gradmark diff: is the second of two campaigns, or acceptance tests, better or worse? */
#include <stdbool.h>
#include <stdio.h>

#include "harness/accept/acceptance_report.h"
#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/campaign/diff.h"
#include "harness/report/record.h"
#include "harness/verbs/verb.h"

enum { EXIT_WORSE = 1 };

struct diff_opts {
    bool all;
};

static const struct opt table[] = {
    OPT_BOOL_(struct diff_opts, all, "all", "false", "print rows without a difference, too"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "diff", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static enum rc diff_acceptances(struct verb_call *call)
{
    struct acceptance of[2] = { { .n_nodes = 0 }, { .n_nodes = 0 } };
    const struct diff_opts *opts = call->opts;
    struct report *to = NULL;
    int n_worse;
    enum rc rc;

    for (int i = 0; i < 2; i++)
        TRY(acceptance_read(&of[i], call->operand[i]));
    if (call->output.json) {
        TRY(report_open(&to, "-"));
        TRY(acceptance_diff_write(&of[0], &of[1], to, &n_worse));
        TRY(report_commit(to));
    } else
        TRY(acceptance_diff(&of[0], &of[1], opts->all || verb_prints_csv(call), stdout, &n_worse));
    TRY(output_flush(stdout));
    call->exit_code = n_worse > 0 ? EXIT_WORSE : 0;
out:
    for (int i = 0; i < 2; i++)
        acceptance_close(&of[i]);
    report_close(&to);
    return rc;
}

/* Everything is input: whatever fails is exit code 2, so that 1 says one thing. */
static enum rc diff_run(struct verb_call *call)
{
    struct recorded of[2] = { { .manifest = NULL }, { .manifest = NULL } };
    const struct diff_opts *opts = call->opts;
    struct report *to = NULL;
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
    if (strcmp(of[0].name, of[1].name) == 0) /* in two folders: nobody could tell A and B apart */
        for (int i = 0; i < 2; i++)
            snprintf(of[i].name, sizeof of[i].name, "%s", call->operand[i]);
    if (call->output.json) {
        TRY(report_open(&to, "-"));
        TRY(campaign_diff_write(&of[0], &of[1], &n, to));
        TRY(report_commit(to));
    } else
        TRY(campaign_diff(&of[0], &of[1], opts->all || verb_prints_csv(call), &n, stdout));
    for (int i = 0; i < 2; i++)
        recorded_tell_unsealed(&of[i], call->output.json || verb_prints_csv(call) ? stderr : stdout);
    TRY(output_flush(stdout));
    call->exit_code = n.n_worse > 0 ? EXIT_WORSE : 0;
out:
    for (int i = 0; i < 2; i++)
        recorded_close(&of[i]);
    report_close(&to);
    return rc;
}

static const struct verb_example examples[] = {
    { "diff before.jsonl after.jsonl", "Compare two files of gradmark train --out" },
    { "diff results/a results/b", "Compare two folders of gradmark compare" },
    { "diff healthy updated", "Compare two folders of gradmark accept" },
    { NULL, NULL },
};

const struct verb verb_diff = {
    .name = "diff",
    .summary = "compare two results: is the second better or worse?",
    .operands = "A B",
    .usage = "A B",
    .introduction =
        "Prints whether B is better or worse than A, then each setting or criterion that differs, then what "
        "else differs: machine, libraries, options. A and B are folders of gradmark compare or gradmark accept, or "
        "files of gradmark "
        "train --out.\n\n"
        "Exit status: 0: nothing is worse. 1: B is worse in something. 2: bad input, or nothing can be "
        "compared.",
    .example = examples,
    .page = "compare",
    .is_one_process = true,
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct diff_opts),
    .group = groups,
    .run = diff_run,
};
