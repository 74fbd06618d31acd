/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.h - samples, and their order.
 *
 * Invariants
 *   D1  Global sample number i of a run is a pure function of (seed, i): never of the number of
 *       ranks. Epoch i / n_train visits every training sample once, in an order drawn from
 *       (seed, epoch).
 *   D2  A dataset is read only after open: rank threads share it.
 *   D4  Sample number i of a part: epoch i / n_samples visits each sample of it once, in an order drawn from (seed,
 *       part, epoch).
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct dataset;

struct dataset_part { /* training samples of one worker (split.h) */
    const size_t *index;
    size_t n_samples;
    uint64_t number; /* index of the part */
};

struct dataset_ops {
    /* Image i (< n_train + n_test) as the network sees it (centred, scaled): channel c is
     * float[H W] at x + c channel_stride. Any thread. Errors: RC_INVAL "FILE: offset N: ..." */
    enum rc (*image)(const struct dataset *d, size_t i, float *x, size_t channel_stride);
    uint32_t (*label)(const struct dataset *d, size_t i);
    /* Optional (NULL: not stored): the stored pixels of the image, uint8_t (C, H, W). */
    enum rc (*bytes)(const struct dataset *d, size_t i, uint8_t *out);
    /* Optional (may be NULL): frees what dataset_close() does not. */
    void (*close)(struct dataset *d);
};

struct dataset {                   /* first member of each implementation's struct */
    const struct dataset_ops *ops; /* images; NULL: all data are in the arrays below (line) */
    const char *name;              /* "line", "digits", "synthetic", "idx", "cifar10", "gmimg" */
    size_t n_train, n_test;        /* samples; training samples come first in the arrays */
    size_t n_features;             /* floats per sample */
    size_t n_classes;              /* 0: regression */
    int C, H, W;                   /* of an image; 0: no images */
    float *feature;                /* float[(n_train + n_test)][n_features] as in the file; owned; NULL: use ops */
    float *target;                 /* regression: float[n_train + n_test]; owned; else NULL */
    uint32_t *label;               /* classes: uint32_t[n_train + n_test], < n_classes; owned; NULL: use ops */
};

/* A data set that a model names as its default. */
struct dataset_source {
    const char *name;
    const char *shipped_file; /* name of the file shipped with the program; NULL: none */
    bool makes_images;        /* computes images of any shape on request; no file is read */
};
/* Find by name; NULL: no such data set (the name may be a path). */
const struct dataset_source *dataset_source_find(const char *name);
/* The path of the shipped file of a source that has one; truncated to out[n_bytes]. Cannot fail. */
void dataset_source_path(const struct dataset_source *source, char *out, size_t n_bytes);

/* "line": 1000 samples y = 2x + U(-0.5, 0.5), x in U(-0.5, 0.5), drawn from seed. All are training samples and also the
 * test set (n_test = 0 here: models evaluate on the training samples). */
enum rc dataset_open_line(struct dataset **out, uint64_t seed) MUST_CHECK;
/* "digits": 1797 images of 8 x 8 pixels from a CSV of 64 values 0..16 and a label 0..9, scaled to 0..1. Every fifth row
 * (4, 9, 14, ...) is a test sample: a fixed split. Errors: RC_INVAL "FILE: ..." if it cannot be read; "FILE:LINE: ..."
 * with the value and valid ones for a malformed row; "FILE:LINE: ends after N of 1797 rows" if it is short. */
enum rc dataset_open_digits(struct dataset **out, const char *path) MUST_CHECK;
/* "synthetic": images computed on request, pure functions of (seed, i). Each has the pattern of its class, with varying
 * position and contrast, plus noise. A model can learn them. n_test images follow n_train. */
struct synthetic_opts {
    int C, H, W, n_classes;
    size_t n_train, n_test;
};
enum rc dataset_open_synthetic(struct dataset **out, const struct synthetic_opts *opts, uint64_t seed) MUST_CHECK;
/* path: a folder with the four IDX files of MNIST under their published names (train-images-idx3-ubyte, ...; also with
 * '.' for the last '-'), whose labels have no gap; or with the files of CIFAR-10's binary version (data_batch_1.bin ..
 * data_batch_5.bin, test_batch.bin); or with *.gmimg shards (train-*.gmimg, test-*.gmimg); or one digits CSV or .gmimg
 * file. File names and magic numbers identify the format. RC_INVAL: FILE, offset, the value found and valid ones. */
enum rc dataset_open_path(struct dataset **out, const char *path) MUST_CHECK;
/* Is path a folder of folders in none of these formats? Only gradmark pack reads such a folder (image_folders.h). */
bool dataset_path_is_folders(const char *path);
/* Is a file of this name in a folder read as part of a data set? */
bool dataset_path_is_part(const char *name);
void dataset_close(struct dataset **d); /* NULL-safe, nulls */
/* For ops: label[i]. */
uint32_t dataset_array_label(const struct dataset *d, size_t i);

/* Index (< n_train) of global sample i. Pure, O(1), no memory. data.D1 */
size_t dataset_index(const struct dataset *d, uint64_t seed, uint64_t i);
/* The same for sample i of a part; part NULL: of all samples. data.D4 */
size_t dataset_part_index(const struct dataset *d, const struct dataset_part *part, uint64_t seed, uint64_t i);
/* Copy samples first .. first+n_samples-1 of the run, or (part not NULL) of the part: x float[n_samples][n_features];
 * target or label, as the data set has them; the other one is NULL. */
void dataset_batch(const struct dataset *d, const struct dataset_part *part, uint64_t seed, uint64_t first,
                   size_t n_samples, float *x, float *target, uint32_t *label);

/* The order in which a worker takes batches of training samples. */

struct batch_order {
    uint64_t first;         /* first sample of the run's first step; used only with several micro-batches */
    uint64_t stride;        /* distance from the first sample of a step to that of the next; 0: not known */
    size_t n_micro_batches; /* per step, of equal size, adjacent; 0: 1 */
};

/* 1 or more. */
static inline size_t batch_order_n_parts(const struct batch_order *o)
{
    return o->n_micro_batches > 1 ? o->n_micro_batches : 1;
}

/* The first sample of the batch that follows the n_samples from `at` on. Requires a known stride. */
static inline uint64_t batch_order_next(const struct batch_order *o, uint64_t at, size_t n_samples)
{
    const uint64_t n = batch_order_n_parts(o);
    const uint64_t number = n > 1 ? (at - o->first) % o->stride / n_samples : 0;

    return number + 1 < n ? at + n_samples : at + o->stride - (n - 1) * n_samples;
}

#endif
