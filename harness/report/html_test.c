/* SPDX-License-Identifier: Apache-2.0 */
/* html_test.c - what a page shows and sorts by, and that no text becomes part of it. */
#include "harness/report/html.h"

#include <sodium.h>
#include <stdbool.h>

#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"

struct memory { /* what a test writes */
    FILE *to;
    char *text;
    size_t n_bytes;
};

static void memory_open(struct memory *m)
{
    *m = (struct memory){ .text = NULL };
    m->to = open_memstream(&m->text, &m->n_bytes);
    assert_non_null(m->to);
}

/* Compare, and free. */
static void memory_is(struct memory *m, const char *expected)
{
    assert_int_equal(fclose(m->to), 0);
    assert_string_equal(m->text, expected);
    free(m->text);
}

/* --- report.W1 --- */

UNIT_TEST(text_is_escaped)
{
    struct memory m;

    memory_open(&m);
    html_text(m.to, "<script>alert(\"1\")</script> & 'x' \x01 \xc3\xa9\n\t.");
    memory_is(&m, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; &#65533; \xc3\xa9\n\t.");
    memory_open(&m);
    html_element(m.to, "p", "note", "%s of %d", "<b>", 3);
    html_element(m.to, "p", NULL, "%s", "a&b");
    memory_is(&m, "<p class=\"note\">&lt;b&gt; of 3</p>\n<p>a&amp;b</p>\n");
    memory_open(&m);
    html_lines(m.to, "verdict", "one <i>\n\ntwo");
    html_lines(m.to, NULL, "lenet:\n  fast\nend\n");
    html_lines(m.to, NULL, "\n");
    memory_is(&m,
              "<ul class=\"verdict\">\n<li>one &lt;i&gt;</li>\n<li>two</li>\n</ul>\n"
              "<ul>\n<li class=\"head\">lenet:</li>\n<li>  fast</li>\n<li>end</li>\n</ul>\n<ul>\n<li>-</li>\n</ul>\n");
    memory_open(&m);
    html_link(m.to, "a b?c#d%e:\"f", "<x>");
    memory_is(&m, "<a href=\"./a b%3Fc%23d%25e:&quot;f\">&lt;x&gt;</a>\n");
}

/* The text that an escaped one stands for; fails where a character of a tag was left. */
static void unescape(char *text)
{
    static const struct {
        const char *written;
        char byte;
    } known[] = { { "&amp;", '&' },  { "&lt;", '<' },   { "&gt;", '>' },
                  { "&quot;", '"' }, { "&#39;", '\'' }, { "&#65533;", '\x01' } };
    char *to = text;

    for (const char *from = text; *from;) {
        size_t n_taken = 0;
        assert_null(strchr("<>\"'", *from));
        for (size_t i = 0; *from == '&' && i < sizeof known / sizeof *known; i++)
            if (strncmp(from, known[i].written, strlen(known[i].written)) == 0) {
                n_taken = strlen(known[i].written);
                *to++ = known[i].byte;
            }
        assert_true(*from != '&' || n_taken > 0);
        if (n_taken == 0)
            *to++ = *from;
        from += n_taken ? n_taken : 1;
    }
    *to = '\0';
}

UNIT_TEST(any_text_comes_back)
{
    static const char bytes[] = "<>&\"'/=; aZ0#x\x01\x7f\xe2\x82\xac\n\tscript";
    char text[64];

    for (uint64_t trial = 0; trial < 2000; trial++) {
        struct memory m;
        const size_t n = rng_u64(trial, RNG_TEST, 0) % (sizeof text - 1);
        for (size_t i = 0; i < n; i++)
            text[i] = bytes[rng_u64(trial, RNG_TEST, i + 1) % (sizeof bytes - 1)];
        text[n] = '\0';
        memory_open(&m);
        html_text(m.to, text);
        assert_int_equal(fclose(m.to), 0);
        unescape(m.text);
        assert_string_equal(m.text, text);
        free(m.text);
    }
}

/* --- report.W2, W3 --- */

/* The digest of what is between <name> and </name>, as a policy admits it. */
static void digest_of(char out[64], const char *page, const char *name)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char begin[16], end[16];

    snprintf(begin, sizeof begin, "<%s>", name);
    snprintf(end, sizeof end, "</%s>", name);
    const char *from = strstr(page, begin), *to = strstr(page, end);
    assert_true(from && to && from < to);
    from += strlen(begin);
    crypto_hash_sha256(digest, (const unsigned char *)from, (unsigned long long)(to - from));
    sodium_bin2base64(out, 64, digest, sizeof digest, sodium_base64_VARIANT_ORIGINAL);
}

KIT_TEST(a_page_admits_its_own_parts_alone)
{
    struct kit *k = *state;
    char path[KIT_PATH_BYTES], style[64], script[64], policy[512];
    struct html page;

    snprintf(path, sizeof path, "%s", kit_path(k, "report.html"));
    assert_int_equal(html_open(&page, path, "a </title><script>x</script> & b"), RC_OK);
    html_element(page.file.stream, "p", NULL, "<script>alert(1)</script>");
    assert_int_equal(access(path, F_OK), -1); /* report.W3 */
    assert_int_equal(html_finish(&page, RC_OK), RC_OK);
    const char *text = kit_read(k, "report.html");
    assert_non_null(text);
    assert_int_equal(kit_count_files(k), 1);
    digest_of(style, text, "style");
    digest_of(script, text, "script");
    snprintf(policy, sizeof policy,
             "content=\"default-src 'none'; img-src data:; style-src 'sha256-%s'; script-src 'sha256-%s'; "
             "base-uri 'none'; form-action 'none'\"",
             style, script);
    assert_non_null(strstr(text, policy));
    assert_int_equal(strncmp(text, "<!DOCTYPE html>\n<html lang=\"en\">\n", 33), 0);
    assert_non_null(strstr(text, "<meta charset=\"utf-8\">"));
    assert_non_null(strstr(text, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"));
    assert_non_null(strstr(text, "<title>a &lt;/title&gt;&lt;script&gt;x&lt;/script&gt; &amp; b</title>"));
    assert_non_null(strstr(text, "<h1>a &lt;/title&gt;&lt;script&gt;x"));
    assert_int_equal(n_times(text, "<script"), 1);
    assert_int_equal(n_times(text, "<style"), 1);
    assert_int_equal(n_times(text, "http:") + n_times(text, "https:") + n_times(text, "url("), 0);
    assert_non_null(strstr(text, "</script>\n</body>\n</html>\n"));
}

/* A style and a script of its own come behind those of all pages, and nothing else is admitted. */
KIT_TEST(a_page_admits_own_parts_beside)
{
    static const char own_style[] = "p{margin:0}", own_script[] = "let own=1<2;";
    struct kit *k = *state;
    char part[64], policy[64 + 64], expected[256];
    unsigned char digest[crypto_hash_sha256_BYTES];
    const char *const own[] = { own_style, own_script }, *const name[] = { "style", "script" };
    struct html page;

    assert_int_equal(html_open_with(&page, kit_path(k, "report.html"), "a", own_style, own_script), RC_OK);
    assert_int_equal(html_finish(&page, RC_OK), RC_OK);
    const char *text = kit_read(k, "report.html");
    assert_non_null(text);
    for (int i = 0; i < 2; i++) {
        digest_of(part, text, name[i]);
        snprintf(policy, sizeof policy, "%s-src 'sha256-%s' ", name[i], part);
        const char *at = strstr(text, policy);
        assert_non_null(at);
        crypto_hash_sha256(digest, (const unsigned char *)own[i], strlen(own[i]));
        sodium_bin2base64(part, sizeof part, digest, sizeof digest, sodium_base64_VARIANT_ORIGINAL);
        snprintf(expected, sizeof expected, "%s'sha256-%s'; ", policy, part);
        assert_int_equal(strncmp(at, expected, strlen(expected)), 0);
        snprintf(expected, sizeof expected, "</%s>\n<%s>%s</%s>\n", name[i], name[i], own[i], name[i]);
        assert_non_null(strstr(text, expected));
    }
    assert_int_equal(n_times(text, "<script>"), 2);
    assert_int_equal(n_times(text, "'sha256-"), 4);
}

KIT_TEST(a_page_that_is_given_up_leaves_nothing)
{
    struct kit *k = *state;
    struct html page;

    assert_int_equal(html_open(&page, kit_path(k, "report.html"), "a"), RC_OK);
    assert_int_equal(html_finish(&page, RC_INVAL), RC_INVAL);
    assert_int_equal(html_finish(&page, RC_INVAL), RC_INVAL);
    assert_int_equal(kit_count_files(k), 0);
    assert_int_equal(html_open(&page, kit_path(k, "no/folder.html"), "a"), RC_INVAL);
    assert_int_equal(html_finish(&page, RC_INVAL), RC_INVAL);
}

/* --- report.W4 --- */

/* The cells of a row, one after the other, each but the last ended by a |; "": a rule. */
static void fill_row(struct table *t, const char *cells)
{
    char copy[256], *rest = copy;

    if (!*cells) {
        table_rule(t);
        return;
    }
    snprintf(copy, sizeof copy, "%s", cells);
    for (char *cell = strsep(&rest, "|"); cell; cell = strsep(&rest, "|"))
        table_cell(t, "%s", cell);
}

UNIT_TEST(a_table_sorts_by_its_numbers)
{
    static const struct column column[] = { { "mo<de", ALIGN_LEFT },
                                            { "rate", ALIGN_RIGHT },
                                            { "of bound", ALIGN_RIGHT },
                                            { "marked", ALIGN_RIGHT },
                                            { "step", ALIGN_RIGHT } };
    static const char *const row[] = { "4 <ps>|1.235 M|51.2 % (49.8 .. 52.7)|3 of 10|104.2 ±3.1",
                                       "b|999.9 k|2 of 10 failed|-|-0.5 s", "", "c|4*|-|10 of 10|.5",
                                       "d|12 kB|7|-|nan" };
    struct table *t = table_open(column, 5);
    struct memory m;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fill_row(t, row[i]);
    memory_open(&m);
    assert_int_equal(html_table(m.to, t, "a \"table\""), RC_OK);
    memory_is(
        &m, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"a &quot;table&quot;\">\n<table>\n"
            "<caption>a &quot;table&quot;</caption>\n<thead>\n<tr><th scope=\"col\">mo&lt;de</th>"
            "<th scope=\"col\" class=\"n\">rate</th><th scope=\"col\" class=\"n\">of bound</th>"
            "<th scope=\"col\" class=\"n\">marked</th><th scope=\"col\" class=\"n\">step</th></tr>\n</thead>\n<tbody>\n"
            "<tr><td>4 &lt;ps&gt;</td><td class=\"n\" data-n=\"1235000\">1.235 M</td>"
            "<td class=\"n\" data-n=\"51.2\">51.2 % <span>(49.8 .. 52.7)</span></td><td class=\"n\" data-n=\"3\">3 of "
            "10</td>"
            "<td class=\"n\" data-n=\"104.2\">104.2 ±3.1</td></tr>\n"
            "<tr><td>b</td><td class=\"n\" data-n=\"999900\">999.9 k</td><td class=\"n\">2 of 10 failed</td>"
            "<td class=\"n\">-</td><td class=\"n\" data-n=\"-0.5\">-0.5 s</td></tr>\n"
            "</tbody>\n<tbody>\n"
            "<tr><td>c</td><td class=\"n\" data-n=\"4\">4*</td><td class=\"n\">-</td>"
            "<td class=\"n\" data-n=\"10\">10 of 10</td><td class=\"n\" data-n=\"0.5\">.5</td></tr>\n"
            "<tr><td>d</td><td class=\"n\" data-n=\"12\">12 kB</td><td class=\"n\" data-n=\"7\">7</td>"
            "<td class=\"n\">-</td><td class=\"n\">nan</td></tr>\n"
            "</tbody>\n</table>\n</div>\n");
    table_close(&t);
}

UNIT_TEST(long_text_is_folded)
{
    static const struct column column[] = { { "a", ALIGN_LEFT } };
    struct table *t = table_open(column, 1);
    struct memory m;

    fill_row(t, "123456789 123456789 123456789 123456789 123456789");
    memory_open(&m);
    assert_int_equal(html_table(m.to, t, "t"), RC_OK);
    assert_int_equal(fclose(m.to), 0);
    assert_non_null(strstr(m.text, "<td class=\"wide\">123456789 "));
    free(m.text);
    table_close(&t);
}

/* --- pictures --- */

KIT_TEST(a_picture_is_in_the_page)
{
    struct kit *k = *state;
    struct memory m;
    size_t n_bytes = 99;

    assert_true(kit_write(k, "a.svg", "<svg/>"));
    assert_true(kit_write(k, "b.png", "PNG?"));
    memory_open(&m);
    assert_int_equal(html_picture(m.to, kit_path(k, "a.svg"), "x < \"y\"", 100, &n_bytes), RC_OK);
    assert_int_equal(n_bytes, 9);
    assert_int_equal(html_picture(m.to, kit_path(k, "b.png"), "z", 9, &n_bytes), RC_OK);
    memory_is(
        &m,
        "<figure>\n<div><img width=\"1600\" height=\"1000\" src=\"data:image/svg+xml;base64,PHN2Zy8+\" "
        "alt=\"x &lt; &quot;y&quot;\"></div>\n<figcaption>x &lt; &quot;y&quot;</figcaption>\n</figure>\n"
        "<figure>\n<div><img width=\"1600\" height=\"1000\" src=\"data:image/png;base64,UE5HPw==\" alt=\"z\"></div>\n"
        "<figcaption>z</figcaption>\n</figure>\n");
}

KIT_TEST(a_picture_that_does_not_fit_is_refused)
{
    struct kit *k = *state;
    struct memory m;
    size_t n_bytes = 99;

    assert_true(kit_write(k, "a.svg", "<svg/>"));
    memory_open(&m);
    assert_int_equal(html_picture(m.to, kit_path(k, "a.svg"), "x", 8, &n_bytes), RC_UNSUPPORTED);
    assert_int_equal(html_picture(m.to, kit_path(k, "none.svg"), "x", 100, &n_bytes), RC_INVAL);
    assert_int_equal(html_picture(m.to, k->dir, "x", 100, &n_bytes), RC_INVAL);
    memory_is(&m, "");
}

UNIT_MAIN("html")
