/* SPDX-License-Identifier: Apache-2.0 */
/* job_work.c - what a job trains: a profile or a model, its shape, its data. */
#include "harness/train/job.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/train/input.h"
#include "harness/train/integrity.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/rules.h"
#include "harness/train/shard.h"
#include "harness/train/stages.h"
#include "models/engine/network.h"
#include "models/replay/profile.h"

/* --- --optimizer, --momentum --- */

#define USUAL_MOMENTUM 0.9

/* What --optimizer asks for; NULL: whatever the momentum means. */
static enum rc find_wanted(const struct module **out, const struct train_opts *o)
{
    *out = NULL;
    return strcmp(o->optimizer, "auto") == 0 ? RC_OK : module_find(out, &optimizer_modules, o->optimizer);
}

static double default_momentum(const struct module *wanted, const struct workload *model)
{
    if (!wanted)
        return model->default_momentum;
    if (!(wanted->caps & OPTIMIZER_HAS_MOMENTUM))
        return 0;
    return model->default_momentum > 0 ? model->default_momentum : USUAL_MOMENTUM;
}

static enum rc check_momentum(const struct module *m, const struct train_opts *o)
{
    const bool has_momentum = m->caps & OPTIMIZER_HAS_MOMENTUM;
    char names[64];

    module_names_with(names, sizeof names, &optimizer_modules, OPTIMIZER_HAS_MOMENTUM);
    if (!has_momentum && o->momentum != 0)
        return rc_raise(RC_INVAL, "--momentum %g: --optimizer %s has no velocity; needs --optimizer %s", o->momentum,
                        m->name, names);
    if (has_momentum && o->momentum == 0)
        return rc_raise(RC_INVAL, "--optimizer %s: with --momentum 0 it is --optimizer %s", m->name,
                        optimizer_of_momentum(0)->name);
    return RC_OK;
}

static enum rc resolve_optimizer(struct train_job *job)
{
    struct train_opts *o = &job->opts;
    const struct module *m;
    enum rc rc;

    TRY(find_wanted(&m, o));
    if (isnan(o->momentum))
        o->momentum = default_momentum(m, job->workload);
    if (!m)
        m = optimizer_of_momentum(o->momentum);
    TRY(check_momentum(m, o));
    o->optimizer = m->name;
    job->optimizer = optimizer_rule_of(m, o->momentum);
    job->optimizer.weight_decay = o->weight_decay;
    job->used[TRAIN_OPTIMIZER] = o->forward_only ? NULL : m;
out:
    return rc;
}

static bool is_sgd(const struct optimizer_rule *rule)
{
    return rule->kind == OPTIMIZER_SGD || rule->kind == OPTIMIZER_MOMENTUM;
}

/* Of a checkpoint: SGD can resume from momentum, and momentum from SGD. */
static enum rc check_optimizer(const struct train_job *job)
{
    const struct optimizer_rule *was = &job->resume.optimizer, *is = &job->optimizer;

    if (job->opts.forward_only || (is_sgd(was) && is_sgd(is) && was->kind != is->kind))
        return RC_OK;
    if (was->kind != is->kind)
        return rc_raise(RC_INVAL, "--resume %s: was written with --optimizer %s, and lacks the state of --optimizer %s",
                        job->opts.resume, optimizer_name(was->kind), optimizer_name(is->kind));
    return RC_OK;
}

/* --- model and data --- */

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
 * model that was recorded; with --stages a network is then trained, and cut by these times (stages.h). */
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
    static const char *const names[] = { "image-size", "classes", "aux", "width-divisor" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_given(given, names[i]))
            return rc_raise(RC_INVAL, "--%s: does not apply to model %s, which is no image network", names[i],
                            job->opts.model);
    return RC_OK;
}

enum { MOST_SYNTHETIC_IMAGES = 1000000000 };

/* "synthetic", or "synthetic:N". */
static bool is_synthetic(const char *data)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(data, ":"), data);
    const struct dataset_source *source = dataset_source_find(name);
    return source && source->makes_images;
}

static enum rc open_synthetic(struct train_job *job, const struct network *n)
{
    const char *n_given = strchr(job->opts.data, ':');
    uint64_t n_train = SYNTHETIC_IMAGES;
    if (n_given && !(text_to_u64(n_given + 1, &n_train) && n_train > 0 && n_train <= MOST_SYNTHETIC_IMAGES))
        return rc_raise(RC_INVAL, "--data %s: use synthetic:N, with N from 1 to %d", job->opts.data,
                        MOST_SYNTHETIC_IMAGES);
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
    const struct dataset_source *source = is_default ? dataset_source_find(job->workload->dataset) : NULL;

    if (is_default && (!source || !source->shipped_file))
        return NULL;
    if (is_default) {
        dataset_source_path(source, shipped, PATH_MAX);
        return shipped;
    }
    return is_synthetic(job->opts.data) ? NULL : job->opts.data;
}

bool train_is_built_in(const struct opt *o, const char *value)
{
    return (strcmp(o->name, "data") == 0 && is_synthetic(value)) ||
           (strncmp(o->unit, "PRESET|", 7) == 0 && cluster_is_preset(value));
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

static enum rc open_network(struct network **out, struct train_job *job)
{
    struct train_opts *o = &job->opts;
    char shipped[PATH_MAX];
    const char *path = path_of_data(job, shipped);
    enum rc rc = RC_OK;

    if (path)
        TRY(file_data_open(&job->dataset, path, &o->image_size, &o->classes));
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
    TRY(train_rules_check(job, o, group, n_groups));
    TRY(refuse_precision(job, &given_opts));
    TRY(job_input_check(job));
    TRY(job_periods_resolve(job));
    if (o->steps == 0)
        o->steps = train_default_steps(job->workload);
    if (o->batch == 0)
        o->batch = (uint64_t)job->workload->default_batch;
    TRY(job_accumulate_check(job));
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
    TRY(job->workload->network ? open_network(&network, job) : open_other(job, &given_opts));
    TRY(resolve_optimizer(job));
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

/* --- --resume --- */

static bool are_finite(const float *value, size_t n)
{
    for (size_t i = 0; value && i < n; i++)
        if (!isfinite((double)value[i]))
            return false;
    return true;
}

/* A training that has diverged stays so, whatever its learning rate. */
static enum rc check_finite(const struct checkpoint *c, const char *path)
{
    const char *what = NULL;

    if (!are_finite(c->param, c->n_params))
        what = "parameters";
    else if (!are_finite(c->kept.moments, (size_t)optimizer_n_moments(&c->optimizer) * c->n_params))
        what = "optimizer's moments";
    else if (!are_finite(c->state, c->n_state))
        what = "running means and variances";
    if (!what)
        return RC_OK;
    return rc_raise(
        RC_INVAL,
        "--resume %s: its %s are not all finite numbers: that training diverged before step %llu; resume an "
        "earlier checkpoint, or begin again with a lower --lr",
        path, what, (unsigned long long)c->steps_count);
}

/* n_params, n_state: of the model, whatever stage of it the job is. */
static enum rc check_resume(const struct train_job *job, size_t n_params, size_t n_state)
{
    const struct checkpoint *c = &job->resume;
    const char *path = job->opts.resume;

    if (strcmp(c->model, job->opts.model) != 0)
        return rc_raise(RC_INVAL, "--resume %s: is of model %s, not %s", path, c->model, job->opts.model);
    if (c->n_params != n_params)
        return rc_raise(RC_INVAL, "--resume %s: has %zu parameters, model %s has %zu", path, c->n_params,
                        job->opts.model, n_params);
    if (c->n_state != n_state)
        return rc_raise(RC_INVAL, "--resume %s: has %zu running means and variances, model %s has %zu", path,
                        c->n_state, job->opts.model, n_state);
    if (c->seed != job->opts.seed)
        return rc_raise(RC_INVAL, "--resume %s: is of --seed %llu, not %llu", path, (unsigned long long)c->seed,
                        (unsigned long long)job->opts.seed);
    if (job->exchange.stop_at == 0 && c->steps_count >= job->opts.steps) /* else job_periods_check_resume() */
        return rc_raise(RC_INVAL, "--steps %llu: %s has done %llu already", (unsigned long long)job->opts.steps, path,
                        (unsigned long long)c->steps_count);
    return check_finite(c, path);
}

enum rc job_resume_resolve(struct train_job *job)
{
    const struct job_stages *s = &job->stages;
    const bool is_stage = s->env.cuts.n_stages > 1;
    enum rc rc = RC_OK;

    if (job->opts.resume[0]) {
        TRY(file_of_option(checkpoint_load(&job->resume, job->opts.resume), "resume"));
        TRY(check_resume(job, is_stage ? s->whole_params : job->n_params, is_stage ? s->whole_state : job->n_state));
        TRY(job_split_check_resume(job));
        TRY(check_optimizer(job));
        TRY(job_periods_check_resume(job));
        TRY(local_sgd_check_resume(job));
        if (is_stage)
            TRY(checkpoint_cut(&job->resume, &s->part[s->number]));
    }
out:
    return rc;
}
