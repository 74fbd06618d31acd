/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - every message between the ranks of a run, as a table for charts and lessons; see messages.h. */
#include "harness/train/messages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/host_memory.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/collective.h"
#include "harness/net/message_log.h"
#include "harness/train/rank_state.h"

/* --- the table --- */

static uint64_t n_of_all(const struct train_result *r)
{
    uint64_t n = 0;

    for (int i = 0; i < r->n_ranks; i++)
        n += r->n_messages[i];
    return n;
}

static uint64_t first_start_ns(const struct train_result *r)
{
    const uint64_t n = n_of_all(r);
    uint64_t first = UINT64_MAX;

    for (uint64_t i = 0; i < n; i++)
        first = r->message[i].start_ns < first ? r->message[i].start_ns : first;
    return first;
}

uint64_t messages_sum_ns(const struct train_result *result)
{
    const uint64_t n = n_of_all(result), first_ns = first_start_ns(result);
    uint64_t sum_ns = 0;

    for (uint64_t i = 0; i < n; i++)
        sum_ns += result->message[i].start_ns - first_ns + result->message[i].end_ns - first_ns;
    return sum_ns & ((UINT64_C(1) << 53) - 1);
}

/* Negative: before that time, as a timeline may have lost its first spans. */
static double since_s(uint64_t at_ns, uint64_t first_ns)
{
    return at_ns < first_ns ? -1e-9 * (double)(first_ns - at_ns) : 1e-9 * (double)(at_ns - first_ns);
}

/* A number, or nan where it is `none`. */
static void write_number(FILE *to, uint64_t value, uint64_t none)
{
    if (value == none)
        fputs("nan", to);
    else
        fprintf(to, "%llu", (unsigned long long)value);
}

static void write_row(FILE *to, int rank, const struct logged_message *m, uint64_t first_ns)
{
    fprintf(to, "%d,", rank);
    write_number(to, m->step, MESSAGE_NO_STEP);
    fprintf(to, ",%s,%d,%u,%.9f,%.9f,%llu,%llu,", m->is_received ? "receive" : "send", m->peer, m->tag,
            since_s(m->start_ns, first_ns), since_s(m->end_ns, first_ns), (unsigned long long)m->n_bytes,
            (unsigned long long)m->n_head_bytes);
    write_number(to, m->offset_bytes, MESSAGE_ELSEWHERE);
    fprintf(to, ",%u\n", m->is_added);
}

enum rc messages_write(const char *path, const struct train_result *result)
{
    const uint64_t first_ns = result->has_timeline ? result->timeline_zero_ns : first_start_ns(result);
    const struct logged_message *m = result->message;
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("rank,step,direction,peer,tag,start_s,end_s,bytes_count,header_bytes_count,offset_bytes,adds\n", file.stream);
    for (int r = 0; r < result->n_ranks; r++)
        for (uint64_t i = 0; i < result->n_messages[r]; i++)
            write_row(file.stream, result->rank[r].number, m++, first_ns);
out:
    return atomic_file_finish(&file, rc);
}

/* --- before the run: how many there will be --- */

enum { OTHER_MESSAGES = 8 }; /* of a pair of ranks, in all: the end of a run, and its checkpoints */

/* Of all ranks, of one chunk: what collectives send. */
static size_t of_collective(const struct train_job *job, size_t n_elems)
{
    const struct collective_call call = compression_call(&job->exchange.compression, n_elems, job->n_workers);
    const void *opts = module_options(&job->opts.modules, train_kinds, &job->collective->module);
    const struct collective_group all = { .n_ranks = job->n_workers };
    size_t n = 0;

    for (int r = 0; r < job->n_workers; r++)
        n += job->collective->predict(opts, &call, r, &all).msgs;
    return n;
}

/* Of all workers, of one chunk: a gradient to each server that has a part of it, and its answer. */
static size_t of_servers(const struct train_job *job, struct range chunk)
{
    size_t n = 0;

    for (int s = 0; s < job->n_servers; s++)
        if (placement_part(&job->placement, s, chunk).n_elems > 0)
            n += 2 * (size_t)job->n_workers;
    return n;
}

/* Messages of a step in which all chunks are exchanged. */
static enum rc of_step(size_t *out, const struct train_job *job)
{
    const bool may_be_ordered = job->may_overlap && strcmp(job->opts.priority, "off") != 0;
    const bool is_ordered = (job->exchange.overlap && job->exchange.priority) || may_be_ordered; /* by worker 0 */
    struct buckets b = { 0 };
    enum rc rc;

    *out = 0;
    TRY(buckets_open(&b, job->segment, job->n_segments, &job->exchange.buckets));
    for (size_t k = 0; k < b.n_chunks; k++) {
        *out += job->n_servers > 0 ? of_servers(job, b.chunk[k]) : 0;
        *out += job->collective ? of_collective(job, b.chunk[k].n_elems) : 0;
        *out += job->collective && is_ordered ? (size_t)job->n_workers - 1 : 0;
    }
out:
    buckets_close(&b);
    return rc;
}

/* Steps with an exchange, at most. */
static uint64_t exchanges_of(const struct train_job *job)
{
    const uint64_t every = job->opts.average_every;

    return every > 0 ? job->n_steps / every + 1 : job->n_steps;
}

enum rc job_messages_count(size_t *out, const struct train_job *job)
{
    const size_t n_pairs = (size_t)job->n_workers * (size_t)(job->n_servers > 0 ? job->n_servers : 1);
    const size_t n_max = SIZE_MAX / 4 / sizeof(struct logged_message);
    size_t n_of_step;
    enum rc rc;

    TRY(of_step(&n_of_step, job));
    const double n = 2 * ((double)n_of_step * (double)exchanges_of(job) + OTHER_MESSAGES * (double)n_pairs);
    *out = n < (double)n_max ? (size_t)n : SIZE_MAX;
out:
    return rc;
}

/* The notes of the ranks of this host; all of them on rank 0, and its part of a round from each. */
static double bytes_of(const struct train_job *job, size_t n)
{
    const struct launcher l = world_launcher();
    const bool has_all = !(job->world->module.caps & WORLD_LAUNCHED);
    const int n_here = has_all || l.n_host_ranks == 0 ? job->n_ranks : l.n_host_ranks;
    const double of_round = MESSAGES_OF_A_ROUND + (double)job->n_ranks;

    return (double)sizeof(struct logged_message) * ((double)n * (1 + (double)n_here / job->n_ranks) + 2 * of_round);
}

enum rc job_messages_resolve(struct train_job *job)
{
    const bool plans = job->compute->touches_memory && job->compute->host_memory;
    const double needed_bytes = plans ? (double)job->memory.host_bytes : 0;
    double available_bytes;
    size_t n;
    enum rc rc = RC_OK;

    if (job->opts.messages[0] == '\0')
        return RC_OK;
    TRY(job_messages_count(&n, job));
    const double n_bytes = bytes_of(job, n);
    available_bytes = (double)(plans ? job->memory.available_bytes : host_memory_available(""));
    if (needed_bytes + n_bytes > available_bytes)
        FAIL(RC_INVAL,
             "--messages %.80s: the messages of %llu steps of %d ranks are %.3g, whose notes need %.2f GB of memory "
             "here, %.2f GB are available; fewer --steps, or fewer workers",
             job->opts.messages, (unsigned long long)job->n_steps, job->n_ranks, (double)n / 2, n_bytes * 1e-9,
             (available_bytes - needed_bytes) * 1e-9);
    if (plans)
        job->memory.host_bytes += (size_t)n_bytes;
out:
    return rc;
}

/* --- after the run: the messages of all ranks go to rank 0 --- */

/* *n_most := the number of those with the most; n_messages[n_ranks]: of each. */
static enum rc count(struct world *w, const struct message_log *log, uint64_t *n_messages, uint64_t *n_most)
{
    const uint64_t n = log->is_out_of_room ? UINT64_MAX : log->n;
    enum rc rc;

    *n_most = 1;
    TRY(world_allgather(w, &n, n_messages, sizeof n));
    for (int r = 0; r < w->n_ranks; r++) {
        if (n_messages[r] == UINT64_MAX)
            FAIL(RC_NOMEM, "--messages: rank %d has no memory for its messages; take fewer --steps", r);
        *n_most = n_messages[r] > *n_most ? n_messages[r] : *n_most;
    }
out:
    return rc;
}

/* Rank 0: what each rank has sent of its messages first .. first + n_each - 1 goes to where they are in `all`. */
static void place(struct logged_message *all, const struct logged_message *round, const uint64_t *n_messages,
                  int n_ranks, uint64_t first, uint64_t n_each)
{
    for (int r = 0; r < n_ranks; r++) {
        const uint64_t n_left = n_messages[r] > first ? n_messages[r] - first : 0;
        const uint64_t n = n_left < n_each ? n_left : n_each;
        if (n > 0)
            memcpy(all + first, round + (uint64_t)r * n_each, n * sizeof *all);
        all += n_messages[r];
    }
}

/* The messages of all ranks to rank 0, whose all[] is as long as they are: in rounds, as some ranks have far more than
 * others (a server has those of all workers), and a gather has as much of each. */
static enum rc gather_rounds(struct world *w, const struct message_log *log, const uint64_t *n_messages,
                             uint64_t n_most, struct logged_message *all)
{
    const uint64_t n_even = MESSAGES_OF_A_ROUND / (uint64_t)w->n_ranks, n_each = n_even > 0 ? n_even : 1;
    struct logged_message *own = calloc(n_each, sizeof *own), *round = NULL;
    enum rc rc = RC_OK;

    if (w->rank == 0)
        round = calloc((size_t)w->n_ranks * n_each, sizeof *round);
    if (!own || (w->rank == 0 && !round))
        FAIL(RC_NOMEM, "no memory for %llu messages of each rank", (unsigned long long)n_each);
    for (uint64_t first = 0; first < n_most; first += n_each) {
        const uint64_t n_left = log->n > first ? log->n - first : 0, n = n_left < n_each ? n_left : n_each;
        if (n > 0)
            memcpy(own, log->message + first, n * sizeof *own);
        TRY(world_gather(w, own, round, n_each * sizeof *own));
        if (w->rank == 0)
            place(all, round, n_messages, w->n_ranks, first, n_each);
    }
out:
    free(own);
    free(round);
    return rc;
}

enum rc rank_messages_gather(struct rank *r, struct world *gathered)
{
    const struct message_log *log = exchange_messages(r->exchange);
    const size_t n_ranks = (size_t)gathered->n_ranks;
    uint64_t *n_messages = NULL, n_most, n_all = 0;
    struct logged_message *all = NULL;
    enum rc rc = RC_OK;

    if (!log)
        return RC_OK;
    n_messages = calloc(n_ranks, sizeof *n_messages);
    if (!n_messages)
        FAIL(RC_NOMEM, "no memory for the messages of %zu ranks", n_ranks);
    TRY(count(gathered, log, n_messages, &n_most));
    for (size_t i = 0; i < n_ranks; i++)
        n_all += n_messages[i];
    all = r->world->rank == 0 ? calloc(n_all + 1, sizeof *all) : NULL; /* + 1: never a request for nothing */
    if (r->world->rank == 0 && !all)
        FAIL(RC_NOMEM, "no memory for the %llu messages of %zu ranks", (unsigned long long)n_all, n_ranks);
    TRY(gather_rounds(gathered, log, n_messages, n_most, all));
    if (r->world->rank == 0) {
        r->result.message = all;
        r->result.n_messages = n_messages;
        all = NULL;
        n_messages = NULL;
    }
out:
    free(all);
    free(n_messages);
    return rc;
}
