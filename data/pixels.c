/* SPDX-License-Identifier: Apache-2.0 */
/* pixels.c - files of images as one data set. */
#include "data/pixels.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/gmimg.h"

enum { PART_BYTES = 16384 }; /* on the stack of the thread that reads an image */

static bool has_compressed(const char *path)
{
    char name[PATH_MAX];
    const int n_bytes = snprintf(name, sizeof name, "%s.gz", path);
    const bool has = n_bytes > 0 && (size_t)n_bytes < sizeof name && access(name, F_OK) == 0;

    errno = ENOENT;
    return has;
}

/* Shards stay open, and may be more than the 1024 files that a shell often allows. */
static bool lift_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int open_lifted(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = errno;

    if (fd < 0 && error == EMFILE && lift_file_limit())
        return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    errno = error;
    return fd;
}

enum rc pixels_read(const struct pixels_file *f, size_t offset_bytes, size_t n_bytes, uint8_t *out)
{
    for (size_t n = 0; n < n_bytes;) {
        const ssize_t n_got = pread(f->fd, out + n, n_bytes - n, (off_t)(offset_bytes + n));
        if (n_got == 0)
            return rc_raise(RC_INVAL, "%s: offset %zu: the file ends; it had %zu bytes when it was opened", f->path,
                            offset_bytes + n, f->n_bytes);
        if (n_got < 0 && errno != EINTR)
            return rc_raise(RC_INVAL, "%s: offset %zu: cannot be read: %s", f->path, offset_bytes + n, strerror(errno));
        n += n_got > 0 ? (size_t)n_got : 0;
    }
    return RC_OK;
}

enum rc pixels_file_open(struct pixels_file *out, const char *path)
{
    const int fd = open_lifted(path), error = errno;
    struct pixels_file f = { .path = strdup(path), .fd = fd };
    struct stat info;
    enum rc rc = RC_OK;

    if (f.path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    if (fd < 0 && error == ENOENT && has_compressed(path))
        FAIL(RC_INVAL, "%s: is not there, but %s.gz is: gunzip it first", path, path);
    if (fd < 0)
        FAIL(RC_INVAL, "%s: %s", path, strerror(error));
    if (fstat(fd, &info) != 0)
        FAIL(RC_INVAL, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        FAIL(RC_INVAL, "%s: is not a regular file", path);
    f.n_bytes = (size_t)info.st_size;
    f.n_begin = f.n_bytes < sizeof f.begin ? f.n_bytes : sizeof f.begin;
    if (f.n_bytes == 0)
        FAIL(RC_INVAL, "%s: is empty", path);
    TRY(pixels_read(&f, 0, f.n_begin, f.begin));
    if (f.begin[0] == 0x1f && f.begin[1] == 0x8b)
        FAIL(RC_INVAL, "%s: offset 0: is compressed (gzip); gunzip it first", path);
    *out = f;
out:
    if (rc != RC_OK) {
        if (fd >= 0)
            (void)close(fd);
        free(f.path);
    }
    return rc;
}

void pixels_file_close(struct pixels_file *f)
{
    if (f->path != NULL)
        (void)close(f->fd); /* can't fail: nothing was written */
    free(f->path);
    *f = (struct pixels_file){ .path = NULL };
}

void pixels_close_shards(struct pixels_shard *shard, size_t n_shards)
{
    for (size_t i = 0; shard != NULL && i < n_shards; i++) {
        gmimg_close_checks(&shard[i].checks);
        pixels_file_close(&shard[i].file);
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

/* Bytes [from, from + n_bytes) of image i (C, H, W), after its block was checked. */
static enum rc read_part(const struct dataset *d, size_t i, size_t from, size_t n_bytes, uint8_t *out)
{
    const struct pixels_shard *s = shard_of((const struct pixels *)d, i);
    enum rc rc = RC_OK;

    if (s->checks != NULL)
        TRY(gmimg_check(s, i - s->first));
    TRY(pixels_read(&s->file, s->offset_bytes + (i - s->first) * s->record_bytes + from, n_bytes, out));
out:
    return rc;
}

/* Image i, uint8 (C, H, W) -> x: channel c is float[H W] at x + c channel_stride. */
static enum rc pixels_image(const struct dataset *d, size_t i, float *x, size_t channel_stride)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;
    uint8_t byte[PART_BYTES];
    enum rc rc = RC_OK;

    for (size_t c = 0; c < (size_t)d->C; c++)
        for (size_t from = 0; from < plane; from += sizeof byte) {
            const size_t n = plane - from < sizeof byte ? plane - from : sizeof byte;
            TRY(read_part(d, i, c * plane + from, n, byte));
            for (size_t k = 0; k < n; k++)
                x[c * channel_stride + from + k] = pixels_scaled(byte[k]);
        }
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
    return read_part(d, i, 0, d->n_features, out);
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
