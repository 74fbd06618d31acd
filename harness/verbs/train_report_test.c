/* SPDX-License-Identifier: Apache-2.0 */
/* train_report_test.c - what is printed of made-up runs (result_kit.c), letter by letter. */
#include "harness/verbs/train_report.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/verbs/suite/printed_kit.h"

static struct segment two[] = { { 0, 1 }, { 1, 1 } };
static struct segment layers[] = { { 0, 1000 }, { 1000, 3500 }, { 4500, 500 } };

#define RULE "----------------------------------------------------------------\n"

static void assert_printed(const struct made_run *m, bool with_lines, const char *expected)
{
    struct train_summary s;

    assert_int_equal(train_summarise(&s, &m->job, &m->result), RC_OK);
    char *text = printed_run(m, &s, with_lines);
    char *rows = strstr(text, "\n\nrun ") + 2; /* behind the answer */
    assert_string_equal(rows, expected);
    free(text);
}

/* The last loss printed is worker 0's; its 12 steps of 7 samples in 10 ms are cut into 10 parts of one. */
UNIT_TEST(ps_is_printed)
{
    struct made_run m;

    made_ps(&m);
    m.job.segment = two, m.job.n_segments = 2;
    m.job.exchange = (struct exchange_opts){ .buckets = { .bucket_bytes = 4 } };
    m.result.overlap.by_priority = true;
    m.result.stamp[23].loss = 3;
    assert_printed(
        &m, true,
        "run            linear, ps, world threads, 2 workers, 1 server, batch 7 each, 112 steps\n"
        "throughput     1.2 k samples/s, 95 % within this run 1.006 k to 1.488 k\n"
        "steady state   too few rounds to tell; figures are of the 9 rounds in which every worker trained\n"
        "efficiency     75.0 % of 2 x one worker alone\n"
        "of the bound   85.7 % (71.8 to 106.3 within this run) of what the slowest of compute, wire and server "
        "allows\n"
        "mean step      compute 7.167, wait 0, wire 2, server 1.389, apply 0.6944, rest 0.6944 ms\n"
        "exchange       2 buckets, 2 chunks, 3 at once, overlap off, priority on\n"
        "communication  4.583 ms: 4.083 exposed, 0.5 hidden behind computing\n"
        "encryption     CURVE: an observer of the network sees only lengths and times\n"
        "consistency    async, a worker was at most 3 steps ahead of the slowest\n"
        "staleness      mean 1.583, max 4 updates\n"
        "refused        stranger 1, not_finite 2\n"
        "training loss  first 21, last 1.1 (mean of 10 steps)\n"
        "test accuracy  96.88 %\n"
        "line           slope=1.500000 offset=-0.250000\n"
        "target loss    2.5 after 0.155 s, 154 samples\n"
        "\nFor programs that read Horovod's benchmarks and tf_cnn_benchmarks, as these measure:\n"
        "Model: linear\n"
        "Batch size: 7\n"
        "Number of CPUs: 2\n"
        "Img/sec per CPU: 700.0 +-0.0\n"
        "Total img/sec on 2 CPU(s): 1400.0 +-0.0\n"
        "12\timages/sec: 1400.0 +/- 0.0 (jitter = 0.0)\t1.000\n" RULE "total images/sec: 1200.00\n" RULE);
    made_free(&m);
}

/* "Img/sec per GPU" would be of a part of one. */
UNIT_TEST(shared_devices_are_printed)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    for (int i = 0; i < 2; i++) {
        strcpy(m.result.rank[i].host, "a host");
        strcpy(m.result.rank[i].device, "0000:1b:00.0");
    }
    m.job.segment = two, m.job.n_segments = 2;
    assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
    char *text = printed_run(&m, &s, true);
    assert_non_null(strstr(text, "\ndevices        shared: up to 2 of 2 workers are on one CPU\n"));
    assert_non_null(strstr(text, "\nNumber of workers: 2\nImg/sec per worker: 700.0 +-0.0\n"));
    free(text);
    made_free(&m);
}

/* 24 steps are 10 parts of two, the last four in none: 16 samples in 100, 100, 60 and seven times 20 ms. */
UNIT_TEST(allreduce_is_printed)
{
    struct made_run m;

    made_allreduce(&m);
    m.job.segment = layers;
    m.job.n_segments = 3;
    m.job.memory = (struct train_memory){ .activations_bytes = 1500000000,
                                          .params_bytes = 250000000,
                                          .exchange_bytes = 125000000,
                                          .host_bytes = 3000000000 };
    struct compute_backend device = compute_cpu;
    device.device_kind = "GPU";
    m.job.compute = &device;
    m.result.stamp[23].loss = 0.0625;
    m.result.limits.compute_s = m.result.limits.wire_s = 0;
    assert_printed(
        &m, true,
        "run            lenet, allreduce, world sim, 3 workers, 0 servers, batch 8 each, 24 steps\n"
        "work           5000 parameters, images 8 x 8, 10 classes, fp32, 1 thread each, data digits\n"
        "memory         3000 MB planned in all; a worker: activations 1500 MB, parameters 250 MB, exchange 125 MB\n"
        "throughput     2.4 k samples/s, 95 % within this run 2.4 k to 2.4 k\n"
        "steady state   reached; figures are of 19 of 24 rounds, 5 of warm-up left out\n"
        "efficiency     80.0 % of 3 x one worker alone\n"
        "mean step      compute 5, wait 1, wire 2.75, server 0, apply 1, rest 0.25 ms\n"
        "exchange       all gradients at once, overlap off\n"
        "communication  4 ms: 4 exposed, 0 hidden behind computing\n"
        "training loss  not computed\n"
        "\nFor programs that read Horovod's benchmarks and tf_cnn_benchmarks, as these measure:\n"
        "Model: lenet\n"
        "Batch size: 8\n"
        "Number of GPUs: 3\n"
        "Img/sec per GPU: 618.7 +-545.6\n"
        "Total img/sec on 3 GPU(s): 1856.0 +-1636.7\n"
        "24\timages/sec: 1309.1 +/- 159.2 (jitter = 0.0)\t0.062\n" RULE "total images/sec: 2400.00\n" RULE);
    made_free(&m);
}

UNIT_TEST(single_is_printed)
{
    struct made_run m;

    made_single(&m);
    assert_printed(
        &m, false,
        "run           replay, inference, single, world threads, 1 worker, 0 servers, batch 8 each, 3 steps\n"
        "profile       vgg16, batch 8, a device\n"
        "throughput    500 samples/s (too few steps for an interval)\n"
        "steady state  too few rounds to tell; figures are of the 3 rounds in which every worker trained\n"
        "of the bound  78.1 % of what the slowest of compute, wire and server allows\n"
        "mean step     compute 11, wait 0, wire 0, server 0, apply 2, rest 3 ms\n"
        "loss          not computed\n");
    made_free(&m);
}

/* Fewer steps than parts: each is one; losses 3, 2, 1. */
UNIT_TEST(few_steps_are_printed)
{
    struct made_run m;

    made_single(&m);
    m.job.opts.forward_only = false;
    m.job.profile = NULL;
    for (int t = 0; t < 3; t++)
        m.result.stamp[t].loss = 3 - t;
    assert_printed(&m, true,
                   "run            replay, single, world threads, 1 worker, 0 servers, batch 8 each, 3 steps\n"
                   "throughput     500 samples/s (too few steps for an interval)\n"
                   "steady state   too few rounds to tell; figures are of the 3 rounds in which every worker trained\n"
                   "of the bound   78.1 % of what the slowest of compute, wire and server allows\n"
                   "mean step      compute 11, wait 0, wire 0, server 0, apply 2, rest 3 ms\n"
                   "training loss  first 3, last 2 (mean of 3 steps)\n"
                   "\nFor programs that read Horovod's benchmarks and tf_cnn_benchmarks, as these measure:\n"
                   "Model: replay\n"
                   "Batch size: 8\n"
                   "Number of CPUs: 1\n"
                   "Img/sec per CPU: 505.3 +-101.9\n"
                   "Total img/sec on 1 CPU(s): 505.3 +-101.9\n"
                   "3\timages/sec: 500.0 +/- 30.0 (jitter = 82.4)\t1.000\n" RULE "total images/sec: 500.00\n" RULE);
    made_free(&m);
}

UNIT_TEST(states_are_told)
{
    static const struct {
        struct steady steady;
        size_t n_rounds;
        const char *row;
    } known[] = {
        { { STEADY_NONE, 0, 0, NAN },
          400,
          "not reached: the run never settles; figures are of the 400 rounds in which every worker trained" },
        { { STEADY_REACHED, 0, 0, NAN }, 400, "reached; figures are of the 400 rounds in which every worker trained" },
        { { STEADY_TOO_SHORT, 0, 0, NAN },
          1,
          "too few rounds to tell; figures are of the 1 round in which every worker trained" },
        { { STEADY_TOO_SHORT, 0, 0, NAN },
          0,
          "cannot tell: no round in which every worker trained; figures are of all steps" },
        { { STEADY_SWITCH, 0, 155, 0.8 },
          400,
          "not reached: the speed switched to 0.80 x after round 155; figures are of the 400 rounds in which every "
          "worker trained, both speeds" },
        { { STEADY_SWITCH, 20, 155, 1.25 },
          400,
          "not reached: the speed switched to 1.25 x after round 155; figures are of 380 of 400 rounds, 20 of warm-up "
          "left "
          "out, both speeds" },
    };
    struct train_summary s;
    struct made_run m;

    made_single(&m);
    assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        s.measured.steady = known[i].steady;
        s.measured.n_rounds = known[i].n_rounds;
        assert_row_of(&m, &s, "steady state", known[i].row);
    }
    made_free(&m);
}

/* A failed bound is told as failed, with no interval; a bound that was measured once says so where a look back was
 * left out. */
UNIT_TEST(bounds_are_told)
{
    struct made_run m;

    made_ps(&m);
    m.job.segment = two, m.job.n_segments = 2;
    m.job.on_loss = ON_LOSS_REPORT;
    m.result.has_limits_after = false;
    assert_row(
        &m, "of the bound",
        "85.7 % (71.8 to 106.3 within this run) of what the slowest of compute, wire and server allows; measured "
        "before the run only, as --on-loss report asks");
    m.job.on_loss = ON_LOSS_ABORT;
    m.result.limits = (struct train_limits){ .compute_s = 14 / 1150.0 };
    assert_row(&m, "of the bound",
               "the bound failed: 104.3 % of what the parts could do when measured; "
               "the machine changed its speed, so run again");
    m.result.limits.compute_s = 14 / 1200.5;
    assert_row(&m, "of the bound",
               "100.0 % (83.8 to 123.9 within this run) of what the slowest of compute, wire and server allows");
    made_free(&m);
}

/* 12 steps are judged where the loss is no number; then the row says why. */
/* Before the table. */
static void assert_answer(const struct made_run *m, const char *part)
{
    struct train_summary s;

    assert_int_equal(train_summarise(&s, &m->job, &m->result), RC_OK);
    char *text = printed_run(m, &s, false), *rows = strstr(text, "\n\nrun ");
    assert_non_null(rows);
    rows[1] = '\0';
    if (!strstr(text, part))
        fail_msg("nothing in\n%s\nis: %s", text, part);
    free(text);
}

UNIT_TEST(the_answer_comes_first)
{
    struct made_run m;

    made_ps(&m);
    m.job.segment = two, m.job.n_segments = 2;
    assert_answer(&m, "linear, ps, 2 workers: 1.2 k samples/s (95 % CI 1.006 k to 1.488 k), ");
    assert_answer(&m,
                  " ms a step.\n  Training loss: 21 at first, 1 at the end (112 of 112 steps). Test accuracy: 96.88 "
                  "%.\n");
    made_free(&m);
}

/* Of one step there is one loss. */
UNIT_TEST(one_loss_is_told_once)
{
    struct made_run m;

    made_single(&m);
    m.job.opts.forward_only = false;
    m.job.profile = NULL;
    for (int t = 0; t < 3; t++)
        m.result.stamp[t].loss = 1.5F;
    assert_answer(&m, "\n  Training loss: 1.5 (3 of 3 steps).");
    made_free(&m);
}

UNIT_TEST(a_run_that_did_not_learn_says_so)
{
    struct made_run m;

    made_ps(&m);
    m.job.segment = two, m.job.n_segments = 2;
    for (int t = 3; t < 12; t++)
        m.result.stamp[t].loss = NAN;
    assert_answer(
        &m, "\n  It did not learn: the loss is not a finite number from step 103 on; ps applies each worker's "
            "update, 2 a round, at a rate of 0.5 over its staleness, great for one worker, too (the model's: 0.1); "
            "try --lr 0.1 or a lower --momentum.\n");
    made_free(&m);
}

/* A line where others took more than the limit, none where they took as much. */
UNIT_TEST(a_disturbed_machine_is_told)
{
    struct train_summary s;
    struct made_run m;

    made_single(&m);
    assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
    s.disturbance = (struct disturbance){ 0.04, 1.5, 0.395, 0.12, NAN };
    char *text = printed_run(&m, &s, false);
    assert_non_null(
        strstr(text, "\n  Doubtful: the machine was disturbed: other programs used 1.50 cores, steal was 4 %: together "
                     "40 % of this run's cores (at most 12 % is allowed). Run again on an idle machine.\n"));
    free(text);
    s.disturbance.taken_ratio = 0.12;
    text = printed_run(&m, &s, false);
    assert_null(strstr(text, "machine"));
    free(text);
    made_free(&m);
}

/* One worker alone is measured with one of the batches only. */
UNIT_TEST(unequal_batches_have_no_efficiency)
{
    size_t batch[] = { 6, 8 };
    struct made_run m;

    made_ps(&m);
    m.job.batch_of = batch;
    assert_row(&m, "efficiency",
               "not known: workers have different batches, and one worker alone is measured with that of worker 0");
    m.job.batch_of = NULL;
    made_free(&m);
}

/* Strong scaling: the batch of all is told, and no efficiency, for which one worker with all of it is not measured. */
UNIT_TEST(a_global_batch_is_told)
{
    struct train_summary s;
    struct made_run m;

    made_ps(&m);
    m.job.segment = two, m.job.n_segments = 2;
    m.job.opts.global_batch = 14;
    assert_row(&m, "run",
               "linear, ps, world threads, 2 workers, 1 server, batch 7 each, 14 in all (strong scaling), 112 "
               "steps");
    assert_row(
        &m, "efficiency",
        "not known: gradmark compare measures one worker alone with all 14 samples; 75.0 % of 2 x one alone with 7");
    assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
    assert_true(isnan(s.efficiency_ratio));
    assert_true(fabs(s.baseline_samples_per_s - 800) < 1e-9);
    made_free(&m);
    made_single(&m); /* one worker has all of it */
    m.job.opts.global_batch = 8;
    assert_row(&m, "run",
               "replay, inference, single, world threads, 1 worker, 0 servers, batch 8 each, 8 in all (strong "
               "scaling), 3 steps");
    m.job.opts.steps = 1;
    assert_row(&m, "run",
               "replay, inference, single, world threads, 1 worker, 0 servers, batch 8 each, 8 in all (strong "
               "scaling), 1 step");
    made_free(&m);
}

UNIT_TEST(losses_that_fail_are_told)
{
    struct made_run m;

    made_ps(&m);
    m.job.segment = two, m.job.n_segments = 2;
    m.result.stamp[11].loss = NAN;
    assert_row(&m, "training loss", "first 21, then it diverged");
    m.job.opts.target_loss = 0.5;
    assert_row(&m, "target loss", "0.5 was not reached");
    made_free(&m);
}

/* Buckets are filled from the last layer: one of 500 parameters, one of 3500, one of 1000, in chunks of 512 at most. */
UNIT_TEST(the_exchange_is_told)
{
    struct made_run m;

    made_allreduce(&m);
    m.job.segment = layers, m.job.n_segments = 3;
    m.job.exchange = (struct exchange_opts){ .buckets = { 4096, 2048 } };
    m.result.overlap = (struct overlap_choice){ true, true, "", 0 };
    assert_row(&m, "exchange", "3 buckets, 10 chunks, overlap on, priority on");
    for (int w = 0; w < 3; w++)
        for (int t = 0; t < 24; t++)
            m.result.stamp[w * 24 + t].hidden_ns = 250000;
    assert_row(&m, "communication", "4.25 ms: 4 exposed, 0.25 hidden behind computing");
    made_free(&m);
}

/* A warning where options change nothing of the exchange, and none where they do. */
UNIT_TEST(a_useless_option_is_warned_of)
{
    struct made_run m;

    made_allreduce(&m);
    m.job.segment = layers;
    m.job.n_segments = 3;
    for (int is_useless = 0; is_useless < 2; is_useless++) {
        struct printed p;
        printed_begin(&p);
        m.job.exchange = (struct exchange_opts){ .buckets.bucket_bytes = is_useless ? 20000 : 16000, .overlap = true };
        assert_int_equal(train_warn_useless_exchange(p.to, &m.job), RC_OK);
        char *text = printed_end(&p);
        assert_string_equal(text, is_useless ? "gradmark train: warning: --overlap on changes nothing: the gradients, "
                                               "20000 bytes, are one chunk; give --bucket-bytes or --partition-bytes "
                                               "of less\n"
                                             : "");
        free(text);
    }
    made_free(&m);
}

static void assert_warned(const struct made_run *m, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    train_warn_shared_cores(p.to, &m->job, &m->result);
    char *text = printed_end(&p);
    assert_string_equal(text, expected);
    free(text);
}

UNIT_TEST(shared_cores_are_warned_of)
{
    struct made_run m;

    made_ps(&m);
    assert_warned(&m, "");
    m.result.rank[1].own_cores_count = 1;
    assert_warned(&m, "gradmark train: warning: 1 of 2 workers share their cores with others: this run is "
                      "oversubscribed\n");
    made_free(&m);
}

static struct train_loss two_losses[] = {
    { .rank = 1, .was_seen = true, .duty = { PHASE_STEP, 105, 0 }, .why = "ended before its work was done" },
    { .rank = 2, .why = "silent for 6.0 s: as a server" },
};

static void assert_told(const struct made_run *m, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    train_tell_losses(p.to, &m->job, &m->result);
    char *text = printed_end(&p);
    assert_string_equal(text, expected);
    free(text);
}

UNIT_TEST(lost_ranks_are_told)
{
    struct made_run m;

    made_ps(&m);
    assert_told(&m, "");
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_OK);
    m.result.n_workers = 1;
    m.result.loss = two_losses;
    m.result.n_losses = 1;
    assert_told(&m,
                "gradmark train: rank 1 was lost in step 105, owes bucket 0 (ended before its work was done); figures "
                "are of the 1 worker left\n");
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_OK);
    m.result.n_workers = 2;
    m.result.n_losses = 2;
    assert_told(&m,
                "gradmark train: rank 1 was lost in step 105, owes bucket 0 (ended before its work was done), rank 2 "
                "was lost (silent for 6.0 s: as a server); figures are of the 2 workers left\n");
    made_free(&m);
}

/* Then it is the error that the run ends with; with --save it says what goes on from there. */
UNIT_TEST(a_stopped_run_names_rank_and_step)
{
    struct made_run m;

    made_ps(&m);
    m.result.loss = two_losses;
    m.result.n_losses = 1;
    m.result.n_steps = 5;
    assert_told(&m, "");
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_PEER);
    assert_string_equal(rc_message(),
                        "rank 1 was lost in step 105, owes bucket 0 (ended before its work was done); the "
                        "others stopped after 105 of 112 steps");
    m.job.opts.save = "half";
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_PEER);
    assert_string_equal(rc_message(),
                        "rank 1 was lost in step 105, owes bucket 0 (ended before its work was done); the "
                        "others stopped after 105 of 112 steps; --resume half continues");
    m.result.timeline_rc = RC_IO;
    snprintf(m.result.timeline_error, sizeof m.result.timeline_error, "t.json: no space left");
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_PEER);
    assert_non_null(strstr(rc_message(), "105 of 112 steps; --resume half continues; t.json: no space left"));
    m.result.n_steps = 12;
    assert_int_equal(train_check_stopped(&m.job, &m.result), RC_IO);
    assert_string_equal(rc_message(), "t.json: no space left");
    made_free(&m);
}

UNIT_TEST(a_stop_says_whether_it_goes_on)
{
    struct printed p;
    struct made_run m;

    made_ps(&m);
    m.result.stop_signal = SIGINT;
    m.result.n_steps = 5;
    m.job.opts.save = "half";
    printed_begin(&p);
    train_tell_stop(p.to, &m.job, &m.result);
    char *text = printed_end(&p);
    assert_string_equal(text, "gradmark train: stopped by SIGINT after 105 of 112 steps; results are of these steps; "
                              "--resume half continues\n");
    free(text);
    made_free(&m);
}

UNIT_MAIN("train_report")
