/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - what a page says first, and the order of its parts. */
#include "harness/campaign/page.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/report/html.h"
#include "harness/report/markdown.h"

enum { CHART_MOST_BYTES = 400000, CHARTS_MOST_BYTES = 1200000 };

void page_path(char *out, size_t n_bytes, const struct recorded *k, const char *source)
{
    size_t n = strlen(source);

    while (!k->is_run && n > 1 && source[n - 1] == '/')
        n--;
    snprintf(out, n_bytes, k->is_run ? "%.*s.html" : "%.*s/report.html", (int)n, source);
}

static const char *text_at(char *out, size_t n_bytes, const json_t *record, const char *key)
{
    recorded_text(out, n_bytes, json_object_get(record, key));
    return out;
}

/* What it is, and where and when it ran. */
static void write_about(const struct recorded *k, FILE *to)
{
    const json_t *m = recorded_manifest(k);
    char version[64], commit[64], date[64], host[256], cpu[256];

    text_at(version, sizeof version, m, "version");
    text_at(commit, sizeof commit, m, "git_commit");
    fprintf(to, "<p class=\"about\">%s of gradmark ", k->is_run ? "A run" : "A comparison");
    html_text(to, version);
    fputs(", commit ", to);
    commit[12] = '\0';
    html_text(to, commit);
    fputs(json_is_true(json_object_get(m, "git_dirty")) ? " with changes" : "", to);
    if (k->campaign.is_virtual) {
        fputs(", in simulated time on cluster ", to);
        html_text(to, k->campaign.cluster_name);
        fputs(".</p>\n", to);
        return;
    }
    fputs(", on host ", to);
    html_text(to, text_at(host, sizeof host, m, "host"));
    if (json_array_size(k->hosts) > 1)
        fprintf(to, " and %zu more", json_array_size(k->hosts) - 1);
    fputs(" (", to);
    html_text(to, text_at(cpu, sizeof cpu, m, "cpu_model"));
    fputs(", ", to);
    html_text(to, k->campaign.machine);
    fputs("), ", to);
    html_text(to, text_at(date, sizeof date, m, "date_utc"));
    fputs(".</p>\n", to);
}

/* --- the verdict --- */

/* "1.235 M samples/s (95 % within the run: 1.2 M to 1.3 M)", as of one launch. */
static void tell_throughput(const struct point *p, FILE *to)
{
    const struct interval i = point_throughput(p);
    char name[LAUNCH_NAME_BYTES], ends[INTERVAL_ENDS_BYTES];

    point_name(name, sizeof name, p);
    if (!isfinite(i.mean))
        fprintf(to, "%s: no throughput: the workers never trained all at once.\n", name);
    else if (isnan(i.low))
        fprintf(to, "%s: %.4g samples/s.\n", name, i.mean);
    else
        fprintf(to, "%s: %.4g samples/s (95 %% within the run: %s).\n", name, i.mean,
                interval_ends(ends, "%.4g", " to ", i.low, i.high));
}

static void tell_bound(const struct point *p, FILE *to)
{
    const double ratio = p->launch[0].bound_ratio;

    if (point_n_failed_bounds(p) > 0)
        fprintf(to, "Its bound failed: it did more than its parts could do when measured.\n");
    else if (!isnan(ratio))
        fprintf(to, "That is %.1f %% of what the slowest of compute, wire and server allows.\n", 100 * ratio);
}

static void tell_training(const struct recorded *k, FILE *to)
{
    const struct point *p = &k->campaign.point[0];
    const struct launch *l = &p->launch[0];

    if (!isnan(l->loss_last))
        fprintf(to, "Loss at the end: %.4f%s.\n", l->loss_last, l->did_not_learn ? ": it did not learn" : "");
    if (l->did_not_learn && p->not_learned[0])
        fprintf(to, "%s.\n", p->not_learned);
    if (!isnan(l->accuracy_ratio))
        fprintf(to, "Accuracy: %.2f %% of test samples.\n", 100 * l->accuracy_ratio);
    if (!isnan(l->seconds_to_target_s))
        fprintf(to, "Target loss after %.3g s.\n", l->seconds_to_target_s);
    if (!isnan(l->staleness_mean_count))
        fprintf(to, "Staleness: %.2f updates by others between a pull and its push, %.0f at most.\n",
                l->staleness_mean_count, l->staleness_max_count);
    for (size_t i = 0; i < json_array_size(k->losses); i++) {
        char rank[32], why[512];
        text_at(rank, sizeof rank, json_array_get(k->losses, i), "rank");
        text_at(why, sizeof why, json_array_get(k->losses, i), "why");
        fprintf(to, "Rank %s was lost: %s.\n", rank, why);
    }
}

static void tell_run(const struct recorded *k, FILE *to)
{
    const struct launch *l = &k->campaign.point[0].launch[0];

    tell_throughput(&k->campaign.point[0], to);
    tell_bound(&k->campaign.point[0], to);
    tell_training(k, to);
    if (l->was_disturbed)
        fprintf(to, "The machine was disturbed: others took up to %.0f %% of the run's cores.\n",
                100 * l->taken_cores_ratio);
    if (l->switched)
        fprintf(to, "The machine's speed switched during the run.\n");
    if (l->never_settled)
        fprintf(to, "The run never settled: its figures are of all rounds.\n");
}

/* Why the whole may say less than it seems to. */
static void write_alerts(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    size_t least = c->n_launches_wanted, n_disturbed = 0, n_unsteady = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!p->is_given_up && !p->is_fate_unknown && p->n_launches < least) /* of the others the verdict tells */
            least = p->n_launches;
        n_disturbed += point_n_marked(&c->point[i], MARK_DISTURBED);
        n_unsteady += point_n_marked(&c->point[i], MARK_UNSTEADY);
    }
    if (!k->manifest)
        html_element(to, "p", "alert", "This campaign has no manifest.json: it did not come to its end.");
    else if (json_is_false(json_object_get(k->manifest, "is_complete")))
        html_element(to, "p", "alert", "This campaign did not come to its end, or launches of it failed.");
    if (!k->is_run && least < c->n_launches_wanted && !c->is_virtual)
        html_element(to, "p", "alert", "%zu of %zu runs of each setting were made.", least, c->n_launches_wanted);
    if (n_disturbed + n_unsteady > 0)
        fprintf(to,
                "<p class=\"alert\">Of %zu launch%s %zu ran on a disturbed machine, and %zu without a steady state: "
                "<a href=\"#disturbed\">which, and how</a>.</p>\n",
                c->n_launches_done, c->n_launches_done == 1 ? "" : "es", n_disturbed, n_unsteady);
}

typedef enum rc tell_fn(const struct recorded *k, FILE *to);

/* What tell() writes: *out, which the caller frees, whatever comes. */
static enum rc lines_of(char **out, const struct recorded *k, tell_fn *tell)
{
    size_t n_bytes = 0;
    FILE *lines = open_memstream(out, &n_bytes);
    enum rc rc;

    if (!lines)
        return rc_raise(RC_NOMEM, "no memory for a verdict");
    rc = tell(k, lines);
    if (fclose(lines) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for a verdict");
    return rc;
}

static enum rc tell_comparisons(const struct recorded *k, FILE *to)
{
    return campaign_verdict(&k->campaign, to);
}

static enum rc tell_campaign(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    char *verdict = NULL; /* in memory: a pipe does not say how much was written to it */
    enum rc rc;

    TRY(lines_of(&verdict, k, tell_comparisons));
    fputs(verdict, to);
    for (size_t i = 0; i < c->n_points && !verdict[0]; i++)
        if (campaign_represents(c, i)) {
            char setting[LAUNCH_NAME_BYTES];
            point_setting(setting, sizeof setting, &c->point[i], ", ", " ");
            fprintf(to, "%s: ", setting);
            campaign_tell_uncompared(c, &c->point[i], to);
        }
    campaign_tell_unlearned(c, to);
    campaign_tell_failures(c, to);
    campaign_tell_sessions(c, to);
out:
    free(verdict);
    return rc;
}

/* The lines of tell() as a list below a title; NULL: without one. */
static enum rc write_lines(const struct recorded *k, const char *title, tell_fn *tell, FILE *to)
{
    char *text = NULL;
    enum rc rc;

    TRY(lines_of(&text, k, tell));
    if (title)
        html_element(to, "h2", NULL, "%s", title);
    html_lines(to, "verdict", text);
out:
    free(text);
    return rc;
}

static enum rc tell_answer(const struct recorded *k, FILE *to)
{
    if (!k->is_run)
        return campaign_answer(&k->campaign, to);
    tell_run(k, to);
    return RC_OK;
}

static enum rc write_verdict(const struct recorded *k, FILE *to)
{
    enum rc rc;

    TRY(write_lines(k, "Verdict", tell_answer, to));
    write_alerts(k, to);
out:
    return rc;
}

/* Folded away: a click opens it. */
static enum rc write_comparisons(const struct recorded *k, FILE *to)
{
    enum rc rc;

    if (k->is_run)
        return RC_OK;
    fputs("<details>\n<summary>All comparisons</summary>\n", to);
    TRY(write_lines(k, NULL, tell_campaign, to));
    fputs("</details>\n", to);
out:
    return rc;
}

enum rc page_print(const struct recorded *k, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    enum rc rc;

    TRY(terminal_text_open(&text));
    TRY(tell_answer(k, text.lines));
    TRY(terminal_text_close(&text, to));
    fputc('\n', to);
    TRY(campaign_print(&k->campaign, to));
    if (k->is_run)
        goto out;
    fputc('\n', to);
    TRY(terminal_text_open(&text));
    TRY(tell_campaign(k, text.lines));
    campaign_tell_encryption(&k->campaign, text.lines);
    TRY(terminal_text_close(&text, to));
out:
    if (terminal_text_close(&text, NULL) != RC_OK && rc == RC_OK)
        rc = RC_NOMEM;
    return rc;
}

static enum rc tell_short_marks(const struct recorded *k, FILE *to)
{
    campaign_print_short_marks(&k->campaign, to);
    return RC_OK;
}

enum rc page_print_markdown(const struct recorded *k, FILE *to)
{
    char *answer = NULL, *marks = NULL;
    enum rc rc;

    TRY(lines_of(&answer, k, tell_answer));
    TRY(lines_of(&marks, k, tell_short_marks));
    markdown_lines(to, answer);
    fputc('\n', to);
    TRY(campaign_print_short(&k->campaign, markdown_table, to));
    fputs(marks[0] ? "\n" : "", to);
    markdown_lines(to, marks);
out:
    free(marks);
    free(answer);
    return rc;
}

/* --- tables --- */

static enum rc show_results(const struct table *t, FILE *to)
{
    return html_table(to, t, "What each setting gives");
}

static enum rc show_steps(const struct table *t, FILE *to)
{
    return html_table(to, t, "Where the time of a step goes");
}

/* Was a sentence broken at the end of this line, for a terminal? It is as long as such lines are, with no end of a
 * sentence, and the next one begins as the middle of one does. */
static bool goes_on(const char *line, const char *end)
{
    enum { FULL_LINE = 85 };

    return end - line >= FULL_LINE && !strchr(").", end[-1]) && islower((unsigned char)end[1]);
}

void page_paragraphs(char *text, FILE *to)
{
    for (char *line = text; *line;) {
        char *begin = line, *end = strchr(line, '\n');
        while (goes_on(begin, end)) {
            *end = ' ';
            begin = end + 1;
            end = strchr(begin, '\n');
        }
        *end = '\0';
        fputs("<p class=\"note\">", to);
        html_text(to, line);
        fputs("</p>\n", to);
        line = end + 1;
    }
}

/* The notes of the tables, but for what was disturbed, which has a part of its own. */
static enum rc write_notes(const struct campaign *c, FILE *to)
{
    char *text = NULL, *marks = NULL;
    size_t n_bytes = 0, n_mark_bytes = 0;
    FILE *notes = open_memstream(&text, &n_bytes), *told = open_memstream(&marks, &n_mark_bytes);
    enum rc rc = RC_OK;

    if (notes)
        campaign_print_notes(c, notes);
    if (told)
        campaign_tell_marks(c, told);
    const bool failed = !notes || !told;
    if ((notes && fclose(notes) != 0) || (told && fclose(told) != 0) || failed)
        FAIL(RC_NOMEM, "no memory for notes");
    text[n_bytes - n_mark_bytes] = '\0'; /* they are the last of the notes */
    page_paragraphs(text, to);
out:
    free(text);
    free(marks);
    return rc;
}

static enum rc write_tables(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    enum rc rc;

    html_element(to, "h2", NULL, k->is_run ? "Figures" : "Settings");
    if (c->exchange[0])
        html_element(to, "p", NULL, "Exchange: %s.", c->exchange);
    TRY(campaign_print_results(c, show_results, to));
    TRY(campaign_print_steps(c, show_steps, to));
    TRY(write_notes(c, to));
out:
    return rc;
}

/* The files it was made of, linked where the page lies beside them. */
static void write_end(const struct recorded *k, const char *path, FILE *to)
{
    const char *const names[] = { k->is_run ? k->name : "runs.jsonl", "manifest.json" };
    const size_t n_names = !k->is_run && k->manifest ? 2 : 1;
    const char *slash = strrchr(path, '/'), *dir = slash ? path : ".";
    const size_t n_dir = slash ? (size_t)(slash - path) : 1;
    const bool is_beside = n_dir == strlen(k->campaign.dir) && strncmp(dir, k->campaign.dir, n_dir) == 0;

    fputs("<footer>\n<p>Records: ", to);
    for (size_t i = 0; i < n_names; i++) {
        fputs(i > 0 ? ", " : "", to);
        if (is_beside)
            html_link(to, names[i], names[i]);
        else
            html_text(to, names[i]);
    }
    fputs("</p>\n", to);
    if (!k->is_run && !k->is_sealed)
        html_element(to, "p", NULL, RECORDED_UNSEALED, k->name);
    fputs("<p>A click on a title sorts a table, another turns it round, a third restores its order.</p>\n"
          "</footer>\n",
          to);
}

/* Below the figures. */
static enum rc write_details(const struct recorded *k, FILE *to)
{
    enum rc rc;

    TRY(page_records(k->failures, "Launches that failed", to));
    TRY(page_records(k->losses, "Lost ranks", to));
    TRY(page_records(k->tuning, "Rates tried before", to));
    TRY(page_launches(k, to));
    TRY(page_records(k->ranks, "Ranks", to));
    if (k->is_run)
        TRY(page_object(k->point[0].summary, "Summary", to));
    TRY(page_options(k, to));
    TRY(page_machine(k, to));
out:
    return rc;
}

enum rc page_write(const struct recorded *k, const char *path, FILE *told)
{
    struct html page = { .file = { NULL } };
    enum rc rc;

    TRY(html_open(&page, path, k->name));
    FILE *to = page.file.stream;
    write_about(k, to);
    TRY(write_verdict(k, to));
    TRY(write_comparisons(k, to));
    if (k->is_run)
        TRY(write_tables(k, to));
    TRY(page_charts(k, to, path, CHART_MOST_BYTES, CHARTS_MOST_BYTES, told));
    TRY(page_disturbed(k, to));
    if (!k->is_run) {
        fputs("<details>\n<summary>All tables: settings, launches, options, machine</summary>\n", to);
        TRY(write_tables(k, to));
    }
    TRY(write_details(k, to));
    fputs(k->is_run ? "" : "</details>\n", to);
    write_end(k, path, to);
    TRY(html_commit(&page));
out:
    html_discard(&page);
    return rc;
}

enum rc page_of(const char *source, FILE *to)
{
    char path[PAGE_PATH_BYTES];
    struct recorded k = { .manifest = NULL };
    enum rc rc;

    TRY(recorded_open(&k, source));
    page_path(path, sizeof path, &k, source);
    TRY(page_write(&k, path, to));
    fprintf(to, "page: %s\n", path);
out:
    recorded_close(&k);
    return rc;
}
