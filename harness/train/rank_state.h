/* SPDX-License-Identifier: Apache-2.0 */
/* rank_state.h - what a rank owns while it trains. Private to this room. */
#ifndef HARNESS_TRAIN_RANK_STATE_H
#define HARNESS_TRAIN_RANK_STATE_H

#include "data/loader.h"
#include "harness/train/bound.h"
#include "harness/train/train.h"

/* Worker 0 may be two steps ahead of the slowest rank: it awaits the parameters of a step in the next step. Of so many
 * steps it keeps the running means. */
enum { N_KEPT_STATES = 3 };

struct alpha_beta_times;
struct feed_client;
struct rank_pipe;
struct rank_shard;
struct step_hook;
struct transport;

enum { N_STEP_HOOKS = 12 };

struct batch_place { /* a batch of the run, numbered as in train.L1: that of this worker in this step */
    size_t step;
    int worker;
};

struct rank_feed {             /* for --input feed; zeros: there is no driver */
    struct world *all;         /* borrowed: the driver and all other ranks */
    struct world *own, *world; /* the ranks that train; the workers and the driver (NULL: a server) */
    struct transport *transport;
    struct feed_client *client; /* NULL: not a worker */
    struct loader_source source;
    bool drives; /* this is the driver */
};

struct rank {            /* everything one rank owns while it trains */
    struct world *world; /* the ranks that train */
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL: a server */
    struct dataset_part part;  /* its samples; unused with SPLIT_IID */
    struct exchange *exchange;
    struct exchange_opts exchanging; /* the job's, with --overlap auto and --in-flight resolved */
    float *param, *grad;             /* owned by the exchange */
    struct exchange_memory_facts memory;
    struct train_result result;   /* filled on rank 0 only */
    struct train_rank_info info;  /* for rank 0 */
    struct host_load load_before; /* before the first step; in sim not used */
    bool peak_is_own;             /* the peak RSS of the process was reset when this run began */
    struct world *left;           /* --on-loss report: at the end, the remaining ranks; else NULL */

    /* Hosts and limits: rank_hosts.c, bound.c */
    int *host; /* [world->n_ranks]: host of each rank, if servers share several hosts with workers, or a collective adds
                  in the memory of hosts; else NULL */
    struct rank_links links;
    bool has_cores;        /* each thread of each worker has a core: rank_choose_wait() */
    bool ranks_have_cores; /* likewise each rank, servers included; neither in sim */
    uint64_t step_ns;      /* time of a step, measured by the probe; 0: mode without servers */

    /* Steps: rank_steps.c */
    const struct step_hook *hook[N_STEP_HOOKS]; /* [n_hooks]: those that the job uses, in the order of their table */
    size_t n_hooks;
    struct batch_place place; /* of the step that begins */
    size_t n_begun, n_done;   /* steps of this run: begun by this rank; completed ones that count (after rank_end()) */
    bool has_ended;           /* this rank begins no further step */
    struct step_stamp *stamp; /* [n_steps] */
    uint64_t data_waited_ns;  /* wait for the data loader: before the first step the total, later that in steps */

    /* Each for one hook, whose file alone uses it */
    float *trajectory;                /* [n_steps + 1][n_params] */
    float *kept_state;                /* running means at the start of the last N_KEPT_STATES steps; NULL: not kept */
    uint64_t input_waited_ns;         /* network_data_waited_ns() when the step began */
    uint64_t *round_ns;               /* [job->n_steps]; first server: when each W batches were completed */
    struct world *workers;            /* those that verify, if there are servers; else NULL */
    uint64_t *hash;                   /* [n_segments], to verify */
    float *checked;                   /* float[n_params] on the host, if the host cannot read r->param; else NULL */
    struct slowed {                   /* the slow rank */
        uint64_t since_ns, waited_ns; /* of this step: computing already made up for; its waits */
        int64_t owed_ns;              /* pause still due; below 0: an earlier one was too long */
    } slowed;

    /* What hooks have found out */
    bool is_leaving;   /* it leaves early (train.V4), or joined late */
    bool is_over;      /* elastic run: no batch is left for this rank */
    bool is_corrupted; /* a check found different parameters; equal on all workers */

    /* The parts of a worker: input.c, stages.c, shard.c */
    struct rank_feed feed;
    struct rank_pipe *pipe;                       /* for a worker with stages; else NULL */
    struct rank_shard *shard;                     /* for --shard-dense; else NULL */
    struct pipeline_stage stage;                  /* that one's */
    uint64_t pipe_waited_ns;                      /* wait for the stages next to this one */
    uint64_t pipe_sending_ns;                     /* time to start sends to them */
    uint64_t shard_waited_ns;                     /* wait for the other ranks of its shard group */
    uint64_t least_forward_ns, least_backward_ns; /* of a stage's micro-batches, without these three; 0: none */
};

/* Its number in the whole run (train.G1). */
int rank_number(const struct rank *r);
/* Set this rank's phase. The rank fails here if fault injection says so. step: of this run. */
void rank_enter(struct rank *r, enum peer_phase phase, uint64_t step);
/* Fail here if fault injection asks for it. step: of the whole training; micro_batch: -1: the step begins. */
void rank_drill(const struct rank *r, enum peer_phase phase, uint64_t step, int64_t micro_batch);

/* Threads that compute; 1 on a server. */
int rank_n_threads(const struct rank *r);

static inline bool rank_is_worker(const struct rank *r)
{
    return r->world->rank < r->job->n_workers || world_is_guest(r->world);
}

static inline bool rank_is_virtual(const struct rank *r)
{
    return r->world->ops->module.caps & WORLD_VIRTUAL_TIME;
}

/* The world of all stages, or of this training alone. */
static inline struct world *rank_all(const struct rank *r)
{
    return r->job->all ? r->job->all : r->world;
}

/* Do the survivors of a loss go back to the last common step? */
static inline bool train_goes_back(const struct train_job *job)
{
    return job->on_loss == ON_LOSS_REPORT && job->mode->module.caps & MODE_SYNCHRONOUS;
}

/* Samples taken by all workers before this step of the run. */
uint64_t rank_samples_before(const struct train_job *job, size_t step);

/* --- bound.c: limits of the run --- */

/* Measure before the first step. Changes gradients, but nothing that training starts from. Collective. */
enum rc rank_probe(struct rank *r) MUST_CHECK;
/* Measure again after rank_end(), because a machine's speed may change between; the run's results stay unchanged. Does
 * nothing in virtual time, where speed is constant, and after a stopped run (stop.h). Does nothing with --on-loss
 * report either: if a rank died meanwhile, results that must survive losses would be lost. Collective. */
enum rc rank_probe_again(struct rank *r) MUST_CHECK;

/* --- rank_hosts.c: where servers are, and the ranks of a collective --- */

/* Set r->host and what follows from it. RC_INVAL, on all ranks: a server's host has no worker to go
 * with it. RC_NOMEM. Collective. */
enum rc rank_find_hosts(struct rank *r) MUST_CHECK;

/* --- rank_hosts.c: beside computing, or after it --- */

/* Set r->exchanging, equally on all workers, and record the choice in the result. Collective. Errors: as
 * world_host_group(). */
enum rc rank_choose_overlap(struct rank *r) MUST_CHECK;
/* After rank_choose_wait(): set r->exchanging.n_in_flight, equally on all workers, and record it in the result. If
 * ranks share cores, neither a link nor a processor idles while a chunk is in transit. Several chunks at once then only
 * compete for cores and memory bandwidth (results/2026-11-26-ps-in-flight). */
void rank_choose_flight(struct rank *r);

/* --- rank_hosts.c: how ranks wait --- */

/* After rank_choose_overlap(): resolve --wait, equally on all workers, set it in this rank's world, and record it in
 * the result. Does nothing in sim. Collective. */
enum rc rank_choose_wait(struct rank *r) MUST_CHECK;
/* May the threads of this rank's pool spin while they wait for each other? After rank_choose_wait(). */
bool rank_pool_may_spin(const struct rank *r);

/* The driver's part of this collective: it needs a core, and does not spin. */
enum rc rank_needs_core(struct rank *r) MUST_CHECK;

/* --- input.c: --input feed --- */

/* Separate the training ranks from the driver, and open the transport for batches. Collective over `all`, for a job
 * that has a driver. */
enum rc rank_feed_open(struct rank *r, struct world *all) MUST_CHECK;
/* The driver: push batches until every worker has ended. */
enum rc rank_feed_drive(struct rank *r) MUST_CHECK;
/* This rank needs no more batches. Does nothing unless it is a worker that is fed. */
enum rc rank_feed_end(struct rank *r) MUST_CHECK;
void rank_feed_close(struct rank *r); /* frees what was opened */

/* --- stages.c: --stages --- */

/* Open the transport to the stages next to this one, for r->stage; does nothing without stages. Collective over
 * job->pipe. Errors: as transport_open_planned(). */
enum rc rank_pipe_open(struct rank *r) MUST_CHECK;
/* Put into the stamps of all ranks: the losses, which only the last stage knows, and the end of the last step, which is
 * that of the slowest stage. Collective over job->pipe. */
enum rc rank_pipe_share_stamps(struct rank *r) MUST_CHECK;
/* Join the checkpoints of all stages of worker 0; all have moments, or all have no moments. *whole, on the first stage,
 * becomes that of the network; on other stages it is unchanged. RC_NOMEM, and errors of messages. */
enum rc rank_pipe_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own) MUST_CHECK;
/* *e := the evaluation of the last stage; does nothing without stages. Collective over job->pipe. */
enum rc rank_pipe_share_evaluation(struct rank *r, struct evaluation *e) MUST_CHECK;
/* Spans of micro-batches and of waits for other stages; NULL: no timeline. */
struct span_ring *rank_pipe_ring(const struct rank *r);
void rank_pipe_close(struct rank *r);

/* --- shard.c: --shard-dense; without it each does nothing, and gives NULL or false --- */

/* Replace r->job by that of this rank's shard. RC_NOMEM. */
enum rc rank_shard_take(struct rank *r) MUST_CHECK;
/* With r->compute open: connect to the other ranks of the group, and to those with the same shard. Collective. Errors:
 * as world_split(), transport_open_planned(); RC_NOMEM. */
enum rc rank_shard_open(struct rank *r) MUST_CHECK;
const struct dense_shard *rank_shard_env(const struct rank *r);
const struct exchange_shard *rank_shard_exchanged(const struct rank *r);
/* is_still: from now on send nothing in the group, and leave received data unchanged; false: send again. */
void rank_shard_be_still(struct rank *r, bool is_still);
/* Least time to send a micro-batch's activations and their gradients in the group (harness/bench/alpha_beta.h).
 * Collective over the group. Errors: as alpha_beta_measure(). */
enum rc rank_shard_probe(struct rank *r, struct alpha_beta_times *gather, struct alpha_beta_times *scatter) MUST_CHECK;
uint64_t rank_shard_waited_ns(const struct rank *r); /* in all steps, for the other ranks of its group */
/* Spans of messages in the group; NULL: no timeline. */
struct span_ring *rank_shard_ring(const struct rank *r);
/* Is this a rank of group 0? Its shards are joined. */
bool rank_shard_gives(const struct rank *r);
/* On rank 0, *whole becomes the checkpoint of the whole network (the caller owns its arrays), joined from the ranks of
 * group 0. All of them must call this, all with moments or all without. RC_NOMEM, and errors of messages. */
enum rc rank_shard_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own) MUST_CHECK;
/* Gather into the result on rank 0. Collective over group 0. */
enum rc rank_shard_gather_figures(struct rank *r) MUST_CHECK;
/* On rank 0, once its own model is closed: evaluate the network (or stage) that its shard is part of, with these
 * parameters, on the test set. With stages: collective over the stages of worker 0, which evaluate together; only the
 * last one gets the outcome. */
enum rc rank_shard_evaluate(struct rank *r, const struct checkpoint *whole, struct evaluation *out) MUST_CHECK;
void rank_shard_close(struct rank *r);

/* --- rank_hosts.c: the devices of workers --- */

/* *out: the device of the worker with `host_rank` on its host; workers take the devices they see in turn. 0 if the
 * backend has none. Errors: as its device_count(). */
enum rc rank_device_number(int *out, const struct compute_backend *compute, int host_rank) MUST_CHECK;
/* With r->compute open: compare the devices of all workers. RC_INVAL, on all ranks: two workers have the same device,
 * without --share-device. Collective. */
enum rc rank_check_devices(struct rank *r) MUST_CHECK;

/* --- losses.c: losses of ranks --- */

/* The steps have ended with `trained`. With --on-loss report: meet the remaining ranks (r->left). If they train
 * together, return to the last step that all have completed (r->n_done): parameters, optimiser and running means.
 * Errors: `trained`, unless it is the loss of a rank that the mode can continue without; RC_PEER: nothing was trained.
 * Collective. */
enum rc rank_end(struct rank *r, enum rc trained) MUST_CHECK;
/* Before the first step: returns rc. If it is the loss of a rank, the message adds that nothing was trained. */
enum rc rank_explain_early_loss(const struct rank *r, enum rc rc);
/* Returns rc. If a message timed out, the error message adds what the user can do. */
enum rc rank_explain_timeout(const struct rank *r, enum rc rc);
/* On rank 0: record which ranks were lost, and when. RC_NOMEM. */
enum rc rank_note_losses(struct rank *r) MUST_CHECK;

/* --- messages.c: the messages of all ranks --- */

/* Gather into the result on rank 0; does nothing without --messages. RC_NOMEM. Collective over `gathered`. */
enum rc rank_messages_gather(struct rank *r, struct world *gathered) MUST_CHECK;

/* --- elastic.c: --elastic --- */

/* For a late joiner (world.W9), after rank_open(): it becomes a worker of the run. r->is_over: it came too late.
 * RC_PEER, RC_TIMEOUT: the run has ended. */
enum rc rank_join(struct rank *r) MUST_CHECK;
/* Called instead of rank_end() if r->is_leaving and no work is left: the other ranks continue without this one. */
enum rc rank_leave(struct rank *r) MUST_CHECK;

/* exchange_env.on_round; arg: the struct rank. */
void rank_note_round(void *arg, size_t round, uint64_t ended_ns);

/* --- rank_result.c: what rank 0 keeps --- */

/* Every rank allocates its stamps, and rank 0 those of all ranks, in advance, so that results are never lost for lack
 * of memory. RC_NOMEM. */
enum rc rank_result_open(struct rank *r) MUST_CHECK;

/* Fill this rank's checkpoint *c, except its arrays and their lengths, after n_done steps of this run. */
void rank_describe(const struct rank *r, struct checkpoint *c, size_t n_done);

/* Get the final parameters, and on rank 0 the optimiser's arrays if a checkpoint needs them. */
enum rc rank_finish_exchange(struct rank *r) MUST_CHECK;
/* Gather the results on rank 0, which evaluates the model, and write the timeline. Collective over the remaining
 * ranks. */
enum rc rank_gather(struct rank *r) MUST_CHECK;

/*
 * The steps of a worker, and what features do around them. Private to this room.
 *
 * The loop knows no feature. A feature that acts between steps, or in them, is a struct step_hook in the feature's own
 * file. rank_steps.c lists all hooks in one table, whose order is the order of their calls.
 */

enum step_point {
    CHOOSE_STEP,   /* before a step: may this rank begin it, and with which batch (r->place)? In no step's time */
    BEFORE_STEP,   /* the step begins. In no step's time */
    COMPUTED_PART, /* a part of the gradient is computed; at last, all of it. In the step's time */
    AFTER_STEP,    /* the step has ended, and its stamp is complete. In no step's time */
    AFTER_STEPS, /* the last step of this rank has ended, of whichever cause but an error. step: the number of steps */
    N_STEP_POINTS
};

/* step: of this run. May block, and may be collective over r->world if all workers have the same steps. An error ends
 * the run. A hook that sets r->has_ended makes this step the last: hooks behind it are not called at this point. */
typedef enum rc step_fn(struct rank *r, size_t step);

/* Every member but the name is optional: NULL does nothing. */
struct step_hook {
    const char *name;
    /* Does the job use this feature? NULL: every job does. The other members are called only if so. */
    bool (*wanted)(const struct train_job *job);
    /* Every rank, servers too, before it has tasks. Collective. Errors: as world_split(). */
    enum rc (*meet)(struct rank *r);
    /* Every rank, servers too, with its exchange open: allocate. RC_NOMEM. */
    enum rc (*open)(struct rank *r);
    /* Workers only. */
    step_fn *at[N_STEP_POINTS];
    /* Does the hook act behind this step? Then the step awaits its own exchange, which may else overlap with the next
     * step. The same on all workers that wait for each other. */
    bool (*acts_behind)(const struct rank *r, size_t step);
    /* Every remaining rank, after the last step: gather into the result on rank 0. Collective over `gathered`. */
    enum rc (*gather)(struct rank *r, struct world *gathered);
    /* Free what meet and open made; also after a failure of either, or if neither was called. */
    void (*close)(struct rank *r);
};

extern const struct step_hook hook_alternation, hook_elastic, hook_input, hook_kept_state, hook_save, hook_slow_rank,
    hook_trajectory, hook_verify;

/* Find the hooks that the job uses, for the functions below. */
void rank_hooks_find(struct rank *r);
enum rc rank_hooks_meet(struct rank *r) MUST_CHECK;
enum rc rank_hooks_open(struct rank *r) MUST_CHECK;
enum rc rank_hooks_gather(struct rank *r, struct world *gathered) MUST_CHECK;
void rank_hooks_close(struct rank *r);

/* Train: all steps of this worker. Errors: those of the exchange, the workload and the hooks. */
enum rc rank_steps(struct rank *r) MUST_CHECK;
/* For CHOOSE_STEP: the run is to stop before `step` (stop.h). Sets r->has_ended, and ends the exchange of the step
 * before. Does nothing if the run must go on: what would be saved is not whole after this many steps. */
enum rc rank_stop(struct rank *r, size_t step) MUST_CHECK;

#endif
