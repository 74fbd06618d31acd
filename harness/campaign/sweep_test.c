/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_test.c - campaigns that sweep other options than compare does: their points, launches, table and verdict. */
#include "harness/base/suite/printed.h"
#include "harness/campaign/suite/sweep_test_kit.h"

/* linear, none and single at 1 and 2 workers, each at two batches. */
static void open_batches(struct sweep *s, struct kit *k, char *words)
{
    char path[KIT_PATH_BYTES];

    kit_sweep(s, words);
    kit_axes(s, "linear", "none,single", "1,2");
    s->axis[s->n_axes++] = (struct axis){ "batch", "16,64" };
    s->campaign.n_launches_wanted = 1;
    snprintf(s->campaign.dir, sizeof s->campaign.dir, "%s", k->dir);
    snprintf(path, sizeof path, "%s", kit_path(k, "runs.jsonl"));
    assert_int_equal(partial_file_open(&s->campaign.runs, path), RC_OK);
    assert_int_equal(sweep_plan(s), RC_OK);
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        s->campaign.point[i].oversubscribed = false; /* whatever this machine has */
        s->campaign.point[i].wait = WAIT_SPIN;
        s->campaign.point[i].n_steps = 10;
    }
}

#define END \
    "--compute=cpu --threads=1 --steps=10 --wait=spin --seed=7 --target-loss=0.10000000000000001 --record-every=1\n"

/* A swept option is passed once, with the value the point assigns; a value given beside the sweep is not passed. */
KIT_TEST(a_batch_is_a_point)
{
    char words[] = "--world=threads --batch=8 --seed=7", text[4000];
    struct sweep s;

    open_batches(&s, *state, words);
    assert_int_equal(s.campaign.n_points, 6);
    kit_script(&s, *state);
    if (sweep_launch_all(&s, NULL) != RC_OK)
        fail_msg("%s", rc_message());
    kit_calls(*state, text, sizeof text);
    assert_string_equal(text, "train --world=threads --model=linear --mode=none --workers=1 --batch=16 " END
                              "train --world=threads --model=linear --mode=none --workers=1 --batch=64 " END
                              "train --world=threads --model=linear --mode=none --workers=2 --batch=16 " END
                              "train --world=threads --model=linear --mode=none --workers=2 --batch=64 " END
                              "train --world=threads --model=linear --mode=single --workers=1 --batch=16 " END
                              "train --world=threads --model=linear --mode=single --workers=1 --batch=64 " END);
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

static const struct point *at(const struct sweep *s, const char *mode, int n_workers, const char *batch)
{
    struct assignment a[MADE_ASSIGNMENTS + 1];

    made_assign(&a[0], "batch", batch); /* in whatever order */
    made_assignments(a + 1, "linear", mode, n_workers);
    return campaign_find(&s->campaign, a, MADE_ASSIGNMENTS + 1);
}

/* Launch n trains 100 n samples/s: batch 16 is measured by launch 5, batch 64 by launch 6. */
KIT_TEST(batches_are_compared_apart)
{
    char words[] = "--world=threads", name[LAUNCH_NAME_BYTES];
    struct sweep s;

    open_batches(&s, *state, words);
    kit_script(&s, *state);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_ptr_equal(at(&s, "none", 2, "64"), &s.campaign.point[3]);
    assert_null(at(&s, "none", 2, "32"));
    assert_null(made_find(&s.campaign, "linear", "none", 2)); /* not all that it assigns */
    assert_true(fabs(campaign_efficiency(&s.campaign, at(&s, "none", 2, "16")).mean - 300.0 / 500 / 2) < 1e-12);
    assert_true(fabs(campaign_efficiency(&s.campaign, at(&s, "none", 2, "64")).mean - 400.0 / 600 / 2) < 1e-12);
    assert_ptr_equal(campaign_find_control(&s.campaign, at(&s, "single", 1, "64")), at(&s, "none", 1, "64"));
    assert_int_equal(campaign_largest(&s.campaign, at(&s, "single", 1, "64"), at(&s, "none", 1, "64")->mode, NULL), 2);
    for (size_t i = 0; i < s.campaign.n_points; i++)
        assert_int_equal(campaign_represents(&s.campaign, i), i < 2); /* none at 1 worker, of each batch */
    point_name(name, sizeof name, at(&s, "none", 2, "64"));
    assert_string_equal(name, "linear none, 2 workers, batch 64");
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

/* Servers are assigned to modes that have them; threads and steps that are assigned replace those of every launch. */
UNIT_TEST(an_option_goes_to_modes_that_take_it)
{
    char words[] = "--world=threads --servers=5 --threads=9 --steps=300";
    struct sweep s;

    kit_sweep(&s, words);
    kit_axes(&s, "linear", "single,ps", "1");
    s.axis[s.n_axes++] = (struct axis){ "servers", "1,2" };
    s.axis[s.n_axes++] = (struct axis){ "threads", "3" };
    s.axis[s.n_axes++] = (struct axis){ "steps", "40" };
    assert_int_equal(sweep_plan(&s), RC_OK);
    assert_int_equal(s.campaign.n_points, 3);
    sweep_set_steps(&s, 1e9);
    for (int i = 0; i < 3; i++) {
        const struct point *p = &s.campaign.point[i];
        assert_int_equal(p->n_servers, i);
        assert_int_equal(p->n_threads, 3);
        assert_int_equal(p->n_steps, 40);
        assert_int_equal(point_value(p, "servers") != NULL, i > 0);
        assert_true(i == 0 || point_comparable(p, &s.campaign.point[0]));
    }
    assert_false(point_comparable(&s.campaign.point[1], &s.campaign.point[2]));
    campaign_close(&s.campaign);
}

/* Without --servers each worker has one beside it, which takes no core of its own. */
UNIT_TEST(servers_beside_workers_are_as_many)
{
    char words[] = "--world=threads --colocate", given[] = "--world=threads --colocate --servers=1";
    struct sweep s;

    kit_sweep(&s, words);
    kit_axes(&s, "linear", "none,ps", "1,2");
    assert_int_equal(sweep_plan(&s), RC_OK);
    assert_int_equal(s.campaign.n_points, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct point *p = &s.campaign.point[i];
        assert_int_equal(p->n_servers, i < 2 ? 0 : i - 1);
        assert_int_equal(p->servers_beside, i >= 2);
        assert_int_equal(point_n_cores(p), p->n_workers);
    }
    assert_non_null(strstr(s.campaign.exchange, "colocate true"));
    campaign_close(&s.campaign);
    kit_sweep(&s, given);
    kit_axes(&s, "linear", "ps", "2");
    assert_int_equal(sweep_plan(&s), RC_OK);
    assert_int_equal(s.campaign.point[0].n_servers, 1);
    campaign_close(&s.campaign);
}

/* A value that a point has no room for is refused, not cut. */
UNIT_TEST(long_values_are_refused)
{
    char words[] = "--world=threads", value[100];
    struct sweep s;

    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    kit_sweep(&s, words);
    kit_axes(&s, "lenet", "single", "1");
    s.axis[s.n_axes++] = (struct axis){ "data", value };
    assert_int_equal(sweep_plan(&s), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--data xxx"));
    campaign_close(&s.campaign);
}

/* What all points share; what is swept has a column. */
KIT_TEST(the_exchange_is_named)
{
    static const struct {
        const char *words, *swept, *exchange;
    } cases[] = {
        { "--world=threads --batch=7", NULL, "" },
        { "--world=threads --overlap=auto --reducer=ring", NULL, "" },
        { "--world=threads --overlap=off --reducer=ring", NULL, "overlap off" },
        { "--world=threads --overlap=on --priority=on --bucket-bytes=8Ki", NULL,
          "bucket-bytes 8192, overlap on, priority on" },
        { "--world=threads --overlap=on --reducer=root --servers=2 --partition-bytes=4", NULL,
          "servers 2, reducer root, partition-bytes 4, overlap on" },
        { "--world=threads --overlap=on --bucket-bytes=8Ki", "bucket-bytes", "overlap on" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[96];
        snprintf(words, sizeof words, "%s", cases[i].words);
        kit_sweep(&s, words);
        kit_axes(&s, "lenet", "allreduce", "2");
        if (cases[i].swept)
            s.axis[s.n_axes++] = (struct axis){ cases[i].swept, "4096,8192" };
        assert_int_equal(sweep_plan(&s), RC_OK);
        assert_string_equal(s.campaign.exchange, cases[i].exchange);
        campaign_close(&s.campaign);
    }
}

/* The warning is of the first point that an option changes nothing of. */
KIT_TEST(useless_options_are_noted)
{
    static const struct {
        const char *words, *useless;
    } cases[] = {
        { "--world=threads --overlap=on",
          "lenet: --overlap on changes nothing: the gradients, 54824 bytes, are one chunk; give --bucket-bytes or "
          "--partition-bytes of less" },
        { "--world=threads --overlap=on --bucket-bytes=8Ki", "linear: --overlap on changes nothing: the gradients, 8 "
                                                             "bytes, are one chunk; give --partition-bytes of less" },
        { "--world=threads --overlap=on --partition-bytes=4", "" },
        { "--world=threads", "" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[64];
        snprintf(words, sizeof words, "%s", cases[i].words);
        kit_sweep(&s, words);
        kit_axes(&s, "lenet,linear", "none,single,allreduce", "1,2");
        assert_int_equal(sweep_plan(&s), RC_OK);
        sweep_set_steps(&s, 1e9);
        if (sweep_check(&s) != RC_OK)
            fail_msg("%s", rc_message());
        assert_string_equal(s.useless, cases[i].useless);
        campaign_close(&s.campaign);
    }
}

/* A column for what is swept; a chart's table for each of its values. The last test: it changes PATH. */
KIT_TEST(batches_are_shown_apart)
{
    char words[] = "--world=threads", *text = NULL;
    struct sweep s;

    open_batches(&s, *state, words);
    kit_script(&s, *state);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    struct printed p;
    printed_begin(&p);
    assert_int_equal(campaign_print(&s.campaign, p.to), RC_OK);
    text = printed_end(&p);
    assert_non_null(strstr(text, "workers  batch  cores  samples/s"));
    assert_non_null(strstr(text, "\nlinear  none          2     64      2        400"));
    free(text);
    assert_int_equal(setenv("PATH", s.campaign.dir, 1), 0); /* no gnuplot there */
    assert_int_equal(campaign_draw(&s.campaign, stderr), RC_UNSUPPORTED);
    const char *sheet = kit_read(*state, "efficiency-linear-batch-64.tsv");
    assert_non_null(sheet);
    assert_string_equal(sheet, "mode\tworkers\tmean\tlow\thigh\toversubscribed\tcores\n"
                               "none\t1\t0.33333333333333331\tnan\tnan\t0\t1\n"
                               "none\t2\t0.33333333333333331\tnan\tnan\t0\t2\n"
                               "single\t1\t1\tnan\tnan\t0\t1\n");
    assert_non_null(kit_read(*state, "throughput-linear-batch-16.tsv"));
    assert_null(kit_read(*state, "throughput-linear.tsv"));
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

UNIT_MAIN("sweep")
