/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic.c - --elastic (exchange.E13): servers assign batches to workers, instead of a fixed share for each worker;
 * see elastic.h.
 */
#include "harness/train/elastic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/exchange/exchange.h"
#include "harness/net/transport.h"
#include "harness/report/record.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"
#include "harness/world/stop.h"

/* --- the job, and its result --- */

/* --most-workers */
static enum rc resolve_guests(struct train_job *job)
{
    const unsigned long long most = job->opts.most_workers;
    char names[64];

    if (!job->opts.elastic)
        return rc_raise(RC_INVAL, "--most-workers %llu: workers join a run that hands out batches; needs --elastic",
                        most);
    if (most < (unsigned long long)job->n_workers)
        return rc_raise(RC_INVAL, "--most-workers %llu: %d workers begin the run; at least as many", most,
                        job->n_workers);
    if (!(job->world->module.caps & WORLD_GUESTS)) {
        module_names_with(names, sizeof names, &world_kind, WORLD_GUESTS);
        return rc_raise(RC_INVAL, "--most-workers %llu: no process can join in world %s; needs --world %s", most,
                        job->world->module.name, names);
    }
    if (!(job->transport->module.caps & TR_GUESTS)) {
        module_names_with(names, sizeof names, &transport_kind, TR_GUESTS);
        return rc_raise(RC_INVAL,
                        "--most-workers %llu: who joins comes over a network, and not by %s; needs --transport %s",
                        most, job->transport->module.name, names);
    }
    const struct launcher launcher = world_launcher();
    if (launcher.name && !launcher.lets_join)
        return rc_raise(RC_INVAL,
                        "--most-workers %llu: nobody but %s knows the key of the run, without which nobody can join; "
                        "have it write that by --join-file FILE",
                        most, launcher.name);
    job->exchange.n_guests = (int)most - job->n_workers;
    return RC_OK;
}

enum rc elastic_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    enum rc rc = RC_OK;

    if (opt_given(group, n_groups, "most-workers"))
        TRY(resolve_guests(job));
    if (!job->opts.elastic)
        return RC_OK;
    const size_t n_batches = job->n_steps * (size_t)job->n_workers;
    if (job->n_steps > (size_t)(TRAIN_MAX_STEPS / job->n_workers))
        FAIL(RC_INVAL, "--elastic: with --workers %d and --steps %zu one worker might have to do more than %d steps",
             job->n_workers, job->n_steps, TRAIN_MAX_STEPS);
    job->opts.on_loss = "report";
    job->exchange.n_batches = n_batches;
out:
    return rc;
}

/* --- what came of it --- */

size_t train_most_steps(const struct train_job *job)
{
    return elastic_is_on(job) ? (size_t)job->exchange.n_batches : job->n_steps;
}

int train_n_counted(const struct train_job *job, const struct train_result *r)
{
    return elastic_is_on(job) ? job->n_workers : r->n_workers;
}

int elastic_book_rank(const struct train_result *r)
{
    int follows = -1;

    for (int i = r->n_workers; i < r->n_ranks; i++) {
        if (r->rank[i].served.has_book)
            return i;
        follows = r->rank[i].served.follows_book ? i : follows;
    }
    return follows;
}

/* NULL: nobody has it. */
static const struct server_facts *book_of(const struct train_result *r)
{
    const int i = elastic_book_rank(r);

    return i < 0 ? NULL : &r->rank[i].served;
}

struct books {     /* of all servers */
    bool is_known; /* the book; else n_done, n_again and n_by_guests are 0 */
    uint64_t n_done, n_again, n_held, n_whole, n_repeated, n_by_guests;
};

static struct books books_of(const struct train_job *job, const struct train_result *r)
{
    const struct server_facts *book = book_of(r);
    struct books b = { .n_held = job->exchange.n_batches, .n_whole = job->exchange.n_batches, .is_known = book };

    if (book) {
        b.n_done = book->batches_done_count;
        b.n_again = book->batches_again_count;
        b.n_by_guests = book->guest_batches_count;
    }
    for (int i = r->n_workers; i < r->n_ranks; i++) {
        const struct server_facts *f = &r->rank[i].served;
        b.n_repeated += f->repeated_parts_count;
        b.n_held = f->batches_held_count < b.n_held ? f->batches_held_count : b.n_held;
        b.n_whole = f->batches_whole_count < b.n_whole ? f->batches_whole_count : b.n_whole;
    }
    return b;
}

size_t train_n_whole_steps(const struct train_job *job, const struct train_result *r)
{
    return elastic_is_on(job) ? (size_t)(books_of(job, r).n_whole / (uint64_t)job->n_workers) : r->n_steps;
}

bool train_is_whole(const struct train_job *job, const struct train_result *r)
{
    return job->exchange.stop_at > 0 ? r->stop_signal == 0 : train_n_whole_steps(job, r) >= job->n_steps;
}

/* Batches whose gradient is not in all parameters: of all, or where the run was stopped of those that were done. */
static uint64_t n_lost(const struct train_job *job, const struct train_result *r, const struct books *b)
{
    const uint64_t n_wanted = r->stop_signal ? b->n_done : job->exchange.n_batches;

    return n_wanted > b->n_held ? n_wanted - b->n_held : 0;
}

/* What is said behind the number of batches; of a book that nobody has, why not. */
static void counts_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r,
                        const struct books *b)
{
    static const char why[] = "not known: the server that counted them was lost behind the last one";
    const unsigned long long n_samples_lost = n_lost(job, r, b) * job->opts.batch;

    if (b->is_known)
        (void)snprintf(out, n_bytes, ", %llu handed out again, %llu samples lost", (unsigned long long)b->n_again,
                       n_samples_lost);
    else if (r->stop_signal)
        (void)snprintf(out, n_bytes, "; those handed out again, and those lost, are %s", why);
    else
        (void)snprintf(out, n_bytes, ", %llu samples lost; those handed out again are %s", n_samples_lost, why);
}

const char *elastic_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    enum { MOST_SHOWN = 8 };
    const struct books b = books_of(job, r);
    size_t n = 0;

    out[0] = '\0';
    for (int w = 0; w < r->n_workers && w < MOST_SHOWN && n < n_bytes; w++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%llu", w > 0 ? ", " : "",
                              (unsigned long long)r->rank[w].steps_count);
    if (n < n_bytes)
        n +=
            (size_t)snprintf(out + n, n_bytes - n, "%s: %llu of %llu batches", r->n_workers > MOST_SHOWN ? ", ..." : "",
                             (unsigned long long)b.n_held, (unsigned long long)job->exchange.n_batches);
    if (n < n_bytes)
        counts_text(out + n, n_bytes - n, job, r, &b);
    n = strlen(out);
    if (b.n_by_guests > 0)
        (void)snprintf(out + n, n_bytes - n, ", %llu by workers that joined", (unsigned long long)b.n_by_guests);
    return out;
}

size_t elastic_changes(const struct train_job *job, const struct train_result *r, const struct worker_change **out)
{
    const struct server_facts *f = elastic_is_on(job) ? book_of(r) : NULL;

    *out = f ? f->change : NULL;
    return !f ? 0 : f->changes_count < MOST_WORKER_CHANGES ? (size_t)f->changes_count : MOST_WORKER_CHANGES;
}

const char *worker_change_word(enum worker_change_kind what)
{
    return what == WORKER_JOINED ? "joined" : what == WORKER_LEFT ? "left" : "lost";
}

void elastic_tell_changes(FILE *to, const struct train_job *job, const struct train_result *r)
{
    const struct worker_change *change;
    const size_t n = elastic_changes(job, r, &change);
    char own[48];

    for (size_t i = 0; i < n && job->exchange.n_guests > 0; i++) {
        if (change[i].what == WORKER_LEFT && r->stop_signal != 0) /* as all do then */
            continue;
        snprintf(own, sizeof own, ", %llu of them its own", (unsigned long long)change[i].own_count);
        terminal_note(to, "gradmark train: worker %d %s%s after %llu of %llu batches%s", change[i].worker,
                      change[i].what == WORKER_LOST ? "was " : "", worker_change_word(change[i].what),
                      (unsigned long long)change[i].n_done_count, (unsigned long long)job->exchange.n_batches,
                      change[i].what == WORKER_JOINED ? "" : own);
    }
}

void record_elastic(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const struct books b = books_of(job, result);

    if (!elastic_is_on(job))
        return;
    record_u64(r, "batches_count", job->exchange.n_batches);
    record_u64(r, "batches_applied_count", b.n_held);
    record_count(r, "batches_again_count", b.is_known, b.n_again);
    record_u64(r, "repeated_parts_count", b.n_repeated);
    if (job->exchange.n_guests > 0)
        record_count(r, "guest_batches_count", b.is_known, b.n_by_guests);
    record_count(r, "samples_lost_count", b.is_known || !result->stop_signal,
                 n_lost(job, result, &b) * job->opts.batch);
}

/* --- how fast it was (train.V1) --- */

static uint64_t first_start_ns(const struct steps *in)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t w = 0; w < in->n_workers; w++)
        if (in->stamp[w * in->n_steps].start_ns < first_ns)
            first_ns = in->stamp[w * in->n_steps].start_ns;
    return first_ns;
}

enum rc train_measure(struct steps_summary *out, const struct train_job *job, const struct train_result *r,
                      const struct steps *in)
{
    const size_t n = r->n_rounds > 0 ? r->n_rounds - 1 : 0; /* between ends of rounds */
    double *duration_s = NULL;
    enum rc rc;

    TRY(steps_summarise(out, in));
    if (!elastic_is_on(job))
        return RC_OK;
    duration_s = malloc((n + 1) * sizeof *duration_s);
    if (!duration_s)
        FAIL(RC_NOMEM, "no memory for the durations of %zu rounds", n);
    for (size_t i = 0; i < n; i++)
        duration_s[i] = 1e-9 * (double)(r->round_ns[i + 1] - r->round_ns[i]);
    out->n_rounds = n;
    out->steady = steady_find(duration_s, n);
    const size_t n_warmup = out->steady.n_warmup;
    out->throughput_samples_per_s = interval_reciprocal(interval_autocorrelated(duration_s + n_warmup, n - n_warmup),
                                                        (double)job->n_workers * (double)job->opts.batch);
    if (r->n_rounds > 0)
        out->elapsed_s = 1e-9 * (double)(r->round_ns[n] - first_start_ns(in));
out:
    free(duration_s);
    return rc;
}

/* --- what ranks do: a worker asks for batches, and the server with the work queue notes when they are done --- */

/* A signal of one process is its worker's alone; where ranks are threads it is that of all. */
static void set_stop(const struct rank *r)
{
    const bool is_process = r->world->ops->module.caps & WORLD_LAUNCHED;
    const bool leaves = is_process && rank_is_worker(r) && world_may_leave(r->world);

    world_set_stop(r->world, leaves ? STOP_ALONE : STOP_AT_ONCE);
}

static enum rc open_rounds(struct rank *r)
{
    const size_t n_rounds = r->job->n_steps;

    set_stop(r);
    r->round_ns = calloc(n_rounds, sizeof *r->round_ns);
    if (r->world->rank == 0)
        r->result.round_ns = calloc((size_t)r->world->n_ranks * n_rounds, sizeof *r->result.round_ns);
    if (!r->round_ns || (r->world->rank == 0 && !r->result.round_ns))
        return rc_raise(RC_NOMEM, "no memory for the ends of %zu rounds", n_rounds);
    return RC_OK;
}

void rank_note_round(void *arg, size_t round, uint64_t ended_ns)
{
    ((const struct rank *)arg)->round_ns[round] = ended_ns;
}

/* train.V4: is this rank alone to go, before `step`? */
static bool leaves_now(const struct rank *r, size_t step)
{
    const struct train_drill *d = &r->job->drill;

    if (world_own_signal(r->world) != 0 && world_may_leave(r->world))
        return true;
    return d->leaves && d->rank == r->world->rank && d->step == step + r->job->resume.steps_count;
}

/* As servers number it. */
static int worker_of(const struct rank *r)
{
    return world_is_guest(r->world) ? r->world->rank - r->job->n_servers : r->world->rank;
}

enum rc rank_join(struct rank *r)
{
    char line[128];
    enum rc rc;

    r->is_leaving = true; /* whatever it leaves for */
    rc = exchange_join(r->exchange, &r->is_over);
    if (rc == RC_TIMEOUT)
        FAIL(RC_PEER, "no server answers: the run has ended before this worker could join it");
    TRY(rc);
    r->has_ended = r->is_over;
    (void)snprintf(line, sizeof line,
                   r->is_over ? "all batches are done: too late to join" : "worker %d: joined the run", worker_of(r));
    peer_tell(&(struct peer_opts){ 0 }, line);
out:
    return rc;
}

enum rc rank_leave(struct rank *r)
{
    const int number = world_own_signal(r->world);
    char line[160];
    enum rc rc;

    TRY(world_leave(r->world));
    if (world_is_guest(r->world) && r->is_over && r->n_begun == 0)
        return RC_OK; /* it was none */
    (void)snprintf(line, sizeof line, "worker %d: %s%sleft the run after %zu batch%s; %s", worker_of(r),
                   number != 0 ? stop_signal_name(number) : "", number != 0 ? ": " : "", r->n_begun,
                   r->n_begun == 1 ? "" : "es",
                   r->is_over                         ? "all are done"
                   : world_stop_signal(r->world) != 0 ? "it stops"
                                                      : "the others go on");
    peer_tell(&(struct peer_opts){ 0 }, line);
out:
    return rc;
}

/* The next batch, for r->place. r->is_over: all are assigned or done. */
static enum rc take_batch(struct rank *r)
{
    struct span s = { .what = "ask", .segment = -1, .step = (uint32_t)(r->job->resume.steps_count + r->n_begun) };
    const uint64_t n_workers = (uint64_t)r->job->n_workers;
    uint64_t batch = 0;
    enum rc rc;

    s.start_ns = world_now_ns(r->world);
    TRY(exchange_next_batch(r->exchange, &batch, &r->is_over));
    s.end_ns = world_now_ns(r->world);
    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
    r->has_ended = r->is_over;
    r->place = (struct batch_place){ (size_t)(batch / n_workers), (int)(batch % n_workers) };
    if (r->world->rank == 0 && !r->is_over)
        r->result.lr[r->n_begun] = schedule_lr(&r->job->schedule, rank_samples_before(r->job, r->place.step));
out:
    return rc;
}

/* A run that is stopped does one step at least: then there is something to report. */
static enum rc choose_batch(struct rank *r, size_t step)
{
    const bool stops = step > 0 && world_stops_now(r->world), leaves = !stops && leaves_now(r, step);
    enum rc rc = RC_OK;

    r->is_leaving = r->is_leaving || leaves;
    if (stops || leaves)
        TRY(rank_stop(r, step));
    if (!r->has_ended)
        TRY(take_batch(r));
out:
    return rc;
}

/* train.V4: this process alone got a signal, and its rank is none that can leave. */
static void tell_why_all_stop(const struct rank *r)
{
    const bool is_process = r->world->ops->module.caps & WORLD_LAUNCHED;
    char line[128];

    if (!is_process || !stop_wanted() || stop_is_of_launcher() || (rank_is_worker(r) && world_may_leave(r->world)))
        return;
    (void)snprintf(line, sizeof line, "%s %d: %s: cannot leave before the others, so the run stops",
                   rank_is_worker(r) ? "worker" : "server", rank_is_worker(r) ? 0 : r->world->rank - r->job->n_workers,
                   stop_signal_name(stop_signal()));
    peer_tell(&(struct peer_opts){ 0 }, line);
}

/* After the infos of all ranks. */
static enum rc gather_rounds(struct rank *r, struct world *gathered)
{
    struct train_result *to = &r->result;
    const size_t n_rounds = r->job->n_steps;
    enum rc rc;

    tell_why_all_stop(r);
    TRY(world_gather(gathered, r->round_ns, to->round_ns, n_rounds * sizeof *r->round_ns));
    if (r->world->rank != 0)
        return RC_OK;
    const int i = elastic_book_rank(to);
    if (i < 0)
        return RC_OK;
    to->n_rounds = (size_t)(to->rank[i].served.batches_done_count / (uint64_t)r->job->n_workers);
    memmove(to->round_ns, to->round_ns + (size_t)i * n_rounds, n_rounds * sizeof *to->round_ns);
out:
    return rc;
}

static void close_rounds(struct rank *r)
{
    free(r->round_ns);
}

const struct step_hook hook_elastic = { .name = "elastic",
                                        .wanted = elastic_is_on,
                                        .open = open_rounds,
                                        .at = { [CHOOSE_STEP] = choose_batch },
                                        .gather = gather_rounds,
                                        .close = close_rounds };
