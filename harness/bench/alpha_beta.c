/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alpha_beta.c - latency and rate of messages between neighbours, measured over the transport of a run; and from
 * these the least time of a step's messages; see alpha_beta.h.
 */
#include "harness/bench/alpha_beta.h"

#include "harness/base/arena.h"
#include "harness/bench/ping_pong.h"

enum { MAX_ROUNDS = 50, MIN_ROUNDS = 2, MAX_MESSAGE_BYTES = 32 << 20, MAX_MOVED_BYTES = 256 << 20 };

/* Depends on nothing that differs between ranks: a clock would let them leave at different times. */
static int rounds_count(const struct world *w, size_t n_bytes)
{
    const size_t n_affordable = MAX_MOVED_BYTES / n_bytes;
    const int n_most = n_affordable < MAX_ROUNDS ? (int)n_affordable : MAX_ROUNDS;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return SERIES_SIM_REPEATS;
    return n_most > MIN_ROUNDS ? n_most : MIN_ROUNDS;
}

/* *best_s: one way, by the fastest round of messages of n_bytes; of the rank that serves. */
static enum rc play(double *best_s, const struct ping_pong *g, size_t n_bytes)
{
    struct series series;
    enum rc rc;

    TRY(ping_pong_play(&series, g, n_bytes, rounds_count(g->world, n_bytes)));
    if (g->serves) /* what comes to who answers may have come before it was awaited */
        *best_s = series_quantile_s(&series, 0) / 2;
out:
    return rc;
}

/* When the pair of rank and the next one plays: pairs of the same turn share no rank. */
static int turn_of(int rank, int n_ranks, bool is_alone)
{
    if (is_alone)
        return rank;
    return rank % 2 == 0 && rank == n_ranks - 1 ? 2 : rank % 2;
}

static enum rc play_with(struct alpha_beta *fit, const struct ping_pong *g)
{
    enum rc rc;

    TRY(play(&fit->alpha_s, g, sizeof(float)));
    TRY(play(&fit->message_s, g, fit->n_bytes));
out:
    return rc;
}

/* With the next rank, this one serving, and with the one before. A turn ends with a barrier: what a rank sent last is
 * not on the link any more when it plays with another. */
static enum rc play_both(struct alpha_beta *fit, const struct alpha_beta_env *env, struct transport *t, char *buffer)
{
    const int p = env->n_players > 0 ? env->n_players : env->world->n_ranks, r = env->world->rank;
    const int before = (r + p - 1) % p;
    const struct ping_pong serve = { .world = env->world,
                                     .transport = t,
                                     .buffer = buffer,
                                     .peer = { (r + 1) % p },
                                     .n_peers = 1,
                                     .serves = true,
                                     .timeout_ms = env->timeout_ms };
    struct ping_pong respond = serve;
    const int n_turns = env->is_alone ? p : p % 2 == 0 ? 2 : 3;
    enum rc rc = RC_OK;

    respond.peer[0] = before;
    respond.serves = false;
    for (int turn = 0; turn < n_turns; turn++) {
        if (r < p && turn_of(r, p, env->is_alone) == turn)
            TRY(play_with(fit, &serve));
        if (r < p && turn_of(before, p, env->is_alone) == turn)
            TRY(play_with(fit, &respond));
        TRY(world_barrier(env->world));
    }
out:
    return rc;
}

enum rc alpha_beta_measure(struct alpha_beta *out, const struct alpha_beta_env *env)
{
    const bool is_long = !env->is_hollow && env->message_bytes > MAX_MESSAGE_BYTES;
    struct alpha_beta fit = { .n_bytes = is_long ? MAX_MESSAGE_BYTES : env->message_bytes };
    const struct transport_plan plan = { .most_message_bytes =
                                             fit.n_bytes > sizeof(float) ? fit.n_bytes : sizeof(float),
                                         .most_messages = MAX_ROUNDS,
                                         .silence_ms = env->timeout_ms / 2 };
    struct transport *t = NULL;
    struct arena arena = { 0 };
    float *buffer = NULL;
    enum rc rc;

    TRY(transport_open_planned(&t, env->transport, env->world, &plan));
    if (!env->is_hollow) {
        const size_t n_elems = 2 * (fit.n_bytes / sizeof(float) + 1);
        TRY(arena_open(&arena, arena_floats_bytes(n_elems)));
        buffer = arena_floats(&arena, n_elems);
    }
    TRY(play_both(&fit, env, t,
                  (char *)buffer)); /* nobody closes while a neighbour still sends: they end with a barrier */
    *out = fit;
out:
    transport_close(&t);
    arena_close(&arena);
    return rc;
}

struct alpha_beta_times alpha_beta_times(const struct alpha_beta *fit, const struct wire_plan *plan)
{
    const double alpha_s = fit->alpha_s < fit->message_s ? fit->alpha_s : fit->message_s;
    const double extra_s = (fit->message_s - alpha_s) * ((double)plan->message_bytes / (double)fit->n_bytes);

    return (struct alpha_beta_times){ .chain_s = plan->n_in_turn * (alpha_s + extra_s),
                                      .link_s = plan->n_on_link * extra_s,
                                      .last_s = plan->n_last * (alpha_s + extra_s) };
}

double alpha_beta_step_s(const struct alpha_beta *fit, const struct wire_plan *plan)
{
    const struct alpha_beta_times t = alpha_beta_times(fit, plan);

    return t.chain_s > t.link_s ? t.chain_s : t.link_s;
}
