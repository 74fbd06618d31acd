/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contract_test.c CASE MODE - what the training loop promises a sync mode, and what a mode promises the loop.
 *
 *   order        S1: begin, each segment once, finish, step by step; final once; S4: each server serves once
 *   allocation   S5, A4, L2: a worker allocates nothing from its second begin to its last finish, a server nothing
 *   allocation_is_noticed   the same with a mode that allocates: must be caught
 *
 *   slow_worker  a worker slower than the time limit of a message, in all, ends no run: the others wait for it
 *
 * Allocation is counted by the linker's --wrap: calls from our own objects.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/train/suite/train_kit.h"
#include "ps/ps.h"

enum { N_STEPS = 40, MAX_RANKS = 8, MAX_PARAMS = 20000 };

void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__real_realloc(void *ptr, size_t n_bytes);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__wrap_realloc(void *ptr, size_t n_bytes);

static int allocates;  /* CASE allocation_is_noticed: the mutant */
static int slows_down; /* CASE slow_worker */

/* This thread is between its second begin and its last finish, or serves. */
static _Thread_local int in_steps;

/* What the loop did, seen from inside a mode. Of a test program: one run, in one process. */
static struct {
    const struct sync_mode *inner;
    atomic_int n_allocations, n_errors, n_serves, n_finals;
    struct {
        uint64_t n_begun, n_finished;
        size_t n_ready_elems;
        char is_ready[MAX_PARAMS];
    } rank[MAX_RANKS];
} seen;

static void count_allocation(void)
{
    if (in_steps)
        atomic_fetch_add(&seen.n_allocations, 1);
}

void *__wrap_malloc(size_t n_bytes)
{
    count_allocation();
    return __real_malloc(n_bytes);
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
    count_allocation();
    return __real_calloc(n, n_bytes);
}

void *__wrap_realloc(void *ptr, size_t n_bytes)
{
    count_allocation();
    return __real_realloc(ptr, n_bytes);
}

static void error(const char *what, int rank, uint64_t step)
{
    atomic_fetch_add(&seen.n_errors, 1);
    fprintf(stderr, "rank %d, step %llu: %s\n", rank, (unsigned long long)step, what);
}

static enum rc watch_begin(struct sync *s, uint64_t step, float lr)
{
    const int r = s->env.world->rank;

    if (seen.rank[r].n_begun != seen.rank[r].n_finished || seen.rank[r].n_begun != step)
        error("S1: begin out of order", r, step);
    seen.rank[r].n_begun++;
    seen.rank[r].n_ready_elems = 0;
    memset(seen.rank[r].is_ready, 0, sizeof seen.rank[r].is_ready);
    if (step == 1)
        in_steps = 1;
    return seen.inner->begin(s, step, lr);
}

static enum rc watch_ready(struct sync *s, struct segment seg, const float *grad)
{
    const int r = s->env.world->rank;

    if (!grad || seg.offset_elems + seg.n_elems > s->env.n_params || seg.n_elems == 0)
        error("S1: a segment outside the parameters", r, seen.rank[r].n_begun);
    for (size_t i = seg.offset_elems; i < seg.offset_elems + seg.n_elems && i < MAX_PARAMS; i++)
        if (seen.rank[r].is_ready[i]++)
            error("S1: a parameter ready twice", r, seen.rank[r].n_begun);
    seen.rank[r].n_ready_elems += seg.n_elems;
    return RC_OK;
}

static enum rc watch_finish(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    const int r = s->env.world->rank;

    if (seen.rank[r].n_ready_elems != s->env.n_params)
        error("S1: finish before every segment was ready", r, seen.rank[r].n_begun);
    if (slows_down && r == 1 && seen.rank[r].n_begun + 5 > N_STEPS) /* 5 steps of 0.4 s; the limit is 1 s */
        world_pause(s->env.world, UINT64_C(400000000));
    if (allocates) {
        void *volatile waste = malloc(1);
        free(waste);
    }
    if (++seen.rank[r].n_finished == N_STEPS)
        in_steps = 0;
    return seen.inner->finish(s, param, grad, out);
}

static enum rc watch_final(struct sync *s, float *param, float *velocity)
{
    atomic_fetch_add(&seen.n_finals, 1);
    return seen.inner->final(s, param, velocity);
}

static enum rc watch_serve(struct sync *s)
{
    in_steps = 1;
    const enum rc rc = seen.inner->serve(s);
    in_steps = 0;

    /* S4: every worker has called final by the time serve returns */
    if (rc == RC_OK && atomic_load(&seen.n_finals) != s->env.n_workers)
        error("S4: serve returned before every worker called final", s->env.world->rank, 0);
    atomic_fetch_add(&seen.n_serves, 1);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_allreduce, &sync_ps };
    struct train_result result = { 0 };
    struct sync_mode watched;
    char options[256];

    for (size_t i = 0; argc == 3 && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->module.name, argv[2]) == 0)
            seen.inner = all[i];
    if (!seen.inner)
        return 2;
    allocates = strcmp(argv[1], "allocation_is_noticed") == 0;
    slows_down = strcmp(argv[1], "slow_worker") == 0;
    watched = *seen.inner;
    watched.begin = watch_begin;
    watched.grad_ready = watch_ready;
    watched.finish = watch_finish;
    watched.final = watch_final;
    if (watched.serve)
        watched.serve = watch_serve;
    const int n_workers = seen.inner == &sync_single ? 1 : 3,
              n_servers = seen.inner->module.caps & MODE_SERVERS ? 2 : 0;
    snprintf(options, sizeof options,
             "--model lenet --mode %s --workers %d --steps %d --momentum 0.9 --batch 4 --timeout-s %d%s", argv[2],
             n_workers, N_STEPS, slows_down ? 1 : 120, n_servers ? " --servers 2 --transport inproc" : "");
    if (kit_train(&result, options, &watched, 0) != RC_OK) {
        fprintf(stderr, "%s\n", rc_message());
        return 1;
    }
    train_result_free(&result);
    if (allocates)
        return atomic_load(&seen.n_allocations) == 0;
    if (strcmp(argv[1], "allocation") == 0) {
        fprintf(stderr, "%d allocations in %d steps\n", atomic_load(&seen.n_allocations), N_STEPS);
        return atomic_load(&seen.n_allocations) > 0;
    }
    if (atomic_load(&seen.n_finals) != n_workers || atomic_load(&seen.n_serves) != n_servers)
        error("S1, S4: final or serve not once each", 0, N_STEPS);
    return atomic_load(&seen.n_errors) > 0;
}
