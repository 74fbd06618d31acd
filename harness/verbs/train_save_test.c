/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_save_test.c - gradmark train on a disk that fails: what was not written is not reported as written. The
 * linker puts fsync and rename of this file before the system's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"
#include "harness/train/checkpoint.h"
#include "harness/verbs/verb.h"

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static int syncs_to_failure, renames_to_failure; /* 1: the next one fails; 0: none does */

int __wrap_fsync(int fd)
{
    if (syncs_to_failure == 0 || --syncs_to_failure > 0)
        return __real_fsync(fd);
    errno = EIO;
    return -1;
}

int __wrap_rename(const char *from, const char *to)
{
    if (renames_to_failure == 0 || --renames_to_failure > 0)
        return __real_rename(from, to);
    errno = EROFS;
    return -1;
}

static int set_up(void **state)
{
    struct kit *k = calloc(1, sizeof *k);

    syncs_to_failure = renames_to_failure = 0;
    *state = k;
    return k && kit_open(k) ? 0 : -1;
}

static int tear_down(void **state)
{
    kit_close(*state);
    free(*state);
    return 0;
}

/* gradmark train --steps STEPS --save DIR/c --out DIR/r.jsonl, standard output to DIR/out. */
static enum rc train(struct kit *k, const char *steps)
{
    char save[KIT_PATH_BYTES], out[KIT_PATH_BYTES];
    char *argv[] = { "--model", "linear", "--batch", "4", "--seed", "9", "--steps", (char *)(uintptr_t)steps,
                     "--save",  save,     "--out",   out };
    struct verb_call call;

    strcpy(save, kit_path(k, "c"));
    strcpy(out, kit_path(k, "r.jsonl"));
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO), to = open(kit_path(k, "out"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(kept >= 0 && to >= 0);
    dup2(to, STDOUT_FILENO);
    close(to);
    enum rc rc = verb_call_open(&call, &verb_train, sizeof argv / sizeof *argv, argv);
    if (rc == RC_OK)
        rc = verb_train.run(&call);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    assert_int_equal(call.stage, STAGE_RUN);
    verb_call_close(&call);
    return rc;
}

static void assert_checkpoint(struct kit *k, uint64_t steps_count)
{
    struct checkpoint c = { 0 };

    assert_int_equal(checkpoint_load(&c, kit_path(k, "c")), RC_OK);
    assert_string_equal(c.model, "linear");
    assert_true(c.seed == 9 && c.n_params == 2);
    assert_int_equal(c.steps_count, steps_count);
    assert_int_equal(c.samples_count, 4 * steps_count);
    checkpoint_free(&c);
}

UNIT_TEST_WITH(a_run_leaves_checkpoint_and_records, set_up, tear_down)
{
    struct kit *k = *state;

    assert_int_equal(train(k, "3"), RC_OK);
    assert_checkpoint(k, 3);
    assert_non_null(strstr(kit_read(k, "r.jsonl"), "\"kind\":\"summary\""));
    assert_non_null(strstr(kit_read(k, "out"), "total images/sec: "));
    assert_int_equal(kit_count_files(k), 3);
}

/* Nothing but the file for standard output is there, and nothing in it. */
static void assert_nothing_is_reported(struct kit *k)
{
    assert_non_null(strstr(rc_message(), kit_path(k, "c: ")));
    assert_string_equal(kit_read(k, "out"), "");
    assert_int_equal(kit_count_files(k), 1);
}

UNIT_TEST_WITH(a_checkpoint_that_is_not_on_disk_fails_the_run, set_up, tear_down)
{
    syncs_to_failure = 1;
    assert_int_equal(train(*state, "3"), RC_IO);
    assert_nothing_is_reported(*state);
}

UNIT_TEST_WITH(a_checkpoint_that_is_not_in_place_fails_the_run, set_up, tear_down)
{
    renames_to_failure = 1;
    assert_int_equal(train(*state, "3"), RC_IO);
    assert_nothing_is_reported(*state);
}

UNIT_TEST_WITH(records_that_are_not_in_place_fail_the_run, set_up, tear_down)
{
    struct kit *k = *state;

    renames_to_failure = 2; /* the checkpoint's comes first */
    assert_int_equal(train(k, "3"), RC_IO);
    assert_checkpoint(k, 3);
    assert_null(kit_read(k, "r.jsonl"));
    assert_string_equal(kit_read(k, "out"), "");
    assert_int_equal(kit_count_files(k), 2);
}

UNIT_TEST_WITH(the_earlier_checkpoint_stays_K1, set_up, tear_down)
{
    struct kit *k = *state;

    assert_int_equal(train(k, "3"), RC_OK);
    renames_to_failure = 1;
    assert_int_equal(train(k, "5"), RC_IO);
    assert_checkpoint(k, 3);
    assert_int_equal(train(k, "5"), RC_OK);
    assert_checkpoint(k, 5);
}

UNIT_MAIN("train_save")
