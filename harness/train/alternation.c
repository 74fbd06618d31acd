/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alternation.c - --alternate-exchange K: measures in one launch what the exchange of gradients costs; see
 * alternation.h.
 */
#include "harness/train/alternation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/measure/steps.h"
#include "harness/train/job_batch.h"
#include "harness/train/rank_state.h"

bool alternation_is_alone(uint64_t turn_steps, size_t step)
{
    if (turn_steps == 0)
        return false;
    const size_t turn = step / turn_steps, pair = turn / 2;

    return turn % 2 != pair % 2; /* the second of pairs 0, 2, ..., the first of the others */
}

bool alternation_begins_turn(uint64_t turn_steps, size_t step)
{
    return turn_steps > 0 && step % turn_steps == 0;
}

bool alternation_ends_turn(uint64_t turn_steps, size_t step)
{
    return turn_steps > 0 && (step + 1) % turn_steps == 0;
}

enum rc alternation_check(const struct train_job *job)
{
    const unsigned long long turn = job->opts.alternate_exchange;
    const unsigned long long least = 2 * ALTERNATION_LEAST_PAIRS * turn;

    if (turn == 0)
        return RC_OK;
    if (job->opts.steps < least)
        return rc_raise(
            RC_INVAL,
            "--alternate-exchange %llu: needs %d pairs of turns, of which the first is warm-up; use --steps "
            "%llu or more",
            turn, ALTERNATION_LEAST_PAIRS, least);
    return RC_OK;
}

/* Of all workers in the turn that begins with `first`, samples a second. */
static double turn_throughput(const struct train_job *job, const struct train_result *r, size_t first)
{
    const size_t turn = job->opts.alternate_exchange;
    double sum = 0;

    for (int w = 0; w < r->n_workers; w++) {
        const struct step_stamp *stamp = r->stamp + (size_t)w * r->n_steps + first;
        sum +=
            (double)turn * (double)job_batch_of(job, w) / (1e-9 * (double)(stamp[turn - 1].end_ns - stamp[0].start_ns));
    }
    return sum;
}

enum rc alternation_compare(struct comparison *out, const struct train_job *job, const struct train_result *r)
{
    const size_t turn = job->opts.alternate_exchange;
    const size_t n_all = turn > 0 ? r->n_steps / (2 * turn) : 0, n = n_all > 1 ? n_all - 1 : 0;
    double *with = malloc((n + 1) * sizeof *with), *without = malloc((n + 1) * sizeof *without);
    enum rc rc = RC_OK;

    if (!with || !without)
        FAIL(RC_NOMEM, "no memory for %zu pairs of turns", n);
    for (size_t i = 0; i < n; i++) {
        const size_t first = 2 * (i + 1) * turn, second = first + turn;
        const bool begins_alone = alternation_is_alone(turn, first);
        with[i] = turn_throughput(job, r, begins_alone ? second : first);
        without[i] = turn_throughput(job, r, begins_alone ? first : second);
    }
    *out = compare_pairs(with, without, n);
out:
    free(with);
    free(without);
    return rc;
}

void alternation_text(char out[ALTERNATION_TEXT_BYTES], const struct train_job *job, const struct comparison *c)
{
    const unsigned long long turn = job->opts.alternate_exchange;

    out[0] = '\0';
    if (turn == 0)
        return;
    if (c->n_pairs < 2)
        snprintf(out, ALTERNATION_TEXT_BYTES, "%zu pairs of turns of %llu steps after the warm-up: too few to compare",
                 c->n_pairs, turn);
    else
        snprintf(out, ALTERNATION_TEXT_BYTES,
                 "%.2f %% of the throughput without it (%.2f to %.2f %%), %zu pairs of turns of %llu steps",
                 100 * c->ratio, 100 * c->ratio_low, 100 * c->ratio_high, c->n_pairs, turn);
}

void record_alternation(struct record *r, const struct train_job *job, const struct comparison *c)
{
    if (!alternation_is_on(job))
        return;
    record_u64(r, "alternating_turn_steps_count", job->opts.alternate_exchange);
    record_u64(r, "alternating_pairs_count", c->n_pairs);
    record_f64(r, "exchange_keeps_ratio", c->ratio);
    record_f64(r, "exchange_keeps_low_ratio", c->ratio_low);
    record_f64(r, "exchange_keeps_high_ratio", c->ratio_high);
    record_f64(r, "exchange_keeps_robust_ratio", c->robust_ratio);
}

/* --- around steps --- */

/* Where a turn begins, workers meet, and exchange from now on, or do not. */
static enum rc begin_turn(struct rank *r, size_t step)
{
    const uint64_t turn_steps = r->job->opts.alternate_exchange;
    enum rc rc = RC_OK;

    if (!alternation_begins_turn(turn_steps, step))
        return RC_OK;
    TRY(world_barrier(r->world));
    exchange_leave_out(r->exchange, alternation_is_alone(turn_steps, step));
out:
    return rc;
}

static bool ends_turn(const struct rank *r, size_t step)
{
    return alternation_ends_turn(r->job->opts.alternate_exchange, step);
}

const struct step_hook hook_alternation = {
    .name = "alternation", .wanted = alternation_is_on, .at = { [BEFORE_STEP] = begin_turn }, .acts_behind = ends_turn
};
