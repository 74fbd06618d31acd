/* SPDX-License-Identifier: Apache-2.0 */
/* save_every_test.c - a checkpoint between steps is, to the bit, that of a run that ends there, and changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

enum { STEPS = 8, EVERY = 3, LAST_SAVED = 6 };

struct place {
    char folder[32], path[64];
};

static int open_place(void **state)
{
    static struct place p;

    p = (struct place){ .folder = "/tmp/save_every.XXXXXX" };
    *state = &p;
    if (!mkdtemp(p.folder))
        return -1;
    (void)snprintf(p.path, sizeof p.path, "%s/checkpoint", p.folder);
    return 0;
}

static int close_place(void **state)
{
    const struct place *p = *state;

    (void)unlink(p->path);
    return rmdir(p->folder);
}

/* Run `options`, with a checkpoint at path after every EVERY steps. Caller frees *out. */
static void run_saving(struct train_result *out, const char *options, const char *path)
{
    if (kit_train_saving(out, options, path, EVERY, NULL) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
}

static void assert_equal(const struct checkpoint *a, const struct checkpoint *b)
{
    assert_string_equal(a->model, b->model);
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->steps_count, b->steps_count);
    assert_int_equal(a->samples_count, b->samples_count);
    assert_int_equal(a->n_params, b->n_params);
    assert_int_equal(a->n_state, b->n_state);
    assert_memory_equal(a->param, b->param, a->n_params * sizeof(float));
    assert_true(kit_same_kept(a, b));
    if (a->n_state > 0)
        assert_memory_equal(a->state, b->state, a->n_state * sizeof(float));
}

/* The checkpoint that was saved is what a run of so many steps ends with. way: options but for the number of steps. */
static void check_saved(const struct place *p, const char *way)
{
    struct train_result until_saved;
    struct checkpoint saved;
    char text[256];

    (void)snprintf(text, sizeof text, "%s --steps %d", way, LAST_SAVED);
    assert_int_equal(kit_train(&until_saved, text, NULL, 0), RC_OK);
    assert_int_equal(checkpoint_load(&saved, p->path), RC_OK);
    assert_equal(&saved, &until_saved.final);
    checkpoint_free(&saved);
    train_result_free(&until_saved);
}

/* The run itself goes on as if it had saved nothing. */
static void check_unchanged(const struct train_result *saving, const char *way)
{
    struct train_result plain;
    char text[256];

    (void)snprintf(text, sizeof text, "%s --steps %d", way, STEPS);
    assert_int_equal(kit_train(&plain, text, NULL, 0), RC_OK);
    assert_equal(&saving->final, &plain.final);
    for (size_t i = 0; i < (size_t)plain.n_workers * plain.n_steps; i++)
        assert_true(saving->stamp[i].loss == plain.stamp[i].loss);
    train_result_free(&plain);
}

UNIT_TEST_WITH(every_mode_saves_what_it_would_end_with, open_place, close_place)
{
    static const char *const ways[] = {
        "--model lenet --mode allreduce --workers 2 --threads 1 --eval-samples 0 --momentum 0.9",
        "--model lenet --mode allreduce --workers 2 --threads 1 --eval-samples 0 --momentum 0.9 --overlap on "
        "--bucket-bytes 8Ki --priority on",
        "--model resnet8 --data synthetic:64 --image-size 16 --width-divisor 4 --batch 2 --mode single",
        "--model lenet --mode ps --workers 1 --servers 2 --threads 1 --eval-samples 0 --momentum 0.9 --overlap on "
        "--bucket-bytes 8Ki",
        "--model lenet --mode ps --workers 1 --servers 3 --threads 1 --eval-samples 0 --optimizer adam "
        "--partition-bytes 4Ki",
        "--model lenet --mode allreduce --workers 2 --threads 1 --eval-samples 0 --optimizer adagrad",
    };
    const struct place *p = *state;
    struct train_result saving;
    char text[256];

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        (void)snprintf(text, sizeof text, "%s --steps %d", ways[i], STEPS);
        run_saving(&saving, text, p->path);
        assert_int_equal(saving.saves.n_written, STEPS / EVERY);
        assert_int_equal(saving.saves.n_failed, 0);
        assert_true(saving.saves.spent_s > 0);
        check_saved(p, ways[i]);
        if (i % 2 == 1)
            check_unchanged(&saving, ways[i]);
        train_result_free(&saving);
    }
}

/* Servers go on with the other workers meanwhile: the checkpoint is of what they hold then. */
UNIT_TEST_WITH(asynchronous_workers_go_on, open_place, close_place)
{
    const struct place *p = *state;
    struct train_result r;
    struct checkpoint saved;

    run_saving(&r,
               "--model lenet --mode ps --workers 3 --servers 2 --momentum 0.9 --threads 1 --eval-samples 0 --steps 8",
               p->path);
    assert_int_equal(r.saves.n_written, 2);
    assert_int_equal(r.n_steps, 8);
    assert_int_equal(checkpoint_load(&saved, p->path), RC_OK);
    assert_int_equal(saved.steps_count, LAST_SAVED);
    assert_memory_not_equal(saved.param, r.final.param, saved.n_params * sizeof(float));
    checkpoint_free(&saved);
    train_result_free(&r);
}

/* Steps are counted from the beginning of the training, and the end of the run is not one of them. */
UNIT_TEST_WITH(steps_are_those_of_the_whole_training, open_place, close_place)
{
    const struct place *p = *state;
    struct train_result first, r;
    struct checkpoint saved;
    char text[256];

    assert_int_equal(kit_train(&first, "--model linear --steps 4", NULL, 0), RC_OK);
    assert_int_equal(checkpoint_save(&first.final, p->path, NULL, NULL), RC_OK);
    (void)snprintf(text, sizeof text, "--model linear --steps 9 --resume %s", p->path);
    run_saving(&r, text, p->path);
    assert_int_equal(r.saves.n_written, 1); /* after 6; 9 is the end */
    assert_int_equal(checkpoint_load(&saved, p->path), RC_OK);
    assert_int_equal(saved.steps_count, 6);
    checkpoint_free(&saved);
    train_result_free(&first);
    train_result_free(&r);
}

UNIT_TEST(a_checkpoint_that_cannot_be_written_ends_nothing)
{
    struct train_result r, plain;

    run_saving(&r, "--model linear --steps 8", "/no/such/folder/checkpoint");
    assert_int_equal(r.saves.n_written, 0);
    assert_int_equal(r.saves.n_failed, 2);
    assert_non_null(strstr(r.saves.why, "/no/such/folder/checkpoint"));
    assert_int_equal(kit_train(&plain, "--model linear --steps 8", NULL, 0), RC_OK);
    assert_equal(&r.final, &plain.final);
    train_result_free(&r);
    train_result_free(&plain);
}

UNIT_TEST(without_a_file_it_is_refused)
{
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, "--model lenet --save-every 3"), RC_INVAL);
    assert_names(rc_message(), "--save-every ... --save FILE");
}

UNIT_MAIN("save_every")
