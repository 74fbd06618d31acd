/* SPDX-License-Identifier: Apache-2.0 */
/* report_verb.c - gradmark report: a campaign, a run or an acceptance test as a page to look at. */
#include <stdio.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/base/file.h"
#include "harness/base/opt.h"
#include "harness/campaign/page.h"
#include "harness/verbs/verb.h"

struct report_opts {
    const char *out, *format;
};

static const struct opt table[] = {
    OPT_FILE_(struct report_opts, out, "out", OPT_WRITTEN, "", "FILE.html",
              "file for the page (default: FOLDER/report.html or FILE.html)"),
    OPT_CHOICE_(struct report_opts, format, "format", "html", "html|text|csv|markdown",
                "form of the report. With html it is a page. The others print it: text has all tables and comparisons, "
                "markdown the answer and a table. csv has a row for each setting, units in the titles and all digits"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "report", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static bool is_format(const struct report_opts *o, const char *format)
{
    return strcmp(o->format, format) == 0;
}

static enum rc report_check(const struct verb_call *call)
{
    const struct report_opts *o = call->opts;

    if (call->output.json && verb_given(call, "format"))
        return rc_raise(RC_INVAL, "--json: --format %s is given too; give one of them", o->format);
    if (!is_format(o, "html") && o->out[0])
        return rc_raise(RC_INVAL,
                        "--out %s: is for the page, and --format %s writes none; leave out --out, and add > %s", o->out,
                        o->format, o->out);
    if (call->output.json && o->out[0])
        return rc_raise(RC_INVAL, "--out %s: is for the page, and --json writes none; leave out --out, and add > %s",
                        o->out, o->out);
    return RC_OK;
}

/* path is that of --out where it is given. */
static enum rc check_page(const char *path, const char *out)
{
    const enum rc rc = file_check_writable(path);

    return out[0] ? file_of_option(rc, "out") : rc;
}

static bool writes_page(const struct report_opts *o)
{
    return is_format(o, "html");
}

static enum rc print_acceptance(const struct acceptance *a, const struct report_opts *o)
{
    return is_format(o, "csv")        ? acceptance_print_csv(a, stdout)
           : is_format(o, "markdown") ? acceptance_print_markdown(a, stdout)
                                      : acceptance_print(a, stdout);
}

/* Of a folder of gradmark accept. */
static enum rc report_acceptance(struct verb_call *call, const struct report_opts *o)
{
    const char *dir = call->operand[0], *out = o->out;
    struct acceptance a = { .n_nodes = 0 };
    char path[PAGE_PATH_BYTES];
    size_t n = strlen(dir);
    enum rc rc;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    snprintf(path, sizeof path, "%.*s/report.html", (int)n, dir);
    TRY(acceptance_read(&a, dir));
    if (writes_page(o) && !call->output.json)
        TRY(check_page(out[0] ? out : path, out));
    call->stage = STAGE_RUN;
    if (call->output.json) {
        TRY(verb_copy_records(dir));
        goto out;
    }
    if (writes_page(o))
        TRY(acceptance_page(&a, out[0] ? out : path));
    TRY(print_acceptance(&a, o));
    if (writes_page(o))
        printf("page: %s\n", out[0] ? out : path);
    TRY(output_flush(stdout));
out:
    acceptance_close(&a);
    return rc;
}

static enum rc print_recorded(const struct recorded *k, const struct report_opts *o)
{
    recorded_tell_unsealed(k, is_format(o, "text") ? stdout : stderr); /* the others are one document */
    return is_format(o, "csv")        ? campaign_print_csv(&k->campaign, stdout)
           : is_format(o, "markdown") ? page_print_markdown(k, stdout)
                                      : page_print(k, stdout);
}

static enum rc report_run(struct verb_call *call)
{
    const struct report_opts *o = call->opts;
    char path[PAGE_PATH_BYTES];
    struct recorded k = { .manifest = NULL };
    enum rc rc;

    if (strlen(call->operand[0]) + sizeof "/report.html" > sizeof path || strlen(o->out) >= sizeof path)
        return rc_raise(RC_INVAL, "%.64s...: too long a name", o->out[0] ? o->out : call->operand[0]);
    if (acceptance_is_bundle(call->operand[0]))
        return report_acceptance(call, o);
    TRY(recorded_open(&k, call->operand[0]));
    if (o->out[0])
        snprintf(path, sizeof path, "%s", o->out);
    else
        page_path(path, sizeof path, &k, call->operand[0]);
    if (writes_page(o) && !call->output.json)
        TRY(check_page(path, o->out));
    call->stage = STAGE_RUN;
    if (call->output.json) {
        recorded_tell_unsealed(&k, stderr);
        TRY(verb_copy_records(call->operand[0]));
        goto out;
    }
    if (!writes_page(o)) {
        TRY(print_recorded(&k, o));
    } else {
        recorded_tell_unsealed(&k, stdout);
        TRY(page_write(&k, path, stdout));
        printf("page: %s\n", path);
    }
    TRY(output_flush(stdout));
out:
    recorded_close(&k);
    return rc;
}

static const struct verb_example examples[] = {
    { "report results/first", "Write the page of a folder of gradmark compare" },
    { "report results/first --format text", "Print all its tables and comparisons instead" },
    { "report run.jsonl --out run.html", "Write the page of a file of gradmark train --out" },
    { NULL, NULL },
};

const struct verb verb_report = {
    .name = "report",
    .summary = "write an HTML page of a comparison, a run or a test",
    .operands = "FOLDER|FILE",
    .usage = "FOLDER|FILE [--option value ...]",
    .introduction = "Writes a page with verdicts, tables, charts, options and the machine. The page is one file, and "
                    "loads nothing from a network. FOLDER is a folder of gradmark compare or gradmark accept. FILE is "
                    "a file of gradmark train --out.",
    .example = examples,
    .page = "compare",
    .is_one_process = true,
    .has_records = true,
    .opts_bytes = sizeof(struct report_opts),
    .group = groups,
    .check = report_check,
    .run = report_run,
};
