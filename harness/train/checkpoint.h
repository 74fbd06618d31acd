/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the state of a training on disk, complete enough to continue to the same bits.
 *
 * File: a 128-byte little-endian header (magic "GMCKPT03", model name, counts, seed, optimiser). Then, as float32: the
 * parameters, the optimiser's arrays (optimizer.h) one after the other, and the model's state (running means and
 * variances). Last: the SHA-256 of all bytes before it. Versions 01 and 02, with a header of 96 bytes, can still be
 * read. Version 01 had no model state; both had one array, of momentum.
 *
 * Invariants
 *   K1  A file is written whole or not at all (file.h).
 *   K2  load returns RC_OK only for a file whose every byte is as save wrote it.
 */
#ifndef HARNESS_TRAIN_CHECKPOINT_H
#define HARNESS_TRAIN_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/compute/optimizer.h"

enum { SHA256_HEX_BYTES = 65 };

struct checkpoint {
    char model[32];
    uint64_t seed, steps_count, samples_count; /* completed so far, of all workers */
    uint64_t writer_rank;                      /* rank that wrote it: 0, unless all ranks write (omission.h) */
    size_t n_params;
    size_t n_state;                  /* running means and variances of rank 0, which evaluation uses */
    struct optimizer_rule optimizer; /* kind; its numbers are the run's */
    struct optimizer_state kept;     /* optimiser state; moments NULL: none */
    float *param;                    /* float[n_params]; the other arrays are parts of its allocation; owned */
    float *state;                    /* float[n_state]; NULL: none */
};

/* Allocate param, state and the optimiser's arrays for n_params, n_state and optimizer. The arrays are NULL if
 * has_moments is false or the optimiser has none. RC_NOMEM. */
enum rc checkpoint_alloc(struct checkpoint *c, bool has_moments) MUST_CHECK;
struct checkpoint_part { /* the range of all parameters and state that a stage has */
    size_t first_param, n_params, first_state, n_state;
};
/* Reduce *c to a part of itself. RC_NOMEM: *c is unchanged. */
enum rc checkpoint_cut(struct checkpoint *c, const struct checkpoint_part *part) MUST_CHECK;
/* param, the optimiser's arrays and state are read, not kept. With tick it shows signs of life (world.P1): it calls
 * tick(arg) before each chunk of 64 KiB is written, and before each flush of at most 16 MiB to disk. RC_INVAL: path
 * cannot be written; RC_IO. */
enum rc checkpoint_save(const struct checkpoint *c, const char *path, void (*tick)(void *arg), void *arg) MUST_CHECK;
/* RC_INVAL "PATH: ..." names the problem: missing, truncated, corrupt, not a checkpoint, or another version. */
enum rc checkpoint_load(struct checkpoint *out, const char *path) MUST_CHECK;
/* *out: everything except the arrays, which stay NULL and are not checked (train.K2). RC_INVAL, as load. */
enum rc checkpoint_read_header(struct checkpoint *out, const char *path) MUST_CHECK;
void checkpoint_free(struct checkpoint *c); /* accepts a zeroed one; leaves it zeroed */

/* SHA-256 of float[n] as bytes, in hex, terminated. Cannot fail. */
void params_sha256(char out[SHA256_HEX_BYTES], const float *param, size_t n);

#endif
