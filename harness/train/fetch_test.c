/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_test.c - a copy from the device that fails, whichever it is, fails the run: nothing wrong is kept or sent. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/train/suite/train_kit.h"

static atomic_int n_gets, failing_get;    /* failing_get: its number, from 1 on; 0: none */
static _Thread_local bool has_failed_get; /* since the last sync of this rank */

static void get_or_fail(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    if (atomic_fetch_add(&n_gets, 1) + 1 == atomic_load(&failing_get)) {
        has_failed_get = true; /* and host is left as it was */
        return;
    }
    compute_fake_device.get(c, host, from, n_bytes);
}

static enum rc sync_and_tell(struct compute *c)
{
    const bool failed = has_failed_get;

    has_failed_get = false;
    return failed ? rc_raise(RC_DEVICE, "a get was made to fail") : compute_fake_device.sync(c);
}

static enum rc train(const char *options, const char *path, int nth)
{
    struct compute_backend device = compute_fake_device;
    struct train_result result = { .n_workers = 0 };
    struct train_job job = { 0 };
    enum rc rc;

    device.get = get_or_fail;
    device.sync = sync_and_tell;
    atomic_store(&n_gets, 0);
    atomic_store(&failing_get, nth);
    TRY(kit_prepare(&job, options));
    job.compute = &device;
    job.opts.save = path; /* as kit_train_saving() does */
    TRY(kit_run(&job, &result));
out:
    train_result_free(&result);
    train_job_free(&job);
    return rc;
}

/* Regression: a failed copy from the device became a checkpoint. */
UNIT_TEST(every_get_is_judged)
{
    static const char *const runs[] = {
        "--model linear --mode single --batch 4 --steps 3 --momentum 0.9 --save x --save-every 2",
        "--model linear --mode allreduce --workers 2 --batch 4 --steps 2",
        "--model linear --mode ps --workers 1 --servers 1 --batch 4 --steps 2",
        "--model resnet8 --image-size 8 --width-divisor 8 --batch 2 --mode single --steps 3 --eval-samples 2 "
        "--save x --save-every 2",
    };
    char path[] = "/tmp/fetch_test.XXXXXX";

    kit_make_file(path);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const char *save = strstr(runs[i], "--save") ? path : "";
        if (train(runs[i], save, 0) != RC_OK)
            fail_msg("%s: %s", runs[i], rc_message());
        const int n = atomic_load(&n_gets);
        assert_true(n > 0);
        for (int nth = 1; nth <= n; nth++)
            if (train(runs[i], save, nth) != RC_DEVICE)
                fail_msg("%s: get %d of %d failed, and nobody looked (%s)", runs[i], nth, n, rc_message());
    }
    assert_int_equal(unlink(path), 0);
}

UNIT_MAIN("fetch")
