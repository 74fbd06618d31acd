/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates.c - the costs of a collective on these machines: latency and rate of messages around the ring of all ranks,
 * rate of the memory, and a meeting of the ranks of a host; see rates.h.
 */
#include "allreduce/rates.h"

#include <math.h>
#include <stdlib.h>

#include "allreduce/host_parts.h"
#include "harness/base/arena.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* LONG_ELEMS: 1 MiB, in which latency is little on any link. Of each series the first round is not counted. */
enum { LONG_ELEMS = 1 << 18, N_SERIES = 3, N_SHORT = 20, N_LONG = 3, N_SUMS = 4, N_MEETINGS = 100, TAG_RATES = 0x6000 };

struct probe {
    const struct collective_env *env;
    int next, previous; /* ranks that messages go to, and come from */
    struct host_parts host;
    struct arena arena;
    float *sent, *received; /* [LONG_ELEMS]; NULL: hollow */
    uint32_t n_messages;
};

static struct world *world_of(const struct probe *p)
{
    return p->env->transport->world;
}

static double seconds_since(const struct probe *p, uint64_t started_ns)
{
    return 1e-9 * (double)(world_now_ns(world_of(p)) - started_ns);
}

static enum rc exchange(struct probe *p, size_t n_elems)
{
    const uint32_t tag = TAG_RATES + p->n_messages++;
    const size_t n_bytes = n_elems * sizeof(float);
    struct xfer tx = { .peer = p->next, .tag = tag, .ptr = p->sent, .n_bytes = n_bytes };
    struct xfer rx = { .peer = p->previous, .tag = tag, .ptr = p->received, .n_bytes = n_bytes };

    return transport_exchange(p->env->transport, &tx, &rx, p->env->timeout_ms);
}

/* Of n rounds: of one alone, a rank that has what it awaits before it waits takes nothing. The fastest of some series,
 * as others may use the machine. */
static enum rc time_exchange(double *out_s, struct probe *p, size_t n_elems, int n_rounds)
{
    enum rc rc;

    *out_s = INFINITY;
    TRY(exchange(p, n_elems));
    for (int k = 0; k < N_SERIES; k++) {
        const uint64_t started_ns = world_now_ns(world_of(p));
        for (int i = 0; i < n_rounds; i++)
            TRY(exchange(p, n_elems));
        *out_s = fmin(*out_s, seconds_since(p, started_ns) / n_rounds);
    }
out:
    return rc;
}

/* The first two, while the others wait: what they do then costs the two as little as it can. *out_s is left of others,
 * whose counts of messages stay alike. */
static enum rc time_two(double *out_s, struct probe *p)
{
    struct world *w = world_of(p);
    struct probe two = *p;
    enum rc rc;

    two.next = two.previous = 1 - w->rank;
    if (w->rank < 2)
        TRY(time_exchange(out_s, &two, 1, N_SHORT));
    p->n_messages += N_SERIES * N_SHORT + 1;
    TRY(world_barrier(w));
out:
    return rc;
}

/* out: of this rank, to be agreed on: alpha_s of all at once, other_s of two alone, or -1. */
static enum rc measure_messages(struct rates *out, struct probe *p)
{
    const size_t n_long =
        p->env->max_elems < LONG_ELEMS ? p->env->max_elems : LONG_ELEMS; /* what the transport takes */
    double short_s, long_s = 0;
    enum rc rc = RC_OK;

    if (world_of(p)->n_ranks == 1)
        return RC_OK;
    TRY(time_exchange(&short_s, p, 1, N_SHORT));
    out->alpha_s = short_s;
    if (world_of(p)->n_ranks > 2)
        TRY(time_two(&out->other_s, p));
    if (n_long < 2) /* all calls are as short */
        return RC_OK;
    TRY(time_exchange(&long_s, p, n_long, N_LONG));
    out->bytes_per_s = (double)((n_long - 1) * sizeof(float)) / fmax(long_s - short_s, 1e-9);
out:
    return rc;
}

/* Both arrays are read and written, as an allreduce of two ranks does. */
static enum rc measure_memory(struct rates *out, struct probe *p)
{
    const float *operand[] = { p->sent, p->received };
    float *result[] = { p->sent, p->received };
    const struct sum_arrays op = { operand, result, 2, 2, LONG_ELEMS };
    double fastest_s = INFINITY;
    enum rc rc = RC_OK;

    for (int i = 0; i <= N_SUMS; i++) {
        const uint64_t started_ns = world_now_ns(world_of(p));
        compute_sum_arrays(p->env->compute, &op);
        TRY(compute_sync(p->env->compute));
        fastest_s = fmin(fastest_s, seconds_since(p, started_ns));
    }
    out->memory_bytes_per_s = 4.0 * LONG_ELEMS * sizeof(float) / fmax(fastest_s, 1e-9);
out:
    return rc;
}

static enum rc measure_meetings(struct rates *out, struct probe *p)
{
    uint64_t started_ns;
    enum rc rc;

    TRY(host_parts_meet(&p->host));
    started_ns = world_now_ns(world_of(p));
    for (int i = 0; i < N_MEETINGS; i++)
        TRY(host_parts_meet(&p->host));
    out->meeting_s = seconds_since(p, started_ns) / N_MEETINGS;
out:
    return rc;
}

static enum rc measure(struct rates *out, const struct collective_env *env)
{
    const struct world *w = env->transport->world;
    struct probe p = { .env = env,
                       .next = (w->rank + 1) % w->n_ranks,
                       .previous = (w->rank + w->n_ranks - 1) % w->n_ranks };
    enum rc rc;

    out->other_s = -1;
    TRY(host_parts_open(&p.host, env, 1));
    TRY(arena_open(&p.arena, 2 * arena_floats_bytes(LONG_ELEMS)));
    p.sent = arena_floats(&p.arena, LONG_ELEMS);
    p.received = arena_floats(&p.arena, LONG_ELEMS);
    TRY(measure_messages(out, &p));
    TRY(measure_memory(out, &p));
    TRY(measure_meetings(out, &p));
out:
    arena_close(&p.arena);
    host_parts_close(&p.host);
    return rc;
}

/* *out := the slowest figure of any rank. */
static enum rc agree(struct rates *out, struct world *w)
{
    struct rates *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the rates of %d ranks", w->n_ranks);
    TRY(world_allgather(w, out, all, sizeof *out));
    for (int r = 0; r < w->n_ranks; r++) {
        out->alpha_s = fmax(out->alpha_s, all[r].alpha_s);
        out->other_s = fmax(out->other_s, all[r].other_s);
        out->bytes_per_s = fmin(out->bytes_per_s, all[r].bytes_per_s);
        out->memory_bytes_per_s = fmin(out->memory_bytes_per_s, all[r].memory_bytes_per_s);
        out->meeting_s = fmax(out->meeting_s, all[r].meeting_s);
        out->adds_meanwhile = out->adds_meanwhile && all[r].adds_meanwhile;
    }
out:
    free(all);
    return rc;
}

/* In virtual time. The link between hosts is the slowest of a ring. */
static struct rates rates_of_world(const struct world *w)
{
    const bool is_one_host = w->n_host_ranks == w->n_ranks;

    return (struct rates){ .alpha_s = is_one_host ? w->local_latency_s : w->link_latency_s,
                           .bytes_per_s = is_one_host ? w->local_bytes_per_s : w->link_bytes_per_s,
                           .memory_bytes_per_s = w->memory_bytes_per_s };
}

/* Cards move what crosses hosts; within a real host processors do. Where both kinds are, no formula knows which
 * messages are of which: a ring is not to be preferred there by what it adds meanwhile. */
static bool adds_meanwhile(const struct world *w)
{
    return w->n_host_ranks == 1 || (w->ops->module.caps & WORLD_VIRTUAL_TIME && w->n_host_ranks == w->n_ranks);
}

enum rc rates_measure(struct rates *out, const struct collective_env *env)
{
    struct world *w = env->transport->world;
    enum rc rc;

    *out = (struct rates){ .bytes_per_s = INFINITY, .memory_bytes_per_s = INFINITY };
    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        *out = rates_of_world(w);
    else
        TRY(measure(out, env));
    out->adds_meanwhile = adds_meanwhile(w);
    TRY(agree(out, w));
    if (!(w->ops->module.caps & WORLD_VIRTUAL_TIME))
        rates_of_messages(out, out->alpha_s, out->other_s < 0 ? NAN : out->other_s, w->n_ranks);
out:
    return rc;
}

/* Two messages are under way where two exchange, and n_ranks where all do. */
void rates_of_messages(struct rates *out, double all_s, double two_s, int n_ranks)
{
    out->alpha_s = all_s;
    out->other_s = 0;
    if (n_ranks <= 2 || !(two_s < all_s)) /* two alone are no faster, or are not known */
        return;
    out->other_s = fmin((all_s - two_s) / (n_ranks - 2), two_s);
    out->alpha_s = two_s - out->other_s;
}

double rates_time_s(const struct rates *r, const struct collective_cost *path, uint64_t n_others)
{
    const double together_s =
        fmin((double)path->beside_bytes / r->bytes_per_s, (double)path->beside_memory_bytes / r->memory_bytes_per_s);

    return (double)path->msgs * r->alpha_s + (double)n_others * r->other_s + (double)path->bytes / r->bytes_per_s +
           (double)path->memory_bytes / r->memory_bytes_per_s + (double)path->meetings * r->meeting_s -
           (r->adds_meanwhile ? together_s : 0);
}
