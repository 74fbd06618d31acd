/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - the list of worlds, who launched this process, and a call for each operation. */
#include "harness/world/world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/host_memory.h"
#include "harness/base/text.h"
#include "harness/world/child.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"

extern const struct world_ops world_threads, world_mpi, world_sim, world_tcp;

static const struct module *world_at(int i)
{
    static const struct module *const all[] = {
        &world_threads.module,
#if GRADMARK_HAVE_MPI
        &world_mpi.module,
#endif
        &world_tcp.module,
        &world_sim.module,
        NULL,
    };

    return all[i];
}

static const struct module_absent absent[] = {
#if !GRADMARK_HAVE_MPI
    { "mpi", GRADMARK_MPI_WHY_NOT, WORLD_LAUNCHED | WORLD_HAS_MPI },
#endif
    { NULL, NULL, 0 },
};

const struct module_kind world_kind = { "world", world_at, absent, "threads", NULL };

enum rc world_find(const struct world_ops **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &world_kind, name));
    *out = (const struct world_ops *)m;
out:
    return rc;
}

bool world_may_be_gang(const char *name)
{
    return strcmp(name, "auto") == 0 || strcmp(name, world_tcp.module.name) == 0;
}

const char *world_of_launcher(void)
{
    return gang_is_told() ? "tcp" : "mpi";
}

/* Processes of a gang are in world tcp, and there are no others there. */
static enum rc check_gang(const struct world_ops *world)
{
    const bool is_tcp = world == &world_tcp;

    if (is_tcp && !gang_is_told())
        return rc_raise(RC_INVAL, "--world tcp: nothing says which processes belong to this run; start it by gradmark "
                                  "launch -np N -- ..., with --worker-hosts, or with TF_CONFIG");
    if (!is_tcp && gang_is_told() && (world->module.caps & WORLD_LAUNCHED))
        return rc_raise(RC_INVAL, "--world %s: this process was started by %s; needs --world tcp", world->module.name,
                        world_launcher().name);
    return RC_OK;
}

static int number_from(const char *variable)
{
    const char *text = getenv(variable);
    uint64_t value;

    return text && text_to_plain_u64(text, &value) && value < 1u << 24 ? (int)value : -1;
}

/* A launcher whose variables nothing here reads has started several processes: each would train alone, unnoticed. */
static enum rc check_other_launchers(void)
{
    static const struct {
        const char *launcher, *rank, *n_ranks;
    } others[] = {
        { "torchrun", "RANK", "WORLD_SIZE" },
        { "horovodrun", "HOROVOD_RANK", "HOROVOD_SIZE" },
        { "bpslaunch", "DMLC_WORKER_ID", "DMLC_NUM_WORKER" },
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const int rank = number_from(others[i].rank), n_ranks = number_from(others[i].n_ranks);
        if (rank >= 0 && n_ranks > 1)
            return rc_raise(RC_INVAL,
                            "%s=%d, %s=%d: are set, as %s sets them. gradmark does not read them: each process would "
                            "run alone. Start the processes by gradmark launch, --worker-hosts or mpirun. To run this "
                            "one alone, unset %s",
                            others[i].rank, rank, others[i].n_ranks, n_ranks, others[i].launcher, others[i].rank);
    }
    return RC_OK;
}

enum rc world_choose(const struct world_ops **out, const char *name, bool is_launched)
{
    enum rc rc;

    if (strcmp(name, "auto") == 0 && !is_launched)
        TRY(check_other_launchers());
    if (strcmp(name, "auto") == 0)
        name = is_launched ? world_of_launcher() : world_kind.default_name;
    TRY(world_find(out, name));
    TRY(check_gang(*out));
out:
    return rc;
}

/* By its launcher's variable, or one of another that started the same process: srun, which speaks PMI, too; PALS. */
static int host_rank_from(const char *variable)
{
    static const char *const others[] = { "SLURM_LOCALID", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID" };
    int host_rank = number_from(variable);

    for (size_t i = 0; host_rank < 0 && i < sizeof others / sizeof *others; i++)
        host_rank = number_from(others[i]);
    return host_rank;
}

struct launcher world_launcher(void)
{
    struct gang gang;
    static const struct {
        const char *launcher, *rank, *n_ranks, *n_host_ranks, *host_rank;
    } known[] = {
        { "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
          "OMPI_COMM_WORLD_LOCAL_RANK" },
        { "mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "MPI_LOCALRANKID" },
        { "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS_PER_NODE", "SLURM_LOCALID" },
        { "flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "", "FLUX_TASK_LOCAL_ID" }, /* no number on this host */
    };

    if (gang_peek(&gang))
        return (struct launcher){ gang.is_by_hand ? "a list of hosts" : "gradmark launch",
                                  gang.rank,
                                  gang.n_ranks,
                                  gang.n_host_ranks,
                                  gang.n_host_ranks > 0 ? gang.host_rank : -1,
                                  gang.is_by_hand,
                                  gang.is_by_hand || gang.has_join_file };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int rank = number_from(known[i].rank), n_ranks = number_from(known[i].n_ranks);
        const int n_host_ranks = number_from(known[i].n_host_ranks);
        if (rank >= 0 && n_ranks > 0)
            return (struct launcher){ known[i].launcher,
                                      rank,
                                      n_ranks,
                                      n_host_ranks > 0 ? n_host_ranks : 0,
                                      host_rank_from(known[i].host_rank),
                                      false,
                                      false };
    }
    return (struct launcher){ NULL, 0, 1, 1, 0, false, false };
}

/* Who it is need not be asked while there is no other: a rank ticks about twenty times in a step of 6 us. */
static bool is_main_task(const struct world *w)
{
    return !w->tasks || atomic_load_explicit(&w->tasks->n_running, memory_order_relaxed) == 0 ||
           pthread_equal(w->tasks->main, pthread_self());
}

void world_tick(struct world *w)
{
    if (w->peers && is_main_task(w)) /* world.P1 */
        peer_tick(&w->peers->seat[w->peers->own]);
}

void world_tick_callback(void *world)
{
    if (world)
        world_tick(world);
}

void world_set_duty(struct world *w, const struct peer_duty *duty)
{
    if (w->peers)
        peer_set_duty(&w->peers->seat[w->peers->own], duty);
}

enum rc world_peer_next(struct world *w, struct peer_event *out)
{
    *out = (struct peer_event){ .peer = -1 };
    world_tick(w);
    return w->peers ? peer_next(w->peers, out) : RC_OK;
}

/* Of the ranks of this process, with their libraries: measured, and rounded up. A thread has a stack, an arena of
 * malloc(), and OpenBLAS's buffer, of which actors use one after the other. */
static enum rc check_address_space(const struct world_ops *ops, const struct world_opts *opts, int n_ranks)
{
    enum { PROCESS_MIB = 256, THREAD_MIB = 224, ACTOR_MIB = 32 };
    const size_t n_here = ops->module.caps & WORLD_SHARED_MEMORY && n_ranks > 1 ? (size_t)n_ranks : 1;
    const size_t n_threads = opts && opts->n_threads > 1 ? (size_t)opts->n_threads : 1;
    const size_t n_each_mib = ops->module.caps & WORLD_VIRTUAL_TIME ? ACTOR_MIB : n_threads * THREAD_MIB;
    char what[64];

    (void)snprintf(what, sizeof what, "the ranks of this process (%zu)", n_here);
    return host_memory_check_limit((PROCESS_MIB + n_here * n_each_mib) << 20, what);
}

enum rc world_run(const struct world_ops *ops, const struct world_opts *opts, int n_ranks, rank_main_fn *body,
                  void *arg)
{
    enum rc rc;

    TRY(check_address_space(ops, opts, n_ranks));
    TRY(ops->run(opts, n_ranks, body, arg));
out:
    return rc;
}

enum rc world_open(struct world **out, const struct world_ops *ops, const struct world_opts *opts)
{
    *out = NULL;
    if (!ops->open)
        return rc_raise(RC_UNSUPPORTED, "world %s: its ranks have to be bodies", ops->module.name);
    if (opts->on_loss == ON_LOSS_REPORT || opts->stall.abort_ns > 0)
        return rc_raise(RC_UNSUPPORTED, "world %s: nobody watches the ranks of one that is opened", ops->module.name);
    return ops->open(out, opts);
}

enum rc world_close(struct world **w)
{
    return w && *w ? (*w)->ops->close(w) : RC_OK;
}

uint64_t world_now_ns(struct world *w)
{
    world_tick(w);
    return w->ops->now_ns(w);
}

/* In real time in slices, with a tick in each (world.P1). */
void world_pause(struct world *w, uint64_t ns)
{
    const bool is_sliced = w->peers && !(w->ops->module.caps & WORLD_VIRTUAL_TIME) && ns > WAIT_SLICE_NS;
    const uint64_t started_ns = is_sliced ? w->ops->now_ns(w) : 0;
    uint64_t paused_ns = 0;

    world_tick(w);
    for (; is_sliced && ns - paused_ns > WAIT_SLICE_NS; world_tick(w)) {
        w->ops->pause(w, WAIT_SLICE_NS);
        paused_ns = w->ops->now_ns(w) - started_ns;
        if (paused_ns >= ns) { /* a busy machine woke it late */
            world_tick(w);
            return;
        }
    }
    w->ops->pause(w, ns - paused_ns);
}

void world_charge(struct world *w, double flops, double bytes)
{
    world_tick(w);
    if (w->ops->charge)
        w->ops->charge(w, flops, bytes);
}

void world_work(struct world *w, uint64_t ns)
{
    if (!w->ops->work) {
        world_pause(w, ns);
        return;
    }
    world_tick(w);
    w->ops->work(w, ns);
}

enum rc world_barrier(struct world *w)
{
    world_tick(w);
    return w->ops->barrier(w);
}

enum rc world_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    world_tick(w);
    return w->ops->allgather(w, in, out, n_bytes_each);
}

enum rc world_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    assert(w->rank != 0 || out);
    world_tick(w);
    return w->ops->gather(w, in, out, n_bytes_each);
}

enum rc world_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    world_tick(w);
    return w->ops->broadcast(w, bytes, n_bytes);
}

enum rc world_split(struct world *w, int color, int key, struct world **out)
{
    *out = NULL;
    world_tick(w);
    if (w->tasks && w->tasks->first)
        return rc_raise(RC_INVAL, "world %s: split while a task of the rank is not joined", w->ops->module.name);
    return w->ops->split(w, color, key, out);
}

void world_split_close(struct world **w)
{
    if (w && *w)
        (*w)->ops->split_close(w);
}

enum rc world_check(struct world *w)
{
    world_tick(w);
    return w->ops->check(w);
}

enum rc world_survivors(struct world *w, struct world **out)
{
    *out = NULL;
    world_tick(w);
    if (w->on_loss != ON_LOSS_REPORT)
        return rc_raise(RC_INVAL, "world %s: a run that ends with a lost rank has no world of survivors",
                        w->ops->module.name);
    if (w->tasks && w->tasks->first)
        return rc_raise(RC_INVAL, "world %s: survivors while a task of the rank is not joined", w->ops->module.name);
    return w->ops->survivors(w, out);
}

int world_number(const struct world *w, int r)
{
    return w->number ? w->number[r] : r;
}

bool world_is_lost(const struct world *w, int r)
{
    return w->losses && peer_losses_has(w->losses, world_number(w, r));
}

uint64_t world_n_ticks(const struct world *w, int r)
{
    return w->peers ? peer_n_ticks(w->peers, world_number(w, r)) : 0;
}

int world_lost_rank(const struct world *w)
{
    if (!w->losses || atomic_load_explicit(&w->losses->n_lost, memory_order_acquire) == 0)
        return -1;
    for (int r = 0; r < w->n_ranks; r++)
        if (world_is_lost(w, r))
            return r;
    return -1;
}

enum rc world_raise_loss(const struct world *w, int r)
{
    const int number = world_number(w, r);

    return rc_raise(RC_PEER, "rank %d was lost: %s", number, peer_losses_why(w->losses, number));
}

enum rc world_check_losses(const struct world *w)
{
    const int lost = world_lost_rank(w);

    return lost < 0 ? RC_OK : world_raise_loss(w, lost);
}

enum rc world_forgive_loss(struct world *w, int rank, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    if (rc != RC_PEER || !world_is_lost(w, rank))
        return rc;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    if (world_check(w) != RC_OK)
        return rc_raise(rc, "%s", message);
    return RC_OK;
}

void world_abort(struct world *w, enum rc why)
{
    w->ops->abort(w, why);
}

void world_die(struct world *w)
{
    w->ops->die(w);
}

void world_hang(struct world *w)
{
    w->ops->hang(w);
}

enum rc world_open_doors(struct world *w, const void *welcome, size_t n_bytes)
{
    return w->ops->open_doors(w, welcome, n_bytes);
}

enum rc world_enter(struct world *w, const void *own, size_t n_bytes)
{
    return w->ops->enter(w, own, n_bytes);
}

bool world_next_guest(struct world *w, struct guest_event *out)
{
    return w->n_guests > 0 && w->ops->next_guest && w->ops->next_guest(w, out);
}

bool world_has_losses(const struct world *w)
{
    return w->losses && atomic_load_explicit(&w->losses->n_lost, memory_order_acquire) > 0;
}

enum rc world_leave(struct world *w)
{
    if (!w->ops->leave)
        return rc_raise(RC_UNSUPPORTED, "world %s: no rank can leave before the others", w->ops->module.name);
    if (!world_may_leave(w) || w->number)
        return rc_raise(RC_INVAL, "world %s: rank %d cannot leave before the others", w->ops->module.name, w->rank);
    return w->ops->leave(w);
}

/* --- waits --- */

struct rank_need { /* of cores */
    char host[64];
    int32_t n_threads, n_host_cores;
};

static bool cores_suffice(const struct rank_need *rank, int n_ranks, int r)
{
    int64_t n_threads = 0;

    for (int i = 0; i < n_ranks; i++)
        if (strcmp(rank[i].host, rank[r].host) == 0)
            n_threads += rank[i].n_threads;
    return n_threads <= rank[r].n_host_cores;
}

enum rc world_has_cores(struct world *w, int n_threads, bool *out)
{
    struct rank_need own = { .n_threads = n_threads, .n_host_cores = w->n_host_cores };
    struct rank_need *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the threads of %d ranks", w->n_ranks);
    child_host_name(own.host, sizeof own.host);
    TRY(world_allgather(w, &own, all, sizeof own));
    *out = true;
    for (int r = 0; r < w->n_ranks; r++)
        *out = *out && cores_suffice(all, w->n_ranks, r);
out:
    free(all);
    return rc;
}

void world_set_wait(struct world *w, enum wait_policy policy)
{
    w->wait = policy;
}

bool world_may_spin(const struct world *w)
{
    const int n_tasks = 1 + (w->tasks ? atomic_load_explicit(&w->tasks->n_running, memory_order_relaxed) : 0);

    if (w->wait != WAIT_AUTO)
        return w->wait == WAIT_SPIN && w->n_host_cores > 0;
    return w->n_busy_host_ranks * n_tasks <= w->n_host_cores;
}
