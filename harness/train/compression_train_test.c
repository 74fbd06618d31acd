/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compression_train_test.c - whole trainings with --compression: bytes to the last one, equal bits whatever the world
 * and the timing, what is refused, and that they learn. What a step computes: exchange_suite.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/job_exchange.h"
#include "harness/train/suite/train_kit.h"
#include "ps/wire.h"

enum { STEPS = 6, N_PARAMS = 13706, N_PAIRS = 138 }; /* of lenet on 8 x 8 digits; 1 % of these */

static void run(struct train_result *out, const char *compression, const char *way)
{
    char options[320];

    (void)snprintf(options, sizeof options, "--model lenet --batch 4 --steps %d --compression %s %s", STEPS,
                   compression, way);
    kit_must_train(out, options);
}

/* Each of two workers of a ring sends as many elements as there are, of topk its pairs. */
UNIT_TEST(a_ring_sends_so_many_bytes)
{
    static const struct {
        const char *compression;
        uint64_t step_bytes;
    } all[] = {
        { "none", 4 * N_PARAMS }, { "fp16", 2 * N_PARAMS }, { "bf16", 2 * N_PARAMS }, { "topk:0.01", 8 * N_PAIRS }
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct train_result r;
        run(&r, all[i].compression, "--mode allreduce --workers 2");
        for (int w = 0; w < 2; w++) {
            assert_int_equal(r.rank[w].sent_bytes, STEPS * all[i].step_bytes);
            assert_int_equal(r.rank[w].full_bytes, 4 * N_PARAMS);
        }
        train_result_free(&r);
    }
}

/* Two chunks, two servers with 6853 parameters each; answers are whole. */
UNIT_TEST(workers_push_less_and_servers_answer_in_full)
{
    static const struct {
        const char *compression;
        uint64_t body_bytes;
    } all[] = { { "none", 4 * N_PARAMS }, { "fp16", 2 * N_PARAMS }, { "bf16", 2 * N_PARAMS } };
    const uint64_t headers_bytes = 2 * PS_HEADER_BYTES;
    struct train_result r;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        run(&r, all[i].compression, "--mode ps --workers 2 --servers 2");
        for (int w = 0; w < 2; w++) {
            assert_int_equal(r.rank[w].sent_bytes, STEPS * (headers_bytes + all[i].body_bytes));
            assert_int_equal(r.rank[w].full_bytes, headers_bytes + 4 * N_PARAMS);
        }
        for (int s = 2; s < 4; s++)
            assert_true(r.rank[s].sent_bytes >= STEPS * r.rank[s].full_bytes); /* and the state at the end */
        train_result_free(&r);
    }
    run(&r, "topk:0.01", "--mode ps --workers 2 --servers 2");
    for (int w = 0; w < 2; w++)
        assert_true(r.rank[w].sent_bytes <= STEPS * (headers_bytes + 8 * N_PAIRS) &&
                    r.rank[w].sent_bytes > STEPS * (headers_bytes + 8 * N_PAIRS) * 9 / 10);
    train_result_free(&r);
}

static void expect_same_bits(const struct train_result *a, const struct train_result *b, const char *what)
{
    if (memcmp(a->final.param, b->final.param, N_PARAMS * sizeof *a->final.param) != 0)
        fail_msg("%s: other bits, %g apart", what, kit_distance(a, b));
}

static const char *given; /* the compression that the program is told */

UNIT_TEST_OF("given", bits_do_not_depend_on_timing_or_world)
{
    static const char *const ways[] = { "--overlap on", "--overlap on --priority on", "--transport zmq", "--world sim",
                                        "--threads 2" };
    static const char plan[] = "--mode allreduce --workers 3 --bucket-bytes 8Ki --partition-bytes 4Ki";
    struct train_result plain, none, other;
    char way[256];

    run(&plain, given, plan);
    run(&none, "none", plan);
    assert_true(kit_distance(&plain, &none) > 0);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        (void)snprintf(way, sizeof way, "%s %s", plan, ways[k]);
        run(&other, given, way);
        expect_same_bits(&other, &plain, ways[k]);
        assert_int_equal(other.rank[1].sent_bytes, plain.rank[1].sent_bytes);
        train_result_free(&other);
    }
    train_result_free(&plain);
    train_result_free(&none);
}

/* Of one worker both modes update by what it sends; of several with sync both by the sum of their pairs. */
UNIT_TEST(servers_get_what_an_allreduce_sums)
{
    static const struct {
        const char *compression, *allreduce, *ps;
    } all[] = {
        { "fp16", "--mode allreduce --workers 1", "--mode ps --workers 1" },
        { "bf16", "--mode allreduce --workers 1", "--mode ps --workers 1 --servers 3 --placement chunk:100" },
        { "topk:0.1", "--mode allreduce --workers 1", "--mode ps --workers 1 --servers 3 --placement round-robin" },
        { "topk:0.1", "--mode allreduce --workers 3", "--mode ps --workers 3 --consistency sync" },
        { "topk:0.1", "--mode allreduce --workers 3 --reducer root",
          "--mode ps --workers 3 --servers 2 --consistency sync --placement whole" },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct train_result allreduce, ps;
        run(&allreduce, all[i].compression, all[i].allreduce);
        run(&ps, all[i].compression, all[i].ps);
        expect_same_bits(&ps, &allreduce, all[i].ps);
        train_result_free(&allreduce);
        train_result_free(&ps);
    }
}

UNIT_TEST(it_learns_all_the_same)
{
    static const char *const compression[] = { "fp16", "bf16", "topk:0.1" };
    struct train_result none, r;

    kit_must_train(&none, "--model lenet --steps 300 --mode allreduce --workers 2");
    assert_true(none.evaluation.accuracy_ratio > 0.95);
    for (size_t i = 0; i < sizeof compression / sizeof *compression; i++) {
        char options[128];
        (void)snprintf(options, sizeof options,
                       "--model lenet --steps 300 --mode allreduce --workers 2 --compression %s", compression[i]);
        kit_must_train(&r, options);
        if (r.evaluation.accuracy_ratio < none.evaluation.accuracy_ratio - 0.02)
            fail_msg("%s: accuracy %g, %g without", compression[i], r.evaluation.accuracy_ratio,
                     none.evaluation.accuracy_ratio);
        train_result_free(&r);
    }
    train_result_free(&none);
}

UNIT_TEST(what_it_does_not_go_with_is_refused)
{
    static const struct {
        const char *options, *says;
    } bad[] = {
        { "--mode allreduce --workers 2 --compression fp61", "must be none, fp16, bf16 or topk:F; did you mean fp16?" },
        { "--mode allreduce --workers 2 --compression topk:0.9", "above 0, and at most 0.5" },
        { "--mode none --workers 2 --compression fp16", "--compression" },
        { "--mode allreduce --workers 2 --compression fp16 --reducer shm",
          "--compression fp16: reducer shm has no messages of 16 bits; " },
        { "--mode allreduce --workers 2 --compression topk:0.1 --reducer shm", "sends no message" },
        { "--mode allreduce --workers 2 --compression topk:0.1 --reducer hierarchical",
          "--compression topk:0.1: reducer hierarchical has no allgather; " },
        { "--mode allreduce --workers 2 --compression bf16 --save x", "a checkpoint does not contain that" },
        { "--mode ps --workers 2 --compression topk:0.1 --resume x", "a checkpoint does not contain that" },
        { "--mode allreduce --workers 2 --compression bf16 --average-every 2", "--average-every sends parameters" },
        { "--mode allreduce --workers 2 --compression bf16 --omit average", "--omit average sends nothing" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char options[256];
        struct train_job job = { 0 };
        (void)snprintf(options, sizeof options, "--model lenet --steps 10 %s", bad[i].options);
        const enum rc rc = kit_prepare(&job, options);
        if (rc == RC_OK || !strstr(rc_message(), bad[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", options, rc_message(), bad[i].says);
        train_job_free(&job);
    }
}

/* The text says what the records say: the mean of workers, and the ratio to all of it. */
UNIT_TEST(the_row_has_bytes_and_ratio)
{
    struct train_rank_info rank[3] = { { .sent_bytes = 50000, .full_bytes = 10000 },
                                       { .sent_bytes = 30000, .full_bytes = 10000 } };
    struct train_result r = { .n_workers = 2, .n_ranks = 2, .n_steps = 10, .rank = rank };
    char text[COMPRESSION_ROW_BYTES];
    struct train_job job;

    assert_int_equal(
        kit_prepare(&job, "--model lenet --mode allreduce --workers 2 --steps 10 --compression topk:0.125"), RC_OK);
    assert_string_equal(job_compression_text(text, sizeof text, &job, &r),
                        "topk:0.125: 4 kB sent by a worker in a step, 0.4 of what it would be without");
    for (int w = 0; w < 2; w++) {
        rank[w].sent_bytes *= 1000;
        rank[w].full_bytes *= 1000;
    }
    assert_string_equal(job_compression_text(text, sizeof text, &job, &r),
                        "topk:0.125: 4 MB sent by a worker in a step, 0.4 of what it would be without");
    for (int w = 0; w < 2; w++) {
        rank[w].sent_bytes /= 1000;
        rank[w].full_bytes /= 1000;
    }
    assert_true(compression_sent_bytes(&job, &r, 0, 2) == 8000 && compression_full_bytes(&job, &r, 0, 2) == 20000);
    assert_true(compression_sent_bytes(&job, &r, 1, 2) == 3000);
    rank[0] = rank[1] = (struct train_rank_info){ 0 };
    assert_string_equal(job_compression_text(text, sizeof text, &job, &r),
                        "topk:0.125, but no message is sent: the reducer sums in the memory of the host");
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model lenet --mode allreduce --workers 2 --steps 10"), RC_OK);
    assert_string_equal(job_compression_text(text, sizeof text, &job, &r), "");
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model lenet --mode none --workers 2 --steps 10"), RC_OK);
    assert_true(isnan(compression_sent_bytes(&job, &r, 0, 2)));
    train_job_free(&job);
}

/* A worker's residual and what it packs into; the halves of a chunk, or the pairs of all; what a server unpacks into.
 */
UNIT_TEST(its_memory_is_planned)
{
    static const struct {
        const char *options;
        size_t worker_bytes, server_bytes;
    } all[] = { { "--mode allreduce --workers 3", 0, 0 },
                { "--mode allreduce --workers 3 --compression fp16", 6 * N_PARAMS, 0 },
                { "--mode allreduce --workers 3 --compression topk:0.01", 4 * N_PARAMS + 3 * 8 * N_PAIRS, 0 },
                { "--mode ps --workers 3 --compression bf16", 8 * N_PARAMS, 4 * 100 } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char options[128];
        struct train_job job;
        (void)snprintf(options, sizeof options, "--model lenet --steps 10 %s", all[i].options);
        assert_int_equal(kit_prepare(&job, options), RC_OK);
        const struct memory_need need = job_compression_memory(&job, 100);
        assert_int_equal(need.worker_bytes, all[i].worker_bytes);
        assert_int_equal(need.server_bytes, all[i].server_bytes);
        train_job_free(&job);
    }
}

int main(int argc, char **argv)
{
    given = argc == 2 ? argv[1] : NULL;
    return unit_run("compression", given ? "given" : NULL, NULL, NULL);
}
