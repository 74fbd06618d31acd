/* SPDX-License-Identifier: Apache-2.0 */
/* alpha_beta.c - see alpha_beta.h. */
#include "harness/bench/alpha_beta.h"

#include "harness/base/arena.h"
#include "harness/bench/series.h"

enum { TAG_EXCHANGE = 0x50 };
enum { MAX_EXCHANGES = 50, MIN_EXCHANGES = 2, MAX_MESSAGE_BYTES = 32 << 20, MAX_EXCHANGED_BYTES = 256 << 20 };

/* Depends on nothing that differs between ranks: a clock would let them leave at different times. */
static int exchanges_count(const struct world *w, size_t n_bytes)
{
    const size_t n_affordable = MAX_EXCHANGED_BYTES / n_bytes;
    const int n_most = n_affordable < MAX_EXCHANGES ? (int)n_affordable : MAX_EXCHANGES;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return SERIES_SIM_REPEATS;
    return n_most > MIN_EXCHANGES ? n_most : MIN_EXCHANGES;
}

/* Seconds of the fastest exchange of n_bytes. buffer char[2 n_bytes]: sent, received; NULL: hollow. */
static enum rc time_exchange(double *best_s, const struct alpha_beta_env *env, struct transport *t, void *buffer,
                             size_t n_bytes)
{
    const int p = env->world->n_ranks, r = env->world->rank, n_repeats = exchanges_count(env->world, n_bytes);
    struct series series = { 0 };
    enum rc rc = RC_OK;

    while (series.n_values < n_repeats) {
        struct xfer tx = { .peer = (r + 1) % p, .tag = TAG_EXCHANGE, .ptr = buffer };
        struct xfer rx = { .peer = (r + p - 1) % p,
                           .tag = TAG_EXCHANGE,
                           .ptr = buffer ? (char *)buffer + n_bytes : NULL };
        *(buffer ? &tx.n_bytes : &tx.n_hollow_bytes) = n_bytes;
        *(buffer ? &rx.n_bytes : &rx.n_hollow_bytes) = n_bytes;
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(transport_exchange(t, &tx, &rx, env->timeout_ms));
        series_add(&series, env->world, started_ns);
    }
    *best_s = series_quantile_s(&series, 0);
out:
    return rc;
}

enum rc alpha_beta_measure(struct alpha_beta *out, const struct alpha_beta_env *env)
{
    const bool is_long = !env->is_hollow && env->message_bytes > MAX_MESSAGE_BYTES;
    struct alpha_beta fit = { .n_bytes = is_long ? MAX_MESSAGE_BYTES : env->message_bytes };
    struct transport *t = NULL;
    struct arena arena = { 0 };
    float *buffer = NULL;
    enum rc rc;

    TRY(transport_open(&t, env->transport, env->world));
    if (!env->is_hollow) {
        const size_t n_elems = 2 * (fit.n_bytes / sizeof(float) + 1);
        TRY(arena_open(&arena, arena_floats_bytes(n_elems)));
        buffer = arena_floats(&arena, n_elems);
    }
    TRY(time_exchange(&fit.alpha_s, env, t, buffer, sizeof(float)));
    TRY(time_exchange(&fit.message_s, env, t, buffer, fit.n_bytes));
    TRY(world_barrier(env->world)); /* nobody closes while a neighbour still sends */
    *out = fit;
out:
    transport_close(&t);
    arena_close(&arena);
    return rc;
}

double alpha_beta_step_s(const struct alpha_beta *fit, const struct wire_plan *plan)
{
    const double measured_s = fit->message_s > fit->alpha_s ? fit->message_s - fit->alpha_s : 0;
    const double extra_s = measured_s * ((double)plan->message_bytes / (double)fit->n_bytes);
    const double chain_s = plan->n_in_turn * (fit->alpha_s + extra_s), link_s = plan->n_on_link * extra_s;

    return chain_s > link_s ? chain_s : link_s;
}
