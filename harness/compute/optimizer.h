/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.h - how a gradient changes a range of the parameters: all parameters on a worker, a slice on a parameter
 * server; and the list of the optimisers.
 *
 *   rule      moments, float[n_params] each        d = grad_scale g + weight_decay p; p changes by
 *   SGD       -                                    -lr d
 *   MOMENTUM  v = momentum v + d                   -lr v
 *   ADAGRAD   s += d d, s begins at initial        -lr d / (sqrt(s) + epsilon)
 *   ADAM      m = beta1 m + (1 - beta1) d,         -lr m' / (sqrt(v') + epsilon), with m' = m / (1 - beta1^t) and
 *             v = beta2 v + (1 - beta2) d d        v' = v / (1 - beta2^t) in update t of the range, the first being 1
 *
 * When the rate changes, past steps in the velocity continue at the new rate. This is equation 9 of Goyal et al.
 * (2017), and the same as equation 10, v = momentum v + lr d, with their momentum correction (remark 2: v times the
 * ratio of the rates).
 *
 * Invariant
 *   OP1  An update reads and writes only its range; the bits of a range depend only on its own updates. So equal
 *        gradients give equal bits for any partition of the parameters, on workers and on servers.
 */
#ifndef HARNESS_COMPUTE_OPTIMIZER_H
#define HARNESS_COMPUTE_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/compute/compute.h"

enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAGRAD, OPTIMIZER_ADAM, OPTIMIZER_N_KINDS };
enum { OPTIMIZER_MAX_MOMENTS = 2 };

struct optimizer_rule { /* zeroed: SGD */
    enum optimizer_kind kind;
    double weight_decay;
    double momentum;     /* MOMENTUM; else 0 */
    double beta1, beta2; /* ADAM */
    double epsilon;      /* ADAGRAD, ADAM; above 0 */
    double initial;      /* ADAGRAD */
};

struct optimizer_state { /* state of an optimiser after the updates so far; host memory */
    float *moments;      /* float[n_moments][n_params]; NULL: none, or not requested */
    uint64_t n_updates;  /* minimum over ranges, so far */
};

struct optimizer {
    struct compute *compute; /* borrowed */
    struct optimizer_rule rule;
    float lr,
        grad_scale;     /* the caller's to set before each step; grad_scale: 1 / workers where g is a sum; at first 1 */
    uint64_t n_updates; /* likewise: number of updates of the range; at first 0 */
    size_t n_params;
    float
        *moment[OPTIMIZER_MAX_MOMENTS]; /* float[n_params] in memory of compute; NULL: the rule has fewer, or hollow */
};

/* SGD; with a momentum above 0 MOMENTUM. */
struct optimizer_rule optimizer_sgd(double momentum, double weight_decay);
int optimizer_n_moments(const struct optimizer_rule *rule);
/* moments: host memory float[n_moments][n_params], copied; NULL: initial values. RC_NOMEM. */
enum rc optimizer_init(struct optimizer *out, struct compute *c, size_t n_params, const struct optimizer_rule *rule,
                       const float *moments) MUST_CHECK;
/* Update param[n_params] by one step with grad[n_params] (read only). Synced: its errors are compute_sync's. */
enum rc optimizer_step(struct optimizer *o, float *param, const float *grad) MUST_CHECK;
/* The same for parameters `first` to first + n_elems - 1 only, given as param[n_elems] and grad[n_elems]. */
enum rc optimizer_step_range(struct optimizer *o, size_t first, size_t n_elems, float *param,
                             const float *grad) MUST_CHECK;
/* Copy the moments to the host's out, float[n_moments][n_params] (NULL: nothing). */
enum rc optimizer_moments(const struct optimizer *o, float *out) MUST_CHECK;
void optimizer_fini(struct optimizer *o); /* accepts a zeroed one */

enum optimizer_caps {
    OPTIMIZER_HAS_MOMENTUM = 1u << 0, /* option --momentum applies to it */
    OPTIMIZER_OF_MOMENTUM_0 = 1u << 1 /* the optimiser for momentum 0 */
};

/* The optimisers: option --optimizer. */
extern const struct module_kind optimizer_modules;
/* The optimiser for a given momentum. */
const struct module *optimizer_of_momentum(double momentum);
/* momentum: for one with OPTIMIZER_HAS_MOMENTUM. */
struct optimizer_rule optimizer_rule_of(const struct module *optimizer, double momentum);
/* "sgd". */
const char *optimizer_name(enum optimizer_kind kind);

#endif
