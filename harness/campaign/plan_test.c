/* SPDX-License-Identifier: Apache-2.0 */
/* plan_test.c - which points a campaign has, what it takes a step of them to cost, how many steps it makes. */
#include "harness/base/suite/printed.h"
#include "harness/campaign/suite/sweep_test_kit.h"
#include "harness/world/cores.h"

/* "linear ps 2+1, ...": model, mode, workers + servers of every point. */
static void points_text(char out[2000], const struct sweep *c)
{
    int n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < c->campaign.n_points && n < 1900; i++) {
        const struct point *p = &c->campaign.point[i];
        n += snprintf(out + n, 2000 - (size_t)n, "%s%s %s %d+%d", i ? ", " : "", p->workload->module.name,
                      p->mode->name, p->n_workers, p->n_servers);
    }
}

static const struct plan_case {
    const char *train, *model, *mode, *workers;
    int n_ranks; /* under a launcher; 0: none */
    const char *points;
} PLANS[] = {
    { "--world=threads", "linear,lenet", "none,single,ps,allreduce", "4,1,2", 0,
      "linear none 1+0, linear none 2+0, linear none 4+0, linear single 1+0, linear ps 1+1, linear ps 2+1, linear ps "
      "4+1, "
      "linear allreduce 1+0, linear allreduce 2+0, linear allreduce 4+0, "
      "lenet none 1+0, lenet none 2+0, lenet none 4+0, lenet single 1+0, lenet ps 1+1, lenet ps 2+1, lenet ps 4+1, "
      "lenet allreduce 1+0, lenet allreduce 2+0, lenet allreduce 4+0" },
    { "--world=sim --servers=2", "vgg16", "ps,single", "", 0,
      "vgg16 ps 1+2, vgg16 ps 2+2, vgg16 ps 4+2, vgg16 ps 8+2, vgg16 single 1+0" },
    { "--world=mpi", "lenet", "none,single,ps", "", 5, /* servers come out of the given ranks */
      "lenet none 1+0, lenet none 2+0, lenet none 4+0, lenet none 5+0, lenet single 1+0, lenet ps 1+1, lenet ps 2+1, "
      "lenet ps 4+1" },
    { "--world=mpi --servers=3", "lenet", "ps,allreduce", "1,4", 4,
      "lenet ps 1+3, lenet allreduce 1+0, lenet allreduce 4+0" },
    { "--world=mpi", "lenet", "ps", "1", 1, NULL }, /* no rank is left for a worker */
    { "--world=mpi", "lenet", "none", "2,6", 5, NULL },
    { "--world=threads", "lenet", "single", "2,4", 0, NULL },
    { "--world=threads", "lenet", "none", "2,4,02", 0, NULL }, /* listed twice */
};

UNIT_TEST(points_of_a_campaign)
{
    for (size_t i = 0; i < sizeof PLANS / sizeof *PLANS; i++) {
        const struct plan_case *plan = &PLANS[i];
        struct sweep c;
        char words[200], text[2000];
        snprintf(words, sizeof words, "%s", plan->train);
        kit_sweep(&c, words);
        kit_axes(&c, plan->model, plan->mode, plan->workers);
        c.campaign.is_launched = plan->n_ranks > 0;
        if (plan->n_ranks > 0)
            c.launcher = (struct launcher){ .name = "mpirun", .n_ranks = plan->n_ranks };
        const enum rc rc = sweep_plan(&c);
        assert_int_equal(rc, plan->points ? RC_OK : RC_INVAL);
        points_text(text, &c);
        if (plan->points)
            assert_string_equal(text, plan->points);
        campaign_close(&c.campaign);
    }
}

/* Without --workers: powers of two up to the cores, the cores, and twice as many, which is marked. */
UNIT_TEST(default_counts_follow_the_cores)
{
    const int n_cores = cores_allowed_count();

    for (int n_threads = 1; n_threads <= n_cores; n_threads *= 2) {
        const int n_fit = n_cores / n_threads;
        struct sweep c;
        char words[64];
        size_t i = 0;
        snprintf(words, sizeof words, "--world=threads --threads=%d", n_threads);
        kit_sweep(&c, words);
        kit_axes(&c, "lenet", "none", "");
        assert_int_equal(sweep_plan(&c), RC_OK);
        for (int w = 1; w < n_fit; w *= 2)
            assert_int_equal(c.campaign.point[i++].n_workers, w);
        assert_int_equal(c.campaign.point[i++].n_workers, n_fit);
        assert_int_equal(c.campaign.point[i++].n_workers, 2 * n_fit);
        assert_int_equal(c.campaign.n_points, i);
        for (i = 0; i < c.campaign.n_points; i++)
            assert_int_equal(c.campaign.point[i].oversubscribed, c.campaign.point[i].n_workers * n_threads > n_cores);
        campaign_close(&c.campaign);
    }
}

/* In sim every worker has a machine of its own. */
UNIT_TEST(nothing_is_shared_in_sim)
{
    struct sweep c;
    char words[] = "--world=sim";

    kit_sweep(&c, words);
    kit_axes(&c, "lenet", "ps", "1,60000");
    assert_int_equal(sweep_plan(&c), RC_OK);
    for (size_t i = 0; i < 2; i++)
        assert_false(c.campaign.point[i].oversubscribed || c.campaign.point[i].servers_share);
    campaign_close(&c.campaign);
}

/* linear: 4 flops for a sample (its product and its gradient), 2 parameters at 40 bytes x 0.1 ns. */
UNIT_TEST(costs_of_a_step)
{
    struct sweep c;
    char words[] = "--world=threads --batch=50";

    kit_sweep(&c, words);
    kit_axes(&c, "linear", "none", "1,4");
    assert_int_equal(sweep_plan(&c), RC_OK);
    assert_int_equal(sweep_check(&c), RC_OK);
    for (int i = 0; i < 2; i++) {
        const struct point *p = &c.campaign.point[i];
        assert_true(p->step_flops == 4.0 * 50 * (i ? 4 : 1));
        assert_true(fabs(p->step_s - 8e-9) < 1e-15);
        assert_int_equal(p->default_steps, 20000);
    }
    campaign_close(&c.campaign);
}

struct step_case {
    const char *model;
    double step_flops, step_s;
    uint64_t n_steps; /* expected */
    bool over_budget; /* expected */
};

/* At 1 Gflop/s of one thread a step takes flops / 0.25 G seconds. Default: 400 steps. */
static void check_steps(const char *train, double budget_s, const struct step_case *point, size_t n_points)
{
    struct sweep c;
    char words[64];

    snprintf(words, sizeof words, "%s", train);
    kit_sweep(&c, words);
    c.budget_s = budget_s;
    for (size_t i = 0; i < n_points; i++) {
        struct point *p = made_add(&c.campaign, point[i].model, "none", 1);
        p->step_flops = point[i].step_flops;
        p->step_s = point[i].step_s;
        p->default_steps = 400;
    }
    sweep_set_steps(&c, 1e9);
    for (size_t i = 0; i < n_points; i++) {
        assert_int_equal(c.campaign.point[i].n_steps, point[i].n_steps);
        assert_int_equal(c.campaign.point[i].over_budget, point[i].over_budget);
    }
    campaign_close(&c.campaign);
}

/* Two turns of all points end within the budget, three steps of each launch before it counts included. */
UNIT_TEST(steps_that_the_budget_allows)
{
    static const struct step_case slow[] = {
        { "linear", 5e6, 0, 235, false },
        { "linear", 25e6, 0, 235, false }, /* 0.02 s, 0.1 s: the slowest of the model counts */
        { "lenet", 5e6, 0, 400, false },   /* quick enough not to be asked */
        { "replay", 0, 0.2, 116, false },  /* recorded time */
    };
    static const struct step_case in_sim[] = { { "linear", 25e6, 0, 400, false }, { "lenet", 50e6, 0, 236, false } };
    static const struct step_case hopeless[] = { { "linear", 2.5e9, 0, 6, true }, { "lenet", 0, 0.01, 400, false } };
    static const struct step_case told[] = { { "linear", 2.5e9, 0, 1000, false }, { "lenet", 0, 0.01, 1000, false } };

    check_steps("--world=threads", 190.5, slow, 4); /* 190.5 s / (2 x 4) / 0.1 s - 3 = 235.1; / 0.2 s: 116.06 */
    check_steps("--world=sim", 95.7, in_sim, 2);    /* one turn: 95.7 / 2 / 0.1 - 3 = 475.5; / 0.2: 236.25 */
    check_steps("--world=threads", 95, hopeless, 2);
    check_steps("--world=threads --steps=1000", 95, told, 2);
}

/* Workers compute at once as far as there are cores; simulated ones one after the other. */
UNIT_TEST(workers_share_the_work_of_a_step)
{
    const int n_cores = cores_allowed_count();

    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        struct sweep c;
        char words[32];
        snprintf(words, sizeof words, "%s", is_virtual ? "--world=sim" : "--world=threads");
        kit_sweep(&c, words);
        c.budget_s = is_virtual ? 20.5 : 41;
        struct point *p = made_add(&c.campaign, "lenet", "none", 2 * n_cores);
        p->step_flops = 50e6 * n_cores; /* n_cores x 0.2 s */
        p->default_steps = 4000;
        sweep_set_steps(&c, 1e9);
        const double expected = 20.5 / (is_virtual ? 0.2 * n_cores : 0.2) - 3;
        assert_int_equal(p->n_steps, expected < 6 ? 6 : (uint64_t)expected);
        campaign_close(&c.campaign);
    }
}

/* Where one worker alone is added to the points of a sweep, and what is said of it. */

#define ADDED                                                                                                         \
    "gradmark compare: 1 worker in mode single is added, because efficiency is relative to it; --no-baseline leaves " \
    "it out\n"

/* "linear ps 2 b16, ...": model, mode, workers and batch of every point. */
static void points_and_batches_text(char out[1000], const struct sweep *s)
{
    out[0] = '\0';
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        const char *batch = point_value(p, "batch"), *servers = point_value(p, "servers");
        const size_t n = strlen(out);
        snprintf(out + n, 1000 - n, "%s%s %s %d%s%s%s%s", i ? ", " : "", p->workload->module.name, p->mode->name,
                 p->n_workers, batch ? " b" : "", batch ? batch : "", servers ? " s" : "", servers ? servers : "");
    }
}

static const struct baseline_case {
    const char *model, *mode, *workers, *option, *values; /* the last two: another axis; NULL: none */
    bool is_wanted, is_added;
    const char *points; /* NULL: nothing to run */
} BASELINE_CASES[] = {
    { "lenet", "none,single,ps", "2", NULL, NULL, true, true, "lenet single 1, lenet none 2, lenet ps 2" },
    { "lenet", "ps", "4,16", NULL, NULL, true, true, "lenet single 1, lenet ps 4, lenet ps 16" },
    { "lenet", "ps", "1,4", NULL, NULL, true, true, "lenet single 1, lenet ps 1, lenet ps 4" },
    { "lenet", "ps", "2", NULL, NULL, false, false, "lenet ps 2" },
    { "lenet", "ps,single", "1,2", NULL, NULL, true, false, "lenet ps 1, lenet ps 2, lenet single 1" },
    { "lenet,linear", "ps", "2", NULL, NULL, true, true, "lenet single 1, lenet ps 2, linear single 1, linear ps 2" },
    { "lenet", "allreduce", "2,4", "batch", "16,64", true, true, /* each batch has its own */
      "lenet single 1 b16, lenet allreduce 2 b16, lenet single 1 b64, lenet allreduce 2 b64, lenet allreduce 4 b16, "
      "lenet allreduce 4 b64" },
    { "lenet", "ps", "2", "servers", "1,2", true, true, /* one for both: it has no servers */
      "lenet single 1, lenet ps 2 s1, lenet ps 2 s2" },
    { "lenet", "single", "2,4", NULL, NULL, true, false, NULL },
};

UNIT_TEST(what_is_added)
{
    for (size_t i = 0; i < sizeof BASELINE_CASES / sizeof *BASELINE_CASES; i++) {
        const struct baseline_case *b = &BASELINE_CASES[i];
        char words[] = "--world=threads", text[1000], *told = NULL;
        struct sweep s;
        kit_sweep(&s, words);
        kit_axes(&s, b->model, b->mode, b->workers);
        if (b->option)
            s.axis[s.n_axes++] = (struct axis){ b->option, b->values };
        s.adds_baseline = b->is_wanted;
        assert_int_equal(sweep_plan(&s), b->points ? RC_OK : RC_INVAL);
        points_and_batches_text(text, &s);
        assert_string_equal(text, b->points ? b->points : "");
        for (size_t p = 0; p < s.campaign.n_points; p++) {
            assert_int_equal(campaign_find_baseline(&s.campaign, &s.campaign.point[p]) != NULL, b->is_wanted);
            s.campaign.point[p].oversubscribed = false; /* whatever this machine has */
        }
        struct printed printed;
        printed_begin(&printed);
        sweep_announce(&s, printed.to);
        told = printed_end(&printed);
        char *waits = strchr(told, '\n'); /* behind its line: how they wait, as the cores of this machine are */
        if (waits && b->is_added)
            waits[1] = '\0';
        assert_int_equal(strstr(told, "is added") != NULL, b->is_added);
        if (b->is_added)
            assert_string_equal(told, ADDED);
        free(told);
        campaign_close(&s.campaign);
    }
}

UNIT_MAIN("plan")
