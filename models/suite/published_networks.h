/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published_networks.h - what is published about each network, one entry per network. Tests only.
 *
 * An outline has all nodes of a table, written a second time by hand from the paper: "3x3/2nr<2 " is a 3x3 convolution
 * with stride 2, batch norm (n; b: bias) and relu (r), whose input is 2 nodes before it (not written: 1); +3: the
 * output of 3 nodes before it is added; cat3,1: a concatenation of the nodes 3 and 1 before it.
 */
#ifndef MODELS_SUITE_PUBLISHED_NETWORKS_H
#define MODELS_SUITE_PUBLISHED_NETWORKS_H

#include "models/workload.h"

enum { OUTLINE_BYTES = 16384 };

struct outline {
    char text[OUTLINE_BYTES];
    size_t n_bytes;
};
void outline_append(struct outline *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

struct published_network {
    const struct workload *workload;
    const char *outline; /* NULL: append_outline() writes it */
    void (*append_outline)(struct outline *o, bool aux);
    float epsilon;                 /* of its batch norms */
    size_t n_params, n_params_aux; /* without the auxiliary head; of the head alone */
    double multiply_adds;          /* of a forward pass without the auxiliary head, within 0.1 % */
    bool has_tensors;              /* model_tensors.csv has a row for each tensor */
};

/* Fails the running test when there is no entry. */
const struct published_network *published_network_find(const struct workload *w);

#endif
