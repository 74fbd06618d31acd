/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_test_kit.h - a comparison as its command line would make it, for the tests of its parts. */
#ifndef HARNESS_CAMPAIGN_SUITE_SWEEP_TEST_KIT_H
#define HARNESS_CAMPAIGN_SUITE_SWEEP_TEST_KIT_H

#include "harness/campaign/suite/campaign_test_kit.h"
#include "harness/campaign/sweep.h"
#include "harness/world/wait.h"

enum { KIT_MAX_WORDS = 16 };

/* Options of every training from words ("--batch=16 --seed=7", overwritten and lent to c); started now, with a budget
 * that no test spends. */
static inline void kit_compare(struct comparison *c, char *words)
{
    struct opt_group group = { "every training of it", train_opt_table, &c->opts.train, 0, NULL };
    char *word[KIT_MAX_WORDS], *rest = words;
    int n = 0;

    *c = (struct comparison){ .opts = { .workers = "", .budget_s = 1e6 }, .started_ns = wait_clock_ns() };
    for (char *w = strsep(&rest, " "); w && *w; w = strsep(&rest, " ")) {
        assert_true(n < KIT_MAX_WORDS);
        word[n++] = w;
    }
    if (opt_parse(&group, 1, NULL, 0, n, word) != RC_OK)
        fail_msg("%s", rc_message());
    c->train_given = group.given;
    c->campaign.n_threads = c->opts.train.threads ? (int)c->opts.train.threads : 1;
    c->campaign.is_virtual = strcmp(c->opts.train.world, "sim") == 0;
    c->campaign.n_launches_wanted = MADE_LAUNCHES;
}

#endif
