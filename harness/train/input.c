/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - the source of the workers' samples: --input; see input.h. */
#include "harness/train/input.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset.h"
#include "data/feed.h"
#include "harness/net/transport.h"
#include "harness/train/job_batch.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"
#include "models/engine/training.h"

/* --- --data --- */

static enum rc open_path(struct dataset **out, const char *path)
{
    char why[RC_MESSAGE_BYTES];
    const enum rc rc = dataset_open_path(out, path);

    if (rc == RC_OK)
        return RC_OK;
    snprintf(why, sizeof why, "%s", rc_message());
    const struct dataset_source *built_in = access(path, F_OK) == 0 ? NULL : dataset_source_find(path);
    return rc_raise(rc, "--data: %.400s%s", why, built_in ? "; for built-in images leave --data out" : "");
}

enum rc file_data_open(struct dataset **out, const char *path, uint64_t *image_size, uint64_t *classes)
{
    const struct dataset *d;
    enum rc rc;

    TRY(open_path(out, path));
    d = *out;
    if (d->C == 0)
        FAIL(RC_INVAL, "--data %s: holds no images", path);
    if (d->H != d->W)
        FAIL(RC_INVAL, "--data %s: images of %d x %d; networks here take squares", path, d->H, d->W);
    if (*image_size == 0)
        *image_size = (uint64_t)d->H;
    if (*classes == 0)
        *classes = d->n_classes;
out:
    return rc;
}

enum rc file_data_check(const struct dataset *d, const char *path, const struct network *n)
{
    if (d->C != n->C_in)
        return rc_raise(RC_INVAL,
                        "--data %s: images of %d channel%s, but model %s takes %d; choose another --model, or "
                        "pack pictures with gradmark pack --channels %d",
                        path, d->C, d->C == 1 ? "" : "s", n->name, n->C_in, n->C_in);
    if (d->H != n->opts.image_size)
        return rc_raise(RC_INVAL,
                        "--image-size %d: images of %s are %d x %d; leave out --image-size, pack pictures again with "
                        "gradmark pack --image-size %d, or use --data synthetic",
                        n->opts.image_size, path, d->H, d->W, n->opts.image_size);
    if (d->n_classes > (size_t)n->opts.n_classes)
        return rc_raise(RC_INVAL, "--classes %d: %s has labels up to %zu", n->opts.n_classes, path, d->n_classes - 1);
    return RC_OK;
}

/* --- --input --- */

int train_n_drivers(const char *input)
{
    return strcmp(input, "feed") == 0;
}

enum rc job_input_resolve(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    enum rc rc = RC_OK;

    job->n_drivers = train_n_drivers(o->input);
    if (job->n_drivers == 0)
        return RC_OK;
    if (job->world->module.caps & WORLD_VIRTUAL_TIME)
        FAIL(RC_INVAL,
             "--input feed: in world %s reading samples takes no time, and no cluster has a place for the driver; "
             "use direct",
             o->world);
    if (strcmp(o->on_loss, "abort") != 0)
        FAIL(RC_INVAL, "--input feed: the driver ends with the first rank that is lost; needs --on-loss abort");
    const char *transport = transport_auto(&job->world->module, TR_ASYNC); /* batches come while workers compute */
    if (!transport)
        FAIL(RC_UNSUPPORTED, "--input feed: no transport of this program can carry batches in world %s", o->world);
    TRY(transport_find(&job->feed_transport, transport));
    TRY(module_check_world(&transport_kind, &job->feed_transport->module, &world_kind, &job->world->module));
out:
    return rc;
}

enum rc job_input_check(const struct train_job *job)
{
    const char *input = job->opts.input;

    if (strcmp(input, "direct") == 0)
        return RC_OK;
    if (!job->workload->network)
        return rc_raise(RC_INVAL, "--input %s: model %s %s", input, job->opts.model,
                        job->profile ? "repeats recorded times; it reads no samples"
                                     : "computes its samples from --seed, and reads none");
    return RC_OK;
}

/* --input synthetic: made-up images in the shape of the files', so that a step reads no file. */
enum rc job_input_replace(struct train_job *job)
{
    const struct dataset *d = job->dataset;
    const struct synthetic_opts opts = {
        .C = d->C, .H = d->H, .W = d->W, .n_classes = (int)d->n_classes, .n_train = d->n_train, .n_test = d->n_test
    };
    struct dataset *made = NULL;
    enum rc rc;

    TRY(dataset_open_synthetic(&made, &opts, job->opts.seed));
    dataset_close(&job->dataset);
    job->dataset = made;
out:
    return rc;
}

size_t job_input_driver_bytes(const struct train_job *job)
{
    const size_t n_samples = job_most_micro_batch(job), n_queued = (size_t)job->n_workers * TRAIN_FEED_QUEUE;
    const size_t sample_bytes = job->dataset ? job->dataset->n_features * sizeof(float) + sizeof(uint32_t) : 0;

    return job->n_drivers > 0 ? (n_queued + 1) * n_samples * sample_bytes : 0;
}

/*
 * --input feed: the driver's life, and what a worker has of it.
 *
 * The driver is the last rank of the world. All others train in a part of the world without it, in which nothing
 * knows of a driver; it shares another part with the workers, over which batches go.
 */

static struct feed_env env_of(const struct rank *r)
{
    const struct train_job *job = r->job;

    return (struct feed_env){ .world = r->feed.world,
                              .max_batch = job_most_micro_batch(job),
                              .n_features = job->dataset->n_features,
                              .queue_batches = TRAIN_FEED_QUEUE,
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

static enum rc begin_wait(struct rank *r, size_t step)
{
    (void)step;
    r->input_waited_ns = network_data_waited_ns(r->training);
    return RC_OK;
}

/* How long the step has waited for its samples: into its stamp and the timeline. */
static enum rc note_wait(struct rank *r, size_t step)
{
    const uint64_t waited_ns = network_data_waited_ns(r->training);
    const struct loader_wait wait = network_last_data_wait(r->training);
    struct step_stamp *stamp = &r->stamp[step];

    stamp->input_ns = waited_ns - r->input_waited_ns;
    if (stamp->input_ns == 0)
        return RC_OK;
    const struct span s = { .start_ns = wait.start_ns,
                            .end_ns = wait.end_ns,
                            .what = "wait for input",
                            .segment = -1,
                            .step = (uint32_t)(r->job->resume.steps_count + step) };
    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
    return RC_OK;
}

const struct step_hook hook_input = { .name = "input", .at = { [BEFORE_STEP] = begin_wait, [AFTER_STEP] = note_wait } };

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
