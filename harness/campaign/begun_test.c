/* SPDX-License-Identifier: Apache-2.0 */
/* begun_test.c - the plan in the manifest of a campaign, and what must be as it was to continue it. */
#include "harness/campaign/begun.h"

#include <jansson.h>
#include <limits.h>

#include "harness/campaign/suite/sweep_test_kit.h"
#include "harness/world/child.h"

enum { N_POINTS = 3 };

static const char WORDS[] = "--world=threads --seed=41 --batch=16";

static const struct launcher NONE = { .name = NULL };

/* A manifest of the campaign in the kit's folder. */
static void write_manifest(struct sweep *s)
{
    struct record *options = record_open("options");

    if (sweep_write_manifest(s, &options, false) != RC_OK)
        fail_msg("%s", rc_message());
    assert_null(options);
}

/* Replace a key of manifest.json. */
static void change_manifest(struct kit *k, const char *key, json_t *value)
{
    json_t *r = json_load_file(kit_path(k, "manifest.json"), 0, NULL);

    assert_non_null(r);
    assert_int_equal(json_object_set_new(r, key, value), 0);
    assert_int_equal(json_dump_file(r, kit_path(k, "manifest.json"), 0), 0);
    json_decref(r);
}

/* Images that a source makes have a name, which is no path. */
KIT_TEST(made_images_keep_their_name)
{
    struct kit *k = *state;
    char words[] = "--world=threads --data=synthetic";
    struct begun begun;
    struct sweep s;

    kit_open_three(&s, k, words);
    write_manifest(&s);
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
    assert_int_equal(begun.n_words, 2);
    assert_true(strcmp(begun.word[0], "--data=synthetic") == 0 || strcmp(begun.word[1], "--data=synthetic") == 0);
    begun_close(&begun);
    kit_close_three(&s);
}

/* Worker counts that nobody named are those of the machine it was begun on, also where it is continued on another. */
KIT_TEST(chosen_workers_are_kept)
{
    struct kit *k = *state;
    char words[] = "--world=threads", counts[COUNTS_BYTES] = "--workers=";
    struct begun begun;
    struct sweep s;

    kit_sweep(&s, words);
    kit_axes(&s, "linear", "none", "");
    snprintf(s.campaign.dir, sizeof s.campaign.dir, "%s", k->dir);
    assert_int_equal(sweep_plan(&s), RC_OK);
    for (size_t i = 0; i < s.campaign.n_points; i++)
        snprintf(counts + strlen(counts), sizeof counts - strlen(counts), "%s%d", i > 0 ? "," : "",
                 s.campaign.point[i].n_workers);
    assert_true(s.campaign.n_points > 1);
    write_manifest(&s);
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
    assert_int_equal(begun.n_words, 2);
    assert_string_equal(begun.word[1], counts);
    begun_close(&begun);
    campaign_close(&s.campaign);
}

/* The command line, where paths are absolute; and steps. */
KIT_TEST(the_plan_is_kept)
{
    struct kit *k = *state;
    char words[] = "--world=threads --data=some/where --batch=16 --lr=0.1", path[PATH_MAX + 40], here[PATH_MAX];
    const char *const expected[] = { "--batch=16", path, "--lr=0.10000000000000001", "--world=threads" };
    struct begun begun;
    struct sweep s;

    assert_non_null(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "--data=%s/some/where", here);
    kit_open_three(&s, k, words);
    write_manifest(&s);
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
    assert_int_equal(begun.n_words, 4);
    for (int i = 0; i < 4; i++) {
        bool is_there = false;
        for (int n = 0; n < 4; n++)
            is_there = is_there || strcmp(begun.word[n], expected[i]) == 0;
        if (!is_there)
            fail_msg("no %s", expected[i]);
    }
    for (size_t i = 0; i < N_POINTS; i++)
        s.campaign.point[i].n_steps = 1;
    assert_int_equal(begun_apply(&begun, &s), RC_OK);
    for (size_t i = 0; i < N_POINTS; i++)
        assert_int_equal(s.campaign.point[i].n_steps, 10 + i);
    struct point swapped = s.campaign.point[0];
    s.campaign.point[0] = s.campaign.point[1];
    s.campaign.point[1] = swapped;
    assert_int_equal(begun_apply(&begun, &s), RC_INVAL);
    assert_non_null(strstr(rc_message(), "its point 1 is linear "));
    s.campaign.n_points--;
    assert_int_equal(begun_apply(&begun, &s), RC_INVAL);
    assert_non_null(strstr(rc_message(), "it has 3 points, of the same options come 2 here"));
    s.campaign.n_points++;
    begun_close(&begun);
    kit_close_three(&s);
}

/* What may have changed, and what may not. */
KIT_TEST(another_program_or_machine_is_refused)
{
    static const struct {
        const char *key;
        bool is_refused;
    } cases[] = { { "git_commit", true },  { "compiler_flags", true }, { "host", true },      { "cpu_model", true },
                  { "cores_count", true }, { "kernel", true },         { "libraries", true }, { "environment", false },
                  { "date_utc", false },   { "memory_bytes", false },  { "build_type", true } };
    struct kit *k = *state;
    char words[sizeof WORDS], expected[100];
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct begun begun;
        write_manifest(&s);
        assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
        assert_int_equal(begun_check(&begun, false), RC_OK);
        assert_string_equal(begun.changes, "");
        begun_close(&begun);
        change_manifest(k, cases[i].key, json_string("another one"));
        assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
        assert_int_equal(begun_check(&begun, false), cases[i].is_refused ? RC_INVAL : RC_OK);
        snprintf(expected, sizeof expected, "was begun where %s was \"another one\", which is ", cases[i].key);
        assert_true(!cases[i].is_refused || strstr(rc_message(), expected));
        assert_int_equal(begun_check(&begun, true), RC_OK);
        snprintf(expected, sizeof expected, "%s was \"another one\", is ", cases[i].key);
        if (cases[i].is_refused)
            assert_memory_equal(begun.changes, expected, strlen(expected));
        else
            assert_string_equal(begun.changes, "");
        begun_close(&begun);
    }
    kit_close_three(&s);
}

/* Variables that change what libraries do: of the environment that the process was given, whatever MPI adds to it. */
KIT_TEST(another_environment_is_refused)
{
    static const struct {
        const char *then, *message; /* a variable, as the plan has it; NULL: none */
    } cases[] = { { "OMP_MADE_UP=2", "OMP_MADE_UP was \"2\", which is nothing now" }, { NULL, NULL } };
    struct kit *k = *state;
    char words[sizeof WORDS];
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct begun begun;
        assert_int_equal(setenv("PSM2_MADE_UP", "self", 1), 0); /* as MPI_Init() does */
        write_manifest(&s);
        json_t *r = json_load_file(kit_path(k, "manifest.json"), 0, NULL);
        json_t *environment = json_object_get(json_object_get(r, "plan"), "environment");
        assert_true(json_is_object(environment));
        assert_null(json_object_get(environment, "PSM2_MADE_UP"));
        if (cases[i].then)
            assert_int_equal(json_object_set_new(environment, "OMP_MADE_UP", json_string("2")), 0);
        assert_int_equal(json_dump_file(r, kit_path(k, "manifest.json"), 0), 0);
        json_decref(r);
        assert_int_equal(unsetenv("PSM2_MADE_UP"), 0);
        assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
        assert_int_equal(begun_check(&begun, false), cases[i].message ? RC_INVAL : RC_OK);
        assert_true(!cases[i].message || strstr(rc_message(), cases[i].message));
        begun_close(&begun);
    }
    kit_close_three(&s);
}

/* Of a changed tree the commit says nothing: its build is compared. */
KIT_TEST(another_build_of_a_changed_tree_is_refused)
{
    struct kit *k = *state;
    char words[sizeof WORDS];
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    write_manifest(&s);
    json_t *r = json_load_file(kit_path(k, "manifest.json"), 0, NULL), *plan = json_object_get(r, "plan");
    assert_int_equal(strlen(json_string_value(json_object_get(plan, "program_fingerprint"))), 16);
    assert_int_equal(json_object_set_new(plan, "program_fingerprint", json_string("0123456789abcdef")), 0);
    const bool is_dirty = !json_is_false(json_object_get(r, "git_dirty"));
    assert_int_equal(json_dump_file(r, kit_path(k, "manifest.json"), 0), 0);
    json_decref(r);
    struct begun begun;
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
    assert_int_equal(begun_check(&begun, false), is_dirty ? RC_INVAL : RC_OK);
    assert_true(!is_dirty || strstr(rc_message(), "the build of a changed tree was \"0123456789abcdef\""));
    begun_close(&begun);
    kit_close_three(&s);
}

/* Under a launcher: every host on which launches were made is one of the job, for all ranks. */
struct job {
    const char *hosts;
    bool anyway;
    enum rc rc[3];
    char despite[FAILURE_BYTES]; /* of rank 0 */
};

static enum rc check_hosts(struct world *w, void *arg)
{
    struct job *job = arg;
    struct sweep s = { .goes_on_anyway = job->anyway, .campaign.dir = "results/x" };

    if (w->rank == 0)
        s.campaign.hosts = (char *)(uintptr_t)job->hosts; /* lent: this campaign is not closed */
    job->rc[w->rank] = sweep_check_hosts(&s, w);
    if (job->rc[w->rank] != RC_OK &&
        !strstr(rc_message(), "--continue results/x: launches were made on host far-away, "))
        job->rc[w->rank] = RC_BUG;
    if (w->rank == 0)
        snprintf(job->despite, sizeof job->despite, "%s", s.despite);
    return RC_OK;
}

UNIT_TEST(launches_of_other_hosts_are_refused)
{
    char own[64], here[80], both[100];
    child_host_name(own, sizeof own);
    snprintf(here, sizeof here, "|%s|", own);
    snprintf(both, sizeof both, "|%s|far-away|", own);
    const struct {
        const char *hosts;
        bool anyway;
        enum rc rc;
        const char *despite;
    } cases[] = { { NULL, false, RC_OK, "" },
                  { here, false, RC_OK, "" },
                  { both, false, RC_INVAL, "" },
                  { "|far-away|", false, RC_INVAL, "" },
                  { both, true, RC_OK, "host far-away is not there any more" } };
    const struct world_ops *threads;
    const struct world_opts opts = { .n_threads = 1 };

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = { .hosts = cases[i].hosts, .anyway = cases[i].anyway };
        assert_int_equal(world_run(threads, &opts, 3, check_hosts, &job), RC_OK);
        for (int r = 0; r < 3; r++)
            assert_int_equal(job.rc[r], cases[i].rc);
        assert_string_equal(job.despite, cases[i].despite);
    }
}

KIT_TEST(what_cannot_be_continued)
{
    static const struct launcher three = { .name = "mpirun", .n_ranks = 3 }, four = { .name = "mpirun", .n_ranks = 4 };
    struct kit *k = *state;
    char words[sizeof WORDS], expected[300];
    struct begun begun;
    struct sweep s;

    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_INVAL);
    assert_non_null(strstr(
        rc_message(), ": manifest.json cannot be read: No such file or directory; use the folder of one comparison"));
    assert_true(kit_write(k, "manifest.json", "{\"kind\":\"campaign\"}"));
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_INVAL);
    assert_non_null(strstr(rc_message(), "has no plan"));
    assert_true(kit_write(k, "manifest.json", "{\"kind\":"));
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_INVAL);
    assert_non_null(strstr(rc_message(), "cannot be read: line 1"));
    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    write_manifest(&s);
    assert_int_equal(begun_open(&begun, k->dir, &three), RC_INVAL);
    snprintf(expected, sizeof expected,
             "--continue %s: it was started without mpirun; use gradmark compare --continue %s", k->dir, k->dir);
    assert_string_equal(rc_message(), expected);
    s.launcher = three;
    write_manifest(&s);
    assert_int_equal(begun_open(&begun, k->dir, &three), RC_OK);
    begun_close(&begun);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(begun_open(&begun, k->dir, i == 0 ? &NONE : &four), RC_INVAL);
        snprintf(expected, sizeof expected,
                 "--continue %s: it was started by mpirun with 3 ranks; so it has to be continued", k->dir);
        assert_string_equal(rc_message(), expected);
    }
    kit_close_three(&s);
}

/* Charts show what the campaign was: whoever goes on with it removes them, and nothing else. */
KIT_TEST(its_charts_are_removed)
{
    static const char *const charts[] = { "throughput-linear.svg", "throughput-linear.png", "throughput-linear.tsv",
                                          "loss-linear.svg", "bound-linear.tsv" };
    static const char *const others[] = { "report.html", "throughput.svg", "throughput-lenet.svg" };
    struct kit *k = *state;
    char words[sizeof WORDS];
    struct begun begun;
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_int_equal(campaign_commit(&s.campaign), RC_OK);
    write_manifest(&s);
    kit_close_three(&s);
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++)
        assert_true(kit_write(k, charts[i], "old"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(kit_write(k, others[i], "another"));
    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    assert_int_equal(begun_open(&begun, k->dir, &NONE), RC_OK);
    if (sweep_reopen_files(&s, &begun) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(s.campaign.n_launches_done, N_POINTS * MADE_LAUNCHES);
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++)
        assert_int_not_equal(access(kit_path(k, charts[i]), F_OK), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(access(kit_path(k, others[i]), F_OK), 0);
    begun_close(&begun);
    kit_close_three(&s);
}

UNIT_TEST(how_it_is_continued)
{
    static const struct {
        struct launcher launcher;
        const char *dir, *command;
    } cases[] = {
        { { .name = NULL }, "results/x", "gradmark compare --continue results/x" },
        { { .name = "mpirun", .n_ranks = 4 }, "results/x", "mpirun -np 4 gradmark compare --continue results/x" },
        { { .name = "srun", .n_ranks = 8 }, "results/x", "srun -n 8 gradmark compare --continue results/x" },
        { { .name = "flux run", .n_ranks = 8 }, "results/x", "flux run -n 8 gradmark compare --continue results/x" },
        { { .name = "gradmark launch", .n_ranks = 2 },
          "results/x",
          "gradmark launch -n 2 -- compare --continue results/x" },
        { { .name = NULL }, "my results/it's", "gradmark compare --continue 'my results/it'\\''s'" },
    };
    char command[CONTINUE_BYTES];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s = { .launcher = cases[i].launcher };
        snprintf(s.campaign.dir, sizeof s.campaign.dir, "%s", cases[i].dir);
        sweep_continue_command(command, sizeof command, &s);
        assert_string_equal(command, cases[i].command);
    }
    struct sweep s = { .launcher = { .name = "gradmark launch", .n_ranks = INT_MAX } }; /* the longest */
    memset(s.campaign.dir, '\'', sizeof s.campaign.dir - 1);
    sweep_continue_command(command, sizeof command, &s);
    assert_string_equal(command + strlen(command) - 5, "'\\'''");
}

UNIT_MAIN("begun")
