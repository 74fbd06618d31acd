/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - facts of a run, and the rows that exclude options where they hold. */
#include "harness/train/rules.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/train/omission.h"
#include "harness/train/train.h"

/* --- facts --- */

enum fact {
    FORWARD_ONLY,
    HOLLOW,
    REPLAY,
    NO_NETWORK,
    NO_NAMES,
    SIM,
    NO_EXCHANGE,
    EXCHANGES,
    NO_COLLECTIVE,
    NO_SERVERS,
    NO_SUM,
    NO_COMMON_PARAMETERS,
    SYNC_SERVERS,
    LATE_GRADIENTS_DROPPED,
    NOT_ASYNC,
    ONE_WORKER,
    DEVICE_REDUCER,
    SHARED_REDUCER,
    NO_GPU,
    OVERLAP,
    PRIORITY_OVERLAP,
    OMIT_ANY,
    OMITS_AVERAGE,
    OMITS_COMMON,
    OMITS_SHARD,
    AVERAGES,
    ALTERNATES,
    VERIFIES,
    SPLITS,
    COMPRESSES,
    PERIODS,
    MESSAGES,
    TRAJECTORY,
    TARGET_LOSS,
    NO_TARGET_LOSS,
    NO_SAVE,
    SAVE_OR_RESUME,
    SAVE_EVERY,
    RESTARTS,
    STOPS_AT,
    STEPS,
    GLOBAL_BATCH,
    COLOCATED,
    FEED,
    NO_STAGES,
    REPORTS_LOSSES,
    SERVERS_REPORT,
    ABORTS,
    OWN_MODELS,
    N_FACTS
};

/* How a user brings it about, for "not with ..."; NULL: it is the lack of something that the option needs. */
static const char *const fact_words[N_FACTS] = {
    [FORWARD_ONLY] = "--forward-only",
    [HOLLOW] = "--compute hollow",
    [REPLAY] = "--model replay",
    [SIM] = "--world sim",
    [SYNC_SERVERS] = "--consistency sync",
    [LATE_GRADIENTS_DROPPED] = "--consistency sync",
    [OVERLAP] = "--overlap on",
    [PRIORITY_OVERLAP] = "--priority on with --overlap on",
    [OMIT_ANY] = "--omit",
    [OMITS_AVERAGE] = "--omit average",
    [OMITS_COMMON] = "--omit broadcast",
    [OMITS_SHARD] = "--omit shard",
    [AVERAGES] = "--average-every",
    [ALTERNATES] = "--alternate-exchange",
    [VERIFIES] = "--verify-every",
    [SPLITS] = "--split",
    [COMPRESSES] = "--compression",
    [PERIODS] = "--push-every, --pull-every",
    [MESSAGES] = "--messages",
    [TRAJECTORY] = "--trajectory",
    [TARGET_LOSS] = "--target-loss",
    [SAVE_OR_RESUME] = "--save, --resume",
    [SAVE_EVERY] = "--save-every",
    [RESTARTS] = "--restarts",
    [STOPS_AT] = "--stop-at-step",
    [STEPS] = "--steps",
    [GLOBAL_BATCH] = "--global-batch",
    [COLOCATED] = "--colocate",
    [FEED] = "--input feed",
    [REPORTS_LOSSES] = "--on-loss report",
    [SERVERS_REPORT] = "--on-loss report",
    [ABORTS] = "--on-loss abort",
};

struct view { /* of a run */
    const struct train_job *job;
    const struct train_opts *opts; /* as given */
    const struct opt_group *group;
    int n_groups;
    bool holds[N_FACTS];
};

static bool is_given(const struct view *v, const char *name)
{
    return v->n_groups > 0 && opt_given(v->group, v->n_groups, name);
}

static bool is_text(const char *value, const char *text)
{
    return strcmp(value, text) == 0;
}

/* Of the modules that the run uses. */
static void note_modules(struct view *v)
{
    const struct train_job *job = v->job;
    const struct consistency *c = &job->exchange.consistency;
    const unsigned mode = job->mode->module.caps, reducer = job->collective ? job->collective->module.caps : 0;
    const bool has_servers = job->n_servers > 0;
    bool *holds = v->holds;

    holds[HOLLOW] = !job->compute->touches_memory;
    holds[REPLAY] = job->profile != NULL;
    holds[NO_NETWORK] = !job->workload->network && !job->profile;
    holds[NO_NAMES] = !job->workload->named;
    holds[SIM] = job->world->module.caps & WORLD_VIRTUAL_TIME;
    holds[NO_EXCHANGE] = !mode_exchanges(&job->mode->module);
    holds[EXCHANGES] = !holds[NO_EXCHANGE];
    holds[NO_COLLECTIVE] = !(mode & MODE_COLLECTIVE);
    holds[NO_SERVERS] = !(mode & MODE_SERVERS);
    holds[NO_SUM] = !has_servers && !(mode & MODE_SYNCHRONOUS);
    holds[NO_COMMON_PARAMETERS] = has_servers && !consistency_waits_for_all(c);
    holds[SYNC_SERVERS] = has_servers && consistency_has_rounds(c);
    holds[LATE_GRADIENTS_DROPPED] = has_servers && consistency_n_dropped(c) > 0;
    holds[NOT_ASYNC] = has_servers && consistency_may_wait(c);
    holds[ONE_WORKER] = job->n_workers == 1;
    holds[OWN_MODELS] = !(mode & MODE_SHARED_PARAMS) && job->n_workers > 1;
    holds[DEVICE_REDUCER] = reducer & COLL_DEVICE;
    holds[SHARED_REDUCER] = reducer & COLL_SHARED && reducer & COLL_ALLGATHER;
    holds[NO_GPU] = !job->compute->device_count;
}

static void note_options(struct view *v)
{
    const struct train_opts *o = v->opts;
    const struct train_job *job = v->job;
    bool *holds = v->holds;

    holds[FORWARD_ONLY] = o->forward_only;
    holds[OVERLAP] = is_text(o->overlap, "on");
    holds[PRIORITY_OVERLAP] = is_text(o->priority, "on") && holds[OVERLAP];
    holds[OMIT_ANY] = job->omitted != 0;
    holds[OMITS_AVERAGE] = job->omitted & OMIT_AVERAGE;
    holds[OMITS_COMMON] = job->omitted & (OMIT_BROADCAST | OMIT_AVERAGE);
    holds[OMITS_SHARD] = job->omitted & OMIT_SHARD;
    holds[AVERAGES] = o->average_every > 0;
    holds[ALTERNATES] = o->alternate_exchange > 0;
    holds[VERIFIES] = o->verify_every > 0;
    holds[SPLITS] = job->split_opts.kind != SPLIT_IID;
    holds[COMPRESSES] = job->exchange.compression.kind != COMPRESSION_NONE;
    holds[PERIODS] = o->push_every > 1 || o->pull_every > 1;
    holds[MESSAGES] = o->messages[0] != '\0';
    holds[TRAJECTORY] = o->trajectory[0] != '\0';
    holds[TARGET_LOSS] = !isnan(o->target_loss);
    holds[NO_TARGET_LOSS] = !holds[TARGET_LOSS];
    holds[NO_SAVE] = o->save[0] == '\0';
    holds[SAVE_OR_RESUME] = !holds[NO_SAVE] || o->resume[0] != '\0';
    holds[SAVE_EVERY] = o->save_every > 0;
    holds[RESTARTS] = o->restarts > 0;
    holds[STOPS_AT] = o->stop_at_step > 0;
    holds[STEPS] = is_given(v, "steps");
    holds[GLOBAL_BATCH] = o->global_batch > 0;
    holds[COLOCATED] = o->colocate;
    holds[FEED] = job->n_drivers > 0;
    holds[NO_STAGES] = o->stages <= 1;
}

static void note_failures(struct view *v)
{
    bool *holds = v->holds;

    holds[REPORTS_LOSSES] = v->job->on_loss == ON_LOSS_REPORT;
    holds[SERVERS_REPORT] = holds[REPORTS_LOSSES] && v->job->n_servers > 0;
    holds[ABORTS] = is_given(v, "on-loss") && is_text(v->opts->on_loss, "abort");
}

/* n_groups 0: no option counts as given. */
static struct view view_of(const struct train_job *job, const struct train_opts *opts, const struct opt_group *group,
                           int n_groups)
{
    struct view v = { .job = job, .opts = opts, .group = group, .n_groups = n_groups, .holds = { false } };

    note_modules(&v);
    note_options(&v);
    note_failures(&v);
    return v;
}

/* --- rows --- */

static const struct rule rows[] = {
    /* A run that learns nothing. */
    { "lr", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "momentum", "*", FORWARD_ONLY, "--forward-only updates no parameters" },
    { "weight-decay", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "optimizer", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "forward-only", NULL, EXCHANGES, "this mode exchanges gradients, and there are none; use --mode single or none" },
    { "lr-scaling", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "lr-scaling", NULL, GLOBAL_BATCH,
      "--global-batch has as many samples a round for any number of workers; there is nothing to scale the rate for" },
    { "lr-staleness", NULL, SYNC_SERVERS,
      "--consistency sync drops gradients that come late; needs async or ssp:S, which apply them" },
    { "target-loss", NULL, FORWARD_ONLY, "--forward-only updates no parameters; its loss does not fall" },
    { "target-loss", NULL, REPLAY, "model replay repeats recorded times; it has no loss" },
    { "target-loss", NULL, HOLLOW, "a hollow run has no loss; use --compute cpu" },
    { "target-samples", "*", NO_TARGET_LOSS, "needs --target-loss, the loss whose mean is over these samples" },
    { "eval-samples", NULL, REPLAY, "model replay repeats recorded times; nothing is learnt" },
    { "eval-samples", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    /* Memory and devices. */
    { "wait", "*", SIM, "world sim waits in virtual time" },
    { "share-device", NULL, NO_GPU, "only a GPU is shared; --compute cuda" },
    /* How gradients are exchanged. */
    { "priority", "on", DEVICE_REDUCER, "the reducer sums on the device, in the order in which gradients are ready" },
    { "compression", NULL, OMITS_AVERAGE, "--omit average sends nothing" },
    { "compression", NULL, AVERAGES, "--average-every sends parameters, of which nothing may be left out" },
    { "compression", NULL, SAVE_OR_RESUME,
      "every worker has its own rest of what it did not send, which no checkpoint holds: a run could not go on from "
      "--save "
      "as if it had not ended; leave out --save and --resume" },
    { "compression", NULL, DEVICE_REDUCER,
      "the reducer's messages go from device to device as they are; --reducer ring" },
    { "compression", "topk:", SHARED_REDUCER,
      "the reducer sums in shared memory, where nothing is sent that could be less; --reducer ring" },
    { "average-every", NULL, ONE_WORKER, "there is one worker, whose parameters are the mean; --workers 2" },
    { "average-every", NULL, OMITS_AVERAGE, "--omit average leaves out what this does" },
    { "average-every", NULL, OVERLAP,
      "parameters are averaged behind the step, and nothing is left to overlap; --overlap off" },
    { "average-every", NULL, DEVICE_REDUCER, "this reducer sums gradients on the device; --reducer ring" },
    { "average-every", NULL, REPORTS_LOSSES, "workers have no step in common to go back to; --on-loss abort" },
    { "alternate-exchange", NULL, NO_COLLECTIVE,
      "no gradients are exchanged in this mode, or by servers, which a step cannot do without; --mode allreduce" },
    { "alternate-exchange", NULL, ONE_WORKER, "there is one worker, which exchanges with nobody; --workers 2" },
    { "alternate-exchange", NULL, OMITS_AVERAGE, "--omit average exchanges in no step" },
    { "alternate-exchange", NULL, AVERAGES, "--average-every leaves out exchanges by itself" },
    { "alternate-exchange", NULL, SAVE_OR_RESUME, "the parameters are of no use; without --save and --resume" },
    { "alternate-exchange", NULL, REPORTS_LOSSES, "workers have no step in common to go back to; --on-loss abort" },
    { "alternate-exchange", NULL, VERIFIES, "--verify-every holds parameters equal, which they are not here" },
    { "alternate-exchange", NULL, MESSAGES, "--messages is of runs with as many in every step" },
    { "alternate-exchange", NULL, TARGET_LOSS, "--target-loss is of runs that learn in every step" },
    { "alternate-exchange", NULL, PRIORITY_OVERLAP,
      "with --priority on worker 0 sends the others its order in every step; --priority off" },
    { "stop-at-step", NULL, NO_SERVERS, "this mode has no servers that count updates; needs --mode ps" },
    { "stop-at-step", NULL, STEPS,
      "the servers' count of updates ends the run, and --steps each worker's own; leave out one of the two" },
    { "stop-at-step", NULL, SYNC_SERVERS,
      "with --consistency sync there is one update a step, which all workers do: --steps is the same" },
    { "stop-at-step", NULL, OVERLAP,
      "a step that overlaps begins before the servers have counted the one before; --overlap off" },
    /* Which samples, and for whom. */
    { "split", NULL, ONE_WORKER, "there is one worker, which has all samples; --workers 2" },
    { "split", NULL, OMITS_SHARD, "--omit shard gives all samples to every worker" },
    { "split", NULL, REPLAY, "model replay repeats recorded times; it has no samples" },
    { "split", "unequal:", DEVICE_REDUCER,
      "this reducer sums on the device, where gradients cannot be weighed; --reducer ring" },
    { "split", "unequal:", LATE_GRADIENTS_DROPPED,
      "each worker counts by its samples, and of sync:B servers do not know whose come too late; --consistency sync" },
    { "input", "feed", HOLLOW, "a hollow run reads no samples; use --compute cpu" },
    /* Stages and shards. */
    { "stages", NULL, NO_NETWORK, "the model is no network, whose layers could be cut apart" },
    { "stages", NULL, FORWARD_ONLY, "--forward-only computes no gradients; leave out one of the two" },
    { "stages", NULL, FEED, "--input feed pushes whole samples to one rank; --input direct" },
    { "stages", NULL, SPLITS, "--split gives samples to ranks, not to pipelines" },
    { "stages", NULL, OMIT_ANY, "--omit leaves out what ranks do that have all of the network" },
    { "stages", NULL, ALTERNATES, "--alternate-exchange takes turns that the stages would not take together" },
    { "stages", NULL, AVERAGES, "--average-every averages what each rank has of a whole network" },
    { "stages", NULL, TRAJECTORY, "--trajectory and --messages are of the ranks of one stage" },
    { "stages", NULL, MESSAGES, "--trajectory and --messages are of the ranks of one stage" },
    { "stages", NULL, REPORTS_LOSSES, "a pipeline cannot continue without one of its stages; use --on-loss abort" },
    { "stages", NULL, COLOCATED, "--colocate puts servers beside workers, which are several ranks here" },
    { "stages", NULL, STOPS_AT, "--stop-at-step counts the updates of one stage's servers" },
    { "schedule", "*", NO_STAGES, "needs --stages 2 or more, whose micro-batches it orders" },
    { "recompute", NULL, REPLAY, "model replay keeps no activations; leave out one of the two" },
    { "recompute", NULL, NO_STAGES,
      "a rank that has all of a network holds one micro-batch at a time, of which nothing is computed again; with "
      "--stages "
      "2 or more" },
    { "shard-dense", NULL, NO_NETWORK, "the model is no network, whose dense layers could be cut" },
    { "shard-dense", NULL, NO_COLLECTIVE,
      "gradients of shards are summed over the workers that have them; --mode allreduce" },
    { "shard-dense", NULL, DEVICE_REDUCER, "reducers on GPUs sum what all workers have; --reducer ring" },
    { "shard-dense", NULL, FEED, "--input feed pushes samples to workers that need labels of others; --input direct" },
    { "shard-dense", NULL, SPLITS, "--split gives workers samples that the others of a group do not know" },
    { "shard-dense", NULL, OMIT_ANY, "--omit leaves out what ranks do that have all of the network" },
    { "shard-dense", NULL, COMPRESSES, "compression is built for whole gradients alone" },
    { "shard-dense", NULL, AVERAGES, "--average-every averages what each rank has of a whole network" },
    { "shard-dense", NULL, ALTERNATES,
      "--alternate-exchange lets workers part, and those of a group compute together" },
    { "shard-dense", NULL, VERIFIES, "--verify-every compares parameters, of which workers have different ones" },
    { "shard-dense", NULL, MESSAGES, "--messages notes those of gradients alone" },
    { "shard-dense", NULL, REPORTS_LOSSES, "a group cannot continue without one of its shards; use --on-loss abort" },
    /* Checkpoints, and records of steps. */
    { "save", NULL, OWN_MODELS, "this mode keeps a model per worker; use --workers 1 or another mode" },
    { "save", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "resume", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "save", NULL, FORWARD_ONLY, "--forward-only changes no parameters; there is nothing to save" },
    { "save-every", NULL, NO_SAVE, "needs --save FILE, the checkpoint that it writes" },
    { "restarts", NULL, NO_SAVE, "needs --save FILE (and --save-every N), the checkpoint from which it continues" },
    { "trajectory", NULL, NO_NAMES, "has a column for each parameter, and this model's have no names; --model linear" },
    { "trajectory", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "trajectory", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "trajectory", NULL, OVERLAP, "a step that overlaps begins before its parameters are there; --overlap off" },
    { "trajectory", NULL, RESTARTS,
      "a run that --restarts begins again has no rows of the steps before; leave out one of the two" },
    { "messages", NULL, NO_EXCHANGE, "no message crosses in this mode; --mode allreduce or ps" },
    { "messages", NULL, FORWARD_ONLY, "--forward-only exchanges nothing" },
    { "messages", NULL, OMITS_AVERAGE, "--omit average exchanges nothing" },
    { "messages", NULL, DEVICE_REDUCER,
      "the reducer's messages go from device to device, where nobody counts them; --reducer ring" },
    { "messages", NULL, RESTARTS,
      "a run that --restarts begins again has no messages of the steps before; leave out one of the two" },
    { "verify-every", NULL, NO_COMMON_PARAMETERS,
      "workers pull parameters that others change meanwhile, and so hold other ones; --consistency sync, or --mode "
      "allreduce" },
    { "verify-every", NULL, SERVERS_REPORT, "workers that are left would wait for a lost one; --on-loss abort" },
    { "verify-every", NULL, NO_SUM,
      "every worker goes by its own gradient, so that all hold other parameters; --mode allreduce" },
    { "verify-every", NULL, ONE_WORKER, "there is one worker, and nobody to compare it with; --workers 2" },
    { "verify-every", NULL, OMITS_COMMON,
      "--omit broadcast or average gives every worker parameters of its own; leave out one of the two" },
    { "verify-every", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "verify-every", NULL, REPLAY, "model replay repeats recorded times; it learns no parameters" },
    { "verify-every", NULL, RESTARTS,
      "--restarts begins again what has died, and not what is wrong; leave out one of the two" },
    /* Workers that come and go. */
    { "elastic", NULL, NO_SERVERS, "this mode has no servers that hand out batches; needs --mode ps" },
    { "elastic", NULL, NOT_ASYNC,
      "workers come and go, and none waits for the steps of others; needs --consistency async" },
    { "elastic", NULL, STOPS_AT,
      "ends when all batches are done, and --stop-at-step earlier; leave out one of the two" },
    { "elastic", NULL, PERIODS,
      "--push-every and --pull-every keep gradients back, which would be lost with their worker; leave them out" },
    { "elastic", NULL, COMPRESSES,
      "--compression keeps back what it does not send, which would be lost with its worker; needs none" },
    { "elastic", NULL, OVERLAP, "a step that overlaps begins before its batch is known; needs --overlap off" },
    { "elastic", NULL, SPLITS, "--split gives a worker samples that no other one takes; needs --split iid" },
    { "elastic", NULL, FEED, "--input feed sends a worker batches that no other one takes; needs --input direct" },
    { "elastic", NULL, SAVE_EVERY,
      "in the middle of the run there is no step of which all batches are done; leave out --save-every" },
    { "elastic", NULL, TRAJECTORY,
      "--trajectory and --messages are of steps that each worker was to do; leave them out" },
    { "elastic", NULL, MESSAGES,
      "--trajectory and --messages are of steps that each worker was to do; leave them out" },
    { "elastic", NULL, ABORTS,
      "continues without a lost worker, and --on-loss abort does not; leave out one of the two" },
};

const struct rules train_rules = {
    .table = (const struct opt *const[]){ train_opt_table, train_run_table, NULL },
    .row = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .fact_words = fact_words,
    .implied = (const char *const[]){ "stages", "shard-dense", NULL }, /* by --layout; a whole network has 1 of each */
};

const char *train_rules_why(const struct train_job *job, const char *option)
{
    const struct view v = view_of(job, &job->opts, NULL, 0);

    return rules_why(&train_rules, v.holds, option);
}

enum rc train_rules_check(const struct train_job *job, const struct train_opts *opts, const struct opt_group *group,
                          int n_groups)
{
    const struct view v = view_of(job, opts, group, n_groups);

    return rules_check(&train_rules, v.holds, group, n_groups, opts);
}
