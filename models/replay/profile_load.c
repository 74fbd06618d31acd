/* SPDX-License-Identifier: Apache-2.0 */
/* profile_load.c - profiles read from JSON: a file with an unknown key, a value out of range or a missing key is
 * refused. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "models/replay/profile.h"
#include "models/workload.h"

enum { KEY_BYTES = 64, VALUE_BYTES = 48, ERROR_BYTES = 200 };

struct json_place { /* where in the file: "FILE: layers[3].tensors[0]" */
    const char *path;
    char key[KEY_BYTES]; /* "" at the top, else ends in "." */
};

static const char *const head_keys[] = { "format",  "version",  "model",         "batch",     "image_size",
                                         "classes", "aux_head", "width_divisor", "precision", "device",
                                         "threads", "source",   "images_per_s",  "layers",    NULL };
static const char *const layer_keys[] = { "name",
                                          "forward_ns",
                                          "backward_ns",
                                          "gemm_forward_ns",
                                          "gemm_backward_ns",
                                          "flops_forward",
                                          "flops_backward",
                                          "bytes_forward",
                                          "bytes_backward",
                                          "tensors",
                                          NULL };
static const char *const tensor_keys[] = { "name", "n_elems", NULL };
static const char *const precisions[] = { "fp32", "tf32", "bf16", "amp", NULL };

static struct json_place inside(const struct json_place *at, const char *array, size_t i)
{
    struct json_place p = { .path = at->path };

    snprintf(p.key, sizeof p.key, "%.30s%s[%zu].", at->key, array, i);
    return p;
}

/* Text of the file for a message: cut, and unprintable bytes replaced. */
static const char *quote(char *out, size_t n_bytes, const char *text)
{
    size_t n = 0;

    for (; n + 1 < n_bytes && text[n] != '\0'; n++)
        out[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
    out[n] = '\0';
    return out;
}

/* The value as written in the file, cut. */
static void show(char out[VALUE_BYTES], const json_t *v)
{
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));

    if (text == NULL)
        snprintf(out, VALUE_BYTES, "something else");
    else if (strlen(text) < VALUE_BYTES)
        quote(out, VALUE_BYTES, text);
    else {
        char start[41];
        snprintf(out, VALUE_BYTES, "%s...", quote(start, sizeof start, text));
    }
    free(text);
}

static enum rc refuse(const struct json_place *at, const char *key, const json_t *v, const char *right)
{
    char value[VALUE_BYTES];

    show(value, v);
    return rc_raise(RC_INVAL, "%s: %s%s: is %s; use %s", at->path, at->key, key, value, right);
}

/* at->key without its last dot: the object itself. */
static const char *object_name(const struct json_place *at, char out[KEY_BYTES])
{
    const size_t n = strlen(at->key);

    snprintf(out, KEY_BYTES, "%.*s", n > 0 ? (int)n - 1 : 0, at->key);
    return n > 0 ? out : "the file";
}

static bool is_known(const char *const *known, const char *key)
{
    for (; *known != NULL; known++)
        if (strcmp(*known, key) == 0)
            return true;
    return false;
}

/* v is an object with all of these keys and no other. */
static enum rc check_keys(const struct json_place *at, json_t *v, const char *const *known)
{
    char name[KEY_BYTES], quoted[41];
    const char *key;
    json_t *unused;

    if (!json_is_object(v))
        return rc_raise(RC_INVAL, "%s: %s is no object; use {\"%s\": ...}", at->path, object_name(at, name), known[0]);
    json_object_foreach(v, key, unused)
    {
        if (is_known(known, key))
            continue;
        const char *nearest = text_nearest(key, known);
        return rc_raise(RC_INVAL, "%s: %s has a key \"%s\" that is not known%s%s", at->path, object_name(at, name),
                        quote(quoted, sizeof quoted, key), nearest != NULL ? "; the nearest is " : "",
                        nearest != NULL ? nearest : "");
    }
    for (; *known != NULL; known++)
        if (json_object_get(v, *known) == NULL)
            return rc_raise(RC_INVAL, "%s: %s has no \"%s\"; every key is needed", at->path, object_name(at, name),
                            *known);
    return RC_OK;
}

static enum rc read_number(double *out, const struct json_place *at, const json_t *object, const char *key, double min,
                           double max, bool whole)
{
    const json_t *v = json_object_get(object, key);
    const double x = json_number_value(v);
    char right[96];

    if (json_is_number(v) && x >= min && x <= max && (!whole || floor(x) == x)) {
        *out = x;
        return RC_OK;
    }
    snprintf(right, sizeof right, "a %snumber from %.15g to %.15g", whole ? "whole " : "", min, max);
    return refuse(at, key, v, right);
}

static enum rc read_int(int *out, const struct json_place *at, const json_t *object, const char *key, int min, int max)
{
    double x = 0.0;
    enum rc rc;

    TRY(read_number(&x, at, object, key, min, max, true));
    *out = (int)x;
out:
    return rc;
}

static enum rc read_ns(uint64_t *out, const struct json_place *at, const json_t *object, const char *key)
{
    double x = 0.0;
    enum rc rc;

    TRY(read_number(&x, at, object, key, 0, PROFILE_MAX_LAYER_NS, true));
    *out = (uint64_t)x;
out:
    return rc;
}

static enum rc read_work(double *out, const struct json_place *at, const json_t *object, const char *key)
{
    return read_number(out, at, object, key, 0, PROFILE_MAX_WORK, false);
}

static bool is_printable(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return true;
}

/* out[n_bytes]; least_letters 0: may be empty. */
static enum rc read_text(char *out, size_t n_bytes, const struct json_place *at, const json_t *object, const char *key,
                         size_t least_letters)
{
    const json_t *v = json_object_get(object, key);
    const char *text = json_string_value(v);
    char right[96];

    if (text != NULL && strlen(text) >= least_letters && strlen(text) < n_bytes && is_printable(text)) {
        snprintf(out, n_bytes, "%s", text);
        return RC_OK;
    }
    snprintf(right, sizeof right, "a printable text of %zu to %zu bytes", least_letters, n_bytes - 1);
    return refuse(at, key, v, right);
}

static enum rc read_array(json_t **out, const struct json_place *at, const json_t *object, const char *key, size_t min,
                          size_t max)
{
    json_t *v = json_object_get(object, key);

    if (!json_is_array(v))
        return refuse(at, key, v, "an array");
    if (json_array_size(v) < min || json_array_size(v) > max)
        return rc_raise(RC_INVAL, "%s: %s%s: has %zu elements; use %zu to %zu", at->path, at->key, key,
                        json_array_size(v), min, max);
    *out = v;
    return RC_OK;
}

/* Names are unique among layers and among tensors; seen: those so far. */
static enum rc check_unique(json_t *seen, const struct json_place *at, const char *name)
{
    if (json_object_get(seen, name) != NULL)
        return rc_raise(RC_INVAL, "%s: %sname: is \"%s\", as one before it; use another", at->path, at->key, name);
    return json_object_set_new(seen, name, json_null()) == 0 ? RC_OK : rc_raise(RC_NOMEM, "%s: no memory", at->path);
}

static enum rc read_tensor(struct profile_tensor *t, const struct json_place *at, json_t *v, json_t *seen)
{
    double n_elems = 0.0;
    enum rc rc;

    TRY(check_keys(at, v, tensor_keys));
    TRY(read_text(t->name, sizeof t->name, at, v, "name", 1));
    TRY(check_unique(seen, at, t->name));
    TRY(read_number(&n_elems, at, v, "n_elems", 1, PROFILE_MAX_ELEMS, true));
    t->n_elems = (size_t)n_elems;
out:
    return rc;
}

static enum rc read_layer(struct profile_layer *l, const struct json_place *at, json_t *v, json_t *seen_tensors)
{
    json_t *tensors;
    enum rc rc;

    TRY(check_keys(at, v, layer_keys));
    TRY(read_text(l->name, sizeof l->name, at, v, "name", 1));
    TRY(read_ns(&l->forward_ns, at, v, "forward_ns"));
    TRY(read_ns(&l->backward_ns, at, v, "backward_ns"));
    TRY(read_ns(&l->gemm_forward_ns, at, v, "gemm_forward_ns"));
    TRY(read_ns(&l->gemm_backward_ns, at, v, "gemm_backward_ns"));
    TRY(read_work(&l->flops_forward, at, v, "flops_forward"));
    TRY(read_work(&l->flops_backward, at, v, "flops_backward"));
    TRY(read_work(&l->bytes_forward, at, v, "bytes_forward"));
    TRY(read_work(&l->bytes_backward, at, v, "bytes_backward"));
    TRY(read_array(&tensors, at, v, "tensors", 0, PROFILE_MAX_TENSORS));
    TRY(profile_layer_tensors(l, (int)json_array_size(tensors)));
    for (int i = 0; i < l->n_tensors; i++) {
        const struct json_place here = inside(at, "tensors", (size_t)i);
        TRY(read_tensor(&l->tensor[i], &here, json_array_get(tensors, (size_t)i), seen_tensors));
    }
out:
    return rc;
}

static enum rc read_layers(struct profile *p, const struct json_place *at, json_t *layers)
{
    json_t *seen_layers = json_object(), *seen_tensors = json_object();
    double n_params = 0.0;
    enum rc rc = RC_OK;

    if (seen_layers == NULL || seen_tensors == NULL)
        FAIL(RC_NOMEM, "%s: no memory", at->path);
    for (int i = 0; i < p->n_layers; i++) {
        const struct json_place here = inside(at, "layers", (size_t)i);
        struct profile_layer *l = &p->layer[i];
        TRY(read_layer(l, &here, json_array_get(layers, (size_t)i), seen_tensors));
        TRY(check_unique(seen_layers, &here, l->name));
        for (int k = 0; k < l->n_tensors; k++)
            n_params += (double)l->tensor[k].n_elems;
    }
    if (n_params < 1 || n_params > PROFILE_MAX_ELEMS)
        FAIL(RC_INVAL, "%s: layers: their tensors have %.15g elements; use 1 to %.15g", at->path, n_params,
             PROFILE_MAX_ELEMS);
out:
    json_decref(seen_layers);
    json_decref(seen_tensors);
    return rc;
}

static enum rc read_head(struct profile *p, const struct json_place *at, const json_t *v)
{
    const json_t *aux_head = json_object_get(v, "aux_head");
    enum rc rc;

    TRY(read_text(p->model, sizeof p->model, at, v, "model", 1));
    TRY(read_int(&p->batch, at, v, "batch", 1, PROFILE_MAX_BATCH));
    TRY(read_int(&p->image_size, at, v, "image_size", 1, 65536));
    TRY(read_int(&p->n_classes, at, v, "classes", 1, 1 << 24));
    TRY(read_int(&p->width_divisor, at, v, "width_divisor", 1, 65536));
    TRY(read_int(&p->n_threads, at, v, "threads", 0, 65536));
    TRY(read_text(p->device, sizeof p->device, at, v, "device", 0));
    TRY(read_text(p->source, sizeof p->source, at, v, "source", 0));
    TRY(read_number(&p->images_per_s, at, v, "images_per_s", 0, 1e12, false));
    if (!json_is_boolean(aux_head))
        TRY(refuse(at, "aux_head", aux_head, "true or false"));
    p->aux_head = json_is_true(aux_head);
    TRY(read_text(p->precision, sizeof p->precision, at, v, "precision", 0));
    if (!is_known(precisions, p->precision))
        TRY(refuse(at, "precision", json_object_get(v, "precision"), "fp32, tf32, bf16 or amp"));
out:
    return rc;
}

static enum rc read_profile(struct profile **out, const struct json_place *at, json_t *v)
{
    const json_t *format = json_is_object(v) ? json_object_get(v, "format") : NULL;
    struct profile *p = NULL;
    json_t *layers;
    int version;
    enum rc rc;

    if (format == NULL || !json_is_string(format) || strcmp(json_string_value(format), "gradmark-profile") != 0)
        FAIL(RC_INVAL, "%s: is no profile: it has no \"format\": \"gradmark-profile\"", at->path);
    TRY(read_int(&version, at, v, "version", 1, 1));
    TRY(check_keys(at, v, head_keys));
    TRY(read_array(&layers, at, v, "layers", 1, PROFILE_MAX_LAYERS));
    TRY(profile_open(&p, (int)json_array_size(layers)));
    TRY(read_head(p, at, v));
    TRY(read_layers(p, at, layers));
    *out = p;
    p = NULL;
out:
    profile_close(&p);
    return rc;
}

static enum rc parse(json_t **out, const char *path)
{
    char why[ERROR_BYTES];
    json_error_t error;
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_text(&from, path, "a file that gradmark profile wrote"));
    *out = json_loadf(from, JSON_REJECT_DUPLICATES, &error);
    if (ferror(from))
        FAIL(RC_INVAL, "%s: cannot be read to its end", path);
    if (*out == NULL)
        FAIL(RC_INVAL, "%s:%d: %s; use a profile in JSON", path, error.line > 0 ? error.line : 1,
             quote(why, sizeof why, error.text));
out:
    if (from != NULL)
        fclose(from);
    return rc;
}

enum rc profile_load(struct profile **out, const char *path)
{
    const struct json_place top = { .path = path };
    struct profile *p = NULL;
    json_t *root = NULL;
    enum rc rc;

    TRY(parse(&root, path));
    TRY(read_profile(&p, &top, root));
    TRY(profile_check_model(p, path)); /* models.J2 */
    *out = p;
    p = NULL;
out:
    profile_close(&p);
    json_decref(root);
    return rc;
}
