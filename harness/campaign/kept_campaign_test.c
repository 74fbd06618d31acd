/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_campaign_test FOLDER - the verdict on a campaign of the first version that kept any, on 2 cores. That ps is
 * faster than allreduce there was mostly a difference in computing.
 */
#include <jansson.h>

#include "harness/campaign/recorded.h"
#include "harness/campaign/suite/campaign_test_kit.h"

static const char *folder_path;

static const char VERDICT[] =
    "lenet, 2 workers: ps is faster than allreduce: 1.37 x the samples/s (95 %: 1.25 to 1.50).\n"
    "lenet, 2 workers: difference lies in compute, which the mode does not change: 219 of 279 us a step.\n"
    "lenet, 2 workers: ps runs 1 server on the workers' cores.\n"
    "lenet, at 2 cores each (allreduce: 2 workers, ps: 1 worker + 1 server): allreduce is faster than ps: 1.99 x the "
    "samples/s (95 %: 1.57 to 2.53).\n"
    "lenet, 2 workers: the price of allreduce is not resolved (+-30 %): 67 to 115 % of the throughput without "
    "exchange.\n"
    "lenet, 2 workers: the price of ps is not resolved (+-27 %): 95 to 152 % of the throughput without exchange.\n"
    "lenet: target loss after 0.104 s with allreduce, 2 workers, and 0.119 s alone: cannot tell which is sooner, "
    "not sure enough for one of 6 verdicts (1.15 x, 95 %: 1.07 to 1.23).\n"
    "lenet: target loss after 0.0778 s with ps, 2 workers, and 0.119 s alone: cannot tell which is sooner, not "
    "sure enough for one of 6 verdicts (1.54 x, 95 %: 1.14 to 2.08).\n"
    "The time to the target loss is compared by a fixed rule: each mode at its largest worker count with a core for "
    "every worker, against one worker alone.\n"
    "Of 6 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, "
    "over pairs of launches in the same block.\n";

static const char *text_at(const json_t *r, const char *key)
{
    const char *text = json_string_value(json_object_get(r, key));

    assert_non_null(text);
    return text;
}

/* The point that a launch's manifest tells of; added where it is new. */
static struct point *point_of(struct campaign *c, const json_t *manifest)
{
    const json_t *options = json_object_get(manifest, "options");
    const int n_workers = (int)json_integer_value(json_object_get(options, "workers"));
    const char *model = text_at(options, "model"), *mode = text_at(options, "mode");

    if (!made_find(c, model, mode, n_workers)) {
        struct point *added = made_add(c, model, mode, n_workers);
        added->n_threads = (int)json_integer_value(json_object_get(options, "threads"));
        added->n_servers = strcmp(mode, "ps") == 0;
        point_mark_shared_cores(added, MADE_CORES);
    }
    return (struct point *)(uintptr_t)made_find(c, model, mode, n_workers);
}

/* Take every launch of the file: a manifest, and the records up to the next one. */
static void take_all(struct campaign *c, struct kit *k)
{
    FILE *to = NULL;
    struct point *p = NULL;
    json_error_t error;
    char path[KIT_PATH_BYTES];

    snprintf(path, sizeof path, "%s/runs.jsonl", folder_path);
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    snprintf(path, sizeof path, "%s", kit_path(k, "one.jsonl"));
    for (;;) {
        json_t *r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error);
        if (to && (!r || strcmp(text_at(r, "kind"), "manifest") == 0)) {
            assert_int_equal(fclose(to), 0);
            assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
            to = NULL;
        }
        if (!r)
            break;
        if (!to) {
            p = point_of(c, r);
            to = fopen(path, "w");
            assert_non_null(to);
        }
        assert_int_equal(json_dumpf(r, to, JSON_COMPACT | JSON_REAL_PRECISION(17)), 0);
        fputc('\n', to);
        json_decref(r);
    }
    fclose(from);
}

/* The version measured a bound before a run alone, and runs were faster: verdicts on them are withheld. What they would
 * be is told without their bounds. */
static void check_verdict(struct campaign *c)
{
    char *text = made_text(c, campaign_verdict);

    assert_non_null(strstr(text,
                           "cannot tell whether allreduce or ps is faster: a launch is faster than its bound in 2 "
                           "of 3 pairs.\n"));
    assert_non_null(strstr(text, "\n4 verdicts are withheld. "));
    free(text);
    for (size_t i = 0; i < c->n_points; i++)
        for (size_t k = 0; k < c->point[i].n_launches; k++)
            c->point[i].launch[k].bound_ratio = NAN;
    text = made_text(c, campaign_verdict);
    assert_string_equal(text, VERDICT);
    free(text);
}

KIT_TEST(its_difference_lies_in_compute)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    c.n_launches_wanted = 3;
    take_all(&c, *state);
    assert_int_equal(c.n_launches_done, 21);
    assert_int_equal(c.n_points, 7);
    check_verdict(&c);
    campaign_close(&c);
}

/* recorded.K1: read back by its folder, it says the same. */
UNIT_TEST(its_folder_says_the_same)
{
    struct recorded k;

    if (recorded_open(&k, folder_path) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(k.campaign.n_points, 7);
    assert_int_equal(k.campaign.n_launches_done, 21);
    check_verdict(&k.campaign);
    recorded_close(&k);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    folder_path = argv[1];
    return unit_run("kept_campaign", NULL, NULL, NULL);
}
