/* SPDX-License-Identifier: Apache-2.0 */
/* points.c - what points assign, which of them are comparable, and how they are called. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/campaign/campaign.h"
#include "harness/train/bound.h"

/* Points that differ in these alone are what a campaign compares. */
static bool is_compared(const char *option)
{
    return strcmp(option, "mode") == 0 || strcmp(option, "workers") == 0 || strcmp(option, "stages") == 0 ||
           strcmp(option, "shard-dense") == 0;
}

static bool is_named_apart(const char *option)
{
    return is_compared(option) || strcmp(option, "model") == 0;
}

const char *point_value(const struct point *p, const char *option)
{
    for (int i = 0; i < p->n_assigned; i++)
        if (strcmp(p->assigned[i].option, option) == 0)
            return p->assigned[i].value;
    return NULL;
}

bool point_comparable(const struct point *a, const struct point *b)
{
    for (int i = 0; i < a->n_assigned; i++) {
        const struct assignment *mine = &a->assigned[i];
        const char *other = point_value(b, mine->option);
        if (other && !is_compared(mine->option) && strcmp(mine->value, other) != 0)
            return false;
    }
    return true;
}

static void append_others(char *out, size_t n_bytes, const struct point *p, const char *between, const char *pair)
{
    for (int i = 0; i < p->n_assigned; i++) {
        const struct assignment *a = &p->assigned[i];
        const size_t n_used = strlen(out);
        if (!is_named_apart(a->option))
            snprintf(out + n_used, n_bytes - n_used, "%s%s%s%s", between, a->option, pair, a->value);
    }
}

void point_name(char *out, size_t n_bytes, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    if (point_has_layout(p))
        snprintf(out, n_bytes, "%s %s, layout %s", p->workload->module.name, p->mode->name, text);
    else
        snprintf(out, n_bytes, "%s %s, %d worker%s", p->workload->module.name, p->mode->name, p->n_workers,
                 p->n_workers == 1 ? "" : "s");
    append_others(out, n_bytes, p, ", ", " ");
}

void point_setting(char *out, size_t n_bytes, const struct point *p, const char *between, const char *pair)
{
    snprintf(out, n_bytes, "%s", p->workload->module.name);
    append_others(out, n_bytes, p, between, pair);
}

static bool has_name(const char *const *name, int n, const char *wanted)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name[i], wanted) == 0)
            return true;
    return false;
}

const char *campaign_other_option(const struct campaign *c, int wanted)
{
    const char *name[MAX_ASSIGNMENTS] = { NULL };
    int n = 0;

    for (size_t i = 0; i < c->n_points; i++)
        for (int k = 0; k < c->point[i].n_assigned && n < MAX_ASSIGNMENTS; k++) {
            const char *option = c->point[i].assigned[k].option;
            if (!is_named_apart(option) && !has_name(name, n, option))
                name[n++] = option;
        }
    return wanted < n ? name[wanted] : NULL;
}

void campaign_set_data(struct campaign *c, const char *path)
{
    size_t n = path ? strlen(path) : 0;
    size_t first;

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (first = n; first > 0 && path[first - 1] != '/';)
        first--;
    c->data[0] = '\0';
    if (n > 0)
        snprintf(c->data, sizeof c->data, ", data %.*s", (int)(n - first), path + first);
}

void point_mark_shared_cores(struct point *p, long n_cores)
{
    p->oversubscribed = (long)point_n_ranks(p) * p->n_threads > n_cores;
    p->servers_share = !p->oversubscribed && point_n_cores(p) > n_cores;
}

static bool assigns(const struct point *p, const struct assignment *a)
{
    const char *value = point_value(p, a->option);

    return value && strcmp(value, a->value) == 0;
}

const struct point *campaign_find(const struct campaign *c, const struct assignment *assigned, int n_assigned)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        int n_same = 0;
        while (n_same < n_assigned && assigns(p, &assigned[n_same]))
            n_same++;
        if (n_same == n_assigned && p->n_assigned == n_assigned)
            return p;
    }
    return NULL;
}

const struct point *campaign_find_like(const struct campaign *c, const struct point *p, const struct module *mode,
                                       int n_workers)
{
    const struct point *first = NULL;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *q = &c->point[i];
        if (q->mode != mode || q->n_workers != n_workers || q->n_stages != p->n_stages || q->n_shards != p->n_shards ||
            !point_comparable(p, q))
            continue;
        if (q->n_launches > 0)
            return q;
        if (!first)
            first = q;
    }
    return first;
}

const struct point *campaign_find_baseline(const struct campaign *c, const struct point *p)
{
    const struct point *summing = NULL;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *q = &c->point[i];
        if (point_n_ranks(q) != 1 || !point_comparable(p, q))
            continue;
        if (q->mode->caps & MODE_ONE_WORKER)
            return q;
        if (!summing && point_has_layout(q) && q->mode->caps & MODE_COLLECTIVE)
            summing = q;
    }
    return summing;
}

const struct point *campaign_find_control(const struct campaign *c, const struct point *p)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct module *mode = c->point[i].mode;
        if (mode_exchanges(mode) || mode->caps & MODE_ONE_WORKER)
            continue;
        const struct point *control = campaign_find_like(c, p, mode, p->n_workers);
        if (control)
            return control;
    }
    return NULL;
}

const struct point *campaign_find_launched(const struct campaign *c, const struct point *like)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].n_launches > 0 && point_comparable(&c->point[i], like))
            return &c->point[i];
    return NULL;
}

size_t campaign_most_launches(const struct campaign *c)
{
    size_t most = 0;

    for (size_t i = 0; i < c->n_points; i++)
        most = c->point[i].n_launches > most ? c->point[i].n_launches : most;
    return most;
}

bool campaign_represents(const struct campaign *c, size_t i)
{
    for (size_t k = 0; k < c->n_points; k++) {
        const int n_more = c->point[k].n_assigned - c->point[i].n_assigned;
        if ((n_more > 0 || (n_more == 0 && k < i)) && point_comparable(&c->point[k], &c->point[i]))
            return false;
    }
    return true;
}

/* Has other_mode (NULL: any) launches with as many workers? */
static bool is_launched_by(const struct campaign *c, const struct point *like, const struct module *other_mode,
                           int n_workers)
{
    const struct point *other = other_mode ? campaign_find_like(c, like, other_mode, n_workers) : NULL;

    return !other_mode || (other && other->n_launches > 0);
}

int campaign_largest(const struct campaign *c, const struct point *like, const struct module *mode,
                     const struct module *other_mode)
{
    int largest = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (p->mode == mode && point_comparable(p, like) && !p->oversubscribed && p->n_launches > 0 &&
            p->n_workers > largest && is_launched_by(c, like, other_mode, p->n_workers))
            largest = p->n_workers;
    }
    return largest;
}

long point_n_cores(const struct point *p)
{
    return (long)point_n_ranks(p) * p->n_threads + (p->servers_beside ? 0 : p->n_servers * point_layout(p).n_stages);
}

static bool has_its_cores(const struct point *p, const struct point *like, const struct module *mode)
{
    return p->mode == mode && point_comparable(p, like) && !p->oversubscribed && !p->servers_share && p->n_launches > 0;
}

bool campaign_equal_cores(const struct campaign *c, const struct point *like, const struct module *const mode[2],
                          const struct point *out[2])
{
    long most = 0;

    for (size_t i = 0; i < c->n_points; i++)
        for (size_t k = 0; k < c->n_points; k++) {
            const struct point *p = &c->point[i], *q = &c->point[k];
            if (!has_its_cores(p, like, mode[0]) || !has_its_cores(q, like, mode[1]) || !point_comparable(p, q) ||
                p->n_servers == q->n_servers || point_n_cores(p) != point_n_cores(q) || point_n_cores(p) <= most)
                continue;
            most = point_n_cores(p);
            out[0] = p;
            out[1] = q;
        }
    return most > 0;
}

/* The first point that is comparable to point i: they are of one set. */
static size_t set_of(const struct campaign *c, size_t i)
{
    size_t k = 0;

    while (k < i && !point_comparable(&c->point[k], &c->point[i]))
        k++;
    return k;
}

struct place { /* in a block */
    size_t point;
    uint64_t set_key, own_key; /* drawn for its set and for itself */
};

static int by_keys(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->set_key != y->set_key)
        return x->set_key < y->set_key ? -1 : 1;
    if (x->own_key != y->own_key)
        return x->own_key < y->own_key ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

enum rc campaign_block_order(size_t *order, const struct campaign *c, uint64_t seed, size_t block)
{
    const uint64_t n = c->n_points, first = 2 * n * block; /* of the stream: for each block one of each set and point */
    struct place *place = malloc(c->n_points * sizeof *place);

    if (!place)
        return rc_raise(RC_NOMEM, "no memory for the order of %zu points", c->n_points);
    for (size_t i = 0; i < c->n_points; i++)
        place[i] = (struct place){ .point = i };
    for (size_t i = 0; i < c->n_points && seed != 0 && !c->is_virtual; i++) {
        place[i].set_key = rng_u64(seed, RNG_LAUNCH_ORDER, first + set_of(c, i));
        place[i].own_key = rng_u64(seed, RNG_LAUNCH_ORDER, first + n + i);
    }
    qsort(place, c->n_points, sizeof *place, by_keys);
    for (size_t i = 0; i < c->n_points; i++)
        order[i] = place[i].point;
    free(place);
    return RC_OK;
}

/* Statistics of the launches of a point: means, intervals, efficiency, comparison of two points. */

const struct step_part step_whole = { "step", offsetof(struct launch, step_mean_s) };
const struct step_part step_parts[N_STEP_PARTS] = {
    { "compute", offsetof(struct launch, compute_s) }, { "wait", offsetof(struct launch, wait_s) },
    { "wire", offsetof(struct launch, wire_s) },       { "server", offsetof(struct launch, server_s) },
    { "apply", offsetof(struct launch, apply_s) },     { "rest", offsetof(struct launch, rest_s) },
};

void point_values(double *out, const struct point *p, size_t member_offset)
{
    for (size_t i = 0; i < p->n_launches; i++)
        memcpy(&out[i], (const char *)&p->launch[i] + member_offset, sizeof *out);
}

double point_mean(const struct point *p, size_t member_offset)
{
    double value[MAX_LAUNCHES], sum = 0;

    point_values(value, p, member_offset);
    for (size_t i = 0; i < p->n_launches; i++)
        sum += value[i];
    return p->n_launches ? sum / (double)p->n_launches : NAN;
}

struct interval point_interval(const struct point *p, size_t member_offset)
{
    double value[MAX_LAUNCHES];

    point_values(value, p, member_offset);
    return interval_of_launches(value, p->n_launches);
}

/* Has every launch a positive value of this member? Not if in some launch the workers were never all training at once
 * (no throughput), or the target loss was not reached (no time to the target). */
static bool has_values(const struct point *p, size_t member_offset)
{
    double value[MAX_LAUNCHES];

    point_values(value, p, member_offset);
    for (size_t i = 0; i < p->n_launches; i++)
        if (!(value[i] > 0))
            return false;
    return p->n_launches > 0;
}

static bool has_throughput(const struct point *p)
{
    return has_values(p, offsetof(struct launch, throughput_samples_per_s));
}

/* Of a positive member of several launches: the geometric mean, and the interval over launches in logarithms, so that
 * it stays positive, and a ratio of rates is a difference. */
static struct interval interval_of_logs(const struct point *p, size_t member_offset)
{
    double value[MAX_LAUNCHES];

    point_values(value, p, member_offset);
    for (size_t i = 0; i < p->n_launches; i++)
        value[i] = log(value[i]);
    const struct interval logs = interval_of_launches(value, p->n_launches);
    return (struct interval){ exp(logs.mean), exp(logs.low), exp(logs.high), logs.n_effective };
}

/* One launch: its own interval. */
struct interval point_throughput(const struct point *p)
{
    if (!has_throughput(p))
        return (struct interval){ NAN, NAN, NAN, 0 };
    if (p->n_launches == 1)
        return (struct interval){ p->launch[0].throughput_samples_per_s, p->launch[0].low_samples_per_s,
                                  p->launch[0].high_samples_per_s, 1 };
    return interval_of_logs(p, offsetof(struct launch, throughput_samples_per_s));
}

size_t point_n_failed_bounds(const struct point *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        n += train_bound_failed(p->launch[i].bound_ratio);
    return n;
}

struct interval point_bound(const struct point *p)
{
    const struct launch *l = p->launch;

    if (!has_values(p, offsetof(struct launch, bound_ratio)) || point_n_failed_bounds(p) > 0)
        return (struct interval){ NAN, NAN, NAN, 0 };
    if (p->n_launches == 1)
        return (struct interval){ l->bound_ratio, l->bound_low_ratio, l->bound_high_ratio, 1 };
    return interval_of_logs(p, offsetof(struct launch, bound_ratio));
}

struct comparison campaign_compare(const struct point *a, const struct point *b, size_t member_offset)
{
    double first[MAX_LAUNCHES], second[MAX_LAUNCHES];
    const bool have_values = has_values(a, member_offset) && has_values(b, member_offset);
    const size_t n_blocks = a->n_launches < b->n_launches ? a->n_launches : b->n_launches;

    if (have_values) {
        point_values(first, a, member_offset);
        point_values(second, b, member_offset);
    }
    return compare_pairs(first, second, have_values ? n_blocks : 0);
}

/* Efficiency of p, n ranks: throughput of p / (n times the throughput of its baseline, one rank). Without stages ranks
 * are workers; a worker of S stages is as many as S others, whose cores it has. */
struct interval campaign_efficiency(const struct campaign *c, const struct point *p)
{
    const struct point *baseline = campaign_find_baseline(c, p);

    if (!baseline || !has_throughput(baseline) || !has_throughput(p))
        return (struct interval){ NAN, NAN, NAN, 0 };
    if (baseline == p)
        return (struct interval){ 1, NAN, NAN, (double)p->n_launches };
    const struct comparison x = campaign_compare(p, baseline, offsetof(struct launch, throughput_samples_per_s));
    const double w = point_n_ranks(p), means = point_throughput(p).mean / point_throughput(baseline).mean;
    const double ratio = x.n_pairs > 1 ? x.ratio : means; /* with a single launch of one, all of the other count */
    return (struct interval){ ratio / w, x.ratio_low / w, x.ratio_high / w, (double)x.n_pairs };
}
