/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_report.c - what models would do: the table, what is assumed, and the records. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/record.h"
#include "harness/report/table.h"

enum { MOST_ASSUMPTIONS = 3 }; /* of a prediction, on a terminal */

void simulate_point_cells(struct table *t, const struct simulate *s, const struct simulate_point *p, const char *way,
                          int n_after)
{
    table_cell(t, "%s", s->profiles.profile[p->profile].model);
    table_cell(t, "%s", way);
    table_cell(t, "%d", p->n_gpus);
    p->n_servers > 0 ? table_cell(t, "%d", p->n_servers) : table_cell(t, "-");
    if (!simulate_failure(s, p))
        return;
    table_cell(t, "failed");
    for (int i = 0; i < n_after; i++)
        table_cell(t, "-");
}

static void print_point(struct table *t, const struct simulate *s, const struct simulate_point *p)
{
    enum { N_AFTER = 6 };
    char way[SIMULATE_WAY_BYTES], bottleneck[BOTTLENECK_BYTES];

    simulate_way_name(way, sizeof way, &s->way[p->way]);
    simulate_point_cells(t, s, p, way, N_AFTER);
    if (simulate_failure(s, p))
        return;
    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    table_cell(t, "%.1f %%", 100 * p->efficiency.mean);
    if (!isnan(p->efficiency.high))
        table_cell(t, "%.1f .. %.1f", 100 * p->efficiency.low, 100 * p->efficiency.high);
    else
        table_cell(t, "-");
    table_cell(t, "%.1f", p->images_per_s);
    table_cell(t, "%.4g", 1e3 * p->step_s);
    table_cell(t, "%.4g", p->exposed_s < 1e-6 * p->step_s ? 0 : 1e3 * p->exposed_s);
    table_cell(t, "%.0f %%", 100 * p->exposed_s / p->step_s);
    table_cell(t, "%s", bottleneck);
}

struct table *simulate_table_of(const struct simulate *s, const struct column *column, size_t n_columns,
                                simulate_add_row *add_row)
{
    struct table *t = table_open(column, n_columns);

    for (size_t i = 0; i < s->n_points; i++) {
        if (i > 0 && (s->point[i].profile != s->point[i - 1].profile || s->point[i].way != s->point[i - 1].way))
            table_rule(t);
        add_row(t, s, &s->point[i]);
    }
    return t;
}

struct table *simulate_table(const struct simulate *s)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },
                                            { "mode", ALIGN_LEFT },
                                            { "GPUs", ALIGN_RIGHT },
                                            { "servers", ALIGN_RIGHT },
                                            { "efficiency", ALIGN_RIGHT },
                                            { "band", ALIGN_RIGHT },
                                            { "images/s", ALIGN_RIGHT },
                                            { "step ms", ALIGN_RIGHT },
                                            { "exposed ms", ALIGN_RIGHT },
                                            { "of step", ALIGN_RIGHT },
                                            { "bottleneck, busy for", ALIGN_LEFT } };

    return simulate_table_of(s, column, sizeof column / sizeof *column, print_point);
}

static void print_line(void *to, const char *line)
{
    fprintf(to, "%s\n", line);
}

/* has_exposed: the table above has that column. */
static void print_terms(const struct simulate *s, bool has_exposed, FILE *to)
{
    const struct simulate_terms *t = s->terms;
    char band[SIMULATE_SENTENCE_BYTES];

    simulate_band_text(band, sizeof band, s);
    fprintf(to, "%s\n", band);
    fprintf(to, "efficiency: step time of one GPU alone / step time of all.%s\n",
            has_exposed ? " exposed: the mean part of a step in which a GPU does not compute: exchange that is not "
                          "hidden, its update, and waiting for slower GPUs"
                        : "");
    if (t->cluster_set[0])
        fprintf(to, "values of the description that were set: %s\n", t->cluster_set);
    for (size_t i = 0; i < s->profiles.n; i++)
        fprintf(to, "%s on one GPU: %.1f images/s, batch %d: %s\n", s->profiles.profile[i].model,
                s->profiles.profile[i].images_per_s, s->profiles.profile[i].batch, s->profiles.profile[i].source);
    simulate_exchange_terms(s, print_line, to);
    for (size_t i = 0; i < s->n_clusters; i++)
        used_cluster_print_assumed(&s->cluster[i], to);
}

static enum rc print_what_ifs(const struct simulate *s, FILE *to)
{
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    t = simulate_what_if_table(s, false);
    fputc('\n', to);
    TRY(table_print(t, to));
    fprintf(to, "what if: throughput with the change over that without it; %s\n\n", simulate_what_if_text());
out:
    table_close(&t);
    return rc;
}

static enum rc print_systems(const struct simulate *s, FILE *to)
{
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    t = simulate_systems_table(s, false);
    TRY(table_print(t, to));
    fprintf(to, "systems: %s\n", simulate_systems_text());
    simulate_network_claims(s, print_line, to);
    fputc('\n', to);
out:
    table_close(&t);
    return rc;
}

static enum rc print_assumptions(const struct simulate *s, FILE *to)
{
    char way[SIMULATE_WAY_BYTES];
    struct table *t = NULL;
    bool is_first = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_point *p = &s->point[i];
        if (!simulate_is_explained(s, i) || simulate_failure(s, p))
            continue;
        if (is_first)
            fprintf(to, "assumptions that move a prediction most: %s\n", simulate_assumptions_text());
        is_first = false;
        t = simulate_assumptions_table(s, i, MOST_ASSUMPTIONS);
        simulate_way_name(way, sizeof way, &s->way[p->way]);
        fprintf(to, "%s, %s, %d GPUs\n", s->profiles.profile[p->profile].model, way, p->n_gpus);
        TRY(table_print(t, to));
        table_close(&t);
    }
out:
    table_close(&t);
    return rc;
}

enum rc simulate_print(const struct simulate *s, FILE *to)
{
    struct table *t = simulate_table(s);
    enum rc rc;

    TRY(table_print(t, to));
    TRY(print_what_ifs(s, to));
    TRY(print_systems(s, to));
    TRY(print_assumptions(s, to));
    simulate_crossovers(s, print_line, to);
    print_terms(s, true, to);
    TRY(output_flush(to));
out:
    table_close(&t);
    return rc;
}

/* A table, and sentences about it. */
static enum rc print_explained(struct table **t, const char *what, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    fputc('\n', to);
    TRY(table_print(*t, to));
    table_close(t);
    TRY(terminal_text_open(&text));
    fprintf(text.lines, "%s\n", what);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

enum rc simulate_print_rest(const struct simulate *s, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    struct table *t = NULL;
    char what[SIMULATE_SENTENCE_BYTES];
    enum rc rc = RC_OK;

    if (s->terms->has_what_if) {
        snprintf(what, sizeof what, "what if: throughput with the change over that without it; %s",
                 simulate_what_if_text());
        t = simulate_what_if_table(s, true);
        TRY(print_explained(&t, what, to));
        snprintf(what, sizeof what, "systems: %s", simulate_systems_text());
        t = simulate_systems_table(s, true);
        TRY(print_explained(&t, what, to));
    }
    TRY(terminal_text_open(&text));
    if (s->terms->has_what_if)
        simulate_network_claims(s, print_line, text.lines);
    fputc('\n', text.lines);
    simulate_crossovers(s, print_line, text.lines);
    print_terms(s, false, text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    table_close(&t);
    return rc;
}

/* --- records --- */

static void record_way(struct record *record, const struct simulate *s, const struct simulate_way *w)
{
    const bool has_servers = row_mode_has_servers(w->mode);

    record_text(record, "transport", used_cluster_transport(&s->cluster[w->cluster]));
    record_text(record, "mode", row_mode_name(w->mode));
    record_text(record, "reducer", w->reducer[0] ? w->reducer : NULL);
    record_text(record, "consistency", has_servers ? w->consistency : NULL);
    record_text(record, "placement", has_servers ? w->placement : NULL);
}

static enum rc write_point(struct report *to, const struct simulate *s, const struct simulate_point *p)
{
    const struct simulation *together = &s->simulations.simulation[p->together[0]];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    char bottleneck[BOTTLENECK_BYTES];

    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    struct record *record = report_begin(to, "prediction");
    record_text(record, "model", profile->model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "cluster", s->cluster[0].name);
    record_f64(record, "predicted_ratio", p->efficiency.mean);
    record_f64(record, "predicted_low_ratio", p->efficiency.low);
    record_f64(record, "predicted_high_ratio", p->efficiency.high);
    record_i64(record, "seeds_count", s->n_seeds);
    record_f64(record, "one_gpu_images_per_s", profile->images_per_s);
    record_f64(record, "predicted_images_per_s", p->images_per_s);
    record_f64(record, "step_s", p->step_s);
    record_f64(record, "exposed_s", p->exposed_s);
    record_i64(record, "steps_count", together->n_steps);
    record_i64(record, "batch_count", profile->batch);
    record_text(record, "hot_tensor", together->hot_tensor[0] ? together->hot_tensor : NULL);
    record_f64(record, "imbalance_ratio", together->imbalance_ratio);
    record_text(record, "bottleneck", bottleneck);
    record_f64(record, "bottleneck_ratio", p->bottleneck.ratio);
    record_f64(record, "network_ratio", p->bottleneck.network_ratio);
    record_f64(record, "network_bytes_per_gpu", together->network_bytes / p->n_gpus);
    record_f64(record, "staleness_mean_count", together->staleness_mean_count);
    return report_end(to);
}

/* M4 */
static enum rc write_failed(struct report *to, const struct simulate *s, const struct simulate_point *p)
{
    struct record *record = report_begin(to, "failure");

    record_text(record, "model", s->profiles.profile[p->profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "message", simulate_failure(s, p));
    return report_end(to);
}

static enum rc write_system(struct report *to, const struct simulate *s, size_t profile, int system)
{
    const struct simulate_point *p = &s->point[s->system[profile][system].point];
    const struct simulate_system_figures f = simulate_system_figures_of(s, profile, system);
    struct record *record = report_begin(to, "system");

    record_text(record, "system", simulate_system_name(system));
    record_text(record, "model", s->profiles.profile[profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_f64(record, "predicted_ratio", p->efficiency.mean);
    record_f64(record, "predicted_images_per_s", p->images_per_s);
    record_f64(record, "network_bytes_per_gpu", f.network_bytes_per_gpu);
    record_f64(record, "network_ratio", f.card_ratio);
    record_f64(record, "staleness_mean_count", f.staleness_count);
    record_f64(record, "slow_link_throughput_ratio", f.slow_ratio);
    return report_end(to);
}

static enum rc write_change(struct report *to, const struct simulate *s, const struct simulate_change *c)
{
    static const char *const kind[] = {
        [CHANGE_WHAT_IF] = "what_if", [CHANGE_ASSUMED] = "assumption", [CHANGE_CALIBRATED] = "calibrated"
    };
    const struct simulate_point *p = &s->point[c->point];
    struct record *record = report_begin(to, kind[c->kind]);

    record_text(record, "what",
                c->kind == CHANGE_WHAT_IF ? simulate_what_if_name(s, c->what) : cluster_keys[c->what].name);
    record_text(record, "model", s->profiles.profile[p->profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "setting", c->setting);
    record_f64(record, "throughput_ratio", c->ratio);
    return report_end(to);
}

static enum rc write_cluster(struct report *to, const struct simulate *s, const struct used_cluster *c)
{
    struct record *record = report_begin(to, "cluster");
    enum rc rc;

    TRY(used_cluster_record(record, c));
    record_u64(record, "bucket_bytes", s->terms->bucket_bytes);
    record_text(record, "overlap", s->terms->overlap);
    TRY(report_end(to));
out:
    return rc;
}

enum rc simulate_write(const struct simulate *s, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < s->n_points; i++)
        TRY((simulate_failure(s, &s->point[i]) ? write_failed : write_point)(to, s, &s->point[i]));
    for (size_t i = 0; i < s->profiles.n; i++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++)
            if (s->system[i][system].is_there)
                TRY(write_system(to, s, i, system));
    for (size_t i = 0; i < s->n_changes; i++)
        if (s->change[i].kind != CHANGE_SLOW_LINK) /* that is in the record of its system */
            TRY(write_change(to, s, &s->change[i]));
    for (size_t i = 0; i < s->n_clusters; i++)
        TRY(write_cluster(to, s, &s->cluster[i]));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/* Tables of what changes would do. */

static void print_ratio(struct table *t, const struct simulate_change *c)
{
    c && c->is_possible && !isnan(c->ratio) ? table_cell(t, "%.3f", c->ratio) : table_cell(t, "-");
}

static void print_changed(struct table *t, const struct simulate *s, size_t point, bool is_short)
{
    const struct simulate_point *p = &s->point[point];
    char way[SIMULATE_WAY_BYTES];

    if (is_short)
        simulate_way_short(way, sizeof way, s, &s->way[p->way]);
    else
        simulate_way_name(way, sizeof way, &s->way[p->way]);
    table_cell(t, "%s", s->profiles.profile[p->profile].model);
    table_cell(t, "%s", way);
    table_cell(t, "%d", p->n_gpus);
    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++)
        print_ratio(t, simulate_change_of(s, CHANGE_WHAT_IF, point, what));
}

struct table *simulate_what_if_table(const struct simulate *s, bool is_short)
{
    struct column column[3 + SIMULATE_N_WHAT_IFS] = { { "what if", ALIGN_LEFT },
                                                      { "mode", ALIGN_LEFT },
                                                      { "GPUs", ALIGN_RIGHT } };
    struct table *t = NULL;

    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++)
        column[3 + what] = (struct column){ simulate_what_if_name(s, what), ALIGN_RIGHT };
    t = table_open(column, sizeof column / sizeof *column);
    for (size_t i = 0; i < s->n_points; i++)
        if (simulate_is_changed(s, i) && !simulate_failure(s, &s->point[i]) && s->way[s->point[i].way].mode != ROW_NONE)
            print_changed(t, s, i, is_short);
    return t;
}
