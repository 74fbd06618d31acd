/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_group.c - some ranks with a GPU each: one communicator of NCCL over them, in the memory of their GPUs, and a
 * separate stream; see nccl_group.h.
 */
#include "allreduce/nccl_group.h"

#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/world/host_load.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

enum { WHY_BYTES = 256, MAX_SLEEP_NS = 100000 };

/* --- failures --- */

/* What the library says of its last failure, one line; "": nothing. */
static void last_words(const struct nccl_group *g, char out[WHY_BYTES])
{
    const char *said = g->library.last_error(g->communicator);

    snprintf(out, WHY_BYTES, "%s", said ? said : "");
    out[strcspn(out, "\n")] = '\0';
}

static enum rc raise_failure(const struct nccl_group *g, ncclResult_t result, const char *what)
{
    char said[WHY_BYTES];

    last_words(g, said);
    return rc_raise(result == ncclRemoteError ? RC_PEER : RC_DEVICE, "collective %s: %s: %s%s%s", g->name, what,
                    g->library.text(result), said[0] ? ": " : "", said);
}

#define TRY_NCCL(g, call, what)                                    \
    do {                                                           \
        const ncclResult_t result_ = (call);                       \
        rc = RC_OK;                                                \
        if (result_ != ncclSuccess && result_ != ncclInProgress) { \
            rc = raise_failure((g), result_, (what));              \
            goto out;                                              \
        }                                                          \
    } while (0)

enum rc nccl_group_give_up(struct nccl_group *g, enum rc rc)
{
    if (rc == RC_OK || g->failed != RC_OK)
        return rc;
    g->failed = rc;
    snprintf(g->why, sizeof g->why, "%s", rc_message());
    if (g->in_group)
        (void)g->library.group_end(); /* inside a group abort() would wait for its end */
    g->in_group = false;
    if (g->communicator)
        g->library.abort(g->communicator);
    g->communicator = NULL;
    return rc_raise(rc, "%s", g->why);
}

static enum rc still_works(const struct nccl_group *g)
{
    return g->failed == RC_OK ? RC_OK : rc_raise(g->failed, "%s", g->why);
}

/* allreduce.D1: has the library failed since, or a rank? *through: is it through with what it was asked? */
static enum rc look(const struct nccl_group *g, bool *through, const char *what)
{
    ncclResult_t state = ncclInProgress;
    enum rc rc;

    TRY_NCCL(g, g->library.async_error(g->communicator, &state), what);
    if (state != ncclSuccess && state != ncclInProgress)
        return raise_failure(g, state, what);
    *through = state == ncclSuccess;
    world_tick(g->world);
    TRY(world_check(g->world));
    TRY(world_check_losses(g->world));
out:
    return rc;
}

struct limit { /* of a wait */
    struct backoff backoff;
    uint64_t end_ns; /* 0: none */
};

static struct limit limit_of(const struct nccl_group *g)
{
    const uint64_t limit_ns = (uint64_t)g->timeout_ms * 1000000;

    return (struct limit){ .backoff.may_spin = world_may_spin(g->world),
                           .end_ns = limit_ns > 0 ? world_now_ns(g->world) + limit_ns : 0 };
}

static enum rc pause_before(const struct nccl_group *g, struct limit *l, const char *what)
{
    if (l->end_ns > 0 && world_now_ns(g->world) > l->end_ns)
        return rc_raise(RC_TIMEOUT, "collective %s: %s: not finished after %d ms", g->name, what, g->timeout_ms);
    backoff_pause(&l->backoff, MAX_SLEEP_NS);
    return RC_OK;
}

/* Until the library is through with what it was asked. */
static enum rc wait_for_library(const struct nccl_group *g, const char *what)
{
    struct limit limit = limit_of(g);
    bool through = false;
    enum rc rc;

    for (;;) {
        TRY(look(g, &through, what));
        if (through)
            break;
        TRY(pause_before(g, &limit, what));
    }
out:
    return rc;
}

/* --- open --- */

struct seat { /* what each rank tells the others before there is a communicator */
    int32_t rc, version_code;
    char device[COMPUTE_DEVICE_ID_BYTES];
    char host[HOST_KERNEL_BYTES];
    char why[WHY_BYTES];
};

/* What this rank needs for itself. */
static enum rc open_own(struct nccl_group *g, const struct collective_env *env)
{
    enum rc rc;

    TRY(nccl_library_open(&g->library));
    TRY(compute_side_open(&g->side, env->compute, env->n_groups));
    g->in_flight = calloc(env->n_groups > 0 ? env->n_groups : 1, sizeof *g->in_flight);
    if (!g->in_flight)
        FAIL(RC_NOMEM, "collective %s: no memory for %zu groups", g->name, env->n_groups);
out:
    return rc;
}

static void take_seat(struct seat *s, const struct nccl_group *g, enum rc rc)
{
    *s = (struct seat){ .rc = rc, .version_code = g->library.version_code };
    if (rc != RC_OK)
        snprintf(s->why, sizeof s->why, "%.*s", (int)sizeof s->why - 1, rc_message());
    else
        g->side->compute->ops->device_id(g->side->compute, s->device);
    host_kernel_id(s->host, "");
}

static enum rc compare_seats(const struct nccl_group *g, const struct seat *seat, int n_ranks)
{
    char version[2][32];

    for (int r = 0; r < n_ranks; r++)
        if (seat[r].rc != RC_OK)
            return rc_raise((enum rc)seat[r].rc, "collective %s: rank %d: %s", g->name, r, seat[r].why);
    for (int r = 1; r < n_ranks; r++) {
        nccl_version_text(version[0], sizeof version[0], seat[0].version_code);
        nccl_version_text(version[1], sizeof version[1], seat[r].version_code);
        if (seat[r].version_code != seat[0].version_code)
            return rc_raise(RC_MISMATCH, "collective %s: rank %d has NCCL %s, rank 0 has %s; all need the same",
                            g->name, r, version[1], version[0]);
        for (int q = 0; q < r; q++)
            if (strcmp(seat[r].device, seat[q].device) == 0 && strcmp(seat[r].host, seat[q].host) == 0)
                return rc_raise(RC_UNSUPPORTED,
                                "collective %s: ranks %d and %d share the GPU %s, which NCCL refuses; give each "
                                "worker a GPU of its own, or choose another --reducer",
                                g->name, q, r, seat[r].device);
    }
    return RC_OK;
}

/* allreduce.D3. Collective. rc: what open_own() has returned. */
static enum rc agree(const struct nccl_group *g, enum rc rc)
{
    const int n_ranks = g->world->n_ranks;
    struct seat own, *all = calloc((size_t)n_ranks, sizeof *all);

    if (!all)
        FAIL(RC_NOMEM, "collective %s: no memory for %d ranks", g->name, n_ranks);
    take_seat(&own, g, rc);
    TRY(world_allgather(g->world, &own, all, sizeof own));
    TRY(compare_seats(g, all, n_ranks));
out:
    free(all);
    return rc;
}

struct invitation { /* of the first member to all */
    ncclUniqueId id;
    int32_t rc, rank; /* of the world */
    char why[WHY_BYTES];
};

static enum rc make_id(const struct nccl_group *g, ncclUniqueId *id)
{
    enum rc rc;

    TRY_NCCL(g, g->library.unique_id(id), "unique id");
out:
    return rc;
}

static enum rc invite(const struct nccl_group *g, ncclUniqueId *id)
{
    struct invitation all = { .rc = RC_OK, .rank = g->world->rank };
    enum rc rc;

    if (g->members->rank == 0) {
        all.rc = make_id(g, &all.id);
        snprintf(all.why, sizeof all.why, "%.*s", (int)sizeof all.why - 1, all.rc != RC_OK ? rc_message() : "");
    }
    TRY(world_broadcast(g->members, &all, sizeof all));
    if (all.rc != RC_OK)
        FAIL((enum rc)all.rc, "rank %d: %s", (int)all.rank, all.why);
    *id = all.id;
out:
    return rc;
}

/* Its threads: exchange.A11 */
static enum rc start_library(struct nccl_group *g, ncclUniqueId id)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    struct core_set own;
    enum rc rc;

    config.blocking = 0; /* allreduce.D1 */
    thread_tasks_roam(g->world->tasks, &own);
    TRY_NCCL(g, g->library.init(&g->communicator, g->members->n_ranks, id, g->members->rank, &config), "communicator");
    TRY(wait_for_library(g, "communicator"));
out:
    thread_tasks_return(&own);
    return rc;
}

static enum rc open_communicator(struct nccl_group *g)
{
    ncclUniqueId id;
    enum rc rc;

    TRY(invite(g, &id));
    g->side->ops->enter(g->side);
    TRY(start_library(g, id));
out:
    return nccl_group_give_up(g, rc);
}

/* Is all done that was asked for, by ranks that are all there? Then the library may end in order. */
static bool is_at_rest(const struct nccl_group *g)
{
    bool is_busy = false;

    for (size_t i = 0; i < g->n_groups; i++)
        is_busy = is_busy || g->in_flight[i];
    return !is_busy && world_check(g->world) == RC_OK && world_check_losses(g->world) == RC_OK;
}

static enum rc end_in_order(struct nccl_group *g)
{
    enum rc rc;

    TRY_NCCL(g, g->library.finalize(g->communicator), "finalize");
    TRY(wait_for_library(g, "finalize"));
    TRY_NCCL(g, g->library.destroy(g->communicator), "destroy");
    g->communicator = NULL;
out:
    return rc;
}

void nccl_group_close(struct nccl_group *g)
{
    char message[RC_MESSAGE_BYTES]; /* of the caller's error */

    snprintf(message, sizeof message, "%s", rc_message());
    if (g->communicator && (!is_at_rest(g) || end_in_order(g) != RC_OK)) {
        g->library.abort(g->communicator);
        g->communicator = NULL;
    }
    if (message[0])
        (void)!rc_raise(RC_PEER, "%s", message);
    compute_side_close(&g->side);
    free(g->in_flight);
    *g = (struct nccl_group){ .name = NULL };
}

enum rc nccl_group_open(struct nccl_group *out, const char *name, const struct collective_env *env,
                        struct world *members)
{
    enum rc rc;

    *out = (struct nccl_group){ .name = name,
                                .world = env->transport->world,
                                .members = members,
                                .n_groups = env->n_groups,
                                .timeout_ms = env->timeout_ms };
    TRY(agree(out, open_own(out, env)));
    TRY(open_communicator(out));
out:
    return rc;
}

enum rc nccl_check_library(const char *name)
{
    struct nccl_library library;
    const enum rc rc = nccl_library_open(&library);
    char why[RC_MESSAGE_BYTES];

    if (rc == RC_OK)
        return RC_OK;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "--reducer %s: %.480s", name, why);
}

/* --- groups --- */

enum rc nccl_group_begin(struct nccl_group *g)
{
    bool through;
    enum rc rc;

    TRY(still_works(g));
    TRY(look(g, &through, "before a sum"));
    g->side->ops->enter(g->side);
    g->side->ops->follow(g->side);
    TRY_NCCL(g, g->library.group_start(), "group start");
    g->in_group = true;
out:
    return nccl_group_give_up(g, rc);
}

enum kind { SUM, SUM_TO_FIRST, SPREAD };

static ncclResult_t queue(const struct nccl_group *g, enum kind kind, float *data, size_t n)
{
    const struct nccl_library *l = &g->library;
    cudaStream_t stream = g->side->ops->stream(g->side);

    if (kind == SUM)
        return l->all_reduce(data, data, n, ncclFloat32, ncclSum, g->communicator, stream);
    if (kind == SUM_TO_FIRST)
        return l->reduce(data, data, n, ncclFloat32, ncclSum, 0, g->communicator, stream);
    return l->broadcast(data, data, n, ncclFloat32, 0, g->communicator, stream);
}

static enum rc queue_if_any(struct nccl_group *g, enum kind kind, float *data, size_t n_elems)
{
    static const char *const what[] = { "sum", "sum of a host", "broadcast in a host" };
    enum rc rc;

    TRY(still_works(g));
    if (n_elems > 0)
        TRY_NCCL(g, queue(g, kind, data, n_elems), what[kind]);
out:
    return nccl_group_give_up(g, rc);
}

enum rc nccl_group_sum(struct nccl_group *g, float *data, size_t n_elems)
{
    return queue_if_any(g, SUM, data, n_elems);
}

enum rc nccl_group_sum_to_first(struct nccl_group *g, float *data, size_t n_elems)
{
    return queue_if_any(g, SUM_TO_FIRST, data, n_elems);
}

enum rc nccl_group_spread(struct nccl_group *g, float *data, size_t n_elems)
{
    return queue_if_any(g, SPREAD, data, n_elems);
}

enum rc nccl_group_end(struct nccl_group *g, size_t group)
{
    enum rc rc;

    TRY(still_works(g));
    g->in_group = false;
    g->in_flight[group] = true;
    TRY_NCCL(g, g->library.group_end(), "group end");
    TRY(wait_for_library(g, "group end"));
    g->side->ops->mark(g->side, group);
out:
    return nccl_group_give_up(g, rc);
}

enum rc nccl_group_wait(struct nccl_group *g, size_t group)
{
    struct limit limit = limit_of(g);
    bool through;
    enum rc rc;

    TRY(still_works(g));
    while (!g->side->ops->reached(g->side, group)) {
        TRY(look(g, &through, "sum"));
        TRY(pause_before(g, &limit, "sum"));
    }
    TRY(look(g, &through, "sum")); /* an operation that failed may have ended like one that did not */
    g->in_flight[group] = false;
    g->side->ops->lead(g->side, group); /* allreduce.D2 */
out:
    return nccl_group_give_up(g, rc);
}
