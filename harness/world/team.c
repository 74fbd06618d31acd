/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.c - threads that share numbered tasks: one counter hands them out, two doorbells start and end a run.
 *
 * Every thread takes part in every run, so that no thread of an earlier run can still be about to take a
 * task when the next one begins (G5).
 */
#include "harness/world/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/wait.h"

struct member {
    struct team *team;
    pthread_t id;
    int thread;
};

struct team {
    int n_threads, n_started; /* n_started: beside the caller */
    bool may_spin;
    struct doorbell begin, end;
    _Atomic int next, n_working;
    _Atomic bool closing;
    team_fn *fn; /* of this run; written before begin is rung */
    void *arg;
    int n_tasks;
    struct member member[];
};

static void take_tasks(struct team *t, int thread)
{
    int task;

    while ((task = atomic_fetch_add(&t->next, 1)) < t->n_tasks)
        t->fn(t->arg, task, thread);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;
    uint32_t seen = 0; /* no run begins before all members are started */

    for (;;) {
        while (!doorbell_wait(&t->begin, seen, t->may_spin, UINT64_MAX / 2))
            continue;
        seen++;
        if (atomic_load(&t->closing))
            return NULL;
        take_tasks(t, m->thread);
        if (atomic_fetch_sub(&t->n_working, 1) == 1)
            doorbell_ring(&t->end);
    }
}

enum rc team_open(struct team **out, int n_threads, bool may_spin)
{
    struct team *t = calloc(1, sizeof *t + (size_t)n_threads * sizeof *t->member);
    enum rc rc = RC_OK;

    if (t == NULL)
        FAIL(RC_NOMEM, "no memory for a team of %d threads", n_threads);
    t->n_threads = n_threads;
    t->may_spin = may_spin;
    for (int i = 1; i < n_threads; i++) {
        struct member *m = &t->member[i];
        *m = (struct member){ .team = t, .thread = i };
        const int error = pthread_create(&m->id, NULL, member_main, m); /* G6: inherits the caller's cores */
        if (error != 0)
            FAIL(RC_NOMEM, "cannot start thread %d of %d: %s", i + 1, n_threads, strerror(error));
        t->n_started++;
    }
    *out = t;
    t = NULL;
out:
    team_close(&t);
    return rc;
}

int team_n_threads(const struct team *t)
{
    return t->n_threads;
}

void team_run(struct team *t, team_fn *fn, void *arg, int n_tasks)
{
    if (t->n_started == 0 || n_tasks <= 1) {
        for (int task = 0; task < n_tasks; task++)
            fn(arg, task, 0);
        return;
    }
    const uint32_t seen = doorbell_seen(&t->end);
    t->fn = fn;
    t->arg = arg;
    t->n_tasks = n_tasks;
    atomic_store(&t->next, 0);
    atomic_store(&t->n_working, t->n_started);
    doorbell_ring(&t->begin);
    take_tasks(t, 0);
    while (!doorbell_wait(&t->end, seen, t->may_spin, UINT64_MAX / 2))
        continue;
}

void team_close(struct team **out)
{
    struct team *t = *out;

    *out = NULL;
    if (t == NULL)
        return;
    atomic_store(&t->closing, true);
    doorbell_ring(&t->begin);
    for (int i = 1; i <= t->n_started; i++)
        pthread_join(t->member[i].id, NULL); /* can't fail: started, joined once */
    free(t);
}
