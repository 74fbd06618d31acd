/* SPDX-License-Identifier: Apache-2.0 */
/* wait_test.c - how the points of a campaign wait, on hosts of any size. */
#include "allreduce/collective_list.h"
#include "harness/base/suite/printed.h"
#include "harness/campaign/suite/sweep_test_kit.h"
#include "harness/exchange/collective.h"

struct expected {
    const char *mode;
    int n_workers;
    enum wait_policy wait;
    int n_busy_threads;
};

static void plan_on(struct sweep *s, const char *options, const char *mode, const char *workers, int n_cores)
{
    static char words[100];

    snprintf(words, sizeof words, "--world=threads%s", options);
    kit_sweep(s, words);
    kit_axes(s, "lenet", mode, workers);
    assert_int_equal(sweep_plan(s), RC_OK);
    for (size_t i = 0; i < s->campaign.n_points; i++) { /* not what this machine has */
        struct point *p = &s->campaign.point[i];
        point_mark_shared_cores(p, n_cores);
    }
    sweep_set_wait(s, n_cores);
}

#define ALL "none,single,ps,allreduce"

/* Every point of a campaign, on so many cores. */
static const struct {
    int n_cores;
    const char *options, *mode, *workers;
    struct expected point[8];
} plan[] = {
    { 2,
      "",
      "none,single,allreduce",
      "1,2", /* a core each */
      { { "none", 1, WAIT_SPIN, 1 },
        { "none", 2, WAIT_SPIN, 2 },
        { "single", 1, WAIT_SPIN, 1 },
        { "allreduce", 1, WAIT_SPIN, 1 },
        { "allreduce", 2, WAIT_SPIN, 2 } } },
    { 2,
      "",
      ALL,
      "1,2", /* whether there is a server or not */
      { { "none", 1, WAIT_SPIN, 1 },
        { "none", 2, WAIT_SPIN, 2 },
        { "single", 1, WAIT_SPIN, 1 },
        { "ps", 1, WAIT_SPIN, 1 },
        { "ps", 2, WAIT_SPIN, 2 },
        { "allreduce", 1, WAIT_SPIN, 1 },
        { "allreduce", 2, WAIT_SPIN, 2 } } },
    { 2,
      "",
      "allreduce",
      "2,4", /* an oversubscribed point sleeps alone */
      { { "allreduce", 2, WAIT_SPIN, 2 }, { "allreduce", 4, WAIT_SLEEP, 4 } } },
    { 2, "", "ps", "1,4", { { "ps", 1, WAIT_SPIN, 1 }, { "ps", 4, WAIT_SLEEP, 4 } } },
    { 4, " --threads=2", "ps,allreduce", "2", { { "ps", 2, WAIT_SPIN, 4 }, { "allreduce", 2, WAIT_SPIN, 4 } } },
    { 3,
      " --threads=2",
      "ps,allreduce",
      "1,2",
      { { "ps", 1, WAIT_SPIN, 2 },
        { "ps", 2, WAIT_SLEEP, 4 },
        { "allreduce", 1, WAIT_SPIN, 2 },
        { "allreduce", 2, WAIT_SLEEP, 4 } } },
    { 4,
      " --overlap=on",
      "none,allreduce",
      "2", /* a communicator for each worker */
      { { "none", 2, WAIT_SPIN, 2 }, { "allreduce", 2, WAIT_SPIN, 4 } } },
    { 3, " --overlap=on", "none,allreduce", "2", { { "none", 2, WAIT_SLEEP, 2 }, { "allreduce", 2, WAIT_SLEEP, 4 } } },
    { 2,
      " --wait=spin",
      "ps,allreduce",
      "2", /* as the user says */
      { { "ps", 2, WAIT_SPIN, 2 }, { "allreduce", 2, WAIT_SPIN, 2 } } },
    { 8,
      " --colocate",
      "none,single,ps,allreduce",
      "1,2", /* servers beside workers need them to sleep, and what is compared with them sleeps too */
      { { "none", 1, WAIT_SLEEP, 1 },
        { "none", 2, WAIT_SLEEP, 2 },
        { "single", 1, WAIT_SLEEP, 1 },
        { "ps", 1, WAIT_SLEEP, 1 },
        { "ps", 2, WAIT_SLEEP, 2 },
        { "allreduce", 1, WAIT_SLEEP, 1 },
        { "allreduce", 2, WAIT_SLEEP, 2 } } },
    { 8, " --colocate --wait=spin", "ps", "2", { { "ps", 2, WAIT_SPIN, 2 } } },
    { 1, " --wait=spin", "allreduce", "2", { { "allreduce", 2, WAIT_SPIN, 2 } } },
    { 8, " --wait=sleep", "ps,allreduce", "2", { { "ps", 2, WAIT_SLEEP, 2 }, { "allreduce", 2, WAIT_SLEEP, 2 } } },
};

UNIT_TEST(comparable_points_wait_alike)
{
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
        struct sweep s;
        size_t n = 0;
        print_message("plan %zu\n", i);
        plan_on(&s, plan[i].options, plan[i].mode, plan[i].workers, plan[i].n_cores);
        for (const struct expected *e = plan[i].point; e->mode; e++, n++) {
            const struct point *p = made_find(&s.campaign, "lenet", e->mode, e->n_workers);
            assert_non_null(p);
            assert_int_equal(p->wait, e->wait);
            assert_int_equal(p->n_busy_threads, e->n_busy_threads);
        }
        assert_int_equal(s.campaign.n_points, n);
        campaign_close(&s.campaign);
    }
}

/* A thread of the library moves the bytes, beside that of each worker. */
UNIT_TEST(library_threads_need_cores)
{
    const struct collective_ops *gloo = NULL;
    struct sweep s;

    if (collective_find(&gloo, &collective_kind, "gloo") != RC_OK) {
        rc_clear();
        skip();
    }
    for (int n_cores = 2; n_cores <= 4; n_cores++) {
        plan_on(&s, " --reducer=gloo", "allreduce", "2", n_cores);
        const struct point *p = made_find(&s.campaign, "lenet", "allreduce", 2);
        assert_int_equal(p->n_busy_threads, 4);
        assert_int_equal(p->wait, n_cores < 4 ? WAIT_SLEEP : WAIT_SPIN);
        campaign_close(&s.campaign);
    }
}

/* Points of several models or batches are not compared: what makes one sleep leaves the others alone. */
UNIT_TEST(points_that_are_not_compared_do_not_matter)
{
    char words[] = "--world=threads";
    struct sweep s;

    kit_sweep(&s, words);
    kit_axes(&s, "lenet", "none,allreduce", "2");
    s.axis[s.n_axes++] = (struct axis){ "batch", "16,64" };
    assert_int_equal(sweep_plan(&s), RC_OK);
    for (size_t i = 0; i < s.campaign.n_points; i++) {
        struct point *p = &s.campaign.point[i];
        p->n_threads = strcmp(point_value(p, "batch"), "64") == 0 && mode_exchanges(p->mode) ? 3 : 1;
        p->oversubscribed = false;
    }
    sweep_set_wait(&s, 4);
    for (size_t i = 0; i < s.campaign.n_points; i++) /* both modes */
        assert_int_equal(s.campaign.point[i].wait,
                         strcmp(point_value(&s.campaign.point[i], "batch"), "64") == 0 ? WAIT_SLEEP : WAIT_SPIN);
    campaign_close(&s.campaign);
}

/* Said where a point sleeps that could spin by itself, or spins on cores that its servers need, and only where the
 * policy was left open. */
UNIT_TEST(who_makes_others_sleep)
{
    static const struct {
        const char *options, *mode, *workers, *line;
    } told[] = {
        { " --overlap=on", "none,allreduce", "2",
          "gradmark compare: workers sleep while they wait, in all points alike: lenet allreduce, 2 workers, has 4 "
          "threads of workers for 2 cores; fewer --workers, or --wait spin, change that\n" },
        { " --overlap=on", "allreduce", "2", "" }, /* no other */
        { " --overlap=on --wait=sleep", "none,allreduce", "2", "" },
        { " --overlap=on --wait=spin", "none,allreduce", "2", "" },
        { "", "none,ps,allreduce", "1,2,4",
          "gradmark compare: lenet ps, 2 workers: no core is left for its servers, so they will be slower, as workers "
          "spin while they wait. --wait sleep reduces this\n" },
        { "", "none,ps,allreduce", "1", "" }, /* the server has the other core */
        { " --wait=spin", "ps", "2", "" },
        { " --wait=sleep", "ps", "2", "" },
        { "", "ps", "4", "" }, /* it sleeps */
        { " --colocate", "ps,allreduce", "2",
          "gradmark compare: workers sleep while they wait, in all points alike: lenet ps, 2 workers, has its servers "
          "on its workers' cores; points without --colocate, or --wait spin, change that\n" },
        { " --colocate", "ps", "2", "" }, /* no other */
        { " --colocate --wait=sleep", "ps,allreduce", "2", "" },
        { " --colocate --wait=spin", "ps", "1", /* on 2 cores, which are enough for servers of their own */
          "gradmark compare: lenet ps, 1 worker: no core is left for its servers, so they will be slower, as workers "
          "spin while they wait. --wait sleep reduces this\n" },
    };

    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct sweep s;
        plan_on(&s, told[i].options, told[i].mode, told[i].workers, 2);
        struct printed p;
        printed_begin(&p);
        sweep_announce_wait(&s, 2, p.to);
        char *text = printed_end(&p);
        assert_string_equal(text, told[i].line);
        free(text);
        campaign_close(&s.campaign);
    }
}

/* Both points on one rank that has cores for all: what sleeps is compared with a point that has to. */
static enum rc agree_body(struct world *w, void *arg)
{
    return sweep_agree_on_wait(arg, w);
}

UNIT_TEST(agreed_points_wait_as_their_servers_need)
{
    static const struct world_opts one = { .n_bound_ranks = 1, .n_threads = 1 };

    const struct world_ops *threads = NULL;

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    for (int beside = 0; beside <= 1; beside++) {
        struct sweep s;
        plan_on(&s, beside ? " --colocate" : "", "ps,allreduce", "1", 8);
        for (size_t i = 0; i < s.campaign.n_points; i++)
            s.campaign.point[i].wait = WAIT_AUTO;
        assert_int_equal(world_run(threads, &one, 1, agree_body, &s), RC_OK);
        for (size_t i = 0; i < s.campaign.n_points; i++)
            assert_int_equal(s.campaign.point[i].wait, beside ? WAIT_SLEEP : WAIT_SPIN);
        campaign_close(&s.campaign);
    }
}

UNIT_MAIN("wait")
