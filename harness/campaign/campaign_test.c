/* SPDX-License-Identifier: Apache-2.0 */
/* campaign_test.c - records of made-up launches in, figures worked out by hand out. */
#include <dirent.h>
#include <jansson.h>
#include <sys/stat.h>

#include "harness/campaign/suite/campaign_test_kit.h"
#include "harness/report/record_keys.h"

#define AT(member) offsetof(struct launch, member)
#define THROUGHPUT AT(throughput_samples_per_s)

/* Within a relative error; both NaN are equal too. */
static void near(double value, double expected, double error)
{
    if (isnan(expected) ? !isnan(value) : !(fabs(value - expected) <= error * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void near_interval(struct interval i, double mean, double low, double high)
{
    near(i.mean, mean, 1e-12);
    near(i.low, low, 1e-4); /* as exact as the quantile of Student's t is said to be */
    near(i.high, high, 1e-4);
}

/* A key that no summary has would be NaN in every table. */
UNIT_TEST(train_records_every_figure)
{
#define KEY(member, key) key,
    static const char *const of_launch[] = { LAUNCH_FIGURES(KEY) };
#undef KEY

    for (size_t i = 0; i < sizeof of_launch / sizeof *of_launch; i++)
        if (!record_kind_allows(record_kind_find("summary"), of_launch[i], 0))
            fail_msg("%s: no figure of a summary", of_launch[i]);
}

/* Each member has the value of its own key. */
KIT_TEST(a_summary_is_read_key_by_key)
{
    static const struct {
        const char *key;
        size_t at;
    } member[] = {
        { "throughput_samples_per_s", THROUGHPUT },
        { "throughput_low_samples_per_s", AT(low_samples_per_s) },
        { "throughput_high_samples_per_s", AT(high_samples_per_s) },
        { "efficiency_ratio", AT(efficiency_ratio) },
        { "bound_ratio", AT(bound_ratio) },
        { "bound_low_ratio", AT(bound_low_ratio) },
        { "bound_high_ratio", AT(bound_high_ratio) },
        { "step_mean_s", AT(step_mean_s) },
        { "compute_s", AT(compute_s) },
        { "wait_s", AT(wait_s) },
        { "wire_s", AT(wire_s) },
        { "server_s", AT(server_s) },
        { "apply_s", AT(apply_s) },
        { "rest_s", AT(rest_s) },
        { "loss_last", AT(loss_last) },
        { "accuracy_ratio", AT(accuracy_ratio) },
        { "staleness_mean_count", AT(staleness_mean_count) },
        { "staleness_max_count", AT(staleness_max_count) },
        { "seconds_to_target_loss_s", AT(seconds_to_target_s) },
        { "samples_to_target_loss_count", AT(samples_to_target_count) },
    };
    enum { N_MEMBERS = sizeof member / sizeof *member };
    struct kit *k = *state;
    struct campaign c;
    struct point *p = NULL;
    char text[2000], path[KIT_PATH_BYTES];
    int n = snprintf(text, sizeof text, "{\"kind\":\"summary\",\"batch_per_worker_count\":48");

    for (int i = 0; i < N_MEMBERS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ",\"%s\":%d.5", member[i].key, 10 + i);
    snprintf(text + n, sizeof text - (size_t)n, "}\n");
    made_open(&c, k, NULL, 0, false);
    p = made_add(&c, "lenet", "none", 4);
    assert_true(kit_write(k, "one", text));
    assert_true(kit_write(k, "two", "{\"kind\":\"summary\",\"batch_per_worker_count\":48,\"loss_last\":null}\n"));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(&c, p, 4, path), RC_OK);
    assert_null(kit_read(k, "one")); /* taken: removed */
    snprintf(path, sizeof path, "%s", kit_path(k, "two"));
    assert_int_equal(campaign_take(&c, p, 4, path), RC_OK);
    assert_int_equal(p->n_launches, 2);
    assert_int_equal(c.n_launches_done, 2);
    assert_int_equal(p->batch_per_worker_count, 48);
    for (int i = 0; i < N_MEMBERS; i++) {
        double value[MAX_LAUNCHES];
        point_values(value, p, member[i].at);
        near(value[0], 10.5 + i, 0);
        near(value[1], NAN, 0); /* null, or no such key */
    }
    campaign_close(&c);
}

/* Each launch has its loss curve; in sim its seconds are virtual ones. */
KIT_TEST(every_launch_has_a_curve)
{
    static const struct made_point point = { "lenet", "ps", 2, 1, 3, 1000, 1.01, NAN, 0.5 };

    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        struct campaign c;
        made_open(&c, *state, &point, 1, is_virtual);
        assert_int_equal(c.point[0].n_curves, 3);
        for (int n = 0; n < 3; n++) {
            const struct curve *curve = &c.point[0].curve[n];
            assert_int_equal(curve->n_points, MADE_STEPS);
            for (int r = 1; r <= MADE_STEPS; r++) {
                near(curve->seconds[r - 1], 0.5 * r * pow(10, n), 1e-15);
                near(curve->samples_count[r - 1], 64 * r, 0);
                near(curve->loss[r - 1], 2.0 / r, 1e-15);
            }
        }
        campaign_close(&c);
    }
}

static int integer_at(const json_t *r, const char *key)
{
    const json_t *value = json_object_get(r, key);

    return json_is_integer(value) ? (int)json_integer_value(value) : -1;
}

/* runs.jsonl: every record as it was, with the number of its launch and its place in the block. */
KIT_TEST(runs_hold_every_record)
{
    static const struct made_point point[] = { { "lenet", "ps", 2, 1, 2, 1000, 1.01, NAN, 1 },
                                               { "lenet", "none", 2, 0, 2, 2000, 1.01, NAN, 2 } };
    const int n_ranks[] = { 3, 2 };
    struct kit *k = *state;
    struct campaign c;
    json_error_t error;

    made_open(&c, k, point, 2, false);
    assert_null(kit_read(k, "runs.jsonl"));
    assert_int_equal(campaign_commit(&c), RC_OK);
    campaign_close(&c);
    FILE *from = fopen(kit_path(k, "runs.jsonl"), "r");
    assert_non_null(from);
    for (int p = 0; p < 2; p++)
        for (int launch = 0; launch < 2; launch++) {
            const int n_records = 1 + MADE_STEPS + n_ranks[p] + 1;
            for (int i = 0; i < n_records; i++) {
                json_t *r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error);
                assert_non_null(r);
                assert_int_equal(integer_at(r, "launch_index"), launch);
                assert_int_equal(integer_at(r, "block_position"), 1 + p);
                if (i >= 1 && i <= MADE_STEPS)
                    assert_int_equal(integer_at(r, "step_index"), i - 1);
                if (i == n_records - 1)
                    near(json_number_value(json_object_get(r, "throughput_samples_per_s")),
                         point[p].samples_per_s * pow(1.01, (launch + p + 1) % 3 - 1), 1e-15);
                json_decref(r);
            }
        }
    assert_null(json_loadf(from, JSON_DISABLE_EOF_CHECK, &error));
    fclose(from);
}

/* A launch without a summary is an error, and none of the point's. */
KIT_TEST(a_launch_without_a_summary_is_none)
{
    struct kit *k = *state;
    struct campaign c;
    struct point *p = NULL;
    char path[KIT_PATH_BYTES];

    made_open(&c, k, NULL, 0, false);
    p = made_add(&c, "lenet", "none", 4);
    snprintf(path, sizeof path, "%s", kit_path(k, "records"));
    assert_int_equal(campaign_take(&c, p, 4, path), RC_MISMATCH); /* no such file */
    assert_true(kit_write(k, "records", "{\"kind\":\"step\",\"loss\":1}\n"));
    assert_int_equal(campaign_take(&c, p, 4, path), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "left no summary"));
    assert_int_equal(p->curve[0].n_points, 0);
    assert_true(kit_write(k, "records", "{\"loss\":1}\n"));
    assert_int_equal(campaign_take(&c, p, 4, path), RC_MISMATCH);
    assert_int_equal(p->n_launches, 0);
    assert_int_equal(c.n_launches_done, 0);
    assert_true(isnan(point_mean(p, AT(loss_last))));
    assert_true(kit_write(k, "records", "{\"kind\":\"step\",\"loss\":3}\n{\"kind\":\"summary\"}\n"));
    assert_int_equal(campaign_take(&c, p, 4, path), RC_OK);
    assert_int_equal(p->curve[0].n_points, 1);
    assert_true(p->curve[0].loss[0] == 3);
    campaign_close(&c);
}

KIT_TEST(means_of_launches)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    const struct point *p = made_find(&c, "lenet", "single", 1);
    near(point_mean(p, AT(compute_s)), 102e-6, 1e-12); /* of 51, 102 and 153 us */
    near(point_mean(p, AT(seconds_to_target_s)), (6.4 + 8 + 10) / 3, 1e-12);
    near(point_mean(p, AT(server_s)), NAN, 0);
    /* Student's t of 2 degrees, 4.30265, times 51 us / root 3 */
    near_interval(point_interval(p, AT(compute_s)), 102e-6, -24.6912e-6, 228.6912e-6);
    near_interval(point_interval(p, AT(server_s)), NAN, NAN, NAN);
    near_interval(point_interval(made_find(&c, "linear", "allreduce", 2), AT(compute_s)), 54e-6, NAN, NAN);
    near_interval(point_throughput(p), 1250, 718.07895, 2175.9446); /* of 1000, 1250 and 1562.5 */
    near_interval(point_throughput(made_find(&c, "lenet", "ps", 4)), 1625, 1585.3256, 1665.6673);
    near_interval(point_throughput(made_find(&c, "linear", "allreduce", 2)), 6e6, 5.4e6, 7.2e6); /* one launch's */
    near_interval(point_throughput(made_find(&c, "linear", "ps", 2)), NAN, NAN, NAN);
    campaign_close(&c);
}

/* Against `single` of the same model, per worker: a server is none. Sources of the ends: verdict_test.c, and
 * Student's interval over pairs of spreads 1.01 and 1.25, of which one begins a launch later. */
KIT_TEST(efficiency_of_every_mode)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    near_interval(campaign_efficiency(&c, made_find(&c, "lenet", "none", 2)), 1, 0.5671777802, 1.7631156135);
    near_interval(campaign_efficiency(&c, made_find(&c, "lenet", "single", 1)), 1, NAN, NAN);
    near_interval(campaign_efficiency(&c, made_find(&c, "lenet", "ps", 2)), 0.72, 0.4083680018, 1.2694432418);
    near_interval(campaign_efficiency(&c, made_find(&c, "lenet", "ps", 4)), 0.325, 0.1843327786, 0.5730125744);
    near_interval(campaign_efficiency(&c, made_find(&c, "lenet", "allreduce", 2)), 0.85, 0.5005137299, 1.4435168446);
    near_interval(campaign_efficiency(&c, made_find(&c, "linear", "allreduce", 2)), 0.75, NAN, NAN);
    near_interval(campaign_efficiency(&c, made_find(&c, "linear", "ps", 2)), NAN, NAN, NAN);
    campaign_close(&c);
    made_open(&c, *state, MADE_CAMPAIGN, 1, false); /* without single */
    near_interval(campaign_efficiency(&c, &c.point[0]), NAN, NAN, NAN);
    campaign_close(&c);
}

/* --- the order of a block --- */

enum { N_ORDERED = 12 };

/* Two models, of each `single`, and none, ps and allreduce at some counts. */
static void open_ordered(struct campaign *c)
{
    *c = (struct campaign){ .n_launches_wanted = 1 };
    for (int m = 0; m < 2; m++) {
        const char *model = m ? "linear" : "lenet";
        (void)made_add(c, model, "single", 1);
        (void)made_add(c, model, "none", 2);
        (void)made_add(c, model, "ps", 1);
        (void)made_add(c, model, "ps", 2);
        (void)made_add(c, model, "allreduce", 1);
        (void)made_add(c, model, "allreduce", 2);
    }
    assert_int_equal(c->n_points, N_ORDERED);
}

static void check_block(const size_t order[N_ORDERED])
{
    unsigned seen = 0;

    for (int i = 0; i < N_ORDERED; i++) {
        assert_true(order[i] < N_ORDERED);
        seen |= 1u << order[i];
        if (i % (N_ORDERED / 2)) /* points of one model are next to each other */
            assert_int_equal(order[i] / (N_ORDERED / 2), order[i - 1] / (N_ORDERED / 2));
    }
    assert_int_equal(seen, (1u << N_ORDERED) - 1);
}

/* In each block every point once, a model's next to each other; over many blocks each point of a model is as often the
 * first of it as any, each model as often the first, and each point as often before another one as behind it. */
UNIT_TEST(blocks_are_drawn_anew)
{
    enum { N_BLOCKS = 6000 };
    int n_leading[N_ORDERED] = { 0 }, n_models = 0, n_before = 0;
    size_t order[N_ORDERED], again[N_ORDERED], other[N_ORDERED];
    struct campaign c;

    open_ordered(&c);
    for (size_t block = 0; block < N_BLOCKS; block++) {
        int place[N_ORDERED];
        assert_int_equal(campaign_block_order(order, &c, 7, block), RC_OK);
        check_block(order);
        for (int i = 0; i < N_ORDERED; i++)
            place[order[i]] = i;
        n_leading[order[0]]++;
        n_leading[order[N_ORDERED / 2]]++;
        n_models += order[0] < N_ORDERED / 2;
        n_before += place[3] < place[5];
    }
    for (int i = 0; i < N_ORDERED; i++) /* 1000 on average, standard deviation 29 */
        assert_in_range(n_leading[i], 860, 1140);
    assert_in_range(n_models, 2800, 3200); /* 3000, 39 */
    assert_in_range(n_before, 2800, 3200);
    assert_int_equal(campaign_block_order(again, &c, 7, N_BLOCKS - 1), RC_OK);
    assert_memory_equal(again, order, sizeof order);
    assert_int_equal(campaign_block_order(other, &c, 8, N_BLOCKS - 1), RC_OK);
    assert_memory_not_equal(other, order, sizeof order);
    campaign_close(&c);
}

UNIT_TEST(blocks_that_are_not_drawn)
{
    size_t order[N_ORDERED];
    struct campaign c;

    open_ordered(&c);
    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        c.is_virtual = is_virtual;
        assert_int_equal(campaign_block_order(order, &c, is_virtual ? 3 : 0, 5), RC_OK);
        for (size_t i = 0; i < N_ORDERED; i++)
            assert_int_equal(order[i], i);
    }
    campaign_close(&c);
}

static const struct module *mode_of(const char *name)
{
    const struct module *mode = NULL;

    assert_int_equal(module_find(&mode, &mode_kind, name), RC_OK);
    return mode;
}

KIT_TEST(points_are_found)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_ptr_equal(made_find(&c, "lenet", "ps", 4), &c.point[3]);
    assert_ptr_equal(made_find(&c, "linear", "single", 1), &c.point[5]);
    assert_null(made_find(&c, "linear", "ps", 4));
    assert_null(made_find(&c, "linear", "none", 2));
    const struct point *lenet = &c.point[0];
    assert_int_equal(campaign_largest(&c, lenet, mode_of("ps"), NULL), 2); /* at 4 workers share cores */
    assert_int_equal(campaign_largest(&c, lenet, mode_of("allreduce"), mode_of("ps")), 2);
    assert_int_equal(campaign_largest(&c, lenet, mode_of("single"), mode_of("ps")), 0);
    assert_int_equal(campaign_largest(&c, lenet, mode_of("single"), NULL), 1);
    c.point[4].n_launches = 0;
    assert_int_equal(campaign_largest(&c, lenet, mode_of("allreduce"), NULL), 0);
    char name[LAUNCH_NAME_BYTES];
    point_name(name, sizeof name, &c.point[3]);
    assert_string_equal(name, "lenet ps, 4 workers");
    point_name(name, sizeof name, &c.point[5]);
    assert_string_equal(name, "linear single, 1 worker");
    campaign_close(&c);
}

KIT_TEST(decisions_have_a_direction)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    const struct point *ps = &c.point[2], *allreduce = &c.point[4];
    struct comparison d = campaign_compare(allreduce, ps, THROUGHPUT);
    near(d.ratio, 2125.0 / 1800, 1e-12);
    d = campaign_compare(ps, allreduce, THROUGHPUT);
    near(d.ratio, 1800.0 / 2125, 1e-12);
    near(d.ratio_low, 1800.0 / 2125 / 1.043742507, 1e-8);
    near(d.ratio_high, 1800.0 / 2125 * 1.043742507, 1e-8);
    d = campaign_compare(allreduce, ps, AT(seconds_to_target_s)); /* 6 and 5 s */
    near(d.ratio, 6.0 / 5, 1e-12);
    d = campaign_compare(allreduce, &c.point[0], AT(seconds_to_target_s)); /* one never got there */
    assert_true(d.n_pairs == 0 && isnan(d.ratio) && isnan(d.ratio_low) && isnan(d.ratio_high));
    campaign_close(&c);
}

UNIT_TEST(cores_shared_by_a_point)
{
    static const struct {
        int n_workers, n_servers, n_threads, n_cores;
        bool oversubscribed, servers_share;
    } cases[] = {
        { 2, 0, 1, 2, false, false }, { 3, 0, 1, 2, true, false }, { 2, 1, 1, 2, false, true },
        { 2, 1, 1, 3, false, false }, { 2, 1, 2, 4, false, true }, { 2, 1, 2, 3, true, false },
        { 1, 2, 2, 3, false, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point p = { .n_workers = cases[i].n_workers,
                           .n_servers = cases[i].n_servers,
                           .n_threads = cases[i].n_threads };
        point_mark_shared_cores(&p, cases[i].n_cores);
        assert_int_equal(p.oversubscribed, cases[i].oversubscribed);
        assert_int_equal(p.servers_share, cases[i].servers_share);
    }
}

/* As many as records may name. */
UNIT_TEST(a_point_of_very_many_cores)
{
    struct point p = { .n_workers = 1 << 20, .n_servers = 3, .n_threads = 1 << 20 };

    assert_true(point_n_cores(&p) == 1099511627779);
    point_mark_shared_cores(&p, 1 << 20);
    assert_true(p.oversubscribed);
}

/* Under a launcher the records tell how many hosts there are: two ranks on each, in the kit. */
KIT_TEST(cores_of_all_hosts_count)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct made_point wide = { "lenet", "none", 4, 0, 1, 1000, 1, NAN, 1 },
                            narrow = { "lenet", "none", 2, 0, 1, 1000, 1, NAN, 1 };

    for (int fits = 0; fits < 2; fits++) {
        struct campaign c;
        made_open(&c, *state, NULL, 0, false);
        struct point *p = made_add(&c, "lenet", "none", 4);
        c.is_launched = true;
        p->n_threads = (int)(2 * n_cores / 4 + !fits); /* 4 workers of them on 2 hosts */
        if (fits && p->n_threads == 0)
            p->n_threads = 1;
        made_launch(&c, p, &wide, 0);
        assert_int_equal(p->oversubscribed, 4 * p->n_threads > 2 * n_cores);
        made_launch(&c, p, &narrow, 1); /* a point is judged by the most hosts of its launches */
        assert_int_equal(p->oversubscribed, 4 * p->n_threads > 2 * n_cores);
        campaign_close(&c);
    }
}

/* A name of any length is one host as long as it goes on, and another where its last letter differs. */
UNIT_TEST(hosts_of_ranks)
{
    struct hosts hosts = { .n = 0 };
    char name[254];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(hosts_add(&hosts, NULL));
    for (int rank = 0; rank < 6; rank++) {
        name[sizeof name - 2] = (char)('a' + rank / 2);
        assert_int_equal(hosts_add(&hosts, name), rank % 2 == 0);
        assert_false(hosts_add(&hosts, NULL));
    }
    assert_int_equal(hosts.n, 3);
    assert_true(hosts_add(&hosts, "short"));
    assert_int_equal(hosts.n, 4);
}

/* <date>-name, then <date>-name-2; nothing stays of one that was not committed. */
KIT_TEST(folders_of_campaigns)
{
    struct kit *k = *state;
    struct campaign first = { .n_launches_wanted = 1 }, second = { .n_launches_wanted = 1 };
    char first_dir[512];
    struct stat about;

    assert_int_equal(campaign_open(&first, k->dir, "x"), RC_OK);
    assert_int_equal(campaign_open(&second, k->dir, "x"), RC_OK);
    snprintf(first_dir, sizeof first_dir, "%s", first.dir);
    assert_int_equal(strlen(first_dir), strlen(k->dir) + strlen("/2000-12-31-x"));
    assert_string_equal(first_dir + strlen(first_dir) - 2, "-x");
    assert_memory_equal(second.dir, first_dir, strlen(first_dir));
    assert_string_equal(second.dir + strlen(first_dir), "-2");
    campaign_close(&first);
    campaign_close(&second);
    assert_int_not_equal(stat(first_dir, &about), 0);
    assert_int_equal(kit_count_files(k), 0);
    made_open(&first, k, NULL, 0,
              false); /* in a folder that it did not make: empty, but not the campaign's to remove */
    campaign_close(&first);
    assert_int_equal(stat(k->dir, &about), 0);
}

UNIT_MAIN("campaign")
