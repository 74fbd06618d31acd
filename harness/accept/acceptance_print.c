/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_print.c - what a terminal shows: the verdict first. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/report_tables.h"
#include "harness/accept/report_words.h"
#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/report/markdown.h"

enum { MOST_FINDINGS = 40 };

/* A list under a heading, where there are lines. */
static enum rc print_list(const struct acceptance *a, const char *heading,
                          void (*print)(const struct acceptance *a, FILE *to), FILE *to)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *lines = open_memstream(&text, &n_bytes);
    enum rc rc = RC_OK;

    if (!lines)
        return rc_raise(RC_NOMEM, "no memory for a verdict");
    print(a, lines);
    if (fclose(lines) != 0)
        FAIL(RC_NOMEM, "no memory for a verdict");
    if (n_bytes > 0)
        fprintf(to, "\n%s:\n", heading);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        fprintf(to, "  %.*s\n", (int)strcspn(line, "\n"), line);
out:
    free(text);
    return rc;
}

static void print_failures(const struct acceptance *a, FILE *to)
{
    failures_print(a, MOST_FINDINGS, to);
}

/* Where they were measured, with the file that has the best. */
static enum rc print_rank_orders(const struct acceptance *a, FILE *to)
{
    const int best = acceptance_best_rank_order(a);
    struct table *t = NULL;

    if (best < 0)
        return RC_OK;
    t = short_rank_orders_table(a);
    fprintf(to, "\nAllreduce of %zu bytes by order of ranks; rank_order.hosts has %s:\n", a->rank_order[best].n_bytes,
            accept_rank_order_name(best));
    return table_finish(t, to);
}

/* What is below the tables: what failed and why, what to do, what was not judged. */
static enum rc print_reasons(const struct acceptance *a, FILE *to)
{
    enum rc rc;

    TRY(print_list(a, "Failed", print_failures, to));
    TRY(print_list(a, "Next steps", remedies_print, to));
    TRY(print_list(a, "Not judged, or in part", silent_print, to));
out:
    return rc;
}

enum rc acceptance_print(const struct acceptance *a, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    struct table *t = NULL;
    enum rc rc;

    TRY(terminal_text_open(&text));
    FILE *first = terminal_columns(to) > 0 ? text.lines : to; /* one line, if programs may read `head -n 1` */
    verdict_print(a, first);
    fputc('\n', first);
    verdict_print_notes(a, text.lines);
    TRY(terminal_text_close(&text, to));
    t = short_criteria_table(a);
    TRY(table_check(t));
    if (table_n_rows(t) > 0) {
        fputc('\n', to);
        TRY(table_print(t, to));
    }
    TRY(print_rank_orders(a, to));
    TRY(terminal_text_open(&text));
    TRY(print_reasons(a, text.lines));
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    if (terminal_text_close(&text, NULL) != RC_OK && rc == RC_OK)
        rc = RC_NOMEM;
    table_close(&t);
    return rc;
}

static enum rc print_verdict(const struct acceptance *a, FILE *to)
{
    verdict_print(a, to);
    fputc('\n', to);
    verdict_print_notes(a, to);
    return RC_OK;
}

/* What print() writes, as Markdown. */
static enum rc print_as_markdown(const struct acceptance *a, enum rc (*print)(const struct acceptance *a, FILE *to),
                                 FILE *to)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *lines = open_memstream(&text, &n_bytes);
    enum rc rc;

    if (!lines)
        return rc_raise(RC_NOMEM, "no memory for a verdict");
    rc = print(a, lines);
    if (fclose(lines) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for a verdict");
    if (rc == RC_OK)
        markdown_lines(to, text);
    free(text);
    return rc;
}

enum rc acceptance_print_markdown(const struct acceptance *a, FILE *to)
{
    struct table *t = NULL;
    enum rc rc;

    TRY(print_as_markdown(a, print_verdict, to));
    t = criteria_table(a, false);
    fputc('\n', to);
    TRY(markdown_table(t, to));
    fputc('\n', to);
    TRY(print_as_markdown(a, print_reasons, to));
    TRY(output_flush(to));
out:
    table_close(&t);
    return rc;
}

static void number_cell(struct table *t, double value)
{
    isfinite(value) ? table_cell(t, "%.17g", value) : table_cell(t, "%s", "");
}

/* Named as in a record of kind "criterion". */
static void add_criterion(struct table *t, const struct criterion *c)
{
    char name[ACCEPT_NAME_BYTES], why[ACCEPT_TEXT_BYTES];

    line_text(name, sizeof name, c->name);
    line_text(why, sizeof why, c->text);
    table_cell(t, "%s", accept_stage_name(c->stage));
    table_cell(t, "%s", name);
    table_cell(t, "%s", accept_outcome_name(c->outcome));
    number_cell(t, c->measured);
    number_cell(t, c->low);
    number_cell(t, c->high);
    number_cell(t, c->limit);
    table_cell(t, "%s", c->at_least ? "true" : "false");
    table_cell(t, "%s", c->unit);
    table_cell(t, "%d", c->n_samples);
    table_cell(t, "%s", why);
}

enum rc acceptance_print_csv(const struct acceptance *a, FILE *to)
{
    static const struct column column[] = {
        { "stage", ALIGN_LEFT },          { "name", ALIGN_LEFT },     { "outcome", ALIGN_LEFT },
        { "measured", ALIGN_RIGHT },      { "low", ALIGN_RIGHT },     { "high", ALIGN_RIGHT },
        { "limit", ALIGN_RIGHT },         { "at_least", ALIGN_LEFT }, { "unit", ALIGN_LEFT },
        { "samples_count", ALIGN_RIGHT }, { "text", ALIGN_LEFT },
    };
    struct table *t = table_open(column, sizeof column / sizeof *column);
    enum rc rc;

    for (int i = 0; i < a->n_criteria; i++)
        if (!criterion_is_of_skipped(a, &a->criterion[i]))
            add_criterion(t, &a->criterion[i]);
    TRY(table_print_csv(t, to));
    TRY(output_flush(to));
out:
    table_close(&t);
    return rc;
}

/* One word: what is neither a letter nor a digit, nor one of the others, is an underscore. */
static void word_of(char *out, size_t n_bytes, const char *text, const char *others)
{
    size_t n = 0;

    for (; *text && n + 1 < n_bytes; text++)
        out[n++] = isalnum((unsigned char)*text) || strchr(others, *text) ? *text : '_';
    out[n] = '\0';
}

enum rc acceptance_print_figures(const struct acceptance *a, FILE *to)
{
    char name[ACCEPT_NAME_BYTES], unit[ACCEPT_NAME_BYTES];

    for (int i = 0; i < a->n_criteria; i++) {
        const struct criterion *c = &a->criterion[i];
        if (!isfinite(c->measured))
            continue;
        word_of(name, sizeof name, c->name, "");
        word_of(unit, sizeof unit, c->unit[0] ? c->unit : "1", "/");
        fprintf(to, "accept: %s %.9g %s\n", name, c->measured, unit);
    }
    fprintf(to, "accept: verdict %s\n", accept_outcome_name(a->outcome));
    return output_flush(to);
}
