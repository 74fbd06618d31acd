/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training.h - trains any network of network.h: plans its memory, runs it forward and backward.
 *
 *   network_training_ops  the functions of every network's struct workload (workload.h), which names its network_def
 *   plan                  which activation and gradient lives when, and where in one block (memory_plan.h)
 *   observer              is called before and after each node's work; `gradmark profile` reads a clock there
 *
 * Invariants
 *   Q1  Equal inputs give equal bits: neither the reuse of memory nor max_batch nor what ran before changes them.
 *       Dropout is a function of (seed, first sample, node). Only the loss of an evaluation, a mean over batches of
 *       max_batch, depends, in rounding, on max_batch.
 *   Q2  Only gradient() without forward_only changes running means and variances; evaluate() uses them.
 *   Q3  Inference leaves out what only an auxiliary loss needs; the loss of a gradient() is the sum of all losses
 *       times their weights.
 */
#ifndef MODELS_ENGINE_TRAINING_H
#define MODELS_ENGINE_TRAINING_H

#include "data/loader.h"
#include "models/engine/network.h"
#include "models/workload.h"

extern const struct training_ops network_training_ops;

enum network_phase {
    PHASE_FORWARD,  /* a node's output */
    PHASE_BACKWARD, /* all of a node's gradients */
};

struct network_observer {
    /* Called on the thread that calls gradient(), before (begin) and after each node's work in that phase; a
     * node without work, such as a concatenation, is not mentioned. ready() falls between the two. Must not
     * call compute operations other than compute_sync(). */
    void (*node)(void *arg, int node, enum network_phase phase, bool begin);
    void *arg;
};

/* t was opened by a network workload, else NULL. Borrowed: lives as long as t. */
const struct network *network_of(const struct training *t);
/* loader_waited_ns() of its loader; 0: not a network, or nothing is computed. */
uint64_t network_data_waited_ns(const struct training *t);
/* loader_last_wait() of it; zeros likewise. */
struct loader_wait network_last_data_wait(const struct training *t);
/* NULL: none. Borrowed until replaced. */
void network_observe(struct training *t, const struct network_observer *o);

struct network_memory {     /* bytes, for the batch of open() */
    size_t planned_bytes;   /* the one block: peak of all activations and their gradients */
    size_t unplanned_bytes; /* what they would need without reuse */
    size_t live_bytes;      /* the most that is alive at one time: what no plan can do without */
    size_t params_bytes;    /* parameters, gradients, velocity (forward_only: parameters): allocated by the caller, who
                               checks the sum of all; open() checks the others only */
    size_t state_bytes;
    size_t part_bytes;   /* gradients of a micro-batch, before they are added to those of the others; of one alone: 0 */
    size_t device_bytes; /* of a compute whose memory is not the host's: the batch there, packed weights, its scratch
                            and allowance */
};
struct network_memory network_memory_of(const struct training *t);
struct network_step { /* of a step */
    size_t n_samples;
    size_t n_micro_batches; /* that are computed one by one */
    bool forward_only;
    size_t n_held;   /* of them, that a stage holds at once (stage.h, P2); 0: it is no stage */
    bool recomputes; /* stage.h, P4 */
};
/* The most micro-batches that a stage has held at once so far (stage.h, P2); 0 of what is none. */
size_t network_most_held(const struct training *t);
/* The same before anything is opened: what `--batch` will need. */
enum rc network_memory_needed(struct network_memory *out, struct compute *c, const struct network *n,
                              const struct network_step *step) MUST_CHECK;

#endif
