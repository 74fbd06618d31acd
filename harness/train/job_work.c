/* SPDX-License-Identifier: Apache-2.0 */
/* job_work.c - what a job trains: a profile or a model, its shape, its data. */
#include "harness/train/job_work.h"
#include "harness/train/integrity.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/train/file_data.h"
#include "harness/train/job_accumulate.h"
#include "harness/train/job_input.h"
#include "harness/train/job_optimizer.h"
#include "harness/train/job_periods.h"
#include "harness/train/job_servers.h"
#include "harness/train/job_shard.h"
#include "harness/train/job_split.h"
#include "harness/train/job_stages.h"
#include "models/engine/network.h"
#include "models/replay/profile.h"

enum { MOST_STEPS = 200 }; /* without --steps */

struct given_opts { /* the parsed groups, which note the options that the user gave */
    const struct opt_group *group;
    int n_groups;
};

static bool is_given(const struct given_opts *given, const char *name)
{
    return opt_given(given->group, given->n_groups, name);
}

/* --profile FILE selects model replay, which spends the recorded times. --model, if given too, must be replay or the
 * model that was recorded; with --stages a network is then trained, and cut by these times (job_stages.h). */
static enum rc resolve_profile(struct train_job *job, const struct given_opts *given)
{
    struct train_opts *o = &job->opts;
    enum rc rc = RC_OK;

    if (!o->profile[0]) {
        if (job->workload->module.caps & WORKLOAD_PLAYS_PROFILE)
            FAIL(RC_INVAL, "--model %s: needs --profile FILE; gradmark profile writes them", o->model);
        return RC_OK;
    }
    if (job_stages_only_balance(job, is_given(given, "model")))
        return RC_OK;
    TRY(file_of_option(profile_load(&job->profile, o->profile), "profile"));
    if (is_given(given, "model") && !(job->workload->module.caps & WORKLOAD_PLAYS_PROFILE) &&
        strcmp(o->model, job->profile->model) != 0)
        FAIL(RC_INVAL, "--model %s --profile %s: that is a profile of %s", o->model, o->profile, job->profile->model);
    job->workload = workload_profile_player();
    o->model = job->workload->module.name;
    if (o->batch == 0)
        o->batch = (uint64_t)job->profile->batch;
out:
    return rc;
}

/* RC_INVAL: --precision was given, but the run multiplies nothing; its record would name a precision that was not used.
 */
static enum rc refuse_precision(const struct train_job *job, const struct given_opts *given)
{
    if (!is_given(given, "precision"))
        return RC_OK;
    if (job->profile)
        return rc_raise(RC_INVAL,
                        "--precision %s: --profile %s was recorded in %s, and its times are replayed unchanged",
                        job->opts.precision, job->opts.profile, job->profile->precision);
    if (!job->compute->touches_memory)
        return rc_raise(RC_INVAL, "--precision %s: --compute %s multiplies nothing", job->opts.precision,
                        job->compute->module.name);
    return RC_OK;
}

/* RC_INVAL: an option that shapes an image network was given for another model. */
static enum rc refuse_shapes(const struct train_job *job, const struct given_opts *given)
{
    static const char *const names[] = { "image-size", "classes", "aux", "width-divisor", "data-images" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_given(given, names[i]))
            return rc_raise(RC_INVAL, "--%s: does not apply to model %s, which is no image network", names[i],
                            job->opts.model);
    return RC_OK;
}

static enum rc open_synthetic(struct train_job *job, const struct network *n)
{
    const size_t n_train = job->opts.data_images ? job->opts.data_images : SYNTHETIC_IMAGES;
    const size_t n_tenth = n_train / 10 + 1;
    const struct synthetic_opts opts = { .C = n->C_in,
                                         .H = n->opts.image_size,
                                         .W = n->opts.image_size,
                                         .n_classes = n->opts.n_classes,
                                         .n_train = n_train,
                                         .n_test = n_tenth < SYNTHETIC_TEST_IMAGES ? n_tenth : SYNTHETIC_TEST_IMAGES };

    return dataset_open_synthetic(&job->dataset, &opts, job->opts.seed);
}

/* The path of the data set: --data, else the shipped data set of the model, in shipped. NULL: synthetic images. */
static const char *path_of_data(const struct train_job *job, char shipped[PATH_MAX])
{
    const bool is_default = job->opts.data[0] == '\0';
    const struct dataset_source *source = dataset_source_find(is_default ? job->workload->dataset : job->opts.data);

    if (is_default && (!source || !source->shipped_file))
        return NULL;
    if (is_default) {
        dataset_source_path(source, shipped, PATH_MAX);
        return shipped;
    }
    return source && source->makes_images ? NULL : job->opts.data;
}

bool train_is_built_in(const struct opt *o, const char *value)
{
    const struct dataset_source *source = strcmp(o->name, "data") == 0 ? dataset_source_find(value) : NULL;

    return (source && source->makes_images) || (strncmp(o->unit, "PRESET|", 7) == 0 && cluster_is_preset(value));
}

static enum rc note_input(struct train_job *job, const char *option, const char *path)
{
    struct digest *d = &job->input[job->n_inputs];
    enum rc rc = RC_OK;

    if (!path || path[0] == '\0')
        return RC_OK;
    TRY(file_of_option(digest_of(d->sha256, path), option));
    snprintf(d->name, sizeof d->name, "%s", option);
    job->n_inputs++;
out:
    return rc;
}

enum rc train_note_inputs(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    char shipped[PATH_MAX];
    enum rc rc;

    job->n_inputs = 0;
    TRY(note_input(job, "cluster", cluster_is_preset(o->cluster) ? NULL : o->cluster));
    TRY(note_input(job, "profile", o->profile));
    TRY(note_input(job, "data", job->workload->network ? path_of_data(job, shipped) : NULL));
    TRY(note_input(job, "resume", o->resume));
out:
    return rc;
}

static enum rc open_network(struct network **out, struct train_job *job, const struct given_opts *given)
{
    struct train_opts *o = &job->opts;
    char shipped[PATH_MAX];
    const char *path = path_of_data(job, shipped);
    enum rc rc = RC_OK;

    if (path)
        TRY(file_data_open(&job->dataset, path, &o->image_size, &o->classes));
    if (job->dataset && is_given(given, "data-images"))
        FAIL(RC_INVAL, "--data-images %llu: is for --data synthetic, but that is %s",
             (unsigned long long)o->data_images, job->dataset->name);
    job->network = (struct network_opts){ .image_size = (int)o->image_size,
                                          .n_classes = (int)o->classes,
                                          .aux_head = o->aux,
                                          .width_divisor = (int)o->width_divisor };
    TRY(network_open(out, job->workload->network, &job->network));
    job->network = (*out)->opts;
    job->n_state = (*out)->n_state;
    if (job->dataset)
        TRY(file_data_check(job->dataset, o->data[0] ? path : job->dataset->name, *out));
    else
        TRY(open_synthetic(job, *out));
    if (path && strcmp(o->input, "synthetic") == 0)
        TRY(job_input_replace(job));
out:
    return rc;
}

/* Open the data of a model that is not an image network (linear, replay). */
static enum rc open_other(struct train_job *job, const struct given_opts *given)
{
    const struct train_opts *o = &job->opts;
    enum rc rc = RC_OK;

    TRY(refuse_shapes(job, given));
    if (o->data[0])
        FAIL(RC_INVAL, "--data %s: model %s %s", o->data, o->model,
             job->profile ? "repeats recorded times; it reads no data" : "computes its data from --seed");
    if (!job->profile)
        TRY(dataset_open_line(&job->dataset, o->seed));
out:
    return rc;
}

static enum rc note_layout(struct train_job *job, const struct training *t)
{
    job->n_params = workload_n_params(t);
    job->n_segments = t->workload->ops->n_segments(t);
    job->segment = calloc(job->n_segments, sizeof *job->segment);
    if (!job->segment)
        return rc_raise(RC_NOMEM, "no memory for the layout of %zu segments", job->n_segments);
    for (size_t i = 0; i < job->n_segments; i++)
        job->segment[i] = t->workload->ops->segment(t, i);
    return RC_OK;
}

/* Open the model on the hollow backend, which allocates no arrays: finds errors, the layout and flops_per_sample. */
static enum rc count_params_and_flops(struct train_job *job)
{
    struct compute *compute = NULL;
    struct training *training = NULL;
    enum rc rc;

    TRY(compute_open(&compute, &compute_hollow, &(struct compute_env){ 0 }));
    const struct training_env env = { .compute = compute,
                                      .dataset = job->dataset,
                                      .seed = job->opts.seed,
                                      .max_batch = job_most_micro_batch(job),
                                      .forward_only = job->opts.forward_only,
                                      .network = job->network,
                                      .profile = job->profile,
                                      .stage = job->opts.stages > 1 ? &job->stages.env : NULL };
    TRY(workload_open(&training, job->workload, &env));
    TRY(note_layout(job, training));
    job->flops_per_sample = job->workload->ops->flops_per_sample(training);
out:
    workload_close(&training);
    compute_close(&compute);
    return rc;
}

/* How many samples are evaluated after training. Without --eval-samples: the whole test set of a file, none of
 * synthetic images. A network is evaluated on its test set; other models have none and are evaluated on their training
 * samples. */
static size_t n_evaluated(const struct train_job *job, const struct given_opts *given)
{
    if (!job->dataset || !job->compute->touches_memory)
        return 0;
    const size_t n_available = job->workload->network ? job->dataset->n_test : job->dataset->n_train;
    if (is_given(given, "eval-samples"))
        return job->opts.eval_samples < n_available ? job->opts.eval_samples : n_available;
    const struct dataset_source *source = dataset_source_find(job->dataset->name);
    return source && source->makes_images ? 0 : n_available;
}

/* Fill job->used. */
static void note_modules(struct train_job *job)
{
    job->used[TRAIN_WORLD] = &job->world->module;
    job->used[TRAIN_MODE] = &job->mode->module;
    job->used[TRAIN_MODEL] = &job->workload->module;
    job->used[TRAIN_COMPUTE] = &job->compute->module;
    job->used[TRAIN_TRANSPORT] = job->transport ? &job->transport->module : NULL;
    job->used[TRAIN_COLLECTIVE] = job->collective ? &job->collective->module : NULL;
}

uint64_t train_default_steps(const struct workload *workload)
{
    return workload->default_steps < MOST_STEPS ? (uint64_t)workload->default_steps : MOST_STEPS;
}

/* What kind of work it is, as far as options alone tell. */
static enum rc resolve_kind(struct train_job *job, const struct opt_group *group, int n_groups)
{
    const struct given_opts given_opts = { group, n_groups };
    struct train_opts *o = &job->opts;
    enum rc rc;

    TRY(precision_find(&job->precision, o->precision));
    TRY(workload_find(&job->workload, o->model));
    TRY(resolve_profile(job, &given_opts));
    TRY(refuse_precision(job, &given_opts));
    TRY(job_input_check(job));
    TRY(job_periods_resolve(job, group, n_groups));
    if (o->steps == 0)
        o->steps = train_default_steps(job->workload);
    if (o->batch == 0)
        o->batch = (uint64_t)job->workload->default_batch;
    TRY(job_accumulate_check(job));
    TRY(job_stages_check(job));
    TRY(job_shard_check(job));
out:
    return rc;
}

enum rc job_work_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    const struct given_opts given_opts = { group, n_groups };
    struct train_opts *o = &job->opts;
    struct network *network = NULL;
    enum rc rc;

    TRY(resolve_kind(job, group, n_groups));
    TRY(job->workload->network ? open_network(&network, job, &given_opts) : open_other(job, &given_opts));
    TRY(job_optimizer_resolve(job, group, n_groups));
    note_modules(job); /* whose memory counts where stages are cut to a limit */
    TRY(job_stages_resolve(job, &network));
    TRY(job_shard_resolve(job));
    o->image_size = (uint64_t)job->network.image_size;
    o->classes = (uint64_t)job->network.n_classes;
    TRY(count_params_and_flops(job));
    TRY(job_servers_resolve(job, network));
    TRY(integrity_name_segments(job, network));
    job->n_eval = n_evaluated(job, &given_opts);
    /* Where there is nothing to evaluate no evaluation is claimed. */
    o->eval_samples = job->n_eval > 0 || o->eval_samples == 0 ? job->n_eval : UINT64_MAX;
    TRY(job_shard_memory(job, network));
out:
    network_close(&network);
    return rc;
}
