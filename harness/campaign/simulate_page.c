/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_page.c - predictions as one page: the table, each model's charts, what was measured, given and assumed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/prediction_chart.h"
#include "harness/campaign/simulate.h"
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
    TRY(simulate_what_if_table(&t, s, false));
    html_element(to, "h2", NULL, "What if");
    html_element(to, "p", NULL, "Throughput with the change over that without it; %s.", simulate_what_if_text());
    html_table(to, t, "ratios of throughput");
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
    TRY(simulate_systems_table(&t, s, false));
    html_element(to, "h2", NULL, "The systems in one table");
    html_element(to, "p", NULL, "On the same cluster. %s.", simulate_systems_text());
    html_table(to, t, "systems");
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
    TRY(simulate_table(&t, s));
    TRY(html_open(&page, path, title));
    to = crossovers.to = page.file.stream;
    TRY(write_answer(to, s));
    html_element(to, "p", NULL,
                 "What models would do on a described cluster, simulated by gradmark's own collectives, servers and "
                 "training loop. Efficiency: the time of a step of one GPU alone over that of all. Exposed: time of a "
                 "step in which a GPU waits for the exchange.");
    simulate_band_text(band, sizeof band, s);
    html_element(to, "p", NULL, "%s%s", band, band[0] && band[strlen(band) - 1] == '.' ? "" : ".");
    html_table(to, t, "predictions");
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
