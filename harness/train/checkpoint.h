/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the state of a training on disk: enough to go on to the same bits.
 *
 * File: a 128-byte little-endian header (magic "GMCKPT03", model name, counts, seed, optimiser), the parameters, the
 * optimiser's arrays (optimizer.h) one behind the other, and the model's state (running means and variances) as
 * float32, and the SHA-256 of all before it. Versions 01 and 02, with a header of 96 bytes, are still read: 01 had no
 * state of the model, and both had one array, of momentum.
 *
 * Invariants
 *   K1  Written whole or not at all (file.h).
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
    uint64_t seed, steps_count, samples_count; /* done so far, of all workers */
    uint64_t writer_rank;                      /* which rank wrote it: 0, but where all do (omission.h) */
    size_t n_params;
    size_t n_state;                  /* running means and variances: of rank 0, as evaluation uses them */
    struct optimizer_rule optimizer; /* its kind and rate_in_velocity; its numbers are the run's */
    struct optimizer_state kept;     /* of the optimiser; moments NULL: none */
    float *param;                    /* float[n_params]; the other arrays are parts of its allocation; owned */
    float *state;                    /* float[n_state]; NULL: none */
};

/* Allocate param, the optimiser's arrays (NULL unless asked for, or it has none) and state for n_params, n_state and
 * optimizer. RC_NOMEM. */
enum rc checkpoint_alloc(struct checkpoint *c, bool has_moments) MUST_CHECK;
struct checkpoint_part { /* of all parameters and all state: what a stage has */
    size_t first_param, n_params, first_state, n_state;
};
/* *c becomes that of a part of it. RC_NOMEM: it is as before. */
enum rc checkpoint_cut(struct checkpoint *c, const struct checkpoint_part *part) MUST_CHECK;
/* param, the optimiser's arrays and state are read, not kept. RC_INVAL: path cannot be written; RC_IO. */
enum rc checkpoint_save(const struct checkpoint *c, const char *path) MUST_CHECK;
/* The same, with signs of life (peers.P1): tick(arg) before each piece of 64 KiB is written, and before the disk is to
 * take what was written, which is no more than 16 MiB at once. */
enum rc checkpoint_save_ticking(const struct checkpoint *c, const char *path, void (*tick)(void *arg),
                                void *arg) MUST_CHECK;
/* RC_INVAL "PATH: ..." what is wrong: missing, truncated, corrupt, not a checkpoint, of another version. */
enum rc checkpoint_load(struct checkpoint *out, const char *path) MUST_CHECK;
/* *out: all but the arrays, which stay NULL and are not checked (K2). RC_INVAL, as load. */
enum rc checkpoint_read_header(struct checkpoint *out, const char *path) MUST_CHECK;
void checkpoint_free(struct checkpoint *c); /* accepts a zeroed one; leaves it zeroed */

/* SHA-256 of float[n] as bytes, in hex, terminated. Cannot fail. */
void params_sha256(char out[SHA256_HEX_BYTES], const float *param, size_t n);

#endif
