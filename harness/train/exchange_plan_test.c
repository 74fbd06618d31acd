/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_plan_test.c - what is said of the exchange of a job: lenet has 13706 parameters, 54824 bytes, linear two. */
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/sync_allreduce.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/net/transport.h"
#include "harness/train/job_exchange.h"
#include "harness/train/suite/train_kit.h"
#include "harness/world/world.h"

#define CHANGES_NOTHING \
    " nothing: the gradients, 54824 bytes, are one chunk; give --bucket-bytes or --partition-bytes of less"

#define TWO_CHUNKS \
    "1 bucket, 2 chunks, overlap off (auto: was not measured to be faster with parameter servers), priority off"

static const struct {
    const char *options, *text, *useless;
    bool exchanges;
} CASES[] = {
    { "--model lenet --mode single", NULL, "", false },
    { "--model lenet --mode none --workers 2", NULL, "", false },
    { "--model lenet --mode allreduce", "all gradients at once, overlap off", "", false },
    { "--model lenet --mode allreduce --workers 2", "all gradients at once, overlap off", "", true },
    { "--model lenet --mode allreduce --workers 2 --omit shard", "all gradients at once, overlap off", "", true },
    { "--model lenet --mode allreduce --workers 2 --omit average --overlap on", NULL, "", false },
    { "--model lenet --mode ps", "all gradients at once, overlap off", "", true },
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 64Ki --overlap on",
      "all gradients at once, overlap on", "--overlap on changes" CHANGES_NOTHING, true },
    { "--model lenet --mode ps --priority on", "all gradients at once, overlap off, priority on",
      "--priority on changes" CHANGES_NOTHING, true },
    { "--model lenet --mode ps --priority on --overlap on", "all gradients at once, overlap on, priority on",
      "--overlap on and --priority on change" CHANGES_NOTHING, true },
    { "--model linear --mode allreduce --workers 2 --overlap on", "all gradients at once, overlap on",
      "--overlap on changes nothing: the gradients, 8 bytes, are one chunk; give --partition-bytes of less", true },
    { "--model linear --mode allreduce --workers 2 --overlap on --partition-bytes 4",
      "1 bucket, 2 chunks, overlap on, priority off", "", true },
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 8Ki --overlap on --priority on",
      "5 buckets, 5 chunks, overlap on, priority on", "", true },
    { "--model lenet --mode allreduce --workers 2 --partition-bytes 54824", "all gradients at once, overlap off",
      "--partition-bytes 54824 changes nothing: the largest bucket has 54824 bytes; give less", true },
    { "--model lenet --mode allreduce --workers 2 --partition-bytes 54820",
      "1 bucket, 2 chunks, overlap off (auto: all workers are on one host), priority off", "", true },
    { "--model lenet --mode allreduce --workers 2 --partition-bytes 54820 --overlap off --priority on",
      "1 bucket, 2 chunks, overlap off, priority on", "", true },
    { "--model lenet --mode allreduce --workers 2 --overlap on --partition-bytes 1Mi",
      "all gradients at once, overlap on", "--overlap on changes" CHANGES_NOTHING, true },
    { "--model lenet --mode allreduce --workers 2 --compression topk:0.49", "all gradients at once, overlap off", "",
      true },
    { "--model lenet --mode allreduce --workers 4 --compression topk:0.25", "all gradients at once, overlap off",
      "--compression topk:0.25 saves nothing: the pairs of 4 workers are 82248 bytes for each to send, gradients as "
      "they "
      "are 82236; give a smaller part",
      true },
    { "--model lenet --mode ps --workers 4 --compression topk:0.5", "all gradients at once, overlap off", "", true },
    /* resnet8 has 312,168 bytes */
    { "--model resnet8 --mode ps --transport tcp", TWO_CHUNKS, "", true },
    { "--model resnet8 --mode ps --transport shm --compression bf16", TWO_CHUNKS, "", true },
    { "--model resnet8 --mode ps --transport tcp --compression topk:0.1", "all gradients at once, overlap off", "",
      true },
    { "--model resnet8 --mode ps --transport inproc", "all gradients at once, overlap off", "", true },
    { "--model resnet8 --mode ps --world sim", "all gradients at once, overlap off", "", true },
    { "--model resnet8 --mode ps --transport tcp --partition-bytes 1Gi", "all gradients at once, overlap off", "",
      true },
    { "--model resnet8 --mode allreduce --workers 2", "all gradients at once, overlap off", "", true },
    /* the largest layer of lenet, 32,768 bytes, is a bucket of its own */
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 8Ki --partition-bytes 32768",
      "5 buckets, 5 chunks, overlap off (auto: all workers are on one host), priority off",
      "--partition-bytes 32768 changes nothing: the largest bucket has 32768 bytes; give less", true },
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 8Ki --partition-bytes 32764",
      "5 buckets, 6 chunks, overlap off (auto: all workers are on one host), priority off", "", true },
};

UNIT_TEST(what_is_said)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[256], useless[USELESS_EXCHANGE_BYTES];
        struct train_job job = { 0 };
        if (kit_prepare(&job, CASES[i].options) != RC_OK)
            fail_msg("%s: %s", CASES[i].options, rc_message());
        assert_int_equal(train_exchanges(&job), CASES[i].exchanges);
        assert_int_equal(train_useless_exchange(useless, sizeof useless, &job), RC_OK);
        assert_string_equal(useless, CASES[i].useless);
        if (CASES[i].text) {
            const struct overlap_choice chosen = job_overlap_choose(&job, 1, true, NULL);
            assert_int_equal(train_exchange_text(text, sizeof text, &job, &chosen), RC_OK);
            assert_string_equal(text, CASES[i].text);
        }
        train_job_free(&job);
    }
}

UNIT_TEST(a_choice_is_said_with_its_reason)
{
    struct train_job job = { 0 };
    char text[256];

    assert_int_equal(
        kit_prepare(&job, "--model lenet --world sim --mode allreduce --workers 3 --partition-bytes 54820"), RC_OK);
    const struct overlap_choice chosen = job_overlap_choose(&job, 3, true, NULL);
    assert_int_equal(train_exchange_text(text, sizeof text, &job, &chosen), RC_OK);
    assert_string_equal(text, "1 bucket, 2 chunks, overlap on (auto: workers are on 3 hosts), priority on");
    train_job_free(&job);
}

UNIT_TEST(chunks_at_once_are_said)
{
    static const char *const texts[] = { "1 bucket, 4 chunks, overlap off, priority off",
                                         "1 bucket, 4 chunks, one after the other, overlap off, priority off",
                                         "1 bucket, 4 chunks, 2 at once, overlap off, priority off" };
    struct train_job job = { 0 };
    char text[256];

    assert_int_equal(kit_prepare(&job, "--model lenet --mode ps --overlap off --partition-bytes 16Ki"), RC_OK);
    for (int n = 0; n < 3; n++) {
        const struct overlap_choice chosen = { .n_in_flight = n };
        assert_int_equal(train_exchange_text(text, sizeof text, &job, &chosen), RC_OK);
        assert_string_equal(text, texts[n]);
    }
    train_job_free(&job);
}

/*
 * An exchange of parameters that all workers have and of shards (exchange.E14): values known
 * beforehand, and who is found to have another plan.
 *
 * usage: exchange_shard_test
 */

enum { N_RANKS = 6, N_SHARDS = 2, N_COMMON = 14, N_STEPS = 2 };

struct plan {
    struct bucket_opts buckets;
    int odd_rank; /* has another layout of ... */
    bool is_of_common;
    bool overlap, priority;
};

struct place {
    const struct plan *plan;
    struct world *w, *same;
    struct compute *compute;
    struct exchange *x;
    struct segment layout[3];
    int shard, group;
    size_t n_params;
};

/* Shard 0 has 5 parameters more, shard 1 has 8. */
static void lay_out(struct place *p)
{
    const bool is_odd = p->w->rank == p->plan->odd_rank;
    const size_t n_own = p->shard == 0 ? 5 : 8, n_first = is_odd && p->plan->is_of_common ? 9 : 4;

    p->layout[0] = (struct segment){ 0, n_first };
    p->layout[1] = (struct segment){ n_first, N_COMMON - n_first };
    p->layout[2] = (struct segment){ N_COMMON, n_own + (is_odd && !p->plan->is_of_common ? 1 : 0) };
    p->n_params = N_COMMON + p->layout[2].n_elems;
}

static enum rc open_place(struct place *p)
{
    const struct collective_ops *ring = NULL;
    const struct transport_ops *inproc = NULL;
    enum rc rc;

    TRY(world_split(p->w, p->shard, p->w->rank, &p->same));
    lay_out(p);
    TRY(compute_open(&p->compute, &compute_cpu, &(struct compute_env){ .n_threads = 1 }));
    TRY(collective_find(&ring, &collective_kind, "ring"));
    TRY(transport_find(&inproc, "inproc"));
    const struct exchange_shard shard = { p->same, N_COMMON };
    const struct exchange_env env = {
        .world = p->w,
        .compute = p->compute,
        .mode = &sync_allreduce,
        .transport = inproc,
        .collective = ring,
        .segment = p->layout,
        .n_segments = 3,
        .n_workers = N_RANKS,
        .shard = &shard,
        .opts = { .buckets = p->plan->buckets, .overlap = p->plan->overlap, .priority = p->plan->priority },
        .timeout_ms = 120000
    };
    TRY(exchange_open(&p->x, &env));
out:
    return rc;
}

/* What rank r begins with: of the common ones rank 0's count, of shards each rank's own, which are equal. */
static float initial(const struct place *p, size_t i)
{
    return i < N_COMMON ? (float)(100 * p->w->rank) + (float)i : (float)(1000 * (p->shard + 1)) + (float)i;
}

/* Gradients are 6 (rank + 1): of a common one the mean over 6 ranks is 21; of shard 0 the ranks are 0, 2 and 4, whose
 * sum of 54 is divided by 6, too; of shard 1 1, 3 and 5, of 72. */
static float expected(const struct place *p, size_t i)
{
    const float step = i < N_COMMON ? 21.0f : p->shard == 0 ? 9.0f : 12.0f;

    return (i < N_COMMON ? (float)i : (float)(1000 * (p->shard + 1)) + (float)i) - (float)N_STEPS * step;
}

/* Each rank at times of its own, so that some are at the chunks of their shard while others are at common ones. */
static enum rc submit(struct place *p, int step, uint64_t now_ns)
{
    enum rc rc = RC_OK;

    if (!exchange_wants_segments(p->x))
        TRY(exchange_submit(p->x, NULL, now_ns));
    for (int s = 2; exchange_wants_segments(p->x) && s >= 0; s--) {
        world_pause(p->w, 100000 * (uint64_t)((p->w->rank + 2 * step + 3 * s) % 4));
        TRY(exchange_submit(p->x, &p->layout[s], 0));
    }
out:
    return rc;
}

static enum rc train(struct place *p)
{
    uint64_t now_ns = 0;
    enum rc rc;

    for (size_t i = 0; i < p->n_params; i++)
        exchange_param(p->x)[i] = initial(p, i);
    TRY(exchange_start(p->x, &(struct initial_state){ .n_running = 0 }));
    for (int step = 0; step < N_STEPS; step++) {
        TRY(exchange_begin(p->x, (uint64_t)step, 1.0f));
        for (size_t i = 0; i < p->n_params; i++)
            exchange_grad(p->x)[i] = 6.0f * (float)(p->w->rank + 1);
        now_ns = world_now_ns(p->w);
        TRY(submit(p, step, now_ns));
        TRY(exchange_await_all(p->x, &now_ns));
    }
    for (size_t i = 0; i < p->n_params; i++)
        if (exchange_param(p->x)[i] != expected(p, i))
            FAIL(RC_BUG, "rank %d: parameter %zu is %g, not %g", p->w->rank, i, (double)exchange_param(p->x)[i],
                 (double)expected(p, i));
    /* one step: what it predicts */
    if (exchange_sent_bytes(p->x) != N_STEPS * exchange_full_bytes(p->x))
        FAIL(RC_BUG, "rank %d has sent %llu bytes, not twice %llu", p->w->rank,
             (unsigned long long)exchange_sent_bytes(p->x), (unsigned long long)exchange_full_bytes(p->x));
    TRY(exchange_final(p->x, NULL));
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct place p = { .plan = arg, .w = w, .shard = w->rank % N_SHARDS, .group = w->rank / N_SHARDS };
    enum rc rc;

    TRY(open_place(&p));
    TRY(train(&p));
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    exchange_close(&p.x);
    compute_close(&p.compute);
    world_split_close(&p.same);
    return rc;
}

static enum rc run(struct plan plan)
{
    const struct world_opts opts = { .bind_cores = false };
    const struct world_ops *threads = NULL;

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    return world_run(threads, &opts, N_RANKS, body, &plan);
}

UNIT_TEST(sums_are_over_those_that_have_them)
{
    static const struct bucket_opts buckets[] = { { 0, 0 }, { 4, 0 }, { 0, 12 }, { 60, 20 } };

    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++)
        for (int overlap = 0; overlap < 2; overlap++)
            if (run((struct plan){ .buckets = buckets[i], .odd_rank = -1, .overlap = overlap }) != RC_OK)
                fail_msg("plan %zu, overlap %d: %s", i, overlap, rc_message());
}

/* Both shards are 2 chunks of 16 bytes, or of 12 bytes 2 and 3. */
UNIT_TEST(an_order_of_worker_0_is_of_equally_many_chunks)
{
    struct plan plan = { .buckets = { 0, 16 }, .odd_rank = -1, .overlap = true, .priority = true };

    if (run(plan) != RC_OK)
        fail_msg("%s", rc_message());
    plan.buckets.partition_bytes = 12;
    assert_int_equal(run(plan), RC_MISMATCH);
    if (!strstr(rc_message(), "rank 1 has a shard of another number of chunks than rank 0, 8 in all and not 7: with "
                              "overlap and priority worker 0 orders those of all"))
        fail_msg("%s", rc_message());
    plan.overlap = false; /* then nobody orders */
    assert_int_equal(run(plan), RC_OK);
}

UNIT_TEST(other_plans_are_found)
{
    static const struct bucket_opts by_segments = { 4, 0 };

    assert_int_equal(run((struct plan){ .buckets = by_segments, .odd_rank = 3, .is_of_common = true }), RC_MISMATCH);
    if (!strstr(rc_message(), "rank 3 cuts the gradients into 2 chunks, rank 0 into 2, or elsewhere"))
        fail_msg("%s", rc_message());
    assert_int_equal(run((struct plan){ .buckets = by_segments, .odd_rank = 3 }),
                     RC_MISMATCH); /* the second one of shard 1 */
    if (!strstr(rc_message(), "of the ranks with one shard number 1 cuts it in another way than number 0"))
        fail_msg("%s", rc_message());
}

UNIT_MAIN("exchange_plan")
