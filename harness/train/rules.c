/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - facts of a run, and the rows that exclude options where they hold. */
#include "harness/train/rules.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/train/omission.h"
#include "harness/train/train.h"
#include "harness/world/host_address.h"

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
    INSECURE,
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
    [INSECURE] = "--insecure",
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
    holds[INSECURE] = o->insecure;
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
    { "forward-only", NULL, EXCHANGES,
      "this mode exchanges gradients, and --forward-only computes none; use --mode single or none" },
    { "lr-scaling", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "lr-scaling", NULL, GLOBAL_BATCH,
      "--global-batch uses the same number of samples per round for any number of workers, so the rate needs no "
      "scaling" },
    { "lr-staleness", NULL, SYNC_SERVERS, "--consistency sync applies no late gradients; use async or ssp:S" },
    { "target-loss", NULL, FORWARD_ONLY, "--forward-only updates no parameters; its loss does not fall" },
    { "target-loss", NULL, REPLAY, "model replay repeats recorded times; it has no loss" },
    { "target-loss", NULL, HOLLOW, "a hollow run has no loss; use --compute cpu" },
    { "target-samples", "*", NO_TARGET_LOSS,
      "is the number of samples in the mean for --target-loss; add --target-loss" },
    { "eval-samples", NULL, REPLAY, "model replay repeats recorded times; nothing is learnt" },
    { "eval-samples", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    /* Memory and devices. */
    { "wait", "*", SIM, "world sim waits in virtual time" },
    { "share-device", NULL, NO_GPU, "only GPUs can be shared; use --compute cuda" },
    { "secure", NULL, INSECURE, WORLD_SECURE_REFUSED },
    /* How gradients are exchanged. */
    { "priority", "on", DEVICE_REDUCER, "the reducer sums on the device, in the order in which gradients are ready" },
    { "compression", NULL, OMITS_AVERAGE, "--omit average sends nothing" },
    { "compression", NULL, AVERAGES, "--average-every sends parameters, which must be complete" },
    { "compression", NULL, SAVE_OR_RESUME,
      "each worker keeps what it has not sent yet, and a checkpoint does not contain that; leave out --save and "
      "--resume" },
    { "compression", NULL, DEVICE_REDUCER,
      "this reducer sends from device to device, without compression; use --reducer ring" },
    { "compression", "topk:", SHARED_REDUCER,
      "this reducer sums in shared memory and sends no message; use --reducer ring" },
    { "average-every", NULL, ONE_WORKER, "one worker has nothing to average with; use --workers 2" },
    { "average-every", NULL, OMITS_AVERAGE, "--omit average leaves out all averages; leave out one of the two" },
    { "average-every", NULL, OVERLAP,
      "parameters are averaged after the step, so nothing can overlap; use --overlap off" },
    { "average-every", NULL, DEVICE_REDUCER, "this reducer sums only gradients, on the device; use --reducer ring" },
    { "average-every", NULL, REPORTS_LOSSES,
      "the other workers have no common step to return to after a loss; use --on-loss abort" },
    { "alternate-exchange", NULL, NO_COLLECTIVE,
      "this mode exchanges no gradients, or its servers make every update; use --mode allreduce" },
    { "alternate-exchange", NULL, ONE_WORKER, "one worker has no other to exchange with; use --workers 2" },
    { "alternate-exchange", NULL, OMITS_AVERAGE, "--omit average never exchanges; leave out one of the two" },
    { "alternate-exchange", NULL, AVERAGES, "--average-every leaves out exchanges, too; leave out one of the two" },
    { "alternate-exchange", NULL, SAVE_OR_RESUME,
      "its parameters are useless, as some steps have no exchange; leave out --save and --resume" },
    { "alternate-exchange", NULL, REPORTS_LOSSES,
      "the other workers have no common step to return to after a loss; use --on-loss abort" },
    { "alternate-exchange", NULL, VERIFIES,
      "--verify-every needs equal parameters, and without exchange they differ; leave out one of the two" },
    { "alternate-exchange", NULL, MESSAGES,
      "--messages needs the same number of messages in every step; leave out one of the two" },
    { "alternate-exchange", NULL, TARGET_LOSS,
      "--target-loss needs a run that exchanges in every step; leave out one of the two" },
    { "alternate-exchange", NULL, PRIORITY_OVERLAP,
      "with --priority on, worker 0 sends its order to the others in every step; use --priority off" },
    { "stop-at-step", NULL, NO_SERVERS, "this mode has no servers that count updates; use --mode ps" },
    { "stop-at-step", NULL, STEPS,
      "the servers end the run after N updates, and --steps ends it after N steps of each worker; leave out one of the "
      "two" },
    { "stop-at-step", NULL, SYNC_SERVERS, "with --consistency sync all workers make one update per step; use --steps" },
    { "stop-at-step", NULL, OVERLAP,
      "with overlap a step begins before the servers have counted the previous one; use --overlap off" },
    /* Which samples, and for whom. */
    { "split", NULL, ONE_WORKER, "one worker has all samples; use --workers 2" },
    { "split", NULL, OMITS_SHARD, "--omit shard gives all samples to every worker" },
    { "split", NULL, REPLAY, "model replay repeats recorded times; it has no samples" },
    { "split", "unequal:", DEVICE_REDUCER,
      "this reducer sums on the device and cannot weight gradients; use --reducer ring" },
    { "split", "unequal:", LATE_GRADIENTS_DROPPED,
      "gradients are weighted by their samples, and with sync:B the servers do not know which ones will be dropped; "
      "use --consistency sync" },
    { "input", "feed", HOLLOW, "a hollow run reads no samples; use --compute cpu" },
    /* Stages and shards. */
    { "stages", NULL, NO_NETWORK, "the model has no layers that could be divided; use another --model" },
    { "stages", NULL, FORWARD_ONLY, "--forward-only computes no gradients; leave out one of the two" },
    { "stages", NULL, FEED, "--input feed sends whole samples to one rank; use --input direct" },
    { "stages", NULL, SPLITS, "--split assigns samples to ranks, not to pipelines; leave out one of the two" },
    { "stages", NULL, OMIT_ANY, "--omit applies only to ranks that have the whole network; leave out one of the two" },
    { "stages", NULL, ALTERNATES,
      "--alternate-exchange would switch each stage at another step; leave out one of the two" },
    { "stages", NULL, AVERAGES, "--average-every averages whole networks; leave out one of the two" },
    { "stages", NULL, TRAJECTORY, "--trajectory and --messages record only one stage; leave out one of the two" },
    { "stages", NULL, MESSAGES, "--trajectory and --messages record only one stage; leave out one of the two" },
    { "stages", NULL, REPORTS_LOSSES, "a pipeline cannot continue without one of its stages; use --on-loss abort" },
    { "stages", NULL, COLOCATED,
      "--colocate puts a server beside each worker, and here a worker has several ranks; leave out one of the two" },
    { "stages", NULL, STOPS_AT,
      "--stop-at-step counts only the updates of one stage's servers; leave out one of the two" },
    { "schedule", "*", NO_STAGES, "orders the micro-batches of a pipeline; use --stages 2 or more" },
    { "recompute", NULL, REPLAY, "model replay keeps no activations; leave out one of the two" },
    { "recompute", NULL, NO_STAGES,
      "a rank with the whole network holds one micro-batch at a time, so there is nothing to recompute; use --stages "
      "2 or more" },
    { "shard-dense", NULL, NO_NETWORK, "the model has no dense layers that could be divided; use another --model" },
    { "shard-dense", NULL, NO_COLLECTIVE,
      "the gradients of a shard are summed over the workers that have it; use --mode allreduce" },
    { "shard-dense", NULL, DEVICE_REDUCER,
      "reducers on GPUs sum over all workers, not over those with the same shard; use --reducer ring" },
    { "shard-dense", NULL, FEED,
      "--input feed sends each worker only its own samples, and here it needs labels of its group; use --input "
      "direct" },
    { "shard-dense", NULL, SPLITS,
      "--split gives workers samples that the others of their group do not have; leave out one of the two" },
    { "shard-dense", NULL, OMIT_ANY,
      "--omit applies only to ranks that have the whole network; leave out one of the two" },
    { "shard-dense", NULL, COMPRESSES, "compression works only on whole gradients; leave out one of the two" },
    { "shard-dense", NULL, AVERAGES, "--average-every averages whole networks; leave out one of the two" },
    { "shard-dense", NULL, ALTERNATES,
      "with --alternate-exchange workers of a group would differ, and they compute together; leave out one of the "
      "two" },
    { "shard-dense", NULL, VERIFIES,
      "--verify-every compares parameters, and workers have different shards; leave out one of the two" },
    { "shard-dense", NULL, MESSAGES, "--messages records only the messages of gradients; leave out one of the two" },
    { "shard-dense", NULL, REPORTS_LOSSES, "a group cannot continue without one of its shards; use --on-loss abort" },
    /* Checkpoints, and records of steps. */
    { "save", NULL, OWN_MODELS, "this mode keeps a model per worker; use --workers 1 or another mode" },
    { "save", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "resume", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "save", NULL, FORWARD_ONLY, "--forward-only changes no parameters; there is nothing to save" },
    { "save-every", NULL, NO_SAVE, "writes the checkpoint of --save; add --save FILE" },
    { "restarts", NULL, NO_SAVE, "continues from a checkpoint; add --save FILE (and --save-every N)" },
    { "trajectory", NULL, NO_NAMES,
      "has a column for each parameter, and the parameters of this model have no names; use --model linear" },
    { "trajectory", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "trajectory", NULL, FORWARD_ONLY, "--forward-only updates no parameters" },
    { "trajectory", NULL, OVERLAP, "with overlap a step begins before its parameters are complete; use --overlap off" },
    { "trajectory", NULL, RESTARTS,
      "after a restart by --restarts, the rows of earlier steps are missing; leave out one of the two" },
    { "messages", NULL, NO_EXCHANGE, "this mode sends no messages; use --mode allreduce or ps" },
    { "messages", NULL, FORWARD_ONLY, "--forward-only exchanges nothing" },
    { "messages", NULL, OMITS_AVERAGE, "--omit average exchanges nothing" },
    { "messages", NULL, DEVICE_REDUCER,
      "this reducer's messages go from device to device, and are not recorded; use --reducer ring" },
    { "messages", NULL, RESTARTS,
      "after a restart by --restarts, the messages of earlier steps are missing; leave out one of the two" },
    { "verify-every", NULL, NO_COMMON_PARAMETERS,
      "workers pull at different times, so their parameters differ; use --consistency sync, or --mode allreduce" },
    { "verify-every", NULL, SERVERS_REPORT, "the remaining workers would wait for the lost one; use --on-loss abort" },
    { "verify-every", NULL, NO_SUM,
      "each worker uses only its own gradient, so their parameters differ; use --mode allreduce" },
    { "verify-every", NULL, ONE_WORKER, "one worker has no other to compare with; use --workers 2" },
    { "verify-every", NULL, OMITS_COMMON,
      "with --omit broadcast or average the parameters of workers differ; leave out one of the two" },
    { "verify-every", NULL, HOLLOW, "a hollow run has no parameters; use --compute cpu" },
    { "verify-every", NULL, REPLAY, "model replay repeats recorded times; it learns no parameters" },
    { "verify-every", NULL, RESTARTS,
      "--restarts restarts a run after a crash, not after a wrong result; leave out one of the two" },
    /* Workers that come and go. */
    { "elastic", NULL, NO_SERVERS, "this mode has no servers that assign batches; use --mode ps" },
    { "elastic", NULL, NOT_ASYNC, "no worker may wait for another one, which can leave; use --consistency async" },
    { "elastic", NULL, STOPS_AT,
      "the run ends after all batches, and --stop-at-step ends it earlier; leave out one of the two" },
    { "elastic", NULL, PERIODS,
      "--push-every and --pull-every keep gradients in the worker, and a lost worker would lose them; leave them out" },
    { "elastic", NULL, COMPRESSES,
      "--compression keeps what it has not sent, and a lost worker would lose that; use --compression none" },
    { "elastic", NULL, OVERLAP, "with overlap a step begins before its batch is known; use --overlap off" },
    { "elastic", NULL, SPLITS, "with --split the samples of a lost worker have no other worker; use --split iid" },
    { "elastic", NULL, FEED,
      "with --input feed the batches of a lost worker have no other worker; use --input direct" },
    { "elastic", NULL, SAVE_EVERY, "during the run no step has all its batches done; leave out --save-every" },
    { "elastic", NULL, TRAJECTORY, "--trajectory and --messages need the same steps on every worker; leave them out" },
    { "elastic", NULL, MESSAGES, "--trajectory and --messages need the same steps on every worker; leave them out" },
    { "elastic", NULL, ABORTS,
      "the run continues without a lost worker, and --on-loss abort ends it; leave out one of the two" },
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
