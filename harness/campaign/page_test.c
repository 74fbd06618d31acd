/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_test.c - a page holds the figures of the tables, every option and library, and the charts. gnuplot is a script
 * here that draws a few bytes.
 */
#include "harness/base/rng.h"
#include "harness/base/suite/printed.h"
#include "harness/campaign/suite/page_test_kit.h"
#include "harness/report/table.h"

/* --- P1 --- */

/* Every cell of a table on a line of its own; "|": a rule. */
static enum rc show_cells(const struct table *t, FILE *to)
{
    for (size_t row = 0; row < table_n_rows(t); row++)
        for (size_t i = 0; i < table_n_columns(t); i++)
            if (table_text(t, row, i))
                fprintf(to, "%s\n", table_text(t, row, i));
            else if (i == 0)
                fprintf(to, "|\n");
    return table_check(t);
}

/* The same of the table behind *at in a page, as text; *at := behind it. Cells of made-up campaigns need no escape. */
static char *cells_of(const char **at)
{
    struct printed p;
    const char *body = strstr(*at, "<tbody>"), *end = strstr(*at, "</table>");

    printed_begin(&p);
    assert_true(body && end && body < end);
    for (const char *c = body + 7; (c = strchr(c, '<')) != NULL && c < end; c++) {
        if (strncmp(c, "<tbody>", 7) == 0)
            fprintf(p.to, "|\n");
        if (strncmp(c, "<td", 3) == 0 || strncmp(c, "<span", 5) == 0) {
            const char *from = strchr(c, '>') + 1;
            fprintf(p.to, "%.*s", (int)strcspn(from, "<"), from);
        } else if (strncmp(c, "</td", 4) == 0) {
            fputc('\n', p.to);
        }
    }
    *at = end + 1;
    char *text = printed_end(&p);
    return text;
}

static char *cells_printed(const struct campaign *c, enum rc (*print)(const struct campaign *, show_table_fn *, FILE *))
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(print(c, show_cells, p.to), RC_OK);
    char *text = printed_end(&p);
    return text;
}

PAGE_TEST(its_tables_hold_the_figures)
{
    static enum rc (*const prints[])(const struct campaign *, show_table_fn *, FILE *) = { campaign_print_results,
                                                                                           campaign_print_steps };
    struct kit *k = *state;
    struct recorded kept;
    char *told;

    recorded_write(k, MADE_CAMPAIGN, MADE_POINTS, &(struct recorded_kit){ .host = NULL });
    const struct read page = page_at(k, k->dir, "report.html", true, &told);
    const char *at = strstr(page.text, "<h2>Settings</h2>");
    assert_non_null(at);
    assert_int_equal(recorded_open(&kept, k->dir), RC_OK);
    for (int i = 0; i < 2; i++) {
        char *shown = cells_of(&at), *printed = cells_printed(&kept.campaign, prints[i]);
        assert_true(strlen(printed) > 200);
        assert_string_equal(shown, printed);
        free(shown);
        free(printed);
    }
    /* One cell in full: of lenet, ps, 2 workers. */
    assert_non_null(strstr(page.text, "<tr><td>lenet</td><td>ps</td><td class=\"n\" data-n=\"2\">2+</td>"
                                      "<td class=\"n\" data-n=\"3\">3</td><td class=\"n\" data-n=\"1800\">1.8 k</td>"
                                      "<td class=\"n\" data-n=\"1756\">1.756 k .. 1.845 k</td>"
                                      "<td class=\"n\" data-n=\"0.72\">0.720 <span>(0.408 .. 1.269)</span></td>"));
    /* Each note is a paragraph. */
    assert_non_null(strstr(page.text,
                           "<p class=\"note\">95 % interval: from all runs of a setting; of efficiency: from "
                           "pairs of runs in the same round.</p>\n<p class=\"note\">efficiency: throughput"));
    assert_non_null(strstr(page.text, "and for each server.</p>\n<p class=\"note\">loss: mean over the last"));
    assert_non_null(strstr(page.text, "</p>\n<p class=\"note\">* more threads of workers than cores</p>\n<p "
                                      "class=\"note\">+ the server shares"));
    /* The verdict stands before the tables, and each line of it is an item. */
    const char *verdict = strstr(page.text, "<li>lenet, 2 workers: ");
    assert_true(verdict && verdict < strstr(page.text, "<h2>Settings</h2>"));
    assert_true(strstr(page.text, "<h2>Verdict</h2>") < verdict);
    recorded_close(&kept);
    free(page.text);
    free(told);
}

/* --- charts --- */

PAGE_TEST(charts_are_drawn_and_dropped)
{
    struct kit *k = *state;
    char *told;

    recorded_write(k, MADE_CAMPAIGN, MADE_POINTS, &(struct recorded_kit){ .host = NULL });
    const struct read page = page_at(k, k->dir, "report.html", true, &told);
    assert_string_equal(told, "");
    assert_int_equal(n_times(page.text, "<figure>"), 8); /* 4 of each of 2 models */
    assert_int_equal(n_times(page.text, "src=\"data:image/svg+xml;base64,MDAwMDAw"), 8);
    assert_int_equal(n_times(page.text, "<figcaption>lenet, throughput: "), 1);
    assert_int_equal(n_times(page.text, "<figcaption>linear, loss against"), 1);
    const char *folded = strstr(page.text, "<summary>More charts");
    assert_non_null(folded); /* in front of it the two of each model that show the answer */
    assert_int_equal(n_times(folded, "<figure>"), 4);
    assert_null(strstr(folded, "<figcaption>lenet, throughput: "));
    assert_null(strstr(folded, "<figcaption>linear, loss against"));
    assert_int_equal(kit_count_files(k), 4); /* P3: runs.jsonl, manifest.json, report.html, bin */
    assert_true(page.n_bytes < PAGE_MOST_BYTES);
    free(page.text);
    free(told);
}

PAGE_TEST(charts_of_the_folder_are_shown)
{
    static const char *const names[] = { "throughput-lenet.svg", "efficiency-lenet.svg",  "loss-lenet.svg",
                                         "cost-lenet.svg",       "throughput-linear.svg", "efficiency-linear.svg",
                                         "loss-linear.svg",      "cost-linear.svg" };
    struct kit *k = *state;
    char *told;

    recorded_write(k, MADE_CAMPAIGN, MADE_POINTS, &(struct recorded_kit){ .host = NULL });
    for (size_t i = 0; i < 8; i++)
        assert_true(kit_write(k, names[i], "<svg/>"));
    struct read page = page_at(k, k->dir, "report.html", false, &told);
    assert_string_equal(told, "");
    assert_int_equal(n_times(page.text, "src=\"data:image/svg+xml;base64,PHN2Zy8+\""), 8);
    free(page.text);
    free(told);
    /* One is missing, and cannot be drawn: the others are shown, and it is said. */
    assert_int_equal(unlink(kit_path(k, names[2])), 0);
    page = page_at(k, k->dir, "report.html", false, &told);
    assert_int_equal(n_times(page.text, "<figure>"), 7);
    assert_string_equal(told, "gnuplot was not found, which draws the charts (Debian: gnuplot-nox)\n");
    assert_int_equal(n_times(page.text, "<p class=\"alert\">gnuplot was not found, which draws the charts"), 1);
    assert_int_equal(kit_count_files(k), 11); /* nothing is left of what could not be drawn */
    free(page.text);
    free(told);
}

/* P2 */
PAGE_TEST(large_charts_are_pngs_or_left_out)
{
    struct kit *k = *state;
    char *told;

    recorded_write(k, MADE_CAMPAIGN, MADE_POINTS, &(struct recorded_kit){ .host = NULL });
    assert_true(kit_write(k, "bin/huge-svg", ""));
    struct read page = page_at(k, k->dir, "report.html", true, &told);
    assert_string_equal(told, "");
    assert_int_equal(n_times(page.text, "data:image/svg"), 0);
    assert_int_equal(n_times(page.text, "data:image/png"), 8);
    free(page.text);
    free(told);
    assert_true(kit_write(k, "bin/huge-png", ""));
    page = page_at(k, k->dir, "report.html", true, &told);
    assert_int_equal(n_times(page.text, "<figure>"), 0);
    assert_int_equal(n_times(page.text, "is left out: it is too large for a page."), 8);
    assert_int_equal(n_times(told, "chart loss-lenet: left out: it is too large for a page\n"), 1);
    assert_true(page.n_bytes < PAGE_MOST_BYTES);
    free(page.text);
    free(told);
}

/* --- what it says of the launches --- */

PAGE_TEST(disturbed_launches_are_named)
{
    static const struct made_point one[] = { { "lenet", "single", 1, 0, 3, 1000, 1.1, NAN, 1 } };
    struct kit *k = *state;
    char *told;

    recorded_write(k, one, 1,
                   &(struct recorded_kit){ .summary =
                                               ",\"disturbed\":\"yes\",\"others_cores_count\":0.5,\"steal_ratio\":0.02,"
                                               "\"taken_cores_ratio\":0.25,\"steady_state\":\"switch\"" });
    struct read page = page_at(k, k->dir, "report.html", true, &told);
    /* what the mark means is no item of the list, and one sentence */
    assert_non_null(strstr(page.text, "<p class=\"note\">disturbed: other programs and steal took more than 10 % of a "
                                      "run&#39;s cores (short runs: more), or its frequency is more than 5 % off "));
    assert_null(strstr(page.text, "<li>disturbed: "));
    assert_non_null(strstr(page.text, "Of 3 launches 3 ran on a disturbed machine, and 3 without a steady state"));
    assert_non_null(strstr(page.text,
                           "<li>lenet single, 1 worker: disturbed in 3 of 3 launches: others used up to 0.50 "
                           "cores, steal was up to 2 %, together up to 25 % of a run&#39;s cores</li>"));
    assert_non_null(strstr(page.text, "<td>speed switched</td><td>yes</td><td class=\"n\" data-n=\"0.5\">0.50</td>"
                                      "<td class=\"n\" data-n=\"2\">2 %</td><td class=\"n\" data-n=\"25\">25 %</td>"));
    assert_int_equal(n_times(page.text, ">speed switched</td>"), 3);
    assert_null(strstr(page.text, "No launch was disturbed"));
    free(page.text);
    free(told);
    recorded_write(k, one, 1, &(struct recorded_kit){ .summary = ",\"disturbed\":\"no\"" });
    page = page_at(k, k->dir, "report.html", true, &told);
    assert_non_null(strstr(page.text, "No launch was disturbed"));
    free(page.text);
    free(told);
    recorded_write(k, one, 1, &(struct recorded_kit){ .summary = ",\"disturbed\":\"not_known\"" });
    page = page_at(k, k->dir, "report.html", true, &told);
    assert_null(strstr(page.text, "No launch was disturbed"));
    assert_non_null(strstr(page.text, "It is not known whether other programs disturbed 3 of 3 runs"));
    free(page.text);
    free(told);
    recorded_write(k, one, 1, &(struct recorded_kit){ .host = NULL });
    page = page_at(k, k->dir, "report.html", true, &told);
    assert_non_null(strstr(page.text, "The records do not say whether a launch was disturbed"));
    free(page.text);
    free(told);
}

PAGE_TEST(launches_that_failed_are_named)
{
    static const struct made_point two[] = { { "lenet", "single", 1, 0, 3, 1000, 1.1, NAN, 1 },
                                             { "lenet", "ps", 2, 1, 0, 1500, 1.1, NAN, 2 } };
    struct kit *k = *state;
    char *told;

    recorded_write(k, two, 2, &(struct recorded_kit){ .host = NULL });
    recorded_failure(k, &two[1], "it <broke>", ",\"is_given_up\":true");
    const struct read page = page_at(k, k->dir, "report.html", true, &told);
    assert_non_null(strstr(page.text,
                           "<li>lenet ps, 2 workers: 1 launch failed, and the point was given up after 0 of 3; "
                           "why: it &lt;broke&gt;.</li>"));
    assert_non_null(strstr(page.text, "<tr><td>lenet</td><td>ps</td><td class=\"n\" data-n=\"2\">2+</td>"
                                      "<td class=\"n\" data-n=\"3\">3</td><td class=\"n\">-</td>"));
    assert_non_null(strstr(page.text, "<td class=\"n\" data-n=\"1\">1, given up</td></tr>"));
    assert_non_null(strstr(page.text, "<h2>Launches that failed</h2>"));
    assert_null(strstr(page.text, "runs of each setting were made"));
    free(page.text);
    free(told);
}

PAGE_TEST(options_machine_and_libraries)
{
    static const char *const rows[] = {
        "<tr><td>--mode</td><td>none,single,ps,allreduce</td><td>single, ps</td></tr>",
        "<tr><td>--bucket-bytes</td><td>-</td><td>-</td></tr>",
        "<tr><td>--launches</td><td>3</td><td>-</td></tr>",
        "<tr><td>--lr</td><td>-</td><td>0.1</td></tr>",
        "<tr><td>--workers</td><td>-</td><td>1, 2</td></tr>",
        "<tr><td>cpu_model</td><td>A processor</td></tr>",
        "<tr><td>git_dirty</td><td>true</td></tr>",
        "<tr><td>hwloc</td><td>2.9.0</td></tr>",
        "<tr><td>mpi</td><td>-</td></tr>",
        "<h2>Machine and program: libraries</h2>",
        "<tr><td>OMP_NUM_THREADS</td><td>4</td></tr>",
        "<p>Hosts (1): host0</p>",
        "commit 0123456789ab with changes, on host host0 (A processor, 2 cores, x86_64), 2026-11-22T10:",
    };
    static const struct made_point two[] = { { "lenet", "single", 1, 0, 3, 1000, 1.1, NAN, 1 },
                                             { "lenet", "ps", 2, 1, 3, 1500, 1.1, NAN, 2 } };
    struct kit *k = *state;
    char *told;

    recorded_write(k, two, 2,
                   &(struct recorded_kit){ .options = ",\"lr\":0.10000000000000001",
                                           .manifest = ",\"environment\":{\"OMP_NUM_THREADS\":\"4\"}" });
    const struct read page = page_at(k, k->dir, "report.html", true, &told);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (n_times(page.text, rows[i]) != 1)
            fail_msg("%d times: %s", n_times(page.text, rows[i]), rows[i]);
    free(page.text);
    free(told);
}

/* --- a run --- */

PAGE_TEST(a_run_is_a_page_beside_its_file)
{
    static const struct made_point run = { "lenet", "ps", 2, 1, 1, 1500, 1.1, 4, 2 };
    struct kit *k = *state;
    char source[KIT_PATH_BYTES], path[KIT_PATH_BYTES], *told;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "run.jsonl"), "w");

    assert_non_null(to);
    recorded_launch(to, &run, 0, -1,
                    &(struct recorded_kit){ .summary =
                                                ",\"disturbed\":\"yes\",\"taken_cores_ratio\":0.5,\"learned\":\"no\","
                                                "\"not_learned_advice\":\"it rose; try less\"" });
    assert_int_equal(fclose(to), 0);
    snprintf(source, sizeof source, "%s", kit_path(k, "run.jsonl"));
    assert_int_equal(recorded_open(&kept, source), RC_OK);
    page_path(path, sizeof path, &kept, source);
    recorded_close(&kept);
    assert_string_equal(path, kit_path(k, "run.jsonl.html"));
    const struct read page = page_at(k, source, "run.jsonl.html", true, &told);
    assert_string_equal(told, "");
    assert_non_null(strstr(page.text,
                           "<li>lenet ps, 2 workers: 1.5 k samples/s (95 % within the run: 1.35 k to 1.8 k).</li>\n"
                           "<li>That is 52.0 % of what the slowest of compute, wire and server allows.</li>\n"
                           "<li>Loss at the end: 0.0600: it did not learn.</li>\n<li>it rose; try less.</li>\n"
                           "<li>Accuracy: 31.00 % of test samples.</li>\n<li>Target loss after 4 s.</li>\n"
                           "<li>Staleness: 0.60 updates by others between a pull and its push, 3 at most.</li>\n"
                           "<li>The machine was disturbed: others took up to 50 % of the run&#39;s cores.</li>\n"));
    assert_int_equal(n_times(page.text, "<figure>"), 2); /* loss and cost: one dot is no scaling */
    assert_non_null(strstr(page.text, "<figcaption>lenet, cost: "));
    assert_non_null(strstr(page.text, "<h2>Ranks</h2>"));
    assert_int_equal(n_times(page.text, "<td>server</td>"), 1);
    assert_non_null(strstr(page.text, "<tr><td>not_learned_advice</td><td>it rose; try less</td></tr>"));
    assert_int_equal(kit_count_files(k), 3);
    free(page.text);
    free(told);
}

/* P2: 600 ranks, of which each says 4 KB, and a manifest of 2 MB. */
PAGE_TEST(what_has_no_room_is_left_out)
{
    static const struct made_point run = { "lenet", "allreduce", 600, 0, 1, 1500, 1.1, 4, 2 };
    static char rank[4400], manifest[2100000];
    struct kit *k = *state;
    char source[KIT_PATH_BYTES], text[200], *told;
    int n_shown = 0;

    for (int i = 0; i < 40; i++)
        snprintf(rank + strlen(rank), sizeof rank - strlen(rank), ",\"key_%d\":\"%080d\"", i, i);
    size_t n_used = (size_t)snprintf(manifest, sizeof manifest, ",\"environment\":{\"A\":\"1\"");
    while (n_used < sizeof manifest - 600)
        n_used += (size_t)snprintf(manifest + n_used, sizeof manifest - n_used, ",\"B_%zu\":\"%0400d\"", n_used, 0);
    snprintf(manifest + n_used, sizeof manifest - n_used, "}");
    FILE *to = fopen(kit_path(k, "run.jsonl"), "w");
    assert_non_null(to);
    recorded_launch(to, &run, 0, -1, &(struct recorded_kit){ .rank = rank, .manifest = manifest });
    assert_int_equal(fclose(to), 0);
    snprintf(source, sizeof source, "%s", kit_path(k, "run.jsonl"));
    const struct read page = page_at(k, source, "run.jsonl.html", true, &told);
    assert_true(page.n_bytes < PAGE_MOST_BYTES);
    const char *ranks = strstr(page.text, "<h2>Ranks</h2>\n<p>The first ");
    assert_non_null(ranks);
    n_shown = atoi(ranks + strlen("<h2>Ranks</h2>\n<p>The first "));
    assert_in_range(n_shown, 300, 599);
    snprintf(text, sizeof text, "The first %d of 600: a page has no room for all, the records hold them.</p>", n_shown);
    assert_non_null(strstr(ranks, text));
    assert_int_equal(n_times(page.text, "<td>worker</td>"), n_shown);
    assert_non_null(strstr(page.text, "environment</h2>\n<p class=\"alert\">A table of "));
    assert_non_null(strstr(page.text, "rows is left out: it is too large for a page.</p>"));
    assert_non_null(strstr(page.text, "<tr><td>hwloc</td><td>2.9.0</td></tr>"));
    assert_non_null(strstr(page.text, "</body>\n</html>\n"));
    free(page.text);
    free(told);
}

UNIT_TEST(its_path)
{
    const struct recorded folder = { .is_run = false };
    char path[PAGE_PATH_BYTES];

    page_path(path, sizeof path, &folder, "a/b//");
    assert_string_equal(path, "a/b/report.html");
    page_path(path, sizeof path, &folder, "/");
    assert_string_equal(path, "//report.html");
    page_path(path, sizeof path, &folder, ".");
    assert_string_equal(path, "./report.html");
}

/* No text of a record becomes part of a page, however much of it there is. */

/* Tags open and close as they should, and all are those of a page. */
static void check_tags(const char *text)
{
    static const char *const single[] = { "meta", "link", "img", "!DOCTYPE" };
    static const char *const known[] = { "html",   "head",  "title",  "style",   "body",    "main",   "h1",
                                         "h2",     "p",     "ul",     "li",      "div",     "table",  "caption",
                                         "thead",  "tbody", "tr",     "th",      "td",      "figure", "figcaption",
                                         "footer", "a",     "script", "details", "summary", "span" };
    char open[32][16];
    int depth = 0;

    for (const char *c = text; (c = strchr(c, '<')) != NULL; c++) {
        const bool closes = c[1] == '/';
        char name[16];
        bool is_single = false, is_known = false;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(c + 1 + closes, " >\n"), c + 1 + closes);
        for (size_t i = 0; i < sizeof single / sizeof *single; i++)
            is_single = is_single || strcmp(name, single[i]) == 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known = is_known || strcmp(name, known[i]) == 0;
        if (is_single)
            continue;
        if (!is_known)
            fail_msg("a tag that no page has: %.40s", c);
        if (!closes) {
            assert_true(depth < 32);
            snprintf(open[depth++], sizeof *open, "%s", name);
        } else if (depth == 0 || strcmp(open[--depth], name) != 0)
            fail_msg("closed but not open: %s", name);
        if (!closes && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)) { /* holds < that is no tag */
            c = strstr(c, strcmp(name, "script") == 0 ? "</script>" : "</style>") - 1;
            assert_non_null(c + 1);
        }
    }
    assert_int_equal(depth, 0);
}

/* Text of a record: pieces of a page, as JSON has them. */
static void nasty_text(char *out, size_t n_bytes, uint64_t seed)
{
    static const char *const pieces[] = { "<script>alert(1)</script>",
                                          "</td></table>",
                                          "\\\"",
                                          "'",
                                          "&amp;",
                                          "&",
                                          "-->",
                                          "<img src=x onerror=alert(1)>",
                                          "\\u0007",
                                          "\\n",
                                          "%s%n",
                                          "</style>",
                                          "plain",
                                          "javascript:",
                                          "\xc3\xa9" };
    out[0] = '\0';
    for (uint64_t i = 0; i < 1 + rng_u64(seed, RNG_TEST, 0) % 6; i++)
        strncat(out, pieces[rng_u64(seed, RNG_TEST, i + 1) % (sizeof pieces / sizeof *pieces)],
                n_bytes - 1 - strlen(out));
}

PAGE_TEST(no_text_becomes_a_tag)
{
    static const struct made_point run = { "lenet", "ps", 2, 1, 1, 1500, 1.1, 4, 2 };
    struct kit *k = *state;
    char host[256], text[256], options[1200], manifest[1200], summary[1200], source[KIT_PATH_BYTES], *told;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        nasty_text(host, sizeof host, seed);
        nasty_text(text, sizeof text, 1000 + seed);
        snprintf(options, sizeof options, ",\"%s\":\"%s\",\"data\":\"<script>\"", text, host);
        snprintf(manifest, sizeof manifest, ",\"%s\":\"%s\",\"environment\":{\"%s\":\"%s\"}", text, host, host, text);
        snprintf(summary, sizeof summary, ",\"%s\":\"%s\",\"learned\":\"no\",\"not_learned_advice\":\"%s\"", text, text,
                 host);
        const struct recorded_kit kit = { .host = host, .options = options, .manifest = manifest, .summary = summary };
        if (seed % 2) {
            recorded_write(k, MADE_CAMPAIGN, 3, &kit);
            snprintf(source, sizeof source, "%s", k->dir);
        } else {
            snprintf(source, sizeof source, "%s", kit_path(k, "run<b>.jsonl"));
            FILE *to = fopen(source, "w");
            assert_non_null(to);
            recorded_launch(to, &run, 0, -1, &kit);
            assert_int_equal(fclose(to), 0);
        }
        const struct read page = page_at(k, source, "page.html", false, &told);
        check_tags(page.text);
        assert_int_equal(n_times(page.text, "<script"), 1);
        assert_true(n_times(page.text, "&lt;script&gt;") >= 1); /* of --data */
        free(page.text);
        free(told);
    }
}

/* P2: 3,000 launches. */
PAGE_TEST(many_launches_are_left_out)
{
    enum { N_LAUNCHES = 3000 };
    static const char *const mode[] = { "none", "ps", "allreduce" };
    struct kit *k = *state;
    char *told;
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "w");

    assert_non_null(to);
    for (int i = 0; i < N_LAUNCHES; i++)
        recorded_launch(to, &(struct made_point){ "lenet", mode[i % 3], 2, i % 3 == 1, 3, 1000, 1.1, NAN, 1 },
                        i % MADE_LAUNCHES, i / 3,
                        &(struct recorded_kit){ .summary = i < 30 ? ",\"disturbed\":\"yes\"" : "" });
    assert_int_equal(fclose(to), 0);
    const struct read page = page_at(k, k->dir, "report.html", true, &told);
    assert_true(page.n_bytes < PAGE_MOST_BYTES);
    assert_non_null(strstr(page.text, "30 of 3000 launches: of those that were disturbed"));
    assert_non_null(strstr(page.text, "did not come to its end"));
    assert_int_equal(n_times(page.text, "<td>yes</td>"), 30);
    free(page.text);
    free(told);
}

UNIT_MAIN("page")
