/* SPDX-License-Identifier: Apache-2.0 */
/* profile_kit.h - a folder, small profiles and their text, for tests of profiles. Tests only. */
#ifndef MODELS_SUITE_PROFILE_KIT_H
#define MODELS_SUITE_PROFILE_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/replay/profile.h"

enum { KIT_DIR_BYTES = 200, KIT_PATH_BYTES = 256 };

struct profile_kit {
    char dir[KIT_DIR_BYTES], path[KIT_PATH_BYTES];
};

static inline int profile_kit_open(struct profile_kit *k)
{
    const char *base = getenv("TMPDIR");

    snprintf(k->dir, sizeof k->dir, "%.150s/gradmark-profile-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(k->dir) == NULL)
        return -1;
    snprintf(k->path, sizeof k->path, "%s/profile.json", k->dir);
    return 0;
}

static inline void profile_kit_close(struct profile_kit *k)
{
    unlink(k->path);
    rmdir(k->dir);
}

/* False: could not be written. */
static inline int profile_kit_write(const struct profile_kit *k, const char *text, size_t n_bytes)
{
    FILE *to = fopen(k->path, "w");

    if (to == NULL)
        return 0;
    const size_t n_written = fwrite(text, 1, n_bytes, to);
    return fclose(to) == 0 && n_written == n_bytes;
}

/* Five layers, two of them without tensors, one of them first; times with no common factor. NULL: no memory. */
static inline struct profile *profile_kit_small(void)
{
    static const struct {
        const char *name;
        uint64_t forward_ns, backward_ns;
        size_t n_elems[2];
    } layer[] = { { "pad", 1009, 503, { 0, 0 } },
                  { "c1", 20011, 30011, { 45, 5 } },
                  { "pool", 7001, 9001, { 0, 0 } },
                  { "c2", 40009, 80021, { 3000, 12 } },
                  { "fc", 10007, 21001, { 130, 0 } } };
    struct profile *p = NULL;

    if (profile_open(&p, 5) != RC_OK)
        return NULL;
    snprintf(p->model, sizeof p->model, "handmade");
    snprintf(p->precision, sizeof p->precision, "fp32");
    snprintf(p->device, sizeof p->device, "a device");
    snprintf(p->source, sizeof p->source, "made \"by\" hand, \xc3\xa9");
    p->batch = 8;
    p->image_size = 32;
    p->n_classes = 10;
    p->width_divisor = 1;
    p->n_threads = 2;
    p->images_per_s = 8e9 / 218574.0;
    for (int i = 0; i < p->n_layers; i++) {
        struct profile_layer *l = &p->layer[i];
        const int n_tensors = (layer[i].n_elems[0] > 0) + (layer[i].n_elems[1] > 0);
        snprintf(l->name, sizeof l->name, "%s", layer[i].name);
        l->forward_ns = layer[i].forward_ns;
        l->backward_ns = layer[i].backward_ns;
        l->gemm_forward_ns = layer[i].forward_ns / 2;
        l->gemm_backward_ns = layer[i].backward_ns / 2;
        l->flops_forward = 1e5 * i;
        l->flops_backward = 2e5 * i;
        l->bytes_forward = 1024.5;
        l->bytes_backward = 0.1;
        if (profile_layer_tensors(l, n_tensors) != RC_OK) {
            profile_close(&p);
            return NULL;
        }
        for (int k = 0; k < n_tensors; k++) {
            snprintf(l->tensor[k].name, sizeof l->tensor[k].name, "%s/%s", layer[i].name, k == 0 ? "w" : "b");
            l->tensor[k].n_elems = layer[i].n_elems[k];
        }
    }
    return p;
}

#endif
