/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training.h - trains any network of network.h: plans its memory, runs forward and backward.
 *
 *   network_training_ops  the functions of every network's struct workload (workload.h), which names its network_def
 *   plan                  lifetimes of activations and gradients, and their places in one block (memory_plan.h)
 *   observer              is called before and after each node's work; `gradmark profile` reads a clock there
 *
 * Invariants
 *   Q1  Equal inputs give equal bits: reuse of memory, max_batch and earlier calls have no effect. Dropout is a
 *       function of (seed, first sample, node). One exception: the loss of an evaluation, a mean over batches of
 *       max_batch, depends in rounding on max_batch.
 *   Q2  Only gradient() without forward_only changes running means and variances; evaluate() uses them.
 *   Q3  Inference omits what only an auxiliary loss needs; the loss of a gradient() is the sum of all losses times
 *       their weights.
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
    /* Called on the thread that calls gradient(), before (begin) and after each node's work in that phase. A node
     * without work, such as a concatenation, is skipped. ready() is called between the two. Must not call compute
     * operations other than compute_sync(). */
    void (*node)(void *arg, int node, enum network_phase phase, bool begin);
    void *arg;
};

/* The network of t if a network workload opened it, else NULL. Borrowed: lives as long as t. */
const struct network *network_of(const struct training *t);
/* loader_waited_ns() of its loader; 0: not a network, or nothing is computed. */
uint64_t network_data_waited_ns(const struct training *t);
/* loader_last_wait() of its loader; zeros likewise. */
struct loader_wait network_last_data_wait(const struct training *t);
/* o: NULL: none. Borrowed until replaced. */
void network_observe(struct training *t, const struct network_observer *o);

struct network_memory {     /* bytes, for the batch of open() */
    size_t planned_bytes;   /* the one block: peak of all activations and their gradients */
    size_t unplanned_bytes; /* bytes without reuse */
    size_t live_bytes;      /* most bytes alive at one time: no plan needs less */
    size_t params_bytes;    /* parameters, gradients, velocity (forward_only: parameters): allocated by the caller, who
                               checks the sum of all; open() checks only the rest */
    size_t state_bytes;
    size_t part_bytes;   /* gradients of a micro-batch, before they are added to the sum; 0 with a single one */
    size_t device_bytes; /* if the compute has separate memory: the batch there, packed weights, its scratch and
                            allowance */
};
struct network_memory network_memory_of(const struct training *t);
struct network_step { /* the size of a step */
    size_t n_samples;
    size_t n_micro_batches; /* computed one by one */
    bool forward_only;
    size_t n_held;   /* of them, held by a stage at once (models.P2); 0: not a stage */
    bool recomputes; /* models.P4 */
};
/* Most micro-batches that a stage held at once so far (models.P2); 0: not a stage. */
size_t network_most_held(const struct training *t);
/* network_memory_of() before anything is opened: what `--batch` will need. */
enum rc network_memory_needed(struct network_memory *out, struct compute *c, const struct network *n,
                              const struct network_step *step) MUST_CHECK;

#endif
