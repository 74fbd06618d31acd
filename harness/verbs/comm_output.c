/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_output.c - how gradmark comm prints its results, for all its types: a table, records, a chart; see
 * comm_output.h.
 */
#include "harness/verbs/comm_output.h"

#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/report/chart.h"
#include "harness/report/manifest.h"
#include "harness/verbs/comm_formats.h"
#include "harness/verbs/comm_opts.h"

enum { DATA_PATH_BYTES = 2 * CHART_PATH_BYTES + 8 };

struct comm_where comm_where_of(const struct machine *m, size_t cache_bytes)
{
    return (struct comm_where){ m->world->module.name, m->transport->module.name, m->compute->module.name,
                                m->compute->device_kind, cache_bytes };
}

/* A comment: what the answer does not hold for. A signal in the last size leaves out no size, but repeats. */
static void print_missing(const struct comm_output *out, FILE *to)
{
    const int n_done = out->n_sizes_done;
    char why[RC_MESSAGE_BYTES], line[RC_MESSAGE_BYTES + 64];

    if (!out->end->why[0])
        return;
    snprintf(why, sizeof why, "--budget-s %g was too short", out->plan->budget_s);
    if (n_done == out->plan->n_sizes)
        snprintf(line, sizeof line, "The last size was %s: it may have fewer repeats", out->end->why);
    else
        snprintf(line, sizeof line, "Only %d of %d sizes %s measured: %s", n_done, out->plan->n_sizes,
                 n_done == 1 ? "was" : "were", out->end->stop_signal ? out->end->why : why);
    terminal_comment(to, line);
}

static enum rc print(const struct comm_output *out, const struct verb_call *call)
{
    enum rc rc = RC_OK;

    if (verb_prints_csv(call)) {
        print_missing(out, stderr);
        TRY(out->print_table(stdout, out->about));
    } else if (comm_is_osu(call)) {
        out->print_osu(stdout, out->about); /* its first comment is the title */
        print_missing(out, stdout);
    } else {
        out->print_answer(stdout, out->about);
        print_missing(out, stdout);
        out->print(stdout, out->about);
    }
    TRY(output_flush(stdout));
out:
    return rc;
}

/* --- records --- */

static struct record *options_of(const struct verb_call *call)
{
    struct record *r = record_open("options");

    for (int i = 0; i < call->n_groups; i++) {
        const struct opt_group *group = &call->group[i];
        if (group->module)
            record_module_options(r, group->module, group->into);
        else
            record_options(r, group->table, group->into);
    }
    return r;
}

static struct record *manifest_of(const struct comm_output *out, const struct verb_call *call)
{
    struct record *r = record_open("manifest"), *options = options_of(call);

    record_text(r, "verb", "comm");
    record_text(r, "type", call->operand[0]);
    record_child(r, "options", &options);
    record_i64(r, "ranks_count", out->n_ranks);
    record_i64(r, "hosts_count", out->n_hosts);
    record_u64(r, "last_level_cache_bytes", out->where->cache_bytes);
    record_u64(r, "rotated_host_bytes", out->rotated_host_bytes);
    if (out->record_own)
        out->record_own(r, out->about);
    record_text(r, "ended", out->end->why[0] ? out->end->why : NULL);
    manifest_fill(r, out->is_virtual);
    return r;
}

static enum rc write_records(const struct comm_output *out, const struct record *manifest, const char *path)
{
    struct report *report = NULL;
    enum rc rc;

    TRY(report_open(&report, path));
    TRY(report_write(report, manifest));
    for (int i = 0; i < out->n_records; i++)
        TRY(out->write(report, out->about, i));
    TRY(report_commit(report));
out:
    report_close(&report);
    return rc;
}

/* --- the chart --- */

enum rc comm_check_chart(const char *path)
{
    char dir[CHART_PATH_BYTES], name[CHART_PATH_BYTES];

    if (!chart_split_path(path, dir, name))
        return rc_raise(RC_INVAL, "--chart %.200s: use a name that ends in .png or .svg", path);
    if (access(dir, W_OK | X_OK) != 0)
        return rc_raise(RC_INVAL, "--chart %.200s: the folder cannot be written", path);
    if (!chart_available())
        return rc_raise(RC_UNSUPPORTED, "--chart %.200s: needs gnuplot, which cannot be started (Debian: gnuplot-nox)",
                        path);
    return RC_OK;
}

static enum rc write_points(const struct comm_output *out, const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("line\tkind\tbytes\tgb_per_s\tlow\thigh\n", file.stream);
    for (int i = 0; i < out->n_records; i++) {
        const struct comm_point p = out->point(out->about, i);
        const double gb = 1e-9 * p.n_moved_bytes;
        fprintf(file.stream, "%s\t%s\t%zu\t%.9g\t%.9g\t%.9g\n", p.line, p.is_ceiling ? "ceiling" : "measured",
                p.n_bytes, gb / p.time_s, gb / p.high_s, gb / p.low_s);
    }
out:
    return atomic_file_finish(&file, rc);
}

/* path: as it was checked. */
static enum rc draw(const struct comm_output *out, const char *path)
{
    char dir[CHART_PATH_BYTES], name[CHART_PATH_BYTES], data[DATA_PATH_BYTES], machine[256], cpu[128] = "";
    enum rc rc;

    if (!chart_split_path(path, dir, name))
        FAIL(RC_INVAL, "--chart %.200s: use a name that ends in .png or .svg", path);
    snprintf(data, sizeof data, "%s/%s.tsv", dir, name);
    TRY(write_points(out, data));
    if (!out->is_virtual)
        manifest_cpu_model(cpu, sizeof cpu);
    snprintf(machine, sizeof machine, "%s, world %s, transport %s, %s%s%s", out->ranks, out->where->world,
             out->where->transport,
             out->is_virtual           ? "virtual time"
             : out->rotated_bytes == 0 ? "hot memory"
                                       : "rotated memory",
             cpu[0] ? ", " : "", cpu);
    const struct chart_var var[] = {
        { "model", out->model }, { "machine", machine }, { "what", out->what }, { "ceiling_text", out->ceiling_text }
    };
    TRY(chart_draw("busbw", data, dir, name, var, out->what ? 4 : 2));
out:
    return rc;
}

enum rc comm_output_report(const struct comm_output *out, struct verb_call *call)
{
    const struct comm_opts *o = call->opts;
    struct record *manifest = NULL;
    enum rc rc;

    TRY(print(out, call));
    manifest = manifest_of(out, call);
    if (o->records[0])
        TRY(write_records(out, manifest, o->records));
    if (call->output.json)
        TRY(write_records(out, manifest, "-"));
    if (o->chart[0])
        TRY(draw(out, o->chart));
    if (out->end->stop_signal)
        call->exit_code = VERB_STOPPED + out->end->stop_signal;
    if (out->n_wrong > 0)
        FAIL(RC_MISMATCH, "%llu elements are wrong; which rows have them: #wrong", (unsigned long long)out->n_wrong);
out:
    record_close(&manifest);
    return rc;
}
