/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_plan.c - counted in messages where slices are even, else in bytes.
 *
 * Even slices: all messages count as the mean one. Others: the message of the plan is the mean, over chunks, of the
 * longest one of a chunk, so that the path of messages in turn is that of the longest ones, to the byte; and a link
 * carries as many of these as its bytes make.
 *
 * Servers beside workers (env->host): bytes between ranks of one host cross no card, and a card carries what its
 * workers and its servers send; one way is as the other, as every push has its reply.
 *   Workers that all wait for each other go at one rate: the slowest chain counts, and the busiest card. So do workers
 *   of ssp:S in the long run; in a run of n steps the slowest of them has done n - S when the first one ends, and the
 *   card has carried that part of it.
 *   Others go at rates of their own, and those beside the servers of most of their parameters at higher ones: the
 *   shortest chain counts; and of the cards of all hosts with servers, over which the messages of every worker go, the
 *   least that a worker sends over them together, for all workers, in equal shares.
 * With replicas forwards to heirs on other hosts are in both: of a chunk the longest of push, forward and answer
 * counts, or what of these crosses a card.
 */
#include "ps/wire_plan.h"

#include <math.h>
#include <stdlib.h>

#include "harness/world/world.h"
#include "ps/wire.h"

struct sums {                           /* one way, of one worker */
    size_t n_messages, n_most_messages; /* to all servers; to the one that gets most of them */
    double all_bytes, most_bytes;       /* likewise, with headers */
    double in_turn_bytes, least_bytes;  /* the longest of each chunk; the shortest of all */
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static size_t part_elems(const struct sync_env *env, size_t k, int s)
{
    return placement_part(env->placement, s, env->buckets->chunk[k]).n_elems;
}

static double message_bytes(size_t n_elems)
{
    return PS_HEADER_BYTES + (double)n_elems * sizeof(float);
}

/* What server s gets. */
static void add_server(struct sums *sums, const struct sync_env *env, int s)
{
    size_t n_own = 0;
    double own_bytes = 0;

    for (size_t k = 0; k < env->buckets->n_chunks; k++) {
        const size_t n_elems = part_elems(env, k, s);
        if (n_elems == 0)
            continue;
        const double n_bytes = message_bytes(n_elems);
        own_bytes += n_bytes;
        if (sums->n_messages + n_own++ == 0 || n_bytes < sums->least_bytes)
            sums->least_bytes = n_bytes;
    }
    sums->n_messages += n_own;
    sums->all_bytes += own_bytes;
    sums->n_most_messages = n_own > sums->n_most_messages ? n_own : sums->n_most_messages;
    sums->most_bytes = own_bytes > sums->most_bytes ? own_bytes : sums->most_bytes;
}

static void add_longest(struct sums *sums, const struct sync_env *env)
{
    for (size_t k = 0; k < env->buckets->n_chunks; k++) {
        size_t n_longest = 0;
        for (int s = 0; s < env->n_servers; s++)
            n_longest = part_elems(env, k, s) > n_longest ? part_elems(env, k, s) : n_longest;
        sums->in_turn_bytes += message_bytes(n_longest);
    }
}

/* Messages that a worker waits for, of a chunk: push, forward, reply. */
static double n_in_turn_of_chunk(const struct sync_env *env)
{
    return 2.0 + env->n_replicas;
}

/* Of n_chunks those that go one after the other: a chunk begins when that which began n_in_flight before it has ended.
 * So they go in so many rows, one of which is no shorter than the mean row, nor than one chunk. */
static double chunks_in_turn(const struct sync_env *env, size_t n_chunks)
{
    const double n_of_row = (double)n_chunks / (env->n_in_flight > 1 ? env->n_in_flight : 1);

    return n_chunks > 0 && n_of_row < 1 ? 1 : n_of_row;
}

static struct wire_plan plan_of_even(const struct sums *sums, const struct sync_env *env)
{
    const size_t n_elems = env->buckets->n_params / sums->n_messages;
    const size_t n_at_server = sums->n_most_messages * (size_t)env->n_workers * (1 + (size_t)env->n_replicas);
    const size_t n_busiest = n_at_server > sums->n_messages + 1 ? n_at_server : sums->n_messages + 1;

    return (struct wire_plan){ .message_bytes = PS_HEADER_BYTES + n_elems * sizeof(float),
                               .n_in_turn = n_in_turn_of_chunk(env) * chunks_in_turn(env, env->buckets->n_chunks),
                               .n_on_link = (double)n_busiest };
}

static struct wire_plan plan_of_bytes(const struct sums *sums, const struct sync_env *env)
{
    const double n_chunks = (double)env->buckets->n_chunks, n_bytes = sums->in_turn_bytes / n_chunks;
    const double server_bytes = sums->most_bytes * env->n_workers * (1 + env->n_replicas);
    const double worker_bytes = sums->all_bytes + sums->least_bytes;
    const double busiest_bytes = server_bytes > worker_bytes ? server_bytes : worker_bytes;

    return (struct wire_plan){ .message_bytes = (size_t)n_bytes,
                               .n_in_turn = n_in_turn_of_chunk(env) * chunks_in_turn(env, env->buckets->n_chunks),
                               .n_on_link = busiest_bytes / (double)(size_t)n_bytes };
}

/* --- servers beside workers --- */

struct chain { /* a worker's messages over cards that wait for one another, both ways */
    size_t n_chunks, n_messages;
    double n_bytes;
};

struct way { /* of a chunk: to a server, on to its heir, and back; what of it goes over cards */
    int host;
    size_t n_messages;
    double n_bytes;
};

struct beside_host { /* of a step */
    int n_workers;
    bool has_servers;
    double bytes;                                 /* one way: what a worker sends to its servers */
    double forward_sent_bytes, forward_got_bytes; /* of a worker's pushes, to and from servers of other hosts */
    struct way own;     /* of the chunk at hand: of a worker on it the longest by a server on it, likewise */
    struct chain chain; /* of a worker on it: of each chunk the longest way */
};

struct beside {
    int n_hosts;              /* the greatest number of one, and 1 */
    struct beside_host *host; /* [n_hosts] */
};

struct load { /* what a step has of cards */
    double link_bytes;
    struct chain chain;
};

/* Where pushes are shorter, or fewer, than answers, forwards are left out: with_traffic() takes all messages alike. */
static bool is_plain(const struct sync_env *env)
{
    return env->compression.kind == COMPRESSION_NONE && !periods_are_on(&env->periods);
}

static int standby_host(const struct sync_env *env, int s)
{
    return env->host[env->n_workers + (s + 1) % env->n_servers]; /* sync_env.n_replicas */
}

/* Does a forward of server s go over cards? */
static bool crosses(const struct sync_env *env, int s)
{
    return env->n_replicas > 0 && is_plain(env) && env->host[env->n_workers + s] != standby_host(env, s);
}

/* What server s has of a chunk: so many elements. *first: the longest way of a worker that is on no server's host,
 * *second: of those by servers of other hosts than that one's. */
static void add_server_beside(struct beside *b, const struct sync_env *env, int s, size_t n_elems, struct way *first,
                              struct way *second)
{
    const double n_bytes = message_bytes(n_elems), forward_bytes = crosses(env, s) ? n_bytes : 0;
    const int number = env->host[env->n_workers + s];
    struct beside_host *host = &b->host[number];
    const size_t n_messages = 2 + (size_t)crosses(env, s);
    const struct way way = { number, n_messages, (double)n_messages * n_bytes };

    host->bytes += n_bytes;
    host->forward_sent_bytes += forward_bytes;
    b->host[standby_host(env, s)].forward_got_bytes += forward_bytes;
    if (forward_bytes > host->own.n_bytes)
        host->own = (struct way){ number, 1, forward_bytes };
    if (way.n_bytes > first->n_bytes) {
        *second = number != first->host ? *first : *second;
        *first = way;
    } else if (number != first->host && way.n_bytes > second->n_bytes)
        *second = way;
}

static void add_chunk(struct beside *b, const struct sync_env *env, size_t k)
{
    struct way first = { .host = -1 }, second = { .host = -1 };

    for (int h = 0; h < b->n_hosts; h++)
        b->host[h].own = (struct way){ .host = h };
    for (int s = 0; s < env->n_servers; s++)
        if (part_elems(env, k, s) > 0)
            add_server_beside(b, env, s, part_elems(env, k, s), &first, &second);
    for (int h = 0; h < b->n_hosts; h++) {
        struct beside_host *host = &b->host[h];
        const struct way *other = h == first.host ? &second : &first;
        const struct way *longest = host->own.n_bytes > other->n_bytes ? &host->own : other;
        host->chain.n_chunks += longest->n_messages > 0;
        host->chain.n_messages += longest->n_messages;
        host->chain.n_bytes += longest->n_bytes;
    }
}

static bool beside_open(struct beside *b, const struct sync_env *env)
{
    b->n_hosts = 1;
    for (int r = 0; r < env->n_workers + env->n_servers; r++)
        b->n_hosts = env->host[r] >= b->n_hosts ? env->host[r] + 1 : b->n_hosts;
    b->host = calloc((size_t)b->n_hosts, sizeof *b->host);
    if (!b->host)
        return false;
    for (int w = 0; w < env->n_workers; w++)
        b->host[env->host[w]].n_workers++;
    for (int s = 0; s < env->n_servers; s++)
        b->host[env->host[env->n_workers + s]].has_servers = true;
    for (size_t k = 0; k < env->buckets->n_chunks; k++)
        add_chunk(b, env, k);
    return true;
}

/* Of workers at one rate: the busiest card, and the slowest chain. */
static struct load most_load(const struct beside *b, const struct sync_env *env, double all_bytes)
{
    struct load most = { 0 };

    for (int i = 0; i < b->n_hosts; i++) {
        const struct beside_host *h = &b->host[i];
        const double pushed_bytes = h->n_workers * (all_bytes - h->bytes);
        const double replied_bytes = (env->n_workers - h->n_workers) * h->bytes;
        const double forward_bytes = env->n_workers * larger(h->forward_sent_bytes, h->forward_got_bytes);
        most.link_bytes = larger(most.link_bytes, pushed_bytes + replied_bytes + forward_bytes);
        if (h->n_workers > 0 && h->chain.n_bytes > most.chain.n_bytes)
            most.chain = h->chain;
    }
    return most;
}

/* Of workers at their own rates. Over the cards of hosts with servers, one way, goes what a worker gets of them, and
 * what it pushes from one of them, and what they forward. */
static struct load least_load(const struct beside *b, const struct sync_env *env, double all_bytes)
{
    struct load least = { 2 * all_bytes, { .n_bytes = HUGE_VAL } };
    double forward_bytes = 0;
    int n_cards = 0;

    for (int i = 0; i < b->n_hosts; i++) {
        const struct beside_host *h = &b->host[i];
        const double remote_bytes = all_bytes - h->bytes, sent_bytes = (h->has_servers ? 2 : 1) * remote_bytes;
        n_cards += h->has_servers;
        forward_bytes += h->forward_sent_bytes;
        if (h->n_workers == 0)
            continue;
        least.link_bytes = sent_bytes < least.link_bytes ? sent_bytes : least.link_bytes;
        least.chain = h->chain.n_bytes < least.chain.n_bytes ? h->chain : least.chain;
    }
    least.link_bytes = (least.link_bytes + forward_bytes) * (double)env->n_workers / n_cards;
    return least;
}

/* The larger of what workers at one rate have of the steps that all do, and of what those at their own rates have. */
static struct load ssp_load(const struct beside *b, const struct sync_env *env, double all_bytes)
{
    const double n_steps = (double)env->n_steps, n_ahead = env->consistency.bound_count;
    const double part = n_ahead < n_steps ? (n_steps - n_ahead) / n_steps : 0;
    const struct load most = most_load(b, env, all_bytes);
    struct load load = least_load(b, env, all_bytes);

    if (part * most.link_bytes > load.link_bytes)
        load.link_bytes = part * most.link_bytes;
    return load;
}

static struct load load_of(const struct beside *b, const struct sync_env *env, double all_bytes)
{
    if (consistency_bounds_lead(&env->consistency))
        return ssp_load(b, env, all_bytes);
    return consistency_waits_for_all(&env->consistency) ? most_load(b, env, all_bytes) : least_load(b, env, all_bytes);
}

/* Without memory for it: zeros, as where nothing is sent, and so no bound by the wire. */
static struct wire_plan plan_beside(const struct sums *sums, const struct sync_env *env)
{
    const double mean_bytes = sums->all_bytes / (double)sums->n_messages;
    struct beside b = { 0 };

    if (!beside_open(&b, env))
        return (struct wire_plan){ 0 };
    const struct load load = load_of(&b, env, sums->all_bytes);
    const size_t n_bytes =
        (size_t)(load.chain.n_messages > 0 ? load.chain.n_bytes / (double)load.chain.n_messages : mean_bytes);
    free(b.host);
    const double n_of_chunk = load.chain.n_chunks > 0 ? (double)load.chain.n_messages / (double)load.chain.n_chunks : 0;
    return (struct wire_plan){ .message_bytes = n_bytes,
                               .n_in_turn = n_of_chunk * chunks_in_turn(env, load.chain.n_chunks),
                               .n_on_link = load.link_bytes / (double)n_bytes };
}

/* What of a message with so many bytes a push carries, in which the gradient is compressed. */
static double push_bytes(double reply_bytes, const struct compression *c)
{
    const double n_elems = (reply_bytes - PS_HEADER_BYTES) / sizeof(float);
    const double elem_bytes = c->kind == COMPRESSION_TOPK ? 8 * c->ratio : (double)wire_elem_bytes(compression_wire(c));

    return PS_HEADER_BYTES + n_elems * elem_bytes;
}

struct step_traffic { /* of a step in the mean, of a message that is whole_bytes long where everything is sent */
    double exchanges; /* parts of steps that exchange something: a request and an answer */
    double request_bytes, answer_bytes, forward_bytes;
};

static struct step_traffic traffic_of(const struct sync_env *env, double whole_bytes)
{
    const struct period_counts n =
        periods_count(&env->periods, env->n_steps_before, env->n_steps > 0 ? env->n_steps : 1);
    const double n_steps = env->n_steps > 0 ? (double)env->n_steps : 1;
    const double pushes = (double)n.n_pushes / n_steps, pulls = (double)n.n_pulls / n_steps;
    const double exchanges = pushes + pulls - (double)n.n_both / n_steps;

    return (struct step_traffic){
        .exchanges = exchanges,
        .request_bytes = pushes * push_bytes(whole_bytes, &env->compression) + (exchanges - pushes) * PS_HEADER_BYTES,
        .forward_bytes = env->n_replicas * pushes * push_bytes(whole_bytes, &env->compression),
        .answer_bytes = pulls * whole_bytes + (exchanges - pulls) * PS_HEADER_BYTES
    };
}

/* Of requests, forwards and answers the mean. One way, the link of a server carries the more of requests and answers,
 * and as many forwards; the card of a host, beside workers, at least as much as both ways have in the mean. */
static struct wire_plan with_traffic(struct wire_plan plan, const struct sync_env *env)
{
    const double whole_bytes = (double)plan.message_bytes;

    if (is_plain(env) || plan.message_bytes == 0)
        return plan;
    const struct step_traffic t = traffic_of(env, whole_bytes);
    const double forward_bytes = env->host ? 0 : t.forward_bytes;
    const double n_ways = env->host ? 1 : 1 + env->n_replicas; /* of messages one way: what the plan counts */
    const double mean_bytes = (t.request_bytes + forward_bytes + t.answer_bytes) / (1 + n_ways);
    const double larger_bytes = t.request_bytes > t.answer_bytes ? t.request_bytes : t.answer_bytes;
    const double most_bytes = (larger_bytes + forward_bytes) / n_ways;
    plan.message_bytes = (size_t)(mean_bytes / t.exchanges);
    plan.n_in_turn *= t.exchanges;
    plan.n_on_link *= (env->host ? mean_bytes : most_bytes) / (double)plan.message_bytes;
    return plan;
}

static struct wire_plan full_plan(const struct sync_env *env)
{
    struct sums sums = { 0 };

    for (int s = 0; s < env->n_servers; s++)
        add_server(&sums, env, s);
    add_longest(&sums, env);
    if (sums.n_messages == 0)
        return (struct wire_plan){ 0 };
    if (env->host)
        return plan_beside(&sums, env);
    return env->placement->opts.kind == PLACEMENT_SPLIT ? plan_of_even(&sums, env) : plan_of_bytes(&sums, env);
}

struct wire_plan ps_wire_plan(const struct sync_env *env)
{
    return with_traffic(full_plan(env), env);
}

uint64_t ps_full_bytes(const struct sync_env *env)
{
    const int own = env->world->rank - env->n_workers; /* below 0: a worker, which sends to all servers */
    uint64_t n_bytes = 0;

    for (int i = own < 0 ? 0 : own; i < (own < 0 ? env->n_servers : own + 1); i++)
        for (size_t k = 0; k < env->buckets->n_chunks; k++) {
            const size_t n_elems = placement_part(env->placement, i, env->buckets->chunk[k]).n_elems;
            n_bytes += n_elems > 0 ? PS_HEADER_BYTES + n_elems * sizeof(float) : 0;
        }
    return n_bytes;
}
