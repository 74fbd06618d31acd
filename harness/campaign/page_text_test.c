/* SPDX-License-Identifier: Apache-2.0 */
/* page_text_test.c - no text of a record becomes part of a page, however much of it there is. */
#include "harness/base/rng.h"
#include "harness/campaign/suite/page_test_kit.h"

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

static void no_text_becomes_a_tag(void **state)
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
        assert_int_equal(n_of(page.text, "<script"), 1);
        assert_true(n_of(page.text, "&lt;script&gt;") >= 1); /* of --data */
        free(page.text);
        free(told);
    }
}

/* P2: 3,000 launches. */
static void many_launches_are_left_out(void **state)
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
    assert_int_equal(n_of(page.text, "<td>yes</td>"), 30);
    free(page.text);
    free(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAGE_TEST(no_text_becomes_a_tag),
        PAGE_TEST(many_launches_are_left_out),
    };

    return cmocka_run_group_tests_name("page_text", tests, NULL, NULL);
}
