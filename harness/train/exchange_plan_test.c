/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_plan_test.c - what is said of the exchange of a job: lenet has 13706 parameters, 54824 bytes, linear two. */
#include "harness/train/job_exchange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness/train/suite/train_kit.h"

#define CHANGES_NOTHING \
    " nothing: the gradients, 54824 bytes, are one chunk; give --bucket-bytes or --partition-bytes of less"

static const struct {
    const char *options, *text, *useless;
    bool exchanges;
} CASES[] = {
    { "--model lenet --mode single", NULL, "", false },
    { "--model lenet --mode none --workers 2", NULL, "", false },
    { "--model lenet --mode allreduce", "all gradients at once, overlap off", "", false },
    { "--model lenet --mode allreduce --workers 2", "all gradients at once, overlap off", "", true },
    { "--model lenet --mode allreduce --workers 2 --omit shard", "all gradients at once, overlap off", "", true },
    { "--model lenet --mode allreduce --workers 2 --omit average --overlap on", NULL, "", false },
    { "--model lenet --mode ps", "all gradients at once, overlap off", "", true },
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 64Ki --overlap on",
      "all gradients at once, overlap on", "--overlap on changes" CHANGES_NOTHING, true },
    { "--model lenet --mode ps --priority on", "all gradients at once, overlap off, priority on",
      "--priority on changes" CHANGES_NOTHING, true },
    { "--model lenet --mode ps --priority on --overlap on", "all gradients at once, overlap on, priority on",
      "--overlap on and --priority on change" CHANGES_NOTHING, true },
    { "--model linear --mode allreduce --workers 2 --overlap on", "all gradients at once, overlap on",
      "--overlap on changes nothing: the gradients, 8 bytes, are one chunk; give --partition-bytes of less", true },
    { "--model linear --mode allreduce --workers 2 --overlap on --partition-bytes 4",
      "1 bucket, 2 chunks, overlap on, priority off", "", true },
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 8Ki --overlap on --priority on",
      "5 buckets, 5 chunks, overlap on, priority on", "", true },
    { "--model lenet --mode allreduce --workers 2 --partition-bytes 54824", "all gradients at once, overlap off",
      "--partition-bytes 54824 changes nothing: the largest bucket has 54824 bytes; give less", true },
    { "--model lenet --mode allreduce --workers 2 --partition-bytes 54820",
      "1 bucket, 2 chunks, overlap off (auto: all workers are on one host), priority off", "", true },
    { "--model lenet --mode allreduce --workers 2 --partition-bytes 54820 --overlap off --priority on",
      "1 bucket, 2 chunks, overlap off, priority on", "", true },
    { "--model lenet --mode allreduce --workers 2 --overlap on --partition-bytes 1Mi",
      "all gradients at once, overlap on", "--overlap on changes" CHANGES_NOTHING, true },
    { "--model lenet --mode allreduce --workers 2 --compression topk:0.49", "all gradients at once, overlap off", "",
      true },
    { "--model lenet --mode allreduce --workers 4 --compression topk:0.25", "all gradients at once, overlap off",
      "--compression topk:0.25 saves nothing: the pairs of 4 workers are 82248 bytes for each to send, gradients as "
      "they "
      "are 82236; give a smaller part",
      true },
    { "--model lenet --mode ps --workers 4 --compression topk:0.5", "all gradients at once, overlap off", "", true },
    /* the largest layer of lenet, 32,768 bytes, is a bucket of its own */
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 8Ki --partition-bytes 32768",
      "5 buckets, 5 chunks, overlap off (auto: all workers are on one host), priority off",
      "--partition-bytes 32768 changes nothing: the largest bucket has 32768 bytes; give less", true },
    { "--model lenet --mode allreduce --workers 2 --bucket-bytes 8Ki --partition-bytes 32764",
      "5 buckets, 6 chunks, overlap off (auto: all workers are on one host), priority off", "", true },
};

static void what_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[256], useless[USELESS_EXCHANGE_BYTES];
        struct train_job job = { 0 };
        if (kit_prepare(&job, CASES[i].options) != RC_OK)
            fail_msg("%s: %s", CASES[i].options, rc_message());
        assert_int_equal(train_exchanges(&job), CASES[i].exchanges);
        assert_int_equal(train_useless_exchange(useless, sizeof useless, &job), RC_OK);
        assert_string_equal(useless, CASES[i].useless);
        if (CASES[i].text) {
            const struct overlap_choice chosen = job_overlap_choose(&job, 1, true, NULL);
            assert_int_equal(train_exchange_text(text, sizeof text, &job, &chosen), RC_OK);
            assert_string_equal(text, CASES[i].text);
        }
        train_job_free(&job);
    }
}

static void a_choice_is_said_with_its_reason(void **state)
{
    struct train_job job = { 0 };
    char text[256];

    (void)state;
    assert_int_equal(
        kit_prepare(&job, "--model lenet --world sim --mode allreduce --workers 3 --partition-bytes 54820"), RC_OK);
    const struct overlap_choice chosen = job_overlap_choose(&job, 3, true, NULL);
    assert_int_equal(train_exchange_text(text, sizeof text, &job, &chosen), RC_OK);
    assert_string_equal(text, "1 bucket, 2 chunks, overlap on (auto: workers are on 3 hosts), priority on");
    train_job_free(&job);
}

static void chunks_at_once_are_said(void **state)
{
    static const char *const texts[] = { "1 bucket, 4 chunks, overlap off, priority off",
                                         "1 bucket, 4 chunks, one after the other, overlap off, priority off",
                                         "1 bucket, 4 chunks, 2 at once, overlap off, priority off" };
    struct train_job job = { 0 };
    char text[256];

    (void)state;
    assert_int_equal(kit_prepare(&job, "--model lenet --mode ps --overlap off --partition-bytes 16Ki"), RC_OK);
    for (int n = 0; n < 3; n++) {
        const struct overlap_choice chosen = { .n_in_flight = n };
        assert_int_equal(train_exchange_text(text, sizeof text, &job, &chosen), RC_OK);
        assert_string_equal(text, texts[n]);
    }
    train_job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_said),
                                        cmocka_unit_test(a_choice_is_said_with_its_reason),
                                        cmocka_unit_test(chunks_at_once_are_said) };

    return cmocka_run_group_tests_name("exchange_plan", tests, NULL, NULL);
}
