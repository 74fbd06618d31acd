/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campaign_test_kit.h - campaigns of made-up launches, for the tests of what is computed from them.
 *
 * The launches of a point are spread around round figures: throughputs, ratios to the bound and seconds to the target
 * are base / spread, base, base x spread (their geometric mean is base, their arithmetic mean is not), beginning with
 * another one in points whose units leave other rests by 3: so pairs of launches differ; every other member is 0.5, 1
 * and 1.5 x base (their arithmetic mean is base, their geometric mean is not).
 */
#ifndef HARNESS_CAMPAIGN_SUITE_CAMPAIGN_TEST_KIT_H
#define HARNESS_CAMPAIGN_SUITE_CAMPAIGN_TEST_KIT_H

#include <math.h>

#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/campaign/campaign.h"
#include "harness/report/suite/report_kit.h"
#include "harness/report/table.h"

enum { MADE_LAUNCHES = 3, MADE_STEPS = 3, MADE_CORES = 2 };

struct made_point {
    const char *model, *mode;
    int n_workers, n_servers, n_launches;
    double samples_per_s, spread;
    double target_s; /* NaN: the target loss was not reached */
    double unit;     /* of everything else; different in each point, so that none is taken for another's */
};

/* A JSON number, null for NaN; %.17g, as records have it. */
static inline void made_number(FILE *to, const char *key, double value)
{
    if (isnan(value))
        fprintf(to, ",\"%s\":null", key);
    else
        fprintf(to, ",\"%s\":%.17g", key, value);
}

/* Of an operation of no server or exchange: null. */
static inline double made_if(bool applies, double value)
{
    return applies ? value : NAN;
}

static inline void made_summary(FILE *to, const struct made_point *m, int launch)
{
    const int nth = (launch + (isnan(m->unit) ? 0 : (int)m->unit)) % MADE_LAUNCHES;
    const double spread = pow(m->spread, nth - 1), share = 0.5 * (1 + launch), unit = m->unit;
    const double rate = m->samples_per_s * (m->n_launches == 1 ? 1 : spread);
    const bool is_ps = m->n_servers > 0;

    fprintf(to, "{\"kind\":\"summary\",\"mode\":\"%s\",\"batch_per_worker_count\":%d", m->mode, 32);
    made_number(to, "throughput_samples_per_s", rate);
    made_number(to, "throughput_low_samples_per_s", rate * 0.9);
    made_number(to, "throughput_high_samples_per_s", rate * 1.2);
    made_number(to, "efficiency_ratio", 0.123); /* of the launch against its own baseline: not what compare shows */
    made_number(to, "bound_ratio", (m->n_launches == 1 ? 1 : spread) * (0.5 + unit / 100));
    made_number(to, "bound_low_ratio", 0.9 * (0.5 + unit / 100));
    made_number(to, "bound_high_ratio", 1.2 * (0.5 + unit / 100));
    made_number(to, "step_mean_s", share * (260 + 4 * unit + (is_ps ? 40 + unit : 0)) * 1e-6);
    made_number(to, "compute_s", share * (100 + unit) * 1e-6);
    made_number(to, "wait_s", share * (20 + unit) * 1e-6);
    made_number(to, "wire_s", share * (30 + unit) * 1e-6);
    made_number(to, "server_s", made_if(is_ps, share * (40 + unit) * 1e-6));
    made_number(to, "apply_s", share * (50 + unit) * 1e-6);
    made_number(to, "rest_s", isnan(unit) ? NAN : share * 60e-6); /* of every point: no difference between modes */
    made_number(to, "loss_last", share * (0.1 + unit / 100));
    made_number(to, "accuracy_ratio", share * (0.6 + unit / 100));
    made_number(to, "staleness_mean_count", made_if(is_ps, share * (1 + unit / 10)));
    made_number(to, "staleness_max_count", made_if(is_ps, 3));
    made_number(to, "seconds_to_target_loss_s", m->target_s * (m->n_launches == 1 ? 1 : spread));
    made_number(to, "samples_to_target_loss_count", m->target_s * m->samples_per_s); /* the same in all launches */
    fprintf(to, "}\n");
}

/* Steps r = 1, 2, 3 end after r x unit seconds (launch 0; ten times as long in launch 1, ...), after r x 32 samples of
 * each worker, with a loss of 1 / (r x unit). */
static inline void made_steps(FILE *to, const struct made_point *m, int launch, bool is_virtual)
{
    for (int r = 1; r <= MADE_STEPS; r++) {
        const double seconds = r * m->unit * pow(10, launch);
        fprintf(to, "{\"kind\":\"step\",\"step_index\":%d,\"samples_count\":%d", r - 1, r * 32 * m->n_workers);
        made_number(to, "loss", 1 / (r * m->unit));
        made_number(to, "wall_s", is_virtual ? NAN : seconds);
        made_number(to, "virtual_s", is_virtual ? seconds : NAN);
        fprintf(to, "}\n");
    }
}

/* Of a point with a layout: what it moves, unit MB of this and twice that of the other, and waits for, a tenth of its
 * step; without stages and shards, as every run, four times unit MB of gradients. Members, each behind a comma. */
static inline void made_layout_members(FILE *to, const struct point *p, double unit)
{
    const double mb = 1e6 * unit;

    made_number(to, "sent_bytes_per_step", made_if(p->n_workers > 1, 4 * mb));
    made_number(to, "worker_memory_bytes", 3 * mb);
    if (p->n_stages <= 1 && p->n_shards <= 1)
        return;
    fprintf(to, ",\"layout\":\"%dx%dx%d\"", p->n_workers, p->n_stages, p->n_shards);
    made_number(to, "activations_bytes_per_step", mb);
    made_number(to, "gradients_bytes_per_step", 2 * mb);
    made_number(to, "layout_waited_ratio", 0.1);
    if (p->n_stages > 1) {
        made_number(to, "bubble_ratio", 0.25);
        made_number(to, "stage_imbalance_ratio", 1.5);
    }
}

static inline void made_summary_of(FILE *to, const struct point *p, const struct made_point *m, int launch)
{
    struct printed printed;

    printed_begin(&printed);
    made_summary(printed.to, m, launch);
    char *summary = printed_end(&printed);
    fprintf(to, "%.*s", (int)strcspn(summary, "\n") - 1, summary);
    if (point_has_layout(p))
        made_layout_members(to, p, m->unit);
    fprintf(to, "}\n");
    free(summary);
}

/* Write the records of one launch to a file and let the campaign take them. */
static inline void made_launch(struct campaign *c, struct point *p, const struct made_point *m, int launch)
{
    char path[600];

    snprintf(path, sizeof path, "%s/.launch.jsonl", c->dir);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fprintf(to, "{\"kind\":\"manifest\",\"program\":\"made up\"}\n");
    made_steps(to, m, launch, c->is_virtual);
    for (int rank = 0; rank < m->n_workers + m->n_servers; rank++)
        fprintf(to, "{\"kind\":\"rank\",\"rank\":%d,\"role\":\"%s\",\"host\":\"host%d\"}\n", rank,
                rank < m->n_workers ? "worker" : "server", rank / 2);
    made_summary_of(to, p, m, launch);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(campaign_take(c, p, (size_t)m->unit, path), RC_OK);
}

enum { MADE_ASSIGNMENTS = 3 };

static inline void made_assign(struct assignment *a, const char *option, const char *value)
{
    snprintf(a->option, sizeof a->option, "%s", option);
    snprintf(a->value, sizeof a->value, "%s", value);
}

static inline void made_assignments(struct assignment a[MADE_ASSIGNMENTS], const char *model, const char *mode,
                                    int n_workers)
{
    made_assign(&a[0], "model", model);
    made_assign(&a[1], "mode", mode);
    made_assign(&a[2], "workers", "");
    snprintf(a[2].value, sizeof a[2].value, "%d", n_workers);
}

static inline struct point *made_add(struct campaign *c, const char *model, const char *mode, int n_workers)
{
    struct assignment a[MADE_ASSIGNMENTS];
    struct point *p = NULL;

    made_assignments(a, model, mode, n_workers);
    if (campaign_add(c, a, MADE_ASSIGNMENTS, &p) != RC_OK)
        fail_msg("%s", rc_message());
    return p;
}

struct made_layout { /* a point that assigns stages and shards too */
    struct made_point of;
    int n_stages, n_shards;
};

static inline struct point *made_add_layout(struct campaign *c, const struct made_layout *m)
{
    struct assignment a[MADE_ASSIGNMENTS + 2];
    struct point *p = NULL;

    made_assignments(a, m->of.model, m->of.mode, m->of.n_workers);
    made_assign(&a[MADE_ASSIGNMENTS], "stages", "");
    snprintf(a[MADE_ASSIGNMENTS].value, sizeof a[0].value, "%d", m->n_stages);
    made_assign(&a[MADE_ASSIGNMENTS + 1], "shard-dense", "");
    snprintf(a[MADE_ASSIGNMENTS + 1].value, sizeof a[0].value, "%d", m->n_shards);
    if (campaign_add(c, a, MADE_ASSIGNMENTS + 2, &p) != RC_OK)
        fail_msg("%s", rc_message());
    return p;
}

static inline const struct point *made_find(const struct campaign *c, const char *model, const char *mode,
                                            int n_workers)
{
    struct assignment a[MADE_ASSIGNMENTS];

    made_assignments(a, model, mode, n_workers);
    return campaign_find(c, a, MADE_ASSIGNMENTS);
}

static inline void made_begin(struct campaign *c, struct kit *k, bool is_virtual)
{
    char path[600], left[620]; /* of a campaign before, which was not committed */

    *c = (struct campaign){ .n_launches_wanted = MADE_LAUNCHES, .is_virtual = is_virtual };
    snprintf(c->dir, sizeof c->dir, "%s", k->dir);
    snprintf(c->cluster_name, sizeof c->cluster_name, "a cluster");
    snprintf(path, sizeof path, "%s/runs.jsonl", k->dir);
    snprintf(left, sizeof left, "%s.partial", path);
    (void)unlink(left);
    assert_int_equal(partial_file_open(&c->runs, path), RC_OK);
}

static inline void made_fill(struct campaign *c, struct point *p, const struct made_point *m)
{
    p->n_servers = m->n_servers;
    if (!c->is_virtual)
        point_mark_shared_cores(p, MADE_CORES);
    for (int launch = 0; launch < m->n_launches; launch++)
        made_launch(c, p, m, launch);
}

static inline void made_open_layouts(struct campaign *c, struct kit *k, const struct made_layout *point,
                                     size_t n_points, bool is_virtual)
{
    made_begin(c, k, is_virtual);
    for (size_t i = 0; i < n_points; i++)
        made_fill(c, made_add_layout(c, &point[i]), &point[i].of);
}

/* A campaign in the kit's folder. In sim a point has one launch. */
static inline void made_open(struct campaign *c, struct kit *k, const struct made_point *point, size_t n_points,
                             bool is_virtual)
{
    made_begin(c, k, is_virtual);
    for (size_t i = 0; i < n_points; i++) {
        const struct made_point *m = &point[i];
        made_fill(c, made_add(c, m->model, m->mode, m->n_workers), m);
    }
}

/* Two models; at 4 workers more workers than cores; ps has a server beside the workers; of the last point there is
 * one launch only, and of the one before no throughput is known. */
static const struct made_point MADE_CAMPAIGN[] = {
    { "lenet", "none", 2, 0, 3, 2500, 1.01, NAN, 1 },    { "lenet", "single", 1, 0, 3, 1250, 1.25, 8, 2 },
    { "lenet", "ps", 2, 1, 3, 1800, 1.01, 5, 3 },        { "lenet", "ps", 4, 1, 3, 1625, 1.01, 4, 4 },
    { "lenet", "allreduce", 2, 0, 3, 2125, 1.01, 6, 5 }, { "linear", "single", 1, 0, 3, 4e6, 1.01, NAN, 6 },
    { "linear", "ps", 2, 1, 3, NAN, 1.01, NAN, 7 },      { "linear", "allreduce", 2, 0, 1, 6e6, 1, 0.5, 8 },
};
enum { MADE_POINTS = sizeof MADE_CAMPAIGN / sizeof *MADE_CAMPAIGN };

/* What print() says of a campaign; the caller frees it. */
typedef enum rc made_print_fn(const struct campaign *c, FILE *to);
static inline char *made_text(const struct campaign *c, made_print_fn *print)
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(print(c, p.to), RC_OK);
    char *text = printed_end(&p);
    return text;
}

/* table_print() of a table as wide as it is. */
static inline enum rc made_show_whole(const struct table *t, FILE *to)
{
    const size_t n = table_n_columns(t);

    for (size_t row = 0; row < table_n_rows(t) + 2; row++) {
        char line[1024] = "";
        for (size_t i = 0, at = 0; i < n; i++) {
            const struct column *c = table_column(t, i);
            const char *text = row == 0 ? c->title : row == 1 ? NULL : table_text(t, row - 2, i);
            int width = (int)strlen(c->title);
            for (size_t r = 0; r < table_n_rows(t); r++)
                if (table_text(t, r, i) && (int)strlen(table_text(t, r, i)) > width)
                    width = (int)strlen(table_text(t, r, i));
            at += (size_t)snprintf(line + at, sizeof line - at, c->align == ALIGN_RIGHT ? "%*s%s" : "%-*s%s", width,
                                   text ? text : "-", i + 1 < n ? "  " : "");
        }
        for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--)
            line[end - 1] = '\0';
        fprintf(to, "%s\n", line);
    }
    return RC_OK;
}

/* campaign_print() with tables as wide as they are. */
static inline enum rc made_print_whole(const struct campaign *c, FILE *to)
{
    enum rc rc;

    TRY(campaign_print_results(c, made_show_whole, to));
    fprintf(to, "\n");
    TRY(campaign_print_steps(c, made_show_whole, to));
    campaign_print_notes(c, to);
out:
    return rc;
}

/* In place: blanks squeezed to one, dashes of a rule to one. */
static inline void made_squeeze(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++)
        if ((*from != ' ' && *from != '-') || from == text || from[-1] != *from)
            *to++ = *from;
    *to = '\0';
}

/* Out of a verdict: who uses more cores, which verdict_test.c is about. */
static inline void made_drop_lines_on_cores(char *text)
{
    char *to = text;

    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        const bool is_kept = !strstr(line, ": ps uses 1 core more") && !strstr(line, ": ps runs 1 server on");
        *end = '\n';
        if (!is_kept)
            continue;
        memmove(to, line, (size_t)(end + 1 - line));
        to += end + 1 - line;
    }
    *to = '\0';
}

/* What is told of a campaign. The caller frees it. */
static inline char *made_told(const struct campaign *c, void (*tell)(const struct campaign *c, FILE *to))
{
    struct printed p;

    printed_begin(&p);
    tell(c, p.to);
    char *text = printed_end(&p);
    return text;
}

#endif
