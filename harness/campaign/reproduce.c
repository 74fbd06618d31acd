/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.c - rows to points, points to simulations, simulations to predictions. */
#include "harness/campaign/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/reproduce_fit.h"
#include "harness/world/stop.h"

enum { MAX_CHART_GPUS = 4096 };

/* *array := room for one more of its *n elements. */
static void *grown(void *array, size_t n, size_t n_bytes_each)
{
    return realloc(array, (n + 1) * n_bytes_each);
}

/* --- clusters --- */

/* NULL: none. */
static const struct published_system *system_of(const struct reproduction *r, const struct published_row *row)
{
    const struct published_system *other = r->terms->system;

    if (row->system || !other || row->mode == ROW_NONE)
        return row->system;
    return other->has_servers == row_mode_has_servers(row->mode) ? other : NULL;
}

static const char *transport_of(const struct reproduction *r, const struct published_row *row)
{
    const struct reproduce_terms *t = r->terms;
    const struct published_system *own = system_of(r, row);

    if (row->transport[0] || !row_mode_has_servers(row->mode))
        return row->transport;
    if (own && !t->has_ps_transport)
        return own->ps_transport;
    return strcmp(t->ps_transport, "cluster") == 0 ? "" : t->ps_transport;
}

static const char *placement_of(const struct reproduction *r, const struct published_row *row)
{
    const struct published_system *own = row_mode_has_servers(row->mode) ? system_of(r, row) : NULL;

    if (row->placement[0])
        return row->placement;
    return own && !r->terms->has_placement ? own->placement : r->terms->placement;
}

uint64_t reproduction_bucket_bytes(const struct reproduction *r, const struct used_cluster *c)
{
    const bool is_of_system = c->system && !c->system->has_servers && !r->terms->has_bucket_bytes;

    return is_of_system ? c->system->bucket_bytes : r->terms->bucket_bytes;
}

/* The message that rc_raise() kept, behind the place of a row. */
static enum rc at_row(const struct reproduction *r, const struct published_row *row, const char *column, enum rc rc)
{
    return rc_prefix(rc, "%s:%d: %s: ", r->rows.path, row->line, column);
}

static enum rc find_cluster(size_t *out, struct reproduction *r, const struct published_row *row)
{
    const struct cluster_wish wish = { .name = row->cluster[0] ? row->cluster : r->terms->cluster,
                                       .transport = transport_of(r, row),
                                       .n_gpus_per_host = row->n_gpus_per_host,
                                       .system = system_of(r, row) };
    struct used_cluster *more;
    enum rc rc;

    if (!wish.name[0])
        return rc_raise(RC_INVAL, "%s:%d: cluster: the row names none; use --cluster PRESET|FILE, or a column cluster",
                        r->rows.path, row->line);
    for (*out = 0; *out < r->n_clusters; ++*out)
        if (used_cluster_is(&r->cluster[*out], &wish))
            return RC_OK;
    more = grown(r->cluster, r->n_clusters, sizeof *more);
    if (!more)
        return rc_raise(RC_NOMEM, "no memory for a cluster");
    r->cluster = more;
    more += r->n_clusters;
    rc = used_cluster_open(more, row->cluster[0] ? NULL : "cluster", &wish, r->terms->cluster_set);
    r->n_clusters += rc == RC_OK;
    if (rc == RC_OK && r->terms->fit)
        reproduce_fit_mark(r->terms->fit, more);
    return row->cluster[0] ? at_row(r, row, "cluster", rc) : rc;
}

const char *point_transport(const struct reproduction *r, const struct point_of_row *p)
{
    return used_cluster_transport(&r->cluster[p->cluster]);
}

const char *point_exchange(const struct point_of_row *p)
{
    return simulated_exchange(p->mode, p->reducer);
}

bool point_is_on_several_hosts(const struct reproduction *r, const struct point_of_row *p)
{
    const struct cluster *c = &r->cluster[p->cluster].cluster;

    return p->n_gpus > c->n_ranks_per_host || (row_mode_has_servers(p->mode) && c->server_placement != SERVERS_BESIDE);
}

/* Of J7. */
enum { STAGE_ALONE, STAGE_ROWS, STAGE_REST };

enum rc reproduction_find_simulation(size_t *out, struct reproduction *r, const struct point_of_row *p,
                                     const char *variation, uint64_t seed)
{
    const struct reproduce_terms *t = r->terms;
    const struct simulated_run run = {
        .profile = &r->profiles.profile[p->profile],
        .cluster = &r->cluster[p->cluster],
        .cluster_set = t->cluster_set,
        .variation = variation,
        .mode = p->mode,
        .reducer = p->reducer,
        .gradients = p->gradients,
        .placement = p->placement,
        .consistency = p->consistency,
        .overlap = t->overlap,
        .bucket_bytes = row_mode_has_servers(p->mode) ? 0 : reproduction_bucket_bytes(r, &r->cluster[p->cluster]),
        .n_gpus = p->n_gpus,
        .n_servers = p->n_servers,
        .batch = p->batch,
        .seed = seed,
        .stage = !p->row || variation[0] || seed > 0 ? STAGE_REST
                 : p->n_gpus == 1                    ? STAGE_ALONE
                                                     : STAGE_ROWS,
    };

    return simulation_set_find(out, &r->simulations, &run); /* J4 */
}

/* --- points --- */

struct point_of_row point_alone(const struct point_of_row *p)
{
    struct point_of_row alone = *p;

    alone.mode = p->mode == ROW_NONE ? ROW_NONE : ROW_COLLECTIVE;
    alone.reducer = row_mode_has_servers(p->mode) ? "" : p->reducer;
    alone.gradients = "";
    alone.n_gpus = 1;
    alone.n_servers = 0;
    return alone;
}

static enum rc add_point(struct reproduction *r, struct point_of_row p)
{
    struct point_of_row *more = grown(r->point, r->n_points, sizeof *more);
    const struct point_of_row alone = point_alone(&p);
    enum rc rc;

    if (!more)
        return rc_raise(RC_NOMEM, "no memory for a point");
    r->point = more;
    p.predicted_ratio = p.one_gpu_images_per_s = NAN;
    p.moved = NULL;
    p.n_moved = 0;
    p.n_draws = 0;
    p.has_band = false;
    p.known = (struct known_errors_range){ .most = NAN };
    TRY(reproduction_find_simulation(&p.together, r, &p, "", 0));
    TRY(reproduction_find_simulation(&p.alone, r, &alone, "", 0));
    TRY(reproduction_plan_band(&p, &alone, r));
    more[r->n_points++] = p;
    p.moved = NULL;
out:
    free(p.moved);
    return rc;
}

/* Charts are called by model and cluster: two clusters in two folders may have one name. */
static enum rc check_chart_name(const struct reproduction *r, const struct point_of_row *p)
{
    char own[REPRODUCE_CHART_BYTES], other[REPRODUCE_CHART_BYTES];

    reproduce_chart_name(own, sizeof own, r, p);
    for (size_t i = 0; i < r->n_points; i++) {
        reproduce_chart_name(other, sizeof other, r, &r->point[i]);
        if (strcmp(own, other) == 0 && strcmp(r->cluster[p->cluster].name, r->cluster[r->point[i].cluster].name) != 0)
            return rc_raise(RC_INVAL, "charts of %s and of %s would both be called %s; rename one of the files",
                            r->cluster[p->cluster].name, r->cluster[r->point[i].cluster].name, own);
    }
    return RC_OK;
}

/* Does this row need a profile that --profile does not name, and is it the first of its model? */
static bool lacks_profile(const struct reproduction *r, size_t row)
{
    const struct published_row *own = &r->rows.row[row];
    char file[USED_PROFILE_PATH_BYTES];
    bool is_given = true;

    for (size_t i = 0; i < row; i++)
        if (strcmp(r->rows.row[i].model, own->model) == 0)
            return false;
    return isnan(own->one_gpu_images_per_s) &&
           used_profile_given(file, sizeof file, &is_given, r->terms->profiles, own->model) == RC_OK && !is_given;
}

/* The message that rc_raise() kept, and the models behind this row that lack a profile, too. */
static enum rc with_other_models(const struct reproduction *r, const struct published_row *row, enum rc rc)
{
    char why[RC_MESSAGE_BYTES], others[RC_MESSAGE_BYTES / 4] = "";
    size_t n = 0;

    snprintf(why, sizeof why, "%s", rc_message());
    for (size_t i = (size_t)(row - r->rows.row) + 1; i < r->rows.n_rows && n < sizeof others; i++)
        if (lacks_profile(r, i))
            n += (size_t)snprintf(others + n, sizeof others - n, "%s %s", n > 0 ? "," : "", r->rows.row[i].model);
    return n == 0 ? rc_raise(rc, "%s", why) : rc_raise(rc, "%s; without a profile, too:%s", why, others);
}

static enum rc find_profile(size_t *out, struct reproduction *r, const struct published_row *row)
{
    char place[REPRODUCE_PATH_BYTES];
    const struct profile_wish wish = { .model = row->model,
                                       .profiles = r->terms->profiles,
                                       .one_gpu_images_per_s = row->one_gpu_images_per_s,
                                       .batch = row->batch,
                                       .published_in = "the table that is reproduced",
                                       .rate = NULL,
                                       .place = place };

    snprintf(place, sizeof place, "%s:%d: model", r->rows.path, row->line);
    const enum rc rc = used_profiles_find(out, &r->profiles, &wish, r->folder);
    return rc == RC_INVAL && lacks_profile(r, (size_t)(row - r->rows.row)) ? with_other_models(r, row, rc) : rc;
}

static enum rc check_gpus(const struct reproduction *r, const struct point_of_row *p)
{
    const struct used_cluster *c = &r->cluster[p->cluster];
    enum rc rc;

    TRY(cluster_check(&c->cluster, p->n_gpus, p->n_gpus + p->n_servers));
    TRY(simulated_check_hosts(c, p->reducer, p->n_gpus));
out:
    return rc;
}

/* What the simulation of a row would refuse, or nobody has tried. */
static enum rc check_servers(const struct reproduction *r, const struct point_of_row *p)
{
    const struct used_profile *profile = &r->profiles.profile[p->profile];

    if (p->n_servers > simulated_most_servers(profile, p->placement))
        return rc_raise(RC_INVAL, "%s has %zu tensors, which --placement %s does not cut; use at most %zu",
                        profile->model, profile->n_tensors, p->placement, profile->n_tensors);
    if ((long long)p->n_gpus * p->n_servers > REPRODUCE_MOST_MESSAGES)
        return rc_raise(RC_INVAL,
                        "%d GPUs and %d servers have %lld messages under way at once; at most %d are simulated",
                        p->n_gpus, p->n_servers, (long long)p->n_gpus * p->n_servers, (int)REPRODUCE_MOST_MESSAGES);
    return RC_OK;
}

static enum rc add_row(struct reproduction *r, const struct published_row *row)
{
    struct point_of_row p = { .row = row,
                              .mode = row->mode,
                              .reducer = row->reducer,
                              .gradients = row->gradients,
                              .placement = placement_of(r, row),
                              .consistency = row->consistency[0] ? row->consistency : r->terms->consistency,
                              .n_gpus = row->n_gpus,
                              .n_servers = row->n_servers,
                              .predicted_ratio = NAN };
    enum rc rc;

    TRY(find_profile(&p.profile, r, row));
    TRY(find_cluster(&p.cluster, r, row));
    TRY(at_row(r, row, "gpus", check_gpus(r, &p)));
    TRY(at_row(r, row, "cluster", check_chart_name(r, &p)));
    TRY(at_row(r, row, "servers", check_servers(r, &p)));
    p.batch = row->batch > 0 ? row->batch : r->profiles.profile[p.profile].batch;
    TRY(add_point(r, p));
out:
    return rc;
}

/* Is the point of a row of the same line in a chart? */
static bool is_same_line(const struct reproduction *r, const struct point_of_row *a, const struct point_of_row *b)
{
    return a->cluster == b->cluster && a->mode == b->mode && strcmp(a->reducer, b->reducer) == 0 &&
           strcmp(a->gradients, b->gradients) == 0 && strcmp(a->placement, b->placement) == 0 &&
           strcmp(a->consistency, b->consistency) == 0 &&
           strcmp(r->profiles.profile[a->profile].model, r->profiles.profile[b->profile].model) == 0;
}

/* Of a line: the most GPUs of all rows on clusters of its name. */
static int most_gpus(const struct reproduction *r, const struct point_of_row *p, size_t n_rows)
{
    int most = 1;

    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(r->cluster[r->point[i].cluster].name, r->cluster[p->cluster].name) == 0 && r->point[i].n_gpus > most)
            most = r->point[i].n_gpus;
    return most;
}

/* Servers in the proportion of a row; where no tensor is cut, at most one for each. */
static int servers_in_line(const struct reproduction *r, const struct point_of_row *like, int n_gpus)
{
    const int most = simulated_most_servers(&r->profiles.profile[like->profile], like->placement);
    const int n = like->n_servers * n_gpus > like->n_gpus ? like->n_servers * n_gpus / like->n_gpus : 1;

    return n < most ? n : most;
}

/* 1, 2, 4, ... GPUs of the line that row i, the last of it that counts, is on. */
static enum rc add_line(struct reproduction *r, size_t i, size_t n_rows)
{
    const struct point_of_row like = r->point[i];
    const int most = most_gpus(r, &like, n_rows);
    enum rc rc = RC_OK;

    for (int n = 1; n <= most && n <= MAX_CHART_GPUS; n *= 2) {
        struct point_of_row p = like;
        p.row = NULL;
        p.n_gpus = n;
        if (p.n_servers > 0)
            p.n_servers = servers_in_line(r, &like, n);
        if (p.n_gpus * p.n_servers > REPRODUCE_MOST_MESSAGES)
            break;
        if (check_gpus(r, &p) == RC_OK)
            TRY(add_point(r, p));
    }
out:
    return rc;
}

static enum rc add_lines(struct reproduction *r)
{
    const size_t n_rows = r->n_points;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_rows; i++) {
        bool is_last = r->point[i].row->is_counted;
        for (size_t k = i + 1; k < n_rows; k++)
            is_last &= !r->point[k].row->is_counted || !is_same_line(r, &r->point[i], &r->point[k]);
        if (is_last)
            TRY(add_line(r, i, n_rows));
    }
out:
    return rc;
}

enum rc reproduction_open(struct reproduction *out, const char *name, const char *path, const char *folder,
                          const struct reproduce_terms *terms)
{
    struct reproduction r = { .terms = terms, .folder = folder };
    enum rc rc;

    snprintf(r.name, sizeof r.name, "%s", name);
    if (terms->has_bands)
        TRY(known_errors_open(&r.known));
    TRY(published_rows_load(&r.rows, path, terms->ignores_columns));
    for (size_t i = 0; i < r.rows.n_rows; i++)
        TRY(add_row(&r, &r.rows.row[i]));
    TRY(used_profiles_check_all_used(&r.profiles, terms->profiles, r.rows.path));
    if (terms->has_charts)
        TRY(add_lines(&r));
    *out = r;
    r = (struct reproduction){ .terms = NULL };
out:
    reproduction_close(&r);
    return rc;
}

double reproduction_efficiency(const struct reproduction *r, size_t alone, size_t together)
{
    return r->simulations.simulation[alone].step_s / r->simulations.simulation[together].step_s;
}

static void take_results(const struct reproduction *r, struct point_of_row *p)
{
    const double published = r->profiles.profile[p->profile].one_gpu_images_per_s;

    p->predicted_ratio = reproduction_efficiency(r, p->alone, p->together);
    p->one_gpu_images_per_s = !isnan(published) ? published : p->batch / r->simulations.simulation[p->alone].step_s;
}

enum rc reproduction_run(struct reproduction *r, const struct simulations_env *env)
{
    enum rc rc;

    rc = simulations_run(r->simulations.simulation, r->simulations.n, env);
    if (rc == RC_OK || stop_wanted()) {
        r->stop_signal = rc == RC_OK ? 0 : stop_signal();
        for (size_t i = 0; i < r->n_points; i++)
            take_results(r, &r->point[i]);
        for (size_t i = 0; i < r->n_points; i++)
            reproduction_find_band(r, &r->point[i]);
    }
    return rc;
}

bool point_is_finished(const struct reproduction *r, const struct point_of_row *p)
{
    const struct simulation *alone = &r->simulations.simulation[p->alone];
    const struct simulation *together = &r->simulations.simulation[p->together];

    return alone->has_failed || together->has_failed || (alone->is_known && together->is_known);
}

struct point_figures point_figures_of(const struct reproduction *r, const struct point_of_row *p)
{
    const struct simulation *s = &r->simulations.simulation[p->together];
    const double images_per_s = p->predicted_ratio * p->n_gpus * p->one_gpu_images_per_s;
    const double step_s = p->n_gpus * p->batch / images_per_s;

    return (struct point_figures){ .images_per_s = images_per_s,
                                   .step_s = step_s,
                                   .exposed_s = s->exposed_s / s->step_s * step_s };
}

struct reproduce_count reproduction_count(const struct reproduction *r)
{
    struct reproduce_count n = { .n_rows = 0 };

    for (size_t i = 0; i < r->n_points; i++) {
        n.n_rows += r->point[i].row != NULL;
        n.n_finished += r->point[i].row && point_is_finished(r, &r->point[i]);
    }
    return n;
}

void reproduction_close(struct reproduction *r)
{
    for (size_t i = 0; i < r->n_clusters; i++)
        used_cluster_close(&r->cluster[i]);
    for (size_t i = 0; i < r->n_points; i++)
        free(r->point[i].moved);
    simulation_set_free(&r->simulations);
    known_errors_close(&r->known);
    free(r->cluster);
    free(r->point);
    used_profiles_free(&r->profiles);
    published_rows_free(&r->rows);
    *r = (struct reproduction){ .terms = NULL };
}

bool point_is_compared(const struct point_of_row *p)
{
    return p->row && p->row->is_counted && p->n_gpus > 1 && p->mode != ROW_NONE; /* else nothing was predicted */
}

struct reproduce_error reproduction_error(const struct reproduction *r, bool has_servers)
{
    struct reproduce_error e = { .n_rows = 0, .mean_points = NAN, .worst_points = NAN, .mean_factor = NAN };
    double sum = 0, sum_of_logs = 0;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        if (!point_is_compared(p) || p->is_fitted || isnan(p->predicted_ratio) ||
            row_mode_has_servers(p->mode) != has_servers)
            continue;
        const double points = 100 * fabs(p->predicted_ratio - p->row->efficiency_ratio);
        sum += points;
        sum_of_logs += fabs(log(p->predicted_ratio / p->row->efficiency_ratio));
        e.n_rows++;
        e.n_bands += !isnan(p->band.high);
        e.n_held += p->row->efficiency_ratio >= p->band.low && p->row->efficiency_ratio <= p->band.high;
        if (!(points <= e.worst_points)) {
            e.worst_points = points;
            e.worst = p;
        }
    }
    if (e.n_rows > 0) {
        e.mean_points = sum / (double)e.n_rows;
        e.mean_factor = exp(sum_of_logs / (double)e.n_rows);
    }
    return e;
}
