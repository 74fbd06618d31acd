/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_values_test.c - what is said of values of an option (--over), from made-up launches. */
#include "harness/campaign/suite/campaign_test_kit.h"

/* A point of allreduce with so many workers and this batch, of three launches: speed / 1.01, speed, speed x 1.01, in an
 * order of its own. */
static void add(struct campaign *c, struct kit *k, int n_workers, const char *batch, double speed, int turn)
{
    static const double spread[3] = { 1 / 1.01, 1, 1.01 };
    struct assignment assigned[] = {
        { "model", "lenet" }, { "mode", "allreduce" }, { "workers", "" }, { "batch", "" }
    };
    char text[200], path[KIT_PATH_BYTES];
    struct point *p = NULL;

    snprintf(assigned[2].value, sizeof assigned[2].value, "%d", n_workers);
    snprintf(assigned[3].value, sizeof assigned[3].value, "%s", batch);
    assert_int_equal(campaign_add(c, assigned, 4, &p), RC_OK);
    p->n_threads = 1;
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "{\"kind\":\"summary\",\"throughput_samples_per_s\":%.17g}\n",
                 speed * spread[(i + turn) % 3]);
        assert_true(kit_write(k, "one", text));
        snprintf(path, sizeof path, "%s", kit_path(k, "one"));
        assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
    }
}

static void verdict(const struct campaign *c, FILE *to)
{
    assert_int_equal(campaign_verdict(c, to), RC_OK);
}

#define HOLM                                                                                                         \
    "Of 2 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, " \
    "over pairs of launches in the same block.\n"

/* Each value against the first, in the order given, at the largest number of workers. */
static void each_value_against_the_first(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    c.n_launches_wanted = 3;
    add(&c, *state, 1, "8", 700, 0);
    add(&c, *state, 2, "8", 1000, 0);
    add(&c, *state, 1, "64", 1400, 1);
    add(&c, *state, 2, "64", 2000, 1);
    add(&c, *state, 2, "128", 1000, 1);
    char *text = made_told(&c, verdict);
    assert_string_equal(text,
                        "lenet allreduce, 2 workers, batch 64: 2.00 x the samples/s of batch 8 (95 %: 1.92 to 2.09).\n"
                        "lenet allreduce, 2 workers, batch 128: cannot tell whether batch 128 or 8 is faster: 1.00 x "
                        "(95 %: 0.96 to 1.04): they may well be equal.\n" HOLM);
    free(text);
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { MADE_TEST(each_value_against_the_first) };

    return cmocka_run_group_tests_name("verdict_values", tests, NULL, NULL);
}
