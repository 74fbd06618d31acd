/* SPDX-License-Identifier: Apache-2.0 */
/* charts.c - a campaign as tab-separated tables and pictures, a set for the points that are comparable. */
#include <math.h>
#include <string.h>
#include <sys/utsname.h>

#include "harness/campaign/campaign.h"
#include "harness/report/chart.h"
#include "harness/world/cores.h"

#define MEAN_US(p, member) (1e6 * point_mean((p), offsetof(struct launch, member)))

struct sheet {          /* one table of comparable points */
    const char *script; /* also the file's name: <script>-<setting>.tsv */
    bool (*applies)(const struct campaign *c, const struct point *like);
    const char *header;
    void (*rows)(FILE *to, const struct campaign *c, const struct point *p);
};

static void write_scaling(FILE *to, const struct point *p, const struct interval *i)
{
    fprintf(to, "%s\t%d\t%.17g\t%.17g\t%.17g\t%d\n", p->mode->name, p->n_workers, i->mean, i->low, i->high,
            p->oversubscribed);
}

static void throughput_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct interval i = point_throughput(p);

    (void)c;
    write_scaling(to, p, &i);
}

static void efficiency_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct interval i = campaign_efficiency(c, p);

    if (!isnan(i.mean))
        write_scaling(to, p, &i);
}

static void cost_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    (void)c;
    fprintf(to, "%s\t%d\t%.17g\t%.17g\t%.17g\t%.17g\t%.17g\t%d\n", p->mode->name, p->n_workers, MEAN_US(p, compute_s),
            MEAN_US(p, wait_s), MEAN_US(p, wire_s), MEAN_US(p, server_s), MEAN_US(p, apply_s), p->oversubscribed);
}

static void write_loss(FILE *to, const struct point *p, double seconds, double samples_count, double loss)
{
    fprintf(to, "%s\t%d\t%.17g\t%.17g\t%.17g\n", p->mode->name, p->n_workers, seconds, samples_count, loss);
}

/* Of each mode the largest point with a core for every worker. */
static void loss_rows(FILE *to, const struct campaign *c, const struct point *p)
{
    const struct curve *curve = &p->curve;

    if (p->n_workers != campaign_largest(c, p, p->mode, NULL))
        return;
    for (size_t i = 0; i < curve->n_points; i++)
        write_loss(to, p, curve->seconds[i], curve->samples_count[i], curve->loss[i]);
}

static bool always(const struct campaign *c, const struct point *like)
{
    (void)c;
    (void)like;
    return true;
}

/* Without a baseline there is nothing to compare with. */
static bool has_baseline(const struct campaign *c, const struct point *like)
{
    const struct point *single = campaign_find_baseline(c, like);

    return single && single->n_launches > 0;
}

static bool has_loss(const struct campaign *c, const struct point *like)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], like) &&
            !isnan(point_mean(&c->point[i], offsetof(struct launch, loss_last))))
            return true;
    return false;
}

static const struct sheet sheets[] = {
    { "throughput", always, "mode\tworkers\tmean\tlow\thigh\toversubscribed", throughput_rows },
    { "efficiency", has_baseline, "mode\tworkers\tmean\tlow\thigh\toversubscribed", efficiency_rows },
    { "loss", has_loss, "mode\tworkers\tseconds\tsamples\tloss", loss_rows },
    { "cost", always, "mode\tworkers\tcompute_us\twait_us\twire_us\tserver_us\tapply_us\toversubscribed", cost_rows },
};
enum { N_SHEETS = sizeof sheets / sizeof *sheets };

static enum rc write_sheet(const struct campaign *c, const struct point *like, const struct sheet *s, const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fprintf(file.stream, "%s\n", s->header);
    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], like) && c->point[i].n_launches > 0)
            s->rows(file.stream, c, &c->point[i]);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
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

static enum rc draw_setting(const struct campaign *c, const struct point *like, const struct chart_var *var, int n_vars,
                            bool draw)
{
    char path[sizeof c->dir + LAUNCH_NAME_BYTES + 32], name[LAUNCH_NAME_BYTES + 16];
    enum rc rc = RC_OK;

    for (int i = 0; i < N_SHEETS; i++) {
        if (!sheets[i].applies(c, like))
            continue;
        sheet_name(name, sizeof name, &sheets[i], like);
        snprintf(path, sizeof path, "%s/%s.tsv", c->dir, name);
        TRY(write_sheet(c, like, &sheets[i], path));
        if (draw)
            TRY(chart_draw(sheets[i].script, path, c->dir, name, var, n_vars));
    }
out:
    return rc;
}

static void describe_machine(char *out, size_t n_bytes, const struct campaign *c)
{
    struct utsname about;

    if (c->is_virtual)
        snprintf(out, n_bytes, "simulated cluster %s", c->cluster_name);
    else if (uname(&about) == 0)
        snprintf(out, n_bytes, "%d cores, %s", cores_allowed_count(), about.machine);
    else
        snprintf(out, n_bytes, "%d cores", cores_allowed_count());
}

enum rc campaign_draw(const struct campaign *c)
{
    const bool draw = chart_available();
    char machine[160], launches[16], batch[16], setting[LAUNCH_NAME_BYTES];
    enum rc rc = RC_OK;

    describe_machine(machine, sizeof machine, c);
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!campaign_represents(c, i))
            continue;
        point_setting(setting, sizeof setting, p, ", ", " ");
        snprintf(launches, sizeof launches, "%zu", p->n_launches);
        snprintf(batch, sizeof batch, "%llu", (unsigned long long)p->batch_per_worker_count);
        const struct chart_var var[] = {
            { "model", setting }, { "batch", batch }, { "machine", machine }, { "launches", launches }
        };
        TRY(draw_setting(c, p, var, sizeof var / sizeof *var, draw));
    }
    if (!draw)
        rc = rc_raise(RC_UNSUPPORTED, "gnuplot was not found: the data of the charts is in %s, the pictures are not",
                      c->dir);
out:
    return rc;
}
