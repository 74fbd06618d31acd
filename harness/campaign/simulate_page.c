/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_page.c - predictions as one page: the table, each model's charts, what was measured, given and assumed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/table.h"

static enum rc write_model(FILE *to, const struct simulate *s, size_t profile)
{
    const struct used_profile *p = &s->profiles.profile[profile];
    char name[SIMULATE_CHART_BYTES], cluster[USED_CLUSTER_TITLE_BYTES];
    enum rc rc;

    simulate_chart_name(name, sizeof name, s, profile);
    used_cluster_title(cluster, sizeof cluster, &s->cluster[0]);
    html_element(to, "h2", NULL, "%s on %s", p->model, cluster);
    TRY(prediction_chart_write(to, s->folder, name));
    html_element(to, "p", NULL, "Given: what one GPU computes, %.1f images/s with batches of %d: %s", p->images_per_s,
                 p->batch, p->source);
out:
    return rc;
}

/* What the terminal shows first. */
static enum rc write_answer(FILE *to, const struct simulate *s)
{
    char *text = NULL, *rest, *line;
    size_t n_bytes = 0;
    FILE *lines = open_memstream(&text, &n_bytes);

    if (!lines)
        return rc_raise(RC_NOMEM, "no memory for the answer");
    simulate_tell_answer(s, lines);
    if (fclose(lines) != 0) {
        free(text);
        return rc_raise(RC_NOMEM, "no memory for the answer");
    }
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        html_element(to, "p", NULL, "%s", line + strspn(line, " "));
    free(text);
    return RC_OK;
}

static void write_line(void *to, const char *line)
{
    html_element(to, "p", NULL, "%s.", line);
}

static enum rc write_what_ifs(FILE *to, const struct simulate *s)
{
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    t = simulate_what_if_table(s, false);
    html_element(to, "h2", NULL, "What if");
    html_element(to, "p", NULL, "Throughput with the change over that without it; %s.", simulate_what_if_text());
    TRY(html_table(to, t, "ratios of throughput"));
out:
    table_close(&t);
    return rc;
}

static enum rc write_systems(FILE *to, const struct simulate *s)
{
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    t = simulate_systems_table(s, false);
    html_element(to, "h2", NULL, "The systems in one table");
    html_element(to, "p", NULL, "On the same cluster. %s.", simulate_systems_text());
    TRY(html_table(to, t, "systems"));
    simulate_network_claims(s, write_line, to);
out:
    table_close(&t);
    return rc;
}

struct crossover_section {
    FILE *to;
    bool has_begun;
};

/* A line of the section; the first begins it: of one way alone there is none. */
static void write_crossover(void *arg, const char *line)
{
    struct crossover_section *section = arg;

    if (!section->has_begun) {
        html_element(section->to, "h2", NULL, "Where ring and parameter server cross over");
        html_element(
            section->to, "p", NULL,
            "A crossover is a number of GPUs. Between two simulated numbers it is estimated: the ratio of both rates "
            "is assumed to follow a power of the number of GPUs.");
        section->has_begun = true;
    }
    write_line(section->to, line);
}

enum rc simulate_page(const struct simulate *s, const char *path)
{
    struct html page = { .file.stream = NULL };
    struct crossover_section crossovers = { .to = NULL };
    char cluster[USED_CLUSTER_TITLE_BYTES], title[sizeof cluster + 32];
    char band[SIMULATE_SENTENCE_BYTES];
    struct table *t = NULL;
    FILE *to;
    enum rc rc;

    used_cluster_title(cluster, sizeof cluster, &s->cluster[0]);
    snprintf(title, sizeof title, "simulated on %s", cluster);
    t = simulate_table(s);
    TRY(html_open(&page, path, title));
    to = crossovers.to = page.file.stream;
    TRY(write_answer(to, s));
    html_element(to, "p", NULL,
                 "What models would do on a described cluster, simulated by gradmark's own collectives, servers and "
                 "training loop. Efficiency: the time of a step of one GPU alone over that of all. Exposed: time of a "
                 "step in which a GPU waits for the exchange.");
    simulate_band_text(band, sizeof band, s);
    html_element(to, "p", NULL, "%s%s", band, band[0] && band[strlen(band) - 1] == '.' ? "" : ".");
    TRY(html_table(to, t, "predictions"));
    simulate_exchange_terms(s, write_line, to);
    simulate_crossovers(s, write_crossover, &crossovers);
    TRY(write_what_ifs(to, s));
    TRY(write_systems(to, s));
    for (size_t i = 0; i < s->profiles.n; i++)
        TRY(write_model(to, s, i));
    html_element(to, "h2", NULL, "What the predictions stand on");
    simulate_explain_clusters(to, s);
    TRY(simulate_explain(to, s));
    TRY(html_commit(&page));
out:
    html_discard(&page);
    table_close(&t);
    return rc;
}

/*
 * For each model images/s and efficiency against GPUs, a line for each way to exchange. The table
 * that is drawn stays beside the pictures.
 */

void simulate_chart_name(char *out, size_t n_bytes, const struct simulate *s, size_t profile)
{
    char name[ROW_CLUSTER_BYTES];

    used_cluster_short_name(name, sizeof name, &s->cluster[0]);
    snprintf(out, n_bytes, "%s-%s", s->profiles.profile[profile].model, name);
}

/* NaN: there is no band. */
static void write_band(FILE *to, const struct simulate_point *p)
{
    const double images_per_ratio = p->images_per_s / p->efficiency.mean;

    fprintf(to, "\t%.17g\t%.17g\t%.17g\t%.17g\n", p->efficiency.low, p->efficiency.high,
            p->efficiency.low * images_per_ratio, p->efficiency.high * images_per_ratio);
}

static enum rc write_table(const struct simulate *s, size_t profile, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    char way[SIMULATE_WAY_BYTES];
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("line\tkind\tgpus\tefficiency\timages_per_s\tefficiency_low\tefficiency_high\timages_low_per_s\t"
          "images_high_per_s\n",
          file.stream);
    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_point *p = &s->point[i];
        if (p->profile != profile || simulate_failure(s, p))
            continue;
        simulate_way_name(way, sizeof way, &s->way[p->way]);
        fprintf(file.stream, "%s\tpredicted\t%d\t%.17g\t%.17g", way, p->n_gpus, p->efficiency.mean, p->images_per_s);
        write_band(file.stream, p);
    }
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc simulate_draw(const struct simulate *s, FILE *to)
{
    char name[SIMULATE_CHART_BYTES], path[USED_PROFILE_PATH_BYTES + SIMULATE_CHART_BYTES + 16];
    bool is_drawn = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->profiles.n; i++) {
        const struct prediction_chart chart = { .folder = s->folder,
                                                .name = name,
                                                .model = s->profiles.profile[i].model,
                                                .cluster = &s->cluster[0],
                                                .of_table = "published",
                                                .has_band = simulate_has_bands(s) };
        simulate_chart_name(name, sizeof name, s, i);
        snprintf(path, sizeof path, "%s/%s.tsv", s->folder, name);
        write_table(s, i, path);
        TRY(prediction_chart_draw(&chart, path, &is_drawn));
    }
    if (!is_drawn)
        fprintf(to, "gradmark simulate: gnuplot cannot be started: the tables are written, no pictures\n");
out:
    return rc;
}

/* Of a prediction on a page: what was measured, what given, what assumed, and what of it counts.
 */

/* The values of one kind of source that are of any effect; a list, or that there are none. */
static void write_values(FILE *to, const struct used_cluster *c, const char *source, const char *title)
{
    char value[64];
    int n = 0;

    for (int key = 0; key < CLUSTER_N_KEYS; key++) {
        if (cluster_keys[key].type == KEY_TEXT || strcmp(used_cluster_source_name(c, key), source) != 0 ||
            !cluster_key_matters(&c->cluster, key))
            continue;
        if (n++ == 0) {
            html_element(to, "p", NULL, "%s", title);
            fputs("<ul>\n", to);
        }
        cluster_key_format(&c->cluster, key, value, sizeof value);
        html_element(to, "li", NULL, "%s = %s: %s", cluster_keys[key].name, value,
                     c->sources->text[key][0] ? c->sources->text[key] : "as the description has it, without a source");
    }
    if (n > 0)
        fputs("</ul>\n", to);
    else
        html_element(to, "p", NULL, "%s nothing.", title);
}

void simulate_explain_clusters(FILE *to, const struct simulate *s)
{
    if (s->terms->cluster_set[0])
        html_element(to, "p", NULL, "Set by --cluster-set, in place of what the descriptions have: %s",
                     s->terms->cluster_set);
    for (size_t i = 0; i < s->n_clusters; i++) {
        const struct used_cluster *c = &s->cluster[i];
        html_element(to, "h3", NULL, "%s%s%s", c->name, c->transport[0] ? ", servers by " : "", c->transport);
        write_values(to, c, "measured", "Measured:");
        write_values(to, c, "given", "Given:");
        write_values(to, c, "assumed", "Assumed:");
    }
}

static enum rc explain(FILE *to, const struct simulate *s, size_t point)
{
    const struct simulate_point *p = &s->point[point];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    char way[SIMULATE_WAY_BYTES], bottleneck[BOTTLENECK_BYTES];
    struct table *t = simulate_assumptions_table(s, point, CLUSTER_MAX_KEYS);
    enum rc rc;

    simulate_way_name(way, sizeof way, &s->way[p->way]);
    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    html_element(to, "h3", NULL, "%s, %s, %d GPUs: %.1f images/s, %.1f %% of %d times one GPU", profile->model, way,
                 p->n_gpus, p->images_per_s, 100 * p->efficiency.mean, p->n_gpus);
    html_element(to, "p", NULL, "It waits for: %s of a step.", bottleneck);
    TRY(table_check(t));
    if (table_n_rows(t) > 0)
        TRY(html_table(to, t, "assumptions by what they move"));
    else
        html_element(to, "p", NULL, "None of the values that it stands on is an assumption.");
out:
    table_close(&t);
    return rc;
}

enum rc simulate_explain(FILE *to, const struct simulate *s)
{
    bool is_first = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        if (!simulate_is_explained(s, i) || simulate_failure(s, &s->point[i]))
            continue;
        if (is_first) {
            html_element(to, "h2", NULL, "Which assumption moves a prediction most");
            html_element(to, "p", NULL, "%s.", simulate_assumptions_text());
        }
        is_first = false;
        TRY(explain(to, s, i));
    }
out:
    return rc;
}
