/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options of a training run. Names of models, modes, reducers and computes come from their lists. */
#include "allreduce/collective_list.h"
#include "allreduce/sync_allreduce.h"
#include "harness/net/transport.h"
#include "harness/train/train.h"
#include "ps/ps.h"

/* --- modes, and the kinds of modules that a training chooses from --- */

const struct sync_mode *train_mode_at(int i)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_ps, &sync_allreduce, NULL };

    return all[i];
}

static const struct module *module_at(int i)
{
    return train_mode_at(i) ? &train_mode_at(i)->module : NULL;
}

const struct module_kind mode_kind = { "mode", module_at, NULL, "single", "none,single,ps,allreduce" };

const struct module_kind *const train_kinds[] = {
    [TRAIN_WORLD] = &world_kind,
    [TRAIN_TRANSPORT] = &transport_kind,
    [TRAIN_COMPUTE] = &compute_kind,
    [TRAIN_MODEL] = &workload_kind,
    [TRAIN_MODE] = &mode_kind,
    [TRAIN_COLLECTIVE] = &collective_kind,
    [TRAIN_OPTIMIZER] = &optimizer_modules,
    [TRAIN_N_KINDS] = NULL,
};

/* --- options --- */

enum { MAX_RANKS = 65536 };

#define MAX_BUCKET_BYTES 1099511627776.0 /* 1 Ti */

const struct opt train_opt_table[] = {
    OPT_FILE_(struct train_opts, data, "data", OPT_READ, "", "PATH",
              "images to train on (default: the model's). PATH is a folder (IDX, CIFAR-10, .gmimg) or a file. The word "
              "synthetic makes images from --seed, as many as ImageNet has. synthetic:N makes N"),
    OPT_CHOICE_(struct train_opts, input, "input", "direct", "direct|feed|synthetic",
                "which rank reads the samples. With direct each worker reads its own. With feed one more rank reads "
                "for all workers and sends batches over ZeroMQ. Samples and bits stay the same. With synthetic no rank "
                "reads, and images of the same shape are computed"),
    OPT_U64_(struct train_opts, eval_samples, "eval-samples", "", 0, 1000000000, "",
             "test samples to classify at the end (default: all). For synthetic images the default is 0"),
    OPT_U64_(struct train_opts, image_size, "image-size", "", 1, 4096, "",
             "height and width of an image (default: the data's). Without image files it is the published size of the "
             "network"),
    OPT_U64_(struct train_opts, classes, "classes", "", 2, 100000, "",
             "number of classes of images (default: the data's). Without image files it is the published number of the "
             "network"),
    OPT_BOOL_(struct train_opts, aux, "aux", "false", "use the auxiliary classifier of inception3"),
    OPT_U64_(struct train_opts, width_divisor, "width-divisor", "1", 1, 1024, "",
             "divide the channels of every layer by N. This makes small networks for lessons and tests"),
    OPT_FILE_(struct train_opts, profile, "profile", OPT_READ, "", "FILE",
              "measured times of layers, from gradmark profile. Model replay waits for these times. With --stages they "
              "decide where another network is cut"),
    OPT_U64_(struct train_opts, batch, "batch", "", 1, TRAIN_MAX_BATCH, "",
             "samples of each worker and step (default: the model's). With more workers a round has more samples: weak "
             "scaling"),
    OPT_U64_(
        struct train_opts, global_batch, "global-batch", "", 1, (double)TRAIN_MAX_BATCH *MAX_RANKS, "",
        "samples of all workers together (default: by --batch). Each worker has an equal part of them: strong scaling"),
    OPT_U64_(
        struct train_opts, accumulate, "accumulate", "1", 1, TRAIN_MAX_BATCH, "",
        "micro-batches that a worker divides its batch into. They are computed one after the other. Their gradients "
        "are added, and exchanged once. This needs the memory of one micro-batch. Batch norm sees one at a time"),
    OPT_U64_(struct train_opts, steps, "steps", "", 1, TRAIN_MAX_STEPS, "",
             "steps of each worker (default: the model's). Steps of a resumed checkpoint count. Without it gradmark "
             "train makes at most 200 steps"),
    OPT_F64_(struct train_opts, target_loss, "target-loss", "", 0, 1e9, "",
             "report the time until the mean loss of 10 steps is at most X. Training continues. The loss is that of "
             "training. In gradmark compare the default is the model's"),
    OPT_U64_(struct train_opts, seed, "seed", "1", 0, (double)TRAIN_MAX_SEED, "",
             "seed of samples, their order, and parameters"),
    OPT_F64_(struct train_opts, lr, "lr", "", 1e-12, 1e6, "", "learning rate of one worker (default: the model's)"),
    OPT_TEXT_(struct train_opts, lr_scaling, "lr-scaling", "none", "none|linear:E|sqrt:E",
              "how the learning rate grows with W workers. With none it stays, with linear it is W times --lr. With "
              "sqrt it is --lr times the square root of W. With :E it rises to that in a straight line, over E epochs"),
    OPT_AUTO_MODULE_(struct train_opts, optimizer, "optimizer", optimizer_modules,
                     "rule that makes a step from a gradient. In mode ps the servers apply it. With auto it is "
                     "momentum, or sgd if the momentum is 0"),
    OPT_F64_(struct train_opts, momentum, "momentum", "", 0, 0.9999, "",
             "momentum of the optimiser (default: the model's). The model's is 0 or 0.9. With --optimizer momentum the "
             "default is 0.9, with another optimiser 0"),
    OPT_F64_(struct train_opts, weight_decay, "weight-decay", "0", 0, 1, "",
             "factor of the L2 penalty. This times the parameter is added to its gradient"),
    OPT_AUTO_MODULE_(struct train_opts, world, "world", world_kind,
                     "where ranks run. With auto it is mpi under mpirun, srun or flux run. It is tcp under gradmark "
                     "launch, with --worker-hosts, or with TF_CONFIG. Otherwise ranks are threads of one process"),
    OPT_U64_(struct train_opts, threads, "threads", "", 1, 1024, "",
             "threads of each worker (default: cores / workers, in gradmark compare 1). It is also 1 where workers "
             "share cores, and in world sim"),
    OPT_BOOL_(struct train_opts, bind, "bind", "true", "give each worker its own cores"),
    OPT_CHOICE_(
        struct train_opts, wait, "wait", "auto", "auto|spin|sleep",
        "how workers wait for others. With spin they spin for about 100 us before they sleep; over ipc, tcp and zmq "
        "only if each rank of the host has two cores. With auto they spin if "
        "each thread of a worker and each server has a core. Compare makes one choice for all that it compares"),
    OPT_MODULE_(
        struct train_opts, compute, "compute", compute_kind,
        "backend of the arithmetic. With hollow, only in world sim, the time is simulated and nothing is computed"),
    OPT_CHOICE_(struct train_opts, precision, "precision", "fp32", "fp32|tf32|bf16",
                "number format of matrix products and convolutions. Parameters and sums stay fp32"),
    OPT_BOOL_(
        struct train_opts, share_device, "share-device", "false",
        "let workers share a GPU if a host has too few. They use it in turn. Without the option such a run is refused"),
    OPT_BOOL_(struct train_opts, forward_only, "forward-only", "false",
              "measure inference: no gradient, exchange or update. For modes single and none"),
    OPT_U64_(struct train_opts, servers, "servers", "", 1, TRAIN_MAX_SERVERS, "",
             "number of parameter servers (default: 1). With --colocate the default is one beside each worker. Only in "
             "mode ps"),
    OPT_BOOL_(struct train_opts, colocate, "colocate", "false",
              "put servers beside workers, on their cores. Each worker gets a server on its host, network card and "
              "cores, until all servers have a place. Without --servers each worker gets one. In world sim a server "
              "takes no time from its worker's processor"),
    OPT_TEXT_(struct train_opts, placement, "placement", "split", "split|whole|round-robin|chunk:BYTES",
              "which parameters are on which server. With split each server has equal bytes. With whole each tensor "
              "goes to the server that has least. With round-robin tensors go to the servers in turn, with chunk:BYTES "
              "chunks of that size do"),
    OPT_TEXT_(struct train_opts, consistency, "consistency", "async", "async|ssp:S|sync|sync:B",
              "when to wait. With async a server applies each gradient when it arrives. With ssp:S it does so, too, "
              "but no worker is more than S steps ahead of the slowest. With sync there is one update a step, by the "
              "mean gradient of all workers. With sync:B the B latest gradients are dropped"),
    OPT_CHOICE_(struct train_opts, lr_staleness, "lr-staleness", "none", LR_STALENESSES,
                "how to lower the rate of late gradients. With inverse a gradient that is S updates late gets the rate "
                "over S, for S above 1. For --consistency async and ssp:S"),
    OPT_U64_(struct train_opts, push_every, "push-every", "1", 1, 100000000, "",
             "push after every N-th step and the last. A worker pushes the sum of its gradients since its last push"),
    OPT_U64_(struct train_opts, pull_every, "pull-every", "1", 1, 100000000, "",
             "pull after every N-th step. In between a worker uses its own gradients"),
    OPT_U64_(struct train_opts, in_flight, "in-flight", "", 1, 65536, "",
             "chunks of a worker on their way at once (default: 1 or 8). It is 8 in world sim, and if each thread of "
             "the workers and each server has a core. Otherwise it is 1. More than 8 need world sim"),
    OPT_U64_(struct train_opts, replicas, "replicas", "0", 0, 1, "",
             "number of standbys of each server. With 1 the next server repeats every change. It replaces a lost "
             "server, so that no update is lost, and a new standby is made. Needs --on-loss report or --elastic"),
    OPT_MODULE_(struct train_opts, reducer, "reducer", collective_kind, "allreduce algorithm"),
    OPT_U64_(struct train_opts, average_every, "average-every", "", 1, 100000000, "",
             "local SGD: average the parameters every N steps. Workers use their own gradients in between. They also "
             "average after the last step. A run with --save that is stopped ends after an average. Without the option "
             "workers average gradients in every step"),
    OPT_U64_(struct train_opts, bucket_bytes, "bucket-bytes", "", 4, MAX_BUCKET_BYTES, "bytes",
             "largest bucket of gradients (default: all in one). Gradients of neighbouring layers are exchanged "
             "together, as a bucket"),
    OPT_U64_(
        struct train_opts, partition_bytes, "partition-bytes", "", 4, MAX_BUCKET_BYTES, "bytes",
        "largest chunk of a bucket (default: 256Ki, or the whole bucket). A bucket is exchanged chunk by chunk. The "
        "default is 256Ki with servers over shm, ipc, tcp and zmq, but not with --compression topk:F"),
    OPT_CHOICE_(struct train_opts, overlap, "overlap", "auto", "off|on|auto",
                "exchange gradients while computing. With on a task of each worker exchanges and updates. With auto it "
                "is on for allreduce if workers are on several hosts and gradients are cut, as by --bucket-bytes. Bits "
                "stay the same"),
    OPT_CHOICE_(struct train_opts, priority, "priority", "auto", "off|on|auto",
                "exchange the first layers first. The next step needs them first. With auto it is on where --overlap "
                "auto chooses on"),
    OPT_TEXT_(struct train_opts, compression, "compression", "none", "none|fp16|bf16|topk:F",
              "compression of gradients in messages. With fp16 and bf16 a value has 16 bits. With topk:F the largest "
              "part F of each chunk is sent, as pairs of index and value. A worker adds what it did not send to its "
              "next gradient. It cannot be combined with --save and --resume"),
    OPT_AUTO_MODULE_(
        struct train_opts, transport, "transport", transport_kind,
        "what carries messages. With auto it is zmq for ps, inproc or mpi for allreduce, and sim in world sim"),
    OPT_TEXT_(struct train_opts, interface, "interface", "", "NAME",
              "network at which other hosts reach a rank. NAME is a device, its IPv4 address, or a network as in "
              "10.0.0.0/24. For worlds mpi and tcp. On several hosts transport zmq needs it"),
    OPT_BOOL_(
        struct train_opts, insecure, "insecure", "false",
        "do not encrypt messages between hosts. Without it transports zmq and tcp encrypt them (CURVE), except on the "
        "loopback. With it a run by --worker-hosts needs no --key-file. Everybody who reaches its ports can then join"),
    OPT_BOOL_(struct train_opts, secure, "secure", "false",
              "encrypt messages on the loopback, too. This shows what encryption costs"),
    OPT_U64_(struct train_opts, stages, "stages", "1", 1, NETWORK_MAX_STAGES, "",
             "cut the network into N pipeline stages. Each worker is a pipeline of N ranks, through which "
             "micro-batches pass"),
    OPT_CHOICE_(struct train_opts, schedule, "schedule", "1f1b", "1f1b|gpipe",
                "order of the passes of a pipeline. With 1f1b forward and backward alternate, and few micro-batches "
                "are held. With gpipe all forward passes come first, and all micro-batches are held. For --stages"),
    OPT_BOOL_(struct train_opts, recompute, "recompute", "false",
              "hold less memory: compute activations again. A stage holds only the input of each micro-batch, and the "
              "activations of one. This is a third more work. For --stages"),
    OPT_U64_(struct train_opts, shard_dense, "shard-dense", "1", 1, NETWORK_MAX_SHARDS, "",
             "cut the dense layers over groups of N workers. They exchange activations. Convolutions stay whole. Only "
             "in mode allreduce"),
    OPT_U64_(struct train_opts, memory_limit, "memory-limit", "", 1, 1e15, "bytes",
             "memory that a rank may need (default: all available). A run that needs more for a worker or a server is "
             "refused"),
    OPT_FILE_(
        struct train_opts, cluster, "cluster", OPT_READ, "", "PRESET|FILE",
        "simulated cluster: a built-in name, or a YAML file. Only in world sim. See gradmark info --cluster FILE"),
    OPT_JOINED_(struct train_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of the simulated cluster. Only in world sim"),
    OPT_F64_(struct train_opts, stall_abort_s, "stall-abort-s", "120", 0.1, 86400, "s",
             "time after which a silent rank is lost. After half of it a warning names the rank, and what it owes. The "
             "run then ends. It also ends if a message does not arrive within "
             "twice this time, or for a server within 20 steps if they take longer. World sim has no such limits"),
    OPT_END_,
};

const struct opt_topic train_opt_topics[] = {
    { "data", "data" },
    { "network", "image-size" },
    { "batch and steps", "batch" },
    { "learning rate", "lr" },
    { "optimiser", "optimizer" },
    { "world, ranks and cores", "world" },
    { "arithmetic", "compute" },
    { "parameter servers", "servers" },
    { "collectives", "reducer" },
    { "exchange of gradients", "bucket-bytes" },
    { "network and encryption", "transport" },
    { "stages, shards and memory", "stages" },
    { "simulated cluster", "cluster" },
    { "lost ranks", "stall-abort-s" },
    { NULL, NULL },
};

const struct opt train_run_table[] = {
    OPT_MODULE_(struct train_opts, model, "model", workload_kind, "network"),
    OPT_MODULE_(struct train_opts, mode, "mode", mode_kind,
                "how workers exchange gradients. In mode single there is one worker. In mode ps parameter servers hold "
                "the parameters. In mode allreduce workers add their gradients. In mode none each worker trains alone, "
                "for comparison"),
    OPT_U64_(
        struct train_opts, workers, "workers", "", 1, MAX_RANKS, "",
        "number of workers (default: 1, or by the launcher). In world mpi all ranks that are not servers are workers"),
    OPT_U64_(struct train_opts, target_samples, "target-samples", "", 1, 1e12, "",
             "samples in the mean of --target-loss (default: 10 steps). The mean covers the last steps of all workers "
             "that have N samples together. So it is comparable between numbers of workers"),
    OPT_U64_(struct train_opts, stop_at_step, "stop-at-step", "", 1, 100000000, "",
             "stop when the servers have made exactly N updates. It replaces --steps. The number counts updates by all "
             "workers, and those of a resumed checkpoint"),
    OPT_FILE_(struct train_opts, save, "save", OPT_WRITTEN, "", "FILE", "write a checkpoint after the last step"),
    OPT_U64_(struct train_opts, save_every, "save-every", "", 1, 100000000, "",
             "also write the checkpoint after every N-th step. It replaces the one before. Workers that wait for each "
             "other meet around it. In modes ps and none other workers continue. The time is part of no step"),
    OPT_FILE_(struct train_opts, resume, "resume", OPT_READ, "", "FILE",
              "continue from a checkpoint. Mode, workers and batch may differ from those of the checkpoint. Model and "
              "seed may not"),
    OPT_U64_(struct train_opts, restarts, "restarts", "", 1, TRAIN_MAX_RESTARTS, "",
             "start again when ranks die, at most N times. The run continues from the checkpoint of --save, or starts "
             "at the beginning. Injected faults are not repeated. For a run of several processes use gradmark launch "
             "--restarts"),
    OPT_U64_(struct train_opts, record_every, "record-every", "1", 1, 100000000, "",
             "write the records of every N-th step. The first step, the last one, and all steps up to the target loss "
             "are always written"),
    OPT_FILE_(
        struct train_opts, timeline, "timeline", OPT_WRITTEN, "", "FILE",
        "write what each rank did and when, for Perfetto. Open the file at ui.perfetto.dev or in chrome://tracing"),
    OPT_FILE_(struct train_opts, trajectory, "trajectory", OPT_WRITTEN, "", "FILE",
              "write each worker's parameters at each step, as CSV. The file also has time, samples and loss. The "
              "model's parameters need names, as those of linear have"),
    OPT_FILE_(struct train_opts, messages, "messages", OPT_WRITTEN, "", "FILE",
              "write every message between ranks, as CSV. Both ends of a message have a line: the other rank, the "
              "time, the bytes, and their place in the gradients"),
    OPT_TEXT_(struct train_opts, split, "split", "iid", "iid|by-label|dirichlet:A|unequal:a,b,...",
              "how the samples are divided among workers. With iid each gets all samples in turn. With by-label each "
              "has few labels. With dirichlet:A shares of labels are drawn, with A for each label. With unequal:a,b "
              "workers have parts as a to b, and the same parts of each round"),
    OPT_TEXT_(
        struct train_opts, omit, "omit", "", "LIST",
        "leave out steps of distributed training, for lessons. LIST names them: broadcast (of the first parameters), "
        "shard (of the samples), average (of the gradients), scaling (of the rate), rank0-save (every worker saves)"),
    OPT_U64_(struct train_opts, alternate_exchange, "alternate-exchange", "", 1, 1000000, "",
             "measure what exchange costs, in turns of N steps. N steps with exchange and N steps without it "
             "alternate. The result is the part of the throughput that is left, with an interval. The parameters are "
             "of no use. Only in mode allreduce"),
    OPT_U64_(struct train_opts, verify_every, "verify-every", "", 1, 100000000, "",
             "compare all workers' parameters after every N-th step. They must be equal to the bit, also after the "
             "last step. Otherwise the run ends and names rank, step and tensor. The time is part of no step. For mode "
             "allreduce, and ps with --consistency sync"),
    OPT_CHOICE_(struct train_opts, on_loss, "on-loss", "abort", "abort|report",
                "what to do when a rank is lost. With abort the run ends. With report it continues as far as the mode "
                "permits, and names the lost rank"),
    OPT_BOOL_(struct train_opts, elastic, "elastic", "false",
              "assign batches one by one, so that workers may be lost. The first server assigns the batches of all "
              "workers. Other workers get the batches of a lost worker. With --replicas 1 servers may be lost, "
              "too. Only in mode ps. It implies --on-loss report"),
    OPT_U64_(struct train_opts, most_workers, "most-workers", "", 1, MAX_RANKS, "",
             "number of workers that an elastic run may ever have. The run starts with --workers. Others join it later "
             "(--task join), up to N in all. A worker that returns counts once more. Only with --elastic in world tcp"),
    OPT_TEXT_(
        struct train_opts, inject, "inject", "", "FAULT,...",
        "failure test: make ranks fail. kill:R and kill:R@WHEN end rank R without notice. stall:R@WHEN makes it "
        "stop and stay. leave:R@WHEN makes worker R leave in order, with --elastic. WHEN is start, probe, N, N:M, "
        "random or end (default: 1). N is the start of step N, with --resume counted from the checkpoint. For a "
        "server it is the first push of that step. With --stages, N:M is the start of micro-batch M of it. A "
        "random step is drawn by --seed. flip:R@N flips a bit of worker R's gradient after the exchange of step "
        "N. In mode ps with --consistency sync it is a bit of the parameters that the worker pulled. rank:R=X "
        "makes worker R compute at X of its speed"),
    OPT_END_,
};

const struct opt_topic train_run_topics[] = {
    { "model and workers", "model" },
    { "end of the run", "target-samples" },
    { "checkpoints and restarts", "save" },
    { "records of the run", "record-every" },
    { "lessons, measuring and checks", "split" },
    { "lost ranks and elastic workers", "on-loss" },
    { "failure tests", "inject" },
    { NULL, NULL },
};

const struct opt_rule train_opt_rules[] = {
    { "servers", "mode", NULL, MODE_SERVERS },
    { "colocate", "mode", NULL, MODE_SERVERS },
    { "placement", "mode", NULL, MODE_SERVERS },
    { "consistency", "mode", NULL, MODE_SERVERS },
    { "lr-staleness", "mode", NULL, MODE_SERVERS },
    { "replicas", "mode", NULL, MODE_SERVERS },
    { "push-every", "mode", NULL, MODE_SERVERS },
    { "pull-every", "mode", NULL, MODE_SERVERS },
    { "reducer", "mode", NULL, MODE_COLLECTIVE },
    { "average-every", "mode", NULL, MODE_COLLECTIVE },
    { "bucket-bytes", "mode", NULL, MODE_EXCHANGES },
    { "partition-bytes", "mode", NULL, MODE_EXCHANGES },
    { "in-flight", "mode", NULL, MODE_SERVERS },
    { "priority", "mode", NULL, MODE_EXCHANGES },
    { "overlap", "mode", NULL, MODE_EXCHANGES },
    { "compression", "mode", NULL, MODE_EXCHANGES },
    { "cluster", "world", NULL, WORLD_VIRTUAL_TIME },
    { "cluster-set", "world", NULL, WORLD_VIRTUAL_TIME },
    { NULL, NULL, NULL, 0 },
};

int train_opt_groups(struct opt_group group[TRAIN_MAX_OPT_GROUPS], struct train_opts *opts)
{
    group[0] = (struct opt_group){ "one run", train_run_table, opts, { 0 }, NULL };
    group[1] = (struct opt_group){ "training", train_opt_table, opts, { 0 }, NULL };
    return 2 + module_opt_groups(group + 2, train_kinds, &opts->modules);
}
