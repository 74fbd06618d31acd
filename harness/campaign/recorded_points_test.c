/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_points_test.c - campaigns of layouts, over stages or another option, and a run of one layout, read back. */
#include "harness/base/suite/printed.h"
#include "harness/campaign/suite/recorded_test_kit.h"

/* On 2 cores; as they were planned. */
static const struct made_layout LAYOUTS[] = {
    { { "lenet", "single", 1, 0, 3, 625, 1.01, NAN, 1 }, 1, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 1000, 1.01, NAN, 2 }, 1, 2 },
    { { "lenet", "allreduce", 2, 0, 3, 500, 1.01, NAN, 3 }, 2, 1 },
    { { "lenet", "allreduce", 1, 0, 3, 750, 1.01, NAN, 4 }, 2, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 800, 1.01, NAN, 5 }, 1, 1 },
};
enum { N_LAYOUTS = sizeof LAYOUTS / sizeof *LAYOUTS };
#define BEHIND ",\"layout\":\"2x1x2,2x2x1,1x2x1,2x1x1\""

/* What made_launch() writes of a layout, and gradmark train into the options of its launch. */
static void write_launch(FILE *to, const struct made_layout *m, int launch, int index)
{
    const struct point p = { .n_workers = m->of.n_workers, .n_stages = m->n_stages, .n_shards = m->n_shards };
    char options[64], *members = NULL;
    struct printed printed;

    printed_begin(&printed);
    made_layout_members(printed.to, &p, m->of.unit);
    members = printed_end(&printed);
    snprintf(options, sizeof options, ",\"stages\":%d,\"shard-dense\":%d", m->n_stages, m->n_shards);
    recorded_launch(to, &m->of, launch, index, &(struct recorded_kit){ .options = options, .summary = members });
    free(members);
}

static void write_manifest(struct kit *k, const char *options)
{
    FILE *to = fopen(kit_path(k, "manifest.json"), "w");

    assert_non_null(to);
    fprintf(to,
            "{\"kind\":\"campaign\",\"options\":{\"kind\":\"options\",\"model\":\"lenet\",\"mode\":\"allreduce\","
            "\"workers\":\"\",\"launches\":3,\"world\":\"threads\"%s}," RECORDED_MACHINE "}\n",
            options);
    assert_int_equal(fclose(to), 0);
}

/* Backwards, as a drawn order may be. */
static void write_runs(struct kit *k, size_t first, size_t end)
{
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "w");

    assert_non_null(to);
    for (int launch = 0; launch < MADE_LAUNCHES; launch++)
        for (size_t i = end; i > first; i--)
            write_launch(to, &LAYOUTS[i - 1], launch, launch);
    assert_int_equal(fclose(to), 0);
}

static void open_kept(struct recorded *out, const char *path)
{
    if (recorded_open(out, path) != RC_OK)
        fail_msg("%s", rc_message());
}

/* Tables and verdict are what they were; points in the order of the list. */
KIT_TEST(as_it_was_told)
{
    made_print_fn *const print[] = { campaign_print, campaign_verdict };
    struct kit *k = *state;
    struct campaign was;
    struct recorded kept;
    char *told[2];

    made_open_layouts(&was, k, LAYOUTS, N_LAYOUTS, false);
    for (size_t i = 0; i < N_LAYOUTS; i++)
        was.point[i].n_steps = 3; /* as in the records */
    for (int i = 0; i < 2; i++)
        told[i] = made_text(&was, print[i]);
    campaign_close(&was);
    write_runs(k, 0, N_LAYOUTS);
    write_manifest(k, BEHIND);
    open_kept(&kept, k->dir);
    assert_int_equal(kept.campaign.n_points, N_LAYOUTS);
    for (int i = 0; i < 2; i++) {
        char *text = made_text(&kept.campaign, print[i]);
        assert_string_equal(text, told[i]);
        free(text);
        free(told[i]);
    }
    recorded_close(&kept);
}

/* --over stages=, and --stages or --shard-dense of all points. */
KIT_TEST(stages_that_are_swept)
{
    static const struct {
        const char *options;
        size_t first, end;
        const char *has, *has_not;
    } cases[] = {
        { ",\"layout\":\"\",\"over\":\"stages=1,2\"", 3, 5, "stages", "shard-dense" },
        { ",\"over\":\"\",\"stages\":2", 2, 4, "stages", "shard-dense" },
        { ",\"over\":\"layout=2x1x2,2x1x1\",\"layout\":\"2x1x2,2x1x1\"", 1, 2, "shard-dense", "layout" },
        { ",\"shard-dense\":2", 1, 2, "shard-dense", "stages" },
        { ",\"stages\":1,\"shard-dense\":1", 4, 5, "workers", "stages" },
    };
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recorded kept;
        write_runs(k, cases[i].first, cases[i].end);
        write_manifest(k, cases[i].options);
        open_kept(&kept, k->dir);
        print_message("case %zu\n", i);
        assert_int_equal(kept.campaign.n_points, cases[i].end - cases[i].first);
        for (size_t p = 0; p < kept.campaign.n_points; p++) {
            assert_non_null(point_value(&kept.campaign.point[p], cases[i].has));
            assert_null(point_value(&kept.campaign.point[p], cases[i].has_not));
        }
        recorded_close(&kept);
    }
}

/* Of a run of stages, which gradmark train left: what its stages came to stands behind its summary. */
KIT_TEST(a_run_of_stages)
{
    char name[LAUNCH_NAME_BYTES];
    struct kit *k = *state;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "run.jsonl"), "w");

    assert_non_null(to);
    write_launch(to, &LAYOUTS[2], 0, -1);
    fprintf(to, "{\"kind\":\"stage\",\"stage\":0}\n{\"kind\":\"stage\",\"stage\":1}\n");
    assert_int_equal(fclose(to), 0);
    open_kept(&kept, kit_path(k, "run.jsonl"));
    point_name(name, sizeof name, &kept.campaign.point[0]);
    assert_string_equal(name, "lenet allreduce, layout 2x2x1");
    assert_int_equal(point_n_ranks(&kept.campaign.point[0]), 4);
    recorded_close(&kept);
}

/* Ranks that records tell of may be those of the first stage alone, or of all; how many hosts and servers there are the
 * summary says: of two hosts, and of one server of each of four stages. */
KIT_TEST(hosts_of_all_stages)
{
    struct kit *k = *state;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "run.jsonl"), "w");

    assert_non_null(to);
    struct made_point m = LAYOUTS[3].of;
    m.mode = "ps";
    m.n_servers = 4;
    recorded_launch(to, &m, 0, -1,
                    &(struct recorded_kit){ .summary = ",\"layout\":\"1x4x1\",\"hosts_count\":2,\"servers_count\":1",
                                            .n_ranks_per_host = 1 });
    assert_int_equal(fclose(to), 0);
    open_kept(&kept, kit_path(k, "run.jsonl"));
    assert_int_equal(kept.campaign.point[0].n_host_cores, 4);
    assert_false(kept.campaign.point[0].oversubscribed);
    assert_int_equal(kept.campaign.point[0].n_servers, 1);
    assert_int_equal(point_n_cores(&kept.campaign.point[0]), 4 + 4);
    recorded_close(&kept);
}

/* A campaign over another option (--over), read back. */

static const struct made_point SINGLE = { "lenet", "single", 1, 0, 3, 1000, 1.1, NAN, 1 };

/* Each value of --over has points of its own, in the order in which the option lists values. */
KIT_TEST(values_of_over)
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

UNIT_MAIN("recorded_layouts")
