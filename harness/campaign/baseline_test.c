/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_test.c - where one worker alone is added to the points of a sweep, and what is said of it. */
#include "harness/campaign/suite/sweep_test_kit.h"

#define ADDED                                                                                                         \
    "gradmark compare: 1 worker in mode single is added, because efficiency is relative to it; --no-baseline leaves " \
    "it out\n"

/* "linear ps 2 b16, ...": model, mode, workers and batch of every point. */
static void points_text(char out[1000], const struct sweep *s)
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
} CASES[] = {
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

static void what_is_added(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct baseline_case *b = &CASES[i];
        char words[] = "--world=threads", text[1000], *told = NULL;
        size_t n_bytes = 0;
        struct sweep s;
        kit_sweep(&s, words);
        kit_axes(&s, b->model, b->mode, b->workers);
        if (b->option)
            s.axis[s.n_axes++] = (struct axis){ b->option, b->values };
        s.adds_baseline = b->is_wanted;
        assert_int_equal(sweep_plan(&s), b->points ? RC_OK : RC_INVAL);
        points_text(text, &s);
        assert_string_equal(text, b->points ? b->points : "");
        for (size_t p = 0; p < s.campaign.n_points; p++) {
            assert_int_equal(campaign_find_baseline(&s.campaign, &s.campaign.point[p]) != NULL, b->is_wanted);
            s.campaign.point[p].oversubscribed = false; /* whatever this machine has */
        }
        FILE *to = open_memstream(&told, &n_bytes);
        assert_non_null(to);
        sweep_announce(&s, to);
        assert_int_equal(fclose(to), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_added) };

    return cmocka_run_group_tests_name("baseline", tests, NULL, NULL);
}
