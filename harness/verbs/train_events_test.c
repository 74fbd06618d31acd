/* SPDX-License-Identifier: Apache-2.0 */
/* train_events_test.c - the rows of a run to which something happened. */
#include <signal.h>

#include "harness/base/suite/unit.h"
#include "harness/verbs/suite/printed_kit.h"
#include "harness/verbs/train_report.h"

/* How a run went: rows that others do not have. */
UNIT_TEST(an_eventful_run_is_told)
{
    struct made_run m;

    made_ps(&m);
    m.result.stop_signal = SIGINT;
    m.result.n_steps = 5;
    assert_row(&m, "stopped", "by SIGINT after 105 of 112 steps");
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_OK);
    m.job.opts.save_every = 2;
    m.result.saves = (struct train_saves){ .n_written = 3, .n_failed = 1, .spent_s = 0.05, .why = "c: no space left" };
    assert_row(
        &m, "checkpoints",
        "4 between steps, 12.5 ms each, which is in the throughput but in no step; 1 could not be written: c: no "
        "space left");
    m.job.restarts = (struct train_restarts){ .n = 2, .from_steps = { 40, 80 } };
    assert_row(&m, "restarts", "2, as ranks had died: from step 40, 80");
    made_free(&m);
}

/* --stop-at-step: the run is whole once the updates are made, however few steps a worker has done. */
UNIT_TEST(a_count_of_updates_is_told)
{
    struct made_run m;

    made_ps(&m);
    m.job.exchange.stop_at = 130;
    m.result.n_steps = 5;
    m.result.final.kept.n_updates = 129;
    assert_true(train_is_whole(&m.job, &m.result));
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_OK);
    m.result.stop_signal = SIGTERM;
    assert_false(train_is_whole(&m.job, &m.result));
    assert_row(&m, "stopped", "by SIGTERM after 129 of 130 updates");
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_OK);
    made_free(&m);
}

UNIT_MAIN("train_events")
