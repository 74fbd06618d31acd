/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gloo.c - the collectives of Gloo, the library of PyTorch's and Horovod's CPU trainings, over TCP (A9).
 *
 * A connection between each two ranks, at the address that --interface names, or on one host the loopback; the ranks
 * tell each other their ports by world_allgather(). A thread of the library's moves bytes. As in PyTorch and Horovod,
 * operations run in a thread beside the caller's, which waits for it, ticks (world.P1), and gives the operation up when
 * a rank failed or is lost.
 *
 * Invariants
 *   B1  What can be wrong before there are connections (no interface, no memory, no socket) is found by all ranks
 *       alike.
 *   B2  An error is the last thing to happen: every later call returns it. The library reads and writes data no more.
 *   B3  A wait ends at timeout_ms, or when a rank failed (world.W4) or is lost (world.W8).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/gloo_allreduce.h"
#include "harness/base/opt.h"
#include "harness/base/range.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/background.h"
#include "harness/world/host_address.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_gloo;

/* A connection takes milliseconds. What is to wait for ever waits for ten years, whose nanoseconds the library can
 * add to its clock. */
enum { MOST_CONNECT_MS = 30000, WHY_BYTES = 200 };
#define EVER_MS (INT32_MAX / 10)

struct gloo {
    struct collective base;
    struct world *world;
    struct gloo_group *group;
    struct background *thread;
    unsigned char *addresses; /* of all ranks, until they are connected */
    size_t *n_each;           /* [n_ranks]: elements of each rank's chunk */
    /* of the operation under way: */
    const struct collective_call *call; /* NULL: connect */
    float *data;
    bool is_done;
    struct gloo_fault fault;
    bool is_given_up; /* look() has, for the reason in why */
    enum rc failed;   /* allreduce.B2 */
    char why[RC_MESSAGE_BYTES];
};

static struct gloo *self(struct collective *c)
{
    return (struct gloo *)c;
}

/* --- one operation, in the thread --- */

static bool gather(struct gloo *g)
{
    for (int r = 0; r < g->world->n_ranks; r++)
        g->n_each[r] = range_part(g->call->n_elems, g->world->n_ranks, r).n_elems;
    return gloo_group_gather(g->group, g->data, g->n_each, &g->fault);
}

static void work(void *arg)
{
    struct gloo *g = arg;

    if (!g->call)
        g->is_done = gloo_group_connect(g->group, g->addresses, &g->fault);
    else if (g->call->type == COLL_ALLGATHER)
        g->is_done = gather(g);
    else if (g->call->type == COLL_BROADCAST)
        g->is_done = gloo_group_broadcast(g->group, g->data, g->call->n_elems, g->call->root, &g->fault);
    else
        g->is_done = gloo_group_sum(g->group, g->data, g->call->input, g->call->n_elems, &g->fault);
}

/* --- waiting for it --- */

/* allreduce.B3 */
static enum rc check_ranks(const struct gloo *g)
{
    enum rc rc;

    TRY(transport_check(g->base.env.transport, -1));
    TRY(world_check_losses(g->world));
out:
    return rc;
}

static void keep_failure(struct gloo *g, enum rc rc)
{
    g->failed = rc;
    snprintf(g->why, sizeof g->why, "%s", rc_message());
}

/* Every 20 ms of the caller's wait. Connections take too little time to be given up. */
static void look(void *arg)
{
    struct gloo *g = arg;

    if (g->is_given_up)
        return;
    const enum rc rc = check_ranks(g);
    if (rc == RC_OK || !g->call)
        return;
    keep_failure(g, rc);
    g->is_given_up = true;
    gloo_group_give_up(g->group);
}

static enum rc code_of(enum gloo_end end)
{
    switch (end) {
    case GLOO_TIMED_OUT:
        return RC_TIMEOUT;
    case GLOO_NO_MEMORY:
        return RC_NOMEM;
    default:
        return RC_PEER;
    }
}

static enum rc raise_fault(const struct gloo *g, const char *what)
{
    char peer[32] = "";

    if (g->fault.peer >= 0)
        snprintf(peer, sizeof peer, "rank %d: ", g->fault.peer);
    return rc_raise(code_of(g->fault.end), "collective gloo: %s: %s%s", what, peer, g->fault.why);
}

/* A connection may end a moment before its rank's failure or loss is known: that is the better reason. */
static enum rc find_cause(struct gloo *g, const char *what)
{
    enum { NOTICED_MS = 500 };
    enum rc rc = RC_OK;

    for (int i = 0; g->fault.end == GLOO_BROKEN && i < NOTICED_MS; i++) {
        TRY(check_ranks(g));
        world_pause(g->world, 1000000);
    }
    rc = raise_fault(g, what);
out:
    return rc;
}

static enum rc do_work(struct gloo *g, const struct collective_call *call, float *data)
{
    const char *what = call ? collective_type_name(call->type) : "connections";

    g->call = call;
    g->data = data;
    g->is_done = false;
    background_start(g->thread);
    background_wait(g->thread);
    if (g->is_given_up)
        return rc_raise(g->failed, "%s", g->why);
    if (g->is_done)
        return RC_OK;
    if (call)
        gloo_group_give_up(g->group); /* the others are to know at once */
    keep_failure(g, find_cause(g, what));
    return g->failed;
}

/* --- open --- */

struct seat { /* what each rank tells the others before there are connections */
    int32_t rc;
    char why[WHY_BYTES];
};

static enum rc own_address(char out[HOST_ADDRESS_BYTES], const struct world *w)
{
    const bool are_several = w->n_host_ranks < w->n_ranks, is_given = w->interface && w->interface[0] != '\0';
    char list[WHY_BYTES];
    enum rc rc = RC_OK;

    host_address_list(list, sizeof list);
    snprintf(out, HOST_ADDRESS_BYTES, "127.0.0.1");
    if (is_given)
        TRY(host_address(out, w->interface));
    if (are_several && host_address_is_loopback(out))
        FAIL(RC_INVAL,
             "collective gloo: ranks are on several hosts, and --interface NAME|ADDRESS has to say where others reach "
             "this one; it has %s",
             list);
out:
    return rc;
}

/* row: of `addresses`. */
static enum rc open_own(struct gloo *g, const struct collective_env *env, unsigned char *row)
{
    const int limit_ms = env->timeout_ms > 0 && env->timeout_ms < EVER_MS ? env->timeout_ms : EVER_MS;
    char address[HOST_ADDRESS_BYTES];
    enum rc rc;

    TRY(own_address(address, g->world));
    const struct gloo_setup setup = { .address = address,
                                      .rank = g->world->rank,
                                      .n_ranks = g->world->n_ranks,
                                      .connect_ms = limit_ms < MOST_CONNECT_MS ? limit_ms : MOST_CONNECT_MS,
                                      .run_ms = limit_ms };
    if (!gloo_group_listen(&g->group, &setup, row, &g->fault))
        FAIL(g->fault.end == GLOO_NO_MEMORY ? RC_NOMEM : RC_IO, "collective gloo: %s: %s", address, g->fault.why);
    TRY(background_open(&g->thread, work, g));
    background_set_tick(g->thread, look, g);
out:
    return rc;
}

/* A11. The library's thread polls a connection without rest while the thread that sends holds its lock: on one core the
 * sender would not run before the end of a time slice. */
static enum rc open_threads(struct gloo *g, const struct collective_env *env, unsigned char *row)
{
    struct core_set own;

    thread_tasks_roam(g->world->tasks, &own);
    const enum rc rc = open_own(g, env, row);
    thread_tasks_return(&own);
    return rc;
}

/* allreduce.B1. Collective. rc: of what this rank did by itself. */
static enum rc agree(const struct gloo *g, enum rc rc)
{
    const int n_ranks = g->world->n_ranks;
    struct seat own = { .rc = rc }, *all = calloc((size_t)n_ranks, sizeof *all);

    if (!all)
        FAIL(RC_NOMEM, "collective gloo: no memory for %d ranks", n_ranks);
    snprintf(own.why, sizeof own.why, "%.*s", (int)sizeof own.why - 1, rc != RC_OK ? rc_message() : "");
    TRY(world_allgather(g->world, &own, all, sizeof own));
    for (int r = 0; r < n_ranks; r++)
        if (all[r].rc != RC_OK)
            FAIL((enum rc)all[r].rc, "rank %d: %s", r, all[r].why);
out:
    free(all);
    return rc;
}

static enum rc open_group(struct gloo *g, const struct collective_env *env)
{
    const size_t n_ranks = (size_t)g->world->n_ranks, row_bytes = n_ranks * GLOO_ADDRESS_BYTES;
    unsigned char *row = calloc(1, row_bytes);
    enum rc rc;

    g->addresses = calloc(n_ranks, row_bytes);
    g->n_each = calloc(n_ranks, sizeof *g->n_each);
    const bool has_memory = row && g->addresses && g->n_each;
    if (!has_memory)
        (void)!rc_raise(RC_NOMEM, "collective gloo: no memory for %zu ranks", n_ranks);
    TRY(agree(g, has_memory ? open_threads(g, env, row) : RC_NOMEM));
    TRY(world_allgather(g->world, row, g->addresses, row_bytes));
    TRY(do_work(g, NULL, NULL));
out:
    free(g->addresses);
    g->addresses = NULL;
    free(row);
    return rc;
}

static void gloo_close(struct collective **c)
{
    struct gloo *g = self(*c);

    background_close(&g->thread);
    gloo_group_close(&g->group);
    free(g->addresses);
    free(g->n_each);
    free(g);
    *c = NULL;
}

static enum rc gloo_open(struct collective **out, const struct collective_env *env)
{
    struct gloo *g = calloc(1, sizeof *g);
    struct collective *base = &g->base;
    enum rc rc;

    if (!g)
        return rc_raise(RC_NOMEM, "collective gloo: no memory");
    g->base.env = *env;
    g->world = env->transport->world;
    TRY(open_group(g, env));
    *out = base;
    base = NULL;
out:
    if (base)
        gloo_close(&base);
    return rc;
}

/* --- run --- */

static enum rc gloo_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct gloo *g = self(c);
    enum rc rc;

    if (g->failed != RC_OK)
        FAIL(g->failed, "%s", g->why);
    TRY(call->n_elems > 0 ? do_work(g, call, data) : RC_OK);
out:
    return rc;
}

const struct collective_ops collective_gloo = {
    .module.name = "gloo",
    .module.caps = COLL_ALLREDUCE | COLL_ALLGATHER | COLL_BROADCAST | COLL_OPAQUE | COLL_THREADS,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .open = gloo_open,
    .run = gloo_run,
    .predict = collective_no_cost,
    .critical_path = collective_no_path,
    .close = gloo_close,
};
