/* SPDX-License-Identifier: Apache-2.0 */
/* alpha_beta.c - see alpha_beta.h. */
#include "harness/bench/alpha_beta.h"

#include "harness/base/arena.h"
#include "harness/bench/series.h"

enum { TAG_PING_PONG = 0x50 };
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

struct game { /* of this rank with another */
    const struct alpha_beta_env *env;
    struct transport *transport;
    void *buffer; /* char[2 n_bytes]: sent, received; NULL: hollow */
    int peer;
    bool serves; /* sends first, and measures */
};

static enum rc answer(struct transport *t, struct xfer *rx, struct xfer *tx, int timeout_ms)
{
    enum rc rc;

    TRY(transport_recv(t, rx));
    TRY(transport_wait(t, rx, timeout_ms));
    TRY(transport_send(t, tx));
    TRY(transport_wait(t, tx, timeout_ms));
out:
    return rc;
}

/* *best_s: one way, by the fastest round of messages of n_bytes; of the rank that serves. */
static enum rc play(double *best_s, const struct game *g, size_t n_bytes)
{
    struct world *w = g->env->world;
    struct series series = series_begin(w);
    const int n_rounds = series.n_cold + rounds_count(w, n_bytes);
    enum rc rc = RC_OK;

    while (series.n_repeats < n_rounds) {
        struct xfer tx = { .peer = g->peer, .tag = TAG_PING_PONG, .ptr = g->buffer };
        struct xfer rx = { .peer = g->peer,
                           .tag = TAG_PING_PONG,
                           .ptr = g->buffer ? (char *)g->buffer + n_bytes : NULL };
        *(g->buffer ? &tx.n_bytes : &tx.n_hollow_bytes) = n_bytes;
        *(g->buffer ? &rx.n_bytes : &rx.n_hollow_bytes) = n_bytes;
        const uint64_t started_ns = world_now_ns(w);
        if (g->serves)
            TRY(transport_exchange(g->transport, &tx, &rx, g->env->timeout_ms));
        else
            TRY(answer(g->transport, &rx, &tx, g->env->timeout_ms));
        series_add(&series, w, started_ns);
    }
    if (g->serves) /* what comes to who answers may have come before it was awaited */
        *best_s = series_quantile_s(&series, 0) / 2;
out:
    return rc;
}

/* When the pair of rank and the next one plays: pairs of the same turn share no rank. */
static int turn_of(int rank, int n_ranks)
{
    return rank % 2 == 0 && rank == n_ranks - 1 ? 2 : rank % 2;
}

static enum rc play_with(struct alpha_beta *fit, const struct game *g)
{
    enum rc rc;

    TRY(play(&fit->alpha_s, g, sizeof(float)));
    TRY(play(&fit->message_s, g, fit->n_bytes));
out:
    return rc;
}

/* With the next rank, this one serving, and with the one before. A turn ends with a barrier: what a rank sent last is
 * not on the link any more when it plays with another. */
static enum rc play_both(struct alpha_beta *fit, const struct alpha_beta_env *env, struct transport *t, void *buffer)
{
    const int p = env->world->n_ranks, r = env->world->rank, before = (r + p - 1) % p;
    const struct game serve = { env, t, buffer, (r + 1) % p, true }, respond = { env, t, buffer, before, false };
    const int n_turns = p % 2 == 0 ? 2 : 3;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < n_turns; turn++) {
        if (turn_of(r, p) == turn)
            TRY(play_with(fit, &serve));
        if (turn_of(before, p) == turn)
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
    TRY(play_both(&fit, env, t, buffer)); /* nobody closes while a neighbour still sends: they end with a barrier */
    *out = fit;
out:
    transport_close(&t);
    arena_close(&arena);
    return rc;
}

double alpha_beta_step_s(const struct alpha_beta *fit, const struct wire_plan *plan)
{
    const double alpha_s = fit->alpha_s < fit->message_s ? fit->alpha_s : fit->message_s;
    const double extra_s = (fit->message_s - alpha_s) * ((double)plan->message_bytes / (double)fit->n_bytes);
    const double chain_s = plan->n_in_turn * (alpha_s + extra_s), link_s = plan->n_on_link * extra_s;

    return chain_s > link_s ? chain_s : link_s;
}
