/* SPDX-License-Identifier: Apache-2.0 */
/* plan_layouts.c - the points of layouts that a sweep compares. */
#include "harness/campaign/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "models/replay/profile.h"

static void choose(struct assignment *a, const char *option, int value)
{
    snprintf(a->option, sizeof a->option, "%s", option);
    snprintf(a->value, sizeof a->value, "%d", value);
}

enum rc plan_choose_layout(struct assignment *chosen, const struct sweep *s, const char *text)
{
    char fitting[LAYOUT_CHOICE_BYTES];
    struct layout l;
    enum rc rc;

    TRY(layout_parse(&l, text));
    layout_choices(fitting, s->launcher.n_ranks);
    if (s->launcher.name && layout_n_ranks(&l) > s->launcher.n_ranks)
        FAIL(RC_INVAL, "--layout %s: is %d ranks, and %d were launched; %s would fit", text, layout_n_ranks(&l),
             s->launcher.n_ranks, fitting);
    choose(&chosen[0], "workers", l.n_workers);
    choose(&chosen[1], "stages", l.n_stages);
    choose(&chosen[2], "shard-dense", l.n_shards);
out:
    return rc;
}

const char *plan_layout_mode(void)
{
    int i = 0;

    while (!(train_mode_at(i)->module.caps & MODE_COLLECTIVE))
        i++;
    return train_mode_at(i)->module.name;
}

static int count_of(const struct assignment *a)
{
    uint64_t n = 1;

    return a && text_to_u64(a->value, &n) && n > 0 && n <= LAYOUT_MOST ? (int)n : 1;
}

struct layout plan_layout_of(int n_workers, const struct assignment *stages, const struct assignment *shards)
{
    return (struct layout){ n_workers, count_of(stages), count_of(shards) };
}

static bool compares_layouts(const struct sweep *s)
{
    for (int k = 0; k < s->n_axes; k++)
        if (strcmp(s->axis[k].option, LAYOUT_AXIS) == 0)
            return true;
    return false;
}

enum { WHY_NOT_BYTES = 160 };

/* n_others: servers and such, beside the ranks of the layout. "": it can. */
static void why_not(char out[WHY_NOT_BYTES], const struct sweep *s, const struct module *mode, const struct layout *l,
                    int n_others)
{
    const int n_ranks = layout_n_ranks(l) + n_others;
    const size_t n_bytes = WHY_NOT_BYTES;

    out[0] = '\0';
    if (l->n_shards > 1 && !(mode->caps & MODE_COLLECTIVE))
        snprintf(out, n_bytes, "%s does not sum gradients over those that have a shard", mode->name);
    else if (l->n_workers % l->n_shards != 0)
        snprintf(out, n_bytes, "its workers are no whole number of groups of as many as shards");
    else if (l->n_workers > 1 && mode->caps & MODE_ONE_WORKER)
        snprintf(out, n_bytes, "%s has one worker", mode->name);
    else if (s->launcher.name && n_ranks > s->launcher.n_ranks)
        snprintf(out, n_bytes, "with %s it is %d ranks%s, and %d were launched", mode->name, n_ranks,
                 n_others > 0 ? ", all told" : "", s->launcher.n_ranks);
}

/* Of several points that are left out for the same reason, once. */
static void note_left_out(struct sweep *s, const char *what, const char *why)
{
    const size_t n_used = strlen(s->left_out);
    char line[WHY_NOT_BYTES + LAYOUT_TEXT_BYTES + 4];

    snprintf(line, sizeof line, "%.30s: %s", what, why);
    if (!strstr(s->left_out, line))
        snprintf(s->left_out + n_used, sizeof s->left_out - n_used, "%s%s", n_used > 0 ? "; " : "", line);
}

/* Has it layers that could be cut? */
static bool can_be_cut(const char *model)
{
    const struct workload *w = NULL;

    if (workload_find(&w, model) != RC_OK) { /* campaign_add() refuses it */
        rc_clear();
        return true;
    }
    return w->network || w->module.caps & WORKLOAD_PLAYS_PROFILE;
}

bool plan_leaves_out(struct sweep *s, const char *model, const struct module *mode, const struct layout *l,
                     int n_others)
{
    char why[WHY_NOT_BYTES], name[LAYOUT_TEXT_BYTES];

    if (!compares_layouts(s) && l->n_stages == 1 && l->n_shards == 1)
        return false;
    if (!can_be_cut(model)) {
        note_left_out(s, model, "is no network, whose layers could be cut apart");
        return true;
    }
    why_not(why, s, mode, l, n_others);
    layout_text(name, l);
    if (why[0])
        note_left_out(s, name, why);
    return why[0] != '\0';
}

/* --- as much work for all of them --- */

uint64_t sweep_global_batch(const struct sweep *s, const struct point *p)
{
    const char *value = point_value(p, "global-batch");
    uint64_t n = s->train.global_batch > 0 ? s->train.global_batch : p->launch_global_batch;

    return value && !text_to_u64(value, &n) ? 0 : n; /* one that is no number the launch refuses */
}

static enum rc default_batch(uint64_t *out, const struct sweep *s, const struct point *p)
{
    const char *file = point_value(p, "profile") ? point_value(p, "profile") : s->train.profile;
    struct profile *profile = NULL;
    enum rc rc = RC_OK;

    *out = (uint64_t)p->workload->default_batch;
    if (!(p->workload->module.caps & WORKLOAD_PLAYS_PROFILE) || file[0] == '\0') /* without one the launch is refused */
        return RC_OK;
    TRY(file_of_option(profile_load(&profile, file), "profile"));
    *out = (uint64_t)profile->batch;
out:
    profile_close(&profile);
    return rc;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;

    while (y > 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* The model's batch for each rank of the largest layout among the points comparable to p, rounded up so that the
 * workers of each can share it out. */
static enum rc choose_global_batch(uint64_t *out, const struct sweep *s, const struct point *p)
{
    uint64_t batch = 0, shared = 1, most = 1;
    enum rc rc;

    TRY(default_batch(&batch, s, p));
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *q = &s->campaign.point[i];
        const uint64_t n_workers = (uint64_t)q->n_workers, n_ranks = (uint64_t)point_n_ranks(q);
        if (q->workload != p->workload)
            continue;
        most = n_ranks > most ? n_ranks : most;
        if (shared <= TRAIN_MAX_BATCH) /* more no batch is a multiple of: check_global_batches() says what would be */
            shared = common_multiple(shared, n_workers);
    }
    *out = (batch * most + shared - 1) / shared * shared;
out:
    return rc;
}

static enum rc worker_batch(uint64_t *out, const struct sweep *s, const struct point *p)
{
    const uint64_t n = sweep_global_batch(s, p);
    const char *value = point_value(p, "batch");

    if (n > 0)
        *out = n / (uint64_t)p->n_workers;
    else if ((value && text_to_u64(value, out)) || s->train.batch > 0)
        *out = value ? *out : s->train.batch;
    else
        return default_batch(out, s, p);
    return RC_OK;
}

enum rc plan_work_of_layouts(struct sweep *s)
{
    const bool chooses_parts = !opt_given(sweep_train_group(s), 1, "accumulate");
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct point *p = &s->campaign.point[i];
        uint64_t batch = 0;
        if (compares_layouts(s) && s->train.global_batch == 0 && !point_value(p, "global-batch"))
            TRY(choose_global_batch(&p->launch_global_batch, s, p));
        if (!chooses_parts || p->n_stages == 1 || point_value(p, "accumulate"))
            continue;
        TRY(worker_batch(&batch, s, p));
        p->launch_micro_batches = batch > 0 ? layout_n_micro_batches(batch, p->n_stages) : 0;
    }
out:
    return rc;
}

void sweep_announce_layouts(const struct sweep *s, FILE *to)
{
    if (s->left_out[0])
        fprintf(to, "gradmark compare: left out: %s\n", s->left_out);
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (p->launch_global_batch > 0 && (i == 0 || p->workload != p[-1].workload))
            fprintf(to, "gradmark compare: %s: every layout trains %llu samples a step; --global-batch N: others\n",
                    p->workload->module.name, (unsigned long long)p->launch_global_batch);
    }
}
