/* SPDX-License-Identifier: Apache-2.0 */
/* replica_kit.c - see replica_kit.h. */
#include "ps/recovery/suite/replica_kit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/cluster/cluster.h"
#include "harness/world/child.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"
#include "ps/wire.h"

struct plan plan;
static struct outcome *outcome; /* of this process's run */

bool replica_kit_open(void)
{
    void *memory = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    outcome = memory;
    return memory != MAP_FAILED;
}

void plan_spare_all(void)
{
    for (int i = 0; i < MOST_VICTIMS; i++)
        plan.victim[i] = (struct victim){ .rank = -1 };
}

int plan_lost_worker(void)
{
    for (int i = 0; i < MOST_VICTIMS; i++)
        if (plan.victim[i].rank >= 0 && plan.victim[i].rank < N_WORKERS)
            return plan.victim[i].rank;
    return -1;
}

/* --- deaths --- */

enum rc __real_transport_send(struct transport *t, struct xfer *x);
enum rc __wrap_transport_send(struct transport *t, struct xfer *x);
enum rc __real_transport_wait(struct transport *t, struct xfer *x, int timeout_ms);
enum rc __wrap_transport_wait(struct transport *t, struct xfer *x, int timeout_ms);
enum rc __real_transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms);
enum rc __wrap_transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms);

/* The first server at `from` or behind it that is not dead; none is: -1. */
static int living(int from)
{
    for (int i = 0; i < plan.n_servers; i++)
        if (!outcome->is_dead[N_WORKERS + (from + i) % plan.n_servers])
            return (from + i) % plan.n_servers;
    return -1;
}

/* What slices lose with the server (replica.R9), before it is dead. */
static void note_server(int server)
{
    for (int s = 0; s < plan.n_servers; s++) {
        const int holder = living(s), heir = living(holder + 1);
        if (server == holder && !outcome->is_safe[s])
            outcome->may_end = true;
        if (server == holder || server == heir)
            outcome->is_safe[s] = false;
    }
}

static void die(struct transport *t, int rank)
{
    outcome->is_counting[rank] = false;
    outcome->n_died++;
    if (rank >= N_WORKERS && rank < N_WORKERS + plan.n_servers)
        note_server(rank - N_WORKERS);
    outcome->is_dead[rank] = true;
    world_die(t->world);
}

/* A server's line, which may tell of a copy. */
static void note_line(void *arg, const char *line)
{
    int slice = -1;

    (void)arg;
    if (strstr(line, "have a replica again") && sscanf(line, "the parameters of server %d", &slice) == 1)
        outcome->is_safe[slice] = true;
    if (strstr(line, "are lost") && !atomic_exchange(&outcome->has_last_words, true)) /* two may say so at once */
        (void)snprintf(outcome->last_words, sizeof outcome->last_words, "%s", line);
}

/* Of its calls, as victim i counts them: which is this one? -1: they do not count yet. */
static int count_call(int i, int n)
{
    const struct victim *v = &plan.victim[i];

    if (!v->follows)
        return n;
    if (!outcome->is_dead[plan.victim[i - 1].rank])
        return -1;
    for (int s = 0; s < plan.n_servers; s++)
        if (v->waits && !outcome->is_safe[s])
            return -1;
    return outcome->n_since[i]++;
}

static void may_die(struct transport *t)
{
    const int rank = t->world->rank;

    if (!outcome->is_counting[rank])
        return;
    const int n = outcome->n_calls[rank]++;
    for (int i = 0; i < MOST_VICTIMS; i++)
        if (plan.victim[i].rank == rank && count_call(i, n) == plan.victim[i].n_call)
            die(t, rank);
}

static bool is_guest(const struct world *w)
{
    return w->rank >= N_WORKERS + plan.n_servers;
}

enum {
    MOST_LINGERED = 12, /* calls of the transport */
    PAUSE_NS = 1000000
};

/* A guest takes its time between its first messages: others may end the run between its first word to one server and
 * that to the next. */
static void linger(struct transport *t)
{
    const int n = outcome->n_calls[t->world->rank];

    if (is_guest(t->world) && plan.seed > 0 && n < MOST_LINGERED)
        world_pause(t->world, rng_u64(plan.seed, RNG_TEST, 1000 + (uint64_t)n) % 100 * 1000);
}

static void hear_late(const struct transport *t)
{
    const int rank = t->world->rank;

    while (plan.late_hearer == rank && outcome->is_leaving[rank] && !outcome->is_served)
        world_pause(t->world, 1000000);
    outcome->is_leaving[rank] = false;
}

static bool is_server(int rank)
{
    return rank >= N_WORKERS && rank < N_WORKERS + plan.n_servers;
}

/* replica.R8: servers that live at the end have received all that others which live sent them. */
static bool check_received(void)
{
    for (int from = 0; from < MOST_RANKS; from++)
        for (int to = 0; to < MOST_RANKS; to++) {
            const int n_sent = outcome->n_sent[from][to], n_received = outcome->n_received[from][to];
            if (n_sent == n_received || outcome->is_dead[from] || outcome->is_dead[to])
                continue;
            (void)snprintf(outcome->message, sizeof outcome->message,
                           "rank %d sent rank %d %d messages, which received %d", from, to, n_sent, n_received);
            return false;
        }
    return true;
}

enum rc __wrap_transport_send(struct transport *t, struct xfer *x)
{
    const unsigned char *header = x->head;

    linger(t);
    may_die(t);
    if (is_server(t->world->rank) && is_server(x->peer))
        outcome->n_sent[t->world->rank][x->peer]++;
    const bool is_forward = t->world->rank >= N_WORKERS && !is_guest(t->world);
    if (x->n_head_bytes == PS_HEADER_BYTES && header[6] == PS_NEXT && !is_forward)
        outcome->n_asked[t->world->rank]++;
    if (x->n_head_bytes == PS_HEADER_BYTES && header[6] == PS_LEAVE && x->peer == N_WORKERS)
        outcome->is_leaving[t->world->rank] = true;
    const enum rc rc = __real_transport_send(t, x);
    may_die(t);
    return rc;
}

enum rc __wrap_transport_wait(struct transport *t, struct xfer *x, int timeout_ms)
{
    may_die(t);
    if (x->receives)
        hear_late(t);
    const enum rc rc = __real_transport_wait(t, x, timeout_ms);
    may_die(t);
    return rc;
}

/* Not those that find nothing: how many they are is chance. */
enum rc __wrap_transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms)
{
    const enum rc rc = __real_transport_recv_divided(t, out, n_head_bytes, timeout_ms);

    if (rc == RC_OK && is_server(t->world->rank) && is_server(out->peer))
        outcome->n_received[out->peer][t->world->rank]++;
    if (rc == RC_OK && out->peer >= 0)
        may_die(t);
    return rc;
}

/* --- ranks --- */

bool plan_is_sync(void)
{
    return plan.rule.kind == CONSISTENCY_SYNC;
}

float plan_gradient(int worker, int step, int i)
{
    if (plan.stops)
        return 1;
    return (float)((worker * 7 + step * 3 + i * 5 + worker * step) % 11 - 4);
}

float plan_initial(int i)
{
    return (float)(i % 7);
}

float plan_summed(int i)
{
    const bool is_beside_nan = i < N_PARAMS / plan.n_servers && i < N_PARAMS / plan.n_chunks; /* in one message */
    float sum = plan_initial(i);

    for (int w = 0; w < N_WORKERS; w++)
        for (int step = 0; step < N_STEPS; step++)
            sum -= is_beside_nan && plan_is_spoiled(w, step) ? 0 : plan_gradient(w, step, i);
    return sum;
}

/* plan.opens: a server serves a push of a worker's step. */
static void open_step(void *arg, uint64_t step)
{
    const struct ps_rank *r = arg;
    const int server = r->w->rank - N_WORKERS;
    bool all_have = !plan.opens || step != OPEN_STEP;

    if (all_have || outcome->is_dead[N_WORKERS + OPENER_DIES])
        return;
    outcome->has_opened[server] = true;
    while (server == OPENER_DIES && !all_have) {
        all_have = true;
        for (int s = 0; s < plan.n_servers; s++)
            all_have = all_have && outcome->has_opened[s];
        world_pause(r->w, PAUSE_NS);
    }
    if (server == OPENER_DIES)
        die(r->transport, r->w->rank);
}

/* plan.opens: a worker that waits with this step. */
static void await_open(const struct ps_rank *r, int step)
{
    bool all_safe = !plan.opens || step != OPEN_STEP || r->w->rank == 0;

    while (!all_safe) {
        all_safe = outcome->is_dead[N_WORKERS + OPENER_DIES];
        for (int s = 0; s < plan.n_servers; s++)
            all_safe = all_safe && outcome->is_safe[s];
        world_pause(r->w, PAUSE_NS);
    }
}

static enum rc rank_open(struct ps_rank *r)
{
    struct segment segment[MOST_CHUNKS];
    const size_t n_chunk = N_PARAMS / (size_t)plan.n_chunks;
    const int n = plan.n_servers, rank = r->w->rank, own = rank < N_WORKERS + n ? rank - N_WORKERS : -1,
              before = (own + n - 1) % n;
    const size_t n_slice = (size_t)(N_PARAMS / n);
    const bool has_replicas = !plan.is_elastic || plan.replicates;
    float param[N_PARAMS];
    enum rc rc;

    for (size_t k = 0; k < (size_t)plan.n_chunks; k++)
        segment[k] = (struct segment){ k * n_chunk, n_chunk };
    for (int i = 0; i < N_PARAMS; i++)
        param[i] = plan_initial(i);
    TRY(compute_open(&r->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&r->buckets, segment, (size_t)plan.n_chunks, &(struct bucket_opts){ n_chunk * sizeof(float), 0 }));
    TRY(placement_open(&r->placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, segment, (size_t)plan.n_chunks,
                       n));
    TRY(transport_open(&r->transport, plan.transport, r->w));
    const struct sync_env env = { .world = r->w,
                                  .compute = r->compute,
                                  .transport = r->transport,
                                  .buckets = &r->buckets,
                                  .placement = &r->placement,
                                  .consistency = plan.rule,
                                  .optimizer = optimizer_sgd(plan_is_sync() ? 0.9 : 0, 0),
                                  .n_workers = N_WORKERS,
                                  .n_servers = n,
                                  .n_guests = plan.is_elastic ? MOST_GUESTS : 0,
                                  .n_steps = N_STEPS,
                                  .stop_at = plan.stops ? STOPS_AT : 0,
                                  .slice_param = own < 0 ? NULL : param + (size_t)own * n_slice,
                                  .n_batches = plan.is_elastic ? N_BATCHES : 0,
                                  .n_replicas = has_replicas,
                                  .before_param = own < 0 || !has_replicas ? NULL : param + (size_t)before * n_slice,
                                  .tell = note_line,
                                  .on_push = open_step,
                                  .on_push_arg = r,
                                  .timeout_ms = 1000 * LIMIT_S };
    TRY(sync_ps.open(&r->sync, &env));
out:
    return rc;
}

/* As servers number it. */
static int worker_of(const struct ps_rank *r)
{
    return sync_worker_of(&r->sync->env, r->w->rank);
}

static void dawdle(const struct ps_rank *r, int step)
{
    const uint64_t key = (plan.seed * 64 + (uint64_t)step) * MOST_RANKS + (uint64_t)r->w->rank;

    if (plan.seed > 0)
        world_pause(r->w, rng_u64(1, RNG_TEST, key) % 100 * 1000);
}

static enum rc end_one(struct ps_rank *r, float *param, bool *is_last)
{
    struct chunk_cost cost = { 0 };
    enum rc rc;

    TRY(ps_complete(r->sync, param, &cost));
    *is_last = *is_last || cost.is_last;
out:
    return rc;
}

/* Of all chunks, n_in_flight of them at once. */
static enum rc exchange_all(struct ps_rank *r, unsigned parts, float *param, float *grad, bool *is_last)
{
    const int n = plan.n_chunks;
    int n_ended = 0;
    enum rc rc = RC_OK;

    for (int k = 0; k < n; k++) {
        const struct chunk_work work = { (size_t)k, parts, plan_is_sync() ? 0.25f : 1.0f, param, grad };
        TRY(ps_post(r->sync, &work));
        if (k + 1 - n_ended == plan.n_in_flight) {
            TRY(end_one(r, param, is_last));
            n_ended++;
        }
    }
    for (; n_ended < n; n_ended++)
        TRY(end_one(r, param, is_last));
out:
    return rc;
}

bool plan_is_spoiled(int worker, int step)
{
    return plan.spoils && worker == SPOILER && step == SPOILED_STEP;
}

static enum rc train_step(struct ps_rank *r, uint64_t batch, float *param, bool *is_last)
{
    const int worker = (int)(batch % N_WORKERS), step = (int)(batch / N_WORKERS);
    float *grad = outcome->grad[worker_of(r)];
    enum rc rc = RC_OK;

    for (int i = 0; i < N_PARAMS; i++)
        grad[i] = plan_gradient(worker, step, i);
    if (plan_is_spoiled(worker, step))
        grad[0] = NAN;
    outcome->n_begun[worker_of(r)]++;
    TRY(exchange_all(r, plan.splits ? EXCHANGE_PUSH : EXCHANGE_PUSH | EXCHANGE_PULL, param, grad, is_last));
    if (plan.splits)
        TRY(exchange_all(r, EXCHANGE_PULL, param, NULL, &(bool){ false }));
    outcome->n_ended[worker_of(r)]++;
out:
    return rc;
}

/* Step `step` of this rank, of which batch? *is_over: there is none for it. */
static enum rc take_batch(struct ps_rank *r, int step, uint64_t *batch, bool *is_over)
{
    *batch = (uint64_t)(step * N_WORKERS + r->w->rank);
    return plan.is_elastic ? sync_ps.servers->next_batch(r->sync, batch, is_over) : RC_OK;
}

static enum rc work(struct ps_rank *r)
{
    const int n_steps = plan.is_elastic ? N_BATCHES + 1 : plan.stops ? STOPS_AT : N_STEPS;
    float *param = outcome->param[worker_of(r)], looked[N_PARAMS];
    struct optimizer_state state = { .moments = plan_is_sync() ? outcome->moment : NULL }, unused = { 0 };
    uint64_t batch;
    bool is_last = false;
    enum rc rc = RC_OK;

    for (int step = 0; step < n_steps && !is_last; step++) {
        dawdle(r, step);
        await_open(r, step);
        if (plan.leaver == worker_of(r) && plan.leaver > 0 && step == plan.leaves_after) {
            outcome->n_left++;
            break;
        }
        TRY(take_batch(r, step, &batch, &is_last));
        if (is_last)
            break;
        TRY(train_step(r, batch, param, &is_last));
        if (step == LOOKS_AT && r->w->rank == 0)
            TRY(sync_ps.servers->snapshot(r->sync, looked, &unused));
    }
    TRY(sync_ps.servers->final(r->sync, param, &state));
    if (r->w->rank > 0)
        return RC_OK;
    outcome->is_served = true;
    memcpy(outcome->final, param, sizeof outcome->final);
    outcome->n_updates = state.n_updates;
out:
    return rc;
}

/* Joins, where it comes at all; too late where the run has ended (leases.B9). */
static enum rc join_and_work(struct ps_rank *r)
{
    const int g = worker_of(r) - N_WORKERS;
    bool is_over = true;
    enum rc rc = RC_OK;

    if (!plan.guest[g].comes)
        return RC_OK;
    world_pause(r->w, plan.guest[g].at_ns);
    rc = sync_ps.servers->join(r->sync, outcome->param[N_WORKERS + g], &is_over);
    if (rc == RC_TIMEOUT || (rc == RC_OK && is_over)) {
        outcome->n_late_guests++;
        return RC_OK;
    }
    TRY(rc);
    outcome->n_joined++;
    TRY(work(r));
out:
    return rc;
}

/* One after the other: the memory is shared. */
static void note_served(const struct ps_rank *r, struct server_facts *facts)
{
    sync_ps.servers->served(r->sync, facts);
}

static enum rc body(struct world *w, void *arg)
{
    struct server_facts *facts = arg;
    struct ps_rank r = { .w = w };
    enum rc rc;

    TRY(rank_open(&r));
    TRY(world_barrier(w));
    outcome->is_counting[w->rank] = true;
    TRY(sync_worker_of(&r.sync->env, w->rank) < 0 ? sync_ps.servers->serve(r.sync, 0)
        : is_guest(w)                             ? join_and_work(&r)
                                                  : work(&r));
    if (sync_worker_of(&r.sync->env, w->rank) < 0)
        note_served(&r, &facts[w->rank]);
    outcome->is_counting[w->rank] = false;
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    ps_rank_close(&r);
    return rc;
}

/* Of who has the book; where it was lost when all was over, of who follows it. */
static void note_book(const struct server_facts facts[MOST_RANKS])
{
    const struct server_facts *book = NULL;

    for (int r = N_WORKERS; r < N_WORKERS + plan.n_servers; r++) {
        outcome->n_books += facts[r].has_book;
        if (facts[r].has_book || (facts[r].follows_book && !book))
            book = &facts[r];
    }
    outcome->knows_book = book;
    outcome->n_batches_done = book ? book->batches_done_count : 0;
    outcome->n_again = book ? book->batches_again_count : 0;
}

static void run_here(void)
{
    const int n_ranks = N_WORKERS + plan.n_servers + (plan.is_elastic ? MOST_GUESTS : 0);
    struct server_facts facts[MOST_RANKS] = { 0 };
    struct cluster cluster;

    cluster_default(&cluster);
    const struct world_opts opts = { .cluster = &cluster, .on_loss = ON_LOSS_REPORT };
    if (world_run(plan.world, &opts, n_ranks, body, facts) != RC_OK) {
        (void)snprintf(outcome->message, sizeof outcome->message, "%s", rc_message());
        return;
    }
    if (!check_received())
        return;
    outcome->n_held = UINT64_MAX;
    note_book(facts);
    for (int r = N_WORKERS; r < N_WORKERS + plan.n_servers; r++) {
        outcome->n_repeated += facts[r].repeated_parts_count;
        if (!outcome->is_dead[r] && facts[r].batches_held_count < outcome->n_held)
            outcome->n_held = facts[r].batches_held_count;
        for (int i = 0; i < STALENESS_BINS; i++)
            outcome->n_pushes += facts[r].pushes_count[i];
        outcome->n_late += facts[r].late_count;
        outcome->n_taken_over += facts[r].n_taken_over;
        outcome->n_copies += (int)facts[r].copies_count;
        outcome->n_copied_bytes += facts[r].copied_bytes;
        outcome->n_alone += (int)facts[r].n_alone;
        outcome->lead_max = facts[r].lead_max_count > outcome->lead_max ? facts[r].lead_max_count : outcome->lead_max;
    }
    outcome->is_done = true;
}

bool replica_run(struct outcome *out)
{
    bool is_child = false;
    int64_t pid;
    int exit_code = 1;

    memset(outcome, 0, sizeof *outcome);
    for (int s = 0; s < plan.n_servers; s++)
        outcome->is_safe[s] = true;
    if (child_copy(&pid, &is_child) != RC_OK)
        return false;
    if (is_child) {
        alarm(2 * LIMIT_S);
        run_here();
        _exit(!outcome->is_done);
    }
    if (child_await_copy(pid, &exit_code) != RC_OK || exit_code != 0) {
        *out = *outcome;
        return false;
    }
    *out = *outcome;
    return true;
}
