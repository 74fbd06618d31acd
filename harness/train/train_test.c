/* SPDX-License-Identifier: Apache-2.0 */
/* train_test.c - what training must reach, what a resumed run must equal, what preparation must refuse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 }; /* a peak of memory means nothing */
#else
enum { IS_SANITIZED = 0 };
#endif

/* Least squares of the line, in double, from the very samples. */
static void closed_form(double *slope, double *offset)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    struct dataset *d = NULL;

    assert_int_equal(dataset_open_line(&d, 1), RC_OK);
    for (size_t i = 0; i < d->n_train; i++) {
        x += (double)d->feature[i];
        y += (double)d->target[i];
        xx += (double)d->feature[i] * (double)d->feature[i];
        xy += (double)d->feature[i] * (double)d->target[i];
    }
    const double n = (double)d->n_train;
    *slope = (xy - x * y / n) / (xx - x * x / n);
    *offset = (y - *slope * x) / n;
    dataset_close(&d);
}

UNIT_TEST(linear_reaches_least_squares)
{
    struct train_result r = { 0 };
    double slope, offset;

    kit_must_train(&r, "--model linear --batch 1000 --steps 300 --lr 0.5");
    closed_form(&slope, &offset);
    assert_true(fabs((double)r.final.param[0] - slope) < 1e-4);
    assert_true(fabs((double)r.final.param[1] - offset) < 1e-4);
    train_result_free(&r);
}

static void lenet_learns(const char *options)
{
    struct train_result r = { 0 };

    kit_must_train(&r, options);
    if (!(r.evaluation.accuracy_ratio >= 0.95))
        fail_msg("%s: accuracy %.4f", options, r.evaluation.accuracy_ratio);
    train_result_free(&r);
}

UNIT_TEST(lenet_learns_in_single)
{
    lenet_learns("--model lenet --mode single --steps 500");
}

UNIT_TEST(lenet_learns_in_allreduce)
{
    lenet_learns("--model lenet --mode allreduce --workers 2 --steps 300");
}

UNIT_TEST(lenet_learns_in_ps)
{
    lenet_learns("--model lenet --mode ps --workers 2 --servers 2 --steps 300");
}

static void assert_same_state(const struct train_result *a, const struct train_result *b)
{
    assert_int_equal(a->final.n_params, b->final.n_params);
    assert_memory_equal(a->final.param, b->final.param, a->final.n_params * sizeof(float));
    assert_true(kit_same_kept(&a->final, &b->final));
    assert_int_equal(a->final.samples_count, b->final.samples_count);
    assert_int_equal(a->final.n_state, b->final.n_state);
    for (size_t i = 0; i < a->final.n_state; i++)
        assert_true(a->final.state[i] == b->final.state[i]);
}

/* train.L3: 20 steps, a checkpoint, 20 more: the bits of 40. */
static void resume_is_bit_exact(const char *ways)
{
    char options[512], folder[] = "gm_train_test.XXXXXX", path[64];
    struct train_result whole = { 0 }, first = { 0 }, second = { 0 };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    snprintf(options, sizeof options, "%s --lr-scaling linear:2 --steps 40", ways);
    kit_must_train(&whole, options);
    snprintf(options, sizeof options, "%s --lr-scaling linear:2 --steps 20", ways);
    kit_must_train(&first, options);
    assert_int_equal(checkpoint_save(&first.final, path, NULL, NULL), RC_OK);
    snprintf(options, sizeof options, "%s --lr-scaling linear:2 --steps 40 --resume %s", ways, path);
    kit_must_train(&second, options);
    assert_same_state(&whole, &second);
    assert_memory_not_equal(whole.final.param, first.final.param, whole.final.n_params * sizeof(float));
    train_result_free(&whole);
    train_result_free(&first);
    train_result_free(&second);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

UNIT_TEST(resume_is_bit_exact_L3)
{
    resume_is_bit_exact("--model lenet --mode single");
    resume_is_bit_exact("--model lenet --mode allreduce --workers 3");
    resume_is_bit_exact("--model lenet --mode ps --workers 1 --servers 2");
    resume_is_bit_exact("--model linear --mode none --momentum 0.5");
    resume_is_bit_exact("--model resnet8 --image-size 16 --width-divisor 4 --batch 4 --mode allreduce --workers 2");
    resume_is_bit_exact("--model alexnet --image-size 64 --width-divisor 16 --classes 10 --batch 2 --mode single");
}

UNIT_TEST(rates_follow_the_schedule)
{
    struct train_result r = { 0 };

    kit_must_train(&r, "--model linear --mode none --workers 4 --batch 50 --steps 10 --lr 0.1 --lr-scaling linear:1");
    /* 1000 samples an epoch, 200 a step: 5 steps of rise from 0.1 to 0.4 */
    static const double expected[] = { 0.1, 0.16, 0.22, 0.28, 0.34, 0.4, 0.4, 0.4, 0.4, 0.4 };
    for (int t = 0; t < 10; t++)
        assert_true(fabs((double)r.lr[t] - expected[t]) < 1e-6);
    train_result_free(&r);
}

UNIT_TEST(stamps_are_in_order)
{
    struct train_result r = { 0 };

    kit_must_train(&r, "--model linear --mode allreduce --workers 2 --steps 50");
    for (int w = 0; w < 2; w++)
        for (int t = 0; t < 50; t++) {
            const struct step_stamp *s = &r.stamp[w * 50 + t];
            assert_true(s->start_ns <= s->ready_ns && s->ready_ns <= s->end_ns);
            assert_true(t == 0 || s[-1].end_ns <= s->start_ns);
            assert_true(s->apply_ns <= s->end_ns - s->ready_ns);
        }
    train_result_free(&r);
}

/* W5 where the rank that sums for all dies; the others: cli.drills. */
UNIT_TEST(a_dead_root_ends_the_run)
{
    struct train_result r = { 0 };

    assert_int_equal(kit_train(&r,
                               "--model linear --mode allreduce --reducer root --workers 3 --steps 100000 "
                               "--inject kill:0@5",
                               NULL, 0),
                     RC_PEER);
    assert_names(rc_message(), "rank 0");
}

/* Whether the world that the options ask for, or the transport, was refused because it was not built: that comes before
 * a look at its options. */
static bool refused_unbuilt(enum rc rc, const char *options, const char *name)
{
    const struct world_ops *ops;
    char world[32], transport[32];
    const char *said = rc_message();

    snprintf(world, sizeof world, "world %s: ", name);
    snprintf(transport, sizeof transport, "transport %s: ", name);
    return rc == RC_UNSUPPORTED && strstr(options, name) &&
           (strstr(said, world) == said || strstr(said, transport) == said) && world_find(&ops, name) == RC_UNSUPPORTED;
}

UNIT_TEST(preparation_refuses)
{
    static const struct {
        const char *options, *says;
    } bad[] = {
        { "--mode single --workers 2", "--workers 2" },
        { "--mode allreduce --reducer rign", "ring" },
        { "--cluster x.yaml", "--world sim" },
        { "--model linear --data x", "--data x" },
        { "--model linear --image-size 64", "--image-size" },
        { "--model lenet --classes 5", "labels up to 9" },
        { "--model lenet --image-size 16", "8 x 8" },
        { "--model resnet51", "nearest is resnet50" },
        { "--model lenet --aux", "auxiliary" },
        { "--model replay", "--profile" },
        { "--profile /no/such/profile", "/no/such/profile" },
        { "--forward-only --mode ps", "--mode single or none" },
        { "--forward-only --save x", "--save x" },
        { "--world sim --threads 2", "--threads 2" },
        { "--world sim --wait spin", "--wait spin: world sim waits in virtual time" },
        { "--model resnet8 --data synthetic:0", "--data synthetic:0: use synthetic:N" },
        { "--model resnet8 --data synthetic:x", "--data synthetic:x: use synthetic:N" },
        { "--model inception3 --image-size 32", "--image-size 32: too small for inception3, the smallest is 75" },
        { "--model vgg16 --batch 1000000", "--batch 1000000: model vgg16: node c1" },
        { "--model vgg16 --batch 40000", "--batch 40000: 1 worker of model vgg16 need" },
        { "--model vgg16 --batch 40000 --mode allreduce --workers 2", "2 workers" },
        { "--resume /no/such/checkpoint", "/no/such/checkpoint" },
        { "--compute hollow", "--world sim" },
        { "--model linear --mode ps --servers 3", "--servers 3" },
        { "--mode single --transport zmq", "--transport zmq" },
        { "--mode allreduce --transport mpi", "--world mpi" },
        { "--world mpi --workers 2", "--workers 2" },
        { "--save x --mode none --workers 2", "--save x" },
        { "--world sim --mode allreduce --workers 9000", "9000 ranks; at most 8192" },
        { "--inject kill:5 --mode allreduce --workers 2", "--inject kill:5" },
        { "--mode allreduce --workers 2 --inject stall:2", "--inject stall:2: ranks are 0 to 1" },
        { "--mode allreduce --workers 2 --inject stall:-1", "--inject stall:-1" },
        { "--mode allreduce --workers 2 --inject stall:1,kill:0", "--inject kill:0: rank 1 fails already" },
        { "--mode allreduce --workers 2 --inject end:1", "--inject end:1: no such fault" },
        { "--mode allreduce --workers 2 --inject kill@5", "--inject kill@5: no such fault" },
        { "--mode allreduce --workers 2 --inject kill:1=5", "--inject kill:1=5: faults are written as" },
        { "--mode none --workers 2 --inject stall:1@never", "--inject stall:1@never: \"never\" is not start, probe" },
        { "--mode none --workers 2 --inject stall:1@", "--inject stall:1@: \"\" is not start, probe" },
        { "--mode none --workers 2 --steps 5 --inject kill:1@5", "--inject kill:1@5: the last step is 4" },
        { "--mode none --workers 2 --steps 5 --inject stall:1@6", "--inject stall:1@6: the last step is 4" },
        { "--mode none --workers 2 --steps 1 --inject kill:1", "--inject kill:1@1: the last step is 0" },
        { "--on-loss report", "--on-loss report: needs at least 2 workers" },
        { "--mode ps --on-loss report", "--on-loss report: needs at least 2 workers" },
        { "--mode none --workers 2 --on-loss shrink", "--on-loss shrink" },
        { "--lr-scaling none:5", "--lr-scaling none:5: must be none, linear, linear:E, sqrt or sqrt:E" },
        { "--lr-scaling linaer", "--lr-scaling linaer: must be none, linear" },
        { "--lr-scaling sqrt:-1", "--lr-scaling sqrt:-1: the epochs of the warm-up must be from 0 to 1000" },
        { "--lr-scaling linear:", "--lr-scaling linear:: the epochs" },
        { "--forward-only --lr 0.1", "--lr 0.1: --forward-only" },
        { "--forward-only --momentum 0", "--momentum 0: --forward-only" },
        { "--forward-only --weight-decay 0.1", "--weight-decay 0.1: --forward-only" },
        { "--forward-only --lr-scaling linear", "--lr-scaling linear: --forward-only" },
        { "--forward-only --lr-scaling linear:1", "--lr-scaling linear:1: --forward-only" },
        { "--forward-only --target-loss 0.1", "--target-loss 0.1: --forward-only" },
        { "--world sim --compute hollow --target-loss 0.1", "--target-loss 0.1: a hollow run" },
        { "--world sim --compute hollow --eval-samples 5", "--eval-samples 5: a hollow run" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct train_job job = { 0 };
        const enum rc rc = kit_prepare(&job, bad[i].options);
        train_job_free(&job);
        if (refused_unbuilt(rc, bad[i].options, "mpi") || refused_unbuilt(rc, bad[i].options, "sim"))
            continue;
        if (rc != RC_INVAL || !strstr(rc_message(), bad[i].says))
            fail_msg("%s: %s \"%s\" does not say \"%s\"", bad[i].options, rc_name(rc), rc_message(), bad[i].says);
    }
}

UNIT_TEST(an_interface_is_of_processes)
{
    static const char unknown[] = "--world mpi --interface no-such-one";
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, "--insecure --secure"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--secure: --insecure encrypts nothing; leave one"));
    assert_int_equal(kit_prepare(&job, "--secure"), RC_INVAL);
    assert_names(rc_message(), "--secure: ... --transport zmq");
    assert_int_equal(kit_prepare(&job, "--mode ps --workers 1 --transport inproc --secure"), RC_INVAL);
    assert_names(rc_message(), "--secure: transport inproc ... --transport zmq");
    assert_int_equal(kit_prepare(&job, "--mode ps --workers 1 --transport tcp --secure"), RC_OK);
    assert_int_equal(job.security, SECURITY_ON);
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--insecure"), RC_OK);
    assert_int_equal(job.security, SECURITY_OFF);
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--interface lo"), RC_INVAL);
    assert_names(rc_message(), "--interface lo: ... world threads");
    const enum rc rc = kit_prepare(&job, unknown);
    if (refused_unbuilt(rc, unknown, "mpi"))
        skip();
    assert_int_equal(rc, RC_INVAL);
    assert_non_null(strstr(rc_message(), "--interface no-such-one: host "));
}

/* Bytes of a worker's exchange, and of the whole host, that --on-loss report needs beside what is needed anyway. */
static void report_bytes(const char *options, size_t *worker_bytes, size_t *host_bytes)
{
    struct train_job aborts = { 0 }, reports = { 0 };
    char text[256];

    snprintf(text, sizeof text, "%s --on-loss report", options);
    assert_int_equal(kit_prepare(&aborts, options), RC_OK);
    assert_int_equal(kit_prepare(&reports, text), RC_OK);
    assert_true(aborts.on_loss == ON_LOSS_ABORT && reports.on_loss == ON_LOSS_REPORT);
    *worker_bytes = reports.memory.exchange_bytes - aborts.memory.exchange_bytes;
    *host_bytes = reports.memory.host_bytes - aborts.memory.host_bytes;
    train_job_free(&aborts);
    train_job_free(&reports);
}

/* A step's undo is 2 floats of each parameter of every worker; 3 copies of rank 0's running means. */
UNIT_TEST(memory_counts_what_a_loss_undoes)
{
    struct train_job job = { 0 };
    size_t worker_bytes, host_bytes;

    assert_int_equal(kit_prepare(&job, "--model resnet8 --data synthetic:100"), RC_OK);
    report_bytes("--model resnet8 --data synthetic:100 --mode allreduce --workers 3", &worker_bytes, &host_bytes);
    assert_int_equal(worker_bytes, 2 * job.n_params * sizeof(float));
    assert_int_equal(host_bytes, (3 * 2 * job.n_params + 3 * job.n_state) * sizeof(float));
    assert_true(job.n_state > 0);
    train_job_free(&job);
    report_bytes("--model lenet --mode none --workers 3", &worker_bytes, &host_bytes);
    assert_true(worker_bytes == 0 && host_bytes == 0);
    report_bytes("--model lenet --mode ps --workers 3", &worker_bytes, &host_bytes);
    assert_true(worker_bytes == 0 && host_bytes == 0);
}

/* Of every rank its own, and all again on rank 0, with the rates. */
UNIT_TEST(memory_counts_the_stamps_of_all_ranks)
{
    static const char *const options = "--model linear --mode allreduce --workers 3 --steps";
    struct train_job few = { 0 }, many = { 0 }, too_many = { 0 };
    char text[128];

    snprintf(text, sizeof text, "%s 100", options);
    assert_int_equal(kit_prepare(&few, text), RC_OK);
    snprintf(text, sizeof text, "%s 1100", options);
    assert_int_equal(kit_prepare(&many, text), RC_OK);
    assert_int_equal(many.memory.host_bytes - few.memory.host_bytes,
                     1000 * (2 * 3 * sizeof(struct step_stamp) + sizeof(float)));
    if (few.memory.available_bytes < SIZE_MAX / 2) {
        assert_int_equal(kit_prepare(&too_many, "--model linear --mode none --workers 4096 --steps 100000000"),
                         RC_INVAL);
        const double needed_bytes = 1e8 * 2 * 4096.0 * sizeof(struct step_stamp);
        snprintf(text, sizeof text, "--steps 100000000: the times of so many steps of 4096 ranks need %.0f",
                 floor(needed_bytes * 1e-9));
        assert_non_null(strstr(rc_message(), text));
    }
    train_job_free(&few);
    train_job_free(&many);
}

/* No other option of the table has the name of o. */
static void assert_names_differ(const struct opt *o, const struct opt *table)
{
    for (const struct opt *other = table; other->type != OPT_END; other++)
        if (o != other)
            assert_string_not_equal(o->name, other->name);
}

static void assert_sound(const struct opt *table)
{
    for (const struct opt *o = table; o->type != OPT_END; o++) {
        assert_true(o - table < OPT_MOST);
        assert_names_differ(o, train_run_table);
        assert_names_differ(o, train_opt_table);
        assert_true(*o->help && o->help[strlen(o->help) - 1] != '.');
        assert_true(o->min <= o->max);
        assert_true(o->type != OPT_U64 || o->min >= 0);
    }
}

UNIT_TEST(option_tables_are_sound)
{
    assert_sound(train_run_table);
    assert_sound(train_opt_table);
}

/* As in one launch of many under mpirun: the memory of an earlier run is not a later one's. */
UNIT_TEST(peaks_are_each_runs_own)
{
    const char *large = "--model resnet8 --image-size 64 --batch 32 --data synthetic:100 --steps 1 --threads 1";
    struct train_result first = { 0 }, second = { 0 };

    if (IS_SANITIZED)
        skip();
    kit_must_train(&first, large);
    kit_must_train(&second, "--model linear --steps 1");
    if (isnan(first.peak_rss_bytes)) {
        train_result_free(&first);
        train_result_free(&second);
        skip(); /* this system tells none */
    }
    assert_true(second.peak_rss_bytes > 0);
    if (!(second.peak_rss_bytes < first.peak_rss_bytes - 8e6))
        fail_msg("%.0f bytes after a run of %.0f", second.peak_rss_bytes, first.peak_rss_bytes);
    train_result_free(&first);
    train_result_free(&second);
}

UNIT_MAIN("train")
