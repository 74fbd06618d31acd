/* SPDX-License-Identifier: Apache-2.0 */
/* network_fixture.c - small networks on noise. */
#include "models/suite/network_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "models/engine/network_builder.h"
#include "models/engine/training.h"

#define NOISE 1e-6 /* a shift before a batch norm, with no relu between, has no gradient at all */

const struct variant network_variants[] = {
    { &workload_lenet, { .image_size = 8 }, 4, 1e-4 },
    { &workload_alexnet, { .image_size = 95, .n_classes = 7, .width_divisor = 16 }, 3, 1e-4 },
    { &workload_vgg16, { .image_size = 40, .n_classes = 7, .width_divisor = 16 }, 3, 1e-4 },
    { &workload_resnet8, { .image_size = 12, .width_divisor = 2 }, 5, 1e-4 },
    { &workload_resnet50, { .image_size = 64, .n_classes = 7, .width_divisor = 16 }, 5, 1e-4 },
    { &workload_inception3, { .n_classes = 7, .aux_head = true, .width_divisor = 32 }, 4, 1e-4 },
    { &workload_patchwork, { .image_size = 12 }, 4, 1e-4 },
    { NULL, { 0 }, 0, 0.0 },
};

const struct variant *network_variant_find(const char *name)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++)
        if (strcmp(v->workload->module.name, name) == 0)
            return v;
    return NULL;
}

static enum rc noise_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;

    for (size_t c = 0; c < (size_t)d->C; c++)
        for (size_t k = 0; k < plane; k++)
            x[c * channel_stride + k] =
                (float)(2.0 * rng_uniform(77, RNG_TEST, (i * (size_t)d->C + c) * plane + k) - 1.0);
    return RC_OK;
}

static uint32_t noise_label(const struct dataset *d, size_t i)
{
    return (uint32_t)(rng_u64(78, RNG_TEST, i) % d->n_classes);
}

void noise_init(struct noise *d, const struct network_opts *resolved, int C)
{
    static const struct dataset_ops ops = { .image = noise_image, .label = noise_label };
    const size_t size = (size_t)resolved->image_size;

    *d = (struct noise){ .base = { .ops = &ops,
                                   .name = "noise",
                                   .n_train = 50,
                                   .n_test = 13,
                                   .n_features = (size_t)C * size * size,
                                   .n_classes = (size_t)resolved->n_classes,
                                   .C = C,
                                   .H = resolved->image_size,
                                   .W = resolved->image_size } };
}

static void *zeros(size_t n_bytes)
{
    void *p = calloc(1, n_bytes);

    if (p == NULL)
        abort();
    return p;
}

/* Biases start at 0 and gammas at 1; a test needs other values, so that they matter. And it needs few values so near a
 * relu's corner that float and double fall on different sides of it, which no bound on a gradient survives: three
 * channels in four of a batch norm stay above 0. */
static void stir(struct network_fixture *f)
{
    for (int i = 0; i < f->network->n_nodes; i++) {
        const struct node *n = &f->network->node[i];
        const bool norm = n->kind == NODE_CONV && n->norm == NORM_BATCH;
        for (size_t k = 0; n->kind == NODE_CONV && k < n->shift.n_elems; k++) {
            const size_t which = k + (size_t)i;
            f->param[n->shift.offset_elems + k] =
                0.02f * (float)(which % 7) - 0.05f + (norm && which % 4 != 0 ? 1.0f : 0.0f);
        }
        for (size_t k = 0; norm && k < n->gamma.n_elems; k++)
            f->param[n->gamma.offset_elems + k] = 0.2f + 0.02f * (float)((k + (size_t)i) % 5);
    }
}

static enum rc resolve(struct network_opts *out, const struct variant *v)
{
    struct network *n = NULL;
    const enum rc rc = network_open(&n, v->workload->network, &v->opts);

    if (rc == RC_OK)
        *out = n->opts;
    network_close(&n);
    return rc;
}

enum rc network_fixture_open(struct network_fixture *f, const struct variant *v,
                             const struct network_fixture_opts *opts)
{
    const struct compute_env compute = { .n_threads = opts->n_threads };
    struct training_env env = { .seed = 5,
                                .max_batch = opts->max_batch > 0 ? opts->max_batch : v->B,
                                .order.n_micro_batches = opts->n_micro_batches,
                                .forward_only = opts->forward_only,
                                .network = v->opts };
    enum rc rc;

    memset(f, 0, sizeof *f);
    f->variant = v;
    TRY(resolve(&env.network, v));
    noise_init(&f->data, &env.network, v->workload->network->C_in);
    TRY(compute_open(&f->compute, opts->backend != NULL ? opts->backend : &compute_cpu, &compute));
    env.dataset = &f->data.base;
    env.compute = f->compute;
    TRY(workload_open(&f->training, v->workload, &env));
    f->network = network_of(f->training);
    if (f->compute->ops->touches_memory) {
        f->param = zeros(3 * f->network->n_params * sizeof(float));
        f->grad = f->param + f->network->n_params;
        f->seen = f->grad + f->network->n_params;
        workload_init(f->training, f->param);
        stir(f);
    }
    if (opts->plant != NULL)
        opts->plant(network_trainer_of(f->training));
out:
    return rc;
}

void network_fixture_close(struct network_fixture *f)
{
    workload_close(&f->training);
    compute_close(&f->compute);
    free(f->param);
}

enum rc network_fixture_ready(void *arg, struct segment s, const float *grad)
{
    struct network_fixture *f = arg;

    if (f->n_called < sizeof f->called / sizeof f->called[0])
        f->called[f->n_called] = s;
    f->n_called++;
    if (grad != NULL)
        memcpy(f->seen + s.offset_elems, grad, s.n_elems * sizeof *grad);
    return RC_OK;
}

static void take(struct network_batch *out, const struct dataset *d, size_t i, size_t b, size_t B)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;

    if (d->ops->image(d, i, out->x + b * plane, B * plane) != RC_OK)
        abort();
    out->label[b] = d->ops->label(d, i);
}

void network_batch_open(struct network_batch *out, const struct network_fixture *f, uint64_t first, size_t B)
{
    const struct dataset *d = &f->data.base;

    out->x = zeros(B * d->n_features * sizeof *out->x);
    out->label = zeros(B * sizeof *out->label);
    for (size_t b = 0; b < B; b++)
        take(out, d, dataset_index(d, f->training->env.seed, first + b), b, B);
}

void network_batch_close(struct network_batch *b)
{
    free(b->x);
    free(b->label);
}

double *doubles_of(const float *x, size_t n)
{
    double *y = zeros((n > 0 ? n : 1) * sizeof *y);

    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

int network_compare(const struct network_fixture *f, const float *grad, const double *want)
{
    double largest = 0.0;
    int n_far = 0;

    for (size_t i = 0; i < f->network->n_params; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int s = 0; s < f->network->n_segments; s++) {
        const struct segment segment = f->network->segment[s];
        double scale = 0.0, far = 0.0;
        for (size_t i = segment.offset_elems; i < segment.offset_elems + segment.n_elems; i++) {
            scale = fmax(scale, fabs(want[i]));
            far = isfinite(grad[i]) ? fmax(far, fabs((double)grad[i] - want[i])) : INFINITY;
        }
        n_far += !(far <= f->variant->tolerance * scale + NOISE * largest);
    }
    return n_far;
}

/* Every kind of node in combinations that no published network has. */

/* A sum whose shortcut is also used later, sums without batch norm, a concatenation in another, pools of all kinds
 * as parts, uneven windows, dropout after a pool that does nothing, and two losses. */
static void build_patchwork(struct network_builder *b)
{
    const int c1 =
        node_conv(b, "c1", NODE_IMAGE, 8, NODE_KERNEL(3, 5), NODE_STRIDE(1), NODE_PAD(1, 2), NODE_BIAS | NODE_RELU);
    const int c2 =
        node_conv(b, "c2", c1, 8, NODE_KERNEL(1, 7), NODE_STRIDE(1), NODE_PAD(0, 3), NODE_BATCH_NORM | NODE_RELU);
    const int c3 =
        node_conv_add(b, "c3", c2, c1, 8, NODE_KERNEL(7, 1), NODE_STRIDE(1), NODE_PAD(3, 0), NODE_BATCH_NORM);
    const int c4 =
        node_conv_add(b, "c4", c3, c1, 8, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS | NODE_RELU);
    const int c5 = node_conv_add(b, "c5", c4, c3, 8, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS);
    const int p1 = node_max_pool(b, c5, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1));
    const int p2 = node_avg_pool(b, c4, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1));
    const int c6 = node_conv(b, "c6", c5, 6, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1), NODE_RELU);
    const int c7 =
        node_conv(b, "c7", c3, 5, NODE_KERNEL(2, 2), NODE_STRIDE(2), NODE_PAD(1, 1), NODE_BATCH_NORM | NODE_RELU);
    const int p3 = node_adaptive_pool(b, c7, 6, 6);
    const int inner = NODE_CONCAT_OF(b, p1, c6);
    const int outer = NODE_CONCAT_OF(b, p2, inner, p3);
    const int p4 = node_adaptive_pool(b, outer, 6, 6);
    const int head =
        node_conv(b, "head", p4, 9, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BATCH_NORM | NODE_RELU);
    const int small = node_adaptive_pool(b, head, 4, 5);
    const int side = node_logits(b, "side", node_dropout(b, node_adaptive_pool(b, small, 4, 5), 0.25f));
    const int body =
        node_conv(b, "body", outer, 7, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BATCH_NORM | NODE_RELU);

    node_loss(b, node_logits(b, "fc", node_dropout(b, body, 0.5f)), 0.75f);
    node_loss(b, side, 0.3f);
}

static const struct network_def patchwork = {
    .name = "patchwork",
    .source = "made up",
    .image_size = 12,
    .min_image_size = 12,
    .n_classes = 5,
    .C_in = 2,
    .build = build_patchwork,
};

const struct workload workload_patchwork = {
    .module.name = "patchwork",
    .dataset = "synthetic",
    .network = &patchwork,
    .default_lr = 0.01,
    .default_momentum = 0.9,
    .default_batch = 4,
    .default_steps = 50,
    .ops = &network_training_ops,
};
