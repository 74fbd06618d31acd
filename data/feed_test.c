/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed_test.c - what a worker gets from a driver is what it would read itself (data.V1), in whatever order it asks, and
 * the driver is never further ahead than the queue (data.V2). Bodies of ranks count failures; the main thread asserts.
 */
#include <stdlib.h>
#include <string.h>

#include "data/feed.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

enum { BATCH = 6, STRIDE = 24, SEED = 5, MAX_WORKERS = 3, MAX_ASKED = 12 };

struct script { /* what a worker asks for, one after the other */
    struct loader_want want[MAX_ASKED];
    int n;
};

struct table {
    const struct dataset *dataset;
    const struct dataset *driven; /* the driver's; NULL: the same */
    size_t queue_batches;
    uint64_t first; /* of the first step; read only with n_micro_batches */
    size_t n_micro_batches;
    struct script script[MAX_WORKERS];
    const struct dataset_part *part; /* of worker 1; NULL: all have all */
    bool shifts;                     /* a mutant: the driver reads from another sample on */
    _Atomic int n_wrong;
    uint64_t n_pushed; /* of the driver, in the end */
};

static struct loader_env reads_of(void *arg, int rank)
{
    const struct table *t = arg;

    return (struct loader_env){ .dataset = t->driven != NULL ? t->driven : t->dataset,
                                .part = rank == 1 ? t->part : NULL,
                                .seed = t->shifts ? SEED + 1 : SEED };
}

/* Does this batch hold the samples that the worker would read? */
static bool is_right(const struct table *t, int rank, const struct loader_want *want, const float *x,
                     const uint32_t *label)
{
    const struct loader_env env = { .dataset = t->dataset, .part = rank == 1 ? t->part : NULL, .seed = SEED };
    float own[BATCH * 64];
    uint32_t own_label[BATCH];

    return loader_read(&env, want, own, own_label) == RC_OK &&
           memcmp(x, own, want->n_samples * t->dataset->n_features * sizeof *x) == 0 &&
           memcmp(label, own_label, want->n_samples * sizeof *label) == 0;
}

static enum rc work(struct table *t, struct world *w, struct transport *transport, const struct feed_env *env)
{
    const struct script *s = &t->script[w->rank];
    const struct batch_order order = { t->first, STRIDE, t->n_micro_batches };
    struct feed_client *c = NULL;
    struct loader *l = NULL;
    enum rc rc;

    TRY(feed_client_open(&c, transport, env, &order));
    const struct loader_source source = feed_client_source(c);
    const struct loader_env loads = {
        .dataset = t->dataset, .seed = SEED, .max_batch = BATCH, .order = order, .source = &source, .prefetch = true
    };
    TRY(loader_open(&l, &loads));
    for (int i = 0; i < s->n; i++) {
        const struct loader_want *want = &s->want[i];
        const uint32_t *label;
        const float *x;
        TRY(want->is_test ? loader_test_batch(l, (size_t)want->first, want->n_samples, &x, &label)
                          : loader_batch(l, want->first, want->n_samples, &x, &label));
        t->n_wrong += !is_right(t, w->rank, want, x, label);
    }
    TRY(feed_client_end(c));
out:
    loader_close(&l);
    feed_client_close(&c);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct table *t = arg;
    const struct feed_env env = { .world = w,
                                  .max_batch = BATCH,
                                  .n_features = t->dataset->n_features,
                                  .queue_batches = t->queue_batches,
                                  .timeout_ms = 120000 };
    struct feed_drive drive = { .reads = reads_of, .arg = t };
    const struct transport_ops *zmq = NULL;
    struct transport *transport = NULL;
    enum rc rc;

    TRY(transport_find(&zmq, "zmq"));
    TRY(feed_transport_open(&transport, zmq, &env));
    drive.t = transport;
    if (w->rank < w->n_ranks - 1) {
        TRY(work(t, w, transport, &env));
    } else {
        TRY(feed_drive(&drive, &env));
        t->n_pushed = drive.n_pushed;
    }
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    transport_close(&transport);
    return rc;
}

static enum rc run(struct table *t, int n_workers)
{
    const struct world_opts opts = { .bind_cores = false };

    t->n_wrong = 0;
    return world_run(&world_threads, &opts, n_workers + 1, body, t);
}

static struct dataset *open_images(void)
{
    const struct synthetic_opts opts = { .C = 1, .H = 8, .W = 8, .n_classes = 4, .n_train = 50, .n_test = 13 };
    struct dataset *d = NULL;

    assert_int_equal(dataset_open_synthetic(&d, &opts, 3), RC_OK);
    return d;
}

static void steps(struct script *s, uint64_t first, int n)
{
    for (int i = 0; i < n; i++)
        s->want[s->n++] = (struct loader_want){ false, first + (uint64_t)i * STRIDE, BATCH };
}

/* Each worker's steps in turn, over the end of the data set, and test batches behind them, the last one short. */
UNIT_TEST(workers_get_what_they_would_read)
{
    struct dataset *d = open_images();

    for (size_t queue = 1; queue <= 5; queue += 2) {
        struct table t = { .dataset = d, .queue_batches = queue };
        for (int w = 0; w < MAX_WORKERS; w++)
            steps(&t.script[w], (uint64_t)w * BATCH, 8);
        for (int i = 0; i < 3; i++)
            t.script[0].want[t.script[0].n++] = (struct loader_want){ true, 6 * (uint64_t)i, i < 2 ? 6 : 1 };
        assert_int_equal(run(&t, MAX_WORKERS), RC_OK);
        assert_int_equal(t.n_wrong, 0);
        /* Worker 0's are received and dropped for its first test batch; all of the queue is granted by then. */
        assert_int_equal(t.n_pushed, MAX_WORKERS * (8 + queue) + 3);
    }
    dataset_close(&d);
}

UNIT_TEST(another_order)
{
    static const size_t index[] = { 7, 9, 40, 41, 42, 43, 3 };
    const struct dataset_part part = { .index = index, .n_samples = 7, .number = 1 };
    struct dataset *d = open_images();
    struct table t = { .dataset = d, .queue_batches = 3, .part = &part };

    steps(&t.script[0], 0, 2);
    t.script[0].want[t.script[0].n++] = (struct loader_want){ true, 2, 4 };
    steps(&t.script[0], 7 * STRIDE, 2);
    steps(&t.script[0], 7 * STRIDE, 1); /* back */
    t.script[0].want[t.script[0].n++] = (struct loader_want){ false, 8 * STRIDE, 2 };
    steps(&t.script[0], 9 * STRIDE, 1);
    steps(&t.script[1], 6, 4);
    assert_int_equal(run(&t, 2), RC_OK);
    assert_int_equal(t.n_wrong, 0);
    dataset_close(&d);
}

UNIT_TEST(no_batch_at_all)
{
    struct dataset *d = open_images();
    struct table t = { .dataset = d, .queue_batches = 2 };

    steps(&t.script[1], 0, 1);
    assert_int_equal(run(&t, 2), RC_OK);
    assert_int_equal(t.n_pushed, 3);
    dataset_close(&d);
}

static enum rc broken_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    (void)x;
    (void)channel_stride;
    return rc_raise(RC_INVAL, "a/file: offset %zu: of data set %s", i, d->name);
}

static uint32_t no_label(const struct dataset *d, size_t i)
{
    (void)d;
    (void)i;
    return 0;
}

/* What the driver cannot read ends the run with its message; nobody waits for it. */
UNIT_TEST(a_broken_file_ends_the_run)
{
    static const struct dataset_ops ops = { .image = broken_image, .label = no_label };
    struct dataset d = {
        .ops = &ops, .name = "broken", .n_train = 9, .n_features = 64, .n_classes = 2, .C = 1, .H = 8, .W = 8
    };
    struct table t = { .dataset = &d, .queue_batches = 2 };

    steps(&t.script[0], 0, 1);
    assert_int_equal(run(&t, 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "rank 1: a/file: offset"));
}

UNIT_TEST(a_driver_that_shifts_shows)
{
    struct dataset *d = open_images();
    struct table t = { .dataset = d, .queue_batches = 2, .shifts = true };

    steps(&t.script[0], 0, 3);
    assert_int_equal(run(&t, 1), RC_OK);
    assert_int_equal(t.n_wrong, 3);
    dataset_close(&d);
}

/* Steps of three micro-batches: none is pushed in vain but those granted behind the last. */
UNIT_TEST(micro_batches_come_in_their_order)
{
    struct dataset *d = open_images();

    for (size_t queue = 1; queue <= 5; queue += 2) {
        struct table t = { .dataset = d, .queue_batches = queue, .first = 5, .n_micro_batches = 3 };
        for (uint64_t step = 0; step < 3; step++)
            for (uint64_t part = 0; part < 3; part++)
                t.script[0].want[t.script[0].n++] =
                    (struct loader_want){ false, 5 + step * STRIDE + part * BATCH, BATCH };
        assert_int_equal(run(&t, 1), RC_OK);
        assert_int_equal(t.n_wrong, 0);
        assert_int_equal(t.n_pushed, 9 + queue);
    }
    dataset_close(&d);
}

/* A worker whose data set is longer than the driver's: the driver says which worker, and reads nothing outside. */
UNIT_TEST(grants_are_checked)
{
    struct dataset *d = open_images();
    struct dataset longer = *d;
    struct table t = { .dataset = &longer, .driven = d, .queue_batches = 1 };

    longer.n_test = 100;
    t.script[0].want[t.script[0].n++] = (struct loader_want){ true, 12, 2 };
    assert_int_equal(run(&t, 1), RC_MISMATCH);
    assert_names(rc_message(), "worker 0 ... 2 test samples ... 12 ... 13 ... 6");
    dataset_close(&d);
}

UNIT_MAIN("feed")
