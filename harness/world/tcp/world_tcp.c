/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_tcp.c - ranks as processes that find each other by address, without MPI and its launcher.
 *
 * They meet at a hub, a thread of the process of rank 0 (tcp_hub.h): for bootstrap, never on a measured path. A process
 * that ends is noticed by its connection, one that is silent as in mpi (process/process_peers.h).
 */
#include <signal.h>
#include <stdlib.h>

#include "harness/world/cores.h"
#include "harness/world/process/share_process.h"
#include "harness/world/tcp/tcp_world.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_tcp;

uint64_t tcp_now_ns(struct world *w)
{
    return wait_clock_ns() + (uint64_t)tcp_world_of(w)->self->offset_ns;
}

static void tcp_pause(struct world *w, uint64_t ns)
{
    (void)w;
    wait_sleep(ns);
}

static void tcp_abort(struct world *w, enum rc why)
{
    tcp_tell_failure(tcp_world_of(w)->self, why);
}

void tcp_die(struct world *w)
{
    (void)w;
    (void)raise(SIGKILL);
}

void tcp_hang(struct world *w)
{
    (void)w;
    for (;;)
        (void)raise(SIGSTOP);
}

static void init(struct tcp_world *t, struct tcp_rank *rank, const struct world_opts *opts)
{
    *rank = (struct tcp_rank){ .failure_exit_code = world_failure_exit_code(opts), .gang.listening_fd = -1 };
    *t = (struct tcp_world){ .base = { .ops = &world_tcp,
                                       .interface = opts->interface,
                                       .security = opts->security,
                                       .tasks = &rank->tasks,
                                       .has_tasks = true },
                             .self = rank,
                             .id = TCP_RUN_WORLD };
    thread_tasks_init(&rank->tasks);
}

/* rc: what it ended with so far. Returns the failure of the run. */
static enum rc end(struct tcp_world *t, enum rc rc)
{
    struct tcp_rank *rank = t->self;

    thread_tasks_end(&rank->tasks);
    rc = tcp_world_close(t, rc);
    thread_tasks_fini(&rank->tasks);
    peer_losses_close(&t->base.losses);
    gang_free(&rank->gang);
    free(rank->host_of);
    return rc;
}

static enum rc tcp_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct core_set launchers_cores;
    struct tcp_rank rank;
    struct tcp_world t;
    enum rc rc;

    cores_thread_set(&launchers_cores);
    init(&t, &rank, opts);
    rc = tcp_world_open(&t, &rank, opts, n_ranks);
    if (rc == RC_OK)
        rc = body(&t.base, arg);
    rc = end(&t, rc);
    if (opts->bind_cores) /* what this process records of its machine later is what it was started with */
        cores_bind_self_to(&launchers_cores);
    return rc;
}

struct open_world { /* what run() has on its stack */
    struct tcp_world world;
    struct tcp_rank rank;
};

static enum rc tcp_open(struct world **out, const struct world_opts *opts)
{
    struct open_world *o = calloc(1, sizeof *o);
    enum rc rc;

    if (!o)
        return rc_raise(RC_NOMEM, "world tcp: no memory");
    init(&o->world, &o->rank, opts);
    o->rank.ends_no_process = true;
    o->rank.limit_ns = (uint64_t)opts->timeout_ms * UINT64_C(1000000);
    rc = tcp_world_open(&o->world, &o->rank, opts, 0);
    if (rc == RC_OK) {
        *out = &o->world.base;
        return RC_OK;
    }
    rc = end(&o->world, rc);
    free(o);
    return rc;
}

static enum rc tcp_close(struct world **w)
{
    struct open_world *o = (struct open_world *)*w;
    const enum rc rc = end(&o->world, RC_OK);

    free(o);
    *w = NULL;
    return rc;
}

const struct world_ops world_tcp = {
    .module.name = "tcp",
    .module.caps = WORLD_LAUNCHED | WORLD_GUESTS | WORLD_SEES_ENDS,
    .tasks = &thread_task_ops,
    .shares = &process_share_ops,
    .run = tcp_run,
    .open = tcp_open,
    .close = tcp_close,
    .now_ns = tcp_now_ns,
    .pause = tcp_pause,
    .barrier = tcp_barrier,
    .allgather = tcp_allgather,
    .gather = tcp_gather,
    .broadcast = tcp_broadcast,
    .split = tcp_split,
    .split_close = tcp_split_close,
    .survivors = tcp_survivors,
    .check = tcp_check,
    .abort = tcp_abort,
    .die = tcp_die,
    .hang = tcp_hang,
    .leave = tcp_leave,
    .open_doors = tcp_open_doors,
    .next_guest = tcp_next_guest,
};
