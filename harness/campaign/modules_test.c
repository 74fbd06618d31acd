/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules_test.c - options of modules (--NAME.OPTION) in a campaign. Linked with the list of algorithms below instead
 * of allreduce/collective_list.c's: a made-up one among them has options. None runs.
 */
#include "allreduce/collective_list.h"
#include "harness/campaign/suite/sweep_test_kit.h"
#include "harness/exchange/collective.h"

struct made_opts {
    uint64_t chunk_bytes;
    bool twice;
};

static const struct opt made_table[] = {
    OPT_U64_(struct made_opts, chunk_bytes, "chunk-bytes", "64Ki", 1, 1 << 30, "bytes", "of a message"),
    OPT_BOOL_(struct made_opts, twice, "twice", "false", "do it again"),
    OPT_END_,
};

static enum rc check_made(const void *opts, const struct job_facts *facts)
{
    const struct made_opts *o = opts;

    if (o->chunk_bytes < (uint64_t)facts->n_workers)
        return rc_raise(RC_INVAL, "--made.chunk-bytes %llu: %d workers need more", (unsigned long long)o->chunk_bytes,
                        facts->n_workers);
    return RC_OK;
}

static const struct collective_ops made = { .module = { .name = "made",
                                                        .options = made_table,
                                                        .opts_bytes = sizeof(struct made_opts),
                                                        .check = check_made,
                                                        .caps = COLL_ALLREDUCE } };
static const struct collective_ops plain = { .module = { .name = "plain", .caps = COLL_ALLREDUCE } };
static const struct collective_ops partial = { .module = { .name = "partial", .caps = COLL_BROADCAST } };

static const struct module *made_at(int i)
{
    static const struct module *const all[] = { &made.module, &plain.module, &partial.module, NULL };

    return all[i];
}

const struct module_kind collective_kind = { "reducer", made_at, NULL, "made", NULL };

/* --- */

static const char *const OPTIONS = "--made.chunk-bytes=4096 --made.twice=true ";

static void open_sweep(struct sweep *s, struct kit *k, char *words, const char *mode, const char *reducers)
{
    char path[KIT_PATH_BYTES];

    kit_sweep(s, words);
    kit_axes(s, "linear", mode, "2");
    if (reducers)
        s->axis[s->n_axes++] = (struct axis){ "reducer", reducers };
    s->campaign.n_launches_wanted = 1;
    snprintf(s->campaign.dir, sizeof s->campaign.dir, "%s", k->dir);
    snprintf(path, sizeof path, "%s", kit_path(k, "runs.jsonl"));
    assert_int_equal(partial_file_open(&s->campaign.runs, path), RC_OK);
    assert_int_equal(sweep_plan(s), RC_OK);
}

/* Launches of points that use the module get its options, others do not. */
KIT_TEST(go_to_points_that_use_the_module)
{
    char words[] = "--world=threads --made.chunk-bytes=4Ki --made.twice", text[4000];
    struct sweep s;

    open_sweep(&s, *state, words, "none,ps,allreduce", "made,plain");
    if (sweep_check(&s) != RC_OK)
        fail_msg("%s", rc_message());
    kit_script(&s, *state);
    for (size_t i = 0; i < s.campaign.n_points; i++)
        s.campaign.point[i].n_steps = 5;
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    kit_calls(*state, text, sizeof text);
    assert_int_equal(s.campaign.n_points, 4);
    const char *only = strstr(text, OPTIONS);
    assert_non_null(only);
    assert_null(strstr(only + 1, OPTIONS));
    assert_null(strstr(only + strlen(OPTIONS), "made."));
    assert_memory_equal(only + strlen(OPTIONS),
                        "--world=threads --model=linear --mode=allreduce --workers=2 --reducer=made ",
                        strlen("--world=threads --model=linear --mode=allreduce --workers=2 --reducer=made "));
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

/* Those that no point uses are refused; a value that does not fit a launch is found before the first. */
KIT_TEST(are_refused_before_the_first_launch)
{
    static const struct {
        const char *words, *mode, *reducers, *message;
    } cases[] = {
        { "--world=threads --made.twice", "allreduce,none", "plain",
          "--made.twice true: is an option of reducer made; needs --reducer made, but that is plain" },
        { "--world=threads --made.twice", "none,ps", NULL,
          "--made.twice true: is an option of reducer made, and this run uses no reducer" },
        { "--world=threads --made.chunk-bytes=1", "allreduce", NULL, "--made.chunk-bytes 1: 2 workers need more" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[100];
        snprintf(words, sizeof words, "%s", cases[i].words);
        open_sweep(&s, *state, words, cases[i].mode, cases[i].reducers);
        assert_int_equal(sweep_check(&s), RC_INVAL);
        assert_string_equal(rc_message(), cases[i].message);
        campaign_close(&s.campaign);
    }
}

/* Mode allreduce calls allreduce: what has none is named before the first launch, with those that do. */
KIT_TEST(an_algorithm_without_allreduce_is_refused)
{
    char words[] = "--world=threads";
    struct sweep s;

    open_sweep(&s, *state, words, "allreduce", "partial");
    assert_int_equal(sweep_check(&s), RC_UNSUPPORTED);
    assert_string_equal(rc_message(), "reducer partial has no allreduce; made or plain has");
    campaign_close(&s.campaign);
}

UNIT_MAIN("modules")
