/* SPDX-License-Identifier: Apache-2.0 */
/* rank_state.h - what a rank owns while it trains. Of rank.c, rank_hosts.c, rank_probe.c, rank_loss.c, rank_save.c,
 * rank_result.c, rank_device.c, and what must be counted of it of job_memory.c. */
#ifndef HARNESS_TRAIN_RANK_STATE_H
#define HARNESS_TRAIN_RANK_STATE_H

#include "data/loader.h"
#include "harness/train/train.h"

/* Worker 0 may have begun two steps more than all have done: it awaits the parameters of a step in the next one. */
enum { N_KEPT_STATES = 3 };

struct feed_client;
struct rank_pipe;
struct rank_shard;
struct transport;

struct rank_feed {             /* of --input feed; zeros: there is no driver */
    struct world *all;         /* borrowed: the driver and all others */
    struct world *own, *world; /* those that train; the workers and the driver (NULL: a server) */
    struct transport *transport;
    struct feed_client *client; /* NULL: not a worker */
    struct loader_source source;
    bool drives; /* this is the driver */
};

struct rank {            /* everything one rank owns while it trains */
    struct world *world; /* of those that train */
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL: a server */
    struct dataset_part part;  /* its samples; unused of SPLIT_IID */
    struct exchange *exchange;
    struct exchange_opts exchanging; /* the job's, but for what --overlap auto leaves open, and --in-flight */
    float *param, *grad;             /* of the exchange */
    struct exchange_memory_facts memory;
    struct step_stamp *stamp;     /* [n_steps] */
    struct train_result result;   /* filled on rank 0 only */
    uint64_t data_waited_ns;      /* wait for the data loader: before the first step in all; then, in the steps */
    struct host_load load_before; /* the first step; in sim not used */
    struct train_rank_info info;  /* for rank 0 */
    bool peak_is_own;             /* the peak RSS of the process was reset when this run began */
    struct world *left;           /* --on-loss report: from the end on, the ranks that are left; else NULL */
    int *host; /* [job->n_ranks]: of each rank, where servers are beside workers on several hosts; else NULL */
    bool has_no_wire_limit; /* what hosts ranks are on says that a limit by the wire would be none: rank_probe.c */
    bool has_cores;         /* every thread of every worker has one: rank_choose_wait() */
    bool ranks_have_cores;  /* likewise every rank, servers included; neither in sim */
    uint64_t step_ns;       /* what a step takes as the probe has measured it; 0: of a mode without servers */
    size_t n_begun, n_done; /* steps of this run: that this rank began; that count, after rank_end() */
    float *trajectory;      /* [n_steps + 1][n_params], of --trajectory; else NULL */
    struct world *workers;  /* --verify-every beside servers: those that compare; else NULL */
    uint64_t *hash;         /* [n_segments], of --verify-every; else NULL */
    float *checked;         /* float[n_params] of the host, where it cannot read r->param; else NULL */
    uint64_t batch;         /* of the step that begins, of an elastic run (elastic.h) */
    uint64_t *round_ns;     /* [job->n_steps], likewise; the first server's: when W batches more were done; else NULL */
    bool is_leaving;        /* it goes before the others (elastic.h, V4), or is a guest */
    bool is_over;           /* of an elastic run: there is no batch for it any more */
    bool is_ended;          /* the servers have told this worker to begin no other step */
    bool is_corrupted;      /* a check has found that workers differ: the same on all of them */
    struct slowed {         /* --slow-rank */
        uint64_t since_ns, waited_ns; /* of this step: what was computed until then is made up for; its waits */
        int64_t owed_ns;              /* a pause that is still to be made; below 0: one was too long */
    } slowed;
    struct rank_feed feed;
    struct rank_pipe *pipe;                       /* of a worker with stages; else NULL */
    struct rank_shard *shard;                     /* of --shard-dense; else NULL */
    struct pipeline_stage stage;                  /* that one's */
    uint64_t pipe_waited_ns;                      /* for the stages beside this one */
    uint64_t pipe_sending_ns;                     /* to begin to send to them */
    uint64_t shard_waited_ns;                     /* for the others of its group of shards */
    uint64_t least_forward_ns, least_backward_ns; /* of all micro-batches of a stage, but for these three; 0: none */
    uint64_t input_waited_ns;                     /* network_data_waited_ns() when the last gradient was there */
    float *kept_state; /* rank 0: running means at the start of the last N_KEPT_STATES steps; NULL: not kept */
};

/* From here on this rank is in another phase; here it fails, if it is to. step: of this run. */
void rank_enter(struct rank *r, enum peer_phase phase, uint64_t step);
/* Fail, if this is where the drill has it; step: of the whole training; micro_batch: -1: the step begins. */
void rank_drill(const struct rank *r, enum peer_phase phase, uint64_t step, int64_t micro_batch);

/* That compute; of a server one. */
int rank_n_threads(const struct rank *r);

static inline bool rank_is_worker(const struct rank *r)
{
    return r->world->rank < r->job->n_workers || world_is_guest(r->world);
}

static inline bool rank_is_virtual(const struct rank *r)
{
    return r->world->ops->module.caps & WORLD_VIRTUAL_TIME;
}

/* Trainings at once (--sets). */
static inline int train_n_sets(const struct train_job *job)
{
    return job->opts.sets > 1 ? (int)job->opts.sets : 1;
}

/* Of all that train at once (--sets), or of this training alone. */
static inline struct world *rank_all(const struct rank *r)
{
    return r->job->all ? r->job->all : r->world;
}

/* Do the survivors of a loss go back to the last common step? */
static inline bool rank_goes_back(const struct rank *r)
{
    return r->job->on_loss == ON_LOSS_REPORT && r->job->mode->module.caps & MODE_SYNCHRONOUS;
}

/* Samples that all workers have taken before this step of the run. */
uint64_t rank_samples_before(const struct train_job *job, size_t step);

/* --- rank_probe.c: limits of the run --- */

/* Before the first step. Changes gradients, and nothing that training starts from. Collective. */
enum rc rank_probe(struct rank *r) MUST_CHECK;
/* After rank_end(): the same again, as a machine may change its speed between; nothing that the run has come to is
 * changed. Not in virtual time, where nothing changes, not of a run that was stopped (stop.h), and not with --on-loss
 * report: results that a loss is to leave whole would be lost with a rank that ends meanwhile. Collective. */
enum rc rank_probe_again(struct rank *r) MUST_CHECK;

/* --- rank_hosts.c: where servers are, of a job that has any --- */

/* Set r->host and r->has_no_wire_limit. RC_INVAL, on all ranks: a server is on a host that has not a worker for it.
 * RC_NOMEM. Collective. */
enum rc rank_find_hosts(struct rank *r) MUST_CHECK;

/* --- rank_overlap.c: beside computing, or after it --- */

/* Set r->exchanging, for all workers alike, and note the choice in the result. Collective. Errors: as
 * world_host_group(). */
enum rc rank_choose_overlap(struct rank *r) MUST_CHECK;
/* After rank_choose_wait(): set r->exchanging.n_in_flight, for all workers alike, and note it in the result. Where
 * ranks share cores no link and no processor waits while a piece is under way: several then only take turns and memory
 * bandwidth from each other (results/2026-11-26-ps-in-flight). */
void rank_choose_flight(struct rank *r);

/* --- rank_wait.c: how ranks wait --- */

/* After rank_choose_overlap(): resolve --wait, for all workers alike, set it in this rank's world, and note it in the
 * result. Nothing in sim. Collective. */
enum rc rank_choose_wait(struct rank *r) MUST_CHECK;
/* May the threads of this rank's pool spin while they wait for each other? After rank_choose_wait(). */
bool rank_pool_may_spin(const struct rank *r);

/* The driver's part in that: it needs a core, and does not spin. */
enum rc rank_needs_core(struct rank *r) MUST_CHECK;

/* --- rank_feed.c: --input feed --- */

/* Part those that train from the driver, and open the way of batches. Collective over `all`, of a job that has a
 * driver. */
enum rc rank_feed_open(struct rank *r, struct world *all) MUST_CHECK;
/* The driver: push batches until every worker has ended. */
enum rc rank_feed_drive(struct rank *r) MUST_CHECK;
/* This rank wants no more batches. Nothing but for a worker that is fed. */
enum rc rank_feed_end(struct rank *r) MUST_CHECK;
/* A gradient is there: how long `step` waited for its samples, into its stamp and the timeline. */
void rank_note_input(struct rank *r, size_t step);
void rank_feed_close(struct rank *r); /* whatever it has of that */

/* --- rank_pipe.c: --stages --- */

/* The way to the stages beside this one, for r->stage; nothing without stages. Collective over job->pipe. Errors: as
 * transport_open_planned(). */
enum rc rank_pipe_open(struct rank *r) MUST_CHECK;
/* Into the stamps of all: the losses, which the last stage alone knows, and the end of the last step, which is that of
 * the stage that ends last. Collective over job->pipe. */
enum rc rank_pipe_share_stamps(struct rank *r) MUST_CHECK;
/* Of all stages of worker 0, each with its own, all with moments or none: *whole, on the first stage, is that of the
 * network; of the others it stays as it is. RC_NOMEM, and errors of messages. */
enum rc rank_pipe_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own) MUST_CHECK;
/* *e := what the last stage has found; nothing without stages. Collective over job->pipe. */
enum rc rank_pipe_share_evaluation(struct rank *r, struct evaluation *e) MUST_CHECK;
/* Spans of micro-batches and of waits for other stages; NULL: there are none. */
struct span_ring *rank_pipe_ring(const struct rank *r);
void rank_pipe_close(struct rank *r);

/* --- rank_shard.c: --shard-dense; without it each does nothing, and gives NULL or false --- */

/* r->job becomes the one of this rank's shard. RC_NOMEM. */
enum rc rank_shard_take(struct rank *r) MUST_CHECK;
/* With r->compute open: the way to the others of the group, and those that have the same shard. Collective. Errors: as
 * world_split(), transport_open_planned(); RC_NOMEM. */
enum rc rank_shard_open(struct rank *r) MUST_CHECK;
const struct dense_shard *rank_shard_env(const struct rank *r);
const struct exchange_shard *rank_shard_exchanged(const struct rank *r);
/* From now on nothing crosses in the group, and what would come from it is left as it is; or it does again. */
void rank_shard_be_still(struct rank *r, bool is_still);
/* Of a micro-batch of this rank, what its activations and their gradients take at the least to cross (harness/bench/
 * alpha_beta.h). Collective over the group. Errors: as alpha_beta_measure(). */
enum rc rank_shard_probe(struct rank *r, double *gather_s, double *scatter_s) MUST_CHECK;
uint64_t rank_shard_waited_ns(const struct rank *r); /* in all steps, for the others of its group */
/* Spans of what crosses in the group; NULL: there are none. */
struct span_ring *rank_shard_ring(const struct rank *r);
/* Is this a rank of group 0, whose shards are joined? */
bool rank_shard_gives(const struct rank *r);
/* *whole := on rank 0 the checkpoint of the whole network (its arrays are the caller's then), of what the ranks of
 * group 0 have: to be called by all of them, with or without moments alike. RC_NOMEM, and errors of messages. */
enum rc rank_shard_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own) MUST_CHECK;
/* On rank 0, into the result. Collective over group 0. */
enum rc rank_shard_gather_figures(struct rank *r) MUST_CHECK;
/* Rank 0, its own model closed: what it has a shard of, with these parameters, on the test set. Of a stage: collective
 * over the stages of worker 0, which evaluate alike; the last one knows what comes of it. */
enum rc rank_shard_evaluate(struct rank *r, const struct checkpoint *whole, struct evaluation *out) MUST_CHECK;
void rank_shard_close(struct rank *r);

/* --- rank_device.c: the devices of workers --- */

/* The device of the worker that is `host_rank` of its host, where workers take the devices they see in turn; 0 of a
 * backend that has none. Errors: as its device_count(). */
enum rc rank_device_number(int *out, const struct compute_backend *compute, int host_rank) MUST_CHECK;
/* With r->compute open: the device of each worker. RC_INVAL, on all ranks: two have the same, and --share-device is not
 * given. Collective. */
enum rc rank_check_devices(struct rank *r) MUST_CHECK;

/* --- rank_loss.c: losses of ranks --- */

/* RC_NOMEM. */
enum rc rank_keep_open(struct rank *r) MUST_CHECK;
/* A step begins: keep what the running means are. */
void rank_keep_state(struct rank *r, size_t step);
/* The steps have ended with `trained`. With --on-loss report: meet the ranks that are left (r->left), and where they
 * train together take them back to the last step that all have done (r->n_done), parameters, optimiser and running
 * means. Errors: `trained`, where it is not the loss of a rank that the mode can do without; RC_PEER: nothing was
 * trained. Collective. */
enum rc rank_end(struct rank *r, enum rc trained) MUST_CHECK;
/* Before the first step: rc, and where it is the loss of a rank its message says that nothing was trained. */
enum rc rank_explain_early_loss(const struct rank *r, enum rc rc);
/* rc, and where a message was awaited too long its message says what the user can do about it. */
enum rc rank_explain_timeout(const struct rank *r, enum rc rc);
/* Rank 0: who was lost, and when. RC_NOMEM. */
enum rc rank_note_losses(struct rank *r) MUST_CHECK;

/* --- rank_trajectory.c: parameters of every step --- */

/* RC_NOMEM. */
enum rc rank_trajectory_open(struct rank *r) MUST_CHECK;
/* What `step` of this run begins with; behind the last step: what it has come to. Without --trajectory nothing. */
enum rc rank_trajectory_note(struct rank *r, size_t step) MUST_CHECK;
/* On rank 0, into the result. Collective over `gathered`. */
enum rc rank_trajectory_gather(struct rank *r, struct world *gathered) MUST_CHECK;

/* --- rank_messages.c: the messages of all ranks --- */

/* On rank 0, into the result; without --messages nothing. RC_NOMEM. Collective over `gathered`. */
enum rc rank_messages_gather(struct rank *r, struct world *gathered) MUST_CHECK;

/* --- rank_save.c: checkpoints between steps --- */

/* RC_NOMEM. */
enum rc rank_save_open(struct rank *r) MUST_CHECK;
/* Does this rank save behind `step`, or wait for rank 0 that does? Then the step awaits its own exchange. */
bool rank_save_is_due(const struct rank *r, size_t step);
/* This rank has done `step`. Rank 0 writes a checkpoint where --save-every asks for one; workers of a synchronous mode
 * wait for it. One that cannot be written is told at once and counted, and the run goes on. Errors: as
 * exchange_snapshot(), world_barrier(). */
enum rc rank_save(struct rank *r, size_t step) MUST_CHECK;

/* --- rank_verify.c: are the parameters of all workers equal? --- */

/* Of workers beside servers: a world of theirs. Collective, before the rank has tasks. */
enum rc rank_verify_meet(struct rank *r) MUST_CHECK;
/* RC_NOMEM. */
enum rc rank_verify_open(struct rank *r) MUST_CHECK;
void rank_verify_close(struct rank *r);
/* Do workers compare behind `step`? Then the step awaits its own exchange. */
bool rank_verify_is_due(const struct rank *r, size_t step);
/* This rank has done `step`. Sets r->is_corrupted. Collective where it is due. */
enum rc rank_verify(struct rank *r, size_t step) MUST_CHECK;

/* --- rank_elastic.c: --elastic; without it each does nothing, but rank_begins() --- */

/* This rank is about to begin `step` of the run. *out: it is to; false: the run stops, or r->is_leaving, this rank
 * alone does. Errors: as world_begin_step(). */
enum rc rank_begins(struct rank *r, size_t step, bool *out) MUST_CHECK;
/* Of a guest (world.W9), behind rank_open(): it is a worker of the run from now on; r->is_over: it came too late.
 * RC_PEER, RC_TIMEOUT: the run has ended. */
enum rc rank_join(struct rank *r) MUST_CHECK;
/* In place of rank_end(), where r->is_leaving, and nothing is left to do: the others go on without this rank. */
enum rc rank_leave(struct rank *r) MUST_CHECK;

/* RC_NOMEM. */
enum rc rank_elastic_open(struct rank *r) MUST_CHECK;
/* exchange_env.on_round; arg: the rank. */
void rank_note_round(void *arg, size_t round, uint64_t ended_ns);
/* Before a step, in no step's time: which batch it is of; r->is_over: there is none for it, as all are done. */
enum rc rank_take_batch(struct rank *r) MUST_CHECK;
/* Whose batch of which step of the run `step` of this rank is of, as train.L1 numbers them. */
struct batch_place {
    size_t step;
    int worker;
};
struct batch_place rank_place(const struct rank *r, size_t step);
/* On rank 0, into the result, behind that of the ranks' infos. Collective over `gathered`. */
enum rc rank_gather_rounds(struct rank *r, struct world *gathered) MUST_CHECK;

/* --- rank_slowed.c: --slow-rank --- */

/* This rank computes from now on, in a step that begins. */
void rank_slowed_begin(struct rank *r);
/* It has computed since then, or since the last call, but for its waits: pause as it is to. Syncs the compute. */
enum rc rank_slow(struct rank *r) MUST_CHECK;

/* --- rank_result.c: what rank 0 keeps --- */

/* Every rank takes the memory for its stamps, and rank 0 that for those of all: what a run has come to is not lost for
 * lack of it. RC_NOMEM. */
enum rc rank_result_open(struct rank *r) MUST_CHECK;

/* Of the checkpoint *c of this rank, all but its arrays and their lengths: after n_done steps of this run. */
void rank_describe(const struct rank *r, struct checkpoint *c, size_t n_done);

/* Get the final parameters, and the optimiser's arrays on rank 0 if a checkpoint needs it. */
enum rc rank_finish_exchange(struct rank *r) MUST_CHECK;
/* Gather the results on rank 0, which evaluates the model, and write the timeline. Collective over the ranks that are
 * left. */
enum rc rank_gather(struct rank *r) MUST_CHECK;

#endif
