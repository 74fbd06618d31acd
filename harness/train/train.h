/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.h - one training run: options to job, job to ranks, ranks to result, result to records.
 *
 *   train_prepare()   everything that can be wrong with the user's input is found here, before a
 *                     world starts; reads data, checkpoint and cluster files
 *   train_rank()      the body of every rank of the job's world
 *   train_write()     the records of the result, on rank 0
 *
 * Invariants
 *   L1  Worker r of W takes, in step t, global samples first + ((t - t0) W + r) B ... + B: 1, 2 and
 *       512 workers see the same sequence. (But for --split, job_split.h, and --omit shard, omission.h.)
 *   L2  Nothing allocates, prints or meets bootstrap operations between the first and the last step; but for
 *       train_watch, in no step's time of rank 0, and --save-every: workers of a synchronous mode meet around a
 *       checkpoint, which is in no step's time of any. Those of other modes wait for nobody; with ps the read of the
 *       parameters occupies the servers, as a pull of worker 0 does. Around a check of --verify-every workers meet,
 *       too, and between two turns of --alternate-exchange.
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
#include "harness/compute/optimizer_list.h"
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
#include "models/engine/shard.h"
#include "models/engine/stage.h"
#include "models/workload.h"

struct transport_ops;
struct collective_ops;
struct logged_message;

struct train_opts { /* as given; the tables have the meanings */
    const char *world, *mode, *model, *reducer, *transport, *compute, *precision, *lr_scaling, *overlap, *priority;
    const char *exchange_memory, *wait, *placement, *consistency, *lr_staleness, *compression;
    const char *optimizer, *momentum_correction;
    const char *cluster, *job_placement, *data, *input, *profile, *save, *resume, *timeline, *timeline_steps,
        *trajectory, *messages, *drill_at, *on_loss, *interface, *omit, *split, *server_save;
    const char *schedule;
    uint64_t workers, stages, shard_dense, memory_limit, servers, threads, batch, accumulate, global_batch, image_size,
        classes, width_divisor, most_workers, data_images, eval_samples;
    uint64_t steps, seed, record_every, save_every, restarts, kill_rank, hang_rank, leave_rank, kill_step, verify_every,
        flip_bit, flip_step, slow_rank;
    uint64_t feed_queue;
    uint64_t bucket_bytes, partition_bytes, average_every, alternate_exchange, target_samples, sets;
    uint64_t push_every, pull_every, stop_at_step, replicas, server_save_every, in_flight;
    double lr, momentum, weight_decay, warmup_epochs, target_loss, stall_warn_s, stall_abort_s, slow_ratio, cycle_us;
    bool bind, aux, elastic, recompute, forward_only, share_device, colocate, insecure, secure;
    struct opt_joined cluster_set;
    union module_values modules; /* of train_kinds */
};
extern const struct opt train_opt_table[]; /* of any training */
extern const struct opt train_run_table[]; /* of one run: what `gradmark compare` varies, or has no use for */
extern const struct opt_topic train_opt_topics[], train_run_topics[];
#define TRAIN_MAX_SEED ((uint64_t)1 << 53) /* of --seed */
enum { TRAIN_MAX_BATCH = 1 << 20 };        /* of a worker */
enum { TRAIN_MAX_SERVERS = 1024 };         /* of --servers */
enum { TRAIN_MAX_STEPS = 100000000 };      /* of --steps */
enum { TRAIN_N_OPT_RULES = 23 };
extern const struct opt_rule train_opt_rules[TRAIN_N_OPT_RULES];
enum { TRAIN_MAX_OPT_GROUPS = 2 + MAX_MODULE_GROUPS };
/* Both tables and those of the modules, to be parsed into *opts; returns how many groups. */
int train_opt_groups(struct opt_group group[TRAIN_MAX_OPT_GROUPS], struct train_opts *opts);

/* The modes: option --mode. Mode i of that list; NULL behind the last. */
extern const struct module_kind mode_kind;
const struct sync_mode *train_mode_at(int i);
/* What a training chooses by name. */
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

struct train_memory {         /* bytes; all 0: hollow */
    size_t activations_bytes; /* of a worker: the planned block; on a device with the batch and scratch */
    size_t params_bytes;      /* of a worker: parameters, gradients, the optimiser's, running means */
    size_t exchange_bytes;    /* of a worker: what its mode allocates; the batches being prepared */
    size_t server_bytes;      /* of a parameter server */
    size_t host_bytes;        /* of all ranks of this host */
    size_t available_bytes;   /* there; SIZE_MAX: not known */
};

/* Of a worker. */
static inline size_t train_worker_bytes(const struct train_memory *m)
{
    return m->activations_bytes + m->params_bytes + m->exchange_bytes;
}

struct train_drill { /* a failure to order: a server fails as it gets the first push of the step */
    int rank;        /* -1: none */
    bool hangs;      /* else it ends ... */
    bool leaves;     /* ... or leaves in order, as it does for a signal (elastic.h, V4) */
    enum peer_phase phase;
    bool is_drawn;     /* the step is: by the seed and the rank */
    uint64_t step;     /* of the whole training, one that this run does; PHASE_STEP */
    uint64_t nth_part; /* of a stage: as it begins the forward of so many micro-batches; 0: as the step begins */
};

/* What a rank does wrong on order, and goes on. */
struct train_faults {
    int flip_rank;      /* -1: none; integrity.h, Y3 */
    uint64_t flip_step; /* of the whole training, one that this run does */
    int slow_rank;      /* -1: none */
    double slow_ratio;  /* of the speed at which it computes */
};

enum { TRAIN_MAX_RESTARTS = 64, TRAIN_SEGMENT_NAME_BYTES = 96, TRAIN_MAX_CORRUPTIONS = 8 };

struct train_restarts { /* --restarts: how often the training was begun again, as its ranks had died */
    size_t n;
    uint64_t from_steps[TRAIN_MAX_RESTARTS]; /* the step, of the whole training, that each went on from; 0: the first */
};

enum { OVERLAP_REASON_BYTES = 192 };

struct overlap_choice { /* how gradients are exchanged: beside computing (job_overlap.h), and how many pieces at once */
    bool overlaps, by_priority;
    char reason[OVERLAP_REASON_BYTES]; /* of --overlap auto; "": as asked for, or nothing is exchanged */
    int n_in_flight;                   /* of a worker, exchange.E12: rank_choose_flight(); 0: the mode has one alone */
};

struct job_stages { /* of --stages above 1; zeros: there are none (job_stages.h) */
    int number;     /* which of them this job is */
    struct pipeline_stage env;
    struct checkpoint_part part[NETWORK_MAX_STAGES]; /* of each of them */
    size_t whole_params, whole_state;                /* of all of them */
    size_t passed_elems[NETWORK_MAX_STAGES];         /* for one image, from stage i to the one behind it */
    size_t most_passed_elems;                        /* of any two stages */
    double cost_ratio[NETWORK_MAX_STAGES];           /* of stage i, over the mean of all */
    /* Of a sample in stage i, as a profile tells; NaN: there is none. */
    double forward_s[NETWORK_MAX_STAGES], backward_s[NETWORK_MAX_STAGES];
    const struct transport_ops *transport;
};

struct job_shard { /* of --shard-dense above 1, and of a stage that has dense layers; zeros: there are none
                      (job_shard.h) */
    int n_shards;
    int number;                   /* of a rank's own job: which it has */
    size_t n_common_params;       /* that no shard has alone: the first ones */
    size_t whole_params;          /* of all shards */
    size_t most_elems;            /* of a piece of activations that crosses, for one image; the most of all shards */
    struct shard_traffic traffic; /* of a rank's own job */
    const struct transport_ops *transport;
    bool pieces_differ; /* shards are cut into different numbers of them, which nobody can order (exchange.E14) */
};

enum { TRAIN_MAX_INPUTS = 4 };

struct train_job {          /* resolved; owns dataset, profile, segment and resume */
    struct train_opts opts; /* with every default worked out; threads 0: the cores of each worker */
    const struct world_ops *world;
    enum world_security security;
    const struct sync_mode *mode;
    const struct workload *workload;
    const struct compute_backend *compute;
    const struct transport_ops *transport;      /* NULL: the mode exchanges nothing */
    const struct transport_ops *feed_transport; /* of --input feed; else NULL */
    const struct collective_ops *collective;    /* NULL: the mode has none */
    const struct module *used[TRAIN_N_KINDS];   /* the same, as modules */
    const struct module *scaling;               /* of the learning rate */
    struct optimizer_rule optimizer;
    struct cluster cluster;
    struct dataset *dataset; /* NULL: the model has none */
    struct profile *profile; /* NULL: not replay */
    struct split_opts split_opts;
    struct split split;          /* of dataset; of SPLIT_IID empty; owned */
    size_t *batch_of;            /* [n_workers]: of SPLIT_UNEQUAL; NULL: opts.batch of all; owned */
    struct network_opts network; /* resolved; zeros: not an image network */
    enum precision precision;
    struct train_memory memory;
    size_t n_params, n_state; /* of the model */
    struct segment *segment;  /* [n_segments]: the layout of its parameters, forward order; owned */
    size_t n_segments;
    size_t n_pieces;                                /* in which they are exchanged, with --elastic; else 0 */
    char (*segment_name)[TRAIN_SEGMENT_NAME_BYTES]; /* [n_segments], of --verify-every; else NULL; owned */
    struct exchange_opts exchange;
    bool may_overlap; /* --overlap auto, and nothing but where workers are stands in the way: job_overlap.h */
    char overlap_reason[OVERLAP_REASON_BYTES]; /* what does, with --overlap auto; else "" */
    struct placement placement;                /* of a mode with servers; owned */
    struct hot_spot hot_spot;                  /* of that */
    char hot_tensor[96];                       /* its segment's name */
    double flops_per_sample;                   /* of a training step, GEMMs */
    struct checkpoint resume;                  /* steps_count 0, param NULL: none */
    struct digest input[TRAIN_MAX_INPUTS];     /* [n_inputs]: of its input files, of train_note_inputs() */
    size_t n_inputs;
    struct schedule schedule;
    enum on_loss on_loss;
    enum wait_policy wait; /* of workers, as asked for */
    struct train_drill drill;
    struct train_faults faults;
    int n_workers, n_servers, n_ranks; /* n_ranks: of those two, which train */
    int n_drivers;                     /* --input feed: 1, behind them; else 0 */
    bool has_default_servers;          /* n_servers follows from the rest: --servers was not given */
    bool servers_beside;              /* workers, on their hosts and cards: --colocate, or in sim the cluster says so */
    size_t n_steps;                   /* of this run */
    struct span_steps timeline_steps; /* of --timeline, counted from the training's first, which is 0 */
    unsigned omitted;                 /* enum omission: --omit, for lessons */
    size_t n_eval;                    /* test samples to classify; 0: none */
    uint64_t n_begun_before;          /* steps of trials in the same world: world_begin_step() counts on */
    bool is_trial;                    /* steps are timed and nothing else: limits are not measured, and a reducer that
                                        cannot run here (RC_UNSUPPORTED, of all ranks) does not end the world */
    bool keeps_moments;               /* the result holds the optimiser's state: a checkpoint will be written */
    const struct train_watch *watch;  /* NULL: none; borrowed */
    struct world *all;                /* of rank bodies: where several trainings run at once (--sets), the world of all,
                                        which begin their first steps together; borrowed; NULL: this one is alone */
    struct job_stages stages;
    struct job_shard shard;
    struct world *pipe; /* of rank bodies, with stages: the ranks of this one's pipeline, by stage; borrowed */
    struct train_restarts restarts; /* before this run; its owner sets it */
};

/* The most steps that a worker of the run may do: n_steps, but with --elastic those of workers that are lost, too, and
 * those that come again where a server is. */
size_t train_most_steps(const struct train_job *job);
/* Ranks of the world of the run. */
static inline int train_n_ranks(const struct train_job *job)
{
    return job->n_ranks + job->n_drivers;
}
/* Does every step of a worker wait for all others, by its mode or by the rule of its servers? */
static inline bool train_waits_for_all(const struct train_job *job)
{
    return (job->mode->module.caps & MODE_SYNCHRONOUS && !(job->omitted & OMIT_AVERAGE)) ||
           consistency_waits_for_all(&job->exchange.consistency);
}
/* Is there one update of the parameters a round, of a mean gradient? Else, where workers exchange, one by each. */
static inline bool train_updates_once(const struct train_job *job)
{
    return (job->mode->module.caps & MODE_SYNCHRONOUS && !(job->omitted & OMIT_AVERAGE)) ||
           job->exchange.consistency.kind == CONSISTENCY_SYNC;
}

/* Steps of a training without --steps. */
uint64_t train_default_steps(const struct workload *workload);
/* group[0..n_groups) was parsed, train_opt_groups() among them, into *opts (their given flags distinguish defaults from
 * what the user gave). n_given_ranks: ranks the launcher started, 0: none. RC_INVAL, RC_UNSUPPORTED. */
enum rc train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group, int n_groups,
                      int n_given_ranks) MUST_CHECK;
/* The same of a stage of --stages, which train_prepare() refuses: RC_UNSUPPORTED. n_given_ranks: of each stage. */
enum rc train_prepare_stage(struct train_job *out, const struct train_opts *opts, const struct opt_group *group,
                            int n_groups, int n_given_ranks, int stage) MUST_CHECK;
/* Digests of what its input files hold now, for train_manifest(): where rank 0 lives, before the run. RC_INVAL. */
enum rc train_note_inputs(struct train_job *job) MUST_CHECK;
void train_job_free(struct train_job *job); /* accepts a zeroed one */
/* *out := base with the reducer, the options of modules and those of the exchange of *opts, which is base->opts but for
 * these. It borrows all that base owns: never to be freed. RC_INVAL, RC_UNSUPPORTED: they cannot be had in this job;
 * RC_INVAL: too little memory. */
enum rc train_vary(struct train_job *out, const struct train_job *base, const struct train_opts *opts) MUST_CHECK;
/* The longest wait for a message, 0 for ever: in virtual time. Twice --stall-abort-s: a rank that is silent is noticed
 * as that before. */
int train_message_limit_ms(const struct train_job *job);
/* A value of --wait. */
enum wait_policy train_wait_policy(const char *text);
/* How many ranks neither train nor serve parameters, but feed workers, with this value of --input. */
int train_n_drivers(const char *input);
/* How many servers a mode with servers has where --servers is not given. */
int train_default_servers(bool colocate, int n_workers);
/* What the job asks of its world. Borrows job. */
struct world_opts train_world_opts(const struct train_job *job);
/* ran is what world_run() returned: where the world could not serve a communicator, the message names the option. */
enum rc train_explain_refusal(const struct world_opts *world, enum rc ran) MUST_CHECK;
/* What world_run() of the job returned: where rank 0 was lost, and the run was to go on without lost ranks, what can be
 * done. */
enum rc train_explain_lost_root(const struct train_job *job, enum rc ran) MUST_CHECK;

struct train_limits {       /* what the slowest part could do; seconds per step, 0: does not apply */
    double baseline_step_s; /* one worker alone, gradient and update */
    double compute_s;       /* fastest gradient, all workers computing at once; of a step of each of them */
    double wire_s;          /* the step's messages, at the latency and rate at which neighbours exchange them */
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
    uint64_t stage_waited_ns, shard_waited_ns; /* of a worker, in all steps: for the stages beside it, for its group */
    uint64_t least_forward_ns, least_backward_ns; /* of a stage: computing of a micro-batch; 0: it has done none */
    uint64_t sent_bytes, full_bytes;   /* exchanging gradients: in all, and what that of a step is in full; 0: not
                                          known (exchange_sent_bytes) */
    uint64_t steps_count;              /* of a worker: that it has done in this run */
    struct period_counts counts;       /* of a worker of a mode with servers */
    struct server_facts served;        /* of a server; of a worker lead_max_count alone, its own */
    char encryption[ENCRYPTION_BYTES]; /* exchange_encryption(); "": nothing is sent, or it is in virtual time */
};

struct train_loss { /* a rank that is not there any more at the end (world.W8) */
    int rank;
    bool has_left;         /* it was not lost, but has left in order (elastic.h, V4) */
    bool was_seen;         /* what it did last is known here: */
    struct peer_duty duty; /* its step: of the whole training */
    char why[192];
};

struct train_saves { /* --save-every: checkpoints written between steps, by rank 0 */
    size_t n_written, n_failed;
    double spent_s; /* on all of them by rank 0, between steps, the wait for other workers included; virtual in sim,
                       where writing a file takes none */
    char why[192];  /* the first of those that failed did so; "": none */
};

struct train_corruption { /* integrity.h, Y2 */
    int rank;             /* whose parameters are not those of most workers */
    int other_rank;      /* one that differs from it, where neither is right by a majority; -1: the majority is right */
    uint64_t step_index; /* of the whole training: the check behind it has found it */
    size_t segment;      /* the first, of the layout, that differs */
};

struct train_checks { /* --verify-every */
    size_t n_done;
    double spent_s; /* on all of them by rank 0, between steps, the wait for other workers included; virtual in sim */
    int n_corruptions;                                         /* that the last one has found */
    struct train_corruption corruption[TRAIN_MAX_CORRUPTIONS]; /* the first of them */
};

struct shard_figures {                        /* of the worker that has a shard, in group 0; in all steps */
    uint64_t n_params, n_common_params;       /* all, and those that no shard has alone */
    uint64_t gathered_bytes, scattered_bytes; /* activations, and gradients of them, that it sent to the others */
    uint64_t waited_ns;                       /* for these to cross */
};

struct moved_bytes { /* in a step, of the rank that sends most of each */
    double activations_bytes, gradients_bytes;
};

enum { REDUCER_REASON_BYTES = 512 };

struct train_result {       /* on rank 0, of the ranks that are left, which are all but with --on-loss report; owned */
    int n_workers, n_ranks; /* workers first */
    size_t n_steps;         /* of this run that all workers have done: the job's, or where a loss stopped them fewer, or
                               with --stop-at-step or --elastic those of the worker that has done the fewest */
    int stop_signal; /* the run was stopped for it after n_steps (world/stop.h), before it was done; 0: it was not */
    struct train_loss *loss; /* [n_losses] */
    int n_losses;
    struct step_stamp *stamp; /* [n_workers][n_steps] */
    float *lr;                /* [n_steps] */
    uint64_t *round_ns;       /* [n_rounds], of --elastic: elastic.h, V1; else NULL */
    size_t n_rounds;
    float *trajectory;                        /* [n_ranks][n_steps + 1][n_params]; NULL: --trajectory is not given */
    struct logged_message *message;           /* of rank after rank, those of each in the order in which they ended */
    uint64_t *n_messages;                     /* [n_ranks]; NULL, both: --messages is not given */
    struct train_rank_info *rank;             /* [n_ranks] */
    struct train_limits limits, limits_after; /* measured before the first step, and after the last */
    bool has_limits_after;                    /* false: those are not measured */
    struct evaluation evaluation;             /* NaN: there was none */
    double data_wait_s;                       /* worker 0: mean time a step waited for its samples; NaN: not measured */
    double peak_rss_bytes;         /* of rank 0's process, in this run; NaN in sim, and where the system reports none */
    int n_threads;                 /* of worker 0 */
    enum wait_policy wait;         /* of all workers; WAIT_AUTO: in sim, where nobody waits in real time */
    struct overlap_choice overlap; /* of all workers */
    bool has_params;               /* false: hollow */
    struct checkpoint final;       /* after the last step; moments NULL unless the job keeps them; running means: rank
                                      0's own, as evaluated */
    char reducer_reason[REDUCER_REASON_BYTES]; /* which algorithms were chosen, and why; "": none was */
    double pipe_waited_s;                     /* of rank 0, in all steps: for the stages beside it; 0: there are none */
    double least_forward_s, least_backward_s; /* of any worker: computing of a micro-batch; 0: it is no stage */
    size_t n_held;                      /* of rank 0: the most micro-batches that it held at once; 0: it is no stage */
    double pipe_latency_s, pipe_pass_s; /* of rank 0: of the largest tensor between stages, to the one behind it */
    double pipe_bound_s;                /* stages_bound.h; 0, NaN: there is none */
    struct moved_bytes moved;           /* with stages, of all of them */
    int n_hosts;                        /* likewise; 0: not known */
    struct shard_figures *shard;        /* [n_shards]; NULL: there are none */
    double gather_s, scatter_s;         /* of rank 0: what its activations take at the least to cross in its group, of a
                                           micro-batch; 0: it has no group */
    int n_stages; /* of a run in stages, which places_gather() has gathered; else 0, and what follows empty */
    int n_shards_of[NETWORK_MAX_STAGES];
    struct step_stamp *stage_stamp;     /* [n_stages][n_workers][n_steps] */
    struct train_rank_info *stage_rank; /* [n_stages][n_ranks] */
    struct shard_figures *stage_shard;  /* [n_stages][--shard-dense]; NULL: there are no shards */
    struct train_saves saves;
    struct train_checks checks; /* where one finds a corruption, the run ends behind its step */
    enum rc timeline_rc;        /* why the timeline was not written, which took nothing else with it; RC_OK: it was */
    char timeline_error[RC_MESSAGE_BYTES];
};
void train_result_free(struct train_result *r); /* accepts a zeroed one */
/* Steps of which all is done: r->n_steps, but with --elastic elastic.h, V2. */
size_t train_n_whole_steps(const struct train_job *job, const struct train_result *r);
/* Has the run done all that it was to do? With --stop-at-step the count of updates decides, not the steps of any
 * worker: a lost worker ends no such run (exchange.E11), so it is whole unless a signal stopped it. */
bool train_is_whole(const struct train_job *job, const struct train_result *r);
/* Workers whose samples are in the throughput: those that are left, but with --elastic all. */
int train_n_counted(const struct train_job *job, const struct train_result *r);

/* Body of a rank; collective over a world of train_n_ranks() ranks. *result is filled on rank 0.
 * Errors: as the parts; the caller lets them end the world. */
enum rc train_rank(struct world *w, const struct train_job *job, struct train_result *result) MUST_CHECK;

/* Workers without cores of their own, where that was asked for or there are more ranks than cores: more than 0 is an
 * oversubscribed run. 0 in sim. */
int train_n_sharing(const struct train_job *job, const struct train_result *r);

/* The most workers that share a device; 0: their compute has none. */
int train_most_on_device(const struct train_result *r);

enum { NOT_LEARNED_BYTES = 320 };
struct train_summary { /* rank 0 */
    struct steps steps;
    struct steps_summary measured;
    double efficiency_ratio, baseline_samples_per_s;       /* NaN: do not apply; global_batch.h, F2 */
    struct train_limits best;                              /* bound.h, B1 */
    double bound_samples_per_s;                            /* NaN: there is none */
    double bound_ratio, bound_low_ratio, bound_high_ratio; /* bound.h, B2 */
    double seconds_to_target_loss;
    uint64_t samples_to_target_loss_count;
    struct learning learning;
    struct comparison exchange_keeps;    /* alternation.h, W1; zeroed but where that is on */
    struct disturbance disturbance;      /* of the worst host */
    char not_learned[NOT_LEARNED_BYTES]; /* what is wrong, the likely reason, what to try; "" unless learning is no */
};
/* steps_summarise(), but with --elastic elastic.h, V1. */
enum rc train_measure(struct steps_summary *out, const struct train_job *job, const struct train_result *r,
                      const struct steps *in) MUST_CHECK;
enum rc train_summarise(struct train_summary *out, const struct train_job *job,
                        const struct train_result *r) MUST_CHECK;

/* What is known of a run before it begins: options, work, cluster, and in real worlds this machine. Owner closes. */
enum rc train_manifest(struct record **out, const struct train_job *job) MUST_CHECK;
/* Write manifest, step, rank, staleness and summary records. */
enum rc train_write(struct report *to, const struct train_job *job, const struct train_result *r,
                    const struct train_summary *s) MUST_CHECK;

#endif
