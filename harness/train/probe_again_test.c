/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_again_test.c CASE - runs and their limits: those measured after a run leave no trace in it, and simulated runs
 * are as near to their bounds as arithmetic says.
 *
 * The simulated cluster's figures make every time a whole number of ns: 1 ns a byte (link and memory), 1 us latency. Of
 * n parameters the update moves 12 n bytes, the copy of a reply 8 n, the sum of a message of n floats 12 n.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rc.h"
#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"
#include "harness/train/bound.h"
#include "harness/train/suite/train_kit.h"

/* A run whose limits are measured once, and the same with those after it, which computes gradients, of other samples,
 * with batch norm: parameters, optimiser, running means and evaluation are the same bits. */
UNIT_TEST(leaves_no_trace)
{
    static const char *const ways[] = { "--mode allreduce", "--mode none" };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct train_result once = { 0 }, again = { 0 };
        char options[512];

        snprintf(options, sizeof options,
                 "%s --workers 2 --model resnet8 --image-size 16 --batch 4 --momentum 0.9 --steps 3 --eval-samples 8",
                 ways[i]);
        kit_must_train(&again, options);
        strcat(options, " --on-loss report");
        kit_must_train(&once, options);
        assert_true(again.has_limits_after && !once.has_limits_after);
        assert_true(again.limits_after.compute_s > 0 && again.limits_after.baseline_step_s == 0);
        assert_int_equal(again.limits_after.wire_s > 0, i == 0);
        assert_true(once.final.n_params > 0 && once.final.n_state > 0);
        assert_memory_equal(once.final.param, again.final.param, once.final.n_params * sizeof(float));
        assert_true(kit_same_kept(&once.final, &again.final));
        assert_memory_equal(once.final.state, again.final.state, once.final.n_state * sizeof(float));
        assert_true(once.evaluation.loss == again.evaluation.loss);
        train_result_free(&once);
        train_result_free(&again);
    }
}

/* Servers that have ended serve are measured, and one worker alone is, too. */
UNIT_TEST(every_mode_is_measured_again)
{
    static const char *const ways[] = { "--mode single", "--mode ps --workers 2 --servers 2" };

    for (int i = 0; i < 2; i++) {
        struct train_result r = { 0 };
        char options[128];

        snprintf(options, sizeof options, "%s --model lenet --batch 4 --steps 3", ways[i]);
        kit_must_train(&r, options);
        assert_true(r.has_limits_after);
        assert_true(r.limits_after.compute_s > 0);
        assert_int_equal(r.limits_after.wire_s > 0, i == 1);
        assert_int_equal(r.limits_after.server_s > 0, i == 1);
        train_result_free(&r);
    }
}

/* --- simulated --- */

static const char cluster[] = "name: whole ns\nhosts_count: 0\nranks_per_host_count: 1\nlink_bits_per_s: 8e9\n"
                              "link_latency_s: 1e-6\nflops_per_s: 1e15\nmemory_bytes_per_s: 1e9\n";
static const char profile[] =
    "{\"format\": \"gradmark-profile\", \"version\": 1, \"model\": \"made\", \"batch\": 5, \"image_size\": 8, "
    "\"classes\": 10, \"aux_head\": false, \"width_divisor\": 1, \"precision\": \"fp32\", \"device\": \"none\", "
    "\"threads\": 1, \"source\": \"made up\", \"images_per_s\": 0, \"layers\": [{\"name\": \"a\", "
    "\"forward_ns\": %ld, \"backward_ns\": %ld, \"gemm_forward_ns\": 0, \"gemm_backward_ns\": 0, "
    "\"flops_forward\": 1, \"flops_backward\": 2, \"bytes_forward\": 0, \"bytes_backward\": 0, "
    "\"tensors\": [{\"name\": \"w\", \"n_elems\": 1000000}]}]}\n";

enum { BATCH = 5, N_ELEMS = 1000000, LATENCY_NS = 1000 };

struct simulated {
    struct train_summary summary;
    struct train_limits limits;
    bool has_limits_after;
};

/* A model of N_ELEMS parameters whose forward and backward pass take compute_ns. */
static struct simulated simulate(const char *options, long compute_ns)
{
    char folder[] = "gm_probe_again_test.XXXXXX", path[2][64], text[1024], words[512];
    struct train_result result = { 0 };
    struct train_job job = { 0 };
    struct simulated s;

    assert_non_null(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/cluster", folder);
    snprintf(path[1], sizeof path[1], "%s/profile", folder);
    write_text(path[0], cluster);
    snprintf(text, sizeof text, profile, compute_ns / 4, compute_ns - compute_ns / 4);
    write_text(path[1], text);
    snprintf(words, sizeof words, "--world sim --compute hollow --cluster %s --profile %s --steps 6 %s", path[0],
             path[1], options);
    if (kit_prepare(&job, words) != RC_OK)
        fail_msg("%s: %s", words, rc_message());
    unlink(path[0]);
    unlink(path[1]);
    assert_int_equal(rmdir(folder), 0);
    if (kit_run(&job, &result) != RC_OK || train_summarise(&s.summary, &job, &result) != RC_OK)
        fail_msg("%s: %s", words, rc_message());
    s.limits = result.limits;
    s.has_limits_after = result.has_limits_after;
    train_result_free(&result);
    train_job_free(&job);
    return s;
}

#define assert_near(value, expected) assert_within(value, expected, 1e-9)

/* Virtual time does not vary: one look is enough, and the bound holds. */
static void assert_bound(const struct simulated *s, double ratio)
{
    assert_false(s->has_limits_after);
    assert_near(s->summary.bound_ratio, ratio);
    assert_false(train_bound_failed(s->summary.bound_ratio));
}

/* 30 ms of computing, then 12 of update. */
UNIT_TEST(compute_bound)
{
    const struct simulated s = simulate("--mode none --workers 3 --momentum 0", 30000000);

    assert_near(s.limits.compute_s, 0.030);
    assert_true(s.limits.wire_s == 0 && s.limits.server_s == 0);
    assert_near(s.summary.bound_samples_per_s, 3 * BATCH / 0.030);
    assert_bound(&s, 30.0 / 42);
}

/* A forward pass, of a quarter of that, and nothing else: all that could be done. */
UNIT_TEST(all_of_the_bound)
{
    const struct simulated s = simulate("--mode none --workers 3 --forward-only", 30000000);

    assert_near(s.limits.compute_s, 0.0075);
    assert_bound(&s, 1);
}

/* A ring of p: 2 (p - 1) messages of N_ELEMS / p in turn, 1 us + 4 ns an element each; p - 1 of them are summed. */
static void ring_is_wire_bound(int p)
{
    const double part = (double)N_ELEMS / p, wire_ns = 2 * (p - 1) * (LATENCY_NS + 4 * part);
    char options[128];

    snprintf(options, sizeof options,
             "--mode allreduce --reducer ring --ring.segment-bytes 0 --momentum 0 --workers %d", p);
    const struct simulated s = simulate(options, 1000);
    assert_near(s.limits.wire_s, wire_ns * 1e-9);
    assert_near(s.summary.bound_samples_per_s, p * BATCH / (wire_ns * 1e-9));
    assert_bound(&s, wire_ns / (1000 + wire_ns + (p - 1) * 12 * part + 12.0 * N_ELEMS));
}

UNIT_TEST(wire_bound_of_2)
{
    ring_is_wire_bound(2);
}

/* Segments follow one another: the wire takes what it takes of whole chunks, and additions hide behind it. */
UNIT_TEST(wire_bound_of_segments)
{
    const double part = N_ELEMS / 2.0, wire_ns = 2 * (LATENCY_NS + 4 * part);
    const struct simulated s = simulate("--mode allreduce --momentum 0 --workers 2 --ring.segment-bytes 100000", 1000);

    assert_true(fabs(s.limits.wire_s / (wire_ns * 1e-9) - 1) < 0.001);
    assert_true(s.summary.bound_ratio <= 1);
    assert_true(s.summary.bound_ratio > 1.05 * wire_ns / (1000 + wire_ns + 12 * part + 12.0 * N_ELEMS));
}

UNIT_TEST(wire_bound_of_5)
{
    ring_is_wire_bound(5);
}

/* 4 workers, one server, 20 ns an element of each push: it never rests behind the first push, which comes when all
 * four, sent at once, have shared its link. 5 of 6 rounds count, of which the last ends 19 pushes behind the first. */
UNIT_TEST(server_bound)
{
    const double service_ns = 20.0 * N_ELEMS, message_ns = 4.0 * N_ELEMS + 64, compute_ns = 1000;
    const double copy_ns = 8.0 * N_ELEMS; /* a worker copies what it pushes, and what it gets */
    const double first_ns =
        compute_ns + copy_ns + LATENCY_NS + 4 * message_ns + service_ns + LATENCY_NS + message_ns + copy_ns;
    const struct simulated s = simulate("--mode ps --workers 4 --momentum 0", 1000);

    assert_near(s.limits.server_s, 4 * service_ns * 1e-9);
    assert_near(s.limits.wire_s, 4 * (message_ns - 4) * 1e-9); /* without the latency and the smallest message */
    assert_near(s.summary.bound_samples_per_s, BATCH / (service_ns * 1e-9));
    assert_bound(&s, 20 * service_ns / (first_ns + 19 * service_ns));
}

UNIT_MAIN("probe_again")
