/* SPDX-License-Identifier: Apache-2.0 */
/* resume_test.c - which checkpoints a run goes on from, where it goes on, and why it refuses the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

struct fixture {
    char folder[32], path[64];
    float values[8];
    struct checkpoint c; /* of linear with --seed 9: 20 steps, 640 samples */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    *f = (struct fixture){ .folder = "gm_resume_test.XXXXXX", .values = { 2, 0.5f, -1, 3, 4, 5, 6, 7 } };
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->path, sizeof f->path, "%s/c", f->folder);
    f->c = (struct checkpoint){ .model = "linear",
                                .seed = 9,
                                .steps_count = 20,
                                .samples_count = 640,
                                .n_params = 2,
                                .param = f->values,
                                .optimizer = { .kind = OPTIMIZER_MOMENTUM },
                                .kept = { .moments = f->values + 2 } };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    unlink(f->path);
    const int left = rmdir(f->folder);
    free(f);
    return left;
}

/* Save the fixture's checkpoint and prepare a run that resumes it. */
static enum rc resume(struct train_job *out, const struct fixture *f, const char *options)
{
    char text[256];

    assert_int_equal(checkpoint_save(&f->c, f->path, NULL, NULL), RC_OK);
    snprintf(text, sizeof text, "%s --resume %s", options, f->path);
    return kit_prepare(out, text);
}

/* steps_left: of --steps, those the checkpoint has not done. */
static void assert_resumes(const struct fixture *f, const char *options, size_t steps_left)
{
    struct train_job job = { 0 };

    if (resume(&job, f, options) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
    assert_int_equal(job.n_steps, steps_left);
    assert_int_equal(job.resume.steps_count, 20);
    assert_int_equal(job.resume.samples_count, 640);
    assert_memory_equal(job.resume.param, f->values, 2 * sizeof(float));
    assert_memory_equal(job.resume.kept.moments, f->values + 2, 2 * sizeof(float));
    train_job_free(&job);
}

static void assert_refused(const struct fixture *f, const char *options, const char *why)
{
    struct train_job job = { 0 };
    const enum rc rc = resume(&job, f, options);

    train_job_free(&job);
    if (rc != RC_INVAL || !strstr(rc_message(), why))
        fail_msg("%s: %s \"%s\" does not say \"%s\"", options, rc_name(rc), rc_message(), why);
}

UNIT_TEST_WITH(a_run_goes_on_where_it_stopped, set_up, tear_down)
{
    const struct fixture *f = *state;

    assert_resumes(f, "--model linear --seed 9 --steps 50", 30);
    assert_resumes(f, "--model linear --seed 9 --steps 21", 1);
    assert_resumes(f, "--model linear --seed 9 --steps 50 --batch 3 --lr 0.5", 30);
    assert_resumes(f, "--model linear --seed 9 --steps 50 --mode allreduce --workers 3", 30);
    assert_resumes(f, "--model linear --seed 9 --steps 50 --mode ps --workers 3 --servers 2", 30);
}

/* Another seed has other samples in another order: the run would be neither. */
UNIT_TEST_WITH(another_seed_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;

    assert_refused(f, "--model linear --seed 8 --steps 50", "is of --seed 9, not 8");
    assert_refused(f, "--model linear --steps 50", "is of --seed 9, not 1");
    assert_refused(f, "--model linear --seed 10 --steps 50", "is of --seed 9, not 10");
    f->c.seed = 1;
    assert_resumes(f, "--model linear --steps 50", 30);
}

UNIT_TEST_WITH(another_model_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;

    assert_refused(f, "--model lenet --seed 9 --steps 50", "is of model linear, not lenet");
    f->c.n_params = 3;
    assert_refused(f, "--model linear --seed 9 --steps 50", "has 3 parameters, model linear has 2");
    f->c.n_params = 1;
    assert_refused(f, "--model linear --seed 9 --steps 50", "has 1 parameters, model linear has 2");
    f->c.n_params = 2;
    f->c.n_state = 3;
    f->c.state = f->values + 4;
    assert_refused(f, "--model linear --seed 9 --steps 50", "has 3 running means and variances, model linear has 0");
}

/* --steps counts those of the checkpoint. */
UNIT_TEST_WITH(steps_that_are_done_are_refused, set_up, tear_down)
{
    const struct fixture *f = *state;

    assert_refused(f, "--model linear --seed 9 --steps 20", "--steps 20");
    assert_refused(f, "--model linear --seed 9 --steps 20", "has done 20 already");
    assert_refused(f, "--model linear --seed 9 --steps 5", "has done 20 already");
}

/* Every array is looked at; the last value of each. */
UNIT_TEST_WITH(values_that_are_not_finite_are_refused, set_up, tear_down)
{
    struct fixture *f = *state;

    f->values[1] = NAN;
    assert_refused(f, "--model linear --seed 9 --steps 50", "its parameters are not all finite numbers");
    assert_refused(f, "--model linear --seed 9 --steps 50", "before step 20");
    f->values[1] = 0.5f;
    f->values[3] = -INFINITY;
    assert_refused(f, "--model linear --seed 9 --steps 50", "its optimizer's moments are not all finite numbers");
    f->values[3] = 3;
    f->values[4] = NAN; /* of no array */
    assert_resumes(f, "--model linear --seed 9 --steps 50", 30);
}

/* --stop-at-step counts updates, of which a checkpoint can have fewer than steps: here one in 4 steps. */
UNIT_TEST_WITH(updates_are_counted_on, set_up, tear_down)
{
    struct fixture *f = *state;
    static const char stop_at[] = "--model linear --seed 9 --mode ps --workers 1 --stop-at-step";
    char options[128];

    f->c.kept.n_updates = 5;
    (void)snprintf(options, sizeof options, "%s 45", stop_at);
    assert_resumes(f, options, 40);
    (void)snprintf(options, sizeof options, "%s 12", stop_at);
    assert_resumes(f, options, 7);
    (void)snprintf(options, sizeof options, "%s 12 --push-every 4", stop_at);
    assert_resumes(f, options, 28);
    f->c.kept.n_updates = 20;
    (void)snprintf(options, sizeof options, "%s 20", stop_at);
    assert_refused(f, options, "--stop-at-step 20:");
    assert_refused(f, options, "21 would be the least");
}

/* --inject counts steps as --steps does. */
UNIT_TEST_WITH(drills_of_other_steps_are_refused, set_up, tear_down)
{
    const struct fixture *f = *state;

    assert_resumes(f, "--model linear --seed 9 --steps 50 --inject kill:0@20", 30);
    assert_resumes(f, "--model linear --seed 9 --steps 50 --inject kill:0@49", 30);
    assert_refused(f, "--model linear --seed 9 --steps 50 --inject kill:0@19", "the first step is 20");
    assert_refused(f, "--model linear --seed 9 --steps 50 --inject stall:0",
                   "--inject stall:0@1: the first step is 20");
    assert_refused(f, "--model linear --seed 9 --steps 50 --inject kill:0@50", "the last step is 49");
}

UNIT_MAIN("resume")
