/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - the environment of ranks: their numbers, clock, collectives, and how they stop.
 *
 * One program, several worlds:
 *   threads  ranks are threads of this process; the default: needs no launcher and no MPI
 *   mpi      ranks are processes started by mpirun or srun
 *   tcp      ranks are processes that find each other by address: gradmark launch, lists of hosts, TF_CONFIG
 *            (tcp/gang.h)
 *   sim      ranks are coroutines of one thread; time is virtual, arithmetic is real
 *
 * Invariants
 *   W1  Outside harness/world and harness/net no code reads a clock, sleeps, locks, starts
 *       a thread or process, opens a socket or calls MPI. That is why all of it also runs in sim.
 *   W2  No mutable globals: a rank's state is reached from its struct world.
 *   W3  In sim, time passes only in world_charge(), world_work(), world_pause() and transport waits; the
 *       same seed gives the same times to the digit and the same parameter bits as threads
 *       and mpi.
 *   W4  world_abort() ends every rank within 5 s, and the reason names the rank that knew first.
 *         mpi   It ends the processes. In a caller's MPI (world_opts.mpi_comm) it ends no process. As in threads and
 *               tcp, the waits of every rank end with RC_PEER, and run() returns the failure on every rank. There
 *               world_split() and the opening of an mpi transport end only once rank 0 of that world calls them too or
 *               has left its body.
 *         tcp   It ends a process that does not end by itself.
 *   W5  A rank that ends without returning from its body is noticed:
 *         threads, sim  (world_die) every wait of every other rank ends with RC_PEER naming it.
 *         mpi           (world_die, a killed process) the launcher notices, ends all processes and exits non-zero;
 *                       mpirun names the rank, srun only with --kill-on-bad-exit=1. No call here returns RC_PEER for
 *                       it: the other ranks end where they are. In a caller's MPI world_die() ends only the body, not
 *                       the process: as in threads, and what that body had opened is lost. A killed process ends that
 *                       job too.
 *         tcp           as in threads: its connection to rank 0 ends. The ranks notice the end of rank 0 likewise.
 *       A rank that hangs is noticed if world_opts.stall is set (peers.h). It counts as lost, which is a failure of
 *       that rank (W4), unless the run has ON_LOSS_REPORT (W8). The same holds, in mpi, for a killed process if the
 *       launcher ends no process. In mpi and tcp the ranks of other hosts are watched over TCP (process/heartbeat.h).
 *       If the address of rank 0's host cannot be reached, they are not watched, and rank 0 reports that at the start.
 *       In a caller's MPI no rank is watched: there the time-outs of the transport end waits for its messages.
 *   W6  A rank may have several tasks (task.h). All rules for a rank's waits hold for the waits of all its tasks.
 *   W7  Ranks of one host can map each other's memory (share.h).
 *   W8  With ON_LOSS_REPORT the loss of a rank (world.P3, P4) ends waits for that rank, and nothing else:
 *         - barrier, allgather, gather, broadcast, split, world_host_group() and world_share_open() end with RC_PEER on
 *           every other rank of every world with that rank: calls in progress and all later ones. The message names the
 *           rank by its number in the run, and says why it is lost. One operation ends equally on all ranks that are
 *           not lost: with RC_OK, or with RC_PEER (mpi: some may have had their result before the loss).
 *         - so does share_wait() in a share of such a world; transports end their waits as net.T6 says.
 *         - worlds without it, waits for events and tasks, and world_check() of the other ranks continue as before.
 *       tcp: before a body begins on every rank, a loss is a failure of the run (world.G4).
 *       A rank that leaves early (world_leave()) is as lost to the other ranks, but it is not ended.
 *       A lost rank that continues gets RC_PEER from world_check() and all waits; an error that its body then returns
 *       is no failure. In fault injection (world_hang) it ends once it is lost. But a thread that does not end by
 *       itself ends the process some seconds after all other threads have ended. world_run() is RC_OK if the bodies of
 *       all ranks that are not lost returned RC_OK. A rank that fails (its body returns an error, world_abort()) is a
 *       failure of the run (W4). So is the loss of the run's rank 0, which keeps the results of the run.
 *       mpi: needs a launcher that ends no process (mpirun --enable-recovery), and a limit of silence. After a loss
 *       MPI_Finalize is not called: run() returns, and the process must exit. A lost process is killed by another one
 *       of its host; one that is stopped and alone there keeps its launcher waiting. If a rank is lost while MPI splits
 *       a communicator, the ranks in that call are lost too.
 *   W9  tcp, with ON_LOSS_REPORT and world_opts.n_guests: late joiners ("guests" in names), processes that are not
 *       ranks of the run, may join it while it lasts. A late joiner has a number of n_ranks or more, which is never
 *       used again in the run. It takes no part in collectives of the ranks: its own collectives end at once, as if
 *       every rank did the same. It enters by a message to the servers (world_enter(), world_next_guest()), through
 *       rank 0's process. That process also reports that it has left, or is lost: its connection ended, or it was
 *       silent. That is one more loss of the run (W8), which ends only waits for that late joiner. A late joiner learns
 *       of failures of the run, of its stop, and of each lost rank; of earlier losses before it enters. So W8 holds for
 *       its waits, except its collectives.
 */
#ifndef HARNESS_WORLD_WORLD_H
#define HARNESS_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"
#include "harness/cluster/topology.h"
#include "harness/world/peers.h"

struct guest_event {            /* a late joiner (world.W9) that has entered */
    int rank;                   /* its rank in the run: n_ranks or more */
    const unsigned char *bytes; /* its data from world_enter(); lent until the next call */
    size_t n_bytes;
};

struct world;
struct cluster;
struct peer_losses;
struct share_ops;
struct share_run;
struct task_ops;
struct thread_tasks;

typedef enum rc rank_main_fn(struct world *w, void *arg);

enum world_caps {
    WORLD_SHARED_MEMORY = 1u << 0, /* ranks share one address space (threads, sim) */
    WORLD_VIRTUAL_TIME = 1u << 1,  /* now_ns is not a real clock (sim) */
    WORLD_LAUNCHED = 1u << 2,      /* its ranks are processes that a launcher started */
    WORLD_HAS_MPI = 1u << 3,       /* they are ranks of MPI_COMM_WORLD, and may call MPI */
    WORLD_GUESTS = 1u << 4,        /* processes may join a running run (world.W9) */
    WORLD_SEES_ENDS = 1u << 5,     /* it notices a process that has ended, watched or not */
};

/* The cost of computing a simulation. */
struct world_cost {
    uint64_t n_messages; /* sent from rank to rank, arrived or not */
    uint64_t real_ns;    /* wall time from before the first rank began until after the last one ended */
    /* Virtual, and so the same in every run: the busiest link of each kind for messages to or from a rank in
     * PHASE_STEP; the busiest for the computation of servers in PHASE_SERVE; and the bytes that all network cards
     * sent. */
    struct link_load load[N_LOADS];
    uint64_t network_bytes;
};

enum world_security { /* which peers may connect to the ranks over TCP, and read what these send: zmq_gate.h of net */
                      SECURITY_AUTO, /* encrypted, except the loopback */
                      SECURITY_OFF,  /* not encrypted: --insecure */
                      SECURITY_ON,   /* encrypted, including the loopback: --secure */
};

struct world_opts {
    bool bind_cores;   /* give workers equal, disjoint cores if possible */
    int n_bound_ranks; /* ranks 0 .. n_bound_ranks-1 are workers, also in sim; the remaining ranks (parameter servers)
                          get the following cores, one each if there are enough, else none; 0: all ranks */
    bool shares_cores; /* the remaining ranks get no separate cores: on each host they run on those of rank 0, rank 1,
                          ... in turn */
    int n_threads;     /* of each worker, which gets the same number of cores, or fewer if they are short; 0: an equal
                          part of all */
    bool has_tasks;    /* tasks beside the main one will use transports. Matters only in mpi, which then requests
                          MPI_THREAD_SERIALIZED. If less is granted, run() fails on every rank, before any body, with
                          RC_UNSUPPORTED and the reason */
    bool tasks_are_optional; /* has_tasks: if less is granted, the run continues without: world.has_tasks is false */
    bool one_thread;      /* mpi only, after open(): no thread of this process is working, except the calling thread, so
                             MPI_THREAD_SINGLE, which a plain MPI_Init() grants, is enough */
    int timeout_ms;       /* mpi and tcp, after open(): open(), close() and bootstrap wait at most timeout_ms for
                             another rank, then RC_TIMEOUT; 0: no limit */
    const void *mpi_comm; /* mpi only: address of an MPI_Comm of an MPI that the caller has initialised, with
                             the level above: run() is collective over it, may be called again, and leaves
                             the job and MPI as they were. NULL: run() initialises and finalises MPI */
    const char *interface;         /* mpi and tcp: where other hosts reach this one, as host_address.h says; borrowed;
                                      NULL or "": none */
    enum world_security security;  /* of TCP connections */
    const struct cluster *cluster; /* sim only; borrowed; NULL elsewhere */
    struct world_cost *cost;       /* sim only: set when run() returns, on errors too; may be NULL */
    struct peer_opts stall;        /* how long a rank may be silent; zeros: no limit */
    /* world.W9: the maximum number of late joiners. Not 0: RC_UNSUPPORTED except in tcp */
    int n_guests;
    int n_servers;        /* world.W9: the last n_servers ranks are the servers that a late joiner enters */
    const char *identity; /* world.W9: text about the run from rank 0 to late joiners; borrowed; NULL: none */
    /* mpi and tcp: run() calls it on each rank of the run, and on a late joiner, before anything depends on these
     * options, which may differ between processes. It may call collective operations. It ends equally on all ranks:
     * RC_INVAL ends run() with that before any body. NULL: nothing. */
    enum rc (*agree)(struct world *w, void *arg);
    void *agree_arg;
    enum on_loss on_loss;  /* world.W8. RC_UNSUPPORTED if a world cannot report */
    int failure_exit_code; /* threads, mpi, tcp: exit code of a process that does not return from run(), because a rank
                              failed or does not end: world_abort() and watchers; 0: 1 */

    /* For tests, not in sim: the clock of a watcher, read before each look. With it no process is ended for not leaving
     * a failed run in time: a slow machine lets it be late. NULL: wait_clock_ns(). */
    uint64_t (*watch_clock)(void *arg);
    void *watch_clock_arg;
};

/* The exit code of a process that the world ends. */
static inline int world_failure_exit_code(const struct world_opts *o)
{
    return o->failure_exit_code != 0 ? o->failure_exit_code : EXIT_FAILURE;
}

struct world_ops {
    struct module module; /* caps: enum world_caps */
    const struct task_ops *tasks;
    const struct share_ops *shares;

    /* Make n_ranks ranks and run body on each; returns when all ended, with the first
     * failure, whose message reads "rank R: ...". In mpi and tcp the ranks already exist: body runs
     * once in this process, and n_ranks must be 0 or their number. In tcp all must arrive within the time limit of the
     * group (RC_TIMEOUT names the missing ones). May be called again after it returned, except in sim, tcp and mpi
     * without mpi_comm (one engine, one group, one MPI_Init per process). */
    enum rc (*run)(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg);
    /* Optional, with close (may be NULL: RC_UNSUPPORTED). This rank of a world that lasts until it is closed, for a
     * library, whose caller cannot be a body. threads: the calling thread is the only rank. mpi: the ranks of
     * opts->mpi_comm. If that is NULL, those of MPI_COMM_WORLD; MPI is then initialised here, unless it is already, and
     * finalised by close(). tcp: the ranks of the group, once per process. It ends no process; world_abort() informs
     * the other ranks, as in tcp and in a caller's MPI (world.W4). RC_TIMEOUT (opts->timeout_ms): other ranks did not
     * arrive. Started operations are then left to MPI, which is not finalised, even if it was initialised here.
     * No fault injection, no watch for silence, no report of losses. Collective; one thread makes all calls. */
    enum rc (*open)(struct world **out, const struct world_opts *opts);
    /* Collective. The failure of the world, as run() returns it; nulls in any case. */
    enum rc (*close)(struct world **w);

    /* Monotonic ns, one clock for all ranks of the world (mpi: offset to rank 0 removed). */
    uint64_t (*now_ns)(struct world *w);
    /* Sleep for ns; sim: in virtual time. */
    void (*pause)(struct world *w, uint64_t ns);
    /* Optional (may be NULL): default nothing. Account for work just done: flops of arithmetic
     * and bytes streamed through memory; in sim, max(flops / flops_per_s, bytes /
     * memory_bytes_per_s) of this rank passes, times its slowness (cluster/cluster.h). */
    void (*charge)(struct world *w, double flops, double bytes);
    /* Optional (may be NULL): default pause(). Repeats recorded work of ns; in sim a slow rank takes longer. */
    void (*work)(struct world *w, uint64_t ns);

    /* Bootstrap; collective over w; never on a measured path; takes no virtual time. Errors: RC_PEER if a rank failed.
     * Waiting ranks sleep; they never spin for long. */
    enum rc (*barrier)(struct world *w);
    enum rc (*allgather)(struct world *w, const void *in, void *out, size_t n_bytes_each);
    /* Only rank 0 gets out; it may be NULL on other ranks. */
    enum rc (*gather)(struct world *w, const void *in, void *out, size_t n_bytes_each);
    /* bytes[n_bytes] of every rank := those of rank 0. */
    enum rc (*broadcast)(struct world *w, void *bytes, size_t n_bytes);

    /* Collective over w: ranks of equal color form a new world, ordered by key then rank; color < 0: this rank gets
     * *out = NULL. Owner closes with split_close. RC_INVAL while this rank has tasks beside its main one (threads,
     * mpi): MPI can only split with a call that blocks. */
    enum rc (*split)(struct world *w, int color, int key, struct world **out);
    void (*split_close)(struct world **w);
    /* With ON_LOSS_REPORT (else the wrapper refuses): collective over the ranks of w that are not lost. The loss of one
     * of them does not end it while other ranks wait here. *out: a world of the ranks that took part and were not lost
     * when it was made, in w's order. All get the same one, which the lowest of them decides. Takes no virtual time.
     * Its collectives work until one of its ranks is lost (world.W8). Transports may fail to open over it. Closed as a
     * split is. Errors: RC_PEER if the run failed, or this rank is lost; RC_NOMEM. Compare MPI_Comm_shrink in User
     * Level Failure Mitigation (Bland et al., EuroMPI 2012). */
    enum rc (*survivors)(struct world *w, struct world **out);

    /* RC_OK while no rank failed; RC_PEER (raised, names the rank) once one did, in mpi only in a caller's MPI
     * (world.W5), and once the tasks of this rank were stopped (world.K4). Cheap: waits poll it. */
    enum rc (*check)(struct world *w);
    /* Record that this rank failed (message from rc_message()) and end the waits of all ranks. In mpi it
     * prints the message, ends all processes and does not return, except in a caller's MPI. */
    void (*abort)(struct world *w, enum rc why);
    /* For fault injection: this rank stops at once, without a report (thread: pthread_exit; mpi: SIGKILL, in a caller's
     * MPI longjmp; sim: actor exit). Does not return. */
    void (*die)(struct world *w);
    /* For fault injection: this rank becomes silent, with all it holds. Does not return. In threads and sim it ends
     * once a rank has failed (this one, if ranks are watched). */
    void (*hang)(struct world *w);
    /* Optional (may be NULL: no late joiners): world_open_doors(), world_enter(), world_next_guest(). */
    enum rc (*open_doors)(struct world *w, const void *welcome, size_t n_bytes);
    enum rc (*enter)(struct world *w, const void *own, size_t n_bytes);
    bool (*next_guest)(struct world *w, struct guest_event *out);
    /* Optional (may be NULL): RC_UNSUPPORTED. This rank has done its part and leaves before the other ranks:
     * world.W8. */
    enum rc (*leave)(struct world *w);
};

enum wait_policy {
    WAIT_AUTO,  /* spin before a sleep if there is a core for every rank */
    WAIT_SPIN,  /* spin before every sleep */
    WAIT_SLEEP, /* yield a few times, then sleep */
};

struct world { /* first member of each implementation's struct */
    const struct world_ops *ops;
    int rank, n_ranks;                     /* 0 <= rank < n_ranks */
    int host_rank, n_host_ranks;           /* among the ranks on this host */
    int host_first_rank;                   /* mpi, tcp: the lowest rank in this world on this host; else 0 */
    int n_host_cores;                      /* cores of this host that its ranks may use; 0: no rank spins (sim) */
    int n_busy_host_ranks;                 /* ranks of this host that work while this world is in use */
    enum wait_policy wait;                 /* of this rank: world_set_wait() */
    int n_own_cores;                       /* cores bound to this rank alone; 0: shared or unbound */
    double flops_per_s;                    /* sim: of this rank; else 0 */
    double memory_bytes_per_s;             /* sim: likewise */
    struct collective_software collective; /* sim: of this rank; else zeros */
    bool memories_are_apart;               /* sim: cluster_memories_are_apart(), of the run; else false */
    double link_bytes_per_s;               /* sim: of this rank's host link; else 0 */
    double link_latency_s;                 /* sim: one way, host to host; else 0 */
    uint64_t eager_bytes;                  /* sim: the sender of a longer message to another host waits until it has
                                              arrived; else, and if none does, 0 */
    double local_bytes_per_s;              /* sim: between ranks of a host; else 0 */
    double local_latency_s;                /* sim: one way, between ranks of a host; else 0 */
    const char *interface; /* world_opts.interface; NULL or "": none, or the world is not mpi or tcp. In tcp on
                                    several hosts, if not given: the address by which rank 0 and this rank have found
                                    each other */
    enum world_security security;
    const char *mpi_level;        /* mpi: the thread level that MPI grants all its ranks, such as "MPI_THREAD_FUNNELED";
                                     else NULL */
    bool has_tasks;               /* every task may use transports; mpi: if world_opts request it; else true */
    struct thread_tasks *tasks;   /* threads, mpi, tcp: of this rank, the same in all its worlds; else NULL */
    struct share_run *shares;     /* threads, sim: of the run; else NULL */
    struct peers *peers;          /* of this rank, the same in all its worlds; NULL: mpi, not watched */
    enum on_loss on_loss;         /* of the run */
    struct peer_losses *losses;   /* of the run, world.P8; NULL: ON_LOSS_ABORT */
    int n_guests;                 /* world.W9: in the run's own world; 0 in its parts */
    const char *identity;         /* late joiner: the run's; else NULL */
    const unsigned char *welcome; /* late joiner: rank 0's data from world_open_doors(); else NULL */
    size_t n_welcome_bytes;
    const int *number; /* [n_ranks]: each rank's number in the run; NULL: as in this world; set in every part with
                          ON_LOSS_REPORT */
};

/* The worlds: option --world. */
extern const struct module_kind world_kind;
/* By name. RC_UNSUPPORTED: known but not built in (says why). RC_INVAL: unknown name. */
enum rc world_find(const struct world_ops **out, const char *name) MUST_CHECK;
/* The same, but "auto" is the world of processes if a launcher started this one, else threads. RC_INVAL also: "tcp" in
 * a process without a group (tcp/gang.h); another world of processes in a group; "auto" if another launcher started
 * several processes (torchrun), which would each run alone. */
enum rc world_choose(const struct world_ops **out, const char *name, bool is_launched) MUST_CHECK;
/* Is this name of --world "tcp", or "auto", which may become it? */
bool world_may_be_gang(const char *name);
/* The world of the processes that this one's launcher starts: "mpi", or "tcp" in a process group. */
const char *world_of_launcher(void);

/* The launcher of this process, read from the environment before any MPI call. */
struct launcher {
    const char *name; /* "mpirun", "srun", "gradmark launch", NULL: none */
    int rank, n_ranks;
    int n_host_ranks; /* ranks on this host; 0: unknown */
    int host_rank;    /* this one's index among them; -1: unknown */
    bool is_by_hand;  /* each process has its own terminal: world tcp by lists of hosts */
    bool lets_join;   /* other processes can get the data to join the run (world.W9) */
};
struct launcher world_launcher(void);

/* The operations above, for callers. */
enum rc world_run(const struct world_ops *ops, const struct world_opts *opts, int n_ranks, rank_main_fn *body,
                  void *arg) MUST_CHECK;
enum rc world_open(struct world **out, const struct world_ops *ops, const struct world_opts *opts) MUST_CHECK;
enum rc world_close(struct world **w) MUST_CHECK; /* NULL-safe, nulls */
uint64_t world_now_ns(struct world *w);
void world_pause(struct world *w, uint64_t ns);
void world_charge(struct world *w, double flops, double bytes);
void world_work(struct world *w, uint64_t ns);
enum rc world_barrier(struct world *w) MUST_CHECK;
enum rc world_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each) MUST_CHECK;
enum rc world_gather(struct world *w, const void *in, void *out, size_t n_bytes_each) MUST_CHECK;
enum rc world_broadcast(struct world *w, void *bytes, size_t n_bytes) MUST_CHECK;
enum rc world_split(struct world *w, int color, int key, struct world **out) MUST_CHECK;
void world_split_close(struct world **w); /* NULL-safe, nulls */
enum rc world_check(struct world *w) MUST_CHECK;
/* RC_INVAL with ON_LOSS_ABORT, and while this rank has tasks beside its main one. */
enum rc world_survivors(struct world *w, struct world **out) MUST_CHECK;
/* The lowest lost rank of w, by w's numbers; -1: none, as always with ON_LOSS_ABORT. Cheap: waits poll it. */
int world_lost_rank(const struct world *w);
/* Is rank r of w lost? */
bool world_is_lost(const struct world *w, int r);
/* Signs of life of rank r so far, as far as they are known here (world.P1); 0 if they are not recorded. */
uint64_t world_n_ticks(const struct world *w, int r);
/* RC_OK while no rank of w is lost; RC_PEER (raised, names the lowest lost rank). It ends collectives: world.W8.
 * Cheap. */
enum rc world_check_losses(const struct world *w) MUST_CHECK;
/* Raises RC_PEER: rank r of w is lost, and why. */
enum rc world_raise_loss(const struct world *w, int r);
/* rc is the result of a transfer with `rank`. Returns RC_OK if rc is RC_PEER, the rank is lost, and the run continues
 * without it; else rc. */
enum rc world_forgive_loss(struct world *w, int rank, enum rc rc) MUST_CHECK;
/* The number in the run of rank r of w: in the run's own world, and in all others with ON_LOSS_REPORT. */
int world_number(const struct world *w, int r);

/* --- how ranks wait --- */

/* Does every host have a core for each thread of its ranks? n_threads: of this rank. The same on all ranks. Collective.
 * RC_NOMEM; errors as an allgather. */
enum rc world_has_cores(struct world *w, int n_threads, bool *out) MUST_CHECK;
/* Sets the wait policy of this rank from now on, in w and in the parts that it splits w into. */
void world_set_wait(struct world *w, enum wait_policy policy);
/* May a wait spin? With WAIT_AUTO: is there a core for every task of this host's ranks, if each rank has as many tasks
 * as this one? Never in virtual time. */
bool world_may_spin(const struct world *w);

void world_abort(struct world *w, enum rc why);
void world_die(struct world *w);
void world_hang(struct world *w);
/* With ON_LOSS_REPORT, for a rank of the run's own world that is not rank 0 and has only its main task. It leaves
 * before the other ranks. To them it is lost from now on (world.W8), with WORLD_LEFT_WHY as the reason. It calls only
 * closing functions of the world after that, and its body returns RC_OK. Does not wait. Errors: RC_UNSUPPORTED if a
 * process cannot leave this world (mpi); RC_INVAL otherwise. */
#define WORLD_LEFT_WHY "left the run"
enum rc world_leave(struct world *w) MUST_CHECK;
/* Can a rank of this world leave? */
static inline bool world_may_leave(const struct world *w)
{
    return w->ops->leave && w->losses && w->rank != 0;
}
/* --- late joiners (world.W9) --- */

/* The number of possible peers of a message: ranks, then late joiners. */
static inline int world_n_peers(const struct world *w)
{
    return w->n_ranks + w->n_guests;
}

static inline bool world_is_guest(const struct world *w)
{
    return w->welcome != NULL;
}

/* For rank 0: from now on late joiners may come, and get these bytes. RC_NOMEM. */
enum rc world_open_doors(struct world *w, const void *welcome, size_t n_bytes) MUST_CHECK;
/* For a late joiner: informs all servers, and waits until they know. RC_PEER: the run has ended. */
enum rc world_enter(struct world *w, const void *own, size_t n_bytes) MUST_CHECK;
/* For a server: the next late joiner that has entered; false: none now. Cheap. The late joiner waits until the call
 * after it. */
bool world_next_guest(struct world *w, struct guest_event *out);
/* Is any rank or late joiner of the run lost? Cheap. */
bool world_has_losses(const struct world *w);
/* Shows that this rank is alive (world.P1): for work of many seconds without other calls of world.h. */
void world_tick(struct world *w);
/* The same as a callback for a struct world; NULL: nothing. */
void world_tick_callback(void *world);
/* Sets what this rank owes from now on. */
void world_set_duty(struct world *w, const struct peer_duty *duty);
/* The next change of a rank's state (world.P7), by ranks of the whole run; peer -1: none. Never blocks. RC_NOMEM. */
enum rc world_peer_next(struct world *w, struct peer_event *out) MUST_CHECK;

#endif
