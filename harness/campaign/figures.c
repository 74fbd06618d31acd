/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - statistics of the launches of a point: means, intervals, efficiency, comparison of two points. */
#include <math.h>
#include <string.h>

#include "harness/campaign/campaign.h"
#include "harness/train/bound.h"

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
