/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_junit.c - junit.xml: a suite for each stage, a case for each criterion, as continuous integration reads
 * it.
 *
 * It holds to the schema by which Jenkins' xUnit plugin checks files (junit-10.xsd): times have at most three decimals,
 * testsuites has no attribute skipped, and a testcase has no properties: its figures are its output, one on each line.
 *
 * FAIL is a failure, NO DATA an error, SKIPPED skipped. A stage whose outcome none of its criteria has, as it ended
 * before it had any, has a case of its own: what the suites say is what the stages are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/bundle_parts.h"
#include "harness/accept/report_words.h"
#include "harness/base/file.h"
#include "harness/report/xml.h"

struct counts {
    int n[N_OUTCOMES];
};

/* Does the stage need a case beside its criteria? */
static bool has_own_case(const struct acceptance *a, enum accept_stage stage)
{
    int n = 0;

    for (int i = 0; i < a->n_criteria; i++) {
        n += a->criterion[i].stage == stage;
        if (a->criterion[i].stage == stage && a->criterion[i].outcome == a->stage[stage].outcome)
            return false;
    }
    return n == 0 || a->stage[stage].outcome != OUTCOME_PASS;
}

static struct counts counts_of(const struct acceptance *a, enum accept_stage stage)
{
    struct counts c = { { 0 } };

    for (int i = 0; i < a->n_criteria; i++)
        if (a->criterion[i].stage == stage)
            c.n[a->criterion[i].outcome]++;
    c.n[a->stage[stage].outcome] += has_own_case(a, stage);
    return c;
}

static void write_counts(const struct counts *c, FILE *to)
{
    const int *n = c->n;

    fprintf(to, " tests=\"%d\" failures=\"%d\" errors=\"%d\"",
            n[OUTCOME_PASS] + n[OUTCOME_FAIL] + n[OUTCOME_NO_DATA] + n[OUTCOME_SKIPPED] + n[OUTCOME_NO_LIMIT],
            n[OUTCOME_FAIL], n[OUTCOME_NO_DATA]);
}

static void write_time(double took_s, FILE *to)
{
    fprintf(to, " time=\"%.3f\"", took_s > 0 ? took_s : 0.0);
}

static void write_property(const char *name, const char *value, FILE *to)
{
    fputs("<property", to);
    xml_attribute(to, "name", name);
    xml_attribute(to, "value", value);
    fputs("/>\n", to);
}

static void write_number_property(const char *name, double value, FILE *to)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", value);
    write_property(name, text, to);
}

/* A line of output. NaN: none. */
static void write_figure(const char *name, double value, FILE *to)
{
    if (!isnan(value))
        fprintf(to, "%s: %.17g\n", name, value);
}

/* What went wrong: text under the tag that a reader knows. */
static void write_outcome(enum accept_outcome outcome, const char *message, const char *more, FILE *to)
{
    static const char *const tag[] = { NULL, "failure", "error", "skipped" };

    if (outcome == OUTCOME_PASS || outcome == OUTCOME_NO_LIMIT)
        return;
    fprintf(to, "<%s", tag[outcome]);
    xml_attribute(to, "message", message[0] ? message : accept_outcome_name(outcome));
    if (outcome != OUTCOME_SKIPPED)
        xml_attribute(to, "type", accept_outcome_name(outcome));
    fputc('>', to);
    xml_text(to, more);
    fprintf(to, "</%s>\n", tag[outcome]);
}

static void open_case(enum accept_stage stage, const char *name, FILE *to)
{
    fprintf(to, "<testcase classname=\"gradmark.accept.%s\"", accept_stage_name(stage));
    xml_attribute(to, "name", name);
    fputs(" time=\"0\">\n", to);
}

static void write_criterion(const struct criterion *c, FILE *to)
{
    char more[512], measured[QUANTITY_BYTES], limit[QUANTITY_BYTES + 16];

    quantity_text(measured, sizeof measured, c->measured, c->unit);
    limit_text(limit, sizeof limit, c);
    snprintf(more, sizeof more, "measured %s, limit %s\n%s", measured, limit, c->text);
    open_case(c->stage, c->name, to);
    write_outcome(c->outcome, c->text, more, to);
    fputs("<system-out>", to);
    write_figure("measured", c->measured, to);
    write_figure("low", c->low, to);
    write_figure("high", c->high, to);
    write_figure(c->at_least ? "least" : "most", c->limit, to);
    if (c->unit[0]) {
        fputs("unit: ", to);
        xml_text(to, c->unit);
        fputc('\n', to);
    }
    write_figure("samples", c->n_samples, to);
    fputs("</system-out>\n", to);
    fputs("</testcase>\n", to);
}

/* The findings of a stage as what its suite printed. */
static void write_findings(const struct acceptance *a, enum accept_stage stage, FILE *findings)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].stage == stage) {
            finding_print(a, &a->finding[i], findings);
            fputc('\n', findings);
        }
}

static enum rc write_output(const struct acceptance *a, enum accept_stage stage, FILE *to)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *findings = open_memstream(&text, &n_bytes);
    enum rc rc = RC_OK;

    if (!findings)
        return rc_raise(RC_NOMEM, "no memory for findings");
    write_findings(a, stage, findings);
    if (fclose(findings) != 0)
        FAIL(RC_NOMEM, "no memory for findings");
    if (n_bytes > 0) {
        fputs("<system-out>", to);
        xml_text(to, text);
        fputs("</system-out>\n", to);
    }
out:
    free(text);
    return rc;
}

static enum rc write_suite(const struct acceptance *a, enum accept_stage stage, FILE *to)
{
    const struct stage_state *s = &a->stage[stage];
    const struct counts c = counts_of(a, stage);
    enum rc rc;

    fprintf(to, "<testsuite name=\"%s\"", accept_stage_name(stage));
    write_counts(&c, to);
    fprintf(to, " skipped=\"%d\"", c.n[OUTCOME_SKIPPED]);
    write_time(s->took_s, to);
    fputs(">\n<properties>\n", to);
    write_property("outcome", accept_outcome_name(s->outcome), to);
    write_property("cluster", a->cluster_name, to);
    write_property("world", a->world, to);
    write_property("transport", a->transport, to);
    write_property("compute", a->compute, to);
    write_number_property("nodes", a->n_nodes, to);
    write_number_property("ranks", a->n_ranks, to);
    if (a->injected[0])
        write_property("injected", a->injected, to);
    fputs("</properties>\n", to);
    for (int i = 0; i < a->n_criteria; i++)
        if (a->criterion[i].stage == stage)
            write_criterion(&a->criterion[i], to);
    if (has_own_case(a, stage)) {
        open_case(stage, "the stage", to);
        write_outcome(s->outcome, s->why, s->why, to);
        fputs("</testcase>\n", to);
    }
    TRY(write_output(a, stage, to));
    fputs("</testsuite>\n", to);
out:
    return rc;
}

enum rc acceptance_junit(const struct acceptance *a, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    struct counts all = { { 0 } };
    double took_s = 0;
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        const struct counts c = counts_of(a, (enum accept_stage)s);
        for (int i = 0; i < N_OUTCOMES; i++)
            all.n[i] += c.n[i];
        took_s += a->stage[s].took_s > 0 ? a->stage[s].took_s : 0;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gradmark accept\"", file.stream);
    write_counts(&all, file.stream);
    write_time(took_s, file.stream);
    fputs(">\n", file.stream);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        TRY(write_suite(a, (enum accept_stage)s, file.stream));
    fputs("</testsuites>\n", file.stream);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}
