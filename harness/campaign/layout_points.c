/* SPDX-License-Identifier: Apache-2.0 */
/* layout_points.c - layouts of the points of a campaign: workers, stages of each, shards of the dense layers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "harness/base/text.h"
#include "harness/campaign/campaign.h"
#include "harness/report/record.h"

bool point_has_layout(const struct point *p)
{
    return p->n_stages > 1 || p->n_shards > 1 || point_value(p, "stages") || point_value(p, "shard-dense");
}

bool campaign_has_layouts(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (point_has_layout(&c->point[i]))
            return true;
    return false;
}

bool campaign_compares_layouts(const struct campaign *c, const struct point *p)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (point_has_layout(&c->point[i]) && point_comparable(&c->point[i], p))
            return true;
    return false;
}

static enum rc read_count(int *out, const struct point *p, const char *option)
{
    const char *value = point_value(p, option);
    uint64_t n = 1;

    if (value && (!text_to_u64(value, &n) || n == 0 || n > LAYOUT_MOST))
        return rc_raise(RC_INVAL, "--%s %s: not a number from 1 to %d", option, value, (int)LAYOUT_MOST);
    *out = (int)n;
    return RC_OK;
}

enum rc point_set_layout(struct point *p)
{
    enum rc rc;

    TRY(read_count(&p->n_stages, p, "stages"));
    TRY(read_count(&p->n_shards, p, "shard-dense"));
out:
    return rc;
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

struct layout point_layout(const struct point *p)
{
    return (struct layout){ p->n_workers, at_least_one(p->n_stages), at_least_one(p->n_shards) };
}

int point_n_ranks(const struct point *p)
{
    const struct layout layout = point_layout(p);

    return layout_n_ranks(&layout);
}

int point_n_launched_ranks(const struct point *p)
{
    return point_n_ranks(p) + p->n_servers * point_layout(p).n_stages + p->n_drivers;
}

/* Among the points comparable to like, but for one rank alone, which is there to measure others by? */
static bool modes_differ(const struct campaign *c, const struct point *like)
{
    const struct module *mode = NULL;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!point_comparable(p, like) || (p->mode->caps & MODE_ONE_WORKER && point_n_ranks(p) == 1))
            continue;
        if (mode && mode != p->mode)
            return true;
        mode = p->mode;
    }
    return false;
}

void point_layout_name(char *out, const struct campaign *c, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    if (modes_differ(c, p))
        snprintf(out, LAYOUT_NAME_BYTES, "%.20s:%s", p->mode->name, text);
    else
        snprintf(out, LAYOUT_NAME_BYTES, "%s", text);
}

/* What is no pipeline and has no shards moves gradients alone; one worker alone none. */
void point_read_layout(struct point *p, const json_t *r)
{
    const char *text = json_string_value(json_object_get(r, "layout"));
    const double sent_bytes = record_number(r, "sent_bytes_per_step");
    struct layout layout;

    if (text && layout_parse(&layout, text) == RC_OK) {
        p->n_stages = layout.n_stages;
        p->n_shards = layout.n_shards;
    }
    rc_clear();
    p->moves = (struct layout_facts){
        .activations_bytes = text ? record_number(r, "activations_bytes_per_step") : 0,
        .gradients_bytes = text                                     ? record_number(r, "gradients_bytes_per_step")
                           : isnan(sent_bytes) && p->n_workers == 1 ? 0
                                                                    : sent_bytes,
        .memory_bytes = record_number(r, "worker_memory_bytes"),
        .bubble_ratio = record_number(r, "bubble_ratio"),
        .imbalance_ratio = record_number(r, "stage_imbalance_ratio"),
    };
}

static double megabytes(double n_bytes)
{
    return 1e-6 * n_bytes;
}

void layout_describe(char out[LAYOUT_CLAUSE_BYTES], const struct layout *l, const struct layout_facts *f)
{
    const double activations_mb = megabytes(f->activations_bytes), gradients_mb = megabytes(f->gradients_bytes);

    if (l->n_stages == 1 && l->n_workers == 1)
        snprintf(out, LAYOUT_CLAUSE_BYTES, "computes all by itself and moves nothing");
    else if (l->n_stages == 1 && l->n_shards == 1)
        snprintf(out, LAYOUT_CLAUSE_BYTES, "moves %.4g MB of gradients a rank and step", gradients_mb);
    else if (l->n_stages == 1)
        snprintf(out, LAYOUT_CLAUSE_BYTES, "moves %.4g MB of activations and %.4g MB of gradients a rank and step",
                 activations_mb, gradients_mb);
    else
        snprintf(out, LAYOUT_CLAUSE_BYTES,
                 "moves %.4g MB of activations and %.4g MB of gradients a rank and step, and idles %.3g %% of it in "
                 "the bubble, stages being %.3g x the mean at most",
                 activations_mb, gradients_mb, 100 * f->bubble_ratio, f->imbalance_ratio);
}

bool layout_is_of_another_kind(const struct layout *l, const struct layout *best)
{
    if (best->n_stages == 1 && best->n_shards == 1)
        return l->n_stages > 1 || l->n_shards > 1;
    return (best->n_stages > 1 && l->n_stages == 1) || (best->n_shards > 1 && l->n_shards == 1);
}
