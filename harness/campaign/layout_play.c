/* SPDX-License-Identifier: Apache-2.0 */
/* layout_play.c - a step of a layout, played; see layout_play.h. */
#include "harness/campaign/layout_play.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * shared links of layout_play.h.
 */

struct count { /* of one link */
    double bytes_per_s;
    uint32_t *n_messages; /* [n_kinds] */
};

struct counts {
    struct layout_links *links;
    const struct topology *topology;
    struct layout layout;
    size_t first[TOPOLOGY_N_KINDS]; /* link i of that kind is count[first + i] */
    struct count *count;
    size_t n;
    uint32_t *n_messages; /* of all of them */
};

static enum rc counts_open(struct counts *c, size_t n_kinds)
{
    const struct topology *t = c->topology;
    const size_t n_cards = (size_t)t->n_slots * (size_t)t->cluster.n_nics_per_host;
    const size_t n_others = (size_t)(t->n_ranks > t->n_groups ? t->n_ranks : t->n_groups);

    for (int kind = 0; kind < TOPOLOGY_N_KINDS; kind++) {
        c->first[kind] = c->n;
        c->n += n_cards > n_others ? n_cards : n_others;
    }
    c->count = calloc(c->n, sizeof *c->count);
    c->n_messages = calloc(c->n * n_kinds, sizeof *c->n_messages);
    if (!c->count || !c->n_messages)
        return rc_raise(RC_NOMEM, "no memory for the links of %d ranks", t->n_ranks);
    for (size_t i = 0; i < c->n; i++)
        c->count[i].n_messages = c->n_messages + i * n_kinds;
    return RC_OK;
}

/* A message of this kind, from rank to rank. */
static void add(struct counts *c, int stage, enum layout_crossing crossing, int from, int to)
{
    struct topology_link link[TOPOLOGY_MAX_PATH];
    const int n = topology_path(c->topology, from, to, link);
    const size_t kind = layout_kind(stage, crossing);
    double latency_s = 2 * topology_message_s(c->topology, from, to);
    double *limit = &c->links->limit_bytes_per_s[kind];

    for (int i = 0; i < n; i++) {
        struct count *shared = &c->count[c->first[link[i].kind] + (size_t)link[i].index];
        latency_s += link[i].latency_s;
        *limit = fmin(*limit, link[i].bytes_per_s);
        if (!link[i].is_shared)
            continue;
        shared->bytes_per_s = link[i].bytes_per_s;
        shared->n_messages[kind]++;
    }
    c->links->latency_s[kind] = fmax(c->links->latency_s[kind], latency_s);
}

/* L1 */
static int rank_of(const struct counts *c, int worker, int stage)
{
    return worker % c->layout.n_workers * c->layout.n_stages + stage;
}

/* What a rank sends. */
static void add_rank(struct counts *c, int worker, int stage)
{
    const int W = c->layout.n_workers, S = c->layout.n_stages, K = c->layout.n_shards, group = worker / K * K;
    const int own = rank_of(c, worker, stage);

    if (stage + 1 < S)
        add(c, stage, CROSSES_VALUE, own, own + 1);
    if (stage > 0)
        add(c, stage, CROSSES_GRAD, own, own - 1);
    for (int other = group; other < group + K; other++)
        if (other != worker)
            add(c, stage, CROSSES_GROUP, own, rank_of(c, other, stage));
    if (W > 1)
        add(c, stage, CROSSES_COMMON, own, rank_of(c, worker + 1, stage));
    if (W > K)
        add(c, stage, CROSSES_OWN, own, rank_of(c, worker + K, stage));
}

/* Is crossed by the same. */
static bool is_same(const struct count *a, const struct count *b, size_t n_kinds)
{
    return a->bytes_per_s == b->bytes_per_s &&
           memcmp(a->n_messages, b->n_messages, n_kinds * sizeof *a->n_messages) == 0;
}

/* One of those that are the same, without what nothing crosses. Returns how many are left. */
static size_t keep_different(struct count *count, size_t n, size_t n_kinds)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        if (!(count[i].bytes_per_s > 0))
            continue;
        while (k < n_kept && !is_same(&count[k], &count[i], n_kinds))
            k++;
        if (k == n_kept)
            count[n_kept++] = count[i];
    }
    return n_kept;
}

static enum rc keep(struct layout_links *l, const struct count *count, size_t n)
{
    size_t n_crossed = 0;

    l->link = calloc(n + 1, sizeof *l->link);
    l->crossed = calloc(n * l->n_kinds + 1, sizeof *l->crossed);
    if (!l->link || !l->crossed)
        return rc_raise(RC_NOMEM, "no memory for %zu links", n);
    for (size_t i = 0; i < n; i++) {
        l->link[i] = (struct shared_link){ .bytes_per_s = count[i].bytes_per_s, .first = n_crossed };
        for (size_t kind = 0; kind < l->n_kinds; kind++)
            if (count[i].n_messages[kind] > 0)
                l->crossed[n_crossed++] = (struct link_crossed){ kind, count[i].n_messages[kind] };
        l->link[i].n = n_crossed - l->link[i].first;
    }
    l->n_links = n;
    return RC_OK;
}

enum rc layout_links_open(struct layout_links *out, const struct topology *t, const struct layout *l)
{
    struct layout_links links = { .n_kinds = (size_t)l->n_stages * N_LAYOUT_CROSSINGS };
    struct counts c = { .links = &links, .topology = t, .layout = *l };
    enum rc rc;

    links.latency_s = calloc(links.n_kinds, sizeof *links.latency_s);
    links.limit_bytes_per_s = calloc(links.n_kinds, sizeof *links.limit_bytes_per_s);
    if (!links.latency_s || !links.limit_bytes_per_s)
        FAIL(RC_NOMEM, "no memory for the messages of %d stages", l->n_stages);
    for (size_t kind = 0; kind < links.n_kinds; kind++)
        links.limit_bytes_per_s[kind] = INFINITY;
    TRY(counts_open(&c, links.n_kinds));
    for (int worker = 0; worker < l->n_workers; worker++)
        for (int stage = 0; stage < l->n_stages; stage++)
            add_rank(&c, worker, stage);
    TRY(keep(&links, c.count, keep_different(c.count, c.n, links.n_kinds)));
    *out = links;
    links = (struct layout_links){ 0 };
out:
    free(c.count);
    free(c.n_messages);
    layout_links_close(&links);
    return rc;
}

void layout_links_close(struct layout_links *l)
{
    free(l->latency_s);
    free(l->limit_bytes_per_s);
    free(l->link);
    free(l->crossed);
    *l = (struct layout_links){ 0 };
}

void layout_links_share(const struct layout_links *l, double *bytes_per_s, const bool *crosses)
{
    memcpy(bytes_per_s, l->limit_bytes_per_s, l->n_kinds * sizeof *bytes_per_s);
    for (size_t i = 0; i < l->n_links; i++) {
        const struct link_crossed *crossed = l->crossed + l->link[i].first;
        double n_messages = 0;
        for (size_t k = 0; k < l->link[i].n; k++)
            n_messages += crosses[crossed[k].kind] ? crossed[k].n_messages : 0;
        for (size_t k = 0; k < l->link[i].n; k++) /* L3 */
            bytes_per_s[crossed[k].kind] = fmin(bytes_per_s[crossed[k].kind], l->link[i].bytes_per_s / n_messages);
    }
}

/*
 * the step time of a layout, from the compute times of its stages and the messages between its ranks;
 * see layout_play.h.
 */

/* Steps that are played to find the period, and those of them before it: by then no stage waits for the first fill. */
enum { N_STEPS = 4, N_BEFORE = 2 };

/* Of what a stage does: the first two of each micro-batch and way, the others of a step. */
enum part { PART_COMPUTE, PART_GROUP, PART_OWN, PART_COMMON, PART_UPDATE };

enum state {
    STATE_READY,    /* to begin its next part, once what that waits for has arrived */
    STATE_BUSY,     /* until until_s */
    STATE_CROSSING, /* until what it sends has crossed */
};

struct place {     /* of a stage */
    size_t n_done; /* actions, of all steps */
    enum part part;
    enum state state;
    double until_s;
    enum layout_crossing waits_for;
};

struct flow {
    bool is_on_its_way;
    double left_bytes;
    size_t n_queued, n_arrived; /* of tensors: which wait for this one, and which were there before it */
};

struct play {
    const struct played_stage *stage;
    const struct layout_links *links;
    enum stage_schedule schedule;
    int n_stages;
    size_t n; /* micro-batches of a step */
    double now_s;
    struct place *place;
    struct flow *flow;          /* [n_kinds] */
    double *arrived_s;          /* [n_stages][N_STAGE_WAYS][N_STEPS n]: at that stage; NaN: not yet */
    double *bytes_per_s;        /* [n_kinds] */
    bool *crosses;              /* [n_kinds] */
    double step_end_s[N_STEPS]; /* of stage 0 */
};

/* micro_batch: counted on from step to step. */
static double *arrival(const struct play *p, int stage, enum stage_way way, size_t micro_batch)
{
    return &p->arrived_s[((size_t)stage * N_STAGE_WAYS + way) * N_STEPS * p->n + micro_batch];
}

static struct stage_action action_of(const struct play *p, int stage)
{
    return stage_action_at(p->schedule, stage, p->n_stages, p->n, p->place[stage].n_done % (2 * p->n));
}

static bool is_last_action(const struct play *p, int stage)
{
    return p->place[stage].n_done % (2 * p->n) + 1 == 2 * p->n;
}

/* --- what is sent --- */

static void begin_to_cross(struct play *p, int stage, enum layout_crossing crossing, double n_bytes)
{
    struct flow *f = &p->flow[layout_kind(stage, crossing)];

    f->is_on_its_way = true;
    f->left_bytes = n_bytes;
}

/* One behind the other. */
static void send_tensor(struct play *p, int stage, enum layout_crossing crossing)
{
    const struct played_stage *s = &p->stage[stage];
    struct flow *f = &p->flow[layout_kind(stage, crossing)];

    if (f->is_on_its_way)
        f->n_queued++;
    else
        begin_to_cross(p, stage, crossing, crossing == CROSSES_VALUE ? s->value.n_bytes : s->grad.n_bytes);
}

static void tensor_is_there(struct play *p, int stage, enum layout_crossing crossing)
{
    struct flow *f = &p->flow[layout_kind(stage, crossing)];
    const bool is_value = crossing == CROSSES_VALUE;

    *arrival(p, is_value ? stage + 1 : stage - 1, is_value ? WAY_VALUE : WAY_GRAD, f->n_arrived++) =
        p->now_s + p->links->latency_s[layout_kind(stage, crossing)];
    if (f->n_queued == 0)
        return;
    f->n_queued--;
    send_tensor(p, stage, crossing);
}

static bool overlaps(const struct played_stage *s, enum layout_crossing crossing)
{
    return s->overlaps && (crossing == CROSSES_OWN || (crossing == CROSSES_COMMON && !s->is_one_bucket));
}

/* Beside the last backward; where the ring of the shard has crossed, or there is none. */
static void begin_common(struct play *p, int stage)
{
    const struct played_stage *s = &p->stage[stage];

    if (overlaps(s, CROSSES_COMMON) && s->common.n_messages > 0)
        begin_to_cross(p, stage, CROSSES_COMMON, s->common.n_bytes);
}

/* Of a step's rings that of the shard goes first. */
static void begin_rings(struct play *p, int stage)
{
    const struct played_stage *s = &p->stage[stage];

    if (overlaps(s, CROSSES_OWN) && s->own.n_messages > 0)
        begin_to_cross(p, stage, CROSSES_OWN, s->own.n_bytes);
    else
        begin_common(p, stage);
}

/* What the stage waits for until latencies have passed, too. */
static void has_crossed(struct play *p, int stage, const struct sent *sent)
{
    struct place *own = &p->place[stage];

    own->state = STATE_BUSY;
    own->until_s = p->now_s + sent->n_messages * p->links->latency_s[layout_kind(stage, own->waits_for)];
}

/* --- what stages do --- */

/* What the part sends, to wait for; it may be nothing. */
static const struct sent *sent_of(const struct play *p, int stage)
{
    const struct played_stage *s = &p->stage[stage];

    switch (p->place[stage].part) {
    case PART_GROUP:
        return action_of(p, stage).is_backward ? &s->scatter : &s->gather;
    case PART_COMMON:
        return &s->common;
    default:
        return &s->own;
    }
}

static void be_busy(struct play *p, int stage, double seconds)
{
    p->place[stage].state = STATE_BUSY;
    p->place[stage].until_s = p->now_s + seconds;
}

/* Has what the next action waits for arrived? Then begin it. */
static bool begin_action(struct play *p, int stage)
{
    const struct stage_action a = action_of(p, stage);
    const struct played_stage *s = &p->stage[stage];
    const size_t micro_batch = p->place[stage].n_done / (2 * p->n) * p->n + a.micro_batch;
    const bool waits = a.is_backward ? stage + 1 < p->n_stages : stage > 0;

    if (waits && !(*arrival(p, stage, a.is_backward ? WAY_GRAD : WAY_VALUE, micro_batch) <= p->now_s))
        return false;
    be_busy(p, stage, a.is_backward ? s->backward_s : s->forward_s);
    if (is_last_action(p, stage))
        begin_rings(p, stage);
    return true;
}

static void begin_sending(struct play *p, int stage)
{
    static const enum layout_crossing of_part[] = {
        [PART_GROUP] = CROSSES_GROUP, [PART_COMMON] = CROSSES_COMMON, [PART_OWN] = CROSSES_OWN
    };
    const struct sent *sent = sent_of(p, stage);
    struct place *own = &p->place[stage];
    const bool has_begun = overlaps(&p->stage[stage], of_part[own->part]);

    own->waits_for = of_part[own->part];
    own->state = STATE_CROSSING;
    if (sent->n_messages > 0 && !has_begun)
        begin_to_cross(p, stage, own->waits_for, sent->n_bytes);
    if (!p->flow[layout_kind(stage, own->waits_for)].is_on_its_way)
        has_crossed(p, stage, sent);
}

/* Returns whether it could begin. */
static bool begin_part(struct play *p, int stage)
{
    switch (p->place[stage].part) {
    case PART_COMPUTE:
        return begin_action(p, stage);
    case PART_UPDATE:
        be_busy(p, stage, p->stage[stage].update_s);
        return true;
    default:
        begin_sending(p, stage);
        return true;
    }
}

/* The action's output goes on. */
static void end_action(struct play *p, int stage)
{
    struct place *own = &p->place[stage];
    const bool is_backward = action_of(p, stage).is_backward;

    if (is_backward && stage > 0)
        send_tensor(p, stage, CROSSES_GRAD);
    if (!is_backward && stage + 1 < p->n_stages)
        send_tensor(p, stage, CROSSES_VALUE);
    own->part = is_last_action(p, stage) ? PART_OWN : PART_COMPUTE;
    own->n_done += own->part == PART_COMPUTE; /* the last one counts when its step ends */
}

static void end_part(struct play *p, int stage)
{
    struct place *own = &p->place[stage];

    own->state = STATE_READY;
    if (own->part == PART_GROUP) {
        end_action(p, stage);
    } else if (own->part == PART_UPDATE) {
        if (stage == 0)
            p->step_end_s[own->n_done / (2 * p->n)] = p->now_s;
        own->n_done++;
        own->part = PART_COMPUTE;
    } else {
        own->part++;
    }
}

/* All that happens now. */
static void act(struct play *p)
{
    const size_t n_actions = N_STEPS * 2 * p->n;
    bool something = true;

    while (something) {
        something = false;
        for (int i = 0; i < p->n_stages; i++) {
            struct place *own = &p->place[i];
            while (own->state != STATE_CROSSING && own->n_done < n_actions) {
                if (own->state == STATE_BUSY && own->until_s > p->now_s)
                    break;
                if (own->state == STATE_BUSY)
                    end_part(p, i);
                else if (!begin_part(p, i))
                    break;
                something = true;
            }
        }
    }
}

/* --- time --- */

/* When something is there, or done, behind now; infinite: never. */
static double next_of_stages_s(const struct play *p)
{
    double next_s = INFINITY;

    for (int i = 0; i < p->n_stages; i++) {
        const struct place *own = &p->place[i];
        if (own->state == STATE_BUSY)
            next_s = fmin(next_s, own->until_s);
        if (own->state != STATE_READY || own->n_done >= N_STEPS * 2 * p->n)
            continue;
        const struct stage_action a = action_of(p, i);
        const size_t micro_batch = own->n_done / (2 * p->n) * p->n + a.micro_batch;
        const double at_s = *arrival(p, i, a.is_backward ? WAY_GRAD : WAY_VALUE, micro_batch);
        next_s = isnan(at_s) ? next_s : fmin(next_s, at_s);
    }
    return next_s;
}

static void end_flow(struct play *p, size_t kind)
{
    const int stage = (int)(kind / N_LAYOUT_CROSSINGS);
    const enum layout_crossing crossing = (enum layout_crossing)(kind % N_LAYOUT_CROSSINGS);

    p->flow[kind].is_on_its_way = false;
    if (crossing == CROSSES_OWN)
        begin_common(p, stage);
    if (crossing == CROSSES_VALUE || crossing == CROSSES_GRAD)
        tensor_is_there(p, stage, crossing);
    else if (p->place[stage].state == STATE_CROSSING && p->place[stage].waits_for == crossing)
        has_crossed(p, stage, sent_of(p, stage));
}

/* Returns false where nothing is left to be done. */
static bool go_on(struct play *p)
{
    double next_s = next_of_stages_s(p), *end_s = p->bytes_per_s; /* of each flow, in the place of its rate */

    for (size_t k = 0; k < p->links->n_kinds; k++)
        p->crosses[k] = p->flow[k].is_on_its_way;
    layout_links_share(p->links, p->bytes_per_s, p->crosses);
    for (size_t k = 0; k < p->links->n_kinds; k++)
        if (p->crosses[k])
            next_s = fmin(next_s, p->now_s + p->flow[k].left_bytes / p->bytes_per_s[k]);
    if (isinf(next_s))
        return false;
    const double passed_s = next_s - p->now_s;
    for (size_t k = 0; k < p->links->n_kinds; k++) {
        const double rate = p->bytes_per_s[k], left_bytes = p->flow[k].left_bytes;
        end_s[k] = p->crosses[k] ? p->now_s + left_bytes / rate : INFINITY;
        p->flow[k].left_bytes -= p->crosses[k] ? rate * passed_s : 0;
    }
    p->now_s = next_s;
    for (size_t k = 0; k < p->links->n_kinds; k++)
        if (end_s[k] <= next_s)
            end_flow(p, k);
    return true;
}

static enum rc prepare(struct play *p)
{
    const size_t n_arrivals = (size_t)p->n_stages * N_STAGE_WAYS * N_STEPS * p->n;

    p->place = calloc((size_t)p->n_stages, sizeof *p->place);
    p->flow = calloc(p->links->n_kinds, sizeof *p->flow);
    p->arrived_s = malloc(n_arrivals * sizeof *p->arrived_s);
    p->bytes_per_s = calloc(p->links->n_kinds, sizeof *p->bytes_per_s);
    p->crosses = calloc(p->links->n_kinds, sizeof *p->crosses);
    if (!p->place || !p->flow || !p->arrived_s || !p->bytes_per_s || !p->crosses)
        return rc_raise(RC_NOMEM, "no memory for %zu micro-batches in %d stages", p->n, p->n_stages);
    for (size_t i = 0; i < n_arrivals; i++)
        p->arrived_s[i] = NAN;
    return RC_OK;
}

enum rc layout_play(double *period_s, const struct played_stage *stage, const struct layout_links *links,
                    enum stage_schedule schedule, int n_stages, size_t n_micro_batches)
{
    struct play p = {
        .stage = stage, .links = links, .schedule = schedule, .n_stages = n_stages, .n = n_micro_batches
    };
    enum rc rc;

    TRY(prepare(&p));
    do
        act(&p);
    while (go_on(&p));
    *period_s = (p.step_end_s[N_STEPS - 1] - p.step_end_s[N_BEFORE - 1]) / (N_STEPS - N_BEFORE);
out:
    free(p.place);
    free(p.flow);
    free(p.arrived_s);
    free(p.bytes_per_s);
    free(p.crosses);
    return rc;
}
