/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_files_test.c - files of single runs as one campaign, and files that do not fit together (recorded.K4). */
#include "harness/campaign/suite/recorded_test_kit.h"

#include <jansson.h>

static const struct made_point TWO = { "lenet", "ps", 2, 1, 3, 1500, 1.1, NAN, 2 },
                               FOUR = { "lenet", "ps", 4, 1, 3, 2500, 1.1, NAN, 3 };
static const struct recorded_kit PLAIN = { .options = ",\"batch\":32,\"lr\":0.1" };

/* n launches of a point, as if each were a run; its file begins anew. */
static void write_runs(struct kit *k, const char *name, const struct made_point *m, int first, int n,
                       const struct recorded_kit *with)
{
    FILE *to = fopen(kit_path(k, name), "we");

    assert_non_null(to);
    for (int i = first; i < first + n; i++)
        recorded_launch(to, m, i, -1, with);
    assert_int_equal(fclose(to), 0);
}

/* Sizes in order of workers, launches in order of the names of files; what does not end in .jsonl is no record. */
KIT_TEST(files_of_a_folder_are_a_campaign)
{
    struct kit *k = *state;
    struct recorded kept;
    char named[3 * KIT_PATH_BYTES];
    double as_folder[3];

    write_runs(k, "a.jsonl", &FOUR, 0, 1, &PLAIN);
    write_runs(k, "b.jsonl", &TWO, 0, 2, &PLAIN);
    write_runs(k, "c.jsonl", &FOUR, 1, 1, &PLAIN);
    assert_true(kit_write(k, "timeline.json", "[]"));
    assert_true(kit_write(k, ".hidden.jsonl", "no record"));
    if (recorded_open_runs(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    assert_false(kept.is_run);
    assert_int_equal(kept.campaign.n_points, 2);
    assert_int_equal(kept.campaign.n_launches_done, 4);
    assert_int_equal(kept.campaign.n_launches_wanted, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(kept.campaign.point[i].n_workers, i == 0 ? 2 : 4);
        assert_int_equal(kept.campaign.point[i].n_servers, 1);
        assert_int_equal(kept.campaign.point[i].n_launches, 2);
        as_folder[i] = kept.campaign.point[i].launch[1].throughput_samples_per_s;
    }
    assert_true(as_folder[1] > 1.5 * as_folder[0]);
    recorded_close(&kept);
    snprintf(named, sizeof named, "%s/c.jsonl,%s/b.jsonl,%s/a.jsonl", k->dir, k->dir, k->dir);
    if (recorded_open_runs(&kept, named) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(kept.campaign.n_launches_done, 4);
    assert_true(kept.campaign.point[1].launch[0].throughput_samples_per_s == as_folder[1]); /* c came first */
    recorded_close(&kept);
    if (recorded_open_runs(&kept, kit_path(k, "b.jsonl")) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(kept.campaign.point[0].n_launches, 2);
    recorded_close(&kept);
}

KIT_TEST(a_campaign_is_read_as_one)
{
    const struct made_point point[] = { TWO, FOUR };
    struct kit *k = *state;
    struct recorded kept;

    recorded_write(k, point, 2, &PLAIN);
    write_runs(k, "stray.jsonl", &TWO, 0, 1, &PLAIN); /* not looked at */
    if (recorded_open_runs(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(kept.campaign.n_launches_done, 6);
    assert_int_equal(kept.campaign.n_launches_wanted, 3);
    recorded_close(&kept);
    assert_int_equal(unlink(kit_path(k, "runs.jsonl")), 0);
    assert_int_equal(unlink(kit_path(k, "stray.jsonl")), 0);
}

static void refused(struct kit *k, const char *file, size_t line, const char *why)
{
    struct recorded kept;
    char place[2 * KIT_PATH_BYTES];

    assert_int_equal(recorded_open_runs(&kept, k->dir), RC_MISMATCH);
    snprintf(place, sizeof place, "%s/%s: line %zu: ", k->dir, file, line);
    if (strncmp(rc_message(), place, strlen(place)) != 0 || !strstr(rc_message(), why))
        fail_msg("'%s' does not begin with '%s', or lacks '%s'", rc_message(), place, why);
}

/* The second launch of the second file, always: its first line is behind those of the first one. */
KIT_TEST(what_differs_is_told_by_file_and_line)
{
    static const struct made_point other_model = { "linear", "ps", 4, 1, 3, 2500, 1.1, NAN, 3 },
                                   other_mode = { "lenet", "allreduce", 4, 0, 3, 2500, 1.1, NAN, 3 };
    const struct {
        const struct made_point *point;
        struct recorded_kit with;
        const char *why;
    } other[] = {
        { &other_model, PLAIN, "model is linear, in " },
        { &other_mode, PLAIN, "mode is allreduce, in " },
        { &FOUR, { .options = ",\"batch\":64,\"lr\":0.1" }, "batch is 64, in " },
        { &FOUR, { .options = ",\"batch\":32,\"lr\":0.2" }, "lr is 0.2, in " },
        { &FOUR, { .options = ",\"batch\":32" }, "lr is -, in " },
        { &FOUR, { .options = ",\"batch\":32,\"lr\":0.1,\"overlap\":\"on\"" }, "overlap is on, in " },
    };
    struct kit *k = *state;
    size_t n_lines = 1;

    (void)unlink(kit_path(k, "c.jsonl"));
    write_runs(k, "a.jsonl", &TWO, 0, 2, &PLAIN);
    write_runs(k, "b.jsonl", &FOUR, 0, 1, &PLAIN);
    for (const char *c = kit_read(k, "b.jsonl"); *c; c++)
        n_lines += *c == '\n';
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        write_runs(k, "b.jsonl", &FOUR, 0, 1, &PLAIN);
        FILE *to = fopen(kit_path(k, "b.jsonl"), "ae");
        assert_non_null(to);
        recorded_launch(to, other[i].point, 1, -1, &other[i].with);
        assert_int_equal(fclose(to), 0);
        refused(k, "b.jsonl", n_lines, other[i].why);
    }
    assert_non_null(strstr(rc_message(), "a.jsonl -; use runs that differ in workers, steps and seed alone"));
}

static void replace_in(struct kit *k, const char *name, const char *old, const char *new)
{
    assert_non_null(kit_read(k, name));
    char *at = strstr(k->text, old);
    assert_true(at && strlen(old) == strlen(new));
    memcpy(at, new, strlen(new));
    assert_true(kit_write(k, name, k->text));
}

KIT_TEST(another_program_is_told)
{
    struct kit *k = *state;

    write_runs(k, "a.jsonl", &TWO, 0, 2, &PLAIN);
    write_runs(k, "b.jsonl", &FOUR, 0, 2, &PLAIN);
    replace_in(k, "b.jsonl", "\"version\":\"0.1.0\"", "\"version\":\"0.2.0\"");
    refused(k, "b.jsonl", 1, "version is 0.2.0, in ");
    write_runs(k, "b.jsonl", &FOUR, 0, 2, &PLAIN);
    replace_in(k, "b.jsonl", "\"git_commit\":\"0123", "\"git_commit\":\"4567");
    refused(k, "b.jsonl", 1, "git_commit is 4567456789abcdef, in ");
}

/* Of strong scaling each worker's part of the batch is another in each size. */
KIT_TEST(parts_of_a_global_batch_may_differ)
{
    const struct recorded_kit half = { .options = ",\"batch\":32,\"global-batch\":64" },
                              quarter = { .options = ",\"batch\":16,\"global-batch\":64" },
                              of_other = { .options = ",\"batch\":16,\"global-batch\":32" };
    struct kit *k = *state;
    struct recorded kept;

    write_runs(k, "a.jsonl", &TWO, 0, 1, &half);
    write_runs(k, "b.jsonl", &FOUR, 0, 1, &quarter);
    if (recorded_open_runs(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    recorded_close(&kept);
    write_runs(k, "b.jsonl", &FOUR, 0, 1, &of_other);
    refused(k, "b.jsonl", 1, "global-batch is 32, in ");
}

/* The same records under another name would make launches look more alike than they are. */
KIT_TEST(a_launch_twice_is_refused)
{
    struct kit *k = *state;

    write_runs(k, "a.jsonl", &TWO, 0, 1, &PLAIN);
    write_runs(k, "b.jsonl", &TWO, 0, 1, &PLAIN);
    struct recorded kept;
    assert_int_equal(recorded_open_runs(&kept, k->dir), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "b.jsonl: line "));
    assert_non_null(strstr(rc_message(), "this launch with 2 workers is there twice"));
}

KIT_TEST(what_holds_no_records)
{
    struct kit *k = *state;
    struct recorded kept;
    char named[3 * KIT_PATH_BYTES];

    write_runs(k, "a.jsonl", &TWO, 0, 1, &PLAIN);
    snprintf(named, sizeof named, "%s/a.jsonl,%s/none.jsonl", k->dir, k->dir);
    assert_int_equal(recorded_open_runs(&kept, named), RC_INVAL);
    assert_non_null(strstr(rc_message(), "none.jsonl: No such file"));
    snprintf(named, sizeof named, "%s/a.jsonl,%s", k->dir, k->dir);
    assert_int_equal(recorded_open_runs(&kept, named), RC_INVAL);
    assert_non_null(strstr(rc_message(), "is no file; use one folder alone, or files"));
    assert_true(kit_write(k, "b.jsonl", ""));
    assert_int_equal(recorded_open_runs(&kept, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), "b.jsonl: holds no launch"));
    assert_int_equal(unlink(kit_path(k, "a.jsonl")), 0);
    assert_int_equal(unlink(kit_path(k, "b.jsonl")), 0);
    assert_int_equal(recorded_open_runs(&kept, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), "holds no records: use runs.jsonl"));
}

UNIT_MAIN("recorded_files")
