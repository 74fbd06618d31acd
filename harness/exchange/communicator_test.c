/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communicator_test.c - exchange.Y2, Y3: which chunk a communicator takes, and when, by the clock of the sim
 * world.
 *
 * Four segments are four chunks, of which 0 is the last segment and 3 the first. A worker submits them at 0, 100, 250
 * and 1000 us; the work on each takes what the case says, which passes of several at once.
 */
#include <stdio.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/communicator.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_CHUNKS = 4 };

#define US UINT64_C(1000)

static const uint64_t submitted_us[N_CHUNKS] = { 0, 100, 250, 1000 };

struct done { /* chunk and when its work began */
    size_t chunk;
    uint64_t start_us;
};

static const struct communicator_case {
    const char *name;
    bool by_priority;
    int n_workers; /* more than 1: in the order of worker 0's; the others submit late_us later */
    uint64_t late_us;
    uint64_t work_us;
    size_t most_posted;
    struct done want[N_CHUNKS]; /* of worker 0 */
} cases[] = {
    { "by_priority", true, 1, 0, 200, 1, { { 0, 0 }, { 1, 200 }, { 2, 400 }, { 3, 1000 } } },
    { "oldest_first", false, 1, 0, 200, 1, { { 0, 0 }, { 1, 200 }, { 2, 400 }, { 3, 1000 } } },
    { "order_of_worker_0", true, 3, 70, 200, 1, { { 0, 0 }, { 1, 200 }, { 2, 400 }, { 3, 1000 } } },
    { "one_at_a_time", false, 1, 0, 1100, 1, { { 0, 0 }, { 1, 1100 }, { 2, 2200 }, { 3, 3300 } } },
    { "two_at_once", false, 1, 0, 1100, 2, { { 0, 0 }, { 1, 1100 }, { 2, 1100 }, { 3, 2200 } } },
    { "three_at_once", false, 1, 0, 1100, 3, { { 0, 0 }, { 1, 1100 }, { 2, 1100 }, { 3, 1100 } } },
    { "two_at_once_by_priority", true, 1, 0, 1100, 2, { { 0, 0 }, { 3, 1100 }, { 2, 1100 }, { 1, 2200 } } },
    { "at_once_while_idle", true, 1, 0, 400, 8, { { 0, 0 }, { 2, 400 }, { 1, 400 }, { 3, 1000 } } },
};

struct play {
    const struct communicator_case *c;
    int n_failures;
};

struct rank_play { /* of one rank */
    struct world *world;
    const struct communicator_case *c;
    struct done did[N_CHUNKS];
    size_t n_posted, n_completed, n_at_once; /* the most */
};

static enum rc post(void *arg, size_t chunk)
{
    struct rank_play *p = arg;

    p->did[p->n_posted++] = (struct done){ chunk, world_now_ns(p->world) / US };
    p->n_at_once = p->n_posted - p->n_completed > p->n_at_once ? p->n_posted - p->n_completed : p->n_at_once;
    return RC_OK;
}

static enum rc complete(void *arg, size_t *out)
{
    struct rank_play *p = arg;
    const struct done *first = &p->did[p->n_completed++];
    const uint64_t end_ns = (first->start_us + (p->c->work_us > 0 ? p->c->work_us : 200)) * US;
    const uint64_t now_ns = world_now_ns(p->world);

    if (p->n_completed > p->n_posted)
        return rc_raise(RC_BUG, "nothing is posted that could be completed");
    if (end_ns > now_ns)
        world_pause(p->world, end_ns - now_ns);
    *out = first->chunk;
    return RC_OK;
}

/* Worker 0: as wanted, to the microsecond. The others: the same chunks, each when its number has come, which takes
 * the link's 25 us, the chunk was submitted here, and the work on the chunk before is done. */
static int check(const struct communicator_case *c, const struct rank_play *p)
{
    const int rank = p->world->rank;
    const uint64_t told_us = rank == 0 ? 0 : 25;
    int n_failures = 0;

    for (size_t i = 0; i < N_CHUNKS; i++) {
        const uint64_t at_us = p->did[i].start_us, come_us = c->want[i].start_us + told_us;
        const uint64_t here_us = submitted_us[c->want[i].chunk] + (rank > 0 ? c->late_us : 0);
        const uint64_t free_us = rank > 0 && i > 0 ? p->did[i - 1].start_us + c->work_us : 0;
        uint64_t want_us = come_us > here_us ? come_us : here_us;
        want_us = want_us > free_us ? want_us : free_us;
        if (p->did[i].chunk != c->want[i].chunk || at_us != want_us) {
            fprintf(stderr, "%s: worker %d took chunk %zu at %llu us, not %zu at %llu\n", c->name, rank,
                    p->did[i].chunk, (unsigned long long)at_us, c->want[i].chunk, (unsigned long long)want_us);
            n_failures++;
        }
    }
    if (p->n_at_once > c->most_posted) {
        fprintf(stderr, "%s: %zu chunks were posted and not completed\n", c->name, p->n_at_once);
        n_failures++;
    }
    return n_failures;
}

static enum rc submit_all(const struct communicator_case *c, struct world *w, struct communicator *communicator)
{
    const uint64_t late_ns = w->rank > 0 ? c->late_us * US : 0;
    size_t chunk;
    enum rc rc = RC_OK;

    for (size_t k = 0; k < N_CHUNKS; k++) {
        const uint64_t now_ns = world_now_ns(w), at_ns = submitted_us[k] * US + late_ns;
        if (at_ns > now_ns)
            world_pause(w, at_ns - now_ns);
        communicator_submit(communicator, k);
    }
    for (size_t k = 0; k < N_CHUNKS; k++) { /* exchange.Y2: as they were posted */
        TRY(communicator_wait(communicator, &chunk));
        if (w->rank == 0 && chunk != c->want[k].chunk)
            FAIL(RC_MISMATCH, "chunk %zu was handed back where %zu was posted", chunk, c->want[k].chunk);
    }
    TRY(communicator_finish(communicator));
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    static const struct segment layout[N_CHUNKS] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 } };
    const struct bucket_opts one_each = { .bucket_bytes = sizeof(float) };
    struct play *play = arg;
    struct rank_play own = { .world = w, .c = play->c };
    struct buckets buckets = { 0 };
    struct transport *transport = NULL;
    struct communicator *communicator = NULL;
    const struct transport_ops *sim;
    enum rc rc;

    TRY(transport_find(&sim, "sim"));
    TRY(transport_open(&transport, sim, w));
    TRY(buckets_open(&buckets, layout, N_CHUNKS, &one_each));
    const struct communicator_env env = { .world = w,
                                          .buckets = &buckets,
                                          .by_priority = play->c->by_priority,
                                          .is_ordered = play->c->n_workers > 1,
                                          .transport = transport,
                                          .n_workers = play->c->n_workers,
                                          .most_posted = play->c->most_posted,
                                          .post = post,
                                          .complete = complete,
                                          .arg = &own };
    TRY(communicator_open(&communicator, &env));
    TRY(submit_all(play->c, w, communicator));
    play->n_failures += check(play->c, &own);
out:
    communicator_close(&communicator);
    transport_close(&transport);
    buckets_close(&buckets);
    return rc;
}

int main(void)
{
    const struct world_ops *sim = NULL;
    struct play play = { .n_failures = 0 };
    struct cluster cluster;
    enum rc rc;

    cluster_default(&cluster);
    const struct world_opts opts = { .cluster = &cluster, .has_tasks = true };
    TRY(world_find(&sim, "sim"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        play.c = &cases[i];
        TRY(world_run(sim, &opts, play.c->n_workers, body, &play));
    }
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    return rc != RC_OK || play.n_failures > 0;
}
