/* SPDX-License-Identifier: Apache-2.0 */
/* pixels.c - mapped files of images as one data set. */
#include "data/pixels.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/gmimg.h"

static bool has_compressed(const char *path)
{
    char name[PATH_MAX];
    const int n_bytes = snprintf(name, sizeof name, "%s.gz", path);
    const bool has = n_bytes > 0 && (size_t)n_bytes < sizeof name && access(name, F_OK) == 0;

    errno = ENOENT;
    return has;
}

enum rc pixels_map(struct pixels_file *out, const char *path)
{
    struct pixels_file f = { .path = strdup(path) };
    struct stat info;
    void *map = MAP_FAILED;
    enum rc rc = RC_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (f.path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    if (fd < 0 && errno == ENOENT && has_compressed(path))
        FAIL(RC_INVAL, "%s: is not there, but %s.gz is: gunzip it first", path, path);
    if (fd < 0 || fstat(fd, &info) != 0)
        FAIL(RC_INVAL, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        FAIL(RC_INVAL, "%s: is not a regular file", path);
    f.n_bytes = (size_t)info.st_size;
    if (f.n_bytes == 0)
        FAIL(RC_INVAL, "%s: is empty", path);
    map = mmap(NULL, f.n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        FAIL(RC_INVAL, "%s: cannot be mapped: %s", path, strerror(errno));
    f.byte = map;
    if (f.n_bytes >= 2 && f.byte[0] == 0x1f && f.byte[1] == 0x8b)
        FAIL(RC_INVAL, "%s: offset 0: is compressed (gzip); gunzip it first", path);
    *out = f;
    f = (struct pixels_file){ .path = NULL };
out:
    pixels_unmap(&f);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

void pixels_unmap(struct pixels_file *f)
{
    if (f->byte != NULL)
        (void)munmap((void *)(uintptr_t)f->byte, f->n_bytes); /* can't fail: the arguments are mmap's own */
    free(f->path);
    *f = (struct pixels_file){ .path = NULL };
}

void pixels_close_shards(struct pixels_shard *shard, size_t n_shards)
{
    for (size_t i = 0; shard != NULL && i < n_shards; i++) {
        gmimg_close_checks(&shard[i].checks);
        pixels_unmap(&shard[i].file);
    }
    free(shard);
}

static const struct pixels_shard *shard_of(const struct pixels *p, size_t i)
{
    size_t from = 0, end = p->n_shards;

    while (end - from > 1) {
        const size_t middle = (from + end) / 2;
        if (p->shard[middle].first <= i)
            from = middle;
        else
            end = middle;
    }
    return &p->shard[from];
}

enum rc pixels_of(const struct dataset *d, size_t i, const uint8_t **out)
{
    const struct pixels_shard *s = shard_of((const struct pixels *)d, i);
    enum rc rc = RC_OK;

    if (s->checks != NULL)
        TRY(gmimg_check(s, i - s->first));
    *out = s->file.byte + s->at + (i - s->first) * s->record_bytes;
out:
    return rc;
}

static enum rc pixels_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;
    const uint8_t *byte = NULL;
    enum rc rc;

    TRY(pixels_of(d, i, &byte));
    for (size_t c = 0; c < (size_t)d->C; c++)
        for (size_t k = 0; k < plane; k++)
            x[c * channel_stride + k] = ((float)byte[c * plane + k] - 127.5f) * (1.0f / 63.75f);
out:
    return rc;
}

static void pixels_close(struct dataset *d)
{
    struct pixels *p = (struct pixels *)d;

    pixels_close_shards(p->shard, p->n_shards);
}

static enum rc pixels_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    const uint8_t *byte = NULL;
    enum rc rc;

    TRY(pixels_of(d, i, &byte));
    memcpy(out, byte, d->n_features);
out:
    return rc;
}

static const struct dataset_ops pixels_ops = {
    .image = pixels_image,
    .label = dataset_array_label,
    .bytes = pixels_bytes,
    .close = pixels_close,
};

enum rc pixels_open(struct dataset **out, const char *name, struct pixels_shard *shard, size_t n_shards,
                    uint32_t *label, const struct dataset *shape)
{
    struct pixels *p = calloc(1, sizeof *p);
    enum rc rc = RC_OK;

    if (p == NULL)
        FAIL(RC_NOMEM, "data set %s: %zu bytes", name, sizeof *p);
    p->base = *shape;
    p->base.ops = &pixels_ops;
    p->base.name = name;
    p->base.n_features = (size_t)shape->C * (size_t)shape->H * (size_t)shape->W;
    for (size_t i = 0; i < n_shards; i++) {
        shard[i].first = p->base.n_train + p->base.n_test;
        *(shard[i].test ? &p->base.n_test : &p->base.n_train) += shard[i].n_images;
    }
    if (p->base.n_train == 0)
        FAIL(RC_INVAL, "%s: no training image", shard[0].file.path);
    p->base.label = label;
    p->shard = shard;
    p->n_shards = n_shards;
    *out = &p->base;
    p = NULL;
    shard = NULL;
    label = NULL;
out:
    pixels_close_shards(shard, n_shards);
    free(label);
    free(p);
    return rc;
}

char *pixels_path(const char *folder, const char *name)
{
    const size_t n_bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n_bytes);

    if (path != NULL)
        snprintf(path, n_bytes, "%s/%s", folder, name);
    return path;
}

bool pixels_exists(const char *folder, const char *name)
{
    char *path = pixels_path(folder, name);
    const bool exists = path != NULL && access(path, F_OK) == 0;

    free(path);
    return exists;
}
