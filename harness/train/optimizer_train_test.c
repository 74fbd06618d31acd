/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer_train_test.c - optimisers in trainings of every mode: which options go together, the same bits in every
 * world and for every cut, state that is resumed, and what they learn.
 *
 * usage: optimizer_train_test | sim | learning | mpi WAY, of 3 ranks
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

static const char *const optimizers[] = { "--optimizer sgd", "--optimizer momentum", "--optimizer adagrad",
                                          "--optimizer adam" };
enum { N_OPTIMIZERS = sizeof optimizers / sizeof *optimizers, TEXT_BYTES = 512 };

/* --- options --- */

UNIT_TEST(options_make_a_rule)
{
    static const struct {
        const char *options;
        struct optimizer_rule rule;
        const char *name;
    } cases[] = {
        { "--model linear", { .kind = OPTIMIZER_SGD }, "sgd" },
        { "--model lenet", { .kind = OPTIMIZER_MOMENTUM, .momentum = 0.9 }, "momentum" },
        { "--model resnet8", { .kind = OPTIMIZER_MOMENTUM, .momentum = 0.9 }, "momentum" },
        { "--model resnet8 --momentum 0", { .kind = OPTIMIZER_SGD }, "sgd" },
        { "--model linear --momentum 0.5", { .kind = OPTIMIZER_MOMENTUM, .momentum = 0.5 }, "momentum" },
        { "--model linear --optimizer momentum", { .kind = OPTIMIZER_MOMENTUM, .momentum = 0.9 }, "momentum" },
        { "--model linear --optimizer momentum --momentum 0.5",
          { .kind = OPTIMIZER_MOMENTUM, .momentum = 0.5 },
          "momentum" },
        { "--model resnet8 --optimizer sgd", { .kind = OPTIMIZER_SGD }, "sgd" },
        { "--model resnet8 --optimizer sgd --momentum 0", { .kind = OPTIMIZER_SGD }, "sgd" },
        { "--model resnet8 --optimizer adagrad --weight-decay 0.5",
          { .kind = OPTIMIZER_ADAGRAD, .epsilon = 1e-10, .weight_decay = 0.5 },
          "adagrad" },
        { "--model resnet8 --optimizer adam",
          { .kind = OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8 },
          "adam" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct optimizer_rule *want = &cases[i].rule;
        struct train_job job = { 0 };
        if (kit_prepare(&job, cases[i].options) != RC_OK)
            fail_msg("%s: %s", cases[i].options, rc_message());
        const struct optimizer_rule *is = &job.optimizer;
        if (is->kind != want->kind || is->momentum != want->momentum || is->beta1 != want->beta1 ||
            is->beta2 != want->beta2 || is->epsilon != want->epsilon || is->initial != want->initial ||
            is->weight_decay != want->weight_decay)
            fail_msg("%s: another rule", cases[i].options);
        assert_string_equal(job.opts.optimizer, cases[i].name);
        assert_true(job.opts.momentum == want->momentum);
        train_job_free(&job);
    }
}

UNIT_TEST(what_means_nothing_is_refused)
{
    static const struct kit_refusal cases[] = {
        { "--model linear --optimizer sgd --momentum 0.5",
          "--optimizer sgd has no velocity; needs --optimizer momentum" },
        { "--model linear --optimizer adam --momentum 0.5", "--optimizer adam has no velocity" },
        { "--model linear --optimizer momentum --momentum 0", "it is --optimizer sgd" },
        { "--model linear --optimizer adma", "nearest is adam" },
        { "--model linear --optimizer adam --adam.beta1 1", "--adam.beta1" },
        { "--model lenet --forward-only --optimizer adam", "--forward-only updates no parameters" },
        { "--model linear --mode allreduce --workers 2 --average-every 2 --optimizer adam --save f",
          "own state of the optimiser; with --save use --optimizer sgd" },
    };

    kit_expect_each_refused("", cases, sizeof cases / sizeof *cases);
}

/* With --replicas 1, of 3 workers and 4 servers, of which n_here are on this host; *server: of one at the start. */
static size_t host_bytes(int n_here, size_t *server)
{
    struct train_job job = { 0 };
    char here[16];

    (void)snprintf(here, sizeof here, "%d", 3 + n_here);
    (void)setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    (void)setenv("OMPI_COMM_WORLD_SIZE", "7", 1);
    (void)setenv("OMPI_COMM_WORLD_LOCAL_SIZE", here, 1);
    if (kit_prepare_launched(&job, "--world mpi --model lenet --mode ps --servers 4 --replicas 1 --on-loss report",
                             7) != RC_OK)
        fail_msg("%s", rc_message());
    const size_t n_bytes = job.memory.host_bytes;
    *server = job.memory.server_bytes;
    train_job_free(&job);
    (void)unsetenv("OMPI_COMM_WORLD_RANK");
    (void)unsetenv("OMPI_COMM_WORLD_SIZE");
    (void)unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    return n_bytes;
}

/* A host has room for what its servers may come to hold and follow: all slices twice, or one server alone once. */
UNIT_TEST(memory_of_replicas_is_planned)
{
    const struct world_ops *mpi = NULL;
    size_t server = 0, n_bytes[5];

    if (world_find(&mpi, "mpi") != RC_OK) /* it is not built in */
        skip();
    for (int n_here = 0; n_here < 5; n_here++)
        n_bytes[n_here] = host_bytes(n_here, &server);
    const size_t n_of_a_rank = n_bytes[4] - n_bytes[3]; /* beside: times of its steps */
    assert_true(n_of_a_rank < server);
    assert_int_equal(n_bytes[3] - n_bytes[2], n_of_a_rank);
    assert_int_equal(n_bytes[2] - n_bytes[1], 2 * server + n_of_a_rank);
    assert_int_equal(n_bytes[1] - n_bytes[0], 2 * server + n_of_a_rank);
}

/* Parameters, gradients and the optimiser's arrays; a server's too. */
UNIT_TEST(memory_is_planned)
{
    static const size_t n_moments[N_OPTIMIZERS] = { 0, 1, 1, 2 };
    struct train_job first = { 0 };

    for (int i = 0; i < N_OPTIMIZERS; i++) {
        struct train_job job = { 0 };
        char text[TEXT_BYTES];
        (void)snprintf(text, sizeof text, "--model lenet --mode ps --workers 2 %s --save f", optimizers[i]);
        if (kit_prepare(&job, text) != RC_OK)
            fail_msg("%s: %s", text, rc_message());
        const size_t n_floats_bytes = job.n_params * sizeof(float);
        if (i == 0) {
            first = job;
            assert_int_equal(first.memory.server_bytes, 5 * (job.n_params + 1) * sizeof(float));
            continue;
        }
        assert_int_equal(job.memory.params_bytes - first.memory.params_bytes, n_moments[i] * n_floats_bytes);
        assert_int_equal(job.memory.server_bytes - first.memory.server_bytes,
                         2 * n_moments[i] * (job.n_params + 1) * sizeof(float));
        assert_int_equal(job.memory.exchange_bytes, first.memory.exchange_bytes);
        train_job_free(&job);
    }
    train_job_free(&first);
}

/* --- bits --- */

/* What a training ends with; in a process of its own, which has one simulation. Caller frees *out. */
static void train_apart(struct checkpoint *out, const char *options)
{
    char path[] = "/tmp/optimizer_train.XXXXXX";
    int status;

    kit_make_file(path);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct train_result r;
        if (kit_train(&r, options, NULL, 0) != RC_OK || checkpoint_save(&r.final, path, NULL, NULL) != RC_OK) {
            fprintf(stderr, "%s: %s\n", options, rc_message());
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(checkpoint_load(out, path), RC_OK);
    unlink(path);
}

static void assert_same(const struct checkpoint *a, const struct checkpoint *b, const char *what)
{
    if (a->n_params != b->n_params || memcmp(a->param, b->param, a->n_params * sizeof(float)) != 0)
        fail_msg("%s: other parameters", what);
    if (!kit_same_kept(a, b))
        fail_msg("%s: another state of the optimiser", what);
}

#define LENET "--model lenet --batch 8 --threads 1 --eval-samples 0 --weight-decay 0.001 --lr 0.002 "

/* One worker of any mode is `single`, however gradients are cut, and wherever the update is made. */
static void every_mode_and_cut_has_the_same_bits_of(const char *world)
{
    static const char *const ways[] = {
        "--mode none",
        "--mode allreduce",
        "--mode allreduce --overlap on --bucket-bytes 8Ki",
        "--mode ps",
        "--mode ps --servers 3 --partition-bytes 4Ki --placement chunk:512",
        "--mode ps --servers 2 --overlap on --bucket-bytes 8Ki --consistency sync",
    };

    for (int i = 0; i < N_OPTIMIZERS; i++) {
        struct train_result single;
        char text[TEXT_BYTES];
        (void)snprintf(text, sizeof text, LENET "--mode single --steps 12 %s", optimizers[i]);
        kit_must_train(&single, text);
        assert_int_equal(single.final.kept.n_updates, 12);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            struct checkpoint other;
            (void)snprintf(text, sizeof text, LENET "--world %s --workers 1 --steps 12 %s %s", world, ways[k],
                           optimizers[i]);
            train_apart(&other, text);
            assert_same(&other, &single.final, text);
            checkpoint_free(&other);
        }
        train_result_free(&single);
    }
}

/* Several workers: by allreduce, and by servers that wait for all. */
UNIT_TEST_OF("sim", every_world_has_the_same_bits)
{
    static const char *const ways[] = { "--mode allreduce --workers 3",
                                        "--mode ps --workers 3 --servers 2 --consistency sync" };

    for (int i = 0; i < N_OPTIMIZERS; i++)
        for (int k = 0; k < 2; k++) {
            struct checkpoint threads, sim;
            char text[TEXT_BYTES];
            (void)snprintf(text, sizeof text, LENET "%s --steps 12 %s", ways[k], optimizers[i]);
            train_apart(&threads, text);
            (void)snprintf(text, sizeof text, LENET "%s --steps 12 %s --world sim", ways[k], optimizers[i]);
            train_apart(&sim, text);
            assert_same(&sim, &threads, text);
            checkpoint_free(&threads);
            checkpoint_free(&sim);
        }
}

UNIT_TEST(in_threads)
{
    every_mode_and_cut_has_the_same_bits_of("threads");
}

UNIT_TEST_OF("sim", in_sim)
{
    every_mode_and_cut_has_the_same_bits_of("sim");
}

/* Of p workers the mean gradient is that of p times the batch, but for rounding; adam makes of a gradient near 0 a step
 * of any sign, which the momentum of few steps keeps small. */
UNIT_TEST(workers_are_a_larger_batch)
{
    for (int i = 0; i < N_OPTIMIZERS; i++)
        for (int n_workers = 2; n_workers <= 5; n_workers += 3) {
            struct train_result several, one;
            char text[TEXT_BYTES];
            (void)snprintf(text, sizeof text,
                           "--model linear --mode allreduce --workers %d --batch 8 --steps 30 --lr 0.05 %s", n_workers,
                           optimizers[i]);
            kit_must_train(&several, text);
            (void)snprintf(text, sizeof text, "--model linear --mode single --batch %d --steps 30 --lr 0.05 %s",
                           8 * n_workers, optimizers[i]);
            kit_must_train(&one, text);
            assert_true(kit_distance(&several, &one) < 1e-5);
            assert_true(one.stamp[29].loss < 0.9 * one.stamp[0].loss);
            train_result_free(&several);
            train_result_free(&one);
        }
}

/* --- what is kept --- */

UNIT_TEST(a_resumed_training_goes_on_alike)
{
    static const char *const ways[] = { "--mode single", "--mode allreduce --workers 2",
                                        "--mode ps --workers 1 --servers 3 --placement round-robin",
                                        "--mode ps --workers 2 --servers 2 --consistency sync --partition-bytes 16Ki" };
    char path[] = "/tmp/optimizer_train.XXXXXX";

    kit_make_file(path);
    for (int i = 0; i < N_OPTIMIZERS; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            char text[TEXT_BYTES];
            (void)snprintf(text, sizeof text, LENET "%s %s", ways[k], optimizers[i]);
            kit_goes_on_alike(text, 7, 16, path);
        }
    unlink(path);
}

/* A checkpoint goes on in another mode and cut, with the same optimiser alone; sgd and momentum may follow each other.
 */
UNIT_TEST(a_checkpoint_names_its_optimizer)
{
    static const struct {
        int from, to;
    } refused[] = { { 0, 3 }, { 1, 2 }, { 2, 1 }, { 2, 3 }, { 3, 0 }, { 3, 2 } };
    char path[] = "/tmp/optimizer_train.XXXXXX", text[TEXT_BYTES];

    kit_make_file(path);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct train_result r;
        struct train_job job = { 0 };
        (void)snprintf(text, sizeof text, "--model linear --steps 3 %s", optimizers[refused[i].from]);
        kit_must_train(&r, text);
        assert_int_equal(checkpoint_save(&r.final, path, NULL, NULL), RC_OK);
        (void)snprintf(text, sizeof text, "--model linear --steps 6 --resume %s %s", path, optimizers[refused[i].to]);
        if (kit_prepare(&job, text) != RC_INVAL || !strstr(rc_message(), "lacks the state of --optimizer"))
            fail_msg("%s: %s", text, rc_message());
        if (refused[i].from == 1) {
            (void)snprintf(text, sizeof text, "--model linear --steps 6 --resume %s %s", path, optimizers[0]);
            assert_int_equal(kit_prepare(&job, text), RC_OK);
            train_job_free(&job);
        }
        train_result_free(&r);
    }
    unlink(path);
}

/* --- learning --- */

static double mean_loss(const struct train_result *r, size_t first, size_t n)
{
    double sum = 0;

    for (int w = 0; w < r->n_workers; w++)
        for (size_t i = first; i < first + n; i++)
            sum += r->stamp[(size_t)w * r->n_steps + i].loss;
    return sum / (double)n / r->n_workers;
}

/* Handwritten digits: each optimiser at a rate of its own, in each mode. Chance is 2.30. */
UNIT_TEST_OF("learning", lenet_learns_digits)
{
    enum { N_STEPS = 150, N_LAST = 10 };
    static const char *const rate[N_OPTIMIZERS] = { "--lr 0.1", "--lr 0.02", "--lr 0.02", "--lr 0.003" };
    static const char *const modes[] = { "--mode single", "--mode none --workers 2", "--mode allreduce --workers 2",
                                         "--mode ps --workers 2 --servers 2" };

    for (int i = 0; i < N_OPTIMIZERS; i++)
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
            struct train_result r;
            char text[TEXT_BYTES];
            (void)snprintf(text, sizeof text, "--model lenet --batch 32 --threads 1 --steps %d %s %s %s", N_STEPS,
                           modes[k], optimizers[i], rate[i]);
            kit_must_train(&r, text);
            const double first = mean_loss(&r, 0, 1), last = mean_loss(&r, N_STEPS - N_LAST, N_LAST);
            if (!(first > 2.0 && last < 0.45))
                fail_msg("%s: loss %.3f at first, %.3f at last", text, first, last);
            train_result_free(&r);
        }
}

/* --- in mpi --- */

/* Launched as 3 ranks: the bits of the same training in threads. Failures. */
static int in_mpi(const char *way)
{
    const bool is_ps = strcmp(way, "ps") == 0;
    const char *options = is_ps ? LENET
                              "--steps 8 --mode ps --workers 2 --servers 1 --consistency sync --optimizer adam"
                                : LENET "--steps 8 --mode allreduce --workers 3 --optimizer adagrad";
    struct train_result threads, launched = { 0 }; /* on rank 0 */
    struct train_job job = { 0 };
    char text[TEXT_BYTES];
    enum rc rc;

    (void)snprintf(text, sizeof text, "%s --world mpi", options);
    TRY(kit_prepare_launched(&job, text, world_launcher().n_ranks));
    TRY(kit_run(&job, &launched));
    if (launched.final.n_params == 0) /* not rank 0 */
        return 0;
    TRY(kit_train(&threads, options, NULL, 0));
    if (memcmp(threads.final.param, launched.final.param, threads.final.n_params * sizeof(float)) != 0 ||
        !kit_same_kept(&threads.final, &launched.final))
        FAIL(RC_MISMATCH, "%s: other bits than in threads", text);
    train_result_free(&threads);
    train_result_free(&launched);
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    train_job_free(&job);
    return rc != RC_OK;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return in_mpi(argv[2]);
    return unit_run("optimizers", argc > 1 ? argv[1] : NULL, NULL, NULL);
}
