/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - profiles in memory, made from networks, and written; profile_load.c reads them. */
#include "models/replay/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/base/file.h"
#include "models/engine/network.h"
#include "models/workload.h"

void profile_close(struct profile **p)
{
    if (*p == NULL)
        return;
    for (int i = 0; i < (*p)->n_layers; i++)
        free((*p)->layer[i].tensor);
    free((*p)->layer);
    free(*p);
    *p = NULL;
}

enum rc profile_open(struct profile **out, int n_layers)
{
    struct profile *p = calloc(1, sizeof *p);

    if (p != NULL)
        p->layer = calloc((size_t)n_layers, sizeof *p->layer);
    if (p == NULL || p->layer == NULL) {
        free(p);
        return rc_raise(RC_NOMEM, "no memory for a profile of %d layers", n_layers);
    }
    p->n_layers = n_layers;
    *out = p;
    return RC_OK;
}

enum rc profile_layer_tensors(struct profile_layer *l, int n_tensors)
{
    if (n_tensors == 0)
        return RC_OK;
    l->tensor = calloc((size_t)n_tensors, sizeof *l->tensor);
    if (l->tensor == NULL)
        return rc_raise(RC_NOMEM, "no memory for the %d tensors of a layer", n_tensors);
    l->n_tensors = n_tensors;
    return RC_OK;
}

static enum rc fill_layer(struct profile_layer *l, const struct network *n, int node, int batch)
{
    const struct node *from = &n->node[node];
    const double gemm_flops = 2.0 * node_multiply_adds(from) * batch;
    enum rc rc = RC_OK;

    snprintf(l->name, sizeof l->name, "%s", from->name);
    l->flops_forward = gemm_flops;
    l->flops_backward = from->from == NODE_IMAGE ? gemm_flops : 2.0 * gemm_flops;
    TRY(profile_layer_tensors(l, from->n_segments));
    for (int i = 0; i < from->n_segments; i++) {
        snprintf(l->tensor[i].name, sizeof l->tensor[i].name, "%s", n->segment_name[from->first_segment + i]);
        l->tensor[i].n_elems = n->segment[from->first_segment + i].n_elems;
    }
out:
    return rc;
}

enum rc profile_of_network(struct profile **out, const struct network *n, int batch)
{
    struct profile *p = NULL;
    enum rc rc;

    TRY(profile_open(&p, n->n_nodes));
    snprintf(p->model, sizeof p->model, "%s", n->name);
    snprintf(p->precision, sizeof p->precision, "fp32");
    p->batch = batch;
    p->image_size = n->opts.image_size;
    p->n_classes = n->opts.n_classes;
    p->aux_head = n->opts.aux_head;
    p->width_divisor = n->opts.width_divisor > 1 ? n->opts.width_divisor : 1;
    for (int i = 0; i < n->n_nodes; i++)
        TRY(fill_layer(&p->layer[i], n, i, batch));
    *out = p;
    p = NULL;
out:
    profile_close(&p);
    return rc;
}

/* A share is the difference of two rounded running sums, so that roundings do not add up (models.J3). */
static uint64_t share_ns(uint64_t step_ns, double *flops_so_far, double flops, double all_flops)
{
    const uint64_t before_ns = (uint64_t)llround((double)step_ns * (*flops_so_far / all_flops));

    *flops_so_far += flops;
    return (uint64_t)llround((double)step_ns * (*flops_so_far / all_flops)) - before_ns;
}

enum rc profile_spread(struct profile *p, uint64_t step_ns)
{
    const double all_flops = profile_flops(p);
    double so_far = 0.0;

    if (!(all_flops > 0.0))
        return rc_raise(RC_INVAL, "profile of %s: no layer has flops to spread a time over", p->model);
    for (int i = 0; i < p->n_layers; i++) {
        struct profile_layer *l = &p->layer[i];
        l->forward_ns = share_ns(step_ns, &so_far, l->flops_forward, all_flops);
        l->backward_ns = share_ns(step_ns, &so_far, l->flops_backward, all_flops);
    }
    return RC_OK;
}

void profile_scale(struct profile *p, double images_per_s)
{
    const double factor = 1e9 * p->batch / images_per_s / (double)profile_step_ns(p);

    for (int i = 0; i < p->n_layers; i++) {
        struct profile_layer *l = &p->layer[i];
        l->forward_ns = (uint64_t)llround(factor * (double)l->forward_ns);
        l->backward_ns = (uint64_t)llround(factor * (double)l->backward_ns);
        l->gemm_forward_ns = (uint64_t)llround(factor * (double)l->gemm_forward_ns);
        l->gemm_backward_ns = (uint64_t)llround(factor * (double)l->gemm_backward_ns);
    }
    p->images_per_s = images_per_s;
}

size_t profile_n_params(const struct profile *p)
{
    size_t n = 0;

    for (int i = 0; i < p->n_layers; i++)
        for (int j = 0; j < p->layer[i].n_tensors; j++)
            n += p->layer[i].tensor[j].n_elems;
    return n;
}

int profile_n_tensors(const struct profile *p)
{
    int n = 0;

    for (int i = 0; i < p->n_layers; i++)
        n += p->layer[i].n_tensors;
    return n;
}

uint64_t profile_step_ns(const struct profile *p)
{
    uint64_t sum_ns = 0;

    for (int i = 0; i < p->n_layers; i++)
        sum_ns += p->layer[i].forward_ns + p->layer[i].backward_ns;
    return sum_ns;
}

double profile_flops(const struct profile *p)
{
    double sum = 0.0;

    /* The order of profile_spread(): its last running sum is this one. */
    for (int i = 0; i < p->n_layers; i++) {
        sum += p->layer[i].flops_forward;
        sum += p->layer[i].flops_backward;
    }
    return sum;
}

static json_t *layer_json(const struct profile_layer *l)
{
    json_t *tensors = json_array();

    for (int i = 0; tensors != NULL && i < l->n_tensors; i++) {
        json_t *t = json_pack("{s:s, s:I}", "name", l->tensor[i].name, "n_elems", (json_int_t)l->tensor[i].n_elems);
        if (t == NULL || json_array_append_new(tensors, t) != 0) {
            json_decref(tensors);
            return NULL;
        }
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "name", l->name, "forward_ns",
                     (json_int_t)l->forward_ns, "backward_ns", (json_int_t)l->backward_ns, "gemm_forward_ns",
                     (json_int_t)l->gemm_forward_ns, "gemm_backward_ns", (json_int_t)l->gemm_backward_ns,
                     "flops_forward", l->flops_forward, "flops_backward", l->flops_backward, "bytes_forward",
                     l->bytes_forward, "bytes_backward", l->bytes_backward, "tensors", tensors);
}

static json_t *head_json(const struct profile *p)
{
    return json_pack("{s:s, s:i, s:s, s:i, s:i, s:i, s:b, s:i, s:s, s:s, s:i, s:s, s:f}", "format", "gradmark-profile",
                     "version", 1, "model", p->model, "batch", p->batch, "image_size", p->image_size, "classes",
                     p->n_classes, "aux_head", p->aux_head, "width_divisor", p->width_divisor, "precision",
                     p->precision, "device", p->device, "threads", p->n_threads, "source", p->source, "images_per_s",
                     p->images_per_s);
}

/* Drops v. */
static enum rc dump(FILE *to, json_t *v, const char *what, const char *path)
{
    if (v == NULL)
        return rc_raise(RC_INVAL, "%s: %s cannot be written as JSON: a text that is not UTF-8, or no memory", path,
                        what);
    const int failed = json_dumpf(v, to, JSON_REAL_PRECISION(17));
    json_decref(v);
    return failed ? rc_raise(RC_IO, "%s: cannot be written", path) : RC_OK;
}

static enum rc write_head(FILE *to, const struct profile *p, const char *end, const char *path)
{
    json_t *head = head_json(p), *value;
    const char *key;
    enum rc rc = RC_OK;

    if (head == NULL)
        FAIL(RC_INVAL, "%s: its head cannot be written as JSON: a text that is not UTF-8, or no memory", path);
    json_object_foreach(head, key, value)
    {
        fprintf(to, " \"%s\": ", key);
        if (json_dumpf(value, to, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) != 0)
            FAIL(RC_IO, "%s: cannot be written", path);
        fprintf(to, ",%s", end);
    }
out:
    json_decref(head);
    return rc;
}

/* end: of each key and each layer. "\n": a file that a reader and a diff can follow; "": one line. path: for messages.
 */
static enum rc write_profile(FILE *to, const struct profile *p, const char *end, const char *path)
{
    enum rc rc;

    fprintf(to, "{%s", end);
    TRY(write_head(to, p, end, path));
    fprintf(to, " \"layers\": [%s", end);
    for (int i = 0; i < p->n_layers; i++) {
        fputs("  ", to);
        TRY(dump(to, layer_json(&p->layer[i]), p->layer[i].name, path));
        fprintf(to, "%s%s", i + 1 < p->n_layers ? "," : "", end);
    }
    fprintf(to, " ]%s}\n", end);
out:
    return rc;
}

enum rc profile_print_json(const struct profile *p)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);
    enum rc rc;

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for a profile");
    rc = write_profile(to, p, "", "standard output");
    if (fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for a profile");
    if (rc == RC_OK)
        rc = output_write(text, n_bytes);
    free(text);
    return rc;
}

enum rc profile_save(const struct profile *p, const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    TRY(write_profile(file.stream, p, "\n", path));
out:
    return atomic_file_finish(&file, rc);
}

/* The network that a profile was recorded of. */

/* models.J2, J4: "vgg16" of "vgg16-8", and 8. NULL: no network of ours is called so. */
static const struct network_def *find_network(const struct profile *p, size_t *divisor)
{
    char name[sizeof p->model];
    char *cut, *end = NULL;

    memcpy(name, p->model, sizeof name);
    *divisor = 1;
    cut = strrchr(name, '-');
    if (cut != NULL && cut[1] >= '1' && cut[1] <= '9') {
        *divisor = strtoul(cut + 1, &end, 10);
        *cut = *end == '\0' ? '\0' : '-';
    }
    for (int i = 0; workload_at(i) != NULL; i++)
        if (strcmp(workload_at(i)->module.name, name) == 0)
            return workload_at(i)->network;
    return NULL;
}

/* Tensor i of the profile, counted over layers. */
static const struct profile_tensor *tensor_at(const struct profile *p, int i)
{
    int layer = 0;

    while (i >= p->layer[layer].n_tensors)
        i -= p->layer[layer++].n_tensors;
    return &p->layer[layer].tensor[i];
}

static enum rc compare(const struct profile *p, const struct network *n, size_t divisor, const char *path)
{
    if (profile_n_tensors(p) != n->n_segments)
        return rc_raise(RC_INVAL, "%s: has %d tensors, but model %s has %d: it is of another model", path,
                        profile_n_tensors(p), p->model, n->n_segments);
    for (int i = 0; i < n->n_segments; i++) {
        const struct profile_tensor *t = tensor_at(p, i);
        const size_t n_elems = profile_divided(n->segment[i].n_elems, divisor);
        if (strcmp(t->name, n->segment_name[i]) != 0 || t->n_elems != n_elems)
            return rc_raise(
                RC_INVAL,
                "%s: tensor %d is %s of %zu elements, but in model %s it is %s of %zu: it is of another model", path, i,
                t->name, t->n_elems, p->model, n->segment_name[i], n_elems);
    }
    return RC_OK;
}

static enum rc open_checked(struct network **out, const struct profile *p, const struct network_def *def,
                            size_t divisor, const char *path)
{
    const struct network_opts opts = { .image_size = p->image_size,
                                       .n_classes = p->n_classes,
                                       .aux_head = p->aux_head,
                                       .width_divisor = p->width_divisor };
    struct network *n = NULL;
    enum rc rc = RC_OK;

    if (network_open(&n, def, &opts) != RC_OK) {
        char why[RC_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%.300s", rc_message());
        FAIL(RC_INVAL, "%s: model %s cannot be so: %s", path, p->model, why);
    }
    TRY(compare(p, n, divisor, path));
    *out = n;
    n = NULL;
out:
    network_close(&n);
    return rc;
}

enum rc profile_check_model(const struct profile *p, const char *path)
{
    struct network *n = NULL;
    size_t divisor;
    const struct network_def *def = find_network(p, &divisor);
    enum rc rc = RC_OK;

    if (def == NULL || divisor > 1)
        return RC_OK;
    TRY(open_checked(&n, p, def, divisor, path));
out:
    network_close(&n);
    return rc;
}

enum rc profile_open_network(struct network **out, size_t *divisor, const struct profile *p, const char *path)
{
    const struct network_def *def = find_network(p, divisor);
    struct network *n = NULL;
    enum rc rc = RC_OK;

    if (def == NULL)
        FAIL(RC_INVAL,
             "%s: model %s is not one of gradmark's networks, and only their layers tell what passes between stages; "
             "use one of "
             "those, "
             "or one at 1/N of its bytes, called as that and -N",
             path, p->model);
    TRY(open_checked(&n, p, def, *divisor, path));
    for (int i = 0; p->n_layers == n->n_nodes && i < n->n_nodes; i++)
        if (p->layer[i].n_tensors != n->node[i].n_segments)
            FAIL(RC_INVAL, "%s: layer %d (%s) has %d tensors, but node %s of model %s has %d", path, i,
                 p->layer[i].name, p->layer[i].n_tensors, n->node[i].name, n->name, n->node[i].n_segments);
    if (p->n_layers != n->n_nodes)
        FAIL(RC_INVAL, "%s: has %d layers, but model %s has %d nodes; use a layer for each node", path, p->n_layers,
             n->name, n->n_nodes);
    *out = n;
    n = NULL;
out:
    network_close(&n);
    return rc;
}
