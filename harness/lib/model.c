/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - gm_model: a workload with its data on a compute of its own; gm_line. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/compute/compute.h"
#include "harness/lib/job.h"
#include "models/workload.h"

struct gm_model {
    struct compute *compute;
    struct dataset *dataset;
    struct training *training;
    size_t n_params, max_batch;
    void *param_block, *grad_block; /* (n_params) each, where the compute can work */
};

static enum rc open_dataset(struct dataset **out, const struct workload *w, const char *data, uint64_t seed,
                            struct network_opts *shape)
{
    const struct dataset_source *source = w->dataset ? dataset_source_find(w->dataset) : NULL;
    char shipped[PATH_MAX];
    enum rc rc = RC_OK;

    if (!w->network && data)
        FAIL(RC_INVAL, "gm_model_open: data is %s; model %s makes its data from seed, NULL is right", data,
             w->module.name);
    if (!w->network) {
        TRY(dataset_open_line(out, seed));
        return RC_OK;
    }
    if (data || (source && source->shipped_file)) {
        if (!data)
            dataset_source_path(source, shipped, sizeof shipped);
        TRY(dataset_open_path(out, data ? data : shipped));
        *shape = (struct network_opts){ .image_size = (*out)->H, .n_classes = (int)(*out)->n_classes };
        return RC_OK;
    }
    enum { N_TRAIN = 10000, N_TEST = 1000 };
    const struct synthetic_opts opts = { .C = w->network->C_in,
                                         .H = w->network->image_size,
                                         .W = w->network->image_size,
                                         .n_classes = w->network->n_classes,
                                         .n_train = N_TRAIN,
                                         .n_test = N_TEST };
    TRY(dataset_open_synthetic(out, &opts, seed));
out:
    return rc;
}

static enum rc open_parts(struct gm_model *m, const char *name, const char *data, uint64_t seed)
{
    struct training_env env = { .seed = seed, .max_batch = m->max_batch };
    const struct workload *w;
    enum rc rc;

    TRY(workload_find(&w, name));
    if (w->module.caps & WORKLOAD_PLAYS_PROFILE)
        FAIL(RC_INVAL, "gm_model_open: model %s computes nothing, it repeats recorded times", name);
    TRY(open_dataset(&m->dataset, w, data, seed, &env.network));
    if (w->network && m->dataset->C != w->network->C_in)
        FAIL(RC_INVAL, "gm_model_open: %s has images of %d channels, model %s takes %d", data ? data : w->dataset,
             m->dataset->C, name, w->network->C_in);
    TRY(compute_open(&m->compute, &compute_cpu, NULL));
    env.compute = m->compute;
    env.dataset = m->dataset;
    TRY(workload_open(&m->training, w, &env));
    m->n_params = workload_n_params(m->training);
    TRY(compute_memory_open(m->compute, &m->param_block, m->n_params * sizeof(float), name));
    TRY(compute_memory_open(m->compute, &m->grad_block, m->n_params * sizeof(float), name));
out:
    return rc;
}

void gm_model_close(struct gm_model **model)
{
    struct gm_model *m = model ? *model : NULL;

    if (!m)
        return;
    workload_close(&m->training);
    if (m->compute) {
        compute_memory_close(m->compute, &m->param_block);
        compute_memory_close(m->compute, &m->grad_block);
    }
    compute_close(&m->compute);
    dataset_close(&m->dataset);
    free(m);
    *model = NULL;
}

int gm_model_open(struct gm_model **out, const char *name, const char *data, size_t max_batch, uint64_t seed)
{
    struct gm_model *m = NULL;
    enum rc rc = RC_OK;

    if (!out || !name || max_batch == 0)
        FAIL(RC_INVAL, "gm_model_open: %s; an address, a name and a batch of at least 1 are needed",
             !out    ? "out is NULL"
             : !name ? "name is NULL"
                     : "max_batch is 0");
    m = calloc(1, sizeof *m);
    if (!m)
        FAIL(RC_NOMEM, "gm_model_open: no memory");
    m->max_batch = max_batch;
    TRY(open_parts(m, name, data, seed));
    *out = m;
    m = NULL;
out:
    gm_model_close(&m);
    return rc;
}

size_t gm_model_n_params(const struct gm_model *model)
{
    return model->n_params;
}

size_t gm_model_n_samples(const struct gm_model *model)
{
    return model->dataset->n_train;
}

int gm_model_init(struct gm_model *model, uint64_t seed, float *param)
{
    const uint64_t data_seed = model->training->env.seed;
    enum rc rc;

    model->training->env.seed = seed; /* of initial values, for this call */
    workload_init(model->training, model->param_block);
    model->training->env.seed = data_seed;
    TRY(compute_fetch(model->compute, param, model->param_block, model->n_params * sizeof *param));
out:
    return rc;
}

int gm_model_gradient(struct gm_model *model, const float *param, uint64_t first, size_t n, float *grad, double *loss)
{
    enum rc rc = RC_OK;
    double mean_loss;

    if (n == 0 || n > model->max_batch)
        FAIL(RC_INVAL, "gm_model_gradient: n is %zu; 1 to %zu, the max_batch of gm_model_open(), are right", n,
             model->max_batch);
    compute_put(model->compute, model->param_block, param, model->n_params * sizeof *param);
    TRY(workload_gradient(model->training, model->param_block, first, n, model->grad_block, &mean_loss, NULL, NULL));
    TRY(compute_fetch(model->compute, grad, model->grad_block, model->n_params * sizeof *grad));
    if (loss)
        *loss = mean_loss;
out:
    return rc;
}

int gm_model_evaluate(struct gm_model *model, const float *param, double *loss, double *accuracy)
{
    struct evaluation found;
    enum rc rc;

    compute_put(model->compute, model->param_block, param, model->n_params * sizeof *param);
    TRY(workload_evaluate(model->training, model->param_block, 0, &found));
    if (loss)
        *loss = found.loss;
    if (accuracy)
        *accuracy = found.accuracy_ratio;
out:
    return rc;
}

int gm_line(float *x, float *y, size_t n, uint64_t seed)
{
    struct dataset *d = NULL;
    enum rc rc;

    TRY(dataset_open_line(&d, seed));
    if (n > d->n_train)
        FAIL(RC_INVAL, "gm_line: n is %zu; there are %zu samples", n, d->n_train);
    memcpy(x, d->feature, n * sizeof *x);
    memcpy(y, d->target, n * sizeof *y);
out:
    dataset_close(&d);
    return rc;
}
