/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_bands.c - how far a prediction may be off: constants at the ends of their ranges, and other draws (J6). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/prediction.h"
#include "harness/campaign/reproduce_fit.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"

static const double TOO_WIDE = 0.25; /* a ratio: a range of so many efficiencies answers no question */

enum { FIRST_SEED = 2, MOST_MOVED = CLUSTER_MAX_KEYS + CALIBRATION_MOST_VALUES };

/* --- planning --- */

bool reproduction_concerns_one_gpu(int key)
{
    const char *name = cluster_keys[key].name;

    return strcmp(name, "memory_bytes_per_s") == 0 || strcmp(name, "jitter_ratio") == 0;
}

static enum rc find_end(struct moved_value *m, int end, struct reproduction *r, const struct point_of_row *p,
                        const struct point_of_row *alone, const char *setting)
{
    enum rc rc;

    TRY(reproduction_find_simulation(&m->end[end].together, r, p, setting, 0));
    m->end[end].alone = p->alone;
    if (reproduction_concerns_one_gpu(m->key))
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

enum rc reproduction_plan_band(struct point_of_row *p, const struct point_of_row *alone, struct reproduction *r)
{
    enum rc rc;

    if (!r->terms->has_bands || p->mode == ROW_NONE || (p->n_gpus == 1 && p->n_servers == 0))
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
        fprintf(to, ": cannot tell from these facts; other tables were predicted as wrong, so measure small runs");
    else if (wide == BY_TABLES)
        fprintf(to,
                ": cannot tell from these facts; other tables were predicted as wrong, so measure small runs, and fit "
                "%s to them (--fit)",
                name);
    else if (!name)
        fprintf(to, ": cannot tell; jitter alone makes them as wide");
    else
        fprintf(to, ": cannot tell from these facts; measure %s%s", name,
                wide == BY_BOTH ? " and small runs, as other tables were predicted as wrong" : "");
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
