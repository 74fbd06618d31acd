/* SPDX-License-Identifier: Apache-2.0 */
/* charts.c - a campaign as tab-separated tables and pictures, a set for the points that are comparable. */
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/campaign/campaign.h"
#include "harness/campaign/curves.h"
#include "harness/report/chart.h"
#include "harness/world/cores.h"

static const double US_PER_S = 1e6;

struct sheet {          /* one table of comparable points */
    const char *script; /* also the file's name: <script>-<setting>.tsv */
    bool (*applies)(const struct campaign *c, const struct point *like);
    const char *header;
    bool has_launches; /* behind them a column for each launch, launch_0, launch_1, ...; none of a single one */
    /* Write the rows of a point; how many of them a chart can show. */
    size_t (*rows)(FILE *to, const struct campaign *c, const struct point *p);
    const char *lack; /* why there is no chart where no row can be shown; NULL: there is none of this table */
};

/* Launches of the point that has the most of those comparable to p; 0: of one, whose figure is the mean. */
static size_t n_launch_columns(const struct campaign *c, const struct point *p)
{
    size_t most = 0;

    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], p) && c->point[i].n_launches > most)
            most = c->point[i].n_launches;
    return most > 1 ? most : 0;
}

static void write_launches(FILE *to, const struct campaign *c, const struct point *p,
                           double (*of_launch)(const struct campaign *c, const struct point *p, size_t launch))
{
    for (size_t k = 0; k < n_launch_columns(c, p); k++)
        fprintf(to, "\t%.17g", k < p->n_launches ? of_launch(c, p, k) : (double)NAN);
    fputc('\n', to);
}

/* of_launch: of one that was launched; NaN: none. */
static void write_scaling(FILE *to, const struct campaign *c, const struct point *p, const struct interval *i,
                          double (*of_launch)(const struct campaign *c, const struct point *p, size_t launch))
{
    fprintf(to, "%s\t%d\t%.17g\t%.17g\t%.17g\t%d\t%ld", p->mode->name, p->n_workers, i->mean, i->low, i->high,
            p->oversubscribed, point_n_cores(p));
    write_launches(to, c, p, of_launch);
}

/* Mode and number of workers; of layouts mode and layout. */
static void write_who(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    if (campaign_compares_layouts(c, p))
        fprintf(to, "%s\t%s", p->mode->name, text);
    else
        fprintf(to, "%s\t%d", p->mode->name, p->n_workers);
}

static double throughput_of_launch(const struct campaign *c, const struct point *p, size_t launch)
{
    (void)c;
    return p->launch[launch].throughput_samples_per_s;
}

static size_t throughput_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct interval i = point_throughput(p);

    write_scaling(to, c, p, &i, throughput_of_launch);
    return !isnan(i.mean);
}

/* Against the launch of its baseline in the same block; the baseline itself has nothing to be compared with. */
static double efficiency_of_launch(const struct campaign *c, const struct point *p, size_t launch)
{
    const struct point *baseline = campaign_find_baseline(c, p);

    if (!baseline || baseline == p || launch >= baseline->n_launches)
        return NAN;
    return p->launch[launch].throughput_samples_per_s /
           (point_n_ranks(p) * baseline->launch[launch].throughput_samples_per_s);
}

static size_t layout_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct interval i = point_throughput(p);
    const char *kind = p->n_stages > 1 && p->n_shards > 1 ? "both"
                       : p->n_stages > 1                  ? "stages"
                       : p->n_shards > 1                  ? "shards"
                                                          : "data";
    char name[LAYOUT_NAME_BYTES];

    point_layout_name(name, c, p);
    fprintf(to, "%s\t%s\t%d\t%.17g\t%.17g\t%.17g\t%.17g\t%d", name, kind, point_n_ranks(p), i.mean, i.low, i.high,
            campaign_efficiency(c, p).mean, p->oversubscribed);
    write_launches(to, c, p, throughput_of_launch);
    return !isnan(i.mean);
}

static size_t efficiency_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct interval i = campaign_efficiency(c, p);

    if (isnan(i.mean))
        return 0;
    write_scaling(to, c, p, &i, efficiency_of_launch);
    return 1;
}

static size_t cost_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    bool has_part = false;

    write_who(to, c, p);
    for (int i = 0; i <= N_STEP_PARTS; i++) {
        const struct interval part_s = point_interval(p, (i < N_STEP_PARTS ? step_parts[i] : step_whole).at);
        fprintf(to, "\t%.17g\t%.17g\t%.17g", US_PER_S * part_s.mean, US_PER_S * part_s.low, US_PER_S * part_s.high);
        has_part = has_part || (i < N_STEP_PARTS && part_s.mean > 0);
    }
    fprintf(to, "\t%d\t%ld\n", p->oversubscribed, point_n_cores(p));
    return has_part;
}

/* Of each mode the largest point with a core for every worker; of a mode without such points the largest. */
static bool shows_loss(const struct campaign *c, const struct point *p)
{
    const int largest = campaign_largest(c, p, p->mode, NULL);

    if (campaign_compares_layouts(c, p))
        return true;
    if (largest > 0)
        return p->n_workers == largest;
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *other = &c->point[i];

        if (other->mode == p->mode && point_comparable(other, p) && other->n_launches > 0 &&
            other->n_workers > p->n_workers)
            return false;
    }
    return true;
}

/* The range of all curves that are shown with those of p (curves.K2). */
static struct curve_range shown_range(const struct campaign *c, const struct point *p, enum curve_axis axis)
{
    struct curve_range range = CURVE_RANGE_NONE;

    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], p) && shows_loss(c, &c->point[i]))
            curve_range_add(&range, &c->point[i], axis);
    return range;
}

static size_t loss_rows_of_axis(FILE *to, const struct campaign *c, const struct point *p, enum curve_axis axis)
{
    const struct curve_range range = shown_range(c, p, axis);
    char series[LAYOUT_NAME_BYTES];
    struct curve_cells cells;
    size_t n_shown = 0;

    if (isinf(range.first))
        return 0;
    if (campaign_compares_layouts(c, p))
        point_layout_name(series, c, p);
    else
        snprintf(series, sizeof series, "%s", p->mode->name);
    curve_cells_make(&cells, &range);
    for (size_t i = 0; i < cells.n; i++) {
        const double from = cells.edge[i], end = cells.edge[i + 1];
        const struct curve_spread s = point_losses(p, axis, from, end);
        fprintf(to, "%s\t%d\t%s\t%.9g\t%.9g\t%.9g\t%.9g\t%d\n", series, p->n_workers, curve_axis_name(axis),
                0.5 * (from + end), s.median, s.low, s.high, p->oversubscribed);
        n_shown += !isnan(s.median);
    }
    return n_shown;
}

static size_t loss_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    size_t n_shown = 0;

    for (int axis = 0; axis < N_CURVE_AXES && shows_loss(c, p); axis++)
        n_shown += loss_rows_of_axis(to, c, p, axis);
    return n_shown;
}

static bool always(const struct campaign *c, const struct point *like)
{
    (void)c;
    (void)like;
    return true;
}

/* Are numbers of workers what is compared? */
static bool has_workers(const struct campaign *c, const struct point *like)
{
    return !campaign_compares_layouts(c, like);
}

/* Without a baseline there is nothing to compare with. */
static bool has_baseline(const struct campaign *c, const struct point *like)
{
    const struct point *single = campaign_find_baseline(c, like);

    return has_workers(c, like) && single && single->n_launches > 0;
}

/* A launch that diverged has no last loss, but a curve. */
static bool point_has_loss(const struct point *p)
{
    for (size_t i = 0; i < p->n_curves; i++)
        for (size_t k = 0; k < p->curve[i].n_points; k++)
            if (!isnan(p->curve[i].loss[k]))
                return true;
    return false;
}

static bool has_loss(const struct campaign *c, const struct point *like)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], like) && point_has_loss(&c->point[i]))
            return true;
    return false;
}

static bool has_bound(const struct campaign *c, const struct point *like)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (point_comparable(p, like) && (!isnan(point_bound(p).mean) || point_n_failed_bounds(p) > 0))
            return true;
    }
    return false;
}

static size_t bound_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct interval i = point_bound(p);

    write_who(to, c, p);
    fprintf(to, "\t%.17g\t%.17g\t%.17g\t%zu\t%zu\t%ld\n", i.mean, i.low, i.high, point_n_failed_bounds(p),
            p->n_launches, point_n_cores(p));
    return 1;
}

static const struct sheet sheets[] = {
    { "layouts", campaign_compares_layouts, "layout\tkind\tranks\tmean\tlow\thigh\tefficiency\toversubscribed", true,
      layout_rows, "no point has a throughput" },
    { "throughput", has_workers, "mode\tworkers\tmean\tlow\thigh\toversubscribed\tcores", true, throughput_rows,
      "no point has a throughput" },
    { "efficiency", has_baseline, "mode\tworkers\tmean\tlow\thigh\toversubscribed\tcores", true, efficiency_rows,
      "no point has an efficiency" },
    { "loss", has_loss, "mode\tworkers\taxis\tat\tmedian\tlow\thigh\toversubscribed", false, loss_rows,
      "no point that it shows has a loss" },
    { "cost", always,
      "mode\tworkers\tcompute_us\tcompute_low_us\tcompute_high_us\twait_us\twait_low_us\twait_high_us\twire_us\t"
      "wire_low_us\twire_high_us\tserver_us\tserver_low_us\tserver_high_us\tapply_us\tapply_low_us\tapply_high_us\t"
      "rest_us\trest_low_us\trest_high_us\tstep_us\tstep_low_us\tstep_high_us\toversubscribed\tcores",
      false, cost_rows, "no point has a step that could be measured" },
    { "bound", has_bound, "mode\tworkers\tmean\tlow\thigh\tfailed\tlaunches\tcores", false, bound_rows, NULL },
};
enum { N_SHEETS = sizeof sheets / sizeof *sheets };

/* *n_shown: the rows that a chart can show. */
static enum rc write_sheet(const struct campaign *c, const struct point *like, const struct sheet *s, const char *path,
                           size_t *n_shown)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    *n_shown = 0;
    TRY(atomic_file_open(&file, path));
    fprintf(file.stream, "%s", s->header);
    for (size_t k = 0; s->has_launches && k < n_launch_columns(c, like); k++)
        fprintf(file.stream, "\tlaunch_%zu", k);
    fputc('\n', file.stream);
    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], like) && c->point[i].n_launches > 0)
            *n_shown += s->rows(file.stream, c, &c->point[i]);
out:
    return atomic_file_finish(&file, rc);
}

/* "loss-lenet", "loss-lenet-batch-64": of a file, so without the / that a value may have. */
static void sheet_name(char *out, size_t n_bytes, const struct sheet *s, const struct point *like)
{
    char setting[LAUNCH_NAME_BYTES];

    point_setting(setting, sizeof setting, like, "-", "-");
    for (char *slash = setting; (slash = strchr(slash, '/')) != NULL;)
        *slash = '-';
    snprintf(out, n_bytes, "%s-%s", s->script, setting);
}

bool campaign_chart(const struct campaign *c, size_t wanted, struct chart_of *out)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_points; i++)
        for (int k = 0; k < N_SHEETS && campaign_represents(c, i); k++) {
            if (!sheets[k].lack || !sheets[k].applies(c, &c->point[i]) || n++ < wanted)
                continue;
            out->shows = sheets[k].script;
            sheet_name(out->name, sizeof out->name, &sheets[k], &c->point[i]);
            point_setting(out->setting, sizeof out->setting, &c->point[i], ", ", " ");
            return true;
        }
    return false;
}

void campaign_remove_charts(const struct campaign *c)
{
    static const char *const ending[] = { "tsv", "svg", "png" };
    char name[LAUNCH_NAME_BYTES + 16], path[sizeof c->dir + sizeof name + 8];

    for (size_t i = 0; i < c->n_points; i++)
        for (int k = 0; k < N_SHEETS && campaign_represents(c, i); k++) {
            sheet_name(name, sizeof name, &sheets[k], &c->point[i]);
            for (size_t e = 0; e < sizeof ending / sizeof *ending; e++) {
                snprintf(path, sizeof path, "%s/%s.%s", c->dir, name, ending[e]);
                (void)unlink(path);
            }
        }
}

struct charts { /* in the making */
    const struct campaign *c;
    FILE *to; /* a line for each chart that is not drawn */
    bool draw;
    const struct chart_var *var;
    int n_vars;
    enum rc first_rc; /* of the first one that failed */
    char first_why[RC_MESSAGE_BYTES];
};

static enum rc make_chart(const struct charts *charts, const struct point *like, const struct sheet *s,
                          const char *name)
{
    char path[sizeof charts->c->dir + LAUNCH_NAME_BYTES + 32];
    size_t n_shown;
    enum rc rc;

    snprintf(path, sizeof path, "%s/%s.tsv", charts->c->dir, name);
    TRY(write_sheet(charts->c, like, s, path, &n_shown));
    if (!charts->draw || !s->lack)
        return RC_OK;
    if (n_shown == 0)
        fprintf(charts->to, "chart %s: left out: %s\n", name, s->lack);
    else
        TRY(chart_draw(s->script, path, charts->c->dir, name, charts->var, charts->n_vars));
out:
    return rc;
}

/* One that fails does not stop the others. */
static void make_charts(struct charts *charts, const struct point *like)
{
    char name[LAUNCH_NAME_BYTES + 16];

    for (int i = 0; i < N_SHEETS; i++) {
        if (!sheets[i].applies(charts->c, like))
            continue;
        sheet_name(name, sizeof name, &sheets[i], like);
        const enum rc rc = make_chart(charts, like, &sheets[i], name);
        if (rc == RC_OK)
            continue;
        fprintf(charts->to, "chart %s: failed: %s\n", name, rc_message());
        if (charts->first_rc == RC_OK) {
            charts->first_rc = rc;
            snprintf(charts->first_why, sizeof charts->first_why, "%s", rc_message());
        }
    }
}

static void describe_machine(char *out, size_t n_bytes, const struct campaign *c)
{
    struct utsname about;

    if (c->is_virtual)
        snprintf(out, n_bytes, "simulated cluster %s", c->cluster_name);
    else if (c->machine[0])
        snprintf(out, n_bytes, "%s", c->machine);
    else if (uname(&about) == 0)
        snprintf(out, n_bytes, "%d cores, %s", cores_allowed_count(), about.machine);
    else
        snprintf(out, n_bytes, "%d cores", cores_allowed_count());
}

/* The first point comparable to like that was launched, whose records tell how it scales; *launches: of such points,
 * "10", or "9 to 10". like itself, and "0": there is none. */
static const struct point *titled_point(char *launches, size_t n_bytes, const struct campaign *c,
                                        const struct point *like)
{
    const struct point *first = campaign_find_launched(c, like);
    size_t least = first ? first->n_launches : 0, most = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (p->n_launches == 0 || !point_comparable(p, like))
            continue;
        least = p->n_launches < least ? p->n_launches : least;
        most = p->n_launches > most ? p->n_launches : most;
    }
    if (least < most)
        snprintf(launches, n_bytes, "%zu to %zu", least, most);
    else
        snprintf(launches, n_bytes, "%zu", most);
    return first ? first : like;
}

/* Add to `out`, the machine, how many of the launches that like's charts show were disturbed; none: nothing. */
static void append_disturbed(char *out, size_t n_bytes, const struct campaign *c, const struct point *like)
{
    const size_t n_used = strlen(out);
    size_t n = 0, n_disturbed = 0;

    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], like)) {
            n += c->point[i].n_launches;
            n_disturbed += point_n_marked(&c->point[i], MARK_DISTURBED);
        }
    if (n_disturbed > 0)
        snprintf(out + n_used, n_bytes - n_used, "  ·  %zu of %zu launches disturbed", n_disturbed, n);
}

enum rc campaign_draw(const struct campaign *c, FILE *to)
{
    struct charts charts = { .c = c, .to = to, .draw = chart_available() };
    char machine[256], launches[48], scaling[80], setting[LAUNCH_NAME_BYTES];
    char title[sizeof setting + sizeof c->data];

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!campaign_represents(c, i))
            continue;
        describe_machine(machine, sizeof machine, c);
        append_disturbed(machine, sizeof machine, c, p);
        point_setting(setting, sizeof setting, p, ", ", " ");
        snprintf(title, sizeof title, "%s%s", setting, c->data);
        point_scaling_text(scaling, sizeof scaling, titled_point(launches, sizeof launches, c, p));
        const struct chart_var var[] = { { "model", title },
                                         { "scaling", scaling },
                                         { "machine", machine },
                                         { "launches", launches },
                                         { "exchange", c->exchange } };
        charts.var = var;
        charts.n_vars = sizeof var / sizeof *var;
        make_charts(&charts, p);
    }
    if (charts.first_rc != RC_OK)
        return rc_raise(charts.first_rc, "%s", charts.first_why);
    if (!charts.draw)
        return rc_raise(RC_UNSUPPORTED, "gnuplot was not found: the data of the charts is in %s, the pictures are not",
                        c->dir);
    return RC_OK;
}
