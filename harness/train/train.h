/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.h - one training run: options to job, job to ranks, ranks to result, result to records.
 *
 *   train_prepare()   finds every possible error in the user's input, before a world starts; reads data, checkpoint and
 *                     cluster files
 *   train_rank()      the body of every rank of the job's world
 *   train_write()     the records of the result, on rank 0
 *
 * Invariants
 *   L1  Worker r of W takes, in step t, global samples first + ((t - t0) W + r) B ... + B: 1, 2 and 512 workers see the
 *       same sequence. (Except with --split, job_batch.h, and --omit shard, omission.h.)
 *   L2  Nothing allocates, prints or meets bootstrap operations between the first and the last step. There are four
 *       exceptions. train_watch runs in no step's time of rank 0. With --save-every, workers of a synchronous mode meet
 *       around a checkpoint, which is in no step's time. Workers of other modes wait for no rank; with ps the read of
 *       the parameters occupies the servers, like a pull of worker 0. Workers also meet around a check of
 *       --verify-every, and between two turns of --alternate-exchange.
 *   L3  A resumed run continues to the same bits as one that never stopped (single, allreduce, none with one worker,
 *       ps with one worker).
 *   L4  In sim no record holds a real time, a date or a fact of this machine.
 */
#ifndef HARNESS_TRAIN_TRAIN_H
#define HARNESS_TRAIN_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "data/split.h"
#include "harness/base/opt.h"
#include "harness/base/rc.h"
#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/compute/optimizer.h"
#include "harness/exchange/exchange.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/learning.h"
#include "harness/measure/paired.h"
#include "harness/measure/steps.h"
#include "harness/report/digest.h"
#include "harness/report/record.h"
#include "harness/train/checkpoint.h"
#include "harness/train/omission.h"
#include "harness/train/schedule.h"
#include "harness/world/host_load.h"
#include "harness/world/span.h"
#include "harness/world/world.h"
#include "models/engine/network_shard.h"
#include "models/engine/stage.h"
#include "models/workload.h"

struct transport_ops;
struct collective_ops;
struct logged_message;

struct train_opts { /* as given; the tables define the meanings */
    const char *world, *mode, *model, *reducer, *transport, *compute, *precision, *lr_scaling, *overlap, *priority;
    const char *wait, *placement, *consistency, *lr_staleness, *compression;
    const char *optimizer;
    const char *cluster, *data, *input, *profile, *save, *resume, *timeline, *trajectory, *messages, *inject, *on_loss,
        *interface, *omit, *split;
    const char *schedule;
    uint64_t workers, stages, shard_dense, memory_limit, servers, threads, batch, accumulate, global_batch, image_size,
        classes, width_divisor, most_workers, eval_samples;
    uint64_t steps, seed, record_every, save_every, restarts, verify_every;
    uint64_t bucket_bytes, partition_bytes, average_every, alternate_exchange, target_samples;
    uint64_t push_every, pull_every, stop_at_step, replicas, in_flight;
    double lr, momentum, weight_decay, target_loss, stall_abort_s;
    bool bind, aux, elastic, recompute, forward_only, share_device, colocate, insecure, secure;
    struct opt_joined cluster_set;
    union module_values modules; /* of train_kinds */
};
extern const struct opt train_opt_table[]; /* options of any training */
extern const struct opt train_run_table[]; /* options of one run, not of `gradmark compare`, which varies them or does
                                              not use them */
extern const struct opt_topic train_opt_topics[], train_run_topics[];
#define TRAIN_MAX_SEED ((uint64_t)1 << 53) /* of --seed */
enum { TRAIN_MAX_BATCH = 1 << 20 };        /* of a worker */
enum { TRAIN_MAX_SERVERS = 1024 };         /* of --servers */
enum { TRAIN_MAX_STEPS = 100000000 };      /* of --steps */
extern const struct opt_rule train_opt_rules[];
enum { TRAIN_MAX_OPT_GROUPS = 2 + MAX_MODULE_GROUPS };
/* Both tables and those of the modules, for parsing into *opts; returns the number of groups. */
int train_opt_groups(struct opt_group group[TRAIN_MAX_OPT_GROUPS], struct train_opts *opts);

/* The modes: option --mode. Mode i of that list; NULL after the last. */
extern const struct module_kind mode_kind;
const struct sync_mode *train_mode_at(int i);
/* What a training selects by name. */
enum train_kind {
    TRAIN_WORLD,
    TRAIN_MODE,
    TRAIN_MODEL,
    TRAIN_COMPUTE,
    TRAIN_TRANSPORT,
    TRAIN_COLLECTIVE,
    TRAIN_OPTIMIZER,
    TRAIN_N_KINDS
};
extern const struct module_kind *const train_kinds[]; /* ends with NULL */

struct train_watch { /* called on rank 0 between steps, after the step's last stamp */
    void (*step)(void *arg, size_t n_done, uint64_t now_ns);
    void *arg;
};

struct train_memory {         /* bytes; all 0: no data (hollow) */
    size_t activations_bytes; /* of a worker: the planned block; on a device with the batch and scratch */
    size_t params_bytes;      /* of a worker: parameters, gradients, the optimiser's, running means */
    size_t exchange_bytes;    /* of a worker: what its mode allocates, and the batches being prepared */
    size_t server_bytes;      /* of a parameter server */
    size_t host_bytes;        /* of all ranks of this host */
    size_t available_bytes;   /* on this host; SIZE_MAX: not known */
};

/* Bytes of a worker. */
static inline size_t train_worker_bytes(const struct train_memory *m)
{
    return m->activations_bytes + m->params_bytes + m->exchange_bytes;
}

struct train_drill { /* fault injection: a server fails as it receives the first push of the step */
    int rank;        /* -1: none */
    bool hangs;      /* it stalls; else it ends ... */
    bool leaves;     /* ... or leaves in order, as it does for a signal (train.V4) */
    enum peer_phase phase;
    bool is_drawn;     /* the step is drawn from the seed and the rank */
    uint64_t step;     /* of the whole training, one that this run does; PHASE_STEP */
    uint64_t nth_part; /* of a stage: it fails as it begins its n-th forward; 0: as the step begins */
};

/* Fault injection that does not stop the rank. */
struct train_faults {
    int flip_rank;      /* -1: none; train.Y3 */
    uint64_t flip_step; /* of the whole training, one that this run does */
    int slow_rank;      /* -1: none */
    double slow_ratio;  /* share of its normal compute speed */
};

enum { TRAIN_FEED_QUEUE = 2 /* batches that the feeder may be ahead of a worker: one is read while one is sent */ };
enum { TRAIN_MAX_RESTARTS = 64, TRAIN_SEGMENT_NAME_BYTES = 96, TRAIN_MAX_CORRUPTIONS = 8 };

struct train_restarts { /* --restarts: how often the training was restarted after the loss of ranks */
    size_t n;
    uint64_t from_steps[TRAIN_MAX_RESTARTS]; /* first step of each restart, in the whole training; 0: the beginning */
};

enum { OVERLAP_REASON_BYTES = 192 };

struct
    overlap_choice { /* how gradients are exchanged: during computing (job_exchange.h), and how many chunks at once */
    bool overlaps, by_priority;
    char reason[OVERLAP_REASON_BYTES]; /* of --overlap auto; "": explicit choice, or there is no exchange */
    int n_in_flight;                   /* of a worker, exchange.E12: rank_choose_flight(); 0: one, fixed by the mode */
};

struct job_stages { /* for --stages above 1; zeros: there are none (stages.h) */
    int number;     /* the stage of this job */
    struct pipeline_stage env;
    struct checkpoint_part part[NETWORK_MAX_STAGES]; /* of each stage */
    size_t whole_params, whole_state;                /* of all stages */
    size_t passed_elems[NETWORK_MAX_STAGES];         /* for one image, from stage i to the next */
    size_t most_passed_elems;                        /* maximum over all stages */
    double cost_ratio[NETWORK_MAX_STAGES];           /* of stage i, over the mean of all stages */
    /* Time of a sample in stage i, by the profile; NaN: there is no profile. */
    double forward_s[NETWORK_MAX_STAGES], backward_s[NETWORK_MAX_STAGES];
    const struct transport_ops *transport;
};

struct job_shard { /* for --shard-dense above 1, in a stage that has dense layers; zeros: there are none
                      (shard.h) */
    int n_shards;
    int number;                   /* of a rank's own job: its shard */
    size_t n_common_params;       /* shared by all shards: the first ones */
    size_t whole_params;          /* of all shards */
    size_t most_elems;            /* of a chunk of activations that is sent, for one image; maximum over all shards */
    struct shard_traffic traffic; /* of a rank's own job */
    const struct transport_ops *transport;
    bool chunks_differ; /* shards have different numbers of chunks, which --priority cannot order (exchange.E14) */
};

enum { TRAIN_MAX_INPUTS = 4 };

struct train_job {          /* resolved; owns dataset, profile, segment and resume */
    struct train_opts opts; /* with every default resolved; threads 0: the cores of each worker */
    const struct world_ops *world;
    enum world_security security;
    const struct sync_mode *mode;
    const struct workload *workload;
    const struct compute_backend *compute;
    const struct transport_ops *transport;      /* NULL: the mode exchanges nothing */
    const struct transport_ops *feed_transport; /* for --input feed; else NULL */
    const struct collective_ops *collective;    /* NULL: the mode has none */
    const struct module *used[TRAIN_N_KINDS];   /* the same, as modules */
    enum lr_scaling scaling;
    struct optimizer_rule optimizer;
    struct cluster cluster;
    struct dataset *dataset; /* NULL: the model has none */
    struct profile *profile; /* NULL: not replay */
    struct split_opts split_opts;
    struct split split;          /* of dataset; with SPLIT_IID empty; owned */
    size_t *batch_of;            /* [n_workers]: with SPLIT_UNEQUAL; NULL: opts.batch for all; owned */
    struct network_opts network; /* resolved; zeros: not an image network */
    enum precision precision;
    struct train_memory memory;
    size_t n_params, n_state; /* of the model */
    struct segment *segment;  /* [n_segments]: the layout of its parameters, forward order; owned */
    size_t n_segments;
    size_t n_chunks;                                /* chunks of the exchange, with --elastic; else 0 */
    char (*segment_name)[TRAIN_SEGMENT_NAME_BYTES]; /* [n_segments], for --verify-every; else NULL; owned */
    struct exchange_opts exchange;
    bool may_overlap; /* --overlap auto, and only the placement of workers can prevent it: job_exchange.h */
    char overlap_reason[OVERLAP_REASON_BYTES]; /* what prevents it, with --overlap auto; else "" */
    struct placement placement;                /* of a mode with servers; owned */
    struct hot_spot hot_spot;                  /* of placement */
    char hot_tensor[96];                       /* its segment's name */
    double flops_per_sample;                   /* of a training step, GEMMs */
    struct checkpoint resume;                  /* steps_count 0, param NULL: none */
    struct digest input[TRAIN_MAX_INPUTS];     /* [n_inputs]: of its input files, set by train_note_inputs() */
    size_t n_inputs;
    struct schedule schedule;
    enum on_loss on_loss;
    enum wait_policy wait; /* of workers, as requested */
    struct train_drill drill;
    struct train_faults faults;
    int n_workers, n_servers, n_ranks; /* n_ranks: sum of these two, which train */
    int n_drivers;                     /* --input feed: 1, the last rank; else 0 */
    bool has_default_servers;          /* n_servers is a default: --servers was not given */
    bool servers_beside;               /* servers share workers' hosts and cards: --colocate, or in sim the cluster sets
                                         it */
    size_t n_steps;                    /* of this run */
    unsigned omitted;                  /* enum omission: --omit, for lessons */
    size_t n_eval;                     /* test samples to classify; 0: none */
    uint64_t n_begun_before;           /* steps of earlier trials in the same world: world_begin_step() counts on */
    bool is_trial;                     /* steps are timed and nothing else: limits are not measured. If a reducer cannot
                                         run here (RC_UNSUPPORTED on all ranks), the world continues */
    bool keeps_moments;                /* the result holds the optimiser's state: a checkpoint will be written */
    const struct train_watch *watch;   /* NULL: none; borrowed */
    struct world *all;                 /* for rank bodies: with --stages, the world of all stages;
                                         they start their first steps together; borrowed; NULL: this is the only one */
    struct job_stages stages;
    struct job_shard shard;
    struct world *pipe; /* for rank bodies, with stages: the ranks of this rank's pipeline, by stage; borrowed */
    struct train_restarts restarts; /* before this run; set by its owner */
};

/* Maximum steps of a worker in the run: n_steps. With --elastic it includes the steps of lost workers, and steps
 * repeated after the loss of a server. */
size_t train_most_steps(const struct train_job *job);
/* Number of ranks in the run's world. */
static inline int train_n_ranks(const struct train_job *job)
{
    return job->n_ranks + job->n_drivers;
}
/* Does every step of a worker wait for all other workers, by its mode or by the servers' rule? */
static inline bool train_waits_for_all(const struct train_job *job)
{
    return (job->mode->module.caps & MODE_SYNCHRONOUS && !(job->omitted & OMIT_AVERAGE)) ||
           consistency_waits_for_all(&job->exchange.consistency);
}
/* Is there one update of the parameters per round, by a mean gradient? Otherwise, if workers exchange, each makes
 * one. */
static inline bool train_updates_once(const struct train_job *job)
{
    return (job->mode->module.caps & MODE_SYNCHRONOUS && !(job->omitted & OMIT_AVERAGE)) ||
           consistency_has_rounds(&job->exchange.consistency);
}

/* Default of --steps. */
uint64_t train_default_steps(const struct workload *workload);
/* group[0..n_groups) were parsed into *opts; train_opt_groups() are among them. Their given flags distinguish defaults
 * from the user's values. n_given_ranks: ranks the launcher started, 0: none. RC_INVAL, RC_UNSUPPORTED. */
enum rc train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group, int n_groups,
                      int n_given_ranks) MUST_CHECK;
/* The same for one stage of --stages, which train_prepare() refuses: RC_UNSUPPORTED. n_given_ranks: per stage. */
enum rc train_prepare_stage(struct train_job *out, const struct train_opts *opts, const struct opt_group *group,
                            int n_groups, int n_given_ranks, int stage) MUST_CHECK;
/* Compute digests of the job's input files, for train_manifest(). Call in rank 0's process, before the run.
 * RC_INVAL. */
enum rc train_note_inputs(struct train_job *job) MUST_CHECK;
/* Is value of this option, which names a file, a built-in name instead: a cluster, or a data set that is computed? */
bool train_is_built_in(const struct opt *o, const char *value);
void train_job_free(struct train_job *job); /* accepts a zeroed one */
/* *out := base with the reducer, module options and exchange options of *opts, which otherwise equals base->opts. It
 * borrows all that base owns: never free it. RC_INVAL, RC_UNSUPPORTED: impossible in this job; RC_INVAL: too little
 * memory. */
enum rc train_vary(struct train_job *out, const struct train_job *base, const struct train_opts *opts) MUST_CHECK;
/* The longest wait for a message; 0: unlimited, in virtual time. It is twice --stall-abort-s, so that a silent rank is
 * reported as stalled first. */
int train_message_limit_ms(const struct train_job *job);
/* A value of --wait. */
enum wait_policy train_wait_policy(const char *text);
/* Number of ranks that neither train nor serve parameters, but feed workers, with this value of --input. */
int train_n_drivers(const char *input);
/* Default of --servers in a mode with servers. */
int train_default_servers(bool colocate, int n_workers);
/* The world options that the job needs. Borrows job. */
struct world_opts train_world_opts(const struct train_job *job);
/* ran: what world_run() returned. If the world could not support a communicator, the message names the option. */
enum rc train_explain_refusal(const struct world_opts *world, enum rc ran) MUST_CHECK;
/* ran: what world_run() of the job returned. If rank 0 was lost although the run tolerates losses, the message adds
 * what can be done. */
enum rc train_explain_lost_root(const struct train_job *job, enum rc ran) MUST_CHECK;

struct train_limits {       /* limits of the slowest part; seconds per step, 0: does not apply */
    double baseline_step_s; /* one worker alone, gradient and update */
    double compute_s;       /* fastest gradient, while all workers compute; for a step of each */
    double wire_s;          /* the step's messages, at the latency and rate between neighbours */
    double server_s;        /* one round of updates at one server */
};

enum { THREAD_LEVEL_BYTES = 24 };
struct train_rank_info {
    char host[64];
    int32_t number; /* of the rank in the run */
    int32_t own_cores_count;
    struct exchange_memory_facts memory;       /* of the parameters */
    char kernel[HOST_KERNEL_BYTES];            /* host_kernel_id() */
    char device[COMPUTE_DEVICE_ID_BYTES];      /* of a worker, on its host; "": its compute has none */
    char mpi_level[THREAD_LEVEL_BYTES];        /* world.mpi_level; "": none */
    int64_t process;                           /* its number on the host */
    struct window_load load;                   /* of that process; all zero in sim */
    uint64_t stage_waited_ns, shard_waited_ns; /* of a worker, over all steps: waits for adjacent stages; for its shard
                                                  group */
    uint64_t least_forward_ns, least_backward_ns; /* of a stage: compute time of a micro-batch; 0: none computed */
    uint64_t sent_bytes, full_bytes;   /* gradient exchange: total sent, and an uncompressed step's amount; 0: not known
                                          (exchange_sent_bytes) */
    uint64_t steps_count;              /* of a worker: steps completed in this run */
    struct period_counts counts;       /* of a worker of a mode with servers */
    struct server_facts served;        /* of a server; of a worker only its own lead_max_count */
    char encryption[ENCRYPTION_BYTES]; /* exchange_encryption(); "": nothing is sent, or time is virtual */
};

struct train_loss { /* a rank that is absent at the end (world.W8) */
    int rank;
    bool has_left;         /* it was not lost, but left in order (train.V4) */
    bool was_seen;         /* its last action is known: */
    struct peer_duty duty; /* its step: of the whole training */
    char why[192];
};

struct train_saves { /* --save-every: checkpoints written between steps, by rank 0 */
    size_t n_written, n_failed;
    double spent_s; /* rank 0's total time for them, between steps, including the wait for other workers; virtual in
                       sim, where writing a file takes no time */
    char why[192];  /* reason of the first failure; "": none */
};

struct train_corruption { /* train.Y2 */
    int rank;             /* its parameters differ from most workers' */
    int other_rank;       /* one that differs from it, if no majority agrees; -1: a majority does */
    uint64_t step_index;  /* of the whole training: the check after it found the corruption */
    size_t segment;       /* the first one that differs, in layout order */
};

struct train_checks { /* --verify-every */
    size_t n_done;
    double spent_s;    /* rank 0's total time for them, between steps, including waits for workers; virtual in sim */
    int n_corruptions; /* found by the last check */
    struct train_corruption corruption[TRAIN_MAX_CORRUPTIONS]; /* the first of them */
};

struct shard_figures {                        /* of the worker with a shard, in group 0; over all steps */
    uint64_t n_params, n_common_params;       /* all, and those shared by all shards */
    uint64_t gathered_bytes, scattered_bytes; /* activations, and their gradients, that it sent to other ranks */
    uint64_t waited_ns;                       /* waits for these transfers */
};

struct moved_bytes { /* per step, of the rank that sends most of each */
    double activations_bytes, gradients_bytes;
};

enum { REDUCER_REASON_BYTES = 512 };

struct train_result {        /* on rank 0, of the remaining ranks (all ranks except with --on-loss report); owned */
    int n_workers, n_ranks;  /* workers first */
    size_t n_steps;          /* completed by all workers in this run: the job's, or fewer after a loss. With
                               --stop-at-step or --elastic: those of the slowest worker */
    int stop_signal;         /* the signal that stopped the run after n_steps (world/stop.h); 0: it was not stopped */
    struct train_loss *loss; /* [n_losses] */
    int n_losses;
    struct step_stamp *stamp; /* [n_workers][n_steps] */
    float *lr;                /* [n_steps] */
    uint64_t *round_ns;       /* [n_rounds], for --elastic: train.V1; else NULL */
    size_t n_rounds;
    float *trajectory;                        /* [n_ranks][n_steps + 1][n_params]; NULL: --trajectory is not given */
    struct logged_message *message;           /* rank after rank; within a rank, in the order in which they ended */
    uint64_t *n_messages;                     /* [n_ranks]; NULL, both: --messages is not given */
    struct train_rank_info *rank;             /* [n_ranks] */
    struct train_limits limits, limits_after; /* measured before the first step, and after the last */
    bool has_limits_after;                    /* false: limits_after were not measured */
    struct evaluation evaluation;             /* NaN: no evaluation */
    double data_wait_s;                       /* worker 0: mean wait of a step for its samples; NaN: not measured */
    double peak_rss_bytes;         /* of rank 0's process, in this run; NaN in sim, and if the system reports none */
    int n_threads;                 /* of worker 0 */
    enum wait_policy wait;         /* of all workers; WAIT_AUTO: in sim, where no rank waits in real time */
    struct overlap_choice overlap; /* of all workers */
    bool has_params;               /* false: no data (hollow) */
    struct checkpoint final;       /* after the last step; moments NULL unless the job keeps them; running means: rank
                                      0's own, as used in the evaluation */
    char reducer_reason[REDUCER_REASON_BYTES]; /* algorithms chosen, and why; "": no choice was made */
    double pipe_waited_s;                      /* of rank 0, over all steps: waits for adjacent stages; 0: no stages */
    double least_forward_s, least_backward_s;  /* of any worker: compute time of a micro-batch; 0: not a stage */
    size_t n_held;                      /* of rank 0: the most micro-batches held at once; 0: it is not a stage */
    double pipe_latency_s, pipe_pass_s; /* of rank 0: for the largest tensor to a next stage */
    double pipe_bound_s;                /* stages.h; 0, NaN: no bound */
    struct moved_bytes moved;           /* with stages: over all stages */
    int n_hosts;                        /* of all stages; 0: not known */
    struct shard_figures *shard;        /* [n_shards]; NULL: there are none */
    double gather_s, scatter_s;         /* of rank 0: least time to send a micro-batch's activations in its shard group;
                                           0: it has no group */
    int n_stages; /* of a run in stages, set by places_gather(); else 0, and the following are empty */
    int n_shards_of[NETWORK_MAX_STAGES];
    struct step_stamp *stage_stamp;     /* [n_stages][n_workers][n_steps] */
    struct train_rank_info *stage_rank; /* [n_stages][n_ranks] */
    struct shard_figures *stage_shard;  /* [n_stages][--shard-dense]; NULL: there are no shards */
    struct train_saves saves;
    struct train_checks checks; /* if one finds a corruption, the run ends after its step */
    enum rc timeline_rc;        /* why the timeline was not written, the only failure; RC_OK: it was */
    char timeline_error[RC_MESSAGE_BYTES];
    uint64_t timeline_zero_ns; /* ts 0 of the timeline, if there is a file */
    bool has_timeline;
};
void train_result_free(struct train_result *r); /* accepts a zeroed one */
/* Steps that are entirely complete: r->n_steps; with --elastic see elastic.h, train.V2. */
size_t train_n_whole_steps(const struct train_job *job, const struct train_result *r);
/* Has the run completed its work? With --stop-at-step the count of updates decides, not the steps of any worker. Such a
 * run survives the loss of a worker (exchange.E11), so it is complete unless a signal stopped it. */
bool train_is_whole(const struct train_job *job, const struct train_result *r);
/* Workers whose samples count in the throughput: the remaining ones; with --elastic all. */
int train_n_counted(const struct train_job *job, const struct train_result *r);

/* Body of a rank; collective over a world of train_n_ranks() ranks. *result is filled on rank 0. Errors: those of the
 * parts; the caller lets them end the world. */
enum rc train_rank(struct world *w, const struct train_job *job, struct train_result *result) MUST_CHECK;

/* Workers that share cores, because it was requested or there are more ranks than cores. Above 0 the run is
 * oversubscribed. 0 in sim. */
int train_n_sharing(const struct train_job *job, const struct train_result *r);
/* The last steps of each worker that the loss of --target-loss is a mean of. */
size_t train_n_target_steps(const struct train_job *job, int n_workers);

/* Maximum number of workers that share a device; 0: their compute has none. */
int train_most_on_device(const struct train_result *r);

enum { NOT_LEARNED_BYTES = 320 };
struct train_summary { /* rank 0 */
    struct steps steps;
    struct steps_summary measured;
    double efficiency_ratio, baseline_samples_per_s;       /* NaN: do not apply; train.F2 */
    struct train_limits best;                              /* train.B1 */
    double bound_samples_per_s;                            /* NaN: no bound */
    double bound_ratio, bound_low_ratio, bound_high_ratio; /* train.B2 */
    double seconds_to_target_loss;
    uint64_t samples_to_target_loss_count;
    struct learning learning;
    struct comparison exchange_keeps;    /* train.W1; zeroed unless it is on */
    struct disturbance disturbance;      /* of the worst host */
    char not_learned[NOT_LEARNED_BYTES]; /* problem, likely reason, what to try; "" unless the run did not learn */
};
/* steps_summarise(); with --elastic elastic.h, train.V1. */
enum rc train_measure(struct steps_summary *out, const struct train_job *job, const struct train_result *r,
                      const struct steps *in) MUST_CHECK;
enum rc train_summarise(struct train_summary *out, const struct train_job *job,
                        const struct train_result *r) MUST_CHECK;

/* Facts of a run that are known before it begins: options, work, cluster, and in real worlds this machine. The caller
 * closes it. */
struct record *train_manifest(const struct train_job *job);
/* Write manifest, step, rank, staleness and summary records. */
enum rc train_write(struct report *to, const struct train_job *job, const struct train_result *r,
                    const struct train_summary *s) MUST_CHECK;

#endif
