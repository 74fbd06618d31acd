/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_fit.c - rows and ranges of a fit, its grid, and the values of least squares. */
#include "harness/campaign/reproduce_fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/prediction.h"
#include "harness/cluster/cluster_keys.h"

static const double FIT_AS_WELL = 0.01, /* a ratio: a point, to which published efficiencies are exact */
    MOST_UNTOLD = 0.5;                  /* of a range, by ratio */

/* Points of the grid along each key, and steps between two of them where efficiencies are interpolated. */
enum { ALONE_POINTS = 9, EACH_POINTS = 5, FINE = 8, MOST_FINE = (ALONE_POINTS - 1) * FINE + 1 };
_Static_assert((int)FIT_MOST_GRID >= EACH_POINTS * EACH_POINTS && (int)FIT_MOST_GRID >= (int)ALONE_POINTS,
               "the grid has no room");

static int n_points(const struct reproduce_fit *f)
{
    return f->n_keys == 1 ? ALONE_POINTS : EACH_POINTS;
}

static int n_grid(const struct reproduce_fit *f)
{
    return f->n_keys == 1 ? ALONE_POINTS : EACH_POINTS * EACH_POINTS;
}

/* --- keys --- */

static enum rc find_keys(struct reproduce_fit *f, const char *keys)
{
    char name[KEY_VALUE_BYTES], nearest[256];

    for (const char *at = keys; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        const int key = cluster_key_find(name);
        if (name[0] == '\0')
            return rc_raise(RC_INVAL, "--fit %.100s: a name is empty; use KEY or KEY,KEY", keys);
        if (key < 0) {
            key_say_unknown(&cluster_key_table, name, nearest, sizeof nearest);
            return rc_raise(RC_INVAL, "--fit %.100s: %s: %s", keys, name, nearest);
        }
        if (f->n_keys == FIT_MOST_KEYS || (f->n_keys == 1 && f->key[0] == key))
            return rc_raise(RC_INVAL, "--fit %.100s: use one key, or two different ones", keys);
        f->key[f->n_keys++] = key;
    }
    return RC_OK;
}

/* "use one of: A, B": the keys that a cluster assumes a range of; false: there are none, and one needs a range. */
static bool say_possible(char *out, size_t n_bytes, const struct used_cluster *c)
{
    struct assumed_range range[CLUSTER_MAX_KEYS];
    const size_t n = assumed_ranges(range, &c->cluster, c->sources);
    size_t at = 0;

    snprintf(out, n_bytes, "give a value a range in the description, as \"# assumed: range LOW to HIGH\"");
    for (size_t i = 0; i < n && at < n_bytes; i++)
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%s",
                               i > 0 ? ", " : "use one of: ", cluster_keys[range[i].key].name);
    return n > 0;
}

/* A key that has no range in c, where it has an effect. */
static enum rc refuse_key(int key, const struct used_cluster *c)
{
    const char *name = cluster_keys[key].name, *transport = used_cluster_transport(c);
    char possible[RC_MESSAGE_BYTES / 2];
    const bool has_other = say_possible(possible, sizeof possible, c);

    if (!assumed_is_of_time(key))
        return rc_raise(RC_INVAL, "--fit %s: is no time, rate or ratio; %s", name, possible);
    if (c->cluster.assumed >> key & 1)
        return rc_raise(RC_INVAL,
                        "--fit %s: %s, %s: there is no range around its value, %.9g; change value or range in the "
                        "description",
                        name, c->name, transport, cluster_key_number(&c->cluster, key));
    return rc_raise(RC_INVAL,
                    "--fit %s: %s, %s, assumes no range of it; give it one in the description, as \"# assumed: range "
                    "LOW to HIGH\"%s%s",
                    name, c->name, transport, has_other ? ", or " : "", has_other ? possible : "");
}

/* F1, of one cluster. */
static enum rc share_range(struct reproduce_fit *f, int k, const struct used_cluster *c)
{
    struct assumed_range range[CLUSTER_MAX_KEYS];
    const size_t n = assumed_ranges(range, &c->cluster, c->sources);
    const char *name = cluster_keys[f->key[k]].name;

    for (size_t i = 0; i < n; i++) {
        if (range[i].key != f->key[k])
            continue;
        f->least[k] = fmax(f->least[k], range[i].low);
        f->most[k] = fmin(f->most[k], range[i].high);
        if (f->most[k] > f->least[k])
            return RC_OK;
        return rc_raise(RC_INVAL,
                        "--fit %s: no value is in the ranges of all clusters: that of %s, %s, is %.4g to %.4g; use a "
                        "table for each cluster",
                        name, c->name, used_cluster_transport(c), range[i].low, range[i].high);
    }
    return refuse_key(f->key[k], c);
}

static enum rc find_ranges(struct reproduce_fit *f)
{
    const struct reproduction *r = &f->before;
    char possible[RC_MESSAGE_BYTES / 2];

    for (int k = 0; k < f->n_keys; k++) {
        bool matters = false;
        f->least[k] = 0;
        f->most[k] = INFINITY;
        for (size_t i = 0; i < r->n_clusters; i++) {
            if (!cluster_key_matters(&r->cluster[i].cluster, f->key[k]))
                continue;
            const enum rc rc = share_range(f, k, &r->cluster[i]);
            if (rc != RC_OK)
                return rc;
            matters = true;
        }
        if (matters)
            continue;
        (void)say_possible(possible, sizeof possible, &r->cluster[0]);
        return rc_raise(RC_INVAL, "--fit %s: has no effect on any cluster of the table; %s",
                        cluster_keys[f->key[k]].name, possible);
    }
    return RC_OK;
}

/* --- rows --- */

struct condition { /* "gpus<=16" */
    int column, compare;
    double number;
    const char *text;
};
enum {
    BY_GPUS,
    BY_SERVERS,
    BY_BATCH,
    BY_MODEL,
    BY_MODE,
    BY_TABLE,
    BY_TRANSPORT,
    BY_CLUSTER,
    N_BY,
    FIRST_TEXT = BY_MODEL
};
static const char *const by_name[N_BY] = {
    "gpus", "servers", "batch", "model", "mode", "table", "transport", "cluster"
};
enum { IS_AT_MOST, IS_AT_LEAST, IS_NOT, IS_LESS, IS_MORE, IS, N_COMPARE };
static const char *const compare_name[N_COMPARE] = { "<=", ">=", "!=", "<", ">", "=" };

static bool parse_condition(struct condition *out, const char *text)
{
    const char *value = strpbrk(text, "<>=!");
    const size_t n_name = value ? (size_t)(value - text) : 0;
    char *end = NULL;

    out->number = 0;
    for (out->column = 0; value && out->column < N_BY; out->column++)
        if (strlen(by_name[out->column]) == n_name && strncmp(text, by_name[out->column], n_name) == 0)
            break;
    if (!value || out->column == N_BY)
        return false;
    for (out->compare = 0; out->compare < N_COMPARE; out->compare++)
        if (strncmp(value, compare_name[out->compare], strlen(compare_name[out->compare])) == 0)
            break;
    if (out->compare == N_COMPARE)
        return false;
    out->text = value + strlen(compare_name[out->compare]);
    if (out->column >= FIRST_TEXT)
        return *out->text && (out->compare == IS || out->compare == IS_NOT);
    out->number = strtod(out->text, &end);
    return end != out->text && *end == '\0' && isfinite(out->number);
}

static bool compares(const struct condition *c, double difference)
{
    switch (c->compare) {
    case IS_AT_MOST:
        return difference <= 0;
    case IS_AT_LEAST:
        return difference >= 0;
    case IS_LESS:
        return difference < 0;
    case IS_MORE:
        return difference > 0;
    default:
        return (fabs(difference) > 0) == (c->compare == IS_NOT);
    }
}

static bool is_chosen(const struct condition *c, const struct reproduction *r, const struct point_of_row *p)
{
    const int number[FIRST_TEXT] = { p->n_gpus, p->n_servers, p->batch };
    const char *text[N_BY] = { [BY_MODEL] = p->row->model,
                               [BY_MODE] = point_exchange(p),
                               [BY_TABLE] = p->row->table,
                               [BY_TRANSPORT] = point_transport(r, p),
                               [BY_CLUSTER] = r->cluster[p->cluster].name };

    if (c->column >= FIRST_TEXT)
        return (strcmp(text[c->column], c->text) == 0) == (c->compare == IS);
    return compares(c, number[c->column] - c->number);
}

/* Has the key an effect on the prediction of p? */
static bool moves(const struct reproduction *r, const struct point_of_row *p, int key)
{
    return cluster_key_matters(&r->cluster[p->cluster].cluster, key) &&
           assumed_concerns(key, row_mode_has_servers(p->mode)) &&
           (point_is_on_several_hosts(r, p) || !assumed_is_between_hosts(key));
}

bool reproduce_fit_concerns(const struct reproduce_fit *f, const struct reproduction *r, const struct point_of_row *p)
{
    for (int k = 0; k < f->n_keys; k++)
        if (moves(r, p, f->key[k]))
            return true;
    return false;
}

/* The table of a row of the fit; false: there are too many. */
static bool find_table(struct reproduce_fit *f, struct fit_row *row, const char *name)
{
    for (row->table = 0; (size_t)row->table < f->n_tables; row->table++)
        if (strcmp(f->table[row->table].name, name) == 0)
            return true;
    if (f->n_tables == FIT_MOST_TABLES)
        return false;
    f->table[f->n_tables++].name = name;
    return true;
}

static enum rc choose_rows(struct reproduce_fit *f, const struct condition *c)
{
    const struct reproduction *r = &f->before;
    size_t n_unseen = 0;

    for (size_t i = 0; i < f->n_rows; i++) {
        const struct point_of_row *p = &r->point[i];
        struct fit_row *row = &f->row[i];
        row->table = -1;
        if (!point_is_compared(p))
            continue;
        row->use = reproduce_fit_concerns(f, r, p) && is_chosen(c, r, p) ? FIT_SEEN : FIT_UNSEEN;
        f->n_seen += row->use == FIT_SEEN;
        n_unseen += row->use == FIT_UNSEEN;
        if (row->use == FIT_SEEN && !find_table(f, row, p->row->table))
            return rc_raise(RC_INVAL, "--fit-rows %.100s: are of more than %d tables; use fewer", f->rows,
                            (int)FIT_MOST_TABLES);
    }
    if (f->n_seen < (size_t)f->n_keys)
        return rc_raise(RC_INVAL,
                        "--fit-rows %.100s: are %zu counted rows that the fit can use; use at least %d, with more than "
                        "one GPU",
                        f->rows, f->n_seen, f->n_keys);
    if (n_unseen == 0 && f->n_tables < 2)
        return rc_raise(RC_INVAL, "--fit-rows %.100s: are all %zu rows, and none is left to test the fit; use fewer",
                        f->rows, f->n_seen);
    for (size_t i = 0; i < f->n_rows; i++)
        for (size_t k = 0; k < f->n_tables && f->row[i].use == FIT_UNSEEN; k++)
            if (strcmp(f->table[k].name, r->point[i].row->table) == 0)
                f->row[i].table = (int)k;
    return RC_OK;
}

/* --- the grid --- */

/* At x of the range of key k, from 0 to 1, with as many digits as are worth printing. */
static double value_at(const struct reproduce_fit *f, int k, double x)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%.4g", f->least[k] * pow(f->most[k] / f->least[k], x));
    return fmin(f->most[k], fmax(f->least[k], strtod(digits, NULL)));
}

void reproduce_fit_settings(char out[FIT_SETTING_BYTES], const struct reproduce_fit *f, const struct fitted *of)
{
    char setting[ASSUMED_SETTING_BYTES];
    size_t n = 0;

    for (int k = 0; k < f->n_keys; k++) {
        assumed_setting(setting, f->key[k], of->value[k]);
        n += (size_t)snprintf(out + n, FIT_SETTING_BYTES - n, "%s%s", k > 0 ? "," : "", setting);
    }
}

/* The simulations of p, one of r, with other values. */
static enum rc find_pair(struct fit_pair *out, const struct reproduce_fit *f, struct reproduction *r,
                         const struct point_of_row *p, const struct fitted *of)
{
    const struct point_of_row own = *p, alone = point_alone(p);
    char setting[FIT_SETTING_BYTES];
    bool moves_baseline = false;
    enum rc rc;

    for (int k = 0; k < f->n_keys; k++)
        moves_baseline |= point_baseline_moves(p, f->key[k]);
    reproduce_fit_settings(setting, f, of);
    TRY(reproduction_find_simulation(&out->together, r, &own, setting, 0));
    out->alone = own.alone;
    if (moves_baseline)
        TRY(reproduction_find_simulation(&out->alone, r, &alone, setting, 0));
out:
    return rc;
}

static enum rc plan_grid(struct reproduce_fit *f)
{
    const int n_each = n_points(f);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < f->n_rows; i++)
        for (int g = 0; g < n_grid(f) && f->row[i].use == FIT_SEEN; g++) {
            struct fitted at = { .is_told = true };
            for (int k = 0; k < f->n_keys; k++)
                at.value[k] = value_at(f, k, (double)(k == 0 ? g % n_each : g / n_each) / (n_each - 1));
            TRY(find_pair(&f->row[i].grid[g], f, &f->before, &f->before.point[i], &at));
        }
out:
    return rc;
}

enum rc reproduce_fit_open(struct reproduce_fit *out, const struct fit_wish *wish, const char *name, const char *path,
                           const char *folder, const struct reproduce_terms *terms)
{
    struct condition condition;
    enum rc rc;

    *out = (struct reproduce_fit){ .rows = wish->rows, .terms = *terms };
    out->terms.has_bands = out->terms.has_charts = false;
    if (!parse_condition(&condition, wish->rows))
        FAIL(RC_INVAL,
             "--fit-rows %.100s: use COLUMN<=VALUE, as gpus<=16: gpus, servers or batch with <= >= < > = !=, or model, "
             "mode, table, transport or cluster with = !=",
             wish->rows);
    TRY(find_keys(out, wish->keys));
    TRY(reproduction_open(&out->before, name, path, folder, &out->terms));
    out->n_rows = out->before.n_points;
    out->row = calloc(out->n_rows + 1, sizeof *out->row);
    if (!out->row)
        FAIL(RC_NOMEM, "no memory for a fit of %zu rows", out->n_rows);
    TRY(find_ranges(out));
    TRY(choose_rows(out, &condition));
    TRY(plan_grid(out));
out:
    if (rc != RC_OK)
        reproduce_fit_close(out);
    return rc;
}

void reproduce_fit_close(struct reproduce_fit *f)
{
    reproduction_close(&f->before);
    free(f->row);
    *f = (struct reproduce_fit){ .rows = NULL };
}

/* --- least squares --- */

/* Of a row at x, y steps of the fine grid. */
static double between(const struct reproduce_fit *f, const struct fit_row *row, int x, int y)
{
    const int n_each = n_points(f), i = x / FINE, j = y / FINE;
    const double right = (double)(x % FINE) / FINE, up = (double)(y % FINE) / FINE;
    double sum = 0;

    for (int corner = 0; corner < 4; corner++) {
        const int to_right = corner & 1, to_up = corner >> 1;
        const double weight = (to_right ? right : 1 - right) * (to_up ? up : 1 - up);
        if (weight > 0)
            sum += weight * row->predicted[(i + to_right) + n_each * (j + to_up)];
    }
    return sum;
}

/* Squares of errors at each step of the fine grid, over the rows of the fit that are not of table `without` (-1: all);
 * returns their number. */
static size_t add_squares(double square[MOST_FINE][MOST_FINE], const struct reproduce_fit *f, int without, int n_x,
                          int n_y)
{
    size_t n = 0;

    memset(square, 0, sizeof(double) * MOST_FINE * MOST_FINE);
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct fit_row *row = &f->row[i];
        if (row->use != FIT_SEEN || row->table == without)
            continue;
        n++;
        for (int y = 0; y < n_y; y++)
            for (int x = 0; x < n_x; x++)
                square[y][x] += pow(between(f, row, x, y) - f->before.point[i].row->efficiency_ratio, 2);
    }
    return n;
}

static void widen(struct fitted *out, const struct reproduce_fit *f, int k, int step, int n)
{
    const double value = value_at(f, k, n > 1 ? (double)step / (n - 1) : 0);

    out->low[k] = fmin(out->low[k], value);
    out->high[k] = fmax(out->high[k], value);
}

static enum rc fit_without(struct fitted *out, const struct reproduce_fit *f, int without)
{
    double(*square)[MOST_FINE] = malloc(sizeof *square * MOST_FINE);
    const int n_x = (n_points(f) - 1) * FINE + 1, n_y = f->n_keys == 1 ? 1 : n_x;
    int best_x = 0, best_y = 0;

    if (!square)
        return rc_raise(RC_NOMEM, "no memory for a fit");
    const size_t n = add_squares(square, f, without, n_x, n_y);
    *out = (struct fitted){ .is_told = n >= (size_t)f->n_keys };
    for (int y = 0; y < n_y; y++)
        for (int x = 0; x < n_x; x++)
            if (square[y][x] < square[best_y][best_x]) {
                best_x = x;
                best_y = y;
            }
    const int best[FIT_MOST_KEYS] = { best_x, best_y };
    for (int k = 0; k < f->n_keys; k++)
        out->value[k] = out->low[k] = out->high[k] = value_at(f, k, (double)best[k] / (n_x - 1));
    const double most = square[best_y][best_x] + (double)n * FIT_AS_WELL * FIT_AS_WELL;
    for (int y = 0; y < n_y; y++)
        for (int x = 0; x < n_x; x++)
            if (square[y][x] <= most) {
                widen(out, f, 0, x, n_x);
                if (f->n_keys > 1)
                    widen(out, f, 1, y, n_y);
            }
    for (int k = 0; k < f->n_keys; k++)
        out->is_told &= log(out->high[k] / out->low[k]) <= MOST_UNTOLD * log(f->most[k] / f->least[k]);
    free(square);
    return RC_OK;
}

/* F3, in words. */
static enum rc refuse(const struct reproduce_fit *f)
{
    int k = 0;

    if (f->n_keys > 1 && log(f->best.high[1] / f->best.low[1]) / log(f->most[1] / f->least[1]) >
                             log(f->best.high[0] / f->best.low[0]) / log(f->most[0] / f->least[0]))
        k = 1;
    const char *name = cluster_keys[f->key[k]].name;
    const char *other = f->n_keys > 1 ? cluster_keys[f->key[1 - k]].name : "";

    if (f->n_keys > 1)
        return rc_raise(RC_INVAL,
                        "--fit %s,%s: the %zu rows with %.100s cannot tell them apart: %s from %.4g to %.4g fits as "
                        "well, each with another %s; fit one of them, or use other --fit-rows",
                        cluster_keys[f->key[0]].name, cluster_keys[f->key[1]].name, f->n_seen, f->rows, name,
                        f->best.low[k], f->best.high[k], other);
    return rc_raise(RC_INVAL,
                    "--fit %s: the %zu rows with %.100s cannot tell it: %.4g to %.4g fits as well; use another key, or "
                    "other --fit-rows",
                    name, f->n_seen, f->rows, f->best.low[k], f->best.high[k]);
}

static enum rc take_grid(struct reproduce_fit *f)
{
    const struct reproduction *r = &f->before;

    for (size_t i = 0; i < f->n_rows; i++)
        for (int g = 0; g < n_grid(f) && f->row[i].use == FIT_SEEN; g++) {
            const struct fit_pair *pair = &f->row[i].grid[g];
            f->row[i].predicted[g] = reproduction_efficiency(r, pair->alone, pair->together);
            if (isnan(f->row[i].predicted[g]))
                return rc_raise(RC_PEER, "--fit: %s:%d: a simulation of the fit failed: %s", r->rows.path,
                                r->point[i].row->line, r->simulations.simulation[pair->together].why);
        }
    return RC_OK;
}

enum rc reproduce_fit_find(struct reproduce_fit *f)
{
    enum rc rc;

    TRY(take_grid(f));
    TRY(fit_without(&f->best, f, -1));
    if (!f->best.is_told)
        return refuse(f);
    for (size_t i = 0; i < f->n_tables && f->n_tables > 1; i++)
        TRY(fit_without(&f->table[i].others, f, (int)i));
out:
    return rc;
}

void reproduce_fit_pretend(struct reproduce_fit *f)
{
    for (int k = 0; k < f->n_keys; k++)
        f->best.value[k] = f->best.low[k] = f->best.high[k] = value_at(f, k, 0.5);
    f->best.is_told = true;
    for (size_t i = 0; i < f->n_tables; i++) {
        f->table[i].others = f->best;
        f->table[i].others.value[0] = value_at(f, 0, 0.25); /* another one, as it will be */
    }
}

/* --- predictions --- */

void reproduce_fit_mark(const struct reproduce_fit *f, struct used_cluster *c)
{
    for (int k = 0; k < f->n_keys; k++) {
        const int key = f->key[k];
        if (!cluster_key_matters(&c->cluster, key))
            continue;
        c->cluster.assumed |= (uint64_t)1 << key; /* its band still counts */
        c->fitted |= (uint64_t)1 << key;
        snprintf(c->sources->text[key], sizeof c->sources->text[key],
                 "assumed: range %.9g to %.9g; fitted to the rows with %.100s", f->best.low[k], f->best.high[k],
                 f->rows);
    }
}

enum rc reproduce_fit_plan(struct reproduce_fit *f, struct reproduction *r)
{
    enum rc rc = RC_OK;

    assert(r->n_points >= f->n_rows);
    for (size_t i = 0; i < f->n_rows; i++) {
        struct fit_row *row = &f->row[i];
        r->point[i].is_fitted = row->use == FIT_SEEN;
        if (f->n_tables > 1 && row->table >= 0 && f->table[row->table].others.is_told)
            TRY(find_pair(&row->left_out, f, r, &r->point[i], &f->table[row->table].others));
    }
out:
    return rc;
}
