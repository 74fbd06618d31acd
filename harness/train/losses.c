/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses.c - what a rank does about the loss of others (world.W8): with --on-loss report those that are left go on.
 *
 *   none        the others do all their steps
 *   ps          its servers drop a lost worker, the others do all their steps (with --elastic the lost one's, too);
 *               with replicas (ps.R9) the next server takes the place of a lost one, and a new replica is
 *               made; else its part of the parameters is gone, and the run ends
 *   allreduce   the others go back to the last step that all have done
 *
 * A loss before the first step ends every run: there is nothing yet that could be reported.
 */
#include "harness/train/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/exchange/exchange.h"
#include "harness/train/elastic.h"
#include "harness/train/rank_state.h"
#include "models/engine/training.h"

/* --- running means --- */

static float *running_means(const struct rank *r, size_t *n)
{
    return r->training ? workload_state(r->training, n) : NULL;
}

/* Rank 0 keeps what the survivors of a loss may go back to. */
static enum rc open_kept(struct rank *r)
{
    size_t n = 0;

    if (r->world->rank != 0 || !running_means(r, &n) || n == 0)
        return RC_OK;
    r->kept_state = calloc(N_KEPT_STATES * n, sizeof *r->kept_state);
    return r->kept_state ? RC_OK : rc_raise(RC_NOMEM, "no memory for %d copies of %zu running means", N_KEPT_STATES, n);
}

static float *kept_at(const struct rank *r, size_t step, size_t n)
{
    return r->kept_state + step % N_KEPT_STATES * n;
}

static enum rc keep_state(struct rank *r, size_t step)
{
    size_t n = 0;
    const float *state = r->kept_state ? running_means(r, &n) : NULL;

    if (state)
        compute_get(r->compute, kept_at(r, step, n), state, n * sizeof *state);
    return RC_OK;
}

static void close_kept(struct rank *r)
{
    free(r->kept_state);
}

const struct step_hook hook_kept_state = { .name = "kept state",
                                           .wanted = train_goes_back,
                                           .open = open_kept,
                                           .at = { [BEFORE_STEP] = keep_state },
                                           .close = close_kept };

/* They are those of a step that is undone, or was left in the middle. */
static void restore_state(struct rank *r)
{
    size_t n = 0;
    float *state = r->kept_state && r->n_done < r->n_begun ? running_means(r, &n) : NULL;

    if (state)
        compute_put(r->compute, state, kept_at(r, r->n_done, n), n * sizeof *state);
}

/* --- the end of training --- */

/* May rc, just raised, come from the loss of a rank? */
static bool may_be_loss(const struct rank *r, enum rc rc)
{
    return rc == RC_PEER && r->job->on_loss == ON_LOSS_REPORT && world_lost_rank(r->world) >= 0;
}

/* Raise the loss of rank `lost`, and what follows from it. */
static enum rc raise_loss(const struct rank *r, int lost, const char *what_follows)
{
    char message[RC_MESSAGE_BYTES];

    (void)world_raise_loss(r->world, lost);
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(RC_PEER, "%.400s; %s", message, what_follows);
}

static enum rc raise_early_loss(const struct rank *r)
{
    return raise_loss(r, world_lost_rank(r->world), "nothing was trained yet");
}

enum rc rank_explain_early_loss(const struct rank *r, enum rc rc)
{
    return may_be_loss(r, rc) && !world_is_guest(r->world) ? raise_early_loss(r) : rc;
}

enum rc rank_explain_timeout(const struct rank *r, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    if (rc != RC_TIMEOUT || rank_is_virtual(r))
        return rc;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(rc, "%.400s; if a step takes as long, give a greater --stall-abort-s", message);
}

/* An error that ends the run. A lost server is named even if another rank's loss was noticed first. */
static enum rc explain(const struct rank *r, enum rc rc)
{
    const bool has_replicas = r->job->exchange.n_replicas > 0;
    char text[RC_MESSAGE_BYTES];

    for (int s = r->job->n_workers; may_be_loss(r, rc) && s < r->job->n_ranks; s++) {
        if (!world_is_lost(r->world, s))
            continue;
        (void)snprintf(text, sizeof text, "it was server %d, and its parameters are lost with it%s",
                       s - r->job->n_workers, has_replicas ? " and with their replica, or before that was whole" : "");
        return raise_loss(r, s, text);
    }
    return rc;
}

/* The steps have ended with `trained`: end the exchange's work. RC_OK where all is done, and where a rank was lost that
 * the mode can do without. n_own: steps that this rank has done. */
static enum rc end_steps(struct rank *r, enum rc trained, uint64_t *n_own)
{
    const bool goes_back = train_goes_back(r->job);
    /* A rank that is lost behind this has left nothing undone. */
    const enum rc rc = trained == RC_OK ? world_barrier(r->world) : trained;
    char message[RC_MESSAGE_BYTES];
    enum rc stopped = RC_OK;

    if (rc != RC_OK && !may_be_loss(r, rc))
        return rc;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    if (goes_back)
        stopped = exchange_stop(r->exchange, n_own); /* while it is not joined, its failed task fails world_check() */
    if (rc == RC_OK)
        return stopped;
    if ((goes_back || trained == RC_OK) && stopped == RC_OK && world_check(r->world) == RC_OK)
        return RC_OK;
    return explain(r, rc_raise(rc, "%s", message));
}

/* All that are left go back to the last step that all of them have done. */
static enum rc go_back(struct rank *r, uint64_t n_own)
{
    uint64_t *all = calloc((size_t)r->left->n_ranks, sizeof *all), n_least = n_own;
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the steps of %d ranks", r->left->n_ranks);
    TRY(world_allgather(r->left, &n_own, all, sizeof n_own));
    for (int i = 0; i < r->left->n_ranks; i++)
        n_least = all[i] < n_least ? all[i] : n_least;
    TRY(exchange_undo_to(r->exchange, n_least));
    r->n_done = (size_t)n_least;
    restore_state(r);
    if (n_least == 0)
        TRY(raise_early_loss(r));
    TRY(rank_finish_exchange(r));
out:
    free(all);
    return rc;
}

/* *out: of the ranks that are left, the least number of steps that a worker has done. */
static enum rc least_steps(struct rank *r, uint64_t *out)
{
    struct world *w = r->left ? r->left : r->world;
    const uint64_t n_own = rank_is_worker(r) ? r->n_begun : UINT64_MAX;
    uint64_t *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the steps of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &n_own, all, sizeof n_own));
    *out = n_own;
    for (int i = 0; i < w->n_ranks; i++)
        *out = all[i] < *out ? all[i] : *out;
out:
    free(all);
    return rc;
}

enum rc rank_end(struct rank *r, enum rc trained)
{
    const bool reports = r->job->on_loss == ON_LOSS_REPORT;
    uint64_t n_own = 0, n_done = r->n_begun; /* the same of all workers (world.Z1); servers begin none */
    enum rc rc;

    TRY(reports ? end_steps(r, trained, &n_own) : trained);
    rank_enter(r, PHASE_END, 0);
    if (reports)
        TRY(world_survivors(r->world, &r->left));
    if (elastic_is_on(r->job) && !rank_is_worker(r)) /* by now it is known who was lost when all was over */
        r->info.served = exchange_served(r->exchange);
    if (train_goes_back(r->job))
        return go_back(r, n_own);
    if (r->job->exchange.stop_at > 0 || elastic_is_on(r->job))
        TRY(least_steps(r, &n_done));
    else
        TRY(world_broadcast(r->left ? r->left : r->world, &n_done, sizeof n_done));
    r->n_done = (size_t)n_done;
out:
    return rc;
}

enum rc train_explain_lost_root(const struct train_job *job, enum rc ran)
{
    static const char *const begins[] = { "rank 0: ended before", "rank 0: silent for" }; /* not of another rank */
    const bool has_saved = job->opts.save[0] != '\0' && job->opts.save_every > 0 && access(job->opts.save, R_OK) == 0;
    char message[RC_MESSAGE_BYTES];

    bool is_lost = false;

    (void)snprintf(message, sizeof message, "%s", rc_message());
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        is_lost = is_lost || strncmp(message, begins[i], strlen(begins[i])) == 0;
    if (ran != RC_PEER || job->on_loss != ON_LOSS_REPORT || !is_lost)
        return ran;
    if (has_saved)
        return rc_raise(ran, "%.300s; rank 0 cannot be replaced: --resume %s continues from the last checkpoint",
                        message, job->opts.save);
    return rc_raise(ran,
                    "%.300s; rank 0 cannot be replaced: with --save FILE --save-every N, --resume FILE continues from "
                    "the last checkpoint",
                    message);
}

/* --- the report --- */

/* Is this rank of the run among those that are left? */
static bool is_left(const struct rank *r, int number)
{
    for (int i = 0; i < r->left->n_ranks; i++)
        if (world_number(r->left, i) == number)
            return true;
    return false;
}

enum rc rank_note_losses(struct rank *r)
{
    struct train_result *to = &r->result;
    const struct world *w = r->world;

    if (!r->left || r->left->n_ranks == w->n_ranks)
        return RC_OK;
    to->loss = calloc((size_t)(w->n_ranks - r->left->n_ranks), sizeof *to->loss);
    if (!to->loss)
        return rc_raise(RC_NOMEM, "no memory for the losses of %d ranks", w->n_ranks - r->left->n_ranks);
    for (int number = 0; number < w->n_ranks; number++) {
        if (is_left(r, number))
            continue;
        struct train_loss *loss = &to->loss[to->n_losses++];
        loss->rank = number;
        loss->was_seen = w->peers && peer_duty_of(w->peers, number, &loss->duty);
        (void)snprintf(loss->why, sizeof loss->why, "%s", peer_losses_why(w->losses, number));
        loss->has_left = strcmp(loss->why, WORLD_LEFT_WHY) == 0;
    }
    return RC_OK;
}

/* --- records --- */

/* A rank that was lost, and when. */
static enum rc write_loss(struct report *to, const struct train_loss *loss)
{
    static const char *const phase[] = { [PHASE_START] = "start",
                                         [PHASE_PROBE] = "probe",
                                         [PHASE_STEP] = "step",
                                         [PHASE_SERVE] = "serve",
                                         [PHASE_END] = "end" };
    struct record *r = report_begin(to, "loss");

    record_i64(r, "rank", loss->rank);
    record_text(r, "phase", loss->was_seen ? phase[loss->duty.phase] : NULL);
    if (loss->was_seen && loss->duty.phase == PHASE_STEP)
        record_i64(r, "step_index", loss->duty.step);
    else
        record_null(r, "step_index");
    record_text(r, "why", loss->why);
    return report_end(to);
}

static enum rc write_change(struct report *to, const struct worker_change *c)
{
    struct record *r = report_begin(to, "change");

    record_text(r, "what", worker_change_word(c->what));
    record_i64(r, "worker", c->worker);
    record_u64(r, "batches_done_count", c->n_done_count);
    record_u64(r, "own_batches_count", c->own_count);
    return report_end(to);
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
