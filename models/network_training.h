/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_training.h - trains any network of network.h: plans its memory, runs it forward and backward.
 *
 *   workload_network()  the ops of struct workload for one network_def, shared by all networks
 *   plan                which activation and gradient lives when, and where in one block (memory_plan.h)
 *   observer            is told before and after each node's work; `gradmark profile` reads a clock there
 */
#ifndef MODELS_NETWORK_TRAINING_H
#define MODELS_NETWORK_TRAINING_H

#include "models/network.h"
#include "models/workload.h"

enum network_phase {
    PHASE_FORWARD,  /* a node's output */
    PHASE_BACKWARD, /* all of a node's gradients */
};

struct network_observer {
    /* Called on the thread that calls gradient(), before (begin) and after each node's work. Must not call
     * compute operations other than compute_sync(). */
    void (*node)(void *arg, int node, enum network_phase phase, bool begin);
    void *arg;
};

/* t was opened by a network workload, else NULL. Borrowed: lives as long as t. */
const struct network *network_of(const struct training *t);
/* NULL: nobody. Borrowed until replaced. */
void network_observe(struct training *t, const struct network_observer *o);

struct network_memory {     /* bytes, for the batch of open() */
    size_t planned_bytes;   /* the one block: peak of all activations and their gradients */
    size_t unplanned_bytes; /* what they would need without reuse */
    size_t params_bytes;    /* parameters, gradients, velocity: of the caller, for the sum */
    size_t state_bytes;
};
struct network_memory network_memory_of(const struct training *t);
/* The same before anything is opened: what `--batch` will need. */
enum rc network_memory_needed(struct network_memory *out, const struct network *n, size_t batch,
                              bool forward_only) MUST_CHECK;

#endif
