/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skeleton_test.c - what one file and one line bring: allreduce/suite/skeleton.c, added to the list of algorithms, is
 * parsed, refused, checked, counted, run and recorded, and nothing else in the program knows its name (U1, U2).
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/opt.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"
#include "harness/report/suite/report_kit.h"
#include "harness/train/suite/train_kit.h"

static void refused(const char *options, const char *message)
{
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, options), RC_INVAL);
    assert_string_equal(rc_message(), message);
    train_job_free(&job);
}

UNIT_TEST(help_tells_its_option)
{
    struct train_opts opts;
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];
    const int n = train_opt_groups(group, &opts);
    char name[80] = "";

    for (int i = 0; i < n && strcmp(name, "--skeleton.chunk-elems") != 0; i++)
        if (group[i].module)
            opt_help_name(name, sizeof name, group[i].module, group[i].table);
    assert_string_equal(name, "--skeleton.chunk-elems");
}

UNIT_TEST(its_option_reaches_memory_and_job)
{
    struct train_job few = { 0 }, many = { 0 };

    assert_int_equal(kit_prepare(&few, "--model lenet --mode allreduce --workers 2 --reducer skeleton"), RC_OK);
    assert_int_equal(kit_prepare(&many, "--model lenet --mode allreduce --workers 2 --reducer skeleton "
                                        "--skeleton.chunk-elems 1025"),
                     RC_OK);
    assert_string_equal(few.collective->module.name, "skeleton");
    assert_int_equal(many.memory.exchange_bytes - few.memory.exchange_bytes, sizeof(float));
    train_job_free(&few);
    train_job_free(&many);
}

UNIT_TEST(wrong_uses_are_refused)
{
    refused("--mode allreduce --workers 2 --skeleton.chunk-elems 9",
            "--skeleton.chunk-elems 9: is an option of reducer skeleton; needs --reducer skeleton, but that is ring");
    refused("--mode single --skeleton.chunk-elems 9",
            "--skeleton.chunk-elems 9: is an option of reducer skeleton, and this run uses no reducer");
    refused("--model linear --mode allreduce --workers 2 --reducer skeleton --skeleton.chunk-elems 3",
            "--skeleton.chunk-elems 3: the model has only 2 parameters");
    refused("--mode allreduce --workers 2 --reducer skeleton --skeleton.chunk-elems 0",
            "--skeleton.chunk-elems 0: out of range, must be from 1 to 1073741824");
}

static void same_parameters(const char *options, const char *others)
{
    struct train_result a = { 0 }, b = { 0 };

    assert_int_equal(kit_train(&a, options, NULL, 0), RC_OK);
    assert_int_equal(kit_train(&b, others, NULL, 0), RC_OK);
    assert_int_equal(a.final.n_params, b.final.n_params);
    assert_memory_equal(a.final.param, b.final.param, a.final.n_params * sizeof *a.final.param);
    train_result_free(&a);
    train_result_free(&b);
}

/* It adds in the order of root, whatever its chunks are. */
UNIT_TEST(it_trains_to_the_bits_of_root)
{
    same_parameters(
        "--model lenet --mode allreduce --workers 3 --steps 5 --reducer skeleton --skeleton.chunk-elems 777",
        "--model lenet --mode allreduce --workers 3 --steps 5 --reducer root");
}

UNIT_TEST(the_manifest_holds_its_option)
{
    struct train_job job = { 0 };
    struct record *r = NULL;
    struct kit k;

    assert_true(kit_open(&k));
    assert_int_equal(kit_prepare(&job, "--model lenet --mode allreduce --workers 2 --reducer skeleton "
                                       "--skeleton.chunk-elems 777"),
                     RC_OK);
    r = record_open(NULL);
    record_module_options(r, job.used[TRAIN_COLLECTIVE],
                          module_options(&job.opts.modules, train_kinds, job.used[TRAIN_COLLECTIVE]));
    assert_int_equal(record_write_file(r, kit_path(&k, "options.json")), RC_OK);
    assert_non_null(strstr(kit_read(&k, "options.json"), "\"skeleton.chunk-elems\": 777"));
    record_close(&r);
    train_job_free(&job);
    kit_close(&k);
}

UNIT_MAIN("skeleton")
