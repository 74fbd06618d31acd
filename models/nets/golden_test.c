/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_test.c - 20 steps of training give the losses that PyTorch gives, and so do the running means after them.
 *
 * models/suite/golden/NETWORK.csv says which variant of a network, and has the losses; scripts/pytorch/golden wrote
 * it. Weights, images and labels are the same integer hashes here and there, to the bit; dropout keeps everything. A
 * mutant must miss.
 *
 * usage: golden_test FOLDER NETWORK N_THREADS [MUTANT]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/compute/suite/gpu_skip.h"
#include "models/engine/training.h"
#include "models/suite/network_mutants.h"
#include "models/workload.h"

enum { MAX_STEPS = 64, LINE_BYTES = 160, SEED = 1, N_ARGS = 4 };
enum salt { SALT_WEIGHT = 1, SALT_LABEL = 2, SALT_IMAGE = 3, SALT_TEST = 5 }; /* + 1: their coarse patterns */
#define TOLERANCE_RATIO 1e-4
#ifndef GOLDEN_BACKEND
#define GOLDEN_BACKEND compute_cpu /* the build makes this program for others, too */
#endif

static const char *folder, *network_name, *mutant_name;
static int n_threads;

struct golden {
    double image_size, classes, divisor, aux, batch, lr, momentum, weight_decay, steps, batches, params;
    double loss[MAX_STEPS + 1]; /* of the steps, then of the test images */
    int n_losses;
};

/* ---- the file ---- */

static double *field(struct golden *g, const char *key)
{
    const struct {
        const char *key;
        double *value;
    } all[] = { { "image_size", &g->image_size },
                { "classes", &g->classes },
                { "divisor", &g->divisor },
                { "aux", &g->aux },
                { "batch", &g->batch },
                { "lr", &g->lr },
                { "momentum", &g->momentum },
                { "steps", &g->steps },
                { "weight_decay", &g->weight_decay },
                { "batches", &g->batches },
                { "params", &g->params } };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].key, key) == 0)
            return all[i].value;
    assert_true(g->n_losses <= MAX_STEPS);
    return &g->loss[g->n_losses++]; /* they come in order */
}

static struct golden golden_read(void)
{
    struct golden g = { .n_losses = 0 };
    char path[4096], line[LINE_BYTES], key[32], value[64];

    snprintf(path, sizeof path, "%s/%s.csv", folder, network_name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("cannot read %s", path);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%31[^,],%63s", key, value), 2);
        if (strcmp(key, "model") == 0)
            assert_string_equal(value, network_name);
        else
            *field(&g, key) = strtod(value, NULL);
    }
    fclose(file);
    assert_true(g.n_losses == (int)g.steps + 1 && g.n_losses > 1);
    return g;
}

/* ---- numbers that both programs make ---- */

/* In [-1, 1): a multiple of 2^-23. */
static float hashed(enum salt salt, size_t i)
{
    uint32_t h = (uint32_t)i * 2654435761u + (uint32_t)salt * 0x9e3779b9u;

    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return (float)(h >> 8) * 0x1p-23f - 1.0f;
}

static void fill_segment(float *param, struct segment s, float middle, float spread)
{
    for (size_t i = s.offset_elems; i < s.offset_elems + s.n_elems; i++) {
        const float product = spread * hashed(SALT_WEIGHT, i);
        param[i] = middle + product;
    }
}

static void fill(const struct network *n, float *param)
{
    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        if (d->kind != NODE_CONV)
            continue;
        fill_segment(param, d->weight, 0.0f, (float)sqrt(6.0 / (double)d->fan_in));
        fill_segment(param, d->gamma, 0.5f, 0.25f);
        fill_segment(param, d->shift, d->norm == NORM_BATCH ? 1.5f : 0.0f, 0.25f);
    }
}

struct images {
    struct dataset base;
    size_t n_distinct; /* training images: they come round */
    size_t *sample;    /* [n_train]: of which the shuffled data set makes image i */
};

static size_t number_of(const struct dataset *d, size_t i, enum salt *salt)
{
    const struct images *m = (const struct images *)d;

    *salt = i < d->n_train ? SALT_IMAGE : SALT_TEST;
    return i < d->n_train ? m->sample[i] % m->n_distinct : i - d->n_train;
}

static enum rc image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const size_t C = (size_t)d->C, H = (size_t)d->H, W = (size_t)d->W;
    enum salt salt;
    const size_t k = number_of(d, i, &salt);

    for (size_t c = 0; c < C; c++)
        for (size_t y = 0; y < H; y++)
            for (size_t j = 0; j < W; j++) {
                const float noise = 0.25f * hashed(salt, ((k * C + c) * H + y) * W + j);
                const float coarse = hashed(salt + 1, ((k * C + c) * 4 + y * 4 / H) * 4 + j * 4 / W);
                x[c * channel_stride + y * W + j] = coarse + noise;
            }
    return RC_OK;
}

static uint32_t label(const struct dataset *d, size_t i)
{
    enum salt salt;
    const size_t k = number_of(d, i, &salt);
    const double u = ((double)hashed(salt == SALT_TEST ? SALT_TEST : SALT_LABEL, k) + 1.0) * 0.5;

    return (uint32_t)(u * (double)d->n_classes);
}

static void images_open(struct images *m, const struct golden *g, int C)
{
    static const struct dataset_ops ops = { .image = image, .label = label };
    const size_t side = (size_t)g->image_size, B = (size_t)g->batch, n_train = (size_t)g->steps * B;

    *m = (struct images){ .base = { .ops = &ops,
                                    .name = "hashed",
                                    .n_train = n_train,
                                    .n_test = B,
                                    .n_features = (size_t)C * side * side,
                                    .n_classes = (size_t)g->classes,
                                    .C = C,
                                    .H = (int)side,
                                    .W = (int)side },
                          .n_distinct = (size_t)g->batches * B,
                          .sample = calloc(n_train, sizeof *m->sample) };
    assert_non_null(m->sample);
    for (size_t i = 0; i < n_train; i++)
        m->sample[dataset_index(&m->base, SEED, i)] = i;
}

/* ---- training ---- */

struct run {
    struct images images;
    struct compute *compute;
    struct training *training;
    void *param, *grad, *velocity;
};

static void run_open(struct run *r, const struct golden *g, const struct workload *w)
{
    const struct compute_env compute = { .n_threads = n_threads };
    const size_t n_bytes = (size_t)g->params * sizeof(float);
    struct training_env env = { .seed = SEED, .max_batch = (size_t)g->batch };
    float *host = calloc(1, n_bytes);

    assert_non_null(host);
    *r = (struct run){ .param = NULL };
    images_open(&r->images, g, w->network->C_in);
    assert_int_equal(compute_open(&r->compute, &GOLDEN_BACKEND, &compute), RC_OK);
    env.compute = r->compute;
    env.dataset = &r->images.base;
    env.network = (struct network_opts){ (int)g->image_size, (int)g->classes, g->aux != 0.0, (int)g->divisor };
    if (workload_open(&r->training, w, &env) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(workload_n_params(r->training), (size_t)g->params);
    assert_int_equal(compute_memory_open(r->compute, &r->param, n_bytes, "parameters"), RC_OK);
    assert_int_equal(compute_memory_open(r->compute, &r->grad, n_bytes, "gradients"), RC_OK);
    assert_int_equal(compute_memory_open(r->compute, &r->velocity, n_bytes, "velocity"), RC_OK);
    fill(network_of(r->training), host);
    compute_put(r->compute, r->param, host, n_bytes);
    free(host);
}

static void run_close(struct run *r)
{
    compute_memory_close(r->compute, &r->param);
    compute_memory_close(r->compute, &r->grad);
    compute_memory_close(r->compute, &r->velocity);
    workload_close(&r->training);
    compute_close(&r->compute);
    free(r->images.sample);
}

static struct sgd rule_of(const struct golden *g)
{
    struct sgd sgd = { (float)g->lr, (float)g->momentum, (float)g->weight_decay, 1.0f };

    if (strcmp(mutant_name, "no_decay") == 0)
        sgd.weight_decay = 0.0f;
    if (strcmp(mutant_name, "sums_gradients") == 0)
        sgd.grad_scale = (float)g->batch;
    return sgd;
}

/* The largest relative difference from what the file says. */
static double train(struct run *r, const struct golden *g)
{
    const struct sgd sgd = rule_of(g);
    const size_t B = (size_t)g->batch;
    struct evaluation e = { NAN, NAN };
    double worst_ratio = 0.0;

    for (int step = 0; step <= (int)g->steps; step++) {
        double loss = NAN;
        if (step == (int)g->steps) {
            assert_int_equal(workload_evaluate(r->training, r->param, 0, &e), RC_OK);
            loss = e.loss;
        } else {
            assert_int_equal(
                workload_gradient(r->training, r->param, (uint64_t)step * B, B, r->grad, &loss, NULL, NULL), RC_OK);
            compute_sgd_step(r->compute, r->param, r->velocity, r->grad, (size_t)g->params, &sgd);
        }
        const double ratio = fabs(loss - g->loss[step]) / g->loss[step];
        if (!(ratio <= TOLERANCE_RATIO))
            print_message("step %d: loss is %.9g, should be %.9g\n", step, loss, g->loss[step]);
        worst_ratio = isnan(worst_ratio) || ratio <= worst_ratio ? worst_ratio : ratio; /* NaN stays */
        if (mutant_name[0] != '\0' && !(worst_ratio <= TOLERANCE_RATIO))
            break;
    }
    return worst_ratio;
}

UNIT_TEST(losses_are_those_of_pytorch)
{
    const struct golden g = golden_read();
    const struct workload *w = NULL;
    struct run r;

    assert_int_equal(workload_find(&w, network_name), RC_OK);
    network_mutants_keep_all();
    const bool changes_network = mutant_name[0] != '\0' && network_mutant_start(mutant_name) != NULL;
    const bool changes_rule = strstr("no_decay sums_gradients", mutant_name) != NULL;
    assert_true(changes_network || changes_rule);
    run_open(&r, &g, w);
    const double worst_ratio = train(&r, &g);
    run_close(&r);
    print_message("%s, %d threads: largest difference %.2g\n", network_name, n_threads, worst_ratio);
    assert_true((worst_ratio <= TOLERANCE_RATIO) == (mutant_name[0] == '\0'));
}

static bool backend_is_there(void)
{
    struct compute *c = NULL;
    const enum rc rc = compute_open(&c, &GOLDEN_BACKEND, NULL);

    compute_close(&c);
    return rc != RC_UNSUPPORTED; /* another failure fails the test */
}

int main(int argc, char **argv)
{
    if (argc != N_ARGS && argc != N_ARGS + 1) {
        fprintf(stderr, "usage: golden_test FOLDER NETWORK N_THREADS [MUTANT]\n");
        return 2;
    }
    folder = argv[1];
    network_name = argv[2];
    n_threads = (int)strtol(argv[3], NULL, 10);
    mutant_name = argc > N_ARGS ? argv[4] : "";
    if (!backend_is_there())
        return gpu_skip(rc_message());
    return unit_run("golden", NULL, NULL, NULL);
}
