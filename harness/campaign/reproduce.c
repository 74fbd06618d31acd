/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.c - rows to points, points to simulations, simulations to predictions, and what constants and chance may
 * make of these; see reproduce.h. */
#include "harness/campaign/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/prediction.h"
#include "harness/campaign/reproduce_fit.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/world/stop.h"

/*
 * how far a prediction may be off: constants at the ends of their ranges, and other draws (J6).
 */

static const double TOO_WIDE = 0.25; /* a ratio: a range of so many efficiencies answers no question */

enum { FIRST_SEED = 2, MOST_MOVED = CLUSTER_MAX_KEYS + CALIBRATION_MOST_VALUES };

/* --- planning --- */

bool point_baseline_moves(const struct point_of_row *p, int key)
{
    const char *name = cluster_keys[key].name;

    return p->baseline || strcmp(name, "memory_bytes_per_s") == 0 || strcmp(name, "jitter_ratio") == 0;
}

static enum rc find_end(struct moved_value *m, int end, struct reproduction *r, const struct point_of_row *p,
                        const struct point_of_row *alone, const char *setting)
{
    enum rc rc;

    TRY(reproduction_find_simulation(&m->end[end].together, r, p, setting, 0));
    m->end[end].alone = p->alone;
    if (point_baseline_moves(p, m->key))
        TRY(reproduction_find_simulation(&m->end[end].alone, r, alone, setting, 0));
out:
    return rc;
}

static enum rc add_calibrated(struct point_of_row *p, const struct point_of_row *alone, struct reproduction *r)
{
    char setting[CALIBRATION_SETTING_BYTES];
    enum rc rc = RC_OK;

    for (size_t k = 0; k < r->cluster[p->cluster].n_calibrated; k++) {
        const struct used_cluster *c = &r->cluster[p->cluster];
        struct moved_value *m = &p->moved[p->n_moved++];
        *m = (struct moved_value){ .key = c->calibrated[k].key, .is_calibrated = true, .low_share = NAN };
        for (int end = 0; end < 2; end++) {
            calibration_setting(setting, &c->cluster, &c->calibrated[k], end == 1);
            TRY(find_end(m, end, r, p, alone, setting));
        }
    }
out:
    return rc;
}

static enum rc add_assumed(struct point_of_row *p, const struct point_of_row *alone, struct reproduction *r)
{
    const struct used_cluster *c = &r->cluster[p->cluster];
    struct assumed_range range[CLUSTER_MAX_KEYS];
    const size_t n = assumed_ranges(range, &c->cluster, c->sources);
    char setting[ASSUMED_SETTING_BYTES];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        const double own = cluster_key_number(&c->cluster, range[i].key);
        const bool is_scaled = range[i].is_time && range[i].high > own;
        struct moved_value *m = &p->moved[p->n_moved];
        if (!assumed_concerns(range[i].key, row_mode_has_servers(p->mode)))
            continue;
        p->n_moved++;
        *m = (struct moved_value){ .key = range[i].key, .low_share = NAN };
        if (is_scaled)
            m->low_share = (own - range[i].low) / (range[i].high - own);
        for (int end = is_scaled; end < 2; end++) {
            assumed_setting(setting, range[i].key, end == 1 ? range[i].high : range[i].low);
            TRY(find_end(m, end, r, p, alone, setting));
        }
    }
out:
    return rc;
}

static enum rc add_draws(struct point_of_row *p, const struct point_of_row *alone, struct reproduction *r)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < REPRODUCE_DRAWS; i++) {
        const uint64_t seed = FIRST_SEED + (uint64_t)i;
        TRY(reproduction_find_simulation(&p->draw_together[i], r, p, "", seed));
        TRY(reproduction_find_simulation(&p->draw_alone[i], r, alone, "", seed));
    }
    p->n_draws = REPRODUCE_DRAWS;
out:
    return rc;
}

static struct known_errors_of known_of(const struct reproduction *r, const struct point_of_row *p)
{
    return (struct known_errors_of){ .has_servers = row_mode_has_servers(p->mode),
                                     .is_on_several = point_is_on_several_hosts(r, p),
                                     .is_fitted = r->terms->fit && reproduce_fit_concerns(r->terms->fit, r, p),
                                     .cluster = r->cluster[p->cluster].cluster.name };
}

/* Add the simulations of p's band; alone: its baseline. RC_NOMEM. */
static enum rc reproduction_plan_band(struct point_of_row *p, const struct point_of_row *alone, struct reproduction *r)
{
    enum rc rc;

    if (!r->terms->has_bands || p->mode == ROW_NONE || point_is_baseline(p) || (p->n_gpus == 1 && p->n_servers == 0))
        return RC_OK; /* nothing is predicted */
    p->moved = calloc(MOST_MOVED, sizeof *p->moved);
    if (!p->moved)
        return rc_raise(RC_NOMEM, "no memory for a band");
    TRY(add_calibrated(p, alone, r));
    if (p->row) {
        const struct cluster *c = &r->cluster[p->cluster].cluster;
        const struct known_errors_of of = known_of(r, p);
        TRY(add_assumed(p, alone, r));
        if (simulate_is_random(c))
            TRY(add_draws(p, alone, r));
        TRY(known_errors_find(&p->known, &r->known, &of));
    }
    p->has_band = p->row || p->n_moved > 0;
out:
    return rc;
}

/* --- results --- */

/* false: a simulation is missing. One that failed moves nothing, and is reported at the end. */
static bool find_moves(const struct reproduction *r, const struct point_of_row *p, struct moved_value *m)
{
    double by[2];

    for (int end = 0; end < 2; end++)
        by[end] = reproduction_efficiency(r, m->end[end].alone, m->end[end].together) - p->predicted_ratio;
    if (!isnan(m->low_share))
        by[0] = -by[1] * m->low_share;
    m->down = fmax(0, -fmin(by[0], by[1]));
    m->up = fmax(0, fmax(by[0], by[1]));
    if (m->is_calibrated)
        m->down = m->up = fmax(m->down, m->up);
    return !isnan(by[0]) && !isnan(by[1]);
}

/* Half the range of one further draw; 0: nothing is random. */
static double chance_of(const struct reproduction *r, const struct point_of_row *p)
{
    double x[1 + REPRODUCE_DRAWS] = { p->predicted_ratio };

    for (int i = 0; i < p->n_draws; i++)
        x[1 + i] = reproduction_efficiency(r, p->draw_alone[i], p->draw_together[i]);
    if (p->n_draws == 0)
        return 0;
    const struct prediction_band b = prediction_band_of(x, (size_t)p->n_draws + 1);
    return fmax(b.high - b.mean, b.mean - b.low);
}

/* By how much other tables say that p may be off, on each side; NaN: they say nothing. */
static double known_of_others(const struct reproduction *r, const struct point_of_row *p)
{
    return p->known.is_of_fits ? p->known.most * reproduce_fit_seen_error(r) : p->known.most;
}

/* false: nothing says how far it may be off. */
static bool find_assumed(struct point_of_row *p, const double *down, const double *up, bool is_known)
{
    prediction_band_widen_sides(&p->band, down, up, p->n_moved + 1);
    if (!is_known && p->band.low == p->band.high) {
        p->band.low = p->band.high = NAN;
        return false;
    }
    p->assumed_low = p->band.low;
    p->assumed_high = p->band.high;
    return true;
}

void reproduction_find_band(const struct reproduction *r, struct point_of_row *p)
{
    double down[MOST_MOVED + 1] = { 0 }, up[MOST_MOVED + 1] = { 0 };
    bool is_complete = true;

    p->band = (struct prediction_band){ .mean = p->predicted_ratio, .low = NAN, .high = NAN };
    p->assumed_low = p->assumed_high = NAN;
    if (!p->has_band)
        return;
    for (size_t i = 0; i < p->n_moved; i++) {
        is_complete &= find_moves(r, p, &p->moved[i]);
        down[i] = p->moved[i].down;
        up[i] = p->moved[i].up;
    }
    const double chance = chance_of(r, p), known = known_of_others(r, p);
    is_complete &= !isnan(chance);
    down[p->n_moved] = up[p->n_moved] = isnan(chance) ? 0 : chance;
    if (isnan(p->predicted_ratio) || (!is_complete && r->stop_signal != 0) ||
        !find_assumed(p, down, up, !isnan(known)) || isnan(known))
        return;
    struct prediction_band others = { .mean = p->predicted_ratio, .low = NAN, .high = NAN };
    prediction_band_widen_sides(&others, &known, &known, 1);
    p->is_wide_by_known = others.high - others.low > TOO_WIDE;
    p->band.low = fmin(p->band.low, others.low);
    p->band.high = fmax(p->band.high, others.high);
}

static bool have_bands(const struct reproduction *r, bool of_rows)
{
    for (size_t i = 0; i < r->n_points; i++)
        if (!r->point[i].row != of_rows && r->point[i].has_band)
            return true;
    return false;
}

bool reproduction_has_bands(const struct reproduction *r)
{
    return have_bands(r, true);
}

bool reproduction_has_chart_bands(const struct reproduction *r)
{
    return have_bands(r, false);
}

/* -1: none. can_be_fitted: of those that are assumed, not measured */
static int widest_key(const struct point_of_row *p, bool can_be_fitted)
{
    double most = 0;
    int key = -1;

    for (size_t i = 0; i < p->n_moved && !isnan(p->band.high); i++)
        if (p->moved[i].down + p->moved[i].up > most && !(can_be_fitted && p->moved[i].is_calibrated)) {
            most = p->moved[i].down + p->moved[i].up;
            key = p->moved[i].key;
        }
    return key;
}

const char *point_widest(const struct point_of_row *p)
{
    const int key = widest_key(p, false);

    return key >= 0 ? cluster_keys[key].name : NULL;
}

bool point_cannot_tell(const struct point_of_row *p)
{
    return p->band.high - p->band.low > TOO_WIDE;
}

/* Which part of a band is too wide by itself. */
enum wide { BY_CONSTANTS, BY_TABLES, BY_BOTH, N_WIDE };

static enum wide what_is_wide(const struct point_of_row *p)
{
    if (!p->is_wide_by_known)
        return BY_CONSTANTS;
    return p->assumed_high - p->assumed_low > TOO_WIDE ? BY_BOTH : BY_TABLES;
}

/* --- words --- */

void reproduction_held_text(char *out, size_t n_bytes, const struct reproduction *r)
{
    const struct reproduce_error ring = reproduction_error(r, false), servers = reproduction_error(r, true);
    const size_t n = ring.n_bands + servers.n_bands;

    out[0] = '\0';
    if (n > 0)
        snprintf(out, n_bytes, "%zu of %zu %s efficienc%s in %s band", ring.n_held + servers.n_held, n,
                 reproduction_of_table(r), n == 1 ? "y is" : "ies are", n == 1 ? "its" : "their");
}

/* What to do about bands that are too wide, of rows that this key moves most; -1: none does. */
static void print_advice(FILE *to, enum wide wide, int key)
{
    const char *name = key >= 0 ? cluster_keys[key].name : NULL;

    if (wide == BY_TABLES && !name)
        fprintf(to,
                ": cannot tell from these facts; other tables were predicted with such errors, so measure small runs");
    else if (wide == BY_TABLES)
        fprintf(to,
                ": cannot tell from these facts; other tables were predicted with such errors, so measure small runs, "
                "and fit "
                "%s to them (--fit)",
                name);
    else if (!name)
        fprintf(to, ": cannot tell; jitter alone makes them as wide");
    else
        fprintf(to, ": cannot tell from these facts; measure %s%s", name,
                wide == BY_BOTH ? " and small runs, as other tables were predicted with such errors" : "");
}

/* A key that is measured, or to which rows were fitted already, cannot be fitted. */
static int key_to_name(const struct reproduction *r, const struct point_of_row *p)
{
    if (what_is_wide(p) != BY_TABLES)
        return widest_key(p, false);
    return r->terms->fit ? -1 : widest_key(p, true);
}

static void tell_too_wide(const struct reproduction *r, enum wide wide, int key,
                          void (*print)(void *arg, const char *line), void *arg)
{
    char *line = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&line, &n_bytes);
    int n = 0;

    for (size_t i = 0; i < r->n_points && to; i++) {
        const struct point_of_row *p = &r->point[i];
        if (p->row && point_cannot_tell(p) && what_is_wide(p) == wide && key_to_name(r, p) == key)
            fprintf(to, "%s%d", n++ == 0 ? "Lines with a band above 25 points: " : ", ", p->row->line);
    }
    if (to)
        print_advice(to, wide, key);
    if (to && fclose(to) == 0 && n > 0)
        print(arg, line);
    free(line);
}

void reproduction_cannot_tell_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
{
    for (int wide = 0; wide < N_WIDE; wide++)
        for (int key = -1; key < CLUSTER_N_KEYS; key++)
            tell_too_wide(r, (enum wide)wide, key, print, arg);
}

static void print_baseline(const struct reproduction *r, const struct published_row *baseline,
                           void (*print)(void *arg, const char *line), void *arg)
{
    char *line = NULL;
    size_t n_bytes = 0, n = 0, profile = 0;
    FILE *to = open_memstream(&line, &n_bytes);

    for (size_t i = 0; i < r->n_points && to; i++) {
        const struct point_of_row *p = &r->point[i];
        if (!p->row || p->baseline != baseline)
            continue;
        fprintf(to, "%s%d", n++ > 0 ? ", " : "Lines ", p->row->line);
        profile = p->profile;
    }
    if (to)
        fprintf(to, ": relative to %d GPUs of one host (line %d)%s", baseline->n_gpus, baseline->line,
                isnan(r->profiles.profile[profile].one_gpu_images_per_s)
                    ? ""
                    : "; without --profile each of these is taken to be as fast as one GPU alone");
    if (to && fclose(to) == 0)
        print(arg, line);
    free(line);
}

void reproduction_baseline_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
{
    for (size_t i = 0; i < r->n_points; i++)
        if (point_is_baseline(&r->point[i]))
            print_baseline(r, r->point[i].row, print, arg);
}

static void print_ranges(const struct used_cluster *c, void (*print)(void *arg, const char *line), void *arg)
{
    struct assumed_range range[CLUSTER_MAX_KEYS];
    const size_t n = assumed_ranges(range, &c->cluster, c->sources);
    char line[CLUSTER_MAX_KEYS * 72];
    size_t at = 0;

    at += (size_t)snprintf(line, sizeof line,
                           "%s, %s: band: each assumed constant alone at the ends of its range%s (root "
                           "of the sum of squares):",
                           c->name, used_cluster_transport(c),
                           simulate_is_random(&c->cluster) ? ", and other draws of jitter" : "");
    for (size_t i = 0; i < n && at < sizeof line; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s %s %.3g to %.3g", i > 0 ? "," : "",
                               cluster_keys[range[i].key].name, range[i].low, range[i].high);
    print(arg, line);
}

static bool is_known_alike(const struct reproduction *r, const struct point_of_row *a, const struct point_of_row *b)
{
    const struct known_errors_of x = known_of(r, a), y = known_of(r, b);

    return b->row && b->has_band && x.has_servers == y.has_servers && x.is_on_several == y.is_on_several &&
           x.is_fitted == y.is_fitted && strcmp(x.cluster, y.cluster) == 0;
}

static void print_known_of(const struct reproduction *r, const struct point_of_row *p,
                           void (*print)(void *arg, const char *line), void *arg)
{
    const struct known_errors_of of = known_of(r, p);
    const struct known_errors_range *k = &p->known;
    char line[sizeof((struct cluster *)NULL)->name + 320];
    size_t at = (size_t)snprintf(line, sizeof line, "%s, %s on %s: band: ", of.cluster,
                                 of.has_servers ? "servers" : "ring", of.is_on_several ? "several hosts" : "one host");

    if (isnan(known_of_others(r, p)))
        snprintf(line + at, sizeof line - at, "no other published table has such rows; of constants alone");
    else {
        at += (size_t)snprintf(line + at, sizeof line - at, "at least %.1f points to each side",
                               100 * known_of_others(r, p));
        if (k->is_of_fits)
            at +=
                (size_t)snprintf(line + at, sizeof line - at, ", %.1f times the error of the rows of the fit", k->most);
        snprintf(line + at, sizeof line - at,
                 ": 8 of 10 rows of one more table are less far off, by those of %zu other %s%s", k->n_tables,
                 k->is_of_fits ? "fits of published tables" : "published tables",
                 !k->is_of_fits && k->has_both_exchanges ? ", with rings and servers" : "");
    }
    print(arg, line);
}

/* What other tables add to the bands: a line for each kind of row. */
static void print_known(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
{
    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        bool is_told = !p->row || !p->has_band;
        for (size_t k = 0; k < i && !is_told; k++)
            is_told = is_known_alike(r, p, &r->point[k]);
        if (!is_told)
            print_known_of(r, p, print, arg);
    }
}

void reproduction_band_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
{
    char band[CALIBRATION_MOST_VALUES * 48 + 320], line[ROW_CLUSTER_BYTES + sizeof band + 64];

    for (size_t i = 0; i < r->n_clusters && r->terms->has_bands; i++) {
        const struct used_cluster *c = &r->cluster[i];
        if (c->n_calibrated > 0) {
            calibration_band_text(band, sizeof band, c->calibrated, c->n_calibrated);
            snprintf(line, sizeof line, "%s: band: %s", c->name, band);
            print(arg, line);
        }
        print_ranges(c, print, arg);
    }
    print_known(r, print, arg);
}

/*
 * rows to points, points to simulations, simulations to predictions.
 */

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

    if (p->baseline) { /* its other terms are equal */
        alone.n_gpus = p->baseline->n_gpus;
        alone.n_servers = p->baseline->n_servers;
        return alone;
    }
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
    p.predicted_ratio = p.baseline_images_per_s = NAN;
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
    return isnan(published_row_baseline_rate(own)) &&
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

/* A profile has the rate of one GPU, which a baseline of one host has not. */
static enum rc find_profile(size_t *out, struct reproduction *r, const struct published_row *row)
{
    char place[REPRODUCE_PATH_BYTES], published_in[96] = "the table that is reproduced", file[USED_PROFILE_PATH_BYTES];
    bool is_given = false;
    struct profile_wish wish = { .model = row->model,
                                 .profiles = r->terms->profiles,
                                 .one_gpu_images_per_s = published_row_baseline_rate(row),
                                 .batch = row->batch,
                                 .published_in = published_in,
                                 .rate = NULL,
                                 .place = place };

    snprintf(place, sizeof place, "%s:%d: model", r->rows.path, row->line);
    if (row->baseline)
        snprintf(published_in, sizeof published_in, "the table that is reproduced, each of %d GPUs of one host",
                 row->baseline->n_gpus);
    if (row->baseline && used_profile_given(file, sizeof file, &is_given, wish.profiles, row->model) == RC_OK &&
        is_given)
        wish.one_gpu_images_per_s = NAN;
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

static enum rc check_baseline(const struct reproduction *r, const struct point_of_row *p)
{
    const struct used_cluster *c = &r->cluster[p->cluster];

    if (!p->baseline || p->baseline->n_gpus <= c->cluster.n_ranks_per_host)
        return RC_OK;
    return rc_raise(
        RC_INVAL,
        "is \"\", and the smallest row like it has %d GPUs (line %d), more than one host of %s, %d; use the "
        "rate of one GPU, or add a row of 1 GPU or of one host",
        p->baseline->n_gpus, p->baseline->line, c->name, c->cluster.n_ranks_per_host);
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
                              .baseline = row->baseline,
                              .n_gpus = row->n_gpus,
                              .n_servers = row->n_servers,
                              .predicted_ratio = NAN };
    enum rc rc;

    TRY(find_profile(&p.profile, r, row));
    TRY(find_cluster(&p.cluster, r, row));
    TRY(at_row(r, row, "one_gpu_images_per_s", check_baseline(r, &p)));
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
        if (like.baseline && n < like.baseline->n_gpus)
            continue; /* nothing is relative to less than the baseline */
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
    const double published = p->baseline ? p->baseline->images_per_s / p->baseline->n_gpus
                                         : r->profiles.profile[p->profile].one_gpu_images_per_s;

    p->predicted_ratio = reproduction_efficiency(r, p->alone, p->together);
    p->baseline_images_per_s = !isnan(published) ? published : p->batch / r->simulations.simulation[p->alone].step_s;
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
    const double images_per_s = p->predicted_ratio * p->n_gpus * p->baseline_images_per_s;
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

bool point_is_baseline(const struct point_of_row *p)
{
    return p->row && p->row->baseline == p->row;
}

bool point_is_compared(const struct point_of_row *p)
{
    return p->row && p->row->is_counted && p->n_gpus > 1 && p->mode != ROW_NONE &&
           !point_is_baseline(p); /* else nothing was predicted */
}

static const char *error_of(const struct point_of_row *p)
{
    return row_mode_has_servers(p->mode) ? "parameter server" : point_exchange(p);
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
        e.of = !e.of || strcmp(e.of, error_of(p)) == 0 ? error_of(p) : row_mode_name(ROW_COLLECTIVE);
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
