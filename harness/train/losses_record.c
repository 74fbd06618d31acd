/* SPDX-License-Identifier: Apache-2.0 */
/* losses_record.c - see losses_record.h. */
#include "harness/train/losses_record.h"

#include "harness/train/elastic.h"

/* A rank that was lost, and when. */
static enum rc write_loss(struct report *to, const struct train_loss *loss)
{
    static const char *const phase[] = { [PHASE_START] = "start",
                                         [PHASE_PROBE] = "probe",
                                         [PHASE_STEP] = "step",
                                         [PHASE_SERVE] = "serve",
                                         [PHASE_END] = "end" };
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "loss"));
    record_i64(r, "rank", loss->rank);
    record_text(r, "phase", loss->was_seen ? phase[loss->duty.phase] : NULL);
    if (loss->was_seen && loss->duty.phase == PHASE_STEP)
        record_i64(r, "step_index", loss->duty.step);
    else
        record_null(r, "step_index");
    record_text(r, "why", loss->why);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

static enum rc write_change(struct report *to, const struct worker_change *c)
{
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "change"));
    record_text(r, "what", worker_change_word(c->what));
    record_i64(r, "worker", c->worker);
    record_u64(r, "batches_done_count", c->n_done_count);
    record_u64(r, "own_batches_count", c->own_count);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

enum rc losses_write(struct report *to, const struct train_job *job, const struct train_result *r)
{
    const struct worker_change *change;
    const size_t n_changes = elastic_changes(job, r, &change);
    enum rc rc = RC_OK;

    for (int i = 0; i < r->n_losses; i++)
        if (!r->loss[i].has_left)
            TRY(write_loss(to, &r->loss[i]));
    for (size_t i = 0; i < n_changes; i++)
        TRY(write_change(to, &change[i]));
out:
    return rc;
}

static void record_ranks(struct record *r, const char *key, const struct train_result *result, bool has_left)
{
    enum { MOST_NAMED = 64 };
    uint64_t rank[MOST_NAMED];
    size_t n = 0;

    for (int i = 0; i < result->n_losses && n < MOST_NAMED; i++)
        if (result->loss[i].has_left == has_left)
            rank[n++] = (uint64_t)result->loss[i].rank;
    record_u64_array(r, key, rank, n);
}

void record_lost_ranks(struct record *r, const struct train_job *job, const struct train_result *result)
{
    if (job->on_loss == ON_LOSS_REPORT)
        record_ranks(r, "lost_ranks", result, false);
    if (elastic_is_on(job))
        record_ranks(r, "left_ranks", result, true);
}
