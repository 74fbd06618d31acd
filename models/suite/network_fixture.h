/* SPDX-License-Identifier: Apache-2.0 */
/* network_fixture.h - small variants of every network, on noise, opened and compared with the reference. Tests only.
 */
#ifndef MODELS_SUITE_NETWORK_FIXTURE_H
#define MODELS_SUITE_NETWORK_FIXTURE_H

#include "data/dataset.h"
#include "models/engine/trainer.h"
#include "models/suite/network_reference.h"
#include "models/workload.h"

struct variant { /* of one network of each family, small enough for the reference */
    const struct workload *workload;
    struct network_opts opts;
    size_t B;
    double tolerance; /* of gradients in float, relative to the largest of a segment */
};
/* Beside the published ones there is "patchwork": what none of them has, in one table. The last one has no workload. */
extern const struct variant network_variants[];
/* By name of the workload; NULL: there is none. */
const struct variant *network_variant_find(const char *name);

/* Images of noise with labels at random: nothing to be learnt, everything to be computed. No memory. */
struct noise {
    struct dataset base;
};
void noise_init(struct noise *d, const struct network_opts *resolved, int C);

struct network_fixture_opts {
    size_t max_batch;                      /* 0: the variant's */
    size_t n_micro_batches;                /* 0: 1 */
    int n_threads;                         /* 0: 1 */
    const struct compute_backend *backend; /* NULL: cpu */
    bool forward_only;
    void (*plant)(struct network_trainer *t); /* NULL: no mistake */
};

struct network_fixture {
    const struct variant *variant;
    struct noise data;
    struct compute *compute;
    struct training *training;
    const struct network *network;
    float *param, *grad; /* float[n_params]; every bias and gamma counts */
    struct segment called[1200];
    float *seen; /* float[n_params]: values at ready() */
    size_t n_called;
};

/* RC_OK or the error of workload_open(). */
enum rc network_fixture_open(struct network_fixture *f, const struct variant *v,
                             const struct network_fixture_opts *opts) MUST_CHECK;
void network_fixture_close(struct network_fixture *f);
/* grad_ready_fn: records. arg: the fixture. */
enum rc network_fixture_ready(void *arg, struct segment s, const float *grad);

/* What the reference makes of samples [first, first + B). x, label: owned. */
struct network_batch {
    float *x;
    uint32_t *label;
};
void network_batch_open(struct network_batch *b, const struct network_fixture *f, uint64_t first, size_t B);
void network_batch_close(struct network_batch *b);
double *doubles_of(const float *x, size_t n); /* malloc'ed */

/* Number of segments that are further than the tolerance from the reference. */
int network_compare(const struct network_fixture *f, const float *grad, const double *want);

/* training_suite.c: everything a training of this variant promises; returns the number of failures; print: prints each.
 */
int training_suite(const struct variant *v, void (*plant)(struct network_trainer *t), bool print);

/* A made-up network of what no published one has, in one table. Tests only. */

extern const struct workload workload_patchwork;

#endif
