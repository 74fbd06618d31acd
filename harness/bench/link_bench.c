/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_bench.c - times of messages within a host and between hosts, pair by pair, over the transport of a run; see
 * link_bench.h.
 */
#include "harness/bench/link_bench.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/bench/ping_pong.h"
#include "harness/measure/sorted.h"
#include "harness/world/share.h"

enum {
    MAX_ROUNDS = 20,
    MIN_ROUNDS = 3,
    MAX_MOVED_BYTES = 32 << 20,
    LONGEST = LINK_N_SIZES - 1,
    MIN_SHARING_RANKS = 4,
    MIN_RING_HOSTS = 3
};

struct bench { /* of this rank, while it measures */
    const struct link_bench_env *env;
    struct pairing pairing;
    int *host; /* [n_ranks]; owned, as the next three are */
    struct transport *transport;
    struct arena arena;
    char *buffer; /* NULL: hollow */
};

static bool is_virtual(const struct world *w)
{
    return w->ops->module.caps & WORLD_VIRTUAL_TIME;
}

/* The same on all ranks: a clock would let them leave at different times. */
static int rounds_count(const struct world *w, size_t n_bytes)
{
    const size_t n_affordable = MAX_MOVED_BYTES / n_bytes;

    if (is_virtual(w))
        return SERIES_SIM_REPEATS;
    return n_affordable < MIN_ROUNDS ? MIN_ROUNDS : n_affordable < MAX_ROUNDS ? (int)n_affordable : MAX_ROUNDS;
}

static struct ping_pong game(const struct bench *b, int peer, bool serves)
{
    return (struct ping_pong){ .world = b->env->world,
                               .transport = b->transport,
                               .buffer = b->buffer,
                               .peer = { peer },
                               .n_peers = 1,
                               .serves = serves,
                               .timeout_ms = b->env->timeout_ms };
}

/* All sizes, all bursts, and both ways at once, with one peer; out is of who serves. */
static enum rc play_pair(struct pair_times *out, const struct ping_pong *g)
{
    struct series series;
    enum rc rc = RC_OK;

    for (int i = 0; i < LINK_N_SIZES; i++) {
        const size_t n_bytes = link_size_bytes(i);
        TRY(ping_pong_play(&series, g, n_bytes, rounds_count(g->world, n_bytes)));
        out->low_s[i] = series_quantile_s(&series, 0.25) / 2;
        out->median_s[i] = series_quantile_s(&series, 0.5) / 2;
        out->high_s[i] = series_quantile_s(&series, 0.75) / 2;
    }
    for (int i = 0; i < LINK_N_BURSTS; i++) {
        const size_t n_bytes = link_size_bytes(0);
        TRY(ping_pong_burst(&series, g, n_bytes, link_burst_messages(i), rounds_count(g->world, n_bytes)));
        out->burst_s[i] = series_quantile_s(&series, 0.5);
    }
    const size_t longest_bytes = link_size_bytes(LONGEST);
    TRY(ping_pong_exchange(&out->both_s, g, longest_bytes, rounds_count(g->world, longest_bytes)));
out:
    return rc;
}

/* own[n_turns] := what this rank measured in each turn; from -1: nothing. */
static enum rc play_turns(struct pair_times *own, const struct bench *b, enum link_class of)
{
    const int r = b->env->world->rank, n_turns = pairing_n_turns(&b->pairing, of);
    enum rc rc = RC_OK;

    for (int turn = 0; turn < n_turns; turn++) {
        const int peer = pairing_peer(&b->pairing, of, turn, r);
        own[turn].from = -1;
        if (peer >= 0) {
            const struct ping_pong g = game(b, peer, r < peer);
            TRY(play_pair(&own[turn], &g));
            own[turn].from = g.serves ? r : -1;
            own[turn].to = peer;
        }
        TRY(world_barrier(b->env->world)); /* nothing of the last turn is on a link any more */
    }
out:
    return rc;
}

/* pair[n]: those that were measured to the front; returns how many. */
static int keep_measured(struct pair_times *pair, int n)
{
    int n_kept = 0;

    for (int i = 0; i < n; i++)
        if (pair[i].from >= 0)
            pair[n_kept++] = pair[i];
    return n_kept;
}

static enum rc measure_class(struct link_fit *out, const struct bench *b, enum link_class of)
{
    struct world *w = b->env->world;
    const size_t n_turns = (size_t)pairing_n_turns(&b->pairing, of);
    struct pair_times *own = NULL, *all = NULL;
    enum rc rc = RC_OK;

    if (n_turns == 0)
        return RC_OK;
    own = calloc(n_turns, sizeof *own);
    all = w->rank == 0 ? calloc(n_turns * (size_t)w->n_ranks, sizeof *all) : NULL;
    if (!own || (w->rank == 0 && !all))
        FAIL(RC_NOMEM, "no memory for the times of %zu turns of %d ranks", n_turns, w->n_ranks);
    TRY(play_turns(own, b, of));
    TRY(world_gather(w, own, all, n_turns * sizeof *own));
    if (all)
        TRY(link_fit_of(out, all, keep_measured(all, (int)n_turns * w->n_ranks)));
out:
    free(all);
    free(own);
    return rc;
}

/* The first ranks of all hosts, each to that of the next host and from that of the one before; *mean_s of those. */
static enum rc play_ring(double *mean_s, const struct bench *b)
{
    struct world *w = b->env->world;
    const int n_hosts = b->pairing.n_hosts, here = b->pairing.host[w->rank];
    const size_t n_bytes = link_size_bytes(LONGEST);
    struct ping_pong g = game(b, pairing_host_rank(&b->pairing, (here + 1) % n_hosts, 0), true);
    enum rc rc = RC_OK;

    g.peer[1] = pairing_host_rank(&b->pairing, (here + n_hosts - 1) % n_hosts, 0);
    g.n_peers = 2;
    if (pairing_host_rank(&b->pairing, here, 0) == w->rank)
        TRY(ping_pong_exchange(mean_s, &g, n_bytes, rounds_count(w, n_bytes)));
    TRY(world_barrier(w));
out:
    return rc;
}

/* Of two hosts a ring says what their pair did, and is not played. */
static enum rc measure_ring(struct link_fit *fit, const struct bench *b)
{
    struct world *w = b->env->world;
    double own_s = 0, *all_s = NULL;
    size_t n = 0;
    enum rc rc;

    if (b->pairing.n_hosts < MIN_RING_HOSTS) {
        fit->both_waits = b->env->transport->module.caps & TR_PAIRS_WAIT;
        return RC_OK;
    }
    TRY(play_ring(&own_s, b));
    all_s = calloc((size_t)w->n_ranks, sizeof *all_s);
    if (!all_s)
        FAIL(RC_NOMEM, "no memory for the times of %d ranks", w->n_ranks);
    TRY(world_gather(w, &own_s, all_s, sizeof own_s));
    if (w->rank > 0)
        goto out;
    for (int r = 0; r < w->n_ranks; r++)
        if (all_s[r] > 0)
            all_s[n++] = all_s[r];
    sorted_make(all_s, n);
    fit->both_ratio = sorted_median(all_s, n) / fit->median_s[LONGEST];
    fit->n_ring_hosts = (int)n;
out:
    free(all_s);
    return rc;
}

/* *one_way_s: of the longest message; of a rank that serves. */
static enum rc play_longest(double *one_way_s, const struct ping_pong *g)
{
    const size_t n_bytes = link_size_bytes(LONGEST);
    struct series series;
    enum rc rc;

    TRY(ping_pong_play(&series, g, n_bytes, rounds_count(g->world, n_bytes)));
    if (g->serves)
        *one_way_s = series_quantile_s(&series, 0.5) / 2;
out:
    return rc;
}

/* The ranks of rank 0's host, by their place on it: 0 with 1; then each even one with the next; then 0 with 1 and 2. */
static enum rc play_sharing(struct local_sharing *own, const struct bench *b)
{
    struct world *w = b->env->world;
    const int here = b->pairing.host[w->rank], n = pairing_n_host_ranks(&b->pairing, here) / 2 * 2;
    const bool plays = here == b->pairing.host[0];
    int index = 0;
    enum rc rc = RC_OK;

    while (pairing_host_rank(&b->pairing, here, index) != w->rank)
        index++;
    struct ping_pong g = game(b, pairing_host_rank(&b->pairing, here, index ^ 1), index % 2 == 0);
    if (plays && index < 2)
        TRY(play_longest(&own->one_s, &g));
    TRY(world_barrier(w));
    if (plays && index < n)
        TRY(play_longest(&own->pairs_s, &g));
    TRY(world_barrier(w));
    g.peer[0] = pairing_host_rank(&b->pairing, here, index == 0 ? 1 : 0);
    g.peer[1] = pairing_host_rank(&b->pairing, here, 2);
    g.n_peers = index == 0 ? 2 : 1;
    g.serves = index == 0;
    if (plays && index <= 2)
        TRY(play_longest(&own->fan_s, &g));
    TRY(world_barrier(w));
out:
    return rc;
}

/* out of rank 0: its own times, and the median over those that played at once. */
static enum rc measure_sharing(struct local_sharing *out, const struct bench *b)
{
    struct world *w = b->env->world;
    struct local_sharing own = { 0 }, *all = NULL;
    double *pairs_s = NULL;
    enum rc rc = RC_OK;

    if (pairing_n_host_ranks(&b->pairing, b->pairing.host[0]) < MIN_SHARING_RANKS)
        return RC_OK;
    all = calloc((size_t)w->n_ranks, sizeof *all);
    pairs_s = calloc((size_t)w->n_ranks, sizeof *pairs_s);
    if (!all || !pairs_s)
        FAIL(RC_NOMEM, "no memory for the times of %d ranks", w->n_ranks);
    TRY(play_sharing(&own, b));
    TRY(world_gather(w, &own, all, sizeof own));
    if (w->rank > 0)
        goto out;
    for (int r = 0; r < w->n_ranks; r++)
        if (all[r].pairs_s > 0)
            pairs_s[own.n_pairs++] = all[r].pairs_s;
    sorted_make(pairs_s, (size_t)own.n_pairs);
    own.pairs_s = sorted_median(pairs_s, (size_t)own.n_pairs);
    *out = own;
out:
    free(pairs_s);
    free(all);
    return rc;
}

/* Where every rank is, and what its messages need. */
static enum rc bench_open(struct bench *b, struct link_bench *out, const struct link_bench_env *env)
{
    const size_t longest_bytes = link_size_bytes(LONGEST);
    const struct transport_plan plan = { .most_message_bytes = longest_bytes,
                                         .most_messages = PING_PONG_MAX_BURST + 1,
                                         .silence_ms = env->timeout_ms / 2 };
    struct world *group = NULL;
    int host = 0;
    enum rc rc;

    b->env = env;
    b->host = calloc((size_t)env->world->n_ranks, sizeof *b->host);
    if (!b->host)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", env->world->n_ranks);
    TRY(world_host_group(env->world, &group, &host, &out->n_hosts));
    TRY(world_allgather(env->world, &host, b->host, sizeof host));
    b->pairing = (struct pairing){ b->host, env->world->n_ranks, out->n_hosts };
    for (int h = 0; h < out->n_hosts; h++) {
        const int n = pairing_n_host_ranks(&b->pairing, h);
        out->n_most_host_ranks = n > out->n_most_host_ranks ? n : out->n_most_host_ranks;
    }
    TRY(transport_open_planned(&b->transport, env->transport, env->world, &plan));
    if (!(is_virtual(env->world) && env->transport->module.caps & TR_HOLLOW)) {
        const size_t n_elems = (1 + PING_PONG_MAX_PEERS) * longest_bytes / sizeof(float);
        TRY(arena_open(&b->arena, arena_floats_bytes(n_elems)));
        b->buffer = (char *)arena_floats(&b->arena, n_elems);
    }
out:
    world_split_close(&group);
    return rc;
}

static void bench_close(struct bench *b)
{
    transport_close(&b->transport);
    arena_close(&b->arena);
    free(b->host);
    b->host = NULL;
}

enum rc link_bench_measure(struct link_bench *out, const struct link_bench_env *env)
{
    struct link_bench result = { 0 };
    struct bench b = { 0 };
    enum rc rc;

    TRY(bench_open(&b, &result, env));
    for (int of = 0; of < LINK_N_CLASSES; of++)
        TRY(measure_class(&result.link[of], &b, (enum link_class)of));
    TRY(measure_ring(&result.link[LINK_BETWEEN], &b));
    TRY(measure_sharing(&result.sharing, &b));
    TRY(world_barrier(env->world)); /* nobody closes while another still sends */
    *out = result;
out:
    bench_close(&b);
    return rc;
}
