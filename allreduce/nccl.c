/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - NVIDIA's library, in the memory of the GPUs: one communicator over all ranks, a stream of its own.
 *
 *     begin    the stream waits for the gradients (side.I2); ncclGroupStart
 *     run      ncclAllReduce, in place
 *     end      ncclGroupEnd; a mark behind the group
 *     wait     until the mark is reached; the compute waits for the mark, too (side.I3)
 *
 * Invariants
 *   D1  No call of the library blocks: it is asked (ncclCommGetAsyncError) until it is through, and between, whether a
 *       rank was lost or has failed. What it was not through with when that was found is ended by ncclCommAbort, on
 *       this rank; the others find the same.
 *   D2  The host waits for the device only when a mark is reached: no wait of it depends on another rank.
 *   D3  Whatever can be wrong before there is a communicator (no library, another version, two ranks on one GPU) is
 *       found by all ranks alike, and named.
 */
#include <stdlib.h>
#include <string.h>

#include "allreduce/nccl_library.h"
#include "harness/compute/side.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/host_load.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_nccl;

enum { WHY_BYTES = 256, MAX_SLEEP_NS = 100000 };

struct nccl {
    struct collective base;
    struct world *world;
    struct nccl_library library;
    struct compute_side *side;
    ncclComm_t communicator; /* NULL: none, or aborted */
    bool *in_flight;         /* [n_groups]: ended, and not waited for */
    bool in_group;           /* between group_start() and group_end() */
    int timeout_ms;
    enum rc failed; /* D1: every later call returns it */
    char why[RC_MESSAGE_BYTES];
};

static struct nccl *self(struct collective *c)
{
    return (struct nccl *)c;
}

/* --- failures --- */

/* What the library says of its last failure, one line; "": nothing. */
static void last_words(const struct nccl *n, char out[WHY_BYTES])
{
    const char *said = n->library.last_error(n->communicator);

    snprintf(out, WHY_BYTES, "%s", said ? said : "");
    out[strcspn(out, "\n")] = '\0';
}

static enum rc raise_failure(const struct nccl *n, ncclResult_t result, const char *what)
{
    char said[WHY_BYTES];

    last_words(n, said);
    return rc_raise(result == ncclRemoteError ? RC_PEER : RC_DEVICE, "collective nccl: %s: %s%s%s", what,
                    n->library.text(result), said[0] ? ": " : "", said);
}

#define TRY_NCCL(n, call, what)                                    \
    do {                                                           \
        const ncclResult_t result_ = (call);                       \
        rc = RC_OK;                                                \
        if (result_ != ncclSuccess && result_ != ncclInProgress) { \
            rc = raise_failure((n), result_, (what));              \
            goto out;                                              \
        }                                                          \
    } while (0)

/* rc was raised: abort the communicator, and keep the reason. */
static enum rc give_up(struct nccl *n, enum rc rc)
{
    if (rc == RC_OK || n->failed != RC_OK)
        return rc;
    n->failed = rc;
    snprintf(n->why, sizeof n->why, "%s", rc_message());
    if (n->in_group)
        (void)n->library.group_end(); /* inside a group abort() would wait for its end */
    n->in_group = false;
    if (n->communicator)
        n->library.abort(n->communicator);
    n->communicator = NULL;
    return rc_raise(rc, "%s", n->why);
}

static enum rc still_works(const struct nccl *n)
{
    return n->failed == RC_OK ? RC_OK : rc_raise(n->failed, "%s", n->why);
}

/* D1: has the library failed since, or a rank? *through: is it through with what it was asked? */
static enum rc look(const struct nccl *n, bool *through, const char *what)
{
    ncclResult_t state = ncclInProgress;
    enum rc rc;

    TRY_NCCL(n, n->library.async_error(n->communicator, &state), what);
    if (state != ncclSuccess && state != ncclInProgress)
        return raise_failure(n, state, what);
    *through = state == ncclSuccess;
    world_tick(n->world);
    TRY(world_check(n->world));
    TRY(world_check_losses(n->world));
out:
    return rc;
}

struct limit { /* of a wait */
    struct backoff backoff;
    uint64_t end_ns; /* 0: none */
};

static struct limit limit_of(const struct nccl *n)
{
    const uint64_t limit_ns = (uint64_t)n->timeout_ms * 1000000;

    return (struct limit){ .backoff.may_spin = world_may_spin(n->world),
                           .end_ns = limit_ns > 0 ? world_now_ns(n->world) + limit_ns : 0 };
}

static enum rc pause_before(const struct nccl *n, struct limit *l, const char *what)
{
    if (l->end_ns > 0 && world_now_ns(n->world) > l->end_ns)
        return rc_raise(RC_TIMEOUT, "collective nccl: %s: not through after %d ms", what, n->timeout_ms);
    backoff_pause(&l->backoff, MAX_SLEEP_NS);
    return RC_OK;
}

/* Until the library is through with what it was asked. */
static enum rc wait_for_library(const struct nccl *n, const char *what)
{
    struct limit limit = limit_of(n);
    bool through = false;
    enum rc rc;

    for (;;) {
        TRY(look(n, &through, what));
        if (through)
            break;
        TRY(pause_before(n, &limit, what));
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
static enum rc open_own(struct nccl *n, const struct collective_env *env)
{
    enum rc rc;

    TRY(nccl_library_open(&n->library));
    TRY(compute_side_open(&n->side, env->compute, env->n_groups));
    n->in_flight = calloc(env->n_groups > 0 ? env->n_groups : 1, sizeof *n->in_flight);
    if (!n->in_flight)
        FAIL(RC_NOMEM, "collective nccl: no memory for %zu groups", env->n_groups);
out:
    return rc;
}

static void take_seat(struct seat *s, const struct nccl *n, enum rc rc)
{
    *s = (struct seat){ .rc = rc, .version_code = n->library.version_code };
    if (rc != RC_OK)
        snprintf(s->why, sizeof s->why, "%.*s", (int)sizeof s->why - 1, rc_message());
    else
        n->side->compute->ops->device_id(n->side->compute, s->device);
    host_kernel_id(s->host, "");
}

static enum rc compare_seats(const struct seat *seat, int n_ranks)
{
    char version[2][32];

    for (int r = 0; r < n_ranks; r++)
        if (seat[r].rc != RC_OK)
            return rc_raise((enum rc)seat[r].rc, "collective nccl: rank %d: %s", r, seat[r].why);
    for (int r = 1; r < n_ranks; r++) {
        nccl_version_text(version[0], sizeof version[0], seat[0].version_code);
        nccl_version_text(version[1], sizeof version[1], seat[r].version_code);
        if (seat[r].version_code != seat[0].version_code)
            return rc_raise(RC_MISMATCH, "collective nccl: rank %d has NCCL %s, rank 0 has %s; all need the same", r,
                            version[1], version[0]);
        for (int q = 0; q < r; q++)
            if (strcmp(seat[r].device, seat[q].device) == 0 && strcmp(seat[r].host, seat[q].host) == 0)
                return rc_raise(RC_UNSUPPORTED,
                                "collective nccl: ranks %d and %d share the GPU %s, which NCCL refuses; give each "
                                "worker a GPU of its own, or choose another --reducer",
                                q, r, seat[r].device);
    }
    return RC_OK;
}

/* D3. Collective. rc: what open_own() has returned. */
static enum rc agree(const struct nccl *n, enum rc rc)
{
    const int n_ranks = n->world->n_ranks;
    struct seat own, *all = calloc((size_t)n_ranks, sizeof *all);

    if (!all)
        FAIL(RC_NOMEM, "collective nccl: no memory for %d ranks", n_ranks);
    take_seat(&own, n, rc);
    TRY(world_allgather(n->world, &own, all, sizeof own));
    TRY(compare_seats(all, n_ranks));
out:
    free(all);
    return rc;
}

struct invitation { /* of rank 0 to all */
    ncclUniqueId id;
    int32_t rc;
    char why[WHY_BYTES];
};

static enum rc make_id(const struct nccl *n, ncclUniqueId *id)
{
    enum rc rc;

    TRY_NCCL(n, n->library.unique_id(id), "unique id");
out:
    return rc;
}

static enum rc invite(const struct nccl *n, ncclUniqueId *id)
{
    struct invitation all = { .rc = RC_OK };
    enum rc rc;

    if (n->world->rank == 0) {
        all.rc = make_id(n, &all.id);
        snprintf(all.why, sizeof all.why, "%.*s", (int)sizeof all.why - 1, all.rc != RC_OK ? rc_message() : "");
    }
    TRY(world_broadcast(n->world, &all, sizeof all));
    if (all.rc != RC_OK)
        FAIL((enum rc)all.rc, "rank 0: %s", all.why);
    *id = all.id;
out:
    return rc;
}

static enum rc open_communicator(struct nccl *n)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    enum rc rc;

    TRY(invite(n, &id));
    config.blocking = 0; /* D1 */
    n->side->ops->enter(n->side);
    TRY_NCCL(n, n->library.init(&n->communicator, n->world->n_ranks, id, n->world->rank, &config), "communicator");
    TRY(wait_for_library(n, "communicator"));
out:
    return give_up(n, rc);
}

/* Is all done that was asked for, by ranks that are all there? Then the library may end in order. */
static bool is_at_rest(const struct nccl *n)
{
    bool is_busy = false;

    for (size_t g = 0; g < n->base.env.n_groups; g++)
        is_busy = is_busy || n->in_flight[g];
    return !is_busy && world_check(n->world) == RC_OK && world_check_losses(n->world) == RC_OK;
}

static enum rc end_in_order(struct nccl *n)
{
    enum rc rc;

    TRY_NCCL(n, n->library.finalize(n->communicator), "finalize");
    TRY(wait_for_library(n, "finalize"));
    TRY_NCCL(n, n->library.destroy(n->communicator), "destroy");
    n->communicator = NULL;
out:
    return rc;
}

static void nccl_close(struct collective **c)
{
    struct nccl *n = self(*c);
    char message[RC_MESSAGE_BYTES]; /* of the caller's error */

    snprintf(message, sizeof message, "%s", rc_message());
    if (n->communicator && (!is_at_rest(n) || end_in_order(n) != RC_OK)) {
        n->library.abort(n->communicator);
        n->communicator = NULL;
    }
    if (message[0])
        (void)!rc_raise(RC_PEER, "%s", message);
    compute_side_close(&n->side);
    free(n->in_flight);
    free(n);
    *c = NULL;
}

static enum rc nccl_open(struct collective **out, const struct collective_env *env)
{
    struct nccl *n = calloc(1, sizeof *n);
    struct collective *base = &n->base;
    enum rc rc;

    if (!n)
        return rc_raise(RC_NOMEM, "collective nccl: no memory");
    n->base.env = *env;
    n->world = env->transport->world;
    n->timeout_ms = env->timeout_ms;
    TRY(agree(n, open_own(n, env)));
    TRY(open_communicator(n));
    *out = base;
    base = NULL;
out:
    if (base)
        nccl_close(&base);
    return rc;
}

/* Is it there at all? Before anything starts. */
static enum rc nccl_check(const void *opts, const struct job_facts *facts)
{
    struct nccl_library library;
    const enum rc rc = nccl_library_open(&library);
    char why[RC_MESSAGE_BYTES];

    (void)opts;
    (void)facts;
    if (rc == RC_OK)
        return RC_OK;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "--reducer nccl: %.480s", why);
}

/* --- groups --- */

static enum rc nccl_begin(struct collective *c)
{
    struct nccl *n = self(c);
    bool through;
    enum rc rc;

    TRY(still_works(n));
    TRY(look(n, &through, "before a sum"));
    n->side->ops->enter(n->side);
    n->side->ops->follow(n->side);
    TRY_NCCL(n, n->library.group_start(), "group start");
    n->in_group = true;
out:
    return give_up(n, rc);
}

static enum rc nccl_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct nccl *n = self(c);
    enum rc rc;

    TRY(still_works(n));
    if (call->n_elems > 0)
        TRY_NCCL(n,
                 n->library.all_reduce(data, data, call->n_elems, ncclFloat32, ncclSum, n->communicator,
                                       n->side->ops->stream(n->side)),
                 "sum");
out:
    return give_up(n, rc);
}

static enum rc nccl_end(struct collective *c, size_t group)
{
    struct nccl *n = self(c);
    enum rc rc;

    TRY(still_works(n));
    n->in_group = false;
    n->in_flight[group] = true;
    TRY_NCCL(n, n->library.group_end(), "group end");
    TRY(wait_for_library(n, "group end"));
    n->side->ops->mark(n->side, group);
out:
    return give_up(n, rc);
}

static enum rc nccl_wait(struct collective *c, size_t group)
{
    struct nccl *n = self(c);
    struct limit limit = limit_of(n);
    bool through;
    enum rc rc;

    TRY(still_works(n));
    while (!n->side->ops->reached(n->side, group)) {
        TRY(look(n, &through, "sum"));
        TRY(pause_before(n, &limit, "sum"));
    }
    TRY(look(n, &through, "sum")); /* an operation that failed may have ended like one that did not */
    n->in_flight[group] = false;
    n->side->ops->lead(n->side, group); /* D2 */
out:
    return give_up(n, rc);
}

/* Nothing goes through a transport (A7). */
static struct collective_cost nccl_predict(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    (void)opts;
    (void)call;
    (void)rank;
    (void)group;
    return (struct collective_cost){ 0 };
}

static struct collective_cost nccl_critical_path(const void *opts, const struct collective_call *call,
                                                 const struct collective_group *group)
{
    return nccl_predict(opts, call, 0, group);
}

static const struct collective_group_ops groups = { .begin = nccl_begin, .end = nccl_end, .wait = nccl_wait };

const struct collective_ops collective_nccl = {
    .module.name = "nccl",
    .module.caps = COLL_ALLREDUCE | COLL_DEVICE,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .module.check = nccl_check,
    .open = nccl_open,
    .run = nccl_run,
    .predict = nccl_predict,
    .critical_path = nccl_critical_path,
    .close = nccl_close,
    .group = &groups,
};
