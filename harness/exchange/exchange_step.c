/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_step.c - the way of a gradient through a step: submit -> post -> complete.
 *
 *   submit    The caller: the gradients of a tensor are final. When all tensors of its bucket are, the bucket's chunks
 *             are in the queue.
 *   post      The next chunk of the queue goes to the mode: workers sum it at once, or it is on its way to the servers.
 *   complete  The chunk that was posted first has been exchanged, and its parameters are those of the next step.
 *
 * With overlap the communicator posts and completes, while the caller computes. Without it await() does. A chunk is
 * done when the caller has seen that it is complete, and has counted its cost.
 *
 * Variants: sums on the device (exchange.E1), local SGD (exchange.E8), steps that do not push or pull (exchange.E10).
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "harness/exchange/compression.h"
#include "harness/exchange/exchange_state.h"
#include "harness/net/message_log.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* --- back to the last common step (exchange.E7) --- */

/* After a rank was lost. Before a chunk is updated, its old parameters and optimiser's state are copied to the host;
 * each chunk counts its updates. */

size_t exchange_undo_bytes(const struct sync_mode *mode, const struct compute_backend *compute,
                           const struct optimizer_rule *rule, size_t n_params)
{
    const size_t n_arrays = 1 + (size_t)optimizer_n_moments(rule);

    return mode->module.caps & MODE_SYNCHRONOUS && compute->touches_memory ? n_arrays * n_params * sizeof(float) : 0;
}

/* exchange.E7: chunk k is about to be updated. */
static void exchange_keep_chunk(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t n_bytes = chunk.n_elems * sizeof(float);
    const int n_arrays = 1 + optimizer_n_moments(&x->env.optimizer);

    if (!x->keeps_undo)
        return;
    if (x->undo_param)
        compute_get(x->optimizer.compute, x->undo_param + chunk.offset_elems, x->param + chunk.offset_elems, n_bytes);
    for (int i = 0; i < OPTIMIZER_MAX_MOMENTS && x->undo_moment[i]; i++)
        compute_get(x->optimizer.compute, x->undo_moment[i] + chunk.offset_elems,
                    x->optimizer.moment[i] + chunk.offset_elems, n_bytes);
    world_charge(x->env.world, 0, 2.0 * n_arrays * (double)n_bytes); /* each float is read and written */
}

enum rc exchange_stop(struct exchange *x, uint64_t *n_steps)
{
    uint64_t n_least = UINT64_MAX;
    enum rc rc = RC_OK;

    if (x->communicator && x->n_pending == 0)
        TRY(communicator_finish(x->communicator));
    communicator_close(&x->communicator); /* from here on this task alone reads and writes the chunks */
    for (size_t k = 0; k < x->buckets.n_chunks; k++) {
        n_least = x->state[k].n_updates < n_least ? x->state[k].n_updates : n_least;
        x->state[k].pending = false;
    }
    while (chunk_queue_pop(&x->queue) != NO_CHUNK)
        continue;
    x->n_pending = 0;
    x->posted.n_completed = x->posted.n_posted;
    *n_steps = n_least;
out:
    return rc;
}

static void undo_chunk(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t n_bytes = chunk.n_elems * sizeof(float);

    if (x->undo_param)
        compute_put(x->optimizer.compute, x->param + chunk.offset_elems, x->undo_param + chunk.offset_elems, n_bytes);
    for (int i = 0; i < OPTIMIZER_MAX_MOMENTS && x->undo_moment[i]; i++)
        compute_put(x->optimizer.compute, x->optimizer.moment[i] + chunk.offset_elems,
                    x->undo_moment[i] + chunk.offset_elems, n_bytes);
    x->state[k].n_updates--;
}

enum rc exchange_undo_to(struct exchange *x, uint64_t n_steps)
{
    for (size_t k = 0; k < x->buckets.n_chunks; k++) {
        const uint64_t n = x->state[k].n_updates;
        if (n < n_steps || n > n_steps + 1 || (n > n_steps && !x->keeps_undo))
            return rc_raise(RC_INVAL, "chunk %zu has gone through %llu steps; it cannot be taken to step %llu", k,
                            (unsigned long long)n, (unsigned long long)n_steps);
    }
    for (size_t k = 0; k < x->buckets.n_chunks; k++)
        if (x->state[k].n_updates > n_steps)
            undo_chunk(x, k);
    x->keeps_undo = false; /* what was kept is used up */
    return RC_OK;
}

/* --- a bit of a gradient, flipped on order --- */

enum { FLIPPED_BIT = 20 }; /* of the 23 of a float's fraction */
enum { SIGN_BIT = 31 }; /* where the update is divided by what gradients are like: the first one by this one itself */

static bool is_divided(const struct optimizer_rule *rule)
{
    return rule->kind == OPTIMIZER_ADAGRAD || rule->kind == OPTIMIZER_ADAM;
}

static float flipped(const struct optimizer_rule *rule, float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits ^= UINT32_C(1) << (is_divided(rule) ? SIGN_BIT : FLIPPED_BIT);
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct element { /* that the update reads */
    float param, grad, moment[OPTIMIZER_MAX_MOMENTS];
};

/* By what the update of chunk k changes it, but for the velocity of steps before. */
static double update_of(const struct exchange *x, size_t k, const struct element *e, float grad)
{
    const struct optimizer_rule *rule = &x->optimizer.rule;
    const double t = (double)(x->n_updates_before + x->state[k].n_updates + 1), lr = (double)x->state[k].lr;
    const double d = (double)x->optimizer.grad_scale * (double)grad + rule->weight_decay * (double)e->param;

    if (rule->kind == OPTIMIZER_ADAGRAD)
        return lr * d / (sqrt((double)e->moment[0] + d * d) + rule->epsilon);
    if (rule->kind == OPTIMIZER_ADAM) {
        const double m = rule->beta1 * (double)e->moment[0] + (1 - rule->beta1) * d;
        const double v = rule->beta2 * (double)e->moment[1] + (1 - rule->beta2) * d * d;
        return lr * m / (1 - pow(rule->beta1, t)) / (sqrt(v / (1 - pow(rule->beta2, t))) + rule->epsilon);
    }
    return lr * d;
}

/* Is the parameter another one behind the update? Not where the gradient is 0, or far too small beside it. */
static bool changes(const struct exchange *x, size_t k, const struct element *e)
{
    enum { N_ROUNDINGS = 64 }; /* so that momentum and decay do not round it away */
    const double difference = update_of(x, k, e, flipped(&x->optimizer.rule, e->grad)) - update_of(x, k, e, e->grad);

    return fabs(difference) > N_ROUNDINGS * (double)FLT_EPSILON * fabs((double)e->param);
}

/* The gradients that the update reads: copies of the host's where the exchange is staged. */
static enum rc get(struct exchange *x, float *out, const float *host, const float *own, size_t offset, size_t n)
{
    if (!x->is_staged || !host)
        return compute_fetch(x->optimizer.compute, out, own + offset, n * sizeof *out);
    memcpy(out, host + offset, n * sizeof *out);
    return RC_OK;
}

enum { N_AT_ONCE = 256 };

/* Of n elements from `from` on, what the update reads; moments that the rule has not are 0. */
static enum rc get_elements(struct element out[N_AT_ONCE], struct exchange *x, size_t from, size_t n)
{
    float values[N_AT_ONCE];
    enum rc rc;

    memset(out, 0, n * sizeof *out);
    TRY(get(x, values, x->host_grad, x->grad, from, n));
    for (size_t i = 0; i < n; i++)
        out[i].grad = values[i];
    TRY(get(x, values, NULL, x->param, from, n));
    for (size_t i = 0; i < n; i++)
        out[i].param = values[i];
    for (int m = 0; m < optimizer_n_moments(&x->optimizer.rule); m++) {
        TRY(get(x, values, NULL, x->optimizer.moment[m], from, n));
        for (size_t i = 0; i < n; i++)
            out[i].moment[m] = values[i];
    }
out:
    return rc;
}

/* *out: the element of chunk k that is to be changed. */
static enum rc find_element(size_t *out, struct exchange *x, size_t k)
{
    const size_t end = x->buckets.chunk[k].offset_elems + x->buckets.chunk[k].n_elems;
    struct element element[N_AT_ONCE];
    enum rc rc = RC_OK;

    *out = x->flip.elem_index;
    for (size_t from = x->flip.elem_index; from < end; from += N_AT_ONCE) {
        const size_t n = end - from < N_AT_ONCE ? end - from : N_AT_ONCE;
        TRY(get_elements(element, x, from, n));
        for (size_t i = 0; i < n; i++)
            if (changes(x, k, &element[i])) {
                *out = from + i;
                return RC_OK;
            }
    }
out:
    return rc;
}

static bool is_ordered(const struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t drawn = x->flip.elem_index;

    return x->state[k].step == (uint32_t)x->flip.step && drawn >= chunk.offset_elems &&
           drawn < chunk.offset_elems + chunk.n_elems;
}

/* Likewise, in chunk k, which was pulled. */
static void exchange_flip_pulled(struct exchange *x, size_t k)
{
    static const struct optimizer_rule plain = { .kind = OPTIMIZER_SGD };
    float *param = x->host_param + x->flip.elem_index;

    if (is_ordered(x, k))
        *param = flipped(&plain, *param);
}

/* Applies env.flip if it is in chunk k, which is about to be updated. */
static enum rc exchange_flip(struct exchange *x, size_t k)
{
    size_t elem;
    float grad;
    enum rc rc = RC_OK;

    if (!is_ordered(x, k))
        return RC_OK;
    TRY(find_element(&elem, x, k));
    TRY(get(x, &grad, x->host_grad, x->grad, elem, 1));
    grad = flipped(&x->optimizer.rule, grad);
    if (x->is_staged)
        memcpy(x->host_grad + elem, &grad, sizeof grad);
    else {
        compute_put(x->optimizer.compute, x->grad + elem, &grad, sizeof grad);
        TRY(compute_sync(x->optimizer.compute)); /* what is put is lent until then */
    }
out:
    return rc;
}

/* The elements of the chunk; NULL: no data. */
static float *at(float *floats, struct range chunk)
{
    return floats ? floats + chunk.offset_elems : NULL;
}

/* --- clocks and the timeline --- */

/* Without overlap, what ends is the beginning of what follows: a step of a small model takes as long as a few readings
 * of the clock. */
static uint64_t follow_ns(const struct exchange *x)
{
    return x->overlaps ? world_now_ns(x->env.world) : x->inline_ns;
}

static void note_inline(struct exchange *x, uint64_t now_ns)
{
    if (!x->overlaps)
        x->inline_ns = now_ns;
}

static struct span_ring *exchanging_ring(const struct exchange *x)
{
    return x->ring[x->overlaps ? EXCHANGE_COMMUNICATOR : EXCHANGE_MAIN];
}

/* Adds s, of chunk k. */
static void note_span(const struct exchange *x, struct span_ring *ring, size_t k, struct span s)
{
    if (!ring)
        return;
    s.segment = (int32_t)buckets_of_chunk(&x->buckets, k);
    s.chunk = (int32_t)k;
    s.n_bytes = x->buckets.chunk[k].n_elems * sizeof(float);
    s.step = x->state[k].step;
    span_ring_add(ring, &s);
}

/* In the queue a chunk is shown while it is the next: since the one before it was taken, or since it was submitted, so
 * that the spans of the queue do not overlap. When it was submitted is a fact of its span. */
static void note_queued(struct exchange *x, size_t k)
{
    const struct chunk_times *t = &x->state[k].times;
    const uint64_t next_ns = t->submitted_ns > x->last_start_ns ? t->submitted_ns : x->last_start_ns;

    note_span(
        x, x->ring[EXCHANGE_QUEUE], k,
        (struct span){ .start_ns = next_ns, .end_ns = t->start_ns, .what = "queue", .submitted_ns = t->submitted_ns });
    x->last_start_ns = t->start_ns;
}

/* If several are outstanding, the oldest is shown (exchange.X2). When its messages were posted is a fact of its
 * span. */
static void note_exchanged(const struct exchange *x, size_t k)
{
    const struct chunk_times *t = &x->state[k].times;

    note_span(x, x->ring[EXCHANGE_QUEUE] ? exchanging_ring(x) : NULL, k,
              (struct span){ .start_ns = t->oldest_ns,
                             .end_ns = t->exchanged_ns,
                             .what = x->env.mode->exchange_name,
                             .submitted_ns = t->oldest_ns > t->start_ns ? t->start_ns : 0 });
}

/* The wait that has just ended, for chunk k or (NO_CHUNK) for all. */
static void note_wait(const struct exchange *x, size_t k)
{
    const struct span s = { .start_ns = cost_last_wait_ns(&x->cost, false),
                            .end_ns = cost_last_wait_ns(&x->cost, true),
                            .what = "wait",
                            .segment = k == NO_CHUNK ? -1 : (int32_t)buckets_of_chunk(&x->buckets, k),
                            .chunk = k == NO_CHUNK ? 0 : (int32_t)k,
                            .step = x->step };

    if (x->overlaps)
        span_ring_add(x->ring[EXCHANGE_MAIN], &s);
}

/* --- submit --- */

/* This rank is to submit bucket b next; all are submitted: none. */
static void owe(struct exchange *x, size_t b)
{
    const bool by_segments = !x->env.forward_only && exchange_wants_segments(x);
    const struct peer_duty duty = { PHASE_STEP, (int64_t)x->step,
                                    by_segments && b < x->buckets.n_buckets ? (int32_t)b : -1 };

    world_set_duty(x->env.world, &duty);
}

enum rc exchange_begin(struct exchange *x, uint64_t step, float lr)
{
    cost_reset(&x->cost);
    x->lr = lr;
    x->n_begun++;
    x->is_averaged = false;
    x->step = (uint32_t)step;
    x->push_pull = periods_push_pull(&x->env.opts.periods, step + 1, x->n_begun == x->env.n_steps);
    if (x->has_servers)
        periods_add(&x->counts, x->push_pull);
    x->cost.sum.keeps_gradient = !(x->push_pull & EXCHANGE_PUSH);
    owe(x, 0);
    for (size_t i = 0; !x->env.forward_only && i < x->buckets.n_buckets; i++)
        x->n_missing[i] = x->buckets.bucket[i].n_segments;
    return RC_OK;
}

/* exchange.E1: the chunks of bucket b are summed on the device, behind their gradients. */
static enum rc queue_on_device(struct exchange *x, size_t b)
{
    const struct bucket *bucket = &x->buckets.bucket[b];
    const uint64_t now_ns = world_now_ns(x->env.world), sent_bytes = x->transport->moved.bytes_sent;
    enum rc rc = RC_OK;

    for (size_t k = bucket->first_chunk; k < bucket->first_chunk + bucket->n_chunks; k++) {
        x->state[k].is_queued = true;
        x->state[k].times.at_server = (struct chunk_cost){ 0 };
        x->state[k].times.start_ns = now_ns;
    }
    if (!x->is_left_out)
        TRY(x->sync->ops->collective->queue(x->sync, b, x->grad));
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes; /* between hosts, of buckets before */
out:
    return rc;
}

/* The gradient of a segment is there: is its bucket, *out, complete? */
static enum rc add_segment(struct exchange *x, const struct segment *s, size_t *out, bool *is_complete)
{
    enum rc rc = RC_OK;

    *out = x->buckets.bucket_of[buckets_segment_at(&x->buckets, s->offset_elems)];
    if (!x->is_queued)                     /* else the device waits for it */
        TRY(compute_sync(x->env.compute)); /* compute.C2: in sim, the time to compute it passes before it is sent */
    if (x->is_staged)                      /* exchange.E4 */
        TRY(compute_fetch(x->env.compute, x->host_grad + s->offset_elems, x->grad + s->offset_elems,
                          s->n_elems * sizeof(float)));
    assert(x->n_missing[*out] > 0);
    *is_complete = --x->n_missing[*out] == 0;
out:
    return rc;
}

/* The chunk of a bucket that is submitted as number i: the first one of each server, then the second ones, ... */
static size_t nth_chunk(const struct exchange *x, const struct bucket *bucket, size_t i)
{
    const size_t n = bucket->n_chunks, n_servers = x->env.opts.spreads ? (size_t)x->env.n_servers : 1;
    const size_t n_long = n % n_servers, n_each = n / n_servers; /* ranges with a chunk more come first */
    const size_t server = i % n_servers, nth = i / n_servers;

    return bucket->first_chunk + server * n_each + (server < n_long ? server : n_long) + nth;
}

enum rc exchange_submit(struct exchange *x, const struct segment *s, uint64_t now_ns)
{
    size_t b = 0, end = x->env.forward_only ? 0 : x->buckets.n_buckets;
    bool is_complete = true;
    enum rc rc = RC_OK;

    if (s) {
        TRY(add_segment(x, s, &b, &is_complete));
        now_ns =
            is_complete && x->ring[EXCHANGE_QUEUE] ? world_now_ns(x->env.world) : 0; /* of use to a timeline only */
        end = is_complete ? b + 1 : b;
    }
    for (; b < end; b++) {
        const struct bucket *bucket = &x->buckets.bucket[b];
        for (size_t i = 0; i < bucket->n_chunks; i++) {
            const size_t k = nth_chunk(x, bucket, i);
            struct chunk_state *p = &x->state[k];
            assert(!p->pending);
            *p = (struct chunk_state){ .pending = true,
                                       .is_left_out = x->is_left_out,
                                       .lr = x->lr,
                                       .step = x->step,
                                       .push_pull = x->push_pull,
                                       .n_updates = p->n_updates,
                                       .times.submitted_ns = now_ns };
            x->n_pending++;
            if (x->communicator)
                communicator_submit(x->communicator, k);
            else
                chunk_queue_push(&x->queue, k);
        }
        if (s && x->is_queued)
            TRY(queue_on_device(x, b));
        if (s)
            owe(x, b + 1);
    }
out:
    return rc;
}

/* --- post --- */

/* Where the mode works on memory of the host: its own compute. */
static struct compute *host_compute(const struct exchange *x)
{
    return x->side ? x->side : x->env.compute;
}

/* V2 of train: multiplies float[n] by env.weight and a factor; floats may be NULL (no data). */
static void weigh(const struct exchange *x, float *floats, size_t n, float factor)
{
    const float scale = x->env.weight * factor;

    if (scale == 1.0f)
        return;
    for (size_t i = 0; floats && i < n; i++)
        floats[i] *= scale;
    world_charge(x->env.world, (double)n, 2.0 * sizeof(float) * (double)n);
}

static bool accrues(const struct exchange *x)
{
    return x->env.opts.periods.push_every > 1;
}

float *exchange_pushed(const struct exchange *x)
{
    return accrues(x) ? x->accrued : x->host_grad;
}

/* exchange.E10: the gradient is added to those since the last push; without a pull the worker makes a step of its
 * own. */
static enum rc keep_gradient(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const struct sgd own = { .lr = x->state[k].lr,
                             .weight_decay = (float)x->env.optimizer.weight_decay,
                             .grad_scale = 1.0f };
    struct compute *c = host_compute(x);
    enum rc rc = RC_OK;

    if (accrues(x)) {
        compute_accumulate(c, at(x->accrued, chunk), at(x->host_grad, chunk), chunk.n_elems);
        TRY(compute_sync(c));
    }
    if (!(x->state[k].push_pull & EXCHANGE_PULL)) {
        compute_sgd_step(c, at(x->host_param, chunk), NULL, at(x->host_grad, chunk), chunk.n_elems, &own);
        TRY(compute_sync(c));
    }
out:
    return rc;
}

/* exchange.E9 */
static enum rc compress(struct exchange *x, struct range chunk)
{
    const struct compression *c = &x->env.opts.compression;
    enum rc rc;

    TRY(compression_apply(c, host_compute(x), at(exchange_pushed(x), chunk), at(x->residual, chunk), chunk.n_elems));
    if (c->kind == COMPRESSION_TOPK)
        world_charge(x->env.world, 0, (double)TOPK_BYTES * (double)chunk.n_elems);
out:
    return rc;
}

/* For servers. */
static struct chunk_work work_of(const struct exchange *x, size_t k, unsigned push_pull)
{
    return (struct chunk_work){ k, push_pull, x->state[k].lr, x->host_param, exchange_pushed(x) };
}

/* Bytes that this rank has sent, exchange.E14. */
static uint64_t moved_bytes(const struct exchange *x)
{
    const uint64_t n_bytes = x->transport ? x->transport->moved.bytes_sent : 0;

    return x->shard_transport ? n_bytes + x->shard_transport->moved.bytes_sent : n_bytes;
}

/* Messages that are sent from here on are of chunk k. Returns the bytes that were sent before. */
static uint64_t begin_messages(struct exchange *x, size_t k)
{
    if (x->log)
        x->log->step = x->state[k].step;
    return moved_bytes(x);
}

static void end_messages(struct exchange *x, uint64_t sent_bytes)
{
    x->sent_bytes += moved_bytes(x) - sent_bytes;
}

static bool crosses(const struct exchange *x, size_t k)
{
    return x->sync && !x->state[k].is_left_out;
}

static bool has_room(const struct exchange *x)
{
    return x->posted.n_posted - x->posted.n_completed < x->posted.most_chunks;
}

/* sim: software copies a chunk into the buffer of its collective, or back. */
static void pass_copy(const struct exchange *x, struct range chunk)
{
    const double rate = x->env.world->collective.copy_bytes_per_s;

    if (x->env.n_workers > 1 && rate > 0)
        world_pause(x->env.world, (uint64_t)(1e9 * sizeof(float) * (double)chunk.n_elems / rate));
}

static enum rc sum_up(struct exchange *x, size_t k)
{
    enum rc rc;

    pass_copy(x, x->buckets.chunk[k]);
    TRY(x->sync->ops->collective->sum(x->sync, k, x->host_grad));
    pass_copy(x, x->buckets.chunk[k]);
out:
    return rc;
}

enum rc exchange_post(void *arg, size_t k)
{
    struct exchange *x = arg;
    struct posted *f = &x->posted;
    struct chunk_state *state = &x->state[k];
    const struct range chunk = x->buckets.chunk[k];
    const struct chunk_work work = work_of(x, k, state->push_pull);
    enum rc rc = RC_OK;

    assert(has_room(x));
    state->times.at_server = (struct chunk_cost){ 0 };
    state->times.start_ns = f->n_posted == f->n_completed ? follow_ns(x) : world_now_ns(x->env.world);
    f->chunk[f->n_posted++ % f->most_chunks] = k;
    note_queued(x, k);
    if (!crosses(x, k))
        return RC_OK;
    const uint64_t sent_bytes = begin_messages(x, k);
    weigh(x, at(x->host_grad, chunk), chunk.n_elems, 1.0f);
    if (exchange_has_periods(x))
        TRY(keep_gradient(x, k));
    if (state->push_pull & EXCHANGE_PUSH)
        TRY(compress(x, chunk));
    if (!x->has_servers)
        TRY(sum_up(x, k));
    else if (state->push_pull != 0)
        TRY(x->sync->ops->servers->post(x->sync, &work));
    end_messages(x, sent_bytes);
out:
    return rc;
}

/* --- complete --- */

/* Copy a chunk of what the mode left in host memory to the compute's. */
static void unstage(struct exchange *x, struct range chunk)
{
    float *to = x->has_servers ? x->param : x->grad, *from = x->has_servers ? x->host_param : x->host_grad;

    compute_put(x->env.compute, to + chunk.offset_elems, from + chunk.offset_elems, chunk.n_elems * sizeof(float));
}

/* The parameters of chunk k become those of the next step. */
static enum rc update(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    struct chunk_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    t->update_ns = x->is_staged ? world_now_ns(x->env.world) : t->exchanged_ns; /* staged: later, by another task */
    if (x->flips && x->has_servers)
        exchange_flip_pulled(x, k);
    else if (x->flips)
        TRY(exchange_flip(x, k));
    if (x->is_staged)
        unstage(x, chunk);
    if (!x->has_servers) {
        exchange_keep_chunk(x, k);
        x->optimizer.lr = x->state[k].lr;
        x->optimizer.n_updates = x->n_updates_before + x->state[k].n_updates;
        TRY(optimizer_step_range(&x->optimizer, chunk.offset_elems, chunk.n_elems, at(x->param, chunk),
                                 at(x->grad, chunk)));
    }
    x->state[k].n_updates++;
    t->applied_ns = x->has_servers ? t->update_ns : world_now_ns(x->env.world);
    note_inline(x, x->is_staged && x->has_servers ? world_now_ns(x->env.world) : t->applied_ns); /* the copy is over */
    if (!x->has_servers)
        note_span(x, x->is_staged ? x->ring[EXCHANGE_MAIN] : exchanging_ring(x), k,
                  (struct span){ .start_ns = t->update_ns, .end_ns = t->applied_ns, .what = "apply" });
out:
    return rc;
}

/* The servers have answered for chunk k. */
static enum rc end_at_servers(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    struct chunk_state *state = &x->state[k];
    struct compute *c = host_compute(x);
    enum rc rc = RC_OK;

    if (state->push_pull != 0)
        TRY(x->sync->ops->servers->complete(x->sync, x->host_param, &state->times.at_server));
    if (accrues(x) && state->push_pull & EXCHANGE_PUSH) { /* from here on nothing is accrued */
        compute_zero(c, at(x->accrued, chunk), chunk.n_elems);
        TRY(compute_sync(c));
    }
out:
    return rc;
}

/* The update is the communicator's if it can reach the parameters, else the caller's. */
static bool updates_here(const struct exchange *x)
{
    return !x->is_staged || !x->overlaps;
}

enum rc exchange_complete(void *arg, size_t *out)
{
    struct exchange *x = arg;
    struct posted *f = &x->posted;
    const size_t k = f->chunk[f->n_completed % f->most_chunks];
    struct chunk_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    assert(f->n_completed < f->n_posted);
    const uint64_t sent_bytes = begin_messages(x, k);
    if (x->has_servers && crosses(x, k))
        TRY(end_at_servers(x, k));
    end_messages(x, sent_bytes);
    f->n_completed++;
    t->exchanged_ns = crosses(x, k) ? world_now_ns(x->env.world) : t->start_ns;
    t->oldest_ns = t->start_ns > f->last_ns ? t->start_ns : f->last_ns;
    f->last_ns = t->exchanged_ns;
    note_exchanged(x, k);
    if (updates_here(x))
        TRY(update(x, k));
    if (!x->overlaps)
        f->last_ns = x->inline_ns; /* the caller's copy counts for no exchange, whatever is outstanding */
    *out = k;
out:
    return rc;
}

/* exchange.E1: the sum of chunk k is there, for later calls of the compute. The device sums one after the other: a
 * chunk begins when the one before it has ended, as far as the host can see. */
static enum rc complete_on_device(struct exchange *x, size_t k)
{
    const uint64_t sent_bytes = x->transport->moved.bytes_sent;
    struct chunk_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    if (!x->state[k].is_left_out)
        TRY(x->sync->ops->collective->wait(x->sync, buckets_of_chunk(&x->buckets, k)));
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes; /* between hosts */
    x->state[k].is_queued = false;
    t->exchanged_ns = world_now_ns(x->env.world);
    if (t->start_ns < x->last_sum_ns)
        t->start_ns = x->last_sum_ns;
    t->oldest_ns = t->start_ns;
    x->last_sum_ns = t->exchanged_ns;
    note_queued(x, k);
    note_exchanged(x, k);
    TRY(update(x, k));
    x->posted.last_ns = x->inline_ns;
out:
    return rc;
}

/* --- local SGD (exchange.E8): parameters are averaged, seldom, in place of gradients --- */

static bool averages_now(const struct exchange *x)
{
    return ((uint64_t)x->step + 1) % x->env.opts.average_every == 0 || x->n_begun == x->env.n_steps;
}

/* Chunk k of the parameters := the weighted mean of all workers. In the parameters themselves, or if the mode cannot
 * reach them, in the copy in which gradients are exchanged. */
static enum rc average_chunk(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t n_bytes = chunk.n_elems * sizeof(float);
    float *floats = x->is_staged ? x->host_grad : x->param;
    enum rc rc;

    if (x->log)
        x->log->step = x->state[k].step;
    TRY(compute_sync(x->env.compute));
    if (x->is_staged)
        TRY(compute_fetch(x->env.compute, floats + chunk.offset_elems, x->param + chunk.offset_elems, n_bytes));
    weigh(x, at(floats, chunk), chunk.n_elems, 1.0f / (float)x->env.n_workers);
    const uint64_t sent_bytes = x->transport->moved.bytes_sent;
    TRY(x->sync->ops->collective->sum(x->sync, k, floats));
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes;
    if (x->is_staged)
        compute_put(x->env.compute, x->param + chunk.offset_elems, floats + chunk.offset_elems, n_bytes);
out:
    return rc;
}

/* Replaces post and complete. */
static enum rc update_and_average(struct exchange *x, size_t k)
{
    struct chunk_times *t = &x->state[k].times;
    enum rc rc;

    t->at_server = (struct chunk_cost){ 0 };
    t->start_ns = t->oldest_ns = t->exchanged_ns = follow_ns(x);
    TRY(update(x, k));
    if (!averages_now(x))
        return RC_OK;
    t->start_ns = t->oldest_ns = follow_ns(x);
    TRY(average_chunk(x, k));
    t->exchanged_ns = world_now_ns(x->env.world);
    note_inline(x, t->exchanged_ns);
    note_queued(x, k);
    note_exchanged(x, k);
out:
    return rc;
}

/* --- await: in the caller --- */

/* Chunk k is complete. */
static enum rc note_done(struct exchange *x, size_t k)
{
    enum rc rc = RC_OK;

    if (x->communicator && !updates_here(x))
        TRY(update(x, k));
    x->state[k].pending = false;
    x->n_pending--;
    cost_add_chunk(&x->cost, &x->state[k].times, x->has_servers);
out:
    return rc;
}

/* One chunk more is done: the next from the communicator, or without it the next of the queue. */
static enum rc complete_next(struct exchange *x)
{
    size_t k;
    enum rc rc = RC_OK;

    if (x->communicator)
        TRY(communicator_wait(x->communicator, &k));
    else if (x->env.opts.average_every > 0) {
        k = chunk_queue_pop(&x->queue);
        TRY(update_and_average(x, k));
    } else if (x->is_queued) {
        k = chunk_queue_pop(&x->queue);
        TRY(complete_on_device(x, k));
    } else {
        while (x->queue.n > 0 && has_room(x))
            TRY(exchange_post(x, chunk_queue_pop(&x->queue)));
        TRY(exchange_complete(x, &k));
    }
    TRY(note_done(x, k));
out:
    return rc;
}

/* What the communicator has completed by now. */
static enum rc take_completed(struct exchange *x)
{
    enum rc rc = RC_OK;

    for (size_t k; x->communicator && (k = communicator_poll(x->communicator)) != NO_CHUNK;)
        TRY(note_done(x, k));
out:
    return rc;
}

/* What the communicator has completed, before a wait. If the caller makes the update, that time is not hidden: it is a
 * wait, too. */
static enum rc take_early(struct exchange *x)
{
    const size_t k = x->communicator ? communicator_poll(x->communicator) : NO_CHUNK;
    enum rc rc = RC_OK;

    if (k == NO_CHUNK)
        return RC_OK;
    if (x->is_staged)
        cost_wait_begin(&x->cost, world_now_ns(x->env.world));
    TRY(note_done(x, k));
    TRY(take_completed(x));
    if (x->is_staged) {
        cost_wait_end(&x->cost, world_now_ns(x->env.world));
        note_wait(x, k);
    }
out:
    return rc;
}

static void begin_wait(struct exchange *x, uint64_t now_ns)
{
    note_inline(x, now_ns);
    cost_wait_begin(&x->cost, now_ns);
}

/* For chunk k; NO_CHUNK: for all. */
static enum rc end_wait(struct exchange *x, size_t k)
{
    enum rc rc;

    TRY(take_completed(x)); /* what ran while the wait came to its end belongs to it */
    cost_wait_end(&x->cost, follow_ns(x));
    note_wait(x, k);
out:
    return rc;
}

/* exchange.E1: without overlap nothing that was submitted is on the device yet. */
static enum rc queue_submitted(struct exchange *x)
{
    enum rc rc = RC_OK;

    if (!x->is_queued || x->overlaps)
        return RC_OK;
    for (size_t b = 0; b < x->buckets.n_buckets && x->n_pending > 0; b++) {
        const struct chunk_state *first = &x->state[x->buckets.bucket[b].first_chunk];
        if (first->pending && !first->is_queued)
            TRY(queue_on_device(x, b));
    }
out:
    return rc;
}

static bool overlap(struct range a, struct segment b)
{
    return a.offset_elems < b.offset_elems + b.n_elems && b.offset_elems < a.offset_elems + a.n_elems;
}

enum rc exchange_await(struct exchange *x, struct segment s)
{
    const struct bucket *b = &x->buckets.bucket[x->buckets.bucket_of[buckets_segment_at(&x->buckets, s.offset_elems)]];
    enum rc rc = RC_OK;

    if (x->n_pending == 0)
        return RC_OK;
    TRY(compute_sync(x->env.compute)); /* compute.C2: what is done by now depends on what time it is */
    TRY(take_early(x));
    for (size_t k = b->first_chunk; k < b->first_chunk + b->n_chunks; k++) {
        if (!x->state[k].pending || !overlap(x->buckets.chunk[k], s))
            continue;
        begin_wait(x, world_now_ns(x->env.world));
        TRY(queue_submitted(x));
        while (x->state[k].pending)
            TRY(complete_next(x));
        TRY(end_wait(x, k));
    }
out:
    return rc;
}

enum rc exchange_await_all(struct exchange *x, uint64_t *now_ns)
{
    enum rc rc = RC_OK;

    if (x->env.forward_only)
        return RC_OK;
    begin_wait(x, *now_ns);
    TRY(queue_submitted(x));
    while (x->n_pending > 0)
        TRY(complete_next(x));
    if (x->env.opts.average_every > 0)
        x->is_averaged = x->is_averaged || averages_now(x);
    TRY(end_wait(x, NO_CHUNK));
    *now_ns = cost_last_wait_ns(&x->cost, true);
out:
    return rc;
}

/* --- the end of a run --- */

enum rc exchange_average_rest(struct exchange *x)
{
    enum rc rc = RC_OK;

    if (x->env.opts.average_every == 0 || x->is_averaged || !x->sync)
        return RC_OK;
    for (size_t k = 0; k < x->buckets.n_chunks; k++)
        TRY(average_chunk(x, k));
    x->is_averaged = true;
out:
    return rc;
}

enum rc exchange_push_rest(struct exchange *x)
{
    const uint64_t sent_bytes = x->transport ? x->transport->moved.bytes_sent : 0;
    enum rc rc = RC_OK;

    if (!exchange_has_periods(x) || !x->is_worker || x->n_begun == 0 || x->push_pull & EXCHANGE_PUSH)
        return RC_OK;
    for (size_t k = 0; k < x->buckets.n_chunks; k++) {
        const struct chunk_work work = work_of(x, k, EXCHANGE_PUSH);
        struct chunk_cost cost = { 0 };
        if (x->log)
            x->log->step = x->state[k].step;
        TRY(compress(x, x->buckets.chunk[k]));
        TRY(x->sync->ops->servers->post(x->sync, &work));
        TRY(x->sync->ops->servers->complete(x->sync, x->host_param, &cost));
    }
    x->push_pull |= EXCHANGE_PUSH;
    x->counts.n_pushes++;
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes;
out:
    return rc;
}

/* --- between steps --- */

enum rc exchange_check(struct exchange *x)
{
    const enum rc rc = world_check(x->env.world);

    return rc != RC_OK && x->communicator && x->n_pending > 0 ? communicator_failure(x->communicator, rc) : rc;
}

void exchange_leave_out(struct exchange *x, bool is_left_out)
{
    assert(x->n_pending == 0);
    x->is_left_out = is_left_out;
}

bool exchange_overlaps(const struct exchange *x)
{
    return x->overlaps;
}

bool exchange_wants_segments(const struct exchange *x)
{
    return x->is_staged || x->overlaps;
}

struct exchange_cost exchange_cost(const struct exchange *x)
{
    return x->cost.sum;
}

struct period_counts exchange_counts(const struct exchange *x)
{
    return x->counts;
}
