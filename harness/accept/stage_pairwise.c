/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_pairwise.c - a tournament of all nodes (accept.S3): of every two the latency, and the rate in either direction.
 *
 * The first rank of each node plays for it, in a world of players alone, whose ranks are nodes. The others wait for the
 * end of each repeat, asleep.
 *
 * A rate is timed by its receiver, which asks for N_MESSAGES messages, and from what passes until all have come takes
 * the round trip off: the way of the question, and that of a first byte. So both readings are of one clock, and the
 * rate is that of the bytes alone.
 *
 * Rank 0 decides after each repeat which pairs are played again (blame_open_pairs); a round without any is not played.
 * Between two turns all players meet, so that nothing of the last one is on a link any more.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/judge.h"
#include "harness/accept/late.h"
#include "harness/accept/matches.h"
#include "harness/accept/stages.h"
#include "harness/base/arena.h"
#include "harness/bench/circle.h"
#include "harness/bench/ping_pong.h"
#include "harness/measure/sorted.h"

enum { LATENCY_BYTES = 4, LATENCY_ROUNDS = 20, N_MESSAGES = 2, N_BURSTS = 3, N_SIM_BURSTS = 1 };
/* A rate says nothing where its bytes take less than this part of the round trip that is taken off. */
#define LEAST_OF_ROUND_TRIP 0.1

struct match {            /* of this node with another, in one repeat; NaN: not measured */
    double bytes_per_s;   /* from the other one to this */
    double latency_s;     /* one way, as this one saw it */
    int n_late, n_rounds; /* late.h, of round trips that this one began */
};

struct play { /* of this rank; owned but for env */
    struct stage_env *env;
    struct world *players; /* NULL: this rank does not play */
    struct transport *transport;
    struct arena arena;
    char *buffer; /* NULL: messages are hollow */
    size_t message_bytes;
    int n_nodes, n_rounds;
    bool *is_open; /* [n_nodes][n_nodes]; the same on all players */
    int *turn;     /* [n_nodes]: of the round under way */
    int *kernel;   /* [n_nodes], and scratch behind it */
    struct matches matches;
    struct match *own; /* [n_nodes]: of this node with each */
    struct match *all; /* [n_nodes][n_nodes], rank 0 */
};

/* A message of a round trip has come to this node. */
static void lose_message(const void *play, int from)
{
    const struct play *p = play;

    inject_after_message(p->env->inject, p->env->world, from, p->players->rank);
}

static struct ping_pong game(const struct play *p, int other, bool serves)
{
    return (struct ping_pong){ .world = p->env->world,
                               .transport = p->transport,
                               .buffer = p->buffer,
                               .peer = { other },
                               .n_peers = 1,
                               .serves = serves,
                               .received = inject_has_losses(p->env->inject) ? lose_message : NULL,
                               .received_arg = p,
                               .timeout_ms = p->env->timeout_ms };
}

/* Half the median round trip, as this node saw it, and how many were late. Each one serves once, the lower one first.
 * In virtual time round trips are equal, unless messages get lost. */
static enum rc measure_latency(struct match *m, const struct play *p, int other)
{
    const bool are_equal = stage_is_virtual(p->env) && !inject_has_losses(p->env->inject);
    const int here = p->players->rank, n_rounds = are_equal ? SERIES_SIM_REPEATS : LATENCY_ROUNDS;
    struct series series, own = { .n_values = 0 };
    enum rc rc = RC_OK;

    for (int turn = 0; turn < 2; turn++) {
        const struct ping_pong g = game(p, other, (here < other) == (turn == 0));
        TRY(ping_pong_play(&series, &g, LATENCY_BYTES, n_rounds));
        if (g.serves)
            own = series;
    }
    const double median_s = series_quantile_s(&own, 0.5);
    m->latency_s = median_s / 2;
    m->n_rounds = own.n_values;
    m->n_late = 0;
    for (int i = 0; i < own.n_values; i++)
        m->n_late += is_late(own.value_s[i], median_s);
out:
    return rc;
}

/* *out: the rate at which the other one sends to this node, NaN where its bytes say nothing; with the delay of a slow
 * link, if that is injected. */
static enum rc receive_burst(double *out, const struct play *p, const struct ping_pong *g, double latency_s)
{
    struct world *w = p->env->world;
    const uint64_t round_trip_ns = (uint64_t)(2e9 * latency_s);
    uint64_t asked_ns;
    enum rc rc;

    *out = NAN;
    TRY(ping_pong_one_way(&asked_ns, g, p->message_bytes, N_MESSAGES));
    const uint64_t elapsed_ns = world_now_ns(w) - asked_ns;
    if (elapsed_ns <= round_trip_ns)
        goto out;
    inject_after_receive(p->env->inject, w, g->peer[0], p->players->rank, elapsed_ns - round_trip_ns);
    const double took_s = 1e-9 * (double)(world_now_ns(w) - asked_ns - round_trip_ns);
    if (took_s > LEAST_OF_ROUND_TRIP * 2 * latency_s)
        *out = (double)p->message_bytes * N_MESSAGES / took_s;
out:
    return rc;
}

/* The median of those that are not NaN; NaN: all are. */
static double median_known(double *rate, int n)
{
    size_t n_known = 0;

    for (int i = 0; i < n; i++)
        if (!isnan(rate[i]))
            rate[n_known++] = rate[i];
    sorted_make(rate, n_known);
    return n_known > 0 ? sorted_median(rate, n_known) : NAN;
}

/* One direction: this node receives where it serves, else it sends. In real time a message before the first burst opens
 * connections and windows, and the median of bursts forgets one that something held up. */
static enum rc measure_rate(struct match *m, const struct play *p, const struct ping_pong *g)
{
    const int n_bursts = stage_is_virtual(p->env) ? N_SIM_BURSTS : N_BURSTS;
    double rate[N_BURSTS];
    uint64_t asked_ns;
    enum rc rc = RC_OK;

    if (!stage_is_virtual(p->env))
        TRY(ping_pong_one_way(&asked_ns, g, p->message_bytes, 1));
    for (int i = 0; i < n_bursts; i++)
        if (g->serves)
            TRY(receive_burst(&rate[i], p, g, m->latency_s));
        else
            TRY(ping_pong_one_way(&asked_ns, g, p->message_bytes, N_MESSAGES));
    if (g->serves)
        m->bytes_per_s = median_known(rate, n_bursts);
out:
    return rc;
}

/* Both directions, one after the other. */
static enum rc measure_rates(struct match *m, const struct play *p, int other)
{
    const int here = p->players->rank;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < 2; turn++) {
        const struct ping_pong g = game(p, other, (here < other) == (turn == 0));
        TRY(measure_rate(m, p, &g));
    }
out:
    return rc;
}

static enum rc play_match(struct play *p, int other)
{
    const struct fleet *f = p->env->fleet;
    struct match *m = &p->own[other];
    enum rc rc;

    TRY(measure_latency(m, p, other));
    TRY(measure_rates(m, p, other));
out:
    return rc_prefix(rc, "pairwise, %s with %s: ", f->node[p->players->rank].name, f->node[other].name);
}

static void forget_matches(struct play *p)
{
    for (int i = 0; i < p->n_nodes; i++)
        p->own[i] = (struct match){ NAN, NAN, 0, 0 };
}

/* A fault that is to happen in the middle of the stage happens to a rank that is about to play: its opponent waits for
 * a message, and no longer than for one. */
static enum rc play_match_of(struct play *p, int repeat, int round)
{
    if (repeat == 0 && round >= p->n_rounds / 2)
        inject_now(p->env->inject, p->env->world, ACCEPT_PAIRWISE);
    return play_match(p, circle_opponent(p->n_nodes, round, p->players->rank));
}

/* All players meet behind each turn; *goes_on false: that was the last one. */
static enum rc play_round(struct play *p, int repeat, int round, bool *goes_on)
{
    const int here = p->players->rank, n_turns = match_turns(p->turn, &p->matches, round);
    const int n_least = p->env->criteria->least_repeats_count, n_planned = repeat < n_least ? n_least : repeat + 1;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < n_turns && *goes_on; turn++) {
        const double n_done = round + (turn + 1.0) / n_turns;
        if (p->turn[here] == turn)
            TRY(play_match_of(p, repeat, round));
        stage_progress(p->env, (repeat + n_done / p->n_rounds) / n_planned, "repeat %d; at least %d, round %d of %d",
                       repeat + 1, n_least, round + 1, p->n_rounds);
        TRY(stage_part_goes_on(p->env, p->players, true, goes_on));
    }
out:
    return rc;
}

/* A repeat as the players see it; *is_whole false: ended before its last turn. */
static enum rc play_rounds(struct play *p, int repeat, bool *is_whole)
{
    enum rc rc = RC_OK;

    *is_whole = true;
    for (int round = 0; round < p->n_rounds && *is_whole; round++)
        TRY(play_round(p, repeat, round, is_whole));
out:
    return rc;
}

/* Rank 0: repeat number `repeat` of the tournament := all[n_nodes][n_nodes]; matches that were not played are NaN. */
static void keep_matches(struct tournament *t, const struct match *all, int repeat)
{
    const int n = t->n_nodes;

    for (int to = 0; to < n; to++)
        for (int from = 0; from < n; from++) {
            const struct match *here = &all[to * n + from], *there = &all[from * n + to];
            *tournament_rate(t, repeat, from, to) = here->bytes_per_s;
            *tournament_latency(t, repeat, from, to) = (here->latency_s + there->latency_s) / 2;
            const int n_rounds = here->n_rounds + there->n_rounds;
            if (n_rounds > 0) {
                t->n_rounds = n_rounds; /* the same of all pairs */
                *tournament_late(t, repeat, from, to) = (double)(here->n_late + there->n_late) / n_rounds;
            }
        }
    t->n_repeats = repeat + 1;
}

/* What the players measured, to rank 0; and there, whether another repeat follows, of which pairs. */
static enum rc end_repeat(struct play *p, int repeat, bool *wants)
{
    const struct criteria *c = p->env->criteria;
    const struct blame_terms terms = judge_terms(c);
    struct tournament *t = p->env->out ? &p->env->out->tournament : NULL;
    const size_t n_row_bytes = (size_t)p->n_nodes * sizeof *p->own;
    int n_open = p->n_nodes * p->n_nodes;
    enum rc rc;

    TRY(world_gather(p->players, p->own, p->all, n_row_bytes));
    if (t) {
        keep_matches(t, p->all, repeat);
        if (t->n_repeats == c->least_repeats_count)
            TRY(blame_open_pairs(t, &terms, p->is_open, &n_open));
        *wants = t->n_repeats < c->most_repeats_count && n_open > 0;
    }
    TRY(world_broadcast(p->players, p->is_open, (size_t)p->n_nodes * (size_t)p->n_nodes * sizeof *p->is_open));
out:
    return rc;
}

static enum rc play_repeat(struct play *p, int repeat, bool *goes_on)
{
    bool wants = false, is_whole = true;
    enum rc rc = RC_OK;

    if (p->players) {
        forget_matches(p);
        TRY(play_rounds(p, repeat, &is_whole));
        TRY(end_repeat(p, repeat, &wants));
    } else if (repeat == 0) {
        inject_now(p->env->inject, p->env->world, ACCEPT_PAIRWISE);
    }
    TRY(stage_goes_on(p->env, wants && is_whole, goes_on));
out:
    return rc;
}

/* Nodes of one kernel get the number of the first of them. One of which the kernel is not known, as in virtual time,
 * has its own. */
static void number_kernels(int *kernel, const struct fleet *f)
{
    for (int i = 0; i < f->n_nodes; i++) {
        const char *name = f->node[i].kernel;
        kernel[i] = i;
        for (int k = 0; name[0] && k < i && kernel[i] == i; k++)
            if (strcmp(f->node[k].kernel, name) == 0)
                kernel[i] = k;
    }
}

static enum rc open_buffers(struct play *p)
{
    const size_t n = (size_t)p->n_nodes, n_elems = ((size_t)N_MESSAGES + 1) * p->message_bytes / sizeof(float) + 1;
    enum rc rc = RC_OK;

    p->is_open = malloc(n * n * sizeof *p->is_open);
    p->turn = calloc(n, sizeof *p->turn);
    p->kernel = calloc(2 * n, sizeof *p->kernel);
    p->own = calloc(n, sizeof *p->own);
    p->all = p->env->out ? calloc(n * n, sizeof *p->all) : NULL;
    if (!p->is_open || !p->turn || !p->kernel || !p->own || (p->env->out && !p->all))
        FAIL(RC_NOMEM, "no memory for a tournament of %d nodes", p->n_nodes);
    memset(p->is_open, 1, n * n * sizeof *p->is_open);
    number_kernels(p->kernel, p->env->fleet);
    p->matches = (struct matches){ p->n_nodes, p->is_open, p->kernel, p->kernel + n };
    if (!(stage_is_virtual(p->env) && p->env->transport->module.caps & TR_HOLLOW)) {
        TRY(arena_open(&p->arena, arena_floats_bytes(n_elems)));
        p->buffer = (char *)arena_floats(&p->arena, n_elems);
    }
    if (p->env->out)
        TRY(acceptance_add_tournament(p->env->out, p->env->criteria->most_repeats_count));
out:
    return rc;
}

static enum rc play_open(struct play *p, struct stage_env *env)
{
    const struct fleet *f = env->fleet;
    const int node = f->node_of_rank[env->world->rank];
    const bool plays = f->first_rank[node] == env->world->rank;
    const double n_bytes = env->criteria->pairwise_message_bytes;
    struct transport_plan plan;
    enum rc rc;

    *p = (struct play){ .env = env,
                        .n_nodes = f->n_nodes,
                        .n_rounds = circle_n_rounds(f->n_nodes),
                        .message_bytes = n_bytes > LATENCY_BYTES ? (size_t)n_bytes : LATENCY_BYTES };
    TRY(world_split(env->world, plays ? 0 : -1, node, &p->players));
    if (!plays)
        goto out;
    plan = (struct transport_plan){ .most_message_bytes = p->message_bytes,
                                    .most_messages = N_MESSAGES + 1,
                                    .silence_ms = env->timeout_ms / 2 };
    TRY(open_buffers(p));
    TRY(transport_open_planned(&p->transport, env->transport, p->players, &plan));
out:
    return rc;
}

static void play_close(struct play *p)
{
    transport_close(&p->transport);
    world_split_close(&p->players);
    arena_close(&p->arena);
    free(p->is_open);
    free(p->turn);
    free(p->kernel);
    free(p->own);
    free(p->all);
    *p = (struct play){ .env = NULL };
}

enum rc stage_pairwise(struct stage_env *env)
{
    struct play p = { .env = NULL };
    int n_repeats = 0;
    enum rc rc = RC_OK;

    if (env->fleet->n_nodes < 2) {
        stage_why(env, ACCEPT_PAIRWISE, "one node: there is no other one to exchange messages with");
        return RC_OK;
    }
    TRY(play_open(&p, env));
    for (bool goes_on = true; goes_on;)
        TRY(play_repeat(&p, n_repeats++, &goes_on));
    stage_why(env, ACCEPT_PAIRWISE, "%s", env->ended);
out:
    play_close(&p);
    return rc;
}
