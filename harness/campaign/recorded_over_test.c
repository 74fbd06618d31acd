/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_over_test.c - a campaign over another option (--over), read back. */
#include "harness/campaign/suite/recorded_test_kit.h"

static const struct made_point SINGLE = { "lenet", "single", 1, 0, 3, 1000, 1.1, NAN, 1 };

/* Each value of --over has points of its own, in the order in which the option lists values. */
static void values_of_over(void **state)
{
    static const char *const input[] = { ",\"input\":\"feed\"", ",\"input\":\"direct\"" };
    struct kit *k = *state;
    struct recorded kept;

    assert_true(kit_write(k, "manifest.json",
                          "{\"options\":{\"mode\":\"single\",\"launches\":2,\"over\":\"input=direct,feed\"}}"));
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "w");
    assert_non_null(to);
    for (int launch = 0; launch < 2; launch++)
        for (int i = 0; i < 2; i++) {
            const double ratio = i == 0 ? 2 : 1;
            recorded_launch(to, &SINGLE, launch, launch,
                            &(struct recorded_kit){ .options = input[i], .rate_ratio = ratio });
        }
    assert_int_equal(fclose(to), 0);
    if (recorded_open(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(kept.campaign.n_points, 2);
    for (int p = 0; p < 2; p++) {
        const struct point *point = &kept.campaign.point[p];
        assert_string_equal(point_value(point, "input"), p == 0 ? "direct" : "feed");
        assert_int_equal(point->n_launches, 2);
    }
    assert_true(fabs(kept.campaign.point[1].launch[1].throughput_samples_per_s /
                         kept.campaign.point[0].launch[1].throughput_samples_per_s -
                     2) < 1e-9);
    recorded_close(&kept);
    to = fopen(kit_path(k, "runs.jsonl"), "w");
    assert_non_null(to);
    recorded_launch(to, &SINGLE, 0, 0, &(struct recorded_kit){ .options = "" });
    assert_int_equal(fclose(to), 0);
    assert_int_equal(recorded_open(&kept, k->dir), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "or without what the campaign is over"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { MADE_TEST(values_of_over) };

    return cmocka_run_group_tests_name("recorded_over", tests, NULL, NULL);
}
