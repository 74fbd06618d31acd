/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels.h - data sets of images in files, read in place: one byte per pixel, labels checked when opened.
 *
 * A file is a range of records of equal size, each with the C H W bytes of an image at the same offset. Networks get
 * (byte - 127.5) / 63.75, from -2 to 2. That is the same for every channel and format, and does not depend on the mean
 * and variance of the images (photographs: about 0 and 1; MNIST, mostly black: about -1.5 and 1.5).
 *
 * Invariants
 *   P3  For any bytes of a file, opening it gives a data set or a one-line error that names file, offset, the value
 *       found and valid ones. Memory is bounded by the size of the file, not by counts in it.
 *   P4  No read goes beyond the file. If a file became shorter since it was opened, or a disk fails, that is an error
 *       with file and offset. Files are read, never mapped: with a mapping it would be a signal that ends all ranks.
 */
#ifndef DATA_PIXELS_H
#define DATA_PIXELS_H

#include <stdbool.h>

#include "data/dataset.h"

/* A byte of a pixel as networks get it. */
static inline float pixels_scaled(uint8_t byte)
{
    return ((float)byte - 127.5f) * (1.0f / 63.75f);
}

struct pixels_shard;

struct pixels { /* a data set over shards; training shards come first */
    struct dataset base;
    struct pixels_shard *shard;
    size_t n_shards;
};

enum { PIXELS_BEGIN_BYTES = 80 }; /* room for the longest header */

struct pixels_file { /* open for reading */
    char *path;
    int fd; /* valid while path is not NULL */
    size_t n_bytes;
    size_t n_begin;                    /* min(n_bytes, PIXELS_BEGIN_BYTES) */
    uint8_t begin[PIXELS_BEGIN_BYTES]; /* the first n_begin bytes, then zeros */
};
/* RC_INVAL: names path and reason. A compressed file (gzip) is detected by its first bytes, or by PATH.gz beside it.
 * Never waits for a pipe. Raises the process's soft limit of open files to the hard one if it is too low. */
enum rc pixels_file_open(struct pixels_file *out, const char *path) MUST_CHECK;
/* Read bytes [offset_bytes, offset_bytes + n_bytes). RC_INVAL: names path and offset of the first byte that does not
 * exist or cannot be read; out is undefined then. Any thread. */
enum rc pixels_read(const struct pixels_file *f, size_t offset_bytes, size_t n_bytes, uint8_t *out) MUST_CHECK;
void pixels_file_close(struct pixels_file *f); /* accepts a zeroed one */

struct pixels_checks; /* checksums of blocks of records, verified when a block is first read */

struct pixels_shard {
    struct pixels_file file; /* owned */
    size_t n_images;
    size_t first;                      /* number of its first image in the data set */
    size_t offset_bytes, record_bytes; /* pixels of image i: at offset_bytes + i record_bytes */
    bool test;
    struct pixels_checks *checks; /* NULL: the format has none */
};

/* name: of the format. Owns the shards from now on, also after an error. label[i] of image i in the order of the
 * shards: owned too. RC_NOMEM, and RC_INVAL: no training image. */
enum rc pixels_open(struct dataset **out, const char *name, struct pixels_shard *shard, size_t n_shards,
                    uint32_t *label, const struct dataset *shape) MUST_CHECK;
void pixels_close_shards(struct pixels_shard *shard, size_t n_shards); /* frees the array too; accepts NULL */

/* The formats. */
enum rc pixels_open_idx(struct dataset **out, const char *folder) MUST_CHECK;
enum rc pixels_open_cifar10(struct dataset **out, const char *folder) MUST_CHECK;
/* One file, or a folder of train-*.gmimg and test-*.gmimg in the order of their names. */
enum rc pixels_open_gmimg(struct dataset **out, const char *path) MUST_CHECK;
/* A file of a folder: "FOLDER/NAME", malloc'ed; NULL: no memory. */
char *pixels_path(const char *folder, const char *name);
bool pixels_exists(const char *folder, const char *name);

#endif
