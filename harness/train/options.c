/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options of a training run. Names of models, modes, reducers and computes come from their lists. */
#include "allreduce/collective_list.h"
#include "harness/net/transport.h"
#include "harness/train/train.h"

enum { MAX_RANKS = 65536 };

#define MAX_BUCKET_BYTES 1099511627776.0 /* 1 Ti */

const struct opt train_opt_table[] = {
    OPT_AUTO_MODULE_(struct train_opts, world, "world", world_kind,
                     "how ranks run; auto: mpi under mpirun, srun or flux run, tcp under gradmark launch, with "
                     "--worker-hosts or TF_CONFIG, else threads"),
    OPT_U64_(struct train_opts, servers, "servers", "", 1, TRAIN_MAX_SERVERS, "ranks",
             "number of parameter servers, ps only; without it: 1, or with --colocate one beside each worker"),
    OPT_BOOL_(struct train_opts, colocate, "colocate", "false",
              "servers live beside workers, one beside each until all servers have a place, on their hosts, network "
              "cards and cores, and not on others; without --servers: one beside each worker; in sim its "
              "work takes nothing from its worker's processor"),
    OPT_TEXT_(struct train_opts, placement, "placement", "split", "split|whole|round-robin|chunk:BYTES",
              "which parameters are on which server: by bytes, evenly; whole tensors, each to who has least; whole "
              "tensors in turn; pieces of BYTES in turn"),
    OPT_TEXT_(struct train_opts, consistency, "consistency", "async", "async|ssp:S|sync|sync:B",
              "of servers: gradients are applied as they come; the same, but nobody goes on more than S steps ahead of "
              "the slowest worker; one update a step, by the mean gradient of all workers, or of all but the B latest, "
              "which are dropped"),
    OPT_U64_(struct train_opts, replicas, "replicas", "0", 0, 1, "",
             "1: the next server follows each one, change by change, and takes its place if that is lost, so that "
             "nothing is; then a new follower is made; with --on-loss report or --elastic"),
    OPT_FILE_(
        struct train_opts, server_save, "server-save", OPT_FOLDER, "", "FOLDER",
        "without --replicas: each server writes what it holds to a file there from time to time, and the next one "
        "goes on from that if it is lost; all servers' hosts have the folder; with --on-loss report or "
        "--elastic"),
    OPT_U64_(struct train_opts, server_save_every, "server-save-every", "100", 1, 100000000, "updates",
             "how often, for --server-save: its workers wait so long"),
    OPT_U64_(struct train_opts, push_every, "push-every", "1", 1, 100000000, "steps",
             "a worker pushes after every N-th step and the last, the sum of its gradients since then"),
    OPT_U64_(struct train_opts, pull_every, "pull-every", "1", 1, 100000000, "steps",
             "a worker pulls after every N-th step; in between it goes on by its own gradients"),
    OPT_MODULE_(struct train_opts, reducer, "reducer", collective_kind, "allreduce algorithm"),
    OPT_AUTO_MODULE_(struct train_opts, transport, "transport", transport_kind,
                     "what carries messages; auto: zmq for ps, inproc or mpi for allreduce, sim in sim"),
    OPT_TEXT_(struct train_opts, interface, "interface", "", "NAME|ADDRESS",
              "network interface at which other hosts reach a rank, mpi and tcp: its name, its IPv4 address, or "
              "ADDRESS/BITS, "
              "a network it is in; with several hosts transport zmq needs it"),
    OPT_BOOL_(
        struct train_opts, insecure, "insecure", "false",
        "what transports zmq and tcp send between hosts is not encrypted; without it: it is (CURVE), with keys "
        "of this run, but for the loopback; and a run by --worker-hosts has no key without --key-file: whoever reaches "
        "its ports gets in"),
    OPT_BOOL_(struct train_opts, secure, "secure", "false", "it is encrypted on the loopback, too: what that costs"),
    OPT_U64_(struct train_opts, bucket_bytes, "bucket-bytes", "", 4, MAX_BUCKET_BYTES, "bytes",
             "gradients of neighbouring layers are exchanged together, up to this; without it: all at once"),
    OPT_U64_(struct train_opts, partition_bytes, "partition-bytes", "", 4, MAX_BUCKET_BYTES, "bytes",
             "a bucket is exchanged in pieces of at most this; without it: as a whole"),
    OPT_U64_(struct train_opts, in_flight, "in-flight", "", 1, 64, "pieces",
             "that a worker pushes and pulls at once; without it: 8 in sim, and where there is a core for each of the "
             "workers' threads and each server, else 1"),
    OPT_CHOICE_(struct train_opts, priority, "priority", "auto", "off|on|auto",
                "on: of what waits to be exchanged, the first layers go first, as the next step needs them first; "
                "auto: on where --overlap auto comes to on"),
    OPT_CHOICE_(struct train_opts, overlap, "overlap", "auto", "off|on|auto",
                "on: a task of each worker exchanges and updates while the worker computes; auto: on in allreduce "
                "where workers are on several hosts and gradients are cut, as by --bucket-bytes; the same bits"),
    OPT_F64_(
        struct train_opts, cycle_us, "cycle-us", "0", 0, 1e6, "us",
        "with --overlap on --priority on: gradients that are ready while nothing is exchanged wait so long for some "
        "of earlier layers, which then go first; which are exchanged together, and the bits, stay the same"),
    OPT_TEXT_(
        struct train_opts, compression, "compression", "none", "none|fp16|bf16|topk:F",
        "of gradients in messages: 16 bits a value, or of each piece the part F that is largest, as pairs of index "
        "and value; a worker adds what it did not send to its next gradient; not with --save and --resume"),
    OPT_CHOICE_(struct train_opts, exchange_memory, "exchange-memory", "auto", "auto|private|shared",
                "of parameters and gradients; shared: workers of a host map each other's, and initial parameters cross "
                "once to a host; auto: shared where the reducer sums in it"),
    OPT_FILE_(struct train_opts, cluster, "cluster", OPT_READ, "", "PRESET|FILE",
              "the simulated cluster: one that is built in, or a description (YAML), sim only; gradmark info --cluster "
              "shows it"),
    OPT_JOINED_(struct train_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of that description, sim only"),
    OPT_CHOICE_(struct train_opts, job_placement, "job-placement", "auto", "auto|pack|spread|random",
                "which hosts of the cluster a job gets, sim only: group after group, of all groups in turn, or by "
                "--seed; auto: as the description says"),
    OPT_MODULE_(struct train_opts, compute, "compute", compute_kind,
                "backend of the arithmetic; hollow (sim only): its time is simulated, nothing is computed"),
    OPT_BOOL_(struct train_opts, share_device, "share-device", "false",
              "where a host has fewer GPUs than workers, workers share them, in turn; without it: that is refused"),
    OPT_U64_(struct train_opts, threads, "threads", "", 1, 1024, "threads",
             "of each worker; without it: the cores bound to it, 1 where cores are shared, in sim, and in compare"),
    OPT_CHOICE_(struct train_opts, precision, "precision", "fp32", "fp32|tf32|bf16",
                "of the multiplications of GEMMs and convolutions; parameters and sums stay fp32"),
    OPT_BOOL_(struct train_opts, forward_only, "forward-only", "false",
              "inference throughput: no gradient, no exchange, no update; mode single or none"),
    OPT_BOOL_(struct train_opts, bind, "bind", "true", "give each worker cores of its own"),
    OPT_CHOICE_(
        struct train_opts, wait, "wait", "auto", "auto|spin|sleep",
        "how workers wait for others: spin for some 100 us before they sleep, or sleep at once; auto: spin where "
        "there is a core for each of their threads, and each server; compare: one choice for all it compares"),
    OPT_U64_(struct train_opts, batch, "batch", "", 1, TRAIN_MAX_BATCH, "samples",
             "batch of each worker and step, as many for any number of workers: weak scaling; without it: the model's"),
    OPT_U64_(
        struct train_opts, stages, "stages", "1", 1, NETWORK_MAX_STAGES, "stages",
        "cut the network into so many: every worker is a pipeline of as many ranks, through which micro-batches go"),
    OPT_CHOICE_(struct train_opts, schedule, "schedule", "1f1b", "1f1b|gpipe",
                "of --stages: forward and backward in turn, which holds the activations of few micro-batches, or all "
                "forward and then all backward, which holds all"),
    OPT_BOOL_(struct train_opts, recompute, "recompute", "false",
              "of --stages: hold only what a stage takes of each micro-batch, and compute its activations again before "
              "its backward: a third more work, the memory of one"),
    OPT_U64_(
        struct train_opts, memory_limit, "memory-limit", "", 1, 1e15, "bytes",
        "refuse a run of which a worker or a server needs more, as where it has no more; without it: what there is "
        "here"),
    OPT_U64_(struct train_opts, shard_dense, "shard-dense", "1", 1, NETWORK_MAX_SHARDS, "workers",
             "cut the dense layers by their outputs over groups of so many workers, which exchange activations; "
             "convolutions stay whole; mode allreduce"),
    OPT_U64_WAS_(
        struct train_opts, accumulate, "accumulate", "micro-batches", "1", 1, TRAIN_MAX_BATCH, "parts",
        "micro-batches into which a worker divides its batch: computed one after the other, gradients added up, "
        "exchanged once: the memory of a part; batch norm sees a part at a time"),
    OPT_U64_(struct train_opts, global_batch, "global-batch", "", 1, (double)TRAIN_MAX_BATCH *MAX_RANKS, "samples",
             "batch of all workers together, shared out evenly: strong scaling; without it: --batch for each worker"),
    OPT_U64_(struct train_opts, image_size, "image-size", "", 1, 4096, "pixels",
             "height and width of an image; without it: the data file's, or the published one of the network"),
    OPT_U64_(struct train_opts, classes, "classes", "", 2, 100000, "classes",
             "of images; without it: the data file's, or the published number of the network"),
    OPT_BOOL_(struct train_opts, aux, "aux", "false", "with the auxiliary classifier (inception3)"),
    OPT_U64_(struct train_opts, width_divisor, "width-divisor", "1", 1, 1024, "",
             "divides the channels of every layer: a slim network, for lessons and tests"),
    OPT_FILE_(struct train_opts, data, "data", OPT_READ, "", "PATH",
              "images: a folder (IDX, CIFAR-10, .gmimg) or file; synthetic: made from --seed; without it: the model's"),
    OPT_CHOICE_(
        struct train_opts, input, "input", "direct", "direct|feed|synthetic",
        "who reads the samples: each worker those of its own part; a driver, one more rank, which pushes batches "
        "to all workers over ZeroMQ (the same samples, and bits); nobody: images of the same shape are computed"),
    OPT_U64_(struct train_opts, feed_queue, "feed-queue", "2", 1, 64, "batches",
             "that the driver of --input feed may be ahead of a worker"),
    OPT_U64_(struct train_opts, data_images, "data-images", "", 1, 1000000000, "images",
             "synthetic training images; without it: 1281167, as ImageNet has"),
    OPT_U64_(struct train_opts, eval_samples, "eval-samples", "", 0, 1000000000, "samples",
             "of the test set, classified after the last step; without it: all of a file, none of synthetic ones"),
    OPT_FILE_(
        struct train_opts, profile, "profile", OPT_READ, "", "FILE",
        "recorded times for model replay (gradmark profile writes them); of --model NETWORK --stages: by which it "
        "is cut into stages"),
    OPT_U64_(struct train_opts, steps, "steps", "", 1, TRAIN_MAX_STEPS, "steps",
             "of each worker, those of a resumed checkpoint included; without it: the model's, for train 200 at most"),
    OPT_F64_(struct train_opts, lr, "lr", "", 1e-12, 1e6, "", "learning rate of one worker; without it: the model's"),
    OPT_MODULE_(struct train_opts, lr_scaling, "lr-scaling", scaling_kind, "rate for W workers: lr, lr W, lr sqrt W"),
    OPT_MODULE_(struct train_opts, lr_staleness, "lr-staleness", lr_staleness_kind,
                "inverse: a server applies a gradient that comes S updates late at the rate over S, for S above 1; of "
                "--consistency async and ssp:S"),
    OPT_U64_(struct train_opts, average_every, "average-every", "", 1, 100000000, "steps",
             "local SGD: workers go by their own gradients, and average their parameters after every N-th step and the "
             "last; a run with --save that is told to stop ends behind an average; without it they average gradients, "
             "in every step"),
    OPT_F64_(struct train_opts, warmup_epochs, "warmup-epochs", "0", 0, 1000, "epochs",
             "the rate rises linearly from lr to the scaled rate over these"),
    OPT_AUTO_MODULE_(struct train_opts, optimizer, "optimizer", optimizer_modules,
                     "what makes a step of a gradient, with servers there; auto: momentum, or sgd where that is 0"),
    OPT_F64_(struct train_opts, momentum, "momentum", "", 0, 0.9999, "",
             "without it: the model's, 0 or 0.9; with --optimizer momentum 0.9, with others 0"),
    OPT_CHOICE_(struct train_opts, momentum_correction, "momentum-correction", "on", "on|off",
                "past steps in the velocity, where the rate changes; on: go on at the new rate, off: at their own"),
    OPT_F64_(struct train_opts, weight_decay, "weight-decay", "0", 0, 1, "",
             "L2 penalty: this times the parameter is added to its gradient"),
    OPT_F64_(struct train_opts, target_loss, "target-loss", "", -1e9, 1e9, "",
             "report when the mean training loss of 10 steps first reaches this; without it: in compare the model's"),
    OPT_U64_(struct train_opts, seed, "seed", "1", 0, (double)TRAIN_MAX_SEED, "",
             "of samples, their order, and parameters"),
    OPT_F64_(struct train_opts, stall_warn_s, "stall-warn-s", "", 0.1, 86400, "s",
             "a rank that gives no sign of life for so long is named, with what it owes; without it: half of "
             "--stall-abort-s"),
    OPT_F64_WAS_(struct train_opts, stall_abort_s, "stall-abort-s", "timeout-s", "120", 0.1, 86400, "s",
                 "a rank that gives no sign of life for so long is lost, and ends the run; so does a message that is "
                 "awaited for twice as long, by a server for 20 steps if those take longer, but for sim"),
    OPT_END_,
};

const struct opt train_run_table[] = {
    OPT_MODULE_(struct train_opts, model, "model", workload_kind, "network and its data set"),
    OPT_MODULE_(struct train_opts, mode, "mode", mode_kind,
                "how workers exchange gradients; none: no exchange, the control"),
    OPT_U64_(struct train_opts, workers, "workers", "", 1, MAX_RANKS, "ranks",
             "workers; without it: 1, in mpi all ranks that are not servers"),
    OPT_BOOL_(struct train_opts, elastic, "elastic", "false",
              "mode ps: the first server hands out the batches of all workers one by one; a worker that is lost takes "
              "none with it, as the others get what it had, nor does a server with --replicas 1 or --server-save; "
              "implies --on-loss report"),
    OPT_U64_(
        struct train_opts, most_workers, "most-workers", "", 1, MAX_RANKS, "workers",
        "with --elastic in world tcp: --workers begin the run, and others may join it later (--join), until so many "
        "have ever been in it; each that joins counts once more, also one that was there before"),
    OPT_U64_(
        struct train_opts, sets, "sets", "", 1, MAX_RANKS, "sets",
        "so many trainings at once, which share nothing but the machine: each has --workers and --servers of its own, "
        "set s the seed --seed + s; of K sets of W workers set s has the ranks from s W on, its servers are behind "
        "the workers of all; without the lines that parsers read"),
    OPT_U64_(struct train_opts, target_samples, "target-samples", "", 1, 1e12, "samples",
             "the mean of --target-loss is of the last steps of every worker that have so many together, as many for "
             "any number of workers; without it: of the last 10"),
    OPT_U64_(
        struct train_opts, stop_at_step, "stop-at-step", "", 1, 100000000, "updates",
        "end when the servers have made so many updates, in place of --steps: exactly so many, of all workers, those "
        "of a resumed checkpoint included"),
    OPT_FILE_(struct train_opts, save, "save", OPT_WRITTEN, "", "FILE", "write a checkpoint after the last step"),
    OPT_U64_(
        struct train_opts, save_every, "save-every", "", 1, 100000000, "steps",
        "write the checkpoint of --save after every N-th step, too, in place of the one before; in no step's time: "
        "workers that wait for each other meet around it, in modes ps and none the others go on"),
    OPT_U64_(
        struct train_opts, restarts, "restarts", "", 1, TRAIN_MAX_RESTARTS, "restarts",
        "where the run's ranks die, start again from the checkpoint that it wrote to --save, or from the beginning, at "
        "most so often; drills are not repeated; of processes: gradmark launch --restarts"),
    OPT_FILE_(struct train_opts, resume, "resume", OPT_READ, "", "FILE",
              "continue from a checkpoint; mode, workers and batch may differ, model and seed may not"),
    OPT_FILE_(struct train_opts, timeline, "timeline", OPT_WRITTEN, "", "FILE.json",
              "write what every task of every rank did and when, for Perfetto (ui.perfetto.dev) or chrome://tracing"),
    OPT_TEXT_(struct train_opts, timeline_steps, "timeline-steps", "", "FIRST:LAST",
              "steps to keep in the timeline; the first step is 0 (default: all)"),
    OPT_FILE_(
        struct train_opts, trajectory, "trajectory", OPT_WRITTEN, "", "FILE.csv",
        "write the parameters of every worker at each of its steps, with time, samples and loss, as CSV; of a model "
        "whose parameters have names, such as linear"),
    OPT_TEXT_(
        struct train_opts, split, "split", "iid", "iid|by-label|dirichlet:A|unequal:a,b,...",
        "which samples workers have: all in turn; few labels each; labels by a Dirichlet distribution, A for each; "
        "parts as a to b ..., and as much of each round"),
    OPT_TEXT_(struct train_opts, omit, "omit", "", "LIST",
              "for lessons: leave out these steps of distributed training: broadcast (of the first parameters), shard "
              "(of the samples), average (of the gradients), scaling (of the rate), rank0-save (every worker saves)"),
    OPT_U64_(struct train_opts, alternate_exchange, "alternate-exchange", "", 1, 1000000, "steps",
             "measure what exchanging gradients costs: in turns of so many steps workers exchange them, and go on by "
             "their own; says what part of the throughput without is left, with an interval; the parameters are of no "
             "use; allreduce only"),
    OPT_FILE_(struct train_opts, messages, "messages", OPT_WRITTEN, "", "FILE.csv",
              "write every message between ranks, at both its ends: with whom, when, how many bytes, and where in the "
              "gradients they are, as CSV"),
    OPT_U64_(struct train_opts, record_every, "record-every", "1", 1, 100000000, "steps",
             "write the records of every N-th step, of the first and the last, and of all up to the target loss"),
    OPT_CHOICE_(struct train_opts, on_loss, "on-loss", "abort", "abort|report",
                "when a rank is lost: abort ends the run; report goes on as the mode can, and says who was lost"),
    OPT_U64_WAS_(struct train_opts, kill_rank, "kill-rank", "drill-rank", "", 0, MAX_RANKS, "rank",
                 "failure test: this rank ends without notice to its peers"),
    OPT_U64_(struct train_opts, hang_rank, "hang-rank", "", 0, MAX_RANKS, "rank",
             "failure test: this rank does nothing any more, and keeps what it holds"),
    OPT_U64_(struct train_opts, leave_rank, "leave-rank", "", 1, MAX_RANKS, "rank",
             "drill: this worker leaves in order and the others go on, as where it alone gets SIGTERM; --elastic only"),
    OPT_TEXT_(
        struct train_opts, drill_at, "drill-at", "step:1", "WHEN",
        "when the rank of --kill-rank, --hang-rank or --leave-rank does so: start, probe, step:N (the start of step N, "
        "with --resume counted on from the checkpoint's; a server: as it gets the first push of that step), step:N:M "
        "(with "
        "--stages: as it begins micro-batch M of step N), random (of a step drawn by --seed), end"),
    OPT_U64_(struct train_opts, verify_every, "verify-every", "", 1, 100000000, "steps",
             "after every N-th step and the last, in no step's time, workers compare their parameters, which are to be "
             "the same, to the bit; where they are not the run ends, and names rank, step and segment; allreduce, and "
             "ps with sync"),
    OPT_U64_(struct train_opts, flip_bit, "flip-bit", "", 0, MAX_RANKS, "rank",
             "failure test: one bit of this worker's gradient flips, behind the exchange; of ps with sync, of the "
             "parameters that it has pulled"),
    OPT_U64_(struct train_opts, flip_step, "flip-step", "1", 0, 100000000, "steps",
             "failure test: the step in which --flip-bit does so, counted as in --drill-at"),
    OPT_U64_(struct train_opts, slow_rank, "slow-rank", "", 0, MAX_RANKS, "rank",
             "failure test: this worker computes at --slow-ratio of its speed"),
    OPT_F64_(struct train_opts, slow_ratio, "slow-ratio", "0.5", 0.01, 1, "",
             "failure test: of its speed, for --slow-rank: it pauses until a gradient has taken 1 / ratio as long"),
    OPT_U64_WAS_(struct train_opts, kill_step, "kill-step", "drill-step", "", 0, 100000000, "steps",
                 "failure test: --kill-step N is --drill-at step:N"),
    OPT_END_,
};

const struct opt_rule train_opt_rules[TRAIN_N_OPT_RULES] = {
    { "servers", "mode", NULL, MODE_SERVERS },
    { "colocate", "mode", NULL, MODE_SERVERS },
    { "placement", "mode", NULL, MODE_SERVERS },
    { "consistency", "mode", NULL, MODE_SERVERS },
    { "lr-staleness", "mode", NULL, MODE_SERVERS },
    { "replicas", "mode", NULL, MODE_SERVERS },
    { "server-save", "mode", NULL, MODE_SERVERS },
    { "server-save-every", "mode", NULL, MODE_SERVERS },
    { "push-every", "mode", NULL, MODE_SERVERS },
    { "pull-every", "mode", NULL, MODE_SERVERS },
    { "reducer", "mode", NULL, MODE_COLLECTIVE },
    { "average-every", "mode", NULL, MODE_COLLECTIVE },
    { "bucket-bytes", "mode", NULL, MODE_EXCHANGES },
    { "partition-bytes", "mode", NULL, MODE_EXCHANGES },
    { "in-flight", "mode", NULL, MODE_SERVERS },
    { "priority", "mode", NULL, MODE_EXCHANGES },
    { "overlap", "mode", NULL, MODE_EXCHANGES },
    { "cycle-us", "mode", NULL, MODE_EXCHANGES },
    { "exchange-memory", "mode", NULL, MODE_EXCHANGES },
    { "compression", "mode", NULL, MODE_EXCHANGES },
    { "cluster", "world", NULL, WORLD_VIRTUAL_TIME },
    { "cluster-set", "world", NULL, WORLD_VIRTUAL_TIME },
    { "job-placement", "world", NULL, WORLD_VIRTUAL_TIME },
};

int train_opt_groups(struct opt_group group[TRAIN_MAX_OPT_GROUPS], struct train_opts *opts)
{
    group[0] = (struct opt_group){ "one run", train_run_table, opts, { 0 }, NULL };
    group[1] = (struct opt_group){ "training", train_opt_table, opts, { 0 }, NULL };
    return 2 + module_opt_groups(group + 2, train_kinds, &opts->modules);
}
