/* SPDX-License-Identifier: Apache-2.0 */
/* memory_suite.c - every row of the table in exchange_memory.h; who reads what in shared memory; the broadcast. */
#include "harness/exchange/suite/memory_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/suite/fake_device.h"
#include "harness/exchange/exchange.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

enum { N_SMALL = 1003, N_LARGE = 600 * 1000, SLOW_NS = 10 * 1000 * 1000 };

static const struct sync_mode mode_none = { .module = { .name = "none", .caps = 0 } };
static const struct sync_mode mode_sum = { .module = { .name = "sum", .caps = MODE_EXCHANGES | MODE_SYNCHRONOUS } };
static const struct sync_mode mode_servers = { .module = { .name = "servers", .caps = MODE_EXCHANGES | MODE_SERVERS } };

struct memory_case {
    struct world *w;
    const struct memory_impl *impl;
    const char *name;
    int n_workers, n_failures;
    bool quiet;
};

static bool expect(struct memory_case *c, bool ok, const char *what)
{
    if (ok)
        return true;
    if (c->n_failures++ == 0 && !c->quiet)
        fprintf(stderr, "%s, rank %d of %d: %s: %s (%s)\n", c->w->ops->module.name, c->w->rank, c->w->n_ranks, c->name,
                what, rc_message());
    return false;
}

static bool is_worker(const struct memory_case *c)
{
    return c->w->rank < c->n_workers;
}

/* Of element i of an array of the rank; never 0. */
static float value(int rank, size_t i, int what)
{
    return (float)(1 + i % 1000) + 2000.0f * (float)rank + 100000.0f * (float)what;
}

static void fill(const struct exchange_memory *m, float *array, int rank, int what)
{
    float *host = malloc(m->env.n_params * sizeof *host);

    if (!host)
        abort();
    for (size_t i = 0; i < m->env.n_params; i++)
        host[i] = value(rank, i, what);
    compute_put(m->env.compute, array, host, m->env.n_params * sizeof *host);
    free(host);
}

/* rank < 0: zeros. */
static bool holds(const struct exchange_memory *m, const float *array, int rank, int what)
{
    float *host = malloc(m->env.n_params * sizeof *host);
    bool equal = true;

    if (!host)
        abort();
    compute_get(m->env.compute, host, array, m->env.n_params * sizeof *host);
    for (size_t i = 0; i < m->env.n_params; i++)
        equal = equal && host[i] == (rank < 0 ? 0.0f : value(rank, i, what));
    free(host);
    return equal;
}

static bool host_holds(const float *host, size_t n, int rank, int what)
{
    for (size_t i = 0; i < n; i++)
        if (host[i] != (rank < 0 ? 0.0f : value(rank, i, what)))
            return false;
    return true;
}

/* --- the rows of the table --- */

struct row {
    const char *name;
    const struct compute_backend *compute;
    const struct sync_mode *mode;
    bool wants_shared, forward_only;
    enum memory_kind kind;
    bool copies_grad, copies_param;
};

static const struct row rows[] = {
    { "cpu", &compute_cpu, &mode_sum, false, false, MEMORY_PRIVATE, false, false },
    { "cpu, servers", &compute_cpu, &mode_servers, false, false, MEMORY_PRIVATE, false, false },
    { "cpu, forward only", &compute_cpu, &mode_none, false, true, MEMORY_PRIVATE, false, false },
    { "device, nothing exchanged", &compute_fake_device, &mode_none, false, false, MEMORY_DEVICE, false, false },
    { "device", &compute_fake_device, &mode_sum, false, false, MEMORY_DEVICE, true, false },
    { "device, servers", &compute_fake_device, &mode_servers, false, false, MEMORY_DEVICE, true, true },
    { "hollow", &compute_hollow, &mode_sum, false, false, MEMORY_NONE, false, false },
    { "shared", &compute_cpu, &mode_sum, true, false, MEMORY_SHARED, false, false },
    { "shared, servers", &compute_cpu, &mode_servers, true, false, MEMORY_SHARED, false, false },
    { "shared, forward only", &compute_cpu, &mode_none, true, true, MEMORY_SHARED, false, false },
};

static bool is_aligned(const float *array)
{
    return (uintptr_t)array % 64 == 0;
}

static bool apart(const float *a, const float *b, size_t n)
{
    return !a || !b || (uintptr_t)a + n * sizeof *a <= (uintptr_t)b || (uintptr_t)b + n * sizeof *b <= (uintptr_t)a;
}

/* exchange.N2: the one array, or a copy, or none. */
static void check_copy(struct memory_case *c, const struct exchange_memory *m, const float *host, const float *own,
                       bool is_copy)
{
    if (is_copy)
        expect(c, host && host != own && apart(host, own, m->env.n_params) && host_holds(host, m->env.n_params, -1, 0),
               "N2 there is a copy, of zeros");
    else
        expect(c, m->env.compute->ops->host_memory ? host == own : !host, "N2 no copy that need not be");
}

static void check_arrays(struct memory_case *c, const struct row *row, struct exchange_memory *m)
{
    const size_t n = m->env.n_params;

    expect(c, m->kind == row->kind, "the kind is the row's");
    expect(c, (m->param != NULL) == (row->kind != MEMORY_NONE), "there are parameters where there is memory");
    expect(c, (m->grad != NULL) == (row->kind != MEMORY_NONE && !row->forward_only), "there are gradients to learn by");
    check_copy(c, m, m->host_grad, m->grad, row->copies_grad);
    check_copy(c, m, m->host_param, m->param, row->copies_param);
    expect(c, apart(m->param, m->grad, n) && apart(m->host_param, m->host_grad, n), "N1 no array overlaps another");
    expect(c, is_aligned(m->param) && is_aligned(m->grad), "N1 arrays start on 64 bytes");
    if (m->param)
        expect(c, holds(m, m->param, -1, 0), "N1 parameters begin as zeros");
    if (m->grad) {
        expect(c, holds(m, m->grad, -1, 0), "N1 gradients begin as zeros");
        fill(m, m->grad, c->w->rank, 1);
    }
    if (m->param) {
        fill(m, m->param, c->w->rank, 0);
        expect(c, holds(m, m->param, c->w->rank, 0), "parameters are memory of the compute");
    }
    c->impl->close_gradients(m);
    expect(c, !m->grad && !m->host_grad && !m->shared_grad, "the gradients are closed");
    if (m->param)
        expect(c, holds(m, m->param, c->w->rank, 0), "the parameters are not");
}

static void check_facts(struct memory_case *c, const struct exchange_memory *m)
{
    struct exchange_memory_facts facts;
    const bool is_process = c->w->ops->module.caps & WORLD_LAUNCHED;

    exchange_memory_facts(&facts, m);
    expect(c, facts.kind == m->kind, "facts: the kind");
    expect(c, facts.has_pages == (m->kind == MEMORY_PRIVATE || m->kind == MEMORY_SHARED), "facts: pages of the host's");
    expect(c, facts.pages == PAGES_SMALL || m->env.n_params == N_LARGE, "facts: small arrays are in small pages");
    if (m->kind != MEMORY_SHARED)
        expect(c, !facts.way[0] && !facts.reason[0], "facts: no way to what is not shared");
    else
        expect(c, strcmp(facts.way, is_process ? "memfd" : "address space") == 0 ? !facts.reason[0] : facts.reason[0],
               "facts: the way to it, with the reason where it is not the first");
}

static void check_row(struct memory_case *c, const struct row *row, size_t n_params)
{
    const struct compute_env env = { .n_threads = 1 };
    struct exchange_memory m = { 0 };
    struct compute *compute = NULL;
    enum rc rc;

    c->name = row->name;
    TRY(compute_open(&compute, is_worker(c) || !row->compute->touches_memory ? row->compute : &compute_cpu, &env));
    const struct exchange_memory_env memory = { .world = c->w,
                                                .compute = compute,
                                                .mode = row->mode,
                                                .n_workers = c->n_workers,
                                                .n_params = n_params,
                                                .wants_shared = row->wants_shared,
                                                .forward_only = row->forward_only };
    TRY(c->impl->open(&m, &memory));
    if (is_worker(c)) {
        check_facts(c, &m);
        check_arrays(c, row, &m);
    } else {
        expect(c, m.kind == MEMORY_NONE && !m.param && !m.grad && !m.shared_param, "a server has none");
    }
    TRY(world_barrier(c->w));
out:
    expect(c, rc == RC_OK, "no call fails");
    exchange_memory_close(&m);
    exchange_memory_close(&m);
    expect(c, !m.param && !m.host && !m.leaders && m.kind == MEMORY_NONE, "close leaves nothing");
    compute_close(&compute);
}

/* Of a mutant the first failure of any rank says all. Collective. */
static bool is_decided(struct memory_case *c)
{
    int *all = c->quiet ? calloc((size_t)c->w->n_ranks, sizeof *all) : NULL;
    bool any = false;

    if (all && world_allgather(c->w, &c->n_failures, all, sizeof *all) != RC_OK)
        abort();
    for (int r = 0; all && r < c->w->n_ranks; r++)
        any = any || all[r] > 0;
    free(all);
    return any;
}

/* --- shared memory --- */

/* Numbers of the world, by ranks of the host's group. */
static int *worlds_numbers(struct memory_case *c, const struct exchange_memory *m)
{
    int *number = calloc((size_t)m->host->n_ranks, sizeof *number);

    if (!number)
        abort();
    expect(c, world_allgather(m->host, &c->w->rank, number, sizeof *number) == RC_OK, "who is on this host");
    return number;
}

/* exchange.N3, N5: each writes its arrays, and all read those of all of their host, also after their owner has closed
 * them. */
static void check_peers(struct memory_case *c, struct exchange_memory *m)
{
    const struct share *p = m->shared_param, *g = m->shared_grad;
    int *number = worlds_numbers(c, m);

    if (!expect(c, p && g, "N3 shares are there"))
        goto out;
    fill(m, m->param, c->w->rank, 0);
    fill(m, m->grad, c->w->rank, 1);
    expect(c, world_barrier(m->host) == RC_OK, "barrier");
    for (int r = 0; r < m->host->n_ranks; r++) {
        expect(c, host_holds(p->peer[r], m->env.n_params, number[r], 0), "N3 parameters of a worker of this host");
        expect(c, host_holds(g->peer[r], m->env.n_params, number[r], 1), "N3 gradients of a worker of this host");
    }
    expect(c, world_barrier(m->host) == RC_OK, "barrier");
    if (m->host->rank == 0)
        c->impl->close_gradients(m);
    expect(c, world_barrier(m->host) == RC_OK, "barrier");
    if (m->host->rank > 0)
        expect(c, host_holds(g->peer[0], m->env.n_params, number[0], 1), "N5 what a peer closed is still there");
out:
    free(number);
}

/* Whoever takes for others what comes from other hosts: worker 0 is the first of them. */
static void check_leaders(struct memory_case *c, const struct exchange_memory *m)
{
    const bool leads = !is_worker(c) || m->host->rank == 0, in_sim = c->w->ops->module.caps & WORLD_VIRTUAL_TIME;
    const int n_before = in_sim ? c->w->rank / RANKS_PER_SIM_HOST * RANKS_PER_SIM_HOST : 0;
    const int n_left = c->n_workers - n_before,
              n_here = in_sim && n_left > RANKS_PER_SIM_HOST ? RANKS_PER_SIM_HOST : n_left;

    expect(c, (m->leaders != NULL) == leads, "leaders: first workers of hosts, and servers");
    if (m->leaders)
        expect(c, (m->leaders->rank == 0) == (c->w->rank == 0), "leaders: worker 0 is rank 0 of them");
    if (is_worker(c))
        expect(c, m->host->n_ranks == n_here && m->host->rank == c->w->rank - n_before, "the workers of a host");
}

/* cpu, but slow to put, the slower the lower the rank: who does not wait for it is found. */
static struct world *slow_world(struct compute *c)
{
    return c->env.arg;
}

static void slow_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    if (slow_world(c)->rank > 0)
        world_pause(slow_world(c), SLOW_NS * (uint64_t)(slow_world(c)->n_ranks - slow_world(c)->rank));
    compute_cpu.put(c, to, host, n_bytes);
}

static void check_broadcast(struct memory_case *c, struct exchange_memory *m)
{
    enum { N_SLICE = 100, AT = 37 };
    const struct segment segment[] = { { 0, AT }, { AT, N_SLICE }, { AT + N_SLICE, m->env.n_params - AT - N_SLICE } };
    struct placement placement = { 0 };
    float slice[N_SLICE] = { 0 }, first[AT] = { 0 };
    bool equal =
        placement_open(&placement, &(struct placement_opts){ PLACEMENT_ROUND_ROBIN, 0 }, segment, 3, 3) == RC_OK;
    const struct initial_array a = { .n_elems = m->env.n_params,
                                     .compute = m->env.compute,
                                     .memory = m->param,
                                     .placement = &placement,
                                     .slice = { { 1, is_worker(c) ? NULL : slice },
                                                { 0, is_worker(c) ? NULL : first } } };

    if (m->param)
        fill(m, m->param, c->w->rank + 10, 3); /* of no use but on rank 0 */
    expect(c, c->impl->broadcast(m, &a) == RC_OK, "broadcast");
    if (m->param) {
        expect(c, holds(m, m->param, 10, 3), "rank 0's parameters are everywhere");
        fill(m, m->param, c->w->rank, 4); /* at once, as the first step may */
    }
    for (size_t i = 0; !is_worker(c) && i < N_SLICE; i++)
        equal = equal && slice[i] == value(10, AT + i, 3);
    for (size_t i = 0; !is_worker(c) && i < AT; i++)
        equal = equal && first[i] == value(10, i, 3);
    expect(c, equal, "a server's slices are rank 0's");
    placement_close(&placement);
}

static void check_shared(struct memory_case *c, size_t n_params)
{
    struct compute_backend slow = compute_cpu;
    const struct compute_env env = { .n_threads = 1, .arg = c->w };
    struct exchange_memory m = { 0 };
    struct compute *compute = NULL;
    enum rc rc;

    c->name = "shared memory";
    slow.put = slow_put;
    TRY(compute_open(&compute, &compute_cpu, &env));
    compute->ops = &slow;
    compute->env.arg = c->w;
    const struct exchange_memory_env memory = { .world = c->w,
                                                .compute = compute,
                                                .mode = &mode_servers,
                                                .n_workers = c->n_workers,
                                                .n_params = n_params,
                                                .wants_shared = true };
    TRY(c->impl->open(&m, &memory));
    if (expect(c, !is_worker(c) || m.host, "N3 the workers of a host are known")) {
        check_leaders(c, &m);
        check_broadcast(c, &m);
        if (is_worker(c))
            check_peers(c, &m);
    }
    TRY(world_barrier(c->w));
out:
    expect(c, rc == RC_OK, "no call fails");
    exchange_memory_close(&m);
    if (compute)
        compute->ops = &compute_cpu;
    compute_close(&compute);
}

/* --- what cannot be --- */

static void check_refusal(struct memory_case *c, const struct compute_backend *backend, size_t n_params,
                          bool wants_shared, enum rc wanted, const char *word)
{
    const struct compute_env env = { .n_threads = 1 };
    struct exchange_memory m = { 0 };
    struct compute *compute = NULL;

    c->name = "refusal";
    if (!expect(c, compute_open(&compute, backend, &env) == RC_OK, "compute"))
        return;
    const struct exchange_memory_env memory = { .world = c->w,
                                                .compute = compute,
                                                .mode = &mode_sum,
                                                .n_workers = c->w->n_ranks,
                                                .n_params = n_params,
                                                .wants_shared = wants_shared };
    expect(c, c->impl->open(&m, &memory) == wanted, "it is refused with the right code");
    expect(c, strstr(rc_message(), word) != NULL, "the message says what it is about");
    exchange_memory_close(&m);
    compute_close(&compute);
    expect(c, world_barrier(c->w) == RC_OK, "barrier");
}

static void check_refusals(struct memory_case *c)
{
    check_refusal(c, &compute_fake_device, N_SMALL, true, RC_UNSUPPORTED, compute_fake_device.module.name);
    check_refusal(c, &compute_hollow, N_SMALL, true, RC_UNSUPPORTED, "compute hollow");
    check_refusal(c, &compute_cpu, (size_t)1 << 45, false, RC_NOMEM, "parameters"); /* 2^47 bytes */
    check_refusal(c, &compute_cpu, (size_t)1 << 45, true, RC_NOMEM, "available; --reducer ring");
}

int memory_suite(struct world *w, const struct memory_impl *impl, bool quiet)
{
    struct memory_case c = { .w = w, .impl = impl, .n_workers = w->n_ranks - 1, .quiet = quiet };

    for (size_t i = 0; i < sizeof rows / sizeof *rows && !is_decided(&c); i++)
        check_row(&c, &rows[i], N_SMALL);
    if (!is_decided(&c))
        check_row(&c, &rows[0], N_LARGE);
    if (!is_decided(&c))
        check_shared(&c, N_SMALL);
    if (!is_decided(&c))
        check_shared(&c, N_LARGE);
    if (!is_decided(&c))
        check_refusals(&c);
    return c.n_failures;
}
