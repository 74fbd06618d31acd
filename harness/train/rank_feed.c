/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_feed.c - --input feed: the driver's life, and what a worker has of it.
 *
 * The driver is the last rank of the world. All others train in a part of the world without it, in which nothing
 * knows of a driver; it shares another part with the workers, over which batches go.
 */
#include "data/feed.h"
#include "harness/net/transport.h"
#include "harness/train/job_accumulate.h"
#include "harness/train/job_split.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"
#include "models/engine/training.h"

static struct feed_env env_of(const struct rank *r)
{
    const struct train_job *job = r->job;

    return (struct feed_env){ .world = r->feed.world,
                              .max_batch = job_most_micro_batch(job),
                              .n_features = job->dataset->n_features,
                              .queue_batches = job->opts.feed_queue,
                              .timeout_ms = train_message_limit_ms(job) };
}

enum rc rank_feed_open(struct rank *r, struct world *all)
{
    const int driver = r->job->n_ranks;
    const bool is_driver = all->rank == driver, has_batches = is_driver || all->rank < r->job->n_workers;
    enum rc rc;

    r->feed.all = all;
    TRY(world_split(all, is_driver ? 1 : 0, all->rank, &r->feed.own));
    TRY(world_split(all, has_batches ? 0 : -1, all->rank, &r->feed.world));
    r->world = r->feed.own;
    r->feed.drives = is_driver;
    if (!has_batches)
        return RC_OK;
    const struct feed_env env = env_of(r);
    TRY(feed_transport_open(&r->feed.transport, r->job->feed_transport, &env));
    if (!is_driver) {
        const struct batch_order order = job_batch_order(r->job, all->rank);
        TRY(feed_client_open(&r->feed.client, r->feed.transport, &env, &order));
        r->feed.source = feed_client_source(r->feed.client);
    }
out:
    return rc;
}

/* What a worker reads for itself without a driver. */
static struct loader_env reads_of(void *arg, int worker)
{
    struct rank *r = arg;
    const bool has_part = r->job->split_opts.kind != SPLIT_IID;

    if (has_part)
        r->part = split_part(&r->job->split, worker);
    return (struct loader_env){ .dataset = r->job->dataset,
                                .part = has_part ? &r->part : NULL,
                                .seed = r->job->opts.seed,
                                .tick = world_tick_callback,
                                .tick_arg = r->feed.world };
}

enum rc rank_feed_drive(struct rank *r)
{
    struct feed_drive drive = { .t = r->feed.transport, .reads = reads_of, .arg = r };
    const struct feed_env env = env_of(r);
    enum rc rc;

    world_set_duty(r->feed.all, &(struct peer_duty){ PHASE_SERVE, -1, -1 });
    TRY(rank_needs_core(r));
    TRY(feed_drive(&drive, &env));
out:
    return rc;
}

void rank_note_input(struct rank *r, size_t step)
{
    const uint64_t waited_ns = network_data_waited_ns(r->training);
    const struct loader_wait wait = network_last_data_wait(r->training);
    struct step_stamp *stamp = &r->stamp[step];

    stamp->input_ns = waited_ns - r->input_waited_ns;
    r->input_waited_ns = waited_ns;
    if (stamp->input_ns == 0)
        return;
    const struct span s = { .start_ns = wait.start_ns,
                            .end_ns = wait.end_ns,
                            .what = "wait for input",
                            .segment = -1,
                            .step = (uint32_t)(r->job->resume.steps_count + step) };
    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
}

enum rc rank_feed_end(struct rank *r)
{
    return r->feed.client ? feed_client_end(r->feed.client) : RC_OK;
}

void rank_feed_close(struct rank *r)
{
    feed_client_close(&r->feed.client);
    transport_close(&r->feed.transport);
    world_split_close(&r->feed.world);
    world_split_close(&r->feed.own);
}
